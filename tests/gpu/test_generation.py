"""Generation with logits on a GPU: token for token what it is with the same logits on the CPU.

The models are fakes, whose numbers are the same on both; so every difference is one of what happens
to them: masks, expressions, settings, searches, watermarks, and the draw.
"""

import json
import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import pytest
import torch
from torch import Tensor

import guideway as gw
from elsewhere import Elsewhere
from guideway.models.fake import FakeModel, Prefix

pytestmark = pytest.mark.gpu

CPU = torch.device("cpu")
WORDS = [b"ab", b"true", b'":', b'"a', b"12", b"-"]
VOCABULARY = gw.Vocabulary(
    [*(bytes([b]) for b in range(256)), *WORDS, b"<end>", None], {262}, width=300
)
OTHER = gw.Vocabulary([*WORDS, b"<end>", *(bytes([b]) for b in range(256))], {6}, width=280)
SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "integer", "minimum": 10, "maximum": 999},
                   "b": {"type": "array", "items": {"enum": ["x", True, None]}, "maxItems": 3}},
    "required": ["a", "b"],
    "additionalProperties": False,
}  # fmt: skip
SOURCES = {
    "none": None,
    "regex": gw.Regex(r"[a-f]{2,5}(-[0-9]+)?"),
    "schema": gw.JsonSchema(SCHEMA, whitespace="compact"),
    "choice": gw.Choice(["ab", "abab", "true-12", "née"]),
}
PROMPTS = ["Go", "On", "Tell me:"]


class Vowels:
    """Likes vowels."""

    def log_probs(self, texts: list[str]) -> Tensor:
        return torch.tensor([-0.3 * sum(c not in "aeiou" for c in text[-4:]) for text in texts])


@cache
def fake(seed: int, vocabulary: gw.Vocabulary = VOCABULARY) -> FakeModel:
    """Noise, with early exits and hidden states."""

    def states(prefix: Prefix) -> Tensor:
        return torch.sin(torch.arange(1.0, 9.0) * (1 + sum(prefix[-3:]) + seed))

    functions = [FakeModel.random(vocabulary, 10 * seed + n)._functions[-1] for n in range(8)]
    return FakeModel(vocabulary, functions[-1], exits=functions[:-1], states=states)


def model(
    seed: int, device: torch.device, vocabulary: gw.Vocabulary = VOCABULARY, name: str = "m"
) -> gw.Model:
    return gw.Model(Elsewhere(fake(seed, vocabulary), device), name=f"{name}{seed}")


def expressions(device: torch.device) -> dict[str, Callable[[], gw.Model]]:
    base, expert, anti = (model(seed, device) for seed in range(3))
    return {
        "one": lambda: base,
        "scaled": lambda: 2 * base,
        "proxy": lambda: gw.proxy_tune(base, expert, anti),
        "dexperts": lambda: gw.dexperts(base, expert, anti),
        "contrast": lambda: gw.contrast(base, anti),
        "cfg": lambda: gw.cfg(base, base.prompted("no "), 1.5),
        "exit": lambda: base - 0.5 * base.exit_at(3),
        "dola": lambda: gw.dola(base, "high"),
        "maximum": lambda: gw.maximum(base, expert),
        "minimum": lambda: gw.minimum(base, expert),
        "nucleus": lambda: (base + expert).nucleus(0.8) - anti,
        "gedi": lambda: base + gw.gedi(expert, anti, alpha=4.0),
        "classifier": lambda: base + gw.classifier(Vowels(), alpha=2.0, top=10),
        "n-grams": lambda: base + gw.ngram(["abab true"], base),
        "another vocabulary": lambda: base + 0.5 * model(3, device, OTHER),
        "an expert on the CPU": lambda: base + 0.5 * model(4, CPU),
        "led by the CPU": lambda: model(4, CPU) + 0.5 * base,
    }


