"""Lark's LALR automaton: the stack after a terminal, and the terminals that it accepts next."""

from typing import Final

from guideway.automaton.jit.views import Context, Ints, inner, int32s, int64s, lowest_bit
from guideway.automaton.kernels import layout as at
from guideway.automaton.kernels.intern import node_of, stack_of

NO_STACK: Final = 0  # no stack; never the stack of a state
_LONGEST: Final = 1 << 16  # reductions in a row that pop nothing; more means an endless loop


@inner
def top_field(context: Context, stack: int, field: int) -> int:
    return int(int32s(context, at.NODE)[(int64s(context, at.STACK)[stack] >> 32) * 6 + field])


@inner
def _cell(tables: Ints, row: int, column: int) -> int:
    """An entry of a sparse table row; 0 outside its columns."""
    if column < tables[row + 1] or column >= tables[row + 2]:
        return 0
    return int(tables[tables[row] + column])


@inner
def _reduced(context: Context, table: int, stack: int, terminal: int) -> int:
    """Reduce before a terminal: its action, 0 if none, 1 at the end; new states in LALR_WORK."""
    tables = int32s(context, at.LALR)
    pushed = int32s(context, at.LALR_WORK)
    pairs = int64s(context, at.STACK)
    depth, idle, end = 0, 0, terminal == tables[table + at.T_TERMINALS] - 1
    while depth < tables[table + at.T_DEPTH] and idle < _LONGEST:
        state = int(pushed[depth - 1]) if depth > 0 else top_field(context, stack, 2)
        context[at.LALR_DEPTH], context[at.LALR_REST] = depth, stack
        if end and state == tables[table + at.T_END]:
            return 1
        action = _cell(tables, int(tables[table + at.T_ACTION]) + 3 * state, terminal)
        if action >= 0:
            return 0 if end else action
        production = tables[table + at.T_PRODUCTION] - 2 * (action + 1)
        left, idle = int(tables[production]) - depth, idle + 1
        depth = max(-left, 0)
        while left > 0:
            stack, left, idle = int(pairs[stack] & 0xFFFFFFFF), left - 1, 0
        state = int(pushed[depth - 1]) if depth > 0 else top_field(context, stack, 2)
        row = int(tables[table + at.T_GOTO]) + 3 * state
        pushed[depth] = _cell(tables, row, int(tables[production + 1])) - 1
        depth += 1
    return 0


@inner
def accepted(context: Context, table: int, stack: int) -> int:
    """The SETS of terminals accepted next, found at once while they share one reduction."""
    tables = int32s(context, at.LALR)
    pushed = int32s(context, at.LALR_WORK)
    pairs = int64s(context, at.STACK)
    words, wanted = int(tables[table + at.T_WORDS]), int(tables[table + at.T_DEPTH]) + 1
    depth, idle, states, best = 0, 0, stack, 0
    for word in range(words):
        pushed[wanted + word] = -1
        pushed[wanted + words + word] = pushed[wanted + 2 * words + word] = 0
    while best >= 0 and depth < tables[table + at.T_DEPTH] and idle < _LONGEST:
        state = int(pushed[depth - 1]) if depth > 0 else top_field(context, states, 2)
        best = _narrowed(context, table, state, wanted)
        if best < 0:
            continue
        production = tables[table + at.T_PRODUCTION] + 2 * best
        left, idle = int(tables[production]) - depth, idle + 1
        depth = max(-left, 0)
        while left > 0:
            states, left, idle = int(pairs[states] & 0xFFFFFFFF), left - 1, 0
        state = int(pushed[depth - 1]) if depth > 0 else top_field(context, states, 2)
        row = int(tables[table + at.T_GOTO]) + 3 * state
        pushed[depth] = _cell(tables, row, int(tables[production + 1])) - 1
        depth += 1
    _add_others(context, table, stack, wanted + words)
    return _sets_of(context, wanted + words, words)


