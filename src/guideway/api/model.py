"""A model or an expression over several: operators, `generate`, `stream`, `choose`.

A loaded model is an expression of one leaf, so both are the same class. A call is sorted out row
by row (`api.jobs`), `engine` runs the rows as one batch, and texts become values (`api.values`).
"""

import contextlib
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, final, overload

from torch import Tensor

from guideway.api.arithmetic import (
    NO_ARITHMETIC,
    NOT_ADDED,
    adapted,
    check_language_model,
    checked_mask,
    difference,
    exited,
    named,
    prompted,
    unprompted,
    watermarked,
    with_term,
)
from guideway.api.choices import probabilities
from guideway.api.cost import Cost, cost_of, told
from guideway.api.jobs import Call
from guideway.api.prompts import Prompt, split_prompts
from guideway.api.result import Part, Result
from guideway.api.running import Manner, run, stream
from guideway.engine.adapter import Adapter
from guideway.engine.ensemble import Ensemble
from guideway.engine.model import LanguageModel
from guideway.engine.prompt import PromptReader
from guideway.engine.reading import Reading
from guideway.engine.stopping import in_thread
from guideway.errors import SourceError, one_line
from guideway.logits.classifier import ClassifierTerm
from guideway.logits.expr import (
    GediTerm,
    Leaf,
    Linear,
    Mask,
    Maximum,
    Minimum,
    Node,
    Nucleus,
    Plausible,
    normalized,
    number,
    total,
)
from guideway.logits.marked import Whole, show_whole, unmarked
from guideway.vocabulary.spellings import Vocabulary

if TYPE_CHECKING:
    from typing_extensions import TypeForm, Unpack

    from guideway.api.arguments import OneArguments, SeveralArguments, StreamArguments
    from guideway.api.prompts import Each, Prompts, Untyped
    from guideway.syntax.sources import Read, Written

Value = TypeVar("Value")


