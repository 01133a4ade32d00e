"""Masks and bitmasks against sets, and in the loop that serving engines write."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import guideway as gw
from guideway.automaton.token_tries import pack
from guideway.errors import ModelError, SourceError
from guideway.logits.mask import apply_mask, unpack, upload

CPU = torch.device("cpu")


@given(st.integers(1, 200), st.data())
def test_a_packed_row_comes_back_as_the_set_it_was_made_of(width: int, data: st.DataObject):
    sets = data.draw(st.lists(st.sets(st.integers(0, width - 1)), min_size=1, max_size=3))
    packed = upload([pack(sorted(ids), width) for ids in sets], width, CPU)
    found = unpack(packed, width)
    assert found.shape == (len(sets), width)
    assert [set(torch.nonzero(row)[:, 0].tolist()) for row in found] == sets


def test_masks_are_for_the_width_of_the_model_and_leave_its_logits():
    full = np.full(2, 0xFFFFFFFF, np.uint32)  # bits beyond the width are not looked at
    assert unpack(upload([full], 33, CPU), 33).tolist() == [[True] * 33]
    with pytest.raises(ModelError, match="2 words is for about 64 tokens, but the model gives 20"):
        upload([np.zeros(2, np.uint32)], 20, CPU)
    values = torch.tensor([[1.0, -2.0, 3.0]])
    masked = apply_mask(values, torch.tensor([[True, False, True]]))
    assert masked.tolist() == [[1.0, -math.inf, 3.0]]
    assert values.tolist() == [[1.0, -2.0, 3.0]]


widths = st.integers(1, 100)


@given(widths.flatmap(lambda w: st.tuples(st.just(w), st.sets(st.integers(0, w - 1)))))
def test_exactly_the_tokens_without_a_bit_become_impossible(case: tuple[int, set[int]]):
    """In arrays and tensors, signed and unsigned, of a batch and of one row alone."""
    width, allowed = case
    row = pack(allowed, width)  # uint32, and not writable
    plain = torch.randn(width)
    expected = [float(plain[n]) if n in allowed else -math.inf for n in range(width)]
    tensor = torch.from_numpy(row.view(np.int32).copy())
    for bitmask in (row, row.view(np.int32), tensor, tensor.view(torch.uint32)):
        for logits in (plain.numpy().copy(), plain.clone()):
            gw.apply_token_bitmask_inplace(logits, bitmask)
            assert logits.tolist() == expected
    both = plain.repeat(2, 1)
    gw.apply_token_bitmask_inplace(both, torch.stack([torch.zeros_like(tensor), tensor]))
    assert both.tolist() == [[-math.inf] * width, expected]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_a_fresh_bitmask_allows_everything_and_any_float_is_taken(dtype: torch.dtype):
    logits = torch.ones(3, 70, dtype=dtype)
    gw.apply_token_bitmask_inplace(logits, gw.allocate_token_bitmask(3, 70))
    assert bool((logits == 1).all())


def test_logits_that_are_a_part_of_an_array_are_changed_in_place():
    bitmask = np.array([[0b101], [0b110]], np.int32)
    for whole in (torch.zeros(4, 6), torch.zeros(4, 6, dtype=torch.float16).numpy()):
        gw.apply_token_bitmask_inplace(whole[::2, ::2], bitmask)
        assert torch.as_tensor(whole).isinf().nonzero().tolist() == [[0, 2], [2, 0]]


@pytest.mark.parametrize(("shape", "dtype", "said"), [
    *((shape, np.int32, "does not fit") for shape in [(1, 2), (2, 1), (2, 3)]),
    *(((2, 2), kind, f"has the type int32, not {np.dtype(kind)}")
      for kind in (np.int64, np.float32, np.uint8)),
])  # fmt: skip
def test_a_bitmask_of_another_shape_or_type_is_refused(
    shape: tuple[int, int], dtype: type, said: str
):
    with pytest.raises(ModelError, match=said):
        gw.apply_token_bitmask_inplace(np.zeros((2, 40)), np.zeros(shape, dtype))


@pytest.mark.parametrize("shape", [(0, 5), (3, 0), (-1, 8)])
def test_sizes_are_positive(shape: tuple[int, int]):
    with pytest.raises(SourceError, match="must be positive"):
        gw.allocate_token_bitmask(*shape)
