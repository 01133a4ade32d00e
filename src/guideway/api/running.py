"""Run the jobs of a call, whole or streamed part by part (`Part`), and read the results.

    jobs ─▶ batches ─▶ drawn, then searched ─▶ read ─▶ asked again ─▶ the best ─▶ in order

- A row that fails, or whose value a validator refuses, raises its error, which names the row in a
  list of prompts. With `on_error="return"` the error is in the result, and other rows continue.
- Ctrl-C raises `GenerationInterrupted` with the results so far.
- The text of a row does not depend on its batch.
"""

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Generic, get_args

from guideway.api.arguments import Wrong
from guideway.api.best import Candidates, best, model_score
from guideway.api.jobs import Call, Failed, Job
from guideway.api.parsing.values import as_message, called, partial_value, read_captures, read_value
from guideway.api.speculate import speculation
from guideway.errors import GenerationInterrupted, GuidewayError, InvalidValueError, brief, one_line
from guideway.generation.loop import Decoding
from guideway.generation.row.result import Result, Value_co
from guideway.generation.row.trace import TracedStep
from guideway.generation.stopping import awaited
from guideway.language.special_tokens import beginning
from guideway.models.progress import Progress, rows_shown
from guideway.search.loop import Searching
from guideway.sources.sources import Source, check_count, check_flag, check_option
from guideway.vocabulary.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class Part(Generic[Value_co]):
    """One part of a streamed text. `str(part)` is the new text.

    Attributes:
        delta: the new text of this part.
        text: all of the text so far.
        source: what the text must be.
        result: the whole result in the last part, None before.
        steps: the steps of this part, if `trace` was set; `result.trace` has all of them.
    """

    delta: str
    text: str
    source: Source | None = None
    result: Result[Value_co] | None = None
    steps: tuple[TracedStep, ...] = ()

    @property
    def value(self) -> Value_co | None:
        """The value of the text so far, read at each access.

        A partial object for types and schemas, None before it has begun; the text for all other
        sources. In the last part, the value of the result.
        """
        return partial_value(self.source, self.text) if self.result is None else self.result.value

    def __str__(self) -> str:
        """The new text."""
        return self.delta

    def __repr__(self) -> str:
        """The new text and the value so far; in the last part, the whole result."""
        shown = f"delta={brief(self.delta, 40)}"
        if self.result is not None:
            return one_line(f"Part({shown}, result={brief(self.result, 140)})")
        return one_line(f"Part({shown}, value={brief(self.value, 130)})")


AT_ONCE: Final = 64  # rows of a batch, unless `batch_size` says how many prompts

