"""The benchmark of filters: what it times does as transformers does, and its table is whole."""

import json

import pytest
import torch

from benchmarks import warpers
from benchmarks.commands import run


def left(*arguments: str) -> int:
    with pytest.raises(SystemExit) as done:
        run(["warpers", *arguments])
    return int(done.value.code or 0)


@pytest.mark.parametrize("stage", warpers.CASES)
def test_what_is_timed_does_the_same(stage: str) -> None:
    noise = torch.Generator().manual_seed(1)
    row = torch.randn(2, 3000, generator=noise) * 3
    prompt = torch.randint(0, 3000, (2, 200), generator=noise)
    settings = warpers.CASES[stage]
    theirs = warpers._theirs(settings, prompt)(row.clone())
    ours = warpers._ours(settings, prompt, 3000)(row)
    assert int((ours != theirs).sum()) <= 2  # at the rim of a set


def test_there_is_a_line_for_each_stage_and_width(capsys) -> None:
    assert left("--rounds", "1", "--width", "3000", "--width", "4000") == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + 2 * len(warpers.CASES)
    assert lines[0] == warpers.HEAD
    assert {line[22:].split()[0] for line in lines[1:]} == {"3000", "4000"}


def test_a_device_that_is_not_there_is_told(capsys) -> None:
    assert left("--device", "banana") == 1
    assert "device 'banana' cannot be used here" in capsys.readouterr().err


def test_figures_are_json_too(capsys) -> None:
    assert left("--rounds", "1", "--width", "3000", "--json") == 0
    figures = json.loads(capsys.readouterr().out)
    assert [figure["stage"] for figure in figures] == list(warpers.CASES)
    for figure in figures:
        assert figure["ratio"] == pytest.approx(figure["transformers"] / figure["guideway"])
