"""Vocabularies that lack single bytes; what is exact about them is in the laws of `Constraint`."""

import pytest

import guideway as gw
from guideway.automaton.token_tries import unpack
from guideway.errors import TokenRejected, UnsatisfiableError, UnsupportedError

LACKING = gw.Vocabulary([b"ab", b"b", b"<eos>"], {2})


def test_a_token_after_which_nothing_can_end_is_never_offered():
    constraint = gw.compile(gw.Regex("(ab)?b*a?"), LACKING)
    state = constraint.start()
    assert unpack(constraint.mask(state)).tolist() == [0, 1, 2]
    assert constraint.matches("abb")
    assert not constraint.matches("a")
    assert constraint.example() == ""


def test_the_distance_is_in_tokens():
    constraint = gw.compile(gw.Regex("(ab){3}b{2}"), LACKING)
    assert constraint.distance(constraint.start()) == 5
    assert constraint.example() == "abababbb"
    with pytest.raises(TokenRejected):
        constraint.advance(constraint.start(), 1)


def test_a_language_that_tokens_cannot_spell_is_refused():
    with pytest.raises(UnsatisfiableError, match="cannot spell any text"):
        gw.compile(gw.Choice(["a", "ba"]), LACKING)
    constraint = gw.compile(gw.Choice(["b"]), LACKING)
    with pytest.raises(UnsatisfiableError, match="cannot spell any text"):
        constraint.start(lead=b"aa")
    assert constraint.distance(constraint.start(lead=b"ab")) == 2


def test_a_language_with_too_many_states_is_refused_by_name():
    tokens = [bytes((byte,)) for byte in b'{}[]":,n'] + [b"null", b"ul"]
    vocabulary = gw.Vocabulary(tokens)
    with pytest.raises(UnsupportedError, match="single bytes b'lu'"):
        gw.compile(gw.JsonSchema(True), vocabulary)


def test_only_the_first_missing_bytes_are_listed():
    pairs = [bytes((65, byte)) for byte in range(66, 90)]
    vocabulary = gw.Vocabulary([b'"', b"{", b"}", b":", b"1", *pairs])
    schema = {"type": "object", "additionalProperties": {"const": 1}}
    with pytest.raises(UnsupportedError, match="and more"):
        gw.compile(gw.JsonSchema(schema, whitespace="compact"), vocabulary)


def test_what_can_be_read_but_not_ended_is_rejected():
    vocabulary = gw.Vocabulary([b"a", b"bc", b"c", b"aa"])
    constraint = gw.compile(gw.Choice(["aac", "cab"]), vocabulary)
    state = constraint.start()
    assert unpack(constraint.mask(state)).tolist() == [0, 3]
    with pytest.raises(TokenRejected):
        constraint.advance(state, 2)
    assert constraint.example() == "aac"  # "aa" is reached in two ways, and "c" leads nowhere
