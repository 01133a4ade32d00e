"""Jumps over all of the vocabulary's trie that a lexical state reads without leaving itself.

Within a string almost every character leads back to where it began. So what has to be looked at are
the nodes where another one begins, and these are known: for each character there is a row of bits
that says at which nodes it begins, and those of all that do not lead back make one row for each set
of characters. From a node on, a walk goes to the next one in that row, below which it goes on as
ever: of all strings that is 2,000 nodes instead of 17,000, of those with a word in them 6,600
instead of 53,000.

Most characters begin at a few hundred nodes. These are listed, too: to put them into a row takes
less than to read all that does not begin so (names with points: 180 us -> 60, URLs: 130 -> 45).
"""

from typing import Final

from fairlead.masks.kernels.characters import INVALID, code_after, is_space
from fairlead.masks.kernels.jump_layout import (
    BROKEN_SPOT,
    CHARS,
    GROUP,
    JUMP,
    JUMP_AT,
    JUMP_KEY,
    JUMP_WORDS,
    MOST_JUMPS,
    NO_JUMP,
    OTHER_SPOT,
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
from fairlead.masks.kernels.layout import (
    ACCEPTS,
    BEGUN,
    CURSOR,
    DOUBTS,
    LEX_FLAG,
    LOOP,
    LOOPS,
    NEED_LEX,
    PART,
    TRIE_BYTE,
    TRIE_DEPTH,
    TRIE_END,
    WALK,
)
from fairlead.masks.kernels.skips import (
    BETWEEN,
    all_else_loop,
    find_loops,
)
from fairlead.masks.kernels.views import (
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
_ASCII: Final = 0x80
_HALF: Final = (1 << 32) - 1
_MANY: Final = 8  # characters that lead back, before it is worth going from others to others


@inner
def spot_nodes(context: Context) -> None:
    """Write down where each character begins; after `survey_parts`."""
    bytes_, depths, parts = (
        uint8s(context, TRIE_BYTE),
        uint16s(context, TRIE_DEPTH),
        uint8s(context, PART),
    )
    states, leads, chars = int32s(context, WALK), int32s(context, BEGUN), uint16s(context, CHARS)
    states[0] = states[1] = 0
    for node in range(1, int32s(context, TRIE_END)[0]):
        depth, byte = int(depths[node]), int(bytes_[node])
        before = int(states[depth * 2 - 2]) & 15
        code = code_after(int(states[depth * 2 - 2]), byte)
        state, states[depth * 2] = code & 15, code
        states[depth * 2 + 1] = states[depth * 2 - 1] + (1 if byte & 0xC0 != 0x80 else 0)
        chars[node] = states[depth * 2 + 1]
        leads[depth] = node if before == 0 else leads[depth - 1]
        if before == 0 and byte < _ASCII:
            _spot(context, byte, node)
            _spot(context, GROUP + (byte >> 5), node)
        elif before == 0:
            _spot(context, OTHER_SPOT, node)
        if state == 0 and is_space(code >> 4):
            _spot(context, SPACED_SPOT, int(leads[depth]))
        if state == INVALID and before != INVALID:
            _spot(context, BROKEN_SPOT, int(leads[depth]))
        if state == 0:
            parts[node] |= BETWEEN
    _list_spots(context)


@once
def _list_spots(context: Context) -> None:
    """List the nodes at which each ASCII character begins."""
    spots, listed, words = int64s(context, SPOT), int32s(context, SPOT_LIST), context[JUMP_WORDS]
    place = _ASCII + 1
    for char in range(_ASCII):
        listed[char] = place
        for word in range(words):
            rest = int(spots[char * words + word])
            while rest != 0:
                listed[place] = word * 64 + lowest_bit(rest)
                place, rest = place + 1, rest & (rest - 1)
    listed[_ASCII] = place


@inner
def _spot(context: Context, row: int, node: int) -> None:
    place = row * context[JUMP_WORDS] + (node >> 6)
    int64s(context, SPOT)[place] |= 1 << (node & 63)


@inner
def jump_of(context: Context, node: int, state: int) -> int:
    """The row of JUMP by which a state goes on below a trie node; 0 if by none.

    So it is where it could be left without any byte more; or a code below 0.
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
    if uint8s(context, LEX_FLAG)[state] & (ACCEPTS | DOUBTS):
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
def enter_part(context: Context, node: int, state: int, jump: int) -> int:
    """Jump over what is below a trie node; gives where the walk goes on."""
    push_part(context, node, state, jump)
    return go_on(context, node + 1)


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
        int32s(context, WALK)[int(uint16s(context, TRIE_DEPTH)[node]) - 1] = regions[at + R_STATE]
        context[SPOTTED] = node
    regions[0] = top
    return node


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
def begin_walk(context: Context, below: int, state: int) -> int:
    """Where a walk below a trie node begins, or goes on by CURSOR; or a code below 0."""
    if context[CURSOR] != 0:
        return context[CURSOR]
    int32s(context, REGION)[0] = 0
    jump = jump_of(context, 0, state) if below == 0 else 0
    if jump == 0:
        return below + 1
    return enter_part(context, 0, state, jump) if jump > 0 else jump


@inner
def until(context: Context) -> int:
    """Where what is looked at ends, before which there is no jump."""
    regions = int32s(context, REGION)
    top = int(regions[0])
    return int(regions[top * R_WIDTH + R_UNTIL]) if top > 0 else 1 << 30
