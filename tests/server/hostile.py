"""Hostile requests by class, and good ones."""

import asyncio
import contextlib
import json
import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from server.served import PERSON, TALK, TOOL

CHAT, TEXT = "/v1/chat/completions", "/v1/completions"
JSON = {"content-type": "application/json"}
SPACES = b" " * (3 << 20)


@dataclass(frozen=True)
class Request:
    """A request as bytes of HTTP.

    Attributes:
        kind: the class.
        sent: pieces, with seconds to wait after each.
        ends: whether the client waits for the answer; else it leaves.
        answers: statuses that are right; 0 is a connection that is closed without one.
        named: what the message has to name.
    """

    kind: str
    sent: tuple[tuple[bytes, float], ...]
    ends: bool = True
    answers: frozenset[int] = frozenset({400})
    named: str = ""


HOSTILE = defaultdict[str, list[Request]](list)
"""Requests of each class."""
BROKEN = frozenset({0, 400, 404, 405, 408, 413, 415, 431, 505})


def encoded(
    body: bytes, path: str = CHAT, method: str = "POST", headers: Any = JSON, length: Any = None
) -> bytes:
    """HTTP/1.1 of a request."""
    size = len(body) if length is None else length
    fields = {"host": "localhost", **headers, "content-length": size, "connection": "close"}
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items())]
    return "\r\n".join([*lines, "", ""]).encode() + body


def whole(kind: str, sent: bytes, answers: Any = (400,), named: str = "") -> Request:
    return Request(kind, ((sent, 0),), answers=frozenset(answers), named=named)


def add(kind: str, *bodies: tuple[dict[str, Any], str], path: str = CHAT) -> None:
    """A class of requests with one field wrong, by what an error must name."""
    needed = {CHAT: {"messages": TALK, "max_tokens": 20}, TEXT: {"prompt": "Hi", "max_tokens": 20}}
    for fields, named in bodies:
        body = json.dumps({**needed.get(path, {}), **fields}).encode()
        HOSTILE[kind].append(whole(kind, encoded(body, path), {400, 404}, named))


def add_sources(kind: str, form: str, *given: Any, named: str = "") -> None:
    """A class of requests with a wrong source of some form."""
    add(kind, *(({"structured_outputs": {form: each}}, named) for each in given))


def nested(depth: int) -> Any:
    schema: Any = {"type": "string"}
    for _ in range(depth):
        schema = {"type": "array", "items": schema}
    return schema


def chain(length: int) -> Any:
    links = {f"d{n}": {"$ref": f"#/$defs/d{n + 1}"} for n in range(length)}
    return {"$defs": {**links, f"d{length}": {"$ref": "#/$defs/d0"}}, "$ref": "#/$defs/d0"}


def custom(**fields: Any) -> dict[str, Any]:
    """A custom tool with one field wrong."""
    return {"tools": [{"type": "custom", "custom": {"name": "a", **fields}}]}


