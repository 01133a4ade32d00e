"""Masks: which tokens a macro state can read.

The tokens of a lexical configuration are those that stay within its state, which depend on nothing
else (its picture, made once in a process), and those that leave it: for each of its exits, a walk of
the tokens below. Everything else walks the trie of all tokens, which is short where few bytes lead on.

A key of an object that allows undeclared ones is a string, too. Its picture holds for
any name that has not come; afterwards the tokens that end a declared name, or one that has come,
are taken out and looked at one by one.
"""

import numpy as np

from fairlead.masks.kernels.frames import frame_after_other, frame_field, object_field
from fairlead.masks.kernels.intern import node_of
from fairlead.masks.kernels.keys import ends_special, is_special, key_after
from fairlead.masks.kernels.layout import (
    ACCEPTS,
    BASE,
    BEGUN,
    BLUR,
    CAPTURE,
    CAPTURES,
    CONFIG,
    COUNT_AT,
    COUNTED,
    CURSOR,
    ENDS,
    EXIT,
    FIRST,
    KEY,
    LEX,
    LEX_FIRST,
    LEX_FLAG,
    LEXEME,
    LISTED,
    MACRO,
    MEMBER,
    NEED_COUNT,
    NEED_LEX,
    NEED_PICTURE,
    NIL,
    NO_PICTURE,
    NODE,
    O_OTHER,
    O_QUOTED,
    OK,
    P_BASE,
    P_LISTED,
    P_MOST,
    P_RUN,
    PICTURE,
    PICTURE_AT,
    QUOTE_BYTE,
    RESUME,
    ROW_WORDS,
    RUN,
    SPARE,
    TRIE_AT,
    TRIE_BYTE,
    TRIE_DEPTH,
    TRIE_END,
    TRIE_NODES,
    TRIE_ROOT,
    TRIE_TOKEN,
    UNKNOWN_TEXT,
    UNSURE,
    UNSURE_COUNT,
    WALK,
    WANT,
)
from fairlead.masks.kernels.step import (
    begin,
    close,
    finish,
    key_begins,
    step,
    value_follows,
)
from fairlead.masks.kernels.views import (
    Context,
    Ints,
    Words,
    inner,
    int32s,
    int64s,
    once,
    uint8s,
    uint16s,
    uint32s,
    uint64s,
)


@inner
def _set_tokens(context: Context, row: Words, first: int, last: int) -> None:
    """Set the bits of the tokens at the trie nodes [first, last)."""
    at, tokens = int32s(context, TRIE_AT), int32s(context, TRIE_TOKEN)
    for index in range(at[first], at[last]):
        token = tokens[index]
        row[token >> 5] |= np.uint32(1) << np.uint32(token & 31)


@inner
def _clear_tokens(context: Context, row: Words, first: int, last: int) -> None:
    at, tokens = int32s(context, TRIE_AT), int32s(context, TRIE_TOKEN)
    for index in range(at[first], at[last]):
        token = tokens[index]
        row[token >> 5] &= ~(np.uint32(1) << np.uint32(token & 31))


@inner
def _note_unsure(context: Context, first: int, last: int) -> None:
    """The tokens at these trie nodes depend on a text that is not kept."""
    at, tokens, unsure = (
        int32s(context, TRIE_AT),
        int32s(context, TRIE_TOKEN),
        int32s(context, UNSURE),
    )
    for index in range(at[first], at[last]):
        unsure[context[UNSURE_COUNT]] = tokens[index]
        context[UNSURE_COUNT] += 1


@inner
def walk(context: Context, row: Words, first: int, last: int, macro: int) -> int:
    """Set the tokens at the trie nodes [first, last) that `macro` reads from their depth on."""
    depths, bytes_ = uint16s(context, TRIE_DEPTH), uint8s(context, TRIE_BYTE)
    ends, macros, at = int32s(context, TRIE_END), int32s(context, WALK), int32s(context, MACRO)
    if first < last:
        macros[depths[first] - 1] = macro
    node = first
    while node < last:
        depth = depths[node]
        after = step(context, int(macros[depth - 1]), int(bytes_[node]))
        if after < 0:
            return after
        if after == 0:
            node = ends[node]
        elif at[after * 4 + 3] != 0:
            _note_unsure(context, node, int(ends[node]))
            node = ends[node]
        else:
            macros[depth] = after
            _set_tokens(context, row, node, node + 1)
            node += 1
    return OK