@final
class Model:
    """A language model with its tokenizer, or an expression over several of them.

    Frozen: every operator gives a new one. `print(model)` shows the expression, its leaves and what
    a token costs.

    Example:
        >>> import guideway as gw
        >>> from guideway.engine.fake import FakeModel
        >>> vocabulary = gw.Vocabulary([bytes([b]) for b in range(256)] + [b"<eos>"], {256})
        >>> model = gw.Model(FakeModel.random(vocabulary), name="base")
        >>> model.generate("How many? ", int, max_new_tokens=3, seed=1).value
        367
        >>> other = gw.Model(FakeModel.random(vocabulary, 1), name="other")
        >>> guided = model + 1.5 * (other - model)
        >>> guided
        Model(-0.5*base + 1.5*other)
        >>> guided.generate("How many? ", int, max_new_tokens=3, seed=1).value
        334

    Attributes:
        whole: the expression (`guideway.logits.expr`) with its watermark, if it has one.
    """

    def __init__(
        self, language_model: LanguageModel[Any], tokenizer: Any = None, *, name: str = "model"
    ) -> None:
        """Wrap a language model; `guideway.load` does so for models of transformers.

        Without a transformers tokenizer, texts are spelled with the fewest tokens, and chat
        messages are refused. The name is printed in expressions.
        """
        check_language_model(language_model)
        reader = PromptReader(language_model.vocabulary, tokenizer)
        self._set(Leaf(Reading(language_model, reader), name))

    @classmethod
    def of(cls, node: Whole) -> "Model":
        """The model of an expression whose leaves read models.

        Raises:
            UnsupportedError: their vocabularies are different, naming what one of them lacks.
            LimitError: it is nested more than 100 deep, or has more than 1,000 nodes.
        """
        made = cls.__new__(cls)
        made._set(node)
        return made

    def _set(self, whole: Whole) -> None:
        self.whole = whole
        if whole != Linear(()):  # 0 can be added to something, and not run
            _ = self._ensemble  # different vocabularies are told now, not when it is run

    @cached_property
    def _ensemble(self) -> Ensemble:
        return Ensemble(self.whole)

    @property
    def node(self) -> Node:
        """The expression; a watermarked one is none to compute with."""
        return unmarked(self.whole)

    @property
    def vocabulary(self) -> Vocabulary:
        """The tokens as bytes: of the first leaf all of whose tokens the others have."""
        return self._ensemble.vocabulary

    @property
    def language_model(self) -> LanguageModel[Any]:
        """What gives the logits of the first leaf."""
        return self._ensemble.contexts[0].model

    @property
    def tokenizer(self) -> Any:
        """The transformers tokenizer of the first leaf, None for a model without one."""
        return self._ensemble.contexts[0].reader.tokenizer

    @cached_property
    def cost(self) -> Cost:
        """What a token costs: forwards, batches, texts for classifiers."""
        return cost_of(self._ensemble)

    def __repr__(self) -> str:
        """The expression, shortened; `str` has all of it."""
        return one_line(f"Model({show_whole(self.whole)})")

    def __str__(self) -> str:
        """The expression, its leaves, and what a token costs."""
        shown = show_whole(self.whole)
        return shown if self.whole == Linear(()) else f"{shown}\n{told(self._ensemble)}"

    def __add__(self, other: object) -> "Model":
        """The sum of log-probabilities, or a model with a classifier."""
        return self._plus(other, 1.0)

    __radd__ = __add__  # a classifier with a model; 0, with which `sum` begins

    def __sub__(self, other: object) -> "Model":
        """The difference of log-probabilities."""
        return self._plus(other, -1.0)

    def __rsub__(self, other: object) -> "Model":
        """A classifier without a model."""
        return (-self)._plus(other, 1.0)

    def __mul__(self, factor: object) -> "Model":
        """The log-probabilities times a number."""
        return Model.of(total([(number(factor, "a coefficient"), self.node)]))

    __rmul__ = __mul__

    def __truediv__(self, divisor: object) -> "Model":
        """The log-probabilities divided by a number."""
        if divisor == 0:
            raise SourceError("a model cannot be divided by 0")
        return self * (1 / number(divisor, "a divisor"))

    def __neg__(self) -> "Model":
        """The log-probabilities times −1."""
        return self * -1

    def __rtruediv__(self, other: object) -> "Model":
        """Refused, like powers: neither is a sum of log-probabilities."""
        raise SourceError(f"{NO_ARITHMETIC}; not with {other!r}"[:300])

    __pow__ = __rpow__ = __floordiv__ = __mod__ = __matmul__ = __rtruediv__

    def __eq__(self, other: object) -> bool:
        """Whether both are the same expression of the same models, as they are written."""
        return self.whole == other.whole if isinstance(other, Model) else NotImplemented

    def __hash__(self) -> int:
        """That of the expression."""
        return hash(self.whole)

    def _plus(self, other: object, sign: float) -> "Model":
        if isinstance(other, ClassifierTerm | GediTerm):
            return Model.of(with_term(self.node, other, sign))
        if isinstance(other, int) and not other:
            return self
        if not isinstance(other, Model):
            raise SourceError(f"{other!r} {NOT_ADDED}"[:300])
        return Model.of(difference(self.node, other.node, sign))

    def maximum(self, *others: "Model") -> "Model":
        """Token by token the greatest log-probability: what one of the models would say."""
        return Model.of(Maximum((self.node, *(_model(other).node for other in others))))

    def minimum(self, *others: "Model") -> "Model":
        """Token by token the least log-probability: what all of the models would say."""
        return Model.of(Minimum((self.node, *(_model(other).node for other in others))))

    def temperature(self, value: float) -> "Model":
        """The model at a temperature: its log-probabilities divided by it.

        Raises:
            SourceError: it is not above 0.
        """
        return self / number(value, "a temperature", 1e-6)

    def normalized(self) -> "Model":
        """Divided by the sum of the coefficients, as in language model arithmetic.

        Raises:
            SourceError: that sum is 0.
        """
        return Model.of(normalized(self.node))

    def nucleus(self, p: float, plausibility: Mask = "post_mask") -> "Model":
        """Only the smallest set of most probable tokens with mass `p`.

        Args:
            p: above 0, at most 1.
            plausibility: "post_mask": of what the constraint allows; "pre_mask": of everything.
        """
        return Model.of(Nucleus(self.node, number(p, "p", 1e-9, 1), checked_mask(plausibility)))

    def plausible(self, alpha: float, plausibility: Mask = "post_mask") -> "Model":
        """Only the tokens at least `alpha` times as probable as the most probable one."""
        mask = checked_mask(plausibility)
        return Model.of(Plausible(self.node, number(alpha, "alpha", 0, 1), mask))

    def prompted(self, system: str | Callable[[Any], Any]) -> "Model":
        """The model with a prompt of its own before what it is asked.

        Args:
            system: a text that chat messages get as their system message, and that texts get before
                them as it is; or a function that makes another prompt of each prompt.

        Raises:
            SourceError: it is neither.
        """
        return Model.of(prompted(self.node, system))

    def unprompted(self) -> "Model":
        """The model without the prompt: it reads its last token alone."""
        return Model.of(unprompted(self.node))

    def exit_at(self, block: int) -> "Model":
        """The model as if it ended after so many of its blocks; it shares the whole one's forward.

        Raises:
            SourceError, UnsupportedError: there is no such block, or blocks are not known.
        """
        return Model.of(exited(self.node, block))

    def adapted(
        self, adapter: str | Path | Adapter | Mapping[str, Tensor], name: str = ""
    ) -> "Model":
        """The model with a LoRA adapter; leaves with other adapters or none run in one batch.

        Args:
            adapter: a folder that PEFT wrote, or its tensors.
            name: how it is printed.

        Raises:
            ModelError, UnsupportedError: it cannot be read, or does not fit the model.
        """
        return Model.of(adapted(self.node, adapter, name))

    def watermarked(self, watermark: Any) -> "Model":
        """The model with a `guideway.Watermark` in what is drawn from it.

        Raises:
            SourceError: it is none.
        """
        return Model.of(watermarked(self.whole, watermark))

    def named(self, name: str) -> "Model":
        """The model under another name in what is printed."""
        return Model.of(named(self.node, name))

    # One prompt gives one result, num_return_sequences and lists of prompts give a list: by the
    # first overload that fits.
    @overload
    def generate(  # pyright: ignore[reportOverlappingOverload]
        self, prompt: Prompt, source: "Written[Read] | None" = None, **more: "Unpack[OneArguments]"
    ) -> "Result[Read]": ...
    @overload
    def generate(  # pyright: ignore[reportOverlappingOverload]
        self, prompt: Prompt, source: "TypeForm[Value]", **more: "Unpack[OneArguments]"
    ) -> "Result[Value]": ...
    @overload
    def generate(  # pyright: ignore[reportOverlappingOverload]
        self, prompt: Prompt, source: "Untyped", **more: "Unpack[OneArguments]"
    ) -> "Result[Any]": ...
    @overload
    def generate(
        self,
        prompt: "Prompts[Each]",
        source: "Written[Read] | None" = None,
        **more: "Unpack[SeveralArguments]",
    ) -> "list[Result[Read]]": ...
    @overload
    def generate(
        self,
        prompt: "Prompts[Each]",
        source: "TypeForm[Value]",
        **more: "Unpack[SeveralArguments]",
    ) -> "list[Result[Value]]": ...
    @overload
    def generate(
        self,
        prompt: "Prompts[Each]",
        source: "Untyped | list[Any]",
        **more: "Unpack[SeveralArguments]",
    ) -> "list[Result[Any]]": ...
    def generate(
        self,
        prompt: Any,
        source: Any = None,
        *,
        sampling: Any = None,
        schema_in_prompt: bool = False,
        retries: int = 0,
        on_invalid: Any = "raise",
        on_error: Any = "raise",
        batch_size: int | None = None,
        progress: Any = False,
        trace: bool | int = False,
        heal: bool = False,
        canonical: bool = False,
        **settings: Any,
    ) -> Any:
        """Texts that follow the prompts, held to their sources, and read as values.

        Args:
            prompt: a text as it is, or chat messages for the model's template; in a batch a list.
            source: what the text must be: a Python type, a source, a JSON Schema as a dict, or None
                for any text; in a batch also a list.
            sampling: the settings as a `Sampling`; in a batch also a list.
            schema_in_prompt: whether to describe the type in the prompt.
            retries: how often to ask again where a validator of the type refuses the value.
            on_invalid: "raise" an error where a validator refuses the value in the end, or "return"
                a result with that `error`.
            on_error: "raise" the first error of a row, with the number of the row, or "return" a
                result with that `error`, where it fails or a validator refuses its value.
            batch_size: how many prompts run at once; by default as many as have 64 rows. Texts do
                not depend on it.
            progress: True for a bar on standard error, or a function that is called with the
                number of rows done and of all rows.
            trace: of how many tokens results tell what each stage did at each step; 5 for True.
            heal: whether the last tokens of a text prompt are written again (`guideway.heal`).
            canonical: whether only those tokens come that encoding the text (with what `heal`
                writes again before it) would give; see `guideway.compile`.
            **settings: the settings as arguments, by the names of `Sampling`.

        Returns:
            A `Result`; a list of them, in order, where several prompts or sequences were asked for.
            Type checkers know `result.value` by the source. They take a number of sequences that
            is a variable for more than one.
            Of a search there are fewer where no more texts are found.

        Raises:
            SourceError, UnsupportedError, UnsatisfiableError: as `guideway.compile`.
            LimitError: no text of the source fits into `max_new_tokens`, naming what is needed.
            ModelError: the model gave values that are no numbers.
            InvalidValueError: a validator refused the value; `result` has the text.
            GenerationInterrupted: Ctrl-C, a `KeyboardInterrupt`; `results` has what there is.
        """
        more = (sampling, settings, schema_in_prompt, trace, heal, canonical)
        call = self._call(prompt, source, *more)
        manner = Manner(retries, on_invalid, on_error, batch_size, progress)
        results, several = run(call, manner)
        return results if several else results[0]

    @overload
    async def agenerate(
        self, prompt: Prompt, source: "Written[Read] | None" = None, **more: "Unpack[OneArguments]"
    ) -> "Result[Read]": ...
    @overload
    async def agenerate(
        self, prompt: Prompt, source: "TypeForm[Value]", **more: "Unpack[OneArguments]"
    ) -> "Result[Value]": ...
    @overload
    async def agenerate(
        self, prompt: Prompt, source: "Untyped", **more: "Unpack[OneArguments]"
    ) -> "Result[Any]": ...
    @overload
    async def agenerate(
        self,
        prompt: "Prompts[Each]",
        source: "Written[Read] | None" = None,
        **more: "Unpack[SeveralArguments]",
    ) -> "list[Result[Read]]": ...
    @overload
    async def agenerate(
        self,
        prompt: "Prompts[Each]",
        source: "TypeForm[Value]",
        **more: "Unpack[SeveralArguments]",
    ) -> "list[Result[Value]]": ...
    @overload
    async def agenerate(
        self,
        prompt: "Prompts[Each]",
        source: "Untyped | list[Any]",
        **more: "Unpack[SeveralArguments]",
    ) -> "list[Result[Any]]": ...
    async def agenerate(self, prompt: Any, source: Any = None, **arguments: Any) -> Any:
        """`generate` in a thread of its own, so that an event loop goes on meanwhile.

        Where the task is cancelled, the thread ends with its current step.
        """
        return await in_thread(self.generate, prompt, source, **arguments)

    @overload
    def stream(
        self,
        prompt: Prompt,
        source: "Written[Read] | None" = None,
        **more: "Unpack[StreamArguments]",
    ) -> "Iterator[Part[Read]]": ...
    @overload
    def stream(
        self, prompt: Prompt, source: "TypeForm[Value]", **more: "Unpack[StreamArguments]"
    ) -> "Iterator[Part[Value]]": ...
    @overload
    def stream(
        self, prompt: Prompt, source: "Untyped", **more: "Unpack[StreamArguments]"
    ) -> "Iterator[Part[Any]]": ...
    def stream(
        self,
        prompt: Any,
        source: Any = None,
        *,
        sampling: Any = None,
        schema_in_prompt: bool = False,
        on_invalid: Any = "raise",
        trace: bool | int = False,
        heal: bool = False,
        canonical: bool = False,
        **settings: Any,
    ) -> Iterator[Part]:
        """The text as it grows, with what can be read from it already.

        One prompt, one sequence, no retries; other arguments and errors are those of `generate`.
        Closing the iterator, or leaving it, ends the generation and frees its cache.

        Yields:
            Parts; the last one holds the whole `Result`.

        Raises:
            InvalidValueError: a validator refused the value. It comes in place of the last part;
                with `on_invalid="return"` the last part has the result with that `error`.
            GenerationInterrupted: Ctrl-C during a step; `results` has the text so far.
        """
        more = (sampling, settings, schema_in_prompt, trace, heal, canonical)
        call = self._call(prompt, source, *more)
        return stream(call, on_invalid)

    @overload
    def astream(
        self,
        prompt: Prompt,
        source: "Written[Read] | None" = None,
        **more: "Unpack[StreamArguments]",
    ) -> "AsyncIterator[Part[Read]]": ...
    @overload
    def astream(
        self, prompt: Prompt, source: "TypeForm[Value]", **more: "Unpack[StreamArguments]"
    ) -> "AsyncIterator[Part[Value]]": ...
    @overload
    def astream(
        self, prompt: Prompt, source: "Untyped", **more: "Unpack[StreamArguments]"
    ) -> "AsyncIterator[Part[Any]]": ...
    async def astream(
        self, prompt: Any, source: Any = None, **arguments: Any
    ) -> AsyncIterator[Part]:
        """`stream` for `async for`: each step runs in a thread.

        Where the task is cancelled, the generation ends with its current step.
        """
        parts: Any = await in_thread(self.stream, prompt, source, **arguments)
        try:
            while (part := await in_thread(next, parts, None)) is not None:
                yield part
        finally:
            with contextlib.suppress(ValueError):  # a step runs, and the generator ends with it
                parts.close()
            del parts

    def choose(self, prompt: Prompt, choices: Iterable[str]) -> dict[str, float]:
        """The probability of each choice after the prompt, given that it is one of them.

        Each choice is scored by its canonical tokens; where one begins another, the end of the text
        counts with it. Exact: all tokens of all choices go through the model. Classifiers judge
        whole choices, by Bayes' rule.

        Args:
            prompt: a text or chat messages.
            choices: at least one text, none twice.

        Returns:
            Choice → probability, in the order given; they sum to 1.

        Raises:
            SourceError, UnsupportedError: the choices are not such texts, there are several
                prompts, or the tokenizer loses information.
            LimitError: the prompt and a choice are longer than the model's context.
            DeadEndError: no choice has a probability.
            ModelError: it gave values that are no numbers.
        """
        return probabilities(self._ensemble, prompt, choices)

    def _call(self, prompt: Any, source: Any, *more: Any) -> Call:
        return Call(self._ensemble, *split_prompts(prompt), source, *more)


def _model(given: object) -> Model:
    if isinstance(given, Model):
        return given
    raise SourceError(f"{given!r} is no model"[:300])
