"""Walks against stepping through the bytes of each token: the mask by brute force."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guideway.automaton.plain_masks import DEAD, UNSURE, Rows, Table, walk
from guideway.automaton.token_tries import unpack
from guideway.language.budget import Budget
from guideway.language.derivative import Derivatives
from guideway.vocabulary.vocabulary import Vocabulary
from toys import distinct, expressions, nested

vocabularies = st.lists(
    st.one_of(st.none(), st.lists(st.sampled_from(b"ab,[]"), min_size=1, max_size=4).map(bytes)),
    min_size=1,
    max_size=30,
).map(lambda tokens: Vocabulary([*tokens, b"<eos>", None], {len(tokens)}, width=len(tokens) + 5))

languages = st.one_of(expressions(), st.builds(distinct), st.builds(nested))


def brute_force(machine, state, vocabulary):
    """What the mask must be, from the definition alone."""
    allowed = set(vocabulary.eos_ids) if machine.accepts(state) else set()
    for token, spelling in enumerate(vocabulary.tokens):
        after = state
        for byte in spelling or b"":
            after = after if after is None else machine.step(after, byte)
        if spelling and after is not None:
            allowed.add(token)
    return allowed


@given(languages, vocabularies, st.lists(st.integers(0, 40), max_size=6), st.sampled_from([1, 64]))
def test_the_mask_is_what_stepping_through_each_token_says(expr, vocabulary, choices, rows):
    machine = Derivatives(expr, vocabulary.spellable)
    made = Rows(machine, vocabulary, Budget(rows=rows, table_bytes=rows << 20))
    state = machine.start()
    for choice in choices:
        allowed = unpack(made.row(state)).tolist()
        assert set(allowed) == brute_force(machine, state, vocabulary)
        text = [t for t in allowed if t not in vocabulary.eos_ids]
        if not text:
            break
        state = made.after(state, text[choice % len(text)])


def test_tokens_that_close_one_capture_and_open_another_are_stepped_through():
    tokens = [b"[", b",", b"a", b"b", b"]", b"a,a]", b"a,b", b",a,b,", b"b,a]"]
    vocabulary = Vocabulary(tokens)
    machine = Derivatives(distinct(), vocabulary.spellable)
    made = Rows(machine, vocabulary, Budget.default())
    state = made.after(machine.start(), 0)
    state = made.after(state, 1)  # "[,"
    reached = made.reached(state)
    assert {tokens[t] for t in reached.unsure} == {b"a,a]", b"a,b", b"b,a]"}
    allowed = {tokens[t] for t in unpack(made.row(state))}
    assert allowed == {b"a", b"b", b"a,b", b"b,a]"}


def test_a_walk_says_where_each_token_leads():
    vocabulary = Vocabulary([b"[", b"[[", b"a", b"]", b"x", b"[a]"])
    machine = Derivatives(nested(), vocabulary.spellable)
    table = Table(machine)
    reached = walk(table, vocabulary.trie, machine.start())
    for token, number in zip(reached.tokens.tolist(), reached.numbers.tolist(), strict=True):
        after = machine.start()
        for byte in vocabulary.tokens[token] or b"":
            after = machine.step(after, byte)
        assert table.state(number) is after
    assert sorted(reached.tokens.tolist()) == [0, 1, 2, 5]


def test_a_vocabulary_without_text_allows_nothing():
    machine = Derivatives(nested())
    reached = walk(Table(machine), Vocabulary([None, None]).trie, machine.start())
    assert reached.tokens.size == reached.numbers.size == reached.unsure.size == 0


def test_a_table_that_is_too_large_is_forgotten_and_nothing_changes():
    vocabulary = Vocabulary([b"[", b"a", b"]", b","])
    machine = Derivatives(nested(), vocabulary.spellable)
    small = Rows(machine, vocabulary, Budget(table_bytes=1, rows=1))
    large = Rows(machine, vocabulary, Budget.default())
    state = machine.start()
    for token in [0, 0, 1, 2, 3, 1]:
        assert small.row(state).tobytes() == large.row(state).tobytes()
        state = small.after(state, token)


def test_ids_without_spelling_lead_nowhere():
    machine = Derivatives(nested())
    made = Rows(machine, Vocabulary([b"a", None], width=9), Budget.default())
    assert made.after(machine.start(), 1) is None
    assert made.after(machine.start(), 8) is None


def test_dead_and_unsure_are_no_states():
    table = Table(Derivatives(nested()))
    for number in (DEAD, UNSURE):
        with pytest.raises(IndexError):
            table.state(number)
    assert np.all(table.rows[UNSURE] == UNSURE)
    assert len(table) == 2
