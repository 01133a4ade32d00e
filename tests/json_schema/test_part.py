"""Parts of schemas as schemas of their own: they allow there what they allow in the whole."""

from typing import Any

import pytest

import guideway as gw
from guideway.errors import UnsupportedError
from guideway.json_schema.parser import parse_json_schema, part_of
from guideway.json_schema.source import JsonSchema
from tool_samples import PLAIN

NUMBER = {"type": "integer"}


def allowed(whole: dict[str, Any], address: str, **options: Any) -> list[str]:
    made = part_of(JsonSchema(whole, **options), address)
    constraint = gw.compile(made, PLAIN)
    texts = ["1", "2.5", '"a"', "[1]", "[[]]", "[]", '{"a": 1}', '{"a": "x"}', '{"a": {"a": 1}}']
    return [text for text in texts if constraint.matches(text)]


@pytest.mark.parametrize(
    ("whole", "allows"),
    [
        ({"properties": {"a": NUMBER}}, ["1"]),
        ({"properties": {"a": {"$ref": "#/$defs/n"}}, "$defs": {"n": NUMBER}}, ["1"]),
        ({"properties": {"a": {"$ref": "#/properties/b"}, "b": NUMBER}}, ["1"]),
        ({"properties": {"a": {"$ref": "#/allOf/1"}}, "allOf": [True, NUMBER]}, ["1"]),
        (
            {"type": "object", "properties": {"a": {"anyOf": [{"$ref": "#"}, NUMBER]}}},
            ["1", '{"a": 1}', '{"a": {"a": 1}}'],
        ),
        ({"$id": "http://x/y", "properties": {"a": {"$ref": "y#/$defs/n"}}, "$defs": {"n": NUMBER}},
         ["1"]),
        (
            {
                "$schema": "http://json-schema.org/draft-07/schema#",
                "properties": {"a": {"$ref": "#n"}},
                "definitions": {"n": {"$id": "#n", "items": [NUMBER], "type": "array"}},
            },
            ["[1]", "[]"],
        ),
        (
            {"$id": "whole:schema", "properties": {"a": {"$ref": "whole:schema#/$defs/n"}},
             "$defs": {"n": NUMBER}},
            ["1"],
        ),
        (
            {
                "$schema": "https://json-schema.org/draft/2019-09/schema",
                "$recursiveAnchor": True,
                "type": "object",
                "properties": {"a": {"anyOf": [{"$recursiveRef": "#"}, NUMBER]}},
            },
            ["1", '{"a": 1}', '{"a": {"a": 1}}'],
        ),
    ],
)  # fmt: skip
def test_a_part_allows_what_it_allows_in_the_whole(whole: dict[str, Any], allows: list[str]):
    assert allowed(whole, "#/properties/a") == allows


def test_a_part_may_stand_in_a_list():
    assert allowed({"allOf": [True, NUMBER]}, "#/allOf/1") == ["1"]


def test_a_part_may_stand_in_a_resource():
    other = {"properties": {"a b": {"$ref": "#/$defs/n"}}, "$defs": {"n": NUMBER}}
    for uri in ("http://x/y", "http://x/y#"):
        whole = {"$ref": "http://x/y"}
        options = {"resources": {uri: other, "http://x/y/z": {}}}
        assert allowed(whole, f"{uri}#/properties/a b", **options) == ["1"]


def test_the_part_is_written_like_the_whole():
    for schema in (NUMBER, {"$ref": "#/properties/b"}):
        whole = {"properties": {"a": schema, "b": NUMBER}}
        source = JsonSchema(whole, "declared", "compact", "plain", "strict")
        made = part_of(source, "#/properties/a")
        assert (made.key_order, made.whitespace, made.spelling, made.formats) == (
            *("declared", "compact", "plain", "strict"),
        )


def test_a_part_that_means_nothing_alone_is_refused():
    anchored = {"$dynamicAnchor": "n", "properties": {"a": {"$dynamicRef": "#n"}}}
    whole = {"$ref": "#/$defs/t", "$defs": {"t": anchored}}
    source = JsonSchema(whole)
    (address,) = (each for each in parse_json_schema(source).schemas if each.endswith("/a"))
    with pytest.raises(UnsupportedError, match="has no meaning alone") as caught:
        part_of(source, address)
    assert caught.value.place == "/$defs/t/properties/a"


def test_a_part_whose_pointer_is_cut_is_refused():
    whole = {"$defs": {"x" * 5000: {"properties": {"a": NUMBER}}}}
    for pointer in ("/$defs/y/properties/a", "/$defs/x/0", "/$defs/0/x"):
        with pytest.raises(UnsupportedError, match="has no meaning alone"):
            part_of(JsonSchema(whole), f"#{pointer}")


def test_a_metaschema_without_references_leaves_no_part():
    meta = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "http://x/meta",
        "$vocabulary": {"https://json-schema.org/draft/2020-12/vocab/applicator": True},
    }
    whole = {"$schema": "http://x/meta", "properties": {"a": NUMBER}}
    with pytest.raises(UnsupportedError, match="has no meaning alone") as caught:
        part_of(JsonSchema(whole, resources={"http://x/meta": meta}), "#/properties/a")
    assert caught.value.place == "/properties/a"
