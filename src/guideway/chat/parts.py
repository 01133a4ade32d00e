"""The parts of any source."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from guideway.context_free.gbnf import tokens_of
from guideway.context_free.lark.source import Lark
from guideway.errors import LimitError
from guideway.json_schema.source import JsonSchema
from guideway.sources.regions import Captured, Region, Regions, Tag, Thinking, Until
from guideway.sources.sources import (
    Both,
    Either,
    Gbnf,
    Inverse,
    Repetition,
    Sequence,
    Source,
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
