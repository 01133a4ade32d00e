"""The benchmark of servers: figures of a server that really runs, over a small model."""

import asyncio
import json
import sys

import pytest

from benchmarks import serving
from benchmarks.commands import run
from benchmarks.extraction.tasks import read_tasks
from benchmarks.serving import Client, Text, valid
from server.running import Running


def test_a_client_streams_json_of_the_schema(server: Running) -> None:
    tasks = read_tasks()[:2]
    client = Client(server.address, "small", 1000)
    texts = asyncio.run(client.every(tasks, 2, "one", {"temperature": 0.8, "seed": 1}))
    assert valid(tasks, texts) == 1.0
    assert all(each.first > 0 for each in texts)
    assert serving.processor_seconds(server.process.pid) > 0


def test_texts_that_are_no_json_are_counted() -> None:
    tasks = read_tasks()[:2]
    right = Text(json.dumps(tasks[0].expected), 0.1, "stop")
    assert valid(tasks, [right, Text("Sure! Here it is", 0.1, "stop")]) == 0.5
    assert valid(tasks, [right, Text('{"', 0.1, "length")]) == 1.0


def test_each_server_has_its_figures(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.setattr(serving, "measure", lambda name, *_: [{"server": name}])
    with pytest.raises(SystemExit) as done:
        run(["serving", "--model", "a", "--vllm", sys.executable, "--json"])
    assert done.value.code == 0
    servers = [line["server"] for line in json.loads(capsys.readouterr().out)]
    assert servers == ["guideway", "vllm"]