DRAWN: dict[str, Any] = {"temperature": 0.8, "seed": 3}
SETTINGS: dict[str, dict[str, Any]] = {
    "greedy": {},
    "drawn": DRAWN,
    "three": {**DRAWN, "num_return_sequences": 3},
    "filters": {**DRAWN, "top_k": 20, "top_p": 0.9, "min_p": 0.01, "typical_p": 0.95},
    "cutoffs": {**DRAWN, "epsilon_cutoff": 1e-3, "eta_cutoff": 1e-3, "top_n_sigma": 2.0},
    "top-H": {**DRAWN, "top_h": 0.5},
    "xtc": {**DRAWN, "xtc_probability": 0.5, "xtc_threshold": 0.01},
    "mirostat": {**DRAWN, "mirostat_mode": 2, "mirostat_tau": 4.0},
    "mirostat of ranks": {**DRAWN, "mirostat_mode": 1, "mirostat_tau": 4.0},
    "penalties": {
        "repetition_penalty": 1.2, "presence_penalty": 0.5, "frequency_penalty": 0.3,
        "flat_penalty": 0.1, "dry_multiplier": 0.8, "no_repeat_ngram_size": 3,
    },
    "words": {"bad_words_ids": ["x", "ba"], "logit_bias": {"true": 2.0, 97: -1.0}, **DRAWN},
    "beams": {"num_beams": 4, "num_return_sequences": 2},
    "drawn beams": {"num_beams": 3, **DRAWN},
    "diverse beams": {"num_beams": 4, "num_beam_groups": 2, "diversity_penalty": 0.5},
    "stochastic beams": {
        "num_beams": 3, "num_return_sequences": 3, "stochastic_beams": True, "seed": 1,
    },
    "contrastive": {"penalty_alpha": 0.6, "top_k": 4},
    "best of four": {"best_of": 4, **DRAWN},
    "by majority": {"best_of": 4, "best_by": "majority", **DRAWN},
    "asap": {"exactness": "asap", "num_return_sequences": 3, **DRAWN},
    "smc": {"exactness": "smc", "particles": 6, **DRAWN},
}  # fmt: skip
MARKS = {
    "left": gw.Watermark(key="k"),
    "min": gw.Watermark(key="k", scheme="min", stage="logits"),
    "self": gw.Watermark(key="k", scheme="self", among="vocabulary"),
    "unigram": gw.Watermark(key="k", scheme="unigram", delta=math.inf),
    "synthid": gw.Watermark(key="k", scheme="synthid"),
    "gumbel": gw.Watermark(key="k", scheme="gumbel"),
}


def valid(kind: str, text: str) -> bool:
    if kind == "none":
        return True
    if kind == "schema":
        value = json.loads(text)
        assert set(value) == {"a", "b"}
        assert 10 <= value["a"] <= 999
        assert all(each in ("x", True, None) for each in value["b"])
    return bool(gw.compile(SOURCES[kind], VOCABULARY).matches(text))


def generated(guided: gw.Model, kind: str, **settings: Any) -> Any:
    """What comes out, or which error."""
    try:
        results = guided.generate(PROMPTS, SOURCES[kind], **{"max_new_tokens": 24, **settings})
    except gw.GuidewayError as error:
        return type(error)
    return [one for each in results for one in (each if isinstance(each, list) else [each])]


def same(found: Any, expected: Any, kind: str) -> None:
    if isinstance(expected, type):
        assert found is expected
        return
    assert [each.tokens for each in found] == [each.tokens for each in expected]
    for mine, theirs in zip(found, expected, strict=True):
        assert (mine.text, mine.finish_reason) == (theirs.text, theirs.finish_reason)
        assert valid(kind, mine.text)
        assert mine.logprobs == pytest.approx(theirs.logprobs, abs=1e-4)
        assert mine.log_z == pytest.approx(theirs.log_z, abs=1e-3)
        assert mine.score == pytest.approx(theirs.score, abs=1e-4)


def both(gpu: torch.device, name: str, mark: gw.Watermark | None = None) -> list[gw.Model]:
    made = [expressions(device)[name]() for device in (gpu, CPU)]
    return made if mark is None else [each.watermarked(mark) for each in made]


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("how", SETTINGS)
def test_all_settings_under_all_constraints(gpu: torch.device, how: str, kind: str) -> None:
    there, here = both(gpu, "one")
    found, expected = (generated(each, kind, **SETTINGS[how]) for each in (there, here))
    assert not isinstance(expected, type) or (kind, how) == ("none", "asap")
    same(found, expected, kind)


