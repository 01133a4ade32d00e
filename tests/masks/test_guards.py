"""Masks where something is looked ahead for are those of the plain engine."""

import random
from typing import Any

import pytest

import fairlead as fl
from fairlead.automata.derivative import Derivatives
from fairlead.lowering.expr import (
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
from fairlead.lowering.nodes import Expr, Rule
from fairlead.lowering.sources import lower_source
from fairlead.masks import verdicts
from fairlead.masks.bits import unpack
from fairlead.masks.rows import Rows
from fairlead.masks.states import States
from two_engines import vocabulary

NOT_A = complement(concat(byte_set(b"a"), ANYTHING))
NOT_AB = complement(concat(literal("ab"), ANYTHING))
EVEN = repeat(concat(byte_set(b"abc"), byte_set(b"abc")))
HAS_C = concat(ANYTHING, literal("c"), ANYTHING)
GUARDS = (NOT_A, NOT_AB, EVEN, HAS_C)
TOKENS = [b"a", b"b", b"c", b"ab", b"bc", b"abc", b"cc", b"aa", b"aab", b"cab", b"ca", b"<end>"]
WORDS = fl.Vocabulary(TOKENS, eos_ids={len(TOKENS) - 1})
LETTERS = byte_set(b"abcdefghijklmnopqrstuvwxyz")
END_OF_WORD = complement(concat(LETTERS, ANYTHING))


def grammar(seed: int) -> Expr:
    """Rules over three letters, which look ahead here and there."""
    chance = random.Random(seed)
    rules = [Rule(f"r{number}", looks=2) for number in range(3)]

    def letter() -> Expr:
        return byte_set(bytes(chance.sample(b"abc", chance.choice([1, 1, 2]))))

    def look() -> Expr:
        return ahead(chance.choice(GUARDS), chance.randrange(2))

    def part(depth: int) -> Expr:
        kind = chance.randrange(9 if depth else 5)
        if kind < 5:
            return (letter, letter, look, lambda: chance.choice(rules), lambda: repeat(letter()))[
                kind
            ]()
        if kind < 7:
            return alt(look() if kind == 5 else word(depth - 1), word(depth - 1))
        return repeat(word(depth - 1), 0, chance.choice([1, 2, 4, None]))

    def word(depth: int) -> Expr:
        return concat(letter(), *(part(depth) for _ in range(chance.choice([0, 1, 1, 2]))))

    for rule in rules:
        rule.define(alt(word(2), word(1), letter()))
    inner = concat(ahead(chance.choice(GUARDS)), rules[0], stop(0))
    return chance.choice(
        [
            rules[0],
            concat(rules[0], rules[1]),
            concat(inner, rules[1]),
            concat(ahead(EVEN, 1), inner, repeat(byte_set(b"ac")), stop(1), repeat(letter())),
        ]
    )


def compared(expr: Expr, words: fl.Vocabulary, texts: int, tokens: int, seed: object = 0) -> int:
    """Compare masks along random texts; how many were."""
    machine = Derivatives(expr, words.spellable)
    plain = Rows(Derivatives(expr, words.spellable), words, fl.Budget())
    fast, chance, count = States(expr, machine, words, fl.Budget()), random.Random(seed), 0
    for _ in range(texts):
        state: Any = fast.start(b"")
        rest: Any = expr
        for _ in range(tokens):
            mask, row = fast.mask(state), plain.row(rest)
            assert unpack(mask).tolist() == unpack(row).tolist()
            assert state.accepts == rest.nullable
            count += 1
            allowed = [token for token in unpack(row).tolist() if token not in words.eos_ids]
            if not allowed:
                break
            token = chance.choice(allowed)
            state, rest = fast.after(state, token), plain.after(rest, token)
    return count


def checked(seeds: range) -> int:
    count = 0
    for seed in seeds:
        expr = grammar(seed)
        if Derivatives(expr, WORDS.spellable).alive(expr):
            count += compared(expr, WORDS, 3, 5, seed)
    return count


@pytest.mark.untraced
@pytest.mark.parametrize("first", range(0, 60, 20))
def test_grammars_that_look_ahead(first: int) -> None:
    assert checked(range(first, first + 20)) > 40


@pytest.mark.slow
def test_many_grammars_that_look_ahead() -> None:
    assert checked(range(60, 1500)) > 5000


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
    source = lower_source(fl.JsonSchema(schema, whitespace="compact"))
    expr = concat(ahead(item, 1), source, stop(1))
    assert compared(expr, vocabulary(150), 1, 6, wanted) > 2


def test_what_cannot_end_is_not_offered_however_far_that_is() -> None:
    rule = Rule("deep", looks=1)
    dead = concat(literal("a"), ahead(NOT_A), literal("a"))
    rule.define(alt(concat(literal("b"), rule, literal("b")), literal("cc"), dead))
    assert compared(concat(literal("c"), rule), WORDS, 2, 6) > 4


def test_a_search_that_takes_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    schema = {"type": "array", "items": {"type": "integer"}}
    source = lower_source(fl.JsonSchema(schema, whitespace="compact"))
    has_x = concat(ANYTHING, literal("x"), ANYTHING)
    expr = concat(ahead(alt(has_x, literal("[]"))), source)
    assert compared(expr, WORDS_OF_JSON, 1, 3) > 1
    monkeypatch.setattr(verdicts, "SHORT", 1)
    assert compared(expr, WORDS_OF_JSON, 1, 3) > 1


WORDS_OF_JSON = fl.Vocabulary([*(bytes((b,)) for b in range(256)), b"[]", b"<end>"], eos_ids={257})


def test_what_is_settled() -> None:
    open_end = concat(literal("x"), ahead(NOT_A))
    rule = Rule("rule", looks=1)
    rule.define(alt(open_end, concat(literal("("), rule, literal(")"))))
    look = verdicts._Settled
    assert look().look(repeat(open_end))
    assert look().look(alt(open_end, literal("y")))
    assert look().look(concat(stop(0), literal("y")))
    assert not look().look(rule)
    assert not look().look(repeat(open_end, 1))
    assert look().look(EPSILON)
