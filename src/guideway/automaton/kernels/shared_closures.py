"""Work list of a closure, its lookahead guards, and nodes expanded once for many stacks."""

from typing import Final

from guideway.automaton.jit.operands import checked, inner
from guideway.automaton.kernels import layout as at
from guideway.automaton.kernels.intern import fork, full, node_of, sort, stack_of
from guideway.automaton.kernels.layout import Context
from guideway.automaton.kernels.state_masks import expand_state

GONE: Final = -64  # a guard has failed


@inner
def under_guards(context: Context, node: int) -> int:
    guards = context.guarding
    return node if guards == 0 else node_of(context, at.GUARDED, node, guards, 0, 0, 0)


@inner
def with_guard(context: Context, guards: int, state: int, level: int) -> int:
    rest, before = guards, 0
    while rest != 0 and _is_before(context, rest, state, level):
        rest, before = context.nodes[rest].c, before + 1
    if rest != 0 and context.nodes[rest].a == state and context.nodes[rest].b == level:
        return guards
    made = checked(node_of(context, at.GUARD, state, level, rest, 0, 0))
    for left in range(before, 0, -1):
        one = context.nodes[guards]
        for _ in range(left - 1):
            one = context.nodes[one.c]
        made = checked(node_of(context, at.GUARD, one.a, one.b, made, 0, 0))
    return made


@inner
def _is_before(context: Context, guard: int, state: int, level: int) -> bool:
    if context.nodes[guard].b != level:
        return context.nodes[guard].b < level
    return context.nodes[guard].a < state


@inner
def guards_after(context: Context, guards: int, byte: int) -> int:
    """The guards after one more byte; GONE or a code."""
    nodes, rows, after = context.nodes, context.transitions, 0
    while guards != 0 and after >= 0:
        state = nodes[guards].a
        checked(expand_state(context, state))
        following = rows[state].after[byte]
        if following < 0:
            return GONE
        if following != context.anything_state:
            after = with_guard(context, after, following, nodes[guards].b)
        guards = nodes[guards].c
    return after


@inner
def guards_ended(context: Context, guards: int, level: int) -> int:
    """The guards after those of a level end, all of them if it is negative; GONE or a code."""
    nodes, flags, kept = context.nodes, context.lexer_flags, 0
    while guards != 0 and kept >= 0:
        state, own = nodes[guards].a, nodes[guards].b
        if level >= 0 and own != level:
            kept = with_guard(context, kept, state, own)
        else:
            checked(expand_state(context, state))
            if flags[state] & at.ACCEPTS == 0:
                return GONE
        guards = nodes[guards].c
    return kept


@inner
def begin(context: Context) -> None:
    context.generation += 1
    context.found = 0
    context.todo = 0
    context.work.used = 0
    context.accept = 0
    context.doubtful = 0
    context.guarding = 0
    context.entries = 0


@inner
def push(context: Context, node: int, stack: int) -> int:
    """Put a configuration on the closure's work list."""
    if context.todo >= context.work.room or context.work.used >= context.work.room:
        return full(context, at.WORK)
    if context.guarding != 0:
        node = checked(under_guards(context, node))
    context.work.configs[context.work.room + context.todo] = (node << 32) | stack
    context.todo += 1
    return at.OK


@inner
def add(context: Context, node: int, stack: int) -> int:
    """Add a configuration that reads a byte."""
    if context.found >= context.work.room:
        return full(context, at.WORK)
    if context.guarding != 0:
        node = checked(under_guards(context, node))
    context.work.configs[context.found] = (node << 32) | stack
    context.work.verdicts[context.found] = at.V_UNKNOWN
    context.found += 1
    return at.OK


@inner
def add_alive(context: Context, node: int, stack: int) -> int:
    checked(add(context, node, stack))
    context.work.verdicts[context.found - 1] = at.V_ALIVE
    return at.OK


MANY: Final = 256  # configurations from which a closure shares entries


@inner
def is_shared(context: Context, node: int) -> bool:
    """Return True if a node is to be expanded once for all stacks."""
    return (
        context.work.used >= MANY
        and context.nodes[node].kind == at.EXPR
        and context.nodes[node].b & at.SHARED != 0
        and context.any_lalr == 0
    )


@inner
def enter(context: Context, node: int, target: int, stack: int) -> int:
    """Push the expansion of a node on its entry; push its stack too if it is nullable."""
    entry = checked(node_of(context, at.ENTRY, node, 0, context.guarding, 0, 0))
    shared = checked(stack_of(context, entry, 0))
    if context.entries == context.work.room:
        return full(context, at.WORK)
    context.work.entered[context.entries] = (entry << 32) | stack
    context.entries += 1
    checked(push(context, target, shared))
    return push(context, at.NIL, stack) if context.nodes[node].b & at.NULLABLE != 0 else at.OK


