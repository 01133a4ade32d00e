"""The benchmark of guidance: a line for each expression, and forwards that are the models' own."""

import json

import pytest

import guideway as gw
from benchmarks import guidance
from benchmarks.commands import run
from guideway.models.fake import FakeModel

BYTES = gw.Vocabulary([bytes([b]) for b in range(256)] + [b"<eos>"], {256})


@pytest.fixture(autouse=True)
def deep(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model of 16 blocks in the place of a loaded one."""

    def block(number: int):
        return FakeModel.random(BYTES, number)._functions[-1]

    def opened(name: str) -> gw.Model:
        return gw.Model(FakeModel(BYTES, block(0), exits=[block(n) for n in range(1, 16)]))

    monkeypatch.setattr(guidance, "open_model", opened)


def left(*arguments: str) -> int:
    with pytest.raises(SystemExit) as done:
        run(["guidance", "--steps", "4", "--rounds", "2", *arguments])
    return int(done.value.code or 0)


def test_there_is_a_line_for_each_expression(capsys) -> None:
    assert left() == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == guidance.HEAD
    assert [line.split()[:3] for line in lines[1:]] == [
        ["model", "1", "1"],
        ["cfg", "1", "2"],
        ["exit", "1", "1"],
        ["dola", "1", "1"],
        ["dexperts", "3", "3"],
    ]


def test_figures_are_json_too(capsys) -> None:
    assert left("--rows", "2", "--json") == 0
    for figure in json.loads(capsys.readouterr().out):
        assert figure["ratio"] == pytest.approx(figure["step"] / figure["models"])
        assert figure["rows"] in {2, 4, 6}
