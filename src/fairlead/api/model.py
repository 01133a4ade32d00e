"""A loaded model: `generate`, `stream`, `choose`.

A call is sorted out row by row (`api.prompts`), its sources are compiled for the vocabulary of the
model, the loop of `engine` runs all rows as one batch, and each text is read back as what was asked
for (`api.values`).
"""

import asyncio
import contextlib
import math
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, final

from fairlead.api.describe import describe
from fairlead.api.prompts import (
    Prompt,
    is_chat,
    read_choices,
    read_sampling,
    read_source,
    split_prompts,
    spread,
)
from fairlead.api.result import Part, Result
from fairlead.api.values import partial_value, read_value
from fairlead.constraints.compile import compile as compile_source
from fairlead.engine.loop import Decoding
from fairlead.engine.model import LanguageModel
from fairlead.engine.prompt import PromptReader
from fairlead.engine.request import Completion, Request
from fairlead.engine.score import score
from fairlead.errors import DeadEndError, FairleadError, SourceError, UnsupportedError
from fairlead.sampling.settings import Sampling
from fairlead.syntax.sources import Source
from fairlead.vocabulary.spellings import Vocabulary

ANSWER = "Answer with JSON of this form:"


@final
@dataclass(frozen=True, slots=True)
class Job:
    """One prompt with its source, and the request made of them."""

    prompt: Prompt
    source: Source | None
    request: Request


