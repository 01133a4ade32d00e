"""Expressions that look ahead, against reading them by the definition, text by text."""

import itertools
import random
import re
from collections.abc import Callable, Iterator
from itertools import product

import pytest

import guideway as gw
from guideway.automaton.token_tries import unpack
from guideway.constraint.compiled import CompiledConstraint
from guideway.constraint.lowering import lower_source
from guideway.errors import LimitError
from guideway.language import lookahead_search as guarded
from guideway.language import lookahead_search as passages
from guideway.language.derivative import Derivatives
from guideway.language.expr import (
    ANYTHING,
    ahead,
    alt,
    byte_set,
    complement,
    concat,
    literal,
    repeat,
    stop,
)
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
from plain_texts import behind

NOT_A = complement(concat(byte_set(b"a"), ANYTHING))
NOT_AB = complement(concat(literal("ab"), ANYTHING))
EVEN = repeat(concat(byte_set(b"abc"), byte_set(b"abc")))
HAS_C = concat(ANYTHING, literal("c"), ANYTHING)
PATTERNS = {NOT_A: "(?!a).*", NOT_AB: "(?!ab).*", EVEN: "(..)*", HAS_C: ".*c.*"}

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
    return re.fullmatch(PATTERNS[item], text, re.DOTALL) is not None


def belongs(expr: Expr, text: str) -> bool:
    ends = read(expr, text, 0, frozenset())
    return any(end == len(text) and holds(left, text, end) for end, left in ends)


def texts(longest: int) -> Iterator[str]:
    for length in range(longest + 1):
        for letters in itertools.product("abc", repeat=length):
            yield "".join(letters)


def random_grammar(seed: int) -> Expr:
    chance = random.Random(seed)
    rules = [Rule(f"r{number}", looks=2) for number in range(3)]

    def letter() -> Expr:
        return byte_set(bytes(chance.sample(b"abc", chance.choice([1, 1, 2]))))

    def lookahead() -> Expr:
        return ahead(chance.choice([*PATTERNS]), chance.randrange(2))

    def part(depth: int) -> Expr:
        often = chance.choice([1, 2, None])
        flat = [letter, letter, lookahead, lambda: chance.choice(rules)]
        flat.append(lambda: repeat(letter(), 0, often))
        deep = [
            lambda: alt(word(depth - 1), word(depth - 1)),
            lambda: alt(lookahead(), word(depth - 1)),
            lambda: repeat(word(depth - 1), 0, often),
        ]
        return chance.choice([*flat, *deep] if depth else flat)()

    def word(depth: int) -> Expr:
        return concat(letter(), *(part(depth) for _ in range(chance.choice([0, 1, 1, 2]))))

    for rule in rules:
        rule.define(alt(word(2), word(1), letter()))
    inner = concat(ahead(chance.choice([*PATTERNS])), rules[0], stop(0))
    return chance.choice(
        [
            rules[0],
            concat(rules[0], rules[1]),
            concat(ahead(HAS_C, 1), rules[0]),
            concat(inner, rules[1]),
            concat(ahead(EVEN, 1), inner, repeat(byte_set(b"ac")), stop(1), repeat(letter())),
        ]
    )


@pytest.mark.parametrize("seed", range(40))
def test_a_grammar_that_looks_ahead_is_read_by_its_definition(seed: int) -> None:
    expr = random_grammar(seed)
    told = {text for text in texts(5) if belongs(expr, text)}
    machine = Derivatives(expr)
    beginnings = {text[:length] for text in told for length in range(len(text) + 1)}
    for text in texts(5):
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


def test_a_language_without_texts_is_told_where_nothing_can_follow() -> None:
    rule = Rule("twice", looks=1)
    rule.define(concat(literal("a"), ahead(NOT_A), alt(rule, literal("ab"))))
    assert not Derivatives(rule).alive(rule)
    assert Derivatives(rule)._ahead(rule) is None


@pytest.mark.parametrize("seed", range(40))
def test_the_least_text_is_found_whatever_was_decided_before(seed: int) -> None:
    expr = random_grammar(seed)
    told = [text for text in texts(5) if belongs(expr, text)]
    word = Derivatives(expr)._ahead(expr)
    if told:
        assert word is not None
        assert word.text == min(told, key=lambda text: (len(text), text)).encode()
    else:
        assert word is None or word.length > 5


def deep(count: int = 1) -> Expr:
    """As many letters b before as behind what cannot be."""
    rule = Rule("deep", looks=1)
    dead = concat(literal("a"), ahead(NOT_A), literal("a"))
    rule.define(alt(concat(literal("b"), repeat(rule, count, count), literal("b")), dead))
    return rule


def test_what_cannot_be_decided_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guarded, "LONG", 20)
    monkeypatch.setattr(passages, "FEW", 0)
    monkeypatch.setattr(passages, "MOST", 2)
    expr = concat(deep(), ahead(EVEN))
    with pytest.raises(LimitError, match="after 2 ways"), metered(lambda made: None):
        Derivatives(expr)._saturation.alive(expr)
    outer = concat(ahead(EVEN, 1), expr, stop(1))
    with pytest.raises(LimitError, match="after 2 ways"), metered(lambda made: None):
        Derivatives(outer).alive(outer)
    assert not Derivatives(expr)._saturation.alive(expr)  # where nobody pays it only takes longer
    monkeypatch.setattr(guarded, "LONG", 1000)
    monkeypatch.setattr(guarded, "MOST_PLACES", 50)
    with pytest.raises(LimitError, match="after 50 states"):
        Derivatives(deep()).shortest(deep())


