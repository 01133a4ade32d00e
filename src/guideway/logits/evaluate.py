"""Compute the rows of an expression from the rows of its leaves.

Every node gives `Rows`: values, support, and tokens kept by filters. The mask (`allowed`) is known
from the start, so nuclei and plausibility sets contain allowed tokens; it does not change the
values, so linear terms, maximum and minimum commute with it. A single leaf keeps its logits without
normalisation, because some penalties are not invariant under shifts.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias, assert_never

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from guideway.logits import expr
from guideway.logits.filters import dot, first_tokens, min_p, top_p
from guideway.logits.rescore import TextContext, gedi_log_probs, rescore
from guideway.logits.rows import LEAST, Rows, both
from guideway.vocabulary.vocabulary import Vocabulary

NodeWatch: TypeAlias = Callable[[str, Tensor, Tensor | None], None]
GREATEST: Final = 1e37  # of logits, with room for sums and products
SMALLEST: Final = 1e-38  # a probability that is added to nothing and has a logarithm


@dataclass(frozen=True, slots=True)
class Step:
    """Inputs of a step.

    Attributes:
        leaves: logits of each leaf; of those of a GeDi pair, with the mass of the text so far.
        allowed: tokens that the constraint allows.
        texts: text so far of each row, for classifiers.
        vocabulary: spellings of tokens, for classifiers.
        watch: for traces, called with the name, rows and input rows of each node.
        asked: with `exactness`, the tokens that the constraint allows while `allowed` has all:
            classifiers run on these only, and no filter removes all of them.
    """

    leaves: Mapping[expr.Leaf, Float[Tensor, "batch vocabulary"]]
    allowed: Bool[Tensor, "batch vocabulary"]
    vocabulary: Vocabulary
    texts: Sequence[TextContext] = ()
    watch: NodeWatch | None = None
    asked: Bool[Tensor, "batch vocabulary"] | None = None

    def tell(self, name: str, rows: Rows, since: Rows | None = None) -> None:
        """Report a node and its input to the watcher.

        Filters are reported with all tokens that they keep, classifiers with allowed tokens only.
        """
        if self.watch is not None:
            before = None if since is None else self._seen(since)
            self.watch(name, self._seen(rows), before)

    def _seen(self, rows: Rows) -> Float[Tensor, "batch vocabulary"]:
        return rows.unheld() if rows.own is None else rows.closed(self.allowed)


def evaluate(node: expr.Node, step: Step) -> Rows:
    """Compute the rows of an expression.

    >>> base, anti = expr.Leaf("b", "base"), expr.Leaf("a", "anti")
    >>> logits = {base: torch.zeros(1, 2), anti: torch.tensor([[0.0, 1.0]])}
    >>> step = Step(logits, torch.ones(1, 2, dtype=torch.bool), Vocabulary([b"x", b"y"]))
    >>> rows = evaluate(expr.Linear(((1.0, base), (-1.0, anti))), step)
    >>> (rows.values[0, 0] - rows.values[0, 1]).item()
    1.0
    """
    if isinstance(node, expr.Leaf):
        rows = Rows.whole(step.leaves[node])
        step.tell(node.name, rows)
        return rows
    match node:
        case expr.Linear(((coefficient, expr.Leaf() as leaf),)):
            rows = _scaled(step.leaves[leaf], coefficient)
            if step.watch is not None:
                whole = Rows.of(step.leaves[leaf])
                step.tell(leaf.name, whole)
                step.tell(expr.show(node), rows, whole)
            return rows
        case _:
            pass
    read = {leaf: Rows.of(step.leaves[leaf]) for leaf in expr.leaves(node)}
    rows = _Evaluation(step, read, node).value(node)
    sound = torch.stack([each.soundness for each in read.values() if each.soundness is not None])
    return replace(rows, soundness=sound.sum(0))


def _scaled(logits: Float[Tensor, "batch vocabulary"], coefficient: float) -> Rows:
    """A single model's logits times a coefficient.

    Excluded tokens stay excluded; with a negative coefficient they become the most probable.
    """
    rows = Rows.of(logits)
    if coefficient < 0:
        support = torch.ones_like(rows.support)
        return replace(rows, values=rows.values * coefficient, support=support)
    finite = logits.float().where(rows.support, 0.0).nan_to_num(0.0, 0.0, LEAST)
    # If the product would be infinite, use log-probabilities: the distribution is the same.
    far = finite.amax(1, keepdim=True).abs() > GREATEST / coefficient
    scaled = torch.where(far, rows.values, finite) * coefficient
    return replace(rows, values=scaled.clamp(min=-GREATEST))


@dataclass(frozen=True, slots=True)
class _Evaluation:
    """One step of one expression, with the rows of its leaves read once."""

    step: Step
    read: Mapping[expr.Leaf, Rows]
    root: expr.Node

    def value(self, node: expr.Node) -> Rows:
        match node:
            case expr.Leaf():
                rows = self.read[node]
            case expr.Linear():
                rows = self._sum(node)
            case expr.Extreme() | expr.Farthest():
                rows = self._extreme_of(node)
            case expr.Filtered():
                rows = self._filtered(node)
            case expr.Guided():
                rows = self._guided(node)
            case _:
                assert_never(node)
        return rows

    def _part(self, node: expr.Node) -> Rows:
        """The rows of a part. Sums tell of their leaves as they add them, other nodes here."""
        rows = self.value(node)
        if isinstance(node, expr.Leaf):
            self.step.tell(node.name, rows)
        return rows

    def _normal(self, node: expr.Node) -> Rows:
        """The log-probabilities of a part; those of a leaf are."""
        rows = self._part(node)
        return rows if isinstance(node, expr.Leaf) else rows.normalized()

    def _extreme_of(self, node: expr.Extreme | expr.Farthest) -> Rows:
        """The greatest or least of several rows, or the farthest from the first."""
        parts = [self._normal(each) for each in expr.inside(node)]
        if isinstance(node, expr.Extreme):
            rows = _extreme(parts, greatest=node.kind == "maximum")
        else:
            rows = _farthest(parts[0], parts[1:])
        self.step.tell(expr.show(node), rows, parts[0])
        return rows

    def _sum(self, node: expr.Linear) -> Rows:
        """Σ coefficient · node. Only nodes with a positive coefficient remove tokens."""
        zeros = torch.zeros_like(self.step.allowed, dtype=torch.float32)
        made = Rows(zeros, torch.ones_like(self.step.allowed))
        for place, (coefficient, each) in enumerate(node.terms):
            rows, before = self.value(each), made
            made = replace(made, values=made.values.add(rows.values, alpha=coefficient))
            if coefficient > 0:
                kept, free = both(made.kept, rows.kept), both(made.free, rows.free)
                made = replace(made, support=made.support & rows.support, kept=kept, free=free)
            if self.step.watch is not None:
                sign = "+" if coefficient > 0 else "-"
                first = None if isinstance(each, expr.Leaf) else rows
                since = before if place else first
                self.step.tell(f"{sign} {abs(coefficient):g}*{expr.show(each)}", made, since)
        return made

    def _filtered(self, node: expr.Filtered) -> Rows:
        """Fewer tokens, the values as they are."""
        inner, allowed = self._part(node.inner), self.step.allowed
        free = _kept(node, inner.closed())
        if node.when == "post_mask":
            kept = _kept(node, inner.closed(allowed))
        else:  # the allowed tokens may be disjoint from the plausible ones
            kept = free | (allowed & ~(free & allowed).any(1, keepdim=True))
        rows = inner.keep(self._not_emptied(kept, inner.support), free)
        self.step.tell(expr.show(node), rows, inner)
        return rows

    def _guided(self, node: expr.Guided) -> Rows:
        """The classifiers' say on the tokens that may be drawn."""
        inner = self._part(node.inner).normalized()
        rows = replace(inner, own=inner.own or inner)
        if node is self.root:
            self.step.tell("constraint", rows, inner)
        for term in node.terms:
            held, before = Rows(rows.values, rows.effective(self.step.allowed)), rows
            if isinstance(term, expr.GediTerm):
                done = self._gedi(held, term)
            else:
                step = self.step
                done = rescore(held, term, step.texts, step.vocabulary, step.asked)
            rows = replace(rows.keep(done.support), values=done.values)
            self.step.tell(str(term), rows, before)
        return rows

    def _gedi(self, rows: Rows, term: expr.GediTerm) -> Rows:
        wanted, unwanted = self.read[term.wanted].values, self.read[term.unwanted].values
        pair = self.step.leaves[term.wanted], self.step.leaves[term.unwanted]
        sums = torch.stack([logits.logsumexp(1) for logits in pair], 1)
        steps = [text.step for text in self.step.texts]
        logs = gedi_log_probs(wanted, unwanted, sums, steps)
        kept = self._not_emptied(_desired(rows, logs, term), rows.support)
        return Rows(rows.values + term.alpha * logs, kept)

    def _not_emptied(
        self, kept: Bool[Tensor, "batch vocabulary"], support: Bool[Tensor, "batch vocabulary"]
    ) -> Bool[Tensor, "batch vocabulary"]:
        """Tokens that a filter keeps; all of `asked` if it would remove all of these."""
        asked = self.step.asked
        if asked is None:
            return kept
        return kept | (asked & support & ~(kept & asked & support).any(1, keepdim=True))


