"""Lexers: all terminals that a state of Lark's automaton accepts, read as one DFA.

Matching of terminals and their lookaheads does not depend on the stack; the shift does. So a macro
state of its own reads them. Its stacks end with TOOK, on no states, and one configuration is on the
states (python.lark had 30 to 160, each with its stack):

    LEXER, on the states     a macro state of terminals
    LEXES                    key of its first macro state
    TOOK, in a macro state   a terminal ends: the LEXER may shift it on its states
    APART, in a macro state  liveness depends on the states
"""

from guideway.masks.kernels.intern import node_of, stack_of, step_place
from guideway.masks.kernels.layout import (
    CONFIG,
    FIRST,
    GUARDED,
    MACRO,
    NODE,
    OK,
    STACK,
    STEP_KEY,
    STEP_VALUE,
    TOOK,
    WANT,
    WANT_BELOW,
)
from guideway.masks.kernels.lexer_layout import (
    APART,
    LEXER,
    NEED_STEP,
)
from guideway.masks.kernels.pictures import is_lead
from guideway.masks.kernels.views import Context, inner, int32s, int64s, uint64s
from guideway.masks.kernels.worklist import push


@inner
def step_lexer(context: Context, node: int, stack: int, byte: int) -> int:
    """Push the configurations that a LEXER becomes after a byte."""
    nodes = int32s(context, NODE)
    macro = int(nodes[node * 6 + 1])
    if not is_lead(uint64s(context, FIRST), macro * 4, byte):
        return OK
    key = ((macro << 9) | byte) + 1
    place = step_place(context, key)
    if int64s(context, STEP_KEY)[place] != key:
        context[WANT], context[WANT_BELOW] = macro, byte
        return NEED_STEP
    after = int(int32s(context, STEP_VALUE)[place])
    if after == 0:
        return OK
    return push_lexer(context, after, int(nodes[node * 6 + 2]), int(nodes[node * 6 + 3]), stack)


@inner
def push_lexer(context: Context, macro: int, table: int, lines: int, stack: int) -> int:
    """Push the configurations of a macro state of terminals, on its states."""
    macros, configs = int32s(context, MACRO), int64s(context, CONFIG)
    first, reads = int(macros[macro * 4]), False
    for index in range(first, first + macros[macro * 4 + 1]):
        node, taken = int(configs[index] >> 32), int(configs[index] & 0xFFFFFFFF)
        if not leaves_lexer(context, node):
            reads = True
            continue
        node = node_on_states(context, node, lines)
        made = stack_on_states(context, taken, lines, stack) if node >= 0 else node
        code = push(context, bare_node(context, node), made) if made >= 0 else made
        if code < 0:
            return code
    if not reads:
        return OK
    lexer = node_of(context, LEXER, macro, table, lines, 0, 0)
    return push(context, lexer, stack) if lexer >= 0 else lexer


@inner
def leaves_lexer(context: Context, node: int) -> bool:
    """Return True if a node of a macro state of terminals is TOOK or APART."""
    nodes = int32s(context, NODE)
    if nodes[node * 6] == GUARDED:
        node = int(nodes[node * 6 + 1])
    return nodes[node * 6] in (TOOK, APART)


@inner
def bare_node(context: Context, node: int) -> int:
    nodes = int32s(context, NODE)
    return int(nodes[node * 6 + 1]) if nodes[node * 6] == APART else node


@inner
def node_on_states(context: Context, node: int, lines: int) -> int:
    """A TOOK node with the LINES of the states; any other node unchanged."""
    nodes = int32s(context, NODE)
    held = bare_node(context, node)
    core = int(nodes[held * 6 + 1]) if nodes[held * 6] == GUARDED else held
    if nodes[core * 6] != TOOK or (lines == 0 and nodes[core * 6 + 4] == nodes[core * 6 + 5] == 0):
        return node
    made = node_of(context, TOOK, int(nodes[core * 6 + 1]), int(nodes[core * 6 + 2]), lines, 0, 0)
    if made >= 0 and held != core:
        made = node_of(context, GUARDED, made, int(nodes[held * 6 + 2]), 0, 0, 0)
    if made >= 0 and node != held:
        made = node_of(context, APART, made, 0, 0, 0, 0)
    return made


@inner
def stack_on_states(context: Context, taken: int, lines: int, stack: int) -> int:
    """A stack of a macro state, which ends with TOOK, on the states."""
    pairs, above, at = int64s(context, STACK), 0, taken
    while at != 0:
        at, above = int(pairs[at] & 0xFFFFFFFF), above + 1
    for left in range(above, 0, -1):
        at = taken
        for _ in range(left - 1):
            at = int(pairs[at] & 0xFFFFFFFF)
        node = int(pairs[at] >> 32)
        if left == above:
            node = node_on_states(context, node, lines)
        stack = stack_of(context, node, stack) if node >= 0 else node
        if stack < 0:
            return stack
    return stack
