"""Sources by the names of requests: what each form allows, and what is refused by name."""

import itertools
import json
import re
from typing import Any

import pytest

import guideway as gw
from guideway.integrations import sglang
from guideway.integrations.requests import read_request

BYTES = gw.Vocabulary([*(bytes([byte]) for byte in range(256)), None], special={"<tool>": 256})
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}


def schema(value: Any) -> Any:
    return {"type": "json_schema", "json_schema": value}


def tag(begin: Any, content: Any, end: Any) -> Any:
    return {"type": "tag", "begin": begin, "content": content, "end": end}


CALL = tag("<f=a>", schema(SCHEMA), "</f>")
OTHER = tag("<f=b>", schema({"type": "null"}), ["</f>", "</g>"])
TRIGGERED = {"type": "triggered_tags", "triggers": ["<f="], "tags": [CALL, OTHER]}
SEPARATED = {"type": "tags_with_separator", "tags": [CALL, OTHER], "separator": ", "}
LEGACY = {
    "triggers": ["<f="],
    "structures": [
        {"begin": "<f=a>", "schema": SCHEMA, "end": "</f>"},
        {"begin": "<f=b>", "schema": {"type": "null"}, "end": "</f>"},
    ],
}


def formed(form: Any) -> Any:
    return {"structural_tag": {"type": "structural_tag", "format": form}}


@pytest.mark.parametrize(("request_", "texts", "others"), [
    ({"json": SCHEMA}, ['{"a": 1}'], ['{"a":1,"b":2}', "{}", '{"a":' + " " * 99 + "1}"]),
    (json.dumps({"json": json.dumps(SCHEMA)}), ['{"a":1}'], ["1"]),
    (formed({"type": "regex", "pattern": "\\d"}), ["1"], ["１"]),
    (formed(schema(SCHEMA) | {"style": "qwen_xml"}),
     ["<parameter=a>\n1\n</parameter>\n", "<parameter=a>1</parameter>"],
     ["", "<parameter=a>x</parameter>", "<parameter=b>1</parameter>"]),
    (formed(schema(value=True) | {"style": "qwen_xml"}),
     ["", "<parameter=b>\nx</y\n</parameter>\n<parameter=a>1</parameter>"], ["<parameter=a>1"]),
    ({"json": True}, ["1", "[{}]"], [""]),
    ({"json_object": True}, ["{}", '{"x": [1]}'], ["[]"]),
    ({"regex": "a+|é"}, ["aa", "é"], ["", "ab"]),
    ({"choice": ["a", "b"]}, ["a"], ["ab"]),
    ({"choice": '["a", "b"]'}, ["b"], ["c"]),
    ({"grammar": 'start: "a" | "(" start ")"'}, ["((a))"], ["(a"]),
    ({"grammar": 'root ::= "a" x\nx ::= [0-9]'}, ["a1"], ["a"]),
    ({"structural_tag": LEGACY}, ["", 'so <f=a>{"a": 1}</f> and <f=b>null</f>.'], ["<f=c>"]),
    ({"structural_tag": json.dumps(LEGACY)}, ["<f=b>null</f>"], ["<f=b>1</f>"]),
    (formed(TRIGGERED), ["x <f=b>null</g> <", "<f=b>null</f>"], ["<f="]),
    (formed(TRIGGERED | {"at_least_one": True}), ["<f=b>null</f>x", "<f=b>null</f>x<f=b>null</f>"],
     ["x", "x<f=b>null</f>"]),
    (formed(TRIGGERED | {"at_least_one": True, "stop_after_first": True}), ["<f=b>null</f>"],
     ["<f=b>null</f>x", "x<f=b>null</f>"]),
    (formed(TRIGGERED | {"stop_after_first": True}), ["x<f=b>null</f>", "x"], ["<f=b>null</f>x"]),
    (formed(SEPARATED), ["", "<f=b>null</f>, <f=b>null</g>"], ["<f=b>null</f>,<f=b>null</f>"]),
    (formed(SEPARATED | {"at_least_one": True, "stop_after_first": True}), [], ["", "x"]),
    (formed({"type": "sequence",
             "elements": [{"type": "const_string", "value": "<"},
                          {"type": "any_text", "excludes": ["bad", ">"]},
                          {"type": "or",
                           "elements": [schema(1 == 1), {"type": "regex", "pattern": ">+"}]}]}),
     ["<x>>", "<1"], ["<bad>"]),
    (formed(tag("<", {"type": "any_text"}, ">")), ["<a b>"], ["<a>>"]),
    (formed({"type": "plus", "content": {"type": "grammar", "grammar": 'start: "a"'}}), ["aa"],
     [""]),
    (formed({"type": "star", "content": {"type": "const_string", "value": "a"}}), ["", "aa"],
     ["b"]),
    (formed({"type": "optional", "content": schema({"const": 1})}), ["", "1"], ["11"]),
], ids=lambda each: str(each)[:50])  # fmt: skip
def test_each_kind_of_request(request_: Any, texts: list[str], others: list[str]):
    constraint = gw.compile(read_request(request_), BYTES, gw.Budget.untrusted())
    assert [constraint.matches(text) for text in texts] == [True] * len(texts)
    assert [constraint.matches(text) for text in others] == [False] * len(others)


