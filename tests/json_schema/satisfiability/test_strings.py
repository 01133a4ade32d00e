"""Strings that are found have what keywords say."""

from typing import Any

import pytest

from guideway.json_schema.satisfiability.assertions import has_string, satisfies, strings


@pytest.mark.parametrize(("parts", "least"), [
    ([{}], 1),
    ([{"minLength": 3, "maxLength": 3}], 3),
    ([{"pattern": "^a+$"}, {"minLength": 4}], 4),
    ([{"pattern": "^https?://"}, {"minLength": 20}], 20),
    ([{"pattern": "b$"}, {"pattern": "^a"}, {"minLength": 2}], 2),
    ([{"pattern": "x"}, {"pattern": "y"}, {"pattern": "z"}], 3),
    ([{"format": "none such", "minLength": 2}], 2),
])  # fmt: skip
def test_strings_satisfy_all_of_what_is_said(parts: list[Any], least: int) -> None:
    found = list(strings(parts))
    assert found
    for text in found:
        assert len(text) >= least or parts == [{}]
        assert all(satisfies(name, held, text) for part in parts for name, held in part.items())


@pytest.mark.parametrize("parts", [
    [{"minLength": 3}, {"maxLength": 2}],
    [{"pattern": "^a"}, {"pattern": "^b"}],
    [{"pattern": r"\p{Lu}"}, {"pattern": "a"}],
    [{"minLength": 999}],
    [{"pattern": str(n)} for n in range(4)],
])  # fmt: skip
def test_where_none_is_found_nothing_is_said(parts: list[Any]) -> None:
    assert not list(strings(parts))
    assert not any(has_string(part) for part in parts[:1] if part.get("minLength") == 999)


def test_a_keyword_is_told_for_one_text() -> None:
    assert satisfies("minLength", 2, "ab")
    assert not satisfies("maxLength", 1, "ab")
    assert satisfies("pattern", "b", "ab")
    assert not satisfies("pattern", "^b", "ab")
    assert satisfies("format", "ipv4", "999.0.0.0") is None
    assert satisfies("format", "unknown", "x")