logger: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Options of a run of rows; other values are a SourceError.

    Attributes:
        batch_size: prompts that run at once; None for as many as have `AT_ONCE` rows.
    """

    retries: int = 0  # retries if a validator refuses a value
    on_invalid: Wrong = "raise"  # treatment of a value that is still refused
    on_error: Wrong = "raise"  # treatment of a row that fails
    batch_size: int | None = None
    progress: Progress = False  # True for a bar, or a function of the rows done and all rows

    def __post_init__(self) -> None:
        """Check what was given."""
        check_count("retries", self.retries, 0)
        check_option("on_invalid", self.on_invalid, get_args(Wrong))
        check_option("on_error", self.on_error, get_args(Wrong))
        if self.batch_size is not None:
            check_count("batch_size", self.batch_size, 1)
        if not callable(self.progress):
            check_flag("progress", self.progress)


def run(call: Call, options: RunOptions) -> tuple[list[Result], bool]:
    """The results of a call, and True if several were requested."""
    began = time.perf_counter()
    done, batch = list[Result](), None
    try:
        jobs = call.jobs(keep_errors=options.on_error == "return")
        with rows_shown(options.progress, len(jobs)) as report:
            for own in _batches(jobs, options.batch_size):
                batch = _Batch(call, options, own, report)
                batch.run()
                done += batch.kept()
                batch = None
    except KeyboardInterrupt:
        if batch is not None:
            done += batch.kept(judged=False)
        raise GenerationInterrupted(done) from None
    _log(done, time.perf_counter() - began)
    return done, call.batch or jobs[0].kept > 1


def _log(done: list[Result], seconds: float) -> None:
    logger.info(
        "generated %d texts in %.2f s: %d prompt tokens, %d completion tokens, %d shortened, "
        "%d with an error",
        len(done),
        seconds,
        sum(result.stats.prompt_tokens for result in done),
        sum(result.stats.completion_tokens for result in done),
        sum(result.shortened for result in done),
        sum(result.error is not None for result in done),
    )


def _batches(jobs: list[Job | Failed], size: int | None) -> Iterator[list[Job | Failed]]:
    """The jobs of some prompts at a time."""
    prompts = dict[int, list[Job | Failed]]()
    for job in jobs:
        prompts.setdefault(job.number, []).append(job)
    batch, count = list[Job | Failed](), 0
    for own in prompts.values():
        more = len(own) if size is None else 1
        if batch and count + more > (size or AT_ONCE):
            yield batch
            batch, count = list[Job | Failed](), 0
        batch, count = batch + own, count + more
    yield batch


class _Batch:
    """The jobs of some prompts, and their results so far, by place."""

    def __init__(
        self,
        call: Call,
        options: RunOptions,
        jobs: list[Job | Failed],
        report: Callable[[int], object],
    ) -> None:
        self._call, self._options, self._jobs, self._report = call, options, jobs, report
        self._found = {
            n: Result.failed(job.error) for n, job in enumerate(jobs) if isinstance(job, Failed)
        }

    def run(self) -> None:
        """Run all jobs; retry those whose value a validator refuses."""
        jobs = {n: job for n, job in enumerate(self._jobs) if isinstance(job, Job)}
        self._report(len(self._found))
        self._run(jobs, self._report)
        for attempt in range(1, self._options.retries + 1):
            refused = {
                n: self._call.retried(jobs[n], result, attempt)
                for n, result in self._found.items()
                if isinstance(result.error, InvalidValueError)
            }
            if not refused:
                break
            logger.info("asking %d rows again (%d)", len(refused), attempt)
            self._run(refused, lambda count: None)

    def _run(self, jobs: Mapping[int, Job], report: Callable[[int], object]) -> None:
        """Run drawn jobs, then searches; some jobs share a search."""
        drawn = [n for n, job in jobs.items() if not job.request.sampling.search]
        searched = dict[int, list[int]]()
        for n, job in jobs.items():
            if job.request.sampling.search:
                searched.setdefault(id(job.request), []).append(n)
        shared = [*searched.values()]
        decoding = Decoding(
            self._call.ensemble,
            [jobs[n].request for n in drawn],
            lambda row, error: self._fail(drawn[row], error),
            speculation(self._call.ensemble, self._call.speculate),
            shares=awaited(),
        )
        searching = Searching(
            self._call.ensemble,
            [jobs[own[0]].request for own in shared],
            lambda row, error: self._fail(shared[row][0], error),
        )

        def read() -> None:
            for n, done in zip(drawn, decoding.completions, strict=True):
                self._set_result(n, jobs[n], done)
            for own, found in zip(shared, searching.completions, strict=True):
                for n, done in zip(own, found, strict=False):  # a search may find fewer
                    self._set_result(n, jobs[n], done)

        try:
            for event in decoding:
                report(event.finish_reason is not None)
            searching.run()
        except KeyboardInterrupt:
            read()
            raise
        read()
        report(sum(map(len, shared)))

    def _fail(self, n: int, error: GuidewayError) -> None:
        if self._call.batch:
            error.in_row(self._jobs[n].number)
        if self._options.on_error == "raise":
            raise error

    def _set_result(self, n: int, job: Job, done: Result) -> None:
        if n not in self._found or done.finish_reason != "interrupted":
            self._found[n] = read_result(job, done, self._call.ensemble.vocabulary)

    def kept(self, *, judged: bool = True) -> list[Result]:
        """All results in order, ranked for `best_of` (by the model without `judged`)."""
        prompts = dict[int, list[int]]()
        for n in sorted(self._found):
            prompts.setdefault(self._jobs[n].number, []).append(n)
        found = {number: [self._found[n] for n in own] for number, own in prompts.items()}
        compared = dict[int, Candidates]()
        for number, own in prompts.items():
            job = self._jobs[own[0]]
            if isinstance(job, Job) and (how := job.request.sampling).best_of is not None:
                how = how if judged else replace(how, best_by=None)
                compared[number] = Candidates(found[number], how, job.kept, job.request.asked)
        found |= dict(zip(compared, best([*compared.values()]), strict=True))
        for number, results in found.items():
            for result in results:
                self._raise_of(number, result, raises=judged)
        return [result for results in found.values() for result in results]

    def _raise_of(self, number: int, result: Result, *, raises: bool) -> None:
        """Let an error of a value know its result, and raise it."""
        error = result.error
        if isinstance(error, InvalidValueError):
            error.result = result
            if self._call.batch:
                error.in_row(number)
            if raises and self._options.on_invalid == self._options.on_error == "raise":
                raise error


def read_result(job: Job, done: Result, vocabulary: Vocabulary) -> Result:
    """A text with its value, which is read here."""
    sampling = job.request.sampling
    value: Any = None
    error = done.error
    captures: Mapping[str, Any] = {}
    constraint = job.request.constraint
    if job.source is None or constraint is None:
        value = done.text if error is None else None
    elif done.finish_reason in ("stop", "length"):
        spelled = constraint.marked(done.tokens).removeprefix(job.request.joint)
        data = beginning(spelled, len(done.text.encode()))  # before a stop string
        value, error = read_value(job.source, data, constraint.vocabulary)
        captures, missing = read_captures(job.source, data, constraint.vocabulary)
        error = error or missing
    calls = called(value, (job.request.prompt, done.tokens))
    return replace(
        done,
        value=calls or value,
        error=error,
        score=done.score if sampling.best_of is None else model_score(done, sampling),
        captures=captures,
        tool_calls=calls,
        message=as_message(job.source, done.text, calls),
        pieces=tuple(vocabulary.shown(token).decode(errors="replace") for token in done.tokens),
    )


def stream(call: Call, on_invalid: Wrong) -> Iterator[Part]:
    """The parts of a row's text; the last part has the result."""
    raises = RunOptions(on_invalid=on_invalid).on_invalid == "raise"
    job = call.only_job()
    drafts = speculation(call.ensemble, call.speculate)
    decoding = Decoding(call.ensemble, [job.request], _raise, drafts)

    def read() -> Result:
        result = read_result(job, decoding.completions[0], call.ensemble.vocabulary)
        if isinstance(result.error, InvalidValueError):
            result.error.result = result
        return result

    def grown() -> Iterator[Part]:
        text, began = "", time.perf_counter()
        try:
            for event in decoding:
                text += event.text
                if event.finish_reason is None:
                    yield Part(event.text, text, job.source, steps=event.steps)
                    continue
                result = read()
                if raises and result.error is not None:
                    raise result.error
                _log([result], time.perf_counter() - began)
                yield Part(event.text, text, job.source, result, event.steps)
        except KeyboardInterrupt:
            raise GenerationInterrupted([read()]) from None

    return grown()


def _raise(row: int, error: GuidewayError) -> None:
    raise error
