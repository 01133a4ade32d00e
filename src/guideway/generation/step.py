"""One step of a batch: forward, expression, mask, warp, draw, take; drafted tokens are verified."""

from collections import abc
from dataclasses import dataclass, replace
from typing import TypeAlias

import torch

from guideway.generation.draw import Drawn, Plan, draw
from guideway.generation.ensemble.ensemble import Ensemble, EnsembleCache, Logits, States
from guideway.generation.limits import room
from guideway.generation.marking import Marking
from guideway.generation.row.request import Event
from guideway.generation.row.sequence import Sequence
from guideway.generation.row.trace import Recorder
from guideway.generation.speculation import Speculation, seconds_of
from guideway.logits.evaluate import Step, evaluate
from guideway.logits.mask import unpack, upload
from guideway.models.protocol import NO_DRAFT, Draft

Late: TypeAlias = abc.Callable[[list[Sequence]], list[int]]
"""Prepares rows; gives the places of those that are late."""
Verified: TypeAlias = tuple[list[Event], list[int], list[int]]
"""Events, the number of drafted tokens that were right in each row, the places of late rows."""


def on_time(rows: list[Sequence]) -> list[int]:
    """No row is late: it is waited for."""
    return []


@dataclass(frozen=True, slots=True)
class Batch:
    """The rows that go on, their settings, and the models' cache of all tokens but the last.

    `cache` is None before the first step; `speculation` is None to read no drafts. With `logits`,
    the cache has the last token too, and the next one is drawn from them without a forward.
    """

    rows: tuple[Sequence, ...]
    plan: Plan
    cache: EnsembleCache | None = None
    speculation: Speculation | None = None
    logits: Logits | None = None

    @classmethod
    def of(
        cls,
        rows: abc.Iterable[Sequence],
        device: torch.device,
        speculation: Speculation | None = None,
    ) -> "Batch":
        """The batch of these rows, before the first step."""
        rows = tuple(rows)
        return cls(rows, plan_of(rows, device), speculation=speculation)


Stepped: TypeAlias = tuple[list[Event], Batch, Batch]
"""Events, the rows that go on, and those whose next token is not drawn yet."""


def step(ensemble: Ensemble, batch: Batch) -> tuple[list[Event], Batch]:
    """One forward: a token more in every row, and more where a draft was right.

    Returns an event for each token, and the batch of the rows that go on; a row may fail.
    """
    events, after, _ = held_step(ensemble, batch, on_time)
    return events, after


def drawn_step(ensemble: Ensemble, batch: Batch, late: Late) -> Stepped:
    """Draw for rows that a step left, from its logits."""
    if batch.cache is None or batch.logits is None:
        raise RuntimeError("there are no logits")
    before, drafts = [len(row.tokens) for row in batch.rows], [NO_DRAFT] * len(batch.rows)
    logits = {leaf: row[:, None] for leaf, row in batch.logits.items()}
    found = verified(ensemble, batch, logits, drafts, late)
    if batch.speculation is not None:
        batch.speculation.judge(batch.rows, drafts, found[1], None)
    return _parted(ensemble, batch, logits, found, before)


def held_step(ensemble: Ensemble, batch: Batch, late: Late) -> Stepped:
    """`step`, and the batch of the rows whose next token is not drawn yet."""
    rows, before = batch.rows, [len(row.tokens) for row in batch.rows]
    drafts, states = [NO_DRAFT] * len(rows), States()
    if batch.speculation is not None and batch.cache is not None:
        # All drafts are padded to the longest, so every row must have room for it.
        most = min(room(ensemble, row.request.prompts) - len(row.tokens) for row in rows)
        drafts = batch.speculation.drafts(rows, most)
    began = seconds_of(ensemble.device)
    cache, logits = forward(ensemble, batch, drafts, states)
    if batch.speculation is not None and ensemble.device.type != "cpu":
        torch.accelerator.synchronize()  # the draw would wait for the forward anyway
    seconds = seconds_of(ensemble.device) - began
    found = verified(ensemble, batch, logits, drafts, late)
    _, accepted, _ = found
    for row, known in zip(rows, cache.known, strict=False):  # after the prompts only
        row.cached = known
    for row, draft, right in zip(rows, drafts, accepted, strict=True):
        row.count(len(draft.tokens), right)
    if batch.speculation is not None:
        known = None if batch.cache is None else seconds  # a prompt is longer than a draft
        batch.speculation.judge(rows, drafts, accepted, known, states)
    cache = _accepted(ensemble, cache, logits, accepted)
    return _parted(ensemble, replace(batch, cache=cache), logits, found, before)


