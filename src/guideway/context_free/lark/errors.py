"""Lark's errors with place and hint."""

import re
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

from guideway.context_free.lark.extensions import CLOSE, OPEN, Extended, Part
from guideway.errors import (
    GuidewayError,
    LimitError,
    SourceError,
    UnsatisfiableError,
    UnsupportedError,
)
from guideway.sources.names import did_you_mean
from guideway.sources.reading import where

_UNINTENDED: Final = (
    AssertionError, AttributeError, ImportError, LookupError, re.error, SyntaxError, TypeError,
    ValueError,
)  # fmt: skip
_NAMED: Final = (  # patterns of the name in a message; the first match wins
    re.compile(r"<(\w+) :"),
    re.compile(r"'(\w+)'"),
    re.compile(r"not defined: (\w+)"),
    re.compile(r"\((\w+)[:)]"),
    re.compile(r"(?:[Rr]ule|[Tt]erminal) (\w+)"),
)
# Literally, and as in the repr of a token.
_PARTS: Final = re.compile(rf"(?:{OPEN}|\\ufdd0)([0-9]+)(?:{CLOSE}|\\ufdd1)")
_STRING: Final = r'"(?:[^"\\]|\\.)*"'
_LETTER: Final = r'"(?:[^"\\]|\\(?:x..|u.{4}|U.{8}|[^\\]))"'  # not a backslash, as in Lark
_NAMELESS: Final = (  # message without a name, its replacement, pattern of the cause in the grammar
    (
        r'process rule "range"',
        "a range is from one character to another",
        rf"(?!{_LETTER}\s*\.\.\s*{_LETTER}){_STRING}\s*\.\.\s*{_STRING}",
    ),
    (
        r"Bad Range for .*\((-?\d+)\.\.(-?\d+) isn't allowed\)",
        r"\1..\2 times: the lower bound comes first",
        r"~\s*\1\s*\.\.\s*\2",
    ),
    (
        r"SyntaxError\(.*truncated \\*(\w+) escape",
        r"an escape is written \\1, with hexadecimal digits for each X",
        r"\\(?:x(?![\da-fA-F]{2})|u(?![\da-fA-F]{4})|U(?![\da-fA-F]{8}))",
    ),
    (r"cannot contain null bytes", r"a NUL is written \x00 in a string or a regex", r"[\x00]"),
    (
        r"no attribute 'iter_subtrees'",
        "%declare is for terminals, whose names are in capitals",
        r"%declare(?=(?:[ \t]+[A-Z_]+)*[ \t]+[_a-z])",
    ),
    (
        r"Terminals cannot be empty \(__IGNORE_\d+\)",
        "behind %ignore stands what is ignored",
        r"%ignore(?=[ \t]*(?://.*)?$)",
    ),
    (
        r"bad character range (\S)-(\S) at",
        r"the range from '\1' to '\2' is the wrong way round",
        r'"\1"\s*\.\.\s*"\2"',
    ),
)
_DEFINED: Final = re.compile(
    r"^[ \t]*(?:%override[ \t]+|%extend[ \t]+)?[?!]*(\w+)[ \t]*(?:\{[^}\n]*\})?(?:\.-?\d+)?[ \t]*:",
    re.MULTILINE,
)
_STATEMENTS: Final = ("%declare", "%extend", "%ignore", "%import", "%override")
_STATEMENT: Final = re.compile(r"%\w+")
_UNREAD: Final = "Unexpected input"
_PLACE: Final = re.compile(r",? at line \S+ column \S+", re.DOTALL)


def definition(name: str, text: str) -> re.Match[str] | None:
    """Match the name of a rule or terminal where a text defines it."""
    head = rf"(?:(?<=%override)|(?<=%extend)|^)[ \t]*[?!]*(?<!\w){re.escape(name)}"
    found = re.search(head + r"[ \t]*(?:\{[^}\n]*\})?(?:\.-?\d+)?[ \t]*:", text, re.MULTILINE)
    return found and re.compile(re.escape(name)).search(text, found.start())


