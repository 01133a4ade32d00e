"""A model or an expression over several: operators, `generate`, `stream`, `choose`.

A loaded model is an expression of one leaf, so both are the same class. `api.jobs` turns a call
into rows, `api.running` runs the rows and reads the texts as values.
"""

import contextlib
import math
from collections.abc import (
    AsyncIterator,
    Callable,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar, get_args, overload

from torch import Tensor

from guideway.api.jobs import Call, check_lossless, prompts_of, read_prompts
from guideway.api.prompts import Prompt, read_choices, split_prompts
from guideway.api.running import Part, RunOptions, run, stream
from guideway.errors import DeadEndError, SourceError, UnsupportedError, brief, one_line
from guideway.generation.ensemble.ensemble import Ensemble, reading
from guideway.generation.ensemble.prefix_cache import PrefixCache
from guideway.generation.ensemble.prompt import PromptReader
from guideway.generation.ensemble.views import LastToken, Reading, Rewritten, System, View
from guideway.generation.row.result import Result
from guideway.generation.score import score
from guideway.generation.stopping import in_thread
from guideway.logits import expr
from guideway.logits.classifier import ClassifierTerm
from guideway.logits.expr import Watermarked, Whole, inner, show_whole, unmarked
from guideway.models.adapter import Adapter, read_adapter
from guideway.models.protocol import LanguageModel, VariedModel
from guideway.sources.sources import check_option
from guideway.vocabulary.vocabulary import Vocabulary
from guideway.watermark.scheme import Scheme

if TYPE_CHECKING:
    from typing_extensions import TypeForm, Unpack

    from guideway.api.arguments import OneArguments, SeveralArguments, StreamArguments
    from guideway.api.prompts import Each, Prompts, Untyped
    from guideway.sources.sources import Read, Written

Value = TypeVar("Value")
SHOWN: Final = 24  # characters of a prompt in a leaf's name


@dataclass(frozen=True, slots=True)
class Cost:
    """The work of one token of one row.

    Attributes:
        batches: forward passes, one for each model.
        rows: rows in all passes; leaves that differ in prompt or adapter are rows.
        texts: texts that classifiers read, at most, on average over the steps.
    """

    batches: int
    rows: int
    texts: float

    def __str__(self) -> str:
        """In words."""
        forwards = "1 forward" if self.batches == 1 else f"{self.batches} forwards"
        rows = "" if self.rows == self.batches else f" of {self.rows} rows"
        texts = f", {self.texts:g} texts classified" if self.texts else ""
        return f"{forwards}{rows}{texts}"


class Model:
    """A language model with its tokenizer, or an expression over several of them.

    Models are immutable: every operator returns a new one. `print(model)` shows the expression, its
    leaves and the cost of a token.

    Example:
        >>> import guideway as gw
        >>> from guideway.models.fake import FakeModel
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
        whole: the expression (`guideway.logits.expr`), with its watermark if it has one.
    """

    def __init__(
        self, language_model: LanguageModel[Any], tokenizer: Any = None, *, name: str = "model"
    ) -> None:
        """Wrap a language model; `guideway.load` does this for transformers models.

        Args:
            language_model: the model.
            tokenizer: its transformers tokenizer. Without one, texts are encoded with the fewest
                tokens, and chat messages are refused.
            name: the name of the model in printed expressions.
        """
        if not isinstance(language_model, LanguageModel):  # pyright: ignore[reportUnnecessaryIsInstance]
            said = f"{language_model!r} is not a language model: guideway.load loads one"
            raise SourceError(said[:300])
        reader = PromptReader(language_model.vocabulary, tokenizer)
        self._set(expr.Leaf(Reading(language_model, reader), name))

    @classmethod
    def of(cls, node: Whole) -> "Model":
        """Return the model of an expression over models.

        Raises:
            UnsupportedError: the vocabularies differ; the message names the missing tokens.
            LimitError: the expression is nested more than 100 deep, or has more than 1,000 nodes.
        """
        made = cls.__new__(cls)
        made._set(node)
        return made

    def _set(self, whole: Whole) -> None:
        self.whole = whole
        if whole != expr.Linear(()):  # 0 is a valid operand, but cannot run
            _ = self._ensemble  # refuse different vocabularies now, not in `generate`

    @cached_property
    def _ensemble(self) -> Ensemble:
        return Ensemble(self.whole)

    @property
    def node(self) -> expr.Node:
        """The expression.

        Raises:
            UnsupportedError: the model has a watermark, so operators cannot use it.
        """
        return unmarked(self.whole)

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary of the first leaf whose tokens all other leaves have too."""
        return self._ensemble.vocabulary

    @property
    def language_model(self) -> LanguageModel[Any]:
        """The language model of the first leaf."""
        return self._ensemble.contexts[0].model

    @property
    def tokenizer(self) -> Any:
        """The transformers tokenizer of the first leaf; None if it has none."""
        return self._ensemble.contexts[0].reader.tokenizer

    @cached_property
    def cost(self) -> Cost:
        """The cost of one token: forwards, batches, and texts for classifiers."""
        ensemble, nodes = self._ensemble, expr.walk(self._ensemble.node)
        terms = [term for node in nodes if isinstance(node, expr.Guided) for term in node.terms]
        texts = sum(
            (term.top + (term.rest == "keep")) / term.every
            for term in terms
            if isinstance(term, ClassifierTerm)
        )
        models = {id(context.model) for context in ensemble.contexts}
        return Cost(len(models), len(ensemble.contexts), texts)

    def __repr__(self) -> str:
        """The expression, shortened to one line; `str` shows all of it."""
        return one_line(f"Model({show_whole(self.whole)})")

    def __str__(self) -> str:
        """The expression, its leaves, and the cost of a token."""
        shown = show_whole(self.whole)
        if self.whole == expr.Linear(()):
            return shown
        names = ", ".join(dict.fromkeys(leaf.name for leaf in self._ensemble.leaves))
        return f"{shown}\nleaves: {names}\nper token: {self.cost}"

    def __add__(self, other: object) -> "Model":
        """Return the sum of log-probabilities; with a classifier, the guided model."""
        return self._plus(other, 1.0)

    __radd__ = __add__  # a classifier with a model; 0, with which `sum` begins

    def __sub__(self, other: object) -> "Model":
        """Return the difference of log-probabilities."""
        return self._plus(other, -1.0)

    def __rsub__(self, other: object) -> "Model":
        """Return a classifier minus this model."""
        return (-self)._plus(other, 1.0)

    def __mul__(self, factor: object) -> "Model":
        """Return the log-probabilities times a number."""
        return Model.of(expr.total([(expr.number(factor, "a coefficient"), self.node)]))

    __rmul__ = __mul__

    def __truediv__(self, divisor: object) -> "Model":
        """Return the log-probabilities divided by a number."""
        if divisor == 0:
            raise SourceError("a model cannot be divided by 0")
        return self * (1 / expr.number(divisor, "a divisor"))

    def __neg__(self) -> "Model":
        """Return the log-probabilities times −1."""
        return self * -1

    def __rtruediv__(self, other: object) -> "Model":
        """Refuse division by a model, and powers: they are no sums of log-probabilities."""
        raise SourceError(
            "models are added to and taken from one another, and multiplied or divided by numbers; "
            f"not with {other!r}"[:300]
        )

    __pow__ = __rpow__ = __floordiv__ = __mod__ = __matmul__ = __rtruediv__

    def __eq__(self, other: object) -> bool:
        """Return whether both are the same expression, written the same way, of the same models."""
        return self.whole == other.whole if isinstance(other, Model) else NotImplemented

    def __hash__(self) -> int:
        """Return the hash of the expression."""
        return hash(self.whole)

    def _plus(self, other: object, sign: float) -> "Model":
        if isinstance(other, ClassifierTerm | expr.GediTerm):
            signed = replace(other, alpha=sign * other.alpha)
            return Model.of(expr.guided(self.node, [signed] if signed.alpha else []))
        if isinstance(other, int) and not other:
            return self
        if not isinstance(other, Model):
            raise SourceError(
                f"{other!r:.200} cannot be added to a model: models, guideway.classifier(…) and "
                "guideway.gedi(…) can, and numbers multiply"
            )
        return Model.of(expr.total([(1.0, self.node), (sign, other.node)]))

    def maximum(self, *others: "Model") -> "Model":
        """Return, for each token, the greatest log-probability among this model and `others`."""
        parts = (self.node, *(as_model(other).node for other in others))
        return Model.of(expr.Extreme("maximum", parts))

    def minimum(self, *others: "Model") -> "Model":
        """Return, for each token, the least log-probability among this model and `others`."""
        parts = (self.node, *(as_model(other).node for other in others))
        return Model.of(expr.Extreme("minimum", parts))

    def temperature(self, value: float) -> "Model":
        """Return the model at a temperature: its log-probabilities divided by `value`.

        Raises:
            SourceError: `value` is not above 0.
        """
        return self / expr.number(value, "a temperature", 1e-6)

    def normalized(self) -> "Model":
        """Return the expression divided by the sum of its coefficients.

        This is the normal form of language model arithmetic.

        Raises:
            SourceError: the sum is 0.
        """
        return Model.of(expr.normalized(self.node))

    def nucleus(self, p: float, plausibility: expr.Mask = "post_mask") -> "Model":
        """Return the model limited to the smallest set of most probable tokens with mass `p`.

        Args:
            p: above 0, at most 1.
            plausibility: "post_mask" takes the set among the allowed tokens, "pre_mask" among all.

        Raises:
            SourceError: an argument is out of range.
        """
        check_option("plausibility", plausibility, get_args(expr.Mask))
        mass = expr.number(p, "p", 1e-9, 1)
        return Model.of(expr.Filtered("nucleus", self.node, mass, plausibility))

    def plausible(self, alpha: float, plausibility: expr.Mask = "post_mask") -> "Model":
        """Return the model limited to tokens at least `alpha` times as probable as the best one.

        Args:
            alpha: from 0 to 1.
            plausibility: "post_mask" takes the best of the allowed tokens, "pre_mask" of all.

        Raises:
            SourceError: an argument is out of range.
        """
        check_option("plausibility", plausibility, get_args(expr.Mask))
        least = expr.number(alpha, "alpha", 0, 1)
        return Model.of(expr.Filtered("plausible", self.node, least, plausibility))

    def prompted(self, system: str | Callable[[Any], Any]) -> "Model":
        """Return the model with a prompt of its own.

        Args:
            system: a text: the system message of chat messages, and a prefix of text prompts; or a
                function from a prompt to another prompt.

        Raises:
            SourceError: `system` is neither a text nor a function.
        """
        if isinstance(system, str):
            short = system if len(system) <= SHOWN else system[: SHOWN - 1] + "…"
            return self._viewed(System(system), f"prompted({short!r})")
        if not callable(system):
            raise SourceError(f"system must be a text or a function, not {system!r}"[:300])
        return self._viewed(
            Rewritten(system), f"prompted({getattr(system, '__name__', 'function')})"
        )

    def unprompted(self) -> "Model":
        """Return the model without the prompt: it reads only the last token of it."""
        return self._viewed(LastToken(), "unprompted()")

    def exit_at(self, block: int) -> "Model":
        """Return the early exit of the model after its first `block` blocks.

        It shares the forward of the whole model.

        Raises:
            SourceError: there is no such block.
            UnsupportedError: the blocks of this model are not known.
        """
        return Model.of(expr.mapped(self.node, lambda leaf: exited(leaf, block)))

    def adapted(
        self, adapter: str | Path | Adapter | Mapping[str, Tensor], name: str = ""
    ) -> "Model":
        """Return the model with a LoRA adapter.

        Leaves of one model with different adapters, or with none, run in one batch.

        Args:
            adapter: a folder that PEFT wrote, or its tensors.
            name: the name of the model in printed expressions.

        Raises:
            ModelError, UnsupportedError: the adapter cannot be read, or does not fit the model.
        """
        if isinstance(adapter, Mapping):
            adapter = Adapter.of(name or "adapter", adapter)
        elif isinstance(adapter, str | Path):
            adapter = read_adapter(adapter)
        elif not isinstance(adapter, Adapter):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise SourceError(
                f"{adapter!r:.200} is not an adapter: give a folder that PEFT wrote, or its tensors"
            )
        for leaf in expr.leaves(self.node):
            if (there := reading(leaf).adapter) is not None:
                raise UnsupportedError(
                    f"{leaf.name} has the adapter {there!r} already, and takes only one",
                    feature="several adapters",
                )
            if not isinstance(reading(leaf).model, VariedModel):
                raise UnsupportedError(f"{leaf.name} does not support adapters", feature="adapters")
        shown = f"adapted({name or adapter.name})"
        return Model.of(expr.mapped(self.node, lambda leaf: _leaf(leaf, shown, adapter=adapter)))

    def watermarked(self, watermark: Any) -> "Model":
        """Return the model with a `guideway.Watermark` in its generated texts.

        Raises:
            SourceError: `watermark` is no `guideway.Watermark`.
        """
        mark = getattr(watermark, "settings", None)
        if not isinstance(mark, Scheme):
            raise SourceError(f"watermark must be a guideway.Watermark, not {watermark!r}"[:300])
        return Model.of(Watermarked(inner(self.whole), mark))

    def named(self, name: str) -> "Model":
        """Return the model under another name in printed expressions."""
        if not isinstance(name, str) or not name:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise SourceError(f"the name of a model must be a text, not {name!r}"[:300])
        return Model.of(expr.mapped(self.node, lambda leaf: expr.Leaf(leaf.source, name)))

    def _viewed(self, view: View, name: str) -> "Model":
        """Return the model with one more view of the prompt, before the others."""

        def viewed(leaf: expr.Leaf) -> expr.Leaf:
            return _leaf(leaf, name, views=(view, *reading(leaf).views))

        return Model.of(expr.mapped(self.node, viewed))

    # One prompt gives one result; num_return_sequences and lists of prompts give a list. Type
    # checkers take the first overload that fits.
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
        retries: int = 0,
        on_invalid: Any = "raise",
        on_error: Any = "raise",
        batch_size: int | None = None,
        progress: Any = False,
        **arguments: Any,
    ) -> Any:
        """Generate texts that continue the prompts and match their sources, and read the values.

        Args:
            prompt: a text, used as it is, or chat messages for the model's template. A list of
                prompts is a batch.
            source: what the text must be: a Python type, a source, a JSON Schema as a dict, or None
                for any text. In a batch also a list, one for each prompt.
            sampling: the settings as a `Sampling`. In a batch also a list, one for each prompt.
            schema_in_prompt: whether to describe the type in the prompt.
            retries: how often to ask again if a validator of the type refuses the value.
            on_invalid: "raise" an error if a validator still refuses the value after all retries,
                or "return" a result with that `error`.
            on_error: "raise" the first error of a row, with the number of the row, or "return" a
                result with that `error`. A refused value is an error of its row too.
            batch_size: number of prompts that run at once; by default as many as give 64 rows. The
                texts do not depend on it.
            progress: True for a bar on standard error, or a function that receives the number of
                finished rows and the number of all rows.
            trace: number of tokens that `result.trace` shows for each stage and step; True is 5.
            heal: whether to generate the last tokens of a text prompt again (`guideway.heal`).
            canonical: whether to allow only the token sequence that the tokenizer itself produces
                for the text, including the part that `heal` generates again; see
                `guideway.compile`.
            speculate: what drafts the next tokens, which the model then verifies several at a time;
                the text is the same. "forced": strings that the constraint forces. "lookup": also
                what followed the last tokens in the prompt, the text, or earlier texts of this
                model. "auto": "lookup", if the model's cache can forget tokens. A smaller `Model`,
                or an early exit of this one (`exit_at`). A folder of `guideway.train_heads`.
                "off": one forward for each token.
            budget: limits of compiling the source and of each token, for sources of strangers:
                `Budget.untrusted()`.
            **arguments: the settings as arguments, by the names of `Sampling`, and those above.

        Returns:
            A `Result`. For several prompts or several sequences, a list of results in order; a
            search returns fewer if it finds no more texts. Type checkers infer the type of
            `result.value` from the source. They infer a list if `num_return_sequences` is a
            variable.

        Raises:
            SourceError, UnsupportedError, UnsatisfiableError: as `guideway.compile`.
            LimitError: no text of the source fits into `max_new_tokens`; the message has the number
                of tokens that it needs.
            ModelError: the model gave NaN or infinite values.
            InvalidValueError: a validator refused the value; `result` of the error has the text.
            GenerationInterrupted: Ctrl-C (a `KeyboardInterrupt`); `results` of the error has the
                results so far.
        """
        call = Call(self._ensemble, prompt, source, **arguments)
        options = RunOptions(retries, on_invalid, on_error, batch_size, progress)
        results, several = run(call, options)
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
        """Run `generate` in a thread, so that the event loop continues.

        Calls that run at the same time on one model share forwards, unless a GPU runs captured
        steps; the texts do not change.
        If the task is cancelled, the generation ends after its current step.
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
        self, prompt: Any, source: Any = None, *, on_invalid: Any = "raise", **arguments: Any
    ) -> Iterator[Part]:
        """Generate one text and yield its parts as they are generated.

        `stream` takes one prompt and one sequence, and does not retry. The other arguments and the
        errors are those of `generate`. Closing or dropping the iterator ends the generation and
        frees its cache.

        Yields:
            `Part`s: the new text, and the value that can be read so far. The last part has the
            whole `Result`.

        Raises:
            InvalidValueError: a validator refused the value. The error replaces the last part; with
                `on_invalid="return"` the last part has a result with that `error`.
            GenerationInterrupted: Ctrl-C during a step; `results` of the error has the text so far.
        """
        return stream(Call(self._ensemble, prompt, source, **arguments), on_invalid)

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
        """Run `stream` for `async for`: each step runs in a thread.

        If the task is cancelled, the generation ends after its current step.
        """
        parts: Any = await in_thread(self.stream, prompt, source, **arguments)
        try:
            while (part := await in_thread(next, parts, None)) is not None:
                yield part
        finally:
            with contextlib.suppress(ValueError):  # a step still runs; the generator ends after it
                parts.close()
            del parts

    def choose(self, prompt: Prompt, choices: Iterable[str]) -> dict[str, float]:
        """Return the probability of each choice after the prompt, given that one of them follows.

        The score of a choice is the probability of its canonical tokens. If a choice is a prefix of
        another one, the end of the text is included in its score. The result is exact: the model
        reads all tokens of all choices. Classifiers judge whole choices, by Bayes' rule.

        Args:
            prompt: a text or chat messages.
            choices: at least one text; all texts are different.

        Returns:
            The probability by choice, in the given order. The probabilities sum to 1.

        Raises:
            SourceError: the choices are not different, non-empty texts.
            UnsupportedError: there are several prompts, or the tokenizer loses information.
            LimitError: the prompt and a choice are longer than the model's context.
            DeadEndError: the model gives every choice the probability 0.
            ModelError: the model gave NaN or infinite values.
        """
        ensemble, options = self._ensemble, read_choices(choices)
        check_lossless(ensemble.vocabulary)
        [given, *_], batch = split_prompts(prompt)
        if batch:
            said = "choose takes one prompt, not a list"
            raise UnsupportedError(said, feature="choose on a batch")
        reads, reader = read_prompts(ensemble, given), ensemble.contexts[0].reader
        tokens = [reader.continuation(reads[0], option) for option in options]
        ends = [any(o != option and o.startswith(option) for o in options) for option in options]
        asked = given if isinstance(given, str) else ""
        return _shares(
            options, score(ensemble, prompts_of(reads), tokens, ends, asked, reads[0].joint)
        )

    @contextlib.contextmanager
    def session(self, most_bytes: int = 1 << 32) -> "Generator[Model]":
        """Return this model with a prefix cache of its own, which is freed at the end.

        All calls share a prefix cache of 512 MiB, from which the least recently used texts are
        dropped. A session keeps what it has read, whatever else happens: use it for a chat.

        Args:
            most_bytes: memory of keys and values above which the least recently used texts of the
                session are dropped.

        Example:
            >>> import guideway as gw
            >>> from guideway.models.fake import FakeModel
            >>> vocabulary = gw.Vocabulary([bytes([b]) for b in range(256)] + [b"<eos>"], {256})
            >>> model = gw.Model(FakeModel.random(vocabulary), name="base")
            >>> with model.session() as session:
            ...     session.generate("How many? ", int, max_new_tokens=3, seed=1).value
            367
        """
        prefixes = PrefixCache(most_bytes)
        made = Model.of(self.whole)
        made._ensemble = Ensemble(self.whole, prefixes)
        try:
            yield made
        finally:
            prefixes.clear()


