"""Lexical states are made once, and rows never change."""

import random
import re
from functools import partial, reduce
from itertools import product
from typing import Any

import pytest
from hypothesis import given

import guideway as gw
from guideway.automaton import lexer_dfa as dfa
from guideway.automaton.kernels.layout import DEAD_END
from guideway.automaton.kernels.record_layout import EXPAND
from guideway.automaton.lexer_dfa import LexerDfa
from guideway.json_schema.spelling import spell_character
from guideway.language import fuel
from guideway.language import shortest_string as least
from guideway.language.derivative import Derivatives
from guideway.language.expr import (
    ALL_BYTES,
    EMPTY,
    EPSILON,
    alt,
    both,
    byte_set,
    complement,
    concat,
    literal,
    repeat,
)
from guideway.language.fuel import attempt, metered
from guideway.language.nodes import Expr, Rule
from guideway.language.regular import surely_open
from guideway.regex.lowering import lower_search
from guideway.regex.parser import parse_regex
from lexical_states import spread
from toys import expressions


def nested() -> Expr:
    rule = Rule("nested")
    rule.define(alt(literal("."), concat(literal("("), rule, literal(")"))))
    return rule


@pytest.mark.parametrize("expr", [literal("ab"), nested()], ids=["regular", "nested"])
def test_a_row_that_is_made_twice_is_the_same(expr: Expr) -> None:
    states = LexerDfa(ALL_BYTES)
    state = states.state(expr)
    states.expand(state)
    row, count = states.rows[state].copy(), len(states)
    states.expand(state)
    assert (states.rows[state] == row).all()
    assert len(states) == count
    assert states.state(expr) == state


@pytest.mark.parametrize(
    "item", ["a", "ab", "a|ab", "a|bc|bd", "a*b", "a*", "ab?", "[ab]c|a", "(a|b)(a|b)", "a|b|ba"]
)
def test_items_are_counted_where_no_text_begins_another(item: str) -> None:
    words = gw.Vocabulary([*(bytes((b,)) for b in range(256)), b"<end>"], eos_ids={256})
    expr = gw.compile(gw.Regex(item), words)._expr
    texts = ["".join(letters) for n in range(5) for letters in product("abcd", repeat=n)]
    found = [text for text in texts if re.fullmatch(item, text)]
    apart = not any(b.startswith(a) and a != b for a in found for b in found) and "" not in found
    states = LexerDfa(ALL_BYTES)
    assert states.countable(expr) is apart
    assert states.countable(expr) is apart  # remembered


def test_states_that_are_not_regular_have_no_more_room_than_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dfa, "MOST_STATES", 12)
    states = LexerDfa(ALL_BYTES)

    def deeper(state: int) -> int:
        states.expand(state)
        return int(states.rows[state][ord("(")])

    with pytest.raises(gw.LimitError, match="more than 12 states") as caught:
        reduce(lambda state, _: deeper(state), range(12), states.state(nested()))
    assert caught.value.limit == "lexical states"


def test_more_states_than_there_is_room_for_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dfa, "MOST_STATES", 4)
    states = LexerDfa(ALL_BYTES)
    state = states.state(repeat(concat(byte_set(b"ab"), alt(literal("cd"), literal("ef")))))
    with pytest.raises(gw.LimitError, match="more than 4 states of regular languages") as caught:
        spread(states, state, 10)
    assert (caught.value.limit, caught.value.given, caught.value.needed) == ("lexical states", 5, 4)


def test_a_dfa_that_has_met_a_huge_language_is_left_to_those_who_use_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dfa, "_dfas", {})
    first = dfa.shared_dfa(ALL_BYTES)
    assert dfa.shared_dfa(ALL_BYTES) is first
    monkeypatch.setattr(dfa, "RENEW_AT_PARTS", first.parts - 1)
    second = dfa.shared_dfa(ALL_BYTES)
    assert second is not first


