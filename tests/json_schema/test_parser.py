"""Schemas to trees: what is read, and what each wrong or unsupported schema is told."""

from decimal import Decimal
from typing import Any

import pytest

import guideway as gw
from guideway.errors import SourceError, UnsupportedError
from guideway.json_schema.lowering import part_of
from guideway.json_schema.parser import parse_json_schema
from guideway.json_schema.source import JsonSchema
from guideway.json_schema.tree import Bound
from guideway.sources.json_style import Whitespace
from tool_samples import PLAIN

DRAFT_4 = "http://json-schema.org/draft-04/schema#"
DRAFT_7 = "http://json-schema.org/draft-07/schema#"


def parse(schema: Any, **options: Any):
    return parse_json_schema(JsonSchema(schema, **options))


def root(schema: Any, **options: Any):
    document = parse(schema, **options)
    return document.schemas[document.root]


def test_text_keeps_the_order_and_the_digits_of_the_schema():
    digits = "0.1234567890123456789012345678901234567890"
    schema = root(f'{{"minimum": {digits}, "properties": {{"z": true, "a": true}}}}')
    assert schema.numbers.lower == (Bound(Decimal(digits)),)
    assert list(schema.objects.properties) == ["z", "a"]


@pytest.mark.parametrize(
    ("schema", "place", "words"),
    [
        ({"type": "strin"}, "/type", ["null, boolean", '"strin"', "did you mean 'string'?"]),
        ({"type": ["null", 3]}, "/type", ["not 3"]), ({"type": []}, "/type", ["not []"]),
        ({"required": ["a", 1]}, "/required", ["an array of strings", "not 1"]),
        ({"minLength": -1}, "/minLength", ["a count (0 or more)", "not -1"]),
        ({"maxItems": 1.5}, "/maxItems", ["not 1.5"]),
        ({"multipleOf": 0}, "/multipleOf", ["more than 0", "not 0"]),
        ({"minimum": True}, "/minimum", ["a number", "not true"]),
        ({"minimum": None}, "/minimum", ["must not be null"]),
        ({"properties": []}, "/properties", ["an object of schemas", "not []"]),
        ({"items": "x"}, "/items", ["a schema must be", 'not "x"']),
        ({"items": [True]}, "/items", ["prefixItems"]),
        ({"prefixItems": []}, "/prefixItems", ["one or more schemas"]),
        ({"anyOf": {}}, "/anyOf", ["an array", "not {}"]),
        ({"enum": 1}, "/enum", ["an array"]), ({"pattern": 1}, "/pattern", ["a string"]),
        ({"items": {"pattern": "(a"}}, "/items/pattern", ["\n  (a\n"]),
        ({"$ref": 1}, "/$ref", ["a string", "not 1"]),
        ({"$ref": "#/$defs/persn", "$defs": {"person": {}}}, "/$ref", ["'person'", "is wrong"]),
        ({"$ref": "#/enum/7", "enum": [1]}, "/$ref", ["there is no /enum/7"]),
        ({"$ref": "#/title/x", "title": "t"}, "/$ref", ["there is no /title/x"]),
        ({"$schema": 1}, "/$schema", ["a string"]),
        ({"dependentRequired": {"a": {}}}, "/dependentRequired/a", []),
        ({"$schema": DRAFT_7, "dependencies": {"a": "b"}}, "/dependencies/a", []),
        ({"patternProperties": {"(": True}}, "/patternProperties/(", []),
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
    assert all(word in str(caught.value) for word in words)


@pytest.mark.parametrize(("draft", "schema"), [
    (DRAFT_4, {"const": 3}), (DRAFT_4, {"propertyNames": False}), (DRAFT_4, {"if": True}),
    (DRAFT_7, {"prefixItems": 3}), (DRAFT_7, {"$dynamicRef": 3}), (DRAFT_7, {"divisibleBy": 3}),
    ("https://json-schema.org/draft/2020-12/schema", {"additionalItems": 3}),
])  # fmt: skip
def test_a_keyword_of_another_draft_is_an_annotation(draft, schema):
    assert root({"$schema": draft, **schema}).keywords == ()


@pytest.mark.parametrize(
    "name", ["title", "$id", "$defs", "contentMediaType", "x-order", "requred"]
)
def test_annotations_and_foreign_names_say_nothing(name):
    assert root({name: "anything"}).keywords == ()


@pytest.mark.parametrize(("schema", "place", "words"), [
    ({"$ref": "https://example.com/s"}, "/$ref", ["https://example.com/s", "resources="]),
    ({"$schema": "http://json-schema.org/draft-03/schema#"}, "/$schema", ["draft-03"]),
    ({"items": {"multipleOf": 998244353}}, "/items/multipleOf", ["998244353", "1024"]),
    ({"items": {"pattern": r"\p{Script=Greek}"}}, "/items/pattern", ["Script", "category"]),
    ({"items": {"format": "datetime"}}, "/items/format", ["did you mean 'date-time'"]),
])  # fmt: skip
def test_what_is_out_of_reach_is_refused_with_its_place(schema, place, words):
    with pytest.raises(UnsupportedError) as caught:
        parse(schema, formats="strict")
    assert caught.value.place == place
    assert all(word in str(caught.value) for word in words)


def test_formats_are_annotations_unless_they_are_known_or_strict():
    assert root({"format": "hostnam"}).strings.format is None
    for formats in ("known", "strict"):
        assert root({"format": "date"}, formats=formats).strings.format == "date"


# References and drafts


def test_the_schema_that_names_no_version_is_the_latest_one():
    schema = {"$schema": "http://json-schema.org/schema#", "prefixItems": [{"type": "null"}]}
    assert "#/prefixItems/0" in parse(schema).schemas  # 2020-12 alone has these


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


# Depth


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


# The source


def test_sources_are_equal_by_content():
    assert JsonSchema({"type": "null"}) == JsonSchema({"type": "null"})
    assert hash(JsonSchema(True)) == hash(JsonSchema(True))
    assert JsonSchema({"a": 1, "b": 2}) != JsonSchema({"b": 2, "a": 1})
    assert JsonSchema(True, spelling="plain") != JsonSchema(True)
    assert JsonSchema(True, resources={"u": True}) != JsonSchema(True)
    assert JsonSchema(True, whitespace=Whitespace(2)).whitespace == Whitespace(spaces=2)


@pytest.mark.parametrize(("make", "message"), [
    (lambda: JsonSchema(True, key_order="declred"), "key_order is 'declred'.*'declared'\\?"),
    (lambda: JsonSchema(True, whitespace="none"), "'any', 'compact', 'natural'"),
    (lambda: JsonSchema(True, spelling=3), "spelling is 3"),
    (lambda: JsonSchema(3), "a schema must be a dict, a bool or JSON text, not 3"),
    (lambda: JsonSchema("\ud800"), "lone surrogate"),
    (lambda: JsonSchema(True, resources={"u": 1}), "resource 'u' must be a dict"),
    (lambda: JsonSchema(True, resources=["u"]), "schemas by URI, or a folder, not \\['u'\\]"),
    (lambda: JsonSchema(True, resources={5: True}), "URI of a resource must be a str, not 5"),
    (lambda: Whitespace(spaces=-1), "spaces=...\\) must be a number of spaces, not -1"),
    (lambda: Whitespace(indent=True), "indent=..."),
    (lambda: Whitespace(newline=1), "newline=..."),
])  # fmt: skip
def test_options_that_do_not_exist_are_refused(make, message):
    with pytest.raises(SourceError, match=message):
        make()


# Parts of schemas as schemas of their own: they allow there what they allow in the whole.

NUMBER = {"type": "integer"}


def allowed(whole: dict[str, Any], address: str, **options: Any) -> list[str]:
    made = part_of(JsonSchema(whole, **options), address)
    constraint = gw.compile(made, PLAIN)
    texts = ["1", "2.5", '"a"', "[1]", "[[]]", "[]", '{"a": 1}', '{"a": "x"}', '{"a": {"a": 1}}']
    return [text for text in texts if constraint.matches(text)]


A_NUMBER = {"properties": {"a": {"$ref": "#/$defs/n"}}, "$defs": {"n": NUMBER}}
AGAIN = ["1", '{"a": 1}', '{"a": {"a": 1}}']


@pytest.mark.parametrize(("whole", "allows"), [
    ({"properties": {"a": NUMBER}}, ["1"]),
    (A_NUMBER, ["1"]),
    ({"properties": {"a": {"$ref": "#/properties/b"}, "b": NUMBER}}, ["1"]),
    ({"properties": {"a": {"$ref": "#/allOf/1"}}, "allOf": [True, NUMBER]}, ["1"]),
    ({"type": "object", "properties": {"a": {"anyOf": [{"$ref": "#"}, NUMBER]}}}, AGAIN),
    ({**A_NUMBER, "$id": "http://x/y", "properties": {"a": {"$ref": "y#/$defs/n"}}}, ["1"]),
    ({"$schema": DRAFT_7, "properties": {"a": {"$ref": "#n"}},
      "definitions": {"n": {"$id": "#n", "items": [NUMBER], "type": "array"}}}, ["[1]", "[]"]),
    ({**A_NUMBER, "$id": "whole:schema",
      "properties": {"a": {"$ref": "whole:schema#/$defs/n"}}}, ["1"]),
    ({"$schema": "https://json-schema.org/draft/2019-09/schema", "$recursiveAnchor": True,
      "type": "object", "properties": {"a": {"anyOf": [{"$recursiveRef": "#"}, NUMBER]}}}, AGAIN),
])  # fmt: skip
def test_a_part_allows_what_it_allows_in_the_whole(whole: dict[str, Any], allows: list[str]):
    assert allowed(whole, "#/properties/a") == allows


def test_a_part_may_stand_in_a_list_or_a_resource():
    assert allowed({"allOf": [True, NUMBER]}, "#/allOf/1") == ["1"]
    other = {**A_NUMBER, "properties": {"a b": {"$ref": "#/$defs/n"}}}
    for uri in ("http://x/y", "http://x/y#"):
        resources = {uri: other, "http://x/y/z": {}}
        address = f"{uri}#/properties/a b"
        assert allowed({"$ref": "http://x/y"}, address, resources=resources) == ["1"]


def test_the_part_is_written_like_the_whole():
    for schema in (NUMBER, {"$ref": "#/properties/b"}):
        whole = {"properties": {"a": schema, "b": NUMBER}}
        source = JsonSchema(whole, "declared", "compact", "plain", "strict")
        made = part_of(source, "#/properties/a")
        assert (made.key_order, made.whitespace, made.spelling, made.formats) == (
            *("declared", "compact", "plain", "strict"),
        )


META = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$id": "http://x/meta",
    "$vocabulary": {"https://json-schema.org/draft/2020-12/vocab/applicator": True},
}
ANCHORED = {"$dynamicAnchor": "n", "properties": {"a": {"$dynamicRef": "#n"}}}
LONG = {"$defs": {"x" * 5000: {"properties": {"a": NUMBER}}}}


@pytest.mark.parametrize(("whole", "resources", "address", "place"), [
    ({"$ref": "#/$defs/t", "$defs": {"t": ANCHORED}}, None, None, "/$defs/t/properties/a"),
    *((LONG, None, f"#{pointer}", pointer)
      for pointer in ("/$defs/y/properties/a", "/$defs/x/0", "/$defs/0/x")),
    ({"$schema": "http://x/meta", "properties": {"a": NUMBER}}, {"http://x/meta": META},
     "#/properties/a", "/properties/a"),
])  # fmt: skip
def test_a_part_that_means_nothing_alone_is_refused(whole, resources, address, place):
    source = JsonSchema(whole, resources=resources)
    if address is None:
        schemas = parse_json_schema(source).schemas
        (address,) = (each for each in schemas if each.endswith("/a"))
    with pytest.raises(UnsupportedError, match="has no meaning alone") as caught:
        part_of(source, address)
    assert caught.value.place == place
