"""Hash-consing: equal nodes, stacks, macro states, texts and sets of texts have one number.

Open addressing; tables are twice as large as the arrays, so never full. Functions return the
number, or FULL: then Python grows the array, which keeps all numbers.
"""

from guideway.masks.kernels.layout import (
    CONFIG,
    CONFIG_ROOM,
    CONFIGS,
    EXTRA,
    EXTRA_HASH,
    EXTRA_ROOM,
    EXTRAS,
    FULL,
    GENERATION,
    JUDGED,
    JUDGED_HASH,
    JUDGED_ROOM,
    JUDGEMENTS,
    MACRO,
    MACRO_HASH,
    MACRO_ROOM,
    MACROS,
    NODE,
    NODE_HASH,
    NODE_ROOM,
    NODES,
    PAIR,
    PAIR_HASH,
    PAIR_ROOM,
    PAIRS,
    SCRATCH,
    SEEN,
    STACK,
    STACK_HASH,
    STACK_ROOM,
    STACKS,
    STEP_KEY,
    STEP_ROOM,
    STEP_VALUE,
    STEPS,
    TEXT,
    TEXT_HASH,
    TEXT_ROOM,
    TEXTS,
    VISITED,
    WANT,
    WORK_ROOM,
)
from guideway.masks.kernels.lexer_layout import (
    OUTLOOK,
    OUTLOOK_HASH,
    OUTLOOK_ROOM,
    OUTLOOKS,
)
from guideway.masks.kernels.views import Context, inner, int32s, int64s


@inner
def mixed(state: int, value: int) -> int:
    """Hash of two numbers (multiply and fold; 0x9E37… is 2^64 divided by the golden ratio)."""
    state = (state ^ value) * -7046029254386353131
    return state ^ ((state >> 31) & 0x1FFFFFFFF)


@inner
def full(context: Context, slot: int) -> int:
    """Request room for a slot."""
    context[WANT] = slot
    return FULL


@inner
def node_of(context: Context, kind: int, a: int, b: int, c: int, d: int, e: int) -> int:
    nodes, table = int32s(context, NODE), int32s(context, NODE_HASH)
    last = 2 * context[NODE_ROOM] - 1
    place = mixed(mixed(mixed(mixed(mixed(kind, a), b), c), d), e) & last
    while table[place] != 0:
        at = (table[place] - 1) * 6
        if (
            nodes[at] == kind
            and nodes[at + 1] == a
            and nodes[at + 2] == b
            and nodes[at + 3] == c
            and nodes[at + 4] == d
            and nodes[at + 5] == e
        ):
            return int(table[place]) - 1
        place = (place + 1) & last
    made = context[NODES]
    if made == context[NODE_ROOM]:
        return full(context, NODES)
    context[NODES] = made + 1
    table[place] = made + 1
    at = made * 6
    nodes[at], nodes[at + 1], nodes[at + 2] = kind, a, b
    nodes[at + 3], nodes[at + 4], nodes[at + 5] = c, d, e
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
    return _pair_of(context, node, parent, STACK, STACK_HASH, STACKS, STACK_ROOM)


@inner
def text_of(context: Context, parent: int, byte: int) -> int:
    """The text `parent` with one more byte; 0 is the empty one."""
    return _pair_of(context, parent, byte, TEXT, TEXT_HASH, TEXTS, TEXT_ROOM)


@inner
def extras_of(context: Context, text: int, rest: int) -> int:
    """The set of `text` and the greater texts `rest`; 0 is the empty one."""
    return _pair_of(context, text, rest, EXTRA, EXTRA_HASH, EXTRAS, EXTRA_ROOM)


@inner
def pair_of(context: Context, state: int, inside: int) -> int:
    """The pair of a pattern's lexical state and that of its characters; none is 0."""
    return _pair_of(context, state, inside, PAIR, PAIR_HASH, PAIRS, PAIR_ROOM)


@inner
def judgement_of(context: Context, node: int, stack: int) -> int:
    """The number of a place, a pair (node, stack); none is 0."""
    return _pair_of(context, node, stack, JUDGED, JUDGED_HASH, JUDGEMENTS, JUDGED_ROOM)


