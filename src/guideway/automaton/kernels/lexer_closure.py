"""Lark's contextual lexer on the stacks of its parser: closures, and steps by one byte."""

from guideway.automaton.jit.operands import checked, inner, once
from guideway.automaton.kernels import layout as at
from guideway.automaton.kernels.intern import node_of, stack_of, step_place
from guideway.automaton.kernels.lalr import (
    accepted,
    brackets_after,
    is_in_sets,
    lalr_of,
    lines_after_line,
    lines_taken,
    may_end,
    put_on,
    scan_of,
    scanner_of,
    shifted,
    stack_after_line,
    top_of,
)
from guideway.automaton.kernels.layout import Context, Way
from guideway.automaton.kernels.liveness import verdict_of
from guideway.automaton.kernels.shared_closures import add, add_alive, push
from guideway.automaton.kernels.state_masks import expand_state, is_lead


@inner
def step_lexer(context: Context, node: int, stack: int, byte: int) -> int:
    """Push the configurations that a LEXER becomes after a byte."""
    macro = context.nodes[node].a
    if not is_lead(context.macros[macro].leads, byte):
        return at.OK
    key = ((macro << 9) | byte) + 1
    place = step_place(context, key)
    if context.steps[place].key != key:
        context.want, context.want_below = macro, byte
        return at.NEED_STEP
    after = context.steps[place].macro
    if after == 0:
        return at.OK
    return push_lexer(context, after, context.nodes[node].b, context.nodes[node].c, stack)


@inner
def push_lexer(context: Context, macro: int, table: int, lines: int, stack: int) -> int:
    """Push the configurations of a macro state of terminals, on its states."""
    macros, configs = context.macros, context.configs
    first, reads = macros[macro].first, False
    for index in range(first, first + macros[macro].count):
        node, taken = configs[index] >> 32, configs[index] & 0xFFFFFFFF
        if not leaves_lexer(context, node):
            reads = True
            continue
        node = node_on_states(context, node, lines)
        made = checked(stack_on_states(context, taken, lines, stack) if node >= 0 else node)
        checked(push(context, bare_node(context, node), made))
    if not reads:
        return at.OK
    return push(context, checked(node_of(context, at.LEXER, macro, table, lines, 0, 0)), stack)


@inner
def leaves_lexer(context: Context, node: int) -> bool:
    """Return True if a node of a macro state of terminals is LEXED or PER_STACK."""
    if context.nodes[node].kind == at.GUARDED:
        node = context.nodes[node].a
    return context.nodes[node].kind in (at.LEXED, at.PER_STACK)


@inner
def bare_node(context: Context, node: int) -> int:
    return context.nodes[node].a if context.nodes[node].kind == at.PER_STACK else node


@inner
def node_on_states(context: Context, node: int, lines: int) -> int:
    """A LEXED node with the LINES of the states; any other node unchanged."""
    nodes = context.nodes
    held = bare_node(context, node)
    core = nodes[held].a if nodes[held].kind == at.GUARDED else held
    if nodes[core].kind != at.LEXED or (lines == 0 and nodes[core].d == nodes[core].e == 0):
        return node
    made = node_of(context, at.LEXED, nodes[core].a, nodes[core].b, lines, 0, 0)
    if made >= 0 and held != core:
        made = node_of(context, at.GUARDED, made, nodes[held].b, 0, 0, 0)
    if made >= 0 and node != held:
        made = node_of(context, at.PER_STACK, made, 0, 0, 0, 0)
    return made


@inner
def stack_on_states(context: Context, taken: int, lines: int, stack: int) -> int:
    """A stack of a macro state, which is empty or ends with LEXED, on the states."""
    if taken == 0:
        return stack
    lowest, above = taken, 0
    while context.stacks[lowest] & 0xFFFFFFFF != 0:
        lowest, above = context.stacks[lowest] & 0xFFFFFFFF, above + 1
    node = checked(node_on_states(context, context.stacks[lowest] >> 32, lines))
    return put_on(context, taken, above, checked(stack_of(context, node, stack)))


@once
def expand_scan(context: Context, kind: int, node: int, stack: int) -> int:
    if kind == at.SCAN:
        return _scan(context, node, stack)
    if kind == at.LEXER:
        return add_alive(context, node, stack)
    if kind == at.LEXED:
        return _took(context, node, stack) if stack != 0 else add(context, node, stack)
    if kind == at.AFTER_LINE:
        return _lined(context, node, stack)
    if kind == at.PUSH_STATES:
        return _place(context, node, stack)
    if context.guarding == 0 or context.nodes[node].a != 0:
        context.accept = 1
    return at.OK


@inner
def _place(context: Context, node: int, stack: int) -> int:
    """Push the states on the stack, then SCAN or the LINE."""
    nodes, edges = context.nodes, context.edges
    table, lines = nodes[node].a, nodes[node].b
    start, count, line = nodes[node].c, nodes[node].d, nodes[node].e
    below, state = stack, 0
    for index in range(start, start + 2 * count, 2):
        state = edges[index]
        read = checked(node_of(context, at.LALR_STATE, table, state, edges[index + 1], below, 0))
        stack = checked(stack_of(context, read, stack))
    if line == 0:
        return push(context, checked(node_of(context, at.SCAN, table, state, lines, 1, 0)), stack)
    return _push_on_took(context, line, table, lalr_of(context, table).newline, lines, stack)


