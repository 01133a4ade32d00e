"""The parts of any source, and a short text of it for error messages."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final, get_origin

from guideway.context_free.gbnf import tokens_of
from guideway.context_free.lark.source import Lark
from guideway.errors import LimitError, brief
from guideway.json_schema.source import JsonSchema
from guideway.sources.regions import Captured, Region, Regions, Substring, Tag, Thinking, Until
from guideway.sources.sources import (
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
    with_tokens,
)

DEEPEST: Final = 100
"""Nesting of sources: each level takes several of the 1,000 nested calls that Python allows."""


def check_levels(source: Source) -> None:
    """Refuse a source that nests more than `DEEPEST` levels deep."""
    if isinstance(source, JsonSchema):  # the usual case
        return
    levels, held = 0, parts_of(source)
    while held:
        levels += 1
        if levels > DEEPEST:
            raise LimitError(
                f"the source nests more than {DEEPEST} levels deep",
                limit="levels of sources",
                given=DEEPEST,
            )
        # Shared parts are visited once: a + a, doubled again and again.
        held = tuple({id(part): part for each in held for part in parts_of(each)}.values())


def operands_of(source: Source, kind: type[Both | Either]) -> list[Source]:
    """The operands of nested combinations of one kind; of any other source, itself.

    >>> from guideway.sources.sources import Literal
    >>> len(operands_of(Literal("a") | "b" | "c", Either))
    3
    """
    if not isinstance(source, kind):
        return [source]
    return [each for part in source.parts for each in operands_of(part, kind)]


def parts_of(source: Source) -> tuple[Source, ...]:
    """Direct parts of a source.

    >>> from guideway.sources.sources import Literal
    >>> parts_of(Literal("a") + "b")
    (Literal(text='a'), Literal(text='b'))
    """
    found: list[Source] = []

    def keep(part: Source) -> Source:
        found.append(part)
        return part

    with_parts(source, keep)
    return tuple(found)


def with_parts(source: Source, change: Callable[[Source], Source]) -> Source:  # noqa: PLR0911  an arm for each
    """The source with each direct part replaced by `change(part)`.

    >>> from guideway.sources.sources import Literal, Text
    >>> with_parts(Literal("a") + "b", lambda part: Text())
    Sequence(parts=(Text(), Text()))
    """
    match source:
        case Sequence(parts) | Either(parts) | Both(parts):
            return replace(source, parts=tuple(map(change, parts)))
        case Inverse(item) | Repetition(item) | Captured(_, item) | Region(_, item):
            return replace(source, item=change(item))
        case Until(stop, _, others):
            return replace(source, stop=change(stop), others=tuple(map(change, others)))
        case Tag(begin, item, end):
            return Tag(change(begin), change(item), change(end))
        case Thinking(item, begin, end):
            return Thinking(change(item), change(begin), change(end))
        case Regions(tags):
            return replace(source, tags=tuple(with_parts(each, change) for each in tags))
        case Lark():
            return source.with_parts(change)
        case Gbnf():
            named = dict(source.tokens) or tokens_of(source.text)
            return with_tokens(source, {name: change(each) for name, each in named.items()})
        case _:
            return source


LONGEST = 60
"""Most characters of one source."""


def written(source: Source) -> str:
    """The source in at most `LONGEST` characters.

    >>> written((Regex("a+") + "b" | Choice(["yes", "no"])) & ~Literal("x"))
    "((Regex('a+') + 'b') | Choice(['yes', 'no'])) & ~'x'"
    """
    return _cut(_short_form(source, 2))


def _short_form(source: Source, depth: int) -> str:  # noqa: C901, PLR0911, PLR0912  an arm for each kind
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
            return f"repeat({_short_form(item, depth - 1)}, {brief(low)}, {brief(high)})"
        case _:
            return type(source).__name__


def _joined(sign: str, parts: Iterable[Source], depth: int) -> str:
    return sign.join(_inner(part, depth) for part in parts)


def _inner(part: Source, depth: int) -> str:
    shown = _short_form(part, depth - 1)
    return f"({shown})" if isinstance(part, Sequence | Either | Both) else shown


def _cut(text: str) -> str:
    half = LONGEST // 2
    return text if len(text) <= LONGEST else f"{text[:half]}…{text[1 - half :]}"
