"""Hash-consing of nodes, stacks and states."""

from typing import Final

from guideway.automaton.jit.operands import Ints, Numbers, checked, inner
from guideway.automaton.jit.records import Record, Table, i64
from guideway.automaton.kernels import layout as at
from guideway.automaton.kernels.layout import Context


@inner
def mixed(state: int, value: int) -> int:
    """Hash of two numbers (multiply and fold; 0x9E37… is 2^64 divided by the golden ratio)."""
    state = (state ^ value) * -7046029254386353131
    return state ^ ((state >> 31) & 0x1FFFFFFFF)


@inner
def full(context: Context, table: int) -> int:
    """Request room for a table."""
    context.want = table
    return at.FULL


@inner
def add_hash(hashes: Ints, room: int, code: int, number: int) -> None:
    """Put a number into the hash table of a table with this room."""
    last = 2 * room - 1
    place = code & last
    while hashes[place] != 0:
        place = (place + 1) & last
    hashes[place] = number


@inner
def node_of(context: Context, kind: int, a: int, b: int, c: int, d: int, e: int) -> int:
    table, last = context.nodes.hashes, 2 * context.nodes.room - 1
    place = mixed(mixed(mixed(mixed(mixed(kind, a), b), c), d), e) & last
    while table[place] != 0:
        one = context.nodes[table[place] - 1]
        if (
            one.kind == kind
            and one.a == a
            and one.b == b
            and one.c == c
            and one.d == d
            and one.e == e
        ):
            return table[place] - 1
        place = (place + 1) & last
    made = context.nodes.used
    if made == context.nodes.room:
        return full(context, at.NODES)
    context.nodes.used = made + 1
    table[place] = made + 1
    one = context.nodes[made]
    one.kind, one.a, one.b, one.c, one.d, one.e = kind, a, b, c, d, e
    return made


@inner
def _pair_of(context: Context, pairs: Table[i64], which: int, high: int, low: int) -> int:
    """The number of a pair in the table `which`, at least 1."""
    table, last = pairs.hashes, 2 * pairs.room - 1
    pair = (high << 32) | low
    place = mixed(pair, 0) & last
    while table[place] != 0:
        if pairs[table[place]] == pair:
            return table[place]
        place = (place + 1) & last
    made = pairs.used
    if made == pairs.room:
        return full(context, which)
    pairs.used = made + 1
    table[place] = made
    pairs[made] = pair
    return made


@inner
def stack_of(context: Context, node: int, parent: int) -> int:
    """The stack with `node` on `parent`; 0 is the empty one."""
    return _pair_of(context, context.stacks, at.STACKS, node, parent)


@inner
def text_of(context: Context, parent: int, byte: int) -> int:
    """The text `parent` with one more byte; 0 is the empty one."""
    return _pair_of(context, context.texts, at.TEXTS, parent, byte)


@inner
def extras_of(context: Context, text: int, rest: int) -> int:
    """The set of `text` and the greater texts `rest`; 0 is the empty one."""
    return _pair_of(context, context.extras, at.EXTRAS, text, rest)


@inner
def pair_of(context: Context, state: int, inside: int) -> int:
    """The pair of a pattern's lexical state and that of its characters; none is 0."""
    return _pair_of(context, context.pairs, at.PAIRS, state, inside)


@inner
def judgement_of(context: Context, node: int, stack: int) -> int:
    """The number of a place, a pair (node, stack); none is 0."""
    return _pair_of(context, context.places, at.PLACES, node, stack)


@inner
def lexer_mask_of(context: Context, below: int, macro: int) -> int:
    """The number of the lexer mask of a macro state of terminals below a trie node; none is 0."""
    return _pair_of(context, context.mask_places, at.MASK_PLACES, below, macro)


@inner
def first_visit(context: Context, config: int) -> bool:
    """Mark a configuration; return True if this closure had not visited it."""
    seen = context.work.visits
    last = 2 * context.work.room - 1
    place = mixed(config, 0) & last
    while seen[place].generation == context.generation:
        if seen[place].config == config:
            return False
        place = (place + 1) & last
    seen[place].generation, seen[place].config = context.generation, config
    context.work.used += 1
    return True


