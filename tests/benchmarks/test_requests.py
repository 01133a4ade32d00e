"""The benchmark of requests: a line for each way, and as many tokens from each."""

import json
import sys

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


LINES = [
    (way, kind)
    for kind in ("greedy", "sampled")
    for way in ("batch", "drafts", "engine", "transformers")
]


def test_there_is_a_line_for_each_way(capsys) -> None:
    assert left() == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == requests.HEAD
    assert [line.split()[:3] for line in lines[1:]] == [[*each, "23"] for each in LINES]


def test_json_has_the_figures_of_vllm_too(capsys, monkeypatch, tmp_path) -> None:
    """A stand-in gives as many tokens as it may."""
    fake = tmp_path / "vllm_process.py"
    fake.write_text(
        "import json, sys\n"
        "print('ready', flush=True)\n"
        "for line in sys.stdin:\n"
        "    asked = [each['arguments'] for each in json.loads(line)]\n"
        "    print(json.dumps([sum(each['max_tokens'] for each in asked), 1.5]), flush=True)\n"
    )
    monkeypatch.setattr(requests, "__file__", str(tmp_path / "requests.py"))
    assert left("--json", "--vllm", sys.executable) == 0
    figures = [requests.Figure(**each) for each in json.loads(capsys.readouterr().out)]
    assert [(each.way, each.kind) for each in figures if each.way != "vllm"] == LINES
    (greedy, sampled) = (each for each in figures if each.way == "vllm")
    assert greedy.tokens == sampled.tokens == 23
    assert 1.5 <= greedy.cpu_seconds < 2.5
    fake.write_text("print('ready', flush=True); input()")
    assert left("--vllm", sys.executable) == 2
    assert "vLLM has stopped with 0" in capsys.readouterr().err
