"""Closures: the configurations that read a byte, and their closure after it.

A configuration is a node that reads next and the stack below it.
"""

import numpy as np

from guideway.automaton.jit.operands import Sets, checked, inner, once
from guideway.automaton.kernels import layout as at
from guideway.automaton.kernels.bounds import after_byte
from guideway.automaton.kernels.intern import first_visit, node_of, stack_of, text_of
from guideway.automaton.kernels.lalr import columns_kept
from guideway.automaton.kernels.layout import Context
from guideway.automaton.kernels.lexer_closure import (
    expand_line,
    expand_scan,
    leaves_lexer,
    step_lexer,
)
from guideway.automaton.kernels.object_keys import (
    IN_DOUBT,
    any_may_come,
    frame_after_name,
    frame_after_other,
    frame_of_class,
    has_extra,
    key_after,
    key_child,
    key_ends,
    may_come,
    may_end,
    name_of,
    some_left,
)
from guideway.automaton.kernels.shared_closures import (
    GONE,
    add,
    enter,
    guards_after,
    guards_ended,
    is_shared,
    leave_entry,
    push,
    push_under,
    with_guard,
)
from guideway.automaton.kernels.state_masks import expand_state


@inner
def close(context: Context, node: int, stack: int) -> int:
    """Add the closure of a configuration."""
    checked(push(context, node, stack))
    return close_pushed(context)


@inner
def close_pushed(context: Context) -> int:
    code = at.OK
    scratch, nodes = context.work.configs, context.nodes
    while code == at.OK and context.todo > 0:
        context.todo -= 1
        config = scratch[context.work.room + context.todo]
        if first_visit(context, config):
            node, guards = config >> 32, 0
            if nodes[node].kind == at.GUARDED:
                node, guards = nodes[node].a, nodes[node].b
            context.guarding = guards
            code = _expand(context, node, config & 0xFFFFFFFF)
    context.guarding = 0
    return code


@once
def _expand(context: Context, node: int, stack: int) -> int:  # noqa: PLR0911  one arm for each kind
    kind, a, b = context.nodes[node].kind, context.nodes[node].a, context.nodes[node].b
    if kind == at.NIL:
        return _pop(context, stack)
    if kind == at.SEQUENCE:
        return push_under(context, a, b, stack)
    if kind in (at.LEXEME, at.BOUNDED):
        return _lexeme(context, node, a, at.NIL, stack)
    if kind in (at.CAPTURE, at.MARK):
        return _capture(context, node, stack) if kind == at.CAPTURE else _mark(context, a, stack)
    if kind in (at.LITERAL, at.MEMBER):
        return add(context, node, stack)
    if kind == at.KEY:
        return _lexeme(context, node, context.nodes[node].d, at.NIL, stack)
    if kind == at.COUNTED:
        return _counted(context, node, stack)
    if kind == at.CHOICE:
        return _choice(context, a, b, stack)
    return _expand_rare(context, kind, node, a, stack)


@once
def _expand_rare(context: Context, kind: int, node: int, frame: int, stack: int) -> int:  # noqa: PLR0911  one arm for each kind
    if kind == at.AFTER_BRACE:
        return _opened(context, frame, stack)
    if kind == at.AFTER_VALUE:
        return _after_member(context, frame, stack)
    if kind == at.MEMBERS:
        return _members(context, frame, stack)
    if kind in (at.EXPR, at.RESUME, at.NAMED):
        return _enter_translated(context, node, stack)
    if kind in (at.LINE, at.WORDS):
        return (
            _words(context, node, stack) if kind == at.WORDS else expand_line(context, node, stack)
        )
    if kind in (at.FORKED, at.ENTRY):
        return _forked(context, node) if kind == at.FORKED else leave_entry(context, node)
    if kind in (at.PUSH_STATES, at.SCAN, at.LEXED, at.AFTER_LINE, at.CLEAR, at.LEXER):
        return expand_scan(context, kind, node, stack)
    if kind in (at.AHEAD, at.STOP):
        return _change_guards(context, kind, node, stack)
    if kind == at.DOUBT:
        context.doubtful |= 1
    return at.OK


@once
def _enter_translated(context: Context, node: int, stack: int) -> int:
    """Expand a node that Python translates; see `target`."""
    target = context.nodes[node].target - 1
    if target < 0:
        context.want = node
        return at.NEED_NODE
    if is_shared(context, node):
        return enter(context, node, target, stack)
    return push(context, target, stack)


