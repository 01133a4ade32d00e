"""Shapes are checked in each test anew, for some calls of each function."""

from dataclasses import dataclass

import pytest
import torch
from beartype import beartype
from jaxtyping import Float, TypeCheckError
from torch import Tensor

import shape_checks
from guideway.logits.rows import Rows


@shape_checks.some(typechecker=beartype)
def doubled(row: Float[Tensor, " n"]) -> Float[Tensor, " n"]:
    return torch.cat([row, row]) if row.sum() > 5 else row * 2


@shape_checks.some(typechecker=beartype)
@dataclass(frozen=True, slots=True)
class Pair:
    one: Float[Tensor, " n"]
    other: Float[Tensor, " n"]


def wrong_calls(count: int) -> int:
    """How many of so many wrong calls are told."""
    told = 0
    for _ in range(count):
        try:
            doubled(torch.full((3,), 9.0))
        except TypeCheckError:
            told += 1
    return told


@pytest.mark.parametrize("test", [1, 2])
def test_the_first_calls_in_each_test_are_checked_and_then_some(test: int) -> None:
    assert doubled(torch.ones(3)).tolist() == [2, 2, 2]
    assert wrong_calls(3) == 3
    assert wrong_calls(3 * shape_checks.THEN_EVERY) == 3


def test_fields_have_their_shapes() -> None:
    assert Pair(torch.ones(2), torch.ones(2)).one.tolist() == [1, 1]
    with pytest.raises(TypeCheckError):
        Pair(torch.ones(2), torch.ones(3))


def test_a_function_within_a_function_is_checked_where_it_is_first_defined() -> None:
    def define() -> object:
        @shape_checks.some(typechecker=beartype)
        def sum_of(row: Float[Tensor, " n"]) -> float:
            return float(row.sum())

        return sum_of

    with pytest.raises(TypeCheckError):
        define()(torch.ones(2, 2))  # type: ignore[operator]
    assert define()(torch.ones(2, 2)) == 4  # type: ignore[operator]


def test_what_is_ours_is_checked() -> None:
    assert hasattr(Rows.__init__, "__wrapped__")
