"""JSON read strictly: against `json` where that is right, and refused where it is lax."""

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guideway.errors import LimitError, SourceError
from guideway.json_schema.text import (
    find,
    read_deep,
    read_json,
    walk,
    write_deep,
    write_json,
    write_plain,
)

VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text()),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(), inner)),
)


@pytest.mark.untraced
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


@pytest.mark.parametrize(("text", "place", "message"), [
    ('{"a": }', "line 1, column 7", "not JSON: Expecting value"),
    ('{\n"a" 1}', "line 2, column 5", "not JSON"),
    ("", "line 1, column 1", "not JSON"),
    ("[NaN]", "", "NaN is not a JSON number"),
    ("-Infinity", "", "-Infinity is not a JSON number"),
    ('["\\ud800"]', "/0", "a lone surrogate is not a character"),
    ('{"a": {"\\udc00x": 1}}', "/a", r"\udc00x"),
])  # fmt: skip
def test_what_is_no_strict_json_is_refused_with_its_place(text, place, message):
    with pytest.raises(SourceError) as caught:
        read_json(text)
    assert message in str(caught.value)
    assert caught.value.place == place


def test_a_syntax_error_has_a_caret():
    with pytest.raises(SourceError) as caught:
        read_json('{"a": 1,}')
    assert str(caught.value).splitlines()[1:] == ['  {"a": 1,}', "          ^"]


@pytest.mark.parametrize(("value", "place", "message"), [
    ({"a": {1: 2}}, "/a", "a JSON key is a string, not 1 (int)"),
    ({"a": {"b": ({None: 0},)}}, "/a/b/0", "not None (NoneType)"),
    ({"a": [0, {1, 2}]}, "/a/1", "not set"),
    ({"a": Decimal(1)}, "/a", "not Decimal"),
    ([float("nan")], "", "a number is NaN, infinite or longer"),
    ([float("inf")], "", "a number is NaN, infinite or longer"),
])  # fmt: skip
def test_a_python_value_that_is_no_json_is_refused_with_its_place(value, place, message):
    with pytest.raises(SourceError) as caught:
        write_json(value)
    assert message in str(caught.value)
    assert caught.value.place == place


def test_a_python_integer_too_long_for_a_text_is_refused():
    with pytest.raises(SourceError, match="longer than 4000 digits"):
        write_json({"a": 10**5000})


def test_of_a_repeated_key_the_last_value_counts_as_in_json():
    text = '{"x": {"a": 1, "b": 2, "a": 3}}'
    assert read_json(text) == json.loads(text) == {"x": {"a": 3, "b": 2}}


@pytest.mark.untraced
@pytest.mark.parametrize("brackets", [("[", "]"), ('{"a":', "}")])
@pytest.mark.parametrize("depth", [500, 5_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_nesting_has_no_depth(brackets, depth):
    opening, closing = brackets
    text = opening * depth + "[]" + closing * depth
    value: Any = read_json(text)
    assert write_json(value) == text
    below = 0
    while value:
        value = value[0] if isinstance(value, list) else value["a"]
        below += 1
    assert below == depth


@pytest.mark.parametrize(("text", "position"), [("[" * 5000, 5000), ("[" * 5000 + "}", 5000)])
def test_an_error_in_a_deep_text_has_its_place(text, position):
    with pytest.raises(SourceError) as caught:
        read_json(text)
    assert caught.value.position == position
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("depth", [1, 5000])
def test_a_python_value_that_contains_itself_is_refused(depth):
    loop = value = {"x": []}
    for _ in range(depth):
        value = {"a": value}
    loop["x"].append(value)
    with pytest.raises(SourceError, match="contains itself"):
        write_json(loop)


def test_a_python_value_may_stand_in_many_places():
    part = {"a": (1, [])}
    assert write_json([part, part]) == '[{"a":[1,[]]},{"a":[1,[]]}]'


@pytest.mark.parametrize("text", ["1" * 4001, "1e5000", "1e-5000", "[1." + "0" * 4001 + "]"])
def test_numbers_of_too_many_digits_are_a_limit(text):
    with pytest.raises(LimitError) as caught:
        read_json(text)
    assert caught.value.limit == "digits"


def test_a_zero_may_have_any_exponent():
    assert read_json("0e99999") == 0


def test_a_pointer_leads_to_what_it_was_made_of():
    value = {"a/b": [{"~1": 3}, [4, None]], "": {"": 5}}
    for pointer, part in walk(value):
        assert find(value, pointer) is part
    for pointer in ("/a", "/a~1b/2", "/a~1b/01", "/a~1b/-1", "/a~1b/0/~01/0", "//x"):
        with pytest.raises(LookupError):
            find(value, pointer)


@pytest.mark.parametrize(
    "text", ['{"a": [1, -2, "é\\n", {}]}', '"\\ud83d\\ude00"', "[[], null, true]"]
)
def test_what_was_read_is_written_as_it_would_be_from_python(text: str) -> None:
    value = read_json(text)
    assert write_plain(value) == write_json(value)


@pytest.mark.parametrize(("text", "position"), [
    ('{"a": "1", "b": [1, -2.5e3, 1' + "0" * 4000 + "]}", 28),
    ('["1e99999", 1e99999]', 12),
    ('{"1":1e5000000000000000000000}', 5),
])  # fmt: skip
def test_a_number_that_is_too_long_is_shown(text: str, position: int) -> None:
    with pytest.raises(LimitError, match="too long: at most 4000") as refused:
        read_json(text)
    assert refused.value.position == position
    assert str(refused.value).endswith("^")


# JSON of any nesting: as `json` reads and writes it.

DECODER = json.JSONDecoder()
DEEP_VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text()),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(), inner)),
)


def outcome(read, text):
    try:
        return json.dumps(read(text))
    except json.JSONDecodeError as error:
        return type(error)


@pytest.mark.untraced
@given(DEEP_VALUES, st.sampled_from([None, 0, 2]))
def test_values_are_read_as_json_reads_them(value, indent):
    text = json.dumps(value, indent=indent)
    assert read_deep(text, DECODER) == json.loads(text)
    assert write_deep(value, json.dumps) == json.dumps(value, separators=(",", ":"))


@given(
    st.lists(st.sampled_from([*'[]{},:"1-', '"a"', "null", " ", "\n", "{}", '"b":'])).map("".join)
)
def test_what_json_refuses_is_refused(text):
    assert outcome(lambda given: read_deep(given, DECODER), text) == outcome(json.loads, text)
