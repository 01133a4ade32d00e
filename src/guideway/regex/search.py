"""Patterns of JSON Schema in texts: which they are found in, and a few of those."""

import re
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from typing import Final

from guideway.errors import GuidewayError, SourceError, UnsupportedError
from guideway.language.expr import ALL_BYTES, all_of, byte_set, repeat
from guideway.language.fuel import attempt, spend, while_there_is_room
from guideway.language.nodes import Expr
from guideway.language.regular import arcs, contains
from guideway.language.shortest_string import Least
from guideway.regex.lowering import lower_search
from guideway.regex.parser import parse_regex
from guideway.regex.tree import Pattern

_PRINTABLE: Final = range(0x20, 0x7F)
_PRINTABLE_BYTE: Final = byte_set(_PRINTABLE)
_LONGEST: Final = 256  # characters
_SAMPLES: Final = 3
_WORK: Final = 4_000  # fuel of one search
_FLAGS: Final = re.compile(r"(?:\(\?[A-Za-z]+\))*")


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


def samples(patterns: tuple[str, ...], low: int = 0, high: int = _LONGEST) -> Iterator[str]:
    """A few printable texts of `low` to `high` characters in which all patterns are found.

    >>> [*samples(("^(a|b[0-9]){2}$",))], [*samples(("^a", "b$"), 3)]
    (['aa', 'ab0', 'b0b0'], ['a b', 'a  b', 'a   b'])
    """
    for _ in range(_SAMPLES):
        found = _sample(patterns, low, min(high, _LONGEST))
        if found is None:
            break
        yield found
        low = len(found) + 1


@lru_cache(maxsize=4096)
def _sample(patterns: tuple[str, ...], low: int, high: int) -> str | None:
    found: list[str] = []

    def search() -> bool:
        fit = all_of([*map(_searched, patterns), repeat(_PRINTABLE_BYTE, low, high)])
        word = Least(ALL_BYTES, arcs, spend).word(fit)
        found.extend([] if word is None else [word.text.decode()])
        return True

    with suppress(UnsupportedError), while_there_is_room:
        attempt(search, _WORK)
    return found[0] if found else None
