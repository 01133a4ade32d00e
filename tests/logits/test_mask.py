import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from guideway.automaton.token_tries import pack
from guideway.errors import ModelError
from guideway.logits.mask import apply_mask, unpack, upload

CPU = torch.device("cpu")


@given(st.integers(1, 200), st.data())
def test_a_packed_row_comes_back_as_the_set_it_was_made_of(width: int, data: st.DataObject):
    sets = data.draw(st.lists(st.sets(st.integers(0, width - 1)), min_size=1, max_size=3))
    packed = upload([pack(sorted(ids), width) for ids in sets], width, CPU)
    found = unpack(packed, width)
    assert found.shape == (len(sets), width)
    assert [set(torch.nonzero(row)[:, 0].tolist()) for row in found] == sets


def test_bits_beyond_the_width_are_not_looked_at():
    full = np.full(2, 0xFFFFFFFF, np.uint32)
    assert unpack(upload([full], 33, CPU), 33).tolist() == [[True] * 33]


def test_a_mask_for_another_width_is_refused():
    with pytest.raises(ModelError, match="2 words is for about 64 tokens, but the model gives 20"):
        upload([np.zeros(2, np.uint32)], 20, CPU)


def test_masking_writes_minus_infinity_outside_and_leaves_its_argument():
    values = torch.tensor([[1.0, -2.0, 3.0]])
    masked = apply_mask(values, torch.tensor([[True, False, True]]))
    assert masked.tolist() == [[1.0, -math.inf, 3.0]]
    assert values.tolist() == [[1.0, -2.0, 3.0]]
