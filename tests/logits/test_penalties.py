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


def marks(ids: list[int], values: list[float] | None = None) -> TokenValues | None:
    numbers = None if values is None else [np.array(values)]
    return TokenValues.of([np.array(ids, np.int64)], numbers, CPU)


def test_repetition_multiplies_what_is_negative_and_divides_what_is_positive():
    changed = repetition(ROW, torch.tensor([[0, 1, 2, 3, 1]]), number(1.2))
    expected = [2 / 1.2, -1.2, 0, -math.inf, 3]
    assert changed[0].tolist() == pytest.approx(expected)
    rewarded = repetition(ROW, torch.tensor([[0, 1]]), number(0.5))
    assert rewarded[0].tolist() == [4, -0.5, 0, -math.inf, 3]


def test_presence_counts_once_and_frequency_each_time():
    ids, there = torch.tensor([[0, 3, 0, 1, 0]]), torch.tensor([[1.0, 1.0, 1.0, 0.0, 1.0]])
    changed = counted(ROW, ids, there, number(0.5), number(0.25))
    assert changed[0].tolist() == [2 - 0.5 - 0.75, -1, 0, -math.inf, 3]


def test_the_flat_penalty_is_one_constant_for_all_that_is_there():
    changed = flat(ROW, torch.tensor([[0, 0, 3, 4]]), number(1.5))
    assert changed[0].tolist() == [0.5, -1, 0, -math.inf, 1.5]


def test_biases_are_added_to_one_another():
    changed = biased(ROW, None, marks([0, 3, 0], [1.0, 9.0, -2.0]))
    assert changed[0].tolist() == [1, -1, 0, -math.inf, 3]
    changed = biased(ROW, torch.ones_like(ROW), marks([0, 3], [-2.0, 9.0]))
    assert changed[0].tolist() == [1, 0, 1, -math.inf, 4]
    assert biased(ROW, None, None) is ROW


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


def test_bans_are_of_the_tokens_that_are_marked():
    changed = banned(ROW, marks([1, 4]), None, marks([1]))
    assert changed[0].tolist() == [2, -math.inf, 0, -math.inf, -math.inf]
    assert torch.equal(banned(ROW, None), ROW)


def test_a_ban_that_would_leave_nothing_is_left_out_in_its_row_alone():
    row = ROW.repeat(2, 1)
    ids = [np.array([0, 1, 2, 4]), np.array([0, 1, 2])]
    changed = banned_if_others(row, TokenValues.of(ids, None, CPU))
    assert torch.equal(changed[0], ROW[0])
    assert changed[1].tolist() == [-math.inf] * 4 + [3]


def test_no_marks_are_none():
    assert TokenValues.of([np.zeros(0, np.int64)] * 3, None, CPU) is None


def test_arguments_are_left_as_they_were():
    before = ROW.clone()
    ids = torch.tensor([[0, 1]])
    repetition(ROW, ids, number(2.0))
    flat(ROW, ids, number(2.0))
    counted(ROW, ids, torch.ones(1, 2), number(1.0), number(1.0))
    biased(ROW, None, marks([0], [1.0]))
    banned_if_others(ROW, marks([0]))
    assert torch.equal(ROW, before)
