"""What is preferred where little is: `re` is the oracle, text by text, split by split."""

import random
import re
from itertools import product

import pytest

from guideway.lowering import preferred_followed, preferred_places
from guideway.lowering.expr import ANYTHING
from guideway.lowering.preferred import exits
from guideway.lowering.preferred_followed import told
from guideway.lowering.regular import contains
from guideway.syntax.regex import parse_regex

TOLD = [
    "a+",
    "a(?:b+c)*",
    "(?:a+b?)+",
    "(?:ab*c?)+",
    "a(?:b{2}c){0,2}",
    "a{2,}(?:b|c{1,2})?",
    "ab??(?!b)",
    "a*?b(?!a)(?![bc])",
    "(?:ab|abc|b)(?![abc])",
    "(?:a|ab|b)(?=c)",
    "a(?=c*b|b)",
    "(?:ab|a)(?=ca)",
    "[^a]",
    "aa(?!a)|a(?:b|c)+a",
    r"(?:a|ab)\b",
    r"(?: |  )\b",
    "(?!aa)[ab]+",
    "(?!a(?![ab]))[ab]+",
    "(?!(?:ab|ba)(?![abc]))[ab][abc]*",
    "(?!(?:ab|ba)(?![ab]))[ab]+",
    "(?!(?:ab|a)(?![a]))[ab]+",
    r"(?!(?:ab|b)\b)\w+",
    r"(?!(?:ab|b)(?a:\b))[abc]+(?:(?!\w))",
    r"(?!ab(?!\w))a\w*",
    "(?!a)[ab]+(?![abc])",
    "(?!b(?![abc]))(?:a|b|ab)(?![abc])",
    "\ud800",
    r"[ab]c\B",
    "(?!)[ab]+",
    "(?!b[bc])[abc]+",
    "(?:a|b)(?:c[ab])*",
    "[b-\ud800]+a",
]
UNTOLD = [
    "",
    "a*",
    "a|ab",
    "(?:a|ab)(?:c|bcb)?",
    "a+?",
    "(?:|a)b|a(?:|b)",
    "a(?:b?)*",
    "a+(?!b)",
    "a+(?=a)",
    "ab?(?=b*)",
    "a(?=(?=b)b)",
    "a(?=b|)",
    "a(?<=a)",
    "a(?=b)c",
    "[a ]\\b",
    "a$",
    r"a+\B",
    "(?!ab)[ab]",
    "(?:a|bc?)+(?:ca)?",
    "(?=a)[ab]+",
    "(?<!a)b",
    "(?!a)",
    "(?!ab)a",
    "(?!abc)[ab]+",
    "(?!a|ab(?!c))[abc]+(?=c)",
    "(?!a(?!b))[ab]+",
    "(?!a(?=b))[ab]+",
    "(?!a(?<!b))[ab]+",
    r"(?!a\B)[ab]+",
    r"(?!(?: |a)\b)[ab]+",
    r"(?!(?=b)a\b)[ab]+",
    "(?!a)a*",
    "(?!a)a+?",
    "(?!a(?!(?:a)+))a+",
    "a{401}(?!b)",
    "a{1,40}b(?!b)",
    "(?:a" * 45 + ")" * 45 + "+",
]


def every_text(alphabet: str, size: int) -> list[str]:
    return ["".join(word) for n in range(size + 1) for word in product(alphabet, repeat=n)]


def check(pattern: str, texts: list[str]) -> bool:
    """Whether the pattern is told; then it is as `re` has it."""
    found = told(parse_regex(pattern))
    if found is None:
        return False
    ways, begins = found
    for text in texts:
        match = re.match(pattern, text)
        splits = ((text[:i], text[i:]) for i in range(len(text) + 1))
        ends = [
            len(w)
            for w, rest in splits
            if any(contains(a, w.encode()) and contains(b, rest.encode()) for a, b in ways)
        ]
        assert ends == ([match.end()] if match else []), (pattern, text)
        assert contains(begins, text.encode()) == bool(match), (pattern, text)
    return True


@pytest.mark.parametrize("pattern", TOLD)
def test_what_is_told_is_what_re_prefers(pattern: str):
    texts = [*every_text("abc", 5), *every_text("ab c", 3), *every_text("abé", 4)]
    assert check(pattern, texts)


@pytest.mark.parametrize("pattern", UNTOLD)
def test_what_is_not_known_is_not_told(pattern: str):
    assert told(parse_regex(pattern)) is None


def drawn(draw: random.Random, depth: int) -> str:
    kind = draw.random()
    if depth == 0 or kind < 0.2:
        return draw.choice(["a", "b", "[ab]", "[^a]", "c", r"\w", "ab"])
    if kind < 0.55:
        return drawn(draw, depth - 1) + drawn(draw, depth - 1)
    if kind < 0.7:
        return f"(?:{drawn(draw, depth - 1)}|{drawn(draw, depth - 1)})"
    sign = draw.choice(["*", "+", "?", "{2}", "{1,3}", "{2,}", "+?"])
    return f"(?:{drawn(draw, depth - 1)}){sign}"


def test_what_is_told_by_chance_is_what_re_prefers():
    taken = 0
    for seed in range(500):
        draw = random.Random(seed)
        pattern = drawn(draw, draw.randint(1, 3))
        if seed % 3:
            look = draw.choice([f"(?!{drawn(draw, 1)})", f"(?={drawn(draw, 1)})", r"\b", r"\B"])
            pattern += look
        if seed % 5 == 0:
            behind = draw.choice(["", "(?![ab])", r"(?!\w)", r"\b"])
            pattern = f"(?!(?:{drawn(draw, 1)}|{drawn(draw, 1)}){behind}){pattern}"
        taken += check(pattern, every_text("abc", 4))
    assert taken > 150


def test_where_one_match_is_possible_there_is_one_exit():
    for pattern in ['"(?:[^"]|"")*"(?!")', "(?:in|int|i)(?![a-z])", r"/\*(?:[^*]|\*+[^*/])*\*+/"]:
        assert len(exits(parse_regex(pattern))) == 1
    (string,) = exits(parse_regex(r'"(?:[^"\\]|\\.)*"'))
    assert string.after is ANYTHING
    assert len(exits(parse_regex(r"[0-9]+(?:\.[0-9]+)?"))) == 2


def test_special_tokens_may_follow_where_they_are_asked_for():
    for pattern in ["[0-9]+(?!a)", "a+|ab", "a+?b|ab"]:
        assert exits(parse_regex(pattern), marks=True)


def test_too_much_is_not_told(monkeypatch):
    pattern = parse_regex("(?:aa|ab|ac|ad)+(?![a-z])")
    assert told(pattern) is not None
    monkeypatch.setattr(preferred_followed, "MOST_PAIRS", 3)
    assert told(pattern) is None
    monkeypatch.undo()
    monkeypatch.setattr(preferred_places, "MOST_PLACES", 3)
    assert told(pattern) is None
