"""Automata that take too much are left behind; texts are read again in new ones."""

import gc
import weakref
from typing import Any

import pytest

import guideway as gw
from guideway.automaton.states import States
from guideway.constraint.lowering import lower_source
from guideway.language.derivative import Derivatives
from guideway.language.expr import literal, repeat
from two_engines import compared, vocabulary

LEAST = gw.Budget(table_bytes=1)  # each text begins in a new automaton
WORDS = gw.Vocabulary([b"a", b"b", b"ab", b"<end>"], eos_ids={3})
INDENTED = """
start: (NAME NEWLINE [INDENT start DEDENT])+
NAME: /[ab]+/
NEWLINE: /(\\n[ ]*)+/
%declare INDENT DEDENT
"""
SOURCES: list[Any] = [
    gw.Regex("(ab|ba){2,4}c?"),
    gw.JsonSchema({"type": "array", "items": {"enum": ["a", "b", 1]}}),
    gw.JsonSchema({"type": "object", "properties": {"a": {"type": "null"}}, "maxProperties": 2}),
    gw.JsonSchema({"items": {"enum": ["a", 1, [1]]}, "uniqueItems": True, "type": "array"}),
    gw.JsonSchema({"type": "array", "uniqueItems": True, "items": {"uniqueItems": True}}),
    gw.Lark('start: "(" start ")" | /[ab]+/'),
    gw.Lark('start: "a" start "a" | "b"', lexer="dynamic"),
]


@pytest.mark.parametrize("source", SOURCES, ids=range(len(SOURCES)))
def test_masks_are_those_of_the_plain_engine_however_often(source: Any) -> None:
    expr = lower_source(source)
    assert compared(expr, vocabulary(200), texts=12, tokens=9, seed=2, budget=LEAST) > 12


def test_a_way_is_gone_again_where_kernels_are_asked() -> None:
    items = {"type": "array", "uniqueItems": True}
    source = gw.JsonSchema({**items, "items": items}, whitespace="compact", spelling="plain")
    parts = [b"],[", b"1,2],[1,2", b"],[1,"]
    words = gw.Vocabulary([*(bytes((b,)) for b in range(256)), *parts, b"<end>"], eos_ids={259})
    fast = States(lower_source(source), Derivatives(lower_source(source)), words, LEAST)
    plain = gw.compile(source, words)
    ways = [[*b"[[1,2", 256, *b"1,2,3]]"], [*b"[[", 257, *b",3]]"], [*b"[[1", 258, *b"2]]"]]
    for way in (*ways, *ways):
        for end in range(len(way)):
            at: Any = fast.start(b"")
            other = plain.start()
            for token in way[:end]:
                at, other = fast.after(at, token), plain.advance(other, token)
            at.row = None  # so that kernels have to be asked
            assert fast.mask(at).tolist() == plain.mask(other).tolist()


def test_a_state_that_is_held_stays_in_the_pda_it_has() -> None:
    expr = repeat(literal("ab"))
    kept = States(expr, Derivatives(expr, WORDS.spellable), WORDS, LEAST)
    held: Any = kept.after(kept.start(b""), 0)
    pda = held.pda
    assert kept.start(b"").pda is not pda
    assert held.pda is pda is not None
    following = kept.after(held, 1)
    assert following is not None
    assert following.accepts


def test_what_was_left_behind_takes_no_memory() -> None:
    expr = repeat(literal("ab"))
    kept = States(expr, Derivatives(expr, WORDS.spellable), WORDS, LEAST)
    state: Any = kept.start(b"")
    gone = [weakref.ref(state.pda.arena)]
    for token in (0, 1, 2):
        kept.mask(state)
        state = kept.after(state, token)
    gone.append(weakref.ref(state))
    del state
    kept.start(b"")
    gc.collect()
    assert [found() for found in gone] == [None, None]


def test_an_indented_text_goes_on_where_it_was() -> None:
    constraint = gw.compile(gw.Lark(INDENTED, start="start"), vocabulary(200), budget=LEAST)
    texts = [b"a\n  b\n  a\n", b"a\n  b\nab\n", b"a\n  b\n    b\n"]
    plain = gw.compile(gw.Lark(INDENTED, start="start"), vocabulary(200))
    for text in (*texts, *texts):
        at, other = constraint.start(), plain.start()
        for byte in text:
            assert constraint.mask(at).tolist() == plain.mask(other).tolist()
            at, other = constraint.advance(at, byte), plain.advance(other, byte)