@inner
def outlook_of(context: Context, below: int, macro: int) -> int:
    """The number of the outlook of a macro state of terminals below a trie node; none is 0."""
    return _pair_of(context, below, macro, OUTLOOK, OUTLOOK_HASH, OUTLOOKS, OUTLOOK_ROOM)


@inner
def first_visit(context: Context, config: int) -> bool:
    """Mark a configuration; return True if this closure had not visited it."""
    seen = int64s(context, SEEN)
    last = 2 * context[WORK_ROOM] - 1
    place = mixed(config, 0) & last
    while seen[2 * place] == context[GENERATION]:
        if seen[2 * place + 1] == config:
            return False
        place = (place + 1) & last
    seen[2 * place], seen[2 * place + 1] = context[GENERATION], config
    context[VISITED] += 1
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
    configs, found = int64s(context, CONFIG), int64s(context, SCRATCH)
    at = int32s(context, MACRO)[macro * 4]
    for index in range(count):  # noqa: SIM110  kernels have no generators
        if configs[at + index] != found[index]:
            return False
    return True


@inner
def macro_of(context: Context, count: int, accepts: int, unsure: int) -> int:
    """The macro state of `count` configurations in SCRATCH, sorted here; does not set FIRST."""
    macros, table = int32s(context, MACRO), int32s(context, MACRO_HASH)
    configs, found = int64s(context, CONFIG), int64s(context, SCRATCH)
    sort(found, 0, count)
    code = accepts * 2 + unsure
    for index in range(count):
        code = mixed(code, found[index])
    last = 2 * context[MACRO_ROOM] - 1
    place = mixed(code, count) & last
    while table[place] != 0:
        at = table[place] * 4
        if (
            macros[at + 1] == count
            and macros[at + 2] == accepts
            and macros[at + 3] == unsure
            and _same(context, int(table[place]), count)
        ):
            return int(table[place])
        place = (place + 1) & last
    made, first = context[MACROS], context[CONFIGS]
    if made == context[MACRO_ROOM]:
        return full(context, MACROS)
    if first + count > context[CONFIG_ROOM]:
        return full(context, CONFIGS)
    context[MACROS], context[CONFIGS] = made + 1, first + count
    table[place] = made
    at = made * 4
    macros[at], macros[at + 1], macros[at + 2], macros[at + 3] = first, count, accepts, unsure
    for index in range(count):
        configs[first + index] = found[index]
    return made


@inner
def step_place(context: Context, key: int) -> int:
    """Index of `key` in the memo of steps, or of its free place."""
    keys = int64s(context, STEP_KEY)
    last = 2 * context[STEP_ROOM] - 1
    place = mixed(key, 0) & last
    while keys[place] != 0 and keys[place] != key:
        place = (place + 1) & last
    return place


@inner
def remember_step(context: Context, key: int, macro: int) -> int:
    """Memoise a step; return `macro`, or FULL."""
    if context[STEPS] == context[STEP_ROOM]:
        return full(context, STEPS)
    context[STEPS] += 1
    place = step_place(context, key)
    int64s(context, STEP_KEY)[place] = key
    int32s(context, STEP_VALUE)[place] = macro
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
    nodes, table = int32s(context, NODE), int32s(context, NODE_HASH)
    last = 2 * context[NODE_ROOM] - 1
    for number in range(context[NODES]):
        code = int(nodes[number * 6])
        for field in range(1, 6):
            code = mixed(code, nodes[number * 6 + field])
        place = code & last
        while table[place] != 0:
            place = (place + 1) & last
        table[place] = number + 1


@inner
def rehash_macros(context: Context) -> None:
    macros, table = int32s(context, MACRO), int32s(context, MACRO_HASH)
    configs = int64s(context, CONFIG)
    last = 2 * context[MACRO_ROOM] - 1
    for number in range(1, context[MACROS]):
        at = number * 4
        first, count = macros[at], macros[at + 1]
        code = macros[at + 2] * 2 + macros[at + 3]
        for index in range(first, first + count):
            code = mixed(code, configs[index])
        place = mixed(code, count) & last
        while table[place] != 0:
            place = (place + 1) & last
        table[place] = number
