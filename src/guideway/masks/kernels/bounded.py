"""Masks of bounded patterns: those of the pattern, as far as the bound leaves room.

The picture of a pattern between two characters has each token with the fewest characters that a
text then has: those of the token, and the shortest rest (`bounded_pictures`). Far from the bound
all tokens are within it; nearer, the list of those that need more is read up to the bound. Where
that list would be too long, or lengths have gaps, the trie is walked, and each byte looked at.
"""

import numpy as np

from guideway.masks.kernels.bound_layout import B_FAR, BOUND_FAR, BOUND_ROOM, L_ROW
from guideway.masks.kernels.bounded_jumps import (
    begin_reading,
    end_reading,
    go_on_reading,
    pair_jump,
    read_below,
    read_or_not,
)
from guideway.masks.kernels.bounds import alive, know_length
from guideway.masks.kernels.intern import pair_of
from guideway.masks.kernels.jump_layout import REGION
from guideway.masks.kernels.jumps import until
from guideway.masks.kernels.layout import (
    B_BASE,
    B_BETWEEN,
    B_ENDS,
    B_LEAST,
    B_LONGER,
    B_STEADY,
    BOUND,
    BOUND_AT,
    BOUND_BASE,
    BOUND_ENOUGH,
    BOUND_LISTED,
    BOUND_NODE,
    BOUND_PLACE,
    BOUND_WALK,
    ENDLESS,
    HEIGHT,
    L_SINGLE,
    L_STEADY,
    L_VISITS,
    LAST_FEWEST,
    LAST_STATE,
    LAST_STEADY,
    LENGTH,
    LEX,
    MACRO,
    NEED_BOUND,
    NEED_LEX,
    NODE,
    OK,
    ROW_WORDS,
    TRIE_BYTE,
    TRIE_DEPTH,
    TRIE_END,
    WANT,
)
from guideway.masks.kernels.skips import leads_back
from guideway.masks.kernels.tries import set_tokens
from guideway.masks.kernels.views import (
    Context,
    Words,
    inner,
    int32s,
    once,
    uint8s,
    uint16s,
    uint32s,
)
from guideway.masks.kernels.walks import note_unsure, walk

_DEEP = 255  # a height that is no less

# What a byte does: the pattern has none such, it closes, it goes on; all below it leads back, or
# there is a jump to what does not.
LEFT, ENDED, INSIDE, WHOLE, JUMPED = 0, 1, 2, 3, 4


@once
def draw_bounded(context: Context, row: Words, node: int) -> int:
    """Add the tokens of the picture of a BOUNDED node, but for those with more behind its end.

    Gives the picture, 0 if there is none that can tell, or a code below 0.
    """
    nodes = int32s(context, NODE)
    number = int(int32s(context, BOUND_AT)[nodes[node * 6 + 1]])
    if nodes[node * 6 + 5] != 0:
        return 0
    if number > 0 and _serves(context, number, node):
        _draw(context, row, number, node)
        return number
    if number == 0 and _is_far(context, node):
        context[WANT], context[BOUND_FAR] = node, 1
        return NEED_BOUND
    pair, enough = _pair(context, node), context[BOUND_ENOUGH]
    near = number == 0 or (number > 0 and int32s(context, BOUND)[number * 12 + B_FAR] != 0)
    if pair > 0 and near and int32s(context, LENGTH)[pair * L_ROW + L_VISITS] >= enough:
        context[WANT], context[BOUND_FAR] = node, 0
        return NEED_BOUND
    return min(pair, 0)


@inner
def _is_far(context: Context, node: int) -> bool:
    """Whether a BOUNDED node has room for most tokens."""
    high = int32s(context, NODE)[node * 6 + 3]
    return high < 0 or high >= context[BOUND_ROOM]


@inner
def _pair(context: Context, node: int) -> int:
    """The pair of a BOUNDED node between two characters."""
    nodes = int32s(context, NODE)
    return pair_of(context, int(nodes[node * 6 + 1]), int(nodes[node * 6 + 4]))


