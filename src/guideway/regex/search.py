"""Patterns of JSON Schema: search without automata, and finite patterns."""

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from typing import Final, final

from guideway.errors import GuidewayError, SourceError, UnsupportedError
from guideway.language.fuel import while_there_is_room
from guideway.language.nodes import Expr
from guideway.language.regular import contains
from guideway.regex.finite import finite_texts
from guideway.regex.lowering import lower_search
from guideway.regex.parser import parse_regex
from guideway.regex.tree import (
    Alternation,
    Anchor,
    Class,
    Dot,
    Group,
    Leaf,
    Look,
    Node,
    Pattern,
    Range,
    Repeat,
    Sequence,
    Shorthand,
    Text,
)

_PRINTABLE: Final = frozenset(map(chr, range(0x20, 0x7F)))
_WORD: Final = frozenset("_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_NAMED: Final = {"digit": frozenset("0123456789"), "space": frozenset(" "), "word": _WORD}
_CHOICE: Final = "aA0-_.b/: 1"  # preferred characters of a class, else the least ones
_DEEPEST: Final = 64  # nodes within nodes
_LONGEST: Final = 256  # characters
_FLAGS: Final = re.compile(r"(?:\(\?[A-Za-z]+\))*")
_WAYS: Final = ((0, 0), (1, 0), (1, 1), (4, 2), (12, 3))  # (repetitions, shift of choices)


class _UnknownError(Exception):
    """The answer is unknown."""


@lru_cache(maxsize=1024)
def parsed(pattern: str) -> Pattern:
    flags = leading_flags(pattern)
    if not flags:
        return parse_regex(pattern, "ecma")
    try:
        return parse_regex(pattern, "python")
    except SourceError:
        letters = re.sub(r"\W", "", flags)
        with suppress(GuidewayError):  # (?i)(?<name>…) is in neither dialect, but in RE2
            return parse_regex(f"(?{letters}:{pattern.removeprefix(flags)})", "ecma")
        raise


def leading_flags(pattern: str) -> str:
    found = _FLAGS.match(pattern)
    return "" if found is None else found[0]


@lru_cache(maxsize=4096)
def finds(pattern: str, text: str) -> bool | None:
    r"""Return True if a well formed pattern is found in a text, None if unknown.

    >>> finds("^a+$", "aa"), finds("^a+$", "ab"), finds("a", "a" * 300)
    (True, False, None)
    """
    if len(text) <= _LONGEST:
        with suppress(UnsupportedError, UnicodeEncodeError), while_there_is_room:
            return contains(_searched(pattern), text.encode())
    return None


@lru_cache(maxsize=1024)
def _searched(pattern: str) -> Expr:
    return lower_search(parsed(pattern))


@lru_cache(maxsize=4096)
def members(leaf: Class | Shorthand | Dot) -> frozenset[str]:
    """The printable ASCII characters that a leaf matches."""
    if isinstance(leaf, Dot):
        return _PRINTABLE
    if leaf.mode.ignore_case:
        raise _UnknownError
    if isinstance(leaf, Shorthand):
        if leaf.name not in _NAMED:
            raise _UnknownError
        return _PRINTABLE - _NAMED[leaf.name] if leaf.negated else _NAMED[leaf.name]
    found = set[str]()
    for item in leaf.items:
        if isinstance(item, int):
            found.add(chr(item))
        elif isinstance(item, Range):
            found.update(char for char in _PRINTABLE if item.low <= ord(char) <= item.high)
        else:
            found |= members(item)
    return frozenset(_PRINTABLE - found if leaf.negated else _PRINTABLE & found)


def samples(pattern: str, more: int = 0) -> Iterator[str]:
    """A few texts in which a pattern may be found, ignoring lookaround; `more` adds repetitions.

    >>> list(samples("^(a|b[0-9]){2}$"))
    ['aa', 'aa', 'b0b0', 'aa', 'b0b0']
    """
    for extra, shift in _WAYS:
        found = _sample(pattern, extra + more, shift)
        if found is None:
            return
        yield found


@lru_cache(maxsize=4096)
def _sample(pattern: str, extra: int, shift: int) -> str | None:
    try:
        return _Sampler(extra, shift).text(parsed(pattern).body, _DEEPEST)
    except _UnknownError:
        return None


@final
class _Sampler:
    """Makes a text for a pattern, with one choice of repetitions and options."""

    def __init__(self, extra: int, shift: int) -> None:
        self._extra, self._shift = extra, shift
        self._made = 0

    def text(self, node: Node, left: int) -> str:
        if left == 0 or self._made > _LONGEST:
            raise _UnknownError
        match node:
            case Group(item):
                return self.text(item, left - 1)
            case Sequence(items):
                return "".join([self.text(item, left - 1) for item in items])
            case Alternation(options):
                return self.text(options[self._shift % len(options)], left - 1)
            case Repeat(item, low, high):
                count = max(low, self._extra if high is None else min(self._extra, high))
                if count > _LONGEST:
                    raise _UnknownError
                return "".join([self.text(item, left - 1) for _ in range(count)])
            case _:
                return self._leaf(node)

    def _leaf(self, node: Leaf | Look) -> str:
        match node:
            case Text(text):
                self._made += len(text)
                return text
            case Class() | Shorthand() | Dot():
                return self._one(members(node))
            case _:
                return ""

    def _one(self, chars: frozenset[str]) -> str:
        """A character of a class; `shift` above 1 varies it."""
        usual = [char for char in _CHOICE if char in chars] or sorted(chars)[:4]
        if not usual:
            raise _UnknownError
        self._made += 1
        return usual[self._made * (self._shift > 1) % len(usual)]


_MOST: Final = 32  # words


def words_of_pattern(pattern: Pattern) -> frozenset[str] | None:
    r"""Texts in which an ECMA pattern is found, if they are few printable ASCII texts, else None.

    >>> from guideway.regex.parser import parse_regex
    >>> sorted(words_of_pattern(parse_regex(r"^a(b|[cd])$", "ecma")) or ())
    ['ab', 'ac', 'ad']
    """
    body = pattern.body
    if not isinstance(body, Sequence) or len(body.items) < 2:
        return None
    first, *middle, last = body.items
    if not (_is_anchor(first, "text start") and _is_anchor(last, "text end")):
        return None
    words = finite_texts(replace(body, items=tuple(middle)), _MOST)
    plain = words is not None and all(map(_PRINTABLE.issuperset, words))
    return frozenset(words) if words is not None and plain else None


def _is_anchor(node: Node, kind: str) -> bool:
    return isinstance(node, Anchor) and node.kind == kind
