"""The tokens of a key where undeclared keys are allowed.

Such a key is a string, too. Its picture holds for any name that has not come; afterwards the tokens
that end a declared name, or one that has come, are taken out and looked at one by one.
"""

from fairlead.masks.kernels.closure import begin, close, finish
from fairlead.masks.kernels.frames import frame_after_other, frame_field, object_field
from fairlead.masks.kernels.keys import ends_special, is_special, key_after
from fairlead.masks.kernels.layout import (
    KEY,
    MEMBER,
    NEED_PICTURE,
    NO_PICTURE,
    NODE,
    O_OTHER,
    O_QUOTED,
    OK,
    PICTURE_AT,
    QUOTE_BYTE,
    TRIE_BYTE,
    TRIE_DEPTH,
    TRIE_END,
    TRIE_NODES,
    TRIE_ROOT,
    UNKNOWN_TEXT,
    WALK,
    WANT,
)
from fairlead.masks.kernels.step import key_begins, value_follows
from fairlead.masks.kernels.views import Context, Words, inner, int32s, once, uint8s, uint16s
from fairlead.masks.kernels.walks import add_base, clear_tokens, walk, walk_exits


@inner
def is_key(context: Context, node: int) -> bool:
    """Whether a node reads a key that may be an undeclared one, by its picture."""
    nodes = int32s(context, NODE)
    if nodes[node * 6] not in (MEMBER, KEY):
        return False
    if frame_field(context, nodes[node * 6 + 1], 5) == 0:
        return False
    return int32s(context, PICTURE_AT)[_key_state(context, node)] != NO_PICTURE


@once
def key_mask(context: Context, row: Words, node: int, stack: int) -> int:
    """The tokens of a key, or of the quote before it, where undeclared keys are allowed."""
    nodes = int32s(context, NODE)
    frame = int(nodes[node * 6 + 1])
    thing = frame_field(context, frame, 0)
    state = _key_state(context, node)
    picture = int(int32s(context, PICTURE_AT)[state])
    if picture == 0:
        context[WANT] = state
        return NEED_PICTURE
    begin(context)
    other = object_field(context, thing, O_OTHER)
    unknown = frame_after_other(context, frame, UNKNOWN_TEXT)
    code = value_follows(context, thing, other, unknown, stack)
    macro = finish(context) if code == OK else code
    if macro < 0:
        return macro
    add_base(context, row, picture, -1)
    code = walk_exits(context, row, picture, macro, 0, -1)
    if code < 0:
        return code
    return _special_keys(context, row, node, stack, nodes[node * 6] == MEMBER)


@inner
def _key_state(context: Context, node: int) -> int:
    """The lexical state of a key, or of the quote before it."""
    nodes = int32s(context, NODE)
    if nodes[node * 6] == KEY:
        return int(nodes[node * 6 + 4])
    thing = frame_field(context, int(nodes[node * 6 + 1]), 0)
    return object_field(context, thing, O_QUOTED)


@once
def _special_keys(context: Context, row: Words, node: int, stack: int, quoted: bool) -> int:
    """Look anew at the tokens that end a declared name, or one that has come."""
    roots, ends, keys = int32s(context, TRIE_ROOT), int32s(context, TRIE_END), int32s(context, WALK)
    first, last = 0, context[TRIE_NODES]
    if quoted:
        root = int(roots[QUOTE_BYTE])
        first, last = root + 1, int(ends[root]) if root >= 0 else 0
        node = key_begins(context, int(int32s(context, NODE)[node * 6 + 1]))
        if node < 0:
            return node
    if not is_special(context, node) or first >= last:
        return OK
    depths, bytes_ = uint16s(context, TRIE_DEPTH), uint8s(context, TRIE_BYTE)
    keys[depths[first] - 1] = node
    at = first
    while at < last:
        key, byte = int(keys[depths[at] - 1]), int(bytes_[at])
        if byte == QUOTE_BYTE and int32s(context, NODE)[key * 6 + 5] == 0:
            if ends_special(context, key):
                code = _end_special(context, row, key, stack, at)
                if code < 0:
                    return code
            at = int(ends[at])
            continue
        after = key_after(context, key, byte)
        if after < 0:
            return after
        if after == 0 or not is_special(context, after):
            at = int(ends[at])
        else:
            keys[depths[at]] = after
            at += 1
    return OK


@once
def _end_special(context: Context, row: Words, key: int, stack: int, at: int) -> int:
    """The tokens at and below the trie node of a closing quote."""
    end = int(int32s(context, TRIE_END)[at])
    depth = uint16s(context, TRIE_DEPTH)[at]
    clear_tokens(context, row, at, end)
    begin(context)
    code = close(context, key, stack)
    macro = finish(context) if code == OK else code
    if macro < 0:
        return macro
    walked = int32s(context, WALK)
    kept = walked[depth - 1]
    code = walk(context, row, at, end, macro)
    walked[depth - 1] = kept
    return code
