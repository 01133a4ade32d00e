"""Evidence for a key in the tokens of a text: a score for each position, and its distribution.

    green lists   1 if the token is green; by chance with probability γ, or k/|A| under a
                  constraint
    synthid       number of layers whose bit is 1; each by chance with probability ½
    gumbel        −ln(1 − r), r the number of the token; by chance exponential with mean 1

A repeated number counts once: 200 tokens made of 50 pairs would give z a deviation of 2.2 instead
of 1. Under a constraint, several tokens may share a green list (the same context and allowed set):
k of |A| are green, and the tokens seen are draws without replacement.

Tail probabilities of scores without a mark are exact, by sums of positive terms:

    binomial        number of green tokens with equal probabilities
    weighted        with other probabilities or weights (Poisson binomial, by convolution), and
                    several tokens of one green list (hypergeometric)
    gamma           sum of −ln(1 − r) of Gumbel marks: exponential numbers

All terms are positive, so far tails are exact to eleven digits. The normal approximation is not:
with γ ½ and 200 tokens, P(z > 4) is 2.5e-5, not 3.2e-5.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias, cast

import numpy as np
import torch
from jaxtyping import Bool, Int
from numpy.typing import NDArray
from torch import Tensor
from torch.distributions import Binomial, Poisson

from guideway.automaton.token_tries import Row
from guideway.sampling.noise import bits, shares
from guideway.watermark import scheme as schemes
from guideway.watermark.scheme import place, windows


def binomial_tail(count: int, chance: float, least: int) -> float:
    """P(X ≥ least), X the successes among `count` with probability `chance` each.

    >>> round(binomial_tail(16, 0.5, 16) * 2**16, 9), binomial_tail(5, 0.25, 0)
    (1.0, 1.0)
    """
    if least <= 0:
        return 1.0
    if least > count:
        return 0.0
    number = Binomial(count, torch.tensor(chance, dtype=torch.float64))
    return _total(number, range(least, count + 1))


def gamma_tail(count: int, least: float) -> float:
    """P(S ≥ least), S a sum of `count` exponential numbers of mean 1: of fewer events in `least`.

    >>> round(gamma_tail(1, 2.0) / math.exp(-2), 12), gamma_tail(3, 0.0)
    (1.0, 1.0)
    """
    if least <= 0:
        return 1.0
    return _total(Poisson(torch.tensor(least, dtype=torch.float64)), range(count))


@dataclass(frozen=True, slots=True)
class Urn:
    """Tokens of one green list: their positions, the size of the list, and its green tokens."""

    places: tuple[int, ...]
    size: int
    green: int


def weighted_tail(
    weights: Sequence[int], chances: Sequence[float], least: int, urns: Sequence[Urn] = ()
) -> float:
    """P(Σ w b ≥ least), each b 1 with its own probability; tokens of an urn are dependent.

    >>> weighted_tail([1, 1], [0.5, 0.25], 2), weighted_tail([3, 1], [0.5, 0.25], 3)
    (0.125, 0.5)
    >>> round(weighted_tail([1, 1], [0.5, 0.5], 2, [Urn((0, 1), 4, 2)]), 12) == round(1 / 6, 12)
    True
    """
    total = sum(weights)
    if least > total:
        return 0.0
    together = {at for urn in urns for at in urn.places}
    spread: NDArray[np.float64] = np.zeros(total + 1)
    spread[0] = 1.0
    reached = 0
    for at, (weight, chance) in enumerate(zip(weights, chances, strict=True)):
        if at in together:
            continue
        reached += weight
        shifted = spread[: reached + 1 - weight] * chance
        spread[: reached + 1] *= 1 - chance
        spread[weight : reached + 1] += shifted
    spread = spread[: reached + 1]
    for urn in urns:  # what weighs nothing may be left in the urn
        drawn = [weights[at] for at in urn.places if weights[at]]
        spread = np.convolve(spread, _drawn(drawn, urn)) if drawn else spread
    return min(1.0, float(np.sort(spread[max(0, least) :]).sum()))


def _drawn(weights: Sequence[int], urn: Urn) -> NDArray[np.float64]:
    """Probabilities of the sums of weights of green tokens drawn from an urn."""
    same = weights[0] if len(set(weights)) == 1 else None  # then the sum is their number
    total = 0 if same is not None else sum(weights)
    found: NDArray[np.float64] = np.zeros((len(weights) + 1, total + 1))
    found[0, 0] = 1.0
    before = np.arange(len(weights) + 1)[:, None]  # green ones
    for drawn, weight in enumerate(weights):
        chance = np.clip((urn.green - before) / (urn.size - drawn), 0.0, 1.0)
        gained, found = found * chance, found * (1 - chance)
        step = 0 if same is not None else weight
        found[1:, step:] += gained[:-1, : total + 1 - step]
    if same is None:
        return found.sum(0)
    spread = np.zeros(sum(weights) + 1)
    np.add.at(spread, before[:, 0] * same, found[:, 0])
    return spread


def _total(number: Any, values: range) -> float:
    """The probability that a random number of torch has one of these values."""
    logs: Tensor = number.log_prob(torch.tensor(values, dtype=torch.float64))
    return min(1.0, float(logs.logsumexp(0).exp()))


Numbers: TypeAlias = NDArray[np.float64]
SHORTEST: Final = 16  # tokens of a window
ROWS: Final = 32  # positions whose whole vocabulary is hashed at once
FINEST: Final = 64  # steps of a weight, for texts of up to 1,024 tokens
CELLS: Final = 1 << 27  # additions for the tokens of one list; fewer steps where there are more
NONE: Final[NDArray[np.int64]] = np.zeros(0, np.int64)
ROUNDED: Final = 1e-9  # a variance that is nothing but rounding


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """The positions of a text that count, in order.

    Attributes:
        lists: green list of each token; empty if all are independent.
    """

    scheme: schemes.Scheme  # the watermark
    places: NDArray[np.int64]  # token indices
    scores: Numbers  # score of each
    means: Numbers  # expected scores without a mark
    variances: Numbers  # their variances
    repeated: int = 0  # number of positions left out as repetitions
    lists: NDArray[np.int64] = field(default_factory=lambda: NONE)
    sizes: NDArray[np.int64] = field(default_factory=lambda: NONE)  # sizes of these lists

    @property
    def z(self) -> float:
        """Standard deviations of the sum above its mean; 0 without tokens."""
        spread = self.deviation(np.ones(len(self.places)))
        return float((self.scores - self.means).sum()) / spread if spread else 0.0

    @property
    def p(self) -> float:
        """The probability of such a sum, or a greater one, by chance: exact."""
        count = len(self.places)
        if self.scheme.kind == "gumbel":
            return gamma_tail(count, float(self.scores.sum()))
        score = round(float(self.scores.sum()))
        if self.scheme.kind == "synthid":
            return binomial_tail(count * self.scheme.depth, 0.5, score)
        urns = self.urns()
        if count and not urns and self.means.min() == self.means.max():
            return binomial_tail(count, float(self.means[0]), score)
        return weighted_tail([1] * count, self.means.tolist(), score, urns)

    @property
    def share(self) -> float:
        """The share of green tokens, or of bits that are 1; of Gumbel marks, the mean score."""
        parts = len(self.places) * (self.scheme.depth if self.scheme.kind == "synthid" else 1)
        return float(self.scores.sum()) / parts if parts else 0.0

    def urns(self) -> list[Urn]:
        _, found, counts = np.unique(self.lists, return_inverse=True, return_counts=True)
        each = [np.flatnonzero(found == n) for n in np.flatnonzero(counts > 1)]
        sizes, greens = self.sizes, np.rint(self.means[: len(self.sizes)] * self.sizes)
        return [
            Urn(tuple(some.tolist()), int(sizes[some[0]]), int(greens[some[0]])) for some in each
        ]

    def deviation(self, weights: Numbers) -> float:
        whole = float((weights**2 * self.variances).sum())
        for urn in self.urns():
            some = weights[list(urn.places)]
            together = float(some.sum() ** 2 - (some**2).sum())
            whole -= float(self.variances[urn.places[0]]) / (urn.size - 1) * together
        return math.sqrt(max(0.0, whole)) if whole > ROUNDED else 0.0

    def at(self, chosen: "NDArray[np.int64] | slice") -> "Evidence":
        return replace(
            self,
            places=self.places[chosen],
            scores=self.scores[chosen],
            means=self.means[chosen],
            variances=self.variances[chosen],
            lists=self.lists[chosen],
            sizes=self.sizes[chosen],
        )


def evidence(
    scheme: schemes.Scheme,
    tokens: Sequence[int],
    skipped: Sequence[bool],
    sets: Sequence[Row] = (),
    *,
    once: bool = True,
) -> Evidence:
    """Evidence in a text.

    `skipped` tokens do not count (ends, forced tokens); `sets` are the allowed tokens of each
    position, empty for free text; `once` leaves out repetitions.
    """
    size = scheme.context
    places = [n for n in range(size, len(tokens)) if not skipped[n]]
    contexts = torch.as_tensor(windows(tokens, size)[: max(0, len(tokens) - size)].copy())
    ids = torch.tensor(tokens[size:], dtype=torch.int64)
    within = scheme.colours and len(sets) > 0
    ranked = scheme.ranked if within else scheme
    held = torch.tensor([place(row) for row in sets[size:]], dtype=torch.int64) if within else None
    each = schemes.numbers(ranked, contexts, ids[:, None], 0, held)[:, 0]
    key = schemes.row_keys(ranked, contexts, held)
    kept = places
    if once:  # a repeated context is not marked where the mark is one of contexts
        first = _first(key if scheme.once else each, scheme.once, places, size)
        kept = [n for n in places if n in first]
    at = np.array(kept, np.int64)
    left = len(places) - len(kept)
    if not within:
        means, variances = np.full(len(at), _mean(scheme)), np.full(len(at), _variance(scheme))
        return Evidence(scheme, at, _scores(scheme, each[at - size]), means, variances, left)
    scores, counts, sizes = (np.zeros(len(at), np.int64) for _ in range(3))
    for start in range(0, len(at), ROWS):
        part = slice(start, start + ROWS)
        some: list[int] = at[part].tolist()
        rows = [sets[n] for n in some]
        packed = np.stack(rows).astype("<u4", copy=False).view(np.uint8)
        allowed = torch.as_tensor(np.unpackbits(packed, 1, bitorder="little")).bool()
        where = torch.tensor(some) - size
        found = _among(scheme.gamma, key[where], each[where], allowed)
        scores[part], counts[part], sizes[part] = found
    means = counts / np.maximum(sizes, 1)
    lists = key[torch.as_tensor(at - size)].numpy() if once else NONE
    return Evidence(
        *(scheme, at, scores.astype(np.float64), means, means * (1 - means), left),
        lists=lists,
        sizes=sizes[: len(lists)],
    )


@dataclass(frozen=True, slots=True)
class Window:
    """The part of a text with the clearest mark.

    Attributes:
        start: its first token.
        stop: the token after its last one.
        z: z of this part.
        p: upper bound on the probability that any window is as clear by chance.
    """

    start: int
    stop: int
    z: float
    p: float


def clearest(found: Evidence) -> Window | None:
    """The window with the greatest z; None for fewer than 16 positions.

    Windows have 16 positions, √2 times as many, and so on, an eighth of their length apart, and the
    whole text. p is Bonferroni-corrected, so it is an upper bound.
    """
    count = len(found.places)
    if count < SHORTEST:
        return None
    sums = np.concatenate([[0.0], np.cumsum(found.scores - found.means)])
    spreads = np.concatenate([[0.0], np.cumsum(found.variances)])
    spans = [(0, count)]
    length = float(SHORTEST)
    while length < count:
        size = int(length)
        spans += [(n, n + size) for n in range(0, count - size + 1, max(1, size // 8))]
        length *= math.sqrt(2)
    starts, stops = np.array(spans).T
    variances = spreads[stops] - spreads[starts]
    gains = sums[stops] - sums[starts]
    best = int(np.argmax(gains / np.sqrt(np.where(variances > 0, variances, math.inf))))
    part = found.at(slice(*spans[best]))
    p = min(1.0, len(spans) * part.p)
    return Window(int(part.places[0]), int(part.places[-1]) + 1, part.z, p)


def weighted(found: Evidence, weights: Numbers) -> tuple[float, float]:
    """Z and p with weighted positions, in 64 steps (fewer in long texts), for green lists.

    >>> ones = np.ones(16)
    >>> found = Evidence(schemes.Scheme(1), np.arange(16), ones, ones / 2, ones / 4)
    >>> weighted(found, ones)[0], weighted(found, 0 * ones)
    (4.0, (0.0, 1.0))
    """
    if not len(weights) or weights.max() <= 0:
        return 0.0, 1.0
    urns = found.urns()
    most = max((len(urn.places) for urn in urns), default=1)
    steps = max(1, min(FINEST, FINEST * 1024 // len(weights), CELLS // most**3))
    whole = np.rint(weights / weights.max() * steps)
    spread = found.deviation(whole)
    score = float((whole * found.scores).sum())
    z = (score - float((whole * found.means).sum())) / spread if spread else 0.0
    counts = [int(each) for each in whole]
    return z, weighted_tail(counts, found.means.tolist(), round(score), urns)


def _first(each: Tensor, every: bool, places: list[int], size: int) -> set[int]:
    """The first place of each number, among all places or among `places`."""
    found = dict[int, int]()
    keys = cast("list[int]", each.tolist())  # pyright: ignore[reportUnknownMemberType]
    for at in range(size, size + len(keys)) if every else places:
        found.setdefault(keys[at - size], at)
    return set(found.values())


def _scores(scheme: schemes.Scheme, each: Tensor) -> Numbers:
    if scheme.kind == "synthid":
        return torch.stack(schemes.layers(each, scheme.depth)).sum(0).double().numpy()
    if scheme.kind == "gumbel":  # the number of a token that won is 1 − r: a small one
        return (-((shares(each).double() + 0.5) / schemes.ONE).log()).numpy()
    return schemes.green_free(each, scheme.gamma).double().numpy()


def _mean(scheme: schemes.Scheme) -> float:
    if scheme.colours:
        return round(scheme.gamma * schemes.ONE) / schemes.ONE
    return scheme.depth / 2 if scheme.kind == "synthid" else 1.0


def _variance(scheme: schemes.Scheme) -> float:
    if scheme.colours:
        return _mean(scheme) * (1 - _mean(scheme))
    return scheme.depth / 4 if scheme.kind == "synthid" else 1.0


def _among(
    gamma: float,
    key: Int[Tensor, "rows"],
    own: Int[Tensor, "rows"],
    allowed: Bool[Tensor, "rows vocabulary"],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """1 where a token is green, how many allowed tokens are, and how many are allowed."""
    sizes = allowed.sum(1)
    count = schemes.green_count(key, sizes, gamma)
    below = ((shares(bits(key, allowed.shape[1])) < shares(own)[:, None]) & allowed).sum(1)
    return (below < count).long().numpy(), count.numpy(), sizes.numpy()
