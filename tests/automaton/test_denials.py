"""Meets that deny themselves have no text, which is seen without a search."""

import pytest

from guideway.automaton.kernels import record_layout as at
from guideway.automaton.lexer_dfa import LexerDfa
from guideway.language.derivative import Derivatives
from guideway.language.expr import (
    ALL_BYTES,
    EMPTY,
    alt,
    both,
    byte_set,
    complement,
    concat,
    literal,
    repeat,
)
from guideway.language.nodes import Expr

TEXT, LETTER, MORE = repeat(byte_set(b"abc")), byte_set(b"xy"), repeat(literal("ab"), 2)
HEADS = [byte_set(bytes([letter, letter + 1])) for letter in b"ACEGIKMOQS"]


def behind(heads: list[Expr], rest: Expr) -> Expr:
    return concat(*heads, rest)


@pytest.mark.parametrize(
    ("one", "denied", "seen"),
    [
        (TEXT, TEXT, True),
        (TEXT, alt(TEXT, MORE), True),
        (alt(TEXT, concat(MORE, LETTER)), alt(TEXT, literal("z"), concat(MORE, LETTER)), True),
        (alt(TEXT, concat(MORE, LETTER)), alt(TEXT, literal("z"), concat(LETTER, MORE)), False),
        (TEXT, alt(MORE, literal("zz")), False),
        (behind(HEADS[:3], TEXT), behind(HEADS[:3], alt(TEXT, MORE)), True),
        (behind(HEADS[:1], TEXT), alt(MORE, behind(HEADS[:1], alt(TEXT, MORE))), True),
        (behind(HEADS[:1], TEXT), alt(MORE, behind(HEADS[1:2], alt(TEXT, MORE))), False),
        (behind(HEADS[:1], TEXT), behind(HEADS[1:2], alt(TEXT, MORE)), False),
        (behind(HEADS, TEXT), behind(HEADS, alt(TEXT, MORE)), False),  # deeper than is looked
        (LETTER, concat(LETTER, MORE), False),
    ],
)
def test_what_is_plainly_denied_is_nothing(one: Expr, denied: Expr, seen: bool) -> None:
    states, machine = LexerDfa(ALL_BYTES), Derivatives(EMPTY)
    for meet in (both(one, complement(denied)), both(complement(denied), one)):
        assert (states.records.record(meet) == at.EMPTY) is seen
        assert states.alive(meet) is machine.alive(meet)
        assert not (seen and machine.alive(meet))
