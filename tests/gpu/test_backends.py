"""Models of transformers on a GPU, with random weights: they say what they say on the CPU."""

import copy
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch

import guideway as gw
from guideway.integrations.transformers import LogitsProcessor
from guideway.models.adapter import Adapter
from guideway.models.transformers import TransformersModel
from small_models import KINDS, tiny

pytestmark = pytest.mark.gpu

CPU = torch.device("cpu")
PROMPTS = ["A cat", "The dog of my sister says", "A cat"]
TOKENS = [list(prompt.encode()) for prompt in PROMPTS]
SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "integer", "minimum": 10, "maximum": 999},
                   "b": {"enum": ["x", "yy", None]}},
    "required": ["a", "b"],
    "additionalProperties": False,
}  # fmt: skip
SOURCES = {
    "regex": gw.Regex("[a-z]{3,9}( [a-z]{1,4}){0,2}!"),
    "schema": gw.JsonSchema(SCHEMA, whitespace="compact"),
}
SETTINGS: dict[str, dict[str, Any]] = {
    "greedy": {},
    "drawn": {"temperature": 0.8, "top_p": 0.9, "seed": 3},
    "three": {"temperature": 0.8, "seed": 3, "num_return_sequences": 3},
    "beams": {"num_beams": 3, "num_return_sequences": 2},
    "stochastic beams": {"num_beams": 3, "stochastic_beams": True, "seed": 1},
    "contrastive": {"penalty_alpha": 0.6, "top_k": 4},
    "best of three": {"best_of": 3, "temperature": 0.8, "seed": 3},
    "smc": {"exactness": "smc", "particles": 4, "seed": 3},
}


@cache
def backend(kind: str, device: torch.device, seed: int = 0) -> TransformersModel:
    """One for each place: expressions tell models apart by what they are."""
    made = tiny(kind, 3, seed, 128)
    if device.type == "cpu":
        return made
    return TransformersModel(copy.deepcopy(made.module).to(device), made.tokenizer)


def model(kind: str, device: torch.device, seed: int = 0) -> gw.Model:
    made = backend(kind, device, seed)
    return gw.Model(made, made.tokenizer, name=f"{kind}{seed}")


def guided(name: str, device: torch.device) -> gw.Model:
    base = model("llama", device)
    match name:
        case "proxy":
            return base + 1.5 * (model("qwen2", device) - model("llama", device, 1))
        case "exits":
            return gw.dola(base, [1, 2])
        case "prompts":
            return gw.cfg(base.prompted("Kindly: "), base.prompted("Rudely: "))
        case "watermark":
            return base.watermarked(gw.Watermark(key="k", gamma=0.5))
        case _:
            return base


def valid(kind: str, text: str) -> bool:
    if kind == "regex":
        return bool(gw.compile(SOURCES[kind], backend("llama", CPU).vocabulary).matches(text))
    value = json.loads(text)
    return set(value) == {"a", "b"} and 10 <= value["a"] <= 999 and value["b"] in ("x", "yy", None)