@inner
def _serves(context: Context, number: int, node: int) -> bool:
    """Whether a picture can tell the tokens of a node."""
    picture, nodes = int32s(context, BOUND), int32s(context, NODE)
    at, low, high = number * 12, nodes[node * 6 + 2], nodes[node * 6 + 3]
    return (
        picture[at + B_BETWEEN] == nodes[node * 6 + 4]
        and (low == 0 or picture[at + B_STEADY] != 0)
        and (high < 0 or high >= picture[at + B_LEAST])
        and (picture[at + B_FAR] == 0 or low < picture[at + B_FAR])
    )


@once
def _draw(context: Context, row: Words, number: int, node: int) -> None:
    """The tokens of a picture within the bounds of a node."""
    picture, listed, nodes = (
        int32s(context, BOUND),
        int32s(context, BOUND_LISTED),
        int32s(context, NODE),
    )
    at, words, base = number * 12, context[ROW_WORDS], uint32s(context, BOUND_BASE)
    low, high = int(nodes[node * 6 + 2]), int(nodes[node * 6 + 3])
    place = picture[at + B_BASE] * words
    for word in range(words):
        row[word] |= base[place + word]
    for index in range(picture[at + B_LONGER], picture[at + B_LONGER + 1]):
        if high >= 0 and listed[index * 2] > high:
            break
        _set(row, listed[index * 2 + 1])
    for index in range(picture[at + B_ENDS], picture[at + B_ENDS + 1]):
        count = listed[index * 2]
        if low <= count and (high < 0 or count <= high):
            _set(row, listed[index * 2 + 1])


@inner
def _set(row: Words, token: int) -> None:
    row[token >> 5] |= np.uint32(1) << np.uint32(token & 31)


@inner
def _read_on(context: Context, row: Words, first: int, last: int, macro: int) -> int:
    """The tokens at trie nodes behind the closing byte that what follows can read."""
    if macro == 0 or first == last:
        return OK
    if int32s(context, MACRO)[macro * 4 + 3] != 0:
        note_unsure(context, first, last)
        return OK
    return walk(context, row, first, last, macro)


@inner
def read_pair(context: Context, place: int, between: int) -> int:
    """What the byte of a trie node does to the pair above it: one of LEFT, ENDED and INSIDE.

    Writes the pair and the characters so far at the node's depth; or a code below 0.
    """
    rows, pairs = int32s(context, LEX), int32s(context, BOUND_WALK)
    at, byte = int(uint16s(context, TRIE_DEPTH)[place]) * 3, int(uint8s(context, TRIE_BYTE)[place])
    state, inside, count = int(pairs[at - 3]), int(pairs[at - 2]), int(pairs[at - 1])
    after, within = int(rows[state * 256 + byte]), int(rows[inside * 256 + byte])
    if after == 0 or within == 0:
        context[WANT] = state if after == 0 else inside
        return NEED_LEX
    if after < 0:
        return LEFT
    pairs[at], pairs[at + 1], pairs[at + 2] = after, within, count
    if within < 0:
        return ENDED
    pairs[at + 2] = count + (1 if inside == between else 0)
    return INSIDE


@once
def bounded_walk(context: Context, row: Words, below: int, node: int, macro: int) -> int:
    """The tokens of a BOUNDED node below a trie node, looking at every byte that matters.

    Those with more behind the end of the node go on with `macro`. What was interrupted to be served
    goes on where it was.
    """
    nodes, pairs, ends = (
        int32s(context, NODE),
        int32s(context, BOUND_WALK),
        int32s(context, TRIE_END),
    )
    depths = uint16s(context, TRIE_DEPTH)
    low, between = int(nodes[node * 6 + 2]), int(nodes[node * 6 + 4])
    inside = int(nodes[node * 6 + 5])
    at = int(depths[below]) * 3
    pairs[at], pairs[at + 1] = nodes[node * 6 + 1], between if inside == 0 else inside
    pairs[at + 2] = 0
    context[LAST_STATE] = 0
    place, last = below + 1, int(ends[below])
    if context[BOUND_PLACE] != 0 and context[BOUND_NODE] == (node << 32) | below:
        place = int(context[BOUND_PLACE])
    else:
        int32s(context, REGION)[0] = 0
        begin_reading(context, below)
    context[BOUND_PLACE] = 0
    while place < last:
        if place >= until(context):
            place = go_on_reading(context, row, place, between)
            continue
        code = read_pair(context, place, between)
        if code == INSIDE:
            code = _has_room(context, int(depths[place]) * 3, node)
            if code == INSIDE:
                code = _has_room_below(context, place, node)
        elif code == ENDED and pairs[int(depths[place]) * 3 + 2] >= low:
            set_tokens(context, row, place, place + 1)
            code = _read_on(context, row, place + 1, int(ends[place]), macro)
        if code < 0:
            context[BOUND_PLACE], context[BOUND_NODE] = place, (node << 32) | below
            return code
        end = place + 1 if code in (INSIDE, JUMPED) else int(ends[place])
        read_or_not(context, row, place, end, code >= INSIDE)
        place = end
    end_reading(context, row, below)
    pair = _pair(context, node)
    if pair > 0 and below == 0:
        int32s(context, LENGTH)[pair * L_ROW + L_VISITS] += 1
    return min(pair, OK)


