"""Comparisons of constraints, with `re` on all short texts as the oracle."""

from typing import Any

import pytest
from hypothesis import given, settings

import guideway as gw
from guideway.sources.sources import Source
from plain_texts import short_strings
from random_walks import BYTES
from regex_samples import oracle, trees

SHORT = short_strings("ab", 5)
PATTERNS = trees(["a", "b", "ab", "[ab]", "", "a{2}"], 5)
LISTED, BOUNDED = {"enum": [1, 2]}, {"type": "integer", "minimum": 1, "maximum": 2}
PLAIN: dict[str, Any] = {"spelling": "plain", "whitespace": "compact"}
NESTED = gw.JsonSchema({"type": "array", "items": {"$ref": "#"}}, whitespace="compact")


def first(texts: list[str]) -> str | None:
    return min(texts, key=lambda text: (len(text), text), default=None)


@settings(max_examples=60)
@given(PATTERNS, PATTERNS)
def test_the_witness_is_the_first_text_that_tells_languages_apart(left: str, right: str) -> None:
    this, other = gw.compile(gw.Regex(left), BYTES), gw.compile(gw.Regex(right), BYTES)
    here, there = oracle(left), oracle(right)
    more = first([t for t in SHORT if there.fullmatch(t) and not here.fullmatch(t)])
    less = first([t for t in SHORT if here.fullmatch(t) and not there.fullmatch(t)])
    either = first([text for text in (more, less) if text is not None])

    included = this.includes(other)
    assert bool(included) == (included.witness is None) == (included.side is None)
    if more is not None or included:
        assert included.witness == more
    else:
        assert there.fullmatch(str(included.witness))
        assert not here.fullmatch(str(included.witness))
    if not included:
        assert included.side == "other"

    same = this.equivalent(other)
    assert bool(same) == (bool(included) and bool(other.includes(this)))
    if either is not None:
        assert same.witness == either
    if not same:
        accepts, refuses = (here, there) if same.side == "this" else (there, here)
        assert accepts.fullmatch(str(same.witness))
        assert not refuses.fullmatch(str(same.witness))


@pytest.mark.parametrize(
    ("this", "other", "witness", "side"),
    [
        (gw.Text(), gw.Regex("(?s:.*)"), None, None),
        (gw.Text(), gw.Regex(".*"), "\n", "this"),
        (gw.Choice(["no", "yes"]), gw.Regex("no|yes|maybe"), "maybe", "other"),
        (gw.Regex("é+"), gw.Regex("é{1,3}"), "éééé", "this"),
        (gw.JsonSchema({"type": "integer"}), gw.JsonSchema({"type": "number"}), "0.1", "other"),
        (gw.Lark('start: "a" ["b"] | "c" "c"\n'), gw.Regex("[a-c]"), "b", "other"),
        (gw.JsonSchema(LISTED), gw.JsonSchema(BOUNDED), "1E0", "this"),
        (gw.JsonSchema(LISTED, **PLAIN), gw.JsonSchema(BOUNDED, **PLAIN), None, None),
        # Nothing nests without end here, so rules are no hindrance.
        (*(gw.JsonSchema({"type": "array", "items": {**BOUNDED, "minimum": low}, "maxItems": 2})
           for low in (0, 1)), "[0]", "this"),
        (gw.Gbnf('root ::= x x\nx ::= "a" | "b"'), gw.Regex("[ab]{2}"), None, None),
        (gw.Gbnf('root ::= x* y\nx ::= "a"\ny ::= "b"'), gw.Regex("a*b"), None, None),
        # One that does is decided where the other one is a short list.
        (NESTED, gw.Choice(["[[],[[]]]", "[", "[[]", "[]"]), "[", "other"),
    ],
)  # fmt: skip
def test_kinds_of_sources_are_compared(
    this: Source, other: Source, witness: str | None, side: str | None
) -> None:
    constraint = gw.compile(this, BYTES)
    found = constraint.equivalent(other) if this is not NESTED else constraint.includes(other)
    assert (found.witness, found.side, bool(found)) == (witness, side, witness is None)


