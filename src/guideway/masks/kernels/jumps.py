"""Jumps over all of the vocabulary's trie that a lexical state reads without leaving itself.

Within a string almost every character leads back to where it began. So what has to be looked at are
the nodes where another one begins, and these are known: for each character there is a row of bits
that says at which nodes it begins, and those of all that do not lead back make one row for each set
of characters. From a node on, a walk goes to the next one in that row, below which it goes on as
ever: of all strings that is 2,000 nodes instead of 17,000, of those with a word in them 6,600
instead of 53,000.

Letters that lead on, but only to where they may be read for ever (`kernels.forever`), are jumped
over alike, and read again down to each node that is gone to: the picture of a pattern that may
begin anywhere with one of some words takes .2 to .4 ms instead of .7 to 1.6.

Most characters begin at a few hundred nodes. These are listed, too: to put them into a row takes
less than to read all that does not begin so (names with points: 180 us -> 60, URLs: 130 -> 45).
"""

from typing import Final

from guideway.masks.kernels.forever import (
    USUAL,
    are_letters_known,
    is_mark,
    letters_of,
    others_of,
)
from guideway.masks.kernels.jump_layout import (
    BROKEN_SPOT,
    FOREVER,
    FREE_AT,
    GROUP,
    JUMP,
    JUMP_AT,
    JUMP_KEY,
    JUMP_WORDS,
    MOST_JUMPS,
    NO_JUMP,
    OTHER_SPOT,
    R_COUNT,
    R_END,
    R_JUMP,
    R_STATE,
    R_UNTIL,
    R_WIDTH,
    REGION,
    SPACED_SPOT,
    SPOT,
    SPOT_LIST,
    SPOTTED,
)
from guideway.masks.kernels.layout import (
    ACCEPTS,
    CURSOR,
    DOUBTS,
    LEX,
    LEX_FLAG,
    LOOP,
    LOOPS,
    NEED_LEX,
    PART,
    TOKEN,
    TOKEN_AT,
    TRIE_AT,
    TRIE_DEPTH,
    TRIE_END,
    TRIE_TOKEN,
    WALK,
)
from guideway.masks.kernels.returns import all_else_loop, find_loops
from guideway.masks.kernels.skips import BETWEEN
from guideway.masks.kernels.spots import ASCII
from guideway.masks.kernels.views import (
    Context,
    apart,
    fence,
    inner,
    int32s,
    int64s,
    lowest_bit,
    once,
    uint8s,
    uint16s,
)

LARGE: Final = 64  # parts with so many nodes are worth a jump
_HALF: Final = (1 << 32) - 1
_OFTEN: Final = 4000  # nodes, each of which a walk would have to look at, and below
_MANY: Final = 8  # characters that lead back, before it is worth going from others to others


@inner
def jump_of(context: Context, node: int, state: int) -> int:
    """The row of JUMP by which a state goes on below a trie node; 0 if by none, or a code below 0.

    It says nothing of where a state can be left on the way: who needs to know that must not jump
    from one that ACCEPTS.
    """
    found = int(int32s(context, JUMP_AT)[state])
    if found == 0:
        found = _find_jump(context, state)
        if found == NEED_LEX:
            return found
        int32s(context, JUMP_AT)[state] = found
    between = node == 0 or uint8s(context, PART)[node] & BETWEEN != 0
    return found if found > 0 and between else 0


@once
def _find_jump(context: Context, state: int) -> int:
    """The row of JUMP of a state, NO_JUMP, or NEED_LEX."""
    apart()
    loops, at = int64s(context, LOOP), state * 2
    if uint8s(context, LEX_FLAG)[state] & DOUBTS:
        return NO_JUMP
    code = find_loops(context, state) if uint8s(context, LOOPS)[state] == 0 else 0
    if code < 0:
        return NEED_LEX
    others = all_else_loop(int(uint8s(context, LOOPS)[state]))
    few = others == 0 and _count(loops[at]) + _count(loops[at + 1]) < _MANY
    found = 0 if few else _row_of(context, loops[at], loops[at + 1], others)
    return found if found > 0 else NO_JUMP


@inner
def _count(word: int) -> int:
    count = 0
    while word != 0:
        word &= word - 1
        count += 1
    return count


