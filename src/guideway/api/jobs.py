"""From the arguments of a call to its jobs: one for each text, with prompt, source and request."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from guideway.api.best import widened
from guideway.api.describe import describe
from guideway.api.prompts import Prompt, read_sampling, read_source, split_prompts, spread
from guideway.api.speculate import check_speculate
from guideway.chat.messages import Plain, read_messages
from guideway.chat.tools import tools_of
from guideway.constraint.compile import compile as compile_source
from guideway.constraint.compiled import CompiledConstraint
from guideway.errors import GuidewayError, SourceError, UnsupportedError
from guideway.generation.ensemble.ensemble import Ensemble, Prompts
from guideway.generation.ensemble.prompt import Prompt as Read
from guideway.generation.ensemble.views import read
from guideway.generation.limits import checked
from guideway.generation.row.request import Request
from guideway.generation.row.result import Result
from guideway.language.budget import Budget
from guideway.sampling.settings import Sampling
from guideway.sources.sources import Source, Text, check_flag
from guideway.vocabulary.vocabulary import Vocabulary

ANSWER: Final = "Answer with JSON of this form:"


@dataclass(frozen=True, slots=True)
class Job:
    """One row of a call: a prompt, its source, and the request for the engine."""

    prompt: Prompt  # the prompt, with the description of the type if it was requested
    source: Source | None  # the source of the text
    request: Request  # the request that runs; all jobs of one search share it
    place: int = 0  # index of this text among those that a search finds
    number: int = 0  # index of the prompt in the call
    kept: int = 1  # number of texts that the call returns for the prompt


@dataclass(frozen=True, slots=True)
class Failed:
    """A row whose prompt, source or settings are wrong."""

    error: GuidewayError  # the reason
    number: int = 0  # index of the prompt in the call
    kept: int = 1  # number of texts that the call would return for the prompt


class Call:
    """The arguments of a call of `Model.generate` or `stream`, checked."""

    def __init__(
        self,
        ensemble: Ensemble,
        prompt: object,
        source: object,  # the source of all texts, or a list
        *,
        sampling: object = None,  # the settings, or a list
        schema_in_prompt: bool = False,
        trace: object = False,
        heal: bool = False,
        canonical: bool = False,
        speculate: object = "auto",
        budget: Budget | None = None,
        **settings: object,
    ) -> None:
        check_speculate(speculate)
        check_flag("heal", heal)
        check_flag("canonical", canonical)
        self.prompts, self.batch = split_prompts(prompt)
        self.ensemble, self.speculate, self._source = ensemble, speculate, source
        self._sampling, self._settings, self._shown = sampling, settings, schema_in_prompt
        self._heal, self._canonical, self._budget = heal, canonical, budget
        self._trace = checked_trace(trace)

    def jobs(self, *, keep_errors: bool = False) -> list[Job | Failed]:
        """One job for each sample of each prompt; `keep_errors` returns wrong rows as `Failed`."""
        count = len(self.prompts)
        # Read a text once, so that it warns once for all rows.
        source = read_source(self._source) if isinstance(self._source, str) else self._source
        given = spread(source, count, batch=self.batch, what="sources")
        each = spread(self._sampling, count, batch=self.batch, what="settings")
        rows = zip(self.prompts, given, each, strict=True)
        found = list[Job | Failed]()
        for number, row in enumerate(rows):
            try:
                found += self._jobs_of(number, *row)
            except GuidewayError as error:
                if self.batch:
                    error.in_row(number)
                if not keep_errors:
                    raise
                found.append(Failed(error, number))
        return found

    def only_job(self, caller: str = "stream") -> Job:
        """The only row of a stream, or of a request to an engine."""
        for job in self.jobs():
            if self.batch or not isinstance(job, Job):
                break
            how = job.request.sampling
            if how.num_return_sequences > 1 or how.search or how.best_of:
                break
            return job
        raise UnsupportedError(
            f"{caller} takes one prompt and generates one sequence; use generate for several",
            feature=f"{caller} of several sequences",
        )

    def retried(self, job: Job, result: Result, attempt: int) -> Job:
        """Return the job for the next attempt after a refused value.

        Chat messages are extended with the answer and the error. A text prompt stays as it is, and
        its next sample is drawn: at temperature 1 if the settings were greedy, and without diverse
        beams or contrastive search, which do not sample.
        """
        if not isinstance(job.prompt, str):
            complaint = f"That was refused: {result.error}\nGive the corrected answer."
            answered = {"role": "assistant", "content": result.text}
            prompt = [*job.prompt, answered, {"role": "user", "content": complaint}]
            request = self._request(prompt, job.source, job.request.sampling)
            request = replace(request, sample=job.request.sample)
            return replace(job, prompt=prompt, request=request)
        sampling = job.request.sampling
        if not sampling.samples:
            sampling = replace(
                sampling,
                do_sample=True,
                temperature=1.0,
                seed=sampling.seed or 0,
                num_beam_groups=1,
                diversity_penalty=None,
                penalty_alpha=None,
            )
        shifted = job.request.sample + attempt * sampling.num_return_sequences
        return replace(job, request=replace(job.request, sampling=sampling, sample=shifted))

    def _jobs_of(self, number: int, prompt: Prompt, given: object, settings: object) -> list[Job]:
        source, sampling = read_source(given), read_sampling(settings, self._settings)
        asked: str | list[Plain] = prompt if isinstance(prompt, str) else read_messages(prompt)
        if self._shown and source is not None:
            asked = _with_description(asked, source)
        wide = widened(sampling)
        request = self._request(asked, source, wide)
        checked(request, self.ensemble)
        requests = [*request.samples()]
        if wide.search is not None:
            for name, given in (
                ("speculate", self.speculate not in ("auto", "off")),
                ("trace", self._trace),
            ):
                if given:
                    raise UnsupportedError(
                        f"{name} does not work with a search ({wide.search}), whose steps belong "
                        f"to several texts; leave {name} out",
                        feature=f"{name} of a search",
                    )
            requests = [requests[0]] * wide.num_return_sequences
        kept = sampling.num_return_sequences
        return [Job(asked, source, each, n, number, kept) for n, each in enumerate(requests)]

    def _request(self, prompt: Prompt, source: Source | None, sampling: Sampling) -> Request:
        tools = () if source is None else tools_of(source)
        main, *others = read_prompts(
            self.ensemble, prompt, heal=self._heal, tools=tools, canonical=self._canonical
        )
        constraint = None
        if self._heal or self._canonical or source is not None:
            check_lossless(self.ensemble.vocabulary)
        if self._canonical:
            constraint = self._canonical_constraint(source)
        elif source is not None:
            constraint = compile_source(source, self.ensemble.vocabulary, self._budget)
        return Request(
            main.tokens,
            constraint,
            sampling,
            main.joint,
            others=tuple(each.tokens for each in others),
            asked=prompt if isinstance(prompt, str) else "",
            trace=self._trace,
            # Canonical tokens are fixed across the prompt's end too, so nothing is left to heal.
            taken=() if self._canonical else main.taken,
            free=source is None,
        )

    def _canonical_constraint(self, source: Source | None) -> CompiledConstraint:
        """Compile a source (any text for None) for canonical tokens only."""
        tokenizer = self.ensemble.contexts[0].reader.tokenizer
        if tokenizer is None:
            raise UnsupportedError(
                "canonical=True needs the model's tokenizer, and this model has none: write "
                "guideway.Model(language_model, tokenizer)",
                feature="canonical",
            )
        whole = Text() if source is None else source
        return compile_source(whole, self.ensemble.vocabulary, self._budget, canonical=tokenizer)


def read_prompts(
    ensemble: Ensemble,
    prompt: Prompt,
    *,
    heal: bool = False,
    tools: Sequence[Any] = (),
    canonical: bool = False,
) -> list[Read]:
    """Return the prompt of each context, with the joint of the main context.

    If the template of another context puts a joint where the main one has none, the joint becomes a
    part of that prompt, so that the generated text is the same for all contexts.
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
    return tuple(each.tokens for each in reads)


