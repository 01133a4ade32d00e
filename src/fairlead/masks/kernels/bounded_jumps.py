"""Jumps over what a bounded pattern reads without leaving itself, as `jumps` has them.

A place in the trie has a pair of states there, that of the pattern and that of its characters, and
so many characters before it. Where both go round, so does the pair, and each character counts one.
"""

from fairlead.masks.kernels.jump_layout import (
    CHARS,
    JUMP_AT,
    NEED_JUMP,
    R_COUNT,
    R_STATE,
    R_WIDTH,
    REGION,
    SPOTTED,
)
from fairlead.masks.kernels.jumps import LARGE, go_on, push_part
from fairlead.masks.kernels.layout import (
    BOUND_WALK,
    LOOP,
    LOOPS,
    PART,
    TRIE_DEPTH,
    TRIE_END,
    WANT,
)
from fairlead.masks.kernels.skips import BETWEEN, all_else_loop, find_loops
from fairlead.masks.kernels.tries import set_tokens
from fairlead.masks.kernels.views import (
    Context,
    Words,
    inner,
    int32s,
    uint8s,
    uint16s,
    uint64s,
)


@inner
def pair_jump(context: Context, place: int, between: int) -> int:
    """The row of JUMP by which the pair at a trie node goes on; 0 if by none, or a code."""
    ends, at = int32s(context, TRIE_END), int(uint16s(context, TRIE_DEPTH)[place]) * 3
    if place >= ends[0] or ends[place] - place < LARGE:
        return 0
    pairs, loops = int32s(context, BOUND_WALK), uint64s(context, LOOP)
    state = int(pairs[at])
    found, known = int(int32s(context, JUMP_AT)[state]), uint8s(context, LOOPS)
    if found < 0 or pairs[at + 1] != between or uint8s(context, PART)[place] & BETWEEN == 0:
        return 0
    if found == 0:
        context[WANT] = state
        return NEED_JUMP
    if known[between] == 0:
        code = find_loops(context, between)
        if code < 0:
            return code
    one, other = loops[state * 2] & ~loops[between * 2], loops[state * 2 + 1]
    more = other & ~loops[between * 2 + 1]
    if one | more != 0 or all_else_loop(int(known[state])) > all_else_loop(int(known[between])):
        return 0
    return found


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
    set_tokens(context, row, place, after)
    if context[SPOTTED] != 0:
        regions, pairs = int32s(context, REGION), int32s(context, BOUND_WALK)
        region, at = int(regions[0]) * R_WIDTH, int(uint16s(context, TRIE_DEPTH)[after]) * 3
        pairs[at - 3], pairs[at - 2] = regions[region + R_STATE], between
        pairs[at - 1] = regions[region + R_COUNT] + uint16s(context, CHARS)[after] - 1
    return after
