"""Shortest words where rules recur; plain expressions are covered with the derivatives."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guideway.errors import LimitError
from guideway.json_schema.lowering import Lowering
from guideway.json_schema.source import JsonSchema
from guideway.language.derivative import Derivatives
from guideway.language.expr import alt, both, byte_set, concat, literal, optional, repeat
from guideway.language.nodes import Rule
from guideway.language.shortest_string import NOTHING, Word


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
    ends = Rule("ends")
    ends.define(alt(concat(literal("a"), ends), literal("b")))
    assert shortest(repeat(ends, 2, 3)) == b"bb"
    assert shortest(concat(ends, a)) is None


def test_a_long_chain_of_rules_is_settled_in_one_go():
    rules = [Rule(f"r{i}") for i in range(3000)]
    for this, following in itertools.pairwise(rules):
        this.define(concat(literal("("), following, literal(")")))
    rules[-1].define(literal("."))
    assert shortest(rules[0]) == b"(" * 2999 + b"." + b")" * 2999


@given(st.integers(0, 40), st.integers(0, 40))
def test_counts_meet(low, more):
    at_least = repeat(byte_set(b"ab"), low)
    multiple = repeat(repeat(byte_set(b"b"), 3, 3), 0, more)
    expected = next((3 * k for k in range(more + 1) if 3 * k >= low), None)
    word = shortest(both(at_least, multiple))
    assert word == (None if expected is None else b"b" * expected)


def test_templates_ask_for_the_words_of_their_parts() -> None:
    items = {"type": "array", "items": {"enum": [1, 2]}, "uniqueItems": True}
    for least, text in ((2, b"[1,2]"), (3, None)):
        source = JsonSchema({**items, "minItems": least}, whitespace="compact")
        assert shortest(Lowering(source).text()) == text


def test_settling_makes_whatever_can_be_entered_and_may_be_refused() -> None:
    inner = {"oneOf": [{"type": "array", "items": {"required": ["x"]}}, {"minProperties": 1}]}
    properties = {"a": inner, "c": {"contains": {"minProperties": 2}}}
    lowering = Lowering(JsonSchema({"properties": properties, "minProperties": 1}))
    engine = Derivatives(lowering.text())
    engine.settle()
    assert all(rule.bodies for rule in lowering._rules.values())


# Words as linked pieces against plain bytes.

words = st.recursive(
    st.binary(max_size=3).map(Word.of),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda pair: pair[0].then(pair[1])),
        st.tuples(inner, st.integers(0, 3)).map(lambda pair: pair[0].repeated(pair[1])),
    ),
    max_leaves=6,
)


@given(words, words, st.integers(0, 3))
def test_words_are_what_their_bytes_are(first, second, times):
    assert first.length == len(first.text)
    assert first.then(second).text == first.text + second.text
    assert first.repeated(times).text == first.text * times
    shorter = (first.length, first.text) < (second.length, second.text)
    assert (first < second) == shorter
    assert not first < first
    assert NOTHING.then(first) is first


@pytest.mark.untraced
def test_a_long_text_takes_memory_once():
    text = b"abcdefghij" * 3_000
    machine = Derivatives(literal(text))
    assert machine.shortest(machine.start()) == text
    following = machine.step(machine.start(), ord("a"))
    assert following is not None
    assert machine.shortest_length(following) == len(text) - 1


def test_a_text_that_is_too_long_to_write_is_measured_all_the_same():
    machine = Derivatives(repeat(literal("ab"), 10**9))
    assert machine.shortest_length(machine.start()) == 2 * 10**9
    with pytest.raises(LimitError, match="2000000000 bytes") as error:
        machine.shortest(machine.start())
    assert error.value.needed == 2 * 10**9
