"""Which leaf of a schema comes next: it is lowered a token before a mask looks beyond its colon.

A mask behind a whole key does so, and there a leaf was lowered, translated and looked at, all in
one step. As soon as the key has been read, the first of these can be done.
"""

from guideway.masks.kernels.frames import frame_field, may_come, name_field
from guideway.masks.kernels.layout import (
    CONFIG,
    EXPECTED,
    EXPR,
    K_DEPTH,
    K_HIGH,
    K_LOW,
    KEY,
    KEYS,
    LAID,
    MACRO,
    N_LENGTH,
    N_VALUE,
    NAME,
    NEED_VALUE,
    NODE,
    OK,
    SCHEMA_NAME,
    SCHEMA_PART,
    TARGET,
    WANT,
)
from guideway.masks.kernels.schema_layout import (
    ANY_PART,
    GROUP,
    LEAF,
    NOTHING,
    OF_ARRAY,
    PARTED,
    REFERENCE,
    S_ITEM,
    S_KIND,
    S_MEMBER,
    S_OPTIONS,
    S_TARGET,
)
from guideway.masks.kernels.views import Context, inner, int32s, int64s

_DEEPEST = 4  # parts within parts


@inner
def ask_early(context: Context, macro: int) -> int:
    """NEED_VALUE, where a key may end and nobody has asked for a leaf of its value; else OK."""
    macros, nodes = int32s(context, MACRO), int32s(context, NODE)
    if macros[macro * 4 + 1] == 0:
        return OK
    node = int64s(context, CONFIG)[macros[macro * 4]] >> 32
    if nodes[node * 6] != KEY or nodes[node * 6 + 2] < 0 or nodes[node * 6 + 5] != 0:
        return OK
    value = _leaf_behind(context, int(nodes[node * 6 + 1]), int(nodes[node * 6 + 2]))
    if value == 0 or value == context[EXPECTED]:
        return OK
    context[EXPECTED] = context[WANT] = value
    return NEED_VALUE


@inner
def _leaf_behind(context: Context, frame: int, trie: int) -> int:
    """LAID and the leaf in the value of the name that ends here, not entered so far; 0 if none."""
    keys, nodes, thing = (
        int32s(context, KEYS),
        int32s(context, NODE),
        frame_field(context, frame, 0),
    )
    rank = int(keys[trie * 6 + K_LOW])
    if rank == keys[trie * 6 + K_HIGH]:  # there are no names at all
        return 0
    if name_field(context, thing, rank, N_LENGTH) != keys[trie * 6 + K_DEPTH]:
        return 0
    value = int(name_field(context, thing, rank, N_VALUE))
    if nodes[value * 6] != EXPR or nodes[value * 6 + 1] < LAID:
        return 0
    if int32s(context, TARGET)[value] != 0 or not may_come(context, frame, rank):
        return 0
    return _leaf_of(context, int(nodes[value * 6 + 1]) - LAID)


@inner
def _leaf_of(context: Context, part: int) -> int:
    """LAID and the first leaf that is met in a part, as it, an option or an item; 0 if none is."""
    rows, names = int32s(context, SCHEMA_PART), int32s(context, NAME)
    for _ in range(_DEEPEST):
        kind = NOTHING if part == ANY_PART else rows[part * 16 + S_KIND]
        if kind == LEAF:
            return LAID + part
        if kind == REFERENCE:
            part = int(rows[part * 16 + S_TARGET])
        elif kind == PARTED and rows[part * 16 + S_OPTIONS] & OF_ARRAY != 0:
            part = int(rows[part * 16 + S_ITEM])
        elif kind == GROUP:
            part = int(names[(context[SCHEMA_NAME] + rows[part * 16 + S_MEMBER]) * 6 + N_VALUE])
        else:
            return 0
    return 0
