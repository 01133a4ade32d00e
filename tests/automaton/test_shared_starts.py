"""What networks begin with changes no mask, and is theirs alone."""

import json
from typing import Any

import pytest

import guideway as gw
from guideway.automaton.arena import Arena, Plan
from guideway.automaton.kernels import layout as at
from guideway.automaton.lexer_dfa import Lexicon, shared_lexicon
from guideway.automaton.lookahead_emptiness import Known
from guideway.automaton.pushdown_automaton import Network, Seed, new_network
from guideway.automaton.token_mask_cache import Gallery, shared_gallery
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
def test_masks_are_those_of_a_network_that_begins_with_nothing(schema: Any, value: Any) -> None:
    gallery = shared_gallery(VOCABULARY, shared_lexicon(VOCABULARY.spellable))
    expr = lower_json_schema(gw.JsonSchema(schema))
    machine = Derivatives(expr)
    begun = new_network(expr, machine, gallery)
    bare = Network(expr, machine, gallery, Seed.bare(gallery))
    macros = [begun.enter(expr), bare.enter(expr)]
    for byte in json.dumps(value, ensure_ascii=False).encode():
        rows = [run.fill(macro)[0] for run, macro in zip((begun, bare), macros, strict=True)]
        assert rows[0].tolist() == rows[1].tolist()
        codes = [run.read(macro, byte) for run, macro in zip((begun, bare), macros, strict=True)]
        assert codes[0] & 3 == codes[1] & 3
        macros = [code >> 2 for code in codes]
        assert all(macros)


def test_what_a_network_gets_to_know_its_seed_does_not() -> None:
    one, two = literal("one"), literal("two")
    seed = Known()
    assert seed.named(one) == (0, 0)
    known = seed.copy()
    assert known.named(two) == (1, 0)
    known.nodes[two] = 8
    assert (seed.exprs, seed.nodes) == ([one], {})
    assert (known.exprs, known.nodes) == ([one, two], {two: 8})


def test_a_shelf_that_is_full_is_not_begun_with() -> None:
    gallery = Gallery(VOCABULARY, Lexicon(VOCABULARY.spellable))
    expr = lower_json_schema(gw.JsonSchema(True))
    first, second = (new_network(expr, Derivatives(expr), gallery) for _ in range(2))
    gallery.shelf().full = True
    third = new_network(expr, Derivatives(expr), gallery)
    shelves = [network.arena.context[at.SHELF] for network in (first, second, third)]
    assert shelves[0] == shelves[1] != shelves[2]


def test_arenas_that_begin_alike_go_on_apart() -> None:
    empty = Plan.empty(Gallery(VOCABULARY, Lexicon(VOCABULARY.spellable)))
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


def test_what_is_begun_with_beside_a_new_shelf_is_not_made_anew() -> None:
    gallery = Gallery(VOCABULARY, Lexicon(VOCABULARY.spellable))
    expr, before, seed = lower_json_schema(gw.JsonSchema(True)), gallery.shelf(), Seed.bare(gallery)
    before.full = True
    after = seed.beside(gallery.shelf())
    assert (after.known, after.plan.image) == (seed.known, seed.plan.image)
    networks = [Network(expr, Derivatives(expr), gallery, one) for one in (seed, after)]
    rows = [network.fill(network.enter(expr))[0] for network in networks]
    assert rows[0].tolist() == rows[1].tolist()
    assert not any(row is rows[0] for row in after.shelf.rows)
    assert any(row is rows[1] for row in after.shelf.rows)
