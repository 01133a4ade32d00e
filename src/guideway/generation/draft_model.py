"""Drafts of a smaller model (speculative decoding).

A model with the same tokens drafts as the target draws: the same constraint, settings and noise, on
copies of the rows. Where the two distributions are close, so are their draws. A model with other
tokens drafts text, which is then spelled in the target's tokens.
"""

from collections.abc import Sequence as Listed
from typing import Any, Final, cast

import torch

from guideway.generation.drafts import Walk
from guideway.generation.ensemble.ensemble import NO_LOGITS, Ensemble, EnsembleCache, Logits
from guideway.generation.ensemble.prompt import PromptReader
from guideway.generation.row.cursor import text_row
from guideway.generation.row.sequence import Sequence
from guideway.generation.speculation import MODEL, seconds_of
from guideway.generation.step import Batch, take
from guideway.logits.mask import unpack, upload
from guideway.models.protocol import NO_DRAFT, Draft

MEMORY: Final = 16  # drafts that the mean time remembers


class _Reader:
    """The cache of a model that follows texts which change at their end."""

    def __init__(self, ensemble: Ensemble) -> None:
        self.ensemble = ensemble
        self.cache = EnsembleCache((), 0, NO_LOGITS)  # after the first texts
        self._read = dict[int, list[int]]()

    def has_room(self, texts: dict[int, list[int]], more: int) -> bool:
        """Return True if the texts fit into the model's context with more tokens."""
        context = self.ensemble.contexts[0].model.context
        return context is None or max(map(len, texts.values())) + more <= context

    def read(self, texts: dict[int, list[int]]) -> Logits:
        """Logits after each text; the keys tell the rows of one call from those of the next."""
        ensemble, cache, before = self.ensemble, self.cache, self._read
        if not texts.keys() <= before.keys():
            self.cache, logits = ensemble.prefill([(tuple(text),) for text in texts.values()])
        else:
            numbers = [*before]
            if numbers != [*texts]:
                cache = ensemble.select(cache, [numbers.index(number) for number in texts])
            common = [_common(before[number], text[:-1]) for number, text in texts.items()]
            counts = [len(before[n]) - same for n, same in zip(texts, common, strict=True)]
            if any(counts):
                cache = ensemble.crop(cache, counts)
            new = [text[same:] for text, same in zip(texts.values(), common, strict=True)]
            self.cache, logits = ensemble.append(cache, new)
        self._read = dict(texts)
        return logits

    def extend(self, tokens: list[int]) -> Logits:
        """Logits after one more token of each text."""
        for text, token in zip(self._read.values(), tokens, strict=True):
            text.append(token)
        given = torch.tensor(tokens, device=self.ensemble.device)[:, None]
        self.cache, logits = self.ensemble.extend(self.cache, given)
        return {leaf: row[:, 0] for leaf, row in logits.items()}


class _ModelDrafter:
    """Base class of drafters that run a model; keeps the mean time of a drafted token.

    Attributes:
        seconds: the time of a drafted token.
    """

    def __init__(self, ensemble: Ensemble) -> None:
        self._reader = _Reader(ensemble)
        self.seconds, self._count = 1e-3, 0

    def draft(self, rows: Listed[Sequence], most: int) -> list[Draft]:
        """At most `most` tokens for each row."""
        began = seconds_of(self._reader.ensemble.device)
        texts = {row.number: self._text(row) for row in rows}
        if not all(texts.values()) or not self._reader.has_room(texts, most):
            return [NO_DRAFT] * len(rows)
        drafted = self._drafted(rows, self._reader.read(texts), most)
        seconds = seconds_of(self._reader.ensemble.device) - began
        self._count = min(self._count + 1, MEMORY)
        mean = seconds / max(1, *map(len, drafted))
        self.seconds += (mean - self.seconds) / self._count
        return [Draft(tuple(tokens), (MODEL,) * len(tokens)) for tokens in drafted]

    def _text(self, row: Sequence) -> list[int]:
        """The prompt and the text, in the tokens of the draft."""
        raise NotImplementedError

    def _drafted(self, rows: Listed[Sequence], logits: Logits, most: int) -> list[list[int]]:
        """Tokens of the target for each row, from the logits after its text."""
        raise NotImplementedError


class DraftModel(_ModelDrafter):
    """Drafts of a model with the same tokens, drawn as the target draws.

    The ensemble has one context, which reads the prompts of the target.
    """

    def _text(self, row: Sequence) -> list[int]:
        return [*row.request.prompt, *row.tokens]

    def _drafted(self, rows: Listed[Sequence], logits: Logits, most: int) -> list[list[int]]:
        ensemble = self._reader.ensemble
        batch = Batch.of([row.fork() for row in rows], ensemble.device)
        going = [n for n, row in enumerate(rows) if row.most - len(row.tokens) > 1]
        drafted = [list[int]() for _ in rows]
        for count in range(1, most + 1):
            take(ensemble, logits, batch, going)
            going = [n for n in going if batch.rows[n].finish_reason is None]
            for n in going:
                drafted[n].append(batch.rows[n].tokens[-1])
            if count == most or not going:
                break
            logits = self._reader.extend([[0, *row.tokens][-1] for row in batch.rows])
        return drafted


class TextDraft(_ModelDrafter):
    """Drafts of a model with other tokens: its most probable text, in the target's tokens."""

    def __init__(self, ensemble: Ensemble, own: PromptReader, target: PromptReader) -> None:
        """A drafter; `own` reads its texts, and `target` those of the target."""
        super().__init__(ensemble)
        self._own, self._target = own, target

    def _text(self, row: Sequence) -> list[int]:
        """Special tokens are left out."""
        read = [*row.request.prompt, *row.tokens]
        return [*self._own.spelled(b"".join(map(row.vocabulary.spelling, read)))]

    def _drafted(self, rows: Listed[Sequence], logits: Logits, most: int) -> list[list[int]]:
        pieces = self._reader.ensemble.vocabulary.tokens
        texts = [b""] * len(rows)
        for count in range(1, most + 1):
            best = self._best(logits)
            texts = [text + (pieces[t] or b"") for text, t in zip(texts, best, strict=True)]
            if count < most:
                logits = self._reader.extend(best)
        return [self._allowed(row, text, most) for row, text in zip(rows, texts, strict=True)]

    def _best(self, logits: Logits) -> list[int]:
        """The most probable token of each row that spells something."""
        ensemble = self._reader.ensemble
        width = ensemble.vocabulary.width
        text = unpack(upload([text_row(ensemble.vocabulary)], width, ensemble.device), width)
        (row,) = logits.values()
        best = row.masked_fill(~text, -torch.inf).argmax(1)
        return cast("list[int]", best.tolist())  # pyright: ignore[reportUnknownMemberType]

    def _allowed(self, row: Sequence, data: bytes, most: int) -> list[int]:
        """The tokens of the target for a text, as far as they are allowed."""
        walk, tokens = Walk(row.position, row.vocabulary), list[int]()
        for token in self._target.spelled(data)[: min(most, row.most - len(row.tokens) - 1)]:
            if not walk.take(token):
                break
            tokens.append(token)
        return tokens


def _common(left: list[int], right: list[int]) -> int:
    """The number of equal first tokens."""
    pairs: Any = enumerate(zip(left, right, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(left), len(right)))
