"""Strings in which a pattern is found: as JSON spells them, and in UTF-8 for questions."""

from collections.abc import Iterable
from functools import lru_cache
from weakref import WeakKeyDictionary

from guideway.errors import SourceError, UnsupportedError
from guideway.lowering import regular
from guideway.lowering.expr import alt
from guideway.lowering.fuel import spend
from guideway.lowering.json_text import Spelling
from guideway.lowering.nodes import Expr
from guideway.lowering.regex import lower_search
from guideway.lowering.regular import contains
from guideway.syntax.json_schema_tame_values import is_plain_pattern
from guideway.syntax.regex_finding import parsed
from guideway.syntax.regex_tree import Pattern
from guideway.syntax.regex_words import words_of_pattern

_found: "WeakKeyDictionary[Expr, Pattern]" = WeakKeyDictionary()
_parts: "WeakKeyDictionary[Expr, frozenset[Expr]]" = WeakKeyDictionary()  # of what has any of many


@lru_cache(maxsize=512)
def strings_with(pattern: Pattern, spelling: Spelling) -> Expr:
    """The strings in which a pattern is found, without their quotes.

    Raises:
        UnsupportedError, LimitError: as `lower_search` says.
    """
    made = lower_search(pattern, spelling.character)
    _found[made] = pattern
    return made


def plainly_lowers(pattern: str) -> bool:
    """Whether a pattern is well formed and needs no product of automata."""
    spend(len(pattern))
    return is_plain_pattern(pattern)


@lru_cache(maxsize=512)
def lowers(spelling: Spelling, pattern: str) -> bool:
    """Whether a pattern is well formed and has an automaton, which is then kept."""
    if plainly_lowers(pattern):
        return True
    try:
        strings_with(parsed(pattern), spelling)
    except (SourceError, UnsupportedError):
        return False
    return True


def any_of_strings(parts: Iterable[Expr]) -> Expr:
    """The strings that are among any of these, each what `strings_with` makes of a pattern."""
    listed = dict.fromkeys(parts)
    made = alt(*listed)
    if made not in listed:
        _parts[made] = frozenset(listed)
    return made


def plain_strings(strings: Expr) -> Expr | None:
    """The same strings in UTF-8, if they are those with one of some patterns."""
    found = [_plain(part) for part in _parts.get(strings, (strings,))]
    told = [part for part in found if part is not None]
    return alt(*told) if len(told) == len(found) else None


def words_with(strings: Expr) -> frozenset[str] | None:
    """The strings, if they are those with one of some patterns, and plainly few."""
    patterns = [_found.get(part) for part in _parts.get(strings, (strings,))]
    told = [words for one in patterns if one and (words := words_of_pattern(one)) is not None]
    return frozenset[str]().union(*told) if len(told) == len(patterns) else None


def has_string(strings: Expr, text: str, spelling: Spelling) -> bool:
    """Whether a string is among some.

    >>> from guideway.syntax.regex import parse_regex
    >>> spelling = Spelling(plain=False)
    >>> has_string(strings_with(parse_regex("^x-", "ecma"), spelling), "x-a", spelling)
    True
    """
    return any(_has_string(part, text, spelling) for part in _parts.get(strings, (strings,)))


def _has_string(strings: Expr, text: str, spelling: Spelling) -> bool:
    plain = _plain(strings)
    if plain is None:
        return contains(strings, spelling.write(text))
    return contains(plain, text.encode())


def surely_apart(first: Expr, second: Expr) -> bool:
    """Whether short searches show that no string is among both."""
    others = _parts.get(second, (second,))
    return all(_apart(one, other) for one in _parts.get(first, (first,)) for other in others)


def _apart(first: Expr, second: Expr) -> bool:
    plain, other = _plain(first), _plain(second)
    if plain is None or other is None:
        return regular.surely_apart(first, second)
    return _surely_apart(plain, other)


def surely_within(first: Expr, second: Expr) -> bool:
    """Whether all strings of the first are plainly among the second, as its patterns are."""
    return _parts.get(first, frozenset((first,))) <= _parts.get(second, frozenset((second,)))


@lru_cache(maxsize=4096)
def _surely_apart(first: Expr, second: Expr) -> bool:
    return regular.surely_apart(first, second)


def _plain(strings: Expr) -> Expr | None:
    pattern = _found.get(strings)
    return None if pattern is None else _utf8(pattern)


@lru_cache(maxsize=4096)
def _utf8(pattern: Pattern) -> Expr:
    return lower_search(pattern)
