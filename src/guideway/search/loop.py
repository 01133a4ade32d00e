"""The loop over searches: those of all prompts run as one batch, step by step, round by round.

Prompts are read once, and every round begins with a copy of their cache. A failed search leaves the
batch; the others go on if the caller wants that.
"""

import time
from collections.abc import Sequence as Listed
from dataclasses import dataclass
from typing import Any, final

import torch

from guideway.errors import GuidewayError
from guideway.generation.ensemble.ensemble import Ensemble, EnsembleCache, Logits, States
from guideway.generation.limits import checked
from guideway.generation.marking import check_markable
from guideway.generation.memory import peak_memory
from guideway.generation.row.request import Completion, OnError, Request, raise_error
from guideway.generation.row.sequence import Sequence
from guideway.generation.stopping import check_stop
from guideway.models.protocol import LanguageModel
from guideway.search.base import Kind, Looking, read_next
from guideway.search.dispatch import certain, search_for
from guideway.search.scores import Plans, scores


@final
class Searching:
    """The searches of a batch: run it, then read `completions`, also after Ctrl-C."""

    def __init__(
        self,
        model: LanguageModel[Any] | Ensemble,
        requests: Listed[Request],
        on_error: OnError = raise_error,
    ) -> None:
        """Check the requests. If `on_error` returns, other searches continue."""
        self._ensemble = ensemble = Ensemble.of(model)
        self._on_error = on_error
        check_markable(ensemble.mark, requests)
        self._roots = [
            Sequence(number, request, ensemble.vocabulary, checked(request, ensemble))
            for number, request in enumerate(requests)
        ]
        began = time.perf_counter()
        for root in self._roots:
            root.begin(began)
        unfinished = [root for root in self._roots if root.finish_reason is None]
        for root in unfinished:
            root.count()  # for the forward that reads the prompt
        self._searches = {root.number: search_for(root) for root in unfinished}
        self._plans = Plans(ensemble.device)

    def run(self) -> None:
        """Run all searches to their ends."""
        if not self._searches:
            return
        check_stop()
        looked = any(isinstance(each, Looking) for each in self._searches.values())
        states = States() if looked else None
        prompts = [self._roots[number].request.prompts for number in self._searches]
        begun = _Forward(*self._ensemble.prefill(prompts, states), states)
        places = {number: place for place, number in enumerate(self._searches)}
        while numbers := self._begin():
            self._round(_selected(self._ensemble, begun, [places[n] for n in numbers]))

    @property
    def completions(self) -> list[list[Completion]]:
        """Results of each request, best first; one with an error for a failed request."""
        memory = peak_memory(self._ensemble.device)
        return [self._found(root, memory) for root in self._roots]

    def _found(self, root: Sequence, memory: int) -> list[Completion]:
        if root.number in self._searches:
            return self._searches[root.number].completions(memory)
        if root.error is None:
            try:
                return certain(root, memory)
            except GuidewayError as error:
                self._fail(root.number, error)
        return [root.completion(memory)]

    def _fail(self, number: int, error: GuidewayError) -> None:
        """End a search, because of an error of it alone."""
        self._on_error(number, error)
        self._roots[number].fail(error)
        self._searches.pop(number, None)

    def _begin(self) -> list[int]:
        """The next round: for each row the number of its search."""
        rows = list[int]()
        for number, search in [*self._searches.items()]:
            try:
                if search.begin():
                    rows += [number] * len(search.rows)
            except GuidewayError as error:
                self._fail(number, error)
        return rows

    def _round(self, forward: "_Forward") -> None:
        """All rows of the searches to their ends."""
        while parents := self._stepped(forward):
            check_stop()
            cache, looked = forward.cache, forward.states is not None
            if parents != list(range(cache.rows)):
                cache = self._ensemble.select(cache, parents)
            searches = self._searches.values()
            if looked:
                read = [token for search in searches for token in read_next(search)]
            else:
                read = [row.tokens[-1] for search in searches for row in search.rows]
            last = torch.tensor(read, device=self._ensemble.device)[:, None]
            states = States() if looked else None
            cache, logits = self._ensemble.extend(cache, last, states)
            for search in searches:
                for row in search.rows:
                    row.count()
            forward = _Forward(cache, {leaf: each[:, 0] for leaf, each in logits.items()}, states)

    def _stepped(self, forward: "_Forward") -> list[int]:
        """A step of every search that has rows: where each row of the next batch comes from."""
        places = dict[int, list[int]]()
        begin = 0
        for number, search in self._searches.items():
            own = [*range(begin, begin := begin + len(search.rows))]
            if own and forward.states is not None and isinstance(search, Looking):
                place = search.look([forward.states[place] for place in own])
                own = own[place : place + len(search.rows)]
            places[number] = own
        parents = dict[int, list[int]]()
        waiting = [number for number, own in places.items() if own]
        while waiting:  # more than once only where a limit refuses a token
            again = list[int]()
            kinds: list[Kind] = [self._searches[number].kind for number in waiting]
            for kind in dict.fromkeys(kinds):
                group = [n for n, own in zip(waiting, kinds, strict=True) if own == kind]
                for number, found in self._asked(forward, group, places, kind).items():
                    if found is None:
                        again.append(number)
                    else:
                        parents[number] = [places[number][place] for place in found]
            waiting = again
        return [place for number in sorted(parents) for place in parents[number]]

    def _asked(
        self, forward: "_Forward", group: list[int], places: dict[int, list[int]], kind: Kind
    ) -> dict[int, Listed[int] | None]:
        """Call `step` of the searches of one kind; failed ones are left out."""
        rows = [row for number in group for row in self._searches[number].rows]
        where = [place for number in group for place in places[number]]
        made = scores(self._ensemble, forward.cache, forward.logits, rows, where, kind, self._plans)
        answers = dict[int, Listed[int] | None]()
        begin = 0
        for number in group:
            own = made.part(begin, begin := begin + len(places[number]))
            search = self._searches[number]
            try:
                for row in search.rows:
                    if row.error is not None:
                        raise row.error
                answers[number] = search.step(own)
            except GuidewayError as error:
                self._fail(number, error)
        return answers


def find(model: LanguageModel[Any] | Ensemble, requests: Listed[Request]) -> list[list[Completion]]:
    """Results of each request, best first.

    >>> from guideway.models.fake import FakeModel
    >>> from guideway.sampling.settings import Sampling
    >>> from guideway.vocabulary.vocabulary import Vocabulary
    >>> vocabulary = Vocabulary([b"a", b"b", b"<eos>"], eos_ids={2})
    >>> model = FakeModel.table(vocabulary, [[0, 1, 0], [0, 0, 9], [0, 0, 0]])
    >>> two = Sampling(num_beams=2, num_return_sequences=2, max_new_tokens=3)
    >>> [[done.text for done in found] for found in find(model, [Request((0,), sampling=two)])]
    [['b', 'ab']]
    """
    searching = Searching(model, requests)
    searching.run()
    return searching.completions


@final
@dataclass(frozen=True, slots=True)
class _Forward:
    """The rows of a batch after a forward; states only if a search looks at them."""

    cache: EnsembleCache
    logits: Logits
    states: States | None


def _selected(ensemble: Ensemble, forward: _Forward, rows: list[int]) -> _Forward:
    index = torch.tensor(rows, device=ensemble.device)
    logits = {leaf: each[index] for leaf, each in forward.logits.items()}
    states = None if forward.states is None else [forward.states[row] for row in rows]
    return _Forward(ensemble.select(forward.cache, rows), logits, states)
