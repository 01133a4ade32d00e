"""Lark's LALR automaton: the stack after a terminal, and the terminals that it accepts next."""

from typing import Final

from guideway.automaton.jit.operands import checked, inner
from guideway.automaton.kernels import layout as at
from guideway.automaton.kernels.intern import node_of, stack_of
from guideway.automaton.kernels.layout import CellRow, Context, Lalr, Node, Production, Scanner

NO_STACK: Final = 0  # no stack; never the stack of a state
_LONGEST: Final = 1 << 16  # reductions in a row that pop nothing; more means an endless loop


@inner
def lalr_of(context: Context, table: int) -> Lalr:
    return Lalr.within(context.lalr, table)


@inner
def scanner_of(context: Context, table: int, state: int) -> Scanner:
    return Scanner.within(context.lalr, lalr_of(context, table).scanner + at.SCANNER_SIZE * state)


@inner
def top_of(context: Context, stack: int) -> Node:
    return context.nodes[context.stacks[stack] >> 32]


@inner
def _cell(context: Context, rows: int, number: int, column: int) -> int:
    """An entry of a row of a sparse table; 0 outside its columns."""
    row = CellRow.within(context.lalr, rows + at.CELL_ROW_SIZE * number)
    if column < row.first or column >= row.last:
        return 0
    return context.lalr[row.start + column]


@inner
def _reduce(context: Context, table: int, number: int, depth: int, stack: int) -> tuple[int, int]:
    """Apply a production: the number of states in `lalr_work`, and the stack below them."""
    lalr, pushed = lalr_of(context, table), context.lalr_work
    production = Production.within(context.lalr, lalr.production + at.PRODUCTION_SIZE * number)
    left = production.length - depth
    depth = max(-left, 0)
    while left > 0:
        stack, left = context.stacks[stack] & 0xFFFFFFFF, left - 1
    state = pushed[depth - 1] if depth > 0 else top_of(context, stack).b
    pushed[depth] = _cell(context, lalr.goto, state, production.rule) - 1
    return depth + 1, stack


@inner
def _reduced(context: Context, table: int, stack: int, terminal: int) -> int:
    """Reduce before a terminal: its action, 0 if none, 1 at the end; states in `lalr_work`."""
    lalr, depth, idle = lalr_of(context, table), 0, 0
    end = terminal == lalr.terminals - 1
    while depth < lalr.depth and idle < _LONGEST:
        state = context.lalr_work[depth - 1] if depth > 0 else top_of(context, stack).b
        context.lalr_depth, context.lalr_rest = depth, stack
        if end and state == lalr.end:
            return 1
        action = _cell(context, lalr.action, state, terminal)
        if action >= 0:
            return 0 if end else action
        depth, below = _reduce(context, table, -1 - action, depth, stack)
        stack, idle = below, idle + 1 if below == stack else 0
    return 0


@inner
def accepted(context: Context, table: int, stack: int) -> int:
    """The SETS of terminals accepted next."""
    lalr, sets = lalr_of(context, table), context.lalr_work
    words, begin = lalr.words, lalr.depth + 1
    for word in range(words):
        sets[begin + word] = 0
    for terminal in range(lalr.terminals - 1):
        if _reduced(context, table, stack, terminal) != 0:
            sets[begin + (terminal >> 5)] |= 1 << (terminal & 31)
    return _sets_of(context, begin, words)


@inner
def _sets_of(context: Context, begin: int, words: int) -> int:
    """The SETS node of some words."""
    sets, made, word = context.lalr_work, 0, (words - 1) & ~3
    while word >= 0 and made >= 0:
        a, b, c, d = sets[begin + word], 0, 0, 0
        b = sets[begin + word + 1] if word + 1 < words else 0
        c = sets[begin + word + 2] if word + 2 < words else 0
        d = sets[begin + word + 3] if word + 3 < words else 0
        made, word = node_of(context, at.SETS, a, b, c, d, made), word - 4
    return made


@inner
def is_in_sets(context: Context, sets: int, terminal: int) -> bool:
    one = context.nodes[sets]
    while terminal >= 128:
        one, terminal = context.nodes[one.e], terminal - 128
    word = terminal >> 5
    bits = one.a if word == 0 else one.b if word == 1 else one.c if word == 2 else one.d
    return (bits >> (terminal & 31)) & 1 != 0


@inner
def _pushed(context: Context, table: int, stack: int, state: int, margin: int) -> int:
    """A stack with one more state; a negative `margin` takes that of the state below."""
    if margin < 0:
        margin = top_of(context, stack).c
    below = top_of(context, stack).d
    node = checked(node_of(context, at.LALR_STATE, table, state, margin, below, 0))
    return stack_of(context, node, stack)


@inner
def shifted(context: Context, table: int, stack: int, terminal: int, margin: int) -> int:
    """The stack after a terminal, NO_STACK if it is rejected, or a code."""
    action = _reduced(context, table, stack, terminal)
    if action == 0:
        return NO_STACK
    pushed, made = context.lalr_work, context.lalr_rest
    for index in range(context.lalr_depth):
        made = checked(_pushed(context, table, made, pushed[index], -1))
    return _pushed(context, table, made, action - 1, margin)


@inner
def brackets_after(context: Context, table: int, lines: int, terminal: int) -> int:
    """Open brackets after a terminal; negative if unbalanced."""
    if lines == 0:
        return 0
    open_ = context.nodes[lines].a
    more = context.lalr[lalr_of(context, table).bracket + terminal]
    return open_ + more if more <= 1 else open_


