"""References by identifiers and anchors, and through dynamic scopes: what each must reach."""

import json
from pathlib import Path
from urllib.parse import urljoin

import jsonschema
import jsonschema_specifications
import pytest
from jsonschema import Draft202012Validator
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from guideway.errors import LimitError, SourceError, UnsupportedError
from guideway.json_schema import resources as json_schema_files
from guideway.json_schema.parser import parse_json_schema
from guideway.json_schema.resources import meta_schemas
from guideway.json_schema.source import JsonSchema
from json_schemas import machine
from plain_texts import matches

DRAFT_4 = "http://json-schema.org/draft-04/schema#"
DRAFT_7 = "http://json-schema.org/draft-07/schema#"
DRAFT_2019 = "https://json-schema.org/draft/2019-09/schema"
NUMBER, STRING = {"type": "integer"}, {"type": "string"}


def reaches_number(schema, **options):
    """Whether a schema means integers, and not strings."""
    engine = machine(schema, **options)
    assert matches(engine, "3") != matches(engine, '"a"')
    return matches(engine, "3")


@pytest.mark.parametrize("schema", [
    {"$id": "http://x/y", "$ref": "z#n",
     "$defs": {"a": {"$id": "z", "$defs": {"b": {"$anchor": "n", **NUMBER}}}}},
    {"$schema": DRAFT_7, "allOf": [{"$ref": "#n"}], "definitions": {"a": {"$id": "#n", **NUMBER}}},
    {"$schema": DRAFT_4, "allOf": [{"$ref": "#n"}], "definitions": {"a": {"id": "#n", **NUMBER}}},
    {"$schema": DRAFT_7, "allOf": [{"$ref": "http://x/y#n"}],
     "definitions": {"a": {"$id": "http://x/y", "items": {"$id": "#n", **NUMBER}}}},
    {"$ref": "#/x-own/0", "x-own": [NUMBER]},
    {"$ref": "#/enum/0", "enum": [{"type": "integer"}, 3]},
    {"$dynamicRef": "#n", "$defs": {"a": {"$anchor": "n", **NUMBER}}},
    {"$ref": "http://x/n", "$defs": {
        "a": {"enum": [{"$id": "http://x/n", **STRING}]}, "b": {"$id": "http://x/n", **NUMBER}}},
    {"$schema": DRAFT_7, "definitions": {"n": NUMBER},
     "allOf": [{"$ref": "#/definitions/n", "$id": "http://x/"}]},
    {**NUMBER, "$defs": {"unused": {"$id": "http://x/n", "$schema": "http://x/own"}}},
    # A URI against which nothing is resolved is a name.
    {"$id": "http://[", **NUMBER},
    {"$id": "http://[", "$ref": "#/$defs/a", "$defs": {"a": NUMBER}},
    {"$id": "http://a:99999999/", "$ref": "y", "$defs": {"a": {"$id": "y", **NUMBER}}},
    {"$ref": "http://[", "$defs": {"a": {"$id": "http://[", **NUMBER}}},
    {"$schema": DRAFT_7, "$id": "http://x/", "items": {"$ref": "#", "$id": "http://["}, **NUMBER},
])  # fmt: skip
def test_references_lead_to_identifiers_and_anchors(schema):
    assert reaches_number(schema)


OLD = "http://json-schema.org/draft-03/schema#"
META = "http://x/meta"


