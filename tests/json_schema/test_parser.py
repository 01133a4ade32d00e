"""Schemas to trees: what is read, and what each wrong or unsupported schema is told."""

from decimal import Decimal
from typing import Any

import pytest

from guideway.errors import SourceError, UnsupportedError
from guideway.json_schema.parser import LooseParts, parse_json_schema
from guideway.json_schema.source import JsonSchema
from guideway.json_schema.tree import KINDS, Bound
from guideway.sources.json_style import Whitespace

DRAFT_4 = "http://json-schema.org/draft-04/schema#"
DRAFT_7 = "http://json-schema.org/draft-07/schema#"


def parse(schema: Any, **options: Any):
    return parse_json_schema(JsonSchema(schema, **options))


def root(schema: Any, **options: Any):
    document = parse(schema, **options)
    return document.schemas[document.root]


def test_keywords_go_to_the_kind_they_speak_about():
    schema = root({
        "type": ["string", "integer", "null"],
        "maxLength": 3,
        "minimum": 1.5,
        "exclusiveMaximum": 10,
        "title": "ignored",
    })  # fmt: skip
    assert schema.kinds == {"string", "number", "null"}
    assert schema.strings.high == 3
    assert schema.numbers.integer
    assert schema.numbers.lower == (Bound(Decimal("1.5")),)
    assert schema.numbers.upper == (Bound(Decimal(10), exclusive=True),)
    assert schema.keywords == ("type", "maxLength", "minimum", "exclusiveMaximum")


def test_integer_beside_number_is_any_number():
    assert not root({"type": ["integer", "number"]}).numbers.integer


def test_parts_are_addresses_in_declared_order():
    document = parse({
        "properties": {"b": {"type": "null"}, "a": False},
        "required": ["x", "b", "x"],
        "additionalProperties": True,
        "propertyNames": {"maxLength": 2},
    })  # fmt: skip
    objects = document.schemas[document.root].objects
    assert list(objects.properties.items()) == [("b", "#/properties/b"), ("a", "#/properties/a")]
    assert objects.required == ("x", "b")
    assert objects.additional == "#/additionalProperties"
    assert objects.names == "#/propertyNames"
    assert document.schemas["#/properties/a"].kinds == frozenset()
    assert document.schemas["#/additionalProperties"].kinds == KINDS


def test_scalars_of_an_enum_are_sets_and_the_rest_are_schemas():
    document = parse({"enum": ["a", 1, 1.0, True, None, {"k": [2]}, []]})
    schema = document.schemas[document.root]
    assert schema.any_of == (("=#/enum/5", "=#/enum/6", "=#/enum"),)
    scalars = document.schemas["=#/enum"]
    assert scalars.strings.values == {"a"}
    assert scalars.numbers.values == {Decimal(1)}
    assert scalars.booleans == {True}
    assert scalars.kinds == {"string", "number", "boolean", "null"}
    constant = document.schemas["=#/enum/5"]
    assert constant.objects.properties == {"k": "=#/enum/5/k"}
    assert constant.objects.required == ("k",)
    assert document.schemas["=#/enum/5/k"].arrays.low == 1
    assert document.schemas["=#/enum/5/k/0"].numbers.values == {Decimal(2)}
    only_containers = parse({"enum": [[1], [2]]})
    assert only_containers.schemas[only_containers.root].any_of == (("=#/enum/0", "=#/enum/1"),)


def test_const_beside_enum_has_to_hold_too():
    document = parse({"enum": [1, 2], "const": 2})
    schema = document.schemas[document.root]
    assert schema.numbers.values == {1, 2}
    assert document.schemas[schema.all_of[0]].numbers.values == {2}


def test_only_what_the_root_reaches_is_read():
    document = parse({"$defs": {"unused": {"minimum": "nonsense"}}, "type": "null"})
    assert list(document.schemas) == ["never", "#"]


def test_text_keeps_the_order_and_the_digits_of_the_schema():
    digits = "0.1234567890123456789012345678901234567890"
    schema = root(f'{{"minimum": {digits}, "properties": {{"z": true, "a": true}}}}')
    assert schema.numbers.lower == (Bound(Decimal(digits)),)
    assert list(schema.objects.properties) == ["z", "a"]


