"""Captured steps: the rest of a batch by launches of graphs, in memory that never moves.

    launch the forwards of all models ─▶ make the masks while they run ─▶ launch the draw
                                               └─ rows whose token is refused: draw as `step` does

The draw is captured for rows of the same settings in which the host has no say: no penalties,
mirostat, watermarks, classifiers and traces. It is some hundred small operations.

Rows are filled up to a power of two, columns as well; a frame, which is the memory and the launch
for one such shape, is kept for later batches.
"""

import math
import os
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import replace
from threading import Lock
from typing import Any, Final, TypeAlias, cast, final

import torch

from guideway.automaton.token_tries import Row, words
from guideway.constraint.caches import clear_too
from guideway.errors import warn
from guideway.generation.draw import Plan, Spread, choose, logits_error
from guideway.generation.ensemble.alignment import placed
from guideway.generation.ensemble.ensemble import Ensemble, EnsembleCache, Logits
from guideway.generation.row.request import Event
from guideway.generation.row.sequence import Sequence
from guideway.generation.step import Batch, plan_of, take
from guideway.generation.stopping import check_stop
from guideway.logits.evaluate import Step, evaluate
from guideway.logits.mask import send, unpack, upload
from guideway.logits.warp import Moment
from guideway.models.protocol import StaticModel
from guideway.sampling.noise import coins, keys

Work: TypeAlias = Callable[[], object]
Strategy: TypeAlias = Callable[[Work, torch.device], Work]
"""Makes one launch of many operations."""
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
    """The strategy on a device, None if nothing is captured there or GUIDEWAY_CAPTURE is off."""
    return None if os.environ.get("GUIDEWAY_CAPTURE") == "off" else STRATEGIES.get(device.type)


LEAST: Final = 16  # tokens of a text for which a forward is captured
ROOM: Final = 256  # columns for tokens to come; the memory of longer texts grows
KEPT: Final = 4  # frames of an expression
DRAWS: Final = 8  # draws of a frame, for different settings
SHARE: Final = 8  # an eighth of a device's memory, which all of them may take
MOST_BYTES: Final = 1 << 30  # on other devices than GPUs


@final
class Draws:
    """The draw of a batch, captured."""

    def __init__(
        self, ensemble: Ensemble, logits: Logits, rows: int, plan: Plan, how: Strategy
    ) -> None:
        """Draw from these logits; the plan is that of all rows."""
        self._ensemble, self._logits, self._plan = ensemble, logits, plan
        device, width = ensemble.device, ensemble.vocabulary.width
        self._packed = torch.zeros(rows, words(width), dtype=torch.int32, device=device)
        self._steps = torch.zeros(rows, dtype=torch.int64, device=device)
        self._made = torch.zeros(5, rows, dtype=torch.float64, device=device)
        self._launch = captured_work(self._draw, how, device)

    def load(self, plan: Plan) -> None:
        """Take the noise of other rows."""
        self._plan.streams.copy_(plan.streams)

    def drawn(self, masks: list[Row], steps: list[int]) -> list[list[float]]:
        """What `choose` gives under these masks, after so many tokens of each row."""
        vocabulary, device = self._ensemble.vocabulary, self._ensemble.device
        self._packed.copy_(upload(masks, vocabulary.width, device))
        self._steps.copy_(send(steps, device))
        self._launch()
        return cast("list[list[float]]", self._made.tolist())  # pyright: ignore[reportUnknownMemberType]

    def _draw(self) -> None:
        vocabulary, plan = self._ensemble.vocabulary, self._plan
        allowed = unpack(self._packed, vocabulary.width)
        rows = evaluate(self._ensemble.node, Step(self._logits, allowed, vocabulary, {}))
        spread = Spread.of(rows, allowed, held=plan.held)
        key = keys(plan.streams, self._steps)
        moment = Moment(coins(key), coins(key)) if any(plan.random) else None
        self._made.copy_(choose(spread, spread.values, plan, key, moment))


@final
class Frame:
    """Memory for one shape of batch, and the launch of a forward in it.

    Attributes:
        memories: of each backbone.
        tokens: the last token of each row.
        logits: of each leaf, after a launch.
        nbytes: bytes of `memories`.
        draws: captured draws, by `_kind`.
    """

    def __init__(self, ensemble: Ensemble, cache: EnsembleCache, rows: int, length: int) -> None:
        self._ensemble = ensemble
        self.tokens = torch.zeros(rows, dtype=torch.int64, device=ensemble.device)
        models = [cast("StaticModel[Any, Any]", each.model) for each in ensemble.backbones]
        self.memories = tuple(
            model.allocate(own, rows * len(each.contexts), length)
            for model, each, own in zip(models, ensemble.backbones, cache.caches, strict=True)
        )
        pairs = zip(models, self.memories, strict=True)
        self.nbytes = sum(model.nbytes(memory) for model, memory in pairs)
        aligned = (each.alignment for each in ensemble.backbones)
        self._read = [placed(each.ids, ensemble.device) for each in aligned if each is not None]
        size = rows, ensemble.vocabulary.width
        self.logits = {leaf: torch.zeros(size, device=ensemble.device) for leaf in ensemble.leaves}
        self.draws = dict[Hashable, Draws]()
        self.launch: Any = None

    def capture(self, how: Strategy) -> None:
        self.launch = captured_work(self.forward, how, self._ensemble.device)

    def drawing(self, kind: Hashable, plan: Plan, how: Strategy) -> Draws | None:
        """The captured draw of a batch; None if its draw is not captured."""
        if kind is None:
            return None
        if kind not in self.draws:
            if len(self.draws) >= DRAWS:
                self.draws.clear()
            self.draws[kind] = Draws(self._ensemble, self.logits, len(self.tokens), plan, how)
        self.draws[kind].load(plan)
        return self.draws[kind]

    def forward(self) -> None:
        """Read `tokens`, and write `logits`."""
        made = self._ensemble.decode(self.memories, self.tokens)
        for leaf, into in self.logits.items():
            into.copy_(made[leaf])


