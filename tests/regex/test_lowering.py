"""The lowered language is `re`'s: whole matches and searches, anchors anywhere, every flag."""

import json
import re
import time
from functools import partial
from itertools import product

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from guideway.errors import LimitError
from guideway.json_schema.spelling import spell_character
from guideway.language.expr import EMPTY, EPSILON, both, complement, concat, literal, repeat
from guideway.language.nodes import Expr, Repeat
from guideway.language.utf8 import TEXT, TEXT_CHAR, CodePoints, character, inverse, points
from guideway.regex.lowering import lower_regex, lower_search
from guideway.regex.parser import parse_regex
from regex_samples import ANCHORED, ANCHORS, PATTERNS, TEXTS, oracle, reader, trees
from shares import one_in

LINES = ["".join(word) for size in range(6) for word in product("a\n", repeat=size)] + [
    "ab",
    "b\na",
]


def whole(pattern: str, flags: str = "") -> Expr:
    return lower_regex(parse_regex(pattern, flags=flags))


def search(pattern: str) -> Expr:
    return lower_search(parse_regex(pattern, "ecma"))


@given(PATTERNS, TEXTS, st.sampled_from(["", "i", "s", "x", "a", "ims"]))
def test_a_text_matches_exactly_if_it_matches_in_re(pattern, texts, flags) -> None:
    accepts = reader(whole(pattern, flags))
    expected = oracle(f"(?{flags})" * bool(flags) + pattern)
    for text in texts:
        assert accepts(text) == bool(expected.fullmatch(text)), text


@pytest.mark.untraced
@given(ANCHORED)
@example(r"a$\n")
@example("a$")
@example(r"^a\Z|b")
@example(r"(?:\n\Z|^a|^)")
@example(r"^(a|^\n)\Z")
@example(r"\Z^")
@example(r"(?:^|b)*a")
@example(r"(?:a|(?m:$)){3}")
@example(r"(?:(?m:^)a(?m:$)|\n)*")
@example(r"(?:(?m:^)a?(?m:$)\n?){2,4}")
@example(r"(?:a|$){3,}\n?")
@example(r"(?:\n|a$|^){2,3}")
@example(r"(?m:^$|(?:\n^a)*)")
def test_anchors_hold_exactly_where_they_hold_in_re(pattern: str) -> None:
    accepts, finds = reader(whole(pattern)), reader(lower_search(parse_regex(pattern)))
    expected = oracle(pattern)
    for text in LINES:
        assert accepts(text) == bool(expected.fullmatch(text)), text
        assert finds(text) == bool(expected.search(text)), text


@pytest.mark.untraced
@one_in(3)
@given(trees(["a", r"\n", "[^a]", '"', "(?m:^)", "(?m:$)", "$", "^", ".", r"\\"]))
def test_the_characters_can_be_spelled_as_json(pattern: str) -> None:
    spelled = partial(spell_character, plain=True)
    accepts = reader(lower_regex(parse_regex(pattern), spelled))
    finds = reader(lower_search(parse_regex(pattern), spelled))
    expected = oracle(pattern)
    for text in ("".join(word) for size in range(4) for word in product('a\n"\\', repeat=size)):
        in_json = json.dumps(text)[1:-1]
        assert accepts(in_json) == bool(expected.fullmatch(text)), text
        assert finds(in_json) == bool(expected.search(text)), text


def test_any_expression_can_spell_a_character() -> None:
    def spell(ranges: CodePoints) -> Expr:
        return both(complement(character(inverse(ranges))), TEXT_CHAR)

    for pattern in (r"(?m:^a$|\n)*", r"a?(?m:^)b|a\Z\n?", "[^a]*$"):
        accepts = reader(lower_regex(parse_regex(pattern), spell))
        assert [text for text in LINES if accepts(text)] == list(
            filter(oracle(pattern).fullmatch, LINES)
        )


def test_anchors_at_the_ends_leave_no_trace() -> None:
    for pattern in ("^a+b$", r"\Aa+b\Z", "^(?:a+b)$", "(?m)^a+b$", "^a+b$|^a+b", "^^a+b$$"):
        assert whole(pattern) is whole("a+b")
    assert search("^a+b$") is whole("a+b")
    assert search("^a+b") is concat(whole("a+b"), TEXT)
    assert search("a$") is concat(TEXT, literal("a"))
    assert search("a") is concat(TEXT, literal("a"), TEXT)
    assert search("") is concat(TEXT, TEXT)


def test_anchors_that_cannot_hold_leave_nothing() -> None:
    assert whole("a^b") is EMPTY
    assert whole("a$b") is EMPTY
    assert whole("(?m)a^b") is EMPTY
    assert whole(r"a\Z\n") is EMPTY


