"""Work lists of closures, guards, and entries shared by many stacks."""

from typing import Final

from guideway.automaton.jit.views import Context, inner, int32s, int64s, uint8s
from guideway.automaton.kernels import layout as at
from guideway.automaton.kernels.intern import fork, full, node_of, sort, stack_of
from guideway.automaton.kernels.state_masks import is_expanded

GONE: Final = -64  # a guard has failed


@inner
def under_guards(context: Context, node: int) -> int:
    guards = int(context[at.GUARDING])
    return node if guards == 0 else node_of(context, at.GUARDED, node, guards, 0, 0, 0)


@inner
def with_guard(context: Context, guards: int, state: int, level: int) -> int:
    nodes = int32s(context, at.NODE)
    rest, before = guards, 0
    while rest != 0 and _is_before(context, rest, state, level):
        rest, before = int(nodes[rest * 6 + 3]), before + 1
    if rest != 0 and nodes[rest * 6 + 1] == state and nodes[rest * 6 + 2] == level:
        return guards
    made = node_of(context, at.GUARD, state, level, rest, 0, 0)
    for left in range(before, 0, -1):
        if made < 0:
            return made
        one = guards
        for _ in range(left - 1):
            one = int(nodes[one * 6 + 3])
        made = node_of(
            context, at.GUARD, int(nodes[one * 6 + 1]), int(nodes[one * 6 + 2]), made, 0, 0
        )
    return made


@inner
def _is_before(context: Context, guard: int, state: int, level: int) -> bool:
    nodes = int32s(context, at.NODE)
    if nodes[guard * 6 + 2] != level:
        return nodes[guard * 6 + 2] < level
    return nodes[guard * 6 + 1] < state


@inner
def guards_after(context: Context, guards: int, byte: int) -> int:
    """The guards after one more byte; GONE or a code."""
    nodes, rows, after = int32s(context, at.NODE), int32s(context, at.LEX), 0
    while guards != 0 and after >= 0:
        state = int(nodes[guards * 6 + 1])
        if not is_expanded(context, state):
            return at.NEED_LEX
        following = int(rows[state * 256 + byte])
        if following < 0:
            return GONE
        if following != context[at.ANYTHING_STATE]:
            after = with_guard(context, after, following, int(nodes[guards * 6 + 2]))
        guards = int(nodes[guards * 6 + 3])
    return after


@inner
def guards_behind(context: Context, guards: int, level: int) -> int:
    """The guards after those of a level end, all of them if it is negative; GONE or a code."""
    nodes, flags, kept = int32s(context, at.NODE), uint8s(context, at.LEX_FLAG), 0
    while guards != 0 and kept >= 0:
        state, own = int(nodes[guards * 6 + 1]), int(nodes[guards * 6 + 2])
        if level >= 0 and own != level:
            kept = with_guard(context, kept, state, own)
        elif not is_expanded(context, state):
            return at.NEED_LEX
        elif flags[state] & at.ACCEPTS == 0:
            return GONE
        guards = int(nodes[guards * 6 + 3])
    return kept


@inner
def begin(context: Context) -> None:
    context[at.GENERATION] += 1
    context[at.FOUND] = 0
    context[at.TODO] = 0
    context[at.VISITED] = 0
    context[at.ACCEPT] = 0
    context[at.DOUBTFUL] = 0
    context[at.GUARDING] = 0
    context[at.ENTRIES] = 0


@inner
def push(context: Context, node: int, stack: int) -> int:
    """Put a configuration on the closure's work list."""
    if context[at.TODO] >= context[at.WORK_ROOM] or context[at.VISITED] >= context[at.WORK_ROOM]:
        return full(context, at.VISITED)
    if context[at.GUARDING] != 0:
        node = under_guards(context, node)
        if node < 0:
            return node
    int64s(context, at.SCRATCH)[context[at.WORK_ROOM] + context[at.TODO]] = (node << 32) | stack
    context[at.TODO] += 1
    return at.OK


@inner
def found(context: Context, node: int, stack: int) -> int:
    """Add a configuration that reads a byte."""
    if context[at.FOUND] >= context[at.WORK_ROOM]:
        return full(context, at.VISITED)
    if context[at.GUARDING] != 0:
        node = under_guards(context, node)
        if node < 0:
            return node
    int64s(context, at.SCRATCH)[context[at.FOUND]] = (node << 32) | stack
    uint8s(context, at.FOUND_IS)[context[at.FOUND]] = at.V_UNKNOWN
    context[at.FOUND] += 1
    return at.OK


@inner
def found_alive(context: Context, node: int, stack: int) -> int:
    code = found(context, node, stack)
    if code == at.OK:
        uint8s(context, at.FOUND_IS)[context[at.FOUND] - 1] = at.V_ALIVE
    return code


MANY: Final = 256  # configurations from which a closure shares entries


@inner
def is_shared(context: Context, node: int) -> bool:
    """Return True if a node is to be expanded once for all stacks."""
    nodes = int32s(context, at.NODE)
    return (
        context[at.VISITED] >= MANY
        and nodes[node * 6] == at.EXPR
        and nodes[node * 6 + 2] & at.SHARED != 0
        and context[at.LALRS] == 0
    )