TEXTS = ["".join(letters) for n in range(6) for letters in itertools.product("<bf>", repeat=n)]


@pytest.mark.parametrize("stops", [False, True])
@pytest.mark.parametrize("required", [False, True])
@pytest.mark.parametrize(
    "excludes", [["b"], ["f", "bb"], ["bb<"], ["b<"], ["bb<f", "<b"], ["<f>"], ["<f>b"], ["<f>f"]]
)
@pytest.mark.parametrize("triggers", [["<f>"], ["<f", "<b>"]])
def test_free_text_around_tags_has_no_excluded_text(
    triggers: list[str], excludes: list[str], required: bool, stops: bool
):
    """Against a scanner that reads a text from the left, over all short texts."""
    begins = ["<f>", "<b>"][: len(triggers)]
    one = {"type": "regex", "pattern": "b|ff"}
    form = {
        "type": "triggered_tags",
        "triggers": triggers,
        "excludes": excludes,
        "tags": [tag(begin, one, "") for begin in begins],
        "at_least_one": required,
        "stop_after_first": stops,
    }

    one_tag = re.compile(f"(?:{'|'.join(begins)})(?:b|ff)")

    def scanned(text: str) -> bool:
        free, place = "", 0
        if required:
            found = one_tag.match(text)
            place = found.end() if found else len(text) + 1
        while place < len(text) and not (required and stops):
            free, place = free + text[place], place + 1
            if any(map(free.endswith, excludes)):
                return False
            begun = [t for t in triggers if free.endswith(t)]
            if not begun:
                continue
            found = one_tag.match(text, place - len(begun[0]))
            if found is None:
                return False
            free, place = "", found.end()
            if stops:
                break
        return place == len(text)

    try:
        constraint = gw.compile(read_request(formed(form)), BYTES)
    except gw.UnsatisfiableError:
        assert not any(map(scanned, TEXTS))
        return
    for text in TEXTS:
        assert constraint.matches(text) == scanned(text), text


def test_a_token_of_a_structural_tag_is_one_id():
    token = {"type": "token", "token": "<tool>"}
    constraint = gw.compile(read_request(formed(tag(token, schema({"const": 1}), ""))), BYTES)
    assert constraint.forced(constraint.start())[:1] == (256,)


@pytest.mark.parametrize(
    ("request_", "error", "said"),
    [
        (formed({"type": "dispatch", "rules": []}), gw.UnsupportedError, "'dispatch'; known are"),
        (formed(schema(SCHEMA) | {"style": "x"}), gw.UnsupportedError, "style 'x' .* qwen_xml"),
        (formed({"type": "any_text", "max_tokens": 3}), gw.UnsupportedError, "max_tokens = 3"),
        (formed(TRIGGERED | {"excludes": "x"}), gw.SourceError, "a list of strings"),
        (formed(TRIGGERED | {"triggers": ["<", "<f"]}), gw.SourceError, "exactly one trigger"),
        (formed({"type": "or", "elements": []}), gw.SourceError, "empty"),
        (formed(tag(3, schema(True), "")), gw.SourceError, "begin or end"),
        (formed({"type": "tag"}), gw.SourceError, "malformed"),
        ({"structural_tag": {"structures": [1], "triggers": []}}, gw.SourceError, "malformed"),
        ({"structural_tag": 5}, gw.SourceError, "malformed"),
        ({"grammar": 5}, gw.SourceError, "grammar must be a text"),
        ({"choice": "["}, gw.SourceError, "not valid JSON"),
        ("[" * 100_000, gw.SourceError, "not valid JSON"),
        ({"regex": None}, gw.SourceError, "pattern"),
        ({"json": None}, gw.SourceError, "schema"),
        ({"choice": []}, gw.SourceError, "at least one"),
        ({"json": {}, "regex": ""}, gw.SourceError, "one of the keys"),
    ],
    ids=lambda each: str(each)[:50],
)
def test_other_requests_are_refused_by_name(request_: Any, error: Any, said: str):
    with pytest.raises(error, match=said):
        read_request(request_)


def test_a_deep_structural_tag_is_refused():
    form: Any = {"type": "const_string", "value": "a"}
    for _ in range(5_000):
        form = {"type": "optional", "content": form}
    with pytest.raises(gw.SourceError, match="malformed"):
        read_request(formed(form))


def test_without_sglang_registering_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("guideway.extras.find_spec", lambda module: None)
    with pytest.raises(gw.ModelError, match="pip install sglang"):
        sglang.register()
