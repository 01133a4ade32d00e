"""What is called tame can be read without an error, and what surely has an instance has one."""

import json
from collections.abc import Callable
from typing import Any, cast

import pytest

from guideway.errors import GuidewayError, SourceError, UnsupportedError
from guideway.json_schema.lowering import lower_json_schema
from guideway.json_schema.parser import parse_json_schema
from guideway.json_schema.satisfiability import alternatives as json_schema_counts
from guideway.json_schema.satisfiability import lazy_parts as json_schema_tame
from guideway.json_schema.satisfiability.lazy_parts import read_tame
from guideway.json_schema.satisfiability.parts import TameSchema, Targets
from guideway.json_schema.source import JsonSchema
from guideway.json_schema.text import Json, read_json
from guideway.language.derivative import Derivatives
from guideway.language.expr import EMPTY

DRAFT_4 = {"$schema": "http://json-schema.org/draft-04/schema#"}
DRAFT_7 = {"$schema": "http://json-schema.org/draft-07/schema#"}
TEXT, LIST = {"type": "string"}, {"$ref": "#/$defs/list"}
ENDLESS = {"type": "object", "properties": {"next": LIST}, "required": ["next"]}

TAME: list[Any] = [
    {"not": {}},
    {"properties": {"a": {"not": True, "title": "never"}}},
    True,
    {},
    {"type": "string", "pattern": "^a+$"},
    {"type": ["string", "null"], "title": "x", "minLength": 2, "format": "none such"},
    {"anyOf": [TEXT, {"type": "null"}, True]},
    {"oneOf": [TEXT, {"type": ["null", "integer"]}, LIST], "$defs": {"list": {"type": "array"}}},
    {"allOf": [{"oneOf": [{"minLength": 1}]}]},
    {"enum": [1, [2]]},
    {**LIST, "$defs": {"list": ENDLESS}},
    {"properties": {"a": {"$ref": "#"}, "b": {"$ref": "#/properties/a~0b"}, "a~b": {"enum": [0]}}},
    {"$id": "http://x/", "items": {"$id": "y", "prefixItems": [True], "items": False}},
    {**DRAFT_4, "minimum": 1.5, "exclusiveMinimum": True, "items": [{}, {"id": "#x"}], "const": 4},
    {**DRAFT_7, "$defs": {"a": {"type": "null"}}, "items": {"$ref": "#/$defs/a", "oneOf": 3}},
    {"unevaluated": 3, "$defs": {"never": {"type": "strong"}}},
    {"type": "integer", "multipleOf": 0.3},
    {**DRAFT_7, "additionalItems": {"type": "strong"}},
    {"type": "object", "propertyNames": {"type": "string"}, "additionalProperties": TEXT},
    {"propertyNames": {}},
    {**DRAFT_7, "items": [TEXT], "additionalItems": {"type": "null"}},
    {"oneOf": [{"const": "a"}, {"const": "b"}, {"enum": [1, True]}, {"type": "null"}]},
    {"uniqueItems": False, "minItems": 3},
    {"oneOf": [False, TEXT, {"type": "null"}]},
    {"items": {"$schema": "http://json-schema.org/draft-04/schema#"}, "minItems": 1},
    {**DRAFT_7, "items": {"$id": "#y", "items": {"$ref": "#"}}},
    {"$id": "http://x/", "items": {"$id": "y", "enum": [[{}]]}, "contains": {"$ref": "#/items"}},
    {**DRAFT_7, "items": {"$id": "y", "$ref": "#"}},
    {"items": {"$id": 3, "items": {"$ref": "#"}}},
]  # fmt: skip
WILD: list[Any] = [
    {"not": []},
    {"minimum": 1, "not": []},
    {"items": {"if": [], "then": {}}},
    {"type": "string", "pattern": "^(?=a)a+$"},
    {"type": "string", "pattern": r"\ba"},
    {"type": "string", "pattern": "a("},
    {"pattern": 3},
    {"anyOf": []},
    {"allOf": [{"properties": {"a": TEXT}}, {"required": "a"}]},
    {"allOf": [{"properties": ["a"]}, {"required": ["a"]}]},
    {"oneOf": [{"type": "integer"}, {"type": "number"}]},
    {**DRAFT_4, "oneOf": [{"const": "a"}, {"const": "b"}]},
    {"uniqueItems": True, "minItems": 2},
    {"uniqueItems": 1},
    {"patternProperties": {"(": TEXT}},
    {"patternProperties": {"^a": {"type": "strong"}}},
    *({"patternProperties": wrong} for wrong in ([], 1, None, "^a")),
    {"minProperties": -1},
    {"anyOf": [{"required": "a"}], "type": "object"},
    {"oneOf": [{"required": ["a"]}, {"required": ["a"]}], "type": "object"},
    {"not": {"required": []}},
    {"not": {"required": ["a"]}, "required": ["a"]},
    {"dependentRequired": {"a": "b"}},
    {"dependentRequired": []},
    {"type": "integer", "multipleOf": 998244353},
    {"multipleOf": 0},
    {"multipleOf": True},
    {"enum": [1], "const": 1},
    {"enum": []},
    {"enum": 3},
    {"type": "strong"},
    {"type": []},
    {"type": [["string"]]},
    {"type": None},
    {"minLength": -1},
    {"maxItems": 2.0},
    {"maxItems": True},
    {"minimum": "1"},
    {"exclusiveMaximum": True},
    {**DRAFT_4, "exclusiveMaximum": 1},
    {"format": 3},
    {"required": ["a", 1]},
    {"required": "a"},
    {"properties": []},
    {"properties": {"a": None}},
    {"items": [TEXT]},
    {**DRAFT_7, "items": []},
    {"prefixItems": []},
    {"prefixItems": TEXT},
    {"additionalProperties": "no"},
    {"items": {"$schema": "http://json-schema.org/draft-07/schema#", "$id": "y"}},
    {"$defs": {"a": {"$id": "y", "$defs": {"b": TEXT}}}, "$ref": "#/$defs/a/$defs/b"},
    {"items": {"$id": "y", "items": {"$ref": "#"}}},
    {"$ref": "#/$defs/a/b", "$defs": {"a": {"$id": "y", "b": True}}},
    {"$ref": "#/$defs/b", "$defs": {"a": True}},
    {"$ref": "#/enum/1", "enum": [{}]},
    {"$ref": "#/enum/00", "enum": [{}]},
    {"items": {"$ref": "#name"}},
    {"items": {"$ref": 3}},
    {"$ref": "#"},
    {"anyOf": [{"allOf": [{"$ref": "#"}]}, True]},
    {"$schema": "http://json-schema.org/draft-03/schema#"},
    {"$schema": 3},
    {"unevaluatedItems": False},
    {"if": True, "then": {"type": "strong"}},
    {"if": True, "then": 3},
    {**DRAFT_7, "items": [True], "additionalItems": {"type": "strong"}},
    {"dependencies": {"a": ["b"], "c": {"type": "strong"}}},
    {"dependencies": {"a": ["b"], "c": {"$ref": "#"}}},
    {"$ref": "#/$defs/a", "minLength": 2, "$defs": {"a": {"allOf": [TEXT, {"$ref": "#"}]}}},
    {"$ref": "#/$defs/b", "minLength": 2, "$defs": {"a": True}},
    {"$dynamicRef": "#"},
    *({name: {"a": [3]}, "propertyNames": TEXT} for name in ("properties", "dependentSchemas")),
    {"patternProperties": {"^a": [3]}, "propertyNames": TEXT},
    {"properties": {"a": {"not": {"properties": {"b": {"pattern": "("}}}}}},
    [],
    3,
]
LATE: list[Any] = [
    {"$ref": "#/enum/0", "enum": [{}]},
    {"enum": [{}], "properties": {}},
    {"patternProperties": {"^(ab)c": TEXT, "^b": TEXT}},
    {"contains": TEXT, "items": {"minLength": 1}, "maxContains": 3},
    {"contains": TEXT, "minContains": 2, "items": {"pattern": "^a$"}, "minItems": 3},
    {"patternProperties": {"^a": TEXT, "^b": TEXT}, "properties": {"c": TEXT}},
    {"anyOf": [TEXT, {"type": "null"}], "minLength": 1},
    {"anyOf": [{"const": value} for value in range(25)]},
    {"allOf": [TEXT, TEXT]},
    {"allOf": [{"properties": {"a": TEXT}}, {"properties": {"a": TEXT}}]},
    {"allOf": [{"properties": {"a": TEXT}}, {"additionalProperties": False}]},
    {"allOf": [{"properties": {"a": TEXT}}, True]},
    {"allOf": [{"properties": {"a": False}}, {"required": ["a"]}]},
    {"allOf": [{"$ref": "#/$defs/a"}, {"required": ["a"]}], "$defs": {"a": TEXT}},
    {"allOf": [{"$ref": "#/$defs/a", "minLength": 2}, {}], "$defs": {"a": {"required": ["a"]}}},
    {"oneOf": [TEXT, {"minLength": 3}]},
    {"oneOf": [TEXT, {"anyOf": [TEXT, {"type": "null"}]}]},
    {"oneOf": [TEXT, True]},
    {"oneOf": [{"enum": ["a", "b"]}, {"enum": ["b", "c"]}]},
    {"oneOf": [{"required": ["a"]}, {"type": "object", "required": ["b"]}]},
    {"patternProperties": {"a": TEXT, "^b": TEXT}},
    {"patternProperties": {"^a": TEXT, "^ab": TEXT}},
    {"patternProperties": {"^a": TEXT}, "properties": {"ab": TEXT}},
    {"patternProperties": {"^a": TEXT}, "required": ["b"]},
    {"maxProperties": 1, "required": ["a", "b"]},
    {"type": "string", "minProperties": 1},
    {"type": ["string", "null"], "minProperties": 1},
    {"anyOf": [{"required": ["a"]}, {"required": ["b"]}], "oneOf": [{"required": ["c"]}]},
    {"dependentRequired": {"a": ["b"]}, "required": ["a"]},
    {"minProperties": 12},
    {"minProperties": 1, "additionalProperties": False},
    {"minProperties": 1, "minLength": 1},
    {"items": {"$ref": "#", "minItems": 1}},
    {"not": TEXT},
    {"then": {"type": "strong"}, "else": 3},
    {"properties": {"a": {"not": {"not": TEXT}}, "b": {"items": {"$ref": "#/properties/a"}}}},
]


