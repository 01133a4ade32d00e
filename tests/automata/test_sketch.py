"""What a sketch calls empty is empty, and little else is left to search: Lark is the oracle."""

import random
import re

import lark
import pytest

import guideway as gw
from guideway.automata import inclusion, passages, sketch
from guideway.automata.derivative import Derivatives
from guideway.automata.sketch import Sketch
from guideway.errors import GuidewayError, LimitError
from guideway.lowering.expr import (
    ANYTHING,
    EMPTY,
    ahead,
    alt,
    both,
    byte_set,
    concat,
    literal,
    repeat,
    stop,
)
from guideway.lowering.nodes import Expr, Rule, operands
from guideway.lowering.sources import lower_source
from guideway.syntax.sources import Source
from lark_samples import ERRORS, Blocks, OutOfFuelError, accepted, by_chance, parsed, short_strings

MEETINGS = (
    "a*", "[^b]*", "(?!.*c).*", ".*ab.*", ".{1,3}", "(..)*", "a.*", ".*c", ".{2,4}", "[^a]*c?",
    "(?!.*aa).*",
)  # fmt: skip


def sketched(expr: Expr) -> Sketch:
    """The sketch of a recognizer."""
    machine = Derivatives(expr)
    return Sketch(machine._disjoint, machine.living.check, machine._least.word, lambda made: None)


def length(source: Source) -> int | None:
    """What it says of a source."""
    expr = lower_source(source)
    return sketched(expr).length(expr)


@pytest.mark.untraced
@pytest.mark.parametrize("seed", range(150))
def test_small_grammars_meet_regexes_as_lark_and_re_say(seed: int) -> None:
    text, dice = by_chance(seed), random.Random(seed)
    try:
        parser = lark.Lark(text, parser="lalr", lexer="contextual")
        gw.compile(gw.Lark(text), gw.Vocabulary([bytes([b]) for b in range(256)]))
    except (*ERRORS, GuidewayError):
        return
    known = parsed(parser, "abc", 6)
    for regex in dice.sample(MEETINGS, 3):
        for source, wanted in (
            (gw.Lark(text) & gw.Regex(regex), True),
            (gw.Lark(text) - gw.Regex(regex), False),
        ):
            expected = {t for t in known if (re.fullmatch(regex, t) is not None) is wanted}
            try:
                found = accepted(lower_source(source), "abc", 6)
            except OutOfFuelError:
                continue
            assert found == expected, (text, regex, wanted)


INDENTED = """
    start: x+
    x: "a" _NL | "b" ":" _NL _IN x+ _OUT | "(" "a"* ")" _NL
    _NL: /(\\r?\\n[ ]*|#)+/
    LPAR: "("
    RPAR: ")"
    %declare _IN _OUT
"""


@pytest.mark.parametrize("regex", ["[^\n]*\n", "(?s)[^a]*", "(?s)(?!.*b:\n a).*", "[^ ]*", "a?b?"])
@pytest.mark.parametrize("denied", [False, True])
def test_indented_lines_meet_regexes(regex: str, denied: bool) -> None:
    grammar = gw.Lark(INDENTED, postlex=Blocks())
    parser = lark.Lark(INDENTED, parser="lalr", postlex=Blocks())
    known = parsed(parser, "ab:\n ", 6) | parsed(parser, "(a)\n#", 5)
    expected = {t for t in known if (re.fullmatch(regex, t) is None) is denied}
    source = grammar - gw.Regex(regex) if denied else grammar & gw.Regex(regex)
    expr = lower_source(source)
    assert accepted(expr, "ab:\n ", 6) | accepted(expr, "(a)\n#", 5) == expected


