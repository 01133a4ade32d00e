"""What has the same texts: checked on texts, and where special tokens may be among them."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

import guideway as gw
from guideway.language.expr import ANYTHING, complement, repeat
from guideway.language.regular import contains, derivative
from guideway.language.set_algebra import among_texts
from guideway.language.utf8 import TEXT_CHAR
from guideway.regex.lowering import lower_regex
from guideway.regex.parser import parse_regex

PATTERNS = (
    r"(?s)a.*",
    r"(?s).*",
    r"(?s).+",
    r"(?s).*ab.*",
    r"(?s)é.{2,}",
    r"(?s)(a.*|b|.{3,})",
    r"(?s)(?=.*a)b.*",
    r"(?s)(?!.*ab).*",
    r"a.*",
    r"[^a]*b",
)
TEXTS = ["".join(letters) for n in range(5) for letters in product("abé\n", repeat=n)]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_texts_are_the_same(pattern: str) -> None:
    expr = lower_regex(parse_regex(pattern))
    loose, others = among_texts(expr), among_texts(complement(expr))
    for text in TEXTS:
        data = text.encode()
        assert contains(loose, data) == contains(expr, data) != contains(others, data), text


@given(st.text(max_size=6), st.integers(0, 3))
def test_at_least_so_many_characters_are_told_by_characters(text: str, count: int) -> None:
    loose = among_texts(repeat(TEXT_CHAR, count))
    assert contains(loose, text.encode()) == (len(text) >= count)


def test_what_wants_nothing_more_is_anything() -> None:
    expr = among_texts(lower_regex(parse_regex("(?s)aé.*|b.{2,}")))
    for text in ("aé", "b\N{SNOWMAN}x"):
        left = expr
        for byte in text.encode():
            left = derivative(left, byte)
        assert left is ANYTHING, text


def test_special_tokens_are_no_text_behind_what_is_looked_for() -> None:
    vocabulary = gw.Vocabulary([b"a", b"b", None, b"<end>"], eos_ids={3}, special={"<s>": 2})
    grammar = gw.Lark('start: "a" rest\nrest: "b" rest "b" | <s> | "a"')
    free = gw.compile(grammar, vocabulary)
    meets = gw.compile(grammar & gw.Regex("(?s)a.*"), vocabulary)
    for ids, with_special in (([0, 0], False), ([0, 1, 0, 1], False), ([0, 2], True)):
        for constraint in (free, meets):
            state, allowed = constraint.start(), True
            for token in ids:
                allowed = allowed and bool(
                    int(constraint.mask(state)[token // 32]) >> token % 32 & 1
                )
                state = constraint.advance(state, token) if allowed else state
            assert allowed == (constraint is free or not with_special)
