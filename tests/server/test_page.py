"""The files of the playground, and the traces that it shows."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from guideway.server.page import FILES
from server.served import PERSON, TALK, Client, model, served

CHAT = "/v1/chat/completions"
TEXT = "/v1/completions"
HELD: dict[str, Any] = {
    "structured_outputs": {"json": PERSON},
    "seed": 3,
    "max_tokens": 90,
    "temperature": 1.0,
}


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    found, engine = served(keys=["secret"])
    yield found
    found.app.state.server.compilers.close()
    engine.close(cancel=True)


@pytest.mark.parametrize("path", FILES)
def test_the_page_needs_no_key_and_runs_nothing_but_its_own_files(client: Client, path: str):
    answer = Client(client.app).get(path)
    assert answer.status_code == 200
    assert answer.headers["x-content-type-options"] == "nosniff"
    policy = answer.headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy
    assert "http://" not in answer.text.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in answer.text
    assert Client(client.app).get("/v1/models").status_code == 401


def test_the_page_is_told_what_it_may_name(client: Client):
    (own,) = client.get("/v1/models").json()["data"]
    assert own["guideway"]["models"] == ["expert"]
    assert own["guideway"]["watermarks"] == ["w"]
    assert own["guideway"]["max_tokens"] == 300


def undrafted(steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """An engine also drafts from earlier texts."""
    return [{**step, "drafted": None} for step in steps]


@pytest.mark.parametrize(("path", "asked"), [(CHAT, {"messages": TALK}), (TEXT, {"prompt": "x"})])
def test_a_stream_has_a_record_for_each_token_if_it_is_asked_for(
    client: Client, path: str, asked: dict[str, Any]
):
    prompt: Any = asked.get("messages") or asked["prompt"]
    settings = {"temperature": 1.0, "seed": 3, "max_new_tokens": 90}
    expected = model().generate(prompt, PERSON, trace=2, **settings)
    records = [step.record for step in expected.trace]
    for more in ({}, {"logprobs": True, "top_logprobs": 4} if path == CHAT else {"logprobs": 4}):
        chunks = client.events(path, **asked, **HELD, trace={"alternatives": 2}, **more)
        told = [chunk["choices"][0] for chunk in chunks[:-1]]
        found = [step for choice in told for step in choice.get("guideway", {}).get("trace", ())]
        assert undrafted(found) == undrafted(json.loads(json.dumps(records)))
        assert told[-1]["finish_reason"] == expected.finish_reason
        whole = client.ok(path, **asked, **HELD, trace={"alternatives": 2}, **more)
        assert undrafted(whole["choices"][0]["guideway"]["trace"]) == undrafted(found)
    plain = client.events(path, **asked, **HELD)
    assert not any("guideway" in choice for each in plain[:-1] for choice in each["choices"])
    assert "trace" not in client.ok(path, **asked, **HELD)["choices"][0]["guideway"]


def test_a_trace_tells_colours_and_states(client: Client):
    body = {"structured_outputs": {"regex": "[ab]{9}"}, "watermark": "w", "trace": {}, "seed": 1}
    trace = client.ok(TEXT, prompt="x", **body)["choices"][0]["guideway"]["trace"]
    assert {step["green"] for step in trace} == {True, False, None}
    assert [step["state"]["allowed"] for step in trace] == [2] * 9
    assert [len(step["stages"][0]["top"]) for step in trace] == [5] * 9


@pytest.mark.parametrize("trace", [{"alternatives": 0}, {"alternatives": 21}, {"all": True}, 3])
def test_a_trace_is_asked_for_by_a_count(client: Client, trace: Any):
    assert client.post(TEXT, prompt="x", trace=trace).status_code == 400


def test_a_search_has_no_trace(client: Client):
    answer = client.post(TEXT, prompt="x", trace={}, num_beams=2, max_tokens=3)
    assert answer.status_code == 400
    assert "trace" in answer.json()["error"]["message"]
