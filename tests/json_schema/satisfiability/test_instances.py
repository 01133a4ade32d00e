"""A part whose keywords meet needs the parts of an instance that it surely has."""

from decimal import Decimal
from typing import Any

import pytest

from guideway.json_schema.satisfiability import instances as json_schema_witnesses
from guideway.json_schema.satisfiability.alternatives import Crowds
from guideway.json_schema.satisfiability.assertions import UNTOLD, Verdicts
from guideway.json_schema.satisfiability.instances import Witnesses
from guideway.json_schema.satisfiability.parts import ASSERTED

TEXT, LONG = {"type": "string"}, {"type": "string", "pattern": "^a"}
TARGETS: dict[str, Any] = {"#/$defs/text": TEXT, "#/$defs/pair": {"required": ["a", "b"]}}
WRONG: Any = {"type": 3, "required": 3}


def said_of(part: Any) -> Any:
    return UNTOLD if part is WRONG else part.keys() & ASSERTED[2020]


def needs(part: Any) -> Any:
    return Witnesses(Verdicts(TARGETS, said_of, alone=False)).needs(part)


def closed(**members: Any) -> Any:
    return {"properties": members, "required": [*members], "additionalProperties": False}


@pytest.mark.parametrize(("part", "needed"), [
    ({"not": TEXT}, []),
    ({"type": ["string", "object"], "not": {"enum": ["a"]}}, []),
    ({"type": ["string", "null"], "not": {"const": None}}, []),
    ({"type": ["string", "null"], "not": {"enum": [None, ""]}}, None),
    ({"oneOf": [TEXT, {"type": "null"}, {"type": ["null", "array"]}]}, []),
    ({"oneOf": [LONG, {"type": "null"}]}, [LONG]),
    ({"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, []),
    ({"anyOf": [closed(a=LONG), closed(b=TEXT)], "minProperties": 1}, [LONG]),
    ({"allOf": [{"properties": {"a": LONG}}, {"required": ["a"]}]}, [LONG]),
    ({"allOf": [{"properties": {"a": LONG}}, closed(a={"$ref": "#/$defs/text"})]}, [LONG]),
    ({"allOf": [{"properties": {"a": {"enum": ["x", 3]}}}, closed(a=TEXT)]}, []),
    ({"allOf": [closed(a={"const": "x"}), closed(a={"enum": ["y", "x"]})]}, []),
    ({"allOf": [closed(a=False), {"type": "object"}]}, None),
    ({"type": "object", "allOf": [closed(a=False), closed(a=TEXT)]}, None),
    ({"allOf": [closed(a=LONG, b=True), closed(a={"enum": [3, "b", "ab"]}, b={})]}, [{}]),
    ({"type": "object", "allOf": [closed(a=LONG), closed(a={"enum": ["b"]})]}, None),
    ({"allOf": [{"type": ["null", "object"]}, {"properties": {"b": 3}}, closed(a=LONG)]}, [LONG]),
    ({"type": "object", "allOf": [WRONG, closed(a=LONG)]}, None),
    ({"allOf": [closed(a=WRONG), True, {"type": "object"}]}, [WRONG]),
    ({"allOf": [{"$ref": "#/$defs/text", "type": "object"}, closed(a=TEXT)]}, None),
    ({"allOf": [{"$ref": "#/$defs/pair", "required": ["b"]}, closed(a=LONG, b={})]}, [{}, LONG]),
    ({"allOf": [{"type": "array"}, closed(a=LONG)]}, []),
    ({"allOf": [{"type": "object"}, {"required": ["a"], "properties": {}}, False]}, None),
    ({"allOf": [{"required": ["a"], "additionalProperties": False}, {"type": "object"}]}, None),
    ({"allOf": [{"required": ["a"], "patternProperties": {"^b": False}}, {}]}, []),
    ({"type": "object", "allOf": [{"minProperties": 2}, {"properties": {"a": TEXT}}]}, [TEXT]),
    ({"type": "object", "allOf": [{"minProperties": 2}, closed(a=TEXT)]}, None),
    ({"minProperties": 9, "patternProperties": {"a": LONG}, "type": "object"}, None),
    ({"minProperties": 1, "patternProperties": {"a": LONG}, "type": "object"}, [LONG]),
    ({"required": ["bc"], "patternProperties": {"^(b)c": LONG, "^c": 1}}, [LONG]),
    ({"not": {"properties": {"a": {"const": None}}}}, []),
    ({"not": {"properties": {"a": True}}}, None),
    ({"dependencies": {"a": {"required": ["b"]}, "b": ["c"]}, "required": ["a", "b", "c"]}, []),
    ({"dependencies": {"a": {"required": ["b"]}}, "type": "object", **closed(a=LONG)}, None),
    ({"minProperties": 1, "properties": {"a": LONG, "b": 1}, "type": "object"}, [LONG]),
    ({"if": {"required": ["a"]}, "then": {"properties": {"a": LONG}}, "type": "object"}, []),
    ({"if": {"required": ["a"]}, "then": False, "type": "object", "not": {"type": "null"}}, []),
    ({"type": "string", "if": {"minLength": 1}, "then": False}, []),
    ({"type": "string", "allOf": [{"pattern": "a"}, {"pattern": "b"}]}, []),
    ({"type": "string", "allOf": [{"pattern": "^a"}, {"pattern": "^b"}]}, None),
    ({"type": "string", "minLength": 1, "anyOf": [{}]}, []),
    ({"type": "integer", "allOf": [{"minimum": 3}]}, None),
    ({"type": "string", "pattern": "^a", "not": {"pattern": "^a$"}}, []),
    ({"oneOf": [closed(), {"properties": {"b": True}, "additionalProperties": False}]}, []),
    ({"oneOf": [closed(), {"properties": {"b": LONG}, "additionalProperties": False}]}, [LONG]),
    ({"type": "object", "oneOf": [closed(), {"properties": {"b": LONG}}]}, [LONG]),
    ({"type": "object", "oneOf": [closed(), {"properties": {"b": False}}]}, None),
    ({"$ref": "#/$defs/text", "minLength": 2}, []),
    ({"required": ["k"], "properties": {"k": {"const": 1}}, "if": {"required": ["k"]},
      "then": {"required": ["m"], "properties": {"m": LONG}}}, []),
    ({"required": ["k"], "properties": {"k": {"const": 1}}, "if": {"required": ["m"]},
      "else": {"required": ["n"]}}, []),
    ({"type": "object", "required": ["k"], "dependencies": {"k": ["m"], "m": {"required": ["n"]},
      "n": True}}, None),
    ({"type": "object", "required": ["k"], "dependencies": {"k": {"properties": {"k": False}}}},
     None),
    ({"type": "object", "required": ["k"], "allOf": [{"properties": {"k": {"minLength": 2}}},
      {"properties": {"k": {"pattern": "^b"}}}]}, []),
    ({"type": "object", "required": ["k"], "allOf": [{"properties": {"k": {"enum": [1, 2]}}},
      {"properties": {"k": {"minimum": 2}}}]}, None),
    ({"type": ["integer", "null"], "allOf": [{"type": "number"}, {"not": {"type": "array"}}]}, []),
    ({"allOf": [{"type": "string"}, {"type": "null"}]}, None),
    ({"allOf": [True, {"anyOf": [False, LONG]}, {"type": "string"}]}, [LONG]),
    ({"anyOf": [WRONG, {"type": "null"}]}, []),
    ({"type": "string", "anyOf": [WRONG]}, None),
    ({"$ref": "#/$defs/text", "not": {"type": "null"}}, []),
    ({"required": ["a"], "dependencies": {"a": ["b"], "b": ["c"], "c": ["d"], "d": ["e"],
      "e": ["f"]}, "type": "object", "not": {"required": ["g"]}}, None),
    ({"type": "object", "oneOf": [{"properties": {str(n): TEXT for n in range(30)}}] * 2}, None),
    ({"type": "string", "allOf": [{"minLength": 2, "not": LONG}]}, []),
    ({"type": "array", "minItems": 2, "allOf": [{"items": TEXT}, {"maxItems": 2}]}, [TEXT, TEXT]),
    ({"type": "array", "minItems": 1, "allOf": [{"items": False}, {"maxItems": 2}]}, None),
    ({"type": "array", "minItems": 99, "allOf": [{"items": TEXT}]}, None),
    ({"oneOf": [{"items": TEXT}, {"items": {"type": "null"}}], "type": "array"}, [TEXT]),
    ({"type": "array", "minItems": 2, "items": [TEXT], "additionalItems": LONG, "allOf": [{}]},
     [TEXT, LONG]),
    ({"type": "integer", "allOf": [{"enum": ["x"]}]}, None),
    ({"oneOf": [{"properties": {"a": TEXT}}, {"properties": {"a": LONG, "b": TEXT}}]}, []),
    ({"oneOf": [{"type": "object", "properties": {"a": part}} for part in (TEXT, LONG)]}, []),
    ({"not": {"properties": {"a": TEXT}}, "allOf": [False]}, None),
    ({"type": "array", "contains": {"const": 1}, "anyOf": [{"minItems": n} for n in (1, 1, 2)]},
     None),
    ({"allOf": [closed(a={"type": "object", "allOf": [closed(b=TEXT)]}),
                {"properties": {"a": closed(b={})}}]}, []),
    ({"prefixItems": [TEXT, LONG], "items": False, "type": "array", "minItems": 2, "allOf": [{}]},
     [TEXT, LONG]),
])  # fmt: skip
def test_parts_are_needed_as_far_as_an_instance_is_made_of_them(part: Any, needed: Any) -> None:
    assert needs(part) == needed


def test_of_very_many_ways_some_are_tried():
    ways: Any = {"allOf": [{"anyOf": [LONG] * 12} for _ in range(12)], "type": "string"}
    assert needs(ways) == [LONG]
    assert needs({"type": "string", "allOf": [*ways["allOf"], False]}) is None


def test_of_very_many_instances_some_are_tried(monkeypatch: pytest.MonkeyPatch):
    """More are not looked at, in a part or in all of a document."""
    members = {"properties": {f"p{n}": True for n in range(12)}, "type": "object"}
    ways = [{"required": [f"a{n}"]} for n in range(24)]
    assert needs({**members, "anyOf": ways, "maxProperties": 0}) is None
    searched = Witnesses(Verdicts(TARGETS, said_of, alone=False))
    monkeypatch.setattr(json_schema_witnesses, "_MOST_TRIED_ALL", 3)
    few: Any = {"type": "object", "oneOf": [closed(a=TEXT), closed(b=TEXT)]}
    assert searched.needs(few) == [TEXT]
    assert searched.needs({**members, "anyOf": ways, "maxProperties": 0}) is None
    assert searched.needs({**few, "not": {"required": ["a"]}}) is None


def test_what_may_be_too_much_together_does_not_wait():
    def allow(part: Any, *others: Any) -> bool:
        judge = Verdicts(TARGETS, said_of, alone=False)
        return Crowds([part, *others], judge).allow(part)

    meet: Any = {"not": TEXT}
    assert allow(meet)
    assert allow(meet, {"multipleOf": 2}, {"multipleOf": 2})
    assert allow(meet, {"multipleOf": 2}, {"multipleOf": 3})
    assert not allow(meet, {"multipleOf": 2}, {"multipleOf": 997})
    assert not allow(meet, {"multipleOf": 2}, {"multipleOf": Decimal("0.5")})
    many: Any = {"patternProperties": {f"^{n}": True for n in range(8)}}
    assert allow(many)
    assert allow(meet, many, many)
    assert not allow(meet, many, {"propertyNames": TEXT})
    assert not allow({**many, "propertyNames": TEXT})
    assert not allow({"patternProperties": 3, "uniqueItems": True})
    assert allow({"contains": TEXT, "minContains": 8})
    assert not allow({"contains": TEXT, "minContains": 2, "maxContains": 9})
    assert not allow({"enum": [1], "const": 1})
    tests = [{"properties": {"a": {"minimum": n}}} for n in range(6)]
    assert allow({"anyOf": tests[:5], "$ref": "#/$defs/text"})
    assert allow({"anyOf": tests})
    assert allow({"oneOf": tests})
    assert not allow({"oneOf": [{"properties": {"a": {"minimum": n}}} for n in range(9)]})
    assert allow({"oneOf": tests[:3]})
    assert not allow({"oneOf": tests, "additionalProperties": TEXT, "not": {"anyOf": tests}})
    assert allow({"anyOf": [{"properties": {"a": {"const": n}, "b": True}} for n in range(9)]})
    assert not allow({"oneOf": [{"items": {"minimum": n}} for n in range(6)]})
    crowd = [{"properties": {"a": {"minimum": n}, "b": TEXT}} for n in range(9)]
    others: Any = [{"additionalProperties": True}, {"$ref": "#/$defs/text", "minLength": 1}]
    assert not allow({"oneOf": [*crowd, *others]})
    deep: Any = {}
    for _ in range(1100):
        deep = {"anyOf": [deep]}
    assert not allow(deep)
    assert allow({"anyOf": [meet, {"not": meet}], "not": meet})


def test_schemas_that_meet_again_are_satisfied_by_the_same_value():
    witnesses = Witnesses(Verdicts(TARGETS, said_of, alone=False))
    both = [closed(a=TEXT), closed(a={"enum": [1, "x"]})]
    clash = [closed(a=TEXT), closed(a={"enum": [1]})]
    for _ in range(2):
        assert witnesses.needs({"type": "object", "allOf": both}) == []
        assert witnesses.needs({"type": "object", "allOf": [*both, True]}) == []
        assert witnesses.needs({"type": "object", "allOf": clash}) is None


def test_what_is_passed_on_the_way_to_few_instances_is_too_much_at_some_time(
    monkeypatch: pytest.MonkeyPatch,
):
    """Of conditions within each other the same instances came again, behind all schemas of 192."""
    looks, choices = [0], Witnesses._choices  # pyright: ignore[reportPrivateUsage]

    def counted(self: Witnesses, part: Any) -> Any:
        looks[0] += 1
        return choices(self, part)

    monkeypatch.setattr(Witnesses, "_choices", counted)
    parts: list[Any] = [{"type": "null"}]
    for _ in range(40):
        parts.append({"if": True, "then": parts[-1]})
    searched = Witnesses(Verdicts(TARGETS, said_of, alone=False))
    for part in parts[1:]:
        searched.needs(part)
    assert looks[0] < 30_000  # 320,000 without a bound
