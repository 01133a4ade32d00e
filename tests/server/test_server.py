"""The server: answers equal `generate`, every field is honoured or refused, hostile requests cost
nothing."""

import asyncio
import gc
import json
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

import jsonschema
import pytest

import guideway as gw
from guideway.server.app import FILES
from guideway.server.compiling import BESIDE
from guideway.server.settings import Limits, Names
from server.hostile import CHAT, JSON, TEXT, WRONG
from server.served import DATE, PERSON, TALK, TOOL, Client, model, served

POST: dict[str, Any] = {
    "type": "http",
    "method": "POST",
    "headers": [(b"content-type", b"application/json")],
    "query_string": b"",
    "http_version": "1.1",
}
FORMAT = {"type": "json_schema", "json_schema": {"name": "person", "schema": PERSON}}
NUMBER = {"type": "integer"}
OLD = {"structures": [{"begin": "<n>", "schema": NUMBER, "end": "</n>"}], "triggers": ["<n>"]}
TAGS = [{"begin": "<n>", "content": {"type": "json_schema", "json_schema": NUMBER}, "end": "</n>"}]
TAG = {"format": {"type": "triggered_tags", "triggers": ["<n>"], "tags": TAGS}}


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with served() as found:
        yield found


@pytest.fixture(scope="module")
def thinker() -> Iterator[Client]:
    with served(names=Names(thinking=("<think>", "</think>"))) as found:
        yield found


def test_a_chat_is_what_generate_gives(client: Client) -> None:
    settings = {"temperature": 0.8, "top_p": 0.9, "seed": 3}
    answer = client.ok(CHAT, messages=TALK, response_format=FORMAT, max_tokens=90, **settings)
    expected = model().generate(TALK, PERSON, max_new_tokens=90, **settings)
    (choice,) = answer["choices"]
    assert choice["message"]["content"] == expected.text
    assert choice["finish_reason"] == expected.finish_reason
    jsonschema.validate(json.loads(expected.text), PERSON)
    assert answer["usage"]["completion_tokens"] == expected.stats.completion_tokens
    assert answer["usage"]["prompt_tokens"] == expected.stats.prompt_tokens


@pytest.mark.parametrize(
    ("fields", "source"),
    [
        ({"guided_json": json.dumps(PERSON)}, PERSON),
        ({"structured_outputs": {"choice": ["yes", "no"]}}, gw.Choice(["yes", "no"])),
        ({"ebnf": 'root ::= "a" "b"*'}, gw.Gbnf('root ::= "a" "b"*')),
        ({"grammar": 'root ::= "a" | "b"'}, gw.Gbnf('root ::= "a" | "b"')),
        ({"response_format": {"type": "json_object"}}, {"type": "object"}),
        ({"response_format": {"type": "grammar", "grammar": 'start: "x"'}}, gw.Choice(["x"])),
        ({"structural_tag": json.dumps(TAG)}, gw.tagged("<n>", int, "</n>")),
        ({"response_format": {"type": "structural_tag", **TAG}}, gw.tagged("<n>", int, "</n>")),
        ({"response_format": {"type": "structural_tag", **OLD}}, gw.tagged("<n>", int, "</n>")),
    ],
)
def test_sources_of_all_clients(client: Client, fields: dict[str, Any], source: Any) -> None:
    answer = client.ok(CHAT, messages=TALK, seed=1, max_tokens=99, **fields)
    expected = model().generate(TALK, source, temperature=1.0, seed=1, max_new_tokens=99)
    assert answer["choices"][0]["message"]["content"] == expected.text


def whole(choice: dict[str, Any]) -> dict[str, Any]:
    """What a choice says, as `joined` has it of a stream."""
    message = choice.get("message", {})
    calls = [each["function"] for each in message.get("tool_calls", ())]
    said = {name: message.get(name) or "" for name in ("content", "reasoning_content")}
    traced = {k: v for k, v in (choice["logprobs"] or {}).items() if v is not None}
    more = {"calls": calls, "logprobs": traced, "finish_reason": choice["finish_reason"]}
    return {**said, "text": choice.get("text", ""), **more}


