"""The linter: its table against known facts, and its trials with engines whose faults are known."""

import ast
import json
import sys
from importlib.metadata import version

import pytest
from jsonschema import Draft202012Validator

import guideway as gw
from guideway.api.linting import lint as linter
from guideway.cli.main import run
from guideway.json_schema.tree import KEYWORDS

INTEGER = {"type": "integer"}
OBJECT = {"type": "object", "properties": {"a": INTEGER, "b": INTEGER}}
LOCAL = [
    {"type": "string", "minLength": 2, "maxLength": 3, "pattern": "^a"},
    {"type": "number", "minimum": 3, "multipleOf": 0.5},
    {"type": "array", "items": INTEGER, "uniqueItems": True, "minItems": 1},
    {"type": "array", "contains": INTEGER, "maxContains": 1},
    {**OBJECT, "required": ["a"], "additionalProperties": False},
    {**OBJECT, "dependentRequired": {"a": ["b"]}, "minProperties": 1},
    {**OBJECT, "if": {"required": ["a"]}, "then": {"required": ["b"]}},
    {"oneOf": [{"type": "integer"}, {"type": "number", "minimum": 3}]},
    {"type": "integer", "not": {"minimum": 3}},
    {"$ref": "#/$defs/n", "$defs": {"n": {**OBJECT, "properties": {"c": {"$ref": "#/$defs/n"}}}}},
]


def pruned(schema, dropped):
    """The schema without some keywords; names of properties are none."""
    if isinstance(schema, list):
        return [pruned(each, dropped) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: {key: pruned(each, dropped) for key, each in value.items()}
        if name in ("properties", "$defs")
        else value
        if name in ("required", "dependentRequired", "enum")
        else pruned(value, dropped)
        for name, value in schema.items()
        if name not in dropped
    }


@pytest.fixture
def fake(monkeypatch):
    """An engine that enforces all but some keywords, and refuses others."""

    def install(dropped=(), refused=()):
        def engine(text):
            if missing := next((name for name in refused if f'"{name}"' in text), None):
                raise RuntimeError(f"no {missing}")
            validator = Draft202012Validator(pruned(json.loads(text), dropped))
            return lambda given: validator.is_valid(json.loads(given))

        monkeypatch.setitem(linter.TRIED, "xgrammar", ("pytest", lambda: engine))

    return install


@pytest.mark.parametrize("schema", LOCAL, ids=json.dumps)
def test_each_keyword_that_an_engine_drops_is_found_by_trial(schema, fake) -> None:
    whole = schema if "$defs" in schema else {"type": "array", "items": schema}
    keywords = {one.keyword for one in gw.lint(schema, "gemini")} - {"properties", "items", "$ref"}
    for dropped in keywords:
        fake([dropped])
        lost = [one for one in gw.lint(whole, "xgrammar") if one.tried and one.verdict == "dropped"]
        assert any(one.keyword == dropped for one in lost), dropped
        for one in lost:
            if one.why.endswith(" by itself"):
                continue  # a text of the inner schema
            value = json.loads(ast.literal_eval(one.why.removeprefix("accepts ")))
            assert Draft202012Validator(pruned(whole, [dropped])).is_valid(value)
            assert not Draft202012Validator(whole).is_valid(value)


def test_an_engine_that_enforces_all_has_no_dropped_keyword(fake) -> None:
    fake()
    for schema in LOCAL:
        tried = [one.verdict for one in gw.lint(schema, "xgrammar") if one.tried]
        assert set(tried) == {"enforced"}


def test_oneof_read_as_anyof_is_enforced_partly(monkeypatch) -> None:
    def engine(text):
        validator = Draft202012Validator(json.loads(text.replace("oneOf", "anyOf")))
        return lambda given: validator.is_valid(json.loads(given))

    monkeypatch.setitem(linter.TRIED, "xgrammar", ("pytest", lambda: engine))
    for branches, verdict in (
        ([INTEGER, {"type": "number"}], "partly"),
        ([INTEGER, {"type": "string"}], "enforced"),
    ):
        found = gw.lint({"oneOf": branches}, "xgrammar")[0]
        assert (found.place, found.verdict) == ("/oneOf", verdict)


