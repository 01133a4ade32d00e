"""Guiding by a classifier: the most probable allowed tokens are judged by the text they would make.

The value of a candidate t becomes `value + α · log P(class | text · t)`. This is CAIF (Sitdikov et
al. 2022, "Classifiers are better experts for controllable text generation", arXiv 2205.07276); with
a classifier of prefixes it is FUDGE (Yang and Klein 2021, arXiv 2104.05218). Rules:

- candidates are allowed tokens only, the `top` most probable ones;
- rest="drop": the others leave the support, and the denominator of Bayes' rule cancels.
  rest="keep": they stay, and α · log P(class | text) is taken from the candidates;
- what is allowed may be a part of what tokens are weighed against (`within`; exactness): the others
  stay, as with "keep", so that there is always something to draw and nobody asks about them;
- a row with one allowed token, with less entropy than asked for, or at a step between those of
  `every`, is left as it is, and nothing of it is dropped;
- all candidates of all rows are one call, equal texts in it are asked once; no row, no call;
- two models may be the classifier (`gedi_log_probs`): they judge the whole vocabulary at once;
- log P = −∞ is exact. For α > 0 the token leaves the support, for α < 0 all others do, as long as
  the row has something else: a class that is impossible after every candidate says nothing. So
  values stay finite, and no support becomes empty.

What this module does not know: constraints (they are in the support), what a classifier is made of.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, cast, final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from guideway.logits.classifier import ClassifierTerm, asked
from guideway.logits.contexts import OpenText, TextContext, candidate_texts
from guideway.logits.rows import Rows
from guideway.vocabulary.spellings import Vocabulary

FARTHEST: Final = 1e30  # what a weight may add: beyond it, float32 values could become infinite


@torch.no_grad()
def rescore(
    rows: Rows,
    term: ClassifierTerm,
    contexts: Sequence[TextContext],
    vocabulary: Vocabulary,
    within: Bool[Tensor, "batch vocabulary"] | None = None,
) -> Rows:
    """The rows with the term added.

    Example:
        >>> class Even:
        ...     def log_probs(self, texts):
        ...         return torch.tensor([0.1 if len(text) % 2 else 0.5 for text in texts]).log()
        >>> vocabulary = Vocabulary([b"a", b"bb", b"c"])
        >>> rows = Rows(torch.zeros(1, 3), torch.ones(1, 3, dtype=torch.bool))
        >>> guided = rescore(rows, ClassifierTerm(Even(), 1, top=3), [TextContext()], vocabulary)
        >>> [round(p, 3) for p in guided.closed().softmax(1)[0].tolist()]
        [0.143, 0.714, 0.143]

    Args:
        rows: values of the rest of the expression; the support is what may be drawn.
        term: the classifier and its settings.
        contexts: what each row has generated.
        vocabulary: the spellings of the tokens.
        within: the tokens that candidates are taken from, where the others stay as they are; None
            for the whole support. Where all tokens are asked about, it says nothing.

    Raises:
        ModelError: the classifier gave something else than log-probabilities.
    """
    if term.top >= rows.values.shape[1]:
        within = None
    due = [row for row, context in enumerate(contexts) if context.step % term.every == 0]
    if term.alpha == 0 or not due:
        return rows
    asked_of = rows if within is None else Rows(rows.values, rows.support & within)
    chosen = _candidates(_rows(asked_of, due), term, 2 if within is None else 1)
    due = [row for row, ids in zip(due, chosen, strict=True) if ids]
    lists = [ids for ids in chosen if ids]
    if not due:
        return rows
    texts = [_open(contexts[row], term) for row in due]
    against = term.rest == "keep" or within is not None
    judged = _judged(texts, lists, term, vocabulary, rows.values.device, against=against)
    others = _others(_rows(rows, due), term, None if within is None else within[due])
    changed = _weighed(_rows(rows, due), judged, others, term)
    if len(due) == len(contexts):
        return changed
    places = torch.tensor(due, device=rows.values.device)
    return Rows(
        rows.values.index_copy(0, places, changed.values),
        rows.support.index_copy(0, places, changed.support),
    )


def gedi_log_probs(
    positive: Float[Tensor, "batch vocabulary"],
    negative: Float[Tensor, "batch vocabulary"],
    sums: Float[Tensor, "batch 2"],
    steps: Sequence[int],
    *,
    scale: float | int = 1,
    bias: float | int = 0,
    mean: bool = True,
) -> Float[Tensor, "batch vocabulary"]:
    """For each token log P(class | text · token), at most 0, from two models of texts.

    softmax over both of `scale / n · log P(text · token | class) + b_class`, n being the number of
    tokens with this one (Krause et al. 2021, "GeDi: Generative discriminator guided sequence
    generation", arXiv 2009.06367).

    Example:
        >>> positive, negative = torch.tensor([[0.5, 0.5]]).log(), torch.tensor([[0.1, 0.9]]).log()
        >>> gedi_log_probs(positive, negative, torch.zeros(1, 2), [0]).exp()
        tensor([[0.8333, 0.3571]])

    Args:
        positive: the log-probabilities of the model of the class, finite.
        negative: those of the model of everything else, finite.
        sums: for each row what both models gave the text so far, `positive` first.
        steps: how many tokens that were.
        scale: a of the paper, which is learned there.
        bias: the log-odds of the class before anything is read (b_class − b_other).
        mean: divide by n, as published. False is Bayes' rule itself.
    """
    odds = (positive - negative) + (sums[:, :1] - sums[:, 1:])
    if mean:
        odds = odds / (torch.tensor(steps, device=odds.device)[:, None] + 1)
    return torch.nn.functional.logsigmoid(odds * scale + bias)


@final
@dataclass(frozen=True, slots=True)
class _Judged:
    """The candidates of each row; rows that have fewer are filled up with their first one.

    Attributes:
        ids: the tokens.
        log_probs: log P(class | text · token), float64.
        before: log P(class | text), float64; None where nobody asks.
    """

    ids: Int[Tensor, "batch candidates"]
    log_probs: Float[Tensor, "batch candidates"]
    before: Float[Tensor, "batch 1"] | None


def _rows(rows: Rows, places: Sequence[int]) -> Rows:
    if len(places) == len(rows.values):
        return rows
    index = torch.tensor(places, device=rows.values.device)
    return Rows(rows.values[index], rows.support[index])


def _others(
    rows: Rows, term: ClassifierTerm, within: Bool[Tensor, "batch vocabulary"] | None
) -> Bool[Tensor, "batch vocabulary"]:
    """What stays although it is no candidate; candidates may be in it."""
    if term.rest == "keep":
        return rows.support
    return torch.zeros_like(rows.support) if within is None else rows.support & ~within


def _candidates(rows: Rows, term: ClassifierTerm, least: int) -> list[list[int]]:
    """For each row the tokens to ask about, the most probable one first; none where none is due.

    A row with fewer than `least` of them is left as it is.
    """
    closed = rows.closed()
    # Two at least: a row with one allowed token is told by the second.
    most = min(term.top, closed.shape[1])
    largest, ids = closed.topk(min(max(most, 2), closed.shape[1]))
    counts = largest.isneginf().logical_not().sum(1)
    counts = torch.where(counts >= least, counts.clamp(max=most), 0)
    if term.entropy is not None:
        shares = closed.softmax(1)
        # −Σ p log p with one logarithm a row: log p is that of the greatest p, less the distance.
        below = (shares * (largest[:, :1] - rows.values)).sum(1)
        entropy = (below - shares.gather(1, ids[:, :1])[:, 0].log()).clamp(min=0)
        counts = torch.where(entropy >= term.entropy, counts, 0)
    host = torch.cat([counts[:, None], ids], 1)  # one transfer
    lists = cast("list[list[int]]", host.tolist())  # pyright: ignore[reportUnknownMemberType]
    return [row[1 : 1 + row[0]] for row in lists]


def _open(context: TextContext, term: ClassifierTerm) -> OpenText:
    return OpenText.of(context, window=term.window, prompt=term.prompt)


def _judged(
    opened: Sequence[OpenText],
    lists: Sequence[Sequence[int]],
    term: ClassifierTerm,
    vocabulary: Vocabulary,
    device: torch.device,
    *,
    against: bool,
) -> _Judged:
    """What the classifier says of all candidates, asked once.

    Of the texts so far too, if candidates are weighed `against` what is none.
    """
    width = max(map(len, lists))
    known: dict[str, int] = {}
    places: list[list[int]] = []
    for text, ids in zip(opened, lists, strict=True):
        texts = [*candidate_texts(text, ids, vocabulary), text.text]
        if not against:
            texts[-1] = texts[0]  # nobody asks about the text so far
        numbers = [known.setdefault(each, len(known)) for each in texts]
        places.append([*numbers[:-1], *[numbers[0]] * (width - len(ids)), numbers[-1]])
    given = asked(term, list(known)).to(device)
    log_probs = given[torch.tensor(places, device=device)]
    filled = [[*ids, *[ids[0]] * (width - len(ids))] for ids in lists]
    return _Judged(
        torch.tensor(filled, device=device),
        log_probs[:, :-1],
        log_probs[:, -1:] if against else None,
    )


def _weighed(
    rows: Rows, judged: _Judged, others: Bool[Tensor, "batch vocabulary"], term: ClassifierTerm
) -> Rows:
    """Values and support with what was said. A weight is a finite number and a sign of infinity."""
    finite, infinite = _weights(judged.log_probs, term.alpha)
    if judged.before is not None:
        finite_before, infinite_before = _weights(judged.before, term.alpha)
        finite, infinite = finite - finite_before, infinite - infinite_before
    ids, greatest = judged.ids, infinite.amax(1, keepdim=True)
    more = others.scatter(1, ids, False).any(1, keepdim=True)
    greatest = torch.where(more, greatest.clamp(min=0), greatest)
    support = others & (greatest == 0)
    if judged.before is None:
        # Small numbers, of which float32 keeps more.
        finite = finite - finite.masked_fill(infinite != greatest, -math.inf).amax(1, keepdim=True)
    added = (rows.values.gather(1, ids).double() + finite).to(rows.values.dtype)
    return Rows(rows.values.scatter(1, ids, added), support.scatter(1, ids, infinite == greatest))


def _weights(
    log_probs: Float[Tensor, "batch some"], alpha: float | int
) -> tuple[Float[Tensor, "batch some"], Int[Tensor, "batch some"]]:
    """α · log P as a finite part, and −1, 0 or 1 where it is −∞, finite or ∞."""
    impossible: Bool[Tensor, "batch some"] = log_probs.isneginf()
    finite = (log_probs.masked_fill(impossible, 0) * float(alpha)).clamp(-FARTHEST, FARTHEST)
    return finite, impossible.long() * (-1 if alpha > 0 else 1)
