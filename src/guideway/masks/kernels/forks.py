"""Forks: one configuration for many with the same node, whose stacks are alternatives::

    (node, s1), (node, s2), …  →  (node, fork of s1, s2, …)

A fork is a stack of one FORKED node: a linked, ascending list of alternatives, none a fork itself,
so equal sets are the same fork. Stacks with the same top share it at any depth: y·s1, y·s2 is
y·(fork of s1, s2); TARGET of a FORKED node is the stack, plus one, that its stacks become. So there
are about as many stacks as text positions times nodes (Tomita's graph-structured stack, 1986), not
as many as parses. A rule halved thirty times takes 8 ms a token.
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

MANY: Final = 8  # configurations of one node; fewer are not forked, as finding one again is faster

# Fields of a level of stacks, which begins after the list of the level above:
L_ABOVE: Final = 0  # the level above
L_AT: Final = 1  # the next stack to look at
L_END: Final = 2  # end of the stacks
L_KEPT: Final = 3  # end of the stacks made so far
L_TOP: Final = 4  # the top that the level below shares
L_WHOLE: Final = 5  # FORKED node of the level below before sharing: TARGET is the result
L_LISTED: Final = 6  # the stacks


@inner
def fork_found(context: Context) -> int:
    """Merge the closure's configurations, so that each node has few."""
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
    """The fork of the stacks of configurations; stacks with the same top share it."""
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
    """Begin a level with the stacks in the low halves of [first, last), distinct, sorted by top."""
    if level + L_LISTED > 2 * context[WORK_ROOM]:
        return full(context, VISITED)
    listed, pairs, begin = int64s(context, SCRATCH), int64s(context, STACK), level + L_LISTED
    end = _list_stacks(context, first, last, begin)
    if end < 0:
        return end
    for index in range(begin, end):
        listed[index] = pairs[listed[index]]  # 0 for the empty stack
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
    """Add the stack of a level's current top and a rest; return the level, or FULL."""
    listed = int64s(context, SCRATCH)
    top = int(listed[level + L_TOP])
    stack = 0 if top == 0 and rest == 0 else stack_of(context, top, rest)  # 0: the empty stack
    if stack < 0:
        return stack
    listed[listed[level + L_KEPT]] = stack
    listed[level + L_KEPT] += 1
    return level


@inner
def _share_top(context: Context, level: int) -> int:
    """Take the next top of a level; if it has several rests, begin a level of these."""
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
    """List the low halves of [first, last) at `free`, forks as alternatives; return the end."""
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
                break  # and so were all the rest
            listed[free] = nodes[node * 6 + 1]
            free += 1
            node = int(nodes[node * 6 + 2])
    return free


@inner
def _link(context: Context, first: int, last: int) -> int:
    """The fork of listed stacks; of one stack, itself."""
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
