"""Schemas to languages: against two validators on values, and against `json` on spellings."""

import json
import random
from typing import Any

import jsonschema
import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

import guideway as gw
from guideway.constraint.lowering import lower_source
from guideway.json_schema.lowering import Lowering, explain_conflict, lower_json_schema, mismatch
from guideway.json_schema.source import JsonSchema
from guideway.language.derivative import Derivatives
from guideway.language.finite_languages import Decisions
from guideway.language.nodes import Expr
from guideway.sources.json_style import Whitespace
from json_schemas import check_values, instances, machine, verdict, write
from plain_texts import draw, matches

DRAFT_4 = "http://json-schema.org/draft-04/schema#"
SEEDS = st.integers(0, 2**32)


@pytest.mark.untraced
@given(instances(), SEEDS)
def test_an_enumerated_value_has_all_its_spellings_and_nothing_else_has(value, seed):
    chance = random.Random(seed)
    engine = machine({"const": value})
    assert matches(engine, write(value, chance))
    other = draw(machine(True), chance)
    if "inf" not in repr(json.loads(other)):
        same = verdict({"const": value}, json.loads(other))
        assert same is None or matches(engine, other) == same


VALUE = {
    "name": 'Ann é "q" \n', "tags": ["a", "b"], "at": {"x": [1, -2, 0.5, 1e-7], "y": {}}, "n": None
}  # fmt: skip


@pytest.mark.untraced
@pytest.mark.parametrize("indent", [None, 1, 2, 4, 8])
def test_natural_plain_and_declared_is_what_json_dumps_writes(indent):
    schema = {"type": "object", "properties": {"name": True, "tags": {"type": "array"}}}
    options = {"key_order": "declared", "whitespace": "natural", "spelling": "plain"}
    for made in (schema, True, {"const": VALUE}):
        text = json.dumps(VALUE, indent=indent, ensure_ascii=False)
        assert matches(machine(made, **options), text)
        assert not matches(machine(made, **options), f" {text}")
        assert not matches(machine(made, **options), text + "\n")
    tabs = json.dumps(VALUE, indent="\t")
    assert matches(machine(schema, whitespace="any"), f"\n {tabs}\r\n")


MANY_OPTIONS: list[Any] = [
    {"enum": [{f"k{n}": n, "k": [n]} for n in range(70)]},  # of many names, one by one
    {"enum": [{"k": n, "v": f"w{n}"} for n in range(70)]},  # of two
    {"type": "object",  # with choices in the options
     "anyOf": [{"required": [f"k{n}"], "anyOf": [{"required": ["k"]}, {"required": ["v"]}]}
               for n in range(70)]},
]  # fmt: skip


@pytest.mark.parametrize("schema", MANY_OPTIONS)
def test_many_options_are_read_as_both_validators_read_them(schema):
    values: list[Any] = [{f"k{n}": n, "k": [n]} for n in (0, 69, 70)]
    values += [{"k": n, "v": f"w{m}"} for n, m in ((3, 3), (3, 4), (70, 70))]
    check_values(schema, [*values, {}, {"k5": 5}, {"k5": 5, "k": [6]}, {"v": "w3", "k": 3}])


# Lowered part by part, a schema allows the texts it allows when it is lowered as a whole.

