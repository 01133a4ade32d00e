"""Notation of grammars for language models that Lark does not have, replaced before Lark reads it.

    %json {…}             one of the JSON texts of a JSON Schema
    %regex {…}            a substring: {"substring_words": "…"}, "substring_chars", or
                          "substring_chunks": […]
    %lark {…}             a nested grammar with its own `start`
    <|name|>  <[7]>  <[7-9,12]>     a special token by name or id; one of several
    <[*]>*  <[^7]>+       any number of any tokens, or of all but some
    rule[capture]: …      the text of the rule is in `result.captures`; [capture="name"] names it
    ""                    the empty string, which Lark's strings cannot be

Each of the first five becomes a string that occurs in no text, a terminal for Lark. `Part` keeps
its meaning and its place. The last becomes an empty regex (`context_free.lark.reader`). The rest of
llguidance's notation is refused by name, with a replacement.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias, cast

from guideway.errors import LimitError, SourceError, UnsupportedError
from guideway.json_schema.source import JsonSchema
from guideway.json_schema.text import Json, read_json, show
from guideway.sources.names import did_you_mean
from guideway.sources.reading import describe_place, where
from guideway.sources.regions import Others, Special, Substring, substring
from guideway.sources.sources import Either, Source

Nested: TypeAlias = Callable[[str], Source]

OPEN, CLOSE = "\ufdd0", "\ufdd1"
"""Noncharacters around the number of a part."""

PART: Final = re.compile(f"{OPEN}([0-9]+){CLOSE}")
MOST_IDS: Final = 256
DEEPEST: Final = 24

COMMENT: Final = r"//[^\n]*|\#[^\n]*"
STRING: Final = r'"(?:[^"\\\n]++|\\["\\]?)*+"|"[^\n]*"'
REGEX: Final = r"/(?!/)(?:[^/\\]++|\\[/\\]?)*+/|/(?!/)(?s:.)*/"
"""Lark's `"(\\"|\\\\|[^"\n])*?"` matches the same in 1.6^n steps for n backslashes.

