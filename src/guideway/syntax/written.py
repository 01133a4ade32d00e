"""Short text of a source for messages."""

from collections.abc import Iterable
from typing import get_origin

from guideway.errors import brief
from guideway.syntax.json_schema_source import JsonSchema
from guideway.syntax.lark_source import Lark
from guideway.syntax.sources import (
    Both,
    Choice,
    Either,
    Gbnf,
    Inverse,
    Literal,
    PythonType,
    Regex,
    Repetition,
    Sequence,
    Source,
    Text,
)
from guideway.syntax.substrings import Substring

LONGEST = 60
"""Most characters of one source."""


def written(source: Source) -> str:
    """The source in at most `LONGEST` characters.

    >>> written((Regex("a+") + "b" | Choice(["yes", "no"])) & ~Literal("x"))
    "((Regex('a+') + 'b') | Choice(['yes', 'no'])) & ~'x'"
    """
    return _cut(_whole(source, 2))


def _whole(source: Source, depth: int) -> str:  # noqa: C901, PLR0911, PLR0912  an arm for each kind
    match source:
        case Literal(text):
            return repr(_cut(text))
        case Regex(pattern):
            return f"Regex({_cut(pattern)!r})"
        case Choice(options):
            return f"Choice({[_cut(option) for option in options[:8]]})"
        case Gbnf(text) | Lark(text):
            return f"{type(source).__name__}({_cut(text)!r})"
        case Substring(chunks):
            return f"substring({_cut(''.join(chunks))!r})"
        case JsonSchema():
            return f"JsonSchema({_cut(source.text)})"
        case PythonType(of):
            return _cut(str(of if get_origin(of) else getattr(of, "__name__", of)))
        case Text():
            return "Text()"
        case _ if depth < 0:
            return "…"
        case Sequence(parts):
            return _joined(" + ", parts, depth)
        case Either(parts):
            return _joined(" | ", parts, depth)
        case Both(parts):
            return _joined(" & ", parts, depth)
        case Inverse(item):
            return f"~{_inner(item, depth)}"
        case Repetition(item, low, high):
            return f"repeat({_whole(item, depth - 1)}, {brief(low)}, {brief(high)})"
        case _:
            return type(source).__name__


def _joined(sign: str, parts: Iterable[Source], depth: int) -> str:
    return sign.join(_inner(part, depth) for part in parts)


def _inner(part: Source, depth: int) -> str:
    shown = _whole(part, depth - 1)
    return f"({shown})" if isinstance(part, Sequence | Either | Both) else shown


def _cut(text: str) -> str:
    half = LONGEST // 2
    return text if len(text) <= LONGEST else f"{text[:half]}…{text[1 - half :]}"
