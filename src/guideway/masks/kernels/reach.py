"""Work list of a mask: configurations below trie nodes, each for all tokens that go on so."""

from guideway.masks.kernels.closure import close
from guideway.masks.kernels.intern import full, mixed
from guideway.masks.kernels.layout import (
    DOUBTFUL,
    FOUND,
    OK,
    REACH_GENERATION,
    REACH_ITEM,
    REACH_ROOM,
    REACH_SEEN,
    REACH_VISITED,
    REACHED,
    SCRATCH,
    TRIE_END,
)
from guideway.masks.kernels.macros import settle_found
from guideway.masks.kernels.tries import has_below
from guideway.masks.kernels.views import Context, inner, int32s, int64s
from guideway.masks.kernels.walks import note_unsure
from guideway.masks.kernels.worklist import begin


@inner
def reach_begin(context: Context) -> None:
    context[REACH_GENERATION] += 1
    context[REACHED] = 0
    context[REACH_VISITED] = 0


@inner
def put(context: Context, below: int, config: int) -> int:
    """Put a configuration on the list, once."""
    seen, room = int64s(context, REACH_SEEN), context[REACH_ROOM]
    last, generation = 2 * room - 1, context[REACH_GENERATION]
    place = mixed(mixed(below, 0), config) & last
    while seen[place * 3] == generation:
        if seen[place * 3 + 1] == config and seen[place * 3 + 2] == below:
            return OK
        place = (place + 1) & last
    if context[REACH_VISITED] == room:
        return full(context, REACHED)
    context[REACH_VISITED] += 1
    seen[place * 3], seen[place * 3 + 1], seen[place * 3 + 2] = generation, config, below
    items, at = int64s(context, REACH_ITEM), context[REACHED]
    items[at * 2], items[at * 2 + 1] = config, below
    context[REACHED] = at + 1
    return OK


@inner
def spread_found(context: Context, below: int) -> int:
    """Put the closure's configurations on the list."""
    if not has_below(context, below):
        return OK
    code = settle_found(context)
    if code < 0:
        return code
    if context[DOUBTFUL] != 0:
        note_unsure(context, below + 1, int(int32s(context, TRIE_END)[below]))
    found = int64s(context, SCRATCH)
    for index in range(context[FOUND]):
        code = put(context, below, int(found[index]))
        if code < 0:
            return code
    return OK


@inner
def spread(context: Context, below: int, node: int, stack: int) -> int:
    """Put the closure of a configuration on the list."""
    if not has_below(context, below):
        return OK
    begin(context)
    code = close(context, node, stack)
    return spread_found(context, below) if code == OK else code
