"""Masks where something is looked ahead for are those of the plain engine."""

from typing import Any

import pytest

import guideway as gw
from guideway.automaton.plain_masks import Rows
from guideway.automaton.states import States
from guideway.automaton.token_tries import unpack
from guideway.constraint.lowering import lower_source
from guideway.language.derivative import Derivatives
from guideway.language.expr import (
    ANYTHING,
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
from guideway.language.nodes import Rule
from looking_grammars import NOT_A, random_grammar
from two_engines import compared, vocabulary

TOKENS = [b"a", b"b", b"c", b"ab", b"bc", b"abc", b"cc", b"aa", b"aab", b"cab", b"ca", b"<end>"]
WORDS = gw.Vocabulary(TOKENS, eos_ids={len(TOKENS) - 1})
LETTERS = byte_set(b"abcdefghijklmnopqrstuvwxyz")
END_OF_WORD = complement(concat(LETTERS, ANYTHING))


@pytest.mark.untraced
@pytest.mark.parametrize(("seeds", "least"), [
    *((range(first, first + 20), 40) for first in (0, 20, 40)),
    pytest.param(range(60, 1500), 5000, marks=pytest.mark.slow),
])  # fmt: skip
def test_grammars_that_look_ahead(seeds: range, least: int) -> None:
    count = 0
    for seed in seeds:
        expr = random_grammar(seed)
        if Derivatives(expr, WORDS.spellable).alive(expr):
            count += compared(expr, WORDS, 3, 5, seed)
    assert count > least


def test_words_and_keywords() -> None:
    keyword = alt(*(concat(literal(word), ahead(END_OF_WORD)) for word in ("if", "in")))
    name = concat(both(repeat(LETTERS, 1), complement(alt(literal("if"), literal("in")))))
    word = alt(keyword, concat(name, ahead(END_OF_WORD)))
    space = repeat(literal(" "))
    inner = Rule("inner", looks=1)
    inner.define(alt(word, concat(literal("("), inner, space, literal(")"))))
    expr = concat(inner, repeat(concat(space, inner)))
    assert compared(expr, vocabulary(600), 3, 8) > 10


SCHEMAS: list[Any] = [
    {"type": "object", "properties": {"a": {"type": "integer"}, "bc": {"enum": ["x", "yy"]}}},
    {"type": "array", "items": {"type": "string", "maxLength": 5}, "maxItems": 3},
    {"type": "string", "pattern": "^[ab]{2,7}x?$", "maxLength": 6},
    {"enum": ["ab", "abc", {"k": [1, None]}, 12.5]},
    {"type": "array", "uniqueItems": True, "items": {"enum": [1, 12, "a"]}},
]


@pytest.mark.untraced
@pytest.mark.parametrize("schema", SCHEMAS)
@pytest.mark.parametrize("wanted", ["no space", "of a length"])
def test_json_under_a_guard(schema: Any, wanted: str) -> None:
    space = complement(concat(ANYTHING, byte_set(b" \t\r\n"), ANYTHING))
    item = space if wanted == "no space" else repeat(byte_set((1 << 256) - 1), 0, 30)
    source = lower_source(gw.JsonSchema(schema, whitespace="compact"))
    expr = concat(ahead(item, 1), source, stop(1))
    assert compared(expr, vocabulary(150), 1, 6, wanted) > 2


LONGER = [
    b"],[", b"],[[", b"],[1", b"],{", b'},{"', b'},{"a"', b'":', b"],1", b"1,2],[1,2]]", b"]]x",
]  # fmt: skip
BYTES = [bytes((byte,)) for byte in range(256)]
LONG_WORDS = gw.Vocabulary([*BYTES, *LONGER, b"<end>"], eos_ids={266})


@pytest.mark.parametrize(
    "text", [b"[[[],[[]]],[[]],[]]", b"[[1,2],[1,2,3]]", b'[{"a":{"b":1}},{"a":{"c":1},"d":2}]']
)
def test_items_that_differ_under_a_guard(text: bytes) -> None:
    """Masks of either engine hold what can be read, also where it depends on what was captured."""
    schema = {"type": "array", "uniqueItems": True, "items": {}}
    source = lower_source(gw.JsonSchema(schema, whitespace="compact", spelling="plain"))
    expr = concat(ahead(repeat(byte_set((1 << 256) - 1), 0, 90), 1), source, stop(1))
    plain = Rows(Derivatives(expr, LONG_WORDS.spellable), LONG_WORDS, gw.Budget())
    fast = States(expr, Derivatives(expr, LONG_WORDS.spellable), LONG_WORDS, gw.Budget())
    state: Any = fast.start(b"")
    rest: Any = expr
    for byte in text:
        allowed = [token for token in range(266) if plain.after(rest, token) is not None]
        assert unpack(plain.row(rest)).tolist() == allowed
        assert unpack(fast.mask(state)).tolist() == allowed
        state, rest = fast.after(state, byte), plain.after(rest, byte)


def test_what_cannot_end_is_not_offered_however_far_that_is() -> None:
    rule = Rule("deep", looks=1)
    dead = concat(literal("a"), ahead(NOT_A), literal("a"))
    rule.define(alt(concat(literal("b"), rule, literal("b")), literal("cc"), dead))
    assert compared(concat(literal("c"), rule), WORDS, 2, 6) > 4


def test_what_the_vocabulary_cannot_spell_is_not_looked_ahead_for() -> None:
    unspelled = ahead(concat(literal("z"), ANYTHING))
    expr = concat(literal("a"), alt(concat(unspelled, literal("b")), literal("cc")))
    assert compared(expr, WORDS, 2, 4) > 3


def test_counts_under_a_guard() -> None:
    characters = alt(byte_set(b"ab"), literal("é"), literal("è"))
    has_b = concat(ANYTHING, literal("b"), ANYTHING)
    rule = Rule("rule", looks=2)
    rule.define(concat(literal("x"), repeat(characters, 4, 9), alt(rule, literal("y"))))
    expr = concat(ahead(has_b, 1), rule)
    words = gw.Vocabulary([*(bytes((b,)) for b in range(256)), b"ab", b"<end>"], eos_ids={257})
    assert compared(expr, words, 3, 9) > 10