@final
class Model:
    """A language model with its tokenizer.

    Example:
        >>> import fairlead as fl
        >>> from fairlead.engine.fake import FakeModel
        >>> vocabulary = fl.Vocabulary([bytes([b]) for b in range(256)] + [b"<eos>"], {256})
        >>> model = fl.Model(FakeModel.random(vocabulary))
        >>> model.generate("How many? ", int, max_new_tokens=3, seed=1).value
        367

    Attributes:
        language_model: what gives the logits.
        vocabulary: its tokens as bytes.
    """

    def __init__(self, language_model: LanguageModel[Any], tokenizer: Any = None) -> None:
        """Wrap a language model; `fairlead.load` does so for models of transformers.

        Args:
            language_model: what gives the logits.
            tokenizer: the transformers tokenizer; without one, texts are spelled with the fewest
                tokens, and chat messages are refused.
        """
        self.language_model = language_model
        self.vocabulary: Vocabulary = language_model.vocabulary
        self._tokenizer = tokenizer
        self._reader = PromptReader(self.vocabulary, tokenizer)

    @property
    def tokenizer(self) -> Any:
        """The transformers tokenizer, None for a model without one."""
        return self._tokenizer

    def generate(
        self,
        prompt: Any,
        source: Any = None,
        *,
        sampling: Any = None,
        schema_in_prompt: bool = False,
        retries: int = 0,
        **settings: Any,
    ) -> Any:
        """Texts that follow the prompts, held to their sources, and read as values.

        Args:
            prompt: a text as it is, or chat messages, which the model's template renders; or a list
                of prompts, which run as one batch.
            source: what the text must be: a Python type, a source, a JSON Schema as a dict, or None
                for any text; in a batch also a list, one for each prompt.
            sampling: the settings as a `Sampling`; in a batch also a list of them.
            schema_in_prompt: whether to describe the type in the prompt.
            retries: how often to ask again where a validator of the type refuses the value.
            **settings: the settings as arguments, by the names of `Sampling`.

        Returns:
            A `Result`; a list of them, in order, where several prompts or sequences were asked for.

        Raises:
            SourceError, UnsupportedError, UnsatisfiableError: as `fairlead.compile`.
            LimitError: no text of the source fits into `max_new_tokens`, naming what is needed.
            ModelError: the model gave values that are no numbers.
        """
        asked = _checked_retries(retries)
        prompts, batch = split_prompts(prompt)
        jobs = self._jobs(prompts, source, sampling, settings, batch=batch, shown=schema_in_prompt)
        results = self._run(jobs)
        for attempt in range(1, asked + 1):
            failed = [n for n, r in enumerate(results) if r.error and r.finish_reason == "stop"]
            again = self._run([self._retried(jobs[n], results[n], attempt) for n in failed])
            for n, result in zip(failed, again, strict=True):
                results[n] = result
            if not failed:
                break
        return results if batch or len(results) > 1 else results[0]

    async def agenerate(self, prompt: Any, source: Any = None, **arguments: Any) -> Any:
        """`generate` in a thread of its own, so that an event loop goes on meanwhile."""
        return await asyncio.to_thread(self.generate, prompt, source, **arguments)

    def stream(
        self,
        prompt: Any,
        source: Any = None,
        *,
        sampling: Any = None,
        schema_in_prompt: bool = False,
        **settings: Any,
    ) -> Iterator[Part]:
        """The text as it grows, with what can be read from it already.

        Takes one prompt and gives one sequence; arguments and errors are those of `generate`.

        Yields:
            Parts; the last one holds the whole `Result`.
        """
        prompts, batch = split_prompts(prompt)
        jobs = self._jobs(prompts, source, sampling, settings, batch=batch, shown=schema_in_prompt)
        if batch or len(jobs) > 1:
            raise UnsupportedError(
                "stream takes one prompt and gives one sequence: use generate for several",
                feature="stream of several sequences",
            )
        return self._parts(jobs[0], Decoding(self.language_model, [jobs[0].request]))

    async def astream(
        self, prompt: Any, source: Any = None, **arguments: Any
    ) -> AsyncIterator[Part]:
        """`stream` for `async for`: each step runs in a thread."""
        parts = await asyncio.to_thread(self.stream, prompt, source, **arguments)
        while (part := await asyncio.to_thread(next, parts, None)) is not None:
            yield part

    def choose(self, prompt: Any, choices: Iterable[str]) -> dict[str, float]:
        """The probability of each choice after the prompt, given that it is one of them.

        Each choice is scored by its canonical tokens; where one begins another, the end of the text
        counts with it. Exact: all tokens of all choices go through the model.

        Args:
            prompt: a text or chat messages.
            choices: at least one text, none twice.

        Returns:
            Choice → probability, in the order given; they sum to 1.

        Raises:
            SourceError: the choices are not such texts.
            UnsupportedError: there are several prompts, or the tokenizer loses information.
            LimitError: the prompt and a choice are longer than the model's context.
            DeadEndError: the model gives no probability to any of them.
            ModelError: it gave values that are no numbers.
        """
        self._check_lossless()
        options = read_choices(choices)
        prompts, batch = split_prompts(prompt)
        if batch:
            raise UnsupportedError("choose takes one prompt", feature="choose on a batch")
        read = self._reader.read(prompts[0])
        tokens = [self._reader.continuation(read, option) for option in options]
        ends = [any(o != option and o.startswith(option) for o in options) for option in options]
        logs = score(self.language_model, read.tokens, tokens, ends)
        top = max(logs)
        if top == -math.inf:
            raise DeadEndError("the model gives no probability to any of the choices")
        weights = [math.exp(log - top) for log in logs]
        return {o: w / sum(weights) for o, w in zip(options, weights, strict=True)}

    def _jobs(
        self,
        prompts: list[Prompt],
        source: object,
        sampling: object,
        settings: dict[str, object],
        *,
        batch: bool,
        shown: bool,
    ) -> list[Job]:
        count = len(prompts)
        sources = [read_source(s) for s in spread(source, count, batch=batch, what="sources")]
        each = spread(sampling, count, batch=batch, what="settings")
        samplings = [read_sampling(given, settings) for given in each]
        jobs = list[Job]()
        for prompt, what, how in zip(prompts, sources, samplings, strict=True):
            asked = _with_description(prompt, what) if shown and what is not None else prompt
            request = self._request(asked, what, how)
            jobs.extend(Job(asked, what, sample) for sample in request.samples())
        return jobs

    def _request(self, prompt: Prompt, source: Source | None, sampling: Sampling) -> Request:
        read = self._reader.read(prompt)
        constraint = None if source is None else self._compile(source)
        return Request(read.tokens, constraint, sampling, read.joint)

    def _compile(self, source: Source) -> Any:
        self._check_lossless()
        return compile_source(source, self.vocabulary)

    def _check_lossless(self) -> None:
        if not self.vocabulary.lossless:
            raise UnsupportedError(
                f"no text can be generated exactly with this tokenizer: {self.vocabulary.loss}",
                feature="tokenizer that loses information",
            )

    def _run(self, jobs: list[Job]) -> list[Result]:
        decoding = Decoding(self.language_model, [job.request for job in jobs])
        with contextlib.suppress(KeyboardInterrupt):  # one that comes between two steps
            for _ in decoding:
                pass
        return [_result(job, done) for job, done in zip(jobs, decoding.completions, strict=True)]

    def _parts(self, job: Job, decoding: Decoding) -> Iterator[Part]:
        text = ""
        for event in decoding:
            text += event.text
            if event.finish_reason is None:
                yield Part(event.text, text, partial_value(job.source, text))
                continue
            result = _result(job, decoding.completions[0])
            yield Part(event.text, text, result.value, result)

    def _retried(self, job: Job, result: Result, attempt: int) -> Job:
        """The job once more, with what was wrong said after the answer.

        Chat messages go on with the answer and the complaint. A text prompt stays as it is, and the
        next sample of it is drawn: at temperature 1 where the settings were greedy.
        """
        if is_chat(job.prompt):
            complaint = f"That was refused: {result.error}\nGive the corrected answer."
            answered = {"role": "assistant", "content": result.text}
            prompt = [*job.prompt, answered, {"role": "user", "content": complaint}]
            request = self._request(prompt, job.source, job.request.sampling)
            return Job(prompt, job.source, replace(request, sample=job.request.sample))
        sampling = job.request.sampling
        if not sampling.samples:
            sampling = replace(sampling, do_sample=True, temperature=1.0, seed=sampling.seed or 0)
        shifted = job.request.sample + attempt * sampling.num_return_sequences
        return replace(job, request=replace(job.request, sampling=sampling, sample=shifted))


def _checked_retries(retries: object) -> int:
    if not isinstance(retries, int) or isinstance(retries, bool) or retries < 0:
        raise SourceError(f"retries is {retries!r}: it must be a count")
    return retries


def _with_description(prompt: Prompt, source: Source) -> Prompt:
    """The prompt with a description of the type: in the last message, or before a text."""
    note = f"{ANSWER}\n{describe(source)}"
    if not is_chat(prompt):
        return f"{note}\n\n{prompt}"
    *before, last = prompt
    if not isinstance(last.get("content"), str):
        return prompt  # which the reader refuses, naming the place
    return [*before, {**last, "content": f"{last['content']}\n\n{note}"}]


def _result(job: Job, done: Completion) -> Result:
    value: Any = None
    error: FairleadError | None = None
    if job.source is None:
        value = done.text
    elif done.finish_reason == "stop":
        value, error = read_value(job.source, done.text)
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
    )
