"""What is asked of tangled schemas beside their masks is told as soon as these."""

from random import Random
from typing import Any

import numpy as np
import pytest

import guideway as gw
from guideway.language.fuel import metered

VOCABULARY = gw.Vocabulary([*(bytes([byte]) for byte in range(256)), b"<end>"], {256})


def _ends(*names: str) -> list[Any]:
    return [{"pattern": rf"^.*\.{name}$"} for name in names]


@pytest.mark.parametrize("count", [4, 8])
def test_the_shortest_text_of_choices_between_patterns_that_meet(count: int) -> None:
    """Both compiling and `distance` took all fuel, or never came back."""
    names = ["json", "schema", "md", "properties", "yaml", "yml", "toml", "xml"][:count]
    paths = [{"path": {"type": "string", "oneOf": _ends(*names)}},
             {"path": {"type": "string", "anyOf": _ends(*names[::2])}}]  # fmt: skip
    schema = {"required": ["path"], "oneOf": [{"properties": path} for path in paths]}
    constraint = gw.compile(gw.JsonSchema(schema), VOCABULARY)
    shortest = min((name for name in names[1::2]), key=lambda name: (len(name), name))
    assert constraint.example() == f'{{"path":".{shortest}"}}'
    assert constraint.distance(constraint.start()) == len(constraint.example())


def test_the_shortest_text_where_patterns_are_denied_item_by_item() -> None:
    choices = {"anyOf": [{"properties": {"path": {"oneOf": _ends("json", "schema", "md", "rest")}}},
                         {"properties": {"lib": {"type": "string"}}}]}  # fmt: skip
    closed = {"additionalProperties": False,
              "properties": {"path": {"anyOf": _ends("json", "schema")}}}  # fmt: skip
    schema = {"oneOf": [{"properties": {"files": {"items": one}}} for one in (choices, closed)]}
    constraint = gw.compile(gw.JsonSchema(schema), VOCABULARY)
    assert constraint.example() == '{"files":[{"":0}]}'


def _told_apart(count: int, seed: int, more: dict[str, Any]) -> dict[str, Any]:
    """Open objects that share names, and are told apart by a member that is not required."""
    names = ["column", "value", "separator", "start", "length", "script", "method", "url", "body"]
    dice = Random(seed)
    branches = [
        {"properties": {"type": {"const": f"kind{n}"}, **more,
                        **{name: {"type": dice.choice(["string", "integer"])}
                           for name in sorted(dice.sample(names, 4))}}}
        for n in range(count)
    ]  # fmt: skip
    return {"type": "object", "oneOf": branches}


def test_a_budget_that_is_far_away_costs_little_where_objects_are_told_apart() -> None:
    steps = {"steps": {"type": "array", "items": _told_apart(14, 2, {})}}
    schema = {"type": "object", "additionalProperties": _told_apart(14, 3, steps)}
    source = gw.JsonSchema(schema, key_order="declared", whitespace="natural", spelling="plain")
    constraint = gw.compile(source, VOCABULARY)
    state = constraint.advance(constraint.start(), ord("{"))
    parts = list[int]()
    with metered(parts.append):
        row = constraint.mask_within(state, 300)
    assert np.array_equal(row, constraint.mask(state))
    assert sum(parts) < 50_000  # a million where all nodes are entered
