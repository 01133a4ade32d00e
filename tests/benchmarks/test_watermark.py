"""Benchmark `watermark`: its statistics, and a run with few texts."""

import json
from pathlib import Path

import pytest

import guideway
from benchmarks import watermark_texts
from benchmarks.commands import run
from benchmarks.watermark import by_chance, figure, wilson
from guideway.api.model import Model


def test_intervals_are_wilsons_and_chances_exact() -> None:
    assert wilson(490, 497) == (pytest.approx(0.971, abs=1e-3), pytest.approx(0.993, abs=1e-3))
    assert wilson(0, 0) == (0.0, 1.0)
    found = [guideway.Watermark(key="k", gamma=0.5).detect(range(201)) for _ in range(3)]
    assert by_chance(found) == pytest.approx(3 * 2.49e-5, rel=0.01)
    assert by_chance([]) == 0.0
    made = figure("unmarked", found)
    assert (made["count"], made["tokens"], made["perplexity"]) == (3, 200, None)


def test_short_paragraphs_are_left_out(tmp_path: Path) -> None:
    file = tmp_path / "tales.tab"
    file.write_text("A title\t" + "word " * 60 + "\n\nshort\n\n" + "more\n" * 60)
    kept = watermark_texts.read_texts([file]).split("\n\n")
    assert [each[:4] for each in kept] == ["word", "more"]
    assert len(watermark_texts.read_texts([])) > 100_000


@pytest.mark.model
def test_a_run_says_what_was_found_and_goes_on_where_it_was(
    built_in: Model,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(guideway, "load", lambda name, dtype: built_in)
    monkeypatch.setattr(watermark_texts, "cache_folder", lambda kind: tmp_path / kind)
    schema = {"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 2, "maxItems": 3}
    monkeypatch.setattr(watermark_texts, "RECORDS", schema)

    def shown(*arguments: str) -> str:
        few = ["watermark", "--tokens", "16", "--unmarked", "30", "--entropies", "1"]
        with pytest.raises(SystemExit) as done:
            run([*few, *arguments])
        assert not done.value.code
        return capsys.readouterr().out

    assert [each["texts"] for each in json.loads(shown("--count", "1", "--json"))] == [
        "tokens", "text", "tokens, repeats counted", "unmarked",
    ]  # fmt: skip
    assert "spike entropy of 1 marked texts" in shown("--count", "2", "--batch", "1")
    (file,) = (tmp_path / "watermarks").iterdir()
    assert len(file.read_text().splitlines()) == 2
    assert "among allowed, text" in shown("--count", "1", "--records")