@once
def _walk_all(context: Context, row: Words, macro: int) -> int:
    """The same for the whole trie."""
    roots, ends, first = (
        int32s(context, TRIE_ROOT),
        int32s(context, TRIE_END),
        uint64s(context, FIRST),
    )
    for byte in range(256):
        lead = (first[macro * 4 + (byte >> 6)] >> np.uint64(byte & 63)) & np.uint64(1)
        node = roots[byte]
        if lead != 0 and node >= 0:
            code = walk(context, row, node, int(ends[node]), macro)
            if code < 0:
                return code
    return OK


@inner
def _add_base(context: Context, row: Words, picture: int, items: int) -> None:
    """The tokens that stay within a lexical state; of counts, within so many items (-1: any)."""
    pictures, base, words = int32s(context, PICTURE), uint32s(context, BASE), context[ROW_WORDS]
    first = pictures[picture * 6 + P_BASE]
    if first < 0:
        tokens = int32s(context, LISTED)
        for index in range(pictures[picture * 6 + P_LISTED], pictures[picture * 6 + P_LISTED + 1]):
            token = tokens[index]
            row[token >> 5] |= np.uint32(1) << np.uint32(token & 31)
        return
    most = pictures[picture * 6 + P_MOST]
    at = (first + (most if items < 0 else min(items, most))) * words
    for word in range(words):
        row[word] |= base[at + word]


@inner
def _walk_exits(context: Context, row: Words, picture: int, macro: int, low: int, high: int) -> int:
    """The tokens that leave a lexical state after `low` to `high` items (-1: any number)."""
    pictures, runs, exits = int32s(context, PICTURE), int32s(context, RUN), int32s(context, EXIT)
    ends, first = int32s(context, TRIE_END), uint64s(context, FIRST)
    unsure = int32s(context, MACRO)[macro * 4 + 3] != 0
    run = pictures[picture * 6 + P_RUN]
    for index in range(run + 1, pictures[picture * 6 + P_RUN + 1]):
        byte = runs[index * 2]
        lead = (first[macro * 4 + (byte >> 6)] >> np.uint64(byte & 63)) & np.uint64(1)
        if lead == 0 and not unsure:
            continue
        for place in range(runs[index * 2 - 1], runs[index * 2 + 1]):
            node, items = int(exits[place * 2]), exits[place * 2 + 1]
            if items < low or (high >= 0 and items > high):
                continue
            if unsure:
                _note_unsure(context, node, int(ends[node]))
                continue
            code = walk(context, row, node, int(ends[node]), macro)
            if code < 0:
                return code
    return OK


@once
def _picture_mask(context: Context, row: Words, node: int, picture: int, stack: int) -> int:
    """The tokens of a lexical configuration: its picture, the exits going on with the stack."""
    nodes = int32s(context, NODE)
    low, high, after = 0, -1, NIL
    if nodes[node * 6] == COUNTED:
        low, high = int(nodes[node * 6 + 2]), int(nodes[node * 6 + 3])
    elif nodes[node * 6] == CAPTURE:
        after = node_of(context, RESUME, nodes[node * 6 + 3], UNKNOWN_TEXT, 0, 0, 0)
        if after < 0:
            return after
    begin(context)
    code = close(context, after, stack)
    macro = finish(context) if code == OK else code
    if macro < 0:
        return macro
    _add_base(context, row, picture, high)
    return _walk_exits(context, row, picture, macro, low, high) if macro > 0 else OK


# Keys


@inner
def _key_state(context: Context, node: int) -> int:
    """The lexical state of a key, or of the quote before it."""
    nodes = int32s(context, NODE)
    if nodes[node * 6] == KEY:
        return int(nodes[node * 6 + 4])
    thing = frame_field(context, int(nodes[node * 6 + 1]), 0)
    return object_field(context, thing, O_QUOTED)


