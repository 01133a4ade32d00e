"""The lowered language is `re`'s: whole matches and searches, anchors anywhere, every flag."""

import json
import re
from functools import partial

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from guideway.errors import GuidewayError, LimitError, UnsupportedError
from guideway.json_schema.spelling import spell_character
from guideway.language.expr import EMPTY, literal
from guideway.language.nodes import Expr
from guideway.language.regular import contains
from guideway.language.utf8 import character
from guideway.regex.backtracking_automaton import whole_matches
from guideway.regex.lowering import lower_regex, lower_search
from guideway.regex.parser import parse_regex
from guideway.regex.tree import Back
from guideway.sources.sources import Dialect
from plain_texts import short_strings
from regex_samples import ANCHORED, PATTERNS, TEXTS, oracle, reader, trees
from shares import one_in

LINES = [*short_strings("a\n", 5), "ab", "b\na"]


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
    for text in short_strings('a\n"\\', 3):
        in_json = json.dumps(text)[1:-1]
        assert accepts(in_json) == bool(expected.fullmatch(text)), text
        assert finds(in_json) == bool(expected.search(text)), text


@pytest.mark.parametrize("pattern", [
    "a^b", "a$b", "(?m:a^b)", r"a\Z\n", "a\ud800b", r"\ud800", r"[\ud800-\udfff]", "(?i:\ud800a)",
])  # fmt: skip
def test_anchors_that_cannot_hold_and_lone_surrogates_leave_nothing(pattern: str) -> None:
    assert whole(pattern) is EMPTY
    assert whole(f"a|{pattern}") is literal("a")


def test_the_end_of_ecma_is_no_newline() -> None:
    finds = reader(search("^a$"))
    assert finds("a")
    assert not finds("a\n")


def test_lines_are_counted_within_a_limit_of_states() -> None:
    accepts = reader(whole(r"(?m)(?:^a*$\n){2,100}"))
    assert accepts("aa\n\n")
    assert not accepts("aa\n")
    far = "(?:(?=[ab]*a[ab]{13}c)[ab]|c)*"
    for pattern in (r"(?m)(?:^a*$\n){2,9000}", r"(?:[a-c](?:,|$)){1,2147483648}", far):
        with pytest.raises(LimitError, match="5000 states") as caught:
            whole(pattern)
        assert caught.value.limit == "states of a pattern"


# Lookaround, word boundaries and references back: `re` is the oracle, text by text.

SIGNS = ["*", "+", "?", "{2}", "{1,2}", "{0,3}", "{2,}", "{1,14}"]
LEAVES = ["a", "b", "ab", "[ab]", "[^a]", ".", "(?s:.)", r"\n", "", "^", "$", "(?m:^)", "(?m:$)"]
LOOKAROUND_WORDS = ["a", "a ", "_", r"\w", r"\s", r"\b", r"\B", r"\n", ""]
BEHIND = ["a", "ab", "[ab]", ".", r"\n", "^a", "b$", "(?<!a)b", r"\b"]
LOOPS = ["(?:(?!%s).)*", "(?:(?!%s)[ab])+", "(?:(?!%s)(?s:.)){1,20}"]


def trees_of_lookaround(leaves: list[str], deepest: int = 6) -> st.SearchStrategy[str]:
    """Patterns with lookaround in them."""
    return st.recursive(
        st.sampled_from(leaves),
        lambda inner: st.one_of(
            st.builds("{}{}".format, inner, inner),
            st.builds("{}{}{}".format, inner, inner, inner),
            st.builds("(?:{}|{})".format, inner, inner),
            st.builds("(?:{}){}".format, inner, st.sampled_from(SIGNS)),
            st.builds("(?{}{})".format, st.sampled_from("=!"), inner),
            st.builds("(?<{}{})".format, st.sampled_from("=!"), st.sampled_from(BEHIND)),
            st.builds(str.__mod__, st.sampled_from(LOOPS), inner),
        ),
        max_leaves=deepest,
    )


def check(pattern: str, texts: list[str]) -> None:
    """A pattern has to mean the same as in `re`, by its parts and as one automaton."""
    expected = oracle(pattern)
    tree = parse_regex(pattern)
    ways = [(lower_regex(tree), lower_search(tree))]
    if not tree.has(Back):
        ways += [(whole_matches(tree, False, character), whole_matches(tree, True, character))]
    for whole, found in ways:
        is_whole, is_found = reader(whole), reader(found)
        for text in texts:
            assert is_whole(text) == bool(expected.fullmatch(text)), text
            assert is_found(text) == bool(expected.search(text)), text


def check_drawn(pattern: str, texts: list[str]) -> None:
    """The same of a pattern by chance: few of them have too many states."""
    try:
        check(pattern, texts)
    except LimitError as error:
        assert error.limit == "states of a pattern"  # noqa: PT017  it is one of two outcomes


