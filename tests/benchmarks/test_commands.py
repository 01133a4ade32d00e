"""Each command has a line of figures for whatever it measures, as a table and as JSON."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest
import torch
from transformers.models.auto.modeling_auto import AutoModelForCausalLM
from transformers.models.llama import LlamaConfig

import guideway as gw
import small_models
from benchmarks import (
    batches,
    captured,
    cold,
    generation,
    grammars,
    guidance,
    masks,
    requests,
    warpers,
)
from benchmarks.commands import run
from benchmarks.mask_cases import CASES
from guideway.generation.captured import STRATEGIES
from guideway.models.builtin import builtin_folder
from guideway.models.fake import FakeModel
from random_walks import BYTES
from small_tokenizers import sentencepiece

Lines: TypeAlias = Callable[..., list[dict[str, Any]]]


def left(*arguments: str) -> int:
    with pytest.raises(SystemExit) as done:
        run(arguments)
    return int(done.value.code or 0)


@pytest.fixture
def lines(capsys: pytest.CaptureFixture[str]) -> Lines:
    def figures(*arguments: str) -> list[dict[str, Any]]:
        assert left(*arguments, "--json") == 0
        return json.loads(capsys.readouterr().out)

    return figures


@pytest.fixture
def tokenizer(tmp_path: Path) -> str:
    """A tokenizer that can spell anything, byte by byte."""
    path = tmp_path / "tokenizer.json"
    path.write_bytes(sentencepiece())
    return str(path)


def tiny(**settings: Any) -> gw.Model:
    backend = small_models.tiny(**settings)
    return gw.Model(backend, backend.tokenizer)


class Lax:
    """A text that goes on with any token, and never ends."""

    def mask(self) -> None: ...

    def step(self, token: int) -> bool:
        return True

    def ends(self) -> bool:
        return False


def test_masks_of_all_schemas_are_measured(
    tokenizer: str, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ("--tokenizer", tokenizer, "--rounds", "1")
    (line,) = lines("masks", *options, "--engine", "guideway")
    assert (line["refused"], line["wrong"]) == ([], [])
    assert line["steps"] > 500
    assert 0 < line["p50, µs"] <= line["p99, µs"] <= line["p99.9, µs"]
    assert 0 < line["compile + first mask, p50, ms"] <= line["p99, ms"]
    monkeypatch.setattr(batches, "BATCHES", {"label": ("label",)})
    line, *_ = lines("batches", *options, "--rows", "5")
    assert (line["schemas"], line["engine"]) == ("label", "guideway")
    assert all(line[f"{stage}, CPU ms"] >= 0 for stage in ("cold", "warm", "again"))

    def picky(schema: Any) -> Any:
        if "enum" in schema:
            raise ValueError(schema)
        return Lax

    monkeypatch.setattr(masks, "engines", lambda *_: {"picky": picky})
    (line,) = lines("masks", *options)
    assert (line["refused"], len(line["wrong"])) == (["label"], len(CASES) - 1)


def test_grammars_are_measured_in_guideway(tokenizer: str, lines: Lines) -> None:
    options = ("grammars", "--tokenizer", tokenizer, "--rounds", "1", "--engine", "guideway")
    (line,) = lines(*options, "--grammar", "semver")
    assert (line["grammar"], line["engine"], line["reads"]) == ("semver", "guideway", "yes")
    assert min(line["first mask, ms"], line["mask + commit, µs"], line["read, ms"]) > 0
    assert line["Lark, ms"] is None
    (line,) = lines(*options, "--grammar", "json")
    assert min(line["Lark, ms"], line["read, ms"], line["first mask, ms"]) > 0


def test_grammars_that_an_engine_refuses_or_judges_otherwise_are_told(
    tokenizer: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refusing(one: Any, text: str) -> Any:
        assert text.startswith(one.text)
        raise ValueError("a dialect\nof its own")

    engines = {"lax": lambda *_: Lax, "strict": refusing}
    monkeypatch.setattr(grammars, "engines", lambda *_: engines)
    options = ("grammars", "--tokenizer", tokenizer, "--rounds", "1")
    assert left(*options, "--grammar", "json") == 0
    printed = capsys.readouterr().out.split("\n")
    rows = [[cell.strip() for cell in row.split("|")[1:-1]] for row in printed]
    assert rows[2][:3] == ["json", "lax", "wrong"]
    assert rows[3][:5] == ["json", "strict", "refused", "a dialect", "–"]
    assert left(*options, "--engine", "none") == 2
    assert "there is no engine 'none' here" in capsys.readouterr().err


def test_a_model_writes_texts_of_a_grammar(lines: Lines, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gw, "load", lambda _: gw.Model(FakeModel.random(BYTES)))
    options = ("--texts", "2", "--tokens", "12", "--grammar", "iso_duration")
    (line,) = lines("grammars", *options)
    assert (line["grammar"], line["texts"], line["valid"]) == ("iso_duration", 2, 2)
    assert 0 < line["tokens"] <= 12


def test_kernels_are_compiled_with_an_empty_cache_only(
    lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cold, "SOURCES", {"regex": cold.SOURCES["regex"]})
    empty, filled = lines("cold")
    assert (empty["cache"], filled["cache"]) == ("empty", "filled")
    assert empty["kernels, s"] > 2 * filled["kernels, s"] > 0


def test_each_loop_and_size_has_its_share(lines: Lines, capsys: Any) -> None:
    small = ("--width", "700", "--layers", "1", "--hidden", "16", "--steps", "2", "--rounds", "2")
    found = lines("tables", *small, "--batch", "1", "--batch", "3")
    loops = ("free", "tables", "masks")
    assert [(line["rows"], line["loop"]) for line in found] == [
        (rows, loop) for rows in (1, 3) for loop in loops
    ]
    for line in found[1:3]:
        added = line["step, µs"] - found[0]["step, µs"]
        assert line["constraint, µs"] == pytest.approx(added)
        assert line["share, %"] == pytest.approx(100 * added / found[0]["step, µs"])
    found = lines("warpers", "--rounds", "1", "--width", "3000", "--width", "4000")
    assert [(line["tokens"], line["stage"]) for line in found] == [
        (width, stage) for width in (3000, 4000) for stage in warpers.CASES
    ]
    for line in found:
        assert line["ratio"] == pytest.approx(line["transformers, µs"] / line["guideway, µs"])
    assert left("tables", "--device", "banana") == 1
    assert "device 'banana' cannot be used here" in capsys.readouterr().err


def test_each_expression_has_the_forwards_of_its_models(
    lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    def block(number: int) -> Any:
        return FakeModel.random(BYTES, number)._functions[-1]

    deep = FakeModel(BYTES, block(0), exits=[block(n) for n in range(1, 16)])
    monkeypatch.setattr(guidance, "open_model", lambda _: gw.Model(deep))
    found = lines("guidance", "--steps", "4", "--rounds", "2", "--rows", "2")
    assert [(line["expression"], line["forwards"], line["rows"]) for line in found] == [
        *(("model", 1, 2), ("cfg", 1, 4), ("exit", 1, 2), ("dola", 1, 2), ("dexperts", 3, 6))
    ]
    for line in found:
        assert line["ratio"] == pytest.approx(line["step, ms"] / line["models, ms"])


def test_captured_steps_have_a_line_for_each_text_and_for_transformers(
    lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tiny(context=128)
    monkeypatch.setattr(captured, "open_model", lambda _: own)
    found = lines("captured", "--batch", "2", "--tokens", "20", "--rounds", "1")
    names = ["free", "tables", "host masks", "guidance", "watermark", "transformers"]
    assert [line["text"] for line in found] == names
    assert all(line["captured, ms"] > 0 for line in found)
    assert own._ensemble.frames  # steps were captured
    assert "cpu" not in STRATEGIES


def test_each_way_and_vllm_give_as_many_tokens(
    lines: Lines,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In the place of vLLM a stand-in gives as many tokens as it may."""
    fake = tmp_path / "vllm_process.py"
    fake.write_text(
        "import json, sys\n"
        "print('ready', flush=True)\n"
        "for line in sys.stdin:\n"
        "    asked = [each['arguments'] for each in json.loads(line)]\n"
        "    print(json.dumps([sum(each['max_tokens'] for each in asked), 1.5]), flush=True)\n"
    )
    monkeypatch.setattr(requests, "open_model", lambda _: tiny())
    monkeypatch.setattr(requests, "LENGTHS", (3, 8, 12))
    monkeypatch.setattr(requests, "__file__", str(tmp_path / "requests.py"))
    options = ("requests", "--rounds", "1", "--vllm", sys.executable)
    found = lines(*options)
    ways = ("batch", "drafts", "engine", "transformers", "vllm")
    assert [(line["kind"], line["way"], line["tokens"]) for line in found] == [
        (kind, way, 23) for kind in ("greedy", "sampled") for way in ways
    ]
    assert 1.5 <= found[4]["CPU s"] < 2.5
    fake.write_text("print('ready', flush=True); input()")
    assert left(*options) == 2
    assert "vLLM has stopped with 0" in capsys.readouterr().err


def four_blocks(_: str) -> gw.Model:
    torch.manual_seed(0)
    shape = {**small_models.SMALL, "max_position_embeddings": 4096, "num_hidden_layers": 4}
    module: Any = AutoModelForCausalLM.from_config(LlamaConfig(**shape))
    return gw.load(module.eval(), small_models.tokenizer(builtin_folder()))


def test_every_part_of_generation_has_its_table(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(generation, "open_model", four_blocks)
    options = ("generation", "--runs", "1", "--documents", "1", "--tokens", "48")
    assert left(*options, "--json") == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["model"] == "smollm2-135m"
    assert {*generation.PARTS} < {*figures}
    off, first, *_ = figures["extraction"]
    assert off["tokens"] == first["tokens"] == off["forwards"] > first["forwards"]
    turn, alone, again = (line["tokens read"] for line in figures["chat"])
    assert turn == alone < again
    assert len(figures["draft"]) == 3
    assert left(*options, "--parts", "formula") == 0
    assert "| 1.8223   |" in capsys.readouterr().out
    assert left(*options, "--parts", "extraction,prefill") == 2
    assert "['prefill']" in capsys.readouterr().err