def tame(schema: Any, *, strict: bool = False) -> TameSchema | None:
    return read_tame(read_json(json.dumps(schema)), strict=strict)


@pytest.mark.parametrize("schema", TAME)
def test_what_is_tame_can_be_read(schema: Any) -> None:
    found = tame(schema)
    assert found is not None
    assert not found.wild
    assert not found.eager
    parse_json_schema(JsonSchema(schema))


@pytest.mark.parametrize("schema", WILD)
def test_what_is_not_tame_is_left_to_the_reader(schema: Any) -> None:
    found = tame(schema)
    assert found is None or (found.wild and found.wild.keys() <= found.eager)


@pytest.mark.parametrize("schema", LATE)
def test_what_meets_waits_until_it_is_entered_where_it_has_an_instance(schema: Any) -> None:
    found = tame(schema)
    assert found is not None
    assert found.late
    assert not found.wild
    assert found.late.keys() <= found.sure
    assert Derivatives(EMPTY).alive(lower_json_schema(JsonSchema(schema)))


def fate(make: Callable[[], object]) -> tuple[type[GuidewayError], str | None] | None:
    try:
        make()
    except (SourceError, UnsupportedError) as error:
        return type(error), error.place
    return None


@pytest.mark.parametrize("schema", [*TAME, *WILD, *LATE])
@pytest.mark.parametrize("part", [False, True])
def test_parts_that_are_wrong_are_wrong_in_the_same_place(schema: Any, part: bool) -> None:
    """Whatever reading all of it refuses is refused, be it in the midst of what is tame."""
    text = json.dumps({"properties": {"x": schema, "y": TEXT}} if part else schema)
    whole = fate(lambda: parse_json_schema(JsonSchema(text)))
    assert fate(lambda: lower_json_schema(JsonSchema(text))) == whole