@dataclass(slots=True)
class Reading:
    """Texts that Lark reads, by path ("" for the grammar itself), and the last import."""

    texts: Mapping[str, Extended]
    at: str = ""

    @property
    def text(self) -> str:
        return self.texts[""].text

    def wrong(self, message: str, name: str = "", written: str = "") -> SourceError:
        """Error placed at the first occurrence of `name`, or else of `written`."""
        found = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", self.text) if name else None
        if found is None and written:
            found = re.search(re.escape(written), self.text)
        return self.placed(message, None if found is None else found.start())

    def exceeded(
        self, message: str, name: str, *, limit: str, given: int, needed: int | None = None
    ) -> LimitError:
        """LimitError placed at the definition of a rule or terminal."""
        for path, read in self.texts.items():
            found = definition(name, read.original)
            if found is not None:
                place = where(read.original, found.start(), path)
                return LimitError(message, limit=limit, given=given, needed=needed, **place)
        return LimitError(message, limit=limit, given=given, needed=needed)

    def of_part(self, part: Part, message: str) -> SourceError:
        return SourceError(message, **where(part.text, part.position, part.path))

    def placed(self, message: str, position: int | None, path: str = "") -> SourceError:
        """Error at a position of the text in `path`."""
        read = self.texts[path]
        message = _PARTS.sub(self._written, message)
        if position is None:
            return SourceError(message, text=read.original)
        position = read.before(min(position, len(read.text)))
        return SourceError(message, **where(read.original, position, path))

    def _written(self, found: re.Match[str]) -> str:
        """Source text of a part, which Lark names by number."""
        parts = [part for text in self.texts.values() for part in text.parts]
        return parts[int(found[1])].written if parts else found[0]

    def names(self) -> list[str]:
        """Names that the texts define."""
        return [name for read in self.texts.values() for name in _DEFINED.findall(read.text)]


@contextmanager
def refusals(reading: Reading) -> Generator[None]:
    """Convert Lark's errors to SourceError and LimitError."""
    errors: Any = import_module("lark.exceptions")
    try:
        yield
    except GuidewayError:
        raise
    except RecursionError:
        calls = sys.getrecursionlimit()
        raise LimitError(
            f"the grammar nests too deeply for Lark, within {calls} nested calls of Python",
            limit="nesting",
            given=calls,
        ) from None
    except errors.LarkError as error:
        unread = error if isinstance(error, errors.UnexpectedInput) else error.__context__
        if isinstance(unread, errors.UnexpectedInput):
            raise _unread(error, unread, reading) from None
        raise _refused(str(error), reading) from None
    except _UNINTENDED as error:
        said = str(error).strip() or type(error).__name__
        raise _refused(f"Lark cannot read this grammar: {said}", reading) from None


def _unread(error: Exception, unread: Any, reading: Reading) -> SourceError:
    """Error of Lark's grammar parser."""
    position = unread.pos_in_stream
    head = str(error).split("\n", 1)[0]
    message = _PLACE.split(head, maxsplit=1)[0]
    place = position if isinstance(position, int) else None
    text = reading.texts[reading.at].text
    statement = None if place is None else _STATEMENT.match(text, place)
    meant = statement[0] if statement and statement[0] not in _STATEMENTS else ""
    near = did_you_mean(meant, _STATEMENTS)
    if message == _UNREAD and place is not None and not text[place].isprintable():
        near = f": {text[place]!r} begins nothing here"  # for instance a byte order mark
    return reading.placed(message + near, place, reading.at)


def _refused(said: str, reading: Reading) -> SourceError:
    """Error of Lark's loader after parsing."""
    message = re.sub(r"\s*\n\s*", " ", said.strip())
    if nameless := placed_by_text(message, reading):
        return nameless
    found = (pattern.search(message) for pattern in _NAMED)
    name = next((match[1] for match in found if match), "")
    defined = reading.names()
    near = did_you_mean(name, defined) if name and name not in defined else ""
    return reading.wrong(message + near, name)


def placed_by_text(message: str, reading: Reading) -> SourceError | None:
    """Error for a message in `_NAMELESS`, if its cause is found in the text."""
    for pattern, instead, about in _NAMELESS:
        said = re.search(pattern, message)
        if said is None:
            continue
        for path, read in reading.texts.items():
            found = re.search(_filled(about, said, re.escape), read.text, re.MULTILINE)
            if found:
                return reading.placed(_filled(instead, said, str), found.start(), path)
    return None


def _filled(template: str, said: re.Match[str], written: Callable[[str], str]) -> str:
    """Replace group numbers in a template by the matched text, after `written`."""
    return re.sub(r"\\(\d)", lambda number: written(said[int(number[1])]), template)


@contextmanager
def within(part: Part) -> Generator[None]:
    """Prefix errors inside a part with its place in the grammar."""
    try:
        yield
    except GuidewayError as error:
        raise placed(error, part) from None


def placed(error: GuidewayError, part: Part) -> GuidewayError:
    said, _, _ = str(error).partition("\n")
    at = part.position
    if isinstance(error, SourceError | UnsupportedError) and _is_inside(error, part):
        # Convert the position in the braces to one in the grammar.
        said, at = said.removesuffix(f" (at {error.place})"), part.inside + (error.position or 0)
    said, place = f"{part.written}: {said}", part.place_of(at)
    if isinstance(error, UnsatisfiableError):
        return error.at(place, said)
    if isinstance(error, SourceError | UnsupportedError | LimitError):
        return error.at(place, said, text=part.text, position=at)
    return error


def _is_inside(error: SourceError | UnsupportedError, part: Part) -> bool:
    """Return True if the error is about the text in the braces."""
    return bool(error.text) and part.text.startswith(error.text or "", part.inside)
