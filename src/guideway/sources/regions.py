"""Free text up to a stop, regions in free text, captures, special tokens.

    until("</think>")                   free text that ends with the first "</think>"
    tag("<a>", source, "</a>")          a text of the source between two others
    regions(tag(…), tag(…))             free text in which a trigger begins a tag
    tagged("<a>", source, "</a>")       regions with one tag
    thinking(source)                    <think>…</think>, then a text of the source
    capture("name", source)             a text of the source, also in `result.captures`

A trigger, any regular source, stops free text or begins a tag: the first one that is complete, from
the left. The trigger of a tag is its `begin`, of a sequence the first part; several tags may share
one. If a trigger is a special token, free text does not contain its name as text either.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias, get_args, overload
from typing import Literal as OneOf

from guideway.errors import SourceError, brief
from guideway.sources.sources import (
    Either,
    Literal,
    Read,
    Repetition,
    Sequence,
    Source,
    Text,
    Value_co,
    check_flag,
    check_option,
    check_text,
    repeat,
    source,
)

if TYPE_CHECKING:
    from guideway.sources.sources import Written


_MOST_IDS: Final = 1 << 32  # more than any vocabulary has


@dataclass(frozen=True)
class Special(Source[str]):
    """One special token, by name or id.

    `required`: a vocabulary without it is refused; else the name is text there.
    """

    token: str | int
    required: bool = True

    def __post_init__(self) -> None:
        if isinstance(self.token, bool) or not isinstance(self.token, int | str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise SourceError(f"a special token must be a name or an id, not {brief(self.token)}")
        if isinstance(self.token, str):
            check_text(self.token, "the name of a special token")
        check_flag("required", self.required)
        if self.token == "" or (isinstance(self.token, int) and not 0 <= self.token < _MOST_IDS):
            raise SourceError(f"{brief(self.token)} cannot be a special token")


@dataclass(frozen=True)
class Others(Source[str]):
    """Any number of tokens (text and special tokens), or at least one, without some special tokens.

    Other counts are impossible, because a language does not determine the tokens of a text.

    Attributes:
        without: names and ids of the excluded tokens.
        least: 0 or 1.
    """

    without: tuple[str | int, ...]
    least: int


def special(token: str | int, *, required: bool = True) -> Special:
    """Return the special token of a name or id as a source.

    A token that also spells text (Qwen's "<tool_call>") can be named too; it is a single id then.

    >>> special("<|tool|>") + "x"
    Sequence(parts=(Special(token='<|tool|>', required=True), Literal(text='x')))

    Args:
        token: the name as the tokenizer writes it, or the id.
        required: whether a vocabulary without that name is refused. If False, the name is text
            there.

    Raises:
        SourceError: the token is no name and no id, or `required` is no bool.
    """
    return Special(token, required)


Cut: TypeAlias = OneOf["words", "characters"]

_WORDS: Final = re.compile(r"\w+|\s+|[^\w\s]+")


@dataclass(frozen=True)
class Substring(Source[str]):
    """Consecutive chunks, or none; no chunk is empty."""

    chunks: tuple[str, ...]


def substring(text: str | Iterable[str], cut: Cut = "words") -> Substring:
    r"""Return any part of a text, word for word, the empty one included.

    >>> substring("Alas, poor").chunks
    ('Alas', ',', ' ', 'poor')

    Args:
        text: the text, or its chunks.
        cut: where a part may start and end: "words" (`\w+`, `\s+`, and runs of other characters)
            or "characters". Ignored for chunks.

    Raises:
        SourceError: the text is no string, or `cut` is unknown.
    """
    check_option("cut", cut, get_args(Cut))
    if isinstance(text, str):
        check_text(text, "the text of a substring")
        return Substring(tuple(_WORDS.findall(text) if cut == "words" else text))
    if not isinstance(text, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise SourceError(f"substring needs a text or a list of chunks, not {brief(text)}")
    chunks = tuple(text)
    for chunk in chunks:
        check_text(chunk, "a chunk")
    return Substring(tuple(filter(None, chunks)))


class Composed(Source[Value_co], ABC):
    """Base of sources with the same texts as `spelled_out`, but other values."""

    __slots__ = ()

    @property
    @abstractmethod
    def spelled_out(self) -> Source:
        """The source that has the same texts."""


@dataclass(frozen=True)
class Until(Source[str]):
    """Free text up to a stop.

    Attributes:
        stop: the end of the text.
        include: the stop belongs to the text; if not, the text contains none, and may end anywhere.
        others: other sources that the text does not contain before its stop.
    """

    stop: Source
    include: bool = True
    others: tuple[Source, ...] = ()


@dataclass(frozen=True)
class Captured(Source[Value_co]):
    """A text of `item`, which `result.captures` has under `name`."""

    name: str
    item: Source[Value_co]

    def __post_init__(self) -> None:
        check_text(self.name, "the name of a capture")
        if not self.name:
            raise SourceError("a capture needs a name")


@dataclass(frozen=True)
class Region(Source[Value_co]):
    """A text of `item`, labelled with the number of a tag or the name of a tool."""

    label: int | str
    item: Source[Value_co]


@dataclass(frozen=True)
class Tag(Composed[Value_co]):
    """A text of `item` between `begin` and `end`; of `Text()` one without `end` in it."""

    begin: Source
    item: Source[Value_co]
    end: Source

    @property
    def trigger(self) -> Source:
        """The source that begins the tag in free text."""
        return self.begin.parts[0] if isinstance(self.begin, Sequence) else self.begin

    @property
    def spelled_out(self) -> Source:
        return Sequence((self.begin, *self.after_trigger(0)[-2:]))

    def after_trigger(self, label: int) -> tuple[Source, ...]:
        """Parts after the trigger; the item as a region."""
        rest = self.begin.parts[1:] if isinstance(self.begin, Sequence) else ()
        item = self.item if self.end == Literal("") else _until_end(self.item, self.end)
        return (*rest, Region(label, item), self.end)


@dataclass(frozen=True)
class Regions(Composed[list[Read]]):
    """Free text with `at_least` to `at_most` tags in it (None: any number).

    Attributes:
        stop_after_first: the text ends with the first tag.
        excludes: texts that the free text up to a trigger, or after the last tag, does not contain.
    """

    tags: tuple[Tag[Read], ...]
    at_least: int = 0
    at_most: int | None = None
    stop_after_first: bool = False
    excludes: tuple[str, ...] = ()

    @property
    def spelled_out(self) -> Source:
        """Free text up to a trigger and its tag, several times, then free text."""
        triggers = tuple(tag.trigger for tag in self.tags)
        excluded = tuple(map(Literal, self.excludes))
        free = Until(Either(triggers), include=False, others=excluded)
        if len(triggers) > 1 and _are_apart((*triggers, *excluded)):
            # Equivalent, with one free text for all tags.
            begun = [Sequence((t.trigger, *t.after_trigger(n))) for n, t in enumerate(self.tags)]
            each: Source = Sequence((free, Either(tuple(begun))))
        else:
            each = Either(
                tuple(
                    Sequence((self._up_to(tag.trigger), *tag.after_trigger(number)))
                    for number, tag in enumerate(self.tags)
                )
            )
        if self.stop_after_first:
            return each if self.at_least else Either((free, each))
        return Sequence((Repetition(each, self.at_least, self.at_most), free))

    def _up_to(self, trigger: Source) -> Source:
        """Free text that ends with the trigger."""
        others = (*(tag.trigger for tag in self.tags), *map(Literal, self.excludes))
        begun: Source = Until(trigger, others=others)
        for text in self.excludes:  # `Until` allows a text that ends where its stop does
            if isinstance(trigger, Literal) and (
                text.endswith(trigger.text) or trigger.text.endswith(text)
            ):
                begun &= ~(Text() + text)
        return begun


@dataclass(frozen=True)
class Thinking(Composed[Value_co]):
    """Free text between `begin` and `end`, then up to two line breaks and a text of `item`."""

    item: Source[Value_co]
    begin: Source
    end: Source

    @property
    def spelled_out(self) -> Source:
        return Sequence((self.begin, Until(self.end), _GAP, Region(0, self.item)))

    def answer(self, text: str) -> str | None:
        """The answer so far in the beginning of a text; None if it has not begun."""
        match self.end:
            case Special(str(name)) | Literal(name):
                _, ended, answer = text.partition(name)
                return answer.lstrip("\n") if ended else None
            case _:
                return None


def _until_end(item: Source, end: Source) -> Source:
    """`item`; free text, captured or not, ends before `end`."""
    if isinstance(item, Captured):
        return Captured(item.name, _until_end(item.item, end))
    return Until(end, include=False) if isinstance(item, Text) else item


_GAP: Final = Repetition(Literal("\n"), 0, 2)


def until(*stops: object, include: bool = True) -> Until:
    """Return free text up to the first stop.

    >>> (until("</think>") + Text()).parts[0]
    Until(stop=Literal(text='</think>'), include=True, others=())

    Args:
        *stops: strings, special tokens, or other regular sources. The first complete one ends the
            text; of a regex the shortest match.
        include: whether the stop belongs to the text. If False, the text contains no stop.

    Raises:
        SourceError: there is no stop, one is no source, or `include` is no bool.
    """
    check_flag("include", include)
    if not stops:
        raise SourceError("until needs a stop: a text, a special token, or another regular source")
    sources = tuple(map(source, stops))
    return Until(sources[0] if len(sources) == 1 else Either(sources), include)


@overload
def tag(begin: object, item: "Written[Read] | type[Read]", end: object = "") -> "Tag[Read]": ...
@overload
def tag(begin: object, item: object, end: object = "") -> Tag: ...
def tag(begin: object, item: object, end: object = "") -> Tag:
    """Return a text of `item` between `begin` and `end`.

    >>> tag("<a>", Text(), "</a>").trigger
    Literal(text='<a>')

    Args:
        begin: a string, a special token, or another source. In `regions` it is the trigger of the
            tag; of a sequence, its first part.
        item: any source. `Text()` is text without `end`.
        end: as `begin`.
    """
    return Tag(source(begin), source(item), source(end))


def regions(
    *tags: Tag[Read], at_least: int = 0, at_most: int | None = None, stop_after_first: bool = False
) -> Regions[Read]:
    """Return free text with tagged regions.

    The trigger of a tag starts the tag, and free text continues after its end. The value is the
    list of the regions' values.

    >>> regions(tag("<a>", Text(), "</a>"), tag("<b>", Text(), "</b>"), at_least=1).at_least
    1

    Args:
        *tags: the tags that may occur.
        at_least: the least number of tags.
        at_most: the greatest number of tags; after it no trigger is allowed.
        stop_after_first: whether the text ends with the first tag.

    Raises:
        SourceError: there is no tag, a trigger can never occur, a count is wrong, or
            `stop_after_first` is no bool.
    """
    check_flag("stop_after_first", stop_after_first)
    if not tags:
        raise SourceError("regions needs a tag: guideway.tag(begin, source, end)")
    for each in tags:
        if not isinstance(each, Tag):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise SourceError(f"{brief(each)} is not a tag: write guideway.tag(begin, source, end)")
    repeat(Text(), at_least, at_most)  # checks the counts
    if stop_after_first and (at_least > 1 or at_most is not None):
        raise SourceError(
            "stop_after_first allows one tag at most, which contradicts at_least or at_most"
        )
    _check_triggers([t.trigger.text for t in tags if isinstance(t.trigger, Literal)])
    return Regions(tags, at_least, at_most, stop_after_first)


def _check_triggers(triggers: Iterable[str]) -> None:
    """Refuse a trigger within which another one is complete."""
    known = sorted(set(triggers), key=len)
    for shorter in filter(None, known):
        for longer in known:
            if shorter in longer[:-1]:
                raise SourceError(
                    f"the trigger {longer!r} never occurs: the trigger {shorter!r} within it is "
                    "complete first; combine the tags, or change a trigger"
                )


def _are_apart(triggers: tuple[Source, ...]) -> bool:
    """Return True if no trigger contains another, or ends as another, or itself, begins.

    Then the text before a trigger is free text of its own.
    """
    texts: list[str] = []
    for trigger in triggers:
        match trigger:
            case Literal(text) | Special(str(text)):
                texts.append(text)
            case _:
                return False
    ends = {text[n:] for text in texts for n in range(1, len(text))}
    begins = {text[:n] for text in texts for n in range(1, len(text))}
    within = any(one in other[:-1] for one in texts for other in texts)
    return not within and ends.isdisjoint(begins)


@overload
def tagged(
    begin: object,
    item: "Written[Read] | type[Read]",
    end: object = "",
    *,
    at_least: int = 0,
    at_most: int | None = None,
    stop_after_first: bool = False,
) -> "Regions[Read]": ...
@overload
def tagged(
    begin: object,
    item: object,
    end: object = "",
    *,
    at_least: int = 0,
    at_most: int | None = None,
    stop_after_first: bool = False,
) -> Regions[Any]: ...
def tagged(
    begin: object,
    item: object,
    end: object = "",
    *,
    at_least: int = 0,
    at_most: int | None = None,
    stop_after_first: bool = False,
) -> Regions[Any]:
    """Return free text with regions of one tag: `begin`, a text of `item`, `end`.

    >>> tagged("<a>", int, "</a>").tags[0].end
    Literal(text='</a>')
    """
    one = tag(begin, item, end)
    return regions(one, at_least=at_least, at_most=at_most, stop_after_first=stop_after_first)


@overload
def thinking(
    item: "Written[Read] | type[Read]", begin: object = "<think>", end: object = "</think>"
) -> "Thinking[Read]": ...
@overload
def thinking(item: object, begin: object = "<think>", end: object = "</think>") -> Thinking: ...
def thinking(item: object, begin: object = "<think>", end: object = "</think>") -> Thinking:
    """Return free text between two marks, then a text of `item`, as reasoning models write it.

    The value is that of the item. The marks are special tokens if the vocabulary has them, and
    text otherwise.

    >>> thinking(int).end
    Special(token='</think>', required=False)

    Args:
        item: any source: a type, a schema, `guideway.tools(...)`.
        begin: the mark before the thoughts; None if the chat template has written it.
        end: the mark after the thoughts: a string, a source, or the id of a special token.
    """
    return Thinking(source(item), _mark(begin), _mark(end))


def _mark(given: object) -> Source:
    """The special token of this name if there is one, or the text."""
    if given is None:
        return Literal("")
    if isinstance(given, str | int):
        return Special(given, required=isinstance(given, int))
    return source(given)


@overload
def capture(name: str, item: "Written[Read] | type[Read]") -> "Captured[Read]": ...
@overload
def capture(name: str, item: object) -> Captured: ...
def capture(name: str, item: object) -> Captured:
    """Return a text of `item` whose text or value is in `result.captures[name]`.

    >>> capture("year", int).name
    'year'

    Raises:
        SourceError: the name is empty.
    """
    return Captured(name, source(item))
