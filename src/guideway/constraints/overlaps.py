"""Estimate of how much a pattern overlaps with itself, which can give automata of 2^n states.

A state is the set of places where a text may be within the pattern. `a.{12}b` may begin at each
letter, so it has about 2^12 states; `abc` has four; `^[a-f0-9]{8}-` is at one place at a time. The
estimate takes microseconds, a thousandth of the time of computing a first mask.
"""

import re
from functools import lru_cache
from typing import Final, NamedTuple, final

_MOST: Final = 1 << 20
_LONGEST: Final = 10_000  # characters of a pattern that is read: at most 34 ms
# Single characters, quantifiers, the begin and end of groups, and classes.
_TOKENS: Final = re.compile(
    r"[\w:/@, -]+(?=[\w:/@, -])"
    r"|(?P<often>[*+?]|\{(?P<low>\d+)(?P<more>,?)(?P<high>\d*)\})"
    r"|(?P<begins>\((?:\?(?P<looks><?[=!])?)?)|(?P<ends>\))|(?P<or>\|)|(?P<beginning>\^)"
    r"|(?P<wide>\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\\[pP]\{[^}]*\}|\\[dDwWsSpP])|\\?.",
    re.DOTALL,
)


class _Part(NamedTuple):
    """Numbers of open places if the part begins once, and if it begins anywhere."""

    once: int = 0
    anywhere: int = 0
    varies: bool = False


_BEGINNING: Final = _Part()
_ITEMS: Final = {None: _Part(0, 0), "wide": _Part(0, 1), "beginning": _BEGINNING}


def _repeated(part: _Part, low: int, high: int | None) -> _Part:
    if low == high and not part.varies:
        return _Part(part.once * low, part.anywhere * low)
    often = max(low if high is None else high, 1)
    if part.varies:
        again = part.anywhere * (often - 1 + (high is None))
    else:  # a text that began once is at one of its places, or after them
        again = part.anywhere.bit_length()
    anywhere = part.anywhere if low == high else max(part.anywhere, 1)
    return _Part(part.once + again, anywhere * often, varies=True)


@final
class _Group:
    """The options of a group so far, and the items of the last one."""

    def __init__(self, *, looks: bool = False) -> None:
        self._looks, self._options = looks, list[_Part]()
        self.begins_once = True  # each option so far is anchored
        self.items: list[_Part] = []

    def end_option(self) -> None:
        items, self.items = self.items, []
        once, anywhere, varies = 0, 0, False
        for item in items:
            once += item.anywhere if varies else item.once
            anywhere += item.anywhere
            varies = varies or item.varies
        begins_once = len(items) > 0 and items[0] is _BEGINNING
        self.begins_once = self.begins_once and begins_once
        self._options.append(_Part(once, once if begins_once else anywhere, varies))

    def whole(self) -> _Part:
        """The whole group; a lookaround may hold several texts at once."""
        self.end_option()
        several = len(self._options) > 1  # at least like a class of characters
        anywhere = max(sum(part.anywhere for part in self._options), int(several))
        once = anywhere if self._looks else sum(part.once for part in self._options)
        varies = several or self._options[0].varies
        return _Part(once, anywhere, varies and not self._looks)


@lru_cache(maxsize=4096)
def overlap(pattern: str) -> int:
    """About how many places of a pattern may be open at once, independently of each other.

    >>> overlap("a.{12}b"), overlap("abc"), overlap("^[a-f0-9]{8}-[a-f0-9]{4}$")
    (14, 2, 0)
    """
    if len(pattern) > _LONGEST:
        return _MOST
    groups, letters = [_Group()], 0
    for token in _TOKENS.finditer(pattern):
        letters += _read(token, groups)
    while len(groups) > 1:
        _end(groups)
    # An unanchored pattern also has one place of its own: nine words in one text give thousands of
    # states.
    whole = groups[0].whole()
    at_one = 0 if groups[0].begins_once else letters.bit_length()
    return min(whole.anywhere + at_one, _MOST)


def _read(token: re.Match[str], groups: list[_Group]) -> int:
    """Read a token; return the number of its characters."""
    items, kind = groups[-1].items, token.lastgroup
    if kind == "often":
        if items:
            items[-1] = _repeated(items[-1], *_count(token))
    elif kind == "begins":
        groups.append(_Group(looks=token["looks"] is not None))
    elif kind == "ends":
        _end(groups)
    elif kind == "or":
        groups[-1].end_option()
    else:
        items.append(_ITEMS[kind])
        return len(token[0]) if kind is None else int(kind == "wide")
    return 0


def _end(groups: list[_Group]) -> None:
    if len(groups) > 1:
        whole = groups.pop().whole()
        groups[-1].items.append(whole)


def _count(token: re.Match[str]) -> tuple[int, int | None]:
    if token["low"] is None:
        return int(token[0] == "+"), 1 if token[0] == "?" else None
    low, high = int(token["low"]), token["high"]
    return low, int(high) if high else None if token["more"] else low