@inner
def _row_of(context: Context, low: int, high: int, others: int) -> int:
    """The row of JUMP of a set of characters; 0 if there are too many of them."""
    apart()
    keys = int64s(context, JUMP_KEY)
    made = int(keys[0])
    for row in range(1, made):
        if keys[row * 3] == low and keys[row * 3 + 1] == high and keys[row * 3 + 2] == others:
            return row
    if made == MOST_JUMPS:
        return 0
    keys[made * 3], keys[made * 3 + 1], keys[made * 3 + 2] = low, high, others
    _add_spots(context, made, BROKEN_SPOT)
    if others < 2:
        _add_spots(context, made, SPACED_SPOT)
    if others < 1:
        _add_spots(context, made, OTHER_SPOT)
    for group in range(4):
        word = low if group < 2 else high
        outside = ~(word >> (32 * (group & 1))) & _HALF
        if _count(outside) > 16:
            _change_spots(context, made, GROUP + group)
            outside ^= _HALF
        while outside != 0:
            _change_char(context, made, group * 32 + lowest_bit(outside))
            outside &= outside - 1
    fence()
    keys[0] = made + 1
    return made


@inner
def _add_spots(context: Context, row: int, spots: int) -> None:
    words = context[JUMP_WORDS]
    rows, added, to, at = int64s(context, JUMP), int64s(context, SPOT), row * words, spots * words
    for word in range(words):
        rows[to + word] |= added[at + word]


@inner
def _change_char(context: Context, row: int, char: int) -> None:
    """The same of a character."""
    apart()
    rows, listed, words = int64s(context, JUMP), int32s(context, SPOT_LIST), context[JUMP_WORDS]
    if listed[char + 1] - listed[char] > words:
        _change_spots(context, row, char)
        return
    for index in range(listed[char], listed[char + 1]):
        node = int(listed[index])
        rows[row * words + (node >> 6)] ^= 1 << (node & 63)


@inner
def _change_spots(context: Context, row: int, spots: int) -> None:
    """Add the nodes of a row of SPOT, or take them out: no node is in two of those of ASCII."""
    apart()
    words = context[JUMP_WORDS]
    rows, added, to, at = int64s(context, JUMP), int64s(context, SPOT), row * words, spots * words
    for word in range(words):
        rows[to + word] ^= added[at + word]


@inner
def jump_over(context: Context, node: int, state: int) -> int:
    """Jump over what is below a trie node; 1 if so, the walk going on at CURSOR, 0 if not.

    Or a code below 0.
    """
    row, free = _free_row_of(context, node, state), 1
    if row == 0:
        row, free = jump_of(context, node, state), 0
    if row <= 0:
        return row
    push_part(context, node, -state if free != 0 else state, row)
    regions = int32s(context, REGION)
    regions[int(regions[0]) * R_WIDTH + R_COUNT] = uint16s(context, TRIE_DEPTH)[node]
    context[CURSOR] = go_on(context, node + 1)
    return 1


@inner
def _free_row_of(context: Context, node: int, state: int) -> int:
    """The row of JUMP of the letters that a state reads for ever; 0 if its loops are as good.

    Or a code below 0. To look for letters is worth it only where all is below.
    """
    found = int(int32s(context, FREE_AT)[state])
    if found == 0 and (node == 0 or int64s(context, FOREVER)[state * 2] != 0):
        found = _find_free(context, state)
        if found == NEED_LEX:
            return found
        int32s(context, FREE_AT)[state] = found
    between = node == 0 or uint8s(context, PART)[node] & BETWEEN != 0
    return found if found > 0 and between else 0


@once
def _find_free(context: Context, state: int) -> int:
    """That row, NO_JUMP, or NEED_LEX."""
    apart()
    if uint8s(context, LEX_FLAG)[state] & (ACCEPTS | DOUBTS):
        return NO_JUMP
    code = find_loops(context, state) if uint8s(context, LOOPS)[state] == 0 else 0
    code = _is_left_often(context, state) if code == 0 else code
    if code <= 0 or not are_letters_known(context, state):
        return NO_JUMP if code == 0 else NEED_LEX
    low, high = letters_of(context, state)
    others = others_of(context, state)
    if low | high == 0 or others < max(all_else_loop(int(uint8s(context, LOOPS)[state])), 1):
        return NO_JUMP
    found = _row_of(context, low, high, others)
    return found if found > 0 else NO_JUMP