@inner
def _narrowed(context: Context, table: int, state: int, wanted: int) -> int:
    """Collect wanted terminals that a state shifts; narrow the rest to one production, or -1."""
    tables, sets = int32s(context, at.LALR), int32s(context, at.LALR_WORK)
    words, best = int(tables[table + at.T_WORDS]), -1
    place = int(tables[tables[table + at.T_SETS] + state])
    found, later, first = wanted + words, wanted + 2 * words, 0
    for word in range(words):
        sets[found + word] |= tables[place + word] & sets[wanted + word]
    for index in range(tables[place + words]):
        begin, some = place + words + 1 + index * (words + 1), 0
        for word in range(words):
            some |= int(tables[begin + 1 + word] & sets[wanted + word])
        if some != 0 and best < 0:
            best, first = int(tables[begin]), begin
        elif some != 0:
            for word in range(words):
                sets[later + word] |= tables[begin + 1 + word] & sets[wanted + word]
    for word in range(words if best >= 0 else 0):
        sets[wanted + word] &= tables[first + 1 + word]
    return best


@inner
def _add_others(context: Context, table: int, stack: int, found: int) -> None:
    """Try the terminals that were put off, one by one."""
    sets, words = int32s(context, at.LALR_WORK), int(int32s(context, at.LALR)[table + at.T_WORDS])
    for word in range(words):
        rest = int(sets[found + words + word]) & 0xFFFFFFFF
        while rest != 0:
            bit = lowest_bit(rest)
            rest &= rest - 1
            if _reduced(context, table, stack, word * 32 + bit) != 0:
                sets[found + word] |= 1 << bit


@inner
def _sets_of(context: Context, begin: int, words: int) -> int:
    """The SETS node of some words."""
    sets, made, word = int32s(context, at.LALR_WORK), 0, (words - 1) & ~3
    while word >= 0 and made >= 0:
        a, b, c, d = int(sets[begin + word]), 0, 0, 0
        b = int(sets[begin + word + 1]) if word + 1 < words else 0
        c = int(sets[begin + word + 2]) if word + 2 < words else 0
        d = int(sets[begin + word + 3]) if word + 3 < words else 0
        made, word = node_of(context, at.SETS, a, b, c, d, made), word - 4
    return made


@inner
def is_in_sets(context: Context, sets: int, terminal: int) -> bool:
    nodes = int32s(context, at.NODE)
    while terminal >= 128:
        sets, terminal = int(nodes[sets * 6 + 5]), terminal - 128
    return (nodes[sets * 6 + 1 + (terminal >> 5)] >> (terminal & 31)) & 1 != 0


@inner
def _pushed(context: Context, table: int, stack: int, state: int, margin: int) -> int:
    """A stack with one more state; a negative `margin` takes that of the state below."""
    if margin < 0:
        margin = top_field(context, stack, 3)
    below = top_field(context, stack, 4)
    node = node_of(context, at.READ_STATE, table, state, margin, below, 0)
    return stack_of(context, node, stack) if node >= 0 else node


@inner
def fed(context: Context, table: int, stack: int, terminal: int, margin: int) -> int:
    """The stack after a terminal, NO_STACK if it is rejected, or a code."""
    action = _reduced(context, table, stack, terminal)
    if action == 0:
        return NO_STACK
    pushed, made = int32s(context, at.LALR_WORK), int(context[at.LALR_REST])
    for index in range(context[at.LALR_DEPTH]):
        made = _pushed(context, table, made, int(pushed[index]), -1)
        if made < 0:
            return made
    return _pushed(context, table, made, action - 1, margin)


@inner
def brackets_after(context: Context, table: int, lines: int, terminal: int) -> int:
    """Open brackets after a terminal; negative if unbalanced."""
    if lines == 0:
        return 0
    tables = int32s(context, at.LALR)
    open_ = int(int32s(context, at.NODE)[lines * 6 + 1])
    more = int(tables[tables[table + at.T_BRACKET] + terminal])
    return open_ + more if more <= 1 else open_


