"""What a closure enters for many stacks is entered once, on a stack that stands for all of them.

Of 14 rules `r0: r1 r2 ... r13 | "x" | ""` and so on, the last is reached in 2^13 ways without a
byte, each with another stack. So in a closure that has come to many configurations, an expression
is expanded on one stack, an ENTRY node on nothing, and by whom it was entered is listed::

    (e, s1), (e, s2), …  →  (e, entry of e)        and entry of e: s1, s2, …

As all left recursion has been rewritten, entries lead to each other in no circle. When the closure
is done, each entry becomes the fork of all that is listed for it (`forks`), and so nothing is left
of them. An expression is passed without a byte just where it is nullable: then that is done for
each stack as it is listed, and not where its end is come to.
"""

from typing import Final

from guideway.masks.kernels.entry_layout import ENTERED, ENTRIES, ENTRY, NULLABLE, SHARED
from guideway.masks.kernels.forks import fork
from guideway.masks.kernels.intern import full, node_of, sort, stack_of
from guideway.masks.kernels.layout import (
    EXPR,
    FOUND,
    GUARDING,
    LALRS,
    NIL,
    NODE,
    OK,
    SCRATCH,
    STACK,
    TARGET,
    VISITED,
    WORK_ROOM,
)
from guideway.masks.kernels.views import Context, inner, int32s, int64s
from guideway.masks.kernels.worklist import push

MANY: Final = 256  # configurations of a closure that shares nothing


@inner
def is_shared(context: Context, node: int) -> bool:
    """Whether a node is to be entered once, by what it is and how far the closure has come."""
    nodes = int32s(context, NODE)
    return (
        context[VISITED] >= MANY
        and nodes[node * 6] == EXPR
        and nodes[node * 6 + 2] & SHARED != 0
        and context[LALRS] == 0
    )


@inner
def enter(context: Context, node: int, target: int, stack: int) -> int:
    """Put what a node is on the work list, on its entry; and what is behind it, if it may be."""
    entry = node_of(context, ENTRY, node, 0, context[GUARDING], 0, 0)
    shared = stack_of(context, entry, 0) if entry >= 0 else entry
    if shared < 0:
        return shared
    if context[ENTRIES] == context[WORK_ROOM]:
        return full(context, VISITED)
    int64s(context, ENTERED)[context[ENTRIES]] = (entry << 32) | stack
    context[ENTRIES] += 1
    code = push(context, target, shared)
    if code == OK and int32s(context, NODE)[node * 6 + 2] & NULLABLE != 0:
        code = push(context, NIL, stack)
    return code


@inner
def push_under(context: Context, node: int, rest: int, stack: int) -> int:
    """Put `node`, then `rest`, on the work list."""
    if rest != NIL:
        stack = _stack_on(context, rest, stack)
        if stack < 0:
            return stack
    return push(context, node, stack)


@inner
def _stack_on(context: Context, node: int, stack: int) -> int:
    """The stack with a node on another; where that is an entry, it is so at a glance, too."""
    if context[ENTRIES] != 0 and stack != 0:
        below = int(int64s(context, STACK)[stack] >> 32)
        if int32s(context, NODE)[below * 6] == ENTRY:
            entry = node_of(context, ENTRY, node, below, 0, 0, 0)
            return stack_of(context, entry, 0) if entry >= 0 else entry
    return stack_of(context, node, stack)


@inner
def leave_entry(context: Context, entry: int) -> int:
    """Pop what stands on an entry; the entry itself ends what it was entered with."""
    nodes = int32s(context, NODE)
    below = int(nodes[entry * 6 + 2])
    if below == 0:
        return OK
    stack = stack_of(context, below, 0)
    return push(context, int(nodes[entry * 6 + 1]), stack) if stack >= 0 else stack


