"""Captured steps: the rest of a batch by launches of whole steps, in memory that never moves.

    STEPS launches ─▶ one read ─▶ each row takes its tokens ─▶ the next launches
                                        └─ refused: rewind to this column, and draw as `step` does

A whole step is the forward of all models, the expression, the mask by table, temperature and
filters, the draw, and the next state. The host takes the tokens by the same code as step by step
(`Sequence.take`), so every end and limit is the same; what a row read beyond its end is dropped.
Where the host has a say in a step (constraints without small tables, penalties, watermarks,
classifiers, traces …), the forward alone is captured: it is launched, the host makes the masks
while it runs, and draws as `step` does.

Rows are filled up to a power of two, columns as well; a frame, which is the memory and the launch
for one such shape, is kept for later batches.
"""

import math
import os
from collections.abc import Callable, Hashable, Iterable, Iterator
from collections.abc import Sequence as Listed
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final, TypeAlias, cast
from weakref import WeakKeyDictionary

import numpy as np
import torch
from jaxtyping import Int
from numpy.typing import NDArray
from torch import Tensor

from guideway.automaton.token_tries import words
from guideway.constraint.compiled import CompiledConstraint
from guideway.constraint.tables import Tables
from guideway.errors import LimitError, UnsupportedError, warn
from guideway.generation.draw import Plan, Spread, choose, logits_error
from guideway.generation.ensemble.alignment import placed
from guideway.generation.ensemble.ensemble import NO_LOGITS, Ensemble, EnsembleCache, Logits
from guideway.generation.ensemble.frames import Frames
from guideway.generation.row.cursor import end_row, text_row
from guideway.generation.row.request import Event
from guideway.generation.row.sequence import Sequence
from guideway.generation.step import Batch, plan_of, take
from guideway.generation.stopping import check_stop
from guideway.logits.evaluate import Step, evaluate
from guideway.logits.expr import Leaf
from guideway.logits.mask import send, unpack
from guideway.models.transformers import TransformersModel
from guideway.sampling.noise import keys
from guideway.vocabulary.vocabulary import Vocabulary

Work: TypeAlias = Callable[[], object]
Strategy: TypeAlias = Callable[[Work, torch.device], Work]
"""Makes one launch of a step."""
WARM: Final = 3


def graphed(work: Work, device: torch.device) -> Work:
    beside: Any = torch.cuda.Stream(device)
    current = torch.cuda.current_stream(device)
    beside.wait_stream(current)
    with torch.cuda.stream(beside):
        for _ in range(WARM):
            work()
    current.wait_stream(beside)
    # Graphs of one stream run one after the other, so they can share memory for what lies between.
    place = device, current.cuda_stream
    if place not in _pools:
        _pools[place] = torch.cuda.graph_pool_handle()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=_pools[place], capture_error_mode="thread_local"):
        work()
    return graph.replay


_pools: Final = dict[Any, Any]()
STRATEGIES: Final[dict[str, Strategy]] = {"cuda": graphed}
"""By the type of the device; on others, steps run one by one."""


def strategy(device: torch.device) -> Strategy | None:
    """The strategy on a device, None if steps are not captured there or GUIDEWAY_CAPTURE is off."""
    return None if os.environ.get("GUIDEWAY_CAPTURE") == "off" else STRATEGIES.get(device.type)


STATES: Final = 2_000  # that are worth a table: 2,000 take half a second to find on one core

_known: Final = WeakKeyDictionary[CompiledConstraint, dict[bytes, Tables | None]]()


def chart(constraint: CompiledConstraint, lead: bytes) -> Tables | None:
    """The tables of texts after `lead`; None if there are more than `STATES` states."""
    known = _known.setdefault(constraint, {})
    if lead not in known:
        try:
            known[lead] = constraint.tables(STATES, lead)
        except (LimitError, UnsupportedError):
            known[lead] = None
    return known[lead]


@lru_cache(16)
def free(vocabulary: Vocabulary) -> Tables:
    row = (text_row(vocabulary) | end_row(vocabulary))[None]
    once, all_ = np.zeros((1, 1), np.int32), np.zeros(vocabulary.width, np.uint16)
    return Tables(all_, once, row, np.ones(1, np.bool_), 0)


def bucket(count: int) -> int:
    return 1 << (count - 1).bit_length()


