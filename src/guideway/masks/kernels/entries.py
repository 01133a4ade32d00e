"""Graph-structured stacks of a closure: an expression is expanded once for all its stacks.

Of 14 rules `r0: r1 r2 ... r13 | "x" | ""` and so on, the last is reached in 2^13 ways without a
byte, each with its own stack. So in a large closure an expression is expanded once, on an ENTRY
node, which lists its stacks::

    (e, s1), (e, s2), …  →  (e, entry of e)        and entry of e: s1, s2, …

Left recursion has been removed, so entries form no cycle. At the end each entry becomes the fork of
its stacks (`forks`). A nullable expression is skipped for each stack as it is listed.
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

MANY: Final = 256  # configurations from which a closure shares entries


@inner
def is_shared(context: Context, node: int) -> bool:
    """Return True if a node is to be expanded once for all stacks."""
    nodes = int32s(context, NODE)
    return (
        context[VISITED] >= MANY
        and nodes[node * 6] == EXPR
        and nodes[node * 6 + 2] & SHARED != 0
        and context[LALRS] == 0
    )


@inner
def enter(context: Context, node: int, target: int, stack: int) -> int:
    """Push the expansion of a node on its entry; push its stack too if it is nullable."""
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
    """Push the configuration `node`, then `rest`, on a stack."""
    if rest != NIL:
        stack = _stack_on(context, rest, stack)
        if stack < 0:
            return stack
    return push(context, node, stack)


@inner
def _stack_on(context: Context, node: int, stack: int) -> int:
    """A stack with one more node; on an entry, a nested ENTRY, so that its base is found fast."""
    if context[ENTRIES] != 0 and stack != 0:
        below = int(int64s(context, STACK)[stack] >> 32)
        if int32s(context, NODE)[below * 6] == ENTRY:
            entry = node_of(context, ENTRY, node, below, 0, 0, 0)
            return stack_of(context, entry, 0) if entry >= 0 else entry
    return stack_of(context, node, stack)


@inner
def leave_entry(context: Context, entry: int) -> int:
    """Pop the node above an entry; a bare entry ends here."""
    nodes = int32s(context, NODE)
    below = int(nodes[entry * 6 + 2])
    if below == 0:
        return OK
    stack = stack_of(context, below, 0)
    return push(context, int(nodes[entry * 6 + 1]), stack) if stack >= 0 else stack


@inner
def replace_entries(context: Context) -> int:
    """Replace the entries in the closure's configurations with forks; OK, or FULL."""
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
    """Index after all that is listed for the same entry."""
    listed, last = int64s(context, ENTERED), first + 1
    while last < count and listed[last] >> 32 == listed[first] >> 32:
        last += 1
    return last


@inner
def _first(context: Context, entry: int, count: int) -> int:
    """Index of the first stack that is listed for an entry."""
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
    """The entry at the bottom of a stack; 0 if none."""
    nodes = int32s(context, NODE)
    entry = int(int64s(context, STACK)[stack] >> 32)
    if stack == 0 or nodes[entry * 6] != ENTRY:
        return 0
    while nodes[entry * 6 + 2] != 0:
        entry = int(nodes[entry * 6 + 2])
    return entry


@inner
def _settle(context: Context, entry: int, count: int) -> int:
    """Build the forks of an entry and all below it; the depth-first path is after the lists."""
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
    """The fork of the listed stacks, whose own entries have forks already."""
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
    """A stack with its entry replaced with the fork."""
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