@once
def _is_left_often(context: Context, state: int) -> int:
    """Whether letters that lead on from a state, which is expanded, begin at many nodes.

    0 if not, or if most lead to a state that they all lead back to; 1 if so, or NEED_LEX.
    """
    rows, listed, count = int32s(context, LEX), int32s(context, SPOT_LIST), 0
    behind = int(rows[state * 256 + USUAL])
    if behind <= 0:
        return 0
    if uint8s(context, LOOPS)[behind] == 0 and find_loops(context, behind) < 0:
        return NEED_LEX
    loops, away = int64s(context, LOOP), 0
    for byte in range(ASCII):
        after = int(rows[state * 256 + byte])
        if after > 0 and not is_mark(byte):
            word = int(loops[behind * 2 + (byte >> 6)])
            away += 1 if word >> (byte & 63) & 1 == 0 else 0
            count += int(listed[byte + 1] - listed[byte]) if after != state else 0
    return 1 if away > 0 and count > _OFTEN else 0


@inner
def push_part(context: Context, node: int, state: int, jump: int) -> None:
    """What is below a trie node is jumped over from now on."""
    regions, end = int32s(context, REGION), int(int32s(context, TRIE_END)[node])
    top = int(regions[0]) + 1
    at = top * R_WIDTH
    regions[0] = top
    regions[at + R_END], regions[at + R_UNTIL], regions[at + R_STATE] = end, node + 1, state
    regions[at + R_JUMP] = jump


@inner
def go_on(context: Context, node: int) -> int:
    """Where a walk goes on that has come to a trie node, by the parts that it is within."""
    regions, ends = int32s(context, REGION), int32s(context, TRIE_END)
    top, context[SPOTTED] = int(regions[0]), 0
    while top > 0 and node >= regions[top * R_WIDTH + R_UNTIL]:
        at = top * R_WIDTH
        end = int(regions[at + R_END])
        node = _next_spot(context, int(regions[at + R_JUMP]), node, end)
        if node == end:
            top -= 1
            continue
        regions[at + R_UNTIL] = ends[node]
        depth, state = int(uint16s(context, TRIE_DEPTH)[node]), int(regions[at + R_STATE])
        if state < 0:
            state = _state_at(context, node, -state, int(regions[at + R_COUNT]), depth - 1)
        int32s(context, WALK)[depth - 1] = state
        context[SPOTTED] = node
    regions[0] = top
    return node


@once
def _state_at(context: Context, node: int, state: int, depth: int, last: int) -> int:
    """Where a state comes to above a trie node, by letters that it reads for ever.

    Args:
        context: of a gallery.
        node: of the vocabulary's trie.
        state: at a node above it.
        depth: of that node.
        last: of the one to which they lead.
    """
    rows, text = int32s(context, LEX), uint8s(context, TOKEN)
    token = int32s(context, TRIE_TOKEN)[int32s(context, TRIE_AT)[node]]
    begin = int(int64s(context, TOKEN_AT)[token])
    for place in range(begin + depth, begin + last):
        state = int(rows[state * 256 + text[place]])
    return state


@inner
def _next_spot(context: Context, row: int, node: int, end: int) -> int:
    """The first node of a row of JUMP from a trie node on; `end` if it is not before that."""
    words = int64s(context, JUMP)
    first = row * context[JUMP_WORDS]
    place, last = node >> 6, end >> 6
    rest = words[first + place] & (-1 << (node & 63))
    while rest == 0 and place < last:
        place += 1
        rest = words[first + place]
    return min(place * 64 + lowest_bit(int(rest)), end) if rest != 0 else end


@inner
def begin_walk(context: Context, below: int, state: int, jumps: bool) -> int:
    """Where a walk below a trie node begins, or goes on by CURSOR; or a code below 0.

    It may begin with a jump if it `jumps`.
    """
    if context[CURSOR] != 0:
        return context[CURSOR]
    int32s(context, REGION)[0] = 0
    jump = jump_over(context, 0, state) if jumps else 0
    if jump == 0:
        return below + 1
    return context[CURSOR] if jump > 0 else jump


@inner
def until(context: Context) -> int:
    """Where what is looked at ends, before which there is no jump."""
    regions = int32s(context, REGION)
    top = int(regions[0])
    return int(regions[top * R_WIDTH + R_UNTIL]) if top > 0 else 1 << 30
