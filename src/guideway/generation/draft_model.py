"""Drafts of a smaller model (speculative decoding).

A model with the same tokens drafts as the target draws: the same constraint, settings and noise, on
copies of the rows. Where the two distributions are close, so are their draws. A model with other
tokens drafts text, which is then spelled in the target's tokens.
"""

from collections.abc import Sequence as Listed
from typing import Any, Final, cast, final

import torch
from jaxtyping import Float
from torch import Tensor

from guideway.generation.drafts import NO_DRAFT, Draft, Walk
from guideway.generation.ensemble.ensemble import Ensemble, EnsembleCache, Logits
from guideway.generation.ensemble.prompt import PromptReader
from guideway.generation.row.cursor import text_row
from guideway.generation.row.sequence import Sequence
from guideway.generation.speculation import MODEL, seconds_of
from guideway.generation.step import Batch, take
from guideway.logits.mask import unpack, upload

MEMORY: Final = 16  # drafts that the mean time remembers


@final
class _Reader:
    """The cache of a model that follows texts which change at their end."""

    def __init__(self, ensemble: Ensemble) -> None:
        self.ensemble = ensemble
        self._cache: EnsembleCache | None = None
        self._read = dict[int, list[int]]()

    def has_room(self, texts: dict[int, list[int]], more: int) -> bool:
        """Return True if the texts fit into the model's context with more tokens."""
        context = self.ensemble.contexts[0].model.context
        return context is None or max(map(len, texts.values())) + more <= context

    def read(self, texts: dict[int, list[int]]) -> Logits:
        """Logits after each text; the keys tell the rows of one call from those of the next."""
        ensemble = self.ensemble
        if self._cache is None or not texts.keys() <= self._read.keys():
            self._cache, logits = ensemble.prefill([(tuple(text),) for text in texts.values()])
            self._read = dict(texts)
            return logits
        numbers = [*self._read]
        if numbers != [*texts]:
            places = [numbers.index(number) for number in texts]
            self._cache = ensemble.select(self._cache, places)
        common = [_common(self._read[number], text[:-1]) for number, text in texts.items()]
        lengths = [len(self._read[number]) for number in texts]
        self._crop([length - same for length, same in zip(lengths, common, strict=True)])
        new = [text[same:] for text, same in zip(texts.values(), common, strict=True)]
        self._cache, logits = ensemble.append(self.cache, new)
        self._read = dict(texts)
        return logits

    def extend(self, tokens: list[list[int]]) -> Logits:
        """Logits after each of more tokens."""
        for text, new in zip(self._read.values(), tokens, strict=True):
            text.extend(new)
        given = torch.tensor(tokens, device=self.ensemble.device)
        self._cache, logits = self.ensemble.extend(self.cache, given)
        return logits

    @property
    def cache(self) -> EnsembleCache:
        """The cache after the first texts."""
        if self._cache is None:
            raise RuntimeError("nothing was read")
        return self._cache

    def _crop(self, counts: list[int]) -> None:
        if any(counts):
            self._cache = self.ensemble.crop(self.cache, counts)


@final
class _Time:
    """The mean time of a drafted token."""

    def __init__(self) -> None:
        self.seconds, self._count = 1e-3, 0

    def note(self, seconds: float, tokens: int) -> None:
        self._count = min(self._count + 1, MEMORY)
        self.seconds += (seconds / max(tokens, 1) - self.seconds) / self._count


