"""What is left of bounded patterns: how many characters at least, and by which way.

Where characters are counted in states, as up to 64 letters of a mailbox are, each leads to the next
of them, and none back: what is below a trie node is read by way of as many as the part is high.
"""

from guideway.masks.kernels.bound_layout import BOUND_REST, L_ROW
from guideway.masks.kernels.bounded import INSIDE, WHOLE
from guideway.masks.kernels.bounds import know_length
from guideway.masks.kernels.intern import pair_of
from guideway.masks.kernels.layout import (
    BOUND_WALK,
    ENDLESS,
    HEIGHT,
    HOLD,
    L_EXACT,
    L_SINGLE,
    L_STEADY,
    LAST_FEWEST,
    LAST_STATE,
    LENGTH,
    NEED_LEX,
    OK,
    PART,
    STEADY,
    TRIE_DEPTH,
    WAY,
)
from guideway.masks.kernels.skips import HIGHEST, OTHER, leads_back, way_to
from guideway.masks.kernels.views import Context, inner, int32s, int64s, uint8s, uint16s


@inner
def fewest_from(context: Context, state: int, within: int, between: int, field: int) -> int:
    """The fewest characters of a text from a pair on, STEADY being cleared where there are gaps.

    By L_SINGLE as many as characters of one byte need, if those do. What is known of the pair is
    kept for the next place, which mostly has the same.
    """
    if context[LAST_STATE] == (state << 32) | within:
        return context[LAST_FEWEST]
    pair, lengths = pair_of(context, state, within), int32s(context, LENGTH)
    code = know_length(context, pair, between, L_SINGLE) if pair > 0 else pair
    if code == OK and lengths[pair * L_ROW + L_SINGLE] >= ENDLESS:
        field = L_EXACT
    if code == OK and field == L_EXACT:
        code = know_length(context, pair, between, L_EXACT)
    if code < 0:
        return code
    if lengths[pair * L_ROW + L_STEADY + field] == 0:
        context[STEADY] = 0
    context[LAST_STATE] = (state << 32) | within
    context[LAST_FEWEST] = lengths[pair * L_ROW + field] - 1
    return context[LAST_FEWEST]


@inner
def read_on_by_way(context: Context, place: int, between: int) -> int:
    """WHOLE if all below a trie node is read by way of others like the state there, else INSIDE.

    Or a code. BOUND_REST has the most characters that any of them needs. Up to 64 letters of a
    mailbox are counted in states: with `maxLength` all of the trie was looked at, 2.5 ms a letter
    where it takes .6 now.
    """
    pairs, at = int32s(context, BOUND_WALK), int(uint16s(context, TRIE_DEPTH)[place]) * 3
    left, state, most = int(uint8s(context, HEIGHT)[place]), int(pairs[at]), 0
    wide = uint8s(context, PART)[place] & OTHER != 0 or left >= HIGHEST
    code = 0 if wide or pairs[at + 1] != between else leads_back(context, place, between)
    holds, ways = int64s(context, HOLD), int64s(context, WAY)
    one, other = holds[place * 2], holds[place * 2 + 1]
    while code > 0 and left > 0:
        after, rest = way_to(context, state), ENDLESS
        if (one & ~ways[state * 2]) | (other & ~ways[state * 2 + 1]) == 0 and after > 0:
            rest = fewest_from(context, after, between, between, L_SINGLE)
        if after == NEED_LEX or rest < 0:
            return NEED_LEX if after == NEED_LEX else rest
        most, state, left = max(most, rest), after, left - 1
        code = 1 if rest < ENDLESS - 2 else 0
    context[BOUND_REST] = most if code > 0 else 0
    return WHOLE if code > 0 else INSIDE if code == 0 else code
