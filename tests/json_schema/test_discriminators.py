"""Branches that plainly exclude each other: what is told so has no value in common."""

import json
from itertools import combinations
from typing import Any

from guideway.json_schema import discriminators as json_exclusive
from guideway.json_schema.discriminators import Outlines, exactly_one
from guideway.json_schema.formulas import Among, Holds, all_of, exact, holds, leaf
from guideway.json_schema.parser import parse_json_schema
from guideway.json_schema.shortest_members import size
from guideway.json_schema.source import JsonSchema
from json_schemas import machine, matches, verdict

TYPES = {"t": {"type": "string"}, "n": {"type": "integer"}, "o": {"type": "object"}}
REFS = [{"$ref": f"#/$defs/{name}"} for name in TYPES]
STRING, INTEGER = (leaf(Holds(f"#/$defs/{name}")) for name in "tn")
TEXTS = leaf(Among(frozenset((exact("a"), exact("b")))))
ONE = leaf(Among(frozenset((exact(1),))))


def outlines() -> Outlines:
    return Outlines(parse_json_schema(JsonSchema({"anyOf": REFS, "$defs": TYPES})))


def told(judge: Outlines) -> list[bool]:
    values = ((STRING, INTEGER), (STRING, TEXTS), (STRING, ONE), (TEXTS, ONE), (INTEGER, ONE))
    return [judge.impossible(all_of(*parts)) for parts in values * 2]


def test_what_lists_scalars_tells_them():
    schemas = {"l": {"enum": [3, "a", True, None]}, "p": {"enum": [[1]]}, "t": {"type": "string"}}
    document = parse_json_schema(
        JsonSchema({"anyOf": [{"$ref": f"#/$defs/{n}"} for n in "lpt"], "$defs": schemas})
    )
    judge = Outlines(document)
    listed, part, text = (leaf(Holds(f"#/$defs/{name}")) for name in "lpt")
    assert set(judge.listed(listed)) == {exact(3), exact("a"), exact(True), exact(None)}
    for value in (part, text, ONE, all_of(listed, text), leaf(Holds("#/$defs/l", False))):
        assert judge.listed(value) == []


def test_two_types_exclude_each_other_in_all_types():
    judge, (text, number, thing) = outlines(), (f"#/$defs/{name}" for name in TYPES)
    assert judge.exclude(text, number, "string")
    assert judge.exclude(text, number, "object")
    assert not judge.exclude(thing, thing, "object")


def test_values_of_two_types_or_of_other_constants_are_impossible():
    assert told(outlines()) == [True, False, True, True, False] * 2


def test_what_stands_for_one_of_some_branches_has_no_other_type_than_theirs():
    judge = outlines()
    assert judge.of("#").kinds == {"string", "number", "object"}
    apart = [{"type": "object", "properties": {"a": {"oneOf": [TYPES["n"], {"type": "null"}]}}}]
    schema = {"oneOf": [{**part, "required": ["a"]} for part in (*apart, {"minLength": 1})]}
    engine = machine(schema)
    for value in ({"a": 1}, {"a": None}, {"a": "b"}, {}, "", "a", 1):
        assert matches(engine, json.dumps(value)) == verdict(schema, value), value


def test_of_three_branches_that_overlap_exactly_one_holds():
    branches = [{"minimum": 0}, {"maximum": 10}, {"multipleOf": 2}]
    one = machine({"type": "integer", "oneOf": branches})
    for number in range(-5, 16):
        holds = [number >= 0, number <= 10, number % 2 == 0]
        assert matches(one, str(number)) == (sum(holds) == 1), number


def test_of_many_branches_that_overlap_exactly_one_holds():
    branches = [leaf(Holds(f"#/{place}")) for place in range(20)]
    halves = exactly_one(branches, lambda first, second: False, halved=True)
    pairs = exactly_one(branches, lambda first, second: False)
    assert size(halves) < size(pairs) / 2
    for chosen in [(), *combinations(range(20), 1), *combinations(range(20), 2), range(20)]:
        held = {f"#/{place}" for place in chosen}

        def judge(atom: Any, held: set[str] = held) -> bool:
            return (atom.schema in held) == atom.sign

        assert holds(halves, judge) == holds(pairs, judge) == (len(chosen) == 1)


def test_many_branches_of_which_few_overlap_are_told_pair_by_pair():
    branches = [leaf(Holds(f"#/{place}")) for place in range(20)]
    apart = [
        exactly_one(branches, lambda first, second: second - first > 1, halved=halved)
        for halved in (False, True)
    ]
    assert apart[0] is apart[1]


def test_what_was_told_may_be_forgotten(monkeypatch):
    monkeypatch.setattr(json_exclusive, "_MOST_KNOWN", 0)
    assert told(outlines()) == [True, False, True, True, False] * 2
