"""Steps of configurations by one byte."""

from guideway.masks.kernels.bounds import after_byte
from guideway.masks.kernels.closure import close, close_pushed
from guideway.masks.kernels.frames import (
    frame_after_name,
    frame_after_other,
    frame_field,
    has_extra,
    key_child,
    key_ends,
    may_come,
    name_field,
    object_field,
)
from guideway.masks.kernels.guards import GONE, guards_after
from guideway.masks.kernels.intern import node_of, stack_of, text_of
from guideway.masks.kernels.keys import key_after, may_end
from guideway.masks.kernels.lalr import told_apart
from guideway.masks.kernels.layout import (
    BEHIND,
    BLANK_BYTE,
    BOUNDED,
    CAPTURE,
    COUNTED,
    DEAD,
    DOUBTFUL,
    GUARDED,
    GUARDING,
    KEY,
    LEX,
    LEXEME,
    LINE,
    LITERAL,
    MEMBER,
    N_VALUE,
    NEED_LEX,
    NEWLINE_BYTE,
    NODE,
    O_BARE,
    O_COLON,
    O_KEYS,
    O_OTHER,
    O_START,
    OK,
    POOL,
    QUOTE_BYTE,
    TAB_BYTE,
    UNKNOWN_TEXT,
    WANT,
    WORDS,
)
from guideway.masks.kernels.lexer_layout import LEXER
from guideway.masks.kernels.lexers import leaves_lexer, step_lexer
from guideway.masks.kernels.views import Context, inner, int32s, once, uint8s


@inner
def step_config(context: Context, node: int, stack: int, byte: int) -> int:
    """Add the closure of a configuration after one byte."""
    nodes, guards = int32s(context, NODE), 0
    if leaves_lexer(context, node):
        return OK
    if nodes[node * 6] == GUARDED:
        guards = guards_after(context, int(nodes[node * 6 + 2]), byte)
        if guards < 0:
            return OK if guards == GONE else guards
        node = int(nodes[node * 6 + 1])
    context[GUARDING] = guards
    return _step_config(context, node, stack, byte)


@once
def _step_config(context: Context, node: int, stack: int, byte: int) -> int:  # noqa: PLR0911  one arm for each kind
    nodes = int32s(context, NODE)
    kind, a, b = nodes[node * 6], int(nodes[node * 6 + 1]), int(nodes[node * 6 + 2])
    if kind == LITERAL:
        if uint8s(context, POOL)[a] != byte:
            return OK
        after = int(nodes[node * 6 + 3])
        if b > 1:
            after = node_of(context, LITERAL, a + 1, b - 1, after, 0, 0)
        return close(context, after, stack) if after >= 0 else after
    if kind == KEY:
        return _step_key(context, node, stack, byte)
    if kind == WORDS:
        child = key_child(context, b, byte)
        after = node_of(context, WORDS, a, child, 0, 0, 0) if child >= 0 else DEAD
        return close(context, after, stack) if after > DEAD else after
    if kind == MEMBER:
        return _step_member(context, a, stack) if byte == QUOTE_BYTE else OK
    if kind == LEXER:
        code = step_lexer(context, node, stack, byte)
        return close_pushed(context) if code == OK else code
    state = int(int32s(context, LEX)[a * 256 + byte])
    if state < 0:
        return OK
    if state == 0:
        context[WANT] = a
        return NEED_LEX
    return _step_lexical(context, node, state, stack, byte)


@once
def _step_lexical(context: Context, node: int, state: int, stack: int, byte: int) -> int:
    kind = int32s(context, NODE)[node * 6]
    if kind == CAPTURE:
        return _step_capture(context, node, state, stack, byte)
    if kind == COUNTED:
        return _step_counted(context, node, state, stack)
    if kind == BOUNDED:
        return _step_bounded(context, node, state, stack, byte)
    if kind == LINE:
        return _step_line(context, node, state, stack, byte)
    after = node_of(context, LEXEME, state, 0, 0, 0, 0)
    return close(context, after, stack) if after >= 0 else after


