"""Bitmasks against sets, in the loop that serving engines write."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import guideway as gw
from guideway.automaton.token_tries import pack
from guideway.errors import ModelError, SourceError

widths = st.integers(1, 100)


@given(widths.flatmap(lambda w: st.tuples(st.just(w), st.sets(st.integers(0, w - 1)))))
def test_exactly_the_tokens_without_a_bit_become_impossible(case):
    width, allowed = case
    bitmask = torch.zeros_like(gw.allocate_token_bitmask(2, width))
    for token in allowed:
        bitmask[1, token // 32] |= torch.tensor(1 << token % 32).to(torch.int32)
    logits = torch.randn(2, width)
    expected = logits[1].clone()
    gw.apply_token_bitmask_inplace(logits, bitmask)
    assert bool((logits[0] == -torch.inf).all())
    for token in range(width):
        assert logits[1, token] == (expected[token] if token in allowed else -torch.inf)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_a_fresh_bitmask_allows_everything_and_any_float_is_taken(dtype):
    logits = torch.ones(3, 70, dtype=dtype)
    gw.apply_token_bitmask_inplace(logits, gw.allocate_token_bitmask(3, 70))
    assert bool((logits == 1).all())


def test_one_row_may_come_without_a_batch():
    logits = torch.zeros(5)
    gw.apply_token_bitmask_inplace(logits, torch.tensor([0b00110], dtype=torch.int32))
    assert torch.isinf(logits).tolist() == [True, False, False, True, True]


@pytest.mark.parametrize("shape", [(1, 2), (2, 1), (2, 3)])
def test_a_bitmask_that_does_not_fit_is_refused(shape):
    with pytest.raises(ModelError, match="does not fit"):
        gw.apply_token_bitmask_inplace(torch.zeros(2, 40), torch.zeros(shape, dtype=torch.int32))


@pytest.mark.parametrize("shape", [(0, 5), (3, 0), (-1, 8)])
def test_sizes_are_positive(shape):
    with pytest.raises(SourceError, match="must be positive"):
        gw.allocate_token_bitmask(*shape)


def test_a_matcher_and_a_bitmask_make_a_decoding_loop():
    vocabulary = gw.Vocabulary([b"a", b"b", b"c", b"<eos>"], {3})
    matcher = gw.Matcher(gw.compile(gw.Choice(["abc"]), vocabulary))
    bitmask, taken = gw.allocate_token_bitmask(1, vocabulary.width), []
    while not matcher.is_terminated():
        matcher.fill_next_token_bitmask(bitmask, 0)
        logits = torch.zeros(1, vocabulary.width)
        gw.apply_token_bitmask_inplace(logits, bitmask)
        taken.append(int(logits.argmax()))
        assert matcher.accept_token(taken[-1])
    assert taken == [0, 1, 2, 3]


@given(widths.flatmap(lambda w: st.tuples(st.just(w), st.sets(st.integers(0, w - 1)))))
def test_arrays_and_tensors_are_taken_in_any_combination(case):
    width, allowed = case
    row = pack(allowed, width)  # uint32, and not writable
    expected = [0.0 if token in allowed else -math.inf for token in range(width)]
    tensor = torch.from_numpy(row.view(np.int32).copy())
    for bitmask in (row, row.view(np.int32), tensor, tensor.view(torch.uint32)):
        for logits in (np.zeros(width, np.float32), torch.zeros(width)):
            gw.apply_token_bitmask_inplace(logits, bitmask)
            assert logits.tolist() == expected


def test_logits_that_are_a_part_of_an_array_are_changed_in_place():
    whole = np.zeros((4, 6), np.float16)
    gw.apply_token_bitmask_inplace(whole[::2, ::2], np.array([[0b101], [0b110]], np.int32))
    assert np.isinf(whole).nonzero()[0].tolist() == [0, 2]
    assert np.isinf(whole).nonzero()[1].tolist() == [2, 0]
    tensor = torch.zeros(4, 6)
    gw.apply_token_bitmask_inplace(tensor[::2, ::2], np.array([[0b101], [0b110]], np.int32))
    assert tensor.isinf().nonzero().tolist() == [[0, 2], [2, 0]]


@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.uint8])
def test_a_bitmask_of_another_type_is_refused(dtype):
    with pytest.raises(ModelError, match=f"has the type int32, not {np.dtype(dtype)}"):
        gw.apply_token_bitmask_inplace(np.zeros((1, 8)), np.zeros((1, 1), dtype))
