"""Counts under guards: each place is what the plain engine says, and few have to be judged."""

import random
from collections.abc import Callable
from functools import cache

import pytest

import guideway as gw
from guideway.automata.derivative import Derivatives
from guideway.lowering.expr import (
    ANYTHING,
    EPSILON,
    ahead,
    alt,
    both,
    byte_set,
    complement,
    concat,
    literal,
    repeat,
    stop,
)
from guideway.lowering.nodes import Expr, Rule
from guideway.lowering.regular import contains
from guideway.lowering.sources import lower_source
from guideway.masks import fewer
from guideway.masks import network as networks
from guideway.masks.bits import unpack
from guideway.masks.kernels import layout as at
from guideway.masks.kernels import searches
from guideway.masks.states import States
from guideway.masks.verdicts import Verdicts
from two_engines import compared, vocabulary

TOKENS = [b"(", b")", b"a", b"b", b" ", b"((", b"a)", b"))", b"ab", b"a b", b"\xc3", b"\xa9"]
WORDS = gw.Vocabulary([*TOKENS, b"<end>"], eos_ids={len(TOKENS)})
CHARACTERS = alt(byte_set(b"()ab "), literal("é"))
NO_BB = complement(concat(ANYTHING, literal("bb"), ANYTHING))


@cache
def nested() -> Expr:
    """Brackets that look ahead: no word stands before another."""
    rule = Rule("nested", looks=1)
    word = concat(repeat(alt(literal("a"), literal("é")), 1), ahead(complement(words()), 0))
    rule.define(alt(concat(literal("("), rule, literal(")")), word, concat(word, rule)))
    return rule


def words() -> Expr:
    return concat(byte_set(b"a"), ANYTHING)


def counted(high: int, more: Expr = ANYTHING) -> Expr:
    """No more characters than that."""
    return concat(ahead(both(repeat(CHARACTERS, 0, high), more), 1), nested(), stop(1))


