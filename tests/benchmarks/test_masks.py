"""The benchmark: its cases are what they claim, its figures are those of what was timed."""

import json
from pathlib import Path

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from benchmarks import mask_engines, masks
from benchmarks.commands import run
from benchmarks.mask_cases import CASES
from small_tokenizers import sentencepiece


@pytest.fixture
def tokenizer(tmp_path: Path) -> Path:
    """A tokenizer that can spell anything, byte by byte."""
    path = tmp_path / "tokenizer.json"
    path.write_bytes(sentencepiece())
    return path


def left(*arguments: str) -> int:
    with pytest.raises(SystemExit) as done:
        run([*arguments])
    return int(done.value.code or 0)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_each_text_is_allowed_by_its_schema(case) -> None:
    _, schema, values = case
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER)
    assert values
    assert all(validator.is_valid(value) for value in values)


def test_the_engines_of_guideway_agree_and_are_measured(tokenizer, capsys) -> None:
    options = ("--tokenizer", str(tokenizer), "--rounds", "1", "--json")
    assert left("masks", *options, "--engine", "plain", "--engine", "guideway") == 0
    plain, fast = json.loads(capsys.readouterr().out)
    assert (plain["engine"], fast["engine"]) == ("plain", "guideway")
    for name in ("steps", "refused", "wrong"):
        assert plain[name] == fast[name]
    assert plain["steps"] > 500
    for figures in (plain, fast):
        assert 0 < figures["p50"] <= figures["p99"] <= figures["p999"]
        assert 0 < figures["first_p50"] <= figures["first_p99"]


def test_the_table_has_a_row_for_each_engine_and_says_what_was_refused(
    tokenizer, capsys, monkeypatch
) -> None:
    class Text:
        def mask(self) -> None: ...

        def step(self, token: int) -> bool:
            return token != 3 + ord("7")

        def ends(self) -> bool:
            return True

    def compiled(schema):
        if "enum" in schema:
            raise ValueError(schema)
        return Text

    def stopping(schema):
        text = Text()
        text.ends = lambda: False
        return lambda: text

    engines = {"first": compiled, "second": stopping}
    monkeypatch.setattr(mask_engines, "engines", lambda backend, vocabulary: engines)
    assert left("masks", "--tokenizer", str(tokenizer.parent), "--rounds", "1", "--by-schema") == 0
    shown = capsys.readouterr()
    rows = shown.out.splitlines()[2:4]
    assert len(shown.out.splitlines()) == 7 + len(CASES)
    assert [row.split()[0] for row in rows] == ["first", "second"]
    assert [row.split()[-2:] for row in rows] == [["1", "0"], ["0", str(len(CASES))]]
    assert "first refused: label" in shown.err
    assert "second does not allow: abstract, anything, " in shown.err


def test_each_schema_has_a_row_where_that_is_asked_for() -> None:
    timings = {
        "one": masks.Timings(steps={"a": [1e-6, 3e-6], "b": [5e-6]}),
        "other": masks.Timings(steps={"b": [7e-6]}),
    }
    rows = [row.split() for row in masks.schema_lines(timings)]
    assert rows == [
        ["one", "other"],
        ["a", "2.0", "3.0"],
        ["b", "5.0", "5.0", "7.0", "7.0"],
    ]


def test_an_engine_that_is_not_here_is_named_with_those_that_are(tokenizer, capsys) -> None:
    options = ("--tokenizer", str(tokenizer), "--engine", "fast")
    assert left("masks", *options) == 2
    assert "'guideway', 'plain'" in capsys.readouterr().err


def test_figures_are_percentiles_in_the_units_that_they_claim() -> None:
    steps = [number * 1e-6 for number in range(1, 1001)]
    figures = masks.summed(
        "x", masks.Timings(steps={"a": steps[:10], "b": steps[10:]}, firsts=[0.001, 0.003])
    )
    assert figures.mean == pytest.approx(500.5)
    assert [figures.p50, figures.p99, figures.p999] == pytest.approx(
        np.percentile(np.arange(1, 1001), [50, 99, 99.9]).tolist()
    )
    assert figures.first_p50 == pytest.approx(2)
    assert masks.summed("y", masks.Timings()).p999 == 0
