"""Alternatives about one member are counted from how schemas hang together, never too few."""

from typing import Any

import pytest

from guideway.json_schema.satisfiability.alternatives import Counts
from guideway.json_schema.satisfiability.assertions import UNTOLD, Verdicts
from guideway.json_schema.satisfiability.parts import ASSERTED

WRONG: Any = {"minimum": "a"}
TARGETS: dict[str, Any] = {"#": {"anyOf": [{"minimum": 1}] * 300}}


def few(part: Any) -> bool:
    def said_of(one: Any) -> Any:
        return UNTOLD if one is WRONG else one.keys() & ASSERTED[2020]

    return Counts(Verdicts(TARGETS, said_of, alone=False)).few(part)


def bounds(count: int) -> list[Any]:
    return [{"properties": {"a": {"minimum": n}}} for n in range(count)]


def kinds(count: int) -> list[Any]:
    """Objects that exclude each other by what one member is."""
    return [
        {"type": "object", "properties": {"k": {"const": n}}, "required": ["k"]}
        for n in range(count)
    ]


@pytest.mark.parametrize(("part", "is_few"), [
    ({"anyOf": bounds(200)}, True),
    ({"anyOf": bounds(300)}, False),
    ({"allOf": bounds(300)}, True),
    ({"allOf": [{"allOf": bounds(300)}, {"minimum": 1}]}, True),
    ({"allOf": [{"allOf": [{"anyOf": bounds(300)}]}]}, False),
    ({"oneOf": bounds(3)}, True),
    ({"oneOf": bounds(9)}, False),
    ({"oneOf": bounds(150)}, False),
    ({"oneOf": kinds(99)}, True),
    ({"oneOf": [*kinds(9), *kinds(1)]}, True),
    ({"oneOf": [*kinds(9), {"type": "object", "required": ["b"], "additionalProperties": False}]},
     True),
    ({"oneOf": [*kinds(20), *bounds(1)]}, False),
    ({"oneOf": [*kinds(20), True]}, False),
    ({"oneOf": [*kinds(2), {"type": "string"}, WRONG]}, True),
    ({"not": {"allOf": bounds(60)}}, True),
    ({"not": {"allOf": bounds(300)}}, False),
    ({"not": {"anyOf": bounds(2)}}, True),
    ({"not": {"anyOf": bounds(9)}}, False),
    ({"not": {"oneOf": bounds(2)}}, True),
    ({"allOf": [{"anyOf": bounds(4)}] * 4}, True),
    ({"allOf": [{"anyOf": bounds(4)}] * 5}, False),
    ({"if": bounds(1)[0], "then": bounds(1)[0]}, True),
    ({"allOf": [{"if": bounds(1)[0], "then": bounds(1)[0]}] * 8}, False),
    ({"allOf": [{"if": {"required": ["k"]}, "then": bounds(1)[0]}] * 9}, False),
    ({"not": {"if": bounds(1)[0], "else": bounds(1)[0]}}, True),
    ({"dependentSchemas": {str(n): test for n, test in enumerate(bounds(8))}}, True),
    ({"dependentSchemas": {str(n): test for n, test in enumerate(bounds(9))}}, False),
    ({"dependencies": {"a": ["b"], "b": bounds(1)[0]}}, True),
    ({"$ref": "#", "minimum": 3}, False),
    ({"not": {"patternProperties": {str(n): True for n in range(200)}}}, False),
])  # fmt: skip
def test_alternatives_are_few_where_they_do_not_multiply(part: Any, is_few: bool) -> None:
    assert few(part) is is_few


def test_what_nests_deeply_is_not_counted() -> None:
    deep: Any = {}
    for _ in range(40):
        deep = {"allOf": [deep]}
    assert not few(deep)
    assert not few({"anyOf": [{"allOf": [{}]} for _ in range(2500)]})
