"""Repeated sequences that the next token would complete or extend.

DRY ("don't repeat yourself", p-e-w 2024) penalises a token by the longest sequence that ends the
text and also precedes that token elsewhere. `Repeats` keeps these lengths for all positions and
updates them with each token, in linear time:

    text      a b c a b c a b      the five tokens before the second c are the text's last five,
    lengths   0 0 2 0 0 5 0 0      so another c would continue a sequence of five
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from guideway.sampling.trail import Ids

Lengths: TypeAlias = NDArray[np.int64]
Penalties: TypeAlias = NDArray[np.float64]
LARGEST: Final = 1e9  # a penalty or a bias; more could become −∞, and that would be a ban


@final
@dataclass(frozen=True, slots=True, eq=False)
class Repeats:
    """For each position of a text, how much of the text before it also ends the text.

    Attributes:
        lengths: number of tokens before each position that are the text's last ones.
        breaks: True for tokens that no sequence crosses.
    """

    lengths: Lengths
    breaks: NDArray[np.bool_]

    @classmethod
    def of(cls, ids: Ids, breaks: Sequence[bool]) -> "Repeats":
        """The repeats of a whole text, in linear time."""
        broken = np.array(breaks, np.bool_)
        count = len(ids)
        matched = np.array(_matches(ids[::-1].tolist()), np.int64)
        lengths = np.zeros(count, np.int64)
        lengths[1:] = matched[:0:-1]
        # Neither of the two sequences may go over a break.
        places = np.arange(count + 1)
        since = places - np.maximum.accumulate(np.append(0, np.where(broken, places[1:], 0)))
        return cls(np.minimum(lengths, np.minimum(since[:-1], since[-1])), broken)

    def after(self, ids: Ids, token: int, *, breaks: bool) -> "Repeats":
        """The repeats with one more token; `ids` is the text without it."""
        goes_on = (ids == token) & ~self.breaks & (not breaks)
        lengths = np.append(0, np.where(goes_on, self.lengths + 1, 0))
        return Repeats(lengths, np.append(self.breaks, breaks))

    def penalties(
        self, ids: Ids, *, multiplier: float | int, base: float | int, allowed: int
    ) -> tuple[Ids, Penalties]:
        """Tokens that would continue a sequence of `allowed` tokens or more, and their penalties.

        They are multiplier · base^(length − allowed); breaking tokens have none.

        >>> text = np.array([1, 2, 3, 4, 5, 1, 2, 3, 4])
        >>> repeats = Repeats.of(text, [False] * 9)
        >>> repeats.penalties(text, multiplier=0.8, base=1.75, allowed=2)
        (array([5]), array([2.45]))
        """
        places = np.flatnonzero((self.lengths >= allowed) & ~self.breaks)
        tokens, which = np.unique(ids[places], return_inverse=True)
        longest = np.zeros(len(tokens))
        np.maximum.at(longest, which, self.lengths[places])
        with np.errstate(over="ignore"):
            powers = np.float64(base) ** (longest - allowed)
            return tokens, np.minimum(multiplier * powers, LARGEST)


def completing(ids: Ids, size: int) -> Ids:
    """Tokens that would repeat a sequence of `size` tokens.

    >>> completing(np.array([1, 2, 3, 1, 2]), 3).tolist()
    [3]
    """
    starts = len(ids) - size + 1
    if starts <= 0:
        return ids[:0]
    if size == 1:
        return np.unique(ids)
    places = np.flatnonzero(ids[:starts] == ids[starts])
    for offset in range(1, size - 1):
        places = places[ids[places + offset] == ids[starts + offset]]
    return np.unique(ids[places + size - 1]) if len(places) else ids[:0]


def _matches(text: list[int]) -> list[int]:
    """Z function (Main and Lorentz 1984): common prefix lengths of each suffix and the text."""
    count = len(text)
    found = [count] * count
    low = high = 0  # the match that reaches farthest: text[low:high] is text[:high - low]
    for place in range(1, count):
        length = min(high - place, found[place - low]) if place < high else 0
        while place + length < count and text[length] == text[place + length]:
            length += 1
        found[place] = length
        if place + length > high:
            low, high = place, place + length
    return found
