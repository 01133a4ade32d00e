"""The meta-schemas of the drafts: as the specification has them, and known without resources."""

import json

import jsonschema
import jsonschema_specifications
import pytest

from guideway.errors import UnsupportedError
from guideway.json_schema.resources import meta_schemas
from guideway.json_schema.source import JsonSchema
from json_schemas import machine, matches

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


def test_a_resource_refers_to_a_meta_schema():
    engine = machine({"$ref": "a"}, resources={"a": {"$ref": "http://json-schema.org/schema"}})
    assert matches(engine, '{"type": "null"}')
    assert not matches(engine, '{"type": 3}')


def test_a_resource_of_the_users_comes_before_a_meta_schema():
    uri = "http://json-schema.org/draft-07/schema"
    for name in (uri, uri + "#"):
        engine = machine({"$ref": uri + "#"}, resources={name: {"type": "null"}})
        assert matches(engine, "null")
        assert not matches(engine, "{}")


def test_a_schema_that_only_says_its_draft_has_no_resources():
    assert JsonSchema({"$schema": "http://json-schema.org/draft-07/schema#"}).resource_texts == ()


def test_a_draft_that_is_not_read_is_refused_by_name():
    with pytest.raises(UnsupportedError, match="draft-03"):
        machine({"$ref": "http://json-schema.org/draft-03/schema#"})
