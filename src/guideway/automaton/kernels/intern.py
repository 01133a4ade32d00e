"""Hash-consing of nodes, stacks and states."""

from typing import Final

from guideway.automaton.jit.views import Context, inner, int32s, int64s
from guideway.automaton.kernels import layout as at


@inner
def mixed(state: int, value: int) -> int:
    """Hash of two numbers (multiply and fold; 0x9E37… is 2^64 divided by the golden ratio)."""
    state = (state ^ value) * -7046029254386353131
    return state ^ ((state >> 31) & 0x1FFFFFFFF)


@inner
def full(context: Context, slot: int) -> int:
    """Request room for a slot."""
    context[at.WANT] = slot
    return at.FULL


@inner
def node_of(context: Context, kind: int, a: int, b: int, c: int, d: int, e: int) -> int:
    nodes, table = int32s(context, at.NODE), int32s(context, at.NODE_HASH)
    last = 2 * context[at.NODE_ROOM] - 1
    place = mixed(mixed(mixed(mixed(mixed(kind, a), b), c), d), e) & last
    while table[place] != 0:
        start = (table[place] - 1) * 6
        if (
            nodes[start] == kind
            and nodes[start + 1] == a
            and nodes[start + 2] == b
            and nodes[start + 3] == c
            and nodes[start + 4] == d
            and nodes[start + 5] == e
        ):
            return int(table[place]) - 1
        place = (place + 1) & last
    made = context[at.NODES]
    if made == context[at.NODE_ROOM]:
        return full(context, at.NODES)
    context[at.NODES] = made + 1
    table[place] = made + 1
    start = made * 6
    nodes[start], nodes[start + 1], nodes[start + 2] = kind, a, b
    nodes[start + 3], nodes[start + 4], nodes[start + 5] = c, d, e
    return made


@inner
def _pair_of(
    context: Context, high: int, low: int, array: int, hashes: int, used: int, room: int
) -> int:
    """The number of a pair, at least 1."""
    pairs, table = int64s(context, array), int32s(context, hashes)
    last = 2 * context[room] - 1
    pair = (high << 32) | low
    place = mixed(pair, 0) & last
    while table[place] != 0:
        if pairs[table[place]] == pair:
            return int(table[place])
        place = (place + 1) & last
    made = context[used]
    if made == context[room]:
        return full(context, used)
    context[used] = made + 1
    table[place] = made
    pairs[made] = pair
    return made


@inner
def stack_of(context: Context, node: int, parent: int) -> int:
    """The stack with `node` on `parent`; 0 is the empty one."""
    return _pair_of(context, node, parent, at.STACK, at.STACK_HASH, at.STACKS, at.STACK_ROOM)


@inner
def text_of(context: Context, parent: int, byte: int) -> int:
    """The text `parent` with one more byte; 0 is the empty one."""
    return _pair_of(context, parent, byte, at.TEXT, at.TEXT_HASH, at.TEXTS, at.TEXT_ROOM)


@inner
def extras_of(context: Context, text: int, rest: int) -> int:
    """The set of `text` and the greater texts `rest`; 0 is the empty one."""
    return _pair_of(context, text, rest, at.EXTRA, at.EXTRA_HASH, at.EXTRAS, at.EXTRA_ROOM)


@inner
def pair_of(context: Context, state: int, inside: int) -> int:
    """The pair of a pattern's lexical state and that of its characters; none is 0."""
    return _pair_of(context, state, inside, at.PAIR, at.PAIR_HASH, at.PAIRS, at.PAIR_ROOM)


@inner
def judgement_of(context: Context, node: int, stack: int) -> int:
    """The number of a place, a pair (node, stack); none is 0."""
    return _pair_of(context, node, stack, at.JUDGED, at.JUDGED_HASH, at.JUDGEMENTS, at.JUDGED_ROOM)


@inner
def lexer_mask_of(context: Context, below: int, macro: int) -> int:
    """The number of the lexer mask of a macro state of terminals below a trie node; none is 0."""
    return _pair_of(
        context, below, macro, at.OUTLOOK, at.OUTLOOK_HASH, at.OUTLOOKS, at.OUTLOOK_ROOM
    )


