"""Rows that are kept once: the masks of most states equal that of another.

A mask is made in a row to work in, and looked up here by what it says. 62,738 masks of 460 schemas
were 4,132 rows: to get memory for each took as long as to fill it, and pushed the rest out of the
processor's caches.
"""

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
    """The number of the row that says the same, 0 if there is none; ROW_CODE is its hash.

    The hash is a sum of products, of which a processor makes several at a time.
    """
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
