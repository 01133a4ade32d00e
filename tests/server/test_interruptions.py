"""A server whose processes, clients and operators interrupt it, in a process of its own."""

import asyncio
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest
import uvicorn
from uvicorn.server import ServerState

from guideway.server.connections import Connection
from server.running import Running, children, ended, eventually, running
from server.served import TALK

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
CHAT = "/v1/chat/completions"
LONG: dict[str, Any] = {"messages": TALK, "max_tokens": 1000, "min_tokens": 1000, "seed": 1}
# Takes seconds to compile, so that it can be interrupted.
SLOW = {"allOf": [{"anyOf": [{"pattern": f"a.{{{n}}}b"}, {"minLength": n}]} for n in range(40)]}


def asked(number: int) -> dict[str, Any]:
    """A request with a source that is new for each number."""
    return {"max_tokens": 20, "structured_outputs": {"regex": f"[ab]{{2}}-{number}"}}


class Later(threading.Thread):
    """A request in a thread; its answer or its error."""

    def __init__(self, server: Running, timeout: float = 120, **body: Any) -> None:
        super().__init__(daemon=True)
        self.server, self.timeout, self.body = server, timeout, body
        self.answer: httpx.Response | None = None
        self.error: Exception | None = None
        self.start()

    def run(self) -> None:
        try:
            self.answer = self.server.post(timeout=self.timeout, **self.body)
        except httpx.HTTPError as error:
            self.error = error


def text(answer: httpx.Response) -> str:
    return answer.json()["choices"][0]["message"]["content"]


def is_open(server: Running, count: int) -> bool:
    return httpx.get(f"{server.address}/health").json()["open"] == count


def test_another_compiler_comes_when_one_is_killed(server: Running) -> None:
    assert server.post(messages=TALK, **asked(1)).status_code == 200
    first = server.compiler
    os.kill(first, signal.SIGKILL)
    answer = server.post(messages=TALK, **asked(2))
    assert answer.status_code == 200, answer.text
    assert answer.json()["choices"][0]["message"]["content"].endswith("-2")
    assert server.compiler != first


def test_a_source_is_compiled_again_when_its_process_is_killed(server: Running) -> None:
    server.post(messages=TALK, **asked(3))
    slow = {"json": {**SLOW, "title": "again"}}
    later = Later(server, messages=TALK, max_tokens=5, structured_outputs=slow)
    eventually(lambda: bool(children(server.compiler)))
    (child,) = children(server.compiler)
    os.kill(child, signal.SIGKILL)
    eventually(lambda: child not in children(server.compiler) and bool(children(server.compiler)))
    later.join(60)
    assert later.answer is not None
    assert later.answer.status_code in (200, 400), later.answer.text
    assert server.post(messages=TALK, **asked(4)).status_code == 200


@pytest.mark.parametrize("stream", [False, True])
def test_a_client_that_leaves_makes_room(server: Running, stream: bool) -> None:
    url = f"{server.address}{CHAT}"
    if stream:
        with httpx.stream("POST", url, json={**LONG, "stream": True}) as parts:
            next(parts.iter_bytes())
    else:
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(url, json=LONG, timeout=0.5)
    began = time.monotonic()
    eventually(lambda: is_open(server, 0))
    assert time.monotonic() - began < 10


def test_too_many_requests_are_told_when_to_come_again(server: Running) -> None:
    streams = [Later(server, 3, **LONG, n=8) for _ in range(10)]
    eventually(lambda: is_open(server, 80))  # 16 run, 64 wait
    refused = server.post(messages=TALK, max_tokens=2)
    assert refused.status_code == 429
    assert int(refused.headers["retry-after"]) >= 1
    assert "80 texts" in refused.json()["error"]["message"]
    for each in streams:
        each.join()
    eventually(lambda: is_open(server, 0))
    assert server.post(messages=TALK, max_tokens=2).status_code == 200


@pytest.mark.slow
def test_a_signal_lets_texts_end(folder: str) -> None:
    with running(folder) as server:
        compiler = server.compiler
        body = {"messages": TALK, "max_tokens": 400, "temperature": 0}
        whole = server.post(**body)
        later = Later(server, **body)
        eventually(lambda: is_open(server, 1))
        server.process.send_signal(signal.SIGTERM)
        later.join(60)
        assert later.answer is not None, later.error
        assert text(later.answer) == text(whole)
        server.process.wait(30)
        eventually(lambda: ended(compiler))
        with pytest.raises(httpx.ConnectError):
            server.post(messages=TALK, max_tokens=2)


@pytest.mark.slow
def test_a_server_that_is_killed_closes_streams_and_starts_again(folder: str) -> None:
    with running(folder) as server:
        compiler = server.compiler
        expected = text(server.post(messages=TALK, seed=1, **asked(5)))
        slow = {"json": SLOW}
        Later(server, messages=TALK, max_tokens=5, structured_outputs=slow)
        eventually(lambda: bool(children(compiler)))
        (child,) = children(compiler)
        body = {**LONG, "stream": True}
        lines = list[str]()

        def read() -> None:
            with httpx.stream("POST", f"{server.address}{CHAT}", json=body, timeout=60) as stream:
                for line in stream.iter_lines():
                    lines.append(line)
                    if len(lines) == 5:
                        os.kill(server.process.pid, signal.SIGKILL)

        with pytest.raises(httpx.TransportError):
            read()
        assert "data: [DONE]" not in lines
        eventually(lambda: ended(compiler) and ended(child))
    with running(folder) as again:
        assert text(again.post(messages=TALK, seed=1, **asked(5))) == expected


class Transport(asyncio.Transport):
    """A transport that keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.written, self.ended = b"", False

    def write(self, data: Any) -> None:
        self.written += data

    def close(self) -> None:
        self.ended = True

    abort = close

    def is_closing(self) -> bool:
        return self.ended

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default


def held(monkeypatch: pytest.MonkeyPatch, act: Callable[[Connection], None]) -> Transport:
    """A connection whose client does something and then nothing, for longer than it may."""
    monkeypatch.setattr(Connection, "reading", 0.05)
    monkeypatch.setattr(Connection, "head", 0.05)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.sleep(60)

    async def wait() -> Transport:
        config = uvicorn.Config(app, log_level="error")
        found = Connection(config, ServerState(), {}, asyncio.get_running_loop())
        transport = Transport()
        found.connection_made(transport)
        act(found)
        await asyncio.sleep(0.2)
        found.connection_lost(OSError())
        return transport

    return asyncio.run(wait())


@pytest.mark.parametrize("sent", [b"", b"POST / HT", b"POST / HTTP/1.1\r\nHost: a\r\n"])
def test_a_head_that_does_not_end_is_not_waited_for(
    sent: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    transport = held(monkeypatch, lambda one: one.data_received(sent) if sent else None)
    head, _, body = transport.written.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 408 ")
    assert "head" in json.loads(body)["error"]["message"]
    assert transport.ended


@pytest.mark.parametrize("reads", [False, True, None])
def test_a_request_has_more_time_than_its_head_and_who_does_not_read_is_cut_off(
    reads: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def act(one: Connection) -> None:
        one.data_received(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        if reads is not None:
            one.pause_writing()
        if reads:
            one.resume_writing()

    transport = held(monkeypatch, act)
    assert transport.ended == (reads is False)
    assert reads is not None or transport.written == b""
