"""`guideway serve`: classifiers from files, wrong options, and a server that answers and drains."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import typer
from typer.testing import CliRunner

import guideway as gw
from guideway.cli.main import app
from guideway.cli.serve import greeting, read_classifier
from guideway.server.settings import Limits


def test_a_classifier_of_words(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    words = {"love": 1, "hate": -1}
    file.write_text(json.dumps({"words": words, "alpha": 5, "top": 7}))
    assert str(read_classifier(str(file))) == str(gw.classifier(words, alpha=5, top=7))


@pytest.mark.parametrize(("written", "told"), [
    ("{", "Expecting"),
    ("[]", "words or a model, and alpha"),
    ('{"words": {}}', "words or a model, and alpha"),
    ('{"words": {}, "model": "a", "alpha": 1}', "words or a model"),
    ('{"words": {}, "alpha": 1, "code": "x"}', "code is unknown; known are words"),
])  # fmt: skip
def test_a_file_that_is_no_classifier(tmp_path: Path, written: str, told: str) -> None:
    file = tmp_path / "a.json"
    file.write_text(written)
    with pytest.raises(typer.BadParameter, match=told):
        read_classifier(str(file))
    with pytest.raises(typer.BadParameter, match="No such file"):
        read_classifier(str(tmp_path / "none.json"))


@pytest.mark.parametrize(("options", "told"), [
    (["--host", "0.0.0.0"], "--api-key"),
    (["--log-level", "loud"], "warning"),
])  # fmt: skip
def test_wrong_options(options: list[str], told: str) -> None:
    done = CliRunner().invoke(app, ["serve", "smollm2-135m", *options])
    assert done.exit_code == 2
    assert told in re.sub(r"\x1b\[[0-9;]*m", "", done.output)


def test_the_start_prints_what_a_newcomer_needs() -> None:
    lines = greeting("a", "127.0.0.1", 8000, keyed=True, limits=Limits(), batch=16)
    assert "http://127.0.0.1:8000" in lines[0]
    assert lines[1] == "16 texts at once, 64 waiting, 1024 tokens a text, 300 seconds a request"
    assert lines[3].startswith("curl http://127.0.0.1:8000/v1/chat/completions -H")
    assert json.loads(lines[3].split(" -d ")[1].strip("'"))["model"] == "a"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[str, Any]]:
    key, classifier = tmp_path / "key", tmp_path / "calm.json"
    key.write_text("7")
    classifier.write_text(json.dumps({"words": {"love": 1, "hate": -1}, "alpha": 5}))
    options = ["--port", "18477", "--watermark", f"w=@{key}", "--classifier", f"calm={classifier}"]
    environment = {**os.environ, "GUIDEWAY_API_KEYS": "k1,k2"}
    process = subprocess.Popen(
        [sys.executable, "-m", "guideway", "serve", "smollm2-135m", *options, "--log-texts"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(4)]
    assert lines[3].startswith("curl "), process.communicate()[1]
    yield lines[3], process
    process.kill()
    process.communicate()


@pytest.mark.slow
@pytest.mark.model
def test_a_server_answers_its_own_line_logs_json_and_drains(server: tuple[str, Any]) -> None:
    line, process = server
    transport = httpx.HTTPTransport(retries=20)
    told = {"Authorization": "Bearer k2"}
    with httpx.Client(transport=transport, base_url="http://127.0.0.1:18477", headers=told) as http:
        assert http.get("/health").json()["status"] == "ok"
        done = subprocess.run(
            ["bash", "-c", line], env={**os.environ, "KEY": "k1"}, capture_output=True, check=True
        )
        assert json.loads(done.stdout)["choices"][0]["message"]["content"]
        body = {
            "messages": [{"role": "user", "content": "Hi"}],
            "classifier": "calm",
            "watermark": "w",
            "max_tokens": 8,
        }
        assert http.post("/v1/chat/completions", json=body).status_code == 200
    process.send_signal(signal.SIGTERM)
    _, logged = process.communicate(timeout=60)
    assert process.returncode in (0, -signal.SIGTERM)
    records = [json.loads(each) for each in logged.splitlines() if each.startswith("{")]
    asked = [each for each in records if each["logger"] == "guideway.server.requests"]
    assert [each["status"] for each in asked] == [200, 200]
    assert asked[1]["request"]["classifier"] == "calm"
