"""Expressions that look ahead, against reading them by the definition, text by text."""

import re
from collections.abc import Callable, Iterator

import pytest

import guideway as gw
import random_walks
from guideway.constraint.lowering import lower_source
from guideway.errors import LimitError
from guideway.language import lookahead_search
from guideway.language.derivative import Derivatives
from guideway.language.expr import ahead, alt, complement, concat, literal, repeat, stop
from guideway.language.fuel import metered
from guideway.language.nodes import (
    Ahead,
    Alt,
    And,
    Bytes,
    Concat,
    Epsilon,
    Expr,
    Repeat,
    Rule,
    Stop,
)
from guideway.language.regular import contains
from guideway.language.set_algebra import among_texts
from guideway.regex.lowering import lower_regex
from guideway.regex.parser import parse_regex
from looking_grammars import EVEN, GUARDS, HAS_C, NOT_A, random_grammar
from plain_texts import behind, short_strings

Pending = frozenset[tuple[int, int, Expr]]


def read(  # noqa: C901, PLR0912  one arm for each node
    expr: Expr, text: str, at: int, pending: Pending
) -> Iterator[tuple[int, Pending]]:
    """Where a string of `expr` may end, with what is still to hold: the definition."""
    match expr:
        case Bytes(members):
            if at < len(text) and members >> ord(text[at]) & 1:
                yield at + 1, pending
        case Concat(head, tail):
            for middle, left in set(read(head, text, at, pending)):
                yield from read(tail, text, middle, left)
        case Alt(options):
            for option in options:
                yield from read(option, text, at, pending)
        case Repeat(item, low, high):
            yield from repeated(item, low, high, text, at, pending)
        case Rule():
            yield from read(expr.body, text, at, pending)
        case Ahead(item, level):
            yield at, pending | {(level, at, item)}
        case Stop(level):
            here = {one for one in pending if one[0] == level}
            if holds(here, text, at):
                yield at, frozenset(pending - here)
        case Epsilon():
            yield at, pending
        case _:
            raise AssertionError(expr)


def repeated(
    item: Expr, low: int, high: int | None, text: str, at: int, pending: Pending
) -> Iterator[tuple[int, Pending]]:
    found, now, count = set[tuple[int, Pending]](), {(at, pending)}, 0
    while now and (high is None or count <= high):
        if count >= low:
            found |= now
        now = {end for begin in now for end in read(item, text, begin[0], begin[1])} - (
            found if count >= low else set()
        )
        count += 1
    yield from found


def holds(pending: set[tuple[int, int, Expr]] | Pending, text: str, end: int) -> bool:
    return all(has(item, text[at:end]) for _, at, item in pending)


def has(item: Expr, text: str) -> bool:
    if isinstance(item, And):  # of neighbours
        return has(item.left, text) and has(item.right, text)
    return re.fullmatch(GUARDS[item], text, re.DOTALL) is not None


def belongs(expr: Expr, text: str) -> bool:
    ends = read(expr, text, 0, frozenset())
    return any(end == len(text) and holds(left, text, end) for end, left in ends)


@pytest.mark.parametrize("seed", range(40))
def test_a_grammar_that_looks_ahead_is_read_by_its_definition(seed: int) -> None:
    expr = random_grammar(seed)
    told = {text for text in short_strings("abc", 5) if belongs(expr, text)}
    machine = Derivatives(expr)
    beginnings = {text[:length] for text in told for length in range(len(text) + 1)}
    for text in short_strings("abc", 5):
        state = behind(machine, text)
        assert (state is not None and machine.accepts(state)) == (text in told), text
        if text in beginnings:
            assert state is not None, text
        elif state is not None and text:
            rest = machine.shortest(state).decode()  # it is longer than was enumerated
            assert len(text + rest) > 5
            assert belongs(expr, text + rest)
    if told:
        shortest = min(told, key=lambda text: (len(text), text))
        assert machine.shortest(machine.start()) == shortest.encode()
        assert machine.alive(machine.start())
    # The least text is found whatever was decided before.
    word = Derivatives(expr)._ahead(expr)
    if told:
        assert word is not None
        assert word.text == shortest.encode()
    else:
        assert word is None or word.length > 5


def test_a_language_without_texts_is_told_where_nothing_can_follow() -> None:
    rule = Rule("twice", looks=1)
    rule.define(concat(literal("a"), ahead(NOT_A), alt(rule, literal("ab"))))
    assert not Derivatives(rule).alive(rule)
    assert Derivatives(rule)._ahead(rule) is None


