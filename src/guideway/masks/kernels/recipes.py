"""What a mask is made of, by which most masks are found without being written.

A mask is pictures and tokens at trie nodes, a dozen parts of each, while a row of llama3 is 16 KB
that have to be cleared, added to, summed up and compared with a row that lies somewhere else. The
same parts are the same row for all constraints of a gallery: of 197,000 masks of MaskBench's
schemas 172,000 had parts that were known, and a mask took 5.7 us where it had taken 6.8. What
has too many parts, or is not made of such, is written to a row, as all are whose parts are new.
"""

import numpy as np

from guideway.masks.kernels.intern import mixed
from guideway.masks.kernels.layout import BASE, ENDS, LISTED, P_LISTED, PICTURE, ROW_WORDS
from guideway.masks.kernels.recipe_layout import (
    BASED,
    FIRST_BIT,
    KIND_BIT,
    KNOWN,
    KNOWN_AT,
    KNOWN_PARTS,
    KNOWN_PARTS_ROOM,
    KNOWN_ROOM,
    KNOWN_USED,
    MOST_PARTS,
    NO_TOKENS,
    NUMBER,
    PARTS,
    PICTURED,
    RECIPE,
    RECIPE_CODE,
    TOKENS,
    WRITTEN,
)
from guideway.masks.kernels.tries import clear_tokens, set_tokens
from guideway.masks.kernels.views import (
    Context,
    Words,
    apart,
    fence,
    inner,
    int32s,
    int64s,
    once,
    uint32s,
)


@inner
def add_tokens(context: Context, row: Words, first: int, last: int) -> None:
    """Add the tokens at the trie nodes [first, last)."""
    count = context[PARTS]
    if count > 0:
        parts = int64s(context, RECIPE)
        before = parts[count - 1]
        if before >> KIND_BIT == TOKENS and before & NUMBER == first:
            parts[count - 1] = before + last - first
            return
    add_part(context, row, TOKENS, first, last)


@inner
def take_tokens(context: Context, row: Words, first: int, last: int) -> None:
    """Take the tokens at the trie nodes [first, last) out again."""
    add_part(context, row, NO_TOKENS, first, last)


@inner
def add_part(context: Context, row: Words, kind: int, first: int, last: int) -> None:
    """Add a part to the mask, whose row may be asked for."""
    count = context[PARTS]
    if count == MOST_PARTS:
        write_out(context, row)
        count = WRITTEN
    if count == WRITTEN:
        _write(context, row, kind, first, last)
    else:
        int64s(context, RECIPE)[count] = (kind << KIND_BIT) | (first << FIRST_BIT) | last
        context[PARTS] = count + 1


@inner
def write_out(context: Context, row: Words) -> None:
    """Write what the mask has to its row, as from now on all that comes is written."""
    apart()
    count, parts = context[PARTS], int64s(context, RECIPE)
    if count == WRITTEN:
        return
    for word in range(context[ROW_WORDS]):
        row[word] = np.uint32(0)
    for index in range(count):
        part = parts[index]
        _write(context, row, part >> KIND_BIT, (part >> FIRST_BIT) & NUMBER, part & NUMBER)
    context[PARTS] = WRITTEN


@inner
def _write(context: Context, row: Words, kind: int, first: int, last: int) -> None:
    apart()
    words = context[ROW_WORDS]
    if kind == TOKENS:
        set_tokens(context, row, first, last)
    elif kind == NO_TOKENS:
        clear_tokens(context, row, first, last)
    elif kind == PICTURED:
        pictures, tokens = int32s(context, PICTURE), int32s(context, LISTED)
        for index in range(pictures[first * 6 + P_LISTED], pictures[first * 6 + P_LISTED + 1]):
            token = tokens[index]
            row[token >> 5] |= np.uint32(1) << np.uint32(token & 31)
    else:
        from_ = uint32s(context, BASE if kind == BASED else ENDS)
        start = first * words
        for word in range(words):
            row[word] |= from_[start + word]


@once
def known_row(context: Context) -> int:
    """The row of these parts, 0 if it is not known; RECIPE_CODE is their hash."""
    count, parts, code = context[PARTS], int64s(context, RECIPE), 0
    for index in range(count):
        code = mixed(code, parts[index])
    context[RECIPE_CODE] = code
    table, recipes = int32s(context, KNOWN), int64s(context, KNOWN_AT)
    last = 2 * context[KNOWN_ROOM] - 1
    place = code & last
    while table[place] != 0:
        at = int(table[place]) * 4
        if (
            recipes[at] == code
            and recipes[at + 2] == count
            and _same(context, int(recipes[at + 1]))
        ):
            return int(recipes[at + 3])
        place = (place + 1) & last
    return 0


@inner
def _same(context: Context, first: int) -> bool:
    """Whether known parts are those of the mask."""
    parts, known = int64s(context, RECIPE), int64s(context, KNOWN_PARTS)
    different = 0
    for index in range(context[PARTS]):
        different |= parts[index] ^ known[first + index]
    return different == 0


@once
def learn_recipe(context: Context, row: int) -> None:
    """Note that the last mask is this row, if there is room.

    Python's lock is held, so nobody else writes; kernels of other threads may look for it.
    """
    used, count = int64s(context, KNOWN_USED), context[PARTS]
    made, first, code = used[0] + 1, used[1], context[RECIPE_CODE]
    if made >= context[KNOWN_ROOM] or first + count > context[KNOWN_PARTS_ROOM]:
        return
    used[0], used[1] = made, first + count
    parts, known = int64s(context, RECIPE), int64s(context, KNOWN_PARTS)
    for index in range(count):
        known[first + index] = parts[index]
    recipes, table = int64s(context, KNOWN_AT), int32s(context, KNOWN)
    recipes[made * 4], recipes[made * 4 + 1] = code, first
    recipes[made * 4 + 2], recipes[made * 4 + 3] = count, row
    last = 2 * context[KNOWN_ROOM] - 1
    place = code & last
    while table[place] != 0:
        place = (place + 1) & last
    fence()
    table[place] = made
