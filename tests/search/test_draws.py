"""Resampling of weighted particles against their formulas."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guideway.search.draws import effective_size, log_mean, log_sum, stratified

WEIGHTS = st.lists(st.floats(-40, 40) | st.just(-math.inf), min_size=1, max_size=8).filter(
    lambda logs: max(logs) > -math.inf
)
UNIFORMS = st.lists(st.floats(0, 1, exclude_max=True), min_size=1, max_size=20)


@pytest.mark.parametrize(
    ("weights", "size"),
    [([1, 1, 1, 1], 4), ([5], 1), ([1, 0, 0], 1), ([1, 1, 2], 16 / 6), ([3, 3, 0], 2), ([0], 0)],
)
def test_the_effective_size_is_the_square_of_the_sum_over_the_sum_of_squares(
    weights: list[int], size: float
):
    logs = [math.log(each) if each else -math.inf for each in weights]
    assert effective_size(logs) == pytest.approx(size)
    assert effective_size([log - 900 for log in logs]) == pytest.approx(size)


def test_sums_and_means_of_weights_neither_overflow_nor_vanish():
    assert log_sum([1000.0, 1000.0]) == pytest.approx(1000 + math.log(2))
    assert log_mean([-1000.0, -math.inf]) == pytest.approx(-1000 - math.log(2))
    assert log_sum([-math.inf]) == log_sum([]) == -math.inf


def test_each_particle_comes_as_often_as_its_share_says_in_the_mean():
    shares, count, fine = [0.07, 0.6, 0.0, 0.33], 5, 1000
    logs = [math.log(share) if share else -math.inf for share in shares]
    drawn = [0] * len(shares)
    for number in range(fine):  # every draw runs through its whole part
        for place in stratified(logs, [(number + 0.5) / fine] * count):
            drawn[place] += 1
    means = [each / fine for each in drawn]
    assert means == pytest.approx([count * share for share in shares], abs=count / fine)
    assert stratified([0.0] * 4, [0.5] * 4) == [0, 1, 2, 3]  # each once


@given(WEIGHTS, UNIFORMS)
def test_no_particle_comes_two_times_more_or_fewer_than_its_share_says(
    logs: list[float], uniforms: list[float]
):
    drawn = stratified(logs, uniforms)
    assert len(drawn) == len(uniforms)
    assert drawn == sorted(drawn)
    for place, log in enumerate(logs):
        expected = math.exp(log - log_sum(logs)) * len(uniforms)
        assert abs(drawn.count(place) - expected) < 2
        assert log > -math.inf or place not in drawn
