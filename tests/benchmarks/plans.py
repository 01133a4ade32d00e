"""A simulation of servers that read prompts and decode texts, step by step.

Each worker runs one forward after the other. Three ways to share the work:

whole      every worker does both; a prompt is read at once, and texts wait meanwhile
chunked    every worker does both; a step decodes all texts and fills up with a piece of a prompt
           (Sarathi, arXiv:2308.16369; DeepSpeed-FastGen, arXiv:2401.08671)
apart      some workers only read, others only decode; caches go over a network between them
           (TetriInfer, arXiv:2401.11181; DistServe, arXiv:2401.09670)
"""

import heapq
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Final

import numpy as np

from benchmarks.steps import Steps

NETWORK: Final = 1.25e9  # bytes a second: 10 Gbit/s


@dataclass(slots=True)
class Request:
    """A request and what became of it; times are seconds."""

    arrival: float
    prompt: int
    output: int
    times: list[float] = field(default_factory=list[float])  # when each token was there
    read: int = 0  # tokens of the prompt

    @property
    def first(self) -> float:
        return self.times[0] - self.arrival

    @property
    def gaps(self) -> Sequence[float]:
        return np.diff(self.times).tolist()


@dataclass(frozen=True, slots=True)
class Plan:
    workers: int  # all of them
    readers: int = 0  # those that only read prompts; 0 if every worker does both
    chunk: int | None = None  # tokens of a step, at most; None for whole prompts

    def __str__(self) -> str:
        if self.readers:
            return f"apart {self.readers}:{self.workers - self.readers}"
        return "whole" if self.chunk is None else f"chunked {self.chunk}"


@dataclass(slots=True)
class _Worker:
    reads: bool
    decodes: bool
    waiting: deque[Request] = field(default_factory=deque[Request])
    texts: list[Request] = field(default_factory=list[Request])
    busy: bool = False

    def load(self) -> int:
        return sum(each.prompt - each.read for each in self.waiting) + len(self.texts)


def simulate(plan: Plan, steps: Steps, requests: Iterable[Request]) -> list[Request]:
    """Run requests through workers; returns them with their times, by arrival."""
    served = sorted(requests, key=lambda each: each.arrival)
    simulation = _Simulation(plan, steps)
    for each in served:
        simulation.at(each.arrival, partial(simulation.arrive, each))
    simulation.run()
    return served


class _Simulation:
    def __init__(self, plan: Plan, steps: Steps) -> None:
        readers = plan.readers or plan.workers
        self.workers = [
            _Worker(reads=n < readers, decodes=not plan.readers or n >= readers)
            for n in range(plan.workers)
        ]
        self.plan, self.steps = plan, steps
        self.numbers = count()
        self.events: list[tuple[float, int, Callable[[float], None]]] = []

    def at(self, time: float, event: Callable[[float], None]) -> None:
        heapq.heappush(self.events, (time, next(self.numbers), event))

    def run(self) -> None:
        while self.events:
            now, _, event = heapq.heappop(self.events)
            event(now)

    def arrive(self, request: Request, now: float) -> None:
        worker = min((each for each in self.workers if each.reads), key=_Worker.load)
        worker.waiting.append(request)
        self.start(worker, now)

    def hand(self, request: Request, worker: _Worker, now: float) -> None:
        worker.texts.append(request)
        self.start(worker, now)

    def start(self, worker: _Worker, now: float) -> None:
        if worker.busy or not (worker.waiting or worker.texts):
            return
        worker.busy = True
        pieces, texts = _step(worker, self.plan.chunk)
        seconds = self.steps.seconds(
            sum(size for _, size in pieces),
            len(texts),
            sum(size * (each.read + size / 2) for each, size in pieces),
            sum(each.prompt + len(each.times) for each in texts),
        )
        self.at(now + seconds, partial(self.end, worker, pieces, texts))

    def end(
        self, worker: _Worker, pieces: list[tuple[Request, int]], texts: list[Request], now: float
    ) -> None:
        worker.busy = False
        for each in texts:
            each.times.append(now)
        worker.texts = [each for each in worker.texts if len(each.times) < each.output]
        for each, size in pieces:
            each.read += size
            if each.read == each.prompt:
                worker.waiting.remove(each)
                self.begin(each, worker, now)
        self.start(worker, now)

    def begin(self, request: Request, worker: _Worker, now: float) -> None:
        """A prompt has been read, and its first token is there: decode the others."""
        request.times.append(now)
        if request.output == 1:
            return
        if worker.decodes:
            worker.texts.append(request)
            return
        to = min((each for each in self.workers if each.decodes), key=_Worker.load)
        moved = request.prompt * self.steps.cache / NETWORK
        self.at(now + moved, partial(self.hand, request, to))


