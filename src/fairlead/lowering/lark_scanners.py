"""Which terminal Lark's contextual lexer takes, as languages.

In each state of the automaton the lexer knows the terminals that have an action there, those that
are ignored, and what a postlexer always wants. It tries them one after the other, by priority, the
most characters that a match can have, the length of the pattern, and the name; the first that
matches is taken, as much of the text as `re.match` prefers, whatever comes after. Strings that a
regex of the same priority matches are not tried: what the regex has matched is called after the
string that it equals.

    way       of the terminal T, at the text w·u:  no earlier one matches at w·u, re.match(T) takes
              w where u follows, and w is none of the strings, or is one of them

What this module does not know: stacks, indentation, what may follow.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import final

from fairlead.errors import SourceError, UnsupportedError
from fairlead.lowering.expr import (
    ALL_BYTES,
    ANYTHING,
    EMPTY,
    EPSILON,
    ahead,
    alt,
    both,
    complement,
    concat,
)
from fairlead.lowering.nodes import Alt, And, Bytes, Concat, Expr, Not, Repeat
from fairlead.lowering.preferred import Exit, begins, exits
from fairlead.lowering.regex import lower_regex
from fairlead.lowering.regular import contains, derivative
from fairlead.syntax.lark_tree import LarkGrammar, LarkTerminal
from fairlead.syntax.regex import parse_regex
from fairlead.syntax.regex_tree import Pattern


@final
@dataclass(frozen=True, slots=True)
class Way:
    """Texts at which a terminal is taken.

    Attributes:
        terminal: what the automaton reads.
        ignored: whether it does not.
        guard: an Ahead that says that no earlier terminal matches, or nothing.
        exits: what is taken, and what has to follow.
        level: at which it looks ahead.
    """

    terminal: str
    ignored: bool
    guard: Expr
    exits: tuple[Exit, ...]
    level: int = 0

    @property
    def text(self) -> Expr:
        """All of it as one expression."""
        taken = (concat(each.text, ahead(each.after, self.level)) for each in self.exits)
        return concat(self.guard, alt(*taken))


@final
class Scanners:
    """The lexers of all states.

    Args:
        grammar: whose terminals they tell apart.
        parts: what stands in it that is no Lark. It is no terminal of theirs: where one may stand,
            it may, whatever they take there.
        level: at which they look ahead.
    """

    def __init__(
        self, grammar: LarkGrammar, parts: Mapping[str, Expr] | None = None, level: int = 0
    ) -> None:
        self._parts: Mapping[str, Expr] = parts or {}
        self._level = level
        always = () if grammar.indentation is None else (grammar.indentation.newline,)
        self._extra = frozenset(
            name for name in (*grammar.ignored, *always) if name in grammar.terminals
        )
        self._ignored = frozenset(grammar.ignored)
        self._terminals = {
            name: _Terminal(each, bool(grammar.parts)) for name, each in grammar.terminals.items()
        }
        self._known = dict[frozenset[str], tuple[Way, ...]]()
        # Most states have the same ways, and the same rivals of each.
        self._made = dict[
            tuple[_Terminal, _Terminal, tuple[Exit, ...], tuple[_Terminal, ...]], Way
        ]()
        self._met = dict[tuple[Expr, _Terminal], bool]()

    def check(self) -> None:
        """Refuse terminals whose matches cannot be told exactly."""
        for terminal in self._terminals.values():
            terminal.refuse()

    def ways(self, names: Sequence[str]) -> tuple[Way, ...]:
        """What is taken where these terminals have an action."""
        key = frozenset(name for name in names if name in self._terminals) | self._extra
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = tuple(self._ways([self._terminals[name] for name in key]))
        if self._parts:
            others = (name for name in names if name in self._parts)
            found += tuple(self._whole(name, self._parts[name]) for name in others)
        return found

    def _whole(self, name: str, part: Expr) -> Way:
        return Way(name, False, EPSILON, (Exit(part, ANYTHING),))

    def _ways(self, terminals: list["_Terminal"]) -> Iterable[Way]:
        terminals.sort(key=lambda each: each.order)
        strings = [each for each in terminals if each.shape.text is not None]
        inside = {
            each: [s for s in strings if each.shape.text is None and each.swallows(s)]
            for each in terminals
        }
        gone = {s for each, found in inside.items() for s in found if each.flags_hold(s)}
        tried = [each for each in terminals if each not in gone]
        for place, each in enumerate(tried):
            rivals = tried[:place]
            named = EMPTY
            for string in inside[each]:
                found = each.exits_within(string, named)
                named = alt(named, string.whole)
                yield from self._way(string, each, found, rivals)
            yield from self._way(each, each, each.exits_without(named), rivals)

    def _way(
        self,
        called: "_Terminal",
        taken: "_Terminal",
        exits: Sequence[Exit],
        rivals: Sequence["_Terminal"],
    ) -> Iterable[Way]:
        text = alt(*(each.text for each in exits))
        met = tuple(rival for rival in rivals if self._meet(text, rival))
        key = called, taken, tuple(exits), met
        found = self._made.get(key)
        if found is None:
            guards = (ahead(complement(rival.begins), self._level) for rival in met)
            # What is ignored is so by what matched, however it is called then.
            ignored = taken.shape.name in self._ignored
            name = called.shape.name
            found = Way(name, ignored, concat(*guards), key[2], self._level)
            self._made[key] = found
        yield found

    def _meet(self, text: Expr, rival: "_Terminal") -> bool:
        key = text, rival
        found = self._met.get(key)
        if found is None:
            found = self._met[key] = may_meet(text, rival.begins)
        return found


@final
class _Terminal:
    """A terminal's languages, made when they are needed."""

    def __init__(self, shape: LarkTerminal, marks: bool) -> None:
        self.shape, self._marks = shape, marks
        self.order = (-shape.priority, -shape.max_width, -shape.length, shape.name)
        self._swallowed = dict[str, bool]()

    def swallows(self, string: "_Terminal") -> bool:
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

    def flags_hold(self, string: "_Terminal") -> bool:
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
            self.exits  # noqa: B018  made once
        except UnsupportedError as error:
            raise _said(self.shape, error) from None

    @cached_property
    def exits(self) -> tuple[Exit, ...]:
        """What is taken, and what has to follow."""
        return exits(self._pattern, self._marks, self.shape.solid)

    @cached_property
    def begins(self) -> Expr:
        """Texts at which this matches."""
        return begins(self._pattern, self._marks, self.shape.solid)

    @cached_property
    def whole(self) -> Expr:
        """What equals this string, as its flags have it."""
        return lower_regex(self._pattern)

    def exits_within(self, string: "_Terminal", named: Expr) -> list[Exit]:
        """What is taken of this regex and equals a string, those named before excepted."""
        words, word = string.whole, one_word(string.whole)
        if word is not None:
            words = EMPTY if contains(named, word) else words
        elif named is not EMPTY:
            words = both(words, complement(named))
        found = [Exit(_met(each.text, words), each.after) for each in self.exits]
        return [each for each in found if each.text is not EMPTY]

    def exits_without(self, named: Expr) -> Sequence[Exit]:
        """What is taken of it and has no name of its own."""
        if named is EMPTY:
            return self.exits
        return [Exit(both(each.text, complement(named)), each.after) for each in self.exits]


def _said(shape: LarkTerminal, error: UnsupportedError) -> UnsupportedError:
    return UnsupportedError(f"the terminal {shape.written}: {error}", feature=error.feature)


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


def may_meet(text: Expr, begun: Expr) -> bool:
    """Whether a string of `text`, something behind it, may be in `begun`: False is certain."""
    word = one_word(text)
    if word is None:
        return bool(firsts(text) & firsts(begun))
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