TEXT, WORDS = {"type": "string"}, {"enum": ["a", "b"]}
AGAIN = {"$ref": "#/$defs/a"}
NODE = {
    "type": "object",
    "properties": {"value": {"type": ["integer", "null"], "minimum": 3}, "next": {"$ref": "#"}},
    "required": ["value", "other"],
    "additionalProperties": WORDS,
}
TEXTS_ONLY = {"type": "object", "oneOf": [TEXT, {"$ref": "#/$defs/word"}], "minProperties": 0}
ORDERED: list[Any] = [  # where an order of keys changes nothing
    {**NODE, "type": ["object", "array", "string"], "items": TEXT, "maxLength": 1},
    {"properties": {"a": TEXT, "b": False}, "minItems": 1, "maxItems": 2},
    {"type": "array", "prefixItems": [TEXT, WORDS], "items": {"type": "array"}, "minItems": 1},
    {"anyOf": [AGAIN, {"anyOf": [AGAIN, True, False]}], "$defs": {"a": NODE}},
    {"anyOf": [AGAIN, AGAIN], "$defs": {"a": {"anyOf": [TEXT, WORDS]}}},
    {"enum": [[1], {"a": "b"}, "a"]}, {**NODE, "minProperties": 3},
    {"type": "object", "propertyNames": {"type": "string"}, "additionalProperties": TEXT},
    {"oneOf": [{"const": "a"}, {"enum": [1, None]}, {"type": "object", "required": ["a"]}]},
    {"items": {"multipleOf": 3}, "properties": {"value": {"type": "integer", "multipleOf": 0.5}}},
    {"oneOf": [{"type": "object", "properties": {"value": {}, "next": {}, "other": {"const": word}},
                "required": ["other"]} for word in "abc"]},
    # Parts without an instance, as their types exclude each other.
    {"required": ["a"], "properties": {"a": TEXTS_ONLY}, "$defs": {"word": {"type": "string"}}},
    {"anyOf": [TEXTS_ONLY, {"items": TEXTS_ONLY}], "$defs": {"word": {"type": ["null"]}}},
    {"items": {"type": "integer", "anyOf": [{"type": "number"}, False]}, "additionalProperties":
     {"type": ["number", "null"], "anyOf": [{"type": "string"}, {"type": ["array", "object"]}]}},
]  # fmt: skip
NOT_B = {"not": {"const": "b"}, "type": ["string", "integer"], "unevaluatedItems": True}
EITHER = {"oneOf": [
    {"required": ["value"], "properties": {"other": {"oneOf": [WORDS, {"type": "null"}]}}},
    {"properties": {"x": {"type": "array", "items": {"type": "integer"}}, "a": TEXT}},
]}  # fmt: skip
SCHEMAS: list[Any] = [
    *ORDERED, {"type": "array", "uniqueItems": True, "minItems": 1},
    {"patternProperties": {"^o": WORDS, "^v": {"minimum": 3}}, "properties": {"a": TEXT}},
    {**NODE, "anyOf": [{"required": ["x"]}, {"required": ["next"]}]},
    {"not": {"required": ["value", "next"]}, "required": ["value"]},
    {"dependentRequired": {"value": ["next"]}, "properties": {"a": TEXT}},
    {"items": {"uniqueItems": True, "items": {"patternProperties": {"^a": WORDS}}}},
    {"type": "object", "properties": {"x": {"items": {"type": "integer"}}}, "required": ["value"],
     "allOf": [{"allOf": [AGAIN, AGAIN]}, {"required": ["other"]}],
     "$defs": {"a": {"properties": {"value": {"type": ["integer", "null"]}}}}},
    {"items": EITHER, "properties": {"next": EITHER}},
    # Beside what is decided at once.
    {"properties": {"a": NOT_B, "value": {"minimum": 3}}, "additionalProperties": WORDS},
    {"minItems": 1, "prefixItems": [NOT_B, {"anyOf": [NOT_B, WORDS]}], "maxItems": 2},
    {"oneOf": [NODE, {"required": ["a"]}, {"type": "array", "items": NOT_B}]},
    {"patternProperties": {"^a": NOT_B}, "uniqueItems": True},
    {"allOf": [{"properties": {"a": {"not": {}}}}, {"items": TEXT}]},
]  # fmt: skip
INSTANCES: list[Any] = [
    None, 1, 3, "", "a", "ab", [], ["a"], ["a", "b"], ["a", "c"], ["a", "b", []], ["a", "b", 1],
    [1], {}, {"a": "b"}, {"a": 1}, {"b": 1}, {"value": 3, "other": "a"}, {"value": 2, "other": "a"},
    {"value": None, "next": {"value": 4, "other": "a", "x": "b"}, "other": "b"},
    {"value": 3, "next": {"value": 3}, "other": "a"}, {"value": 3, "other": "c"}, {"x": [1, 2]},
    {"x": [3]},
]  # fmt: skip


@pytest.mark.parametrize("schema", SCHEMAS)
@pytest.mark.parametrize("order", ["any", "declared"])
def test_both_ways_allow_what_the_validators_allow(schema: Any, order: Any) -> None:
    source = JsonSchema(schema, key_order=order)
    apart, whole = Derivatives(lower_json_schema(source)), Derivatives(Lowering(source).text())
    for engine in (apart, whole):
        assert engine.alive(engine.start())
        engine.settle()
    for instance in INSTANCES:
        text = json.dumps(instance)
        allowed = matches(apart, text)
        assert allowed is matches(whole, text), text
        if order == "any" or schema in ORDERED:
            assert allowed is verdict(schema, instance), text


