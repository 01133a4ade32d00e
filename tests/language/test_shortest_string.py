"""Shortest words where rules recur; plain expressions are covered with the derivatives."""

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guideway.errors import LimitError
from guideway.json_schema.arrays import ItemsTemplate
from guideway.json_schema.members import MembersTemplate
from guideway.language import shortest_string as least
from guideway.language.budget import Budget, Meter
from guideway.language.derivative import Derivatives
from guideway.language.expr import (
    ANYTHING,
    EMPTY,
    alt,
    both,
    byte_set,
    complement,
    concat,
    literal,
    optional,
    repeat,
)
from guideway.language.nodes import Rule
from json_schemas import machine


def shortest(expr):
    machine = Derivatives(expr)
    return machine.shortest(expr) if machine.alive(expr) else None


def test_recursion_takes_the_way_out():
    a, b = Rule("a"), Rule("b")
    a.define(alt(concat(literal("("), b, literal(")")), literal("xxxxxxx")))
    b.define(alt(concat(literal("<"), a, literal(">")), literal("yy")))
    assert shortest(a) == b"(yy)"
    assert shortest(b) == b"yy"


def test_a_better_word_of_an_inner_rule_reaches_the_outer_one():
    a, b, c = Rule("a"), Rule("b"), Rule("c")
    a.define(alt(concat(b, b), literal("zzzzz")))
    b.define(alt(concat(literal("1"), c), concat(a, literal("0"))))
    c.define(alt(concat(a, a), literal("2")))
    assert shortest(a) == b"1212"


def test_rules_without_any_finite_word_have_none():
    a, b = Rule("a"), Rule("b")
    a.define(concat(literal("("), b))
    b.define(concat(literal(")"), a))
    assert shortest(a) is None
    assert shortest(optional(a)) == b""
    assert shortest(repeat(a, 1)) is None
    assert shortest(concat(literal("x"), alt(a, literal("y")))) == b"xy"


def test_a_long_chain_of_rules_is_settled_in_one_go():
    rules = [Rule(f"r{i}") for i in range(3000)]
    for this, following in itertools.pairwise(rules):
        this.define(concat(literal("("), following, literal(")")))
    rules[-1].define(literal("."))
    assert shortest(rules[0]) == b"(" * 2999 + b"." + b")" * 2999


def test_an_intersection_without_words_is_empty():
    odd = concat(byte_set(b"ab"), repeat(repeat(byte_set(b"ab"), 2, 2)))
    even = repeat(repeat(byte_set(b"ab"), 2, 2))
    assert shortest(both(odd, even)) is None
    assert shortest(both(ANYTHING, EMPTY)) is None
    assert shortest(both(odd, complement(byte_set(b"ab")))) == b"aaa"


@given(st.integers(0, 40), st.integers(0, 40))
def test_counts_meet(low, more):
    at_least = repeat(byte_set(b"ab"), low)
    multiple = repeat(repeat(byte_set(b"b"), 3, 3), 0, more)
    expected = next((3 * k for k in range(more + 1) if 3 * k >= low), None)
    word = shortest(both(at_least, multiple))
    assert word == (None if expected is None else b"b" * expected)


def test_known_words_shorten_later_searches():
    expr = both(repeat(byte_set(b"ab"), 5), complement(concat(literal("a"), ANYTHING)))
    machine = Derivatives(expr)
    assert machine.shortest(expr) == b"baaaa"
    following = machine.step(expr, ord("b"))
    assert following is not None
    assert machine.shortest(following) == b"aaaa"
    wider = alt(expr, both(repeat(byte_set(b"b"), 4), complement(literal("bbbb"))))
    assert machine.shortest(wider) == b"baaaa"


def test_a_rule_that_a_search_inside_solves_is_not_guessed_again():
    engine = machine(
        {
            "enum": [{"bar": 2}],
            "not": {
                "allOf": [
                    {"properties": {"bar": {"type": "integer"}}, "required": ["bar"]},
                    {"properties": {"foo": {"type": "string"}}, "required": ["foo"]},
                ]
            },
        }
    )
    assert engine.shortest(engine.start()) == b'{"bar":2}'


def test_a_meet_without_a_text_takes_pairs_of_parts_and_not_sets_of_them():
    letter = byte_set(b"ab")
    first, second = (
        concat(repeat(letter), byte_set(one), repeat(letter, 20, 20)) for one in (b"a", b"b")
    )
    made: list[int] = []
    machine = Derivatives(both(first, second), fuel=made.append)
    assert not machine.alive(machine.start())  # which has 2^21 sets of parts
    assert sum(made) < 10_000
    assert shortest(both(first, complement(second))) == b"a" * 21


def test_words_of_languages_with_many_parts_are_not_kept_for_all():
    few, many = literal("few" * 3), literal("many" * 100)
    assert shortest_of(few) == b"few" * 3
    assert shortest_of(many) == b"many" * 100
    assert few in least._shared
    assert many not in least._shared


def shortest_of(expr):
    return Derivatives(expr).shortest(expr)


def test_a_long_word_takes_fuel_for_what_is_kept_of_it():
    long = both(repeat(alt(literal("ab"), literal("c"))), repeat(byte_set(b"abc"), 10**6, 10**7))
    looked = 0

    def count(made: int) -> None:
        nonlocal looked
        looked += 1
        meter.tick(made)

    meter = Meter(Budget(fuel=100_000))
    engine = Derivatives(long, fuel=count)
    with pytest.raises(LimitError):
        engine.shortest(long)
    assert looked < 10_000


@pytest.mark.parametrize(
    ("template", "schema"),
    [
        (MembersTemplate, {"type": "object", "minProperties": 40}),
        (ItemsTemplate, {"type": "array", "uniqueItems": True, "minItems": 40}),
    ],
)
def test_what_needs_many_different_texts_is_asked_a_few_times(monkeypatch, template, schema):
    asked = list[object]()
    least_of = template.least

    def counted(self, argument, least):
        asked.append(argument)
        return least_of(self, argument, least)

    monkeypatch.setattr(template, "least", counted)
    engine = machine(schema, whitespace="compact")
    word = engine.shortest(engine.start())
    assert len(json.loads(word)) == 40
    assert len(asked) < 8


@pytest.mark.parametrize("levels", [0, 1])
def test_words_are_the_same_however_deep_what_is_asked_for_is_found_at_once(monkeypatch, levels):
    schemas = [
        {"type": "array", "uniqueItems": True, "minItems": 5},
        {"type": "object", "minProperties": 3, "additionalProperties": {"minProperties": 2}},
        {"$ref": "#/$defs/a", "$defs": {"a": {
            "type": "array", "minItems": 2, "maxItems": 3, "uniqueItems": True,
            "items": {"anyOf": [{"$ref": "#/$defs/a"}, {"type": "object", "minProperties": 2}]},
        }}},
    ]  # fmt: skip
    expected = [shortest_text(schema) for schema in schemas]
    monkeypatch.setattr(least, "_LEVELS", levels)
    assert [shortest_text(schema) for schema in schemas] == expected


def shortest_text(schema):
    engine = machine(schema, whitespace="compact")
    return engine.shortest(engine.start())
