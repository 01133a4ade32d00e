"""Comparisons of constraints, with `re` on all short texts as the oracle."""

from itertools import product

import pytest
from hypothesis import given, settings

import fairlead as fl
from fairlead.syntax.sources import Source
from regex_samples import oracle, trees

BYTES = fl.Vocabulary([bytes((b,)) for b in range(256)] + [b"<eos>"], {256})
SHORT = ["".join(word) for size in range(6) for word in product("ab", repeat=size)]
PATTERNS = trees(["a", "b", "ab", "[ab]", "", "a{2}"], 5)
NESTED = fl.JsonSchema({"type": "array", "items": {"$ref": "#"}}, whitespace="compact")


def first(texts: list[str]) -> str | None:
    return min(texts, key=lambda text: (len(text), text), default=None)


@settings(max_examples=60)
@given(PATTERNS, PATTERNS)
def test_the_witness_is_the_first_text_that_tells_languages_apart(left: str, right: str) -> None:
    this, other = fl.compile(fl.Regex(left), BYTES), fl.compile(fl.Regex(right), BYTES)
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
        (fl.Text(), fl.Regex("(?s:.*)"), None, None),
        (fl.Text(), fl.Regex(".*"), "\n", "this"),
        (fl.Choice(["no", "yes"]), fl.Regex("no|yes|maybe"), "maybe", "other"),
        (fl.Regex("é+"), fl.Regex("é{1,3}"), "éééé", "this"),
        (fl.JsonSchema({"type": "integer"}), fl.JsonSchema({"type": "number"}), "0.1", "other"),
        (fl.Lark('start: "a" ["b"] | "c" "c"\n'), fl.Regex("[a-c]"), "b", "other"),
        # Nothing nests without end here, so rules are no hindrance.
        (
            fl.JsonSchema(
                {"items": {"type": "integer", "minimum": 0}, "maxItems": 2, "type": "array"}
            ),
            fl.JsonSchema(
                {"items": {"type": "integer", "minimum": 1}, "maxItems": 2, "type": "array"}
            ),
            "[0]",
            "this",
        ),
        (fl.Gbnf('root ::= x x\nx ::= "a" | "b"'), fl.Regex("[ab]{2}"), None, None),
        (fl.Gbnf('root ::= x* y\nx ::= "a"\ny ::= "b"'), fl.Regex("a*b"), None, None),
        # One that does is decided where the other one is a short list.
        (NESTED, fl.Choice(["[[],[[]]]", "[", "[[]", "[]"]), "[", "other"),
    ],
)
def test_kinds_of_sources_are_compared(
    this: Source, other: Source, witness: str | None, side: str | None
) -> None:
    constraint = fl.compile(this, BYTES)
    found = constraint.equivalent(other) if this is not NESTED else constraint.includes(other)
    assert (found.witness, found.side, bool(found)) == (witness, side, witness is None)


def test_texts_are_compared_and_not_what_they_mean() -> None:
    """Spellings with an exponent have no end: how far they are known is told by `JsonSchema`."""
    listed, bounded = {"enum": [1, 2]}, {"type": "integer", "minimum": 1, "maximum": 2}
    one, other = (fl.compile(fl.JsonSchema(each), BYTES) for each in (listed, bounded))
    assert one.includes(other)
    assert one.equivalent(other).witness == "0.001E3"
    one, other = (
        fl.compile(fl.JsonSchema(each, spelling="plain", whitespace="compact"), BYTES)
        for each in (listed, bounded)
    )
    assert one.equivalent(other)


def test_what_nests_is_compared_with_itself_and_with_lists_only():
    nested = fl.compile(NESTED, BYTES)
    assert nested.equivalent(fl.compile(NESTED, BYTES))
    assert nested.includes(fl.Choice(["[]", "[[],[]]"]))
    for other in (fl.Regex(r"(\[\]|\[{2,}\]{2,})*"), fl.JsonSchema({"type": "array"})):
        with pytest.raises(fl.UnsupportedError, match="nests without end has been given"):
            nested.includes(other)
    with pytest.raises(fl.UnsupportedError, match="nests without end"):
        nested.equivalent(fl.JsonSchema({"type": "array"}))
    # Whether something regular has all of it is decided, and one direction may be an answer.
    assert fl.compile(fl.Regex(r"\[[\[\],]*\]"), BYTES).includes(nested)
    found = fl.compile(fl.Regex(r"\[*\]*"), BYTES).includes(nested)
    assert (found.witness, found.side) == ("[[],[]]", "other")
    assert nested.equivalent(fl.Regex(r"\[*\]*")).witness == "[[],[]]"
    # What one direction shows is an answer.
    apart = nested.equivalent(fl.Choice(["[]", "no"]))
    assert (apart.holds, apart.witness, apart.side) == (False, "no", "other")


