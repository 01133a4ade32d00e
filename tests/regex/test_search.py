"""A pattern is found in a text where `re` finds it, and by its automaton."""

import random
import re
import warnings
from itertools import product

import pytest

from guideway.errors import GuidewayError
from guideway.language.regular import contains
from guideway.regex.lowering import lower_search
from guideway.regex.parser import parse_regex
from guideway.regex.search import finds, samples

TEXTS = ["".join(chars) for length in range(5) for chars in product("aB0 ", repeat=length)]
LEAVES = [
    "a", "B", "[aB]", "[^a]", ".", r"\w", r"\d", r"\s", r"[\W0]", r"\S", r"\b", r"\B", "^", "$",
]  # fmt: skip


def pattern(chance: random.Random, depth: int) -> str:
    kind = chance.randrange(11) if depth else 0
    if kind < 3:
        return chance.choice(LEAVES)
    inner = pattern(chance, depth - 1)
    if kind < 6:
        other = pattern(chance, depth - 1)
        return inner + other if kind < 5 else f"(?:{inner}|{other})"
    if kind < 9:
        return f"(?:{inner}){chance.choice(['*', '+', '?', '{2}', '{1,3}', '{0,2}', '{2,}'])}"
    look = chance.choice(["=", "!", "<=", "<!"])
    return f"(?{look}{chance.choice(['a', 'aB', '[B0]']) if '<' in look else inner})"


@pytest.mark.parametrize("seed", range(8))
def test_a_pattern_is_found_where_re_finds_it(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(150):
        text = pattern(chance, 3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compiled = re.compile(text, re.ASCII)
        try:
            parse_regex(text, "ecma")
        except GuidewayError:
            continue
        for where in chance.sample(TEXTS, 12):
            if where or r"\B" not in text:  # which re finds nowhere in an empty text
                assert finds(text, where) == (compiled.search(where) is not None), (text, where)


@pytest.mark.parametrize("text", [
    "^a+$", "x-", r"^[^\s]+@\w+\.[a-z]{2,}$", "^(a|b[0-9]){2}$", "(?:)", r"^\d{3}-\d{4}$", "a{0}",
    "[^ -~]?b", r"^https?:\/\/", "^([A-Z]{2}|x){1,3}/?$", "[+]", r"[\\]{2}",
])  # fmt: skip
def test_samples_of_what_has_no_lookaround_have_the_pattern(text: str) -> None:
    made = list(samples((text,)))
    assert made
    for sample in (*made, *samples((text,), 3)):
        assert finds(text, sample)
        assert contains(lower_search(parse_regex(text, "ecma")), sample.encode())
        assert re.search(text, sample)


def test_what_is_long_or_not_supported_is_not_told() -> None:
    assert finds("a", "a" * 300) is None
    assert finds("a", "\ud800") is None
    assert finds(r"\b" + "(?:a|b)*a(?:a|b){20}", "ab") is None
    assert finds("(a)\\1", "aa")
    assert not finds("a", "é")
    assert not finds("(?:(?:(?:a?b?){60}){60}c){60}", "ab" * 60)
    assert list(samples((r"[^ -~]",))) == list(samples(("a{999}",))) == []
    assert list(samples(("^a$", "b"))) == []
    assert list(samples(("^[ab]*$", "aa", "bb"), 5, 5)) == ["aaabb"]