@once
def _change_guards(context: Context, kind: int, node: int, stack: int) -> int:
    """Add a guard (AHEAD), or end the guards of a level (STOP)."""
    nodes, guards = context.nodes, context.guarding
    if kind == at.AHEAD:
        state, level = nodes[node].a, nodes[node].b
        guards = with_guard(context, guards, state, level)
    else:
        guards = guards_ended(context, guards, nodes[node].a)
    if guards < 0:
        return at.OK if guards == GONE else guards
    context.guarding = guards
    return push(context, at.NIL, stack)


@inner
def _pop(context: Context, stack: int) -> int:
    if stack == 0:
        if context.guarding != 0:
            code = guards_ended(context, context.guarding, -1)
            if code < 0:
                return at.OK if code == GONE else code
        context.accept = 1
        return at.OK
    top = context.stacks[stack]
    return push(context, top >> 32, top & 0xFFFFFFFF)


@inner
def _forked(context: Context, node: int) -> int:
    code, rest = _pop(context, context.nodes[node].a), context.nodes[node].b
    return push(context, rest, 0) if code == at.OK and rest != at.NIL else code


@inner
def _choice(context: Context, start: int, count: int, stack: int) -> int:
    edges = context.edges
    for option in range(start, start + count):
        checked(push(context, edges[option], stack))
    return at.OK


@inner
def _lexeme(context: Context, node: int, state: int, after: int, stack: int) -> int:
    """Keep a lexical state that reads on; if it accepts, go on with `after`."""
    checked(expand_state(context, state))
    flags = context.lexer_flags[state]
    if flags & at.DOUBTS:
        context.doubtful |= 1
        return at.OK
    if flags & at.GOES_ON:
        checked(add(context, node, stack))
    return push(context, after, stack) if flags & at.ACCEPTS else at.OK


@inner
def _counted(context: Context, node: int, stack: int) -> int:
    """Between items: end if there are enough, read another if one is allowed."""
    state, low, high = context.nodes[node].a, context.nodes[node].b, context.nodes[node].c
    checked(expand_state(context, state))
    between = state == context.nodes[node].d
    if between and low == 0:
        checked(push(context, at.NIL, stack))
    return at.OK if between and high == 0 else add(context, node, stack)


@inner
def _capture(context: Context, node: int, stack: int) -> int:
    state, text, what = context.nodes[node].a, context.nodes[node].b, context.nodes[node].c
    if context.blur != 0 and text != at.UNKNOWN_TEXT:
        node = checked(node_of(context, at.CAPTURE, state, at.UNKNOWN_TEXT, what, 0, 0))
        return push(context, node, stack)
    after = at.NIL
    if context.lexer_flags[state] & at.ACCEPTS:
        after = checked(node_of(context, at.RESUME, what, text, 0, 0, 0))
    return _lexeme(context, node, state, after, stack)


@inner
def _words(context: Context, node: int, stack: int) -> int:
    """Read on in a key trie; if a name ends here, go on with the stack."""
    thing, trie = context.nodes[node].a, context.nodes[node].b
    code = push(context, at.NIL, stack) if key_ends(context, thing, trie) >= 0 else at.OK
    if code == at.OK and context.key_nodes[trie].children > 0:
        code = add(context, node, stack)
    return code


@inner
def _mark(context: Context, what: int, stack: int) -> int:
    """End a capture: the rest depends on the captured text."""
    if context.blur == 0 and context.mark_text == 0:
        context.doubtful |= at.MARKED
        return at.OK
    text = at.UNKNOWN_TEXT if context.blur != 0 else context.mark_text - 1
    return push(context, checked(node_of(context, at.RESUME, what, text, 0, 0, 0)), stack)


@inner
def _has_next(context: Context, frame: int) -> bool:
    """Return True if another member may come, classes aside."""
    names = context.objects[context.frames[frame].thing].name_count
    return context.frames[frame].others != 0 or any_may_come(context, frame, 0, names)


@inner
def _counts(context: Context, thing: int) -> int:
    """`class_or_counts` of an array of different strings, else 0."""
    return context.objects[thing].class_or_counts if context.objects[thing].class_count == 0 else 0


@inner
def _has_come(context: Context, frame: int, count: int) -> bool:
    extras = context.frames[frame].extras
    while extras != 0 and count > 0:
        extras, count = context.extras[extras] & 0xFFFFFFFF, count - 1
    return count <= 0