def close(found: torch.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(found.cpu(), expected.cpu(), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_logits_are_those_of_the_cpu(gpu: torch.device, kind: str) -> None:
    there, here = backend(kind, gpu), backend(kind, CPU)
    more = torch.tensor([[65, 66], [67, 68], [69, 70]])
    made = list[torch.Tensor]()
    for each in (there, here):
        cache, first = each.prefill(TOKENS)
        cache, then = each.extend(cache, more.to(each.device))
        _, last = each.extend(each.select(cache, [2, 0]), more[:2, :1].to(each.device))
        assert first.device.type == last.device.type == each.device.type
        made += [first, then, last]
    for found, expected in zip(made[:3], made[3:], strict=True):
        close(found, expected)


PLACES = {  # a module, and how wide it is
    "llama": ("model.layers.0.self_attn.q_proj", 32, 32),
    "gpt2": ("transformer.h.0.mlp.c_fc", 32, 128),
}


@pytest.mark.parametrize("kind", PLACES)
def test_exits_adapters_and_states_are_those_of_the_cpu(gpu: torch.device, kind: str) -> None:
    place, inputs, outputs = PLACES[kind]
    noise = torch.Generator().manual_seed(5)
    weights = {
        f"base_model.model.{place}.lora_A.weight": torch.randn(4, inputs, generator=noise),
        f"base_model.model.{place}.lora_B.weight": torch.randn(outputs, 4, generator=noise),
    }
    made = list[Any]()
    for each in (backend(kind, gpu), backend(kind, CPU)):
        adapter = Adapter.of("one", weights)
        states, shown = list[torch.Tensor](), list[torch.Tensor]()
        cache, heads = each.prefill_varied(TOKENS, [adapter, None, adapter], [1, 2], states)
        more = torch.tensor([[65], [66], [67]], device=each.device)
        _, later = each.extend_varied(cache, more, [1, 2], shown)
        made.append([heads, later, *shown, *states])
    for found, expected in zip(*made, strict=True):
        close(found, expected)


@pytest.mark.parametrize("name", ["one", "proxy", "exits", "prompts", "watermark"])
@pytest.mark.parametrize("how", SETTINGS)
@pytest.mark.parametrize("kind", SOURCES)
def test_every_text_is_of_the_language(gpu: torch.device, kind: str, how: str, name: str) -> None:
    found = guided(name, gpu).generate(PROMPTS, SOURCES[kind], max_new_tokens=40, **SETTINGS[how])
    for each in found:
        for result in each if isinstance(each, list) else [each]:
            assert valid(kind, result.text)


@pytest.mark.parametrize("name", ["one", "proxy", "exits", "prompts"])
@pytest.mark.parametrize("kind", SOURCES)
def test_greedy_texts_are_those_of_the_cpu(gpu: torch.device, kind: str, name: str) -> None:
    made = [
        guided(name, device).generate(PROMPTS, SOURCES[kind], max_new_tokens=40)
        for device in (gpu, CPU)
    ]
    for found, expected in zip(*made, strict=True):
        assert found.text == expected.text
        assert found.logprobs == pytest.approx(expected.logprobs, abs=1e-2)


@pytest.mark.parametrize("kind", KINDS)
def test_half_precision_is_held_too(gpu: torch.device, kind: str) -> None:
    whole = backend(kind, CPU, 7)
    module = copy.deepcopy(whole.module).to(torch.bfloat16).to(gpu)
    half = TransformersModel(module, whole.tokenizer)
    results = gw.Model(half, half.tokenizer).generate(
        PROMPTS, SOURCES["schema"], max_new_tokens=40, temperature=1.0, seed=1
    )
    assert all(valid("schema", result.text) for result in results)


def test_choices_have_the_same_probabilities(gpu: torch.device) -> None:
    options = [" cat", " dog", " cats"]
    there, here = (guided("proxy", device).choose("A", options) for device in (gpu, CPU))
    assert there == pytest.approx(here, abs=1e-3)


@pytest.mark.parametrize("wanted", [None, "cuda"])
def test_a_folder_is_loaded_onto_the_gpu(
    gpu: torch.device, tmp_path: Path, wanted: str | None
) -> None:
    own = backend("llama", CPU)
    own.module.save_pretrained(tmp_path)
    own.tokenizer.save_pretrained(tmp_path)
    loaded = gw.load(tmp_path, device=wanted)
    assert loaded.language_model.device.type == gpu.type
    result = loaded.generate("A cat", SOURCES["schema"], max_new_tokens=40)
    assert valid("schema", result.text)
    assert result.stats.peak_memory > 0


OWN: dict[str, dict[str, Any]] = {
    "greedy": {},
    "beams": {"num_beams": 3, "num_return_sequences": 2},
    "drawn": {"do_sample": True, "num_return_sequences": 2},
}


@pytest.mark.parametrize("how", OWN)
@pytest.mark.parametrize("guidance", [False, True], ids=["plain", "guided"])
def test_transformers_own_loop_is_held(gpu: torch.device, how: str, guidance: bool) -> None:
    more = {"guidance": guided("proxy", gpu)} if guidance else {}
    own = backend("llama", gpu)
    held, read = LogitsProcessor(SOURCES["regex"], own.vocabulary, **more), own.tokenizer
    read.pad_token = read.eos_token
    words = read(PROMPTS[:2], return_tensors="pt", padding=True, padding_side="left").to(gpu)
    ends = {"pad_token_id": read.eos_token_id, "eos_token_id": read.eos_token_id}
    settings = {"do_sample": False, **OWN[how], **ends, "max_new_tokens": 30}
    rows = own.module.generate(**words, logits_processor=[held], **settings)
    for row in rows[:, words["input_ids"].shape[1] :].tolist():
        assert valid("regex", read.decode(row, skip_special_tokens=True))