def test_wild_parts_are_told_apart_from_tame_ones() -> None:
    odd: dict[str, Any] = {"unevaluatedItems": False, "properties": {"in": TEXT}}
    found = tame({"properties": {"odd": odd, "even": {"items": TEXT}}})
    assert found is not None
    root = cast("dict[str, Any]", found.root)
    assert list(found.wild.values()) == [odd]
    assert [place for _, place in found.pointers(found.wild)] == ["/properties/odd"]
    assert found.eager == {id(root), id(root["properties"]["odd"])}
    assert found.is_tame(root["properties"]["odd"]["properties"]["in"])
    assert not found.is_tame(root["properties"]["odd"])
    assert not found.is_tame(root["properties"])


def test_what_meets_is_wild_where_a_part_of_it_is_wrong() -> None:
    wrong = {"minLength": "a", "not": TEXT}
    found = tame({"anyOf": [TEXT, {"not": wrong}], "properties": {"a": wrong}, "minLength": 1})
    assert found is not None
    assert wrong in found.wild.values()
    assert found.wild.keys() <= found.eager


def test_unknown_formats_are_tame_unless_they_are_to_be_refused() -> None:
    known, unknown = {"format": "date"}, {"format": "dates"}
    assert tame(known, strict=True) is not None
    assert tame(unknown) is not None
    strictly = tame(unknown, strict=True)
    assert strictly is not None
    assert list(strictly.wild.values()) == [unknown]
    with pytest.raises(GuidewayError):
        parse_json_schema(JsonSchema(unknown, formats="strict"))


