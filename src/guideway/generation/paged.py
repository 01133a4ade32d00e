"""Rows over a paged cache: one forward reads parts of new prompts and the last token of all others.

    drafts ─▶ pages ─▶ logits of the texts that can go on ─▶ step.verified ─▶ tokens ─▶ pages

`Pages` (`models.protocol`) is such a cache; `models.transformers_paged` has transformers'.
What happens between logits and tokens is that of every other loop (`generation.step.verified`).
"""

import time
from collections.abc import Sequence as Texts
from itertools import accumulate
from typing import TypeAlias

import torch

from guideway.generation.ensemble.ensemble import Backbone, Ensemble
from guideway.generation.row.request import Event
from guideway.generation.row.sequence import Sequence
from guideway.generation.scheduling import Ahead, Batches
from guideway.generation.speculation import Speculation
from guideway.generation.step import Batch, on_time, verified
from guideway.models.protocol import NO_DRAFT, Draft, Due, Pages, Tokens


def readable(ensemble: Ensemble, row: Sequence) -> bool:
    """Return True if `Pages` of the ensemble's models can read a row.

    All models must read the same tokens, without adapters and exits, and no GeDi pair may need the
    sums of a cache.
    """
    return (
        not ensemble.summed
        and len({*row.request.prompts}) == 1
        and all(_is_plain(backbone) for backbone in ensemble.backbones)
    )


def _is_plain(backbone: Backbone) -> bool:
    straight = backbone.alignment is None or backbone.alignment.straight
    return straight and not backbone.varied and len(backbone.contexts) == 1


class PagedRows:
    """A scheduler over `Pages`, for `readable` rows of ensembles of their models."""

    def __init__(self, pages: Pages) -> None:
        self._pages = pages
        self._rows: dict[int, tuple[Sequence, Ensemble, Speculation | None]] = {}
        self._joining = list[Sequence]()
        self._ahead = Ahead()
        self.forwards = 0

    def add(
        self, row: Sequence, ensemble: Ensemble, speculation: Speculation | None = None
    ) -> None:
        self._rows[row.number] = row, ensemble, speculation
        self._joining.append(row)

    def remove(self, row: Sequence) -> None:
        del self._rows[row.number]
        if row in self._joining:
            self._joining.remove(row)
        else:
            self._pages.remove(row.number)

    def step(self) -> list[Event]:
        events, held, began = list[Event](), self._held(), 0.0

        def draft(texts: Texts[int]) -> list[Draft]:
            nonlocal began
            drafts = [NO_DRAFT] * len(texts)
            for (_, speculation), places in self._groups(texts).items():
                if speculation is not None:
                    found = speculation.drafts([self._rows[texts[place]][0] for place in places])
                    for place, each in zip(places, found, strict=True):
                        drafts[place] = each
            began = time.perf_counter()
            return drafts

        def choose(due: Due) -> list[Tokens | None]:
            seconds = time.perf_counter() - began
            self.forwards += 1
            rows = [self._rows[text][0] for text in due.texts]
            before = [len(row.tokens) for row in rows]
            for row, known in zip(rows, due.known, strict=True):
                row.cached = known
            for group, places in self._groups(due.texts).items():
                events.extend(self._take(*group, due, places, seconds))
            pairs = zip(rows, before, strict=True)
            return [None if row.finish_reason else row.tokens[count:] for row, count in pairs]

        self._pages.step(choose, draft, held)
        if held and not events:
            self._ahead.wait()
        self._rows = {n: each for n, each in self._rows.items() if not each[0].finish_reason}
        return events

    def _held(self) -> set[int]:
        """The rows whose masks are late; others that wait to join do so."""
        held, numbers = set[int](), [*self._rows]
        for (_, speculation), places in self._groups(numbers).items():
            rows = [self._rows[numbers[place]][0] for place in places]
            held |= {rows[place].number for place in self._ahead.late(rows, speculation)}
        for row in self._joining:
            if row.number not in held:
                self._pages.add(row.number, row.request.prompt)
        self._joining = [row for row in self._joining if row.number in held]
        return held

    def _groups(self, texts: Texts[int]) -> dict[tuple[Ensemble, Speculation | None], list[int]]:
        """The places of texts by their expression and drafts."""
        groups = dict[tuple[Ensemble, Speculation | None], list[int]]()
        for place, text in enumerate(texts):
            groups.setdefault(self._rows[text][1:], []).append(place)
        return groups

    def _take(
        self,
        ensemble: Ensemble,
        speculation: Speculation | None,
        due: Due,
        places: list[int],
        seconds: float,
    ) -> list[Event]:
        """A token more in each of these rows, and more where a draft was right."""
        rows = [self._rows[due.texts[place]][0] for place in places]
        drafts = [due.drafted[place] for place in places]
        ends = [*accumulate(1 + len(draft.tokens) for draft in due.drafted)]
        longest = 1 + max(len(draft.tokens) for draft in drafts)
        columns = [  # of a row whose draft is shorter, the last one comes again
            [min(ends[place] - 1 - len(draft.tokens) + n, ends[place] - 1) for n in range(longest)]
            for place, draft in zip(places, drafts, strict=True)
        ]
        index = torch.tensor(columns, device=ensemble.device)
        logits = {
            leaf: part
            for each in ensemble.backbones
            for leaf, part in each.split(due.logits[each.model][None, index], len(rows)).items()
        }
        batch = Batch.of(rows, ensemble.device)
        events, accepted, _ = verified(ensemble, batch, logits, drafts, on_time)
        for row, draft, right in zip(rows, drafts, accepted, strict=True):
            row.count(len(draft.tokens), right)
        if speculation is not None:
            speculation.judge(rows, drafts, accepted, seconds, tokens=due.read)
        return events


Scheduler: TypeAlias = Batches | PagedRows