def joined(choices: list[dict[str, Any]]) -> dict[str, Any]:
    """What the parts of one choice say together."""
    found: Any = {"content": "", "reasoning_content": "", "text": "", "calls": [], "logprobs": {}}
    for part in choices:
        found["text"] += part.get("text", "")
        found["finish_reason"] = part["finish_reason"]
        for name, values in (part["logprobs"] or {}).items():
            if values is not None:
                found["logprobs"].setdefault(name, []).extend(values)
        delta = part.get("delta", {})
        for name in ("content", "reasoning_content"):
            found[name] += delta.get(name) or ""
        for call in delta.get("tool_calls", ()):
            if "id" in call:
                assert call["index"] == len(found["calls"])
                found["calls"].append(dict(call["function"]))
            else:
                found["calls"][call["index"]]["arguments"] += call["function"]["arguments"]
    return found


SAID: dict[str, Any] = {"messages": TALK, "seed": 5, "max_tokens": 60, "response_format": FORMAT}
CALLING = {"messages": TALK, "tools": [TOOL], "max_tokens": 250}
NAMED = {"type": "function", "function": {"name": "person"}}
STREAMS = [
    (CHAT, {**SAID, "n": 2}),
    (CHAT, {**SAID, "logprobs": True, "top_logprobs": 2}),
    *((CHAT, {**CALLING, "tool_choice": "required", "seed": seed}) for seed in range(3)),
    (CHAT, {**CALLING, "tool_choice": NAMED, "seed": 2}),
    (TEXT, {"prompt": ["One", "Two"], "max_tokens": 5, "seed": 3, "n": 2}),
    (TEXT, {"prompt": "One", "max_tokens": 9, "seed": 3, "logprobs": 2, "n": 2}),
]


@pytest.mark.parametrize("thinks", [False, True])
@pytest.mark.parametrize(("path", "body"), STREAMS)
def test_a_stream_is_the_answer_in_parts(
    client: Client, thinker: Client, path: str, body: dict[str, Any], thinks: bool
) -> None:
    found = thinker if thinks else client
    answer = found.ok(path, **body)
    *chunks, usage, done = found.events(path, stream_options={"include_usage": True}, **body)
    assert done == "[DONE]"
    assert usage["choices"] == []
    assert usage["usage"]["completion_tokens"] == answer["usage"]["completion_tokens"]
    for number, choice in enumerate(answer["choices"]):
        own = [c["choices"][0] for c in chunks if c["choices"][0]["index"] == number]
        assert path == TEXT or own[0]["delta"]["role"] == "assistant"
        assert joined(own) == whole(choice)
        assert len(own) > (10 if path == CHAT else 3)
        if "tools" in body:
            message = choice["message"]
            assert message["content"] is None
            cut = thinks or body["seed"] < 2
            assert choice["finish_reason"] == "tool_calls" or cut
            for call in message["tool_calls"]:
                jsonschema.validate(json.loads(call["function"]["arguments"]), PERSON)
            parts = [call for each in own for call in each["delta"].get("tool_calls", ())]
            begun = [part for part in parts if "id" in part]
            assert [{"name": "person", "arguments": ""}] * len(begun) == [
                part["function"] for part in begun
            ]
            assert len({part["id"] for part in begun}) == len(begun) > 0
            assert len(parts) > 10 * len(begun)


