"""Choices whose members are floats: only what pydantic reads as one of them is on offer."""

from enum import Enum
from typing import Any, Literal

import pytest

from type_oracle import check_offers

LONG = "1" + "0" * 23


class Far(Enum):
    FAR = 1e23
    NEAR = 1e22
    HALF = 2.5


class Float(float, Enum):
    FAR = 1e23


@pytest.mark.parametrize("type_", [Far, Literal[Float.FAR]])
def test_a_float_is_not_the_whole_number_that_its_text_stands_for(type_: Any) -> None:
    check_offers(type_, ["1e23", "1.0e23", f"{LONG}.0"], [LONG])


def test_other_floats_may_be_written_as_whole_numbers() -> None:
    check_offers(Far, ["1" + "0" * 22, "1e22", "2.5"], ["2"])
    check_offers(Float, [LONG, "1e23"], ["1e22"])  # which is compared as a float