def test_a_loop_is_found_behind_a_diamond() -> None:
    """Parts that are shared are no loop; the one behind them is."""
    middle: dict[str, Any] = {"anyOf": [{"$ref": "#/$defs/end"}, {"$ref": "#/$defs/end"}]}
    diamond = {"anyOf": [{"$ref": "#/$defs/middle"}, {"$ref": "#/$defs/end"}]}
    defs: dict[str, Any] = {"middle": middle, "end": {"anyOf": [TEXT]}}
    assert tame({**diamond, "$defs": defs}) is not None
    assert tame({**diamond, "$defs": {**defs, "end": {"$ref": "#"}}}) is None


SURE: list[tuple[Any, bool]] = [
    ({"type": "null"}, True),
    ({"type": "boolean"}, True),
    ({"type": ["boolean", "string"], "pattern": "a"}, True),
    ({"type": ["number", "string"], "pattern": "a"}, True),
    ({"pattern": "^"}, True),
    ({"type": "string", "pattern": "^[a-z_]+@x{1,3}$"}, True),
    ({"type": "string", "pattern": "a^b"}, False),
    ({"type": "string", "pattern": "^a$", "minLength": 2}, False),
    ({"type": "string", "format": "date"}, True),
    ({"type": "string", "format": "date", "maxLength": 1}, False),
    ({"type": "string", "minLength": 2, "maxLength": 2}, True),
    ({"type": "string", "minLength": 3, "maxLength": 2}, False),
    ({"type": "integer", "minimum": 3}, True),
    ({"type": "number", "exclusiveMaximum": 3, "maximum": 4}, True),
    ({"type": "integer", "minimum": 3, "maximum": 3}, True),
    ({"type": "integer", "minimum": 3, "maximum": 2}, False),
    ({"type": "integer", "minimum": 1.2, "maximum": 1.8}, False),
    ({"type": "integer", "minimum": 1, "exclusiveMaximum": 1}, False),
    ({"not": {}}, False),
    ({"enum": [[]]}, True),
    ({"enum": ["a", 1], "type": "string"}, True),
    ({"enum": [1], "type": "string"}, False),
    ({"enum": ["a"], "type": "string", "maxLength": 0}, False),
    ({"const": "a", "type": "string"}, True),
    ({"type": "array", "items": False}, True),
    ({"type": "array", "items": False, "minItems": 1}, False),
    ({"type": "array", "minItems": 2, "maxItems": 1}, False),
    ({"type": "array", "minItems": 2}, True),
    ({"type": "array", "prefixItems": [TEXT], "items": False, "minItems": 1}, True),
    ({"type": "array", "prefixItems": [TEXT], "items": False, "minItems": 2}, False),
    ({**DRAFT_7, "type": "array", "items": [TEXT], "minItems": 2}, True),
    ({**DRAFT_7, "type": "array", "items": False, "prefixItems": [TEXT], "minItems": 1}, False),
    ({"type": "object", "properties": {"a": TEXT, "b": False}, "required": ["a", "c"]}, True),
    ({"type": "object", "properties": {"a": TEXT, "b": False}, "required": ["a", "b"]}, False),
    ({"type": "object", "additionalProperties": False, "required": ["b"]}, False),
    ({"anyOf": [False, TEXT]}, True),
    ({"anyOf": [False, False]}, False),
    ({**LIST, "$defs": {"list": {"type": "array", "items": LIST}}}, True),
    ({**LIST, "$defs": {"list": ENDLESS}}, False),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "sure"), SURE)
def test_sure_is_what_has_an_instance_by_its_keywords(schema: Any, sure: bool) -> None:
    read = tame(schema)
    assert read is not None
    assert (id(read.root) in read.sure) is sure


def test_who_needs_others_is_sure_when_they_are() -> None:
    """Each part needs the next; half of them are met in order, the others backwards."""
    parts: dict[str, Any] = {
        f"p{n}": {**ENDLESS, "properties": {"next": {"$ref": f"#/$defs/p{n + 1}"}}}
        for n in range(50)
    }
    backwards = [{"$ref": f"#/$defs/p{n}"} for n in range(25)]
    schema = {"items": {"$ref": "#/$defs/p25"}, "prefixItems": backwards, "minItems": 25}
    read = tame({"type": "array", **schema, "$defs": {**parts, "p50": TEXT}})
    assert read is not None
    assert id(read.root) in read.sure