def _kept(
    node: expr.Filtered, row: Float[Tensor, "batch vocabulary"]
) -> Bool[Tensor, "batch vocabulary"]:
    """Tokens of a closed row that a filter keeps."""
    if node.kind == "plausible":
        return min_p(row, torch.full((len(row),), node.share, device=row.device)) > -math.inf
    mass = torch.full((len(row),), node.share, dtype=torch.float64, device=row.device)
    return top_p(row, mass) > -math.inf


def _extreme(parts: Sequence[Rows], *, greatest: bool) -> Rows:
    """The greatest value of the parts that can give a token, or the least where all can."""
    pick, join = (torch.amax, torch.any) if greatest else (torch.amin, torch.all)
    values = pick(torch.stack([each.closed() if greatest else each.values for each in parts]), 0)
    support = join(torch.stack([each.support for each in parts]), 0)
    kept = join(torch.stack([each.effective() for each in parts]), 0)
    free = [each.support if each.free is None else each.support & each.free for each in parts]
    return Rows(values.clamp(min=LEAST), support, kept, join(torch.stack(free), 0))


def _farthest(of: Rows, among: Sequence[Rows]) -> Rows:
    """The candidate whose distribution differs most (Chuang et al. 2024, "DoLa", equation 3)."""
    distances = [jensen_shannon(of.values, each.values) for each in among]
    chosen = torch.stack(distances).argmax(0), torch.arange(len(of.values), device=of.values.device)
    values = torch.stack([each.values for each in among])[chosen]
    return Rows(values, torch.stack([each.support for each in among])[chosen])


