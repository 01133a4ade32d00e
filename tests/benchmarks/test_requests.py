"""The benchmark of requests: a line for each way, and as many tokens from each."""

import json
from dataclasses import replace

import pytest

import guideway as gw
import small_models
from benchmarks import requests
from benchmarks.commands import run


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small model in the place of a loaded one, and few short texts."""
    backend = small_models.tiny()
    model = gw.Model(backend, backend.tokenizer)
    monkeypatch.setattr(requests, "open_model", lambda name: model)
    monkeypatch.setattr(requests, "LENGTHS", (3, 8, 12))


def left(*arguments: str) -> int:
    with pytest.raises(SystemExit) as done:
        run(["requests", "--rounds", "1", *arguments])
    return int(done.value.code or 0)


def test_there_is_a_line_for_each_way(capsys) -> None:
    assert left() == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == requests.HEAD
    assert [line.split()[:2] for line in lines[1:]] == [
        ["batch", "23"],
        ["drafts", "23"],
        ["engine", "23"],
        ["transformers", "23"],
    ]


def test_json_has_the_figures(capsys) -> None:
    assert left("--json") == 0
    figures = [requests.Figure(**each) for each in json.loads(capsys.readouterr().out)]
    assert [replace(each, seconds=0, cpu_seconds=0) for each in figures] == [
        requests.Figure(way, 23, 0, 0) for way in ("batch", "drafts", "engine", "transformers")
    ]
