"""The loop over searches: those of all prompts run as one batch, step by step, round by round.

Prompts are read once, and every round begins with a copy of their cache. A failed search leaves the
batch; the others go on if the caller wants that. The scores of a step are of the search's kind
(`search.base.Kind`).
"""

import time
from collections.abc import Callable, Mapping
from collections.abc import Sequence as Listed
from dataclasses import dataclass
from typing import Final, TypeAlias

import torch

from guideway.errors import GuidewayError
from guideway.generation.draw import Plan, Spread, logits_error
from guideway.generation.ensemble.ensemble import Ensemble, EnsembleCache, Logits, States
from guideway.generation.limits import checked
from guideway.generation.marking import Marking, check_markable, early, late
from guideway.generation.row.request import OnError, Request, peak_memory, raise_error
from guideway.generation.row.result import Result
from guideway.generation.row.sequence import Sequence
from guideway.generation.step import plan_of
from guideway.generation.stopping import check_stop
from guideway.logits.evaluate import Step, evaluate
from guideway.logits.mask import apply_mask, send, unpack, upload
from guideway.logits.rows import log_mass
from guideway.logits.warp import Moment, warp
from guideway.sampling.noise import coins, keys
from guideway.search.adaptive import Asap, Rejection
from guideway.search.base import Kind, Scores, numbers
from guideway.search.beams import Beams
from guideway.search.contrastive import Contrastive
from guideway.search.smc import Smc
from guideway.search.stochastic import StochasticBeams

Search: TypeAlias = Beams | StochasticBeams | Contrastive | Rejection | Asap | Smc


SEARCHES: Final[Mapping[str | None, Callable[[Sequence], Search]]] = {
    "beams": Beams,
    "stochastic": StochasticBeams,
    "contrastive": Contrastive,
    "rejection": Rejection,
    "asap": Asap,
    "smc": Smc,
}
"""By the name of the setting."""


@torch.inference_mode()
def scores(
    ensemble: Ensemble,
    logits: Logits,
    rows: Listed[Sequence],
    places: Listed[int],
    kind: Kind,
    plan: Plan,
) -> Scores:
    """Scores of rows of a batch; a row fails on NaN or +∞.

    `places` are the indices of `rows` in the batch, `plan` has their settings.
    """
    width, device = ensemble.vocabulary.width, ensemble.device
    allowed = unpack(upload([row.row() for row in rows], width, device), width)
    before = allowed
    if kind == "open":  # free text has no constraint that could be left out
        held = send([row.constrained for row in rows], device)
        before = allowed | held[:, None]
    if [*places] != [*range(len(next(iter(logits.values()))))]:
        index = send([*places], device)
        logits = {leaf: each[index] for leaf, each in logits.items()}
    texts = [row.text_context() for row in rows] if ensemble.reads_texts else []
    asked = allowed if kind == "open" else None
    state = Step(logits, before, ensemble.vocabulary, texts, asked=asked)
    made = _evaluated(ensemble, state, rows, kind)
    marking = ensemble.mark and Marking.of(ensemble.mark, rows, ensemble.vocabulary, device)
    values = _chain(made.logs, plan, rows, marking)
    own, kept = made.own, made.kept
    if kind != "beam":
        values = values.log_softmax(1)
    if kind == "open":
        values = apply_mask(values, allowed)
        if any(row.constrained for row in rows):
            kept = log_mass(apply_mask(own, allowed))
    # A row without any mass has NaN for logarithms of shares.
    return Scores(values.nan_to_num(-torch.inf, neginf=-torch.inf), own, kept)


def _evaluated(ensemble: Ensemble, state: Step, rows: Listed[Sequence], kind: Kind) -> Scores:
    """Scores of an expression, not normalised over allowed tokens."""
    made = evaluate(ensemble.node, state)
    spread = Spread.of(made, state.allowed, held=any(row.constrained for row in rows))
    for row, total in zip(rows, numbers(spread.total), strict=True):
        if (error := logits_error(total, row.steps)) is not None:
            row.fail(error)
    values = spread.values
    if kind == "beam":
        whole = spread.total if made.own is None else log_mass(values)
        values = values - whole[:, None]
    return Scores(values, spread.reported - spread.total[:, None], spread.kept)


def _chain(
    values: torch.Tensor, plan: Plan, rows: Listed[Sequence], marking: Marking | None
) -> torch.Tensor:
    """The rows after biases, penalties, temperature, filters and a watermark."""
    histories = [row.history for row in rows]
    values = early(marking, plan.penalties.apply(values, histories), None)
    if not any(plan.random):
        return late(marking, values, plan.streams, None)
    steps = send([row.steps for row in rows], values.device)
    ceilings = send([each.ceiling for each in histories], values.device)
    moment = Moment(coins(keys(plan.streams, steps)), ceilings)
    return late(marking, warp(values, plan.warps, moment).row, plan.streams, None)


class Searching:
    """The searches of a batch: run it, then read `completions`, also after Ctrl-C."""

    def __init__(
        self,
        ensemble: Ensemble,
        requests: Listed[Request],
        on_error: OnError = raise_error,
    ) -> None:
        """Check the requests. If `on_error` returns, other searches continue."""
        self._ensemble = ensemble
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
        self._searches = {
            root.number: SEARCHES[root.request.sampling.search](root) for root in unfinished
        }
        self._plans = dict[tuple[int, ...], Plan]()  # by the numbers of the rows

    def run(self) -> None:
        if not self._searches:
            return
        check_stop()
        looked = any(isinstance(each, Contrastive) for each in self._searches.values())
        states = States() if looked else None
        prompts = [self._roots[number].request.prompts for number in self._searches]
        begun = _Forward(*self._ensemble.prefill(prompts, states), states)
        places = {number: place for place, number in enumerate(self._searches)}
        while numbers := self._begin():
            self._round(_selected(self._ensemble, begun, [places[n] for n in numbers]))

    @property
    def completions(self) -> list[list[Result]]:
        """Results of each request, best first; one with an error for a failed request."""
        memory = peak_memory(self._ensemble.device)
        return [self._completions_of(root, memory) for root in self._roots]

    def _completions_of(self, root: Sequence, memory: int) -> list[Result]:
        if root.number in self._searches:
            return self._searches[root.number].completions(memory)
        if root.error is None:
            try:
                # The text can only be empty, and has ended without an end id.
                return SEARCHES[root.request.sampling.search](root).completions(memory)
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
            read = list[int]()
            for search in searches:
                if isinstance(search, Contrastive):
                    read += search.read
                else:
                    read += [row.tokens[-1] for row in search.rows]
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
            if own and forward.states is not None and isinstance(search, Contrastive):
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
                for number, found in self._step_searches(forward, group, places, kind).items():
                    if found is None:
                        again.append(number)
                    else:
                        parents[number] = [places[number][place] for place in found]
            waiting = again
        return [place for number in sorted(parents) for place in parents[number]]

    def _step_searches(
        self, forward: "_Forward", group: list[int], places: dict[int, list[int]], kind: Kind
    ) -> dict[int, Listed[int] | None]:
        """Call `step` of the searches of one kind; failed ones are left out."""
        rows = [row for number in group for row in self._searches[number].rows]
        where = [place for number in group for place in places[number]]
        numbers = tuple(row.number for row in rows)
        if numbers not in self._plans:
            self._plans[numbers] = plan_of(rows, self._ensemble.device)
        plan = self._plans[numbers]
        made = scores(self._ensemble, forward.logits, rows, where, kind, plan)
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
