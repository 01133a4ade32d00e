"""Where a text can be read in very many ways, masks are exact and take few configurations."""

import random
from typing import Any

import pytest

import guideway as gw
from guideway.automaton.token_tries import unpack
from random_walks import read
from two_engines import Both

TOKENS = [b"a", b"aa", b"a" * 9, b"(", b")", b"()", b"(a", b"))", b"a)", b"+", b"a+a", b"<end>"]
VOCABULARY = gw.Vocabulary(TOKENS, eos_ids={len(TOKENS) - 1})
BINARY = 'root ::= root root | "a"'
BRACKETS = 'root ::= "(" root ")" | root root | "a" | "()"'


def allowed(constraint: Any, state: Any) -> set[bytes | None]:
    return {TOKENS[token] for token in unpack(constraint.mask(state)).tolist()}


@pytest.mark.parametrize("grammar", [BINARY, BRACKETS, 'root ::= "a" root "a" | root "a" | ""'])
def test_masks_are_those_of_the_plain_engine(grammar: str) -> None:
    both = Both(gw.Gbnf(grammar), VOCABULARY)
    chosen = random.Random(grammar)
    at = both.begin
    for _ in range(11):
        both.check(at)
        short = [t for t in (0, 3, 4, 9) if unpack(both.fast.mask(at[0])).tolist().count(t)]
        at = both.after(at, chosen.choice(short))
    both.check(at)


def test_a_text_of_hundreds_of_letters_with_ever_more_ways_to_read_it() -> None:
    constraint = gw.compile(gw.Gbnf(BINARY), VOCABULARY)
    state = constraint.start()
    for _ in range(300):
        state = constraint.advance(state, 0)
        assert allowed(constraint, state) == {b"a", b"aa", b"a" * 9, b"<end>"}
    assert constraint._states.held().state_bytes < 4_000_000


# Up to 2^20 letters or brackets, halved so often, and then a plus.
HALVED = (f"t{n} ::= t{n - 1}? t{n - 1}?" for n in range(1, 21))
MANY = gw.Gbnf("\n".join(('root ::= t20 "+"', *HALVED, 't0 ::= "a" | "(" root ")"')))


def read_nested(text: str) -> tuple[int, bool] | None:
    """How many brackets are open, and whether the innermost has its plus; None if it is wrong."""
    depth, plus = 0, False
    for letter in text:
        if plus is not (letter == ")"):
            return None
        depth, plus = depth + (letter == "(") - (letter == ")"), letter == "+"
        if depth < 0:
            return None
    return depth, plus


def test_what_is_halved_twenty_times_has_no_million_stacks() -> None:
    constraint = gw.compile(MANY, VOCABULARY)
    chosen, state, text = random.Random(3), constraint.start(), ""
    for _ in range(60):
        want = {t for t in TOKENS[:-1] if read_nested(text + t.decode()) is not None}
        assert allowed(constraint, state) == want | (
            {b"<end>"} if read_nested(text) == (0, True) else set()
        )
        step = chosen.choice(sorted(want & {b"a", b"(", b")", b"+"}) or [b""])
        if not step:
            break
        step = b"a" if b"a" in want and chosen.random() < 0.7 else step
        text += step.decode()
        state = constraint.advance(state, TOKENS.index(step))
    assert len(text) > 20
    assert constraint._states.held().state_bytes < 64_000_000


CALLS = """root ::= expr
expr ::= ".." | expr op expr | expr "." "."? args?
args ::= expr ("," expr)*
op ::= "-" | "--" | "---" | ".." | "=" | "==" | "==="
"""


def test_tokens_that_can_be_read_in_very_many_ways_are_those_read_byte_by_byte() -> None:
    runs = [bytes([byte]) * length for byte in b".-=" for length in (2, 3, 7, 32, 64)]
    mixed = [bytes(random.Random(seed).choices(b"..-=,", k=2 + seed % 30)) for seed in range(90)]
    tokens = [*(bytes([byte]) for byte in range(256)), *runs, *mixed, b"<end>"]
    constraint = gw.compile(gw.Gbnf(CALLS), gw.Vocabulary(tokens, eos_ids={len(tokens) - 1}))
    single = gw.compile(gw.Gbnf(CALLS), gw.Vocabulary([*tokens[:256], b"<end>"], eos_ids={256}))
    state, place = constraint.start(), single.start()
    for byte in b"........,..-..":
        allowed = unpack(constraint.mask(state)).tolist()
        assert [token for token in allowed if token < len(tokens) - 1] == [
            token for token, text in enumerate(tokens[:-1]) if read(single, text, place) is not None
        ]
        state, place = constraint.advance(state, byte), single.advance(place, byte)
    assert constraint._states.held().state_bytes < 64_000_000


# What a closure enters in very many ways is entered once: masks stay exact, and are soon made.

CLOSURES_TOKENS = [b"x", b"xx", b"(", b")", b"(x", b"x)", b"))", b"x(", b"y", b"xy", b"<end>"]
CLOSURES = gw.Vocabulary(CLOSURES_TOKENS, eos_ids={len(CLOSURES_TOKENS) - 1})


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
def test_masks_of_what_is_entered_in_many_ways_are_those_of_the_plain_engine(grammar: str) -> None:
    both, chosen = Both(gw.Lark(grammar, lexer="dynamic"), CLOSURES), random.Random(grammar)
    for _ in range(3):
        at = both.begin
        for _ in range(7):
            both.check(at)
            short = [t for t in unpack(both.fast.mask(at[0])).tolist() if t in (0, 2, 3, 8)]
            if not short:
                break
            at = both.after(at, chosen.choice(short))