def test_values_that_nest_deeply_are_left_to_the_reader_of_all_schemas():
    deep: Json = 1
    for _ in range(5000):
        deep = [{"a": deep}]
    shallow: Json = {"const": [[1], {"a": [2, []]}]}
    for raw, is_tame in ((shallow, True), ({"const": deep}, False), ({"enum": [1, deep]}, False)):
        tame = read_tame(raw, strict=False)
        assert tame is not None
        assert tame.is_tame(raw) is is_tame


def test_what_is_within_others_is_not_looked_at_anew_from_each_of_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """From 3,000 around each other: 384,000 looks."""
    deep: Json = True
    for _ in range(3000):
        deep = {"not": deep}
    calls, look = [0], json_schema_counts.schemas_at

    def counted(*given: Any) -> Any:
        calls[0] += 1
        return look(*given)

    monkeypatch.setattr(json_schema_counts, "schemas_at", counted)
    assert read_tame(deep, strict=False) is not None
    assert 0 < calls[0] < 110_000


@pytest.mark.parametrize(
    ("around", "least", "most"),
    [
        (lambda part: {"unevaluatedItems": part}, 24, 24),  # wild
        (lambda part: {"patternProperties": {"a": part}}, 8, 8),  # late
        (lambda part: {"oneOf": [{"type": "null"}, part]}, 20, 24),
        (lambda part: {"oneOf": [part]}, 0, 0),
        (lambda part: {"anyOf": [part, {"type": "null"}]}, 0, 0),
        (lambda part: {"properties": {"a": part}}, 0, 0),
    ],
)
def test_what_is_not_tame_is_paid_for_where_it_is_met(
    around: Callable[[Json], Json], least: int, most: int
) -> None:
    deep: Json = {"type": "integer"}
    for _ in range(100):
        deep = around(deep)
    paid = list[int]()
    assert read_tame(deep, strict=False, pay=paid.append) is not None
    assert 100 * least <= sum(paid) <= 100 * most


@pytest.mark.parametrize("others", [{}, {"anyOf": [{"required": ["q"]}, {"maxProperties": 3}]}])
def test_names_that_need_others_are_paid_for_together(others: dict[str, Any]) -> None:
    def paid_for(count: int) -> int:
        paid = list[int]()
        chain = {f"a{n}": [f"a{n + 1}"] for n in range(count)}
        schema = {"dependentRequired": chain, **others}
        assert read_tame(schema, strict=False, pay=paid.append) is not None
        return sum(paid)

    assert paid_for(20) < 100
    assert paid_for(20_000) > 500_000


def test_a_pass_that_is_not_paid_for_ends_at_once() -> None:
    deep: Json = True
    for _ in range(100):
        deep = {"not": deep}
    left = 10

    def pay(parts: int) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            raise UnsupportedError("no more")

    with pytest.raises(UnsupportedError, match="no more"):
        read_tame(deep, strict=False, pay=pay)
    assert left == 0


def test_the_way_along_references_is_gone_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """From 300 branches along 300 references: 45,000 steps."""
    links = {f"a{n}": {"$ref": f"#/$defs/a{n + 1}"} for n in range(300)}
    branches = {name: {"oneOf": [{"type": "null"}, {"$ref": f"#/$defs/{name}"}]} for name in links}
    steps, stands_for = [0], json_schema_tame.stands_for

    def counted(*given: Any) -> Any:
        steps[0] += 1
        return stands_for(*given)

    monkeypatch.setattr(json_schema_tame, "stands_for", counted)
    for end, wild in (({"type": "integer"}, 0), ({}, 300)):
        steps[0] = 0
        root = {"properties": branches, "$defs": {**links, "a300": end}}
        tame = read_tame(root, strict=False)
        assert tame is not None
        assert sum("oneOf" in part for part in (*tame.wild.values(), *tame.late.values())) == wild
        assert 300 <= steps[0] < 2000


def test_the_whole_may_be_written_as_a_boolean() -> None:
    for schema, surely in ((True, True), (False, False), ({"not": True}, False), ({}, True)):
        tame = read_tame(schema, strict=False)
        assert tame is not None
        assert tame.is_nothing(tame.root) is not surely


def test_references_are_followed_when_they_are_asked_for() -> None:
    root: Any = {"$defs": {"a": {"items": [TEXT]}, "b": {"$id": "http://x/", "c": TEXT}}}
    targets = Targets(root, 7)
    assert targets["#/$defs/a/items/0"] is targets.get("#/$defs/a/items/0") is TEXT
    assert targets.get("#/$defs/b/c", 3) == targets.get("a", 3) == targets.get(1, 3) == 3
    with pytest.raises(KeyError):
        _ = targets["#/$defs/none"]
