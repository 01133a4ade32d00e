"""`Result`: a generated text, and its value once that was read.

In notebooks, results are shown by the view of `tokens.js`, which the playground has too. Everything
that the model wrote is escaped, and nothing is loaded. Where scripts do not run, as in a notebook
that is not trusted, the text is shown without the view.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any, Generic

from typing_extensions import TypeVar

from guideway.chat.tools import ToolCall
from guideway.errors import GuidewayError, InvalidValueError, brief, one_line
from guideway.generation.row.request import FinishReason, Population, Stats
from guideway.generation.row.trace import TracedStep, removed


@cache
def _code() -> str:
    return files("guideway.generation.row").joinpath("tokens.js").read_text(encoding="utf-8")


Value_co = TypeVar("Value_co", covariant=True, default=Any)


@dataclass(frozen=True, slots=True)
class Result(Generic[Value_co]):
    """One generated text and its value. `str(result)` is the text.

    Attributes:
        value: the text read as the requested type. For free text, regexes and choices, the text
            itself. None if `error` is set or the text was interrupted.
        text: the generated text.
        tokens: the drawn token ids, without end ids. If a stop string ended the text, they include
            the token that completed it.
        logprobs: the model's own log-probability of each token (natural logarithm, before the
            constraint and the filters of the settings). For an expression: after its arithmetic,
            nuclei and plausible sets, before classifiers.
        finish_reason: "stop": the model ended the text. "length": `max_new_tokens` changed the
            text: it ended a text that could go on, or excluded a token after which a constrained
            text could not end in time. Constrained texts are complete in any case. "interrupted":
            the result is one of a `guideway.GenerationInterrupted`. "error": the row failed.
        error: the reason why there is no value: the `InvalidValueError` of a validator
            (`on_invalid="return"`), or the error of this row (`on_error="return"`). Its `row` is
            the index of the prompt.
        stats: time, memory, and the share of probability that the constraint removed.
        seed: the seed of the random choices; None if there were none.
        trace: the effect of each stage on the distribution at each step, if `trace` was set.
            `print` a step to read it.
        score: the number by which a search ranked the text. Beams: log-probability over the power
            of the length. Stochastic beams: the perturbed log-probability. Contrastive search: the
            mean score of its tokens. best_of: the result of `best_by`.
        weight: the importance weight of a text drawn without replacement (stochastic beams).
        population: the particles of sequential Monte Carlo; the text is a draw from them.
        attempts: number of texts that rejection sampling drew for this one, including it.
        captures: the texts of each `guideway.capture` by name, read as values if its source is a
            type or schema. A list if the source allows several captures of the name.
        tool_calls: the calls, if the source is `guideway.tools(...)`.
        message: the text as an assistant message in OpenAI's form, for the next turn. With calls,
            it has `tool_calls` and their ids.
        pieces: the text of each token; "�" for a part of a character.
        log_allowed: the logarithm of the probability of all allowed tokens at each step, end ids
            included; 0 for free text. A token's log-probability under the constraint is its
            `logprobs` less this.
        log_end: the model's own log-probability of the end id; 0 if none was drawn.
    """

    value: Value_co
    text: str
    tokens: tuple[int, ...]
    logprobs: tuple[float, ...]
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
    log_end: float = 0.0

    @property
    def log_z(self) -> float:
        """The logarithm of the probability of all allowed tokens, summed over all steps.

        It is 0 for free text. The closer to 0, the closer is the sample to the model's own
        distribution.
        """
        return math.fsum(self.log_allowed)

    @property
    def shortened(self) -> bool:
        """True if `max_new_tokens` cut or changed the text: `finish_reason` is "length"."""
        return self.finish_reason == "length"

    @staticmethod
    def failed(error: GuidewayError) -> "Result[Any]":
        """Return the result of a row that failed before it gave a text."""
        return Result(None, "", (), (), "error", error, Stats())

    def unwrap(self) -> Value_co:
        """Return the value.

        Raises:
            GuidewayError: `error`, if it is set.
            InvalidValueError: the text was interrupted.
        """
        if self.error is not None:
            raise self.error
        if self.finish_reason == "interrupted":
            error = InvalidValueError("the text was interrupted, so it has no value")
            error.result = self
            raise error
        return self.value

    def __str__(self) -> str:
        """The text."""
        return self.text

    def __repr__(self) -> str:
        """The value or the error, the finish reason, and the number of tokens."""
        shown = f"value={brief(self.value, 110)}"
        if self.error is not None:
            shown = f"error={brief(self.error, 60)}, text={brief(self.text, 50)}"
        how = f"finish_reason={self.finish_reason!r}"
        return one_line(f"Result({shown}, {how}, {len(self.tokens)} tokens)")

    def _repr_html_(self) -> str:
        """The tokens in a notebook: with `trace`, each shows what every stage did to it."""
        facts = [
            f"{len(self.tokens)} tokens",
            f"{self.stats.tokens_per_second:.1f} per second",
            f"finish_reason {self.finish_reason!r}",
            *([] if self.error is None else [f"error: {brief(self.error)}"]),
        ]
        data = {"steps": [step.record for step in self._steps()], "facts": facts}
        inert = json.dumps(data, allow_nan=False).replace("<", "\\u003c")  # no tag can begin
        return (
            f'<guideway-tokens><pre style="white-space: pre-wrap">{escape(self.text)}</pre>'
            f'<small>{escape(", ".join(facts))}</small><script type="application/json">{inert}'
            f"</script></guideway-tokens><script>{_code()}</script>"
        )

    def _steps(self) -> Sequence[TracedStep]:
        """The trace; without one, the tokens with their probabilities."""
        if self.trace is not None:
            return self.trace
        drawn = zip(self.tokens, self.pieces, self.logprobs, self.log_allowed, strict=False)
        return [
            TracedStep(token, piece, logprob, removed(allowed), ())
            for token, piece, logprob, allowed in drawn
        ]