@inner
def may_take(context: Context, took: int, stack: int) -> bool:
    """Return True if the automaton accepts the terminal of a TOOK node."""
    nodes = int32s(context, at.NODE)
    table, terminal = int(nodes[took * 6 + 1]), int(nodes[took * 6 + 2])
    if terminal == at.IGNORED:
        return True
    if brackets_after(context, table, int(nodes[took * 6 + 3]), terminal) < 0:
        return False
    return _reduced(context, table, stack, terminal) != 0


@inner
def may_end(context: Context, table: int, stack: int, lines: int) -> int:
    """Return 1 if the text may end here, open blocks included, else 0."""
    tables, nodes = int32s(context, at.LALR), int32s(context, at.NODE)
    while lines != 0 and nodes[lines * 6 + 3] != 0:
        stack = fed(context, table, stack, tables[table + at.T_DEDENT], -1)
        lines = nodes[lines * 6 + 3]
        if stack <= 0:
            return stack
    return _reduced(context, table, stack, tables[table + at.T_TERMINALS] - 1)


@inner
def scan_of(context: Context, table: int, stack: int, lines: int) -> int:
    return node_of(context, at.SCAN, table, top_field(context, stack, 2), lines, 0, 0)


@inner
def lines_taken(context: Context, table: int, lines: int, terminal: int) -> int:
    """LINES after a terminal, with `brackets_after` of at least 0."""
    nodes, tables = int32s(context, at.NODE), int32s(context, at.LALR)
    open_ = brackets_after(context, table, lines, terminal)
    if lines == 0:
        return lines
    item = int(tables[tables[table + at.T_BRACKET] + terminal]) - 1
    if item > 0 and open_ == 0:
        return node_of(context, at.LINES, 0, nodes[lines * 6 + 2] + item, lines, 0, 0)
    if open_ == nodes[lines * 6 + 1]:
        return lines
    return node_of(context, at.LINES, open_, nodes[lines * 6 + 2], nodes[lines * 6 + 3], 0, 0)


@inner
def stack_behind_line(context: Context, table: int, stack: int, lines: int, columns: int) -> int:
    """The stack after a newline with this indentation, NO_STACK if impossible, or a code."""
    tables, nodes = int32s(context, at.LALR), int32s(context, at.NODE)
    stack = fed(context, table, stack, tables[table + at.T_NEWLINE], -1)
    if stack > 0 and columns > nodes[lines * 6 + 2]:
        tab = int(tables[table + at.T_TAB])
        margin = columns // tab + columns % tab
        return fed(context, table, stack, tables[table + at.T_INDENT], margin)
    while stack > 0 and columns < nodes[lines * 6 + 2]:
        stack = fed(context, table, stack, tables[table + at.T_DEDENT], -1)
        lines = int(nodes[lines * 6 + 3])
    return stack if stack <= 0 or columns == nodes[lines * 6 + 2] else NO_STACK


@inner
def lines_behind_line(context: Context, lines: int, columns: int) -> int:
    nodes = int32s(context, at.NODE)
    if columns > nodes[lines * 6 + 2]:
        return node_of(context, at.LINES, 0, columns, lines, 0, 0)
    while columns < nodes[lines * 6 + 2]:
        lines = int(nodes[lines * 6 + 3])
    return lines


@inner
def told_apart(context: Context, stack: int, columns: int) -> int:
    """Columns of a line on TOOK; where no block may begin, all too wide lines count as one."""
    tables = int32s(context, at.LALR)
    nodes = int32s(context, at.NODE)
    pairs = int64s(context, at.STACK)
    took, states = int(pairs[stack] >> 32), int(pairs[stack] & 0xFFFFFFFF)
    table = int(nodes[took * 6 + 1])
    widest = int(nodes[nodes[took * 6 + 3] * 6 + 2]) + 1
    if columns <= widest:
        return columns
    if context[at.WIDENED] != pairs[stack]:
        begun = fed(context, table, states, tables[table + at.T_NEWLINE], -1)
        if begun > 0:
            begun = fed(context, table, begun, tables[table + at.T_INDENT], -1)
        if begun < 0:
            return begun
        context[at.WIDENED], context[at.WIDENED_IS] = pairs[stack], begun
    return columns if context[at.WIDENED_IS] > 0 else widest


