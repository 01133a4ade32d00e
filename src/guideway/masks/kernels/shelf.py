"""Rows that are stored once: 62,738 masks of 460 schemas had 4,132 different rows."""

import numpy as np

from guideway.masks.kernels.intern import mixed
from guideway.masks.kernels.layout import (
    ROW_CODE,
    ROW_WORDS,
    SHELF,
    SHELF_CODE,
    SHELF_ROOM,
    SHELF_ROW,
)
from guideway.masks.kernels.views import Context, Words, inner, int32s, int64s, uint32s


@inner
def shelved(context: Context, row: Words) -> int:
    """The number of the equal row, 0 if none; sets ROW_CODE to the hash."""
    words, total = context[ROW_WORDS], np.uint64(0)
    for word in range(words):
        total += np.uint64(row[word]) * np.uint64(np.uint32((2 * word + 1) * 0x9E3779B1))
    code = mixed(int(np.int64(total)), words)
    context[ROW_CODE] = code
    table, codes = int32s(context, SHELF), int64s(context, SHELF_CODE)
    last = 2 * context[SHELF_ROOM] - 1
    place = code & last
    while table[place] != 0:
        number = int(table[place])
        if codes[number] == code and _same(row, uint32s(int64s(context, SHELF_ROW), number), words):
            return number
        place = (place + 1) & last
    return 0


@inner
def _same(row: Words, other: Words, words: int) -> bool:
    different = np.uint32(0)
    for word in range(words):
        different |= row[word] ^ other[word]
    return different == 0
