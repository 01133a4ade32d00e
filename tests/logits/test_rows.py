"""Values and support: finite whatever a model gives."""

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from guideway.logits.rows import LEAST, Rows

EXTREMES = [0.0, 1.0, -3.5, 1e38, -1e38, 3e38, -math.inf, 5.0]


@given(st.lists(st.sampled_from(EXTREMES), min_size=1, max_size=8))
def test_values_are_finite_and_the_support_is_what_is_above_minus_infinity(row):
    rows = Rows.of(torch.tensor([row]))
    assert rows.values.isfinite().all()
    assert rows.support.tolist() == [[value > -math.inf for value in row]]
    assert (rows.values[~rows.support] <= rows.values.max()).all()
    if max(row) == -math.inf:  # it is empty, and not unsound
        assert rows.total().tolist() == [-math.inf]


def test_what_is_no_number_shows_in_the_total_of_its_row_alone():
    for bad in (math.nan, math.inf):
        total = Rows.of(torch.tensor([[0.0, bad], [0.0, 1.0]])).total()
        assert total.isnan().tolist() == [True, False]


def test_closing_writes_minus_infinity_and_leaves_the_values():
    rows = Rows(torch.zeros(1, 3), torch.tensor([[True, True, False]]))
    kept = rows.keep(torch.tensor([[True, False, True]]))
    assert rows.closed().tolist() == [[0, 0, -math.inf]]
    assert kept.closed().tolist() == [[0, -math.inf, -math.inf]]
    assert kept.closed(torch.tensor([[False, True, True]])).tolist() == [[-math.inf] * 3]
    assert kept.values.tolist() == [[0, 0, 0]]


def test_what_is_reported_knows_no_classifiers_and_the_filters_without_the_constraint():
    everything = torch.tensor([[True, True, True]])
    own = Rows(torch.zeros(1, 3), everything)
    guided = Rows(torch.tensor([[5.0, 1.0, 0.0]]), everything, torch.tensor([[True, False, False]]))
    rows = replace(guided, own=own)
    assert rows.total().item() == pytest.approx(math.log(3))
    assert rows.reported(everything).tolist() == [[0.0] * 3]
    # A filter that would keep the first two tokens of everything keeps the last of what is allowed.
    filtered = own.keep(torch.tensor([[False, False, True]]), torch.tensor([[True, True, False]]))
    assert filtered.total().item() == pytest.approx(math.log(3))
    narrow = own.keep(torch.tensor([[True, False, False]]), torch.tensor([[True, True, False]]))
    assert narrow.total().item() == pytest.approx(math.log(2))
    assert narrow.reported(everything).tolist() == [[0.0, -math.inf, -math.inf]]


def test_normalising_is_over_the_support():
    rows = Rows(torch.tensor([[1.0, 1.0, 9.0]]), torch.tensor([[True, True, False]])).normalized()
    assert rows.values[0, :2].exp().tolist() == pytest.approx([0.5, 0.5])
    empty = Rows(torch.zeros(1, 2), torch.zeros(1, 2, dtype=torch.bool)).normalized()
    assert (empty.values >= LEAST).all()
