"""What networks begin with changes no mask, and is theirs alone."""

import gc
import json
from typing import Any

import numpy as np
import pytest

import guideway as gw
from guideway.automata.derivative import Derivatives
from guideway.lowering.expr import literal
from guideway.lowering.json_schema import lower_json_schema
from guideway.masks import plans
from guideway.masks.arena import Arena
from guideway.masks.gallery import Gallery, shared_gallery
from guideway.masks.kernels import layout as at
from guideway.masks.known import Facts, Known
from guideway.masks.lexicon import Lexicon, shared_lexicon
from guideway.masks.network import Network
from guideway.masks.networks import new_network
from guideway.masks.plans import Plan
from guideway.masks.seeds import Seed

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


def test_what_a_seed_knows_is_known_beside_what_a_network_gets_to_know() -> None:
    one, two = literal("one"), literal("two")
    known = Known(Facts({one: 7}, [one], frozenset((7,)), frozenset()))
    assert known.named(two) == (1, 0)
    known.set_node(two, 8)
    assert [known[n] for n in range(len(known))] == [one, two]
    assert (known.node(one), known.node(two)) == (7, 8)
    assert known.is_told(7)
    assert not known.is_told(8)
    facts = known.facts()
    assert (facts.nodes, facts.exprs) == ({one: 7, two: 8}, [one, two])


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


def test_memory_that_was_used_before_is_as_good_as_new(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = Plan.empty(Gallery(VOCABULARY, Lexicon(VOCABULARY.spellable)))
    block = plan.block()
    fresh, context = block.memory.tobytes(), block.context.copy()
    context[[at.STACKS, at.MACROS, at.CONFIGS, at.TEXTS]] = 3, 5, 1 << 20, 2
    for count in plans._TOUCHED.values():
        context[count] = max(int(context[count]), 2)
    bytes_used = {at.STACK: 24, at.MACRO: 80, at.FIRST: 160}
    bytes_used |= {at.TEXT: 16, at.NODE: 0, at.TARGET: 0, at.SETTLED: 0, at.PAIR: 16, at.LENGTH: 64}
    bytes_used |= dict.fromkeys(plans._WRITTEN, 0)  # which are not cleared
    for slot, (begin, kind, count) in plan.parts.items():
        size = bytes_used.get(slot, count * np.dtype(kind).itemsize)
        block.memory[begin : begin + size] = 7
    with monkeypatch.context() as ending:
        ending.setattr(plans, "np", None)  # as names of modules go first when Python ends
        plan.take_back(block, context)
    again = plan.block()
    assert again is block
    assert again.memory.tobytes() == fresh
    blocks = [plan.block() for _ in range(100)]
    for given in blocks:
        plan.take_back(given, given.context)
    given_again = {id(plan.block()) for _ in range(16)}
    assert given_again <= {id(given) for given in blocks}
    assert id(plan.block()) not in given_again


def test_an_arena_that_is_gone_gives_its_memory_to_the_next() -> None:
    plan = Plan.empty(Gallery(VOCABULARY, Lexicon(VOCABULARY.spellable)))
    first = Arena(plan)
    node = first.make(at.LITERAL, first.pool(b"first"), 5, 0)
    where = first.context[at.NODE]
    del first
    gc.collect()
    second = Arena(plan)
    assert second.context[at.NODE] == where
    assert second.make(at.LITERAL, second.pool(b"other"), 5, 0) == node
    assert second.pooled(*second.record(node)[1:3]) == b"other"


def test_what_is_begun_with_beside_a_new_shelf_is_not_made_anew() -> None:
    gallery = Gallery(VOCABULARY, Lexicon(VOCABULARY.spellable))
    expr, before, seed = lower_json_schema(gw.JsonSchema(True)), gallery.shelf(), Seed.bare(gallery)
    before.full = True
    after = seed.beside(gallery.shelf())
    assert (after.facts, after.plan.image) == (seed.facts, seed.plan.image)
    networks = [Network(expr, Derivatives(expr), gallery, one) for one in (seed, after)]
    rows = [network.fill(network.enter(expr))[0] for network in networks]
    assert rows[0].tolist() == rows[1].tolist()
    assert not any(row is rows[0] for row in after.shelf.rows)
    assert any(row is rows[1] for row in after.shelf.rows)


def test_lists_have_as_much_room_as_there_is_memory_for() -> None:
    bare = Seed.bare(Gallery(VOCABULARY, Lexicon(VOCABULARY.spellable)))
    roomy, wider = bare.roomy().plan, set[int]()
    assert roomy.parts == bare.plan.parts
    for count, table in plans.TABLES.items():
        room = int(roomy.context[table.room])
        if room > bare.plan.context[table.room]:
            wider.add(count)
        assert all(room * each <= roomy.parts[slot][2] for slot, _, each in table.arrays)
        assert all(room * each == roomy.parts[slot][2] for slot, _, each in table.hashes)
    assert wider == {at.CONFIGS, at.VISITED, at.REACHED}