@inner
def _has_room(context: Context, at: int, node: int) -> int:
    """INSIDE if the bounds of a node leave room for a text from the pair at a depth, else LEFT.

    What is known of the pair is kept for the next place, which mostly has the same.
    """
    pairs, nodes, lengths = (
        int32s(context, BOUND_WALK),
        int32s(context, NODE),
        int32s(context, LENGTH),
    )
    state, within, count = int(pairs[at]), int(pairs[at + 1]), int(pairs[at + 2])
    low, high = max(int(nodes[node * 6 + 2]) - count, 0), int(nodes[node * 6 + 3])
    between = int(nodes[node * 6 + 4])
    if high >= 0:
        high -= count
        if high < 0:
            return LEFT
    if context[LAST_STATE] != (state << 32) | within:
        pair = pair_of(context, state, within)
        code = know_length(context, pair, between, L_SINGLE) if pair > 0 else pair
        if code < 0:
            return code
        context[LAST_STATE] = (state << 32) | within
        context[LAST_FEWEST] = lengths[pair * L_ROW + L_SINGLE] - 1
        context[LAST_STEADY] = lengths[pair * L_ROW + L_STEADY + L_SINGLE]
    fewest = context[LAST_FEWEST]
    if fewest <= (high if high >= 0 else ENDLESS - 2) and (
        low <= fewest or context[LAST_STEADY] != 0
    ):
        return INSIDE
    living = alive(context, state, within, between, low, high)
    return INSIDE if living > 0 else min(living, LEFT)


@inner
def _has_room_below(context: Context, place: int, node: int) -> int:
    """WHOLE if all below a trie node leads back to the pair there, which has room for it.

    JUMPED if much of it does; else INSIDE, or a code below 0. LAST_FEWEST is what `_has_room` found
    of the pair.
    """
    nodes, pairs = int32s(context, NODE), int32s(context, BOUND_WALK)
    count = int(pairs[int(uint16s(context, TRIE_DEPTH)[place]) * 3 + 2])
    low, high = int(nodes[node * 6 + 2]) - count, int(nodes[node * 6 + 3])
    fewest, height = context[LAST_FEWEST], int(uint8s(context, HEIGHT)[place])
    if fewest > ENDLESS - 2 or (low > fewest and context[LAST_STEADY] == 0):
        return INSIDE
    if high >= 0 and (height == _DEEP or count + fewest + height > high):
        return INSIDE
    between = int(nodes[node * 6 + 4])
    jump = pair_jump(context, place, between)
    if jump > 0:
        read_below(context, place, jump)
        return JUMPED
    return pair_leads_back(context, place, between) if jump == 0 else jump


@inner
def pair_leads_back(context: Context, place: int, between: int) -> int:
    """WHOLE if all below a trie node leads back to the pair there, else INSIDE; or a code below 0.

    Each character counts one, wherever it ends, and what comes after it is as long as before.
    """
    pairs, at = int32s(context, BOUND_WALK), int(uint16s(context, TRIE_DEPTH)[place]) * 3
    if pairs[at + 1] != between or place >= int32s(context, TRIE_END)[0]:
        return INSIDE
    code = leads_back(context, place, int(pairs[at]))
    if code > 0:
        code = leads_back(context, place, between)
    return INSIDE + code if code >= 0 else code
