"""Lark's errors with place and hint, and grammars after reading."""

import re
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from itertools import compress
from typing import Any, Final, final

from guideway.context_free.lark.extensions import CLOSE, OPEN, Extended, Part, place_in
from guideway.context_free.lowering import Production
from guideway.errors import (
    GuidewayError,
    LimitError,
    SourceError,
    UnsatisfiableError,
    UnsupportedError,
)
from guideway.sources.names import did_you_mean

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


@final
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
                return LimitError(
                    message, limit=limit, given=given, needed=needed,
                    place=place_in(path, read.original, found.start()),
                    text=read.original, position=found.start(),
                )  # fmt: skip
        return LimitError(message, limit=limit, given=given, needed=needed)

    def told(self, part: Part, message: str) -> SourceError:
        return SourceError(message, place=part.place, text=part.text, position=part.position)

    def placed(self, message: str, position: int | None, path: str = "") -> SourceError:
        """Error at a position of the text in `path`."""
        read = self.texts[path]
        message = _PARTS.sub(self._written, message)
        if position is None:
            return SourceError(message, text=read.original)
        position = read.before(min(position, len(read.text)))
        where = place_in(path, read.original, position)
        return SourceError(message, place=where, text=read.original, position=position)

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


_FLAGS: Final = bytes.maketrans(b"01", b"\x00\x01")


@final
@dataclass(frozen=True, slots=True)
class LarkTerminal:
    """A terminal.

    Attributes:
        name: its name in rules; Lark names anonymous ones.
        pattern: Python `re` pattern, with flags as `(?i:…)`.
        text: the string without flags, or None for a regex.
        flags: letters of "imslux" after the string or regex.
        priority: higher ones are tried first.
        min_width: least length of a match, at least 1.
        max_width: greatest length, as Lark counts it.
        length: of the text or pattern without flags; Lark tries longer ones first.
        written: its name for messages.
        solid: True if the pattern matches "": the match is then the first of `re`'s preference that
            is not empty.
    """

    name: str
    pattern: str
    text: str | None
    flags: frozenset[str]
    priority: int
    min_width: int
    max_width: int
    length: int
    written: str
    solid: bool = False


@final
@dataclass(frozen=True, slots=True)
class LarkTable:
    """LALR(1) table, conflicts resolved as in Lark.

    Attributes:
        shifts: for each state, the next state by terminal.
        reductions: for each state, the production by lookahead, `END` at the end of the text. No
            terminal is in both.
        gotos: for each state, the next state by rule.
        kernels: for each state, its items as (production, symbols read).
        end: the state on top of the stack at the end of the text.
        denied: (state, production, terminal) of reductions in conflict.
        alike: terminals merged into another one, which represents them in the table.
        rules: names of rules by number.
        terminals: names of terminals, END first; they are numbered after the rules.
        wanted: for each state, bit mask of the terminals with an action, END lowest.
    """

    shifts: tuple[Mapping[str, int], ...]
    reductions: tuple[Mapping[str, int], ...]
    gotos: tuple[Mapping[str, int], ...]
    kernels: tuple[tuple[tuple[int, int], ...], ...]
    productions: tuple[Production, ...]
    start: int
    end: int
    denied: tuple[tuple[int, int, str], ...]
    alike: Mapping[str, str]
    rules: tuple[str, ...]
    terminals: tuple[str, ...]
    wanted: tuple[int, ...]

    def named(self, terminals: int) -> list[str]:
        """Names of the terminals in a bit mask, without END."""
        return [*compress(self.terminals, bin(terminals & ~1)[:1:-1].encode().translate(_FLAGS))]


@final
@dataclass(frozen=True, slots=True)
class Indentation:
    """Attributes of Lark's `Indenter`.

    Attributes:
        newline: terminal that sets the indentation of the next line.
        opening: opening brackets; indentation is ignored up to the closing one.
        closing: closing brackets.
        indent: terminal inserted for greater indentation.
        dedent: terminal inserted at the end of a block.
        tab: columns of a tab.
        items: terminals that begin a block within a line (`context_free.lark.indenter`).
    """

    newline: str
    opening: frozenset[str]
    closing: frozenset[str]
    indent: str
    dedent: str
    tab: int
    items: frozenset[str] = frozenset()

    @property
    def names(self) -> frozenset[str]:
        """All its terminals."""
        own = {self.newline, self.indent, self.dedent}
        return self.opening | self.closing | self.items | own


@final
@dataclass(frozen=True, slots=True)
class LarkGrammar:
    """A loaded grammar.

    Attributes:
        table: the LALR table, or None for the dynamic lexer.
        parts: parts in guideway's notation by terminal; never empty here.
        nested: their grammars, for `%lark` parts.
        collision: why the default lexer is dynamic: a conflict that Lark reports, or a numbered
            group reference.
    """

    terminals: Mapping[str, LarkTerminal]
    rules: Mapping[str, tuple[tuple[str, ...], ...]]
    start: str
    ignored: tuple[str, ...]
    table: LarkTable | None = None
    indentation: Indentation | None = None
    parts: Mapping[str, Part] = field(default_factory=dict[str, Part])
    nested: Mapping[str, "LarkGrammar"] = field(default_factory=dict[str, "LarkGrammar"])
    collision: str = ""

    @property
    def items(self) -> Mapping[str, int]:
        """Widths of the terminals that begin a block within a line."""
        names = frozenset[str]() if self.indentation is None else self.indentation.items
        return {name: self.terminals[name].min_width for name in names if name in self.terminals}


END = "$END"
"""The terminal of the end of the text in a table."""
