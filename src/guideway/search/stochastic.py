"""Stochastic beams: texts drawn without replacement.

Kool, van Hoof and Welling 2019, "Stochastic beams and where to find them", arXiv 1903.06059.

Every text has its log-probability plus Gumbel noise, and the texts of the greatest sums are a
sample without replacement. A prefix stands for all texts that begin with it: the greatest of their
sums is a Gumbel number at the prefix's log-probability. So beams search the greatest sums top down,
and the noise of children is drawn given their maximum:

    Z = the greatest of the noised children      g = one of them      T = what it should be
    v = T − g + log(1 − exp(g − Z))              its number: T − max(0, v) − log(1 + exp(−|v|))

The noise depends on the seed and the tokens so far: with more beams, the first texts are the same.

Weights: κ is the greatest number of all texts that are not returned (known for dropped prefixes).
Given κ, each text is in the sample independently with probability q = P(its number > κ) = 1 −
exp(−exp(log p − κ)), so the sum of f · p / q over the sample has the mean Σ p f over all texts
(Duffield, Lund and Thorup 2007). If all texts of a language are returned, κ is −∞ and a weight is a
probability.

Probabilities are those of ordinary sampling, step by step, of tokens after which an end fits into
`max_new_tokens`; end ids are one, their sum. With `min_new_tokens` under a constraint, prefixes of
too short texts are removed only when drawn, and the weights are not exact.
"""

import math
from collections.abc import Sequence as Listed
from dataclasses import dataclass, replace
from typing import Final, cast

import torch
from jaxtyping import Float
from torch import Tensor

from guideway.automaton.token_tries import has
from guideway.errors import DeadEndError
from guideway.generation.row.result import Result
from guideway.generation.row.sequence import Sequence
from guideway.sampling.noise import gumbel, stream
from guideway.search.base import Kind, OneRound, Scores, share_losses
from guideway.search.beams import Pick

CERTAIN: Final = 5.0  # beyond it exp(−exp(x)) vanishes next to 1 in a float: q is 1


@dataclass(frozen=True, slots=True)
class Node:
    """A text or a prefix of texts."""

    row: Sequence
    log: float
    noised: float  # `log` plus noise: the greatest number of the texts with this prefix
    key: int  # noise key of its continuations


class StochasticBeams(OneRound):
    """The stochastic beams of one prompt."""

    def __init__(self, root: Sequence) -> None:
        request = root.request
        self.kind: Kind = "local"
        self._count = request.sampling.num_beams
        self._asked = request.sampling.num_return_sequences
        self._ends = sorted(root.vocabulary.eos_ids)
        key = stream(request.sampling.seed or 0, request.sample)
        # The number of the root is free: it becomes the greatest of its children's.
        self._nodes = [Node(root, 0.0, math.nan, key)]
        self._dropped = -math.inf

    @property
    def rows(self) -> list[Sequence]:
        return [node.row for node in self._going]

    @property
    def _going(self) -> list[Node]:
        return [node for node in self._nodes if node.row.finish_reason is None]

    def step(self, scores: Scores) -> Listed[int] | None:
        """The nodes of the greatest numbers, those that have ended among them."""
        going = self._going
        picks = self._picks(scores, going)
        if _narrowed(going, picks):
            return None
        share_losses(self.rows)
        found: list[Pick | Node] = [node for node in self._nodes if node.row.finish_reason]
        found = sorted([*found, *picks], key=_number, reverse=True)
        kept = found[: self._count]
        taken = [each for each in kept if isinstance(each, Pick)]
        admitted = [going[pick.place].row.admits(pick.token, pick.rank) for pick in taken]
        if not all(admitted):
            return None
        if not kept:
            raise DeadEndError(
                f"no beam is left at step {going[0].row.steps}: every allowed token has the "
                "probability 0, or bad_words_ids forbid it"
            )
        nodes = [
            _child(going[each.place], each) if isinstance(each, Pick) else each for each in kept
        ]
        self._dropped = max([self._dropped, *map(_number, found[self._count :])])
        self._nodes = nodes
        return [
            each.place
            for each, node in zip(kept, nodes, strict=True)
            if isinstance(each, Pick) and node.row.finish_reason is None
        ]

    def _picks(self, scores: Scores, nodes: list[Node]) -> list[Pick]:
        """The children of the greatest numbers of each node, one more than there are beams."""
        logs = _with_one_end(scores.logs, self._ends)
        keys = torch.tensor([node.key for node in nodes], device=logs.device)
        noised = logs + gumbel(keys, logs.shape[1])
        best = noised.topk(min(self._count + 1, logs.shape[1]), 1)
        relative = [node.noised - node.log for node in nodes]
        targets = torch.tensor(relative, dtype=torch.float64, device=logs.device)
        numbers = conditioned(best.values.double(), targets[:, None])
        columns = [best.indices] + [each.gather(1, best.indices) for each in (logs, scores.own)]
        table = torch.stack([numbers, *(each.double() for each in columns)], 2)
        rows = cast("list[list[list[float]]]", table.tolist())  # pyright: ignore[reportUnknownMemberType]
        kept = cast("list[float]", scores.kept.tolist())  # pyright: ignore[reportUnknownMemberType]
        return [
            Pick(place, int(token), node.log + number, node.log + log, own, kept[place])
            for place, node in enumerate(nodes)
            for number, token, log, own in rows[place]
            if log > -math.inf
        ]

    def completions(self, memory: int) -> list[Result]:
        """The texts in the order of their numbers; if interrupted, those so far, unweighted."""
        found = [node for node in self._nodes if node.row.finish_reason]
        whole = len(found) == len(self._nodes)
        found = (found or self._nodes)[: self._asked]
        bound = max([self._dropped, *(node.noised for node in self._nodes[self._asked :])])
        return [
            replace(
                node.row.completion(memory),
                score=None if math.isnan(node.noised) else node.noised,
                weight=weight(node.log, bound) if whole else None,
            )
            for node in found
        ]


