"""Real Ray: two actors, one of which is killed; all rows are there, and equal those of one process.

Run: python tests/engines/run.py ray
"""

import json
import os
import runpy
import signal
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

import guideway as gw
from guideway.integrations.ray import Extract, deployment
from guideway.models.fake import FakeModel
from random_walks import BYTES

ray: Any = pytest.importorskip("ray", reason="needs ray: python tests/engines/run.py ray")
EXAMPLE = Path(__file__).resolve().parents[2] / "examples/many_texts.py"


class Item(BaseModel):
    name: str
    count: int | None = None
    tags: list[str]


def fake() -> gw.Model:
    return gw.Model(FakeModel.random(BYTES))


def chatting() -> gw.Model:
    """A model of bytes with a chat template."""

    class Tokenizer:
        chat_template = "some"

        def apply_chat_template(self, messages: object, **how: Any) -> str:
            return str(messages)

        def encode(self, text: str, **how: Any) -> list[int]:
            return list(text.encode())

    return gw.Model(FakeModel.random(BYTES), Tokenizer())


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Any:
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


def test_two_actors_lose_nothing_when_one_dies(tmp_path: Path) -> None:
    mark = str(tmp_path / "died")

    def prompt(row: dict[str, Any]) -> str:
        if row["n"] == 37 and not os.path.exists(mark):  # noqa: PTH110  pickled by Ray
            open(mark, "w").close()  # noqa: PTH123
            os.kill(os.getpid(), signal.SIGKILL)
        if row["n"] == 11:
            raise KeyError("no text")
        return row["body"]

    rows = [{"body": f"row {n}: ", "n": n} for n in range(48)]
    settings: dict[str, Any] = {"max_new_tokens": 60, "temperature": 1.0, "seed": 1}
    extracted = ray.data.from_items(rows).map_batches(
        Extract,
        fn_constructor_kwargs={"model": fake, "source": Item, "prompt": prompt, **settings},
        compute=ray.data.ActorPoolStrategy(size=2),
        batch_size=8,
    )
    found = sorted(extracted.take_all(), key=lambda row: row["n"])
    assert Path(mark).exists()
    assert [row["n"] for row in found] == [*range(48)]
    assert [row["n"] for row in found if row["error"] is not None] == [11]
    assert "KeyError" in found[11]["error"]
    alone = fake()
    for row in found[::5]:
        expected = alone.generate(row["body"], Item, **settings)
        assert row["text"] == expected.text
        assert Item(**row["value"]) == expected.value


def build() -> Any:
    """The server's application, in a replica."""
    from guideway.server import create_app

    return create_app(gw.Engine(chatting(), max_batch=4), name="fake", keys=["k"])


def test_ray_serve_runs_the_server() -> None:
    httpx: Any = pytest.importorskip("httpx")
    serve: Any = pytest.importorskip("ray.serve")
    pytest.importorskip("prometheus_client")
    options = {"num_replicas": 2, "ray_actor_options": {"num_cpus": 0.5}}
    serve.start(http_options={"port": 18511})
    serve.run(deployment(build, **options), name="guideway")
    talk = [{"role": "user", "content": "Who?"}]
    items = {"type": "json_schema", "json_schema": {"schema": Item.model_json_schema()}}
    body = {"messages": talk, "response_format": items, "max_tokens": 60}
    told = {"Authorization": "Bearer k"}
    with httpx.Client(base_url="http://127.0.0.1:18511/v1", headers=told, timeout=120) as client:
        for seed in range(4):  # of both replicas
            answer = client.post("/chat/completions", json={**body, "seed": seed})
            text = answer.json()["choices"][0]["message"]["content"]
            settings = {"max_new_tokens": 60, "temperature": 1.0, "seed": seed}
            expected = chatting().generate(talk, Item.model_json_schema(), **settings)
            assert text == expected.text
            lines: list[str] = []
            with client.stream(
                "POST", "/chat/completions", json={**body, "seed": seed, "stream": True}
            ) as stream:
                lines += [line[6:] for line in stream.iter_lines() if line.startswith("data: {")]
            deltas = [json.loads(line)["choices"][0]["delta"] for line in lines]
            assert "".join(each.get("content", "") for each in deltas) == text
        refused = client.post("/chat/completions", json={**body, "n": 9})
        assert refused.status_code == 400
        assert refused.json()["error"]["param"] == "n"
        assert client.get("/models", headers={"Authorization": "x"}).status_code == 401
    serve.shutdown()


def test_the_example(capsys: pytest.CaptureFixture[str]) -> None:
    main = runpy.run_path(str(EXAMPLE))["main"]
    found = main([f"Ship {n} sails. " for n in range(7)], chatting, batch=2, dies_at=3)
    assert len(found) == 8
    assert "8 of 8 rows, 1 failed: SourceError: prompt raised ValueError" in capsys.readouterr().out