def deep(count: int = 1) -> Expr:
    """As many letters b before as behind what cannot be."""
    rule = Rule("deep", looks=1)
    dead = concat(literal("a"), ahead(NOT_A), literal("a"))
    rule.define(alt(concat(literal("b"), repeat(rule, count, count), literal("b")), dead))
    return rule


def test_what_cannot_be_decided_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for limit, value in (("LONG", 20), ("FEW", 0), ("MOST", 2)):
        monkeypatch.setattr(lookahead_search, limit, value)
    expr = concat(deep(), ahead(EVEN))
    with pytest.raises(LimitError, match="after 2 ways"), metered(lambda made: None):
        Derivatives(expr)._saturation.alive(expr)
    outer = concat(ahead(EVEN, 1), expr, stop(1))
    with pytest.raises(LimitError, match="after 2 ways"), metered(lambda made: None):
        Derivatives(outer).alive(outer)
    assert not Derivatives(expr)._saturation.alive(expr)  # where nobody pays it only takes longer
    monkeypatch.setattr(lookahead_search, "LONG", 1000)
    monkeypatch.setattr(lookahead_search, "MOST_PLACES", 50)
    with pytest.raises(LimitError, match="after 50 states"):
        Derivatives(deep()).shortest(deep())


@pytest.mark.parametrize("seed", range(40))
def test_there_is_a_way_through_where_there_is_a_text(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    expr = random_grammar(seed)
    found = Derivatives(expr).alive(expr)
    assert not found or any(belongs(expr, text) for text in short_strings("abc", 7))
    for limit, value in (("EARLY", 0), ("HASTY", 0), ("LONG", -1), ("FEW", -1)):
        monkeypatch.setattr(lookahead_search, limit, value)
    asked = list[bool]()
    decide = lookahead_search.LookaheadSaturation.alive

    def noted(self: lookahead_search.LookaheadSaturation, root: Expr) -> bool:
        asked.append(decide(self, root))
        return asked[-1]

    monkeypatch.setattr(lookahead_search.LookaheadSaturation, "alive", noted)
    assert Derivatives(expr).alive(expr) == found
    assert asked[-1:] == [found]  # and before, of some, what is not looked ahead for


def test_stacks_that_grow_for_ever_are_decided() -> None:
    nested = gw.Lark('start: "a" start "b" | "ab"')
    none, one = lower_source(nested & gw.Regex("a+")), lower_source(nested & gw.Regex("a{50}b+"))
    assert Derivatives(none)._saturation.soon(none) is False
    assert Derivatives(one)._saturation.soon(one) is True
    assert Derivatives(one).shortest(one) == b"a" * 50 + b"b" * 50


@pytest.mark.parametrize("make", [
    lambda: ahead(Rule("r")), lambda: repeat(ahead(NOT_A)), lambda: Rule("r").define(ahead(HAS_C)),
])  # fmt: skip
def test_what_would_be_read_without_a_byte_is_no_rule_and_not_repeated(
    make: Callable[[], object],
) -> None:
    with pytest.raises(Exception, match=r"regular|repeated|nullable"):
        make()


# What has the same texts: checked on texts, and where special tokens may be among them.

TEXTS_PATTERNS = (
    r"(?s)a.*", r"(?s).*", r"(?s).+", r"(?s).*ab.*", r"(?s)é.{2,}", r"(?s)(a.*|b|.{3,})",
    r"(?s)(?=.*a)b.*", r"(?s)(?!.*ab).*", r"a.*", r"[^a]*b",
)  # fmt: skip
TEXTS = short_strings("abé\n", 4)


@pytest.mark.parametrize("pattern", TEXTS_PATTERNS)
def test_the_texts_are_the_same(pattern: str) -> None:
    expr = lower_regex(parse_regex(pattern))
    loose, others = among_texts(expr), among_texts(complement(expr))
    for text in TEXTS:
        data = text.encode()
        assert contains(loose, data) == contains(expr, data) != contains(others, data), text


def test_special_tokens_are_no_text_behind_what_is_looked_for() -> None:
    vocabulary = gw.Vocabulary([b"a", b"b", None, b"<end>"], eos_ids={3}, special={"<s>": 2})
    grammar = gw.Lark('start: "a" rest\nrest: "b" rest "b" | <s> | "a"')
    free = gw.compile(grammar, vocabulary)
    meets = gw.compile(grammar & gw.Regex("(?s)a.*"), vocabulary)
    for ids, with_special in (([0, 0], False), ([0, 1, 0, 1], False), ([0, 2], True)):
        assert random_walks.read(free, ids) is not None
        assert (random_walks.read(meets, ids) is None) == with_special
