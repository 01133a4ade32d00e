"""Forks: one configuration for many of the same node, whose stacks are alternatives.

Of an ambiguous text the same node is reached in very many ways, which differ only in what follows::

    (node, s1), (node, s2), …  →  (node, fork of s1, s2, …)

A fork is a stack with a FORKED node on nothing: its alternatives linked, ascending, so that equal
sets of them are the same fork, and one with more recent ones is a few nodes before an older one.
None is a fork itself. Those with the same top share it: y·s1, y·s2 is y·(fork of s1, s2). So there
are not many more stacks in all than places in a text times nodes (as in Tomita's graph of stacks,
1986), where there were as many as ways to read the text.

Few configurations stay as they are: one is found sooner again than a fork.
"""

from typing import Final

from fairlead.masks.kernels.intern import first_visit, full, node_of, sort, stack_of
from fairlead.masks.kernels.layout import (
    FORKED,
    FORKS,
    FOUND,
    NIL,
    NODE,
    OK,
    SCRATCH,
    STACK,
    VISITED,
    WORK_ROOM,
)
from fairlead.masks.kernels.views import Context, apart, inner, int32s, int64s

MANY: Final = 8  # configurations of one node


@inner
def fork_found(context: Context) -> int:
    """Put together what the closure has found, so that each node has few configurations."""
    apart()
    found, count = int64s(context, SCRATCH), int(context[FOUND])
    sort(found, 0, count)
    first, kept = 0, 0
    while first < count:
        node, last = found[first] >> 32, first + 1
        while last < count and found[last] >> 32 == node:
            last += 1
        if last - first >= MANY:
            stack = _fork(context, first, last)
            if stack < 0:
                return stack
            found[kept] = (node << 32) | stack
            kept += 1
        else:
            for index in range(first, last):
                found[kept] = found[index]
                kept += 1
        first = last
    context[FOUND] = kept
    return OK


@inner
def _fork(context: Context, first: int, last: int) -> int:
    """The fork of the stacks of configurations, those with the same top sharing it."""
    listed, pairs, begin = int64s(context, SCRATCH), int64s(context, STACK), context[WORK_ROOM]
    end = _list_stacks(context, first, last, begin)
    if end < 0:
        return end
    for index in range(begin, end):
        listed[index] = pairs[listed[index]]  # the empty stack has none, and is 0
    sort(listed, begin, end)
    at, kept = begin, begin
    while at < end:
        top, group = listed[at] >> 32, at + 1
        while group < end and listed[group] >> 32 == top:
            group += 1
        stack = 0 if listed[at] == 0 else _under(context, int(top), at, group, end)
        if stack < 0:
            return stack
        listed[kept] = stack
        kept += 1
        at = group
    sort(listed, begin, kept)
    return _link(context, begin, kept)


@inner
def _under(context: Context, top: int, first: int, last: int, free: int) -> int:
    """The stack with a node on the fork of the stacks that are listed from `first` to `last`."""
    parent = int(int64s(context, SCRATCH)[first] & 0xFFFFFFFF)
    if last > first + 1:
        end = _list_stacks(context, first, last, free)
        if end < 0:
            return end
        sort(int64s(context, SCRATCH), free, end)
        parent = _link(context, free, end)
        if parent < 0:
            return parent
    return stack_of(context, top, parent)


@inner
def _list_stacks(context: Context, first: int, last: int, free: int) -> int:
    """List the low halves of [first, last) from `free` on, forks as their alternatives.

    Gives where the list ends, or FULL. An alternative may be there twice.
    """
    listed, nodes, pairs = int64s(context, SCRATCH), int32s(context, NODE), int64s(context, STACK)
    context[FORKS] += 1
    for index in range(first, last):
        stack = int(listed[index] & 0xFFFFFFFF)
        node = int(pairs[stack] >> 32)
        if nodes[node * 6] != FORKED:
            if free == 2 * context[WORK_ROOM]:
                return full(context, VISITED)
            listed[free] = stack
            free += 1
            continue
        while node != NIL:
            if free == 2 * context[WORK_ROOM] or context[VISITED] >= context[WORK_ROOM]:
                return full(context, VISITED)
            if not first_visit(context, -((context[FORKS] << 32) | node)):
                break  # and so are all the rest
            listed[free] = nodes[node * 6 + 1]
            free += 1
            node = int(nodes[node * 6 + 2])
    return free


@inner
def _link(context: Context, first: int, last: int) -> int:
    """The fork of listed stacks, ascending; of one, itself."""
    listed, node = int64s(context, SCRATCH), NIL
    if listed[first] == listed[last - 1]:
        return int(listed[first])
    for index in range(first, last):
        if index == first or listed[index] != listed[index - 1]:
            node = node_of(context, FORKED, int(listed[index]), node, 0, 0, 0)
            if node < 0:
                return node
    return stack_of(context, node, 0)