def test_a_language_is_what_the_vocabulary_spells_of_it():
    letters = fl.compile(fl.Regex("[a-z]+"), fl.Vocabulary([b"a", b"b"]))
    assert letters.equivalent(fl.Regex("[ab]+"))
    assert letters.equivalent(fl.compile(fl.Regex("[ab]+"), BYTES))
    assert letters.equivalent(fl.compile(fl.Regex("[abc]+"), BYTES)).witness == "c"
    # No token is an "a" alone: only even runs of it can be spelled.
    pairs = fl.Vocabulary([b"_", b"aa", b"b", b"_a"], lead=b"_")
    spelled = fl.compile(fl.Regex("a{0,3}b?"), pairs)
    assert spelled.equivalent(fl.compile(fl.Regex("a{0,3}b?"), BYTES))
    assert not spelled.matches("aab_")
    without = fl.compile(fl.Regex("a{0,3}b?"), fl.Vocabulary([b"_", b"aa", b"b"], lead=b"_"))
    found = without.equivalent(spelled)
    assert (found.witness, found.side) == ("a", "other")
    assert spelled.includes(without)
    twice = fl.compile(
        fl.JsonSchema({"enum": [["aa"], ["a"]]}), fl.Vocabulary([b"aa", b'["', b'"]'])
    )
    assert twice.equivalent(fl.compile(fl.Choice(['["aa"]']), BYTES))
    listed = fl.compile(NESTED, BYTES).includes(
        fl.compile(fl.Choice(["[]", "no"]), fl.Vocabulary([b"[]", b"n"]))
    )
    assert listed


def test_a_search_that_takes_too_much_is_a_limit_error():
    hard = fl.compile(fl.Regex("[ab]*a[ab]{12}"), BYTES, fl.Budget(fuel=2_000))
    with pytest.raises(fl.LimitError, match="comparing takes more than 2000 parts"):
        hard.equivalent(fl.Regex("[ab]*a[ab]{11}[ab]{0,3}"))


@pytest.mark.untraced
def test_words_are_listed_where_they_have_an_end():
    from fairlead.automata.decided import Decisions
    from fairlead.lowering.expr import EMPTY
    from fairlead.lowering.sources import lower_source

    decisions = Decisions()
    schema = fl.JsonSchema(
        {"enum": ["x", [1, {"a": None}]]}, whitespace="compact", spelling="plain"
    )
    assert decisions.words(lower_source(schema)) == (b'"x"', b'[1,{"a":null}]')
    assert decisions.words(EMPTY) == ()
    assert decisions.words(lower_source(fl.Regex("[ab]{30}"))) is None
    assert decisions.words(lower_source(fl.Regex("a|(?!b)(b|c)*c"))) is None
    assert decisions.words(lower_source(NESTED)) is None


def test_what_nests_without_end_is_not_gone_down_for_long() -> None:
    nested = fl.Lark('start: "a" start "b" | "c"\n')
    ends = fl.Lark('start: start start | "a" | "b"\n') + nested
    begun = fl.compile(fl.Text() | fl.Lark('start: "a"+ B?\nB: /b+/\n'), BYTES)
    with pytest.raises(fl.UnsupportedError, match="too many to try them"):
        begun.equivalent(ends)
    meeting = fl.Gbnf('root ::= "a" root "b" | ""') & fl.Lark(
        'start: N+\nN: /[ab]+/\n%ignore "c"\n'
    )
    with pytest.raises(fl.UnsupportedError, match="both nest without end"):
        fl.compile(meeting & fl.Regex("a+b+"), BYTES)
