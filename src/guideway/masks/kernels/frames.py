"""Frames of objects: the names that may come, as a set by rank, and the undeclared names so far."""

import numpy as np

from guideway.masks.kernels.intern import extras_of, full, mixed
from guideway.masks.kernels.layout import (
    BIT,
    BIT_ROOM,
    BITS,
    DEAD,
    EXTRA,
    FRAME,
    FRAME_HASH,
    FRAME_ROOM,
    FRAMES,
    K_BYTE,
    K_CHILD,
    K_CHILDREN,
    K_DEPTH,
    K_HIGH,
    K_LOW,
    KEYS,
    N_AT,
    N_INDEX,
    N_LENGTH,
    N_RANK,
    N_REQUIRED,
    N_VALUE,
    NAME,
    O_BARE,
    O_KEYS,
    O_NAME,
    O_NAMES,
    O_OF_CLASS,
    O_ORDERED,
    O_OTHER,
    O_WORDS,
    OBJECT,
    POOL,
    UNKNOWN_TEXT,
)
from guideway.masks.kernels.views import Context, inner, int32s, int64s, uint8s, uint64s


@inner
def object_field(context: Context, thing: int, field: int) -> int:
    return int32s(context, OBJECT)[thing * 16 + field]


@inner
def name_field(context: Context, thing: int, rank: int, field: int) -> int:
    return int32s(context, NAME)[(object_field(context, thing, O_NAME) + rank) * 6 + field]


@inner
def frame_field(context: Context, frame: int, field: int) -> int:
    """A field of a frame: object, position, extras, missing, bits, others."""
    return int32s(context, FRAME)[frame * 6 + field]


@inner
def may_come(context: Context, frame: int, rank: int) -> bool:
    at = frame_field(context, frame, 4)
    return (uint64s(context, BIT)[at + (rank >> 6)] >> np.uint64(rank & 63)) & np.uint64(1) != 0


@inner
def any_may_come(context: Context, frame: int, low: int, high: int) -> bool:
    """Return True if one of the names [low, high) may come next."""
    bits, at = uint64s(context, BIT), frame_field(context, frame, 4)
    rank = low
    while rank < high:
        word = bits[at + (rank >> 6)] >> np.uint64(rank & 63)
        ahead = min(64 - (rank & 63), high - rank)
        if ahead < 64:
            word &= (np.uint64(1) << np.uint64(ahead)) - np.uint64(1)
        if word != 0:
            return True
        rank += ahead
    return False


@inner
def _frame_of(context: Context, thing: int, position: int, extras: int, missing: int) -> int:
    """The frame whose allowed names are the bits after the last used ones."""
    frames, table, bits = int32s(context, FRAME), int32s(context, FRAME_HASH), uint64s(context, BIT)
    words, fresh = object_field(context, thing, O_WORDS), context[BITS]
    code = mixed(mixed(mixed(thing, position), extras), missing)
    for word in range(words):
        code = mixed(code, int(np.int64(bits[fresh + word])))
    last = 2 * context[FRAME_ROOM] - 1
    place = code & last
    while table[place] != 0:
        at = (table[place] - 1) * 6
        same = (
            frames[at] == thing
            and frames[at + 1] == position
            and frames[at + 2] == extras
            and frames[at + 3] == missing
        )
        for word in range(words):
            same = same and bits[frames[at + 4] + word] == bits[fresh + word]
        if same:
            return int(table[place]) - 1
        place = (place + 1) & last
    made = context[FRAMES]
    if made == context[FRAME_ROOM]:
        return full(context, FRAMES)
    context[FRAMES], context[BITS] = made + 1, fresh + words
    table[place] = made + 1
    others = object_field(context, thing, O_OTHER) != DEAD
    waiting = object_field(context, thing, O_ORDERED) != 0 and missing > 0
    at = made * 6
    frames[at], frames[at + 1], frames[at + 2], frames[at + 3] = thing, position, extras, missing
    frames[at + 4], frames[at + 5] = fresh, 1 if others and not waiting else 0
    return made


