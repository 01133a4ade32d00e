"""Objects and arrays that are read part by part: what is unknown, forgotten or too much."""

import json

import pytest

from guideway.errors import LimitError
from guideway.json_schema import formula_derivative as json_items_ways
from guideway.json_schema import members as json_members
from guideway.json_schema.arrays import ItemsTemplate
from guideway.json_schema.discriminators import Unlike, exactly, like
from guideway.json_schema.formulas import (
    Among,
    AtLeast,
    AtMost,
    Formula,
    all_of,
    any_of,
    exact,
    leaf,
    opposite,
)
from guideway.json_schema.lowering import Lowering
from guideway.json_schema.members import MembersTemplate
from guideway.json_schema.objects import Member, Rest
from guideway.json_schema.source import JsonSchema
from guideway.json_schema.spelling import json_style
from guideway.language.derivative import Derivatives
from guideway.language.fuel import metered
from json_schemas import machine, matches

SOURCE = JsonSchema(True, whitespace="compact")
VALUES = ([1, [2]], [1, [3]], [], [1], [1, [2], 3], {"a": [1]}, {"b": 2}, {"a": [1], "b": 2}, {})


def template(said: Formula) -> MembersTemplate:
    lowering = Lowering(SOURCE)
    judge = lowering.meaning.outlines
    return MembersTemplate(said, lowering.value, json_style(SOURCE), lowering.keysets, judge)


def test_a_key_behind_an_unknown_one_is_unsure_only_at_its_end():
    said = all_of(leaf(AtLeast(2)), leaf(AtMost(3)))
    members = template(said)
    engine = Derivatives(members.resume(Member(Rest(0, frozenset(), said), 0), None))
    state = engine.start()
    for byte in b':2,"bc':
        state = engine.step(state, byte)
        assert state is not None
        assert not engine.unsure(state)
    unsure = engine.step(state, ord('"'))
    assert unsure is not None
    assert engine.unsure(unsure)


def test_what_was_found_about_ends_may_be_forgotten(monkeypatch):
    schema = {"type": "object", "minProperties": 1, "maxProperties": 2}
    texts = ("{}", '{"a":1}', '{"a":1,"b":2}', '{"a":1,"b":2,"c":3}')
    expected = [False, True, True, False]
    assert [matches(machine(schema), text) for text in texts] == expected
    monkeypatch.setattr(json_members, "_MOST_KNOWN", 0)
    assert [matches(machine(schema), text) for text in texts] == expected


@pytest.mark.parametrize("given", [VALUES[:5], VALUES[5:]], ids=["arrays", "objects"])
def test_unlike_some_values_are_all_others_and_its_opposite_are_those(given):
    some = given[:2]
    values = frozenset(exact(value) for value in some)
    unlike = leaf(Unlike(values))
    assert opposite(unlike) is like(values)
    lowering = Lowering(SOURCE)
    judge, style = lowering.meaning.outlines, json_style(SOURCE)
    for said, among in ((unlike, False), (any_of(*map(exactly, values)), True)):
        if isinstance(given[0], list):
            root = ItemsTemplate(said, lowering.value, style, judge).start()
        else:
            root = template(said).start()
        engine = Derivatives(root)
        for value in given:
            text = json.dumps(value, separators=(",", ":"))
            assert matches(engine, text) == ((value in some) == among), (said, value)


def test_one_of_some_arrays_or_objects_is_read_part_by_part():
    said = leaf(Among(frozenset(exact(value) for value in VALUES[:6])))
    engine = Derivatives(Lowering(SOURCE).value(said))
    for value in VALUES:
        assert matches(engine, json.dumps(value, separators=(",", ":"))) == (value in VALUES[:6])


def test_an_array_that_takes_too_many_tries_is_refused(monkeypatch):
    monkeypatch.setattr(json_items_ways, "MOST_LOOKED_AT", 2)
    schema = {"type": "array", "contains": {"const": "a"}, "minContains": 5}
    engine = machine(schema)
    with pytest.raises(LimitError, match="more than 2 tries"), metered(lambda parts: None):
        engine.alive(engine.start())
    assert machine(schema).alive(engine.start())  # afterwards it only takes longer
