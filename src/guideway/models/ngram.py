"""An n-gram model as a `LanguageModel`, with interpolated modified Kneser–Ney estimates.

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

The logits are log-probabilities of the tokens with a spelling and of one end id, the least of the
vocabulary; they sum to 1, and all other ids have −∞. Ids without a spelling (ends, beginnings,
roles of a chat) are one symbol, the boundary between texts. The cache of a row is its tokens; the
context is the last order − 1 of them, none from before a boundary.

A row starts with single tokens, moved by the backoffs of the seen contexts; then the tokens seen
after each context are overwritten, from the shortest context to the longest. Measured on one core
with 3.3 MB of text (967,000 tokens): training takes 0.8 s at order 3, a row 0.1 ms.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from guideway.errors import LimitError, ModelError
from guideway.models.fake import PrefixModel
from guideway.vocabulary.cache import Record, packed, unpacked
from guideway.vocabulary.vocabulary import Vocabulary

FALLBACK: Final = (0.5, 1.0, 1.5)  # discounts where the counts of counts give none

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """The n-grams of one order, two tokens or more."""

    starts: Integers  # index in `tokens` of each context's first token; ends with the total
    tokens: NDArray[np.int32]  # last tokens, ascending for each context
    values: NDArray[np.float32]  # natural log p of the last token after the context
    backoffs: NDArray[np.float32]  # log γ of each context


@dataclass(frozen=True, slots=True, eq=False)
class Tables:
    """Log p of single tokens (−∞ if never predicted), and n-grams of two, three, … tokens."""

    single: NDArray[np.float32]
    levels: tuple[Level, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """The different n-grams of one order."""

    keys: Integers  # context · width + last token, ascending
    counts: Integers  # number of occurrences
    ends: Integers  # stream position where the first occurrence of each ends
    places: Integers  # index in `keys` of the n-gram that ends at each stream position, or −1


def estimate(stream: Integers, boundary: int, predicted: NDArray[np.bool_], order: int) -> Tables:
    """Estimate tables from a stream with one boundary before, between and after texts.

    `predicted` marks the symbols that may come next, the boundary included.

    >>> stream = np.array([2, 0, 1, 2, 0, 0, 2])  # the texts 01 and 00
    >>> tables = estimate(stream, 2, np.ones(3, bool), 2)
    >>> [round(float(p), 3) for p in np.exp(tables.single)]
    [0.367, 0.267, 0.367]
    """
    width = len(predicted)
    symbols = np.arange(width)  # each is its own place, whether it occurs or not
    counted = [Counted(symbols, np.bincount(stream[1:], minlength=width), symbols, stream)]
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


Context = tuple[int, ...]
KIND: Final = "n-gram model, format 1"
MOST: Final = 16  # order; beyond 5 or 6 there is nothing to gain


class NgramModel(PrefixModel):
    """N-grams with interpolated modified Kneser–Ney smoothing.

    Attributes:
        vocabulary: the tokens as bytes.
        device: where the rows go; they are made on the CPU.
        context: None: it reads any length, and looks at the end.
        order: tokens of the longest n-grams.

    Example:
        >>> vocabulary = Vocabulary([b"a", b"b", b"<eos>"], eos_ids={2})
        >>> model = NgramModel.train([[0, 1], [0, 0]], vocabulary, order=2)
        >>> cache, logits = model.prefill([[2]])  # a text begins
        >>> [round(p, 3) for p in logits.exp()[0].tolist()]
        [0.683, 0.133, 0.183]
    """

    def __init__(
        self, vocabulary: Vocabulary, tables: Tables, device: str | torch.device = "cpu"
    ) -> None:
        super().__init__(vocabulary)
        self.device = torch.device(device)
        self.order = 1 + len(tables.levels)
        self._tables = tables
        self._boundary = _boundary(vocabulary)
        self._symbols: list[int] = _symbols(vocabulary).tolist()

    @classmethod
    def train(
        cls,
        texts: Iterable[Sequence[int]],
        vocabulary: Vocabulary,
        order: int = 3,
        *,
        device: str | torch.device = "cpu",
    ) -> "NgramModel":
        """Train a model on token sequences.

        An id without a spelling divides a text in two. `order` is the length of the longest
        n-grams, 1 to 16; `device` is that of the logits.
        """
        if not 1 <= order <= MOST:
            raise LimitError(
                f"the order is {order}: it must be from 1 to {MOST}", limit="order", given=order
            )
        boundary = _boundary(vocabulary)
        ends = [boundary]
        whole = np.fromiter(chain(ends, *(chain(text, ends) for text in texts)), np.int64)
        if whole.min() < 0 or whole.max() >= vocabulary.width:
            wrong = whole[(whole < 0) | (whole >= vocabulary.width)][0]
            raise ModelError(f"a text has token {wrong}; ids are from 0 to {vocabulary.width - 1}")
        symbols = _symbols(vocabulary)
        stream = symbols[whole]
        again = (stream[1:] == boundary) & (stream[:-1] == boundary)
        stream = stream[np.concatenate([[True], ~again])]
        if len(stream) == 1:
            raise ModelError("there is no text to train n-grams on: all are empty")
        predicted = _spelled(vocabulary)
        predicted[boundary] = True
        return cls(vocabulary, estimate(stream, boundary, predicted, order), device)

    def heads(self, prefix: Context, exits: Sequence[int]) -> Float[Tensor, "1 vocabulary"]:
        row = np.empty((1, self.vocabulary.width), np.float32)
        self._fill(row[0], self._tail(prefix))
        made: Tensor = torch.as_tensor(row)
        return made.to(self.device)

    def save(self, path: str | Path) -> None:
        """Write the model into a file, which `open` reads; the vocabulary is not in it."""
        arrays: dict[str, NDArray[Any]] = {"single": self._tables.single}
        for size, level in enumerate(self._tables.levels, 2):
            arrays[f"starts{size}"] = level.starts
            arrays[f"tokens{size}"] = level.tokens
            arrays[f"values{size}"] = level.values
            arrays[f"backoffs{size}"] = level.backoffs
        facts = {
            "kind": KIND,
            "order": self.order,
            "vocabulary": self.vocabulary.fingerprint,
        }
        Path(path).write_bytes(packed(Record(facts, arrays)))

    @classmethod
    def open(
        cls, path: str | Path, vocabulary: Vocabulary, *, device: str | torch.device = "cpu"
    ) -> "NgramModel":
        """Load a model that `save` wrote, for the vocabulary that it was trained with."""
        try:
            record = unpacked(Path(path).read_bytes())
        except OSError as error:
            raise ModelError(f"the n-gram model {str(path)!r} cannot be read: {error}") from None
        if record is None or record.facts.get("kind") != KIND:
            raise ModelError(f"{str(path)!r} is not a complete n-gram file of this version")
        if record.facts["vocabulary"] != vocabulary.fingerprint:
            raise ModelError(
                f"the n-gram model {str(path)!r} was trained with another vocabulary than this "
                f"one of {vocabulary.width} ids"
            )
        arrays = record.arrays
        levels = tuple(
            Level(*(arrays[f"{name}{size}"] for name in ("starts", "tokens", "values", "backoffs")))
            for size in range(2, record.facts["order"] + 1)
        )
        return cls(vocabulary, Tables(arrays["single"], levels), device)

    def _tail(self, tokens: Sequence[int]) -> Context:
        """Context after these tokens: the last ones from the last boundary on."""
        if self.order == 1:
            return ()
        tail = [self._symbols[token] for token in tokens[1 - self.order :]]
        last = next((n for n in reversed(range(len(tail))) if tail[n] == self._boundary), 0)
        return tuple(tail[last:])

    def _fill(self, row: NDArray[np.float32], context: Context) -> None:
        """The log-probabilities after a context, written into `row`."""
        seen: list[tuple[Level, int]] = []
        for level, length in zip(self._tables.levels, range(1, len(context) + 1), strict=False):
            place = self._place(context[len(context) - length :])
            if place is None:
                break
            seen.append((level, place))
        moved = [float(level.backoffs[place]) for level, place in seen]
        np.add(self._tables.single, np.float32(sum(moved)), out=row)
        for count, (level, place) in enumerate(seen, 1):
            piece = slice(level.starts[place], level.starts[place + 1])
            row[level.tokens[piece]] = level.values[piece] + np.float32(sum(moved[count:]))

    def _place(self, context: Context) -> int | None:
        """The place of a context among the n-grams of its length, None if it was never seen."""
        place = context[0]
        for level, token in zip(self._tables.levels, context[1:], strict=False):
            first, last = level.starts[place], level.starts[place + 1]
            place = int(first + level.tokens[first:last].searchsorted(token))
            if place == last or level.tokens[place] != token:
                return None
        return place


def _boundary(vocabulary: Vocabulary) -> int:
    if not vocabulary.eos_ids:
        raise ModelError("an n-gram model needs a vocabulary with an end id")
    return min(vocabulary.eos_ids)


def _spelled(vocabulary: Vocabulary) -> NDArray[np.bool_]:
    spelled = np.zeros(vocabulary.width, np.bool_)
    spelled[: len(vocabulary.tokens)] = [bool(token) for token in vocabulary.tokens]
    return spelled


def _symbols(vocabulary: Vocabulary) -> NDArray[np.int64]:
    """For each id itself, or the boundary if it spells nothing."""
    return np.where(_spelled(vocabulary), np.arange(vocabulary.width), _boundary(vocabulary))