def test_refused_keywords_are_found_among_others(fake) -> None:
    fake(dropped=["uniqueItems"], refused=["not", "contains"])
    schema = {
        "type": "array",
        "contains": {"type": "integer", "minimum": 1},
        "items": {"type": "integer", "not": {"const": 3}},
        "uniqueItems": True,
    }
    found = {one.place: one for one in gw.lint(schema, "xgrammar")}
    assert {place: one.verdict for place, one in found.items()} == {
        "/type": "enforced",
        "/contains": "refused",
        "/items": "enforced",
        "/uniqueItems": "dropped",
        "/contains/type": "refused",
        "/contains/minimum": "refused",
        "/items/type": "enforced",
        "/items/not": "refused",
        "/items/not/const": "refused",
    }
    assert found["/contains"].why == "'no contains'"
    assert found["/contains/minimum"].why == "within /contains"
    assert found["/uniqueItems"].why == "accepts '[0,0]'"
    assert found["/uniqueItems"].sources == (f"pytest {version('pytest')}",)
    assert found["/items/not"].tried


def test_an_engine_that_refuses_everything_leaves_the_table(fake) -> None:
    fake(refused=["type", "$schema"])
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", "maxItems": 3}
    [found] = gw.lint(schema, "xgrammar")
    assert (found.verdict, found.tried) == ("dropped", False)


def test_a_text_rejected_for_another_reason_says_nothing(monkeypatch) -> None:
    """An engine without a comma in arrays rejects [0,0], but not because of uniqueItems."""
    engine = lambda schema: lambda text: "," not in text  # noqa: E731
    monkeypatch.setitem(linter.TRIED, "xgrammar", ("pytest", lambda: engine))
    schema = {"type": "array", "items": INTEGER, "uniqueItems": True}
    found = {one.place: one for one in gw.lint(schema, "xgrammar")}
    assert not found["/uniqueItems"].tried
    assert found["/type"].verdict == "dropped"


@pytest.mark.parametrize(
    ("engine", "schema", "place", "verdict"),
    [
        ("xgrammar", {"type": "string", "pattern": "a", "maxLength": 3}, "/maxLength", "dropped"),
        ("xgrammar", {"type": "string", "maxLength": 3}, "/maxLength", "enforced"),
        ("xgrammar", {"type": "number", "multipleOf": 0.1}, "/multipleOf", "dropped"),
        ("xgrammar", {"type": "integer", "multipleOf": 3}, "/multipleOf", "partly"),
        ("xgrammar", {"allOf": [{"type": "string"}, {"minLength": 1}]}, "/allOf", "dropped"),
        ("xgrammar", {**OBJECT, "anyOf": [{"required": ["a"]}]}, "/properties", "dropped"),
        ("xgrammar", {**OBJECT, "anyOf": [{"required": ["a"]}]}, "/anyOf", "dropped"),
        ("xgrammar", {"anyOf": [INTEGER, {"type": "null"}]}, "/anyOf", "enforced"),
        ("xgrammar", {"minimum": 3}, "/minimum", "dropped"),
        ("outlines", {**OBJECT, "required": ["c"]}, "/required", "dropped"),
        ("llguidance", {"not": INTEGER}, "/not", "refused"),
        ("llguidance", {"type": "string", "format": "iri"}, "/format", "refused"),
        ("llguidance", {"oneOf": [INTEGER]}, "/oneOf", "partly"),
        ("outlines", {"type": "integer", "minimum": 3}, "/minimum", "dropped"),
        ("openai", {**OBJECT, "additionalProperties": False}, "/properties", "refused"),
        ("openai", {**OBJECT, "required": ["a", "b"]}, "/properties", "refused"),
        ("openai", {**OBJECT, "additionalProperties": True}, "/additionalProperties", "refused"),
        ("openai", {"anyOf": [INTEGER]}, "/anyOf", "refused"),
        ("openai", {"type": "string", "pattern": "^(?=a)"}, "/pattern", "refused"),
        ("gemini", {"type": "string", "pattern": "^a$"}, "/pattern", "dropped"),
        ("gemini", {"if": INTEGER, "then": {"minimum": 1}}, "/then/minimum", "dropped"),
        ("llama.cpp", {"type": "string", "pattern": "a"}, "/pattern", "refused"),
        ("llama.cpp", {"type": "string", "pattern": "^a$"}, "/pattern", "enforced"),
        ("llama.cpp", {"type": "number", "minimum": 1}, "/minimum", "dropped"),
        ("llama.cpp", {"type": "integer", "minimum": 1}, "/minimum", "enforced"),
        ("llama.cpp", {"$ref": "#/$defs/a~1b", "$defs": {"a/b": INTEGER}}, "/$ref", "enforced"),
    ],
)
def test_the_table_has_known_facts(engine, schema, place, verdict, monkeypatch) -> None:
    monkeypatch.setattr(linter, "TRIED", {})
    [found] = [one for one in gw.lint(schema, engine) if one.place == place]
    assert (found.verdict, found.tried) == (verdict, False)
    assert all(found.sources)
    assert len(found.sources) > 1