def test_what_nests_is_compared_with_itself_and_with_lists_only():
    nested = gw.compile(NESTED, BYTES)
    assert nested.equivalent(gw.compile(NESTED, BYTES))
    assert nested.includes(gw.Choice(["[]", "[[],[]]"]))
    for other in (gw.Regex(r"(\[\]|\[{2,}\]{2,})*"), gw.JsonSchema({"type": "array"})):
        with pytest.raises(gw.UnsupportedError, match="nests without end"):
            nested.includes(other)
    with pytest.raises(gw.UnsupportedError, match="nests without end"):
        nested.equivalent(gw.JsonSchema({"type": "array"}))
    # Whether something regular has all of it is decided, and one direction may be an answer.
    assert gw.compile(gw.Regex(r"\[[\[\],]*\]"), BYTES).includes(nested)
    found = gw.compile(gw.Regex(r"\[*\]*"), BYTES).includes(nested)
    assert (found.witness, found.side) == ("[[],[]]", "other")
    assert nested.equivalent(gw.Regex(r"\[*\]*")).witness == "[[],[]]"
    # What one direction shows is an answer.
    apart = nested.equivalent(gw.Choice(["[]", "no"]))
    assert (apart.holds, apart.witness, apart.side) == (False, "no", "other")


def test_a_language_is_what_the_vocabulary_spells_of_it():
    letters = gw.compile(gw.Regex("[a-z]+"), gw.Vocabulary([b"a", b"b"]))
    assert letters.equivalent(gw.Regex("[ab]+"))
    assert letters.equivalent(gw.compile(gw.Regex("[ab]+"), BYTES))
    assert letters.equivalent(gw.compile(gw.Regex("[abc]+"), BYTES)).witness == "c"
    # No token is an "a" alone: only even runs of it can be spelled.
    pairs = gw.Vocabulary([b"_", b"aa", b"b", b"_a"], lead=b"_")
    spelled = gw.compile(gw.Regex("a{0,3}b?"), pairs)
    assert spelled.equivalent(gw.compile(gw.Regex("a{0,3}b?"), BYTES))
    assert not spelled.matches("aab_")
    without = gw.compile(gw.Regex("a{0,3}b?"), gw.Vocabulary([b"_", b"aa", b"b"], lead=b"_"))
    found = without.equivalent(spelled)
    assert (found.witness, found.side) == ("a", "other")
    assert spelled.includes(without)
    twice = gw.compile(
        gw.JsonSchema({"enum": [["aa"], ["a"]]}), gw.Vocabulary([b"aa", b'["', b'"]'])
    )
    assert twice.equivalent(gw.compile(gw.Choice(['["aa"]']), BYTES))
    listed = gw.compile(NESTED, BYTES).includes(
        gw.compile(gw.Choice(["[]", "no"]), gw.Vocabulary([b"[]", b"n"]))
    )
    assert listed


def test_a_search_that_takes_too_much_is_a_limit_error():
    hard = gw.compile(gw.Regex("[ab]*a[ab]{12}"), BYTES, gw.Budget(fuel=2_000))
    with pytest.raises(gw.LimitError, match="comparing takes more than 2000 parts"):
        hard.equivalent(gw.Regex("[ab]*a[ab]{11}[ab]{0,3}"))


def test_what_nests_without_end_is_not_gone_down_for_long() -> None:
    nested = gw.Lark('start: "a" start "b" | "c"\n')
    ends = gw.Lark('start: start start | "a" | "b"\n') + nested
    begun = gw.compile(gw.Text() | gw.Lark('start: "a"+ B?\nB: /b+/\n'), BYTES)
    with pytest.raises(gw.UnsupportedError, match="too many texts to try"):
        begun.equivalent(ends)
    meeting = gw.Gbnf('root ::= "a" root "b" | ""') & gw.Lark(
        'start: N+\nN: /[ab]+/\n%ignore "c"\n'
    )
    with pytest.raises(gw.UnsupportedError, match="both nest without end"):
        gw.compile(meeting & gw.Regex("a+b+"), BYTES)
