"""Guidance by a classifier: the most probable allowed tokens are judged by the resulting text.

The value of a candidate t becomes `value + α · log P(class | text · t)`. This is CAIF (Sitdikov et
al. 2022, "Classifiers are better experts for controllable text generation", arXiv 2205.07276); with
a classifier of prefixes it is FUDGE (Yang and Klein 2021, arXiv 2104.05218).

- Candidates are the `top` most probable allowed tokens.
- rest="drop" removes the others, so the denominator of Bayes' rule cancels. rest="keep" keeps them,
  and subtracts α · log P(class | text) from the candidates.
- With `within` (exactness), candidates come from a part of the support, and the others stay.
- Rows with one allowed token, with too little entropy, or between steps of `every` are unchanged.
- All candidates of all rows are one call with distinct texts.
- GeDi's two models judge the whole vocabulary at once (`gedi_log_probs`).
- log P = −∞ is exact: for α > 0 the token leaves the support, for α < 0 all others do, unless the
  row would be empty. So values stay finite.

The input of a classifier is the text so far, and the text after each candidate token:

- An incomplete character at the end is held back; bytes that are not UTF-8 become U+FFFD.
- End ids and ids without a spelling leave the text unchanged.
- The joint is not part of the text.
- A window of n tokens is the candidate and the n − 1 tokens before it; the text without a candidate
  has those n − 1. A window that begins inside a character begins with that character.
"""

import codecs
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from guideway.logits.classifier import ClassifierTerm, classify
from guideway.logits.rows import Rows
from guideway.vocabulary.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class TextContext:
    """The generated part of one row."""

    pieces: tuple[bytes, ...] = ()  # bytes of each token; b"" for one without a spelling
    prompt: str = ""  # the prompt as a text, "" for chats
    joint: bytes = b""  # bytes at the beginning of the pieces that are not part of the text

    @classmethod
    def of(
        cls, tokens: Iterable[int], vocabulary: Vocabulary, prompt: str = "", joint: bytes = b""
    ) -> "TextContext":
        """The context after these tokens."""
        return cls(tuple(map(vocabulary.spelling, tokens)), prompt, joint)

    @property
    def step(self) -> int:
        return len(self.pieces)


@dataclass(frozen=True, slots=True)
class OpenText:
    r"""A text that goes on: its decoded part, and the bytes after that.

    Example:
        >>> text = OpenText.of(TextContext((b"caf", b"\xc3")))
        >>> text.text, text.after(b"\xa9!"), text.after(b"")
        ('caf', 'café!', 'caf')
    """

    text: str  # the whole characters
    pending: bytes  # the bytes after them: a character that is not complete, or a part of the joint
    joint: bytes = b""  # the joint if that is not over, else b""

    @classmethod
    def of(
        cls, context: TextContext, *, window: int | None = None, prompt: bool = False
    ) -> "OpenText":
        """The text before the next token, with the prompt before it or from a window on."""
        pieces = context.pieces
        data, joint = b"".join(pieces), context.joint
        if joint and len(data) < len(joint) and joint.startswith(data):
            return cls(context.prompt if prompt else "", data, joint)
        begin = len(joint) if data.startswith(joint) else 0
        cut = 0 if window is None else len(pieces) - window + 1
        if cut > 0:
            begin = max(begin, sum(map(len, pieces[:cut])))
            begin -= _unfinished(data[:begin])
        text, read = codecs.utf_8_decode(data[begin:], "replace", False)
        return cls(context.prompt + text if prompt else text, data[begin + read :])

    def after(self, piece: bytes) -> str:
        """The text with the bytes of one more token."""
        data = self.pending + piece
        if self.joint:
            if self.joint.startswith(data):
                return self.text
            data = data.removeprefix(self.joint)
        return self.text + codecs.utf_8_decode(data, "replace", False)[0]


def candidate_texts(text: OpenText, tokens: Sequence[int], vocabulary: Vocabulary) -> list[str]:
    return [text.after(vocabulary.spelling(token)) for token in tokens]