@inner
def first_visit(context: Context, config: int) -> bool:
    """Mark a configuration; return True if this closure had not visited it."""
    seen = int64s(context, at.SEEN)
    last = 2 * context[at.WORK_ROOM] - 1
    place = mixed(config, 0) & last
    while seen[2 * place] == context[at.GENERATION]:
        if seen[2 * place + 1] == config:
            return False
        place = (place + 1) & last
    seen[2 * place], seen[2 * place + 1] = context[at.GENERATION], config
    context[at.VISITED] += 1
    return True


@inner
def sort(values: Context, first: int, last: int) -> None:
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
def _same(context: Context, macro: int, count: int) -> bool:
    configs, found = int64s(context, at.CONFIG), int64s(context, at.SCRATCH)
    place = int32s(context, at.MACRO)[macro * 4]
    for index in range(count):  # noqa: SIM110  kernels have no generators
        if configs[place + index] != found[index]:
            return False
    return True


@inner
def macro_of(context: Context, count: int, accepts: int, unsure: int) -> int:
    """The macro state of `count` configurations in SCRATCH, sorted here; does not set FIRST."""
    macros, table = int32s(context, at.MACRO), int32s(context, at.MACRO_HASH)
    configs, found = int64s(context, at.CONFIG), int64s(context, at.SCRATCH)
    sort(found, 0, count)
    code = accepts * 2 + unsure
    for index in range(count):
        code = mixed(code, found[index])
    last = 2 * context[at.MACRO_ROOM] - 1
    place = mixed(code, count) & last
    while table[place] != 0:
        start = table[place] * 4
        if (
            macros[start + 1] == count
            and macros[start + 2] == accepts
            and macros[start + 3] == unsure
            and _same(context, int(table[place]), count)
        ):
            return int(table[place])
        place = (place + 1) & last
    made, first = context[at.MACROS], context[at.CONFIGS]
    if made == context[at.MACRO_ROOM]:
        return full(context, at.MACROS)
    if first + count > context[at.CONFIG_ROOM]:
        return full(context, at.CONFIGS)
    context[at.MACROS], context[at.CONFIGS] = made + 1, first + count
    table[place] = made
    start = made * 4
    macros[start], macros[start + 1], macros[start + 2], macros[start + 3] = (
        first,
        count,
        accepts,
        unsure,
    )
    for index in range(count):
        configs[first + index] = found[index]
    return made


@inner
def step_place(context: Context, key: int) -> int:
    """Index of `key` in the memo of steps, or of its free place."""
    keys = int64s(context, at.STEP_KEY)
    last = 2 * context[at.STEP_ROOM] - 1
    place = mixed(key, 0) & last
    while keys[place] != 0 and keys[place] != key:
        place = (place + 1) & last
    return place


@inner
def remember_step(context: Context, key: int, macro: int) -> int:
    """Memoise a step; return `macro`, or FULL."""
    if context[at.STEPS] == context[at.STEP_ROOM]:
        return full(context, at.STEPS)
    context[at.STEPS] += 1
    place = step_place(context, key)
    int64s(context, at.STEP_KEY)[place] = key
    int32s(context, at.STEP_VALUE)[place] = macro
    return macro


@inner
def rehash_pairs(context: Context, array: int, hashes: int, used: int, room: int) -> None:
    pairs, table = int64s(context, array), int32s(context, hashes)
    last = 2 * context[room] - 1
    for number in range(1, context[used]):
        place = mixed(pairs[number], 0) & last
        while table[place] != 0:
            place = (place + 1) & last
        table[place] = number


@inner
def rehash_nodes(context: Context) -> None:
    nodes, table = int32s(context, at.NODE), int32s(context, at.NODE_HASH)
    last = 2 * context[at.NODE_ROOM] - 1
    for number in range(context[at.NODES]):
        code = int(nodes[number * 6])
        for field in range(1, 6):
            code = mixed(code, nodes[number * 6 + field])
        place = code & last
        while table[place] != 0:
            place = (place + 1) & last
        table[place] = number + 1


