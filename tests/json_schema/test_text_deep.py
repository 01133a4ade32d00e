"""JSON of any nesting: as `json` reads and writes it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guideway.json_schema.text import read_deep, write_deep

DECODER = json.JSONDecoder()
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text()),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(), inner)),
)


def outcome(read, text):
    try:
        return json.dumps(read(text))
    except json.JSONDecodeError as error:
        return type(error)


@pytest.mark.untraced
@given(VALUES, st.sampled_from([None, 0, 2]))
def test_values_are_read_as_json_reads_them(value, indent):
    text = json.dumps(value, indent=indent)
    assert read_deep(text, DECODER) == json.loads(text)
    assert write_deep(value, json.dumps) == json.dumps(value, separators=(",", ":"))


@given(
    st.lists(st.sampled_from([*'[]{},:"1-', '"a"', "null", " ", "\n", "{}", '"b":'])).map("".join)
)
def test_what_json_refuses_is_refused(text):
    assert outcome(lambda given: read_deep(given, DECODER), text) == outcome(json.loads, text)


@pytest.mark.parametrize(
    ("text", "message", "position"),
    [
        ("", "Expecting value", 0),
        (" [1 2]", "Expecting ',' delimiter", 4),
        ('{"a" 1}', "Expecting ':' delimiter", 5),
        ("{1: 2}", "Expecting property name enclosed in double quotes", 1),
        ("[] []", "Extra data", 3),
        ("[", "Expecting value", 1),
    ],
)
def test_an_error_has_its_place(text, message, position):
    with pytest.raises(json.JSONDecodeError) as caught:
        read_deep(text, DECODER)
    assert (caught.value.msg, caught.value.pos) == (message, position)


def test_what_contains_itself_is_refused_and_what_stands_twice_is_not():
    part = {"a": (1, 2)}
    assert write_deep([part, part], json.dumps) == '[{"a":[1,2]},{"a":[1,2]}]'
    part["b"] = [part]
    with pytest.raises(ValueError, match="Circular"):
        write_deep([part], json.dumps)