@pytest.mark.parametrize(("schema", "resources", "error", "message", "place"), [
    *((schema, None, SourceError, "no such anchor", place) for schema, place in (
        ({"$ref": "#m", "$defs": {"a": {"$anchor": "n"}}}, "/$ref"),
        ({"$schema": DRAFT_2019, "$ref": "#n", "$defs": {"a": {"$dynamicAnchor": "n"}}}, "/$ref"),
        ({"$ref": "#n", "$defs": {"a": {"$anchor": 3}}}, "/$ref"),
        ({"$schema": DRAFT_7, "allOf": [{"$ref": "#n"}],
          "definitions": {"a": {"$ref": "#", "$id": "#n"}}}, "/allOf/0/$ref"),
    )),
    *((schema, None, SourceError, "is not a URI", place) for schema, place in (
        ({"$id": "http://[", "$ref": "y"}, "/$ref"),
        ({"$id": "http://x/", "$ref": "//[::zz]/"}, "/$ref"),
        ({"$id": "http://x/", "$defs": {"a": {"$id": "http://["}}}, "/$defs/a/$id"),
        ({"$id": "http://x/", "items": {"$ref": "http://ℂ℀/"}}, "/items/$ref"),
        ({"$schema": DRAFT_2019, "$id": "http://[", "$recursiveRef": "y"}, "/$recursiveRef"),
        ({"$id": "http://[", "$dynamicRef": "y#a"}, "/$dynamicRef"),
    )),
    (True, {"http://x/": {"$id": "http://["}}, SourceError, "is not a URI", "http://x/#/$id"),
    (True, {"http://x/": {"items": {"$id": "http://["}}}, SourceError, "is not a URI",
     "http://x/#/items/$id"),
    ({"$ref": "#/allOf/" + "9" * 5000, "allOf": [True]}, None, SourceError,
     "is wrong: there is no", "/$ref"),
    ({"$ref": "http://x/n", "x-own": {"$id": "http://x/n", **STRING}}, None, UnsupportedError,
     "names another schema", "/$ref"),
    ({"$ref": "http://x/old"}, {"http://x/old": {"$schema": OLD}}, UnsupportedError, "draft-03",
     None),
    ({"$ref": OLD}, None, UnsupportedError, "draft-03", None),
    ({"$schema": META}, {META: {"$schema": META}}, UnsupportedError, "supported are drafts", None),
])  # fmt: skip
def test_references_that_lead_nowhere_are_refused_with_their_place(
    schema, resources, error, message, place
):
    with pytest.raises(error, match=message) as raised:
        parse_json_schema(JsonSchema(schema, resources=resources))
    assert place is None or raised.value.place == place
    assert len(str(raised.value)) <= 500


def test_a_resource_of_an_unknown_draft_may_be_there_if_it_is_not_used():
    assert reaches_number(NUMBER, resources={"http://x/old": {"$schema": OLD}})


def metaschema(**vocabularies):
    uris = {f"https://json-schema.org/draft/2020-12/vocab/{n}": r for n, r in vocabularies.items()}
    own = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$vocabulary": uris}
    return {META: own}


def test_keywords_without_a_vocabulary_in_the_metaschema_are_annotations():
    schema = {"$schema": "http://x/meta", "properties": {"a": False, "b": {"minimum": 3}}}
    known = {"core": True, "applicator": True}
    for vocabularies, right in (
        (known, ['{"b":1}']),
        ({**known, "validation": True, "other": False}, []),
    ):
        engine = machine(schema, resources=metaschema(**vocabularies))
        assert [text for text in ('{"b":1}', '{"a":1}') if matches(engine, text)] == right
    with pytest.raises(UnsupportedError, match="vocab/other"):
        parse_json_schema(JsonSchema(schema, resources=metaschema(core=True, other=True)))


def test_a_metaschema_of_ones_own_tells_the_draft():
    schema = {"$schema": META, "minimum": 3, "exclusiveMinimum": True}
    engine = machine(schema, resources={META: {"$schema": DRAFT_4}})
    assert [text for text in ("3", "4") if matches(engine, text)] == ["4"]
    # The applicators of 2019 have the unevaluated ones.
    vocabulary = {"https://json-schema.org/draft/2019-09/vocab/applicator": True}
    own = {META: {"$schema": DRAFT_2019, "$vocabulary": vocabulary}}
    engine = machine({"$schema": META, "unevaluatedProperties": False}, resources=own)
    assert not matches(engine, '{"a":1}')


# The meta-schemas of the drafts: as the specification has them, and known without resources.

