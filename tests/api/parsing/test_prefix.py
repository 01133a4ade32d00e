"""What is certain in the beginning of a JSON text, against the whole text."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guideway.api.parsing.prefix import Closed, OpenList, OpenObject, OpenString, plain, read_prefix

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)


def begins(part: Any, whole: Any) -> bool:
    """Whether `part` is what `whole` may look like before it is all there."""
    match part, whole:
        case str(), str():
            return whole.startswith(part)
        case list(), list():
            return len(part) <= len(whole) and all(map(begins, part, whole))
        case dict(), dict():
            return list(part) == list(whole)[: len(part)] and all(
                begins(part[key], whole[key]) for key in part
            )
        case _:
            return part == whole and type(part) is type(whole)


@given(VALUES, st.booleans(), st.data())
def test_every_prefix_of_a_text_shows_a_beginning_of_its_value(
    value: Any, ascii_only: bool, data: st.DataObject
) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=data.draw(st.none() | st.just(1)))
    cut = data.draw(st.integers(0, len(text)))
    node = read_prefix(text[:cut])
    assert node is None or begins(plain(node), value)


@given(VALUES)
def test_a_whole_text_is_closed_and_shows_its_value(value: Any) -> None:
    node = read_prefix(f"\n{json.dumps(value)} ")
    assert isinstance(node, Closed)
    assert plain(node) == value


@given(st.text(st.sampled_from('{}[]",:\\u01ae-. tn')))
def test_no_text_makes_it_raise(text: str) -> None:
    read_prefix(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", None),
        ("  ", None),
        ("1", None),
        ("1 ", 1),
        ("tru", None),
        ("true", True),
        ('"a', "a"),
        (r'"a\u00', "a"),
        (r'"a\ud83d', "a"),
        (r'"a\ud83d\ude00', "a😀"),
        ("[1, 2", [1]),
        ('{"a', {}),
        ('{"a":', {}),
        ('{"a": {"b": [nul', {"a": {"b": []}}),
        ('{"a": 1, "b": "c', {"a": 1, "b": "c"}),
        ("{1", {}),
        ("{[", {}),
        ("[}", []),
        ("]", None),
        ("[1 ?", [1]),
    ],
)
def test_what_is_not_whole_does_not_count(text: str, shown: Any) -> None:
    node = read_prefix(text)
    assert (None if node is None else plain(node)) == shown


def test_only_the_last_part_is_open() -> None:
    assert read_prefix('{"a": [1], "b": ["c", "d') == OpenObject(
        {"a": Closed("[1]"), "b": OpenList((Closed('"c"'), OpenString("d")))}
    )
