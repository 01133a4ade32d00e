"""Forks: one configuration for many of the same node, whose stacks are alternatives.

Of an ambiguous text the same node is reached in very many ways, which differ only in what follows::

    (node, s1), (node, s2), …  →  (node, fork of s1, s2, …)

A fork is a stack with a FORKED node on nothing: its alternatives linked, ascending, so that equal
sets of them are the same fork, and one with more recent ones is a few nodes before an older one.
None is a fork itself. Those with the same top share it: y·s1, y·s2 is y·(fork of s1, s2), and so do
s1 and s2 in their turn, at any depth: TARGET of a FORKED node is the stack, plus one, that those
listed there become. So there are not many more stacks in all than places in a text times nodes (as
in Tomita's graph of stacks, 1986), where there were as many as ways to read the text: a rule halved
thirty times takes 8 ms a token, and one that is halved twenty times took 5 s where only the topmost
nodes were shared.

Few configurations stay as they are: one is found sooner again than a fork.
"""

from typing import Final

from guideway.masks.kernels.intern import first_visit, full, node_of, sort, stack_of
from guideway.masks.kernels.layout import (
    FORKED,
    FORKS,
    FOUND,
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

MANY: Final = 8  # configurations of one node

# Where in a level of stacks, behind what is listed of the one above:
L_ABOVE: Final = 0  # that
L_AT: Final = 1  # the first that is not looked at,
L_END: Final = 2  # and what is behind the last
L_KEPT: Final = 3  # behind the stacks that have been made of those before
L_TOP: Final = 4  # the top that those of the level below share,
L_WHOLE: Final = 5  # and the FORKED node of all of those as they were: TARGET is what they become
L_LISTED: Final = 6  # the stacks


@inner
def fork_found(context: Context) -> int:
    """Put together what the closure has found, so that each node has few configurations."""
    found, count = int64s(context, SCRATCH), int(context[FOUND])
    sort(found, 0, count)
    first, kept = 0, 0
    while first < count:
        node, last = found[first] >> 32, first + 1
        while last < count and found[last] >> 32 == node:
            last += 1
        if last - first >= MANY:
            stack = fork(context, first, last)
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
def fork(context: Context, first: int, last: int) -> int:
    """The fork of the stacks of configurations, those with the same top sharing it."""
    listed, lowest = int64s(context, SCRATCH), int(context[WORK_ROOM])
    level = _list_level(context, first, last, lowest)
    while level >= 0:
        if listed[level + L_AT] < listed[level + L_END]:
            level = _share_top(context, level)
            continue
        stack = _link(context, level + L_LISTED, int(listed[level + L_KEPT]))
        if stack < 0 or level == lowest:
            return stack
        int32s(context, TARGET)[listed[level + L_WHOLE]] = stack + 1
        level = _keep(context, int(listed[level + L_ABOVE]), stack)
    return level


@inner
def _list_level(context: Context, first: int, last: int, level: int) -> int:
    """Begin a level with the stacks in the low halves of [first, last); it, or FULL.

    They are listed by their tops, each once.
    """
    if level + L_LISTED > 2 * context[WORK_ROOM]:
        return full(context, VISITED)
    listed, pairs, begin = int64s(context, SCRATCH), int64s(context, STACK), level + L_LISTED
    end = _list_stacks(context, first, last, begin)
    if end < 0:
        return end
    for index in range(begin, end):
        listed[index] = pairs[listed[index]]  # the empty stack has none, and is 0
    sort(listed, begin, end)
    kept = begin
    for index in range(begin, end):
        if index == begin or listed[index] != listed[kept - 1]:
            listed[kept] = listed[index]
            kept += 1
    listed[level + L_AT] = listed[level + L_KEPT] = begin
    listed[level + L_END] = kept
    return level


@inner
def _keep(context: Context, level: int, rest: int) -> int:
    """Note the stack of a level with its present top on a rest; the level, or FULL."""
    listed = int64s(context, SCRATCH)
    top = int(listed[level + L_TOP])
    stack = 0 if top == 0 and rest == 0 else stack_of(context, top, rest)  # 0: the empty one
    if stack < 0:
        return stack
    listed[listed[level + L_KEPT]] = stack
    listed[level + L_KEPT] += 1
    return level


@inner
def _share_top(context: Context, level: int) -> int:
    """Go on to the next top of a level, and where several rests are on it to a level of these."""
    listed, targets = int64s(context, SCRATCH), int32s(context, TARGET)
    at, end = int(listed[level + L_AT]), int(listed[level + L_END])
    top, group = int(listed[at] >> 32), at + 1
    while group < end and listed[group] >> 32 == top:
        group += 1
    listed[level + L_AT], listed[level + L_TOP] = group, top
    whole = int(listed[at] & 0xFFFFFFFF)
    if group > at + 1:
        last = _list_stacks(context, at, group, end)
        whole = _link(context, end, last) if last >= 0 else last
        if whole < 0:
            return whole
    node = int(int64s(context, STACK)[whole] >> 32)
    if int32s(context, NODE)[node * 6] != FORKED:
        return _keep(context, level, whole)
    if targets[node] != 0:
        return _keep(context, level, int(targets[node]) - 1)
    below = _list_level(context, at, group, end)
    if below >= 0:
        listed[below + L_ABOVE], listed[below + L_WHOLE] = level, node
    return below


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
    """The fork of listed stacks; of one, itself."""
    listed, node = int64s(context, SCRATCH), NIL
    sort(listed, first, last)
    if listed[first] == listed[last - 1]:
        return int(listed[first])
    for index in range(first, last):
        if index == first or listed[index] != listed[index - 1]:
            node = node_of(context, FORKED, int(listed[index]), node, 0, 0, 0)
            if node < 0:
                return node
    return stack_of(context, node, 0)