def sizes(charts: Listed[Tables]) -> tuple[int, int, int]:
    """Constraints, states and transitions that memory for these charts has room for."""
    tables = [each.next_state for each in dict.fromkeys(charts)]
    return bucket(len(tables)), bucket(sum(map(len, tables))), bucket(sum(t.size for t in tables))


class Charts:
    """Memory for the charts of a batch that never moves, and the state of each row.

    Attributes:
        state: int64[rows].
        masks: packed masks, int32[states, words].
    """

    def __init__(self, charts: Listed[Tables], rows: int, device: torch.device) -> None:
        """Room for charts of these sizes."""
        constraints, states, entries = sizes(charts)
        width = len(charts[0].token_class)

        def zeros(*size: int, kind: torch.dtype = torch.int64) -> Tensor:
            return torch.zeros(*size, dtype=kind, device=device)

        self.state, self._owner, self._base = zeros(rows), zeros(rows), zeros(states)
        self.masks = zeros(states, words(width), kind=torch.int32)
        self._following = zeros(entries, kind=torch.int32)
        self._classes = zeros(constraints, width, kind=torch.int32)
        self._loaded = dict[Tables, int]()  # with the number of its first state

    def load(self, charts: Listed[Tables]) -> None:
        """Copy charts, one for each row; `move` sets the states."""
        distinct = list(dict.fromkeys(charts))
        if distinct != [*self._loaded]:
            self._fill(distinct)
        self._owner.copy_(send([distinct.index(each) for each in charts], self.state.device))

    def move(self, charts: Listed[Tables], texts: Listed[Listed[int]]) -> None:
        """The rows stand after these texts."""
        states = list[int]()
        for each, text in zip(charts, texts, strict=True):
            state = each.start
            for token in text:
                state = int(each.next_state[state, each.token_class[token]])
            states.append(self._loaded[each] + state)
        self.state.copy_(send(states, self.state.device))

    def follow(self, tokens: Int[Tensor, "batch"]) -> None:
        entry = self._base[self.state] + self._classes[self._owner, tokens]
        self.state.copy_(self._following[entry])

    def _fill(self, charts: Listed[Tables]) -> None:
        self._loaded = dict[Tables, int]()
        base, following = list[NDArray[Any]](), list[NDArray[Any]]()
        states = entries = 0
        for each in charts:
            table, self._loaded[each] = each.next_state, states
            # A token that is not allowed is drawn only where nothing is, and the row fails then.
            following.append((np.maximum(table, 0) + states).ravel().astype(np.int32))
            base.append(entries + np.arange(len(table)) * table.shape[1])
            states, entries = states + len(table), entries + table.size
        for into, parts in (
            (self._base, base),
            (self._following, following),
            (self.masks, [each.mask.view(np.int32) for each in charts]),
            (self._classes, [each.token_class[None].astype(np.int32) for each in charts]),
        ):
            whole = np.concatenate(parts)
            into[: len(whole)].copy_(send(whole, into.device))


STEPS: Final = 8  # between two reads
LEAST: Final = 2 * STEPS  # tokens of a text for which a launch is captured
ROOM: Final = 256  # columns for tokens to come; the memory of longer texts grows