@inner
def some_line_fits(context: Context, table: int, stack: int, lines: int, last: bool) -> int:
    """Return 1 if some line may follow a newline (or the end, if `last`), else 0."""
    nodes, each = int32s(context, at.NODE), lines
    found = _fits(context, table, stack, lines, int(nodes[lines * 6 + 2]) + 1, last)
    while found == NO_STACK and each != 0:
        found = _fits(context, table, stack, lines, int(nodes[each * 6 + 2]), last)
        each = int(nodes[each * 6 + 3])
    return min(found, 1)


@inner
def _fits(context: Context, table: int, stack: int, lines: int, columns: int, last: bool) -> int:
    found = stack_behind_line(context, table, stack, lines, columns)
    if found <= 0 or not last:
        return found
    behind = lines_behind_line(context, lines, columns)
    return may_end(context, table, found, behind) if behind >= 0 else behind


@inner
def states_below(context: Context, stack: int, above: int) -> int:
    """The LALR states below TOOK, which has `above` nodes above it."""
    pairs = int64s(context, at.STACK)
    for _ in range(above + 1):
        stack = int(pairs[stack] & 0xFFFFFFFF)
    return stack


@inner
def stack_behind(context: Context, took: int, states: int) -> int:
    """The states after the shift, NO_STACK if it is impossible, or a code."""
    nodes = int32s(context, at.NODE)
    table, terminal = int(nodes[took * 6 + 1]), int(nodes[took * 6 + 2])
    return states if terminal == at.IGNORED else fed(context, table, states, terminal, -1)


@inner
def lines_behind(context: Context, took: int) -> int:
    nodes = int32s(context, at.NODE)
    table, terminal = int(nodes[took * 6 + 1]), int(nodes[took * 6 + 2])
    lines = int(nodes[took * 6 + 3])
    return lines if terminal == at.IGNORED else lines_taken(context, table, lines, terminal)


@inner
def ways_behind(context: Context, table: int, states: int, lines: int) -> int:
    """Index in EDGE of the scanner ways of the top state, or a code."""
    tables = int32s(context, at.LALR)
    start = int(tables[tables[table + at.T_SCANNER] + 2 * top_field(context, states, 2)]) - 1
    return start if start >= 0 else _asked(context, table, states, lines)


@inner
def begun_behind(context: Context, table: int, states: int, lines: int) -> int:
    """T_REACHED after any byte that may begin one of the ways, or a code."""
    start = ways_behind(context, table, states, lines)
    if start < 0:
        return start
    inside = 1 if int32s(context, at.NODE)[lines * 6 + 1] > 0 and lines != 0 else 0
    begun = int(int32s(context, at.EDGE)[start - 2 + inside])
    return begun if begun >= 0 else _asked(context, table, states, lines)


@inner
def _asked(context: Context, table: int, states: int, lines: int) -> int:
    scan = scan_of(context, table, states, lines)
    context[at.WANT] = scan if scan >= 0 else context[at.WANT]
    return at.NEED_SCANNER if scan >= 0 else scan


@inner
def put_on_free(context: Context, stack: int, above: int, free: int) -> int:
    """A stack with `free` below its topmost `above` nodes."""
    made = stack_of(context, free, 0)
    return put_on(context, stack, above, made) if made >= 0 else made


@inner
def put_on(context: Context, stack: int, above: int, made: int) -> int:
    """Put the topmost `above` nodes of a stack on another."""
    pairs = int64s(context, at.STACK)
    for left in range(above, 0, -1):
        place = stack
        for _ in range(left - 1):
            place = int(pairs[place] & 0xFFFFFFFF)
        made = stack_of(context, int(pairs[place] >> 32), made)
        if made < 0:
            return made
    return made