def test_a_search_looks_at_each_alternative() -> None:
    finds = reader(search("^a|b$"))
    for text in ("".join(word) for size in range(4) for word in product("abc", repeat=size)):
        assert finds(text) == bool(re.search("^a|b$", text))


@pytest.mark.parametrize(
    ("pattern", "shorter"),
    [(".*a.+", "a."), ("a*b?(?:c|)d{2,5}", "d{2}"), ("[a-z]*", ""), ("^a+b+", "^a+b"),
     ("a{2,}$", "a{2}$"), ("(?:a+b)+|^c?d*", "ab|^"),
     (r"a{3}\d*", "a{3}")],
)  # fmt: skip
def test_what_is_searched_for_is_as_short_as_it_may_be(pattern: str, shorter: str) -> None:
    assert search(pattern) is search(shorter)
    finds = reader(search(pattern))
    for text in ("".join(word) for size in range(5) for word in product("abcdx1", repeat=size)):
        assert finds(text) == bool(re.search(pattern, text))


def test_the_end_of_ecma_is_no_newline() -> None:
    finds = reader(search("^a$"))
    assert finds("a")
    assert not finds("a\n")


@pytest.mark.parametrize("count", ["{1000000000}", "{0,2147483648}", "{5,}", "*", "+"])
def test_counts_are_one_node(count: str) -> None:
    assert isinstance(whole(f"[ab]{count}"), Repeat)


def test_counts_of_counts_stay_small() -> None:
    tree = whole("(?:(?:a{1,1000}b){1,1000}c){2,2147483648}")
    assert tree is repeat(
        concat(repeat(concat(repeat(literal("a"), 1, 1000), literal("b")), 1, 1000), literal("c")),
        2,
        2**31,
    )


def test_lines_are_counted_within_a_limit_of_states() -> None:
    accepts = reader(whole(r"(?m)(?:^a*$\n){2,100}"))
    assert accepts("aa\n\n")
    assert not accepts("aa\n")
    for pattern in (r"(?m)(?:^a*$\n){2,9000}", r"(?:[a-c](?:,|$)){1,2147483648}"):
        with pytest.raises(LimitError, match="5000 states"):
            whole(pattern)


def test_lookaheads_at_the_beginning_are_intersections() -> None:
    accepts = reader(whole(r"(?=.{4,253}$)(?:(?!-)[a-z-]{1,63}(?<!-)\.)+[a-z]{2,63}"))
    assert accepts("a-b.com")
    assert not accepts("a-.com")
    assert not accepts("a.b")
    assert not accepts("a." * 130 + "com")


def test_lone_surrogates_match_nothing() -> None:
    assert whole("a\ud800b") is EMPTY
    assert whole(r"\ud800") is EMPTY
    assert whole(r"[\ud800-\udfff]") is EMPTY
    assert whole("a|\ud800") is literal("a")
    assert whole("(?i)\ud800a") is EMPTY


def test_groups_and_laziness_do_not_change_the_language() -> None:
    assert whole("(?P<x>a)(?:b)(?i:)c*?") is whole("abc*")
    assert whole("") is EPSILON
    assert whole("()") is EPSILON


def test_classes_become_utf8() -> None:
    assert whole("[é€]") is character(points(map(ord, "é€")))
    assert whole("(?i)k") is character(points(map(ord, "kK\u212a")))


WORDS = [f"{chr(97 + n % 26)}{n:x}{chr(97 + n % 7)}end" for n in range(10_000)]


@pytest.mark.untraced
@pytest.mark.parametrize(("form", "count"), [("{}", 10_000), ("^{}$", 1000), ("(?i:{})", 1000)])
def test_thousands_of_words_lower_quickly_and_step_quickly(form: str, count: int) -> None:
    pattern = "|".join(map(form.format, WORDS[:count]))
    began = time.process_time()
    expr = whole(pattern)
    assert time.process_time() - began < 15  # 0.25 s where nothing else runs
    accepts = reader(expr)
    assert all(map(accepts, WORDS[:count:300]))
    assert not accepts("end")


@pytest.mark.parametrize(
    "pattern",
    ["(" * 200 + "a" + ")*" * 200, "(a|b)*a(a|b){20}", ".*a.{24}", "(x?){50}" * 64, "a" * 20_000,
     "(?:" * 200 + "^a|b" + ")*" * 200, "".join(f"(?:^{c}|" for c in "ab" * 90) + "c" + ")" * 180,
     "|".join("a" * n for n in range(1, 300)), ANCHORS[0] * 300 + "a" + ANCHORS[1] * 300],
)  # fmt: skip
def test_hostile_patterns_lower_within_a_moment(pattern: str) -> None:
    began = time.process_time()
    tree = parse_regex(pattern)
    assert lower_regex(tree) is lower_regex(tree)
    assert time.process_time() - began < 30