def test_what_an_opposite_takes_away_is_found_before_counts_within_counts_are_searched() -> None:
    pattern = r"^(?!.*://)(?=.{1,255}$)((.{1,63}\.){1,127}(?![0-9]*$)[a-z0-9-]+\.?)$"
    tokens = [bytes((byte,)) for byte in range(256)]
    constraint = gw.compile(
        gw.JsonSchema({"type": "string", "pattern": pattern}, whitespace="compact"),
        gw.Vocabulary([*tokens, b"<eos>"], eos_ids={256}),
    )
    state = constraint.start()
    for text in ("", "a", ".", ":", "/"):
        for byte in text.encode() or b'"':
            state = constraint.advance(state, byte)
        row = constraint.mask(state)
        for byte in b"a./:":
            allowed = bool(row[byte >> 5] >> (byte & 31) & 1)
            assert allowed is not (text == "/" and byte == ord("/"))


def test_each_of_many_opposites_is_met_with_the_others_before_all_of_them_are() -> None:
    words = ["".join(letters) for letters in product("abcde", repeat=2)][:20]
    free = repeat(byte_set(b"abcde"))
    expr = free
    for word in words:
        expr = both(expr, complement(concat(free, literal(word), free)))
    states = LexerDfa(ALL_BYTES)
    state = states.state(expr)

    def reached() -> bool:
        spread(states, state, 10_000)
        return True

    assert attempt(reached, 100_000)  # of one after the other, 2^20 sets were searched
    (after,) = {int(states.rows[state][byte]) for byte in b"e"}
    assert states.rows[after][ord("a")] > 0  # "ea" is none of the words,
    assert states.rows[states.rows[state][ord("a")]][ord("b")] == DEAD_END  # "ab" is one


def test_no_more_bodies_are_made_than_states_were_asked_for() -> None:
    made: list[int] = []

    def place(number: int) -> Expr:
        def body() -> Expr:
            made.append(number)
            return concat(byte_set(b"ab"), place(number + 1)) if number < 500 else EPSILON

        return Rule("place", regular=True, inhabited=True, make=body)

    dfa = LexerDfa(ALL_BYTES)
    spread(dfa, dfa.state(place(0)), 20)
    assert 1 <= len(made) <= 22


def _reached(states: LexerDfa, expr: Expr, members: "list[int]") -> list[int] | None:
    """The states that these bytes lead to, the first included; None if they are 512 or more."""
    found = [states.state(expr)]
    for here in found:
        states.expand(here)
        after = [int(states.rows[here][byte]) for byte in members]
        found += [state for state in dict.fromkeys(after) if state > 0 and state not in found]
        if len(found) >= 512:
            return None
    return found


_PATTERNS = (
    "a*", "a{3}", "a+b", "[ab]*c", "(a|b)*", "x{0,30}", "x{0,31}", "x{0,32}", "x{29}y*",
    "[^ab]*", "[^ab]*a{31}", r"\\*", r"(\\a)*b", "x{510}y*", "x{511}y*", "x{512}y*", "[^\x00-é]*",
)  # fmt: skip


@pytest.mark.parametrize("pattern", _PATTERNS)
def test_what_kernels_say_of_the_states_of_an_expression_is_so(pattern: str) -> None:
    words = gw.Vocabulary([*(bytes((b,)) for b in range(256)), b"<end>"], eos_ids={256})
    expr = gw.compile(gw.Regex(pattern), words)._expr
    states, plain = LexerDfa(ALL_BYTES), LexerDfa(ALL_BYTES)
    every = _reached(plain, expr, [*range(256)])
    goes_on = every is not None and all(plain.first[state].any() for state in every)
    few = _reached(plain, expr, [byte for byte in range(0x20, 0x7F) if byte != 0x5C])
    assert states.is_open(expr) is (goes_on or surely_open(expr))
    assert states.is_small(expr) is (few is not None and len(few) < 32)
    assert len(states) <= len(plain)  # no rows are made for it


def test_what_kernels_have_made_by_themselves_is_paid_for(monkeypatch: pytest.MonkeyPatch) -> None:
    made, states = list[int](), LexerDfa(ALL_BYTES)
    state = states.state(concat(repeat(byte_set(b"abc")), literal("cab")))
    monkeypatch.setattr(fuel, "_SPARE", 0)
    with metered(made.append, fresh=True):
        spread(states, state, 5)
    assert sum(made) >= 5
    states.records.ask(EXPAND, states.state(literal("abcdefgh")))  # as kernels do
    states.count_anew()
    made.clear()
    with metered(made.append, fresh=True):
        states.expand(states.state(literal("x")))
    assert sum(made) < 9


