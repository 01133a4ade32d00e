"""Every sampler × guidance × constraint on models that give the worst there is.

Minus infinity, ties, numbers near the end of float32: no token that is not allowed, no NaN. NaN and
plus infinity are a model's own fault, and are told as such.
"""

import hashlib
import itertools
import json
import math
from typing import Any

import numpy as np
import pytest
import torch

import guideway as gw
from guideway.models.fake import FakeModel

BYTES = gw.Vocabulary([bytes([b]) for b in range(256)] + [b"<eos>", None], {256}, width=260)
HEAT = {"T .7": {"temperature": 0.7}, "T 1e5": {"temperature": 1e5}}
FILTERS = {
    "none": {},
    "top_k": {"top_k": 5},
    "top_p": {"top_p": 0.9},
    "min_p": {"min_p": 0.1},
    "typical": {"typical_p": 0.5},
}
SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"enum": ["x", "yy", None]}},
    "required": ["a", "b"],
    "additionalProperties": False,
}
SOURCES = {
    "none": None,
    "regex": gw.Regex(r"[a-f]{2,5}(-[0-9]+)?"),
    "schema": gw.JsonSchema(SCHEMA),
}
NEEDED = [*b'abcdefxynul{}":, 0123456789-', 256]


def wild(seed: int, bad: float | None = None) -> gw.Model:
    """Logits that are decided by the text: ties, −∞ for some tokens, huge and tiny numbers."""

    def row(prefix):
        digest = hashlib.blake2b(repr((seed, prefix[-3:])).encode(), digest_size=8).digest()
        noise = np.random.default_rng(int.from_bytes(digest, "little"))
        row = noise.choice([0.0, 0.0, 1.0, 2.5, -7.0, 60.0, -1e30, 3e38], 260).astype(np.float32)
        row[noise.random(260) < 0.1] = -math.inf
        # What the constraints need for an end is there, or the model has a dead end of its own.
        row[NEEDED] = noise.choice([0.0, 1.0, -3.0], len(NEEDED))
        if bad is not None and len(prefix) > 3:
            row[int(noise.integers(260))] = bad
        return torch.as_tensor(row)

    return gw.Model(FakeModel(BYTES, row))


class Vowels:
    """Likes vowels; some texts it finds impossible."""

    def log_probs(self, texts):
        shares = [sum(c in "aeiou" for c in text) / max(1, len(text)) for text in texts]
        return torch.tensor([math.log(s) if s else -math.inf for s in shares])


def guidances(bad: float | None = None) -> dict[str, gw.Model]:
    base, expert, anti = (wild(n, bad) for n in range(3))
    return {
        "none": base,
        "proxy": gw.proxy_tune(base, expert, anti),
        "contrast": gw.contrast(base, anti),
        "cfg": gw.cfg(base, base.prompted("no "), 1.5),
        "classifier": base + gw.classifier(Vowels(), alpha=2, top=10),
    }


def valid(kind: str, text: str) -> bool:
    match kind:
        case "regex":
            return gw.compile(SOURCES["regex"], BYTES).matches(text)
        case "schema":
            value = json.loads(text)
            whole = set(value) == {"a", "b"} and isinstance(value["a"], int | float)
            return whole and value["b"] in ("x", "yy", None)
        case _:
            return True


GUIDANCES = ("none", "proxy", "contrast", "cfg", "classifier")


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("guidance", GUIDANCES)
def test_nothing_forbidden_and_no_nan(guidance, kind):
    model = guidances()[guidance]
    settings = [gw.Sampling(max_new_tokens=20)]  # greedy: filters keep its token
    settings += [
        gw.Sampling(**heat, **some, seed=7, max_new_tokens=20)
        for heat, some in itertools.product(HEAT.values(), FILTERS.values())
    ]
    sources = [SOURCES[kind]] * len(settings)
    for result in model.generate(["Go"] * len(settings), sources, sampling=settings):
        assert valid(kind, result.text)
        assert not any(map(math.isnan, result.logprobs))
        assert not math.isnan(result.log_z)
        assert all(BYTES.tokens[token] for token in result.tokens)


MODES: dict[str, dict[str, Any]] = {
    "beams": {"num_beams": 4, "early_stopping": "never"},
    "drawn beams": {"num_beams": 3, "temperature": 1.3, "top_p": 0.95, "seed": 1},
    "diverse beams": {"num_beams": 4, "num_beam_groups": 2, "diversity_penalty": 1.0},
    "stochastic beams": {"num_beams": 4, "stochastic_beams": True, "seed": 2},
}


def tame(guidance: str) -> gw.Model:
    base, expert, anti = (gw.Model(FakeModel.random(BYTES, n, scale=2.0)) for n in range(3))
    if guidance == "proxy":
        return gw.proxy_tune(base, expert, anti)
    return base + gw.classifier(Vowels(), alpha=2, top=10) if guidance == "classifier" else base


@pytest.mark.parametrize("guidance", ["none", "proxy", "classifier"])
@pytest.mark.parametrize("mode", MODES)
def test_searches_find_texts_of_the_language_within_the_limits(mode: str, guidance: str):
    settings = MODES[mode] | {"max_new_tokens": 20, "min_new_tokens": 3}
    settings["num_return_sequences"] = settings["num_beams"]
    model = tame(guidance)
    results = model.generate(["Go", "And"], [SOURCES["regex"], SOURCES["schema"]], **settings)
    assert len(results) >= 4
    for result in results:
        assert valid("schema" if result.text.lstrip()[:1] == "{" else "regex", result.text)
        assert result.finish_reason in {"stop", "length"}
        assert 3 <= len(result.tokens) <= 20
        assert result.score is not None
        assert (result.weight is None) == (mode != "stochastic beams")
    alone = model.generate("Go", SOURCES["regex"], **settings)
    for mine, other in zip(alone, results, strict=False):
        assert mine.tokens == other.tokens
        assert mine.score == pytest.approx(other.score)
    assert len(model.generate("Go", max_new_tokens=5, **MODES[mode]).tokens) <= 5


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize("guidance", GUIDANCES)
def test_a_model_that_gives_no_numbers_is_told(guidance, bad):
    model = guidances(bad)[guidance]
    for sampling in (gw.Sampling(), gw.Sampling(temperature=0.7, top_p=0.9, seed=1)):
        with pytest.raises(gw.ModelError, match="NaN or infinite logits at step"):
            model.generate("Go", SOURCES["regex"], sampling=sampling)