@inner
def _next_member(context: Context, frame: int) -> int:
    """The node of another member, DEAD if none may come."""
    thing = context.frames[frame].thing
    if context.objects[thing].class_count != 0:
        return node_of(context, at.MEMBERS, frame, 0, 0, 0, 0)
    most = _counts(context, thing) >> 16
    full = most > 0 and _has_come(context, frame, most - 1)
    if full or not _has_next(context, frame):
        return at.DEAD
    left = some_left(context, frame, 0, context.objects[thing].start, 0)
    if left == IN_DOUBT:
        context.doubtful |= 1
        return at.DEAD
    return node_of(context, at.MEMBER, frame, 0, 0, 0, 0) if left > 0 else left


@once
def _members(context: Context, frame: int, stack: int) -> int:
    """Push MEMBER for the names and for each class of undeclared keys."""
    thing = context.objects[context.frames[frame].thing]
    if _has_next(context, frame):
        checked(_member(context, frame, stack))
    for number in range(thing.class_or_counts, thing.class_or_counts + thing.class_count):
        checked(_member(context, frame_of_class(context, frame, number), stack))
    return at.OK


@inner
def _member(context: Context, frame: int, stack: int) -> int:
    member = checked(node_of(context, at.MEMBER, checked(frame), 0, 0, 0, 0))
    return push(context, member, stack)


@inner
def _opened(context: Context, frame: int, stack: int) -> int:
    if context.frames[frame].missing == 0:
        checked(push(context, at.CLOSE_BRACE, stack))
    member = _next_member(context, frame)
    return push(context, member, stack) if member > at.DEAD else member


@inner
def _after_member(context: Context, frame: int, stack: int) -> int:
    thing = context.frames[frame].thing
    counts = _counts(context, thing)
    if context.frames[frame].missing == 0 and _has_come(context, frame, counts & 0xFFFF):
        checked(push(context, context.objects[thing].closing, stack))
    member = _next_member(context, frame)
    if member <= at.DEAD:
        return member
    return push_under(context, context.objects[thing].comma, member, stack)


@inner
def leads_of_found(context: Context) -> None:
    """Write to `leads` the bytes that may follow; all of them if `doubtful`."""
    leads, found_ = context.leads, context.work.configs
    for word in range(4):
        leads[word] = ~np.uint64(0) if context.doubtful != 0 else np.uint64(0)
    for index in range(context.found):
        add_leads(context, leads, found_[index] >> 32)


@inner
def add_leads(context: Context, leads: Sets, node: int) -> None:
    """Add the bytes that a node reads to a set."""
    one = context.nodes[node]
    if one.kind == at.GUARDED:
        one = context.nodes[one.a]
    kind = one.kind
    if kind in (at.LEXED, at.PER_STACK):
        return
    if kind == at.LEXER:
        first = context.macros[one.a].leads
        for word in range(4):
            leads[word] |= first[word]
    elif kind in (at.LITERAL, at.MEMBER):
        _add_lead(leads, at.QUOTE_BYTE if kind == at.MEMBER else context.pool[one.a])
    elif kind == at.WORDS:
        key = context.key_nodes[one.b]
        for child in range(key.child, key.child + key.children):
            _add_lead(leads, context.key_nodes[child].byte)
    else:
        lexical = context.lexer_leads[one.d if kind == at.KEY else one.a].words
        for word in range(4):
            leads[word] |= lexical[word]


@inner
def _add_lead(leads: Sets, byte: int) -> None:
    leads[byte >> 6] |= np.uint64(1) << np.uint64(byte & 63)


@inner
def step_config(context: Context, node: int, stack: int, byte: int) -> int:
    """Add the closure of a configuration after one byte."""
    nodes, guards = context.nodes, 0
    if leaves_lexer(context, node):
        return at.OK
    if nodes[node].kind == at.GUARDED:
        guards = guards_after(context, nodes[node].b, byte)
        if guards < 0:
            return at.OK if guards == GONE else guards
        node = nodes[node].a
    context.guarding = guards
    return _step_config(context, node, stack, byte)


@once
def _step_config(context: Context, node: int, stack: int, byte: int) -> int:  # noqa: PLR0911  one arm for each kind
    kind, a, b = context.nodes[node].kind, context.nodes[node].a, context.nodes[node].b
    if kind == at.LITERAL:
        if context.pool[a] != byte:
            return at.OK
        after = context.nodes[node].c
        if b > 1:
            after = node_of(context, at.LITERAL, a + 1, b - 1, after, 0, 0)
        return close(context, checked(after), stack)
    if kind == at.KEY:
        return _step_key(context, node, stack, byte)
    if kind == at.WORDS:
        child = key_child(context, b, byte)
        after = node_of(context, at.WORDS, a, child, 0, 0, 0) if child >= 0 else at.DEAD
        return close(context, after, stack) if after > at.DEAD else after
    if kind == at.MEMBER:
        return _step_member(context, a, stack) if byte == at.QUOTE_BYTE else at.OK
    if kind == at.LEXER:
        checked(step_lexer(context, node, stack, byte))
        return close_pushed(context)
    state = context.transitions[a].after[byte]
    if state < 0:
        return at.OK
    if state == 0:
        context.want = a
        return at.NEED_LEX
    return _step_lexical(context, node, state, stack, byte)