def test_allowed_tools_and_several_of_them(client: Client) -> None:
    def tool(name: str) -> dict[str, Any]:
        return {"type": "function", "function": {**TOOL["function"], "name": name}}

    tools = [tool("a"), tool("b"), {"type": "custom", "custom": {"name": "c"}}]
    names = [{"type": "function", "function": {"name": "b"}}]
    allowed = {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": names}}
    flat = {"type": "allowed_tools", "mode": "required", "tools": [{"type": "custom", "name": "c"}]}
    body = {"messages": TALK, "tools": tools, "max_tokens": 150}
    for seed in range(3):
        message = client.ok(CHAT, tool_choice=allowed, seed=seed, **body)["choices"][0]["message"]
        assert {call["function"]["name"] for call in message["tool_calls"]} == {"b"}
        message = client.ok(CHAT, tool_choice=flat, seed=seed, **body)["choices"][0]["message"]
        assert {call["custom"]["name"] for call in message["tool_calls"]} == {"c"}
        one = {"parallel_tool_calls": False, "tool_choice": "required"}
        message = client.ok(CHAT, seed=seed, **body, **one)["choices"][0]["message"]
        assert len(message["tool_calls"]) == 1
    message = client.ok(CHAT, tool_choice="none", seed=1, **body)["choices"][0]["message"]
    assert "tool_calls" not in message


def test_tools_beside_a_schema_are_either(client: Client) -> None:
    body = {"messages": TALK, "tools": [TOOL], "max_tokens": 200, "response_format": FORMAT}
    for seed in range(4):
        message = client.ok(CHAT, seed=seed, **body)["choices"][0]["message"]
        calls = message.get("tool_calls")
        text = calls[0]["function"]["arguments"] if calls else message["content"]
        jsonschema.validate(json.loads(text), PERSON)


def test_a_custom_tool_gets_a_text_of_its_grammar(client: Client) -> None:
    custom = {"name": "date", "format": {"type": "grammar", "grammar": DATE}}
    body = {"messages": TALK, "tool_choice": "required", "max_tokens": 99, "seed": 1}
    tools = [{"type": "custom", "custom": custom}]
    (call,) = client.ok(CHAT, tools=tools, **body)["choices"][0]["message"]["tool_calls"]
    assert call["type"] == "custom"
    assert call["custom"]["name"] == "date"
    assert gw.compile(gw.Regex("[0-9]{4}-[0-9]{2}"), model().vocabulary).matches(
        call["custom"]["input"]
    )


def test_logprobs_of_guidance_are_those_of_the_expression(client: Client) -> None:
    guided: Any = model() + 0.5 * model(2)
    expected = guided.generate(TALK, int, temperature=1.0, seed=5, max_new_tokens=3)
    guidance = {"base": "fake", "plus": [[0.5, "expert"]]}
    body = {"messages": TALK, "seed": 5, "max_tokens": 3, "top_logprobs": 20, "logprobs": True}
    number = {"json": {"type": "integer"}}
    answer = client.ok(CHAT, guidance=guidance, structured_outputs=number, **body)
    (choice,) = answer["choices"]
    content = choice["logprobs"]["content"]
    assert [each["logprob"] for each in content] == pytest.approx(list(expected.logprobs))
    assert {len(each["top_logprobs"]) for each in content} == {20}
    assert (
        bytes(b for each in content for b in each["bytes"]).decode()
        == (choice["message"]["content"])
    )
    for each in content:  # a token that is among the best has the same number there
        top = {one["token"]: one["logprob"] for one in each["top_logprobs"]}
        assert top.get(each["token"], each["logprob"]) == pytest.approx(each["logprob"], abs=1e-4)
        assert max(top.values()) >= each["logprob"] - 1e-4


def test_the_end_of_a_text_is_none_of_its_logprobs(client: Client) -> None:
    body = {"messages": TALK, "max_tokens": 200, "logprobs": True}
    for seed in range(8):
        (choice,) = client.ok(CHAT, seed=seed, **body)["choices"]
        content = choice["logprobs"]["content"]
        assert "<eos>" not in {each["token"] for each in content}
        if choice["finish_reason"] == "stop":
            return
    pytest.fail("no text has ended")


def test_text_completions(client: Client) -> None:
    body = {"prompt": ["One", "Two"], "max_tokens": 5, "seed": 3, "n": 2}
    expected = [
        model().generate(prompt, temperature=1.0, seed=seed, max_new_tokens=5).text
        for prompt in ("One", "Two")
        for seed in (3, 4)
    ]
    assert [each["text"] for each in client.ok(TEXT, **body)["choices"]] == expected


def replayed(events: list[Any]) -> list[Any]:
    """The items of a response by its events, which must come in the order of the protocol."""
    assert [each["sequence_number"] for each in events] == [*range(len(events))]
    kinds = [each["type"] for each in events]
    assert kinds[:2] == ["response.created", "response.in_progress"]
    items, opened, text, field = list[Any](), "", "", ""
    for event in events[2:-1]:
        *_, what, how = event["type"].split(".")
        assert event["output_index"] == len(items) - (what != "output_item" or how != "added")
        if (what, how) == ("output_item", "added"):
            assert not opened
            assert event["item"]["status"] == "in_progress"
            opened, text = event["item"]["id"], ""
            items.append(event["item"])
        elif what == "output_item":
            assert event["item"]["id"] == opened
            inside = event["item"].get("content") or [{}]
            assert text in (event["item"].get(field), inside[0].get("text"))
            items[-1], opened = event["item"], ""
        elif how == "delta":
            assert event["item_id"] == opened
            text += event["delta"]
        elif what != "content_part":
            field = {"function_call_arguments": "arguments", "custom_tool_call_input": "input"}.get(
                what, "text"
            )
            assert event[field] == text
    assert not opened
    return items


def without_ids(value: Any) -> Any:
    if isinstance(value, list):
        return [without_ids(each) for each in value]
    if isinstance(value, dict):
        return {k: without_ids(v) for k, v in value.items() if k not in ("id", "call_id")}
    return value


@pytest.mark.parametrize(("fields", "kinds"), [
    ({}, ["message"]),
    ({"text": {"format": {**FORMAT["json_schema"], "type": "json_schema"}}}, ["message"]),
    ({"instructions": "Be short.", "text": {"format": {"type": "json_object"}}}, ["message"]),
    ({"tools": [{"type": "function", **TOOL["function"]}]}, ["function_call"]),
    ({"tools": [{"type": "custom", "name": "date", "format": {"type": "grammar", **DATE}}]},
     ["custom_tool_call"]),
    ({"include": ["message.output_text.logprobs"], "top_logprobs": 2}, ["message"]),
], ids=["text", "schema", "instructed", "function", "custom", "logprobs"])  # fmt: skip
@pytest.mark.parametrize("thinks", [False, True])
def test_events_of_a_response_are_its_items(
    client: Client, thinker: Client, fields: dict[str, Any], kinds: list[str], thinks: bool
) -> None:
    found = thinker if thinks else client
    need = {"tool_choice": "required"} if "tools" in fields else {}
    body = {"input": TALK, "temperature": 0, "max_output_tokens": 250, **fields, **need}
    made = found.ok("/v1/responses", **body)
    events = found.events("/v1/responses", **body)
    items = replayed(events)
    assert events[-1]["type"] == f"response.{made['status']}"
    assert items == events[-1]["response"]["output"]
    assert without_ids(items) == without_ids(made["output"])
    made["usage"]["input_tokens_details"] = events[-1]["response"]["usage"]["input_tokens_details"]
    assert events[-1]["response"]["usage"] == made["usage"]
    told = {item["type"] for item in items}
    assert told == {*kinds} | ({"reasoning"} if thinks else set())
    reasoning = made["usage"]["output_tokens_details"]["reasoning_tokens"]
    assert (reasoning > 0) == thinks
    if "include" in fields:
        traced = items[-1]["content"][0]["logprobs"]
        sent = [each["logprobs"] for each in events if each["type"].endswith("output_text.delta")]
        assert [*chain(*sent)] == traced
        spelled = bytes(b for each in traced for b in each["bytes"])
        assert spelled.decode(errors="replace") == items[-1]["content"][0]["text"]
        assert {len(each["top_logprobs"]) for each in traced} <= {2}


def test_decisions_are_the_probabilities_of_choose(client: Client) -> None:
    questions = [
        {"type": "predicate", "instructions": "It is warm", "name": "warm"},
        {"type": "choice", "instructions": "?", "choices": [{"value": "red"}, {"value": True}]},
        {"type": "score", "instructions": "?", "levels": [{"label": "low"}, {"label": "high"}]},
    ]
    first, second, third = client.ok("/v1/decisions", input="Hot.", questions=questions)["answers"]
    asked = [{"role": "user", "content": "Hot.\n\nIs this true? It is warm\nAnswer yes or no."}]
    assert first["probability"] == pytest.approx(model().choose(asked, ["yes", "no"])["yes"])
    assert first["name"] == "warm"
    assert sum(each["probability"] for each in second["probabilities"]) == pytest.approx(1)
    assert {type(each["value"]) for each in second["probabilities"]} == {str, bool}
    assert third["score"] == pytest.approx(third["probabilities"][1]["probability"])


def test_guidance_and_watermarks_by_name(client: Client) -> None:
    guidance = {"base": "fake", "plus": [[0.5, "expert"]]}
    body = {"messages": TALK, "max_tokens": 60, "seed": 1}
    answer = client.ok(CHAT, guidance=guidance, watermark="w", **body)
    mark = gw.Watermark(key=5)
    guided: Any = (model() + 0.5 * model(2)).watermarked(mark)
    expected = guided.generate(TALK, temperature=1.0, seed=1, max_new_tokens=60)
    text = answer["choices"][0]["message"]["content"]
    assert text == expected.text
    found = client.ok("/v1/detect", watermark="w", text="abcdefghijklmnopqrstuvwxyz" * 2)
    assert 0 <= found["p"] <= 1
    for field in ({"watermark": "x"}, {"guidance": {"base": "x"}}, {"classifier": "x"}):
        refused = client.post(CHAT, **body, **field)
        assert refused.status_code == 400
        assert "'x'" in refused.json()["error"]["message"]


def test_explain_and_tokenize(client: Client) -> None:
    told = client.ok("/v1/explain", structured_outputs={"json": PERSON})
    assert {each["part"] for each in told["enforced"]} >= {"properties", "maxLength"}
    assert jsonschema.validate(json.loads(told["example"]), PERSON) is None
    assert client.ok("/v1/tokenize", prompt="ab")["tokens"] == [97, 98]


@pytest.mark.parametrize(
    ("fields", "status", "told"), WRONG, ids=[next(iter(each[0])) for each in WRONG]
)
def test_what_is_wrong_is_said(
    client: Client, fields: dict[str, Any], status: int, told: str
) -> None:
    answer = client.post(CHAT, **{"messages": TALK, **fields})
    assert answer.status_code == status, answer.text
    error = answer.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert told in error["message"] + str(error["param"])
    field = str(error["param"]).partition(".")[0].partition("[")[0]
    assert error["param"] is None or field in fields
    assert "Input should" not in error["message"]


def test_errors_of_other_routes_name_the_field(client: Client) -> None:
    form = {"format": {"type": "json_schema", "name": "p", "schema": PERSON}}
    image = [{"role": "user", "content": [{"type": "input_image"}]}]
    same = {"type": "choice", "instructions": "?", "choices": [{"value": "a"}, {"value": "a"}]}
    few = {"input": "a", "max_output_tokens": 4, "text": form}
    for path, body, param in (
        ("/v1/responses", few, "max_output_tokens"),
        ("/v1/responses", {"input": "a", "top_logprobs": 4}, "top_logprobs"),
        ("/v1/responses", {"input": image}, "input"),
        ("/v1/decisions", {"input": "a", "questions": [same]}, "questions"),
        (TEXT, {"prompt": [3]}, "prompt[0]"),
        ("/v1/embeddings", {"input": "a"}, None),
    ):
        answer = client.post(path, **body)
        error = answer.json()["error"]
        assert (answer.status_code, error["param"]) == (400, param), error
        assert "new_tokens" not in error["message"]
    missing = client.post("/v1/images")
    assert missing.status_code == 404
    assert "there is no POST '/v1/images'" in missing.json()["error"]["message"]


@pytest.mark.parametrize("content", [b"", b"[1]", b"{", b'{"a":' + b"[" * 9000, b"\xff{}"])
def test_a_body_that_is_no_json_object(client: Client, content: bytes) -> None:
    answer = client.send("POST", CHAT, content=content, headers=JSON)
    assert answer.status_code == 400
    assert "JSON" in answer.json()["error"]["message"]


def test_an_expensive_source_costs_its_own_request() -> None:
    with served(limits=Limits(compiling=0.001)) as found:
        answer = found.post(CHAT, messages=TALK, response_format=FORMAT)
        assert answer.status_code == 400
        assert "takes more than 0.001 seconds" in answer.json()["error"]["message"]
        assert found.server.compilers.killed == 1
        found.server.compilers.seconds = 30
        assert found.ok(CHAT, messages=TALK, response_format=FORMAT, max_tokens=90)
        assert found.ok(CHAT, messages=TALK, max_tokens=2)


def test_refusals_that_are_known_do_not_grow() -> None:
    """A traceback that is raised again gets longer, and its frames hold requests."""
    contradiction = {"json": {"type": "string", "minLength": 3, "maxLength": 2}}
    lengths = list[int]()
    with served() as found:
        for _ in range(12):
            refused = found.post(CHAT, messages=TALK, structured_outputs=contradiction)
            assert refused.status_code == 400
            (known,) = found.server.compilers._known.values()
            lengths.append(len([*traceback.walk_tb(known.result().__traceback__)]))
    assert len({*lengths[2:]}) == 1
    assert lengths[-1] < 12


def test_sources_that_nobody_waits_for_are_not_tried() -> None:
    """Clients that send expensive sources and leave do not make a queue for all others."""
    tried, go = list[gw.Regex](), threading.Event()

    def slow(source: gw.Regex) -> None:
        tried.append(source)
        go.wait(30)

    async def run(compilers: Any) -> None:
        compilers._try = slow
        sources = [gw.Regex(f"a{n}") for n in range(BESIDE + 40)]
        checks = [asyncio.create_task(compilers.check(each)) for each in sources]
        again = asyncio.create_task(compilers.check(sources[-1]))
        while len(tried) < BESIDE:
            await asyncio.sleep(0.01)
        for each in checks:
            each.cancel()
        await asyncio.gather(*checks, return_exceptions=True)
        assert len(compilers._known) == 1
        go.set()
        assert await again

    with served() as found:
        asyncio.run(run(found.server.compilers))
    assert len(tried) == BESIDE + 1


def test_keys_and_sizes() -> None:
    async def chunks() -> Any:
        for _ in range(50):
            yield b"[" * 100

    with served(keys=["one", "two"], limits=Limits(body=200)) as found:
        assert found.get("/v1/models").json()["data"][0]["id"] == "fake"
        assert Client(found.app, "two").get("/v1/models").status_code == 200
        for wrong in ("", "three", "on"):
            refused = Client(found.app, wrong).get("/v1/models")
            assert refused.status_code == 401
            assert "key" in refused.json()["error"]["message"]
        for path in ("/health", *FILES):  # the page needs no key, but its requests do
            assert Client(found.app).get(path).status_code == 200
        assert Client(found.app).get("/page/").status_code == 401
        assert found.post(CHAT, messages=TALK, user="u" * 300).status_code == 413
        more = {**JSON, **found.headers}
        assert found.send("POST", CHAT, content=chunks(), headers=more).status_code == 413


@pytest.mark.parametrize(("named", "status"), [
    ("127.0.0.1:8000", 200), ("[::1]:8000", 200), ("box", 200), ("BOX:1", 200),
    ("evil.example", 400), ("127.0.0.1.evil.example:8000", 400), ("", 400),
])  # fmt: skip
def test_a_page_elsewhere_cannot_come_under_a_name_of_its_own(named: str, status: int) -> None:
    with served(hosts=["127.0.0.1", "::1", "Box"]) as found:
        for path in ("/", "/health", "/v1/models"):
            answer = found.send("GET", path, headers={"host": named})
            assert answer.status_code == status, path
    if status == 400:
        error = answer.json()["error"]
        assert repr(named.partition(":")[0]) in error["message"]
        assert error["code"] == "unknown_host"


@pytest.mark.parametrize("kind", [None, "text/plain", "application/x-www-form-urlencoded"])
def test_a_page_elsewhere_cannot_send_a_form(client: Client, kind: str | None) -> None:
    """Browsers ask before they send JSON to another origin, and nothing else would be refused."""
    headers = {} if kind is None else {"content-type": kind}
    body = json.dumps({"messages": TALK}).encode()
    answer = client.send("POST", CHAT, content=body, headers=headers)
    assert answer.status_code == 415
    assert "application/json" in answer.json()["error"]["message"]


def test_a_body_that_does_not_come_is_not_waited_for() -> None:
    async def slow() -> Any:
        yield b'{"messages":'
        await asyncio.sleep(5)
        yield b"[]}"

    with served(limits=Limits(sending=0.1)) as found:
        answer = found.send("POST", CHAT, content=slow(), headers=JSON)
    assert answer.status_code == 408
    assert "0.1 seconds" in answer.json()["error"]["message"]


def test_too_many_are_told_to_wait() -> None:
    asked = {"messages": TALK, "max_tokens": 2}
    with served(gw.Engine(model(), max_batch=1), limits=Limits(queue=1)) as found:
        with found.server.admitted(1):
            refused = found.post(CHAT, n=2, **asked)
        assert refused.status_code == 429
        assert refused.headers["retry-after"] == "1"
        assert found.ok(CHAT, n=2, **asked)
        never = found.post(CHAT, n=3, **asked)
    assert never.status_code == 400
    assert "at most 2" in never.json()["error"]["message"]


# The model must not end these texts.
ENDLESS = {"messages": TALK, "max_tokens": 100_000, "min_tokens": 100_000}


@pytest.mark.parametrize("stream", [False, True])
def test_a_client_that_goes_away_stops_its_text(stream: bool) -> None:
    engine = gw.Engine(model(), max_batch=1)
    with served(engine, limits=Limits(tokens=100_000)) as found:
        body = json.dumps({**ENDLESS, "stream": stream}).encode()
        assert leave(found.app, CHAT, body, lambda _: engine.stats.forwards > 0)
        assert found.server.open == 0
        until = time.monotonic() + 10
        while engine._running and time.monotonic() < until:
            time.sleep(0.01)
        assert not engine._running


def leave(app: Any, path: str, body: bytes, gone: Callable[[int], bool]) -> bool:
    """Send a request, and leave when `gone` says so of the count of messages that came.

    Returns:
        False if it never did.
    """
    sent, count = [{"type": "http.request", "body": body, "more_body": False}], 0

    async def receive() -> Any:
        if sent:
            return sent.pop()
        until = time.monotonic() + 30
        while not gone(count) and time.monotonic() < until:
            await asyncio.sleep(0.01)
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        nonlocal count
        count += 1
        await asyncio.sleep(0.1 if gone(count) else 0)

    asyncio.run(asyncio.wait_for(app({**POST, "path": path}, receive, send), 60))
    return gone(count)


def test_decisions_of_a_client_that_goes_away_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that reads for ever: only what ends the thread ends the request."""
    read, chosen = 0, gw.Model.choose

    def choose(self: gw.Model, prompt: Any, choices: list[str]) -> dict[str, float]:
        nonlocal read
        read += 1
        time.sleep(0.01)
        return chosen(self, prompt, choices)

    monkeypatch.setattr(gw.Model, "choose", choose)
    question = {"type": "predicate", "instructions": "It is warm"}
    body = json.dumps({"input": "Hot.", "questions": [question] * 64}).encode()
    with served() as found:
        assert leave(found.app, "/v1/decisions", body, lambda _: read > 2)
        ended = read
        assert ended < 60
        time.sleep(0.2)
        assert read <= ended + 1


def test_reasoning_is_apart_from_the_answer(thinker: Client) -> None:
    body = {"messages": TALK, "structured_outputs": {"choice": ["yes", "no"]}, "max_tokens": 30}
    message = thinker.ok(CHAT, seed=1, **body)["choices"][0]["message"]
    assert message["content"] in ("yes", "no")
    assert "</think>" not in message["reasoning_content"]


def test_a_request_that_takes_too_long_ends() -> None:
    with served(limits=Limits(timeout=0.2, tokens=100_000)) as found:
        for stream in (False, True):
            assert "0.2 seconds" in found.post(CHAT, stream=stream, **ENDLESS).text


@pytest.mark.parametrize("at", [1, 2, 5])
def test_a_client_that_leaves_while_the_server_sends_leaves_nothing(client: Client, at: int):
    """Of a stream that nobody reads to its end, nothing waits for the garbage collector."""
    asked = {"prompt": "x", "stream": True, "structured_outputs": {"regex": "[ab]{200}"}}
    gc.collect()
    gc.disable()
    try:
        assert leave(client.app, TEXT, json.dumps(asked).encode(), lambda count: count >= at)
        assert client.server.open == 0
    finally:
        gc.enable()