@pytest.mark.parametrize("how", ["greedy", "filters", "penalties", "beams", "smc"])
@pytest.mark.parametrize("name", expressions(CPU))
def test_all_expressions(gpu: torch.device, name: str, how: str) -> None:
    there, here = both(gpu, name)
    found, expected = (generated(each, "schema", **SETTINGS[how]) for each in (there, here))
    same(found, expected, "schema")


@pytest.mark.parametrize("kind", ["none", "schema"])
@pytest.mark.parametrize("how", ["drawn", "filters", "beams", "best of four"])
@pytest.mark.parametrize("mark", MARKS)
def test_all_watermarks(gpu: torch.device, mark: str, how: str, kind: str) -> None:
    there, here = both(gpu, "proxy", MARKS[mark])
    found, expected = (generated(each, kind, **SETTINGS[how]) for each in (there, here))
    same(found, expected, kind)


def test_a_batch_of_settings_constraints_and_lengths(gpu: torch.device) -> None:
    names = [name for name in SETTINGS if "beams" not in name and name not in {
        "contrastive", "best of four", "by majority", "asap", "smc", "three",
    }]  # fmt: skip
    settings = [
        gw.Sampling(**SETTINGS[name], max_new_tokens=5 + 2 * n) for n, name in enumerate(names)
    ]
    kinds = [[*SOURCES][n % 2 * 3] for n in range(len(names))]
    found = [
        each.generate(["Go"] * len(names), [SOURCES[kind] for kind in kinds], sampling=settings)
        for each in both(gpu, "one")
    ]
    for kind, mine, theirs in zip(kinds, *found, strict=True):
        same([mine], [theirs], kind)


def test_choices_streams_and_traces(gpu: torch.device) -> None:
    there, here = both(gpu, "classifier")
    mine, theirs = (each.choose("Go", ["ab", "abab", "née"]) for each in (there, here))
    assert mine == pytest.approx(theirs, abs=1e-5)
    schema = SOURCES["schema"]
    parts = [[part.text for part in each.stream("Go", schema)] for each in (there, here)]
    assert parts[0] == parts[1]
    traces = [each.generate("Go", schema, trace=3, **DRAWN).trace for each in (there, here)]
    assert len(traces[0]) == len(traces[1]) > 5


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize("name", ["one", "proxy"])
def test_a_model_that_gives_no_numbers_is_told(gpu: torch.device, name: str, bad: float) -> None:
    def function(prefix: Prefix) -> Tensor:
        row = torch.zeros(VOCABULARY.width)
        row[5] = bad if len(prefix) > 3 else 0.0
        return row

    broken = gw.Model(Elsewhere(FakeModel(VOCABULARY, function), gpu))
    guided = broken if name == "one" else gw.proxy_tune(broken, model(1, gpu), model(2, gpu))
    for settings in ({}, DRAWN):
        with pytest.raises(gw.ModelError, match="NaN or infinite logits at step"):
            guided.generate("Go", SOURCES["schema"], **settings)


def test_what_is_marked_on_the_gpu_is_found_on_the_cpu(gpu: torch.device) -> None:
    mark = gw.Watermark(key="k", gamma=0.5, delta=4.0)
    made = both(gpu, "one", mark)[0].generate("Go", max_new_tokens=120, **DRAWN)
    found = mark.detect(torch.tensor(made.tokens, device=gpu))
    assert found.z == mark.detect(made.tokens).z > 4


def test_threads_do_not_disturb_one_another(gpu: torch.device) -> None:
    there = both(gpu, "proxy")[0]

    def text(seed: int) -> str:
        settings = {"temperature": 0.9, "seed": seed, "top_p": 0.9}
        return there.generate("Go", SOURCES["schema"], **settings).text

    alone = [text(seed) for seed in range(8)]
    with ThreadPoolExecutor(4) as pool:
        assert [*pool.map(text, range(8))] == alone
