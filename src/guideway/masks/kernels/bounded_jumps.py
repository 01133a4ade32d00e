"""Jumps over what a bounded pattern reads without leaving itself, as `jumps` has them.

A place in the trie has a pair of states there, that of the pattern and that of its characters, and
so many characters before it. Where both go round, so does the pair, and each character counts one.
"""

from guideway.masks.kernels.jump_layout import (
    BOUND_FULL,
    BOUND_LEFT_OUT,
    BOUND_ROW,
    BOUND_UNREAD,
    CHARS,
    JUMP_AT,
    LEXICON,
    NEED_JUMP,
    R_COUNT,
    R_STATE,
    R_WIDTH,
    REGION,
    SPOTTED,
)
from guideway.masks.kernels.jumps import LARGE, go_on, jump_of, push_part
from guideway.masks.kernels.layout import (
    ACCEPTS,
    BOUND_BASE,
    BOUND_WALK,
    LEX_FLAG,
    LOOP,
    LOOPS,
    PART,
    ROW_WORDS,
    TRIE_AT,
    TRIE_DEPTH,
    TRIE_END,
    WANT,
)
from guideway.masks.kernels.returns import all_else_loop, find_loops
from guideway.masks.kernels.skips import BETWEEN
from guideway.masks.kernels.tries import clear_tokens, set_tokens
from guideway.masks.kernels.views import (
    Context,
    Words,
    inner,
    int32s,
    uint8s,
    uint16s,
    uint32s,
    uint64s,
)


@inner
def pair_jump(context: Context, place: int, between: int) -> int:
    """The row of JUMP by which the pair at a trie node goes on; 0 if by none, or a code."""
    ends, at = int32s(context, TRIE_END), int(uint16s(context, TRIE_DEPTH)[place]) * 3
    if place >= ends[0] or ends[place] - place < LARGE:
        return 0
    pairs = int32s(context, BOUND_WALK)
    state = int(pairs[at])
    found = int(int32s(context, JUMP_AT)[state])
    whole = place == 0 or uint8s(context, PART)[place] & BETWEEN != 0
    if found < 0 or pairs[at + 1] != between or not whole:
        return 0
    if uint8s(context, LEX_FLAG)[state] & ACCEPTS:
        return 0
    if found == 0 and context[LEXICON] == 0:
        context[WANT] = state
        return NEED_JUMP
    found = jump_of(context, place, state)
    code = _both_loop(context, state, between) if found > 0 else found
    return found if code > 0 else code


@inner
def _both_loop(context: Context, state: int, between: int) -> int:
    """Whether what leads from a state back to it does so between two characters, too; or a code."""
    loops, known = uint64s(context, LOOP), uint8s(context, LOOPS)
    if known[between] == 0:
        code = find_loops(context, between)
        if code < 0:
            return code
    one, other = loops[state * 2] & ~loops[between * 2], loops[state * 2 + 1]
    more = other & ~loops[between * 2 + 1]
    if one | more != 0 or all_else_loop(int(known[state])) > all_else_loop(int(known[between])):
        return 0
    return 1


@inner
def read_below(context: Context, place: int, jump: int) -> None:
    """What is below a trie node is read from now on, but for what the jump goes to."""
    pairs, regions = int32s(context, BOUND_WALK), int32s(context, REGION)
    at = int(uint16s(context, TRIE_DEPTH)[place]) * 3
    push_part(context, place, int(pairs[at]), jump)
    before = int(pairs[at + 2]) - int(uint16s(context, CHARS)[place])
    regions[int(regions[0]) * R_WIDTH + R_COUNT] = before


@inner
def go_on_reading(context: Context, row: Words, place: int, between: int) -> int:
    """Go on behind what needs not be looked at, all of which is read; gives where."""
    after = go_on(context, place)
    if context[BOUND_LEFT_OUT] == 0:
        set_tokens(context, row, place, after)
    if context[SPOTTED] != 0:
        regions, pairs = int32s(context, REGION), int32s(context, BOUND_WALK)
        region, at = int(regions[0]) * R_WIDTH, int(uint16s(context, TRIE_DEPTH)[after]) * 3
        pairs[at - 3], pairs[at - 2] = regions[region + R_STATE], between
        pairs[at - 1] = regions[region + R_COUNT] + uint16s(context, CHARS)[after] - 1
    return after


@inner
def begin_reading(context: Context, below: int) -> None:
    """Begin to note what is read, or what is not, where that was less the last time."""
    context[BOUND_LEFT_OUT], context[BOUND_UNREAD] = 0, 0
    if below == 0 and context[BOUND_FULL] != 0:
        context[BOUND_LEFT_OUT] = 1
        all_, row = uint32s(context, BOUND_BASE), uint32s(context, BOUND_ROW)
        for word in range(context[ROW_WORDS]):
            row[word] = all_[word]


@inner
def read_or_not(context: Context, row: Words, place: int, end: int, read: bool) -> None:
    """Note whether the tokens at the trie nodes [place, end) are read."""
    if not read:
        at = int32s(context, TRIE_AT)
        context[BOUND_UNREAD] += at[end] - at[place]
        if context[BOUND_LEFT_OUT] != 0:
            clear_tokens(context, uint32s(context, BOUND_ROW), place, end)
    elif context[BOUND_LEFT_OUT] == 0:
        set_tokens(context, row, place, end)


@inner
def end_reading(context: Context, row: Words, below: int) -> None:
    """Write what was read, all but what was not."""
    if context[BOUND_LEFT_OUT] != 0:
        read = uint32s(context, BOUND_ROW)
        for word in range(context[ROW_WORDS]):
            row[word] |= read[word]
    if below == 0:
        every = int(int32s(context, TRIE_AT)[int32s(context, TRIE_END)[0]])
        context[BOUND_FULL] = 1 if 2 * context[BOUND_UNREAD] < every else 0