@inner
def push_under(context: Context, node: int, rest: int, stack: int) -> int:
    """Push the configuration `node`, then `rest`, on a stack."""
    if rest != at.NIL:
        stack = checked(_stack_on(context, rest, stack))
    return push(context, node, stack)


@inner
def _stack_on(context: Context, node: int, stack: int) -> int:
    """A stack with one more node; on an entry, a nested ENTRY, so that its base is found fast."""
    if context.entries != 0 and stack != 0:
        below = context.stacks[stack] >> 32
        if context.nodes[below].kind == at.ENTRY:
            return stack_of(context, checked(node_of(context, at.ENTRY, node, below, 0, 0, 0)), 0)
    return stack_of(context, node, stack)


@inner
def leave_entry(context: Context, entry: int) -> int:
    """Pop the node above an entry; a bare entry ends here."""
    below = context.nodes[entry].b
    if below == 0:
        return at.OK
    return push(context, context.nodes[entry].a, checked(stack_of(context, below, 0)))


@inner
def replace_entries(context: Context) -> int:
    """Replace the entries in the closure's configurations with forks; OK, or FULL."""
    add, listed = context.work.configs, context.work.entered
    count = context.entries
    sort(listed, 0, count)
    for index in range(count):
        context.nodes[listed[index] >> 32].target = 0
    index = 0
    while index < count:
        checked(_build_forks(context, listed[index] >> 32, count))
        index = _end_of_entry(context, index, count)
    for index in range(context.found):
        stack = checked(_replaced(context, add[index] & 0xFFFFFFFF))
        add[index] = (add[index] >> 32 << 32) | stack
    context.entries = 0
    return at.OK


@inner
def _end_of_entry(context: Context, first: int, count: int) -> int:
    """Index after all that is listed for the same entry."""
    listed, last = context.work.entered, first + 1
    while last < count and listed[last] >> 32 == listed[first] >> 32:
        last += 1
    return last


@inner
def _first_of_entry(context: Context, entry: int, count: int) -> int:
    """Index of the first stack that is listed for an entry."""
    listed, low, high = context.work.entered, 0, count
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
    entry = context.stacks[stack] >> 32
    if stack == 0 or context.nodes[entry].kind != at.ENTRY:
        return 0
    while context.nodes[entry].b != 0:
        entry = context.nodes[entry].b
    return entry


@inner
def _build_forks(context: Context, entry: int, count: int) -> int:
    """Build the forks of an entry and all below it; the depth-first path is after the lists."""
    listed, targets, way = context.work.entered, context.nodes, count
    if targets[entry].target != 0:
        return at.OK
    if way + 2 > context.work.room:
        return full(context, at.WORK)
    listed[way], listed[way + 1] = entry, _first_of_entry(context, entry, count)
    while way >= count:
        entry, place = listed[way], listed[way + 1]
        if place < count and listed[place] >> 32 == entry:
            listed[way + 1] = place + 1
            below = _base(context, listed[place] & 0xFFFFFFFF)
            if below != 0 and targets[below].target == 0:
                way += 2
                if way + 2 > context.work.room:
                    return full(context, at.WORK)
                listed[way], listed[way + 1] = below, _first_of_entry(context, below, count)
        else:
            stack = checked(_fork_of(context, _first_of_entry(context, entry, count), place))
            targets[entry].target = stack + 1
            way -= 2
    return at.OK


@inner
def _fork_of(context: Context, first: int, last: int) -> int:
    """The fork of the listed stacks, whose own entries have forks already."""
    add = context.work.configs
    listed = context.work.entered
    begin = context.found
    if begin + last - first > context.work.room:
        return full(context, at.WORK)
    for index in range(first, last):
        stack = checked(_replaced(context, listed[index] & 0xFFFFFFFF))
        add[begin + index - first] = stack
    return fork(context, begin, begin + last - first)


@inner
def _replaced(context: Context, stack: int) -> int:
    """A stack with its entry replaced with the fork."""
    base = _base(context, stack)
    if base == 0:
        return stack
    work = context.work.configs
    entry = context.stacks[stack] >> 32
    room = 2 * context.work.room
    top = context.work.room
    while entry != base:
        if top == room:
            return full(context, at.WORK)
        work[top] = context.nodes[entry].a
        entry, top = context.nodes[entry].b, top + 1
    stack = context.nodes[base].target - 1
    while top > context.work.room and stack >= 0:
        top -= 1
        stack = stack_of(context, work[top], stack)
    return stack
