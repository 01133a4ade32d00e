"""`Engine`: requests that start, run and end beside one another, by continuous batching.

    submit ─▶ prepare (a thread: prompt, compile) ─▶ waiting ─▶ steps (the engine's thread)
                                                                    │
    future ◀─ read the value (a thread) ◀───────────────────────────┘

- The steps are those of a `Scheduler`: over a paged cache for models of transformers that have one,
  on a GPU; else over batches. A text is the same as from `Model.generate`, in float32.
- Compiling and validating never hold up a step. Errors of a request are those of its future.
"""

import asyncio
import contextlib
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import count
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, TypeVar, overload

from guideway.api.arguments import StreamArguments
from guideway.api.jobs import Call, Job
from guideway.api.model import Model, as_model
from guideway.api.prompts import Prompt
from guideway.api.running import Part, RunOptions, read_result
from guideway.api.speculate import speculation
from guideway.errors import InvalidValueError, ModelError, UnsupportedError
from guideway.generation.ensemble.ensemble import Ensemble
from guideway.generation.ensemble.threads import release_threads
from guideway.generation.limits import checked
from guideway.generation.marking import check_markable
from guideway.generation.paged import PagedRows, Scheduler, readable
from guideway.generation.row.request import Event, peak_memory
from guideway.generation.row.result import Result
from guideway.generation.row.sequence import Sequence
from guideway.generation.scheduling import Batches
from guideway.generation.speculation import Speculation
from guideway.models.transformers import TransformersModel
from guideway.models.transformers_paged import TransformersPages
from guideway.sources.sources import check_count

if TYPE_CHECKING:
    from typing_extensions import TypeForm, Unpack

    from guideway.api.prompts import Untyped
    from guideway.sources.sources import Read, Written

Value = TypeVar("Value")
COMPILERS: Final = 2  # threads
EXPRESSIONS: Final = 64  # whose requests share forwards
PAGED: Final = 4  # models with a paged cache, before those that are not used are freed
BATCHED: Final = frozenset({"cpu"})  # where paged attention compares all rows with one another


class EngineArguments(StreamArguments, total=False):
    """The arguments of `Engine.submit` and `Engine.astream`."""

    model: Model | None
    retries: int


@dataclass(frozen=True, slots=True)
class EngineStats:
    """Counts and times of an engine. Means and sums cover the texts that have ended.

    Attributes:
        running: requests that are generated now.
        waiting: requests that are compiled, or wait for a place.
        finished: requests with a result.
        queue_time, time_to_first_token, time_per_output_token: means of those of `result.stats`.
        prompt_tokens, cached_tokens, completion_tokens, drafted, accepted: sums of these.
        forwards: calls of the model; each is for all requests that run.
        tokens_per_forward: tokens of all requests for each of them.
        tokens_per_second: tokens of all requests in a second of steps.
    """

    running: int = 0
    waiting: int = 0
    finished: int = 0
    queue_time: float = 0.0
    time_to_first_token: float = 0.0
    time_per_output_token: float = 0.0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    drafted: int = 0
    accepted: int = 0
    forwards: int = 0
    tokens_per_forward: float = 0.0
    tokens_per_second: float = 0.0


def _ensemble(model: Model) -> Ensemble:
    return model._ensemble  # pyright: ignore[reportPrivateUsage]  # that of a session is its own


def _drafts(ensemble: Ensemble, given: object) -> Speculation | None:
    """Drafts; an engine captures no steps, so "auto" is a lookup where it can be."""
    return speculation(ensemble, "lookup" if given == "auto" and ensemble.crops else given)


MEANS: Final = ("queue_time", "time_to_first_token", "time_per_output_token")
SUMS: Final = ("prompt_tokens", "cached_tokens", "completion_tokens", "drafted", "accepted")


@dataclass(slots=True, eq=False)
class _Task:
    """A request from `submit` to its result."""

    heard: Callable[[Event], object] | None  # receives the events of a stream
    call: Call = field(init=False)
    manner: RunOptions = field(init=False)
    first: Job = field(init=False)  # the job of the first attempt
    future: Future[Any] = field(default_factory=Future[Any])
    began: float = field(default_factory=time.perf_counter)  # when it was submitted
    attempt: int = 0  # number of texts that a validator has refused
    job: Job | None = None  # the job that runs, with its row
    row: Sequence | None = None

    def settle(self, result: object = None, error: BaseException | None = None) -> None:
        """Give the future its result or its error, unless it was cancelled."""
        if self.future.set_running_or_notify_cancel():
            if error is None:
                self.future.set_result(result)
            else:
                self.future.set_exception(error)