@once
def _step_lexical(context: Context, node: int, state: int, stack: int, byte: int) -> int:
    kind = context.nodes[node].kind
    if kind == at.CAPTURE:
        return _step_capture(context, node, state, stack, byte)
    if kind == at.COUNTED:
        return _step_counted(context, node, state, stack)
    if kind == at.BOUNDED:
        after = after_byte(context, node, state, byte)
        return close(context, after, stack) if after > at.DEAD else after
    if kind == at.LINE:
        return _step_line(context, node, state, stack, byte)
    return close(context, checked(node_of(context, at.LEXEME, state, 0, 0, 0, 0)), stack)


@once
def _step_counted(context: Context, node: int, state: int, stack: int) -> int:
    before, low = context.nodes[node].a, context.nodes[node].b
    high, between = context.nodes[node].c, context.nodes[node].d
    if before == between and high == 0:
        return at.OK
    if state == between:
        low, high = max(low - 1, 0), high - 1 if high > 0 else high
    after = checked(node_of(context, at.COUNTED, state, low, high, between, 0))
    return close(context, after, stack)


@once
def _step_line(context: Context, node: int, state: int, stack: int, byte: int) -> int:
    columns, tab = context.nodes[node].b, context.nodes[node].d
    if byte == at.NEWLINE_BYTE:
        columns = 0
    elif columns >= 0 and byte in (at.BLANK_BYTE, at.TAB_BYTE):
        columns = checked(
            columns_kept(context, stack, columns + (1 if byte == at.BLANK_BYTE else tab))
        )
    following, free = context.nodes[node].c, context.nodes[node].e
    after = checked(node_of(context, at.LINE, state, columns, following, tab, free))
    return close(context, after, stack)


@once
def _step_capture(context: Context, node: int, state: int, stack: int, byte: int) -> int:
    text, what = context.nodes[node].b, context.nodes[node].c
    if text != at.UNKNOWN_TEXT:
        text = checked(text_of(context, text, byte))
    return close(context, checked(node_of(context, at.CAPTURE, state, text, what, 0, 0)), stack)


@inner
def _step_member(context: Context, frame: int, stack: int) -> int:
    thing = context.frames[frame].thing
    start, keys = context.objects[thing].start, context.objects[thing].keys
    return close(context, checked(node_of(context, at.KEY, frame, keys, 0, start, 0)), stack)


@once
def _step_key(context: Context, key: int, stack: int, byte: int) -> int:
    if byte == at.QUOTE_BYTE and context.nodes[key].e == 0:
        return _end_key(context, key, stack)
    after = key_after(context, key, byte)
    return close(context, after, stack) if after > 0 else after


@once
def _end_key(context: Context, key: int, stack: int) -> int:
    """Read the closing quote of a key, and go on with its value if the name is allowed."""
    frame, trie, text = context.nodes[key].a, context.nodes[key].b, context.nodes[key].c
    thing = context.frames[frame].thing
    rank = key_ends(context, thing, trie) if trie >= 0 else -1
    if rank >= 0:
        if not may_come(context, frame, rank):
            return at.OK
        value = name_of(context, thing, rank).value
        return value_follows(context, thing, value, frame_after_name(context, frame, rank), stack)
    ends = may_end(context, context.nodes[key].d) if context.frames[frame].others != 0 else 0
    if ends <= 0:
        return ends
    extras = context.frames[frame].extras
    if has_extra(context, extras, text):
        return at.OK
    if has_extra(context, extras, at.UNKNOWN_TEXT):
        context.doubtful |= 1
        return at.OK
    value = context.objects[thing].other
    return value_follows(context, thing, value, frame_after_other(context, frame, text), stack)


@inner
def value_follows(context: Context, thing: int, value: int, frame: int, stack: int) -> int:
    """Add the closure of a colon, a value, and the rest of the object."""
    if context.objects[thing].bare != 0:
        return close(context, value, stack)
    if frame < 0:
        return frame
    behind = checked(node_of(context, at.AFTER_VALUE, frame, 0, 0, 0, 0))
    stack = checked(stack_of(context, behind, stack))
    return close(context, context.objects[thing].colon, checked(stack_of(context, value, stack)))