@inner
def enter(context: Context, node: int, target: int, stack: int) -> int:
    """Push the expansion of a node on its entry; push its stack too if it is nullable."""
    entry = node_of(context, at.ENTRY, node, 0, context[at.GUARDING], 0, 0)
    shared = stack_of(context, entry, 0) if entry >= 0 else entry
    if shared < 0:
        return shared
    if context[at.ENTRIES] == context[at.WORK_ROOM]:
        return full(context, at.VISITED)
    int64s(context, at.ENTERED)[context[at.ENTRIES]] = (entry << 32) | stack
    context[at.ENTRIES] += 1
    code = push(context, target, shared)
    if code == at.OK and int32s(context, at.NODE)[node * 6 + 2] & at.NULLABLE != 0:
        code = push(context, at.NIL, stack)
    return code


@inner
def push_under(context: Context, node: int, rest: int, stack: int) -> int:
    """Push the configuration `node`, then `rest`, on a stack."""
    if rest != at.NIL:
        stack = _stack_on(context, rest, stack)
        if stack < 0:
            return stack
    return push(context, node, stack)


@inner
def _stack_on(context: Context, node: int, stack: int) -> int:
    """A stack with one more node; on an entry, a nested ENTRY, so that its base is found fast."""
    if context[at.ENTRIES] != 0 and stack != 0:
        below = int(int64s(context, at.STACK)[stack] >> 32)
        if int32s(context, at.NODE)[below * 6] == at.ENTRY:
            entry = node_of(context, at.ENTRY, node, below, 0, 0, 0)
            return stack_of(context, entry, 0) if entry >= 0 else entry
    return stack_of(context, node, stack)


@inner
def leave_entry(context: Context, entry: int) -> int:
    """Pop the node above an entry; a bare entry ends here."""
    nodes = int32s(context, at.NODE)
    below = int(nodes[entry * 6 + 2])
    if below == 0:
        return at.OK
    stack = stack_of(context, below, 0)
    return push(context, int(nodes[entry * 6 + 1]), stack) if stack >= 0 else stack


@inner
def replace_entries(context: Context) -> int:
    """Replace the entries in the closure's configurations with forks; OK, or FULL."""
    found, listed = int64s(context, at.SCRATCH), int64s(context, at.ENTERED)
    targets, count = int32s(context, at.TARGET), int(context[at.ENTRIES])
    sort(listed, 0, count)
    for index in range(count):
        targets[listed[index] >> 32] = 0
    index = 0
    while index < count:
        code = _settle(context, int(listed[index] >> 32), count)
        if code < 0:
            return code
        index = _end_of_entry(context, index, count)
    for index in range(context[at.FOUND]):
        stack = _replaced(context, int(found[index] & 0xFFFFFFFF))
        if stack < 0:
            return stack
        found[index] = (found[index] >> 32 << 32) | stack
    context[at.ENTRIES] = 0
    return at.OK


@inner
def _end_of_entry(context: Context, first: int, count: int) -> int:
    """Index after all that is listed for the same entry."""
    listed, last = int64s(context, at.ENTERED), first + 1
    while last < count and listed[last] >> 32 == listed[first] >> 32:
        last += 1
    return last


@inner
def _first(context: Context, entry: int, count: int) -> int:
    """Index of the first stack that is listed for an entry."""
    listed, low, high = int64s(context, at.ENTERED), 0, count
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
    nodes = int32s(context, at.NODE)
    entry = int(int64s(context, at.STACK)[stack] >> 32)
    if stack == 0 or nodes[entry * 6] != at.ENTRY:
        return 0
    while nodes[entry * 6 + 2] != 0:
        entry = int(nodes[entry * 6 + 2])
    return entry


@inner
def _settle(context: Context, entry: int, count: int) -> int:
    """Build the forks of an entry and all below it; the depth-first path is after the lists."""
    listed, targets, way = int64s(context, at.ENTERED), int32s(context, at.TARGET), count
    if targets[entry] != 0:
        return at.OK
    if way + 2 > context[at.WORK_ROOM]:
        return full(context, at.VISITED)
    listed[way], listed[way + 1] = entry, _first(context, entry, count)
    while way >= count:
        entry, place = int(listed[way]), int(listed[way + 1])
        if place < count and listed[place] >> 32 == entry:
            listed[way + 1] = place + 1
            below = _base(context, int(listed[place] & 0xFFFFFFFF))
            if below != 0 and targets[below] == 0:
                way += 2
                if way + 2 > context[at.WORK_ROOM]:
                    return full(context, at.VISITED)
                listed[way], listed[way + 1] = below, _first(context, below, count)
        else:
            stack = _fork_of(context, _first(context, entry, count), place)
            if stack < 0:
                return stack
            targets[entry] = stack + 1
            way -= 2
    return at.OK


@inner
def _fork_of(context: Context, first: int, last: int) -> int:
    """The fork of the listed stacks, whose own entries have forks already."""
    found = int64s(context, at.SCRATCH)
    listed = int64s(context, at.ENTERED)
    begin = int(context[at.FOUND])
    if begin + last - first > context[at.WORK_ROOM]:
        return full(context, at.VISITED)
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
    nodes = int32s(context, at.NODE)
    pairs = int64s(context, at.STACK)
    work = int64s(context, at.SCRATCH)
    entry = int(pairs[stack] >> 32)
    room = 2 * context[at.WORK_ROOM]
    top = int(context[at.WORK_ROOM])
    while entry != base:
        if top == room:
            return full(context, at.VISITED)
        work[top] = nodes[entry * 6 + 1]
        entry, top = int(nodes[entry * 6 + 2]), top + 1
    stack = int(int32s(context, at.TARGET)[base]) - 1
    while top > context[at.WORK_ROOM] and stack >= 0:
        top -= 1
        stack = stack_of(context, int(work[top]), stack)
    return stack
