"""What a closure enters in very many ways is entered once: masks stay exact, and are soon made."""

import random

import pytest

import guideway as gw
from guideway.automaton.kernels import layout as at
from guideway.automaton.lookahead_emptiness import Known
from guideway.automaton.token_tries import unpack
from guideway.language.expr import literal, optional
from guideway.language.nodes import Rule
from two_engines import Both

TOKENS = [b"x", b"xx", b"(", b")", b"(x", b"x)", b"))", b"x(", b"y", b"xy", b"<end>"]
VOCABULARY = gw.Vocabulary(TOKENS, eos_ids={len(TOKENS) - 1})


def all_behind(count: int, letter: str = '"x"') -> str:
    """Rules that begin with any of those behind them, and the last one with a bracket."""
    names = [f"r{n}" for n in range(count)]
    rules = [f"{name}: {' '.join(names[n + 1 :])} | {letter} |" for n, name in enumerate(names)]
    rules[-1] = f'r{count - 1}: "(" r0 ")" | {letter} |'
    return "\n".join(["start: r0", *rules])


def doubled(count: int) -> str:
    """Rules that begin with the next one in two ways, so that in 2^count ways a letter is read."""
    rules = [f'r{n}: r{n + 1} "x" | r{n + 1} ")" start? | "y"' for n in range(count)]
    return "\n".join(["start: r0", *rules, f'r{count}: "(" start ")" | "x"'])


@pytest.mark.parametrize(
    "grammar",
    [all_behind(10), all_behind(8, "/x+/"), all_behind(9, "/xy?/"), doubled(8)],
    ids=["rules", "the longest", "letters that may follow", "two ways"],
)
def test_masks_are_those_of_the_plain_engine(grammar: str) -> None:
    both, chosen = Both(gw.Lark(grammar, lexer="dynamic"), VOCABULARY), random.Random(grammar)
    for _ in range(3):
        at = both.begin
        for _ in range(7):
            both.check(at)
            short = [t for t in unpack(both.fast.mask(at[0])).tolist() if t in (0, 2, 3, 8)]
            if not short:
                break
            at = both.after(at, chosen.choice(short))


def test_what_is_read_in_a_billion_ways_has_few_stacks() -> None:
    constraint = gw.compile(gw.Lark(all_behind(30), lexer="dynamic"), VOCABULARY)
    state = constraint.start()
    for letter in (0, 2, 0, 0, 2, 3, 0, 3, 0) * 4:
        state = constraint.advance(state, letter)
        assert unpack(constraint.mask(state)).tolist()
    assert constraint._states.held().state_bytes < 16_000_000


def test_nodes_say_whether_they_may_be_shared() -> None:
    known, rule = Known(), Rule("r")
    rule.define(literal("a"))
    assert known.named(literal("a")) == (0, 0)
    assert known.named(optional(literal("ab"))) == (1, at.NULLABLE)
    assert known.named(rule) == (2, at.SHARED)
    assert known.named(optional(rule)) == (3, at.NULLABLE | at.SHARED)