def weight(log: float, bound: float) -> float:
    """A text's probability over the probability that its number is above a bound.

    >>> weight(math.log(0.25), -math.inf)
    0.25
    >>> round(weight(math.log(1e-9), 0.0), 6)  # that of a text that is hardly ever drawn
    1.0
    """
    if log - bound > CERTAIN:
        return math.exp(log)
    rate = math.exp(log - bound)
    return math.exp(bound) * (rate / -math.expm1(-rate) if rate else 1.0)


def conditioned(
    values: Float[Tensor, "rows children"], greatest: Float[Tensor, "rows 1"]
) -> Float[Tensor, "rows children"]:
    """Gumbel numbers, given the greatest of each row (NaN: unconditioned).

    `values` are float64 in descending order.
    """
    first = values[:, :1]
    target = torch.where(greatest.isnan(), first, greatest)
    gap = values - first
    # log(1 − exp(gap)) where the gap is small, and where it is great (Mächler 2012).
    rest = torch.where(gap > -math.log(2), gap.expm1().neg().log(), gap.exp().neg().log1p())
    moved = target - values + rest
    return target - moved.clamp(min=0) - moved.abs().neg().exp().log1p()


def _narrowed(nodes: Listed[Node], picks: Listed[Pick]) -> bool:
    """Return True if the budget removes tokens of these nodes; record ranks of removed picks."""
    narrower = {place for place, node in enumerate(nodes) if node.row.narrow()}
    for pick in picks:
        row = nodes[pick.place].row
        if pick.place in narrower and not has(row.row(), pick.token):
            row.lost = max(row.lost, pick.rank)
    return bool(narrower)


def _child(node: Node, pick: Pick) -> Node:
    row = pick.child(node.row)
    return Node(row, pick.log, pick.rank, stream(node.key, pick.token))


def _number(each: Pick | Node) -> float:
    return each.rank if isinstance(each, Pick) else each.noised


def _with_one_end(
    logs: Float[Tensor, "rows vocabulary"], ends: list[int]
) -> Float[Tensor, "rows vocabulary"]:
    """All end ids as the first of them: they are one way to end."""
    if len(ends) < 2:
        return logs
    merged = logs.clone()
    merged[:, ends] = -math.inf
    merged[:, ends[0]] = logs[:, ends].logsumexp(1)
    return merged