@pytest.mark.parametrize("high", [1, 3, 8])
@pytest.mark.parametrize("short", [0, 256])
def test_so_many_characters(high: int, short: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(networks, "SHORT", short)
    assert compared(counted(high), WORDS, 2, 9, 1) > 3


@pytest.mark.parametrize("short", [0, 256])
def test_what_is_counted_and_looked_for_together(
    short: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(networks, "SHORT", short)
    assert compared(counted(9, NO_BB), WORDS, 2, 9, 1) > 3
    twice = concat(ahead(repeat(CHARACTERS, 0, 12), 1), ahead(NO_BB, 1), nested(), stop(1))
    assert compared(twice, WORDS, 2, 9, 1) > 3


@pytest.mark.parametrize("text", ['start: "(" start ")" | "a" start? | "b"\n%ignore " "'])
@pytest.mark.parametrize("regex", ["(?s).{0,9}", "[(ab)]{0,6}", "(?:a|[^a]){0,7}"])
def test_grammars_of_so_many_characters(text: str, regex: str) -> None:
    assert compared(lower_source(gw.Lark(text) & gw.Regex(regex)), WORDS, 2, 9, 1) > 3


def judged(expr: Expr, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many places the plain engine judges while texts grow."""
    calls = list[Expr]()
    verdict = Verdicts._verdict

    def counting(self: Verdicts, whole: Expr) -> int:
        calls.append(whole)
        return verdict(self, whole)

    with monkeypatch.context() as patch:
        patch.setattr(Verdicts, "_verdict", counting)
        patch.setattr(networks, "SHORT", 0)
        fast = States(expr, Derivatives(expr, WORDS.spellable), WORDS, gw.Budget())
        state = fast.start(b"")
        for length in range(12):
            fast.mask(state)
            state = fast.after(state, TOKENS.index(b"a" if length else b"("))
    return len(calls)


def test_lower_counts_are_judged_with_higher_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    expr = lower_source(gw.Lark('start: "(" start ")" | /a+/') & gw.Regex("(?s).{0,40}"))
    together = judged(expr, monkeypatch)
    monkeypatch.setattr(fewer, "_AT_ONCE", 0)
    assert 0 < 2 * together < judged(expr, monkeypatch)


def test_what_is_left_behind_texts_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fewer, "_REMEMBERED", 0)
    expr = lower_source(gw.Lark('start: "(" start ")" | "a" start?') & gw.Regex("(?s).{0,12}"))
    assert compared(expr, WORDS, 2, 12, 1) > 3


def test_what_leaves_none_is_dead_with_less() -> None:
    expr = counted(5)
    fast = States(expr, Derivatives(expr, WORDS.spellable), WORDS, gw.Budget())
    fast.mask(fast.start(b""))
    network = fast._network
    arena, lexicon = network.arena, network.lexicon

    def place(high: int) -> int:
        state = lexicon.state(repeat(CHARACTERS, 0, high))
        node = arena.make(at.GUARDED, network.node(nested()), arena.make(at.GUARD, state, 1))
        return arena.judged(node, 0)

    for high in (0, 3):
        arena.set_verdict(place(high), at.V_UNKNOWN)
    arena.set_verdict(place(1), at.V_ALIVE)  # known: left as it is
    network._verdicts._fewer.judge(place(4), at.V_DEAD, None)
    assert [arena.verdict(place(high)) for high in range(4)] == [
        at.V_DEAD,
        at.V_ALIVE,
        at.V_DEAD,
        at.V_DEAD,
    ]
    other = arena.make(
        at.GUARDED, network.node(nested()), arena.make(at.GUARD, lexicon.state(NO_BB), 1)
    )
    network._verdicts._fewer.judge(arena.judged(other, 0), at.V_DEAD, None)  # counts nothing
    network._verdicts._fewer.judge(arena.judged(network.node(EPSILON), 0), at.V_DEAD, None)


def test_what_is_wanted_is_one_of_what_walks_have_put_off(monkeypatch: pytest.MonkeyPatch) -> None:
    judge, together = Verdicts.judge_all, list[bool]()

    def checked(self: Verdicts, wanted: int, search: Callable[[int, int], int]) -> None:
        count = int(self._arena.context[searches.PUT_OFF_COUNT])
        listed = self._arena._array(searches.PUT_OFF)[:count].tolist()
        together.append(count > 1)
        assert not listed or wanted in listed
        judge(self, wanted, search)

    monkeypatch.setattr(Verdicts, "judge_all", checked)
    constraint = gw.compile(gw.grammar("sql") & gw.Regex("(?s).{0,60}"), vocabulary())
    for seed in range(2):
        chosen, state = random.Random(seed), constraint.start()
        for _ in range(6):
            allowed = unpack(constraint.mask(state)).tolist()
            going_on = [token for token in allowed if token not in vocabulary().eos_ids]
            if not going_on:
                break
            state = constraint.advance(state, chosen.choice(going_on))
    assert any(together)


@pytest.mark.parametrize("text", [b"", b"a", b"abb", b"aab", b"aabb", b"aaaab"])
def test_the_count_allows_the_text_whatever_items_hold(text: bytes) -> None:
    item = concat(literal("a"), repeat(literal("b"), 0, 50))  # of which a rest counts, too
    for high in (max(text.count(b"a"), 1), 9):
        told = fewer._Counting(None, item, high)
        least = Made().fewer._least(told, text)
        assert 0 <= least <= high
        assert contains(told.lower(least), text)
    assert least == text.count(b"a")


def test_a_text_tells_of_what_looks_over_all_of_it_alone() -> None:
    """ "aaaa" is one item, and what an inner guard sees of it, "aaa", is three."""
    made = Made()
    item = alt(literal("a"), literal("aaaa"))
    inner, outer = repeat(item, 0, 4), repeat(CHARACTERS, 0, 9)
    assert made.judged(
        [(0, inner), (1, outer)], b"aaaa", [(0, repeat(item, 0, 1)), (1, outer)]
    ) == (at.V_UNKNOWN)
    lower = [(0, inner), (1, repeat(CHARACTERS, 0, 4))]
    assert made.judged([(0, inner), (1, outer)], b"aaaa", lower) == at.V_ALIVE


class Made:
    """A network, and places in it that are judged by hand."""

    def __init__(self) -> None:
        expr = counted(5)
        fast = States(expr, Derivatives(expr, WORDS.spellable), WORDS, gw.Budget())
        self.network = fast._network
        self.fewer = fast._network._verdicts._fewer

    def place(self, guards: list[tuple[int, Expr]]) -> int:
        arena, made = self.network.arena, 0
        states = sorted((level, self.network.lexicon.state(each)) for level, each in guards)
        for level, state in reversed(states):
            made = arena.make(at.GUARD, state, level, made)
        return arena.judged(arena.make(at.GUARDED, self.network.node(nested()), made), 0)

    def judged(
        self, given: list[tuple[int, Expr]], text: bytes, asked: list[tuple[int, Expr]]
    ) -> int:
        """What is known of a place once another one is known to have a text."""
        self.fewer.judge(self.place(given), at.V_ALIVE, text)
        return self.network.arena.verdict(self.place(asked))
