"""The benchmark of batches runs, and measures each stage."""

import json

import pytest

from benchmarks import batches
from benchmarks.commands import run
from benchmarks.test_masks import tokenizer

__all__ = ["tokenizer"]


def test_each_stage_of_a_batch_is_measured(tokenizer, capsys, monkeypatch) -> None:
    monkeypatch.setattr(batches, "BATCHES", {"label": ("label",)})
    for options in (["--json"], []):
        with pytest.raises(SystemExit):
            run(
                ["batches", "--tokenizer", str(tokenizer), "--rows", "5", "--rounds", "1", *options]
            )
    shown = capsys.readouterr().out
    figures, _ = json.JSONDecoder().raw_decode(shown)
    assert (figures[0]["schemas"], figures[0]["engine"]) == ("label", "guideway")
    assert all(set(one["wall"]) == set(one["cpu"]) == set(batches.STAGES) for one in figures)
    assert "cold ms" in shown.replace("  ", " ")