@inner
def rehash_macros(context: Context) -> None:
    macros, table = int32s(context, at.MACRO), int32s(context, at.MACRO_HASH)
    configs = int64s(context, at.CONFIG)
    last = 2 * context[at.MACRO_ROOM] - 1
    for number in range(1, context[at.MACROS]):
        start = number * 4
        first, count = macros[start], macros[start + 1]
        code = macros[start + 2] * 2 + macros[start + 3]
        for index in range(first, first + count):
            code = mixed(code, configs[index])
        place = mixed(code, count) & last
        while table[place] != 0:
            place = (place + 1) & last
        table[place] = number


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
    found, count = int64s(context, at.SCRATCH), int(context[at.FOUND])
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
    context[at.FOUND] = kept
    return at.OK


@inner
def fork(context: Context, first: int, last: int) -> int:
    """The fork of the stacks of configurations; stacks with the same top share it."""
    listed, lowest = int64s(context, at.SCRATCH), int(context[at.WORK_ROOM])
    level = _list_level(context, first, last, lowest)
    while level >= 0:
        if listed[level + L_AT] < listed[level + L_END]:
            level = _share_top(context, level)
            continue
        stack = _link(context, level + L_LISTED, int(listed[level + L_KEPT]))
        if stack < 0 or level == lowest:
            return stack
        int32s(context, at.TARGET)[listed[level + L_WHOLE]] = stack + 1
        level = _keep(context, int(listed[level + L_ABOVE]), stack)
    return level


@inner
def _list_level(context: Context, first: int, last: int, level: int) -> int:
    """Begin a level with the stacks in the low halves of [first, last), distinct, sorted by top."""
    if level + L_LISTED > 2 * context[at.WORK_ROOM]:
        return full(context, at.VISITED)
    listed, pairs, begin = int64s(context, at.SCRATCH), int64s(context, at.STACK), level + L_LISTED
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
    listed = int64s(context, at.SCRATCH)
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
    listed, targets = int64s(context, at.SCRATCH), int32s(context, at.TARGET)
    place, end = int(listed[level + L_AT]), int(listed[level + L_END])
    top, group = int(listed[place] >> 32), place + 1
    while group < end and listed[group] >> 32 == top:
        group += 1
    listed[level + L_AT], listed[level + L_TOP] = group, top
    whole = int(listed[place] & 0xFFFFFFFF)
    if group > place + 1:
        last = _list_stacks(context, place, group, end)
        whole = _link(context, end, last) if last >= 0 else last
        if whole < 0:
            return whole
    node = int(int64s(context, at.STACK)[whole] >> 32)
    if int32s(context, at.NODE)[node * 6] != at.FORKED:
        return _keep(context, level, whole)
    if targets[node] != 0:
        return _keep(context, level, int(targets[node]) - 1)
    below = _list_level(context, place, group, end)
    if below >= 0:
        listed[below + L_ABOVE], listed[below + L_WHOLE] = level, node
    return below


@inner
def _list_stacks(context: Context, first: int, last: int, free: int) -> int:
    """List the low halves of [first, last) at `free`, forks as alternatives; return the end."""
    listed = int64s(context, at.SCRATCH)
    nodes = int32s(context, at.NODE)
    pairs = int64s(context, at.STACK)
    context[at.FORKS] += 1
    for index in range(first, last):
        stack = int(listed[index] & 0xFFFFFFFF)
        node = int(pairs[stack] >> 32)
        if nodes[node * 6] != at.FORKED:
            if free == 2 * context[at.WORK_ROOM]:
                return full(context, at.VISITED)
            listed[free] = stack
            free += 1
            continue
        while node != at.NIL:
            if free == 2 * context[at.WORK_ROOM] or context[at.VISITED] >= context[at.WORK_ROOM]:
                return full(context, at.VISITED)
            if not first_visit(context, -((context[at.FORKS] << 32) | node)):
                break  # and so were all the rest
            listed[free] = nodes[node * 6 + 1]
            free += 1
            node = int(nodes[node * 6 + 2])
    return free


@inner
def _link(context: Context, first: int, last: int) -> int:
    """The fork of listed stacks; of one stack, itself."""
    listed, node = int64s(context, at.SCRATCH), at.NIL
    sort(listed, first, last)
    if listed[first] == listed[last - 1]:
        return int(listed[first])
    for index in range(first, last):
        if index == first or listed[index] != listed[index - 1]:
            node = node_of(context, at.FORKED, int(listed[index]), node, 0, 0, 0)
            if node < 0:
                return node
    return stack_of(context, node, 0)
