"""Penalties by hand, and that none of them bans what it should not."""

import math

import numpy as np
import pytest
import torch

from guideway.logits.penalties import (
    BOUND,
    TokenValues,
    banned,
    banned_if_others,
    biased,
    counted,
    flat,
    repetition,
)

CPU = torch.device("cpu")
ROW = torch.tensor([[2.0, -1.0, 0.0, -math.inf, 3.0]])


def number(value: float) -> torch.Tensor:
    return torch.tensor([value])


def marks(*rows: list[int] | list[float]) -> TokenValues | None:
    """Ids, and their values."""
    ids, *values = rows
    return TokenValues.of([np.array(ids, np.int64)], [*map(np.array, values)] or None, CPU)


def test_each_penalty_by_its_definition():
    ids, there = torch.tensor([[0, 3, 0, 1, 0]]), torch.tensor([[1.0, 1.0, 1.0, 0.0, 1.0]])
    before, least = ROW.clone(), -math.inf
    for changed, expected in (
        (repetition(ROW, torch.tensor([[0, 1, 2, 3, 1]]), number(1.25)), [1.6, -1.25, 0, least, 3]),
        (repetition(ROW, torch.tensor([[0, 1]]), number(0.5)), [4, -0.5, 0, least, 3]),
        (counted(ROW, ids, there, number(0.5), number(0.25)), [0.75, -1, 0, least, 3]),
        (flat(ROW, torch.tensor([[0, 0, 3, 4]]), number(1.5)), [0.5, -1, 0, least, 1.5]),
        (biased(ROW, None, marks([0, 3, 0], [1.0, 9.0, -2.0])), [1, -1, 0, least, 3]),
        (biased(ROW, torch.ones_like(ROW), marks([0, 3], [-2.0, 9.0])), [1, 0, 1, least, 4]),
        (banned(ROW, marks([1, 4]), None, marks([1])), [2, least, 0, least, least]),
        (banned(ROW, None), ROW[0].tolist()),
    ):
        assert changed[0].tolist() == pytest.approx(expected)
        assert torch.equal(ROW, before)
    assert biased(ROW, None, marks([])) is ROW


def test_no_penalty_bans_and_no_reward_brings_back():
    huge = 1e30
    results = [
        repetition(ROW, torch.tensor([[0, 1, 3]]), number(huge)),
        flat(ROW, torch.tensor([[0, 3]]), number(-huge)),
        counted(ROW, torch.tensor([[0, 3]]), torch.ones(1, 2), number(huge), number(huge)),
        biased(ROW, None, marks([0, 3], [-huge, huge])),
    ]
    for changed in results:
        assert changed.isneginf().tolist() == [[False, False, False, True, False]]
        assert changed[changed > -math.inf].abs().max() <= BOUND


def test_what_is_beyond_the_bound_already_stays_where_it_is():
    row = torch.tensor([[-3e38, 3e38, 5e30]])
    ids = torch.tensor([[0, 1, 2]])
    assert repetition(row, ids, number(4.0))[0].tolist() == pytest.approx([-3e38, 7.5e37, 1.25e30])
    assert flat(row, ids, number(1.0))[0].tolist() == pytest.approx([-3e38, 3e38, 5e30])


def test_a_ban_that_would_leave_nothing_is_left_out_in_its_row_alone():
    row = ROW.repeat(2, 1)
    ids = [np.array([0, 1, 2, 4]), np.array([0, 1, 2])]
    changed = banned_if_others(row, TokenValues.of(ids, None, CPU))
    assert torch.equal(changed[0], ROW[0])
    assert changed[1].tolist() == [-math.inf] * 4 + [3]
