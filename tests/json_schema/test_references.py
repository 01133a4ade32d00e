"""References by identifiers and anchors, and through dynamic scopes: what each must reach."""

import pytest

from guideway.errors import SourceError, UnsupportedError
from guideway.json_schema.parser import parse_json_schema
from guideway.json_schema.source import JsonSchema
from json_schemas import machine, matches

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
    {"$ref": "#n", "$defs": {"a": {"$anchor": "n", **NUMBER}}},
    {"$ref": "#n", "$defs": {"a": {"$dynamicAnchor": "n", **NUMBER}}},
    {"$id": "http://x/y", "$ref": "z#n",
     "$defs": {"a": {"$id": "z", "$defs": {"b": {"$anchor": "n", **NUMBER}}}}},
    {"$id": "http://x/y", "$ref": "/z", "$defs": {"a": {"$id": "http://x/z", **NUMBER}}},
    {"$id": "urn:uuid:1", "$ref": "urn:uuid:1#/$defs/a", "$defs": {"a": NUMBER}},
    {"$schema": DRAFT_7, "allOf": [{"$ref": "#n"}], "definitions": {"a": {"$id": "#n", **NUMBER}}},
    {"$schema": DRAFT_4, "allOf": [{"$ref": "#n"}], "definitions": {"a": {"id": "#n", **NUMBER}}},
    {"$schema": DRAFT_7, "allOf": [{"$ref": "http://x/y#n"}],
     "definitions": {"a": {"$id": "http://x/y", "items": {"$id": "#n", **NUMBER}}}},
    {"$ref": "#/x-own/0", "x-own": [NUMBER]},
    {"$ref": "#/enum/0", "enum": [{"type": "integer"}, 3]},
    {"$ref": "#/$defs/a", "$defs": {"a": {"$id": "http://x/", "$ref": "#/$defs/b",
                                          "$defs": {"b": NUMBER}}, "b": STRING}},
    {"$dynamicRef": "#/$defs/a", "$defs": {"a": NUMBER}},
    {"$dynamicRef": "#n", "$defs": {"a": {"$anchor": "n", **NUMBER}}},
])  # fmt: skip
def test_references_lead_to_identifiers_and_anchors(schema):
    assert reaches_number(schema)


def test_an_identifier_counts_only_where_a_schema_stands():
    inside = {"$id": "http://x/n", **STRING}
    with pytest.raises(UnsupportedError, match="names another schema"):
        parse_json_schema(JsonSchema({"$ref": "http://x/n", "x-own": inside}))
    real = {"$defs": {"a": {"enum": [inside]}, "b": {"$id": "http://x/n", **NUMBER}}}
    assert reaches_number({"$ref": "http://x/n", **real})
    hidden = {"$ref": "#/definitions/n", "$id": "http://x/"}
    schema = {"$schema": DRAFT_7, "definitions": {"n": NUMBER}, "allOf": [hidden]}
    assert reaches_number(schema)


@pytest.mark.parametrize("schema", [
    {"$ref": "#n"},
    {"$ref": "#m", "$defs": {"a": {"$anchor": "n"}}},
    {"$schema": DRAFT_2019, "$ref": "#n", "$defs": {"a": {"$dynamicAnchor": "n"}}},
    {"$ref": "#n", "$defs": {"a": {"$anchor": 3}}},
    {"$schema": DRAFT_7, "allOf": [{"$ref": "#n"}],
     "definitions": {"a": {"$ref": "#", "$id": "#n"}}},
])  # fmt: skip
def test_an_anchor_that_is_not_there_leads_nowhere(schema):
    with pytest.raises(SourceError, match="no such anchor"):
        parse_json_schema(JsonSchema(schema))


LIST = {
    "$id": "http://x/list",
    "$defs": {"any": {"$dynamicAnchor": "item"}},
    "type": "array",
    "items": {"$dynamicRef": "#item"},
}


def list_of(name, item):
    return {
        "$id": f"http://x/{name}",
        "$defs": {"item": {"$dynamicAnchor": "item", **item}},
        "$ref": "list",
    }


def test_a_dynamic_reference_means_the_outermost_anchor_on_the_way():
    both = {
        "properties": {"n": {"$ref": "numbers"}, "s": {"$ref": "strings"}, "l": {"$ref": "list"}},
        "$id": "http://x/both",
        "$defs": {"a": list_of("numbers", NUMBER), "b": list_of("strings", STRING), "c": LIST},
    }
    engine = machine(both, whitespace="compact")
    assert matches(engine, '{"n":[1],"s":["a"],"l":[1,"a"]}')
    assert not matches(engine, '{"n":["a"]}')
    assert not matches(engine, '{"s":[1]}')


def test_dynamic_scopes_reach_into_resources():
    engine = machine(list_of("numbers", NUMBER), resources={"http://x/list": LIST})
    assert matches(engine, "[1]")
    assert not matches(engine, '["a"]')


def test_a_recursive_reference_means_the_outermost_recursive_root():
    tree = {
        "$schema": DRAFT_2019,
        "$id": "http://x/tree",
        "$recursiveAnchor": True,
        "type": "object",
        "properties": {"child": {"$recursiveRef": "#"}},
    }
    strict = {
        "$schema": DRAFT_2019,
        "$id": "http://x/strict",
        "$recursiveAnchor": True,
        "$ref": "tree",
        "unevaluatedProperties": False,
    }
    engine = machine(strict, resources={"http://x/tree": tree}, whitespace="compact")
    assert matches(engine, '{"child":{"child":{}}}')
    assert not matches(engine, '{"child":{"other":{}}}')
    loose = machine({**strict, "$recursiveAnchor": False}, resources={"http://x/tree": tree})
    assert matches(loose, '{"child":{"other":{}}}')


