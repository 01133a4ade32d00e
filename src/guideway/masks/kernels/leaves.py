"""Exits of pictures: what follows a lexical state, at the tokens where it may end."""

import numpy as np

from guideway.masks.kernels.closure import close, leads_of_found
from guideway.masks.kernels.layout import (
    BACKSLASH,
    DOUBTFUL,
    EXIT,
    FOUND,
    LEADS,
    LEX_FIRST,
    LITERAL,
    NEED_EXITS,
    NIL,
    NODE,
    OK,
    P_EXITS,
    P_WIDE,
    PICTURE,
    WANT,
    WIDE,
    WIDE_EXITS,
)
from guideway.masks.kernels.reach import spread_found
from guideway.masks.kernels.views import Context, inner, int32s, int64s, once, uint64s
from guideway.masks.kernels.worklist import begin


@inner
def leave_found(context: Context, picture: int) -> int:
    """Continue at the exits of a picture with the closure's configurations."""
    if context[FOUND] == 0 and context[DOUBTFUL] == 0:
        return OK
    exits = int(int32s(context, PICTURE)[picture * 6 + P_EXITS])
    if exits == WIDE_EXITS:
        exits = _wide_exits(context, picture)
    if exits < 0:
        context[WANT] = picture
        return NEED_EXITS
    return spread_found(context, exits) if exits > 0 else OK


@once
def _wide_exits(context: Context, picture: int) -> int:
    """The trie of exits that begin as the closure's configurations do; 0 if none, -1 unknown."""
    leads_of_found(context)
    wide, leads = int64s(context, WIDE), int64s(context, LEADS)
    place = int(int32s(context, PICTURE)[picture * 6 + P_WIDE])
    while place != 0:
        same = True
        for word in range(4):
            same = same and wide[place * 6 + word] == leads[word]
        if same:
            return int(wide[place * 6 + 4])
        place = int(wide[place * 6 + 5])
    return -1


@inner
def leave_counted(context: Context, first: int, last: int, low: int, high: int) -> int:
    """Continue at exits after `low` to `high` items (-1: unbounded)."""
    exits = int32s(context, EXIT)
    for place in range(first, last):
        items = exits[place * 2]
        if items >= low and (high < 0 or items <= high):
            code = spread_found(context, int(exits[place * 2 + 1]))
            if code < 0:
                return code
    return OK


@inner
def leaves_surely(context: Context, between: int) -> bool:
    """Return True if items and what follows share no first byte, a backslash aside."""
    leads_of_found(context)
    first, lexical = uint64s(context, LEADS), uint64s(context, LEX_FIRST)
    common = np.uint64(0)
    for word in range(4):
        both = first[word] & lexical[between * 4 + word]
        if word == BACKSLASH >> 6:
            both &= ~(np.uint64(1) << np.uint64(BACKSLASH & 63))
        common |= both
    return common == 0


@once
def doubtful_behind(context: Context, node: int, stack: int) -> int:
    """Return 1 if it is in doubt whether anything follows a node (an enum is used up), else 0."""
    nodes = int32s(context, NODE)
    begin(context)
    behind = int(nodes[node * 6 + 3]) if nodes[node * 6] == LITERAL else NIL
    code = close(context, behind, stack)
    return int(context[DOUBTFUL]) if code == OK else code
