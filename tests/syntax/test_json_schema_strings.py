"""Strings that are found have what keywords say, and what surely has a format has it."""

import random
from typing import Any

import pytest

from guideway.lowering.formats import lower_format
from guideway.lowering.regex import lower_regex
from guideway.lowering.regular import contains
from guideway.syntax.json_schema_tree import FORMATS
from guideway.syntax.json_schema_verdicts import has_string, satisfies, strings
from guideway.syntax.regex import parse_regex

LETTERS = "az09:/.@-TPDZ"


@pytest.mark.parametrize("name", FORMATS)
def test_whether_a_text_has_a_format_is_told_rightly_or_not_at_all(name: str) -> None:
    language = lower_format(name, lambda text: lower_regex(parse_regex(text, "ecma")))
    chance = random.Random(name)
    found = list(strings([{"format": name}]))
    assert found
    for example in found:
        for _ in range(200):
            text = list(example)
            for _ in range(chance.randrange(3)):
                place = chance.randrange(len(text) + 1)
                text[place : place + chance.randrange(2)] = chance.choice(LETTERS)
            told = satisfies("format", name, "".join(text))
            assert told in (None, contains(language, "".join(text).encode())), text


@pytest.mark.parametrize("name", ["hostname", "idn-hostname", "email", "idn-email"])
def test_labels_and_local_parts_that_are_too_long_are_told_so_or_not_at_all(name: str) -> None:
    language = lower_format(name, lambda text: lower_regex(parse_regex(text, "ecma")))
    for text in ("a" * 64, "a" * 65 + "@a.aa", "a@" + "a" * 64, ".".join(["a" * 63] * 4)):
        told = satisfies("format", name, text)
        assert told is None or told == contains(language, text.encode())


@pytest.mark.parametrize(("parts", "least"), [
    ([{}], 1),
    ([{"minLength": 3, "maxLength": 3}], 3),
    ([{"pattern": "^a+$"}, {"minLength": 4}], 4),
    ([{"pattern": "^https?://"}, {"format": "uri", "minLength": 20}], 20),
    ([{"pattern": "b$"}, {"pattern": "^a"}, {"minLength": 2}], 2),
    ([{"pattern": "x"}, {"pattern": "y"}, {"pattern": "z"}], 3),
    ([{"format": "none such", "minLength": 2}], 2),
    ([{"format": "date"}, {"pattern": "^2000"}], 10),
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
