"""What is read under guards, below a trie node."""

import numpy as np

from guideway.masks.kernels.closure import add_leads
from guideway.masks.kernels.layout import (
    ACCEPT,
    DOUBTFUL,
    FOUND,
    GUARDED,
    LEADS,
    NEED_JUDGE,
    NODE,
    OK,
    SCRATCH,
    TRIE_BYTE,
    TRIE_END,
)
from guideway.masks.kernels.macros import finish, settle_found
from guideway.masks.kernels.pictures import is_lead
from guideway.masks.kernels.reach import spread_found
from guideway.masks.kernels.searches import judge_put_off, put_off
from guideway.masks.kernels.step import step_config
from guideway.masks.kernels.tries import has_below, set_tokens
from guideway.masks.kernels.views import (
    Context,
    Words,
    inner,
    int32s,
    int64s,
    once,
    uint8s,
    uint64s,
)
from guideway.masks.kernels.walks import note_unsure, walk_below
from guideway.masks.kernels.worklist import begin


@once
def guarded_walk(context: Context, row: Words, below: int, node: int, stack: int) -> int:
    """Byte by byte, as long as there are guards; they mostly want one byte or two."""
    bytes_, ends = uint8s(context, TRIE_BYTE), int32s(context, TRIE_END)
    leads = uint64s(context, LEADS)
    for word in range(4):
        leads[word] = np.uint64(0)
    add_leads(context, leads, 0, node)
    child, last = below + 1, int(ends[below])
    while child < last:
        if is_lead(leads, 0, int(bytes_[child])):
            begin(context)
            code = step_config(context, node, stack, int(bytes_[child]))
            if code == OK:
                code = _behind_byte(context, row, child)
            if code < 0 and (code != NEED_JUDGE or not put_off(context)):
                return code
        child = int(ends[child])
    return judge_put_off(context)


@inner
def _behind_byte(context: Context, row: Words, at: int) -> int:
    """What the closure has found may follow the byte of a trie node."""
    code = settle_found(context)
    if code < 0:
        return code
    found, nodes = int64s(context, SCRATCH), int32s(context, NODE)
    if context[FOUND] != 0 or context[ACCEPT] != 0:
        set_tokens(context, row, at, at + 1)
    elif context[DOUBTFUL] != 0:
        note_unsure(context, at, at + 1)
    if not has_below(context, at):
        return OK
    for index in range(context[FOUND]):
        if nodes[(found[index] >> 32) * 6] == GUARDED:
            macro = finish(context)
            return walk_below(context, row, at, macro) if macro > 0 else macro
    return spread_found(context, at)