def test_the_table_has_only_keywords_and_the_common_ones_for_each_engine() -> None:
    listed = {
        engine: {key.partition(":")[0] for key in linter._table(engine)[0]}
        for engine in linter.ENGINES
    }
    assert set().union(*listed.values()) - {"*"} <= set(KEYWORDS)
    common = {"type", "enum", "properties", "required", "items", "anyOf", "$ref", "format"}
    for known in listed.values():
        assert known >= common
        assert "*" in known or {"not", "if", "contains", "uniqueItems", "const"} <= known


def test_what_is_no_schema_and_no_engine_is_refused() -> None:
    with pytest.raises(gw.SourceError, match="the linter knows no engine 'vllm', only xgrammar"):
        gw.lint({}, "vllm")
    with pytest.raises(gw.SourceError, match="reads JSON Schemas, not Regex"):
        gw.lint(gw.Regex("a"))
    with pytest.raises(gw.SourceError, match="/maxLength"):
        gw.lint({"maxLength": -1})
    assert "type" in [one.keyword for one in gw.lint(int, "openai")]


def printed(capsys, *arguments):
    with pytest.raises(SystemExit) as left:
        run(["lint", *arguments])
    assert not left.value.code
    return capsys.readouterr()


def test_the_command_prints_what_is_not_enforced(capsys, tmp_path, fake) -> None:
    fake(dropped=["uniqueItems"])
    path = tmp_path / "schema.json"
    path.write_text('{"type": "array", "uniqueItems": true}')
    shown = printed(capsys, str(path), "--engine", "xgrammar", "-e", "gemini").out.splitlines()
    assert shown[0].startswith("xgrammar (pytest ")
    assert shown[0].endswith("): 1 of 2 keywords enforced")
    assert shown[1].split() == ["/uniqueItems", "dropped*", "accepts", "'[0,0]'"]
    assert shown[3].split()[:2] == ["/uniqueItems", "dropped"]
    assert len(printed(capsys, str(path), "-e", "gemini", "--all").out.splitlines()) == 3
    listed = json.loads(printed(capsys, str(path), "--json").out)
    assert {one["engine"] for one in listed} == set(linter.ENGINES)
    assert listed[1]["verdict"] == "dropped"


def test_the_command_silences_what_libraries_print(capfd, fake, monkeypatch) -> None:
    fake()
    made = linter.TRIED["xgrammar"][1]

    def noisy():
        engine = made()

        def compiled(schema):
            print("warning", file=sys.__stderr__, flush=True)
            return engine(schema)

        return compiled

    monkeypatch.setitem(linter.TRIED, "xgrammar", ("pytest", noisy))
    assert printed(capfd, '{"type": "string"}', "-e", "xgrammar").err == ""