@once
def _step_counted(context: Context, node: int, state: int, stack: int) -> int:
    nodes = int32s(context, NODE)
    before, low = nodes[node * 6 + 1], nodes[node * 6 + 2]
    high, between = nodes[node * 6 + 3], nodes[node * 6 + 4]
    if before == between and high == 0:
        return OK
    if state == between:
        low, high = max(low - 1, 0), high - 1 if high > 0 else high
    after = node_of(context, COUNTED, state, low, high, between, 0)
    return close(context, after, stack) if after >= 0 else after


@once
def _step_bounded(context: Context, node: int, state: int, stack: int, byte: int) -> int:
    after = after_byte(context, node, state, byte)
    return close(context, after, stack) if after > DEAD else after


@once
def _step_line(context: Context, node: int, state: int, stack: int, byte: int) -> int:
    nodes = int32s(context, NODE)
    columns, tab = int(nodes[node * 6 + 2]), int(nodes[node * 6 + 4])
    if byte == NEWLINE_BYTE:
        columns = 0
    elif columns >= 0 and byte in (BLANK_BYTE, TAB_BYTE):
        columns = told_apart(context, stack, columns + (1 if byte == BLANK_BYTE else tab))
        if columns < 0:
            return columns
    following, free = int(nodes[node * 6 + 3]), int(nodes[node * 6 + 5])
    after = node_of(context, LINE, state, columns, following, tab, free)
    return close(context, after, stack) if after >= 0 else after


@once
def _step_capture(context: Context, node: int, state: int, stack: int, byte: int) -> int:
    nodes = int32s(context, NODE)
    text, what = int(nodes[node * 6 + 2]), nodes[node * 6 + 3]
    if text != UNKNOWN_TEXT:
        text = text_of(context, text, byte)
        if text < 0:
            return text
    after = node_of(context, CAPTURE, state, text, what, 0, 0)
    return close(context, after, stack) if after >= 0 else after


@inner
def _step_member(context: Context, frame: int, stack: int) -> int:
    thing = frame_field(context, frame, 0)
    start, keys = object_field(context, thing, O_START), object_field(context, thing, O_KEYS)
    key = node_of(context, KEY, frame, keys, 0, start, 0)
    return close(context, key, stack) if key >= 0 else key


@once
def _step_key(context: Context, key: int, stack: int, byte: int) -> int:
    nodes = int32s(context, NODE)
    if byte == QUOTE_BYTE and nodes[key * 6 + 5] == 0:
        return _end_key(context, key, stack)
    after = key_after(context, key, byte)
    return close(context, after, stack) if after > 0 else after


@once
def _end_key(context: Context, key: int, stack: int) -> int:
    """Read the closing quote of a key, and go on with its value if the name is allowed."""
    nodes = int32s(context, NODE)
    frame, trie, text = int(nodes[key * 6 + 1]), nodes[key * 6 + 2], int(nodes[key * 6 + 3])
    thing = frame_field(context, frame, 0)
    rank = key_ends(context, thing, trie) if trie >= 0 else -1
    if rank >= 0:
        if not may_come(context, frame, rank):
            return OK
        value = name_field(context, thing, rank, N_VALUE)
        return value_follows(context, thing, value, frame_after_name(context, frame, rank), stack)
    ends = may_end(context, int(nodes[key * 6 + 4])) if frame_field(context, frame, 5) != 0 else 0
    if ends <= 0:
        return ends
    extras = frame_field(context, frame, 2)
    if has_extra(context, extras, text):
        return OK
    if has_extra(context, extras, UNKNOWN_TEXT):
        context[DOUBTFUL] |= 1
        return OK
    value = object_field(context, thing, O_OTHER)
    return value_follows(context, thing, value, frame_after_other(context, frame, text), stack)


@inner
def value_follows(context: Context, thing: int, value: int, frame: int, stack: int) -> int:
    """Add the closure of a colon, a value, and the rest of the object."""
    if object_field(context, thing, O_BARE) != 0:
        return close(context, value, stack)
    if frame < 0:
        return frame
    behind = node_of(context, BEHIND, frame, 0, 0, 0, 0)
    if behind < 0:
        return behind
    stack = stack_of(context, behind, stack)
    if stack < 0:
        return stack
    stack = stack_of(context, value, stack)
    return close(context, object_field(context, thing, O_COLON), stack) if stack >= 0 else stack