def captured_work(work: Work, how: Strategy, device: torch.device) -> Any:
    with torch.inference_mode():
        return torch.inference_mode()(how(work, device))


def _kind(ensemble: Ensemble, rows: Iterable[Sequence]) -> Hashable | None:
    """What a captured draw depends on beside masks and noise; None if the host has a say in it."""
    requests = [row.request for row in rows]
    settings = {(s.samples, s.stages, *s.warps.items()) for s in (r.sampling for r in requests)}
    remembers = any(row.history.rules.remembers or row.request.trace for row in rows)
    if remembers or len(settings) > 1 or ensemble.reads_texts or ensemble.mark is not None:
        return None
    return any(request.held for request in requests), *settings


@final
class Frames:
    """The frames of an expression that no batch uses now. `gw.clear_cache()` frees them.

    Attributes:
        failed: True if the forward of the expression cannot be captured.
    """

    def __init__(self, device: torch.device) -> None:
        self.failed = False
        self._most = MOST_BYTES
        if device.type == "cuda":
            self._most = torch.cuda.mem_get_info(device)[1] // SHARE
        self._kept = OrderedDict[Hashable, Frame]()
        self._lock = Lock()
        clear_too(self)

    def take(self, key: Hashable) -> Frame | None:
        with self._lock:
            return self._kept.pop(key, None)

    def keep(self, key: Hashable, frame: Frame) -> None:
        """Keep a frame, and free those that were not used for long."""
        with self._lock:
            self._kept[key] = frame
            while len(self._kept) > KEPT or self._nbytes() > self._most:
                self._kept.popitem(last=False)

    def clear(self) -> None:
        with self._lock:
            self._kept.clear()

    def _nbytes(self) -> int:
        return sum(frame.nbytes for frame in self._kept.values())


def _frames(ensemble: Ensemble) -> Frames:
    if ensemble.frames is None:
        ensemble.frames = Frames(ensemble.device)
    return cast("Frames", ensemble.frames)


