"""Log-probabilities of tokens in OpenAI's forms: the model's own, before the constraint."""

import math
from collections.abc import Iterable, Sequence
from typing import Any, Final, final

from guideway.generation.row.trace import Likely, TracedStep
from guideway.vocabulary.vocabulary import Vocabulary

LEAST: Final = -9999.0  # instead of −∞, which JSON does not have


@final
class Logprobs:
    """Writes the log-probabilities of the tokens of one model."""

    def __init__(self, vocabulary: Vocabulary, top: int) -> None:
        """Write the `top` most probable tokens of each place."""
        self._vocabulary, self._top = vocabulary, top

    def drawn(self, steps: Iterable[TracedStep] | None) -> list[TracedStep]:
        """The steps of a text, without its end id."""
        ends = self._vocabulary.eos_ids
        return [step for step in steps or () if step.token not in ends]

    def tokens(self, steps: Iterable[TracedStep] | None) -> list[dict[str, Any]]:
        """The tokens of a text, of chat completions and of the Responses API."""
        return [
            {
                **self._token(step.token, step.text, step.logprob),
                "top_logprobs": [
                    self._token(each.token, each.text, _log(each.probability))
                    for each in self._likely(step)
                ],
            }
            for step in self.drawn(steps)
        ]

    def text(self, steps: Iterable[TracedStep] | None, start: int = 0) -> dict[str, Any]:
        """`logprobs` of a text completion, from the character `start` of its text."""
        own, offsets = self.drawn(steps), list[int]()
        for step in own:
            offsets.append(start)
            start += len(step.text)
        return {
            "tokens": [step.text for step in own],
            "token_logprobs": [max(step.logprob, LEAST) for step in own],
            "top_logprobs": [
                {each.text: _log(each.probability) for each in self._likely(step)} for step in own
            ],
            "text_offset": offsets,
        }

    def _likely(self, step: TracedStep) -> Sequence[Likely]:
        """The most probable tokens of the model or expression: the stage before the constraint."""
        names = [stage.name for stage in step.stages]
        place = names.index("constraint") - 1
        return step.stages[place].top[: self._top]

    def _token(self, token: int, text: str, logprob: float) -> dict[str, Any]:
        spelled = [*self._vocabulary.shown(token)]
        return {"token": text, "logprob": max(logprob, LEAST), "bytes": spelled}


def _log(probability: float) -> float:
    return math.log(probability) if probability > 0 else LEAST
