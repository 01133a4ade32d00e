"""Watermark of a batch: the marked rows of a step, their contexts and candidate tokens.

A mark never allows a forbidden token, and keeps the probability of ends. It acts on logits before
temperature and filters (`Scheme.early`) or after them, as a bias or a tournament; Gumbel's acts on
the noise of the draw.
"""

from collections.abc import Sequence as Rows
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from guideway.errors import UnsupportedError
from guideway.generation.row.request import Request
from guideway.generation.row.sequence import Sequence
from guideway.logits.mask import send, unpack, upload
from guideway.logits.warp import Watch
from guideway.sampling.noise import gumbel_of
from guideway.vocabulary.vocabulary import Vocabulary
from guideway.watermark import scheme as schemes
from guideway.watermark.scheme import place, repeats


def check_markable(scheme: schemes.Scheme | None, requests: Rows[Request]) -> None:
    """Refuse SynthID and Gumbel without random draws, and Gumbel in a search."""
    if scheme is None or scheme.colours:
        return
    if scheme.kind == "gumbel" and any(request.sampling.search for request in requests):
        raise UnsupportedError(
            "a gumbel watermark does not work with a search, which draws in another way: use "
            "green lists or synthid",
            feature="gumbel watermark in a search",
        )
    if not all(request.sampling.samples for request in requests):
        raise UnsupportedError(
            f"a {scheme.kind} watermark needs random draws: give a temperature or a seed, or "
            "do_sample=True; green lists work without",
            feature=f"{scheme.kind} watermark without sampling",
        )


@dataclass(frozen=True, slots=True)
class Marking:
    """The watermark of a batch at one step."""

    scheme: schemes.Scheme
    contexts: Int[Tensor, "batch context"]  # last tokens of each row
    marked: Bool[Tensor, "batch"]  # rows that are marked in this step
    sets: Bool[Tensor, "held vocabulary"]  # allowed tokens of the rows with a constraint
    places: Int[Tensor, "held"]  # hash of each of these sets (`positions.place`)
    held: Int[Tensor, "held"]  # indices of these rows
    ends: Int[Tensor, "ends"]  # end ids
    width: int  # width of the vocabulary

    @classmethod
    def of(
        cls,
        scheme: schemes.Scheme,
        rows: Rows[Sequence],
        vocabulary: Vocabulary,
        device: torch.device,
    ) -> "Marking":
        size, width = scheme.context, vocabulary.width
        found = [row.choices() if scheme.within else None for row in rows]
        texts = [
            row.tokens if one is None else one.before for row, one in zip(rows, found, strict=True)
        ]
        contexts = [text[len(text) - size :] if len(text) >= size else [0] * size for text in texts]
        marked = [
            len(text) >= size
            and (one is None or one.free)
            and not (scheme.once and repeats(text, size))
            for text, one in zip(texts, found, strict=True)
        ]
        held = [n for n, one in enumerate(found) if one is not None]
        sets = torch.zeros(0, width, dtype=torch.bool, device=device)
        packed = [one.row for one in found if one is not None]
        if held:
            sets = unpack(upload(packed, width, device), width)
        places = send([place(row) for row in packed], device, torch.int64)
        index = send(held, device, torch.int64)
        context = send(contexts, device, torch.int64).view(len(rows), size)
        fresh = send(marked, device)
        return cls(scheme, context, fresh, sets, places, index, _ends(vocabulary, device), width)

    def noise(self, key: Int[Tensor, "batch"]) -> Int[Tensor, "batch"]:
        """The key of the noise of the draw: of the mark, if it is one of noise."""
        if self.scheme.kind != "gumbel":
            return key
        return torch.where(self.marked, schemes.row_keys(self.scheme, self.contexts), key)

    def rows(self, row: Float[Tensor, "batch vocabulary"]) -> Float[Tensor, "batch vocabulary"]:
        """Mark logits or log-probabilities."""
        ends = torch.isin(torch.arange(self.width, device=row.device), self.ends).expand_as(row)
        if self.scheme.kind == "synthid":
            each = schemes.numbers(self.scheme, self.contexts, None, self.width)
            after = schemes.tournament(row, each, ends, self.scheme.depth)
        else:
            after = schemes.biased(row, self._green(), ends, self.scheme.delta)
        return torch.where(self.marked[:, None], after, row)

    def colours(self, tokens: Rows[int]) -> list[bool | None]:
        """For each row, True if its drawn token is green, None if the token has no colour."""
        if not self.scheme.colours:
            return [None] * len(tokens)
        ids = send([*tokens], self.contexts.device, torch.int64)[:, None]
        coloured = self.marked & ~torch.isin(ids[:, 0], self.ends)
        green = self._green().gather(1, ids)[:, 0]
        return [g if c else None for g, c in zip(_bools(green), _bools(coloured), strict=True)]

    def own_ends(
        self, row: Float[Tensor, "batch vocabulary"], key: Int[Tensor, "batch"]
    ) -> Float[Tensor, "batch vocabulary"]:
        """Rows in which ends use the noise of `key` and other tokens the mark's.

        Ends drawn with the mark's noise would come at the same positions in all texts.
        """
        if not len(self.ends):
            return row
        own = self.ends.expand(len(row), -1)
        difference = gumbel_of(key, own) - gumbel_of(self.noise(key), own)
        return row.index_add(1, self.ends, difference)

    def _green(self) -> Bool[Tensor, "batch vocabulary"]:
        """The green tokens: by themselves, or among those that a constraint allows."""
        if not len(self.held):
            return self._green_free()
        scheme, contexts = self.scheme.ranked, self.contexts[self.held]
        key = schemes.row_keys(scheme, contexts, self.places)
        count = schemes.green_count(key, self.sets.sum(1), scheme.gamma)
        # The list is one of all that is allowed, not of what filters left.
        each = schemes.numbers(scheme, contexts, None, self.width, self.places)
        among = schemes.green_within(each, self.sets, count)
        if len(self.held) == len(self.contexts):
            return among
        return self._green_free().index_copy(0, self.held, among)

    def _green_free(self) -> Bool[Tensor, "batch vocabulary"]:
        each = schemes.numbers(self.scheme, self.contexts, None, self.width)
        return schemes.green_free(each, self.scheme.gamma)


def early(
    marking: Marking | None, row: Float[Tensor, "batch vocabulary"], watch: Watch | None
) -> Float[Tensor, "batch vocabulary"]:
    """Rows before temperature and filters, marked if the mark belongs there."""
    if marking is None or not marking.scheme.early:
        return row
    return _show_row(marking.rows(row), watch)


def late(
    marking: Marking | None,
    row: Float[Tensor, "batch vocabulary"],
    key: Int[Tensor, "batch"],
    watch: Watch | None,
) -> Float[Tensor, "batch vocabulary"]:
    """Rows after temperature and filters, marked if the scheme acts there.

    `key` is that of the unmarked noise.
    """
    if marking is None or marking.scheme.early:
        return row
    if marking.scheme.kind == "gumbel":
        return marking.own_ends(row, key)
    return _show_row(marking.rows(row), watch)


def _show_row(row: Tensor, watch: Watch | None) -> Tensor:
    if watch is not None:
        watch("watermark", row)
    return row


def _bools(each: Bool[Tensor, "batch"]) -> list[bool]:
    return cast("list[bool]", each.tolist())  # pyright: ignore[reportUnknownMemberType]


@lru_cache(8)
def _ends(vocabulary: Vocabulary, device: torch.device) -> Int[Tensor, "ends"]:
    return torch.tensor(sorted(vocabulary.eos_ids), dtype=torch.int64, device=device)