class Board:
    """The memory of a whole step, apart from that of the models."""

    def __init__(self, ensemble: Ensemble, charts: list[Tables], plan: Plan) -> None:
        """Room for charts of these sizes, and a plan of this kind."""
        rows, device = len(charts), ensemble.device
        self._ensemble, self._plan, self._charts = ensemble, plan, Charts(charts, rows, device)
        self._steps = torch.zeros(rows, dtype=torch.int64, device=device)
        self._place = torch.zeros(1, dtype=torch.int64, device=device)
        self._drawn = torch.zeros(STEPS, 5, rows, dtype=torch.float64, device=device)
        self._ceilings = torch.zeros(rows, device=device)  # of mirostat, which is not captured

    def load(self, charts: list[Tables], plan: Plan) -> None:
        """Take other charts and settings."""
        self._charts.load(charts)
        for into, given in zip(self._plan.numbers, plan.numbers, strict=True):
            into.copy_(given)

    def move(self, charts: list[Tables], rows: list[Sequence]) -> None:
        self._charts.move(charts, [row.tokens for row in rows])
        self._steps.copy_(send([len(row.tokens) for row in rows], self._steps.device))
        self._place.zero_()

    def read(self, count: int) -> list[list[list[float]]]:
        """Results of `choose` in the last `count` steps. Only this waits for the device."""
        self._place.zero_()
        return cast("list[list[list[float]]]", self._drawn[:count].tolist())  # pyright: ignore[reportUnknownMemberType]

    def draw(self, logits: Logits, tokens: Int[Tensor, "batch"]) -> None:
        """Draw after a forward, into `tokens`; nothing waits."""
        vocabulary = self._ensemble.vocabulary
        packed = self._charts.masks.index_select(0, self._charts.state)
        allowed = unpack(packed, vocabulary.width)
        rows = evaluate(self._ensemble.node, Step(logits, allowed, vocabulary))
        spread = Spread.of(rows, allowed, held=self._plan.held)
        key = keys(self._plan.streams, self._steps)
        made = choose(spread, spread.values, self._plan, key, self._ceilings, None, None)
        self._drawn.index_copy_(0, self._place, made[None])
        tokens.copy_(made[0])
        self._charts.follow(tokens)
        self._steps.add_(1)
        self._place.add_(1)


class Frame:
    """Memory for one shape of batch, and the launch of a step in it.

    Attributes:
        memories: of each backbone.
        tokens: the last token of each row.
        logits: of each leaf, if the forward alone is captured.
        board: what is beside it, if whole steps are.
    """

    def __init__(
        self, ensemble: Ensemble, cache: EnsembleCache, rows: int, length: int, board: Board | None
    ) -> None:
        self._ensemble, self.board = ensemble, board
        self.tokens = torch.zeros(rows, dtype=torch.int64, device=ensemble.device)
        self.memories = tuple(
            cast("TransformersModel", each.model).allocate(own, rows * len(each.contexts), length)
            for each, own in zip(ensemble.backbones, cache.caches, strict=True)
        )
        aligned = (each.alignment for each in ensemble.backbones)
        self._read = [placed(each.ids, ensemble.device) for each in aligned if each is not None]
        self.logits = dict[Leaf, Tensor]()
        if board is None:
            size = rows, ensemble.vocabulary.width
            self.logits = {
                leaf: torch.zeros(size, device=ensemble.device) for leaf in ensemble.leaves
            }
        self.launch: Any = None

    def capture(self, how: Strategy) -> None:
        with torch.inference_mode():
            self.launch = torch.inference_mode()(how(self._step, self._ensemble.device))

    @torch.inference_mode()
    def forward(self) -> Logits:
        """The logits after `tokens`, step by step."""
        return self._ensemble.decode(self.memories, self.tokens)

    def _step(self) -> None:
        logits = self.forward()
        if self.board is not None:
            self.board.draw(logits, self.tokens)
        for leaf, into in self.logits.items():
            into.copy_(logits[leaf])


