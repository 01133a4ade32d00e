"""Parts of a document that are written alike are one; and nothing else is."""

import json
from typing import Any

import pytest

from guideway.lowering.json_alike_texts import AlikeTexts
from guideway.syntax.json_schema import LooseParts
from guideway.syntax.json_schema_tame import read_tame
from json_parts import PARTS


def alike_in(schema: Any, pointers: list[str]) -> list[str]:
    """What stands for each of some parts of a document."""
    tame = read_tame(schema, strict=False)
    assert tame is not None
    parts = LooseParts(schema, tame.draft, strict=False)
    alike = AlikeTexts(tame, parts.raw)
    found: list[str] = []
    for pointer in pointers:
        raw = schema
        for step in pointer.split("/")[1:]:
            raw = raw[int(step)] if isinstance(raw, list) else raw[step]
        found.append(alike.first(parts.enter(pointer, raw)))
    return found


def test_what_is_written_twice_is_one_and_what_differs_is_not():
    listed = json.loads(json.dumps([*PARTS, *PARTS]))  # no two of them one object
    turned = [dict(reversed(part.items())) for part in listed[len(PARTS) :]]
    many = [*listed[: len(PARTS)], *turned]
    schema = {
        "properties": {f"{n}": part for n, part in enumerate(many)},
        "not": {"required": ["0"]},
    }
    first = alike_in(schema, [f"/properties/{n}" for n in range(len(many))])
    assert first[: len(PARTS)] == first[len(PARTS) :]
    assert len(set(first)) == len(PARTS)


def test_numbers_and_booleans_are_told_apart():
    parts = [{"const": 1}, {"const": True}, {"const": 0}, {"const": False}, {"const": "1"}]
    schema = {
        "properties": {f"{n}": part for n, part in enumerate(parts)},
        "not": {"required": ["0"]},
    }
    assert len(set(alike_in(schema, [f"/properties/{n}" for n in range(len(parts))]))) == len(parts)


@pytest.mark.parametrize("draft", [7, 2020])
def test_a_reference_is_what_it_refers_to(draft: int):
    name, part = "http://json-schema.org/draft-07/schema#", {"minLength": 1}
    schema = {
        **({"$schema": name} if draft == 7 else {}),
        "properties": {
            "a": {"$ref": "#/$defs/x"},
            "b": {"type": "string"},
            "c": {"$ref": "#/$defs/x", "maxLength": 1},
            "d": {"$ref": "#/$defs/any"},
            "e": {"allOf": [part, part]},
        },
        "$defs": {"x": {"type": "string"}, "any": True},
        "not": {"required": ["a"]},
    }
    a, b, c, d, e = alike_in(schema, [f"/properties/{name}" for name in "abcde"])
    assert a == b
    assert (c == a) is (draft == 7)
    assert len({a, d, e}) == 3


def test_what_leads_back_to_itself_is_only_like_itself():
    ring = {"properties": {"next": {"$ref": "#/$defs/one"}}}
    other = {"properties": {"next": {"$ref": "#/$defs/two"}}}
    schema = {
        "anyOf": [{"$ref": "#/$defs/one"}, {"$ref": "#/$defs/two"}],
        "not": {"required": ["a"]},
        "$defs": {"one": ring, "two": other},
    }
    one, two, again = alike_in(schema, ["/$defs/one", "/$defs/two", "/anyOf/0"])
    assert one != two
    assert again == one


def test_where_nothing_is_combined_nobody_asks():
    schema = {"properties": {"a": {"type": "string"}, "b": {"type": "string"}}}
    assert len(set(alike_in(schema, ["/properties/a", "/properties/b"]))) == 2


def test_nesting_has_no_depth():
    schema, value = {"type": "string"}, 1
    for _ in range(200):
        schema, value = {"items": schema}, [value]
    listed = [schema, json.loads(json.dumps(schema)), {"const": value}, {"const": [value]}]
    one, two, three, four = alike_in(
        {"anyOf": listed, "not": {"required": ["a"]}}, [f"/anyOf/{n}" for n in range(4)]
    )
    assert one == two
    assert len({one, three, four}) == 3


def test_what_differs_far_below_is_told_apart_and_what_does_not_is_one():
    def nested(least: int, *, by: str = "items") -> Any:
        return {"properties": {"a": {"items": {"items": {by: {"minimum": least}}}}}}

    parts = [nested(1), nested(2), nested(1), nested(1, by="contains"), nested(2)]
    schema = {
        "anyOf": [*parts, {"$ref": "#/$defs/first"}, {"$ref": "#/$defs/second"}],
        "not": {"required": ["b"]},
        "$defs": {
            "first": {"$ref": "#/$defs/second"},
            "second": {"$ref": "#/$defs/third"},
            "third": nested(2),
        },
    }
    found = alike_in(schema, [f"/anyOf/{n}" for n in range(7)])
    one, two, three, four, five, six, seven = found
    assert one == three
    assert two == five == six == seven
    assert len({one, two, four}) == 3
    assert alike_in(schema, [f"/anyOf/{n}" for n in (6, 4, 0)])[:2] == ["#/anyOf/6"] * 2


def test_so_are_references_far_below_and_what_is_asked_for_again():
    parts = [
        {"properties": {"a": {"items": {"items": {"$ref": f"#/$defs/{name}"}}}}}
        for name in ("one", "two", "three")
    ]
    schema = {
        "anyOf": parts,
        "not": {"required": ["b"]},
        "$defs": {"one": {"minLength": 1}, "two": {"minLength": 1}, "three": {"minLength": 3}},
    }
    one, two, three, again = alike_in(schema, [f"/anyOf/{n}" for n in (0, 1, 2, 1)])
    assert one == two == again
    assert three != one
