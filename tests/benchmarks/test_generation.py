"""The benchmark of generation: every part gives a table, with a small model and short texts."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers.models.auto.modeling_auto import AutoModelForCausalLM
from transformers.models.llama import LlamaConfig

import guideway as gw
from benchmarks import generation
from benchmarks.commands import run
from guideway.models.builtin import builtin_folder
from small_models import SMALL, tokenizer


@cache
def small(name: str) -> gw.Model:
    torch.manual_seed(0)
    shape = {**SMALL, "max_position_embeddings": 4096, "num_hidden_layers": 4}
    module: Any = AutoModelForCausalLM.from_config(LlamaConfig(**shape))
    return gw.load(module.eval(), tokenizer(builtin_folder()))


@pytest.fixture(autouse=True)
def opened(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model of four small blocks in the place of a loaded one."""
    monkeypatch.setattr(generation, "open_model", small)


def left(*arguments: str) -> int:
    with pytest.raises(SystemExit) as done:
        run(["generation", "--runs", "1", "--documents", "1", "--tokens", "48", *arguments])
    return int(done.value.code or 0)


def test_every_part_has_its_table(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert left("--output", str(tmp_path / "figures.json")) == 0
    printed = capsys.readouterr().out
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert figures["model"] == "smollm2-135m"
    for name in generation.PARTS:
        assert generation.table(figures[name]) in printed.replace("\r", "")
    off, cold, *_ = figures["extraction"]
    assert off["tokens"] == cold["tokens"] == off["forwards"] > cold["forwards"]
    turn, alone, again = (line["tokens read"] for line in figures["chat"])
    assert turn == alone < again
    assert len(figures["draft"]) == 3
    assert figures["formula"][0]["speed-up"] == "1.8223"


def test_an_unknown_part_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert left("--parts", "extraction,prefill") == 2
    assert "['prefill']" in capsys.readouterr().err
