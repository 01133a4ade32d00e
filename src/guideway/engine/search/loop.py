"""The loop over searches: those of all prompts run as one batch, step by step, round by round.

Prompts are read once; their cache is kept, and every round begins with a copy of it.

What this module does not know: what a search does with its rows.
"""

import contextlib
import time
from collections.abc import Sequence as Listed
from dataclasses import dataclass
from typing import Any, final

import torch

from guideway.engine.ensemble import Ensemble, EnsembleCache, Logits, Prompts, States
from guideway.engine.limits import checked
from guideway.engine.marking import check_markable
from guideway.engine.memory import peak_memory
from guideway.engine.model import LanguageModel
from guideway.engine.request import Completion, Request
from guideway.engine.search.base import Kind, Looking, Search, read_next
from guideway.engine.search.made import certain, search_for
from guideway.engine.search.scores import Plans, scores
from guideway.engine.sequence import Sequence


def find(
    model: LanguageModel[Any] | Ensemble, requests: Listed[Request], *, run: bool = True
) -> list[list[Completion]]:
    """What is found for each request, the best first.

    Args:
        model: what gives the logits.
        requests: what is looked for.
        run: False if the call was interrupted before.

    An interrupt from the keyboard ends it in order, with what there is.

    Example:
        >>> from guideway.engine.fake import FakeModel
        >>> from guideway.sampling.settings import Sampling
        >>> from guideway.vocabulary.spellings import Vocabulary
        >>> vocabulary = Vocabulary([b"a", b"b", b"<eos>"], eos_ids={2})
        >>> model = FakeModel.table(vocabulary, [[0, 1, 0], [0, 0, 9], [0, 0, 0]])
        >>> two = Sampling(num_beams=2, num_return_sequences=2, max_new_tokens=3)
        >>> [[done.text for done in found] for found in find(model, [Request((0,), sampling=two)])]
        [['b', 'ab']]

    Raises:
        LimitError: a request cannot come out right within its limits.
        ModelError: a constraint is for another vocabulary, or the model gave NaN or +∞.
        DeadEndError: nothing that is allowed has a probability.
        UnsupportedError: there is a watermark of a kind that needs a draw.
    """
    ensemble = Ensemble.of(model)
    check_markable(ensemble.mark, requests)
    roots = [
        Sequence(number, request, ensemble.vocabulary, checked(request, ensemble))
        for number, request in enumerate(requests)
    ]
    began = time.perf_counter()
    for root in roots:
        root.begin(began)
    searches = {n: search_for(root) for n, root in enumerate(roots) if root.finish_reason is None}
    if run and searches:
        with contextlib.suppress(KeyboardInterrupt):
            _run(ensemble, [requests[n].prompts for n in searches], [*searches.values()])
    memory = peak_memory(ensemble.device)
    return [
        searches[n].completions(memory) if n in searches else certain(root, memory)
        for n, root in enumerate(roots)
    ]


def _run(ensemble: Ensemble, prompts: Listed[Prompts], searches: Listed[Search]) -> None:
    states = States() if any(isinstance(each, Looking) for each in searches) else None
    begun, plans = _Forward(*ensemble.prefill(prompts, states), states), Plans(ensemble.device)
    while parents := [n for n, each in enumerate(searches) if each.begin() for _ in each.rows]:
        _round(ensemble, searches, _selected(ensemble, begun, parents), plans)


@final
@dataclass(frozen=True, slots=True)
class _Forward:
    """The rows of a batch after a forward; states only if a search looks at them."""

    cache: EnsembleCache
    logits: Logits
    states: States | None


def _round(ensemble: Ensemble, searches: Listed[Search], forward: _Forward, plans: Plans) -> None:
    """All rows of the searches to their ends."""
    while True:
        parents = _stepped(ensemble, searches, forward, plans)
        if not parents:
            return
        cache = forward.cache
        if parents != list(range(cache.rows)):
            cache = ensemble.select(cache, parents)
        if forward.states is None:
            read = [row.tokens[-1] for search in searches for row in search.rows]
        else:
            read = [token for search in searches for token in read_next(search)]
        last = torch.tensor(read, device=ensemble.device)[:, None]
        states = None if forward.states is None else States()
        cache, logits = ensemble.extend(cache, last, states)
        forward = _Forward(cache, {leaf: each[:, 0] for leaf, each in logits.items()}, states)


def _stepped(
    ensemble: Ensemble, searches: Listed[Search], forward: _Forward, plans: Plans
) -> list[int]:
    """A step of every search that has rows: where each row of the next batch comes from."""
    places = dict[int, list[int]]()
    begin = 0
    for number, search in enumerate(searches):
        own = [*range(begin, begin := begin + len(search.rows))]
        if own and forward.states is not None and isinstance(search, Looking):
            place = search.look([forward.states[place] for place in own])
            own = own[place : place + len(search.rows)]
        places[number] = own
    parents = dict[int, list[int]]()
    waiting = [number for number, own in places.items() if own]
    while waiting:  # more than once only where a limit refuses a token
        again = list[int]()
        kinds: list[Kind] = [searches[number].kind for number in waiting]
        for kind in dict.fromkeys(kinds):
            group = [number for number in waiting if searches[number].kind == kind]
            rows = [row for number in group for row in searches[number].rows]
            where = [place for number in group for place in places[number]]
            made = scores(ensemble, forward.cache, forward.logits, rows, where, kind, plans)
            begin = 0
            for number in group:
                own = places[number]
                found = searches[number].step(made.part(begin, begin := begin + len(own)))
                if found is None:
                    again.append(number)
                else:
                    parents[number] = [own[place] for place in found]
        waiting = again
    return [place for number in sorted(parents) for place in parents[number]]


def _selected(ensemble: Ensemble, forward: _Forward, rows: list[int]) -> _Forward:
    index = torch.tensor(rows, device=ensemble.device)
    logits = {leaf: each[index] for leaf, each in forward.logits.items()}
    states = None if forward.states is None else [forward.states[row] for row in rows]
    return _Forward(ensemble.select(forward.cache, rows), logits, states)
