"""A server over a fake model of bytes, and a client for it."""

import asyncio
import contextlib
import json
from collections.abc import Iterator
from typing import Any

import httpx

import guideway as gw
from guideway.models.fake import FakeModel
from guideway.server import create_app
from guideway.server.settings import Limits, Names

BYTES = gw.Vocabulary([bytes([b]) for b in range(256)] + [b"<eos>"], {256})
PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 5}, "age": {"type": "integer"}},
    "required": ["age", "name"],
    "additionalProperties": False,
}
TOOL = {"type": "function", "function": {"name": "person", "parameters": PERSON}}
DATE = {"syntax": "regex", "definition": r"\d{4}-\d\d"}
TALK = [{"role": "user", "content": "Who?"}]


class Tokenizer:
    """As much of a tokenizer of transformers as a chat needs; a token is a byte."""

    chat_template = "some"

    def apply_chat_template(self, messages: object, **how: Any) -> str:
        return f"{json.dumps(messages)}{how.get('tools')}"

    def encode(self, text: str, **how: Any) -> list[int]:
        return list(text.encode())


def model(seed: int = 1) -> gw.Model:
    return gw.Model(FakeModel.random(BYTES, seed), Tokenizer())


class Client:
    """Sends requests to an application, without a network."""

    def __init__(self, app: Any, key: str = "") -> None:
        self.app, self.server = app, app.state.server
        self.headers = {"authorization": f"Bearer {key}"} if key else {}

    def send(self, method: str, path: str, **how: Any) -> httpx.Response:
        async def run() -> httpx.Response:
            transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url="http://a") as client:
                return await client.request(method, path, **{"headers": self.headers, **how})

        return asyncio.run(run())

    def get(self, path: str) -> httpx.Response:
        return self.send("GET", path)

    def post(self, path: str, **body: Any) -> httpx.Response:
        return self.send("POST", path, json=body)

    def ok(self, path: str, **body: Any) -> Any:
        answer = self.post(path, **body)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def events(self, path: str, **body: Any) -> list[Any]:
        answer = self.post(path, stream=True, **body)
        assert answer.status_code == 200, answer.text
        return list(events(answer.text))


def events(text: str) -> Iterator[Any]:
    for block in text.split("\n\n"):
        for line in block.splitlines():
            if line.startswith("data: "):
                data = line.removeprefix("data: ")
                yield data if data == "[DONE]" else json.loads(data)


@contextlib.contextmanager
def served(engine: gw.Engine | None = None, **more: Any) -> Iterator[Client]:
    """A client of a server, which has ended all requests when this is left."""
    engine = engine or gw.Engine(model(), max_batch=4)
    limits = Limits(compiling=30, queue=4, tokens=300)
    names = Names(models={"expert": model(2)}, watermarks={"w": gw.Watermark(key=5)})
    app = create_app(engine, **{"name": "fake", "names": names, "limits": limits, **more})
    found = Client(app, more.get("keys", [""])[0])
    yield found
    assert found.server.open == 0
    found.server.compilers.close()
    engine.close(cancel=True)