@given(trees_of_lookaround(LEAVES))
@example("(?!a)[ab]+(?<!b)")
@example("a(?=b)b(?<!a)")
@example("(?:(?!ab).)*b")
@example("(?:(?!ab|ba).){2,}")
@example("(?:(?!.*b)[ab])*b?")
@example("(?:(?!)a)*")
@example("(?:(?=a).)*b")
@example("(?:(?!b)(?!ab).)*b")
@example("(?:(?!b|)a)*")
@example("(?=a|(?!b))[ab]")
@example("(?:a(?=b)|b){1,2}")
def test_lookaround_means_what_it_means_in_re(pattern: str) -> None:
    check_drawn(pattern, short_strings("ab\n", 4))


@pytest.mark.parametrize(
    "pattern",
    ["a(?:a|b(?=a)){0,38}", "a(?:a|b(?=a)){0,38}b?", "(?:a|b(?=a)){2,20}(?:a|c)",
     "(?:b(?!b)a*)+b?", "(?:(?=a)[ab]c?)*", r"(?:b(?=\Z)|a)*c?", r"(?:b(?=a|\Z)|a)+",
     "(?:b(?=(?:[ac]))|a|c(?=b)|c(?!c))*",
     "(?:(?:b(?!b)|a(?!a)){3,}c?)*", "(?:a|(?=b)){14}b", "(?:b(?=a)|b(?=c)|a)*.?",
     "(?:(?=[ab])(?=[bc]).a?)*c*", "(?=(?:a|b(?=c))*c).*", "(?:a|b(?!a)){9}",
     "(?:b(?=b)(?=a)|a)*b", "(?:(?=a)bc|c)*", "a|a(?:[abc](?!bb))*a",
     "(?:[ab](?!ab|c))*(?:ab|c)?", "(?:[ab](?!ab)){2,}b*", "(?:.(?!bb)){13}",
     "(?i:(?:A(?!B)|C)*)b?"],
)  # fmt: skip
def test_loops_may_ask_for_the_next_character(pattern: str) -> None:
    check(pattern, [*short_strings("abc", 5), "a" * 38, "a" * 39, "ab" * 19, "ba" * 20, "ba" * 6])


@pytest.mark.parametrize(
    "pattern",
    ["(?:ab(?=ba)|ba)*", "(?:(?=ab)ab)*", "(?:(?!.*b)a)*b", "(?:(?!a$)b)*", "(?:(?=ab)a)*b",
     "(?:a|b(?!ab)){9}", "(?:a|b(?=c)){60}", "(?:(?:(?:(?:a|b(?=c))*)*)*)*", "(?:b(?<!ab)|a)*",
     "(?:a(?=[ab])|b(?=[bc])|c(?=[cd])|d(?=[de]))*", "(?:(?!(?=a)b)a)*", "(?:(?=.*c)[ab]|c)*",
     "(?:(?!" + "ab" * 30 + ").)*b", r"a(?!b)\w+(?<!c)d", "(?:(?!ab).)*(?<!b)b", "(?m:^a$|b|\\n)*",
     "(?:(?=a(?<=ba))a|b)*", "(?=a(?<=a))a", "a(?<=a(?=b))b", r"b(?<=(?:(?!ab)b))b",
     "(?<!(?<!a)b)c", "(?<=(?:a|(?<=b)c)(?=d|a$))[ad]", "(?:(?<!a(?=bb))b|a)*",
     r"(?:(?<=\bab)c|ab|b|d)*",
     "(?:(?!b)[ab]{1,3}(?<!b)c)+", "(?:(?!b)[ab]{1,3}(?<!b)c|b(?=c)cc?){2,}", "(?:a(?<=^a)|b)*",
     "(?:(?!bc)b?.)*", "(?:.(?<!ab))*", "(?:[ab](?=.{2})c|.)*"],
)  # fmt: skip
def test_lookaround_may_stand_in_loops_and_in_lookaround(pattern: str) -> None:
    texts = [*short_strings("abcd", 4), *short_strings("abc", 6), "ab" * 19, "c" * 300]
    check(pattern, [*texts, "bc" * 150, "a\nb"])


@pytest.mark.untraced
@one_in(3)
@given(trees_of_lookaround(LOOKAROUND_WORDS))
@example(r"(?:\B){1,2}")
@example(r"\B")
@example(r"(?:\ba\b ?)*")
@example(r"(?:\w+\b\s*){2,3}")
@example(r"(?:a|\b)\b(?: \b)?a")
@example(r"(?:(?:a?){3})\b(?:_? )")
def test_word_boundaries_mean_what_they_mean_in_re(pattern: str) -> None:
    check_drawn(pattern, short_strings("a _\n", 3))


