"""Packed rows against sets."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guideway.automaton.token_tries import count, has, pack, unpack, words

widths = st.integers(1, 130)


@given(widths.flatmap(lambda w: st.tuples(st.just(w), st.sets(st.integers(0, w - 1)))))
def test_a_row_holds_exactly_its_ids(case):
    width, ids = case
    row = pack(ids, width)
    assert row.dtype == np.uint32
    assert len(row) == words(width) == (width + 31) // 32
    assert unpack(row).tolist() == sorted(ids)
    assert count(row) == len(ids)
    assert [t for t in range(-3, width + 40) if has(row, t)] == sorted(ids)
    assert row.tobytes() == pack(np.array(sorted(ids), np.int32), width).tobytes()


@pytest.mark.parametrize("share", [0, 0.001, 0.05, 0.09, 0.5, 1])
def test_ids_of_sparse_and_of_dense_rows_are_the_same(share):
    ids = np.flatnonzero(np.random.default_rng(4).random(5000) < share)
    assert unpack(pack(ids.astype(np.int32), 5000)).tolist() == ids.tolist()


def test_token_t_is_bit_t_mod_32_of_word_t_div_32():
    assert [int(word) for word in pack([0, 31, 32, 65], 70)] == [1 | 1 << 31, 1, 2]


def test_rows_are_read_only():
    with pytest.raises(ValueError, match="read-only"):
        pack([1], 8)[0] = 0
