"""What an object still needs: the shortest members, found in few tries."""

import itertools
import json
import random

import pytest

from guideway.json_schema import objects as json_members_keys
from guideway.json_schema import shortest_members as json_members_least
from guideway.language import shortest_string as least
from guideway.language.derivative import Derivatives
from guideway.language.fuel import metered
from guideway.language.nodes import Expr
from json_schemas import machine, verdict

EDGES = ("ab", "ac", "bc", "cd", "de", "ae")


def cover(edges: tuple[str, ...], low: int = 0) -> dict[str, object]:
    """A member for one end of each edge, and `low` members in all."""
    pairs = [{"anyOf": [{"required": [first]}, {"required": [second]}]} for first, second in edges]
    return {"type": "object", "additionalProperties": {"type": "integer"}, "minProperties": low,
            "allOf": pairs}  # fmt: skip


def shortest(schema: dict[str, object]) -> dict[str, int]:
    engine = machine(schema, whitespace="compact")
    assert engine.alive(engine.start())
    value = json.loads(engine.shortest(engine.start()))
    assert verdict(schema, value)
    return value


@pytest.mark.parametrize("low", [0, 4, 5])
def test_no_smaller_object_has_one_end_of_each_edge(low):
    # Of the 5 names, 3 touch all edges: "ace"; fewer than 3 do not, as "abc" needs 2 of its own.
    assert len(shortest(cover(EDGES, low))) == max(low, 3)


@pytest.mark.parametrize("in_order", [1, 2, 4])
def test_after_a_while_those_of_the_first_case_are_taken(monkeypatch, in_order):
    monkeypatch.setattr(json_members_least, "_IN_ORDER", in_order)
    assert 3 <= len(shortest(cover(EDGES))) <= 5


def test_keys_that_leave_as_much_to_be_said_are_not_taken_for_ever(monkeypatch):
    # `distance` of the state behind `{` did not end: there were always more keys of a class.
    closed = {"unevaluatedProperties": False}
    letter = {"patternProperties": {"^.$": {"type": "string"}}}
    schema = {
        "if": {"dependentRequired": {"aa": ["a"]}, "patternProperties": {"b$": {"minimum": 1}}},
        "else": {"dependentSchemas": {"a": {**closed, "if": letter}}},
        **closed,
        "type": "object",
    }
    spent: list[int] = []

    def spend(parts: int) -> None:
        spent.append(parts)
        assert len(spent) < 1000

    monkeypatch.setattr(json_members_least, "spend", spend)
    engine = machine(schema, whitespace="compact")
    state = engine.start()
    for begun, byte in enumerate(b'{"a', 1):
        state = engine.step(state, byte)
        rest = engine.shortest(state)
        assert len(rest) <= (1, 6, 5)[begun - 1]
        assert verdict(schema, json.loads(b'{"a'[:begun] + rest))


def test_within_a_name_and_behind_it_the_rest_is_the_shortest_for_that_name():
    engine = machine(cover(EDGES), whitespace="compact")
    state = engine.start()
    for count, byte in enumerate(b'{"a"', 1):
        state = engine.step(state, byte)
        assert engine.shortest(state) == b'{"a":0,"b":0,"d":0}'[count:]


NAMES = ("a", "bb", "ccc", "d", "e")


def said(dice: random.Random, depth: int) -> dict[str, object]:
    """What may be said of which of the names there are, and of how many."""
    if depth == 0 or dice.random() < 0.3:
        least = dice.choice([None, None, 2, 3])
        return {"minProperties": least} if least else {"required": dice.sample(NAMES, 2)}
    keyword = dice.choice(["anyOf", "oneOf", "allOf"])
    return {keyword: [said(dice, depth - 1) for _ in range(dice.randint(2, 3))]}


def closed(seed: int) -> tuple[dict[str, object], list[str]]:
    """A schema of objects of integers, and the shortest text of each set of names it allows."""
    properties = {name: {"type": "integer"} for name in NAMES}
    some = said(random.Random(seed), 3)
    schema = {"type": "object", "properties": properties, "additionalProperties": False} | some
    sets = [dict.fromkeys(some, 0) for n in range(6) for some in itertools.combinations(NAMES, n)]
    allowed = [one for one in sets if verdict(schema, one)]
    return schema, [json.dumps(one, separators=(",", ":")) for one in allowed]


def read(engine: Derivatives, text: str) -> "Expr | None":
    """The state behind a text, None if nothing may follow."""
    state: Expr | None = engine.start()
    for byte in text.encode():
        state = None if state is None else engine.step(state, byte)
    return state


@pytest.mark.parametrize("seed", range(40))
def test_what_is_found_is_as_short_as_the_shortest_of_all_sets_of_names(seed):
    schema, texts = closed(seed)
    engine = machine(schema, whitespace="compact")
    assert engine.alive(engine.start()) == bool(texts)
    if texts:
        assert len(engine.shortest(engine.start())) == min(map(len, texts))


@pytest.mark.parametrize("seed", range(40))
def test_behind_each_name_it_is_as_short_as_the_shortest_set_with_that_name(seed):
    schema, texts = closed(seed)
    engine = machine(schema, whitespace="compact")
    for name in NAMES:
        quoted = json.dumps(name)
        state = read(engine, f"{{{quoted}")
        lengths = [len(text) for text in texts if quoted in text]
        assert (state is not None) == bool(lengths)
        if state is not None:
            assert len(engine.shortest(state)) + len(quoted) + 1 == min(lengths)


@pytest.mark.parametrize("seed", range(40))
def test_a_search_in_a_hurry_finds_what_suffices(seed, monkeypatch):
    monkeypatch.setattr(least, "_WORK", 1)
    schema, texts = closed(seed)
    engine = machine(schema, whitespace="compact")
    assert engine.alive(engine.start()) == bool(texts)
    if texts:
        found = engine.shortest(engine.start())
        assert verdict(schema, json.loads(found))
        assert len(found) >= min(map(len, texts))


@pytest.mark.parametrize("begun", ["", '{"', '{"p3":0,"'])
def test_what_one_of_many_objects_needs_is_found_in_few_tries(begun):
    # All but one have to be denied; more than 1,000 tries are a LimitError for who pays.
    one = {"id": {"type": "string"}}
    objects = [{"properties": {f"p{n}": {"type": "string"}} | one} for n in range(30)]
    schema = {"type": "object", "oneOf": objects}
    engine = machine(schema, whitespace="compact")
    state = read(engine, begun)
    assert state is not None
    with metered(lambda parts: None):
        rest = engine.shortest(state)
    value = json.loads(begun.encode() + rest)
    assert verdict(schema, value)
    assert len(value) == 29


def test_members_that_are_forgotten_are_made_again(monkeypatch):
    monkeypatch.setattr(json_members_keys, "_MOST_KNOWN", 0)
    monkeypatch.setattr(json_members_least, "_MOST_KNOWN", 0)
    assert len(shortest(cover(EDGES))) == 3