def _parted(
    ensemble: Ensemble, batch: Batch, logits: Logits, found: Verified, before: list[int]
) -> Stepped:
    """The rows that go on, and those that still draw; the cache of ended rows is kept."""
    (events, accepted, left), rows = found, batch.rows
    ended = {place for place, row in enumerate(rows) if row.finish_reason is not None}
    if batch.cache is not None:
        for place in ended:
            read = rows[place].tokens[: before[place] + accepted[place]]
            ensemble.keep(batch.cache, place, rows[place].request.prompts, read)
    kept = [place for place in range(len(rows)) if place not in ended and place not in left]
    after = rest(ensemble, replace(batch, logits=None), kept)
    waiting, last = rest(ensemble, replace(batch, logits=None), left), [accepted[n] for n in left]
    if left:
        own = {leaf: row[left, last] for leaf, row in logits.items()}
        waiting = replace(waiting, logits=own)
    return events, after, waiting


def rest(ensemble: Ensemble, batch: Batch, kept: list[int]) -> Batch:
    if not kept:
        return replace(batch, rows=(), cache=None, logits=None)
    if len(kept) == len(batch.rows):
        return batch
    rows = [batch.rows[place] for place in kept]
    fewer = Batch.of(rows, ensemble.device, batch.speculation)
    cache, logits = batch.cache, batch.logits
    return replace(
        fewer,
        cache=None if cache is None else ensemble.select(cache, kept),
        logits=logits and {leaf: row[kept] for leaf, row in logits.items()},
    )


def verified(
    ensemble: Ensemble,
    batch: Batch,
    logits: Logits,
    drafts: list[Draft],
    late: Late,
) -> Verified:
    """Draw tokens as long as they are the drafted ones; how many were, in each row.

    Rows that are `late`, after a token was refused, are returned too; they have no event.
    """
    rows = batch.rows
    events, accepted, left = list[Event](), [0] * len(rows), list[int]()
    going = list(range(len(rows)))
    for column in range(1 + max(len(draft.tokens) for draft in drafts)):
        here = {leaf: row[:, column] for leaf, row in logits.items()}
        guesses = [each.tokens[column] if column < len(each.tokens) else None for each in drafts]
        left += take(ensemble, here, batch, going, guesses, late)
        going = [place for place in going if place not in left]
        events += [rows[place].event() for place in going]
        going = [place for place in going if _right(rows[place], drafts[place], column)]
        for place in going:
            accepted[place] += 1
        if not going:
            break
    return events, accepted, sorted(left)  # in the order of the batch


def take(
    ensemble: Ensemble,
    logits: Logits,
    batch: Batch,
    places: list[int],
    guesses: abc.Sequence[int | None] = (),
    late: Late = on_time,
) -> list[int]:
    """Draw a token for each of some rows, and append it; the trace compares it with `guesses`.

    Returns the places of rows that got none: a limit refused it, and what else fits is `late`.
    """
    rows, plan, left = batch.rows, batch.plan, list[int]()
    places = [place for place in places if rows[place].attempt(rows[place].ready)]
    while places:  # more than once only where a limit refuses a token: it is drawn again
        going = [rows[place] for place in places]
        own = logits
        if len(places) < len(rows):
            plan = plan_of(going, ensemble.device)
            own = {leaf: row[places] for leaf, row in logits.items()}
        recorder = _recorder(ensemble, going)
        drawn = _drawn(ensemble, own, going, plan, recorder)
        for n, error in drawn.errors.items():
            going[n].fail(error)
        fine = [n for n in range(len(going)) if n not in drawn.errors]
        refused = [n for n in fine if going[n].attempt(going[n].take, *drawn.choice(n)) is False]
        if recorder is not None:
            drafted = [guesses[n] if guesses else None for n in places]
            _note(recorder, drawn, going, {*fine} - {*refused}, drafted)
        slow = {*late([going[n] for n in refused])} if refused else set[int]()
        left += [places[n] for at, n in enumerate(refused) if at in slow]
        places = [places[n] for at, n in enumerate(refused) if at not in slow]
    return left