@inner
def sort(values: Numbers, first: int, last: int) -> None:
    """Sort [first, last), by insertion where there are few (Shell 1959); mostly sorted already."""
    gap = 1
    while 3 * gap < (last - first) >> 2:
        gap = 3 * gap + 1
    while gap > 0:
        for index in range(first + gap, last):
            value, place = values[index], index
            while place >= first + gap and values[place - gap] > value:
                values[place] = values[place - gap]
                place -= gap
            values[place] = value
        gap //= 3


@inner
def _has_configs(context: Context, macro: int, count: int) -> bool:
    found = context.work.configs
    place = context.macros[macro].first
    for index in range(count):  # noqa: SIM110  kernels have no generators
        if context.configs[place + index] != found[index]:
            return False
    return True


@inner
def macro_of(context: Context, count: int, accepts: int, unsure: int) -> int:
    """The macro state of `count` configurations, sorted here; does not set `leads`."""
    table, configs, found = context.macros.hashes, context.configs, context.work.configs
    sort(found, 0, count)
    code = accepts * 2 + unsure
    for index in range(count):
        code = mixed(code, found[index])
    last = 2 * context.macros.room - 1
    place = mixed(code, count) & last
    while table[place] != 0:
        macro = context.macros[table[place]]
        if (
            macro.count == count
            and macro.accepts == accepts
            and macro.unsure == unsure
            and _has_configs(context, table[place], count)
        ):
            return table[place]
        place = (place + 1) & last
    made, first = context.macros.used, configs.used
    if made == context.macros.room:
        return full(context, at.MACROS)
    if first + count > configs.room:
        return full(context, at.CONFIGS)
    context.macros.used, configs.used = made + 1, first + count
    table[place] = made
    macro = context.macros[made]
    macro.first, macro.count, macro.accepts, macro.unsure = first, count, accepts, unsure
    for index in range(count):
        configs[first + index] = found[index]
    return made


@inner
def step_place(context: Context, key: int) -> int:
    """Index of `key` in the memo of steps, or of its free place."""
    steps, last = context.steps, 2 * context.steps.room - 1
    place = mixed(key, 0) & last
    while steps[place].key != 0 and steps[place].key != key:
        place = (place + 1) & last
    return place


@inner
def remember_step(context: Context, key: int, macro: int) -> int:
    """Memoise a step; return `macro`, or FULL."""
    if context.steps.used == context.steps.room:
        return full(context, at.STEPS)
    context.steps.used += 1
    step = context.steps[step_place(context, key)]
    step.key, step.macro = key, macro
    return macro


@inner
def rehash_pairs(pairs: Table[i64]) -> None:
    for number in range(1, pairs.used):
        add_hash(pairs.hashes, pairs.room, mixed(pairs[number], 0), number)


@inner
def rehash_nodes(context: Context) -> None:
    for number in range(context.nodes.used):
        one = context.nodes[number]
        code = mixed(mixed(mixed(mixed(mixed(one.kind, one.a), one.b), one.c), one.d), one.e)
        add_hash(context.nodes.hashes, context.nodes.room, code, number + 1)


@inner
def rehash_macros(context: Context) -> None:
    for number in range(1, context.macros.used):
        macro = context.macros[number]
        code = macro.accepts * 2 + macro.unsure
        for index in range(macro.first, macro.first + macro.count):
            code = mixed(code, context.configs[index])
        add_hash(context.macros.hashes, context.macros.room, mixed(code, macro.count), number)


MANY: Final = 8  # configurations of one node; fewer are not forked, as finding one again is faster


class Level(Record):
    """A level of stacks that are forked; the list of its stacks follows."""

    above: i64  # the level above
    at: i64  # the next stack to look at
    end: i64  # of the stacks
    kept: i64  # end of the stacks made so far
    top: i64  # the node that the level below shares
    whole: i64  # FORKED node of the level below before sharing: its target is the result


_LEVEL: Final = 6


@inner
def fork_found(context: Context) -> int:
    """Merge the closure's configurations, so that each node has few."""
    found, count = context.work.configs, context.found
    sort(found, 0, count)
    first, kept = 0, 0
    while first < count:
        node, last = found[first] >> 32, first + 1
        while last < count and found[last] >> 32 == node:
            last += 1
        if last - first >= MANY:
            stack = checked(fork(context, first, last))
            found[kept] = (node << 32) | stack
            kept += 1
        else:
            for index in range(first, last):
                found[kept] = found[index]
                kept += 1
        first = last
    context.found = kept
    return at.OK


