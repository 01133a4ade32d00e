"""Pictures of bounded patterns: how many characters a text has at least with each token.

Far from the bound most of it does not matter: all but long tokens, and as much as the shortest rest
may be behind any of them, are within it. So what is read is one row, by jumps over what leads back,
and only long tokens are looked at one by one. For nearer bounds each token is.
"""

import numpy as np

from guideway.masks.kernels.bound_layout import (
    BOUND_CHARS,
    BOUND_ENDED,
    BOUND_FAR,
    BOUND_LONG,
    BOUND_LONGS,
    BOUND_MOST,
    BOUND_REST,
    FEWEST_AT,
    LISTED_AT,
)
from guideway.masks.kernels.bounded import (
    ENDED,
    INSIDE,
    JUMPED,
    LEFT,
    pair_leads_back,
    read_pair,
)
from guideway.masks.kernels.bounded_jumps import (
    begin_reading,
    end_reading,
    go_on_reading,
    pair_jump,
    read_below,
    read_or_not,
)
from guideway.masks.kernels.bounded_ways import fewest_from, read_on_by_way
from guideway.masks.kernels.jump_layout import CHARS, REGION
from guideway.masks.kernels.jumps import until
from guideway.masks.kernels.layout import (
    BOUND_PLACE,
    BOUND_WALK,
    ENDLESS,
    L_EXACT,
    L_SINGLE,
    LAST_STATE,
    LEX,
    LOOP,
    LOOPS,
    MEASURED,
    NEED_LEX,
    OK,
    ROW_WORDS,
    TOKEN,
    TOKEN_AT,
    TRIE_AT,
    TRIE_BYTE,
    TRIE_DEPTH,
    TRIE_END,
    TRIE_TOKEN,
    WANT,
)
from guideway.masks.kernels.lexemes import expand_wanted
from guideway.masks.kernels.views import (
    Context,
    WholeWords,
    Words,
    inner,
    int32s,
    int64s,
    once,
    uint8s,
    uint16s,
)


@once
def measure(context: Context, state: int, between: int, row: Words, exits: WholeWords) -> int:
    """Look at all tokens, for the picture that was asked for; gives how many exits there are.

    States on the way are expanded if the lexicon's lock is held; or a code below 0.
    """
    code = NEED_LEX
    while code == NEED_LEX:
        if context[BOUND_FAR] != 0:
            code = _measure_far(context, state, between, row, exits)
        else:
            code = _measure_all(context, state, between, row, exits)
        if code == NEED_LEX and not expand_wanted(context):
            break
    return code


@inner
def _measure_far(context: Context, state: int, between: int, row: Words, exits: WholeWords) -> int:
    """Write the row of all tokens that stay within the pattern, but for long ones.

    Behind it are how many of these stay, one more than the fewest characters before an exit (0 if
    there is none), and pairs: the fewest characters of a text with such a token, ascending, and the
    token. Exits are trie nodes; from their end on are pairs: characters, and a token that the
    closing byte ends. BOUND_MOST has the most characters that a text needs with any other token.
    """
    pairs, depths, ends = (
        int32s(context, BOUND_WALK),
        uint16s(context, TRIE_DEPTH),
        int32s(context, TRIE_END),
    )
    found, place = context[MEASURED] >> 32, context[MEASURED] & 0xFFFFFFFF
    pairs[0], pairs[1], pairs[2] = state, between, 0
    context[BOUND_PLACE] = context[LAST_STATE] = 0
    if place == 0:
        code, place = _begin(context, between), 1
        if code < 0:
            return code
    while place < ends[0]:
        if place >= until(context):
            place = go_on_reading(context, row, place, between)
            continue
        context[MEASURED] = (found << 32) | place
        code = read_pair(context, place, between)
        if code == INSIDE:
            code = _read_on_from(context, place, between)
        if code < 0:
            return code
        if code == ENDED:
            count = int(pairs[int(depths[place]) * 3 + 2])
            _list_ended(context, exits, place, count)
            found = _list_nodes(context, row, exits, place, count, found)
        end = place + 1 if code in (INSIDE, JUMPED) else int(ends[place])
        read_or_not(context, row, place, end, code >= INSIDE)
        place = end
    if place == ends[0]:
        context[MEASURED] = (found << 32) | (place + 1)
        end_reading(context, row, 0)
    code = _look_at_long(context, row, state, between)
    return found if code == OK else code


