"""Lexical states are made once, and rows never change."""

import random
import re
from collections.abc import Callable

import pytest

import guideway as gw
from guideway.automaton import lexer_dfa as dfa
from guideway.automaton import regex_records as records
from guideway.automaton.kernels import regex_layout as at
from guideway.automaton.kernels.layout import ACCEPTS, GOES_ON
from guideway.automaton.lexer_dfa import LexerDfa
from guideway.automaton.token_tries import has
from guideway.language.derivative import Derivatives
from guideway.language.expr import (
    ALL_BYTES,
    ANYTHING,
    EMPTY,
    EPSILON,
    alt,
    both,
    byte_set,
    complement,
    concat,
    literal,
    optional,
    repeat,
)
from guideway.language.nodes import Expr
from random_walks import reads

WORDS = gw.Vocabulary([*(bytes((b,)) for b in range(256)), b"<end>"], eos_ids={256})


def spread(states: LexerDfa, state: int, most: int) -> None:
    """Make the rows of a state and of those that it leads to, nearest first, so many at most."""
    found, todo = {state}, [state]
    for one in todo:
        states.expand(one)
        for after in dict.fromkeys(states.rows[one].tolist()):
            if after > 0 and after not in found and len(found) < most:
                found.add(after)
                todo.append(after)


def test_more_states_than_there_is_room_for_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dfa, "MOST_STATES", 4)
    states = LexerDfa(ALL_BYTES)
    state = states.state(repeat(concat(byte_set(b"ab"), alt(literal("cd"), literal("ef")))))
    with pytest.raises(gw.LimitError, match="more than 4 states of regular languages"):
        spread(states, state, 10)


def test_what_an_opposite_takes_away_is_found_before_counts_within_counts_are_searched() -> None:
    pattern = r"^(?!.*://)(?=.{1,255}$)((.{1,63}\.){1,127}(?![0-9]*$)[a-z0-9-]+\.?)$"
    source = gw.JsonSchema({"type": "string", "pattern": pattern}, whitespace="compact")
    constraint = gw.compile(source, WORDS)
    state = constraint.start()
    for text in ("", "a", ".", ":", "/"):
        for byte in text.encode() or b'"':
            state = constraint.advance(state, byte)
        row = constraint.mask(state)
        for byte in b"a./:":
            assert has(row, byte) is not (text == "/" and byte == ord("/"))


def passed(seed: int) -> str:
    """Options that others become where parts of them are nothing are dropped, and no others."""
    dice = random.Random(seed)
    parts = ["a?", "b?", "a*", "b*", "(?:ab)?", "[ab]?", "c?", "a{0,2}", "a", "(?:ac)*", "é?"]
    several = [dice.choice(parts) for _ in range(dice.randrange(2, 24))]
    return f"(?:{''.join(several)}){{{dice.randrange(1, 4)}}}"


@pytest.mark.parametrize("pattern", [
    *map(passed, range(30)),
    # Counts within counts.
    "((a{1,30}b?){1,30}c?){1,30}", "[ab]*a[ab]{6}", "(a{2}){1,5}|(a{2,3}){1,5}b",
    "(a?b{0,3}|a{2,4}b{1,2}){3,}", "(aa|ab|ac|b)*(a|bb){2,9}",
])  # fmt: skip
def test_masks_allow_a_text_that_re_matches_and_no_other(pattern: str) -> None:
    dice, constraint = random.Random(pattern), gw.compile(gw.Regex(pattern), WORDS)
    for _ in range(40):
        text = "".join(dice.choice("aabbcé") for _ in range(dice.randrange(dice.choice([9, 24]))))
        expected = re.fullmatch(pattern, text) is not None
        assert constraint.matches(text) == expected
        assert reads(constraint, text.encode()) == expected


@pytest.mark.parametrize("parts", [
    [optional(alt(literal("é"), literal("ê")))],
    [optional(literal("x")), optional(literal("y"))],
    [optional(literal("ab")), optional(literal("c"))],
    [repeat(literal("x")), optional(literal("y"))],
], ids=["é?", "x?y?", "(ab)?c?", "x*y?"])  # fmt: skip
def test_states_of_many_parts_that_may_be_nothing_have_few_options(parts: list[Expr]) -> None:
    """Each of 800 states had as many options as parts were left: a gigabyte, and a hang."""
    states = LexerDfa(ALL_BYTES)
    spread(states, states.state(concat(*parts * 200)), 12)
    made = states.records.context
    assert made.parts.used < 3_000
    assert made.lines.used < 6_000


# Rows that kernels derive are those of the plain engine, state by state.

FEW = sum(1 << byte for byte in b"abxyz")
MOST_COMPARED = 150