@inner
def replace_entries(context: Context) -> int:
    """Put forks for the entries in what the closure has found; OK, or FULL."""
    found, listed = int64s(context, SCRATCH), int64s(context, ENTERED)
    targets, count = int32s(context, TARGET), int(context[ENTRIES])
    sort(listed, 0, count)
    for index in range(count):
        targets[listed[index] >> 32] = 0
    index = 0
    while index < count:
        code = _settle(context, int(listed[index] >> 32), count)
        if code < 0:
            return code
        index = _behind(context, index, count)
    for index in range(context[FOUND]):
        stack = _replaced(context, int(found[index] & 0xFFFFFFFF))
        if stack < 0:
            return stack
        found[index] = (found[index] >> 32 << 32) | stack
    context[ENTRIES] = 0
    return OK


@inner
def _behind(context: Context, first: int, count: int) -> int:
    """Behind all that is listed for the same entry."""
    listed, last = int64s(context, ENTERED), first + 1
    while last < count and listed[last] >> 32 == listed[first] >> 32:
        last += 1
    return last


@inner
def _first(context: Context, entry: int, count: int) -> int:
    """Where the list of an entry begins."""
    listed, low, high = int64s(context, ENTERED), 0, count
    while low < high:
        middle = (low + high) >> 1
        if listed[middle] >> 32 < entry:
            low = middle + 1
        else:
            high = middle
    return low


@inner
def _base(context: Context, stack: int) -> int:
    """The entry on which a stack stands; 0 if on none."""
    nodes = int32s(context, NODE)
    entry = int(int64s(context, STACK)[stack] >> 32)
    if stack == 0 or nodes[entry * 6] != ENTRY:
        return 0
    while nodes[entry * 6 + 2] != 0:
        entry = int(nodes[entry * 6 + 2])
    return entry


@inner
def _settle(context: Context, entry: int, count: int) -> int:
    """Find the forks of an entry and of all those that it leads to; OK, or FULL.

    On the way there, entries and how far their lists have been looked at are behind the lists.
    """
    listed, targets, way = int64s(context, ENTERED), int32s(context, TARGET), count
    if targets[entry] != 0:
        return OK
    if way + 2 > context[WORK_ROOM]:
        return full(context, VISITED)
    listed[way], listed[way + 1] = entry, _first(context, entry, count)
    while way >= count:
        entry, at = int(listed[way]), int(listed[way + 1])
        if at < count and listed[at] >> 32 == entry:
            listed[way + 1] = at + 1
            below = _base(context, int(listed[at] & 0xFFFFFFFF))
            if below != 0 and targets[below] == 0:
                way += 2
                if way + 2 > context[WORK_ROOM]:
                    return full(context, VISITED)
                listed[way], listed[way + 1] = below, _first(context, below, count)
        else:
            stack = _fork_of(context, _first(context, entry, count), at)
            if stack < 0:
                return stack
            targets[entry] = stack + 1
            way -= 2
    return OK


@inner
def _fork_of(context: Context, first: int, last: int) -> int:
    """The fork of what is listed, whose own entries have theirs."""
    found, listed, begin = int64s(context, SCRATCH), int64s(context, ENTERED), int(context[FOUND])
    if begin + last - first > context[WORK_ROOM]:
        return full(context, VISITED)
    for index in range(first, last):
        stack = _replaced(context, int(listed[index] & 0xFFFFFFFF))
        if stack < 0:
            return stack
        found[begin + index - first] = stack
    return fork(context, begin, begin + last - first)


@inner
def _replaced(context: Context, stack: int) -> int:
    """A stack with the fork of the entry that it stands on instead of that."""
    base = _base(context, stack)
    if base == 0:
        return stack
    nodes, pairs, work = int32s(context, NODE), int64s(context, STACK), int64s(context, SCRATCH)
    entry, room, top = int(pairs[stack] >> 32), 2 * context[WORK_ROOM], int(context[WORK_ROOM])
    while entry != base:
        if top == room:
            return full(context, VISITED)
        work[top] = nodes[entry * 6 + 1]
        entry, top = int(nodes[entry * 6 + 2]), top + 1
    stack = int(int32s(context, TARGET)[base]) - 1
    while top > context[WORK_ROOM] and stack >= 0:
        top -= 1
        stack = stack_of(context, int(work[top]), stack)
    return stack
