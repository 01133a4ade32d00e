"""JSON read strictly: against `json` where that is right, and refused where it is lax."""

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.errors import LimitError, SourceError
from fairlead.syntax.json_text import MAX_DEPTH, extend, read_json, show, walk, write_json

VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text()),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(), inner)),
)


@given(VALUES)
def test_what_is_written_is_read_back(value):
    assert read_json(write_json(value)) == value == json.loads(write_json(value))


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_is_read_as_the_decimal_that_stands_there(value):
    read = read_json(write_json(value))
    assert read == Decimal(repr(value))


def test_tuples_and_long_decimals_keep_every_digit():
    assert read_json(write_json({"a": (1, 2)})) == {"a": [1, 2]}
    digits = "0." + "123456789" * 20
    assert read_json(digits) == Decimal(digits)


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ('{"a": }', "line 1, column 7", "not JSON: Expecting value"),
        ('{\n"a" 1}', "line 2, column 5", "not JSON"),
        ("", "line 1, column 1", "not JSON"),
        ('{"x": {"a": 1, "b": 2, "a": 3}}', "/x", 'the key "a" stands twice in one object'),
        ('[{}, {"a/b": {"": 1, "": 1}}]', "/1/a~1b", 'the key "" stands twice'),
        ("[NaN]", "", "NaN is no JSON number"),
        ("-Infinity", "", "-Infinity is no JSON number"),
        ('["\\ud800"]', "/0", "half of a surrogate pair is no character"),
        ('{"a": {"\\udc00x": 1}}', "/a", r"\udc00x"),
    ],
)
def test_what_is_no_strict_json_is_refused_with_its_place(text, place, message):
    with pytest.raises(SourceError) as caught:
        read_json(text)
    assert message in str(caught.value)
    assert caught.value.place == place


def test_a_syntax_error_has_a_caret():
    with pytest.raises(SourceError) as caught:
        read_json('{"a": 1,}')
    assert str(caught.value).splitlines()[1:] == ['  {"a": 1,}', "          ^"]


@pytest.mark.parametrize(
    ("value", "place", "message"),
    [
        ({"a": {1: 2}}, "/a", "a JSON key is a string, not 1 (int)"),
        ({"a": [0, {1, 2}]}, "/a/1", "not set"),
        ({"a": Decimal(1)}, "/a", "not Decimal"),
        ([float("nan")], "", "a number is NaN, infinite or longer"),
        ([float("inf")], "", "a number is NaN, infinite or longer"),
    ],
)
def test_a_python_value_that_is_no_json_is_refused_with_its_place(value, place, message):
    with pytest.raises(SourceError) as caught:
        write_json(value)
    assert message in str(caught.value)
    assert caught.value.place == place


def test_a_python_integer_too_long_for_a_text_is_refused():
    with pytest.raises(SourceError, match="longer than 4000 digits"):
        write_json({"a": 10**5000})


@pytest.mark.parametrize("brackets", [("[", "]"), ('{"a":', "}")])
@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 5_000, 200_000])
def test_deep_nesting_is_a_limit_and_no_crash(brackets, depth):
    opening, closing = brackets
    text = opening * depth + "[]" + closing * depth
    with pytest.raises(LimitError) as caught:
        read_json(text)
    assert caught.value.limit == "depth"
    assert len(str(caught.value)) < 200


def test_nesting_up_to_the_limit_is_read():
    text = "[" * MAX_DEPTH + "]" * MAX_DEPTH
    assert read_json(text) == json.loads(text)


def test_a_python_value_that_contains_itself_is_a_limit():
    loop: list[object] = []
    loop.append(loop)
    with pytest.raises(LimitError):
        write_json(loop)


@pytest.mark.parametrize("text", ["1" * 4001, "1e5000", "1e-5000", "[1." + "0" * 4001 + "]"])
def test_numbers_of_too_many_digits_are_a_limit(text):
    with pytest.raises(LimitError) as caught:
        read_json(text)
    assert caught.value.limit == "digits"


def test_a_zero_may_have_any_exponent():
    assert read_json("0e99999") == 0


def test_pointers_escape_what_they_are_made_of():
    assert extend("/a", "x/y~z") == "/a/x~1y~0z"
    assert dict(walk({"a": [True]})) == {"": {"a": [True]}, "/a": [True], "/a/0": True}


def test_values_are_shown_briefly():
    shown = [show(value) for value in ({}, {"a": 1}, [], [1], "x", None, Decimal("1.5"))]
    assert shown == ["{}", "an object", "[]", "an array", '"x"', "null", "1.5"]
    assert show("x" * 100) == '"' + "x" * 56 + "..."
