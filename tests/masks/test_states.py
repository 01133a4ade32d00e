"""States are values; those of another kind of constraint are refused."""

import pytest

import fairlead as fl
from fairlead.automata.derivative import Derivatives
from fairlead.lowering.expr import literal, repeat
from fairlead.masks.states import States

CLOSED = fl.Vocabulary([b"a", b"b", b"ab", b"<end>"], eos_ids={3})
OPEN = fl.Vocabulary([b"ab", b"abab", b"<end>"], eos_ids={2})


def test_a_state_of_the_other_kind_of_vocabulary_is_refused() -> None:
    closed, other = (fl.compile(fl.Regex("(ab)+"), words) for words in (CLOSED, OPEN))
    with pytest.raises(fl.FairleadError, match="a state of another engine"):
        closed.mask(other.start())
    with pytest.raises(fl.FairleadError, match="has not been asked for"):
        other.mask(closed.advance(closed.start(), 2))


def test_a_token_that_is_taken_again_leads_to_the_same_state() -> None:
    expr = repeat(literal("ab"))
    states = States(expr, Derivatives(expr, CLOSED.spellable), CLOSED, fl.Budget())
    start = states.start(b"")
    assert states.after(start, 0) is states.after(start, 0) is not None
    assert states.after(start, 1) is states.after(start, 3) is states.after(start, 99) is None
    assert states.start(b"") is start


def test_a_network_that_is_too_large_is_left_to_the_states_that_use_it() -> None:
    small = fl.compile(fl.Regex("(ab)+"), CLOSED, budget=fl.Budget(table_bytes=1))
    first, second = small.start(), small.start()
    assert first is not second
    for state in (first, second):
        assert small.mask(state).tolist() == [1 << 0 | 1 << 2]
        assert small.mask(small.advance(state, 2)).tolist() == [1 << 0 | 1 << 2 | 1 << 3]