The match ends at the first unescaped quote, or else at the last quote.
"""
SKIPPED: Final = f"{COMMENT}|{STRING}|{REGEX}"  # also in verbose mode
_STRING: Final = r'"(?:\\.|[^"\\\n])*"'
_OPTIONS: Final = rf"""\[(?:{_STRING}|[^\]"\n])*\]"""
_FOUND: Final = re.compile(
    rf"""(?P<empty>""i?)
    |(?P<skipped>{SKIPPED})
    |(?P<braced>%(?:json|regex|lark)\b\s*)
    |(?P<ids><\[(?P<listed>[^\]\n]*)\]>)
    |(?P<name><[^<>\s\[][^<>\s]*>)
    |^[ \t]*(?:%(?:override|extend)[ \t]+)?[?!]*(?P<rule>\w+)(?P<options>{_OPTIONS})
    |(?P<refused>%llguidance\b|@\w+|&|(?<=[:|(])[ \t]*~)""",
    re.MULTILINE | re.VERBOSE,
)
_BRACES: Final = re.compile(rf"(?P<skipped>{SKIPPED})|(?P<lark>%lark\s*){{|[{{}}]", re.VERBOSE)
_RANGE: Final = "[0-9]{1,9}(?:-[0-9]{1,9})?"
_IDS: Final = re.compile(rf"{_RANGE}(?:,{_RANGE})*\Z")
_COUNT: Final = re.compile(r"[ \t]*([*+])")
_CAPTURE: Final = re.compile(rf"\[\s*capture\s*(?:=\s*({_STRING})\s*)?\]\Z")
_INSTEAD: Final = {
    "lazy": "write the terminal with a lazy count, as /.*?<end>/",
    "suffix": "write it behind a lazy count, as /.*?/ in /.*?<end>/",
    "stop": "look ahead for it behind a lazy count, as /.*?(?=<end>)/",
    "stop_capture": "look ahead for it behind a lazy count, as /.*?(?=<end>)/",
    "max_tokens": "a grammar holds a text, whatever its tokens: count characters, as /.{1,80}/",
    "temperature": "a grammar says what a text may be; sampling is an argument of generate",
}
_CUTS: Final = ("substring_words", "substring_chars", "substring_chunks")


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a grammar in guideway's own notation.

    Attributes:
        written: its beginning, for messages.
        text: the grammar around it.
        path: path of that grammar, if imported.
        inside: position of the content of its braces.
    """

    source: Source
    written: str
    text: str = field(compare=False, repr=False)
    path: str = field(compare=False)
    position: int = field(compare=False)
    inside: int = field(compare=False)

    @property
    def place(self) -> str:
        return self.place_of(self.position)

    def place_of(self, position: int) -> str:
        """Place of a position of `text` for messages."""
        return describe_place(self.text, position, self.path)


@dataclass(frozen=True, slots=True)
class Extended:
    """A grammar with its parts replaced by strings, as Lark gets it.

    Attributes:
        text: the grammar for Lark.
        parts: the replaced parts.
        captures: captured rules and the names of their captures.
        original: the grammar as written.
        moves: (begin, end) of each replacement in `text`, then in `original`.
    """

    text: str
    parts: tuple[Part, ...]
    captures: tuple[tuple[str, str], ...]
    original: str
    moves: tuple[tuple[int, int, int, int], ...]

    def before(self, position: int) -> int:
        """Position in the original of a position in `text`."""
        at = bisect_right(self.moves, position, key=lambda move: move[0]) - 1
        if at < 0:
            return position
        _, end, begun, ended = self.moves[at]
        return begun if position < end else ended + position - end


def extend(text: str, nested: Nested, path: str = "", first: int = 0) -> Extended:
    """Replace guideway's notation in a text; `nested` makes the source of `%lark {…}`.

    >>> found = extend("start[capture]: <|a|> %json {}", Special)
    >>> [part.written for part in found.parts], found.captures
    (['<|a|>', '%json {}'], (('start', 'start'),))
    """
    reader = _Reader(text, nested, path, first)
    position = 0
    while found := _FOUND.search(text, position):
        position = found.end() if found["skipped"] else reader.take(found)
    return reader.extended()


def check_unmarked(read: Extended, path: str) -> None:
    """Refuse the code points that mark parts."""
    found = re.search(f"[{OPEN}{CLOSE}]", read.original)
    if found is not None:
        raise SourceError(
            "a grammar must not contain U+FDD0 and U+FDD1, which are not characters",
            **where(read.original, found.start(), path),
        )


class _Reader:
    def __init__(self, text: str, nested: Nested, path: str, first: int) -> None:
        self._text, self._nested, self._path, self._first = text, nested, path, first
        self._parts: list[Part] = []
        self._captures: dict[str, str] = {}
        self._pieces: list[str] = []
        self._moves: list[tuple[int, int, int, int]] = []
        self._done = self._length = 0

    def take(self, found: re.Match[str]) -> int:
        """Replace a match, and return the position to continue at."""
        if found["empty"]:
            return self._replace(*found.span(), f"/(?:)/{found['empty'][2:]}")
        if found["refused"]:
            return self._foreign_notation(found)
        if found["rule"]:
            return self._rule(found)
        if found["braced"]:
            return self._braced(found)
        begin, end = found.span()
        listed = "".join((found["listed"] or "").split())
        if listed[:1] in ("^", "*"):
            return self._other_tokens(listed, begin, end)
        tokens = Special(found["name"]) if found["name"] else self._any_of(listed, begin)
        return self._part(tokens, begin, end, begin)

    def extended(self) -> Extended:
        self._pieces.append(self._text[self._done :])
        return Extended(
            "".join(self._pieces),
            tuple(self._parts),
            tuple(self._captures.items()),
            self._text,
            tuple(self._moves),
        )

    def _replace(self, begin: int, end: int, by: str) -> int:
        self._pieces += (self._text[self._done : begin], by)
        start = self._length + begin - self._done
        self._length, self._done = start + len(by), end
        self._moves.append((start, self._length, begin, end))
        return end

    def _part(self, source: Source, begin: int, end: int, inside: int, often: str = "") -> int:
        line = " ".join(self._text[begin:end].split())
        written = line if len(line) <= 24 else f"{line[:23]}…"
        self._parts.append(Part(source, written, self._text, self._path, begin, inside))
        number = self._first + len(self._parts) - 1
        return self._replace(begin, end, f'"{OPEN}{number}{CLOSE}"{often}')

    def _braced(self, found: re.Match[str]) -> int:
        begin, inside = found.span()
        kind = found["braced"].split()[0]
        end = self._closing(kind, begin, inside)
        given = self._text[inside:end]
        if kind == "%json":
            return self._part(JsonSchema(given), begin, end, inside)
        if kind == "%regex":
            return self._part(self._substring(given, inside), begin, end, inside)
        return self._part(self._nested(given[1:-1]), begin, end, inside + 1)

    def _closing(self, kind: str, begin: int, inside: int) -> int:
        """Position after the closing brace, outside of strings, comments and regexes."""
        if not self._text.startswith("{", inside):
            raise self._wrong(f"{kind} needs braces: {kind} {{ … }}", begin)
        levels, nested = [kind == "%lark"], int(kind == "%lark")  # True for a grammar's braces
        for found in _BRACES.finditer(self._text, inside + 1):
            if found["skipped"] is not None:
                continue
            if found[0] != "}":
                levels.append(found["lark"] is not None)
                nested += levels[-1]
                self._check_depth(nested, begin)
            else:
                nested -= levels.pop()
                if not levels:
                    return found.end()
        raise self._wrong(f"the brace of {kind} is never closed", inside)

    def _check_depth(self, nested: int, begin: int) -> None:
        if nested > DEEPEST:
            raise LimitError(
                f"%lark nests more than {DEEPEST} levels deep",
                limit="nesting",
                given=DEEPEST,
                place=self._place(begin),
            )

    def _substring(self, given: str, inside: int) -> Substring:
        read = cast("Mapping[str, Json]", self._json(given, inside))  # it is in braces
        keys = [*read]
        if len(keys) != 1 or keys[0] not in _CUTS:
            near = did_you_mean(keys[0], _CUTS) if keys else ""
            raise self._wrong(
                f"%regex takes exactly one of {', '.join(_CUTS)}{near}; write other regexes as "
                "/…/, and numbers as %json",
                inside,
            )
        value = read[keys[0]]
        listed = keys[0] == "substring_chunks"
        if not (_is_strings(value) if listed else isinstance(value, str)):
            what = "a list of strings" if listed else "a string"
            raise self._wrong(f"{keys[0]} must be {what}, not {show(value)}", inside)
        return substring(
            cast("str | list[str]", value),
            "words" if keys[0] == "substring_words" else "characters",
        )

    def _json(self, given: str, begin: int) -> Json:
        try:
            return read_json(given)
        except SourceError as error:
            said = str(error).partition("\n")[0].removesuffix(f" (at {error.place})")
            raise self._wrong(said, begin + (error.position or 0)) from None

    def _other_tokens(self, listed: str, begin: int, end: int) -> int:
        """Replace a repetition of any tokens, or of all but some."""
        count = _COUNT.match(self._text, end)
        if count is None:
            raise self._refused(
                "a text is the same whatever number of tokens it is made of; as many as there are "
                f"is <[{listed}]>* or <[{listed}]>+",
                f"<[{listed}]>",
                begin,
            )
        without = () if listed == "*" else self._ids(listed[1:], begin)
        often = "?" if count[1] == "*" else ""  # a terminal is never empty
        return self._part(Others(without, 1), begin, count.end(), begin, often)

    def _any_of(self, listed: str, begin: int) -> Source:
        tokens = tuple(map(Special, self._ids(listed, begin)))
        return tokens[0] if len(tokens) == 1 else Either(tokens)

    def _ids(self, compact: str, begin: int) -> tuple[int, ...]:
        if not _IDS.match(compact):
            raise self._wrong("write token ids as <[7]>, or <[7-9,12]>", begin)
        ids: dict[int, None] = {}
        for part in compact.split(","):
            low, _, high = part.partition("-")
            first, last = int(low), int(high or low)
            ids |= dict.fromkeys(range(first, min(last, first + MOST_IDS) + 1))
            if len(ids) > MOST_IDS:
                raise LimitError(
                    f"<[{compact:.40}]> has more than {MOST_IDS} tokens",
                    limit="special tokens",
                    given=MOST_IDS,
                    place=self._place(begin),
                )
        if not ids:
            raise self._wrong("a range of token ids must begin with the lower id", begin)
        return tuple(ids)

    def _rule(self, found: re.Match[str]) -> int:
        rule, options = found["rule"], found["options"]
        begin, end = found.span("options")
        form = _CAPTURE.match(options)
        if form is None:
            names = re.findall(r"[a-z_]+", re.sub(_STRING, "", options))
            named = next((name for name in names if name != "capture"), "")
            if named not in _INSTEAD:
                raise self._wrong(
                    f'a rule may have the option [capture] or [capture="name"], not {options:.40}',
                    begin,
                )
            raise self._refused(_INSTEAD[named], f"[{named}]", begin)
        if rule.upper() == rule:
            raise self._wrong(f"{rule} is a terminal; only rules can be captured", begin)
        if self._path:
            raise self._refused(
                "an imported grammar captures nothing; name a rule of your own that is this one",
                "[capture]",
                begin,
            )
        name = self._json(form[1], found.start("options") + form.start(1)) if form[1] else rule
        if not name:
            raise self._wrong("a capture needs a name", begin)
        self._captures[rule] = str(name)
        return self._replace(begin, end, "")

    def _foreign_notation(self, found: re.Match[str]) -> int:
        begin, end = found.span()
        operator = found[0].strip()
        if operator in ("&", "~"):
            raise self._refused(
                "no terminal of Lark's is both of two, or all but one; say it by looking ahead, as "
                "/(?!(?:if|do)\\b)[a-z]+/, or of whole texts: guideway.Lark(…) & guideway.Regex(…)",
                operator,
                end - 1,
            )
        if found[0].startswith("@"):
            raise self._refused(
                f"grammars have names where they are imported: `%import {found[0][1:]}.start`, "
                "with imports=",
                found[0],
                begin,
            )
        empty = re.compile(r"\s*\{\s*\}").match(self._text, end)
        if empty is None:
            raise self._refused("none of its options has a meaning here", "%llguidance", begin)
        return self._replace(begin, empty.end(), "")

    def _wrong(self, message: str, at: int) -> SourceError:
        return SourceError(message, **where(self._text, at, self._path))

    def _refused(self, why: str, feature: str, at: int) -> UnsupportedError:
        return UnsupportedError(
            f"{feature} is not supported: {why}",
            feature=feature,
            **where(self._text, at, self._path),
        )

    def _place(self, at: int) -> str:
        return describe_place(self._text, at, self._path)


def _is_strings(value: Json) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)