@once
def _key_mask(context: Context, row: Words, node: int, stack: int) -> int:
    """The tokens of a key, or of the quote before it, where undeclared keys are allowed."""
    nodes = int32s(context, NODE)
    frame = int(nodes[node * 6 + 1])
    thing = frame_field(context, frame, 0)
    state = _key_state(context, node)
    picture = int(int32s(context, PICTURE_AT)[state])
    if picture == 0:
        context[WANT] = state
        return NEED_PICTURE
    begin(context)
    other = object_field(context, thing, O_OTHER)
    unknown = frame_after_other(context, frame, UNKNOWN_TEXT)
    code = value_follows(context, thing, other, unknown, stack)
    macro = finish(context) if code == OK else code
    if macro < 0:
        return macro
    _add_base(context, row, picture, -1)
    code = _walk_exits(context, row, picture, macro, 0, -1)
    if code < 0:
        return code
    return _special_keys(context, row, node, stack, nodes[node * 6] == MEMBER)


@once
def _special_keys(context: Context, row: Words, node: int, stack: int, quoted: bool) -> int:
    """Look anew at the tokens that end a declared name, or one that has come."""
    roots, ends, keys = int32s(context, TRIE_ROOT), int32s(context, TRIE_END), int32s(context, WALK)
    first, last = 0, context[TRIE_NODES]
    if quoted:
        root = int(roots[QUOTE_BYTE])
        first, last = root + 1, int(ends[root]) if root >= 0 else 0
        node = key_begins(context, int(int32s(context, NODE)[node * 6 + 1]))
        if node < 0:
            return node
    if not is_special(context, node) or first >= last:
        return OK
    depths, bytes_ = uint16s(context, TRIE_DEPTH), uint8s(context, TRIE_BYTE)
    keys[depths[first] - 1] = node
    at = first
    while at < last:
        key, byte = int(keys[depths[at] - 1]), int(bytes_[at])
        if byte == QUOTE_BYTE and int32s(context, NODE)[key * 6 + 5] == 0:
            if ends_special(context, key):
                code = _end_special(context, row, key, stack, at)
                if code < 0:
                    return code
            at = int(ends[at])
            continue
        after = key_after(context, key, byte)
        if after < 0:
            return after
        if after == 0 or not is_special(context, after):
            at = int(ends[at])
        else:
            keys[depths[at]] = after
            at += 1
    return OK


@once
def _end_special(context: Context, row: Words, key: int, stack: int, at: int) -> int:
    """The tokens at and below the trie node of a closing quote."""
    end = int(int32s(context, TRIE_END)[at])
    depth = uint16s(context, TRIE_DEPTH)[at]
    _clear_tokens(context, row, at, end)
    begin(context)
    code = close(context, key, stack)
    macro = finish(context) if code == OK else code
    if macro < 0:
        return macro
    walked = int32s(context, WALK)
    kept = walked[depth - 1]
    code = walk(context, row, at, end, macro)
    walked[depth - 1] = kept
    return code


# All together


@inner
def _is_key(context: Context, node: int) -> bool:
    """Whether a node reads a key that may be an undeclared one, by its picture."""
    nodes = int32s(context, NODE)
    if nodes[node * 6] not in (MEMBER, KEY):
        return False
    if frame_field(context, nodes[node * 6 + 1], 5) == 0:
        return False
    return int32s(context, PICTURE_AT)[_key_state(context, node)] != NO_PICTURE


@once
def _keys_of(context: Context, macro: int, row: Words, spare: Words) -> int:
    """The keys of a macro state; each one's taken-out tokens are its own affair."""
    macros, configs = int32s(context, MACRO), int64s(context, CONFIG)
    first, words, done = macros[macro * 4], context[ROW_WORDS], 0
    for index in range(first, first + macros[macro * 4 + 1]):
        config = configs[index]
        if not _is_key(context, config >> 32):
            continue
        target = row if done == 0 else spare
        done += 1
        if done == 2:
            for word in range(words):
                spare[word] = np.uint32(0)
        code = _key_mask(context, target, config >> 32, config & 0xFFFFFFFF)
        if code < 0:
            return code
        if done > 1:
            for word in range(words):
                row[word] |= spare[word]
                spare[word] = np.uint32(0)
    return OK


