"""The benchmark of captured steps runs on a CPU, with a line for each text and for transformers."""

import json

import pytest

import guideway as gw
import small_models
from benchmarks import captured
from benchmarks.commands import run
from guideway.generation.captured import STRATEGIES


def test_there_is_a_figure_for_each_text(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    backend = small_models.tiny(context=128)
    own = gw.Model(backend, backend.tokenizer)
    monkeypatch.setattr(captured, "open_model", lambda name: own)
    given = ["--batch", "2", "--tokens", "20", "--rounds", "1", "--json"]
    with pytest.raises(SystemExit) as done:
        run(["captured", *given])
    assert not done.value.code
    figures = json.loads(capsys.readouterr().out)
    names = ["free", "tables", "host masks", "guidance", "watermark", "transformers"]
    assert [figure["text"] for figure in figures] == names
    assert all(figure["captured"] > 0 for figure in figures)
    assert own._ensemble.frames  # steps were captured
    assert "cpu" not in STRATEGIES
