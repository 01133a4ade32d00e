"""One call as rows: a prompt with its source each, requests, runs, results.

What this module does not know: what is written in an expression; it runs as an ensemble.
"""

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, final

from guideway.api.best import Drawn, best, model_score, widened
from guideway.api.describe import describe
from guideway.api.prompts import Prompt, is_chat, read_sampling, read_source, spread
from guideway.api.result import Part, Result
from guideway.api.values import called, partial_value, read_captures, read_value
from guideway.constraints.compile import compile as compile_source
from guideway.constraints.compiled import CompiledConstraint
from guideway.engine.ensemble import Ensemble, Prompts
from guideway.engine.loop import Decoding
from guideway.engine.prompt import Prompt as Read
from guideway.engine.request import Completion, Request
from guideway.engine.search.loop import find
from guideway.engine.views import read
from guideway.errors import GuidewayError, SourceError, UnsupportedError
from guideway.lowering.special import beginning
from guideway.sampling.settings import Sampling
from guideway.syntax.sources import Source, Text
from guideway.syntax.tools import tools_of

ANSWER: Final = "Answer with JSON of this form:"


@final
@dataclass(frozen=True, slots=True)
class Job:
    """One prompt with its source, and the request made of them.

    Attributes:
        prompt: as it is asked.
        source: what the text must be.
        request: what is run; jobs of one search have the same.
        place: which of the texts that a search finds.
        number: of the prompt, among those of the call.
        kept: how many texts of the prompt there are in the end.
    """

    prompt: Prompt
    source: Source | None
    request: Request
    place: int = 0
    number: int = 0
    kept: int = 1


