"""What a generation gives back. Values only."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, final

from typing_extensions import TypeVar

from guideway.api.notebook import tokens_html
from guideway.engine.request import FinishReason, Population, Stats
from guideway.engine.trace import TracedStep
from guideway.errors import GuidewayError, InvalidValueError, brief, one_line
from guideway.syntax.tools import ToolCall

Value_co = TypeVar("Value_co", covariant=True, default=Any)


@final
@dataclass(frozen=True, slots=True)
class Result(Generic[Value_co]):
    """One generated text and what it means. `str(result)` is the text.

    Attributes:
        value: the text read as the type that was asked for; the text itself for free text, regexes
            and choices; None where `error` is set or the text was interrupted.
        text: the generated text.
        tokens: the ids drawn, end ids left out.
        logprobs: for each token the model's own log-probability of it (natural logarithm, before
            the constraint and all filters of the settings); of an expression, that of its
            arithmetic and its own nuclei and plausible sets, before classifiers.
        log_z: logarithm of the mass that the constraint allowed, summed over all steps; 0 for free
            text. How far the sample is from the model's own distribution.
        finish_reason: "stop" where the model ended the text. "length" where `max_new_tokens`
            changed it: free text was cut, or a token was not allowed because the text could not
            have ended in time, and another one was chosen. The text is in the language all the
            same. "interrupted" in the results of `guideway.GenerationInterrupted`, "error" where
            the row failed.
        error: why there is no value: an `InvalidValueError` where a validator of the type refused
            it (with `on_invalid="return"`), or what a row of a batch failed with (with
            `on_error="return"`); its `row` is the place of the prompt.
        stats: time, memory, and the share of probability that the constraint removed.
        seed: the seed of the random choices, None where there were none.
        trace: for each step what each stage did to the distribution, where it was asked for;
            `print` a step to read it.
        score: what a search ranked the text by: of beams the log-probability over the power of the
            length, of stochastic beams the perturbed log-probability, of best_of what `best_by`
            says.
        weight: the importance weight of a text drawn without replacement (stochastic beams).
        population: the particles of sequential Monte Carlo; the text is a draw from them.
        attempts: how many texts rejection drew for this one: it, and those given up since the one
            before.
        captures: what each `guideway.capture` of the source has, by its name: the value of a type
            or schema, else a text. A list where there may be several of the name.
        tool_calls: the calls, where the source is `guideway.tools(...)`.
        message: the text as the assistant's message in OpenAI's form, for the next turn: with
            `tool_calls` and their ids where there are calls.
        pieces: what each token spells; "�" for a part of a character.
        log_allowed: for each step, an end id's too, the logarithm of the probability of all tokens
            that the constraint allowed; 0 for free text. `log_z` is their sum.
    """

    value: Value_co
    text: str
    tokens: tuple[int, ...]
    logprobs: tuple[float, ...]
    log_z: float
    finish_reason: FinishReason
    error: GuidewayError | None
    stats: Stats = field(compare=False)
    seed: int | None = None
    trace: tuple[TracedStep, ...] | None = None
    score: float | None = None
    weight: float | None = None
    population: Population | None = None
    attempts: int | None = None
    captures: Mapping[str, Any] = field(default_factory=dict[str, Any])
    tool_calls: tuple[ToolCall, ...] = ()
    message: dict[str, Any] = field(default_factory=dict[str, Any])
    pieces: tuple[str, ...] = ()
    log_allowed: tuple[float, ...] = ()

    @property
    def shortened(self) -> bool:
        """Whether the text would be another one with a larger `max_new_tokens`.

        At exactly `max_new_tokens` a text that may end there counts as whole: the model is not
        asked for one token more.
        """
        return self.finish_reason == "length"

    @staticmethod
    def failed(error: GuidewayError) -> "Result[Any]":
        """The result of a row that gave no text."""
        return Result(None, "", (), (), 0.0, "error", error, Stats())

    def unwrap(self) -> Value_co:
        """The value.

        Raises:
            GuidewayError: `error`, if there is one.
            InvalidValueError: the text was interrupted.
        """
        if self.error is not None:
            raise self.error
        if self.finish_reason == "interrupted":
            error = InvalidValueError("there is no value: the text was interrupted")
            error.result = self
            raise error
        return self.value

    def __str__(self) -> str:
        """The text."""
        return self.text

    def __repr__(self) -> str:
        """The value, or why there is none, and how the text ended."""
        shown = f"value={brief(self.value, 110)}"
        if self.error is not None:
            shown = f"error={brief(self.error, 60)}, text={brief(self.text, 50)}"
        how = f"finish_reason={self.finish_reason!r}"
        return one_line(f"Result({shown}, {how}, {len(self.tokens)} tokens)")

    def _repr_html_(self) -> str:
        """The tokens in a notebook, shaded by what the constraint removed."""
        facts = [
            f"{len(self.tokens)} tokens",
            f"{self.stats.tokens_per_second:.1f} per second",
            f"finish_reason {self.finish_reason!r}",
            *([] if self.error is None else [f"error: {brief(self.error)}"]),
        ]
        return tokens_html(self.pieces, self.logprobs, self.log_allowed, facts)


@final
@dataclass(frozen=True, slots=True)
class Part(Generic[Value_co]):
    """What has been generated so far, while it grows.

    Attributes:
        delta: the text that is new with this part.
        text: all of the text so far.
        value: what can be read from it already: a partial object for types and schemas, the text
            for everything else.
        result: the whole result, with the last part only.
    """

    delta: str
    text: str
    value: Value_co | None
    result: Result[Value_co] | None = None

    def __str__(self) -> str:
        """The new text."""
        return self.delta

    def __repr__(self) -> str:
        """The new text, and the value so far; the whole result at the end."""
        shown = f"delta={brief(self.delta, 40)}"
        if self.result is not None:
            return one_line(f"Part({shown}, result={brief(self.result, 140)})")
        return one_line(f"Part({shown}, value={brief(self.value, 130)})")
