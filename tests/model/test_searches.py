"""Every search × constraint × guidance on the real model: only texts of the language.

All searches of a guidance run as one batch. CI takes half: each search with each constraint and
with each guidance; `pytest -m slow tests/model` runs all.
"""

import json
import re
from typing import TYPE_CHECKING, Any, Final

import pytest
import torch

import guideway as gw

if TYPE_CHECKING:
    from guideway.api.model import Model

pytestmark = pytest.mark.model

SEARCHES: Final[dict[str, dict[str, Any]]] = {
    "beam 4": {"num_beams": 4, "early_stopping": True, "num_return_sequences": 4},
    "diverse beam": {"num_beams": 4, "early_stopping": True, "num_beam_groups": 2,
                     "diversity_penalty": 1.0},
    "stochastic beam 4": {"num_beams": 4, "num_return_sequences": 4, "stochastic_beams": True,
                          "seed": 1},
    "best of 4": {"best_of": 4, "temperature": 1.0, "seed": 1},
    "contrastive": {"penalty_alpha": 0.6, "top_k": 4},
    "smc 8": {"exactness": "smc", "particles": 8, "seed": 1},
}  # fmt: skip
PATTERN: Final = r"[A-Z][a-z]{2,4}(, [0-9]{2})?"
SCHEMA: Final = {
    "type": "object",
    "properties": {"age": {"type": "integer", "minimum": 10, "maximum": 99}},
    "required": ["age"],
    "additionalProperties": False,
}
SOURCES: Final = {"regex": gw.Regex(PATTERN), "schema": gw.JsonSchema(SCHEMA)}
GUIDANCES: Final = ["none", "proxy", "classifier", "watermark"]
PROMPT: Final = "Ann is 34.\n"
EXPERTS: Final = ["Ann Ann Ann, 34", "Bob is {"], ["The Zoo, 99", "Xi is {"]


class Short:
    """Likes short texts."""

    def log_probs(self, texts: list[str]) -> torch.Tensor:
        return torch.tensor([-0.1 * len(text) - 0.1 for text in texts])


def guided(model: "Model", guidance: str) -> "Model":
    if guidance == "proxy":
        expert, anti = (gw.ngram(texts, model, 2) for texts in EXPERTS)
        return gw.proxy_tune(model, expert, anti, alpha=0.5)
    if guidance == "classifier":
        return model + gw.classifier(Short(), alpha=2, top=5)
    if guidance == "watermark":
        return model.watermarked(gw.Watermark(key="secret", gamma=0.5))
    return model


def valid(kind: str, text: str) -> bool:
    if kind == "regex":
        return re.fullmatch(PATTERN, text) is not None
    value = json.loads(text)
    return set(value) == {"age"} and 10 <= value["age"] <= 99


@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("guidance", GUIDANCES)
def test_searches_on_the_real_model_give_only_texts_of_the_language(
    built_in: "Model", guidance: str, whole: bool
):
    asked = [
        (name, kind)
        for place, name in enumerate(SEARCHES)
        for number, kind in enumerate(SOURCES)
        if whole or (place + number + GUIDANCES.index(guidance)) % 2
    ]
    results = guided(built_in, guidance).generate(
        [PROMPT] * len(asked),
        [SOURCES[kind] for _, kind in asked],
        sampling=[gw.Sampling(**SEARCHES[name], max_new_tokens=8) for name, _ in asked],
    )
    rest = iter(results)
    for name, kind in asked:
        for _ in range(SEARCHES[name].get("num_return_sequences", 1)):
            result = next(rest)
            assert valid(kind, result.text), (name, result.text)
            assert result.finish_reason in {"stop", "length"}
    assert not [*rest]