@pytest.mark.parametrize("kind", ["array", "boolean", "null", "number", "object", "string", None])
def test_what_means_the_same_in_each_draft_is_the_same_expression(kind: str | None) -> None:
    part = {} if kind is None else {"type": kind}
    drafts = ("http://json-schema.org/draft-04/schema#", "http://json-schema.org/draft-07/schema#")
    old, new = (lower_json_schema(JsonSchema({"$schema": draft, **part})) for draft in drafts)
    assert old is new


# Schemas without any instance are told which keywords exclude each other, and where.


def conflict_of(source: JsonSchema) -> gw.UnsatisfiableError:
    def is_empty(expr: Expr) -> bool:
        return not Derivatives(expr).alive(expr)

    assert is_empty(lower_json_schema(source))
    return explain_conflict(source, is_empty)


@pytest.mark.parametrize(
    ("schema", "place", "conflict"),
    [
        ({"type": "integer", "minimum": 5, "maximum": 3}, "", ("minimum", "maximum")),
        ({"type": "string", "enum": [1, 2]}, "", ("type", "enum")),
        ({"enum": []}, "", ("enum",)),
        ({"type": "string", "pattern": "^ab$", "minLength": 3}, "", ("pattern", "minLength")),
        ({"type": "string", "format": "date", "pattern": "x"}, "", ("format", "pattern")),
        ({"type": "array", "minItems": 2, "maxItems": 1}, "", ("minItems", "maxItems")),
        ({"enum": [1, 2, 3], "minimum": 2, "maximum": 2, "exclusiveMaximum": 2, "title": "t"}, "",
         ("enum", "minimum", "exclusiveMaximum")),
        (False, "", ("false",)),
        ({"allOf": [{"type": "string"}, {"type": "null"}]}, "",
         ("/allOf/0/type", "/allOf/1/type")),
        ({"anyOf": [{"type": "null", "enum": [1]}, False]}, "",
         ("/anyOf/0/type", "/anyOf/0/enum", "/anyOf/1/false")),
        ({"type": "object", "required": ["b"],
          "properties": {"a": True, "b": {"type": "string", "minLength": 4, "maxLength": 2}}},
         "/properties/b", ("minLength", "maxLength", 'required "b"')),
        ({"type": "object", "required": ["b"], "additionalProperties": False},
         "/additionalProperties", ("false", 'required "b"')),
        ({"type": "array", "minItems": 2, "prefixItems": [True, {"enum": []}]}, "/prefixItems/1",
         ("enum", "minItems, item 1")),
        ({"type": "object", "properties": {"x": {"$ref": "#"}}, "required": ["x"]},
         "/properties/x", ('required "x"',)),
        ({"const": [1], "maxItems": 0}, "", ("/const", "/maxItems")),
        ({"type": "array", "not": {"minItems": 3}, "minItems": 2, "maxItems": 1}, "",
         ("/type", "/not", "/minItems", "/maxItems", "/not/minItems")),
        ({"type": "array", "not": {"enum": [[n] for n in range(9)]}, "minItems": 2, "maxItems": 1},
         "", ("/type", "/not", "/minItems", "/maxItems", "/not/enum",
              *(f"/not/enum/{n}" for n in range(9)))),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"type": "null", "const": 1}}}, "",
         ("/$defs/a/type", "/$defs/a/const")),
        ({"const": {"a": 1}, "properties": {"a": {"const": 2}}, "type": "object"},
         "/properties/a", ("/properties/a/const", "/const/a", 'required "a"')),
        ({"$schema": "http://json-schema.org/draft-04/schema#", "type": "integer", "minimum": 3,
          "exclusiveMinimum": True, "maximum": 3}, "", ("minimum", "exclusiveMinimum", "maximum")),
        # What `false` leaves out depends on the names and places beside it.
        ({"type": "object", "properties": {"a": {}}, "required": ["a"],
          "additionalProperties": False, "maxProperties": 0}, "", ("required", "maxProperties")),
        ({"type": "object", "patternProperties": {"^a": {}}, "required": ["a"],
          "additionalProperties": False, "maxProperties": 0}, "", ("required", "maxProperties")),
        ({"type": "array", "prefixItems": [{"type": "string"}], "items": False, "minItems": 1,
          "contains": {"type": "number"}}, "",
         ("type", "prefixItems", "items", "minItems", "contains")),
        ({"$schema": "http://json-schema.org/draft-04/schema#", "type": "array", "items": [{}],
          "additionalItems": False, "minItems": 1, "maxItems": 0}, "", ("minItems", "maxItems")),
    ],
)  # fmt: skip
def test_the_conflict_is_named(schema, place, conflict):
    error = conflict_of(JsonSchema(schema))
    assert (error.conflict, error.place) == (conflict, place)


