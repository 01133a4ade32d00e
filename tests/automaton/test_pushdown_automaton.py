"""Expressions that no source writes so are translated right too: masks are the plain engine's."""

import random
from itertools import product

import pytest

import guideway as gw
from guideway.automaton.lexer_dfa import shared_dfa
from guideway.automaton.plain_masks import Rows
from guideway.automaton.pushdown_automaton import PushdownAutomaton
from guideway.automaton.states import States
from guideway.automaton.token_mask_cache import shared_mask_cache
from guideway.automaton.token_tries import unpack
from guideway.language.derivative import Derivatives
from guideway.language.expr import (
    alt,
    both,
    branching,
    byte_set,
    capture,
    complement,
    concat,
    literal,
    optional,
    repeat,
)
from guideway.language.nodes import Expr, Rule
from toys import Distinct

WORDS = [*(bytes((b,)) for b in range(256)), b"()", b"((", b"))", b").", b"(.", b"<end>"]
VOCABULARY = gw.Vocabulary(WORDS, eos_ids={len(WORDS) - 1})


def nested() -> Expr:
    rule = Rule("nested")
    rule.define(alt(literal("."), concat(literal("("), rule, literal(")"))))
    return rule


def compared(expr: Expr, letters: str, length: int, vocabulary: gw.Vocabulary = VOCABULARY) -> int:
    """Compare the masks along all texts of this length; how many states were reached."""
    machine = Derivatives(expr, vocabulary.spellable)
    fast = States(expr, machine, vocabulary, gw.Budget())
    plain = Rows(Derivatives(expr, vocabulary.spellable), vocabulary, gw.Budget())
    seen = set[object]()
    for text in product(letters, repeat=length):
        state, rest = fast.start(b""), expr
        for letter in text:
            seen.add(state)
            assert unpack(fast.mask(state)).tolist() == unpack(plain.row(rest)).tolist()
            following, after = fast.after(state, ord(letter)), plain.after(rest, ord(letter))
            assert (following is None) == (after is None)
            if following is None or after is None:
                break
            state, rest = following, after
    return len(seen)


@pytest.mark.parametrize(("low", "high"), [(0, 2), (1, None), (2, 3), (0, None), (5, 6)])
def test_rules_that_repeat_are_read_as_the_plain_engine_reads_them(low, high) -> None:
    assert compared(concat(repeat(nested(), low, high), literal("!")), "(.)", 4) > 4


@pytest.mark.parametrize("high", [3, 4, 500])
def test_items_that_end_where_a_search_tells_it_are_read_as_the_plain_engine_does(high) -> None:
    """Free text up to a bracket: behind it (ε | x) & ¬x is left, which is no ε to look at."""
    letters, bracket = byte_set(b"(.)"), literal(")")
    text = concat(repeat(letters), bracket)
    item = both(text, complement(concat(text, letters, repeat(letters))))
    assert compared(repeat(item, 2, high), "(.)", 4) > 4


def test_strings_whose_parts_overlap_are_read_as_the_plain_engine_reads_them() -> None:
    letters, words = byte_set(b"().\\"), [*WORDS[:-1], b').."', b'(."', b"<end>"]
    string = concat(literal('"'), repeat(letters), literal("("), repeat(letters, 1), literal('"'))
    vocabulary = gw.Vocabulary(words, eos_ids={len(words) - 1})
    for end in "!?":
        assert compared(concat(string, literal(end)), '"(.', 5, vocabulary) > 4


def test_rules_may_stand_for_rules_and_share_what_they_stand_for() -> None:
    inner, outer, other = Rule("inner"), Rule("outer"), Rule("other")
    inner.define(concat(literal("a"), optional(inner)))
    outer.define(inner)
    other.define(inner.body)
    expr = alt(concat(literal("x"), outer), concat(literal("y"), other))
    assert compared(expr, "axy", 4) == 3


LETTER = byte_set(b"ab")
BEGUN = concat(literal("a"), repeat(LETTER))
COUNT = repeat(LETTER, 2, 5)


@pytest.mark.parametrize("before", [COUNT, both(COUNT, BEGUN), both(COUNT, repeat(literal("ab")))])
@pytest.mark.parametrize("behind", [b"", b"!", b"?!", b"a", b"!b"])
def test_counts_end_where_they_may_whatever_comes_behind_them(before: Expr, behind: bytes) -> None:
    ends = byte_set(behind) if behind else literal("")
    assert compared(concat(before, ends), "ab!", 6) > 4
    assert compared(concat(before, ends, literal(".")), "ab!", 4) > 2


@pytest.mark.untraced
def test_captures_of_one_template_may_begin_differently() -> None:
    template, none = Distinct(), frozenset[bytes]()
    expr = alt(
        concat(literal("x"), capture(template.word, b"", template, none)),
        concat(literal("y"), capture(literal("ab"), b"", template, none)),
        concat(literal("z"), capture(optional(template.word), b"a", template, none)),
    )
    assert compared(expr, "xyzab,", 5) > 6


def test_values_that_all_automata_know_cost_no_fuel_of_the_first() -> None:
    def refused(made: int) -> None:
        raise AssertionError(made)

    vocabulary = gw.Vocabulary([bytes([byte]) for byte in range(256)])
    mask_cache = shared_mask_cache(vocabulary, shared_dfa(vocabulary.spellable))
    expr = literal("a")
    PushdownAutomaton(expr, Derivatives(expr, vocabulary.spellable, refused), mask_cache)
    assert mask_cache.begun is not None


def test_literals_longer_than_is_translated_at_once_are_read_whole() -> None:
    expr = literal(b"ab" * 5000 + b"c")
    fast = States(expr, Derivatives(expr, VOCABULARY.spellable), VOCABULARY, gw.Budget())
    state = fast.start(b"")
    for byte in b"ab" * 5000:
        assert state is not None
        state = fast.after(state, byte)
    assert state is not None
    assert unpack(fast.mask(state)).tolist() == [ord("c")]
    assert unpack(fast.mask(fast.after(state, ord("c")))).tolist() == [len(WORDS) - 1]


def test_masks_that_need_hundreds_of_nodes_are_right_though_some_are_made_ahead() -> None:
    words = ["".join(letters) for letters in product("abcdef", repeat=4)]
    longer = gw.Vocabulary([*WORDS[:256], *map(str.encode, words), b"<end>"], eos_ids={1552})
    chosen = random.Random(3).sample(words, 600)
    ends = {letter: concat(literal(letter), nested()) for letter in "abc"}
    expr = branching([(word, ends.get(word[3], literal("!"))) for word in chosen], literal)
    assert compared(expr, "af!", 3, longer) == 7
