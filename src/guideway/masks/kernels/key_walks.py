"""Tokens of declared keys: the token trie and the key trie are walked together.

Where undeclared keys are allowed too, each key is first read as one; then tokens that end a
declared or a repeated name are cleared here and checked again.
"""

from typing import Final

from guideway.masks.kernels.frames import (
    frame_after_name,
    frame_after_other,
    frame_field,
    has_extra,
    key_ends,
    may_come,
    name_field,
    object_field,
)
from guideway.masks.kernels.keys import IN_DOUBT, is_special, key_step, may_end
from guideway.masks.kernels.layout import (
    KEY_ESCAPE,
    KEY_STATE,
    KEY_TEXT,
    KEY_TRIE,
    KEY_WALK,
    MEMBER,
    N_VALUE,
    NODE,
    O_KEYS,
    O_OTHER,
    O_START,
    OK,
    QUOTE_BYTE,
    TRIE_BYTE,
    TRIE_DEPTH,
    TRIE_END,
    UNKNOWN_TEXT,
)
from guideway.masks.kernels.reach import spread_found
from guideway.masks.kernels.step import value_follows
from guideway.masks.kernels.tries import child_of, clear_tokens, has_below, set_tokens
from guideway.masks.kernels.views import (
    Context,
    Words,
    inner,
    int32s,
    once,
    uint8s,
    uint16s,
)
from guideway.masks.kernels.walks import note_unsure
from guideway.masks.kernels.worklist import begin

_CLOSED: Final = 0  # only declared names may come
_AGAIN: Final = 1  # undeclared names too; their tokens are set already
_OPEN: Final = 2  # undeclared names too


@once
def _begin_key(context: Context, row: Words, below: int, node: int, how: int) -> int:
    """Load the key of a KEY or MEMBER; return the trie node below which it goes on, -1 if none."""
    nodes = int32s(context, NODE)
    if nodes[node * 6] != MEMBER:
        context[KEY_TRIE], context[KEY_TEXT] = nodes[node * 6 + 2], nodes[node * 6 + 3]
        context[KEY_STATE], context[KEY_ESCAPE] = nodes[node * 6 + 4], nodes[node * 6 + 5]
        return below
    thing = frame_field(context, int(nodes[node * 6 + 1]), 0)
    context[KEY_TRIE], context[KEY_TEXT] = object_field(context, thing, O_KEYS), 0
    context[KEY_STATE], context[KEY_ESCAPE] = object_field(context, thing, O_START), 0
    quote = child_of(context, below, QUOTE_BYTE)
    if quote >= 0 and how != _AGAIN:
        set_tokens(context, row, quote, quote + 1)
    return quote


@inner
def walk_keys(context: Context, row: Words, below: int, node: int, stack: int) -> int:
    """Set the tokens of keys below a trie node; what follows them goes on the work list."""
    frame = int(int32s(context, NODE)[node * 6 + 1])
    how = _CLOSED if frame_field(context, frame, 5) == 0 else _AGAIN if below == 0 else _OPEN
    texts = frame_field(context, frame, 2) if how != _CLOSED else 0
    place = _begin_key(context, row, below, node, how)
    if place < 0 or (how == _AGAIN and not is_special(context, frame)):
        return OK
    bytes_, ends, above = (
        uint8s(context, TRIE_BYTE),
        int32s(context, TRIE_END),
        int32s(context, KEY_WALK),
    )
    top = int(uint16s(context, TRIE_DEPTH)[place])
    _store(context, top, place)
    at, depth = place + 1, top
    while depth >= top:
        parent = int(above[depth * 5 + 4])
        if at == ends[parent]:
            depth -= 1
            continue
        byte = int(bytes_[at])
        _load(context, depth)
        if byte == QUOTE_BYTE and context[KEY_ESCAPE] == 0:
            code = _end_name(context, row, frame, stack, at, how)
            if code < 0:
                return code
            at = int(ends[at])
            continue
        alive = key_step(context, frame, byte, texts)
        if alive < 0:
            return alive
        if alive == IN_DOUBT:
            clear_tokens(context, row, at, int(ends[at]))
            note_unsure(context, at, int(ends[at]))
        if alive in (0, IN_DOUBT) or (how == _AGAIN and not is_special(context, frame)):
            at = int(ends[at])
            continue
        if how != _AGAIN:
            set_tokens(context, row, at, at + 1)
        depth += 1
        _store(context, depth, at)
        at += 1
    return OK


@inner
def _store(context: Context, depth: int, node: int) -> None:
    keys = int32s(context, KEY_WALK)
    keys[depth * 5], keys[depth * 5 + 1] = context[KEY_TRIE], context[KEY_TEXT]
    keys[depth * 5 + 2], keys[depth * 5 + 3] = context[KEY_STATE], context[KEY_ESCAPE]
    keys[depth * 5 + 4] = node


@inner
def _load(context: Context, depth: int) -> None:
    keys = int32s(context, KEY_WALK)
    context[KEY_TRIE], context[KEY_TEXT] = keys[depth * 5], keys[depth * 5 + 1]
    context[KEY_STATE], context[KEY_ESCAPE] = keys[depth * 5 + 2], keys[depth * 5 + 3]


@once
def _end_name(context: Context, row: Words, frame: int, stack: int, at: int, how: int) -> int:
    """Set the tokens at and below the trie node of a closing quote."""
    thing, trie = frame_field(context, frame, 0), int(context[KEY_TRIE])
    extras, end = frame_field(context, frame, 2), int(int32s(context, TRIE_END)[at])
    rank = key_ends(context, thing, trie) if trie >= 0 else -1
    if rank < 0:
        came = has_extra(context, extras, int(context[KEY_TEXT]))
        if how == _AGAIN and came:
            clear_tokens(context, row, at, end)
        ends = may_end(context, int(context[KEY_STATE])) if how == _OPEN and not came else 0
        if ends <= 0:
            return ends
        if has_extra(context, extras, UNKNOWN_TEXT):
            note_unsure(context, at, end)
            return OK
        after = frame_after_other(context, frame, UNKNOWN_TEXT)
        return _value(context, row, thing, object_field(context, thing, O_OTHER), after, stack, at)
    if how == _AGAIN:
        clear_tokens(context, row, at, end)
    if not may_come(context, frame, rank):
        return OK
    value, after = name_field(context, thing, rank, N_VALUE), frame_after_name(context, frame, rank)
    return _value(context, row, thing, value, after, stack, at)


@inner
def _value(
    context: Context, row: Words, thing: int, value: int, frame: int, stack: int, at: int
) -> int:
    """Set the token that ends with a name, and go on with its value."""
    set_tokens(context, row, at, at + 1)
    if not has_below(context, at):
        return OK
    begin(context)
    code = value_follows(context, thing, value, frame, stack)
    return spread_found(context, at) if code == OK else code