@inner
def _clear_bits(context: Context, thing: int) -> int:
    """Prepare the words of an empty set of names; 0, or FULL."""
    words, fresh = object_field(context, thing, O_WORDS), context[BITS]
    if fresh + words > context[BIT_ROOM]:
        return full(context, BITS)
    bits = uint64s(context, BIT)
    for word in range(words):
        bits[fresh + word] = np.uint64(0)
    return 0


@inner
def _set_bit(context: Context, thing: int, rank: int) -> None:
    if name_field(context, thing, rank, N_VALUE) != DEAD:
        at = context[BITS] + (rank >> 6)
        uint64s(context, BIT)[at] |= np.uint64(1) << np.uint64(rank & 63)


@inner
def _set_ordered(context: Context, thing: int, position: int) -> None:
    """Allow the names from `position` on up to the first required one."""
    for index in range(position, object_field(context, thing, O_NAMES)):
        rank = name_field(context, thing, index, N_RANK)
        _set_bit(context, thing, rank)
        if name_field(context, thing, rank, N_REQUIRED) != 0:
            return


@inner
def first_frame(context: Context, thing: int) -> int:
    code = _clear_bits(context, thing)
    if code < 0:
        return code
    missing = 0
    count = object_field(context, thing, O_NAMES)
    for rank in range(count):
        missing += name_field(context, thing, rank, N_REQUIRED)
    if object_field(context, thing, O_ORDERED) != 0:
        _set_ordered(context, thing, 0)
    else:
        for rank in range(count):
            _set_bit(context, thing, rank)
    return _frame_of(context, thing, 0, 0, missing)


@inner
def _copy_bits(context: Context, thing: int, frame: int) -> None:
    bits, at = uint64s(context, BIT), frame_field(context, frame, 4)
    for word in range(object_field(context, thing, O_WORDS)):
        bits[context[BITS] + word] = bits[at + word]


@inner
def frame_after_name(context: Context, frame: int, rank: int) -> int:
    thing = frame_field(context, frame, 0)
    if object_field(context, thing, O_BARE) != 0:
        return frame
    code = _clear_bits(context, thing)
    if code < 0:
        return code
    position = 0
    if object_field(context, thing, O_ORDERED) != 0:
        position = name_field(context, thing, rank, N_INDEX) + 1
        _set_ordered(context, thing, position)
    else:
        _copy_bits(context, thing, frame)
        at = context[BITS] + (rank >> 6)
        uint64s(context, BIT)[at] &= ~(np.uint64(1) << np.uint64(rank & 63))
    missing = frame_field(context, frame, 3) - name_field(context, thing, rank, N_REQUIRED)
    return _frame_of(context, thing, position, frame_field(context, frame, 2), missing)


@inner
def has_extra(context: Context, extras: int, text: int) -> bool:
    pairs = int64s(context, EXTRA)
    while extras != 0:
        if pairs[extras] >> 32 == text:
            return True
        extras = pairs[extras] & 0xFFFFFFFF
    return False


@inner
def _with_extra(context: Context, extras: int, text: int) -> int:
    """The set with one more text, in ascending order."""
    pairs = int64s(context, EXTRA)
    rest, smaller = extras, 0
    while rest != 0 and pairs[rest] >> 32 < text:
        rest, smaller = pairs[rest] & 0xFFFFFFFF, smaller + 1
    made = extras_of(context, text, rest)
    for left in range(smaller, 0, -1):
        if made < 0:
            return made
        rest = extras
        for _ in range(left - 1):
            rest = pairs[rest] & 0xFFFFFFFF
        made = extras_of(context, pairs[rest] >> 32, made)
    return made


