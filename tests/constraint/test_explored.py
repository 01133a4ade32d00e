"""States of vocabularies that cannot spell every byte: made once, and forgotten without harm."""

import guideway as gw
from guideway.constraint.compiled import CompiledConstraint

VOCABULARY = gw.Vocabulary([b"ab", b"abab", b"abc", b"<end>"], eos_ids={3})


def masks(constraint: CompiledConstraint, tokens: list[int]) -> list[list[int]]:
    """The masks along these tokens."""
    state = constraint.start()
    found = [constraint.mask(state).tolist()]
    for token in tokens:
        state = constraint.advance(state, token)
        found.append(constraint.mask(state).tolist())
    return found


def test_what_is_forgotten_is_made_again_the_same() -> None:
    constraint = gw.compile(gw.Regex("(ab)+c"), VOCABULARY)
    # Only `abc` has a c: after it nothing but the end, before it everything else.
    expected = [[0b0111], [0b0111], [0b0111], [0b1000]]
    assert masks(constraint, [0, 1, 2]) == expected
    held = constraint._states.held()
    assert held.rows > 0
    constraint.forget()
    assert constraint._states.held().rows < held.rows
    assert masks(constraint, [0, 1, 2]) == expected


def test_a_mask_that_another_thread_made_meanwhile_is_the_one() -> None:
    constraint = gw.compile(gw.Regex("(ab)+c"), VOCABULARY)
    state = constraint.start()
    assert constraint._states.mask(state) is constraint._states.mask(state)
