"""Let a model think in free text first, and then answer with a type, in one text.

Run: python examples/reasoning.py

You will see a thought, and after it an `Answer` that is always valid. The thought has no limit of
its own: `max_new_tokens` leaves it the tokens that the answer does not need, so the text is whole
however long the model would think. Measured with 60 tokens: the thought is stopped in the middle of
a sentence, and the answer gets exactly the tokens that it needs.
"""

from typing import Literal

from pydantic import BaseModel

import guideway as gw

QUESTION = "Is a tomato a fruit or a vegetable? Think briefly, then answer in JSON."


class Answer(BaseModel):
    """What it is."""

    kind: Literal["fruit", "vegetable"]
    sure: bool


def main() -> None:
    model = gw.load("smollm2-135m")
    talk = [{"role": "user", "content": QUESTION}]
    settings = gw.Sampling(temperature=0.7, repetition_penalty=1.2, seed=1, max_new_tokens=60)
    result = model.generate(talk, gw.thinking(gw.capture("answer", Answer)), sampling=settings)
    print(result.text)
    print(len(result.tokens), "tokens;", result.value, result.captures)


if __name__ == "__main__":
    main()