@inner
def fork(context: Context, first: int, last: int) -> int:
    """The fork of the stacks of configurations; stacks with the same top share it."""
    listed, lowest = context.work.configs, context.work.room
    level = _list_level(context, first, last, lowest)
    while level >= 0:
        here = Level.within(listed, level)
        if here.at < here.end:
            level = _share_top(context, level)
            continue
        stack = _link(context, level + _LEVEL, here.kept)
        if stack < 0 or level == lowest:
            return stack
        context.nodes[here.whole].target = stack + 1
        level = _add_stack(context, here.above, stack)
    return level


@inner
def _list_level(context: Context, first: int, last: int, level: int) -> int:
    """Begin a level with the stacks in the low halves of [first, last), distinct, sorted by top."""
    if level + _LEVEL > 2 * context.work.room:
        return full(context, at.WORK)
    listed, begin = context.work.configs, level + _LEVEL
    here = Level.within(listed, level)
    end = checked(_list_stacks(context, first, last, begin))
    for index in range(begin, end):
        listed[index] = context.stacks[listed[index]]  # 0 for the empty stack
    sort(listed, begin, end)
    kept = begin
    for index in range(begin, end):
        if index == begin or listed[index] != listed[kept - 1]:
            listed[kept] = listed[index]
            kept += 1
    here.at = here.kept = begin
    here.end = kept
    return level


@inner
def _add_stack(context: Context, level: int, rest: int) -> int:
    """Add the stack of a level's current top and a rest; return the level, or FULL."""
    here = Level.within(context.work.configs, level)
    stack = 0  # the empty one
    if here.top != 0 or rest != 0:
        stack = stack_of(context, here.top, rest)
    if stack < 0:
        return stack
    context.work.configs[here.kept] = stack
    here.kept += 1
    return level


@inner
def _share_top(context: Context, level: int) -> int:
    """Take the next top of a level; if it has several rests, begin a level of these."""
    listed = context.work.configs
    here = Level.within(listed, level)
    place, end = here.at, here.end
    top, group = listed[place] >> 32, place + 1
    while group < end and listed[group] >> 32 == top:
        group += 1
    here.at, here.top = group, top
    whole = listed[place] & 0xFFFFFFFF
    if group > place + 1:
        last = checked(_list_stacks(context, place, group, end))
        whole = checked(_link(context, end, last))
    node = context.stacks[whole] >> 32
    if context.nodes[node].kind != at.FORKED:
        return _add_stack(context, level, whole)
    if context.nodes[node].target != 0:
        return _add_stack(context, level, context.nodes[node].target - 1)
    below = _list_level(context, place, group, end)
    if below >= 0:
        further = Level.within(listed, below)
        further.above, further.whole = level, node
    return below


@inner
def _list_stacks(context: Context, first: int, last: int, free: int) -> int:
    """List the low halves of [first, last) at `free`, forks as alternatives; return the end."""
    listed = context.work.configs
    context.forks += 1
    for index in range(first, last):
        stack = listed[index] & 0xFFFFFFFF
        node = context.stacks[stack] >> 32
        if context.nodes[node].kind != at.FORKED:
            if free == 2 * context.work.room:
                return full(context, at.WORK)
            listed[free] = stack
            free += 1
            continue
        while node != at.NIL:
            if free == 2 * context.work.room or context.work.used >= context.work.room:
                return full(context, at.WORK)
            if not first_visit(context, -((context.forks << 32) | node)):
                break  # and so were all the rest
            listed[free] = context.nodes[node].a
            free += 1
            node = context.nodes[node].b
    return free


@inner
def _link(context: Context, first: int, last: int) -> int:
    """The fork of listed stacks; of one stack, itself."""
    listed, node = context.work.configs, at.NIL
    sort(listed, first, last)
    if listed[first] == listed[last - 1]:
        return listed[first]
    for index in range(first, last):
        if index == first or listed[index] != listed[index - 1]:
            node = checked(node_of(context, at.FORKED, listed[index], node, 0, 0, 0))
    return stack_of(context, node, 0)