@inner
def frame_after_other(context: Context, frame: int, text: int) -> int:
    """The frame after an undeclared name; UNKNOWN_TEXT if it was not kept."""
    if object_field(context, frame_field(context, frame, 0), O_OF_CLASS) != 0:
        frame = frame_field(context, frame, 1)
    thing, extras = frame_field(context, frame, 0), frame_field(context, frame, 2)
    if text != UNKNOWN_TEXT or not has_extra(context, extras, text):
        extras = _with_extra(context, extras, text)
    if extras < 0:
        return extras
    code = _clear_bits(context, thing)
    if code < 0:
        return code
    position = 0
    if object_field(context, thing, O_ORDERED) != 0:
        position = object_field(context, thing, O_NAMES)
    else:
        _copy_bits(context, thing, frame)
    return _frame_of(context, thing, position, extras, frame_field(context, frame, 3))


@inner
def frame_of_class(context: Context, frame: int, thing: int) -> int:
    """The frame before a key of a class, whose object is `thing`."""
    code = _clear_bits(context, thing)
    if code < 0:
        return code
    return _frame_of(context, thing, frame, frame_field(context, frame, 2), 0)


@inner
def key_child(context: Context, node: int, byte: int) -> int:
    """The key trie node after one more byte, -1 if no name matches."""
    keys = int32s(context, KEYS)
    first = keys[node * 6 + K_CHILD]
    for child in range(first, first + keys[node * 6 + K_CHILDREN]):
        if keys[child * 6 + K_BYTE] == byte:
            return child
    return -1


@inner
def key_ends(context: Context, thing: int, node: int) -> int:
    """The rank of the name that ends at a key trie node, -1 if none."""
    keys = int32s(context, KEYS)
    rank, depth = keys[node * 6 + K_LOW], keys[node * 6 + K_DEPTH]
    if rank < keys[node * 6 + K_HIGH] and name_field(context, thing, rank, N_LENGTH) == depth:
        return rank
    return -1


@inner
def build_keys(context: Context, thing: int, free: int) -> int:
    """Write the trie of an object's names, sorted by bytes, from row `free` on; return its end."""
    keys, pool = int32s(context, KEYS), uint8s(context, POOL)
    root = free
    int32s(context, OBJECT)[thing * 16 + O_KEYS] = root
    count = object_field(context, thing, O_NAMES)
    keys[root * 6 + K_BYTE], keys[root * 6 + K_DEPTH] = 0, 0
    keys[root * 6 + K_LOW], keys[root * 6 + K_HIGH] = 0, count
    free, node = root + 1, root
    while node < free:
        low, high = keys[node * 6 + K_LOW], keys[node * 6 + K_HIGH]
        depth = keys[node * 6 + K_DEPTH]
        keys[node * 6 + K_CHILD] = free
        rank = low + (1 if key_ends(context, thing, node) >= 0 else 0)
        while rank < high:
            byte = pool[name_field(context, thing, rank, N_AT) + depth]
            keys[free * 6 + K_BYTE], keys[free * 6 + K_DEPTH] = byte, depth + 1
            keys[free * 6 + K_LOW] = rank
            while rank < high and pool[name_field(context, thing, rank, N_AT) + depth] == byte:
                rank += 1
            keys[free * 6 + K_HIGH] = rank
            free += 1
        keys[node * 6 + K_CHILDREN] = free - keys[node * 6 + K_CHILD]
        node += 1
    return free


@inner
def rehash_frames(context: Context) -> None:
    frames, table, bits = int32s(context, FRAME), int32s(context, FRAME_HASH), uint64s(context, BIT)
    last = 2 * context[FRAME_ROOM] - 1
    for number in range(context[FRAMES]):
        at = number * 6
        code = mixed(mixed(mixed(frames[at], frames[at + 1]), frames[at + 2]), frames[at + 3])
        for word in range(object_field(context, frames[at], O_WORDS)):
            code = mixed(code, int(np.int64(bits[frames[at + 4] + word])))
        place = code & last
        while table[place] != 0:
            place = (place + 1) & last
        table[place] = number + 1