@inner
def _push_on_took(
    context: Context, node: int, table: int, terminal: int, lines: int, stack: int
) -> int:
    took = checked(node_of(context, at.LEXED, table, terminal, lines, 0, 0))
    return push(context, node, checked(stack_of(context, took, stack)))


@inner
def _scan(context: Context, node: int, stack: int) -> int:
    """Push all scanner ways; and the end, where the text may end."""
    table, state = context.nodes[node].a, context.nodes[node].b
    lines = context.nodes[node].c
    scanner = scanner_of(context, table, state)
    start = scanner.first - 1
    if start < 0:
        context.want = node
        return at.NEED_SCANNER
    if context.nodes[node].d == 0:
        code = may_end(context, table, stack, lines)
        if code > 0:
            code = push(context, at.NIL, top_of(context, stack).d)
        if code < 0:
            return code
    where = at.EVERYWHERE
    if lines != 0:
        where = at.INSIDE if context.nodes[lines].a > 0 else at.OUTSIDE
    return _push_ways(context, table, start, scanner.count * 4 + where, stack, lines)


@inner
def _push_ways(context: Context, table: int, start: int, which: int, stack: int, lines: int) -> int:
    """Push the ways from `start` on; `which` is their number << 2 | where."""
    ways, where = which >> 2, which & 3
    lexed, sets = lexes(context, table, stack), 0
    if lexed > 0:
        sets = accepted(context, table, stack)
    checked(_lexer(context, table, start, which, sets, stack, lines) if lexed > 0 else lexed)
    for place in range(start, start + at.WAY_SIZE * ways, at.WAY_SIZE):
        way = Way.within(context.edges, place)
        # Ends of lines are read with the states.
        by_itself = lexed == 0 or (
            way.where == at.OUTSIDE and is_in_sets(context, sets, way.terminal)
        )
        if by_itself and way.where in (at.EVERYWHERE, where):
            checked(_push_on_took(context, way.node, table, way.terminal, lines, stack))
    return at.OK


@inner
def lexes(context: Context, table: int, stack: int) -> int:
    """Return 1 if the terminals can share one lexer, as liveness does not depend on the stack."""
    if lalr_of(context, table).free == 0 or context.captures != 0:
        return 0
    outside = verdict_of(context, at.NIL, top_of(context, stack).d)
    return min(outside, at.OK) if outside != at.V_ALIVE else 1


@inner
def _lexer(
    context: Context, table: int, start: int, which: int, sets: int, stack: int, lines: int
) -> int:
    """Push the LEXER of the ways of terminals in SETS."""
    guards = context.guarding
    key = checked(node_of(context, at.LEXER_KEY, checked(sets), start, which, guards, table))
    macro = context.nodes[key].target - 1
    if macro < 0:
        context.want = key
        return at.NEED_LEXER
    context.guarding = 0
    code = push_lexer(context, macro, table, lines, stack) if macro > 0 else at.OK
    context.guarding = guards
    return code


@inner
def _took(context: Context, node: int, stack: int) -> int:
    """Reduce and shift a terminal, and push SCAN."""
    table, terminal = context.nodes[node].a, context.nodes[node].b
    lines = context.nodes[node].c
    if terminal != at.IGNORED:
        if brackets_after(context, table, lines, terminal) < 0:
            return at.OK
        stack = shifted(context, table, stack, terminal, -1)
        if stack <= 0:
            return stack
        lines = checked(lines_taken(context, table, lines, terminal))
    return push(context, checked(scan_of(context, table, stack, lines)), stack)


@inner
def _lined(context: Context, node: int, stack: int) -> int:
    """Shift the newline, INDENT and DEDENT terminals, and push SCAN."""
    table, lines = context.nodes[node].a, context.nodes[node].b
    columns = context.nodes[node].c
    stack = stack_after_line(context, table, stack, lines, columns)
    if stack <= 0:
        return stack
    lines = checked(lines_after_line(context, lines, columns))
    return push(context, checked(scan_of(context, table, stack, lines)), stack)


@once
def expand_line(context: Context, node: int, stack: int) -> int:
    """Keep a LINE that reads on; after a newline it may end, with a lookahead if needed."""
    state, columns = context.nodes[node].a, context.nodes[node].b
    following = context.nodes[node].c
    checked(expand_state(context, state))
    flags = context.lexer_flags[state]
    if flags & at.GOES_ON:
        checked(add(context, node, stack))
    if flags & at.ACCEPTS == 0 or columns < 0:
        return at.OK
    top = context.stacks[stack] >> 32
    states = context.stacks[stack] & 0xFFFFFFFF
    table, lines = context.nodes[top].a, context.nodes[top].c
    lined = node_of(context, at.AFTER_LINE, table, lines, columns, 0, 0)
    if lined < 0 or following == 0:
        return push(context, checked(lined), int(states))
    under = checked(stack_of(context, lined, int(states)))
    level = lalr_of(context, table).level
    return push(context, checked(node_of(context, at.AHEAD, following, level, 0, 0, 0)), under)
