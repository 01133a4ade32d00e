import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

import guideway as gw
from guideway.models.adapter import Adapter, read_adapter

# What `LoraConfig(r=2, lora_alpha=8).save_pretrained` of PEFT 0.17 writes.
CONFIG: dict[str, Any] = json.loads("""
{"alpha_pattern": {}, "auto_mapping": null, "base_model_name_or_path": "owner/base", "bias":
"none", "corda_config": null, "eva_config": null, "exclude_modules": null, "fan_in_fan_out":
false, "inference_mode": true, "init_lora_weights": true, "layer_replication": null,
"layers_pattern": null, "layers_to_transform": null, "loftq_config": {}, "lora_alpha": 8,
"lora_bias": false, "lora_dropout": 0.05, "megatron_config": null, "megatron_core":
"megatron.core", "modules_to_save": null, "peft_type": "LORA", "qalora_group_size": 16, "r": 2,
"rank_pattern": {}, "revision": null, "target_modules": ["q_proj", "up_proj"],
"target_parameters": null, "task_type": "CAUSAL_LM", "trainable_token_indices": null, "use_dora":
false, "use_qalora": false, "use_rslora": false}
""")
NAMES = ("model.layers.0.q_proj", "model.layers.0.up_proj")


def saved(folder: Path, ranks: tuple[int, int] = (2, 2), **settings: Any) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "adapter_config.json").write_text(json.dumps({**CONFIG, **settings}))
    tensors = {}
    for name, rank in zip(NAMES, ranks, strict=True):
        tensors[f"base_model.model.{name}.lora_A.weight"] = torch.ones(rank, 3)
        tensors[f"base_model.model.{name}.lora_B.weight"] = torch.ones(4, rank)
    save_file(tensors, folder / "adapter_model.safetensors")
    return folder


def scales(folder: Path) -> list[float]:
    return [read_adapter(folder).pairs[name].scale for name in NAMES]


def test_a_folder_is_an_adapter_named_after_it(tmp_path: Path):
    adapter = read_adapter(saved(tmp_path / "pirate"))
    assert repr(adapter) == "Adapter('pirate', 2 modules, rank 2)"
    pair = adapter.pairs[NAMES[0]]
    assert (pair.down.shape, pair.up.shape, pair.scale) == ((2, 3), (4, 2), 4)
    assert repr(read_adapter(saved(tmp_path, (2, 4), rank_pattern={"up_proj": 4}))).endswith(
        "rank 2 to 4)"
    )


def test_the_scale_is_alpha_by_rank_or_by_its_root_and_patterns_go_before(tmp_path: Path):
    assert scales(saved(tmp_path, use_rslora=True)) == [8 / math.sqrt(2)] * 2
    assert scales(saved(tmp_path, alpha_pattern={"up_proj": 6})) == [4, 3]
    assert scales(saved(tmp_path, alpha_pattern={r"layers\.[0-3]\.q_proj": 2})) == [1, 4]
    assert scales(saved(tmp_path, (4, 2), rank_pattern={"q_proj": 4})) == [2, 4]
    assert scales(saved(tmp_path, alpha_pattern={"proj": 6})) == [4, 4]  # no part of a name


@pytest.mark.parametrize(("settings", "feature"), [
    ({"peft_type": "IA3"}, "IA3"),
    ({"bias": "lora_only"}, "bias"),
    ({"init_lora_weights": "pissa_niter_4"}, "init_lora_weights"),
    ({"use_dora": True}, "use_dora"),
    ({"modules_to_save": ["lm_head"]}, "modules_to_save"),
    ({"layer_replication": [[0, 1]]}, "layer_replication"),
    ({"of_tomorrow": 1}, "of_tomorrow"),
])  # fmt: skip
def test_what_changes_the_computation_otherwise_is_refused_by_name(
    settings: dict[str, Any], feature: str, tmp_path: Path
):
    with pytest.raises(gw.UnsupportedError) as refused:
        read_adapter(saved(tmp_path, **settings))
    assert refused.value.feature == feature


@pytest.mark.parametrize(("settings", "message"), [
    ({"r": 3}, "'model.layers.0.q_proj' has rank 2, and adapter_config.json says 3"),
    ({"r": 0}, "r in adapter_config.json is 0"),
    ({"r": True}, "r in adapter_config.json is True"),
    ({"lora_alpha": None}, "lora_alpha in adapter_config.json is None"),
    ({"lora_alpha": math.inf}, "is inf"),
    ({"alpha_pattern": {"q_proj": "8"}}, "lora_alpha of 'q_proj' in .* is '8'"),
    ({"alpha_pattern": {"(": 8}}, r"the pattern '\(' in .* is no regex"),
])  # fmt: skip
def test_settings_that_cannot_be_are_refused(
    settings: dict[str, Any], message: str, tmp_path: Path
):
    with pytest.raises(gw.ModelError, match=message):
        read_adapter(saved(tmp_path, **settings))


def test_files_that_are_missing_or_broken_are_named(tmp_path: Path):
    for name, content, message in (
        ("adapter_config.json", None, r"has no adapter_config\.json"),
        ("adapter_config.json", b"{", r"adapter_config\.json cannot be read"),
        ("adapter_config.json", b"[]", "holds no JSON object"),
        ("adapter_model.safetensors", b"nothing", r"adapter_model\.safetensors cannot be read"),
        ("adapter_model.safetensors", None, r"has no adapter_model\.safetensors"),
    ):
        path = saved(tmp_path) / name
        path.unlink() if content is None else path.write_bytes(content)
        with pytest.raises(gw.ModelError, match=message):
            read_adapter(tmp_path)


def tensors(down: tuple[int, ...], up: tuple[int, ...]) -> dict[str, torch.Tensor]:
    return {"a.lora_A.weight": torch.ones(down), "a.lora_B.weight": torch.ones(up)}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "has no tensors"),
        ({"a.lora_A.weight": torch.ones(2, 3)}, "only one of lora_A and lora_B for module 'a'"),
        (tensors((2, 3), (4, 3)), r"lora_A has shape \(2, 3\) and lora_B \(4, 3\)"),
        (tensors((2,), (4, 2)), r"lora_A has shape \(2,\)"),
        (tensors((2, 3), (4,)), r"lora_B \(4,\)"),
        (tensors((0, 3), (4, 0)), r"lora_A has shape \(0, 3\)"),
    ],
)
def test_tensors_that_are_no_pairs_are_refused(given: dict[str, torch.Tensor], message: str):
    with pytest.raises(gw.ModelError, match=message):
        Adapter.of("pirate", given)
    with pytest.raises(gw.UnsupportedError, match=r"'a\.lora_embedding_A'"):
        Adapter.of("pirate", {"a.lora_embedding_A": torch.ones(2, 3)})
