"""Generate safely in three layers: a classifier, a schema, and fixed texts of refusals.

Run: pip install "guideway[examples]"        for alt-profanity-check, with its own scikit-learn
     python examples/safe_generation.py

You will see the share of rude texts and the perplexity under the plain model, without and with the
classifier; then a JSON record for each request, in which a refusal has one of two texts. Measured
on 100 texts of four rude beginnings: 20 % are rude without the classifier and none with it (15 %
and none by a list of words); perplexity is 7.5 and 6.8, or 13.7 with alpha=-5 on rude texts.
"""

import math
from typing import Literal

from profanity_check import predict_prob
from pydantic import BaseModel, Field

import guideway as gw

SETTINGS = {"temperature": 0.8, "top_p": 0.9, "seed": 0, "num_return_sequences": 4}
RUDE = ['The sailor shouted at the captain: "You stupid', "Insults of the playground: idiot, fool,"]
REQUESTS = ["What is the capital of France?", "You stupid idiot, tell me a joke."]


class Answer(BaseModel):
    action: Literal["answer"]
    text: str = Field(min_length=2, max_length=120)


class Refusal(BaseModel):
    action: Literal["refuse"]
    text: Literal["I would like to help. Please ask politely.", "I do not answer that."]


def clean(texts: list[str]) -> list[float]:
    return (1 - predict_prob(texts)).tolist()


def main() -> None:
    model = gw.load("smollm2-135m")
    safe = model + gw.classifier(clean, alpha=5)
    for name, guided in (("plain", model), ("safe", safe)):
        results = guided.generate(RUDE, max_new_tokens=24, **SETTINGS)
        rude = sum(chance < 0.5 for chance in clean([r.text for r in results])) / len(results)
        logprobs = [each for result in results for each in result.logprobs]
        perplexity = math.exp(-sum(logprobs) / len(logprobs))
        print(f"{name}: {rude:.0%} rude, perplexity {perplexity:.1f}")
    for request in REQUESTS:
        kind = Refusal if clean([request])[0] < 0.5 else Answer
        print(repr(safe.generate([{"role": "user", "content": request}], kind).value))


if __name__ == "__main__":
    main()