def test_one_record_more_than_nobody_pays_for_costs_one(monkeypatch: pytest.MonkeyPatch) -> None:
    spent = list[int]()
    for unpaid in (0, 3):
        made, states = list[int](), LexerDfa(ALL_BYTES)
        state = states.state(concat(repeat(byte_set(b"abc")), literal("cab")))
        monkeypatch.setattr(fuel, "_SPARE", unpaid)
        with metered(made.append, fresh=True):
            states.expand(state)
        spent.append(sum(made))
    assert spent[0] - spent[1] == 3


def test_searches_pay_for_what_they_do_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made, states = list[int](), LexerDfa(ALL_BYTES)
    expr = both(
        *(concat(repeat(byte_set(b"ab")), literal(b), repeat(byte_set(b"ab"), 6, 6)) for b in "ab")
    )
    states.state(expr)
    states.count_anew()
    assert not states.alive(expr)  # no text has both seven letters before its end
    assert states.parts > 100
    monkeypatch.setattr(fuel, "_SPARE", 0)
    with metered(made.append, fresh=True):
        states.expand(states.state(literal("x")))
    assert sum(made) < 9


@given(expressions(), expressions())
def test_the_shortest_text_is_the_one_that_a_search_finds(first: Expr, second: Expr) -> None:
    for expr in (first, both(first, second), alt(both(first, complement(second)), second)):
        if not expr.regular or expr is EMPTY:
            continue
        told, word = LexerDfa(ALL_BYTES).shortest(expr)
        assert told
        assert word == Derivatives(expr).living.word(expr)


def test_the_shortest_of_what_has_no_text_is_none() -> None:
    assert LexerDfa(ALL_BYTES).shortest(both(literal("ab"), literal("ac"))) == (True, None)
    assert LexerDfa(1 << ord("a")).shortest(literal("ab")) == (True, None)


def test_what_is_wide_is_not_told() -> None:
    either = byte_set(b"ab")
    expr = concat(repeat(either), literal("a"), repeat(either, 15, 15), literal("c"))
    assert LexerDfa(ALL_BYTES).shortest(expr) == (False, None)


def test_the_parts_of_a_meet_of_choices_are_read_side_by_side() -> None:
    """If none of four endings comes alone: derivatives of the whole have a part for each choice."""
    anything = repeat(byte_set(bytes(range(97, 123)) + b"."))
    ends = [concat(anything, literal(f".{name}")) for name in ("json", "schema", "md", "rest")]
    choices = [
        alt(both(anything, complement(end)), *(other for other in ends if other is not end))
        for end in ends
    ]
    never_one = reduce(both, choices)
    assert LexerDfa(ALL_BYTES).shortest(never_one) == (True, b"")
    assert LexerDfa(ALL_BYTES).shortest(both(never_one, alt(*ends))) == (True, None)
    one = both(complement(never_one), both(anything, complement(ends[2])))
    assert LexerDfa(ALL_BYTES).shortest(one) == (True, b".json")


def test_what_takes_many_parts_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    expr = both(literal("ab"), complement(literal("ac")))
    assert LexerDfa(ALL_BYTES).shortest(expr) == (True, b"ab")
    monkeypatch.setattr(dfa, "_MADE", -1)
    assert LexerDfa(ALL_BYTES).shortest(expr) == (False, None)


def test_patterns_that_exclude_each_other_need_no_search(monkeypatch: pytest.MonkeyPatch) -> None:
    # The distance of a oneOf of 20 took 11 s and 3,755 searches.
    branches = [{"type": "string", "pattern": f"a{n}[0-9]*x"} for n in range(20)]
    words = gw.Vocabulary([*(bytes((b,)) for b in range(256)), b"<end>"], eos_ids={256})
    constraint = gw.compile(gw.JsonSchema({"oneOf": branches}), words)
    constraint.mask(constraint.start())
    searched: list[Expr] = []
    nearest = least.nearest

    def counted(root: Expr, *given: Any) -> Any:
        searched.append(root)
        return nearest(root, *given)

    monkeypatch.setattr(least, "nearest", counted)
    state = constraint.start()
    assert constraint.distance(state) == len('"a0x"')
    state = constraint.advance(state, ord('"'))
    assert constraint.distance(state) == len('a0x"')
    assert len(searched) < 10


