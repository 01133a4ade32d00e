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
            searched = lower_search(parse_regex(text, "ecma"))
        except GuidewayError:
            continue
        for where in chance.sample(TEXTS, 12):
            if where or r"\B" not in text:  # which re finds nowhere in an empty text
                found = contains(searched, where.encode())
                assert found == (compiled.search(where) is not None), (text, where)