@final
@dataclass(frozen=True, slots=True)
class Call:
    """What a call asks of an ensemble.

    Attributes:
        ensemble: what runs.
        prompts: one for each row.
        batch: whether they were given as a list.
        source: what each text must be, or a list of that.
        sampling: the settings, or a list of them.
        settings: the settings as arguments.
        shown: whether the type is described in the prompt.
        trace: how many tokens of each stage are traced.
        heal: whether the last tokens of text prompts are taken back.
        canonical: whether only those tokens are kept that encoding the text would give.

    Raises:
        SourceError: the last three are something else.
    """

    ensemble: Ensemble
    prompts: list[Prompt]
    batch: bool
    source: object
    sampling: object
    settings: dict[str, object]
    shown: bool = False
    trace: int = 0
    heal: bool = False
    canonical: bool = False

    def __post_init__(self) -> None:
        """Check what was given."""
        object.__setattr__(self, "trace", checked_trace(self.trace))
        for name, given in (("heal", self.heal), ("canonical", self.canonical)):
            if not isinstance(given, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise SourceError(f"{name} is {given!r}: it must be True or False")

    def jobs(self) -> list[Job]:
        """The rows, each sample of each prompt one of them."""
        count = len(self.prompts)
        given = spread(self.source, count, batch=self.batch, what="sources")
        sources = [read_source(each) for each in given]
        each = spread(self.sampling, count, batch=self.batch, what="settings")
        samplings = [read_sampling(one, self.settings) for one in each]
        rows = zip(self.prompts, sources, samplings, strict=True)
        return [job for n, row in enumerate(rows) for job in self._jobs_of(n, *row)]

    def only_job(self) -> Job:
        """The one row of a call for a stream.

        Raises:
            UnsupportedError: there are several.
        """
        jobs = self.jobs()
        how = jobs[0].request.sampling
        if self.batch or len(jobs) > 1 or how.search or how.best_of:
            raise UnsupportedError(
                "stream takes one prompt and draws one sequence: use generate for more",
                feature="stream of several sequences",
            )
        return jobs[0]

    def results(self, jobs: list[Job], retries: int) -> list[Result]:
        """What comes out of all rows; those that a validator refuses are asked again.

        Of what is drawn for `best_of`, the best. After an interrupt nothing more is asked.
        """
        results = self.run(jobs)
        for attempt in range(1, retries + 1):
            failed = {
                n: self.retried(jobs[n], result, attempt)
                for n, result in results.items()
                if result.error
            }
            if not failed or _interrupted(results.values()):
                break
            again = self.run([*failed.values()])
            results |= {n: again[place] for place, n in enumerate(failed) if place in again}
        return _kept(jobs, results)

    def run(self, jobs: list[Job]) -> dict[int, Result]:
        """What comes out of each job, those left out of which a search finds nothing more.

        Rows that are drawn by themselves run as one batch, those of searches as another, unless
        the keyboard interrupted the first one.
        """
        drawn = {n: job.request for n, job in enumerate(jobs) if not job.request.sampling.search}
        decoding = Decoding(self.ensemble, [*drawn.values()])
        with contextlib.suppress(KeyboardInterrupt):  # one that comes between two steps
            for _ in decoding:
                pass
        done = dict(zip(drawn, decoding.completions, strict=True))
        run = not _interrupted(done.values())
        searched = {id(job.request): job.request for job in jobs if job.request.sampling.search}
        each = find(self.ensemble, [*searched.values()], run=run)
        found = dict(zip(searched, each, strict=True))
        for n, job in enumerate(jobs):
            texts = found.get(id(job.request), [])
            if job.place < len(texts):
                done[n] = texts[job.place]
        return {n: read_result(jobs[n], done[n]) for n in sorted(done)}

    def retried(self, job: Job, result: Result, attempt: int) -> Job:
        """The job once more, with what was wrong said after the answer.

        Chat messages go on with the answer and the complaint. A text prompt stays as it is, and the
        next sample of it is drawn: at temperature 1 where the settings were greedy, and without
        diverse beams or contrastive search, which are not drawn.
        """
        if is_chat(job.prompt):
            complaint = f"That was refused: {result.error}\nGive the corrected answer."
            answered = {"role": "assistant", "content": result.text}
            prompt = [*job.prompt, answered, {"role": "user", "content": complaint}]
            request = self._request(prompt, job.source, job.request.sampling)
            request = replace(request, sample=job.request.sample)
            return replace(job, prompt=prompt, request=request)
        sampling = job.request.sampling
        if not sampling.samples:
            sampling = _drawn(sampling)
        shifted = job.request.sample + attempt * sampling.num_return_sequences
        return replace(job, request=replace(job.request, sampling=sampling, sample=shifted))

    def _jobs_of(
        self, number: int, prompt: Prompt, source: Source | None, sampling: Sampling
    ) -> list[Job]:
        """Those of one prompt."""
        asked = prompt
        if self.shown and source is not None:
            asked = _with_description(prompt, source)
        wide = widened(sampling)
        request = self._request(asked, source, wide)
        requests = [*request.samples()]
        if wide.search is not None:
            if self.trace:
                raise UnsupportedError(
                    f"a search ({wide.search}) leaves no trace: its steps are those of several "
                    "texts",
                    feature="trace of a search",
                )
            requests = [requests[0]] * wide.num_return_sequences
        kept = sampling.num_return_sequences
        return [Job(asked, source, each, n, number, kept) for n, each in enumerate(requests)]

    def _request(self, prompt: Prompt, source: Source | None, sampling: Sampling) -> Request:
        tools = () if source is None else tools_of(source)
        main, *others = read_prompts(
            self.ensemble, prompt, heal=self.heal, tools=tools, canonical=self.canonical
        )
        constraint = None
        if self.heal or self.canonical or source is not None:
            check_lossless(self.ensemble)
        if self.canonical:
            constraint = canonical_constraint(self.ensemble, source)
        elif source is not None:
            constraint = compile_source(source, self.ensemble.vocabulary)
        return Request(
            main.tokens,
            constraint,
            sampling,
            main.joint,
            others=tuple(each.tokens for each in others),
            asked=prompt if isinstance(prompt, str) else "",
            trace=self.trace,
            # How a canonical text is cut is settled, where it goes across the prompt's end, too.
            taken=() if self.canonical else main.taken,
            free=source is None,
        )


def canonical_constraint(ensemble: Ensemble, source: Source | None) -> CompiledConstraint:
    """What holds a text to its source, any text without one, and to its canonical tokens.

    Raises:
        UnsupportedError: there is no tokenizer that says which these are, or it is not followed.
        GuidewayError: as `guideway.compile`.
    """
    tokenizer = ensemble.contexts[0].reader.tokenizer
    if tokenizer is None:
        raise UnsupportedError(
            "canonical tokens are those that the model's tokenizer gives, and this model has none: "
            "give it one, as in guideway.Model(language_model, tokenizer)",
            feature="canonical",
        )
    whole = Text() if source is None else source
    return compile_source(whole, ensemble.vocabulary, canonical=tokenizer)


def _interrupted(texts: Iterable[Result | Completion]) -> bool:
    return any(text.finish_reason == "interrupted" for text in texts)


def _drawn(sampling: Sampling) -> Sampling:
    """Settings that take the most probable text, changed to draw one."""
    return replace(
        sampling,
        do_sample=True,
        temperature=1.0,
        seed=sampling.seed or 0,
        num_beam_groups=1,
        diversity_penalty=None,
        penalty_alpha=None,
    )


def _kept(jobs: list[Job], results: dict[int, Result]) -> list[Result]:
    """All results in order, those of a `best_of` after their judge."""
    prompts = dict[int, list[int]]()
    for n in results:
        prompts.setdefault(jobs[n].number, []).append(n)
    found = {number: [results[n] for n in own] for number, own in prompts.items()}
    judged = {
        number: Drawn(found[number], job.request.sampling, job.kept, job.request.asked)
        for number, own in prompts.items()
        if (job := jobs[own[0]]).request.sampling.best_of is not None
    }
    found |= dict(zip(judged, best([*judged.values()]), strict=True))
    return [result for own in found.values() for result in own]


def read_prompts(
    ensemble: Ensemble,
    prompt: Prompt,
    *,
    heal: bool = False,
    tools: Sequence[Any] = (),
    canonical: bool = False,
) -> list[Read]:
    """What each context reads. The joint is the main one's, and taken back where that heals.

    A context whose template puts a joint where the main one has none gets it as a part of its
    prompt: the text that follows is the same for all.
    """
    main, *others = ensemble.contexts
    first = read(prompt, main.views, main.reader, heal, tools, canonical=canonical)
    joint = first.joint
    end = joint if first.taken else False
    found = [first, *(read(prompt, each.views, each.reader, end, tools) for each in others)]
    made = list[Read]()
    for each, context in zip(found, ensemble.contexts, strict=True):
        more = each.joint.removeprefix(joint) if each.joint.startswith(joint) else b""
        tokens = each.tokens + context.reader.spell(more) if more else each.tokens
        made.append(Read(tokens, joint, first.taken))
    return made


def prompts_of(reads: list[Read]) -> Prompts:
    """The tokens alone."""
    return tuple(each.tokens for each in reads)


def check_lossless(ensemble: Ensemble) -> None:
    """Refuse a tokenizer whose tokens do not give the text back.

    Raises:
        UnsupportedError: it is one.
    """
    if not ensemble.vocabulary.lossless:
        raise UnsupportedError(
            f"no text can be generated exactly with this tokenizer: {ensemble.vocabulary.loss}",
            feature="tokenizer that loses information",
        )


def checked_retries(retries: object) -> int:
    """`retries` as a count.

    Raises:
        SourceError: it is none.
    """
    if not isinstance(retries, int) or isinstance(retries, bool) or retries < 0:
        raise SourceError(f"retries is {retries!r}: it must be a count")
    return retries


def checked_trace(trace: object) -> int:
    """`trace` as the number of tokens to keep of each stage.

    Raises:
        SourceError: it is none.
    """
    if isinstance(trace, bool):
        return 5 if trace else 0
    if not isinstance(trace, int) or trace < 0:
        raise SourceError(f"trace is {trace!r}: it must be True, False or a count of tokens")
    return trace


def read_result(job: Job, done: Completion) -> Result:
    """What came out of a row, with its value."""
    sampling = job.request.sampling
    value: Any = None
    error: GuidewayError | None = None
    captures: Mapping[str, Any] = {}
    constraint = job.request.constraint
    if job.source is None or constraint is None:
        value = done.text
    elif done.finish_reason != "interrupted":
        spelled = constraint.marked(done.tokens).removeprefix(job.request.joint)
        data = beginning(spelled, len(done.text.encode()))  # before a stop string
        value, error = read_value(job.source, data, constraint.vocabulary)
        captures, missing = read_captures(job.source, data, constraint.vocabulary)
        error = error or missing
    return Result(
        value=value,
        text=done.text,
        tokens=done.tokens,
        logprobs=done.logprobs,
        log_z=done.log_z,
        finish_reason=done.finish_reason,
        error=error,
        stats=done.stats,
        seed=done.seed,
        trace=done.trace,
        score=done.score if sampling.best_of is None else model_score(done, sampling),
        weight=done.weight,
        population=done.population,
        attempts=done.attempts,
        captures=captures,
        tool_calls=called(value),
    )


def grown(job: Job, decoding: Decoding) -> Iterator[Part]:
    """The text of a row as it grows; the last part holds the result."""
    text = ""
    for event in decoding:
        text += event.text
        if event.finish_reason is None:
            yield Part(event.text, text, partial_value(job.source, text))
            continue
        result = read_result(job, decoding.completions[0])
        yield Part(event.text, text, result.value, result)


def _with_description(prompt: Prompt, source: Source) -> Prompt:
    """The prompt with a description of the type: in the last message, or before a text."""
    note = f"{ANSWER}\n{describe(source)}"
    if not is_chat(prompt):
        return f"{note}\n\n{prompt}"
    *before, last = prompt
    if not isinstance(last.get("content"), str):
        return prompt  # which the reader refuses, naming the place
    return [*before, {**last, "content": f"{last['content']}\n\n{note}"}]
