"""Files of a folder that a schema refers to; `referencing` with the same files is the oracle."""

import json
from pathlib import Path
from urllib.parse import urljoin

import pytest
from jsonschema import Draft202012Validator
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from guideway.errors import LimitError, SourceError, UnsupportedError
from guideway.json_schema import resources as json_schema_files
from guideway.json_schema.source import JsonSchema
from json_schemas import machine, matches

FILES = {
    "part.json": {"type": "integer"},
    "deep/one.json": {"items": {"$ref": "two.json"}, "$defs": {"up": {"$ref": "../part.json"}}},
    "deep/two.json": {"anyOf": [{"$ref": "one.json"}, {"type": "string"}]},
    "my part.json": {"$defs": {"a b": {"type": "null"}}},
    "named.json": {"$id": "https://example.com/other/name", "type": "boolean"},
    "no_json.json": "{",
    "back.json": {"$ref": "#/$defs/own", "$defs": {"own": {"$ref": "deep/one.json#/$defs/up"}}},
}
INSTANCES = (3, "a", None, True, {}, [], ["a"], [["a"], "b"], [3], [[3]])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, content in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))
    return tmp_path


@pytest.mark.parametrize("reference", [
    "part.json", "part.json#", "deep/one.json", "deep/two.json", "deep/one.json#/$defs/up",
    "my%20part.json#/$defs/a%20b", "https://example.com/other/name", "back.json", "./part.json",
])  # fmt: skip
@pytest.mark.parametrize("base", ["", "https://example.com/schemas/whole.json"])
def test_files_are_found_where_the_validator_finds_them(folder, reference, base):
    schema = {"$ref": reference} | ({"$id": base} if base else {})
    (folder / "whole.json").write_text(json.dumps(schema, separators=(",", ":")))
    registry = Registry().with_resources(
        (urljoin(base, name.replace(" ", "%20")), DRAFT202012.create_resource(content))
        for name, content in FILES.items() if isinstance(content, dict)
    ).with_resource("https://example.com/other/name",
                    DRAFT202012.create_resource(FILES["named.json"]))  # fmt: skip
    plain = schema | {"$ref": reference.removeprefix("./")}  # which the validator does not join
    judge = Draft202012Validator(plain, registry=registry)
    for engine in (machine(schema, resources=folder), machine(schema, resources=str(folder))):
        for instance in INSTANCES:
            assert matches(engine, json.dumps(instance)) == judge.is_valid(instance)
    assert JsonSchema.open(folder / "whole.json") == JsonSchema(schema, resources=folder)


def test_only_files_that_are_needed_are_resources(folder):
    source = JsonSchema({"items": {"$ref": "deep/one.json"}}, resources=folder)
    assert [uri for uri, _ in source.resource_texts] == [
        "deep/one.json",
        "deep/two.json",
        "part.json",
    ]
    assert JsonSchema({"$schema": "https://json-schema.org/draft/2020-12/schema"},
                      resources=folder).resource_texts == ()  # fmt: skip


@pytest.mark.parametrize("reference", ["../outside.json", "none.json", "..%2Foutside.json", "deep"])
def test_what_is_not_in_the_folder_is_refused_by_name(folder, reference):
    inner = folder / "inner"
    inner.mkdir()
    (folder / "outside.json").write_text("{}")
    with pytest.raises(UnsupportedError, match="names another schema"):
        machine({"$ref": reference}, resources=inner)


def test_a_link_out_of_the_folder_is_not_followed(folder):
    inner = folder / "inner"
    inner.mkdir()
    (inner / "link.json").symlink_to(folder / "part.json")
    with pytest.raises(UnsupportedError, match="names another schema"):
        machine({"$ref": "link.json"}, resources=inner)


def test_a_file_that_is_not_json_is_refused_when_it_is_named(folder):
    with pytest.raises(SourceError, match="not JSON"):
        JsonSchema({"$ref": "no_json.json"}, resources=folder)


def test_many_files_are_not_searched_for_an_identifier(folder, monkeypatch):
    monkeypatch.setattr(json_schema_files, "_MOST_FILES", 3)
    assert matches(machine({"$ref": "part.json"}, resources=folder), "3")
    with pytest.raises(LimitError, match="more than 3 JSON files"):
        JsonSchema({"$ref": "https://example.com/other/name"}, resources=folder)


def test_options_are_those_of_the_constructor(folder):
    source = JsonSchema.open(folder / "part.json", key_order="declared", resources=None)
    assert source == JsonSchema('{"type": "integer"}', key_order="declared")


def test_what_is_no_folder_is_refused(folder):
    for given in ("no folder", folder / "part.json"):
        with pytest.raises(SourceError, match="is not a folder"):
            JsonSchema({}, resources=given)
    for build in (lambda: JsonSchema.open(3), lambda: JsonSchema.open(folder / "none.json")):
        with pytest.raises(SourceError):
            build()
