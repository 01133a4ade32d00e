"""What the terminals of Lark's lexer match, as languages, and which of them may match at a text.

What this module does not know: which are tried in a state, what the automaton reads.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from typing import final

from fairlead.errors import LimitError, SourceError, UnsupportedError
from fairlead.lowering.expr import (
    ALL_BYTES,
    ANYTHING,
    EMPTY,
    EPSILON,
    alt,
    both,
    complement,
    concat,
    literal,
)
from fairlead.lowering.fuel import spend
from fairlead.lowering.nodes import Alt, And, Bytes, Concat, Expr, Not, Repeat
from fairlead.lowering.preferred import Exit, begins, exits
from fairlead.lowering.regex import lower_regex
from fairlead.lowering.regular import contains, derivative
from fairlead.syntax.lark_tree import LarkTerminal
from fairlead.syntax.regex import parse_regex
from fairlead.syntax.regex_tree import Pattern


@final
class Named:
    """Strings that are told from what a regex matches, those before them first."""

    def __init__(self) -> None:
        self._words, self._flagged = dict[bytes, Expr](), list[Expr]()

    def add(self, string: "Terminal") -> None:
        """One more."""
        if string.word is None:
            self._flagged.append(string.whole)
        else:
            self._words[string.word] = string.whole

    def has(self, word: bytes) -> bool:
        """Whether this is one."""
        return word in self._words or any(contains(each, word) for each in self._flagged)

    @property
    def texts(self) -> Expr:
        """All of them."""
        return alt(*self._words.values(), *self._flagged)


@final
class Terminal:
    """A terminal's languages, made when they are needed."""

    def __init__(self, shape: LarkTerminal, marks: bool) -> None:
        self.shape, self._marks = shape, marks
        self.order = (-shape.priority, -shape.max_width, -shape.length, shape.name)
        self._swallowed = dict[str, bool]()
        # What a string without flags matches needs no pattern read: there may be thousands.
        text = shape.text
        self.word = text.encode() if text and text.isascii() and not shape.flags else None

    def swallows(self, string: "Terminal") -> bool:
        """Whether this regex matches a string, all of it, that is tried at the same priority."""
        name, text = string.shape.name, string.shape.text or ""
        if name not in self._swallowed:
            same = string.shape.priority == self.shape.priority
            pattern = self.shape.pattern
            if self.shape.solid:
                pattern = rf"(?:{pattern})(?<=[\s\S])"  # of what stands alone: not of nothing
            match = re.match(pattern, text) if same else None
            self._swallowed[name] = match is not None and match[0] == text
        return self._swallowed[name]

    def flags_hold(self, string: "Terminal") -> bool:
        """Whether a string that this swallows needs no flag that this has not."""
        return string.shape.flags <= self.shape.flags

    @cached_property
    def _pattern(self) -> Pattern:
        """The regex as it stands in Lark's: a group among others."""
        try:
            pattern = parse_regex(f"(?:{self.shape.pattern})")
        except SourceError as error:
            raise UnsupportedError(str(error), feature="global flags") from None
        if pattern.backs:
            raise UnsupportedError(
                "a reference back counts groups, of which the lexer has those of other terminals "
                "too; lexer='dynamic' has not",
                feature="backreference",
            )
        return pattern

    def refuse(self) -> None:
        """Refuse what cannot be told exactly, naming the terminal."""
        try:
            if self.word is None:
                self.exits  # noqa: B018  made once
        except UnsupportedError as error:
            raise _said(self.shape, error) from None
        except LimitError as error:
            raise limited(self.shape, error) from None

    @cached_property
    def exits(self) -> tuple[Exit, ...]:
        """What is taken, and what has to follow."""
        if self.word is not None:
            return (Exit(literal(self.word), ANYTHING),)
        return exits(self._pattern, self._marks, self.shape.solid)

    @cached_property
    def begins(self) -> Expr:
        """Texts at which this matches."""
        if self.word is not None:
            return concat(literal(self.word), ANYTHING)
        return begins(self._pattern, self._marks, self.shape.solid)

    @cached_property
    def whole(self) -> Expr:
        """What equals this string, as its flags have it."""
        if self.word is not None:
            return literal(self.word)
        return lower_regex(self._pattern)

    def exits_within(self, string: "Terminal", named: Named) -> list[Exit]:
        """What is taken of this regex and equals a string, those named before excepted."""
        words, word = string.whole, one_word(string.whole)
        if word is not None:
            words = EMPTY if named.has(word) else words
        else:
            words = both(words, complement(named.texts))
        found = [Exit(_met(each.text, words), each.after) for each in self.exits]
        return [each for each in found if each.text is not EMPTY]

    def exits_without(self, named: Named) -> Sequence[Exit]:
        """What is taken of it and has no name of its own."""
        texts = named.texts
        if texts is EMPTY:
            return self.exits
        return [Exit(both(each.text, complement(texts)), each.after) for each in self.exits]


