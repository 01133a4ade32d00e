"""Leaves of other kinds in expressions: LoRA adapters and exits of one model, n-grams beside it."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

import guideway as gw
from real_tokenizers import tokenizer_folder
from small_models import module, tokenizer

ENDS = ("q_proj", "down_proj")
PROMPTS = ["Well then", "The cat sat on the"]


def whole() -> gw.Model:
    return loaded(module("llama")).named("llama")


def loaded(changed: Any) -> gw.Model:
    changed.generation_config.eos_token_id = 50256  # that of the tokenizer
    return gw.load(changed, tokenizer(tokenizer_folder("gpt2")))


def tensors(seed: int) -> dict[str, torch.Tensor]:
    noise = torch.Generator().manual_seed(seed)
    found: dict[str, torch.Tensor] = {}
    for name, target in module("llama").named_modules():
        if name.endswith(ENDS):
            outputs, inputs = target.weight.shape
            found[f"{name}.lora_A.weight"] = torch.randn(2, inputs, generator=noise)
            found[f"{name}.lora_B.weight"] = torch.randn(outputs, 2, generator=noise)
    return found


def merged(seed: int, scale: float) -> gw.Model:
    changed, pairs = copy.deepcopy(module("llama")), tensors(seed)
    with torch.no_grad():
        for name in {key.split(".lora_")[0] for key in pairs}:
            product = pairs[f"{name}.lora_B.weight"] @ pairs[f"{name}.lora_A.weight"]
            changed.get_submodule(name).weight.add_(scale * product)
    return loaded(changed)


def texts(model: gw.Model) -> list[str]:
    return [result.text for result in model.generate(PROMPTS, max_new_tokens=8)]


def test_a_folder_of_peft_says_what_the_merged_model_says(tmp_path: Path):
    config = {"peft_type": "LORA", "r": 2, "lora_alpha": 3, "target_modules": list(ENDS)}
    (tmp_path / "adapter_config.json").write_text(json.dumps(config))
    named = {f"base_model.model.{key}": value for key, value in tensors(1).items()}
    save_file(named, tmp_path / "adapter_model.safetensors")
    model = whole()
    assert texts(model.adapted(tmp_path)) == texts(merged(1, 1.5)) != texts(model)


def test_adapters_are_experts_and_anti_experts_of_one_forward():
    model = whole()
    one, other = model.adapted(tensors(1), "one"), model.adapted(tensors(2), "other")
    guided = model + 0.5 * (one - other)
    assert repr(guided) == "Model(llama + 0.5*llama.adapted(one) - 0.5*llama.adapted(other))"
    assert str(guided.cost).startswith("1 forward")
    apart = model + 0.5 * (merged(1, 1.0) - merged(2, 1.0))
    assert texts(guided) == texts(apart) != texts(model)
    assert texts(model + one - one) == texts(model)
    early = one.exit_at(1)  # an exit of an adapted model is a leaf, too
    assert texts(model + early - early) == texts(model)
    assert texts(early) not in (texts(model), texts(model.exit_at(1)))


def test_leaves_that_a_model_does_not_have_are_refused():
    pair = {"a.lora_A.weight": torch.ones(1, 2), "a.lora_B.weight": torch.ones(2, 1)}
    with pytest.raises(gw.ModelError, match="for a module 'a', which LlamaForCausalLM does not"):
        texts(whole().adapted(pair))  # when it is run
    grams = gw.ngram(PROMPTS, tokenizer(tokenizer_folder("gpt2")))
    for call in (lambda: grams.adapted(pair), lambda: grams.exit_at(1)):
        with pytest.raises(gw.UnsupportedError):
            call()


def test_n_grams_steer_a_model_with_more_rows_than_tokens():
    model, read = whole(), ["The cat sat on the mat."] * 5
    expert = gw.ngram(read, tokenizer(tokenizer_folder("gpt2")), order=5).named("cats")
    assert expert.vocabulary.width < model.vocabulary.width
    guided = model + 50 * (expert - gw.ngram(["So it goes"], model))
    assert guided.generate(PROMPTS[1], max_new_tokens=2).text == " mat."
    anything = guided.generate(PROMPTS, do_sample=True, temperature=1e5, seed=1, max_new_tokens=20)
    assert all(isinstance(each.text, str) for each in anything)