def test_a_mask_behind_many_counted_places_is_not_begun_anew_for_each_state(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each of the places that a text may be at lacks the row of its state: 53 walks, 3 s of 48."""
    tokens = [bytes([byte]) for byte in range(256)] + [b"ab", b"abc, ", b"def"]
    constraint = gw.compile(gw.Regex("(?:[^,]{0,255},){9}[^,]{0,255}"), gw.Vocabulary(tokens, {0}))
    pda: Any = constraint._states._pda  # pyright: ignore[reportAttributeAccessIssue]
    begun = 0

    def counted(*given: Any) -> int:
        nonlocal begun
        begun += 1
        return run(*given)

    run = pda._run
    monkeypatch.setattr(pda, "_run", counted)
    state, most = constraint.start(), 0
    for token in (256, 258, 257, 258, 256, 258, 257, 256, 258, 258, 256):
        begun = 0
        constraint.mask(state)
        most = max(most, begun)
        state = constraint.advance(state, token)
    assert most < 12


@pytest.mark.parametrize("seed", range(30))
def test_what_may_be_passed_is_read_as_re_reads_it(seed: int) -> None:
    """Options that others become where parts of them are nothing are dropped, and no others."""
    dice = random.Random(seed)
    parts = ["a?", "b?", "a*", "b*", "(?:ab)?", "[ab]?", "c?", "a{0,2}", "a", "(?:ac)*", "é?"]
    several = [dice.choice(parts) for _ in range(dice.randrange(2, 24))]
    pattern = f"(?:{''.join(several)}){{{dice.randrange(1, 4)}}}"
    tokens = [bytes([byte]) for byte in range(256)]
    constraint = gw.compile(gw.Regex(pattern), gw.Vocabulary([*tokens, b"<end>"], {256}))
    for _ in range(40):
        text = "".join(dice.choice("aabbcé") for _ in range(dice.randrange(9)))
        expected = re.fullmatch(pattern, text) is not None
        assert constraint.matches(text) == expected
        state, read = constraint.start(), True
        for byte in text.encode():
            read = bool(int(constraint.mask(state)[byte // 32]) >> byte % 32 & 1)
            if not read:
                break
            state = constraint.advance(state, byte)
        assert (read and constraint.accepts(state)) == expected


@pytest.mark.parametrize("pattern", [".", ".a", "a.*b", "(?:.x|é+)"])
def test_characters_that_say_nothing_lead_back_however_many_bytes_they_have(pattern: str) -> None:
    """Behind é, 本 and all others that are like them there was another state of the same texts."""
    found = lower_search(parse_regex(pattern), partial(spell_character, plain=False))
    states = LexerDfa(ALL_BYTES)
    state = states.state(concat(found, literal('"')))

    def after(text: str) -> int:
        at = state
        for byte in text.encode():
            states.expand(at)
            at = int(states.rows[at][byte])
        return at

    for text in ("", "x", "xz", "a", "az"):
        behind = after(text + "zz")
        assert {after(text + "zz" + more) for more in ("z", "ß", "本", "\u2027")} == {behind}


def test_what_begins_alike_is_not_put_together_to_its_end_at_once() -> None:
    """Each letter that was read made a record for each that was left."""
    states = LexerDfa(ALL_BYTES)
    state = states.state(lower_search(parse_regex("ab" * 1000 + "c")))
    before = states.records.context.records.used
    for letter in b"ab" * 20:
        states.expand(state)
        state = int(states.rows[state][letter])
    assert state > 0
    assert states.records.context.records.used - before < 40 * 60


@pytest.mark.parametrize("parts", [["é?"], ["x?", "y?"], ["(ab)?", "c?"], ["x*", "y?"]])
def test_states_of_many_parts_that_may_be_nothing_have_few_options(parts: list[str]) -> None:
    """Each of 800 states had as many options as parts were left: a gigabyte, and a hang."""
    optional = {
        "é?": alt(EPSILON, literal("é"), literal("ê")), "x?": alt(EPSILON, literal("x")),
        "y?": alt(EPSILON, literal("y")), "(ab)?": alt(EPSILON, literal("ab")),
        "c?": alt(EPSILON, literal("c")), "x*": repeat(literal("x")),
    }  # fmt: skip
    states = LexerDfa(ALL_BYTES)
    spread(states, states.state(concat(*(optional[part] for part in parts * 200))), 12)
    made = states.records.context
    assert made.parts.used < 3_000
    assert made.lines.used < 6_000