@inner
def _leaves_surely(context: Context, between: int, stack: int) -> bool:
    """Whether what follows counted items begins with no byte that an item begins with."""
    begin(context)
    code = close(context, NIL, stack)
    macro = finish(context) if code == OK else code
    if macro <= 0:
        return macro == 0
    first, lexical = uint64s(context, FIRST), uint64s(context, LEX_FIRST)
    common = np.uint64(0)
    for word in range(4):
        common |= first[macro * 4 + word] & lexical[between * 4 + word]
    return common == 0


@inner
def _picture_of(context: Context, node: int, stack: int) -> int:
    """The picture of a node with a lexical state, NO_PICTURE, or 0 after WANT is set."""
    nodes = int32s(context, NODE)
    kind, state = nodes[node * 6], int(nodes[node * 6 + 1])
    if kind == COUNTED and state == nodes[node * 6 + 4]:
        if not _leaves_surely(context, state, stack):
            return NO_PICTURE
        picture = int(int32s(context, COUNT_AT)[state])
    elif kind in (LEXEME, CAPTURE):
        picture = int(int32s(context, PICTURE_AT)[state])
    else:
        return NO_PICTURE
    if picture == 0:
        context[WANT] = state
    return picture


@once
def _lexemes_of(context: Context, macro: int, row: Words) -> int:
    """The configurations with pictures; gives the number of those without."""
    macros, configs, nodes = int32s(context, MACRO), int64s(context, CONFIG), int32s(context, NODE)
    first, left = macros[macro * 4], 0
    for index in range(first, first + macros[macro * 4 + 1]):
        node, stack = configs[index] >> 32, configs[index] & 0xFFFFFFFF
        if _is_key(context, node):
            continue
        picture = _picture_of(context, node, stack)
        if picture == 0:
            return NEED_COUNT if nodes[node * 6] == COUNTED else NEED_PICTURE
        if picture == NO_PICTURE:
            left += 1
            continue
        code = _picture_mask(context, row, node, picture, stack)
        if code < 0:
            return code
    return left


@once
def _rest_of(context: Context, macro: int, left: int) -> int:
    """The macro state of the `left` configurations that the trie is walked for."""
    macros, configs = int32s(context, MACRO), int64s(context, CONFIG)
    first, count = macros[macro * 4], macros[macro * 4 + 1]
    if left == count and context[BLUR] == 0:
        return macro
    kept = 0
    found = int64s(context, SPARE)
    for index in range(first, first + count):
        node, stack = configs[index] >> 32, configs[index] & 0xFFFFFFFF
        if not _is_key(context, node) and _picture_of(context, node, stack) == NO_PICTURE:
            found[kept] = configs[index]
            kept += 1
    begin(context)
    for index in range(kept):
        code = close(context, found[index] >> 32, found[index] & 0xFFFFFFFF)
        if code < 0:
            return code
    return finish(context)


@once
def fill(context: Context, macro: int, row: Words, spare: Words) -> int:
    """Write the mask of a macro state; the unsure tokens are listed apart."""
    for word in range(context[ROW_WORDS]):
        row[word] = np.uint32(0)
    context[UNSURE_COUNT] = 0
    context[BLUR] = context[CAPTURES]
    code = _keys_of(context, macro, row, spare)
    if code == OK:
        code = _lexemes_of(context, macro, row)
    if code > 0:
        code = _rest_of(context, macro, code)
        if code > 0:
            code = _walk_all(context, row, code)
    context[BLUR] = 0
    if code == OK and int32s(context, MACRO)[macro * 4 + 2] != 0:
        ends = uint32s(context, ENDS)
        for word in range(context[ROW_WORDS]):
            row[word] |= ends[word]
    return code


