"""Interpolated modified Kneser–Ney estimates of n-grams, counted with numpy.

    p(w | c) = max(a(c w) − D(a(c w)), 0) / Σ a(c ·) + γ(c) · p(w | c without its first token)

Chen and Goodman, "An empirical study of smoothing techniques for language modeling" (Computer
Speech and Language 13, 1999, section 3). a is the number of occurrences for n-grams of the highest
order and for those that begin a text, else the number of different tokens before it. D has a value
for a = 1, 2, and 3 or more, estimated for each order from the numbers of n-grams with a = 1 to 4,
or ½, 1 and 1½ if these are too few. γ(c) is the mass of the discounts. Below single tokens is the
uniform distribution.

The texts are one stream with a boundary symbol between them, which is context before a text and
predicted as its end; no n-gram crosses it. Stored are log p of each seen n-gram and log γ of each
context, as in ARPA files; other p are p after the shorter context times γ. N-grams of an order are
sorted by context and last token; a context is the index of its n-gram in the order below.
"""

from dataclasses import dataclass
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

FALLBACK: Final = (0.5, 1.0, 1.5)  # discounts where the counts of counts give none

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """The n-grams of one order, two tokens or more.

    Attributes:
        starts: index in `tokens` of each context's first token; ends with the total.
        tokens: last tokens, ascending for each context.
        values: natural log p of the last token after the context.
        backoffs: log γ of each context.
    """

    starts: Integers
    tokens: NDArray[np.int32]
    values: NDArray[np.float32]
    backoffs: NDArray[np.float32]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Tables:
    """Log p of single tokens (−∞ if never predicted), and n-grams of two, three, … tokens."""

    single: NDArray[np.float32]
    levels: tuple[Level, ...]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """The different n-grams of one order.

    Attributes:
        keys: context · width + last token, ascending.
        counts: number of occurrences.
        ends: stream position where the first occurrence of each ends.
        places: index in `keys` of the n-gram that ends at each stream position, or −1.
    """

    keys: Integers
    counts: Integers
    ends: Integers
    places: Integers


def estimate(stream: Integers, boundary: int, predicted: NDArray[np.bool_], order: int) -> Tables:
    """Estimate tables from a stream with one boundary before, between and after texts.

    `predicted` marks the symbols that may come next, the boundary included.

    >>> stream = np.array([2, 0, 1, 2, 0, 0, 2])  # the texts 01 and 00
    >>> tables = estimate(stream, 2, np.ones(3, bool), 2)
    >>> [round(float(p), 3) for p in np.exp(tables.single)]
    [0.367, 0.267, 0.367]
    """
    width = len(predicted)
    counted = [_single(stream, width)]
    starts = np.flatnonzero(stream == boundary)
    before = np.repeat(starts, np.diff(starts, append=len(stream)))  # the boundary at or before
    reach = np.arange(1, len(stream)) - before[:-1] + 1  # the longest n-gram that ends after it
    for size in range(2, order + 1):
        ends = 1 + np.flatnonzero(reach >= size)
        counted.append(_counted(stream, counted[-1].places, ends, width))
    adjusted = [_adjusted(counted, size, stream, boundary) for size in range(1, order + 1)]
    shares, levels = _single_share(adjusted[0], predicted), list[Level]()
    single = shares
    for level, below, amounts in zip(counted[1:], counted, adjusted[1:], strict=False):
        contexts = len(below.counts)
        suffixes = below.places[level.ends]
        shares, backoffs, starts = _shares(level.keys // width, amounts, contexts, shares[suffixes])
        tokens = (level.keys % width).astype(np.int32)
        levels.append(Level(starts, tokens, _logs(shares), _logs(backoffs)))
    return Tables(_logs(single), tuple(levels))


def _single(stream: Integers, width: int) -> Counted:
    """Single tokens: each symbol is its own place, whether it occurs or not."""
    symbols = np.arange(width)
    counts = np.bincount(stream[1:], minlength=width)
    return Counted(symbols, counts, symbols, stream)


def _counted(stream: Integers, below: Integers, ends: Integers, width: int) -> Counted:
    keys, first, places, counts = np.unique(
        below[ends - 1] * width + stream[ends],
        return_index=True,
        return_inverse=True,
        return_counts=True,
    )
    everywhere = np.full(len(stream), -1)
    everywhere[ends] = places
    return Counted(keys, counts, ends[first], everywhere)


def _adjusted(counted: list[Counted], size: int, stream: Integers, boundary: int) -> Integers:
    """The a of each n-gram of this size."""
    own = counted[size - 1]
    if size == len(counted):
        return own.counts
    longer = counted[size]
    before = np.bincount(own.places[longer.ends], minlength=len(own.counts))
    if size == 1:
        return before
    begins = stream[own.ends - size + 1] == boundary
    return np.where(begins, own.counts, before)


def discounts(amounts: Integers) -> Floats:
    """D for a = 0, 1, 2, and 3 or more, from the numbers of n-grams with each a.

    >>> amounts = np.repeat([1, 2, 3, 4], [8, 4, 2, 1])
    >>> discounts(amounts).tolist()  # Y = 8 / (8 + 2 · 4)
    [0.0, 0.5, 1.25, 2.0]
    """
    once, twice, thrice, fourth = np.bincount(np.minimum(amounts, 5), minlength=6)[1:5].tolist()
    found = FALLBACK
    if once and twice and thrice:
        y = once / (once + 2 * twice)
        found = (
            1 - 2 * y * twice / once,
            2 - 3 * y * thrice / twice,
            3 - 4 * y * fourth / thrice,
        )
    if not all(0 < each <= limit for each, limit in zip(found, (1, 2, 3), strict=True)):
        found = FALLBACK
    return np.array([0.0, *found])


def _single_share(amounts: Integers, predicted: NDArray[np.bool_]) -> Floats:
    taken = discounts(amounts)[np.minimum(amounts, 3)]
    total = amounts.sum()
    even = np.where(predicted, 1 / predicted.sum(), 0.0)
    return (amounts - taken) / total + taken.sum() / total * even


def _shares(
    contexts: Integers, amounts: Integers, count: int, shorter: Floats
) -> tuple[Floats, Floats, Integers]:
    """The p of each n-gram, γ of each context, and where the n-grams of each context begin."""
    taken = discounts(amounts)[np.minimum(amounts, 3)]
    totals = np.bincount(contexts, amounts, count)
    backoffs = np.ones(count)  # a text's end has nothing after it
    np.divide(np.bincount(contexts, taken, count), totals, out=backoffs, where=totals > 0)
    shares = (amounts - taken) / totals[contexts] + backoffs[contexts] * shorter
    return shares, backoffs, np.searchsorted(contexts, np.arange(count + 1))


def _logs(shares: Floats) -> NDArray[np.float32]:
    with np.errstate(divide="ignore"):
        return np.log(shares).astype(np.float32)
