"""What is written is read again, and what was written otherwise is not read at all."""

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guideway.vocabulary.cache import Record, packed, unpacked

ARRAYS = st.dictionaries(
    st.sampled_from(["tokens", "token_ends", "pieces", "end"]),
    st.tuples(st.sampled_from(["u1", "u2", "i4", "<i8", "<i4"]), st.lists(st.integers(0, 99))).map(
        lambda pair: np.array(pair[1], pair[0])
    ),
    max_size=4,
)
FACTS = st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5), max_size=3)
SAMPLE = packed(Record({"a": "b"}, {"c": np.arange(40), "d": np.zeros(0, np.uint8)}))


@given(FACTS, ARRAYS)
def test_what_was_packed_is_unpacked(facts, arrays):
    record = unpacked(packed(Record(facts, arrays)))
    assert record is not None
    assert record.facts == facts
    assert list(record.arrays) == list(arrays)
    for name, array in arrays.items():
        found = record.arrays[name]
        assert found.tolist() == array.tolist()
        assert found.dtype == array.dtype
        assert not found.flags.writeable
        assert found.flags.aligned


@given(st.integers(0, len(SAMPLE) - 1), st.integers(1, 255))
def test_a_byte_that_changed_is_noticed_wherever_it_is(place, change):
    damaged = bytearray(SAMPLE)
    damaged[place] ^= change
    assert unpacked(bytes(damaged)) is None


@pytest.mark.parametrize("length", [0, 1, 31, 32, 40, len(SAMPLE) - 1])
def test_what_was_cut_off_is_not_read(length):
    assert unpacked(SAMPLE[:length]) is None


def test_another_format_is_not_read_however_whole():
    assert unpacked(SAMPLE) is not None
    assert unpacked(SAMPLE[:8] + struct.pack("<I", 1) + SAMPLE[12:]) is None
