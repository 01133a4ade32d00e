"""Lark's `Indenter` with blocks that begin within a line, as YAML's items do."""

from collections.abc import Generator, Iterator
from typing import ClassVar

from lark.indenter import PythonIndenter
from lark.lexer import Token


class ItemIndenter(PythonIndenter):
    r"""Lark's `PythonIndenter`, extended by terminals that begin a block within a line.

    The rest of the line after one of `ITEM_types` is the first line of a block, as after the dash
    of an item in YAML. The block is indented by the width of the terminal. It has no `_INDENT`; a
    less indented line gives a `_DEDENT`. Inside brackets these terminals begin no block.

    Example:
        >>> from lark import Lark
        >>> text = (
        ...     "start: (_ITEM_INDENT line+ _DEDENT)+\nline: /[a-z]/ _NEWLINE\n"
        ...     "_ITEM_INDENT: \"- \"\n_NEWLINE: /\\n */\n%declare _INDENT _DEDENT"
        ... )
        >>> tree = Lark(text, parser="lalr", postlex=ItemIndenter()).parse("- a\n  b\n- c\n")
        >>> len(tree.children)
        3

    Attributes:
        ITEM_types: the names of these terminals; each has one width.
    """

    ITEM_types: ClassVar[list[str]] = ["_ITEM_INDENT"]

    def process(self, stream: Iterator[Token]) -> Generator[Token, None, None]:
        """Yield the terminals of a text, including those of blocks."""
        yield from super().process(self._with_blocks(stream))

    def _with_blocks(self, stream: Iterator[Token]) -> Iterator[Token]:
        """Yield the terminals, and push the width of a block before the next one is read."""
        for token in stream:
            yield token
            if token.type in self.ITEM_types and self.paren_level == 0:
                self.indent_level.append(self.indent_level[-1] + len(token))