@inner
def base_row(context: Context, state: int, row: Words, exits: Ints, most: int) -> int:
    """Write the base row of a lexical state, and its exits; how many, or a code below 0.

    Goes on at CURSOR, exits so far << 32 | trie node, so that a state that must be expanded first
    costs no second walk. More than `most` exits are counted, not written.
    """
    rows, flags = int32s(context, LEX), uint8s(context, LEX_FLAG)
    depths, bytes_, ends = (
        uint16s(context, TRIE_DEPTH),
        uint8s(context, TRIE_BYTE),
        int32s(context, TRIE_END),
    )
    states = int32s(context, WALK)
    states[0] = state
    node, count = context[CURSOR] & 0xFFFFFFFF, context[CURSOR] >> 32
    while node < context[TRIE_NODES]:
        depth = depths[node]
        after = rows[int(states[depth - 1]) * 256 + bytes_[node]]
        if after == 0:
            context[WANT] = states[depth - 1]
            context[CURSOR] = (count << 32) | node
            return NEED_LEX
        if after < 0:
            node = ends[node]
            continue
        states[depth] = after
        _set_tokens(context, row, node, node + 1)
        if flags[after] & ACCEPTS:
            count = _exits_below(context, exits, node, 0, count, most)
        node += 1
    return count


@inner
def _exits_below(
    context: Context, exits: Ints, node: int, items: int, count: int, most: int
) -> int:
    """Write the children of a node as exits, as far as there is room; how many there are now."""
    ends = int32s(context, TRIE_END)
    child = node + 1
    while child < ends[node]:
        if count < most:
            exits[count * 2], exits[count * 2 + 1] = child, items
        count += 1
        child = int(ends[child])
    return count


@inner
def _exits_outside(
    context: Context,
    exits: Ints,
    node: int,
    between: int,
    items: int,
    count: int,
    most: int,
) -> int:
    """The same for those children only that no item begins with."""
    ends, bytes_, first = (
        int32s(context, TRIE_END),
        uint8s(context, TRIE_BYTE),
        uint64s(context, LEX_FIRST),
    )
    child = node + 1
    while child < ends[node]:
        byte = int(bytes_[child])
        if (first[between * 4 + (byte >> 6)] >> np.uint64(byte & 63)) & np.uint64(1) == 0:
            if count < most:
                exits[count * 2], exits[count * 2 + 1] = child, items
            count += 1
        child = int(ends[child])
    return count


@inner
def count_rows(context: Context, between: int, items: Ints, exits: Ints, most: int) -> int:
    """How many items each token begins from between two of them, -1 where it cannot be read.

    Also its exits, with the items before each. Gives their number, or a code below 0; goes on at
    CURSOR as `base_row` does, the items at each depth being kept behind the states.
    """
    rows, depths, bytes_ = (
        int32s(context, LEX),
        uint16s(context, TRIE_DEPTH),
        uint8s(context, TRIE_BYTE),
    )
    ends = int32s(context, TRIE_END)
    states, at, tokens = (
        int32s(context, WALK),
        int32s(context, TRIE_AT),
        int32s(context, TRIE_TOKEN),
    )
    begun = int32s(context, BEGUN)
    states[0], begun[0] = between, 0
    node, count = context[CURSOR] & 0xFFFFFFFF, context[CURSOR] >> 32
    while node < context[TRIE_NODES]:
        depth = depths[node]
        before = int(states[depth - 1])
        after = rows[before * 256 + bytes_[node]]
        if after == 0:
            context[WANT] = before
            context[CURSOR] = (count << 32) | node
            return NEED_LEX
        if after < 0:
            node = ends[node]
            continue
        states[depth] = after
        begun[depth] = begun[depth - 1] + (1 if before == between else 0)
        for index in range(at[node], at[node + 1]):
            items[tokens[index]] = begun[depth]
        if after == between:
            count = _exits_outside(context, exits, node, between, int(begun[depth]), count, most)
        node += 1
    return count


@inner
def stack_rows(context: Context, items: Ints, place: int, most: int) -> None:
    """The base rows for 0 to `most` items, one after another from `place` on."""
    base, words = uint32s(context, BASE), context[ROW_WORDS]
    for token in range(items.shape[0]):
        if items[token] >= 0:
            at = (place + items[token]) * words + (token >> 5)
            base[at] |= np.uint32(1) << np.uint32(token & 31)
    for word in range((place + 1) * words, (place + most + 1) * words):
        base[word] |= base[word - words]