@inner
def _begin(context: Context, between: int) -> int:
    """Begin to look at all tokens, those that lead back to the pair at the root being read."""
    int32s(context, REGION)[0] = 0
    context[BOUND_MOST] = context[BOUND_ENDED] = 0
    pairs = int32s(context, BOUND_WALK)
    rest = fewest_from(context, int(pairs[0]), int(pairs[1]), between, L_SINGLE)
    jump = pair_jump(context, 0, between) if 0 <= rest < ENDLESS - 2 else min(rest, 0)
    if jump < 0:
        return jump
    begin_reading(context, 0)
    if jump > 0:
        context[BOUND_MOST] = rest + context[BOUND_CHARS]
        read_below(context, 0, jump)
    return OK


@inner
def _read_on_from(context: Context, place: int, between: int) -> int:
    """What is below a trie node at which a pair is: INSIDE, WHOLE, JUMPED, LEFT, or a code."""
    pairs, at = int32s(context, BOUND_WALK), int(uint16s(context, TRIE_DEPTH)[place]) * 3
    rest = fewest_from(context, int(pairs[at]), int(pairs[at + 1]), between, L_SINGLE)
    if rest < 0:
        return rest
    if rest >= ENDLESS - 2:
        return LEFT
    code = pair_jump(context, place, between)
    if code > 0:
        read_below(context, place, code)
        code = JUMPED
    elif code == 0:
        code = pair_leads_back(context, place, between)
        if code == INSIDE:
            code = read_on_by_way(context, place, between)
            rest = max(rest, int(context[BOUND_REST]))
    chars = int(uint16s(context, CHARS)[place])
    if code >= INSIDE and chars <= context[BOUND_CHARS]:
        below = 0 if code == INSIDE else context[BOUND_CHARS] - chars
        context[BOUND_MOST] = max(context[BOUND_MOST], int(pairs[at + 2]) + rest + below)
    return code


@inner
def _list_ended(context: Context, exits: WholeWords, place: int, count: int) -> None:
    """List the tokens of a trie node, with the characters before its byte, as far as has room."""
    at, tokens = int32s(context, TRIE_AT), int32s(context, TRIE_TOKEN)
    for index in range(at[place], at[place + 1]):
        to = exits.shape[0] - 2 * context[BOUND_ENDED] - 2
        context[BOUND_ENDED] += 1
        if to >= 0:
            exits[to], exits[to + 1] = np.uint32(count), np.uint32(tokens[index])


@inner
def _look_at_long(context: Context, row: Words, state: int, between: int) -> int:
    """Take long tokens out of the row, and list behind it those that stay by what they need."""
    longs, words = int64s(context, BOUND_LONG), context[ROW_WORDS]
    context[LAST_STATE] = 0
    for index in range(context[BOUND_LONGS]):
        token = int(longs[index * 4])
        word, bit = token >> 5, np.uint32(1) << np.uint32(token & 31)
        if row[word] & bit == 0:
            continue
        needs = _needs(context, state, between, index)
        if needs < 0:
            return needs
        row[word] &= ~bit
        if needs < ENDLESS:
            _insert(row, words, needs, token)
    return OK


@inner
def _insert(row: Words, words: int, needs: int, token: int) -> None:
    """List a token behind those that need no more; mostly these are all that there are."""
    to = words + LISTED_AT + 2 * int(row[words])
    while to > words + LISTED_AT and row[to - 2] > needs:
        row[to], row[to + 1] = row[to - 2], row[to - 1]
        to -= 2
    row[to], row[to + 1] = np.uint32(needs), np.uint32(token)
    row[words] += np.uint32(1)


@inner
def _needs(context: Context, state: int, between: int, index: int) -> int:
    """The fewest characters of a text with a long token that stays within the pattern.

    Most are of the same characters, or of letters: behind the first, all lead back to one state.
    """
    rows, bytes_, at = int32s(context, LEX), uint8s(context, TOKEN), int64s(context, TOKEN_AT)
    token = int64s(context, BOUND_LONG)[index * 4]
    inside, count = between, 0
    for place in range(at[token], at[token + 1]):
        byte = int(bytes_[place])
        after, within = int(rows[state * 256 + byte]), int(rows[inside * 256 + byte])
        if after == 0 or within == 0:
            context[WANT] = state if after == 0 else inside
            return NEED_LEX
        count += 1 if inside == between else 0
        state, inside = after, within
        if count == 1 and inside == between and _rest_leads_back(context, state, between, index):
            count += int(at[token + 1]) - place - 1
            break
    rest = fewest_from(context, state, inside, between, L_EXACT)
    return rest + count if rest >= 0 else rest


