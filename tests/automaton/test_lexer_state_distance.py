"""How far lexical states are from their end, told as going through all of them tells it."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import guideway as gw
from guideway.automaton import lexer_dfa as spans
from guideway.automaton.kernels import layout as at
from guideway.automaton.lexer_dfa import LexerDfa, Spans
from guideway.automaton.token_tries import unpack
from guideway.constraint.compiled import CompiledConstraint, DecodeState
from random_walks import BYTES

PATTERNS = [
    "(abc|abd)+\\d{3,8}(-[a-f]{2}){2,}",
    "(a|b)*a(a|b){6}",
    "(?:[a-z]+@)?x{5}|y*",
    "[^a]*b",
    "a{9}|b",
]
BOUNDED: list[Any] = [
    {"pattern": "^(?:[a-z]-?)*$", "minLength": 30},
    {"pattern": "^[a-z]+(-[a-z]{3})*$", "maxLength": 40},
    {"pattern": "^(ab|c)*$", "minLength": 1, "maxLength": 35},
    {"pattern": "^(?:a{4}){9}$|^ü{36}$", "maxLength": 36},
    {"pattern": "^(?:ä|xx)+$", "minLength": 20, "maxLength": 40},
    {"pattern": "^\\S+( \\S+){0,3}$", "maxLength": 50},
    {"pattern": "^(?:a{5})*$", "minLength": 32, "maxLength": 48},
]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_nearest_and_farthest_are_those_of_all_states(pattern: str) -> None:
    constraint = gw.compile(gw.Regex(pattern), BYTES)
    dfa = constraint._states.pda.dfa
    start = dfa.state(constraint._expr)
    needed, todo = dict[int, int](), [(start, constraint.start())]
    for state, place in todo:  # which grows
        needed[state] = constraint.distance(place)
        dfa.expand(state)
        for token in unpack(constraint.mask(place)).tolist():
            after = int(dfa.rows[state][token]) if token < 256 else None
            if after is not None and after not in needed:
                needed[after] = 0
                todo.append((after, constraint.advance(place, token)))
    first, then = Spans(), Spans()
    assert {one: first.least(dfa, one) for one in needed} == needed
    assert then.farthest(dfa, start) == max(needed.values())
    assert {one: then.least(dfa, one) for one in needed} == needed
    assert {then.farthest(dfa, one) for one in needed} == {max(needed.values())}


def bounded(constraint: CompiledConstraint, state: DecodeState) -> list[int]:
    """The node of counted characters that is being read; none may be on the stack."""
    arena = state.pda.arena
    places = [] if state.ended else arena.configurations(state.macro)
    records = [arena.record(node) for node, stack in places if not stack]
    return records[0] if len(places) == len(records) == 1 else [at.NIL]


@pytest.mark.parametrize("most", [200, pytest.param(900, marks=pytest.mark.slow)])
@pytest.mark.parametrize("keywords", BOUNDED)
def test_of_counted_characters_no_less_is_said_than_suffices(keywords: Any, most: int) -> None:
    source = gw.JsonSchema({"type": "string", **keywords}, whitespace="compact")
    constraint = gw.compile(source, BYTES)
    dfa, known = constraint._states.pda.dfa, Spans()
    met = [constraint.advance(constraint.start(), ord('"'))]
    for one in met:  # which grows
        for token in unpack(constraint.mask(one)).tolist():
            after = constraint.advance(one, token)
            if bounded(constraint, after)[0] == at.BOUNDED and after not in met and len(met) < most:
                met.append(after)
    assert bounded(constraint, met[0])[0] == at.BOUNDED
    far = known.farthest_bounded(dfa, bounded(constraint, met[0]))
    told = 0
    for one in met:
        least = known.least_bounded(dfa, bounded(constraint, one))
        needed = constraint.distance(one)
        assert far is None or needed <= far
        assert least is None or needed <= least
        told += least is not None
    assert told > len(met) / 8  # not within a character while some are needed


@pytest.mark.parametrize(
    ("limit", "keywords"),
    [
        ("_BEHIND", {"pattern": "^[a-z]+(-[a-z]{3})*$", "maxLength": 90}),
        ("_COUNTED", {"pattern": "^(?:[a-z]-?)*$", "minLength": 30, "maxLength": 70}),
        ("_AT_ONCE", {"pattern": "^(?:[a-z]-?)*$", "minLength": 30, "maxLength": 71}),
        ("_SPANS_MET", {"pattern": "^(?:[a-z]-?)*$", "minLength": 30, "maxLength": 72}),
    ],
)
def test_where_there_is_much_nothing_is_said(
    monkeypatch: pytest.MonkeyPatch, limit: str, keywords: Any
) -> None:
    source = gw.JsonSchema({"type": "string", **keywords}, whitespace="compact")
    constraint = gw.compile(source, BYTES)
    start = constraint.advance(constraint.start(), ord('"'))
    dfa, record = constraint._states.pda.dfa, bounded(constraint, start)
    assert Spans().farthest_bounded(dfa, record) is not None
    monkeypatch.setattr(spans, limit, 0)
    assert Spans().farthest_bounded(dfa, record) is None


def test_what_takes_a_search_is_not_said(monkeypatch: pytest.MonkeyPatch) -> None:
    source = gw.JsonSchema({"type": "string", **BOUNDED[4]}, whitespace="compact")
    constraint = gw.compile(source, BYTES)
    start = constraint.advance(constraint.start(), ord('"'))
    dfa, record = constraint._states.pda.dfa, bounded(constraint, start)
    with monkeypatch.context() as patch:
        patch.setattr(LexerDfa, "expand", lambda *_, **__: False)
        assert Spans().least(dfa, record[1]) is None
        assert Spans().farthest(dfa, record[1]) is None
        assert Spans().least_bounded(dfa, record) is None
    monkeypatch.setattr(Spans, "_padded", lambda *_: 30)
    assert Spans().farthest_bounded(dfa, record) is not None
    monkeypatch.setattr(spans, "_SPANS_MET", 0)
    assert Spans().farthest_bounded(dfa, record) is None


def test_where_a_state_hangs_on_a_text_that_nobody_kept_nothing_is_said() -> None:
    rows = np.full((3, 256), at.DEAD_END, np.int32)
    rows[0, ord("a")], rows[1, ord("b")] = 1, 2
    flags = np.array([0, 0, at.ACCEPTS], np.uint8)
    known: Any = SimpleNamespace(rows=rows, flags=flags, expand=lambda *_, **__: True)
    assert Spans().farthest(known, 0) == 2
    flags[1] = at.DOUBTS
    assert Spans().farthest(known, 0) is None
    flags[1], rows[1] = 0, at.DEAD_END  # which would be a state without an end
    assert Spans().farthest(known, 0) is None


def test_where_states_are_too_many_it_is_not_asked_again_soon(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    constraint, known = gw.compile(gw.Regex("(?:[ab]*a[ab]{8}c)+"), BYTES), Spans()
    dfa, asked = constraint._states.pda.dfa, list[int]()
    start = dfa.state(constraint._expr)
    monkeypatch.setattr(spans, "_BEHIND", 100)
    assert known.farthest(dfa, start) is None
    behind = int(dfa.rows[start][ord("a")])
    monkeypatch.setattr(Spans, "_reachable", lambda *_: asked.append(1) or ([], False))
    assert known.farthest(dfa, behind) is None
    assert not asked
