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


def values(*more: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.text(), *more),
        lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(), inner)),
    )


@pytest.mark.untraced
@given(values())
def test_what_is_written_is_read_back(value):
    assert read_json(write_json(value)) == value == json.loads(write_json(value))
    assert write_plain(read_json(json.dumps(value))) == write_json(value)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_is_read_as_the_decimal_that_stands_there(value):
    assert read_json(write_json(value)) == Decimal(repr(value))


def test_what_python_writes_otherwise_is_read_exactly():
    assert read_json(write_json({"a": (1, 2)})) == {"a": [1, 2]}
    digits = "0." + "123456789" * 20
    assert read_json(digits) == Decimal(digits)
    assert read_json("[0e9999999999999999999, 0.00E-4001, -0.0]") == [0, 0, 0]
    text = '{"x": {"a": 1, "b": 2, "a": 3}}'  # of a repeated key the last value counts
    assert read_json(text) == json.loads(text) == {"x": {"a": 3, "b": 2}}
    assert write_plain(read_json('[15, "\\u00e9"]')) == '[15,"\\u00e9"]'
    assert write_plain([Decimal("1.50")]) is None
    part = {"a": (1, [])}
    assert write_json([part, part]) == '[{"a":[1,[]]},{"a":[1,[]]}]'


DEEP = "[" * 5000


@pytest.mark.parametrize(("text", "place", "position", "message"), [
    ('{"a": }', "line 1, column 7", 6, "not JSON: Expecting value"),
    ('{\n"a" 1}', "line 2, column 5", 6, "not JSON"),
    ("", "line 1, column 1", 0, "not JSON"),
    ("[NaN]", "", None, "NaN is not a JSON number"),
    ("-Infinity", "", None, "-Infinity is not a JSON number"),
    ('["\\ud800"]', "/0", None, "a lone surrogate is not a character"),
    ('{"a": {"\\udc00x": 1}}', "/a", None, r"\udc00x"),
    ('{"a": 1,}', "line 1, column 9", 8, '\n  {"a": 1,}\n          ^'),  # with a caret
    (DEEP, "line 1, column 5001", 5000, "not JSON"),
    (DEEP + "}", "line 1, column 5001", 5000, "not JSON"),
])  # fmt: skip
def test_what_is_no_strict_json_is_refused_with_its_place(text, place, position, message):
    with pytest.raises(SourceError) as caught:
        read_json(text)
    assert message in str(caught.value)
    assert (caught.value.place, caught.value.position) == (place, position)
    assert len(str(caught.value)) < 300


LOOPS: list[Any] = []
for depth in (1, 5000):
    loop = value = {"x": []}
    for _ in range(depth):
        value = {"a": value}
    loop["x"].append(value)
    LOOPS.append(loop)


@pytest.mark.parametrize(("value", "place", "message"), [
    ({"a": {1: 2}}, "/a", "a JSON key is a string, not 1 (int)"),
    ({"a": {"b": ({None: 0},)}}, "/a/b/0", "not None (NoneType)"),
    ({"a": [0, {1, 2}]}, "/a/1", "not set"),
    ({"a": Decimal(1)}, "/a", "not Decimal"),
    ([float("nan")], "", "a number is NaN, infinite or longer"),
    ([float("inf")], "", "a number is NaN, infinite or longer"),
    ({"a": 10**5000}, "", "longer than 4000 digits"),
    *((loop, None, "contains itself") for loop in LOOPS),
])  # fmt: skip
def test_a_python_value_that_is_no_json_is_refused_with_its_place(value, place, message):
    with pytest.raises(SourceError) as caught:
        write_json(value)
    assert message in str(caught.value)
    assert place is None or caught.value.place == place


@pytest.mark.untraced
@pytest.mark.parametrize("brackets", [("[", "]"), ('{"a":', "}")])
@pytest.mark.parametrize("depth", [5_000, pytest.param(100_000, marks=pytest.mark.slow)])
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


@pytest.mark.parametrize(("text", "position"), [
    ("1" * 4001, 0), ("1e5000", 0), ("1e-5000", 0), ("[1." + "0" * 4001 + "]", 1),
    ('{"a": "1", "b": [1, -2.5e3, 1' + "0" * 4000 + "]}", 28),
    ('["1e99999", 1e99999]', 12), ('{"1":1e5000000000000000000000}', 5),
    ('{"minimum":1e9999999999999999999}', 11), ('{"minimum":-1e-9999999999999999999}', 11),
])  # fmt: skip
def test_a_number_that_is_too_long_is_shown(text: str, position: int) -> None:
    with pytest.raises(LimitError, match="too long: at most 4000") as refused:
        read_json(text)
    assert (refused.value.limit, refused.value.position) == ("digits", position)
    assert str(refused.value).endswith("^")


def test_a_pointer_leads_to_what_it_was_made_of():
    value = {"a/b": [{"~1": 3}, [4, None]], "": {"": 5}}
    for pointer, part in walk(value):
        assert find(value, pointer) is part
    for pointer in ("/a", "/a~1b/2", "/a~1b/01", "/a~1b/-1", "/a~1b/0/~01/0", "//x"):
        with pytest.raises(LookupError):
            find(value, pointer)


# JSON of any nesting: as `json` reads and writes it.

DECODER = json.JSONDecoder()


def outcome(read, text):
    try:
        return json.dumps(read(text))
    except json.JSONDecodeError as error:
        return type(error)


@pytest.mark.untraced
@given(values(st.floats(allow_nan=False)), st.sampled_from([None, 0, 2]))
def test_values_are_read_as_json_reads_them(value, indent):
    text = json.dumps(value, indent=indent)
    assert read_deep(text, DECODER) == json.loads(text)
    assert write_deep(value, json.dumps) == json.dumps(value, separators=(",", ":"))


@given(
    st.lists(st.sampled_from([*'[]{},:"1-', '"a"', "null", " ", "\n", "{}", '"b":'])).map("".join)
)
def test_what_json_refuses_is_refused(text):
    assert outcome(lambda given: read_deep(given, DECODER), text) == outcome(json.loads, text)