@pytest.mark.parametrize(
    ("schema", "place", "words"),
    [
        ({"type": "strin"}, "/type", ["null, boolean", '"strin"', "did you mean 'string'?"]),
        ({"type": ["null", 3]}, "/type", ["not 3"]),
        ({"type": []}, "/type", ["not []"]),
        ({"type": None}, "/type", ["not null"]),
        ({"required": "a"}, "/required", ["an array", 'not "a"']),
        ({"required": ["a", 1]}, "/required", ["an array of strings", "not 1"]),
        ({"minLength": -1}, "/minLength", ["a count (0 or more)", "not -1"]),
        ({"maxItems": 1.5}, "/maxItems", ["not 1.5"]),
        ({"maxLength": "3"}, "/maxLength", ["a count", 'not "3"']),
        ({"multipleOf": 0}, "/multipleOf", ["more than 0", "not 0"]),
        ({"minimum": True}, "/minimum", ["a number", "not true"]),
        ({"minimum": None}, "/minimum", ["must not be null"]),
        ({"exclusiveMinimum": True}, "/exclusiveMinimum", ["a number", "not true"]),
        ({"properties": []}, "/properties", ["an object of schemas", "not []"]),
        ({"properties": {"a": 1}}, "/properties/a", ["an object or a boolean", "not 1"]),
        ({"items": "x"}, "/items", ["a schema must be", 'not "x"']),
        ({"items": [True]}, "/items", ["prefixItems"]),
        ({"prefixItems": []}, "/prefixItems", ["one or more schemas"]),
        ({"anyOf": {}}, "/anyOf", ["an array", "not {}"]),
        ({"allOf": []}, "/allOf", ["one or more schemas"]),
        ({"enum": 1}, "/enum", ["an array"]),
        ({"pattern": 1}, "/pattern", ["a string"]),
        ({"format": 1}, "/format", ["a string"]),
        ({"items": {"pattern": "(a"}}, "/items/pattern", ["\n  (a\n"]),
        ({"$ref": 1}, "/$ref", ["a string", "not 1"]),
        ({"$ref": "#/$defs/persn", "$defs": {"person": {}}}, "/$ref", ["'person'", "is wrong"]),
        ({"$ref": "#/enum/7", "enum": [1]}, "/$ref", ["there is no /enum/7"]),
        ({"$ref": "#/title/x", "title": "t"}, "/$ref", ["there is no /title/x"]),
        ({"$schema": 1}, "/$schema", ["a string"]),
        ("[1]", "", ["a schema must be an object or a boolean, not an array"]),
        ({"$ref": "#"}, "", ["refers to itself"]),
        (
            {"properties": {"a": {"anyOf": [True, {"$ref": "#/$defs/x"}]}},
             "$defs": {"x": {"allOf": [{"oneOf": [{"$ref": "#/properties/a"}]}]}}},
            "/$defs/x/allOf/0/oneOf/0", ["refers to itself"],
        ),
    ],
)  # fmt: skip
def test_a_wrong_schema_is_told_where_what_and_what_is_allowed(schema, place, words):
    with pytest.raises(SourceError) as caught:
        parse(schema)
    assert caught.value.place == place
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(("draft", "schema"), [
    (DRAFT_4, {"const": 3}), (DRAFT_4, {"propertyNames": False}), (DRAFT_4, {"if": True}),
    (DRAFT_7, {"prefixItems": 3}), (DRAFT_7, {"$dynamicRef": 3}), (DRAFT_7, {"divisibleBy": 3}),
    ("https://json-schema.org/draft/2020-12/schema", {"additionalItems": 3}),
])  # fmt: skip
def test_a_keyword_of_another_draft_is_an_annotation(draft, schema):
    assert root({"$schema": draft, **schema}).keywords == ()


@pytest.mark.parametrize("name", [
    "title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly",
    "$comment", "$id", "$defs", "definitions", "discriminator", "contentMediaType", "x-order",
    "propertyOrdering", "_format", "nullable", "ref", "name", "id", "requred", "minlength",
    "extends",
])  # fmt: skip
def test_annotations_and_foreign_names_say_nothing(name):
    assert root({name: "anything"}).keywords == ()


@pytest.mark.parametrize(
    ("schema", "place", "words"),
    [
        ({"$ref": "https://example.com/s"}, "/$ref", ["https://example.com/s", "resources="]),
        ({"$ref": "other.json#/a"}, "/$ref", ["other.json#/a"]),
        ({"$schema": "http://json-schema.org/draft-03/schema#"}, "/$schema", ["draft-03"]),
        ({"items": {"multipleOf": 998244353}}, "/items/multipleOf", ["998244353", "1024"]),
        ({"items": {"pattern": r"\p{Script=Greek}"}}, "/items/pattern", ["Script", "category"]),
    ],
)
def test_what_is_out_of_reach_is_refused_with_its_place(schema, place, words):
    with pytest.raises(UnsupportedError) as caught:
        parse(schema)
    assert caught.value.place == place
    for word in words:
        assert word in str(caught.value)


