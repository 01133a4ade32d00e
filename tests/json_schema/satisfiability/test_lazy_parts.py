"""What is called lazy can be read without an error, and what surely has an instance has one."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from guideway.errors import GuidewayError, SourceError, UnsupportedError
from guideway.json_schema.lowering import Lowering, lower_json_schema
from guideway.json_schema.parser import parse_json_schema
from guideway.json_schema.satisfiability.lazy_parts import find_lazy_parts
from guideway.json_schema.satisfiability.parts import LazySchema
from guideway.json_schema.source import JsonSchema
from guideway.json_schema.text import Json, read_json
from guideway.language.derivative import Derivatives
from guideway.language.expr import EMPTY
from json_mixtures import Mixture
from json_tangles import Tangle

DRAFT_4 = {"$schema": "http://json-schema.org/draft-04/schema#"}
DRAFT_7 = {"$schema": "http://json-schema.org/draft-07/schema#"}
TEXT, LIST = {"type": "string"}, {"$ref": "#/$defs/list"}
ENDLESS = {"type": "object", "properties": {"next": LIST}, "required": ["next"]}

TAME: list[Any] = [
    {"not": {}}, {"properties": {"a": {"not": True, "title": "never"}}}, True, {},
    {"type": "string", "pattern": "^a+$"},
    {"type": ["string", "null"], "title": "x", "minLength": 2, "format": "none such"},
    {"anyOf": [TEXT, {"type": "null"}, True]},
    {"oneOf": [TEXT, {"type": ["null", "integer"]}, LIST], "$defs": {"list": {"type": "array"}}},
    {"allOf": [{"oneOf": [{"minLength": 1}]}]}, {"enum": [1, [2]]},
    {**LIST, "$defs": {"list": ENDLESS}},
    {"properties": {"a": {"$ref": "#"}, "b": {"$ref": "#/properties/a~0b"}, "a~b": {"enum": [0]}}},
    {"$id": "http://x/", "items": {"$id": "y", "prefixItems": [True], "items": False}},
    {**DRAFT_4, "minimum": 1.5, "exclusiveMinimum": True, "items": [{}, {"id": "#x"}], "const": 4},
    {**DRAFT_7, "$defs": {"a": {"type": "null"}}, "items": {"$ref": "#/$defs/a", "oneOf": 3}},
    {"unevaluated": 3, "$defs": {"never": {"type": "strong"}}},
    {"type": "integer", "multipleOf": 0.3}, {**DRAFT_7, "additionalItems": {"type": "strong"}},
    {"type": "object", "propertyNames": {"type": "string"}, "additionalProperties": TEXT},
    {"propertyNames": {}}, {**DRAFT_7, "items": [TEXT], "additionalItems": {"type": "null"}},
    {"oneOf": [{"const": "a"}, {"const": "b"}, {"enum": [1, True]}, {"type": "null"}]},
    {"uniqueItems": False, "minItems": 3}, {"oneOf": [False, TEXT, {"type": "null"}]},
    {"items": {"$schema": "http://json-schema.org/draft-04/schema#"}, "minItems": 1},
    {**DRAFT_7, "items": {"$id": "#y", "items": {"$ref": "#"}}},
    {"$id": "http://x/", "items": {"$id": "y", "enum": [[{}]]}, "contains": {"$ref": "#/items"}},
    {**DRAFT_7, "items": {"$id": "y", "$ref": "#"}}, {"items": {"$id": 3, "items": {"$ref": "#"}}},
]  # fmt: skip
WILD: list[Any] = [
    {"not": []}, {"minimum": 1, "not": []}, {"items": {"if": [], "then": {}}},
    {"type": "string", "pattern": "^(?=a)a+$"}, {"type": "string", "pattern": r"\ba"},
    {"type": "string", "pattern": "a("}, {"pattern": 3}, {"anyOf": []},
    {"allOf": [{"properties": ["a"]}, {"required": ["a"]}]}, {"uniqueItems": 1},
    {"patternProperties": {"(": TEXT}}, {"patternProperties": {"^a": {"type": "strong"}}},
    *({"patternProperties": wrong} for wrong in ([], 1, None, "^a")), {"minProperties": -1},
    {"anyOf": [{"required": "a"}], "type": "object"}, {"dependentRequired": {"a": "b"}},
    {"dependentRequired": []}, {"type": "integer", "multipleOf": 998244353}, {"multipleOf": 0},
    {"multipleOf": True}, {"enum": [1], "const": 1}, {"enum": []}, {"enum": 3}, {"type": "strong"},
    {"type": []}, {"type": [["string"]]}, {"minLength": -1}, {"maxItems": 2.0},
    {"maxItems": True}, {"minimum": "1"}, {"exclusiveMaximum": True},
    {**DRAFT_4, "exclusiveMaximum": 1}, {"format": 3}, {"required": ["a", 1]}, {"required": "a"},
    {"properties": []}, {"properties": {"a": None}}, {"items": [TEXT]}, {**DRAFT_7, "items": []},
    {"prefixItems": []}, {"prefixItems": TEXT}, {"additionalProperties": "no"},
    {"items": {"$schema": "http://json-schema.org/draft-07/schema#", "$id": "y"}},
    {"$defs": {"a": {"$id": "y", "$defs": {"b": TEXT}}}, "$ref": "#/$defs/a/$defs/b"},
    {"items": {"$id": "y", "items": {"$ref": "#"}}},
    {"$ref": "#/$defs/a/b", "$defs": {"a": {"$id": "y", "b": True}}},
    {"$ref": "#/$defs/b", "$defs": {"a": True}}, {"$ref": "#/enum/1", "enum": [{}]},
    {"$ref": "#/enum/00", "enum": [{}]}, {"items": {"$ref": "#name"}}, {"items": {"$ref": 3}},
    {"$ref": "#"}, {"anyOf": [{"allOf": [{"$ref": "#"}]}, True]},
    {"$schema": "http://json-schema.org/draft-03/schema#"}, {"$schema": 3},
    {"unevaluatedItems": False}, {"if": True, "then": {"type": "strong"}}, {"if": True, "then": 3},
    {**DRAFT_7, "items": [True], "additionalItems": {"type": "strong"}},
    {"dependencies": {"a": ["b"], "c": {"type": "strong"}}},
    {"dependencies": {"a": ["b"], "c": {"$ref": "#"}}},
    {"$ref": "#/$defs/a", "minLength": 2, "$defs": {"a": {"allOf": [TEXT, {"$ref": "#"}]}}},
    {"$ref": "#/$defs/b", "minLength": 2, "$defs": {"a": True}}, {"$dynamicRef": "#"},
    *({name: {"a": [3]}, "propertyNames": TEXT} for name in ("properties", "dependentSchemas")),
    {"patternProperties": {"^a": [3]}, "propertyNames": TEXT},
    {"properties": {"a": {"not": {"properties": {"b": {"pattern": "("}}}}}}, [], 3,
]  # fmt: skip
NEVER: list[Any] = [
    {**DRAFT_4, "oneOf": [{"const": "a"}, {"const": "b"}]},
    {"oneOf": [{"required": ["a"]}, {"required": ["a"]}], "type": "object"},
    {"not": {"required": []}},
    {"not": {"required": ["a"]}, "required": ["a"]},
]  # late parts without an instance
LATE: list[Any] = [
    {"oneOf": [{"type": "integer"}, {"type": "number"}]}, {"uniqueItems": True, "minItems": 2},
    {"$ref": "#/enum/0", "enum": [{}]}, {"enum": [{}], "properties": {}},
    {"patternProperties": {"^(ab)c": TEXT, "^b": TEXT}},
    {"contains": TEXT, "items": {"minLength": 1}, "maxContains": 3},
    {"contains": TEXT, "minContains": 2, "items": {"pattern": "^a$"}, "minItems": 3},
    {"patternProperties": {"^a": TEXT, "^b": TEXT}, "properties": {"c": TEXT}},
    {"anyOf": [TEXT, {"type": "null"}], "minLength": 1},
    {"anyOf": [{"const": value} for value in range(25)]}, {"allOf": [TEXT, TEXT]},
    {"allOf": [{"properties": {"a": TEXT}}, {"properties": {"a": TEXT}}]},
    {"allOf": [{"properties": {"a": TEXT}}, {"additionalProperties": False}]},
    {"allOf": [{"properties": {"a": False}}, {"required": ["a"]}]},
    {"allOf": [{"$ref": "#/$defs/a"}, {"required": ["a"]}], "$defs": {"a": TEXT}},
    {"allOf": [{"$ref": "#/$defs/a", "minLength": 2}, {}], "$defs": {"a": {"required": ["a"]}}},
    {"oneOf": [TEXT, {"minLength": 3}]}, {"oneOf": [TEXT, {"anyOf": [TEXT, {"type": "null"}]}]},
    {"oneOf": [TEXT, True]}, {"oneOf": [{"enum": ["a", "b"]}, {"enum": ["b", "c"]}]},
    {"oneOf": [{"required": ["a"]}, {"type": "object", "required": ["b"]}]},
    {"patternProperties": {"a": TEXT, "^b": TEXT}},
    {"patternProperties": {"^a": TEXT}, "properties": {"ab": TEXT}},
    {"patternProperties": {"^a": TEXT}, "required": ["b"]},
    {"maxProperties": 1, "required": ["a", "b"]}, {"type": "string", "minProperties": 1},
    {"anyOf": [{"required": ["a"]}, {"required": ["b"]}], "oneOf": [{"required": ["c"]}]},
    {"dependentRequired": {"a": ["b"]}, "required": ["a"]}, {"minProperties": 12},
    {"minProperties": 1, "additionalProperties": False}, {"minProperties": 1, "minLength": 1},
    {"items": {"$ref": "#", "minItems": 1}}, {"not": TEXT},
    {"then": {"type": "strong"}, "else": 3},
    {"properties": {"a": {"not": {"not": TEXT}}, "b": {"items": {"$ref": "#/properties/a"}}}},
]  # fmt: skip


def lazy(schema: Any, *, strict: bool = False) -> LazySchema | None:
    return find_lazy_parts(read_json(json.dumps(schema)), strict=strict)


@pytest.mark.parametrize("schema", [*TAME, *WILD, *LATE, *NEVER])
def test_what_is_wild_is_left_to_the_reader_and_what_meets_waits_until_it_is_entered(
    schema: Any,
) -> None:
    found = lazy(schema)
    if schema in WILD:
        assert found is None or (found.decided and found.decided.keys() <= found.eager)
        return
    assert found is not None
    assert not found.decided
    assert found.late if schema not in TAME else not found.eager
    if schema not in TAME:
        alive = Derivatives(EMPTY).alive(lower_json_schema(JsonSchema(schema)))
        assert alive is (schema not in NEVER)


def fate(make: Callable[[], object]) -> tuple[type[GuidewayError], str | None] | None:
    try:
        make()
    except (SourceError, UnsupportedError) as error:
        return type(error), error.place
    return None


@pytest.mark.parametrize("schema", [*TAME, *WILD, *LATE, *NEVER])
@pytest.mark.parametrize("part", [False, True])
def test_parts_that_are_wrong_are_wrong_in_the_same_place(schema: Any, part: bool) -> None:
    """Whatever reading all of it refuses is refused, be it in the midst of what is lazy."""
    text = json.dumps({"properties": {"x": schema, "y": TEXT}} if part else schema)
    whole = fate(lambda: parse_json_schema(JsonSchema(text)))
    assert fate(lambda: lower_json_schema(JsonSchema(text))) == whole


def test_unknown_formats_are_tame_unless_they_are_to_be_refused() -> None:
    known, unknown = {"format": "date"}, {"format": "dates"}
    assert lazy(known, strict=True) is not None
    assert lazy(unknown) is not None
    strictly = lazy(unknown, strict=True)
    assert strictly is not None
    assert list(strictly.decided.values()) == [unknown]
    with pytest.raises(GuidewayError):
        parse_json_schema(JsonSchema(unknown, formats="strict"))


def test_a_loop_is_found_behind_a_diamond() -> None:
    """Parts that are shared are no loop; the one behind them is."""
    middle: dict[str, Any] = {"anyOf": [{"$ref": "#/$defs/end"}, {"$ref": "#/$defs/end"}]}
    diamond = {"anyOf": [{"$ref": "#/$defs/middle"}, {"$ref": "#/$defs/end"}]}
    defs: dict[str, Any] = {"middle": middle, "end": {"anyOf": [TEXT]}}
    assert lazy({**diamond, "$defs": defs}) is not None
    assert lazy({**diamond, "$defs": {**defs, "end": {"$ref": "#"}}}) is None


def test_values_that_nest_deeply_are_left_to_the_reader_of_all_schemas():
    deep: Json = 1
    for _ in range(5000):
        deep = [{"a": deep}]
    shallow: Json = {"const": [[1], {"a": [2, []]}]}
    for raw, is_lazy in ((shallow, True), ({"const": deep}, False), ({"enum": [1, deep]}, False)):
        lazy = find_lazy_parts(raw, strict=False)
        assert lazy is not None
        assert lazy.is_lazy(raw) is is_lazy


@pytest.mark.untraced
@pytest.mark.parametrize("draw", [lambda seed: Mixture(seed, 2020, 8), Tangle])
def test_what_surely_has_an_instance_has_one(draw: Callable[[int], Mixture | Tangle]) -> None:
    """Lowered as a whole, it has a text; what is refused then is not sure of one, either."""
    told = 0
    for seed in range(400):
        source = JsonSchema(draw(seed).schema)
        found = find_lazy_parts(read_json(source.text), strict=False)
        if found is not None and id(found.root) in found.sure:
            told += 1
            assert Derivatives(EMPTY).alive(Lowering(source).text()), source.text
    assert told > 30
