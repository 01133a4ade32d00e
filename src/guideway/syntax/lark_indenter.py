"""An `Indenter` for Lark that knows blocks which begin on the line of what names them.

What this module does not know: that guideway reads it, too (`syntax.lark_source.read_indenter`).
"""

from collections.abc import Generator, Iterator
from typing import ClassVar

from lark.indenter import PythonIndenter
from lark.lexer import Token


class ItemIndenter(PythonIndenter):
    r"""Lark's `PythonIndenter`, and some terminals begin a block that is as much wider as they are.

    What follows one of `ITEM_types` on its line is the first line of that block, as behind the dash
    of an item in YAML; no `_INDENT` stands there, and a `_DEDENT` where a line is less wide. Inside
    of brackets they begin none.

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
        """The terminals of a text, with those of blocks among them."""
        yield from super().process(self._noted(stream))

    def _noted(self, stream: Iterator[Token]) -> Iterator[Token]:
        """The terminals, the width of a block being noted before what comes next is asked for."""
        for token in stream:
            yield token
            if token.type in self.ITEM_types and self.paren_level == 0:
                self.indent_level.append(self.indent_level[-1] + len(token))