@pytest.mark.parametrize("pattern", [
    r"\bé\b", r"(?a:\bé\b.)", r"\b(?a:\b).", r"(?a:.\b|\B)(?u:\b.)", r"\w\b\W", r"[^a]\b[^ ]",
    r"(?:é|\b) ?", r"\B.\B", r"é+\b.?",
])  # fmt: skip
def test_words_are_those_of_unicode(pattern: str) -> None:
    check(pattern, short_strings("éa \u212a", 3))


PART = st.sampled_from(["a", "b", "[ab]", "a?", "(?:a|bb)", "", "(?:ab){0,2}", "[^b\n]"])
NAMES = st.sampled_from([r"\1", r"\2", r"(?:\1|b)", r"\1*", "a"])
REFERENCES = st.lists(NAMES | PART.map("({})".format), min_size=1, max_size=4).map("".join)


@one_in(3)
@given(st.builds("({}){}".format, PART, REFERENCES))
def test_references_are_the_texts_of_their_groups(pattern: str) -> None:
    try:
        oracle(pattern)
        lower_regex(parse_regex(pattern))
    except (re.error, UnsupportedError):
        return
    check(pattern, short_strings("ab", 5))


@pytest.mark.untraced
@pytest.mark.parametrize(
    "pattern",
    [r"(['\"])[ab]*\1", r"(a|b)\1", r"(?P<x>a|b)(?:(?P=x)|c)", r"(?:(a|b)\1)*", r"((a)b)\1",
     r"(a|b)(c|d)\2\1", r"(?:x(a|b)y\1|z)", r"()\1", r"(?i:(a))\1", r"(a|b)(?=\1).",
     r"a|([^\s\S])\1\B"],
)  # fmt: skip
def test_references_to_few_texts_are_written_out(pattern: str) -> None:
    check(pattern, [*short_strings("abc", 4), *short_strings("x'\"azyA", 4)])


@pytest.mark.parametrize(
    ("pattern", "words"),
    [(r"(a*)\1", "more than 256 texts"), (r"(\w)\1", "more than 256 texts"),
     (r"(a)?\1", "left out"), (r"(?:(a)|b)\1", "left out"), (r"((a)b)\1\2", "left out"),
     (r"(?=(a|b))\1", "left out"), (r"(a)(?i:\1)", "ignores case"), (r"(^a)\1", "256 texts"),
     (r"([a-z])([a-z])(?:\1\2){3}" + "x*" * 99, "50000 parts"), (r"(a{0,300})\1", "256 texts"),
     ("(?=" * 14 + "a" + ")" * 14, "nested more than 12")],
)  # fmt: skip
def test_what_has_no_automaton_here_is_refused_by_name(pattern: str, words: str) -> None:
    with pytest.raises(UnsupportedError, match=words) as caught:
        lower_regex(parse_regex(pattern))
    assert caught.value.feature in ("lookaround", "backreference", "word boundary")
    assert caught.value.position is not None


def test_lookaround_can_be_spelled_as_json() -> None:
    def spell(ranges: tuple[tuple[int, int], ...]) -> object:
        return spell_character(ranges, False)

    tree = parse_regex(r'^(?!.*"")[a"]+(?<!a)$', "ecma")
    accepts = reader(lower_search(tree, spell))  # type: ignore[arg-type]
    for text, good in [('a"', True), ('a""', False), ('"a', False), ("a", False)]:
        for quote in ('\\"', "\\u0022"):
            assert accepts(text.replace('"', quote)) == good
    names = parse_regex(r"^[a-z](?:[a-z]|-(?=[a-z])){0,38}$", "ecma")  # GitHub's
    accepts = reader(lower_search(names, spell))  # type: ignore[arg-type]
    for text, good in [("a-b", True), ("a--b", False), ("a-", False), ("a" * 40, False)]:
        for dash in ("-", "\\u002d"):
            assert accepts(text.replace("-", dash)) == good
    bounded = reader(lower_search(parse_regex(r"\ba\b", "ecma"), spell))  # type: ignore[arg-type]
    assert bounded(r"\u0061 b")
    assert bounded(r"é\u0061")
    assert not bounded("ab")


@pytest.mark.parametrize(("dialect", "taken"), [("python", False), ("ecma", True)])
def test_no_boundary_is_in_the_empty_text_for_ecma_alone(dialect: Dialect, taken: bool) -> None:
    assert lower_regex(parse_regex(r"\B", dialect)).nullable == taken
    assert lower_regex(parse_regex(r"\b", dialect)) is EMPTY


@settings(max_examples=600)
@given(trees_of_lookaround([*LEAVES, r"\b", r"\B", r"\w", r"\s", r"[\W0]"]))
def test_a_pattern_of_ecma_is_found_where_re_finds_it(pattern: str) -> None:
    try:
        expected, searched = oracle(pattern, re.ASCII), search(pattern)
    except (re.error, GuidewayError):
        return
    for text in short_strings("aB0 ", 2):
        if text or r"\B" not in pattern:  # which re finds nowhere in an empty text
            assert contains(searched, text.encode()) == bool(expected.search(text)), text
