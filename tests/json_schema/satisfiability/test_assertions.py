"""What is told of an instance is so: yes and no agree with a validator, whatever is not known."""

import json
import random
from collections.abc import Callable
from typing import Any

import jsonschema
import pytest

from guideway.json_schema.lowering import Lowering
from guideway.json_schema.satisfiability.assertions import UNTOLD, Instance, Verdicts
from guideway.json_schema.satisfiability.lazy_parts import read_tame
from guideway.json_schema.satisfiability.parts import ASSERTED
from guideway.json_schema.source import JsonSchema
from guideway.json_schema.text import read_json
from guideway.language.derivative import Derivatives
from guideway.language.expr import EMPTY

NUMBERS = ({"type": "integer"}, {"type": "number"}, {"type": ["number", "null"]})
FORMATS = jsonschema.FormatChecker(["date", "ipv4"])
TEXT, WORD = {"type": "string"}, {"type": "string", "minLength": 1}
TARGETS: dict[str, Any] = {"#/$defs/text": TEXT, "#/$defs/any": True}
LEAVES: list[Any] = [
    *(True, False, {}, TEXT, WORD, {"type": "integer"}, {"type": ["number", "null"]}),
    *({"enum": ["a", 1, None]}, {"const": 1}, {"enum": [{"a": 1}, [], [1]]}, {"const": True}),
    *(
        {"maxLength": 0},
        {"pattern": "^a"},
        {"format": "date"},
        {"pattern": "b$"},
        {"multipleOf": 2},
    ),
    *({"minimum": 1}, {"maximum": 1}, {"exclusiveMinimum": 1}, {"exclusiveMaximum": 1.5}),
    *({"minItems": 1}, {"maxItems": 0}, {"items": False}, {"uniqueItems": True}),
    *({"required": ["a"]}, {"minProperties": 1}, {"maxProperties": 1}),
    *({"dependentRequired": {"a": ["b"]}}, {"$ref": "#/$defs/text"}, {"$ref": "#/$defs/any"}),
    *({"format": "ipv4"}, {"const": [{"a": 1}]}, {"uniqueItems": False}),
    *({"contains": True}, {"$ref": "#/$defs/text", "minLength": 1}),
]
VALUES: list[Any] = [
    *(None, True, False, 0, 1, 1.5, "", "a", "ab", [], {}, {"a": 1}, {"b": "a"}),
    *({"a": "x", "b": 2}, {"ab": {"a": ""}}, {"a": []}, [1], [True, "a"], [[]]),
    *([1, 1, 1.5], ["", "ab", 1, "b"], [{"a": 1}], [[], {"b": [None]}], "2000-01-01"),
]


def judge(*, alone: bool = False) -> Verdicts:
    return Verdicts(TARGETS, lambda part: part.keys() & ASSERTED[2020], alone=alone)


def grown(pick: Callable[[list[Any]], Any], depth: int) -> Any:
    """A schema of others."""
    if depth == 0:
        return pick(LEAVES)
    some = [grown(pick, depth - 1) for _ in range(3)]
    return pick([
        pick(LEAVES), {"allOf": some}, {"anyOf": some}, {"oneOf": some}, {"not": some[0]},
        {"if": some[0], "then": some[1], "else": some[2]}, {"if": some[0], "else": some[1]},
        {"if": some[0]}, {"then": some[0]}, {"properties": {"a": some[0]}, "required": ["b"]},
        {"properties": {"a": some[0]}, "additionalProperties": some[1]},
        {"patternProperties": {"^a": some[0], "b$": some[1]}, "additionalProperties": some[2]},
        {"propertyNames": some[0]}, {"dependentSchemas": {"a": some[0]}}, {"items": some[0]},
        {"prefixItems": some[:2], "items": some[2]}, {"contains": some[0]},
        {"contains": some[0], "minContains": pick([0, 1, 2]), "maxContains": pick([0, 1, 2])},
    ])  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
def test_yes_and_no_are_what_a_validator_says(seed: int) -> None:
    chance = random.Random(seed)
    told = 0
    for _ in range(150):
        schema = grown(chance.choice, chance.randint(0, 2))
        defs = {"text": TEXT, "any": True}
        whole = {"$ref": "#/$defs/it", "$defs": {"it": schema, **defs}}
        validator = jsonschema.Draft202012Validator(whole, format_checker=FORMATS)
        raw: Any = read_json(json.dumps(schema))
        for value in VALUES:
            answer = judge().holds(raw, read_json(json.dumps(value)))
            told += answer is not None
            assert answer is None or answer == validator.is_valid(value), (schema, value)
    assert told > 1500


