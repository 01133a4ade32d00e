"""Masks of newlines being read, byte by byte, as each column may be the width of a block."""

from guideway.masks.kernels.intern import macro_of
from guideway.masks.kernels.layout import (
    CONFIG,
    FOUND,
    GUARDED,
    LINE,
    MACRO,
    NODE,
    OK,
    SCRATCH,
    TRIE_BYTE,
    TRIE_DEPTH,
    TRIE_END,
    WALK,
)
from guideway.masks.kernels.macros import set_first, step
from guideway.masks.kernels.reach import put
from guideway.masks.kernels.tries import has_below, set_tokens
from guideway.masks.kernels.views import (
    Context,
    Words,
    inner,
    int32s,
    int64s,
    once,
    uint8s,
    uint16s,
)
from guideway.masks.kernels.walks import note_unsure
from guideway.masks.kernels.worklist import begin


@once
def walk_lines(context: Context, row: Words, below: int, node: int, stack: int) -> int:
    """Set the tokens of a LINE below a trie node; put what follows it on the work list."""
    depths, bytes_, ends = (
        uint16s(context, TRIE_DEPTH),
        uint8s(context, TRIE_BYTE),
        int32s(context, TRIE_END),
    )
    macros, at, last = int32s(context, WALK), below + 1, int(ends[below])
    begin(context)
    int64s(context, SCRATCH)[0] = (node << 32) | stack
    lines = _macro(context, 1)
    macros[depths[below]] = lines
    while at < last and lines >= 0:
        after = step(context, int(macros[depths[at] - 1]), int(bytes_[at]))
        if after < 0:
            return after
        if after == 0:
            at = int(ends[at])
            continue
        if int32s(context, MACRO)[after * 4 + 3] != 0:
            note_unsure(context, at, int(ends[at]))
        else:
            set_tokens(context, row, at, at + 1)
        lines = _part(context, at, after) if has_below(context, at) else 0
        macros[depths[at]] = lines
        at = at + 1 if lines != 0 else int(ends[at])
    return min(lines, OK)


@inner
def _macro(context: Context, count: int) -> int:
    macro = macro_of(context, count, 0, 0)
    if macro > 0:
        set_first(context, macro)
    return macro


@inner
def _part(context: Context, at: int, macro: int) -> int:
    """Put all but LINE nodes on the work list; return the macro state of the others, or 0."""
    macros, configs, nodes = int32s(context, MACRO), int64s(context, CONFIG), int32s(context, NODE)
    first, count, found = int(macros[macro * 4]), int(macros[macro * 4 + 1]), 0
    for index in range(first, first + count):
        node = int(configs[index] >> 32)
        core = int(nodes[node * 6 + 1]) if nodes[node * 6] == GUARDED else node
        if nodes[core * 6] == LINE:
            int64s(context, SCRATCH)[found] = configs[index]
            found += 1
        else:
            code = put(context, at, int(configs[index]))
            if code < 0:
                return code
    context[FOUND] = 0
    if found == count and macros[macro * 4 + 2] == 0:
        return macro
    return _macro(context, found) if found > 0 else 0