WRONG: list[tuple[dict[str, Any], int, str]] = [
    ({"foo": 1}, 400, "foo is unknown"),
    ({"structured_outputs": {"jsn": {}}}, 400, "did you mean 'json'"),
    ({"structured_outputs": {"whitespace_pattern": " "}}, 400, "structured_outputs.whitespace"),
    ({"structured_outputs": {"json": 3}}, 400, "must be an object or be true or false"),
    ({"structured_outputs": {"json_object": False}}, 400, "must be true, not false"),
    ({"structured_outputs": {"structural_tag": {"format": {"type": "x"}}}}, 400, "triggered_tags"),
    ({"response_format": {"type": "x"}}, 400, "'json_schema'"),
    ({"messages": []}, 400, "messages"),
    ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, 400, "text parts"),
    ({"model": "gpt-6"}, 404, "gpt-6"),
    ({"reasoning_effort": "high"}, 400, "reasoning_effort"),
    ({"n": 100}, 400, "8"),
    ({"n": True}, 400, "n must be a whole number, not true"),
    ({"temperature": "0"}, 400, "temperature must be a number, not '0'"),
    ({"stream": "true"}, 400, "stream must be true or false, not 'true'"),
    ({"max_completion_tokens": 10**9}, 400, "max_completion_tokens must be at most 300"),
    ({"min_p": 3}, 400, "min_p"),
    ({"min_tokens": 9, "max_tokens": 3}, 400, "at most max_tokens, which is 3"),
    ({"top_logprobs": 2}, 400, "needs logprobs: true"),
    ({"logprobs": True, "best_of": 2}, 400, "logprobs does not go with best_of"),
    ({"stream_options": {}}, 400, "needs stream: true"),
    ({"logit_bias": {"99999": 1}}, 400, "99999"),
    ({"structured_outputs": {"regex": "("}}, 400, "not closed"),
    ({"structured_outputs": {"regex": "a"}, "ebnf": "b"}, 400, "structured_outputs, ebnf"),
    ({"structured_outputs": {"json": {"$ref": "http://a/b"}}}, 400, "fetches nothing"),
    ({"structured_outputs": {"regex": "a{11}"}, "max_tokens": 2}, 400, "11"),
    ({"tools": [{"type": "web_search"}]}, 400, "web_search"),
    ({"tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "x"}}}, 400, "x"),
    ({"tools": [TOOL], "tool_choice": "perhaps"}, 400, "auto, required, none"),
    ({"tools": [TOOL], "tool_choice": {"type": "allowed_tools", "tools": []}}, 400, "a list"),
    ({"tools": [TOOL] * 129}, 400, "at most 128 items, not 129"),
    ({"tools": [TOOL, TOOL]}, 400, "two tools have the name 'person'"),
    ({"tools": [{"type": "function", "function": 3}]}, 400, "needs a name"),
    (custom(format=3), 400, "tool 'a', format must"),
    (custom(name="x</custom_tool_call>"), 400, "name must match"),
    (custom(formatt={"type": "text"}), 400, "formatt is unknown"),
    (custom(format={"type": "grammar"}), 400, "format.syntax is missing"),
    ({"tools": [], "tool_choice": "required"}, 400, "no tools"),
    ({"messages": [{"role": "assistant", "tool_calls": 3}]}, 400, "tool_calls must be a list"),
    ({"stop": ["a" * 300]}, 400, "256"),
    ({"stop": 3}, 400, "must be a string or be a list, not 3"),
    ({"stream": True, "num_beams": 2}, 400, "search"),
    ({"trace": {"alternatives": 21}}, 400, "trace.alternatives must be at most 20"),
    ({"trace": {}, "num_beams": 2}, 400, "trace"),
]
"""Requests of a chat with something wrong: status, and what the error names."""
for fields, *_ in WRONG:
    add(f"wrong {next(iter(fields))}", (fields, ""))
IMAGE = {"type": "image_url", "image_url": {"url": "http://a/b"}}
add("wrong messages", *(({"messages": messages}, "") for messages in (
    None, 5, {}, [5], [None], TALK * 1025, [{}], [{"role": "user"}], [{"role": 5, "content": "a"}],
    [{"role": "user", "content": 5}], [{"role": "user", "content": [IMAGE]}],
    [{"role": "assistant", "content": None, "tool_calls": [5]}],
)))  # fmt: skip
add_sources("deep schemas", "json", nested(80), nested(500))
FETCHED = [{"$ref": f"{way}://127.0.0.1/x"} for way in ("http", "file")]
add_sources("schemas that fetch", "json", *FETCHED)
add_sources(
    "wrong schemas", "json", 5, [], "{", {"type": "strin"}, {"type": 5}, {"properties": 5},
    {"properties": {"a": {"minLength": "x"}}}, {"required": "a"}, {"$ref": "#/nowhere"},
    {"$ref": 5}, chain(900), {"enum": []}, {"minimum": 3, "maximum": 2, "type": "number"},
    {"type": "string", "minLength": 3, "maxLength": 2},
    {"type": "array", "items": {"type": "boolean"}, "minItems": 3, "uniqueItems": True},
    {"not": {}}, {"$defs": {"a": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"},
    {"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]},
    {"type": "array", "minItems": 10**9}, {"type": "string", "minLength": 10**30},
    {"type": "string", "pattern": "("},
)  # fmt: skip
add_sources(
    "wrong regexes", "regex", "(", ")", "[z-a]", "a{3,2}", "a{99999999999}", "*", r"\p{Nothing}",
    "(?<=a)b", "(" * 30_000, "(?=b)a", "[" * 3000, "\\",
)  # fmt: skip
add_sources(
    "wrong grammars", "grammar", "", "start", "start: nothing", "start: start", 'start: "a" start',
    "root ::= root", 'root ::= "a" nothing', "root ::= " + "(" * 30_000, "start: /(/",
    "%import os\nstart: /a/", "%import /etc/passwd (A)\nstart: A", "start: a\na: b\nb: a",
)  # fmt: skip
CHOICES = [], "a", [5], [["a"]], ["a"] * 20_000, {"a": 1}
add_sources("wrong choices", "choice", *CHOICES, named="choice")
add("prompts", *(({"prompt": p}, "prompt") for p in ([], 5, None, [5], ["a"] * 65)), path=TEXT)
add("many texts", ({"prompt": ["a"] * 64, "n": 8}, "512"), path=TEXT)
add("other fields", *(({name: 1}, name) for name in ("suffix", "echo", "foo")), path=TEXT)
INPUTS = {}, {"input": 5}, {"input": []}, {"input": [5]}, {"input": "a", "n": 2}
add("responses", *((each, "") for each in INPUTS), path="/v1/responses")
ASKED: list[Any] = [
    [], 5, [5], [{"type": "predicate"}], [{"type": "predicate", "instructions": "a"}] * 65,
    [{"type": "choice", "instructions": "a", "choices": [{"value": "a"}]}],
    [{"type": "predicate", "instructions": [5]}],
]  # fmt: skip
add("decisions", *(({"input": "a", "questions": each}, "") for each in ASKED), path="/v1/decisions")
add("detect", ({"text": "a", "watermark": "x"}, "x"), ({}, ""), path="/v1/detect")
READ = {}, {"prompt": 5}, {"prompt": "a", "messages": TALK}
add("tokenize", *((each, "") for each in READ), path="/v1/tokenize")
add("explain", ({}, ""), ({"structured_outputs": {}}, ""), path="/v1/explain")
add("embeddings", ({"input": "a"}, "embeddings"), path="/v1/embeddings")


def raw(kind: str, *sent: bytes, answers: Any = BROKEN) -> None:
    HOSTILE[kind] += [whole(kind, each, answers) for each in sent]


TALKED = json.dumps({"messages": TALK, "max_tokens": 3})
raw("no JSON object", *map(encoded, (
    b"", b"{", b"[1]", b"5", b"null", b'"a"', b"\xff{}", b"\xef\xbb\xbf{}x",
    TALKED.replace("3", "NaN").encode(), TALKED.encode("utf-16"), TALKED.encode()[:-1],
    TALKED.encode().replace(b"Who?", b"\xc3("), TALKED.encode().replace(b"Who?", b"\x00"),
    b'{"messages":' + b"[" * 9000, b'{"a":' * 90 + b"1" + b"}" * 90,
)), answers={400})  # fmt: skip
LONE = (
    *(TALKED.replace("Who?", text) for text in (r"\ud800", r"a\udfff", r"\udc00\ud800")),
    TALKED.replace("{", r'{"stop": "\ud800", ', 1),
    TALKED.replace("{", r'{"structured_outputs": {"regex": "\ud800"}, ', 1),
    TALKED.replace("{", r'{"structured_outputs": {"choice": ["\ud800"]}, ', 1),
)
raw("surrogates", *(encoded(text.encode()) for text in LONE), answers={400})
raw("large bodies", encoded(b"{}" + SPACES), encoded(b"{}", length=1 << 40), answers={413, 0})
TYPES = "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=a"
TYPED = [{}, *({"content-type": each} for each in TYPES)]
raw("wrong content types", *(encoded(TALKED.encode(), headers=h) for h in TYPED), answers={415})
HOSTS = "evil.example", "localhost.evil.example:80", "127.0.0.1.evil.example", "[::2]"
HOSTED = [{**JSON, "host": name} for name in HOSTS]
raw("hosts of others", *(encoded(TALKED.encode(), headers=h) for h in HOSTED), answers={400})
GZIP = {**JSON, "content-encoding": "gzip"}
raw("wrong encodings", encoded(b"\x1f\x8b\x08\x00garbage", headers=GZIP), answers={400, 415})
PATHS = "/v2", "/..%2f..%2fetc/passwd", "//v1/models", "/v1/chat", "/docs", "/openapi"
raw("unknown paths", *(encoded(b"", path, "GET") for path in PATHS), answers={404})
METHODS = "GET", "PUT", "DELETE", "PATCH", "TRACE", "BREW"
raw("wrong methods", *(encoded(b"", CHAT, method) for method in METHODS),
    answers={405, 404, 400, 501, 415})  # fmt: skip
raw(
    "broken HTTP",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"hello\r\n\r\n",
    b"GET /x HTTP/9.9\r\n\r\n",
    b"GET  /x  HTTP/1.1\r\n\r\n",
    b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    b"GET /x HTTP/1.1\r\nHost: localhost\r\nA: " + b"a" * 100_000 + b"\r\n\r\n",
    b"GET /x HTTP/1.1\r\nHost: localhost\r\n" + b"a: b\r\n" * 20_000 + b"\r\n",
    b"GET /x HTTP/1.1\r\nHost: localhost\r\nA: \x00\r\n\r\n",
    b"GET /x HTTP/1.1\r\nHost: localhost\r\n: b\r\n\r\n",
    b"GET /x HTTP/1.1\r\n\r\n",
    encoded(b"zz\r\nab\r\n", headers={**JSON, "transfer-encoding": "chunked"}, length=9),
    b"POST " + CHAT.encode() + b" HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b"Transfer-Encoding: chunked\r\n\r\nzz\r\nab\r\n",
)


def leaving(kind: str, sent: bytes, wait: float = 0.05) -> None:
    HOSTILE[kind] += [Request(kind, ((sent, wait * n / 4),), ends=False) for n in range(5)]


LONG = json.dumps({"messages": TALK, "max_tokens": 1000, "min_tokens": 1000}).encode()
leaving("half a head", b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nCont")
leaving("half a body", encoded(TALKED.encode()[:9], length=len(TALKED)))
leaving("gone before the answer", encoded(LONG), 0.5)
leaving("gone from a stream", encoded(LONG[:-1] + b', "stream": true}'), 0.5)
HELD = [
    whole(
        "a head that does not end", b"POST /v1/models HTTP/1.1\r\nHost: localhost\r\nCont", {408}
    ),
    whole("a connection without a request", b"", {408}),
    whole("a body that does not end", encoded(b'{"messages": [', length=999), {408}),
    Request("not read", ((encoded(LONG[:-1] + b', "stream": true}'), 5.0),), ends=False),
]
"""Connections that are held open."""
EXPLODING = [
    {"structured_outputs": {"regex": each}}
    for each in (
        "(?:(?:a{1,999}){1,999}b){1,999}[ab]*a[ab]{30}",
        "(?=(a+)+b)" * 40 + "x",
        "(?:" * 200 + "a" + "){1,9}" * 200,
        r"(?=.*a.{18}b)(?=.*c.{18}d)(?!.*e.{18}f)[a-f]*",
    )
]
EXPLODING += [
    {"structured_outputs": {"json": each}}
    for each in (
        {"allOf": [{"anyOf": [{"pattern": f"a.{{{n}}}b"}, {"minLength": n}]} for n in range(40)]},
        {"type": "array", "minItems": 10**9, "maxItems": 10**9 + 1, "uniqueItems": True},
        {"patternProperties": {f"a.{{{n}}}b": {"type": "null"} for n in range(40)}},
        {"oneOf": [{"properties": {f"a{n}": {"type": "null"}}} for n in range(60)]},
        {"type": "integer", "multipleOf": 99991, "not": {"multipleOf": 10007}},
    )
]
"""Sources that cost much. Some are served, within the limits of time and memory."""


@dataclass(frozen=True)
class Answer:
    """What came: status 0 if nothing did."""

    status: int = 0
    body: str = ""
    headers: dict[str, str] = field(default_factory=dict[str, str])


async def send(port: int, request: Request, seconds: float = 120.0) -> Answer:
    """Send a request, and read the whole answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 24)
    try:
        async with asyncio.timeout(seconds):
            for piece, wait in request.sent:
                writer.write(piece)
                await writer.drain()
                if wait:
                    await asyncio.sleep(wait)
            return read(await reader.read(-1)) if request.ends else Answer()
    except ConnectionError:  # the server has refused, and does not read on
        answer = b""
        with contextlib.suppress(ConnectionError, TimeoutError):
            answer = await asyncio.wait_for(reader.read(-1), 5)
        return read(answer)
    finally:
        writer.transport.abort()


def read(answer: bytes) -> Answer:
    """An answer of HTTP/1.1; chunks are joined."""
    head, _, body = answer.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    if not lines[0].startswith("HTTP/1.1 "):
        return Answer(body=lines[0])
    headers = dict(line.lower().split(": ", 1) for line in lines[1:] if ": " in line)
    if headers.get("transfer-encoding") == "chunked":
        body = b"".join(re.split(rb"(?:^|\r\n)[0-9a-f]+\r\n", body))
    return Answer(int(lines[0].split()[1]), body.decode(), headers)


GOOD: list[tuple[str, dict[str, Any]]] = [
    (CHAT, {"messages": TALK, **more})
    for more in (
        {"max_tokens": 24, "temperature": 0},
        {"max_tokens": 24, "seed": 3, "stream": True, "stream_options": {"include_usage": True}},
        {"max_tokens": 90, "seed": 1, "structured_outputs": {"json": PERSON}},
        {"max_tokens": 90, "temperature": 0, "guided_json": PERSON, "stream": True},
        {"max_tokens": 30, "seed": 5, "structured_outputs": {"regex": "[a-f]{3}-[0-9]+"}, "n": 2},
        {"max_tokens": 30, "seed": 7, "structured_outputs": {"choice": ["yes", "no", "maybe"]}},
        {"max_tokens": 90, "seed": 2, "tools": [TOOL], "tool_choice": "required"},
        {"max_tokens": 60, "seed": 2, "ebnf": 'root ::= "a" root "b" | [0-9]'},
        {"max_tokens": 20, "seed": 4, "logprobs": True, "top_logprobs": 2, "stop": ["e"]},
    )
]
GOOD += [
    (TEXT, {"prompt": ["One", "Two"], "max_tokens": 12, "seed": 9}),
    ("/v1/responses", {"input": "Hi", "max_output_tokens": 20, "temperature": 0}),
    ("/v1/tokenize", {"messages": TALK}),
    ("/v1/explain", {"structured_outputs": {"json": PERSON}}),
]
# Ids and times are new each time; drafts and the prefix cache depend on what ran before, and the
# last digits of log-probabilities on the other rows of a batch.
CHANGING = (
    r'"(?:id|item_id|call_id)": ?"[^"]*"',
    r'"created(?:_at)?": ?\d+',
    r'"(?:forwards|cached_tokens|accepted_prediction_tokens|rejected_prediction_tokens)": ?\d+',
    r"-?\d+\.\d{5,}(?:e-?\d+)?",
)


def good(number: int) -> Request:
    path, body = GOOD[number % len(GOOD)]
    return whole(f"good {number % len(GOOD)}", encoded(json.dumps(body).encode(), path), {200})


def lasting(body: str) -> str:
    """An answer without what differs each time."""
    return re.sub("|".join(CHANGING), "", body)