@inner
def _rest_leads_back(context: Context, state: int, between: int, index: int) -> bool:
    """Whether all bytes of a long token but the first are known to lead back, each a character."""
    longs, loops, known = int64s(context, BOUND_LONG), int64s(context, LOOP), uint8s(context, LOOPS)
    if longs[index * 4 + 3] != 0 or known[state] == 0 or known[between] == 0:
        return False
    outside = longs[index * 4 + 1] & ~(loops[state * 2] & loops[between * 2])
    outside |= longs[index * 4 + 2] & ~(loops[state * 2 + 1] & loops[between * 2 + 1])
    return outside == 0


@once
def _measure_all(context: Context, state: int, between: int, row: Words, exits: WholeWords) -> int:
    """Write how many characters a text has at least with each token.

    That number plus one for a token that stays within the pattern, the same and bit 31 set for one
    that the closing byte ends, else 0. Exits are pairs of trie nodes, at the first byte behind the
    closing one, and characters; gives how many there are, those without room not being written.
    """
    at, tokens, ends = (
        int32s(context, TRIE_AT),
        int32s(context, TRIE_TOKEN),
        int32s(context, TRIE_END),
    )
    pairs, depths = int32s(context, BOUND_WALK), uint16s(context, TRIE_DEPTH)
    found, place = context[MEASURED] >> 32, max(context[MEASURED] & 0xFFFFFFFF, 1)
    pairs[0], pairs[1], pairs[2] = state, between, 0
    context[BOUND_PLACE] = context[LAST_STATE] = 0
    while place < ends[0]:
        context[MEASURED] = (found << 32) | place
        code, depth, rest = read_pair(context, place, between), int(depths[place]) * 3, 0
        if code == INSIDE:
            rest = fewest_from(context, int(pairs[depth]), int(pairs[depth + 1]), between, L_EXACT)
            code = pair_leads_back(context, place, between) if rest >= 0 else rest
        if code < 0:
            return code
        end = place + 1 if code == INSIDE else int(ends[place])
        if code >= INSIDE:
            _mark(context, row, place, end, rest + 1)
        elif code == ENDED:
            count = int(pairs[depth + 2])
            for index in range(at[place], at[place + 1]):
                row[tokens[index]] = np.uint32(count + 1) | np.uint32(1 << 31)
            found = _list_exits(context, exits, place, count, found)
        place = end
    return found


@inner
def _mark(context: Context, row: Words, first: int, last: int, rest: int) -> None:
    """Write the characters of the tokens at the trie nodes [first, last), which go on, and more."""
    at, tokens, pairs = (
        int32s(context, TRIE_AT),
        int32s(context, TRIE_TOKEN),
        int32s(context, BOUND_WALK),
    )
    depths, bytes_ = uint16s(context, TRIE_DEPTH), uint8s(context, TRIE_BYTE)
    for node in range(first, last):
        depth = int(depths[node]) * 3
        if node > first:
            pairs[depth + 2] = pairs[depth - 1] + (1 if bytes_[node] & 0xC0 != 0x80 else 0)
        for index in range(at[node], at[node + 1]):
            row[tokens[index]] = np.uint32(pairs[depth + 2] + rest)


@inner
def _list_exits(context: Context, exits: WholeWords, place: int, count: int, found: int) -> int:
    """Write the children of a trie node, as far as there is room; how many there are now."""
    ends = int32s(context, TRIE_END)
    child = place + 1
    while child < ends[place]:
        if found * 2 + 1 < exits.shape[0]:
            exits[found * 2], exits[found * 2 + 1] = np.uint32(child), np.uint32(count)
        found += 1
        child = int(ends[child])
    return found


@inner
def _list_nodes(
    context: Context, row: Words, exits: WholeWords, place: int, count: int, found: int
) -> int:
    """The same without characters; the fewest are kept behind the row, and BOUND_MOST grows."""
    ends, fewest = int32s(context, TRIE_END), context[ROW_WORDS] + FEWEST_AT
    child = place + 1
    if child < ends[place]:
        context[BOUND_MOST] = max(context[BOUND_MOST], count)
        if row[fewest] == 0 or row[fewest] > count + 1:
            row[fewest] = np.uint32(count + 1)
    while child < ends[place]:
        if found < exits.shape[0]:
            exits[found] = np.uint32(child)
        found += 1
        child = int(ends[child])
    return found