def jensen_shannon(
    one: Float[Tensor, "batch vocabulary"], other: Float[Tensor, "batch vocabulary"]
) -> Float[Tensor, "batch"]:
    """Jensen-Shannon divergence of two rows of log-probabilities, in nats, 0 to log 2.

    Computed as H((p + q) / 2) − (H(p) + H(q)) / 2, with one logarithm.
    """
    first, second = one.softmax(1), other.softmax(1)
    middle = ((first + second) * 0.5).clamp(min=SMALLEST)
    outer = dot(first, one) + dot(second, other)
    return (outer / 2 - dot(middle, middle.log())).clamp(min=0)


def _desired(
    rows: Rows, logs: Float[Tensor, "batch vocabulary"], term: expr.GediTerm
) -> Bool[Tensor, "batch vocabulary"]:
    """Tokens that GeDi's filter keeps: the most desired with mass 1 − rho, and all above tau."""
    if term.rho == 0:
        return rows.support
    mass = rows.closed().softmax(1).nan_to_num(0.0)
    share = torch.full((len(logs),), 1 - term.rho, dtype=torch.float64, device=logs.device)
    ids, first = first_tokens(logs.masked_fill(~rows.support, -math.inf), mass, share)
    kept = torch.zeros_like(rows.support).scatter_(1, ids, first)
    return (kept | (logs > math.log(term.tau))) & rows.support
