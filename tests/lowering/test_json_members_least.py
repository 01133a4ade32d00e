"""What an object still needs: the shortest members, found in few tries."""

import itertools
import json
import random

import pytest

from fairlead.errors import LimitError
from fairlead.lowering import json_members_keys, json_members_least
from fairlead.lowering.fuel import metered
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
def test_after_a_while_those_that_leave_least_undone_come_first(monkeypatch, in_order):
    monkeypatch.setattr(json_members_least, "_IN_ORDER", in_order)
    monkeypatch.setattr(json_members_least, "_FEWEST", in_order)
    assert 3 <= len(shortest(cover(EDGES))) <= 5


def test_a_search_that_takes_too_many_tries_is_refused(monkeypatch):
    monkeypatch.setattr(json_members_least, "MOST_LOOKED_AT", 3)
    with pytest.raises(LimitError, match="more than 3 tries"), metered(lambda parts: None):
        shortest(cover(EDGES))


def test_within_a_name_and_behind_it_the_rest_is_the_shortest_for_that_name():
    engine = machine(cover(EDGES), whitespace="compact")
    state = engine.start()
    for count, byte in enumerate(b'{"a"', 1):
        state = engine.step(state, byte)
        assert engine.shortest(state) == b'{"a":0,"b":0,"d":0}'[count:]


@pytest.mark.parametrize("seed", range(40))
def test_what_is_found_is_as_short_as_the_shortest_of_all_sets_of_names(seed):
    names, dice = ("a", "bb", "ccc", "d", "e"), random.Random(seed)

    def said(depth: int) -> dict[str, object]:
        if depth == 0 or dice.random() < 0.3:
            least = dice.choice([None, None, 2, 3])
            return {"minProperties": least} if least else {"required": dice.sample(names, 2)}
        keyword = dice.choice(["anyOf", "oneOf", "allOf"])
        return {keyword: [said(depth - 1) for _ in range(dice.randint(2, 3))]}

    properties = {name: {"type": "integer"} for name in names}
    schema = {"type": "object", "properties": properties, "additionalProperties": False} | said(3)
    sets = [dict.fromkeys(some, 0) for n in range(6) for some in itertools.combinations(names, n)]
    texts = [json.dumps(one, separators=(",", ":")) for one in sets if verdict(schema, one)]
    engine = machine(schema, whitespace="compact")
    assert engine.alive(engine.start()) == bool(texts)
    if texts:
        assert len(engine.shortest(engine.start())) == min(map(len, texts))


def test_members_that_are_forgotten_are_made_again(monkeypatch):
    monkeypatch.setattr(json_members_keys, "_MOST_KNOWN", 0)
    assert len(shortest(cover(EDGES))) == 3
