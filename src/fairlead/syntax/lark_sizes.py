"""How large a Lark grammar is, told from its text before Lark reads it.

Lark reads what nests by calls within calls, and works in what a terminal is made of wherever it is
named: both may take it minutes.

What this module does not know: whether the text is a grammar.
"""

import re
from collections.abc import Callable
from typing import Final

from fairlead.errors import LimitError
from fairlead.syntax.source import describe_place

DEEPEST: Final = 400
"""Parentheses within parentheses; Lark reads 480, and less where its caller is deep in others."""

_PAID: Final = 14  # parts for each word of a text: Lark takes about as long for them
_WORD: Final = re.compile(
    r"""//[^\n]*|\#[^\n]*|(?P<word>"(?:\\["\\]|[^"\n])*?"|/(?!/)(?:\\[/\\]|[^/])*?/|\w+)"""
    r"""|(?P<open>[(\[])|(?P<close>[)\]])|\n[ \t]*(?=[\w%?!])"""
)


def check_size(text: str, spend: Callable[[int], None]) -> None:
    """Refuse a grammar that is too large to be read.

    Args:
        text: as Lark gets it.
        spend: pays for the work of reading it.

    Raises:
        LimitError: it nests too deep.
    """
    depth = 0
    for found in _WORD.finditer(text):
        match found.lastgroup:
            case "word":
                spend(_PAID)
            case "open":
                depth += 1
                if depth > DEEPEST:
                    raise LimitError(
                        f"parentheses stand within {DEEPEST} others at most",
                        limit="nesting",
                        given=DEEPEST,
                        place=describe_place(text, found.start()),
                    )
            case "close":
                depth -= 1
            case _:
                depth = 0 if found[0].startswith("\n") else depth  # a definition begins
