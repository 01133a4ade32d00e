"""The fewest characters from all pairs at once that a search may come to (`kernels.bounds`).

A search ends at the first text that it finds, and says what the pairs on its way need. Where a
pattern may begin anywhere, as `a.{8}b` may, each of its 512 states has another way, and what one
search has looked at the next one looks at again. So what takes a search long is told of all pairs
together: these are listed once, and looked through from the end on until nothing changes (Bellman
1958, Ford 1956).
"""

from typing import Final

from fairlead.masks.kernels.intern import pair_of
from fairlead.masks.kernels.layout import (
    ENDLESS,
    L_EXACT,
    L_LINK,
    L_PARENT,
    L_SEEN,
    L_STEADY,
    LENGTH,
    LEX,
    NEED_LEX,
    OK,
    PAIR,
    SEARCH,
    SEARCH_BETWEEN,
)
from fairlead.masks.kernels.leavings import leaves, repeats
from fairlead.masks.kernels.returns import is_expanded
from fairlead.masks.kernels.views import Context, inner, int32s, int64s

TOO_MANY: Final = 1  # pairs; or too long a search
_MOST: Final = 1 << 17  # pairs: those take about a second


@inner
def know_all(context: Context, first: int, between: int, field: int) -> int:
    """Have a field of LENGTH known of a pair and all that follow; TOO_MANY, or a code below 0."""
    code = _list_all(context, first, between, field)
    if code != OK:
        return code
    # From here on nothing is needed, so nobody sees what is half known.
    last, changed = int(context[SEARCH_BETWEEN]), True
    while changed:
        changed = _have_fewer(context, last, between, field)
    changed = True
    while changed:
        changed = _have_steady(context, last, between, field)
    return OK


@inner
def _list_all(context: Context, first: int, between: int, field: int) -> int:
    """List the pairs that can be reached, at SEARCH_BETWEEN those found last, by L_LINK.

    Those that are known are left out, and what follows them.
    """
    lengths, count = int32s(context, LENGTH), 0
    context[SEARCH] += 1
    context[SEARCH_BETWEEN] = 0
    lengths[first * 8 + L_SEEN], lengths[first * 8 + L_PARENT] = context[SEARCH], 0
    pair, tail = first, first
    while pair != 0:
        byte = 256
        if lengths[pair * 8 + field] == 0:
            lengths[pair * 8 + L_LINK] = context[SEARCH_BETWEEN]
            context[SEARCH_BETWEEN], byte = pair, 0
        while byte < 256:
            after = _behind(context, pair, byte, between, field)
            if after < 0:
                return after
            if after > 0 and lengths[after * 8 + L_SEEN] != context[SEARCH]:
                lengths[after * 8 + L_SEEN], lengths[after * 8 + L_PARENT] = context[SEARCH], 0
                lengths[tail * 8 + L_PARENT] = after
                tail, count = after, count + 1
            byte += 1
        if count > _MOST:
            return TOO_MANY
        pair = int(lengths[pair * 8 + L_PARENT])
    return OK


@inner
def _have_fewer(context: Context, last: int, between: int, field: int) -> bool:
    """Look at all that is listed; whether anything is known better than before."""
    lengths, pair, changed = int32s(context, LENGTH), last, False
    while pair != 0:
        fewest, known = _fewest(context, pair, between, field), lengths[pair * 8 + field]
        if fewest > 0 and (known == 0 or fewest < known):
            lengths[pair * 8 + field], changed = fewest, True
        pair = int(lengths[pair * 8 + L_LINK])
    return changed


@inner
def _have_steady(context: Context, last: int, between: int, field: int) -> bool:
    """The same, of what has each greater number, too; what has none is endless."""
    lengths, pair, changed = int32s(context, LENGTH), last, False
    while pair != 0:
        at = pair * 8
        if lengths[at + field] == 0:
            lengths[at + field] = ENDLESS
        unsteady = lengths[at + L_STEADY + field] == 0 and lengths[at + field] < ENDLESS
        if unsteady and _is_steady(context, pair, between, field) > 0:
            lengths[at + L_STEADY + field], changed = 1, True
        pair = int(lengths[at + L_LINK])
    return changed


@inner
def _behind(context: Context, pair: int, byte: int, between: int, field: int) -> int:
    """The pair behind a byte, 0 if there is none or the byte before led there; or a code."""
    rows, pairs = int32s(context, LEX), int64s(context, PAIR)
    state, inside = int(pairs[pair] >> 32), int(pairs[pair] & 0xFFFFFFFF)
    if not is_expanded(context, state) or not is_expanded(context, inside):
        return NEED_LEX
    after, within = int(rows[state * 256 + byte]), int(rows[inside * 256 + byte])
    if after <= 0 or within <= 0:
        return 0
    if (
        byte > 0
        and after == rows[state * 256 + byte - 1]
        and within == rows[inside * 256 + byte - 1]
    ):
        return 0
    # Among characters of one byte there are no others, but for one that has begun.
    if field != L_EXACT and inside == between and within != between:
        return 0
    return pair_of(context, after, within)


@inner
def _fewest(context: Context, pair: int, between: int, field: int) -> int:
    """One more than the fewest characters from a pair, as far as is known; 0, or a code."""
    lengths = int32s(context, LENGTH)
    begins = int64s(context, PAIR)[pair] & 0xFFFFFFFF == between
    if begins:
        code = leaves(context, int(int64s(context, PAIR)[pair] >> 32), between)
        if code != 0:
            return code
    best = 0
    for byte in range(256):
        after = _behind(context, pair, byte, between, field)
        if after < 0:
            return after
        known = int(lengths[after * 8 + field]) if after > 0 else 0
        if 0 < known < ENDLESS:
            known += 1 if begins else 0
            best = known if best == 0 else min(best, known)
    return best


@inner
def _is_steady(context: Context, pair: int, between: int, field: int) -> int:
    """Whether each greater number is possible too, as far as is known; 1, 0, or a code below 0."""
    lengths = int32s(context, LENGTH)
    begins = int64s(context, PAIR)[pair] & 0xFFFFFFFF == between
    if begins and repeats(context, int(int64s(context, PAIR)[pair] >> 32), between):
        return 1
    left = int(lengths[pair * 8 + field]) - (1 if begins else 0)
    for byte in range(256):
        after = _behind(context, pair, byte, between, field)
        if after < 0:
            return after
        at = after * 8
        if after > 0 and lengths[at + field] == left and lengths[at + L_STEADY + field] != 0:
            return 1
    return 0