JUDGES = {
    "http://json-schema.org/draft-04/schema#": jsonschema.Draft4Validator,
    "http://json-schema.org/draft-06/schema#": jsonschema.Draft6Validator,
    "http://json-schema.org/draft-07/schema#": jsonschema.Draft7Validator,
    "https://json-schema.org/draft/2019-09/schema": jsonschema.Draft201909Validator,
    "https://json-schema.org/draft/2020-12/schema": jsonschema.Draft202012Validator,
}
SCHEMAS = [
    {}, True, [], 3, {"type": "string"}, {"type": "text"}, {"type": []},
    {"properties": {"a": {"items": {"type": 3}}}}, {"properties": {"a": {"minLength": 1}}},
    {"allOf": []}, {"not": {"maximum": "1"}}, {"exclusiveMaximum": True}, {"required": []},
    {"items": [{}]}, {"prefixItems": [{"type": 3}]}, {"$defs": {"a": 3}}, {"definitions": {"a": 3}},
    {"dependentSchemas": {"a": {"not": 3}}}, {"unevaluatedItems": {"enum": 3}}, {"title": 3},
    {"contentMediaType": 3}, {"const": {"type": 3}}, {"additionalProperties": {"type": "x"}},
]  # fmt: skip


@pytest.mark.parametrize("uri", JUDGES)
def test_a_reference_to_a_meta_schema_allows_schemas(uri):
    engine = machine({"$ref": uri})
    for schema in SCHEMAS:
        try:
            JUDGES[uri].check_schema(schema)
            valid = True
        except jsonschema.SchemaError:
            valid = False
        assert matches(engine, json.dumps(schema)) == valid, schema


def test_the_texts_are_those_of_the_specification():
    texts = [json.dumps({"$ref": uri}) for uri in JUDGES]
    found = {uri: json.loads(text) for uri, text in meta_schemas(texts, [])}
    registry = jsonschema_specifications.REGISTRY
    published = [uri.removesuffix("#") for uri in registry if "draft-03" not in uri]
    assert sorted(found) == sorted(published)
    assert all(registry.get_or_retrieve(uri).value.contents == found[uri] for uri in found)


@pytest.mark.parametrize("reference", [
    "https://json-schema.org/draft-07/schema", "http://json-schema.org/draft-07/schema#",
    "http://json-schema.org/draft/2020-12/schema", "http://json-schema.org/schema#",
    "https://json-schema.org/draft/2019-09/meta/validation",
    "http://json-schema.org/draft-07/schema#/properties/properties/additionalProperties",
])  # fmt: skip
def test_a_meta_schema_is_known_however_it_is_written(reference):
    for written in (reference, reference.replace("/", "\\/")):
        engine = machine(f'{{"$ref": "{written}"}}')
        assert matches(engine, '{"maxLength": 3}')
        assert not matches(engine, '{"maxLength": "3"}')


def test_a_resource_refers_to_a_meta_schema_and_comes_before_it():
    engine = machine({"$ref": "a"}, resources={"a": {"$ref": "http://json-schema.org/schema"}})
    assert [matches(engine, text) for text in ('{"type": "null"}', '{"type": 3}')] == [True, False]
    uri = "http://json-schema.org/draft-07/schema"
    for name in (uri, uri + "#"):
        engine = machine({"$ref": uri + "#"}, resources={name: {"type": "null"}})
        assert [matches(engine, text) for text in ("null", "{}")] == [True, False]


# Files of a folder that a schema refers to; `referencing` with the same files is the oracle.

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
    needed = ["deep/one.json", "deep/two.json", "part.json"]
    assert [uri for uri, _ in source.resource_texts] == needed
    draft = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    for resources in (folder, None):
        assert JsonSchema(draft, resources=resources).resource_texts == ()


@pytest.mark.parametrize(
    "reference", ["../outside.json", "none.json", "..%2Foutside.json", "deep", "link.json"]
)
def test_what_is_not_in_the_folder_is_refused_by_name(folder, reference):
    inner = folder / "inner"
    inner.mkdir()
    (folder / "outside.json").write_text("{}")
    (inner / "link.json").symlink_to(folder / "part.json")
    with pytest.raises(UnsupportedError, match="names another schema"):
        machine({"$ref": reference}, resources=inner)


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
