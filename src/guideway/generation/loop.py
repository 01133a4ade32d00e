"""The loop over a batch: one step after another until every row has ended.

Each row has its own constraint, settings and end. Streaming uses the same loop.
"""

import time
from collections.abc import Iterator
from collections.abc import Sequence as Requests
from typing import Any, final

from guideway.generation.captured.steps import captured, captures
from guideway.generation.ensemble.ensemble import Ensemble
from guideway.generation.limits import checked
from guideway.generation.marking import check_markable
from guideway.generation.memory import peak_memory
from guideway.generation.row.request import Completion, Event, OnError, Request, raise_error
from guideway.generation.row.sequence import Sequence
from guideway.generation.sharing import shared
from guideway.generation.speculation import Speculation
from guideway.generation.step import Batch, step
from guideway.generation.stopping import check_stop
from guideway.models.protocol import LanguageModel


@final
class Decoding:
    """A batch being generated: iterate to run it, then read `completions`.

    After a `KeyboardInterrupt`, `completions` has the texts so far; rows that had not ended are
    "interrupted".

    Example:
        >>> from guideway.models.fake import FakeModel
        >>> from guideway.vocabulary.vocabulary import Vocabulary
        >>> vocabulary = Vocabulary([b"a", b"b", b"<eos>"], eos_ids={2})
        >>> model = FakeModel.table(vocabulary, [[0, 1, 0], [0, 0, 1], [0, 0, 0]])
        >>> decoding = Decoding(model, [Request(prompt=(0,))])
        >>> [event.text for event in decoding], decoding.completions[0].text
        (['b', ''], 'b')
    """

    def __init__(
        self,
        model: LanguageModel[Any] | Ensemble,
        requests: Requests[Request],
        on_error: OnError = raise_error,
        speculation: Speculation | None = None,
        *,
        shares: bool = False,
    ) -> None:
        """Check the requests. If `on_error` returns, other rows continue.

        With `shares`, batches that run in other threads at the same time share forwards with this,
        unless steps are captured.
        """
        self._ensemble = ensemble = Ensemble.of(model)
        self._on_error, self._speculation = on_error, speculation
        self._shares = shares and not captures(ensemble)
        check_markable(ensemble.mark, requests)
        self._rows = [
            Sequence(number, request, ensemble.vocabulary, checked(request, ensemble))
            for number, request in enumerate(requests)
        ]

    def __iter__(self) -> Iterator[Event]:
        """Run; yield an event for each token of each row."""
        began = time.perf_counter()
        for row in self._rows:
            row.begin(began)
            if row.finish_reason is not None:
                yield row.event()
        going = [row for row in self._rows if row.finish_reason is None]
        for event in self._run(going) if going else ():
            error = self._rows[event.row].error
            if error is not None and event.finish_reason is not None:
                self._on_error(event.row, error)
            yield event

    def _run(self, going: list[Sequence]) -> Iterator[Event]:
        if self._shares:
            yield from shared(self._ensemble).run(self._ensemble, going, self._speculation)
            return
        batch = Batch.of(going, self._ensemble.device, self._speculation)
        while batch.rows:
            check_stop()
            if (launched := captured(self._ensemble, batch)) is not None:
                yield from launched
                batch = launched.batch
                continue
            events, batch = step(self._ensemble, batch)
            yield from events

    @property
    def completions(self) -> list[Completion]:
        """Result of each request, complete or not."""
        memory = peak_memory(self._ensemble.device)
        return [row.completion(memory) for row in self._rows]


def generate(model: LanguageModel[Any] | Ensemble, requests: Requests[Request]) -> list[Completion]:
    """Run a batch to its end."""
    decoding = Decoding(model, requests)
    for _ in decoding:
        pass
    return decoding.completions