@pytest.mark.parametrize("seed", range(40))
def test_there_is_a_way_through_where_there_is_a_text(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    expr = random_grammar(seed)
    machine = Derivatives(expr)
    found = machine.alive(expr)
    assert not found or any(belongs(expr, text) for text in texts(7))
    if found:
        least = machine.shortest(expr).decode()
        assert belongs(expr, least)
        assert not any(belongs(expr, text) for text in texts(len(least) - 1))
    monkeypatch.setattr(guarded, "EARLY", 0)
    monkeypatch.setattr(guarded, "HASTY", 0)
    monkeypatch.setattr(guarded, "LONG", -1)
    monkeypatch.setattr(passages, "FEW", -1)
    asked = list[bool]()
    decide = passages.LookaheadSaturation.alive

    def noted(self: passages.LookaheadSaturation, root: Expr) -> bool:
        asked.append(decide(self, root))
        return asked[-1]

    monkeypatch.setattr(passages.LookaheadSaturation, "alive", noted)
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


WORDS = gw.Vocabulary(
    [b"a", b"b", b"c", b"ab", b"bc", b"abc", b"cc", b"aa", b"aab", b"cab", b"<end>"], eos_ids={10}
)


@pytest.mark.parametrize("seed", range(12))
def test_a_constraint_that_looks_ahead_offers_what_can_be_read_to_an_end(seed: int) -> None:
    expr = random_grammar(seed)
    told = {text for text in texts(6) if belongs(expr, text)}
    machine = Derivatives(expr, WORDS.spellable)
    if not machine.alive(expr):
        assert not told
        return
    constraint = CompiledConstraint(expr, machine, WORDS, gw.Budget.default())
    chance = random.Random(seed)
    for _ in range(4):
        state, text = constraint.start(), ""
        while len(text) < 4:
            assert constraint.accepts(state) == (text in told)
            allowed = [token for token in unpack(constraint.mask(state)) if token != 10]
            if not allowed:
                break
            left = constraint.distance(state)
            after = [constraint.distance(constraint.advance(state, token)) for token in allowed]
            assert left == 0 or min(after) < left
            token = chance.choice(allowed)
            state, text = constraint.advance(state, token), text + WORDS.tokens[token].decode()
    forgetful = constraint.mask(constraint.start())
    constraint.forget()
    assert (constraint.mask(constraint.start()) == forgetful).all()
    assert constraint.matches(constraint.example())


SUMS = gw.Lark('start: N ("+" N)*\nN: /[12]+/\n')
NESTED = gw.Gbnf('root ::= [12+]+ | "(" root ")"')


@pytest.mark.parametrize("grammar", [SUMS, NESTED])
@pytest.mark.parametrize(
    ("met", "behind"),
    [("1!!|22", "!!"), ("1!!|22", "!!|x"), (r"1\+1|2!", "(!|22)"), (".{2,3}!?|1", "!(2|!)")],
)
def test_what_stands_behind_a_meet_is_no_part_of_it(
    grammar: gw.Lark | gw.Gbnf, met: str, behind: str
) -> None:
    def is_text(text: str) -> bool:
        return any(
            re.fullmatch(r"[12]+(\+[12]+)*" if grammar is SUMS else r"[12+]+", text[:at])
            and re.fullmatch(met, text[:at])
            and re.fullmatch(behind, text[at:])
            for at in range(len(text) + 1)
        )

    texts = {
        text
        for length in range(7)
        for text in map("".join, itertools.product("12+!x", repeat=length))
        if is_text(text)
    }
    begun = {text[:end] for text in texts for end in range(len(text) + 1)}
    source = (grammar & gw.Regex(met)) + gw.Regex(behind)
    constraint = gw.compile(source, gw.Vocabulary([bytes((b,)) for b in range(128)]))
    machine = Derivatives(lower_source(source))
    for text in sorted(begun):
        state, place = constraint.start(), machine.start()
        for byte in text.encode():
            state, place = constraint.advance(state, byte), machine.after(place, byte)
        for byte in b"12+!x":
            allowed = text + chr(byte) in begun
            assert (byte in unpack(constraint.mask(state))) is allowed, text
            assert (machine.step(place, byte) is not None) is allowed, text


# What has the same texts: checked on texts, and where special tokens may be among them.

TEXTS_PATTERNS = (
    r"(?s)a.*", r"(?s).*", r"(?s).+", r"(?s).*ab.*", r"(?s)é.{2,}", r"(?s)(a.*|b|.{3,})",
    r"(?s)(?=.*a)b.*", r"(?s)(?!.*ab).*", r"a.*", r"[^a]*b",
)  # fmt: skip
TEXTS = ["".join(letters) for n in range(5) for letters in product("abé\n", repeat=n)]


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
        for constraint in (free, meets):
            state, allowed = constraint.start(), True
            for token in ids:
                allowed = allowed and bool(
                    int(constraint.mask(state)[token // 32]) >> token % 32 & 1
                )
                state = constraint.advance(state, token) if allowed else state
            assert allowed == (constraint is free or not with_special)