def _step(worker: _Worker, chunk: int | None) -> tuple[list[tuple[Request, int]], list[Request]]:
    """What a step reads, by request, and the texts that it decodes."""
    if chunk is None:
        if worker.waiting:
            first = worker.waiting[0]
            return [(first, first.prompt)], []
        return [], list(worker.texts)
    left = chunk - len(worker.texts)
    pieces: list[tuple[Request, int]] = []
    for each in worker.waiting:
        if left <= 0:
            break
        size = min(left, each.prompt - each.read)
        pieces.append((each, size))
        left -= size
    return pieces, list(worker.texts)


def load_of(rate: float, prompt: int, output: int, requests: int) -> list[Request]:
    """A Poisson process of requests; lengths are geometric with these means."""
    noise = np.random.default_rng(0)
    times = np.cumsum(noise.exponential(1 / rate, requests)).tolist()
    prompts = noise.geometric(1 / prompt, requests).tolist()
    outputs = noise.geometric(1 / output, requests).tolist()
    return [Request(*each) for each in zip(times, prompts, outputs, strict=True)]


@dataclass(frozen=True, slots=True)
class Served:
    plan: str
    first: float  # time to the first token, 90th percentile
    gap: float  # time between tokens, 99th percentile
    good: float  # share of requests within both limits
    tokens: float  # tokens a second


def figures(plan: Plan, served: Sequence[Request], first: float, gap: float) -> Served:
    """Judge a simulation; a request is good if its first token and 99 % of its gaps are in time."""
    gaps = [each for request in served for each in request.gaps]
    good = [
        request.first <= first
        and (request.output < 2 or float(np.percentile(request.gaps, 99)) <= gap)
        for request in served
    ]
    ended = max(request.times[-1] for request in served)
    return Served(
        str(plan),
        float(np.percentile([request.first for request in served], 90)),
        float(np.percentile(gaps, 99)) if gaps else 0.0,
        float(np.mean(good)),
        sum(request.output for request in served) / (ended - served[0].arrival),
    )


def plans(workers: int, chunks: Iterable[int], saturated: int) -> list[Plan]:
    """All plans for these workers; readers fill steps up to where more tokens gain nothing."""
    return [
        Plan(workers),
        *(Plan(workers, chunk=chunk) for chunk in chunks),
        *(Plan(workers, readers, saturated) for readers in range(1, workers)),
    ]


def saturation(steps: Steps, share: float = 0.9) -> int:
    """Tokens of the smallest forward with this share of the greatest tokens a second (FastGen)."""
    best = max(tokens / seconds for tokens, seconds in steps.curve)
    return next(n for n, seconds in steps.curve if n / seconds >= share * best)


def widest(steps: Steps, rows: int, context: int, gap: float) -> int:
    """Tokens of the largest step with `rows` texts that ends within `gap` (Sarathi); 0 if none."""
    sizes = [
        size
        for size in range(rows + 1, 4097)
        if steps.seconds(size - rows, rows, (size - rows) * context / 2, rows * context) <= gap
    ]
    return max(sizes, default=0)