def some_expression(rng: random.Random, depth: int) -> Expr:
    if depth == 0 or rng.random() < 0.2:
        return rng.choice(
            [
                literal(bytes(rng.choices(b"abc", k=rng.randint(1, 3)))),
                byte_set(bytes(rng.sample(b"abcd", rng.randint(1, 3)))),
                rng.choice([EPSILON, EMPTY, ANYTHING, byte_set(b"b")]),
            ]
        )
    one = some_expression(rng, depth - 1)
    more = [some_expression(rng, depth - 1) for _ in range(rng.randint(1, 3))]
    low = rng.randint(0, 4)
    shapes: list[Callable[[], Expr]] = [
        lambda: concat(one, *more),
        lambda: alt(one, *more),
        lambda: repeat(one, low, rng.choice([None, low + rng.randint(0, 5)])),
        lambda: both(one, more[0]),
        lambda: complement(one),
    ]
    return rng.choices(shapes, [4, 4, 4, 2, 1])[0]()


def compare(states: LexerDfa, expr: Expr) -> None:
    """Walk both engines in lock-step."""
    machine = Derivatives(EMPTY, states.spellable)
    seen = {(states.state(expr), expr)}
    todo = list(seen)
    while todo and len(seen) < MOST_COMPARED:
        state, plain = todo.pop()
        states.expand(state)
        arcs = machine.arcs(plain)
        flags = int(states.flags[state])
        assert bool(flags & ACCEPTS) is plain.nullable
        assert bool(flags & GOES_ON) is bool(arcs)
        row = states.rows[state].tolist()
        expected = {byte: target for m, target in arcs for byte in range(256) if m >> byte & 1}
        assert {byte for byte, target in enumerate(row) if target > 0} == expected.keys()
        assert int.from_bytes(states.first[state].tobytes(), "little") == sum(m for m, _ in arcs)
        fresh = {(row[byte], target) for byte, target in expected.items()} - seen
        seen |= fresh
        todo.extend(fresh)


@pytest.mark.untraced
@pytest.mark.parametrize("spellable", [ALL_BYTES, FEW])
@pytest.mark.parametrize("seed", range(8))
def test_rows_of_any_expression_are_those_of_the_plain_engine(seed: int, spellable: int) -> None:
    rng = random.Random(seed)
    states, machine = LexerDfa(spellable), Derivatives(EMPTY, spellable)
    for _ in range(30):
        expr = some_expression(rng, 4)
        if machine.alive(expr):
            compare(states, expr)


@pytest.mark.untraced
def test_no_text_has_fewer_bytes_than_its_record_says() -> None:
    """Where several meet, the most that one of them needs: a guess adds them up."""
    rng, states, machine = random.Random(4), LexerDfa(ALL_BYTES), Derivatives(EMPTY, ALL_BYTES)
    exact = 0
    for _ in range(300):
        expr = some_expression(rng, 3)
        if machine.alive(expr):
            record = states.records._regex(states.records.record(expr))
            fewest, shortest = record.guess >> at.LEAST, machine.shortest_length(expr)
            assert fewest <= shortest, expr
            exact += fewest == shortest
    assert exact > 150


@pytest.mark.parametrize("spellable", [ALL_BYTES, FEW])
def test_alive_is_what_the_plain_engine_calls_so(spellable: int) -> None:
    rng, states, machine = random.Random(1), LexerDfa(spellable), Derivatives(EMPTY, spellable)
    for _ in range(150):
        expr = both(some_expression(rng, 3), some_expression(rng, 3))
        assert states.alive(expr) is machine.alive(expr)
        assert states.alive(expr) is machine.alive(expr)  # remembered


def test_a_count_that_nobody_can_reach_is_a_count() -> None:
    compare(LexerDfa(ALL_BYTES), concat(repeat(literal("ab"), 10**30, 10**40), literal("c")))
    compare(LexerDfa(ALL_BYTES), repeat(alt(literal("ab"), literal("b")), 3, 10**30))


def test_more_parts_than_there_is_room_for_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "MOST_RECORDS", 1024)
    states = LexerDfa(ALL_BYTES)
    with pytest.raises(gw.LimitError, match="more than 1024 parts of regular languages"):
        states.state(literal("abcdefgh" * 300))


@pytest.mark.untraced
@pytest.mark.parametrize("seed", range(6))
def test_running_out_of_room_anywhere_changes_nothing(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(100 + seed)
    small = {name: rng.choice([4, 8, 16, 64]) for name in records._ROOMS}
    monkeypatch.setattr(records, "_ROOMS", small)
    states, machine = LexerDfa(ALL_BYTES), Derivatives(EMPTY, ALL_BYTES)
    words = [bytes(rng.choices(b"abcde", k=rng.randint(1, 9))) for _ in range(400)]
    counts = [
        concat(repeat(byte_set(b"ab"), i % 7, i % 7 + 3), literal(w)) for i, w in enumerate(words)
    ]
    drawn = (some_expression(rng, 5) for _ in range(12))
    for expr in [alt(*map(literal, words)), alt(*counts), *drawn]:
        if machine.alive(expr):
            compare(states, expr)