def _unfinished(data: bytes) -> int:
    """Number of bytes at the end that begin an incomplete character."""
    tail = data[-4:]
    return len(tail) - codecs.utf_8_decode(tail, "replace", False)[1]


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

    `within` restricts the candidates and keeps other tokens unchanged; None is the whole support.

    >>> class Even:
    ...     def log_probs(self, texts):
    ...         return torch.tensor([0.1 if len(text) % 2 else 0.5 for text in texts]).log()
    >>> vocabulary = Vocabulary([b"a", b"bb", b"c"])
    >>> rows = Rows(torch.zeros(1, 3), torch.ones(1, 3, dtype=torch.bool))
    >>> guided = rescore(rows, ClassifierTerm(Even(), 1, top=3), [TextContext()], vocabulary)
    >>> [round(p, 3) for p in guided.closed().softmax(1)[0].tolist()]
    [0.143, 0.714, 0.143]
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
    texts = [OpenText.of(contexts[row], window=term.window, prompt=term.prompt) for row in due]
    against = term.rest == "keep" or within is not None
    judged = _classified(texts, lists, term, vocabulary, rows.values.device, against=against)
    others = _unjudged(_rows(rows, due), term, None if within is None else within[due])
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
) -> Float[Tensor, "batch vocabulary"]:
    """Return log P(class | text · token) for each token, at most 0, from two models of texts.

    softmax over both of `log P(text · token | class) / n`, n tokens with this one, and equal priors
    (Krause et al. 2021, "GeDi", arXiv 2009.06367). `sums` has the log-probabilities of the text so
    far, of `positive` first, and `steps` its length.

    >>> positive, negative = torch.tensor([[0.5, 0.5]]).log(), torch.tensor([[0.1, 0.9]]).log()
    >>> gedi_log_probs(positive, negative, torch.zeros(1, 2), [0]).exp()
    tensor([[0.8333, 0.3571]])
    """
    odds = (positive - negative) + (sums[:, :1] - sums[:, 1:])
    odds = odds / (torch.tensor(steps, device=odds.device)[:, None] + 1)
    return torch.nn.functional.logsigmoid(odds)


@dataclass(frozen=True, slots=True)
class _Judged:
    """Candidates of each row, padded with the first one."""

    ids: Int[Tensor, "batch candidates"]
    log_probs: Float[Tensor, "batch candidates"]  # log P(class | text · token), float64
    before: Float[Tensor, "batch 1"] | None  # log P(class | text), float64, or None


def _rows(rows: Rows, places: Sequence[int]) -> Rows:
    if len(places) == len(rows.values):
        return rows
    index = torch.tensor(places, device=rows.values.device)
    return Rows(rows.values[index], rows.support[index])


def _unjudged(
    rows: Rows, term: ClassifierTerm, within: Bool[Tensor, "batch vocabulary"] | None
) -> Bool[Tensor, "batch vocabulary"]:
    """Tokens that stay without being candidates; may include candidates."""
    if term.rest == "keep":
        return rows.support
    return torch.zeros_like(rows.support) if within is None else rows.support & ~within


def _candidates(rows: Rows, term: ClassifierTerm, least: int) -> list[list[int]]:
    """Candidates of each row, most probable first; [] for rows with fewer than `least`."""
    closed = rows.closed()
    # At least two: the second shows whether only one token is allowed.
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


def _classified(
    opened: Sequence[OpenText],
    lists: Sequence[Sequence[int]],
    term: ClassifierTerm,
    vocabulary: Vocabulary,
    device: torch.device,
    *,
    against: bool,
) -> _Judged:
    """Call the classifier once for all candidates; with `against`, also for the texts so far."""
    width = max(map(len, lists))
    known: dict[str, int] = {}
    places: list[list[int]] = []
    for text, ids in zip(opened, lists, strict=True):
        texts = [*candidate_texts(text, ids, vocabulary), text.text]
        if not against:
            texts[-1] = texts[0]  # nobody asks about the text so far
        numbers = [known.setdefault(each, len(known)) for each in texts]
        places.append([*numbers[:-1], *[numbers[0]] * (width - len(ids)), numbers[-1]])
    given = classify(term, list(known)).to(device)
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
    """Add weights to values and support; a weight is a finite number and a sign of infinity."""
    finite, infinite = _weights(judged.log_probs, term.alpha)
    if judged.before is not None:
        finite_before, infinite_before = _weights(judged.before, term.alpha)
        finite, infinite = finite - finite_before, infinite - infinite_before
    ids, greatest = judged.ids, infinite.amax(1, keepdim=True)
    more = others.scatter(1, ids, False).any(1, keepdim=True)
    greatest = torch.where(more, greatest.clamp(min=0), greatest)
    support = others & (greatest == 0)
    if judged.before is None:
        # Small numbers keep more digits in float32.
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
