"""What automata begin with changes no mask, and is theirs alone."""

import json
from typing import Any

import pytest

import guideway as gw
from guideway.automaton.arena import Arena, Plan
from guideway.automaton.kernels import layout as at
from guideway.automaton.lexer_dfa import LexerDfa, shared_dfa
from guideway.automaton.lookahead_emptiness import Known
from guideway.automaton.pushdown_automaton import PushdownAutomaton, Seed, new_pda
from guideway.automaton.token_mask_cache import TokenMaskCache, shared_mask_cache
from guideway.json_schema.lowering import lower_json_schema
from guideway.language.derivative import Derivatives
from guideway.language.expr import literal

VOCABULARY = gw.Vocabulary([*(bytes((b,)) for b in range(256)), b'": ', b"[{", b"<end>"], {258})
ANY: dict[str, Any] = {"a": [1, {"b": None}], "c": {"d": "e\n"}, "f": -2.5e3}
TEXT = {"type": "string"}
CASES: list[tuple[Any, Any]] = [
    (True, ANY),
    ({"type": "array"}, [ANY, True]),
    ({"properties": {"n": {"type": "integer"}, "s": TEXT}}, {"n": 12, "s": "é", "x": 1}),
    ({"type": "array", "items": {"type": "object"}}, [{}, {"a": []}]),
    ({"items": {"enum": ["one", "two", 3]}}, ["two", 3]),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "value"), CASES)
def test_masks_are_those_of_a_pda_that_begins_with_nothing(schema: Any, value: Any) -> None:
    mask_cache = shared_mask_cache(VOCABULARY, shared_dfa(VOCABULARY.spellable))
    expr = lower_json_schema(gw.JsonSchema(schema))
    machine = Derivatives(expr)
    begun = new_pda(expr, machine, mask_cache)
    bare = PushdownAutomaton(expr, machine, mask_cache, Seed.bare(mask_cache))
    macros = [begun.enter(expr), bare.enter(expr)]
    for byte in json.dumps(value, ensure_ascii=False).encode():
        rows = [run.fill(macro)[0] for run, macro in zip((begun, bare), macros, strict=True)]
        assert rows[0].tolist() == rows[1].tolist()
        codes = [run.read(macro, byte) for run, macro in zip((begun, bare), macros, strict=True)]
        assert codes[0] & 3 == codes[1] & 3
        macros = [code >> 2 for code in codes]
        assert all(macros)


def test_what_a_pda_gets_to_know_its_seed_does_not() -> None:
    one, two = literal("one"), literal("two")
    seed = Known()
    assert seed.named(one) == (0, 0)
    known = seed.copy()
    assert known.named(two) == (1, 0)
    known.nodes[two] = 8
    assert (seed.exprs, seed.nodes) == ([one], {})
    assert (known.exprs, known.nodes) == ([one, two], {two: 8})


def test_a_mask_store_that_is_full_is_not_begun_with() -> None:
    mask_cache = TokenMaskCache(VOCABULARY, LexerDfa(VOCABULARY.spellable))
    expr = lower_json_schema(gw.JsonSchema(True))
    first, second = (new_pda(expr, Derivatives(expr), mask_cache) for _ in range(2))
    mask_cache.mask_store().full = True
    third = new_pda(expr, Derivatives(expr), mask_cache)
    mask_stores = [pda.arena.context.stored for pda in (first, second, third)]
    assert mask_stores[0] == mask_stores[1] != mask_stores[2]


def test_arenas_that_begin_alike_go_on_apart() -> None:
    empty = Plan.empty(TokenMaskCache(VOCABULARY, LexerDfa(VOCABULARY.spellable)))
    first = Arena(empty)
    texts = [bytes((byte,)) * 7 for byte in range(100)]
    literals = [first.make(at.LITERAL, first.pool(text), len(text), 0) for text in texts]
    plan = first.plan()
    arenas = [Arena(plan) for _ in range(40)]  # more than there are blocks at once
    made = [
        arena.make(at.LITERAL, arena.pool(b"own"), 3, number) for number, arena in enumerate(arenas)
    ]
    assert set(made) == {len(texts)}
    for number, (arena, node) in enumerate(zip(arenas, made, strict=True)):
        assert arena.pooled(*arena.record(node)[1:3]) == b"own"
        assert arena.record(node)[3] == number
        for pooled, text in zip(literals, texts, strict=True):
            assert arena.pooled(*arena.record(pooled)[1:3]) == text
            assert arena.make(at.LITERAL, *arena.record(pooled)[1:4]) == pooled
    assert Arena(empty).make(at.DEAD) == 0


def test_what_is_begun_with_beside_a_new_mask_store_is_not_made_anew() -> None:
    mask_cache = TokenMaskCache(VOCABULARY, LexerDfa(VOCABULARY.spellable))
    expr, before, seed = (
        lower_json_schema(gw.JsonSchema(True)),
        mask_cache.mask_store(),
        Seed.bare(mask_cache),
    )
    before.full = True
    after = seed.beside(mask_cache.mask_store())
    assert (after.known, after.plan.image) == (seed.known, seed.plan.image)
    pdas = [PushdownAutomaton(expr, Derivatives(expr), mask_cache, one) for one in (seed, after)]
    rows = [pda.fill(pda.enter(expr))[0] for pda in pdas]
    assert rows[0].tolist() == rows[1].tolist()
    assert not any(row is rows[0] for row in after.mask_store.rows)
    assert any(row is rows[1] for row in after.mask_store.rows)