@pytest.mark.untraced
@pytest.mark.parametrize("seed", range(4))
def test_what_surely_has_an_instance_has_one(seed: int) -> None:
    """Lowered as a whole, it has a text; what is refused then is not sure of one, either."""
    chance = random.Random(seed)
    told = 0
    for _ in range(200):
        kind = {"type": chance.choice(["string", "object", "array", "integer", "null"])}
        schema: Any = {
            "allOf": [grown(chance.choice, chance.randint(0, 2)), chance.choice([kind, {}])]
        }
        schema = chance.choice([schema["allOf"][0], schema])
        whole = {"items": schema, "$defs": {"text": TEXT, "any": True}}
        source = JsonSchema({**whole, "minItems": 1, "type": "array"})
        found = read_tame(read_json(source.text), strict=False)
        if found is not None and id(found.root) in found.sure:
            told += 1
            assert Derivatives(EMPTY).alive(Lowering(source).text()), schema
    assert told > 100


@pytest.mark.parametrize(("schema", "of", "answer"), [
    (TEXT, TEXT, None),
    ({"type": ["string", "null"]}, TEXT, True),
    ({"type": "null"}, TEXT, False),
    ({"type": "number"}, {"type": "integer"}, True),
    ({"type": "integer"}, {"type": "number"}, None),
    ({"type": "string"}, {}, None),
    ({"enum": [1, "a"]}, TEXT, None),
    ({"enum": [1]}, TEXT, False),
    ({"enum": [1]}, {"type": "integer"}, None),
    ({"minLength": 1}, {"type": "integer"}, True),
    ({"minimum": 1}, {"type": "integer"}, None),
    ({"required": ["a"]}, TEXT, True),
    ({"required": ["a"]}, {"type": "object"}, None),
    ({"not": {"type": "null"}}, TEXT, True),
])  # fmt: skip
def test_of_any_instance_of_a_part_its_types_tell(schema: Any, of: Any, answer: bool | None):
    schema, of = {**schema}, {**of}
    if schema == of:  # another part that says the same
        answer = True
    assert judge().holds(schema, Instance(of)) is answer
    assert judge().holds(of, Instance(of)) is True


def test_an_instance_of_what_a_reference_leads_to_satisfies_the_reference():
    assert judge().holds({"$ref": "#/$defs/text"}, Instance(TEXT)) is True
    assert judge(alone=True).holds({"$ref": "#/$defs/text", "minLength": 3}, "a") is True
    assert judge().holds({"$ref": "#/$defs/text", "minLength": 3}, "a") is False


@pytest.mark.parametrize("items", [{}, {"items": {"type": "integer"}}, {"items": True}])
def test_items_behind_none_that_are_listed_are_as_they_like(items: dict[str, Any]) -> None:
    asked = Verdicts({}, lambda part: part.keys() & ASSERTED[7], alone=False)
    assert asked.holds({**items, "additionalItems": False}, [1, 2, 3]) is True
    assert asked.holds({"items": [True], "additionalItems": False}, [1, 2]) is False


def test_bounds_of_draft_4_are_not_told():
    draft_4 = Verdicts({}, lambda part: part.keys() & ASSERTED[4], alone=True)
    assert draft_4.holds({"minimum": 1, "exclusiveMinimum": True}, 2) is None
    assert (
        draft_4.holds({"dependencies": {"a": ["b"], "c": {"required": ["d"]}}}, {"c": 1}) is False
    )


def test_what_nests_too_deeply_or_branches_too_much_is_not_told():
    deep: Any = {}
    for _ in range(100):
        deep = {"allOf": [deep]}
    assert judge().holds(deep, 1) is None
    wide: Any = {"type": "string"}
    for _ in range(20):
        wide = {"anyOf": [wide, wide]}
    verdicts = judge()
    assert verdicts.holds(wide, 1) is None
    assert verdicts.looked < 100_000


def test_nothing_is_told_of_a_part_that_is_not_looked_at():
    verdicts = Verdicts({}, lambda part: UNTOLD, alone=False)
    assert verdicts.holds({"type": 3}, 1) is None
    assert len(verdicts.types({"type": 3})) == 7


def test_a_value_of_which_a_part_may_be_anything_is_like_no_other_for_sure():
    some, wanted = {"a": Instance(TEXT)}, {"enum": [{"a": "x"}, {"b": "x"}]}
    assert judge().holds(wanted, some) is None
    assert judge().holds(wanted, [Instance(TEXT)]) is False
    assert judge().holds(wanted, {"a": Instance(TEXT), "b": 1}) is False