@final
class Captured:
    """A batch that runs by captured forwards: iterate for its events.

    Attributes:
        batch: the rows that go on. If capturing fails, they are all that is left, with their cache.
    """

    def __init__(self, ensemble: Ensemble, how: Strategy, batch: Batch) -> None:
        """Rows that have a token each, and the cache of all before it."""
        self._ensemble, self._how, self.batch = ensemble, how, batch
        self._models = [cast("StaticModel[Any, Any]", each.model) for each in ensemble.backbones]
        self._frames = _frames(ensemble)
        self._frame: Frame | None = None
        self._key: Hashable = None
        self._draws: Draws | None = None
        self._slots = list[int]()  # of each row
        self._room = 0  # columns that are left

    def __iter__(self) -> Iterator[Event]:
        """Run until all rows have ended, or capturing fails."""
        try:
            while self.batch.rows and (frame := self._frame or self._begun()) is not None:
                check_stop()
                yield from self._step(frame)
                if self.batch.rows:
                    self._fit(frame)
        finally:
            self._leave()

    def _begun(self) -> Frame | None:
        """The frame with the batch loaded; None if there can be none."""
        ensemble, count, cache = self._ensemble, len(self.batch.rows), self.batch.cache
        if self._frames.failed or cache is None:
            return None
        pairs = zip(self._models, cache.caches, strict=True)
        columns = max(model.columns(own) for model, own in pairs)
        size = _bucket(count)
        length = max(_bucket(columns + min(_left(self.batch.rows), ROOM)), ROOM)
        order = [min(n, count - 1) for n in range(size)]
        frame = self._found(cache, [self.batch.rows[n] for n in order], length)
        if frame is None:
            return None
        for each, model, own, memory in zip(
            ensemble.backbones, self._models, cache.caches, frame.memories, strict=True
        ):
            model.load(memory, own, each.places(order, count))
        self._frame, self._room, self._slots = frame, length - columns, [*range(count)]
        self.batch = replace(self.batch, cache=None)
        return frame

    def _found(self, cache: EnsembleCache, rows: list[Sequence], length: int) -> Frame | None:
        """A frame that is kept, or a new one; None if it cannot be made, which is said once."""
        device, stream = self._ensemble.device, None
        if device.type == "cuda":
            stream = torch.cuda.current_stream(device).cuda_stream
        self._key = len(rows), length, tuple(model.version() for model in self._models), stream
        frame = self._frames.take(self._key)
        try:
            if frame is None:
                frame = Frame(self._ensemble, cache, len(rows), length)
                frame.capture(self._how)
            kind = _kind(self._ensemble, rows)
            self._draws = frame.drawing(kind, plan_of(rows, device), self._how)
        except Exception as error:  # noqa: BLE001  whatever torch, its compiler and models raise
            self._frames.failed = True
            warn(
                f"steps of this model cannot be captured, so they run one by one: {error}"[:400]
                + " (GUIDEWAY_CAPTURE=off does not try)"
            )
            return None
        return frame

    def _step(self, frame: Frame) -> list[Event]:
        """Launch a forward, and draw a token for each row."""
        rows, ensemble = self.batch.rows, self._ensemble
        read = [row.tokens[:] for row in rows]
        last = read[0][-1:] * len(frame.tokens)
        for slot, tokens in zip(self._slots, read, strict=True):
            last[slot] = tokens[-1]
        frame.tokens.copy_(send(last, ensemble.device))
        frame.launch()
        self._room -= 1
        places = [n for n in range(len(rows)) if rows[n].attempt(rows[n].ready)]
        if self._draws is not None and places:
            places = self._undrawn(self._draws, places, len(last))
        if places:
            index = send(self._slots, ensemble.device)
            logits = {leaf: row.index_select(0, index) for leaf, row in frame.logits.items()}
            nothing = EnsembleCache((), len(rows), {}, {})
            take(ensemble, nothing, logits, self.batch, places)
        for row in rows:
            row.count()
        events = [row.event() for row in rows]
        self._drop(frame, read)
        return events

    def _undrawn(self, draws: Draws, places: list[int], size: int) -> list[int]:
        """Let rows take what is drawn for them; the places of those that have to draw again."""
        rows = self.batch.rows
        masks, steps = [rows[places[0]].row()] * size, [0] * size
        for n in places:
            masks[self._slots[n]], steps[self._slots[n]] = rows[n].row(), len(rows[n].tokens)
        made = draws.drawn(masks, steps)
        left = list[int]()
        for n in places:
            token, logprob, kept, total, _ = (each[self._slots[n]] for each in made)
            fine = logprob > -math.inf and logits_error(total, 0) is None
            if not fine or rows[n].attempt(rows[n].take, int(token), logprob, kept) is False:
                left.append(n)
        return left

    def _drop(self, frame: Frame, read: list[list[int]]) -> None:
        """Leave out rows that have ended, and keep what they had `read` for later prompts."""
        rows = self.batch.rows
        kept = [n for n in range(len(rows)) if rows[n].finish_reason is None]
        if len(kept) == len(rows):
            return
        for n, row in enumerate(rows):
            if row.finish_reason is not None:
                cache = self._thawed(frame, [self._slots[n]])
                self._ensemble.keep(cache, 0, row.request.prompts, read[n])
        self._slots = [self._slots[n] for n in kept]
        self.batch = Batch.of([rows[n] for n in kept], self._ensemble.device)

    def _fit(self, frame: Frame) -> None:
        """Leave a frame that is full, or much larger than the batch."""
        if 4 * len(self.batch.rows) <= len(frame.tokens) or not self._room:
            self.batch = replace(self.batch, cache=self._thawed(frame, self._slots))
            self._leave()

    def _thawed(self, frame: Frame, slots: list[int]) -> EnsembleCache:
        """A cache of some slots."""
        backbones, size = self._ensemble.backbones, len(frame.tokens)
        each = zip(self._models, frame.memories, backbones, strict=True)
        caches = [model.thaw(own, part.places(slots, size)) for model, own, part in each]
        return EnsembleCache(tuple(caches), len(slots), {}, {})

    def _leave(self) -> None:
        """Give the frame back for later batches."""
        if self._frame is not None:
            self._frames.keep(self._key, self._frame)
        self._frame = None


def captured(ensemble: Ensemble, batch: Batch) -> Captured | None:
    """A batch by captured forwards; None if they do not go, or would not be worth it.

    They need models that decode in fixed memory (transformers' with plain caches, without adapters
    and exits), no drafts and no GeDi, and a text of `LEAST` tokens or more.
    """
    how = strategy(ensemble.device)
    if how is None or batch.cache is None or batch.speculation is not None:
        return None
    worth = captures(ensemble) and _left(batch.rows) >= LEAST
    return Captured(ensemble, how, batch) if worth else None


def captures(ensemble: Ensemble) -> bool:
    if strategy(ensemble.device) is None or ensemble.summed or not ensemble.is_static:
        return False
    return not _frames(ensemble).failed


def _bucket(count: int) -> int:
    return 1 << (count - 1).bit_length()


def _left(rows: Iterable[Sequence]) -> int:
    """The most tokens that one of the rows may still have."""
    return max(row.most - len(row.tokens) for row in rows)