@final
class DraftModel:
    """Drafts of a model with the same tokens, drawn as the target draws."""

    def __init__(self, ensemble: Ensemble) -> None:
        """A drafter; the ensemble has one context, which reads the prompts of the target."""
        self._reader, self._time = _Reader(ensemble), _Time()

    @property
    def seconds(self) -> float:
        """The time of a drafted token."""
        return self._time.seconds

    def draft(self, rows: Listed[Sequence], most: int) -> list[Draft]:
        """At most `most` tokens for each row."""
        ensemble = self._reader.ensemble
        began = seconds_of(ensemble.device)
        texts = {row.number: [*row.request.prompt, *row.tokens] for row in rows}
        if not self._reader.has_room(texts, most):
            return [NO_DRAFT] * len(rows)
        logits = self._reader.read(texts)
        batch = Batch.of([row.fork() for row in rows], ensemble.device)
        going = [n for n, row in enumerate(rows) if row.most - len(row.tokens) > 1]
        drafted = [list[int]() for _ in rows]
        for count in range(1, most + 1):
            take(ensemble, self._reader.cache, logits, batch, going)
            going = [n for n in going if batch.rows[n].finish_reason is None]
            for n in going:
                drafted[n].append(batch.rows[n].tokens[-1])
            if count == most or not going:
                break
            last = [[row.tokens[-1]] if row.tokens else [0] for row in batch.rows]
            logits = {leaf: row[:, 0] for leaf, row in self._reader.extend(last).items()}
        self._time.note(seconds_of(ensemble.device) - began, max(map(len, drafted)))
        return [Draft(tuple(tokens), (MODEL,) * len(tokens)) for tokens in drafted]

    def learn(self, text: Listed[int]) -> None:
        """Nothing: the model is as it is."""


@final
class TextDraft:
    """Drafts of a model with other tokens: its most probable text, in the target's tokens."""

    def __init__(self, ensemble: Ensemble, own: PromptReader, target: PromptReader) -> None:
        """A drafter that reads with `own` what `target` wrote, and the other way round."""
        self._reader, self._time = _Reader(ensemble), _Time()
        self._own, self._target = own, target

    @property
    def seconds(self) -> float:
        """The time of a drafted token."""
        return self._time.seconds

    def draft(self, rows: Listed[Sequence], most: int) -> list[Draft]:
        """At most `most` tokens for each row."""
        ensemble = self._reader.ensemble
        began = seconds_of(ensemble.device)
        texts = {row.number: self._text(row) for row in rows}
        if not all(texts.values()) or not self._reader.has_room(texts, most):
            return [NO_DRAFT] * len(rows)
        logits = self._best(self._reader.read(texts))
        drafted = [list[int]() for _ in rows]
        for count in range(1, most + 1):
            best = cast("list[int]", logits.argmax(1).tolist())  # pyright: ignore[reportUnknownMemberType]
            for own, token in zip(drafted, best, strict=True):
                own.append(token)
            if count < most:
                read = self._reader.extend([[token] for token in best])
                logits = self._best({leaf: row[:, 0] for leaf, row in read.items()})
        tokens = ensemble.vocabulary.tokens
        found = [
            self._draft(row, b"".join(tokens[t] or b"" for t in own), most)
            for row, own in zip(rows, drafted, strict=True)
        ]
        self._time.note(
            seconds_of(ensemble.device) - began, max(len(each.tokens) for each in found)
        )
        return found

    def learn(self, text: Listed[int]) -> None:
        """Nothing: the model is as it is."""

    def _text(self, row: Sequence) -> list[int]:
        """The prompt and the text in the draft's tokens; special tokens are left out."""
        known = row.vocabulary.tokens
        read = [*row.request.prompt, *row.tokens]
        return [*self._own.spelled(b"".join(known[token] or b"" for token in read))]

    def _best(self, logits: Logits) -> Float[Tensor, "batch vocabulary"]:
        """Logits of tokens that spell something."""
        ensemble = self._reader.ensemble
        width = ensemble.vocabulary.width
        text = unpack(upload([text_row(ensemble.vocabulary)], width, ensemble.device), width)
        (row,) = logits.values()
        return row.masked_fill(~text, -torch.inf)

    def _draft(self, row: Sequence, data: bytes, most: int) -> Draft:
        walk, tokens = Walk(row.position, row.vocabulary), list[int]()
        for token in self._target.spelled(data)[: min(most, row.most - len(row.tokens) - 1)]:
            if not walk.take(token):
                break
            tokens.append(token)
        return Draft(tuple(tokens), (MODEL,) * len(tokens))


def _common(left: list[int], right: list[int]) -> int:
    """How many first tokens are equal."""
    pairs: Any = enumerate(zip(left, right, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(left), len(right)))
