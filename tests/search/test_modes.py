"""Every way to search with beams × constraints × guidances: only texts of the language."""

import json
from typing import Any, Final

import pytest
import torch

import guideway as gw
from guideway.models.fake import FakeModel

BYTES = gw.Vocabulary([bytes([b]) for b in range(256)] + [b"<eos>"], {256})
MODES: Final[dict[str, dict[str, Any]]] = {
    "beams": {"num_beams": 4, "early_stopping": "never"},
    "drawn beams": {"num_beams": 3, "temperature": 1.3, "top_p": 0.95, "seed": 1},
    "diverse beams": {"num_beams": 4, "num_beam_groups": 2, "diversity_penalty": 1.0},
    "stochastic beams": {"num_beams": 4, "stochastic_beams": True, "seed": 2},
}
SCHEMA: Final = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"enum": ["x", "yy", None]}},
    "required": ["a", "b"],
    "additionalProperties": False,
}
REGEX: Final = gw.Regex(r"[a-f]{2,5}(-[0-9]+)?")
MOST: Final = 20


class Vowels:
    """Likes vowels."""

    def log_probs(self, texts: list[str]) -> torch.Tensor:
        return torch.tensor(
            [(1 + sum(c in "aeiou" for c in t)) / (1 + len(t)) for t in texts]
        ).log()


def guided(guidance: str) -> gw.Model:
    base, expert, anti = (gw.Model(FakeModel.random(BYTES, n, scale=2.0)) for n in range(3))
    if guidance == "proxy":
        return gw.proxy_tune(base, expert, anti)
    if guidance == "classifier":
        return base + gw.classifier(Vowels(), alpha=2, top=10)
    return base


def valid(kind: str, text: str) -> bool:
    if kind == "regex":
        return gw.compile(REGEX, BYTES).matches(text)
    value = json.loads(text)
    return set(value) == {"a", "b"} and value["b"] in ("x", "yy", None)


@pytest.mark.parametrize("guidance", ["none", "proxy", "classifier"])
@pytest.mark.parametrize("mode", MODES)
def test_all_texts_are_of_the_language_within_the_limits(mode: str, guidance: str):
    settings = MODES[mode] | {"max_new_tokens": MOST, "min_new_tokens": 3}
    settings["num_return_sequences"] = settings["num_beams"]
    sources = {"regex": REGEX, "schema": gw.JsonSchema(SCHEMA)}
    model = guided(guidance)
    results = model.generate(["Go", "And"], [*sources.values()], **settings)
    assert len(results) >= 4
    for result in results:
        kind = "schema" if result.text.lstrip()[:1] == "{" else "regex"
        assert valid(kind, result.text)
        assert result.finish_reason in {"stop", "length"}
        assert 3 <= len(result.tokens) <= MOST
        assert result.score is not None
        assert (result.weight is None) == (mode != "stochastic beams")
    free = model.generate("Go", max_new_tokens=5, **MODES[mode])
    assert len(free.tokens) <= 5


@pytest.mark.parametrize("mode", MODES)
def test_equal_searches_give_equal_texts_in_any_batch(mode: str):
    settings = gw.Sampling(**MODES[mode], max_new_tokens=8)
    others = [gw.Sampling(**each, max_new_tokens=8) for each in MODES.values()]
    model = guided("proxy")
    together = model.generate(["Go"] * 5, REGEX, sampling=[*others[:2], settings, *others[2:]])
    alone = model.generate("Go", REGEX, sampling=settings)
    assert together[2].tokens == alone.tokens
    assert together[2].score == pytest.approx(alone.score)