def test_a_conflict_in_a_resource_names_all_keywords():
    resources = {"http://x/s": {"type": "string", "minLength": 2, "maxLength": 1}}
    error = conflict_of(JsonSchema({"$ref": "http://x/s"}, resources=resources))
    assert error.conflict == ("/type", "/minLength", "/maxLength")


def test_a_conflict_in_a_deep_schema_is_told():
    text = '{"anyOf":[' * 3000 + '{"type":"null","enum":[1]}' + "]}" * 3000
    error = conflict_of(JsonSchema(text))
    assert len(str(error)) <= 500
    shallow = conflict_of(JsonSchema(f'{{"type":"null","const":1,"$defs":{text}}}'))
    assert set(shallow.conflict) == {"type", "const"}


# JSON Schemas that hold together; `jsonschema` and `jsonschema-rs` on each are the oracle.

VALUES: list[Any] = [
    *(None, True, 0, 1, 2.5, 7, -3, "", "a", "abc", [], [1], [1, 2, 3], ["a", 1], [[]],
      [[1], [[]]]),
    *({}, {"a": 1}, {"a": "x"}, {"b": 2}, {"a": 1, "b": 2}, {"b": "x", "a": 1}, {"c": []}),
    *({"a": 1, "c": {}}, {"a": {"a": {"a": 1}}}, {"a": {"b": 2}}, {"a": 1, "b": 2, "c": 3},
      {"x-y": 1}),
]  # fmt: skip
DRAFT4, DRAFT7 = (f"http://json-schema.org/draft-0{n}/schema#" for n in (4, 7))
PAIRS: list[tuple[Any, Any]] = [
    ({"type": "object", "required": ["a"]}, {"properties": {"a": {"type": "integer"}}}),
    ({"properties": {"a": True}, "additionalProperties": False}, {"minProperties": 1}),
    ({"type": "array", "items": {"$ref": "#"}}, {"maxItems": 2, "items": {"minItems": 1}}),
    ({"type": ["number", "string"]}, {"minimum": 1, "maxLength": 2}),
    ({"type": "integer"}, {"multipleOf": 2.5}),
    # What is read by itself: an identifier, anchors and definitions of one name, and a draft.
    ({"$id": "http://x/s", "$defs": {"d": {"type": "integer"}}, "items": {"$ref": "#/$defs/d"}},
     {"$id": "http://x/s", "$defs": {"d": {"minimum": 2}}, "items": {"$ref": "#/$defs/d"}}),
    ({"$schema": DRAFT4, "minimum": 1, "exclusiveMinimum": True, "maximum": 9},
     {"$schema": DRAFT7, "exclusiveMaximum": 7}),
    ({"$schema": DRAFT7, "items": [{"type": "string"}], "additionalItems": {"type": "integer"}},
     {"prefixItems": [{"type": "string"}], "minItems": 1}),
    ({"$schema": DRAFT7, "$ref": "#/definitions/d", "maxItems": 0,
      "definitions": {"d": {"minItems": 1}}}, {"maxItems": 3}),
    ({"unevaluatedProperties": False, "properties": {"a": True}}, {"properties": {"b": True}}),
    ({"$dynamicAnchor": "n", "additionalProperties": {"$dynamicRef": "#n"}, "type": "object"},
     {"required": ["a"]}),
    ({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, {"not": {"required": ["c"]}}),
    ({"enum": [1, "a", [1], {"a": 1}]}, {"const": {"a": 1}}),
    ({"patternProperties": {"-": {"type": "integer"}}}, {"propertyNames": {"minLength": 2}}),
    (True, {"type": "object", "maxProperties": 1}), ({"type": "object"}, False),
]  # fmt: skip


def allows(schema: Any, value: Any) -> bool:
    found = jsonschema.validators.validator_for(schema)(schema).is_valid(value)
    assert found == jsonschema_rs.is_valid(schema, value), (schema, value)
    return found


@pytest.mark.parametrize(("left", "right"), PAIRS)
def test_what_both_allow_and_what_one_alone_allows(left: Any, right: Any) -> None:
    decisions = Decisions()
    one, other = gw.JsonSchema(left), gw.JsonSchema(right)
    both = lower_source(one & other, decisions)
    only = lower_source(one - other, decisions)
    for value in VALUES:
        here, there = allows(left, value), allows(right, value)
        for text in (json.dumps(value), json.dumps(value, indent=1)):
            assert decisions.contains(both, text.encode()) == (here and there), text
            assert decisions.contains(only, text.encode()) == (here and not there), text


def test_three_hold_together_and_types_are_schemas_too():
    decisions = Decisions()
    two = gw.JsonSchema({"minProperties": 2}) & gw.JsonSchema({"maxProperties": 2})
    without = [gw.JsonSchema({"required": [name]}) for name in "bc"]
    whole = lower_source(gw.source(dict[str, int]) & two - without[0] - without[1], decisions)
    for value in [*VALUES, {"a": 1, "x": 2}]:
        mapped = isinstance(value, dict) and all(isinstance(each, int) for each in value.values())
        expected = mapped and len(value) == 2 and not {"b", "c"} & value.keys()
        assert decisions.contains(whole, json.dumps(value).encode()) == expected


def test_schemas_of_resources_and_beside_regular_sources():
    decisions = Decisions()
    items = {"items": {"$ref": "x:a"}}
    one = gw.JsonSchema(items, resources={"x:a": {"type": "integer"}})
    other = gw.JsonSchema(items, resources={"x:a": {"minimum": 2}})
    whole = lower_source(one & gw.Regex(r"\[.*\]") & other, decisions)
    texts = ("[1]", "[2]", '["a"]', "[2, 3]", "7")
    found = [text for text in texts if decisions.contains(whole, text.encode())]
    assert found == ["[2]", "[2, 3]"]


@pytest.mark.parametrize(("one", "other", "right", "wrong"), [
    ("any", "compact", ["[1]"], ["[ 1]"]),
    ("natural", Whitespace(spaces=2, newline=False), ["[ 1]"], ["[  1]", "[\n1]"]),
    (Whitespace(indent=2), Whitespace(spaces=0, indent=1), ["[\n 1]"], ["[\n  1]"]),
    ("any", "any", [" [ 1 ] "], []),
])  # fmt: skip
def test_whitespace_is_the_narrower_of_both(
    one: Any, other: Any, right: list[str], wrong: list[str]
) -> None:
    nested = {"type": "array", "items": {"anyOf": [{"$ref": "#"}, {"type": "integer"}]}}
    decisions = Decisions()
    first, second = gw.JsonSchema(nested, whitespace=one), gw.JsonSchema(nested, whitespace=other)
    for whole in (first & second, second & first):
        for text in (*right, *wrong):
            assert decisions.contains(lower_source(whole, decisions), text.encode()) == (
                text in right
            )
            each = [decisions.contains(lower_source(s), text.encode()) for s in (first, second)]
            assert all(each) == (text in right)


NEST = {"type": "array", "items": {"$ref": "#"}}


@pytest.mark.parametrize(("one", "other", "denied", "option"), [
    ({"key_order": "declared"}, {}, False, "key_order='any'"),
    ({}, {"spelling": "plain"}, False, "the same spelling"),
    ({}, {"whitespace": "compact"}, True, "whitespace that the first one has, too,"),
    ({"whitespace": "compact"}, {"whitespace": "natural"}, True, ""),
])  # fmt: skip
def test_options_that_do_not_go_together_are_refused_by_name(
    one: Any, other: Any, denied: bool, option: str
) -> None:
    first, second = gw.JsonSchema(NEST, **one), gw.JsonSchema(NEST, **other)
    sides = ([first], [second]) if denied else ([first, second], [])
    assert mismatch(*sides) == option
    whole = first - second if denied else first & second
    if not option:
        assert not Decisions().machine.alive(lower_source(whole, Decisions()))
        return
    with pytest.raises(gw.UnsupportedError, match=r"nests? without end") as error:
        lower_source(whole, Decisions())
    assert f"with {option} they could be read as one schema" in str(error.value)
    # What nests only so deep is exact whatever the options.
    parts = {"b": {"type": "integer"}, "a": {"type": "integer"}}
    flat = {"type": "object", "properties": parts, "additionalProperties": False}
    decisions = Decisions()
    first, second = gw.JsonSchema(flat, **one), gw.JsonSchema(flat, **other)
    expr = lower_source(first - second if denied else first & second, decisions)
    for text in (b'{"a":1,"b":2}', b'{"b":1,"a":2}', b'{ "b":1}', b"{}", b'{"b":1.0}'):
        each = [decisions.contains(lower_source(s), text) for s in (first, second)]
        assert decisions.contains(expr, text) == (each[0] and each[1] != denied), text