def test_formats_are_annotations_unless_they_are_known_or_strict():
    assert root({"format": "hostnam"}).strings.format is None
    assert root({"format": "date"}).strings.format == "date"
    assert root({"format": "date"}, formats="strict").strings.format == "date"
    with pytest.raises(UnsupportedError, match=r"did you mean 'date-time'") as caught:
        parse({"items": {"format": "datetime"}}, formats="strict")
    assert caught.value.place == "/items/format"


# References and drafts


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_the_schema_that_names_no_version_is_the_latest_one(scheme):
    schema = {"$schema": f"{scheme}://json-schema.org/schema#", "prefixItems": [{"type": "null"}]}
    assert "#/prefixItems/0" in parse(schema).schemas  # 2020-12 alone has these


def test_references_resolve_pointers_of_every_kind():
    document = parse({
        "$defs": {"a/b": {"x%": {"~t": {"type": "null"}}}},
        "prefixItems": [{"$ref": "#/$defs/a~1b/x%25/~0t"}, {"$ref": "#/prefixItems/0"}],
    })  # fmt: skip
    assert document.schemas["#/prefixItems/0"].all_of == ("#/$defs/a~1b/x%/~0t",)
    assert document.schemas["#/prefixItems/1"].all_of == ("#/prefixItems/0",)


def test_a_reference_by_the_own_uri_is_local():
    document = parse({
        "$id": "https://example.com/root.json",
        "$ref": "root.json#/$defs/a",
        "$defs": {"a": {"type": "null", "items": {"$ref": "https://example.com/root.json"}}},
    })  # fmt: skip
    assert document.schemas["#"].all_of == ("#/$defs/a",)
    assert document.schemas["#/$defs/a/items"].all_of == ("#",)


def test_an_embedded_resource_is_its_own_root():
    document = parse({
        "$id": "https://example.com/root.json",
        "$ref": "#/$defs/in/items",
        "$defs": {
            "in": {
                "$id": "in.json", "items": {"$ref": "#/$defs/x"},
                "$defs": {"x": {"type": "null"}},
            },
            "x": {"type": "string"},
        },
    })  # fmt: skip
    assert document.schemas["#/$defs/in/items"].all_of == ("#/$defs/in/$defs/x",)
    assert document.schemas["#/$defs/in/$defs/x"].kinds == {"null"}


def test_an_embedded_resource_may_be_of_another_draft():
    document = parse({
        "prefixItems": [{"$id": "old", "$schema": DRAFT_7, "items": [{"type": "null"}]}],
    })  # fmt: skip
    assert document.schemas["#/prefixItems/0"].arrays.prefix == ("#/prefixItems/0/items/0",)


def test_resources_are_reached_by_uri_and_name_themselves_in_errors():
    resources = {
        "https://example.com/a": {"items": {"$ref": "b#/$defs/x"}},
        "https://example.com/b": '{"$defs": {"x": {"type": "null"}, "y": {"minimum": "z"}}}',
    }
    document = parse({"$ref": "https://example.com/a"}, resources=resources)
    assert document.schemas["https://example.com/a#/items"].all_of == (
        "https://example.com/b#/$defs/x",
    )
    with pytest.raises(SourceError) as caught:
        parse({"$ref": "https://example.com/b#/$defs/y"}, resources=resources)
    assert caught.value.place == "https://example.com/b#/$defs/y/minimum"


def test_beside_a_reference_old_drafts_ignore_and_new_ones_do_not():
    sides = {"$ref": "#/$defs/a", "type": "string", "$defs": {"a": {}}}
    assert root({"$schema": DRAFT_7, **sides}).kinds == KINDS
    assert root(sides).kinds == {"string"}
    assert root(sides).all_of == ("#/$defs/a",)


def test_old_drafts_have_their_own_forms():
    schema = root({
        "$schema": DRAFT_4, "type": "integer", "minimum": 1, "exclusiveMinimum": True,
        "maximum": 5, "items": [{}, {}], "additionalItems": False,
    })  # fmt: skip
    assert schema.numbers.lower == (Bound(Decimal(1), exclusive=True),)
    assert schema.numbers.upper == (Bound(Decimal(5)),)
    assert schema.numbers.digits
    assert schema.arrays.prefix == ("#/items/0", "#/items/1")
    assert schema.arrays.items == "#/additionalItems"
    assert root({"$schema": DRAFT_4, "exclusiveMinimum": True}).numbers.lower == ()
    with pytest.raises(SourceError, match="a boolean"):
        parse({"$schema": DRAFT_4, "exclusiveMinimum": 3})


def test_an_identifier_of_draft_4_is_id():
    schema = {"$schema": DRAFT_4, "id": "http://example.com/s", "$ref": "s#/definitions/a"}
    assert parse({**schema, "definitions": {"a": {}}}).schemas["#"].all_of == ("#/definitions/a",)


# Depth