@inner
def may_take(context: Context, took: int, stack: int) -> bool:
    """Return True if the automaton accepts the terminal of a LEXED node."""
    table, terminal = context.nodes[took].a, context.nodes[took].b
    if terminal == at.IGNORED:
        return True
    if brackets_after(context, table, context.nodes[took].c, terminal) < 0:
        return False
    return _reduced(context, table, stack, terminal) != 0


@inner
def may_end(context: Context, table: int, stack: int, lines: int) -> int:
    """Return 1 if the text may end here, open blocks included, else 0."""
    while lines != 0 and context.nodes[lines].c != 0:
        stack = shifted(context, table, stack, lalr_of(context, table).dedent, -1)
        lines = context.nodes[lines].c
        if stack <= 0:
            return stack
    return _reduced(context, table, stack, lalr_of(context, table).terminals - 1)


@inner
def scan_of(context: Context, table: int, stack: int, lines: int) -> int:
    return node_of(context, at.SCAN, table, top_of(context, stack).b, lines, 0, 0)


@inner
def lines_taken(context: Context, table: int, lines: int, terminal: int) -> int:
    """LINES after a terminal, with `brackets_after` of at least 0."""
    open_ = brackets_after(context, table, lines, terminal)
    if lines == 0:
        return lines
    item = context.lalr[lalr_of(context, table).bracket + terminal] - 1
    if item > 0 and open_ == 0:
        return node_of(context, at.LINES, 0, context.nodes[lines].b + item, lines, 0, 0)
    if open_ == context.nodes[lines].a:
        return lines
    return node_of(context, at.LINES, open_, context.nodes[lines].b, context.nodes[lines].c, 0, 0)


@inner
def stack_after_line(context: Context, table: int, stack: int, lines: int, columns: int) -> int:
    """The stack after a newline with this indentation, NO_STACK if impossible, or a code."""
    stack = shifted(context, table, stack, lalr_of(context, table).newline, -1)
    if stack > 0 and columns > context.nodes[lines].b:
        tab = lalr_of(context, table).tab
        margin = columns // tab + columns % tab
        return shifted(context, table, stack, lalr_of(context, table).indent, margin)
    while stack > 0 and columns < context.nodes[lines].b:
        stack = shifted(context, table, stack, lalr_of(context, table).dedent, -1)
        lines = context.nodes[lines].c
    return stack if stack <= 0 or columns == context.nodes[lines].b else NO_STACK


@inner
def lines_after_line(context: Context, lines: int, columns: int) -> int:
    if columns > context.nodes[lines].b:
        return node_of(context, at.LINES, 0, columns, lines, 0, 0)
    while columns < context.nodes[lines].b:
        lines = context.nodes[lines].c
    return lines


@inner
def columns_kept(context: Context, stack: int, columns: int) -> int:
    """Columns of a line on LEXED; where no block may begin, all too wide lines count as one."""
    took, states = (context.stacks[stack] >> 32), (context.stacks[stack] & 0xFFFFFFFF)
    table = context.nodes[took].a
    widest = context.nodes[context.nodes[took].c].b + 1
    if columns <= widest:
        return columns
    begun = shifted(context, table, states, lalr_of(context, table).newline, -1)
    if begun > 0:
        begun = shifted(context, table, begun, lalr_of(context, table).indent, -1)
    if begun < 0:
        return begun
    return columns if begun > 0 else widest


@inner
def some_line_fits(context: Context, table: int, stack: int, lines: int, last: bool) -> int:
    """Return 1 if some line may follow a newline (or the end, if `last`), else 0."""
    nodes, each = context.nodes, lines
    found = _fits(context, table, stack, lines, nodes[lines].b + 1, last)
    while found == NO_STACK and each != 0:
        found = _fits(context, table, stack, lines, nodes[each].b, last)
        each = nodes[each].c
    return min(found, 1)


@inner
def _fits(context: Context, table: int, stack: int, lines: int, columns: int, last: bool) -> int:
    found = stack_after_line(context, table, stack, lines, columns)
    if found <= 0 or not last:
        return found
    return may_end(context, table, found, checked(lines_after_line(context, lines, columns)))


@inner
def states_below(context: Context, stack: int, above: int) -> int:
    """The LALR states below LEXED, which has `above` nodes above it."""
    for _ in range(above + 1):
        stack = context.stacks[stack] & 0xFFFFFFFF
    return stack


@inner
def stack_after(context: Context, took: int, states: int) -> int:
    """The states after the shift, NO_STACK if it is impossible, or a code."""
    table, terminal = context.nodes[took].a, context.nodes[took].b
    return states if terminal == at.IGNORED else shifted(context, table, states, terminal, -1)


@inner
def lines_after(context: Context, took: int) -> int:
    table, terminal = context.nodes[took].a, context.nodes[took].b
    lines = context.nodes[took].c
    return lines if terminal == at.IGNORED else lines_taken(context, table, lines, terminal)


@inner
def put_on_free(context: Context, stack: int, above: int, free: int) -> int:
    """A stack with `free` below its topmost `above` nodes."""
    return put_on(context, stack, above, checked(stack_of(context, free, 0)))


@inner
def put_on(context: Context, stack: int, above: int, made: int) -> int:
    """Put the topmost `above` nodes of a stack on another."""
    for left in range(above, 0, -1):
        place = stack
        for _ in range(left - 1):
            place = context.stacks[place] & 0xFFFFFFFF
        made = checked(stack_of(context, (context.stacks[place] >> 32), made))
    return made
