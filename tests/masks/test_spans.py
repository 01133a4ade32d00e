"""How far lexical states are from their end, told as going through all of them tells it."""

from typing import Any

import pytest

import fairlead as fl
from fairlead.constraints.compiled import CompiledConstraint, DecodeState
from fairlead.masks import spans
from fairlead.masks.bits import unpack
from fairlead.masks.kernels import layout as at
from fairlead.masks.spans import Spans
from random_walks import BYTES

PATTERNS = [
    "(abc|abd)+\\d{3,8}(-[a-f]{2}){2,}",
    "(a|b)*a(a|b){6}",
    "(?:[a-z]+@)?x{5}|y*",
    "[^a]*b",
    "a{9}|b",
]
BOUNDED: list[Any] = [
    {"pattern": "^(?:[a-z]-?)*$", "minLength": 3},
    {"pattern": "^[a-z]+(-[a-z]{3})*$", "maxLength": 9},
    {"pattern": "^(ab|c)*$", "minLength": 1, "maxLength": 7},
    {"pattern": "^(aaaa|ü)$", "maxLength": 1},
    {"pattern": "^(?:ä|xx)+$", "minLength": 2, "maxLength": 4},
    {"pattern": "^\\\\S+( \\\\S+){0,3}$", "maxLength": 12},
]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_nearest_and_farthest_are_those_of_all_states(pattern: str) -> None:
    constraint = fl.compile(fl.Regex(pattern), BYTES)
    lexicon = constraint._states.network.lexicon
    start = lexicon.state(constraint._expr)
    needed, todo = dict[int, int](), [(start, constraint.start())]
    for state, place in todo:  # which grows
        needed[state] = constraint.distance(place)
        lexicon.expand(state)
        for token in unpack(constraint.mask(place)).tolist():
            after = int(lexicon.rows[state][token]) if token < 256 else None
            if after is not None and after not in needed:
                needed[after] = 0
                todo.append((after, constraint.advance(place, token)))
    first, then = Spans(), Spans()
    assert {one: first.least(lexicon, one) for one in needed} == needed
    assert then.farthest(lexicon, start) == max(needed.values())
    assert {one: then.least(lexicon, one) for one in needed} == needed
    assert {then.farthest(lexicon, one) for one in needed} == {max(needed.values())}


def bounded(constraint: CompiledConstraint, state: DecodeState) -> list[int]:
    """The node of counted characters that is being read; none may be on the stack."""
    arena = state.network.arena
    places = [] if state.ended else arena.configurations(state.macro)
    records = [arena.record(node) for node, stack in places if not stack]
    return records[0] if len(places) == len(records) == 1 else [at.NIL]


@pytest.mark.parametrize("keywords", BOUNDED)
def test_of_counted_characters_no_less_is_said_than_suffices(keywords: Any) -> None:
    source = fl.JsonSchema({"type": "string", **keywords}, whitespace="compact")
    constraint = fl.compile(source, BYTES)
    lexicon, known = constraint._states.network.lexicon, Spans()
    met = [constraint.advance(constraint.start(), ord('"'))]
    for one in met:  # which grows
        for token in unpack(constraint.mask(one)).tolist():
            after = constraint.advance(one, token)
            if bounded(constraint, after)[0] == at.BOUNDED and after not in met and len(met) < 400:
                met.append(after)
    far = known.farthest_bounded(lexicon, bounded(constraint, met[0]))
    told = 0
    for one in met:
        least = known.least_bounded(lexicon, bounded(constraint, one))
        needed = constraint.distance(one)
        assert far is None or needed <= far
        assert least is None or needed <= least
        told += least is not None
    assert told > len(met) / 4


@pytest.mark.parametrize(
    ("limit", "keywords"),
    [
        ("_BEHIND", {"pattern": "^[a-z]+(-[a-z]{3})*$", "maxLength": 90}),
        ("_COUNTED", {"pattern": "^(?:[a-z]-?)*$", "minLength": 3, "maxLength": 70}),
        ("_AT_ONCE", {"pattern": "^(?:[a-z]-?)*$", "minLength": 3, "maxLength": 71}),
        ("_MET", {"pattern": "^(?:[a-z]-?)*$", "minLength": 3, "maxLength": 72}),
    ],
)
def test_where_there_is_much_nothing_is_said(
    monkeypatch: pytest.MonkeyPatch, limit: str, keywords: Any
) -> None:
    source = fl.JsonSchema({"type": "string", **keywords}, whitespace="compact")
    constraint = fl.compile(source, BYTES)
    start = constraint.advance(constraint.start(), ord('"'))
    lexicon, record = constraint._states.network.lexicon, bounded(constraint, start)
    assert Spans().farthest_bounded(lexicon, record) is not None
    monkeypatch.setattr(spans, limit, 0)
    assert Spans().farthest_bounded(lexicon, record) is None
