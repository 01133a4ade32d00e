"""Schemas to languages: against two validators on values, and against `json` on spellings."""

import json
import random
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from guideway.json_schema.lowering import Lowering
from guideway.json_schema.source import JsonSchema
from json_schemas import draw, instances, machine, matches, schemas, verdict, write
from shares import one_in

DRAFT_4 = "http://json-schema.org/draft-04/schema#"
SEEDS = st.integers(0, 2**32)


def no_repeated_key(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    assert len(dict(pairs)) == len(pairs)
    return dict(pairs)


@pytest.mark.untraced
@one_in(2)
@given(schemas(), st.lists(instances(), min_size=1, max_size=10), SEEDS)
def test_an_instance_is_accepted_exactly_if_both_validators_take_it(schema, values, seed):
    engine, chance = machine(schema), random.Random(seed)
    for value in values:
        expected = verdict(schema, value)
        if expected is not None:
            assert matches(engine, write(value, chance)) == expected, value


@pytest.mark.untraced
@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(
    schemas(),
    st.sampled_from(["any", "compact", "natural"]),
    st.sampled_from(["any", "plain"]),
    st.sampled_from(["any", "declared"]),
    SEEDS,
)
def test_whatever_is_generated_both_validators_take(schema, whitespace, spelling, key_order, seed):
    engine = machine(schema, whitespace=whitespace, spelling=spelling, key_order=key_order)
    assume(engine.alive(engine.start()))
    for turn in range(3):
        text = draw(engine, random.Random(seed + turn))
        value = json.loads(text, object_pairs_hook=no_repeated_key)
        assume("inf" not in repr(value))  # 1e999 is a number, but no float
        assert verdict(schema, value) is not False, text


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


def test_compact_is_json_without_any_whitespace():
    engine = machine(True, whitespace="compact")
    assert matches(engine, json.dumps(VALUE, separators=(",", ":")))
    assert not matches(engine, json.dumps(VALUE))


def test_declared_order_is_that_of_the_schema():
    schema = {
        "allOf": [{"properties": {"b": True}}, {"properties": {"a": True, "b": True}}],
        "properties": {"z": True},
        "required": ["r"],
        "type": "object",
    }
    engine = machine(schema, key_order="declared")
    assert matches(engine, '{"z":1,"b":1,"a":1,"r":1,"x":1,"y":1}')
    assert matches(engine, '{"r":1}')
    for wrong in (
        '{"b":1,"z":1,"r":1}',
        '{"x":1,"r":1}',
        '{"r":1,"a":1}',
        "{}",
        '{"a":1,"b":1,"r":1}',
    ):
        assert not matches(engine, wrong)
        assert matches(machine(schema), wrong) == ("r" in wrong)


def test_integers_are_whole_numbers_in_any_form_but_plain_digits():
    engine, plain = machine({"type": "integer"}), machine({"type": "integer"}, spelling="plain")
    for text in ("1", "-20", "1.0", "1e2", "-0", "1.50e1", "0.0", "12E+3"):
        assert matches(engine, text)
        assert matches(plain, text) == (text in ("1", "-20"))
    for text in ("1.5", "1e-1", "01", "+1", "1.", ".5", "", "1e", "0x1", "NaN"):
        assert not matches(engine, text)


def test_an_integer_of_draft_4_has_no_fraction():
    engine = machine({"$schema": DRAFT_4, "type": "integer", "minimum": -1})
    assert [t for t in ("0", "-0", "-1", "7", "1.0", "1e1", "-2") if matches(engine, t)] == [
        "0", "-0", "-1", "7"
    ]  # fmt: skip
    plain = machine({"$schema": DRAFT_4, "enum": [1.0, 2.5], "type": "integer"}, spelling="plain")
    assert [t for t in ("1", "1.0", "2.5") if matches(plain, t)] == ["1"]


def test_lengths_count_code_points_in_every_spelling():
    engine = machine({"type": "string", "minLength": 2, "maxLength": 2})
    for text in ('"ab"', '"💩é"', '"\\ud83d\\udca9\\u00e9"', '"\\n\\""', '"\\u0000a"'):
        assert matches(engine, text)
    for text in ('"a"', '"abc"', '"💩"', '"\\ud83d\\udca9"'):
        assert not matches(engine, text)


def test_patterns_search_and_hold_in_every_spelling():
    engine = machine({"type": "string", "pattern": "é$|^\\d\\.\\n"})
    for text in ('"é"', '"xx\\u00E9"', '"7.\\n!"', '"\\u0037.\\u000a"'):
        assert matches(engine, text)
    for text in ('"éx"', '"x7.\\n"', '"٧.\\n"', '""'):
        assert not matches(engine, text)


def test_names_of_properties_are_held_to_their_schema():
    schema = {
        "propertyNames": {"anyOf": [{"pattern": "^x"}, {"enum": ["a", 1]}]},
        "properties": {"a": {"const": 1}, "b": True},
        "type": "object",
    }
    for order in ("any", "declared"):
        engine = machine(schema, key_order=order)
        assert matches(engine, '{"a":1,"xy":2,"x":3}')
        for wrong in ('{"b":1}', '{"a":2}', '{"y":1}', '{"x":1,"x":1}'):
            assert not matches(engine, wrong)
    nameless = machine({"type": "object", "propertyNames": {"type": "integer"}})
    assert matches(nameless, "{}")
    assert not matches(nameless, '{"1":1}')


LIST = {"$defs": {"n": {"anyOf": [{"type": "null"}, {
    "type": "object", "properties": {"next": {"$ref": "#/$defs/n"}}, "required": ["next"],
    "additionalProperties": False}]}}, "$ref": "#/$defs/n"}  # fmt: skip


def test_references_recurse():
    engine = machine(LIST)
    assert matches(engine, '{"next":' * 50 + "null" + "}" * 50)
    assert not matches(engine, '{"next":' * 50 + "1" + "}" * 50)
    tree = machine({"items": {"$ref": "#"}, "type": "array", "maxItems": 2})
    assert matches(tree, "[[],[[],[]]]")
    assert not matches(tree, "[[],[],[]]")


def test_a_part_without_instances_is_never_offered():
    schema = {
        "properties": {"a": {"$ref": "#/$defs/endless"}, "b": {"type": "null", "minimum": 1}},
        "additionalProperties": {"type": "string", "minLength": 2, "maxLength": 1},
        "type": "object",
        "$defs": {
            "endless": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/endless"}}
        },
    }
    for order in ("any", "declared"):
        engine = machine(schema, key_order=order, whitespace="compact")
        assert matches(engine, '{"b":null}')
        quoted = engine.step(engine.start(), ord("{"))
        assert quoted is not None
        quoted = engine.step(quoted, ord('"'))
        assert quoted is not None
        offered = 0
        for members, _ in engine.arcs(engine.blurred(quoted)):
            offered |= members
        assert offered & (1 << ord("a")) == 0
        # Nor is any undeclared key: only the b, and the escape that spells it.
        assert offered == 1 << ord("b") | 1 << ord("\\")


def test_a_required_part_without_instances_leaves_nothing():
    endless = {"properties": {"x": {"$ref": "#"}}, "required": ["x"], "type": "object"}
    engine = machine(endless)
    assert not engine.alive(engine.start())


@pytest.mark.parametrize("values", [["true", "false"], ["false"], ["true"], []])
def test_booleans_are_those_allowed(values):
    engine = machine({"type": "boolean", "enum": [value == "true" for value in values] + [1]})
    assert [text for text in ("true", "false") if matches(engine, text)] == values
    assert not matches(engine, "1")


def test_arrays_count_and_place_their_items():
    schema = {
        "type": "array", "prefixItems": [{"const": 1}, {"const": 2}], "items": {"const": 3},
        "minItems": 1, "maxItems": 4,
    }  # fmt: skip
    engine = machine(schema, whitespace="compact")
    good = ["[1]", "[1,2]", "[1,2,3]", "[1,2,3,3]"]
    wrong = ["[]", "[2]", "[1,3]", "[1,2,3,3,3]", "[1,2,]", "[,1]", "[1 2]"]
    assert [text for text in good + wrong if matches(engine, text)] == good
    cut = machine({**schema, "maxItems": 1})
    assert [text for text in good + wrong if matches(cut, text)] == ["[1]"]
    none = machine({"type": "array", "maxItems": 0})
    assert [text for text in ("[]", "[ ]", "[1]") if matches(none, text)] == ["[]", "[ ]"]
    long = machine({"type": "array", "minItems": 3, "items": {"const": 0}, "maxItems": 10**6})
    assert [n for n in range(6) if matches(long, f"[{','.join('0' * n)}]")] == [3, 4, 5]


def test_branches_of_one_of_that_exclude_each_other_are_alternatives():
    pet = {"oneOf": [
        {"type": "object", "properties": {"kind": {"const": kind}, "n": {"type": kind_of}},
         "required": ["kind", "n"]}
        for kind, kind_of in (("cat", "integer"), ("dog", "string"))
    ], "discriminator": {"propertyName": "kind"}}  # fmt: skip
    engine = machine(pet)
    assert matches(engine, '{"n":1,"kind":"cat"}')
    assert matches(engine, '{"n":"1","kind":"dog"}')
    assert not matches(engine, '{"n":1,"kind":"dog"}')


@pytest.mark.parametrize("branches", [
    [{"type": "integer"}, {"type": "number"}],
    [{"type": "string"}, {"type": "null"}, {"pattern": "a", "type": "string"}],
])  # fmt: skip
def test_of_one_of_exactly_one_branch_holds_even_if_they_overlap(branches):
    schema = {"items": {"oneOf": branches}, "type": "array"}
    engine = machine(schema)
    for value in (1, 1.5, "a", "b", None, True):
        assert matches(engine, json.dumps([value])) == verdict(schema, [value]), value


def test_equal_schemas_share_their_rules_and_lower_once():
    schema = {"$defs": {"a": {"type": "array", "items": {"$ref": "#/$defs/a"}}}, "prefixItems": [
        {"$ref": "#/$defs/a"}] * 2_000, "type": "array"}  # fmt: skip
    assert matches(machine(schema), "[[[]],[]]")


@pytest.mark.untraced
def test_deep_and_long_schemas_do_not_exhaust_the_stack():
    chain = {
        f"d{i}": {"type": "array", "items": {"$ref": f"#/$defs/d{i + 1}"}} for i in range(1000)
    }
    engine = machine({"$ref": "#/$defs/d0", "$defs": {**chain, "d1000": {"type": "null"}}})
    assert matches(engine, "[" * 1000 + "null" + "]" * 1000)
    deep: dict[str, Any] = {"type": "null"}
    for _ in range(240):
        deep = {"type": "object", "properties": {"a": deep}, "required": ["a"]}
    assert matches(machine(deep), '{"a":' * 240 + "null" + "}" * 240)


def test_a_plain_schema_lowers_to_a_plain_expression():
    source = JsonSchema({"type": "string", "maxLength": 3}, whitespace="compact")
    expr = Lowering(source).text()
    assert expr.regular


@pytest.mark.parametrize("most", [0, 1, 2])
@pytest.mark.parametrize("values", [["b"], ["", "b", "bb"], ["b", 1], ["💩", "é\n"]])
def test_a_list_of_strings_is_held_to_a_length(values, most):
    for keyword, holds in (("maxLength", most.__ge__), ("minLength", most.__le__)):
        engine = machine({"items": {"enum": values, keyword: most}})
        for value in values:
            fits = isinstance(value, int) or holds(len(value))
            assert matches(engine, json.dumps([value])) == fits


@pytest.mark.parametrize(
    "schema",
    [
        {"enum": [{f"k{n}": n, "k": [n]} for n in range(70)]},  # of many names, one by one
        {"enum": [{"k": n, "v": f"w{n}"} for n in range(70)]},  # of two
        {
            "type": "object",  # with choices in the options
            "anyOf": [
                {"required": [f"k{n}"], "anyOf": [{"required": ["k"]}, {"required": ["v"]}]}
                for n in range(70)
            ],
        },
    ],
    ids=["many names", "two names", "choices"],
)
def test_many_options_are_read_as_both_validators_read_them(schema):
    engine = machine(schema)
    values = [{f"k{n}": n, "k": [n]} for n in (0, 69, 70)]
    values += [{"k": n, "v": f"w{m}"} for n, m in ((3, 3), (3, 4), (70, 70))]
    values += [{}, {"k5": 5}, {"k5": 5, "k": [6]}, {"v": "w3", "k": 3}]
    for value in values:
        assert matches(engine, json.dumps(value)) == verdict(schema, value), value