def test_a_recursive_reference_to_a_root_that_is_not_means_that_root():
    schema = {"$schema": DRAFT_2019, "type": ["array", "integer"], "items": {"$recursiveRef": "#"}}
    engine = machine(schema)
    assert matches(engine, "[[1]]")
    assert not matches(engine, '[["a"]]')


def test_a_resource_of_an_unknown_draft_is_refused_when_it_is_used():
    resources = {"http://x/old": {"$schema": "http://json-schema.org/draft-03/schema#"}}
    assert reaches_number(NUMBER, resources=resources)
    with pytest.raises(UnsupportedError, match="draft-03"):
        parse_json_schema(JsonSchema({"$ref": "http://x/old"}, resources=resources))
    nested = {"$id": "http://x/n", "$schema": "http://x/own"}
    assert reaches_number({**NUMBER, "$defs": {"unused": nested}})


def metaschema(**vocabularies):
    uris = {f"https://json-schema.org/draft/2020-12/vocab/{n}": r for n, r in vocabularies.items()}
    own = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$vocabulary": uris}
    return {"http://x/meta": own}


def test_keywords_without_a_vocabulary_in_the_metaschema_are_annotations():
    schema = {"$schema": "http://x/meta", "properties": {"a": False, "b": {"minimum": 3}}}
    engine = machine(schema, resources=metaschema(core=True, applicator=True), whitespace="compact")
    assert matches(engine, '{"b":1}')
    assert not matches(engine, '{"a":1}')
    resources = metaschema(core=True, applicator=True, validation=True, other=False)
    engine = machine(schema, resources=resources, whitespace="compact")
    assert not matches(engine, '{"b":1}')
    with pytest.raises(UnsupportedError, match="vocab/other"):
        parse_json_schema(JsonSchema(schema, resources=metaschema(core=True, other=True)))


def test_a_metaschema_of_ones_own_tells_the_draft():
    own = {"http://x/meta": {"$schema": DRAFT_4}}
    schema = {"$schema": "http://x/meta", "minimum": 3, "exclusiveMinimum": True}
    assert not matches(machine(schema, resources=own), "3")
    assert matches(machine(schema, resources=own), "4")
    twice = {"http://x/meta": {"$schema": "http://x/meta"}}
    with pytest.raises(UnsupportedError, match="supported are drafts"):
        parse_json_schema(JsonSchema(schema, resources=twice))


def test_the_applicators_of_2019_have_the_unevaluated_ones():
    vocabulary = "https://json-schema.org/draft/2019-09/vocab/applicator"
    own = {"http://x/meta": {"$schema": DRAFT_2019, "$vocabulary": {vocabulary: True}}}
    schema = {"$schema": "http://x/meta", "unevaluatedProperties": False}
    assert not matches(machine(schema, resources=own, whitespace="compact"), '{"a":1}')


@pytest.mark.parametrize(("schema", "place"), [
    ({"$id": "http://[", "$ref": "y"}, "/$ref"),
    ({"$id": "http://x/", "$ref": "http://["}, "/$ref"),
    ({"$id": "http://x/", "$ref": "//[::zz]/"}, "/$ref"),
    ({"$id": "http://x/", "$defs": {"a": {"$id": "http://["}}}, "/$defs/a/$id"),
    ({"$id": "http://x/", "items": {"$ref": "http://ℂ℀/"}}, "/items/$ref"),
    ({"$schema": DRAFT_4, "id": "http://x/", "items": {"id": "http://["}}, "/items/id"),
    ({"$schema": DRAFT_2019, "$id": "http://[", "$recursiveRef": "y"}, "/$recursiveRef"),
    ({"$id": "http://[", "$dynamicRef": "y#a"}, "/$dynamicRef"),
])  # fmt: skip
def test_what_comes_to_no_uri_is_refused_with_its_place(schema, place):
    with pytest.raises(SourceError, match="is not a URI") as raised:
        parse_json_schema(JsonSchema(schema))
    assert raised.value.place == place


def test_what_comes_to_no_uri_within_a_resource_is_refused_with_its_uri():
    for resource, place in (
        ({"$id": "http://["}, "http://x/#/$id"),
        ({"items": {"$id": "http://["}}, "http://x/#/items/$id"),
    ):
        with pytest.raises(SourceError, match="is not a URI") as raised:
            parse_json_schema(JsonSchema(True, resources={"http://x/": resource}))
        assert raised.value.place == place


@pytest.mark.parametrize("schema", [
    {"$id": "http://[", **NUMBER},
    {"$id": "http://[", "$ref": "#/$defs/a", "$defs": {"a": NUMBER}},
    {"$id": "http://a:99999999/", "$ref": "y", "$defs": {"a": {"$id": "y", **NUMBER}}},
    {"$ref": "http://[", "$defs": {"a": {"$id": "http://[", **NUMBER}}},
    {"$schema": DRAFT_7, "$id": "http://x/", "items": {"$ref": "#", "$id": "http://["}, **NUMBER},
])  # fmt: skip
def test_a_uri_against_which_nothing_is_resolved_is_a_name(schema):
    assert reaches_number(schema)


def test_a_step_of_very_many_digits_leads_nowhere():
    schema = {"$ref": "#/allOf/" + "9" * 5000, "allOf": [True]}
    with pytest.raises(SourceError, match="is wrong: there is no") as raised:
        parse_json_schema(JsonSchema(schema))
    assert len(str(raised.value)) <= 500