@pytest.mark.untraced
@pytest.mark.parametrize("depth", [1, 200, 3000])
def test_schemas_may_nest_as_deep_as_they_like(depth):
    by_items: dict[str, Any] = {"type": "null"}
    by_properties: dict[str, Any] = {"type": "null"}
    for _ in range(depth):
        by_items = {"items": by_items}
        by_properties = {"properties": {"a": by_properties}}
    assert len(parse(by_items).schemas) == len(parse(by_properties).schemas) == depth + 2


def test_deep_places_are_told_apart_and_referred_to():
    deep: dict[str, Any] = {"$anchor": "here", "type": "null"}
    for _ in range(600):
        deep = {"items": {"not": deep}}
    by_pointer = {"$ref": "#/prefixItems/0" + "/items/not" * 600}
    document = parse({"prefixItems": [deep, by_pointer, {"$ref": "#here"}]})
    assert len(document.schemas) == 2 + 1201 + 2
    first, second = (document.schemas[f"#/prefixItems/{n}"].all_of for n in (1, 2))
    assert first == second
    assert document.schemas[first[0]].kinds == {"null"}


def test_a_long_chain_of_references_has_no_depth():
    chain = {f"d{i}": {"$ref": f"#/$defs/d{i + 1}"} for i in range(5000)}
    document = parse({"$ref": "#/$defs/d0", "$defs": {**chain, "d5000": {"type": "null"}}})
    assert len(document.schemas) == 5003


# The source


def test_sources_are_equal_by_content():
    assert JsonSchema({"type": "null"}) == JsonSchema({"type": "null"})
    assert hash(JsonSchema(True)) == hash(JsonSchema(True))
    assert JsonSchema({"a": 1, "b": 2}) != JsonSchema({"b": 2, "a": 1})
    assert JsonSchema(True, spelling="plain") != JsonSchema(True)
    assert JsonSchema(True, resources={"u": True}) != JsonSchema(True)
    assert JsonSchema(True, whitespace=Whitespace(2)).whitespace == Whitespace(spaces=2)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: JsonSchema(True, key_order="declred"), "key_order is 'declred'.*'declared'\\?"),
        (lambda: JsonSchema(True, whitespace="none"), "'any', 'compact', 'natural'"),
        (lambda: JsonSchema(True, spelling=3), "spelling is 3"),
        (lambda: JsonSchema(True, formats="all"), "formats is 'all'"),
        (lambda: JsonSchema(3), "a schema must be a dict, a bool or JSON text, not 3"),
        (lambda: JsonSchema("\ud800"), "lone surrogate"),
        (lambda: JsonSchema(True, resources={"u": 1}), "resource 'u' must be a dict"),
        (lambda: JsonSchema(True, resources=["u"]), "schemas by URI, or a folder, not \\['u'\\]"),
        (lambda: JsonSchema(True, resources={5: True}), "URI of a resource must be a str, not 5"),
        (lambda: Whitespace(spaces=-1), "spaces=...\\) must be a number of spaces, not -1"),
        (lambda: Whitespace(indent=True), "indent=..."),
        (lambda: Whitespace(newline=1), "newline=..."),
    ],
)
def test_options_that_do_not_exist_are_refused(make, message):
    with pytest.raises(SourceError, match=message):
        make()


@pytest.mark.parametrize(("schema", "place"), [
    ({"dependentRequired": {"a": {}}}, "/dependentRequired/a"),
    ({"$schema": DRAFT_7, "dependencies": {"a": "b"}}, "/dependencies/a"),
    ({"unevaluatedItems": 3}, "/unevaluatedItems"),
    ({"contains": []}, "/contains"),
    ({"patternProperties": {"(": True}}, "/patternProperties/("),
])  # fmt: skip
def test_applicators_of_a_wrong_shape_are_told_where(schema, place):
    with pytest.raises(SourceError) as caught:
        parse(schema)
    assert caught.value.place == place


def test_what_looks_at_the_same_instance_is_listed_in_place():
    found = root({"not": {}, "if": {}, "then": {}, "dependentSchemas": {"a": {}}, "oneOf": [{}]})
    assert [address.rpartition("#")[2] for address in found.in_place] == [
        "/oneOf/0", "/not", "/if", "/then", "/dependentSchemas/a",
    ]  # fmt: skip


def test_loose_parts_are_read_when_they_are_asked_for() -> None:
    parts = LooseParts({"items": {"const": [1]}}, 2020, strict=False)
    assert list(parts) == ["never"]
    items = parts[parts.root].arrays.items
    assert items is not None
    assert parts.raw(items) == {"const": [1]}
    (value,) = parts[items].any_of[0]
    assert parts.raw(value) is None
    assert parts.raw("elsewhere") is None
    assert list(parts) == ["never", parts.root, items]
    assert len(parts) == 3
