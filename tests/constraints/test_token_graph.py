"""Vocabularies that lack single bytes; what is exact about them is in the laws of `Constraint`."""

import pytest

import fairlead as fl
from fairlead.errors import TokenRejected, UnsatisfiableError, UnsupportedError
from fairlead.masks.bits import unpack

LACKING = fl.Vocabulary([b"ab", b"b", b"<eos>"], {2})


def test_a_token_after_which_nothing_can_end_is_never_offered():
    constraint = fl.compile(fl.Regex("(ab)?b*a?"), LACKING)
    state = constraint.start()
    assert unpack(constraint.mask(state)).tolist() == [0, 1, 2]
    assert constraint.matches("abb")
    assert not constraint.matches("a")
    assert constraint.example() == ""


def test_the_distance_is_in_tokens():
    constraint = fl.compile(fl.Regex("(ab){3}b{2}"), LACKING)
    assert constraint.distance(constraint.start()) == 5
    assert constraint.example() == "abababbb"
    with pytest.raises(TokenRejected):
        constraint.advance(constraint.start(), 1)


def test_a_language_that_tokens_cannot_spell_is_refused():
    with pytest.raises(UnsatisfiableError, match="no sequence of tokens"):
        fl.compile(fl.Choice(["a", "ba"]), LACKING)
    constraint = fl.compile(fl.Choice(["b"]), LACKING)
    with pytest.raises(UnsatisfiableError, match="no sequence of tokens"):
        constraint.start(lead=b"aa")
    assert constraint.distance(constraint.start(lead=b"ab")) == 2


def test_a_language_with_too_many_states_is_refused_by_name():
    tokens = [bytes((byte,)) for byte in b'{}[]":,n'] + [b"null", b"ul"]
    vocabulary = fl.Vocabulary(tokens)
    with pytest.raises(UnsupportedError, match="single bytes b'lu'"):
        fl.compile(fl.JsonSchema(True), vocabulary)


def test_only_the_first_missing_bytes_are_listed():
    pairs = [bytes((65, byte)) for byte in range(66, 90)]
    vocabulary = fl.Vocabulary([b'"', b"{", b"}", b":", b"1", *pairs])
    schema = {"type": "object", "additionalProperties": {"const": 1}}
    with pytest.raises(UnsupportedError, match="and more"):
        fl.compile(fl.JsonSchema(schema, whitespace="compact"), vocabulary)


def test_what_can_be_read_but_not_ended_is_rejected():
    vocabulary = fl.Vocabulary([b"a", b"bc", b"c", b"aa"])
    constraint = fl.compile(fl.Choice(["aac", "cab"]), vocabulary)
    state = constraint.start()
    assert unpack(constraint.mask(state)).tolist() == [0, 3]
    with pytest.raises(TokenRejected):
        constraint.advance(state, 2)
    assert constraint.example() == "aac"  # "aa" is reached in two ways, and "c" leads nowhere
