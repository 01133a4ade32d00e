"""Rows over a paged cache: one forward reads parts of new prompts and the last token of all others.

    pages ─▶ logits of the texts whose next token is due ─▶ step.take ─▶ tokens ─▶ pages

`Pages` is the protocol of such a cache; `engine.backends.transformers_paged` has transformers'.
What happens between logits and tokens is that of every other loop (`engine.step.take`).
"""

from collections.abc import Callable, Mapping
from collections.abc import Sequence as Texts
from typing import Any, Protocol, TypeAlias, final, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor

from guideway.engine.ensemble import NO_SUMS, Backbone, Ensemble, EnsembleCache
from guideway.engine.model import LanguageModel
from guideway.engine.request import Event
from guideway.engine.sequence import Sequence
from guideway.engine.step import Batch, take

Due: TypeAlias = Mapping[LanguageModel[Any], Float[Tensor, "texts vocabulary"]]
Choose: TypeAlias = Callable[[Texts[int], Due], Texts[int | None]]
"""Maps texts and each model's logits of their next token to these tokens; None ends a text."""


@runtime_checkable  # the tests check annotations
class Pages(Protocol):
    """Texts that some models read side by side. All models read the same tokens.

    Laws:

    - `step` calls `choose` at most once, with texts whose tokens so far are all read, each once.
      The logits are those of the models after that text alone (in float32, up to rounding).
    - Every text comes to `choose` after finitely many steps, and again after each of its tokens.
    - A text that ended or was removed does not come again, and its pages are free.
    """

    @property
    def capacity(self) -> int:
        """The greatest number of tokens of one text, its prompt included."""
        ...

    def add(self, text: int, prompt: Texts[int]) -> None:
        """Add a text; no number is used twice."""
        ...

    def remove(self, text: int) -> None:
        """Forget a text."""
        ...

    def step(self, choose: Choose) -> None:
        """Run the models once, if there is a text."""
        ...


def readable(ensemble: Ensemble, row: Sequence) -> bool:
    """Return True if `Pages` of the ensemble's models can read a row.

    All models must read the same tokens, without adapters and exits, and no GeDi pair may need the
    sums of a cache.
    """
    return (
        not ensemble.summed
        and len({*row.request.prompts}) == 1
        and all(_whole(backbone) for backbone in ensemble.backbones)
    )


def _whole(backbone: Backbone) -> bool:
    straight = backbone.alignment is None or backbone.alignment.straight
    return straight and not backbone.varied and len(backbone.contexts) == 1


@final
class PagedRows:
    """A scheduler over `Pages`, for `readable` rows of ensembles of their models."""

    def __init__(self, pages: Pages) -> None:
        """No rows yet."""
        self._pages = pages
        self._rows: dict[int, tuple[Sequence, Ensemble]] = {}
        self._batches: dict[Ensemble, Batch] = {}

    def add(self, row: Sequence, ensemble: Ensemble) -> None:
        """Let a row join."""
        self._rows[row.number] = row, ensemble
        self._pages.add(row.number, row.request.prompt)

    def remove(self, row: Sequence) -> None:
        """Forget a row."""
        del self._rows[row.number]
        self._pages.remove(row.number)

    def step(self) -> list[Event]:
        """Run the models once."""
        moved = list[Sequence]()

        def choose(texts: Texts[int], due: Due) -> list[int | None]:
            moved.extend(self._rows[text][0] for text in texts)
            self._take(texts, due)
            return [None if row.finish_reason else row.tokens[-1] for row in moved]

        self._pages.step(choose)
        self._rows = {n: each for n, each in self._rows.items() if not each[0].finish_reason}
        return [row.event() for row in moved]

    def _take(self, texts: Texts[int], due: Due) -> None:
        """A token more in each of these rows, those of one ensemble together."""
        groups: dict[Ensemble, list[int]] = {}
        for place, text in enumerate(texts):
            groups.setdefault(self._rows[text][1], []).append(place)
        batches, self._batches = self._batches, {}
        for ensemble, places in groups.items():
            rows = tuple(self._rows[texts[place]][0] for place in places)
            batch = batches.get(ensemble)
            if batch is None or batch.rows != rows:
                batch = Batch.of(rows, ensemble.device)
            self._batches[ensemble] = batch
            index = torch.tensor(places, device=ensemble.device)
            logits = {
                leaf: row
                for backbone in ensemble.backbones
                for leaf, row in backbone.split(due[backbone.model][None, index], len(rows)).items()
            }
            cache = EnsembleCache((), len(rows), NO_SUMS, NO_SUMS)
            take(ensemble, cache, logits, batch, [*range(len(rows))])
            for row in rows:
                row.count(0, 0)


@final
class FakePages:
    """Pages without a cache, for tests: models read each text anew, and prompts in chunks.

    Example:
        >>> from guideway.engine.fake import FakeModel
        >>> from guideway.vocabulary.spellings import Vocabulary
        >>> vocabulary = Vocabulary([b"a", b"b", b"<eos>"], eos_ids={2})
        >>> model = FakeModel.table(vocabulary, [[0, 1, 0], [0, 0, 1], [0, 0, 0]])
        >>> pages = FakePages([model], chunk=2)
        >>> pages.add(7, [1, 0, 0])
        >>> for _ in range(3):
        ...     pages.step(lambda texts, due: print(texts, due[model].tolist()) or [1])
        [7] [[0.0, 1.0, 0.0]]
        [7] [[0.0, 0.0, 1.0]]
    """

    def __init__(
        self, models: Texts[LanguageModel[Any]], *, chunk: int = 4, capacity: int = 1 << 20
    ) -> None:
        """Pages of these models that read at most `chunk` tokens of a prompt in a step."""
        self.capacity, self._models, self._chunk = capacity, models, chunk
        self._texts: dict[int, list[int]] = {}
        self._unread: dict[int, int] = {}

    def add(self, text: int, prompt: Texts[int]) -> None:
        """Add a text."""
        self._texts[text], self._unread[text] = [*prompt], len(prompt)

    def remove(self, text: int) -> None:
        """Forget a text."""
        del self._texts[text], self._unread[text]

    def step(self, choose: Choose) -> None:
        """Read a part of each text; choose where it is at its end."""
        for text, unread in self._unread.items():
            self._unread[text] = max(0, unread - self._chunk)
        due = [text for text, unread in self._unread.items() if not unread]
        if not due:
            return
        prompts = [self._texts[text] for text in due]
        logits = {model: model.prefill(prompts)[1] for model in self._models}
        for text, token in zip(due, choose(due, logits), strict=True):
            if token is None:
                self.remove(text)
            else:
                self._texts[text].append(token)
