"""Patterns with few words: those, and no others, are what `re` finds them in."""

import random
import re
from itertools import product

import pytest

from guideway.regex.parser import parse_regex
from guideway.regex.search import words_of_pattern

SHORT = ["".join(word) for size in range(5) for word in product("abX", repeat=size)]
PARTS = ["a", "b", "ab", "[ab]", "[a-b]", "X?", "a{0,2}", "(b|aX)", "(?:a|b){2}", "", "(?:)", "[]"]


def words(pattern: str) -> frozenset[str] | None:
    return words_of_pattern(parse_regex(pattern, "ecma"))


def test_words_are_what_re_finds_a_pattern_in() -> None:
    dice, told = random.Random(4), 0
    for _ in range(400):
        body = "".join(dice.choices(PARTS, k=dice.randint(0, 3)))
        pattern = f"^{body}$" if dice.random() < 0.8 else f"^({body}|{dice.choice(PARTS)})$"
        found = words(pattern)
        if found is not None:
            told += 1
            looked = re.compile(pattern.replace("[]", "(?!)").replace("$", r"\Z"))
            assert {word for word in found if len(word) < 5} == set(filter(looked.search, SHORT))
            assert all(map(looked.search, found))
    assert told > 350


@pytest.mark.parametrize("pattern", [
    "a", "^a", "a$", "^a|b$", "^a+$", "^a*$", "^a{2,}$", "^.$", r"^\d$", "^[^a]$", "^[é]$", "^é$",
    r"^\n$", r"^[\d]$", "^[a-z0-9_]{2}$", r"^a\b$", "^(?=a)a$", "^(a)\\1$", "^a{0,40}$", "^$|b",
    "^^a$", f"^({'|'.join(map(str, range(40)))})$", "(" * 20 + "^a$" + ")" * 20,
    "^" + "(" * 20 + "a" + ")" * 20 + "$", r"^[\u0000-\uffff]$", r"^(a|[\x7f])$",
])  # fmt: skip
def test_of_others_nothing_is_told(pattern: str) -> None:
    assert words(pattern) is None


def test_some_words() -> None:
    assert words("^contacts:([0-2]{1}):(a|b)$") == {
        f"contacts:{n}:{x}" for n in "012" for x in "ab"
    }
    assert words("^$") == {""}
    assert words("^[]$") == frozenset()