def _right(row: Sequence, draft: Draft, column: int) -> bool:
    """Return True if the row goes on, and its last token is the drafted one."""
    if row.finish_reason is not None or column >= len(draft.tokens):
        return False
    return row.tokens[-1] == draft.tokens[column]


def _accepted(
    ensemble: Ensemble,
    cache: EnsembleCache,
    logits: Logits,
    accepted: list[int],
) -> EnsembleCache:
    """The cache without the drafted tokens that were wrong."""
    columns = next(iter(logits.values())).shape[1]
    refused = [columns - 1 - right for right in accepted]
    if not any(refused):
        return cache
    rows, last = range(len(accepted)), accepted
    return replace(
        ensemble.crop(cache, refused),
        last={leaf: logits[leaf][rows, last] for leaf in cache.last},
    )


def _drawn(
    ensemble: Ensemble,
    logits: Logits,
    rows: list[Sequence],
    plan: Plan,
    recorder: Recorder | None,
) -> Drawn:
    """A token for each of some rows, from their logits."""
    width, device = ensemble.vocabulary.width, ensemble.device
    allowed = unpack(upload([row.row() for row in rows], width, device), width)
    texts = [row.text_context() for row in rows] if ensemble.reads_texts else []
    watch, nodes = (None, None) if recorder is None else (recorder.watch, recorder.watch_node)
    marking = ensemble.mark and Marking.of(ensemble.mark, rows, ensemble.vocabulary, device)
    state = Step(logits, allowed, ensemble.vocabulary, texts, nodes)
    drawn = draw(
        evaluate(ensemble.node, state),
        allowed,
        plan,
        [row.history for row in rows],
        [len(row.tokens) for row in rows],
        watch,
        marking,
    )
    if recorder is not None and marking is not None:
        recorder.greens = marking.colours(drawn.tokens)
    return drawn


def _recorder(ensemble: Ensemble, rows: list[Sequence]) -> Recorder | None:
    """A recorder if one of the rows wants to be traced."""
    count = max(row.request.trace for row in rows)
    if not count:
        return None
    standings = [row.standing if row.request.trace else None for row in rows]
    return Recorder(ensemble.vocabulary, count, standings)


def _note(
    recorder: Recorder,
    drawn: Drawn,
    rows: list[Sequence],
    taken: set[int],
    guesses: list[int | None],
) -> None:
    """Keep the step in each row that wants it and took its token."""
    for place, row in enumerate(rows):
        if row.request.trace and place in taken:
            token, logprob, log_allowed, _ = drawn.choice(place)
            drafted = token == guesses[place]
            row.note(recorder.step(place, token, logprob, log_allowed, drafted=drafted))


def plan_of(rows: abc.Sequence[Sequence], device: torch.device) -> Plan:
    return Plan.of([row.request for row in rows], [row.history for row in rows], device)


def forward(
    ensemble: Ensemble, batch: Batch, drafts: abc.Sequence[Draft], states: States
) -> tuple[EnsembleCache, Logits]:
    """The logits of each leaf after the prompts, or after each row's last token and its draft.

    [batch, tokens, vocabulary]. `states` gets hidden states if drafts need them, but not those of
    prompts, which the prefix cache does not keep.
    """
    if batch.cache is None:
        cache, logits = ensemble.prefill([row.request.prompts for row in batch.rows])
        return cache, {leaf: row[:, None] for leaf, row in logits.items()}
    read = [
        (*row.tokens[-1:], *draft.tokens) for row, draft in zip(batch.rows, drafts, strict=True)
    ]
    longest = max(map(len, read))
    padded = [[*tokens, *tokens[-1:] * (longest - len(tokens))] for tokens in read]
    tokens = torch.tensor(padded, device=ensemble.device)
    sees = batch.speculation is not None and batch.speculation.sees
    return ensemble.extend(batch.cache, tokens, states if sees else None)
