"""The law of budgets: a mask within one has the tokens after which the rest fits, and no others."""

from collections.abc import Collection, Iterable
from typing import Any

import pytest

from guideway.automaton.token_tries import unpack
from guideway.errors import LimitError


def check_within(
    constraint: Any, state: Any, budgets: Iterable[int], *, among: Collection[int] | None = None
) -> int:
    """How many masks within these budgets are narrower than the whole one.

    `among`: the tokens that are looked at, else all.
    """
    needed, ends = constraint.distance(state), constraint.vocabulary.eos_ids
    allowed = {*unpack(constraint.mask(state)).tolist()}
    asked = allowed - ends if among is None else allowed & {*among}
    after = {token: constraint.distance(constraint.advance(state, token)) for token in asked}
    assert (needed == 0) == constraint.accepts(state)
    assert not needed or among is not None or min(after.values()) < needed
    narrower = 0
    for left in budgets:
        assert constraint.fits(state, left) == (left >= needed)
        if left < needed:
            with pytest.raises(LimitError) as short:
                constraint.mask_within(state, left)
            assert (short.value.needed, short.value.given) == (needed, left)
            continue
        within = {*unpack(constraint.mask_within(state, left)).tolist()}
        assert within <= allowed
        assert within & ends == (allowed & ends)
        assert within & asked == {token for token, rest in after.items() if rest < left}
        narrower += within != allowed
    return narrower