@final
class Rivals:
    """Terminals in the order in which they are tried, and which of them may match at a text.

    Strings are looked up: most are told from any other by their beginning.

    Args:
        tried: the terminals.
        known: whether a text and a terminal may meet, as far as that was asked before.
    """

    def __init__(
        self, tried: Sequence[Terminal], known: dict[tuple[bytes, Terminal], bool]
    ) -> None:
        self.tried, self._known = tried, known
        places = [(each.word, place) for place, each in enumerate(tried)]
        self._words = sorted((word, place) for word, place in places if word is not None)
        self._lengths = sorted({len(word) for word, _ in self._words})
        self._others = dict[int, list[int]]()
        self._all = dict[int, list[int]]()
        for place, each in enumerate(tried):
            begun = firsts(each.begins) if each.word is None else 1 << each.word[0]
            self._all.setdefault(begun, []).append(place)
            if each.word is None:
                self._others.setdefault(begun, []).append(place)

    def of(self, exits: Sequence[Exit], place: int) -> tuple[Terminal, ...]:
        """Those before this place that may match where one of these texts stands."""
        text = alt(*(each.text for each in exits))
        word = one_word(text)
        if word:
            return self.of_word(word, place)
        begun = firsts(text)
        groups = (found for bits, found in self._all.items() if bits & begun)
        return self._tried([each for found in groups for each in found if each < place])

    def of_word(self, word: bytes, place: int) -> tuple[Terminal, ...]:
        """Those before this place that may match where a word stands, whatever is behind it."""
        places = [each for each in self._spelled(word) if each < place]
        groups = (found for bits, found in self._others.items() if bits >> word[0] & 1)
        before = (each for found in groups for each in found if each < place)
        places += (each for each in before if self._meet(word, each))
        return self._tried(places)

    def _tried(self, places: list[int]) -> tuple[Terminal, ...]:
        spend(len(places))
        return tuple(self.tried[each] for each in sorted(places))

    def _spelled(self, word: bytes) -> Iterable[int]:
        """The strings that begin with this one, and those that this one begins with."""
        for length in self._lengths:
            beginning = word[:length]
            at = bisect_left(self._words, (beginning, 0))
            while at < len(self._words) and (
                self._words[at][0].startswith(word)
                if length >= len(word)
                else self._words[at][0] == beginning
            ):
                yield self._words[at][1]
                at += 1
            if length >= len(word):
                return

    def _meet(self, word: bytes, place: int) -> bool:
        key = word, self.tried[place]
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = may_meet(word, key[1].begins)
        return found


def _said(shape: LarkTerminal, error: UnsupportedError) -> UnsupportedError:
    return UnsupportedError(f"the terminal {shape.written}: {error}", feature=error.feature)


def limited(shape: LarkTerminal, error: LimitError) -> LimitError:
    """An error about a terminal that is too large, with its name."""
    said = f"the terminal {shape.written}: {error}"
    return LimitError(said, limit=error.limit, given=error.given, needed=error.needed)


def _met(text: Expr, words: Expr) -> Expr:
    """Both; as the words themselves where that is one word."""
    word = one_word(words)
    if word is None:
        return both(text, words)
    for byte in word:
        text = derivative(text, byte)
    return words if text.nullable else EMPTY


def one_word(expr: Expr) -> bytes | None:
    """The only string of an expression, None where there are more or that is not plain to see."""
    word = bytearray()
    while expr is not EPSILON:
        head, tail = (expr.head, expr.tail) if isinstance(expr, Concat) else (expr, EPSILON)
        if not isinstance(head, Bytes) or head.members & (head.members - 1):
            return None
        word.append(head.members.bit_length() - 1)
        expr = tail
    return bytes(word)


def may_meet(word: bytes, begun: Expr) -> bool:
    """Whether a word, something behind it, may be in `begun`: False is certain."""
    for byte in word:
        begun = derivative(begun, byte)
        if begun is EMPTY:
            return False
    return True


@lru_cache(maxsize=1 << 12)
def firsts(root: Expr) -> int:
    """The bytes with which strings of a regular expression may begin; some more, perhaps."""
    found, todo, seen = 0, [root], {root}
    while todo:
        node = todo.pop()
        match node:
            case Bytes(members):
                found |= members
                parts: Sequence[Expr] = ()
            case Concat(head, tail):
                parts = (head, tail) if head.nullable else (head,)
            case Alt(options):
                parts = options
            case Repeat(item):
                parts = (item,)
            case And(left, right):
                # Each is more than both; the first that is no complement will do.
                parts = (right,) if isinstance(left, Not) else (left,)
            case Not():
                found |= ALL_BYTES
                parts = ()
            case _:
                parts = ()
        todo += (part for part in parts if part not in seen)
        seen.update(parts)
    return found
