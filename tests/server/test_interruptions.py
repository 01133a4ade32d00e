"""A server whose processes, clients and operators interrupt it, in a process of its own."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from unittest.mock import Mock

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


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor() as made:
        yield made


def text(answer: httpx.Response) -> str:
    return answer.json()["choices"][0]["message"]["content"]


def test_another_compiler_comes_when_one_is_killed(server: Running) -> None:
    assert server.post(messages=TALK, **asked(1)).status_code == 200
    first = server.compiler
    os.kill(first, signal.SIGKILL)
    answer = server.post(messages=TALK, **asked(2))
    assert answer.status_code == 200, answer.text
    assert answer.json()["choices"][0]["message"]["content"].endswith("-2")
    assert server.compiler != first


def test_a_source_is_compiled_again_when_its_process_is_killed(
    server: Running, pool: ThreadPoolExecutor
) -> None:
    server.post(messages=TALK, **asked(3))
    slow = {"json": {**SLOW, "title": "again"}}
    later = pool.submit(server.post, messages=TALK, max_tokens=5, structured_outputs=slow)
    eventually(lambda: bool(children(server.compiler)))
    (child,) = children(server.compiler)
    os.kill(child, signal.SIGKILL)
    eventually(lambda: child not in children(server.compiler) and bool(children(server.compiler)))
    assert later.result(60).status_code in (200, 400)
    assert server.post(messages=TALK, **asked(4)).status_code == 200


@pytest.mark.slow
def test_a_signal_lets_texts_end(folder: str, pool: ThreadPoolExecutor) -> None:
    with running(folder) as server:
        compiler = server.compiler
        body = {"messages": TALK, "max_tokens": 400, "temperature": 0}
        whole = server.post(**body)
        later = pool.submit(server.post, **body)
        eventually(lambda: httpx.get(f"{server.address}/health").json()["open"] == 1)
        server.process.send_signal(signal.SIGTERM)
        assert text(later.result(60)) == text(whole)
        server.process.wait(30)
        eventually(lambda: ended(compiler))
        with pytest.raises(httpx.ConnectError):
            server.post(messages=TALK, max_tokens=2)


@pytest.mark.slow
def test_a_server_that_is_killed_closes_streams_and_starts_again(
    folder: str, pool: ThreadPoolExecutor
) -> None:
    with running(folder) as server:
        compiler = server.compiler
        expected = text(server.post(messages=TALK, seed=1, **asked(5)))
        slow = {"json": SLOW}
        pool.submit(server.post, messages=TALK, max_tokens=5, structured_outputs=slow)
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


def held(monkeypatch: pytest.MonkeyPatch, act: Callable[[Connection], None]) -> tuple[bytes, bool]:
    """What a client gets that does something and then nothing, and whether it is cut off."""
    monkeypatch.setattr(Connection, "reading", 0.05)
    monkeypatch.setattr(Connection, "head", 0.05)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.sleep(60)

    transport = Mock(spec=asyncio.Transport)
    transport.get_extra_info.return_value = None
    transport.is_closing.return_value = False

    async def wait() -> None:
        config = uvicorn.Config(app, log_level="error")
        found = Connection(config, ServerState(), {}, asyncio.get_running_loop())
        found.connection_made(transport)
        act(found)
        await asyncio.sleep(0.2)
        found.connection_lost(OSError())

    asyncio.run(wait())
    written = b"".join(call.args[0] for call in transport.write.call_args_list)
    return written, transport.close.called or transport.abort.called


@pytest.mark.parametrize("sent", [b"", b"POST / HT", b"POST / HTTP/1.1\r\nHost: a\r\n"])
def test_a_head_that_does_not_end_is_not_waited_for(
    sent: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    written, ended = held(monkeypatch, lambda one: one.data_received(sent) if sent else None)
    head, _, body = written.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 408 ")
    assert "head" in json.loads(body)["error"]["message"]
    assert ended


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

    written, ended = held(monkeypatch, act)
    assert ended == (reads is False)
    assert reads is not None or written == b""