class Captured:
    """A batch that runs by captured steps: iterate for its events.

    Attributes:
        batch: the rows that go on. If capturing fails, they are all that is left, with their cache.
    """

    def __init__(self, ensemble: Ensemble, how: Strategy, batch: Batch) -> None:
        """Rows that have a token each, and the cache of all before it."""
        self._ensemble, self._how, self.batch = ensemble, how, batch
        self._models = [cast("TransformersModel", each.model) for each in ensemble.backbones]
        self._frame: Frame | None = None
        self._key: Hashable = None
        self._filled, self._charts = list[Sequence](), list[Tables]()  # of each slot of the frame
        self._slots = list[int]()  # of each row
        self._room = 0  # columns that are left
        self._many = STEPS  # launches before the next read; few where rows refuse tokens

    def __iter__(self) -> Iterator[Event]:
        """Run until all rows have ended, or capturing fails."""
        try:
            while self.batch.rows and (frame := self._frame or self._begun()) is not None:
                check_stop()
                yield from self._steps(frame)
                if self.batch.rows:
                    self._fit(frame)
        finally:
            self._give_back()

    def _begun(self) -> Frame | None:
        """The frame with the batch loaded; None if there can be none."""
        ensemble, rows, cache = self._ensemble, self.batch.rows, self.batch.cache
        if ensemble.frames is None or cache is None:
            return None
        size = bucket(len(rows))
        order = [min(n, len(rows) - 1) for n in range(size)]
        filled = [rows[n] for n in order]
        pairs = zip(self._models, cache.caches, strict=True)
        columns = max(model.columns(own) for model, own in pairs)
        length = max(bucket(columns + min(_most_left(rows), ROOM) + STEPS), ROOM)
        plan = plan_of(filled, ensemble.device)
        charts = charts_of(ensemble, filled, plan)
        frame = self._found(cache, size, length, charts, plan)
        if frame is None:
            return None
        for each, model, own, memory in zip(
            ensemble.backbones, self._models, cache.caches, frame.memories, strict=True
        ):
            model.load(memory, own, each.places(order, len(rows)))
        self._frame, self._room = frame, length - columns
        self._filled, self._charts, self._slots = filled, charts or [], [*range(len(rows))]
        self.batch = replace(self.batch, cache=None)
        if frame.board is not None:
            frame.board.load(self._charts, plan)
            self._move(frame, [row.tokens[-1] for row in rows])
        return frame

    def _found(
        self, cache: EnsembleCache, size: int, length: int, charts: list[Tables] | None, plan: Plan
    ) -> Frame | None:
        """A frame kept earlier, or a new one; None with a warning if it cannot be made."""
        ensemble, stream = self._ensemble, None
        if ensemble.device.type == "cuda":
            stream = torch.cuda.current_stream(ensemble.device).cuda_stream
        shape = None if charts is None else (plan.kind, sizes(charts))
        self._key = size, length, shape, tuple(model.version() for model in self._models), stream
        frames = cast("Frames", ensemble.frames)
        frame = cast("Frame | None", frames.take(self._key))
        if frame is not None:
            return frame
        try:
            board = None if charts is None else Board(ensemble, charts, plan)
            frame = Frame(ensemble, cache, size, length, board)
            frame.capture(self._how)
        except Exception as error:  # noqa: BLE001  whatever torch, its compiler and models raise
            ensemble.frames = None
            warn(
                f"steps of this model cannot be captured, so they run one by one: {error}"[:400]
                + " (GUIDEWAY_CAPTURE=off does not try)"
            )
            return None
        return frame

    def _steps(self, frame: Frame) -> list[Event]:
        """Launch steps, and take the drawn tokens."""
        rows = self.batch.rows
        count = 1 if frame.board is None else min(self._many, _most_left(rows))
        if frame.board is None:
            self._set_next(frame, [row.tokens[-1] for row in rows])
        for _ in range(count):
            frame.launch()
        self._room -= count
        if frame.board is None:
            return self._take(frame, None, 0)[0]
        events, self._many = list[Event](), min(2 * self._many, STEPS)
        for column, made in enumerate(frame.board.read(count)):
            more, rewound = self._take(frame, made, count - 1 - column)
            events += more
            if rewound or not self.batch.rows:
                break
        return events

    def _take(
        self, frame: Frame, made: list[list[float]] | None, less: int
    ) -> tuple[list[Event], bool]:
        """The rows take what was `made` before the last `less` steps; None is drawn here.

        Returns True as well if the frame went back to that step, to draw for some rows again.
        """
        rows, before = self.batch.rows, [len(row.tokens) for row in self.batch.rows]
        places = [*range(len(rows))]
        if made is not None:
            places = [n for n in places if not _accepts(rows[n], made, self._slots[n])]
        rewound = made is not None and bool(places)
        logits: Logits = frame.logits
        if rewound:
            for model, memory in zip(self._models, frame.memories, strict=True):
                model.rewind(memory, less + 1)
            self._room, self._many, less = self._room + less, 1, 0
            pairs = zip(rows, before, strict=True)
            self._set_next(frame, [row.tokens[length - 1] for row, length in pairs])
            logits = frame.forward()
        if places:
            index = send(self._slots, self._ensemble.device)
            own = {leaf: row.index_select(0, index) for leaf, row in logits.items()}
            take(self._ensemble, own, self.batch, places)
        for row in rows:
            row.count()
        events = [row.event() for row in rows]
        self._drop(frame, before, less)
        if rewound and self.batch.rows:
            self._move(frame, [row.tokens[-1] for row in self.batch.rows])
        return events, rewound

    def _drop(self, frame: Frame, before: list[int], less: int) -> None:
        """Remove rows that have ended, and keep their cache from `before` their last token."""
        rows = self.batch.rows
        ended = [n for n, row in enumerate(rows) if row.finish_reason is not None]
        if not ended:
            return
        for n in ended:
            cache = self._thawed(frame, [self._slots[n]], less)
            read = rows[n].tokens[: before[n]]
            self._ensemble.keep(cache, 0, rows[n].request.prompts, read)
        kept = [n for n in range(len(rows)) if n not in {*ended}]
        self._slots = [self._slots[n] for n in kept]
        self.batch = Batch.of([rows[n] for n in kept], self._ensemble.device)

    def _fit(self, frame: Frame) -> None:
        """Leave a frame that is full, or much larger than the batch."""
        rows = self.batch.rows
        if 4 * len(rows) <= len(self._filled) or self._room < min(STEPS, _most_left(rows)):
            self.batch = replace(self.batch, cache=self._thawed(frame, self._slots, 0))
            self._give_back()

    def _thawed(self, frame: Frame, slots: list[int], less: int) -> EnsembleCache:
        """A cache of some slots, without the last `less` columns."""
        backbones, size = self._ensemble.backbones, len(self._filled)
        each = zip(self._models, frame.memories, backbones, strict=True)
        caches = [model.thaw(own, part.places(slots, size), less) for model, own, part in each]
        return EnsembleCache(tuple(caches), len(slots), NO_LOGITS)

    def _set_next(self, frame: Frame, tokens: list[int]) -> None:
        """Set the tokens that the rows read next."""
        whole = tokens[:1] * len(self._filled)
        for slot, token in zip(self._slots, tokens, strict=True):
            whole[slot] = token
        frame.tokens.copy_(send(whole, frame.tokens.device))

    def _move(self, frame: Frame, tokens: list[int]) -> None:
        """Bring a whole step to where the rows are."""
        self._set_next(frame, tokens)
        if frame.board is not None:
            frame.board.move(self._charts, self._filled)

    def _give_back(self) -> None:
        """Give the frame back for later batches."""
        frames = self._ensemble.frames
        if self._frame is not None and frames is not None:
            pairs = zip(self._models, self._frame.memories, strict=True)
            frames.keep(self._key, self._frame, sum(model.nbytes(own) for model, own in pairs))
        self._frame = None