def check_lossless(vocabulary: Vocabulary) -> None:
    """Refuse a tokenizer that does not decode its tokens to the encoded text."""
    if not vocabulary.lossless:
        raise UnsupportedError(
            f"this tokenizer cannot generate texts exactly: {vocabulary.loss}",
            feature="tokenizer that loses information",
        )


def checked_trace(trace: object) -> int:
    """The number of tokens that the trace keeps of each stage."""
    if isinstance(trace, bool):
        return 5 if trace else 0
    if not isinstance(trace, int) or trace < 0:
        raise SourceError(f"trace is {trace!r}: it must be True, False or a number of tokens")
    return trace


def _with_description(prompt: str | list[Plain], source: Source) -> str | list[Plain]:
    """Return the prompt with a description of the type, before a text or in a message.

    In chat messages, the last message of the user gets it, so that answers of tools do not change.
    """
    note = f"{ANSWER}\n{describe(source)}"
    if isinstance(prompt, str):
        return f"{note}\n\n{prompt}"
    asked = [n for n, message in enumerate(prompt) if message["role"] == "user"]
    if not asked:
        return [*prompt, {"role": "user", "content": note}]
    last = asked[-1]
    message = {**prompt[last], "content": f"{prompt[last]['content']}\n\n{note}"}
    return [*prompt[:last], message, *prompt[last + 1 :]]
