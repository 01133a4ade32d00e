"""Pictures made out of those of other states, where most tokens lead both to the same.

A pattern that may begin anywhere has a state for each beginning of it that has been read, and all
but a few bytes lead from any of them back to the same one. What is below such a byte is read alike,
so it is looked at once, and of the next picture only the rest.
"""

from typing import Final

from guideway.masks.kernels.layout import (
    ACCEPTS,
    BEGUN,
    CURSOR,
    DEAD_END,
    DOUBTS,
    LEX,
    LEX_FLAG,
    MANY_EXITS,
    NEED_LEX,
    TRIE_BYTE,
    TRIE_DEPTH,
    TRIE_END,
    WALK,
    WANT,
)
from guideway.masks.kernels.pictures import list_exits, take_picture
from guideway.masks.kernels.returns import is_expanded
from guideway.masks.kernels.skips import EVERYWHERE, stays
from guideway.masks.kernels.tries import clear_tokens, set_tokens
from guideway.masks.kernels.views import (
    Context,
    Sets,
    WholeInts,
    Words,
    inner,
    int32s,
    once,
    uint8s,
    uint16s,
)

MODEL: Final = 263  # uint8[lexical states]: whether pictures may be made out of that of a state
LIKE_ANOTHER: Final = -18  # WANT is a state whose picture another may be made out of

_ALIKE: Final = 0  # what is below a trie node is read as by the other state,
_OUTSIDE: Final = 1  # or not at all,
_WHOLE: Final = 2  # or all of it,
_INSIDE: Final = 3  # or it has to be looked at,
_UNTOLD: Final = 4  # or that is of no use


@inner
def take_or_redraw(
    context: Context,
    below: int,
    state: int,
    alike: int,
    holes: WholeInts,
    exits: WholeInts,
    leads: Sets,
) -> int:
    """What `take_picture` gives; or LIKE_ANOTHER, if there is a state to which many bytes lead.

    From that one itself and from `state` at least `alike` bytes lead to the same; 0: nobody asks.
    """
    model = _model_of(context, state, alike) if alike > 0 and context[CURSOR] == 0 else 0
    if model > 0:
        context[WANT] = model
        return LIKE_ANOTHER
    return model if model < 0 else take_picture(context, below, state, holes, exits, leads)


@once
def _model_of(context: Context, state: int, alike: int) -> int:
    """The first such state; 0 if there is none, or a code below 0."""
    rows, models, last = int32s(context, LEX), uint8s(context, MODEL), 0
    if not is_expanded(context, state):
        return NEED_LEX
    for byte in range(256):
        like = int(rows[state * 256 + byte])
        if like <= 0 or like == last or models[like] == 0:
            continue
        last, same = like, 0
        for other in range(256):
            after = rows[state * 256 + other]
            same += 1 if after > 0 and after == rows[like * 256 + other] else 0
        if same >= alike:
            return like
    return 0


@inner
def redraw(
    context: Context,
    state: int,
    like: int,
    row: Words,
    known: WholeInts,
    exits: WholeInts,
    leads: Sets,
) -> int:
    """Make the picture of a lexical state over all tokens out of that of another.

    Args:
        context: of the gallery, whose walk has room for both.
        state: the state.
        like: the other one.
        row: its tokens, which become those of the state.
        known: its exits, ascending.
        exits: room for those of the state.
        leads: all bytes.

    Returns:
        The number of exits, MANY_EXITS if this is of no use; or a code below 0, after which it goes
        on at CURSOR, BEGUN having the numbers of exits and of known ones so far.
    """
    states, so_far, ends = int32s(context, WALK), int32s(context, BEGUN), int32s(context, TRIE_END)
    node, left = max(int(context[CURSOR]), 1), int(so_far[0])
    states[0], states[1] = state, like
    while node < ends[0]:
        found, end = _read(context, node, leads), int(ends[node])
        if found == _ALIKE:
            left = _copy_exits(context, node, known, exits, left)
        elif found == _OUTSIDE:
            clear_tokens(context, row, node, end)
        elif found == _WHOLE:
            set_tokens(context, row, node, end)
        elif found == _INSIDE:
            end, after = node + 1, int(states[int(uint16s(context, TRIE_DEPTH)[node]) * 2])
            set_tokens(context, row, node, end)
            if uint8s(context, LEX_FLAG)[after] & ACCEPTS:
                left = list_exits(context, node, exits, left, leads)
        else:
            context[CURSOR], so_far[0] = node, left
            return MANY_EXITS if found == _UNTOLD else found
        node = end
    return left


@once
def _read(context: Context, node: int, leads: Sets) -> int:
    """Where the byte of a trie node leads both states; what that says of all that is below."""
    rows, states = int32s(context, LEX), int32s(context, WALK)
    at, byte = int(uint16s(context, TRIE_DEPTH)[node]) * 2, int(uint8s(context, TRIE_BYTE)[node])
    before, beside = int(states[at - 2]), int(states[at - 1])
    after = int(rows[before * 256 + byte])
    other = int(rows[beside * 256 + byte]) if beside > 0 else DEAD_END
    if after == 0 or other == 0:
        context[WANT] = before if after == 0 else beside
        return NEED_LEX
    if after == other:
        return _ALIKE
    if after < 0:
        return _OUTSIDE
    if uint8s(context, LEX_FLAG)[after] & DOUBTS:
        return _UNTOLD
    states[at], states[at + 1] = after, other
    whole = stays(context, node, after, leads)
    if whole <= 0:
        return _INSIDE if whole == 0 else whole
    return _UNTOLD if whole == EVERYWHERE else _WHOLE


@once
def _copy_exits(context: Context, node: int, known: WholeInts, exits: WholeInts, count: int) -> int:
    """Copy those of the known exits that are below a node, as far as there is room."""
    so_far, end = int32s(context, BEGUN), int(int32s(context, TRIE_END)[node])
    place = int(so_far[1])
    while place < known.shape[0] and known[place] <= node:
        place += 1
    while place < known.shape[0] and known[place] < end:
        if count < exits.shape[0]:
            exits[count] = known[place]
        count, place = count + 1, place + 1
    so_far[1] = place
    return count
