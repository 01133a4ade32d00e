"""Interpolated modified Kneser–Ney estimates of n-grams, counted with numpy.

    p(w | c) = max(a(c w) − D(a(c w)), 0) / Σ a(c ·) + γ(c) · p(w | c without its first token)

after Chen and Goodman, "An empirical study of smoothing techniques for language modeling" (Computer
Speech and Language 13, 1999, section 3). a is the number of occurrences for n-grams of the highest
order and for those that begin a text, else the number of different tokens before it; D is one of
three discounts by a = 1, 2, 3 or more, estimated for each order from how many n-grams have a = 1 to
4, or ½, 1 and 1½ where too few do; γ(c) is what the discounts took. Below the single tokens stands
the uniform distribution, so everything that can be predicted has a probability.

The texts come as one stream with one symbol, the boundary, between them: before a text it is
context, after it it is predicted as the end, and no n-gram reaches across it.

What is kept are logarithms in the form of the ARPA files: of p for each n-gram that was seen, of γ
for each context. p of anything else is p after the shorter context times γ. n-grams of one order
are sorted by context and last token, where a context is the place of its n-gram among those of the
order below, so that the tokens seen after a context stand in one piece.

What this module does not know: what tokens spell, models, files.
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
        starts: for each context where its tokens begin in `tokens`, and where the last one's end.
        tokens: the last tokens, ascending after each context.
        values: log p of the last token after the context, natural.
        backoffs: log γ of each context.
    """

    starts: Integers
    tokens: NDArray[np.int32]
    values: NDArray[np.float32]
    backoffs: NDArray[np.float32]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Tables:
    """All orders.

    Attributes:
        single: log p of each token without context; −∞ for what cannot be predicted.
        levels: the n-grams of two tokens, of three, and so on.
    """

    single: NDArray[np.float32]
    levels: tuple[Level, ...]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """The different n-grams of one order.

    Attributes:
        keys: context · width + last token, ascending.
        counts: how often each occurs.
        ends: where in the stream the first occurrence of each ends.
        places: for each position of the stream the n-gram that ends there, as its place in `keys`;
            −1 where none does.
    """

    keys: Integers
    counts: Integers
    ends: Integers
    places: Integers


def estimate(stream: Integers, boundary: int, predicted: NDArray[np.bool_], order: int) -> Tables:
    """The estimates from a stream of tokens.

    Args:
        stream: the texts' tokens, with exactly one boundary before, between and after them.
        boundary: the symbol that is no text.
        predicted: which of all symbols may come next; the boundary is one of them.
        order: tokens of the longest n-grams.

    Example:
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
    """D for a = 0, 1, 2, 3 or more, from how many n-grams have each.

    Example:
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