class Engine:
    """Generates texts for many requests at once, in a thread of its own.

    Requests join and leave between steps. Each has its own constraint, settings and expression, and
    its text does not depend on the others. Close the engine when it is not needed any more; `with`
    does.

    Example:
        >>> import guideway as gw
        >>> from guideway.models.fake import FakeModel
        >>> vocabulary = gw.Vocabulary([bytes([b]) for b in range(256)] + [b"<eos>"], {256})
        >>> model = gw.Model(FakeModel.random(vocabulary))
        >>> with gw.Engine(model) as engine:
        ...     number = engine.submit("How many? ", int, max_new_tokens=3, seed=1)
        ...     answer = engine.submit("Well? ", gw.Choice(["yes", "no"]))
        ...     print(number.result().value, answer.result().value)
        367 yes
    """

    def __init__(self, model: Model, *, max_batch: int = 32) -> None:
        """Start the engine.

        Args:
            model: the model, or expression, of requests that name no other.
            max_batch: the greatest number of requests that run at once; others wait.

        Raises:
            SourceError: an argument is of the wrong type or out of range.
        """
        as_model(model, "model")
        check_count("max_batch", max_batch, 1)
        self.model, self.max_batch = model, max_batch
        self._changed = threading.Condition()
        self._open = set[_Task]()  # without a result
        self._waiting = deque[_Task]()
        self._cancelled = list[_Task]()
        self._closed = False
        self._running: dict[int, tuple[_Task, Scheduler]] = {}  # by the number of the row
        self._numbers = count()
        self._sums: dict[str, Any] = dict.fromkeys(("finished", "forwards", *MEANS, *SUMS), 0)
        self._texts = 0
        self._spent = 0, 0.0  # tokens, and seconds of steps
        self._ensemble = lru_cache(EXPRESSIONS)(_ensemble)
        self._speculation = lru_cache(EXPRESSIONS)(_drafts)
        self._batches: Scheduler = Batches()
        self._paged: dict[tuple[Any, ...], tuple[TransformersPages, Scheduler] | None] = {}
        self._compilers = ThreadPoolExecutor(COMPILERS, "guideway-compile")
        self._readers = ThreadPoolExecutor(1, "guideway-read")
        self._thread = threading.Thread(target=self._run, name="guideway-engine", daemon=True)
        self._thread.start()

    @overload
    def submit(
        self,
        prompt: Prompt,
        source: "Written[Read] | None" = None,
        **more: "Unpack[EngineArguments]",
    ) -> "Future[Result[Read]]": ...
    @overload
    def submit(
        self, prompt: Prompt, source: "TypeForm[Value]", **more: "Unpack[EngineArguments]"
    ) -> "Future[Result[Value]]": ...
    @overload
    def submit(
        self, prompt: Prompt, source: "Untyped", **more: "Unpack[EngineArguments]"
    ) -> "Future[Result[Any]]": ...
    def submit(self, prompt: Any, source: Any = None, **arguments: Any) -> Any:
        """Generate a text, as `Model.generate` does; return at once.

        Args:
            prompt: a text or chat messages; one only.
            source: what the text must be.
            **arguments: those of `Model.generate`, without `progress`, `batch_size` and `on_error`;
                and `model`, an expression for this request: another watermark, or guidance.

        Returns:
            A future of the `Result`. Its `cancel()` works at any time before the result is there;
            the request then leaves at the next step.

        Raises:
            ModelError: the engine is closed. All other errors are those of the future.
        """
        return self._submit(prompt, source, arguments).future

    @overload
    def astream(
        self,
        prompt: Prompt,
        source: "Written[Read] | None" = None,
        **more: "Unpack[EngineArguments]",
    ) -> "AsyncIterator[Part[Read]]": ...
    @overload
    def astream(
        self, prompt: Prompt, source: "TypeForm[Value]", **more: "Unpack[EngineArguments]"
    ) -> "AsyncIterator[Part[Value]]": ...
    @overload
    def astream(
        self, prompt: Prompt, source: "Untyped", **more: "Unpack[EngineArguments]"
    ) -> "AsyncIterator[Part[Any]]": ...
    async def astream(
        self, prompt: Any, source: Any = None, **arguments: Any
    ) -> AsyncIterator[Part]:
        """Generate a text and yield its parts, as `Model.astream` does.

        Closing or dropping the iterator, or cancelling its task, cancels the request.
        """
        loop, events = asyncio.get_running_loop(), asyncio.Queue[Event | None]()

        def heard(event: Event | None) -> None:
            with contextlib.suppress(RuntimeError):  # the event loop is closed
                loop.call_soon_threadsafe(events.put_nowait, event)

        if arguments.get("retries"):
            raise UnsupportedError(
                "astream does not retry, because its parts were already shown: use submit",
                feature="retries of a stream",
            )
        task = self._submit(prompt, source, arguments, heard)
        task.future.add_done_callback(lambda _: heard(None))
        text, last = "", Event(0, None, "")
        try:
            while (event := await events.get()) is not None:
                text, last = text + event.text, event
                if event.finish_reason is None and task.job is not None:
                    yield Part(event.text, text, task.job.source, steps=event.steps)
            result = task.future.result()
            yield Part(last.text, text, task.job and task.job.source, result, last.steps)
        finally:
            task.future.cancel()

    @property
    def stats(self) -> EngineStats:
        """The counts and times up to now."""
        with self._changed:
            running, waiting = len(self._running), len(self._open) - len(self._running)
            sums, (tokens, seconds) = {**self._sums}, self._spent
        texts = max(1, self._texts)
        return EngineStats(
            **sums | {name: sums[name] / texts for name in MEANS},
            running=running,
            waiting=max(0, waiting),
            tokens_per_forward=tokens / max(1, sums["forwards"]),
            tokens_per_second=tokens / (seconds or 1),
        )

    def close(self, *, cancel: bool = False) -> None:
        """Take no more requests, and wait for those that there are; `cancel` cancels them."""
        with self._changed:
            self._closed = True
            tasks = [*self._open] if cancel else []
            self._changed.notify()
        for task in tasks:
            task.future.cancel()
        self._thread.join()
        self._batches = Batches()  # caches are freed, and threads end
        self._paged.clear()
        self._compilers.shutdown()
        self._readers.shutdown()

    def __enter__(self) -> "Engine":
        """Return the engine."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the engine; after an error, cancel its requests."""
        self.close(cancel=kind is not None)

    def _submit(
        self,
        prompt: Any,
        source: Any,
        arguments: dict[str, Any],
        heard: Callable[[Event], object] | None = None,
    ) -> _Task:
        release_threads()  # those of forwards in this thread; the engine has its own
        task = _Task(heard)
        with self._changed:
            if self._closed:
                raise ModelError("the engine is closed: it takes no more requests")
            self._open.add(task)
            self._compilers.submit(self._prepare, task, prompt, source, arguments)
        task.future.add_done_callback(lambda _: self._done(task))
        return task

    def _read(
        self,
        prompt: Any,
        source: Any,
        *,
        model: Any = None,
        retries: int = 0,
        on_invalid: Any = "raise",
        **arguments: Any,
    ) -> tuple[Call, RunOptions]:
        model = self.model if model is None else as_model(model, "model")
        call = Call(self._ensemble(model), prompt, source, **arguments)
        self._speculation(call.ensemble, call.speculate)  # refuses a draft that cannot be used
        return call, RunOptions(retries, on_invalid)

    def _prepare(
        self, task: _Task, prompt: object, source: object, arguments: dict[str, Any]
    ) -> None:
        """Read the arguments and compile; in a thread of its own."""
        if task.future.cancelled():
            return
        try:
            task.call, task.manner = self._read(prompt, source, **arguments)
            task.first = task.call.only_job("submit")
            self._enqueue(task, task.first)
        except Exception as error:  # noqa: BLE001  sources may run code of users
            task.settle(error=error)

    def _enqueue(self, task: _Task, job: Job) -> None:
        """Let a task wait for its turn."""
        ensemble = task.call.ensemble
        check_markable(ensemble.mark, [job.request])
        most = checked(job.request, ensemble)
        row = Sequence(next(self._numbers), job.request, ensemble.vocabulary, most)
        row.begin(time.perf_counter() if task.attempt else task.began)
        task.job, task.row = job, row
        with self._changed:
            self._waiting.append(task)
            self._changed.notify()

    def _done(self, task: _Task) -> None:
        self._count(finished=not (task.future.cancelled() or task.future.exception()))
        with self._changed:
            self._open.discard(task)
            self._cancelled.append(task)
            self._changed.notify()

    def _count(self, **more: float) -> None:
        with self._changed:
            for name, each in more.items():
                self._sums[name] += each

    def _run(self) -> None:
        try:
            while self._admit():
                schedulers = {id(each): each for _, each in self._running.values()}
                for scheduler in schedulers.values():
                    self._step(scheduler)
        finally:  # nobody waits for ever, should there be an error in here
            with self._changed:
                self._closed, left = True, [*self._open]
            for task in left:
                task.settle(error=ModelError("the engine has stopped"))

    def _admit(self) -> bool:
        """Remove cancelled tasks and start waiting ones; False if the engine is closed and done."""
        with self._changed:
            while not (self._running or self._waiting or self._cancelled):
                if self._closed and not self._open:
                    return False
                self._changed.wait()
            for task in self._cancelled:
                row = task.row
                if row is not None and row.number in self._running:
                    _, scheduler = self._running.pop(row.number)
                    scheduler.remove(row)
            self._cancelled.clear()
            room = self.max_batch - len(self._running)
            started = [self._waiting.popleft() for _ in range(min(room, len(self._waiting)))]
        for task in started:
            self._start(task)
        return True

    def _start(self, task: _Task) -> None:
        """Let a task join the rows of its scheduler."""
        row = task.row
        if row is None or task.future.done():
            return
        ensemble = task.call.ensemble
        if row.finish_reason is not None:  # an empty text
            self._readers.submit(self._result, task)
            return
        try:
            drafts = self._speculation(ensemble, task.call.speculate)
            scheduler = self._scheduler(ensemble, row)
            scheduler.add(row, ensemble, drafts)
            row.admit(time.perf_counter())
        except Exception as error:  # noqa: BLE001  whatever a model raises is its request's
            task.settle(error=error)
        else:
            self._running[row.number] = task, scheduler

    def _scheduler(self, ensemble: Ensemble, row: Sequence) -> Scheduler:
        """The scheduler of a row: paged if all of its models can be, and batches are no faster."""
        if ensemble.device.type in BATCHED and ensemble.crops:
            return self._batches
        models = [backbone.model for backbone in ensemble.backbones]
        wrapped = [model for model in models if isinstance(model, TransformersModel)]
        if len(wrapped) < len(models) or not readable(ensemble, row):
            return self._batches
        key = tuple(models)
        if key not in self._paged:
            if len(self._paged) >= PAGED:
                used = {id(each) for _, each in self._running.values()}
                kept = self._paged.items()
                self._paged = {own: each for own, each in kept if each and id(each[1]) in used}
            self._paged[key] = None
            with contextlib.suppress(UnsupportedError):
                pages = TransformersPages(wrapped, rows=self.max_batch)
                self._paged[key] = pages, PagedRows(pages)
        found = self._paged[key]
        if found is None or len(row.request.prompt) + row.most > found[0].capacity:
            return self._batches
        return found[1]

    def _step(self, scheduler: Scheduler) -> None:
        """One step of a scheduler. If it fails, so do its tasks, and others get a new one."""
        began, before = time.perf_counter(), scheduler.forwards
        try:
            events = scheduler.step()
        except Exception as error:  # noqa: BLE001  the thread must go on
            running = [*self._running.items()]
            self._running = {n: each for n, each in running if each[1] is not scheduler}
            for _, (task, each) in running:
                if each is scheduler:
                    task.settle(error=error)
            if scheduler is self._batches:
                self._batches = Batches()
            paged = self._paged.items()
            self._paged = {key: each for key, each in paged if not each or each[1] is not scheduler}
            return
        tokens, seconds = self._spent
        tokens += sum(event.token is not None for event in events)
        self._spent = tokens, seconds + time.perf_counter() - began
        self._count(forwards=scheduler.forwards - before)
        for event in events:
            task = self._running[event.row][0]
            if task.heard is not None:
                task.heard(event)
            if event.finish_reason is not None:
                del self._running[event.row]
                self._readers.submit(self._result, task)

    def _result(self, task: _Task) -> None:
        """Read the value of a text; ask again if a validator refuses it."""
        ensemble, job, row = task.call.ensemble, task.job, task.row
        if job is None or row is None:
            return
        try:
            done = row.completion(peak_memory(ensemble.device))
            result = read_result(job, done, ensemble.vocabulary)
            self._texts += 1
            self._count(**{name: getattr(done.stats, name) for name in (*MEANS, *SUMS)})
            error = result.error
            if isinstance(error, InvalidValueError):
                error.result = result
                if task.attempt < task.manner.retries:
                    task.attempt += 1
                    self._enqueue(task, task.call.retried(task.first, result, task.attempt))
                    return
                if task.manner.on_invalid == "return":
                    error = None
            task.settle(result, error)
        except Exception as error:  # noqa: BLE001  validators are code of users
            task.settle(error=error)