def captured(ensemble: Ensemble, batch: Batch) -> Captured | None:
    """A batch by captured steps; None if they do not go, or would not be worth it.

    They need models that decode in fixed memory (transformers' with plain caches, without adapters
    and exits), no drafts and no GeDi, and a text of `LEAST` tokens or more.
    """
    how = strategy(ensemble.device)
    if how is None or batch.cache is None or batch.speculation is not None:
        return None
    return (
        Captured(ensemble, how, batch)
        if captures(ensemble) and _most_left(batch.rows) >= LEAST
        else None
    )


def captures(ensemble: Ensemble) -> bool:
    able = ensemble.frames is not None and not ensemble.summed and ensemble.is_static
    return able and strategy(ensemble.device) is not None


def charts_of(ensemble: Ensemble, rows: list[Sequence], plan: Plan) -> list[Tables] | None:
    """The chart of each row, if whole steps can be captured; None if the host has a say in them."""
    if plan.kind is None or ensemble.reads_texts or ensemble.mark is not None:
        return None
    found = list[Tables]()
    for row in rows:
        request, made = row.request, free(ensemble.vocabulary)
        if request.trace or request.taken or request.sampling.min_new_tokens:
            return None
        if request.constraint is not None:
            made = chart(request.constraint, request.joint)
        if made is None:
            return None
        found.append(made)
    return found


def _accepts(row: Sequence, made: list[list[float]], slot: int) -> bool:
    """Return True if a row takes what was drawn in its slot; False if it must be drawn again."""
    token, logprob, kept, total, _ = (each[slot] for each in made)
    if not logprob > -math.inf or logits_error(total, 0) is not None:
        return False
    return row.take(int(token), logprob, kept)


def _most_left(rows: Iterable[Sequence]) -> int:
    """The most tokens that one of the rows may still have."""
    return max(row.most - len(row.tokens) for row in rows)
