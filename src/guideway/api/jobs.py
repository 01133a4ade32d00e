"""One call as jobs: a prompt with its source each, and the request made of them.

What this module does not know: what is written in an expression; how jobs run.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, final

from guideway.api.best import widened
from guideway.api.describe import describe
from guideway.api.prompts import Prompt, read_sampling, read_source, spread
from guideway.api.result import Result
from guideway.constraints.compile import compile as compile_source
from guideway.constraints.compiled import CompiledConstraint
from guideway.engine.ensemble import Ensemble, Prompts
from guideway.engine.limits import checked
from guideway.engine.prompt import Prompt as Read
from guideway.engine.request import Request
from guideway.engine.views import read
from guideway.errors import GuidewayError, SourceError, UnsupportedError
from guideway.sampling.settings import Sampling
from guideway.syntax.messages import Plain, read_messages
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
class Failed:
    """A prompt of which no request can be made.

    Attributes:
        error: why.
        number: of the prompt, among those of the call.
        kept: how many texts of the prompt there would be.
    """

    error: GuidewayError
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

    def jobs(self, *, keep_errors: bool = False) -> list[Job | Failed]:
        """The rows, each sample of each prompt one of them.

        Args:
            keep_errors: whether a wrong row is a `Failed` among the others.

        Raises:
            GuidewayError: a row is wrong. In a batch, the error names the row.
        """
        count = len(self.prompts)
        # A text is read once: its warning is for all rows.
        source = read_source(self.source) if isinstance(self.source, str) else self.source
        given = spread(source, count, batch=self.batch, what="sources")
        each = spread(self.sampling, count, batch=self.batch, what="settings")
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

    def only_job(self) -> Job:
        """The one row of a call for a stream.

        Raises:
            UnsupportedError: there are several.
        """
        for job in self.jobs():
            if self.batch or not isinstance(job, Job) or _several(job.request.sampling):
                break
            return job
        raise UnsupportedError(
            "stream takes one prompt and draws one sequence: use generate for more",
            feature="stream of several sequences",
        )

    def retried(self, job: Job, result: Result, attempt: int) -> Job:
        """The job once more, with what was wrong said after the answer.

        Chat messages go on with the answer and the complaint. A text prompt stays as it is, and the
        next sample of it is drawn: at temperature 1 where the settings were greedy, and without
        diverse beams or contrastive search, which are not drawn.
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
            sampling = _drawn(sampling)
        shifted = job.request.sample + attempt * sampling.num_return_sequences
        return replace(job, request=replace(job.request, sampling=sampling, sample=shifted))

    def _jobs_of(self, number: int, prompt: Prompt, given: object, settings: object) -> list[Job]:
        """Those of one prompt."""
        source, sampling = read_source(given), read_sampling(settings, self.settings)
        asked: str | list[Plain] = prompt if isinstance(prompt, str) else read_messages(prompt)
        if self.shown and source is not None:
            asked = _with_description(asked, source)
        wide = widened(sampling)
        request = self._request(asked, source, wide)
        checked(request, self.ensemble)
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


def _several(sampling: Sampling) -> bool:
    """Whether more than one sequence is looked at."""
    return bool(sampling.num_return_sequences > 1 or sampling.search or sampling.best_of)


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


def _with_description(prompt: str | list[Plain], source: Source) -> str | list[Plain]:
    """The prompt with a description of the type: before a text, or in a message.

    That is the last message of the user, so that the answers of tools stay as they are.
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