def layers_of(leaf: expr.Leaf) -> int:
    """The number of blocks of a leaf's model; refused if it is unknown."""
    model = reading(leaf).model
    layers = model.layers if isinstance(model, VariedModel) else 0
    if layers < 2:
        raise UnsupportedError(
            f"{leaf.name} does not support early exits: its blocks are not known",
            feature="early exits",
        )
    return layers


def exited(leaf: expr.Leaf, block: int) -> expr.Leaf:
    """The early exit of a leaf after a block."""
    layers = reading(leaf).exit or layers_of(leaf)
    if not isinstance(block, int) or isinstance(block, bool) or not 1 <= block < layers:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise SourceError(
            f"exit_at({block!r}): {leaf.name} has {layers} blocks, so the block must be from 1 to "
            f"{layers - 1}"
        )
    return _leaf(leaf, f"exit_at({block})", exit=block)


def _leaf(leaf: expr.Leaf, name: str, **changes: Any) -> expr.Leaf:
    return expr.Leaf(replace(reading(leaf), **changes), f"{leaf.name}.{name}")


def _shares(options: list[str], logs: Sequence[float]) -> dict[str, float]:
    """Probabilities of options from log-probabilities, given that one of the options follows."""
    top = max(logs)
    if top == -math.inf:
        raise DeadEndError("the model gives every choice the probability 0")
    weights = [math.exp(log - top) for log in logs]
    return {o: w / sum(weights) for o, w in zip(options, weights, strict=True)}


def as_model(given: object, name: str = "") -> Model:
    """`given`, if it is a model; `name` is the argument."""
    if isinstance(given, Model):
        return given
    where = f"{name}: " if name else ""
    shown = one_line(brief(given))
    raise SourceError(f"{where}{shown} is not a guideway.Model: load one with guideway.load")


def reader_of(tokenizer: object) -> PromptReader:
    """A reader of texts for any kind of tokenizer."""
    if isinstance(tokenizer, Model):
        return PromptReader(tokenizer.vocabulary, tokenizer.tokenizer)
    if isinstance(tokenizer, Vocabulary):
        return PromptReader(tokenizer)
    if isinstance(tokenizer, str | Path):
        path = Path(tokenizer)
        file = path / "tokenizer.json" if path.is_dir() else path
        vocabulary, library = Vocabulary.from_tokenizer_json(file), import_module("transformers")
        return PromptReader(vocabulary, library.PreTrainedTokenizerFast(tokenizer_file=str(file)))
    return PromptReader(Vocabulary.from_transformers(tokenizer), tokenizer)