def test_what_is_empty_needs_no_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of these took seconds, or was refused after so many ways."""
    monkeypatch.setattr(passages, "MOST", 0)
    monkeypatch.setattr(passages, "FEW", 0)
    byte = gw.Vocabulary([bytes([b]) for b in range(256)])
    for source in (
        gw.grammar("sql") - gw.Regex(r"(?s).*\*.*"),
        gw.grammar("toml") - gw.Regex("(?s).*#.*"),
        gw.grammar("arithmetic") - gw.Regex(".*2.*"),
        gw.grammar("arithmetic") & gw.Regex(".{1,200}"),
    ):
        gw.compile(source, byte)


def test_a_sketch_knows_how_near_a_text_is() -> None:
    pairs = gw.Lark('start: "a" start "b" | "ab"\n%ignore " "')
    assert length(pairs & gw.Regex("a+")) is None
    assert length(pairs & gw.Regex("a{3}b+")) == 6
    assert length(pairs & gw.Regex(" {5}.*")) == 7
    assert length(pairs & gw.Regex("(..)*") & gw.Regex("a{3}.*")) == 6
    assert length("x" + (pairs & gw.Regex("a{3}b+")) + "yz") == 9
    assert length(gw.Gbnf('root ::= "(" root ")" | "x"') & gw.Regex(r"\({3}.*")) == 7
    assert length(gw.Gbnf('root ::= "(" root ")" | "x"') & gw.Regex(r"\(*")) is None


def test_where_lark_itself_looks_ahead_nothing_is_said() -> None:
    expr = lower_source(gw.Lark('start: "a" start "b" | /a+/'))
    assert sketched(expr).length(expr) == 0
    either = alt(expr, concat(literal("a"), expr))
    assert sketched(either).length(either) == 0
    later = concat(literal("abcdefghij"), expr)  # it is not looked for so far behind
    assert sketched(later).length(later) == 11


def test_what_is_not_looked_into_may_leave_anything() -> None:
    schema = gw.JsonSchema({"type": "object"})
    assert length(schema & gw.Regex("x*")) == 2
    assert length((schema & gw.Regex("x*")) + "ab") == 4


def test_a_terminal_that_is_declared_only_is_never_read() -> None:
    text = 'start: X "a" | "b" start | "c"\n%declare X'
    assert length(gw.Lark(text) & gw.Regex("b*c")) == 1
    assert length(gw.Lark(text) & gw.Regex("b*a")) is None
    begun = gw.Lark('start: "b" X "a" | "b" "c"\n%declare X') & gw.Regex("b.*")
    expr = lower_source(begun)
    assert accepted(expr, "abc", 4) == {"bc"}
    behind = Derivatives(expr).step(expr, ord("b"))
    assert behind is not None
    assert sketched(expr).length(behind) == 1


def test_parts_that_are_no_lark_are_looked_into() -> None:
    nested = gw.Lark('start: "a" %json {"enum": [12]} "b" | "c" start')
    assert length(nested & gw.Regex("c*a.*b")) == 4
    assert length(nested & gw.Regex("c*a")) is None


def test_counts_and_levels() -> None:
    rule = Rule("pair")
    rule.define(alt(concat(literal("a"), rule, literal("b")), literal("ab")))
    even = repeat(repeat(alt(literal("ab"), literal("c")), 2, 2))
    for low, high, least in ((0, None, 0), (2, 3, 4), (1, None, 4)):
        expr = concat(ahead(even, 0), repeat(rule, low, high), stop(0))
        assert (sketched(expr).length(expr) or 0) <= least
    inner = concat(ahead(literal("ab"), 0), rule, stop(0))
    outer = concat(ahead(repeat(literal("ab")), 1), inner, stop(1))
    assert sketched(outer).length(outer) == 2
    dead = concat(rule, both(literal("a"), concat(ANYTHING, literal("b"))), ahead(even, 0))
    assert sketched(dead).length(dead) is None
    later = Rule("later", looks=2)
    later.define(alt(concat(ahead(literal("y"), 1), literal("x")), literal("xx")))
    twice = concat(ahead(repeat(literal("x")), 1), later, stop(1))
    assert sketched(twice).length(twice) == 2
    none = concat(ahead(literal("x"), 1), ahead(literal("y"), 1), inner, stop(1))
    assert sketched(none).length(none) is None


def test_a_search_that_takes_long_says_nothing_and_in_the_end_none_is_begun(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    expr = lower_source(gw.Lark('start: "a" start "b" | "ab"') & gw.Regex("a{9}b+|c{300}"))
    machine = sketched(expr)
    assert machine.length(expr) == 18
    machine.forget()
    monkeypatch.setattr(sketch, "MOST", 2)
    assert [machine.length(expr) for _ in range(20)] == [0] * 20
    monkeypatch.undo()
    assert machine.length(expr) == 0


def test_of_two_that_are_no_counts_one_may_be_within_the_other() -> None:
    machine = sketched(ANYTHING).inclusion
    less, more = literal("ab"), repeat(alt(literal("a"), literal("b")))
    assert machine.is_any_within(less, machine.bit(literal("x")) | machine.bit(more))
    assert not machine.is_any_within(more, machine.bit(less))
    assert not machine.is_any_within(ANYTHING, machine.bit(more))
    assert machine.is_any_within(more, machine.bit(ANYTHING))
    long = literal("ab" * 200)
    assert not machine.is_any_within(long, machine.bit(more))  # it is not looked further


def test_all_short_strings_are_told_apart() -> None:
    """The law above holds of words that are read one byte at a time, here of the words."""
    source = gw.Lark('start: "a" start "b" | /c+/\n%ignore " "') - gw.Regex(".* c.*")
    byte = gw.Vocabulary([bytes([b]) for b in range(256)])
    constraint = gw.compile(source, byte)
    parser = lark.Lark('start: "a" start "b" | /c+/\n%ignore " "', parser="lalr")
    known = parsed(parser, "abc ", 6)
    for text in short_strings("abc ", 6):
        assert constraint.matches(text) == (text in known and " c" not in text)


def test_of_more_and_more_that_is_looked_ahead_for_some_is_left_out() -> None:
    """A rule that looks for more each time meets ever more, unless it is stopped."""
    rule = Rule("more")
    rule.define(alt(concat(ahead(repeat(literal("ab")), 1), literal("a"), rule), literal("b")))
    items = [repeat(literal("c"), number, number) for number in range(40)]
    met = sketched(ANYTHING)
    before: Expr = repeat(byte_set(b"abc"))
    for item in items:
        after = met.joined(before, concat(ANYTHING, item, literal("b"), ANYTHING))
        before = before if after is EMPTY else after
    assert len(operands(before)) == sketch._MEETS
    assert sketched(rule).length(rule) is not None


@pytest.mark.untraced
def test_one_of_fifty_characters_is_found_before_all_short_ones() -> None:
    source = gw.grammar("sql") & gw.Regex("(?s).{50,60}")
    expr = lower_source(source)
    made: list[int] = []
    machine = Derivatives(expr)
    one = Sketch(machine._disjoint, machine.living.check, machine._least.word, made.append)
    assert 50 <= (one.length(expr) or 0) <= 60
    ways = [work for work in made if work != inclusion._PAIR]
    assert sum(ways) < 60_000  # 2.5 million before, and then no answer


def test_what_is_compared_is_paid_for() -> None:
    schemas = {"type": "array", "items": {"type": "integer"}}, {"not": {"type": "integer"}}
    numbers, others = (gw.JsonSchema(schema, whitespace="compact") for schema in schemas)
    with pytest.raises(LimitError, match="compiling takes more than 400000 parts"):
        gw.compile(
            (numbers + "x") & others,
            gw.Vocabulary([bytes((b,)) for b in range(256)]),
            gw.Budget.untrusted(),
        )
