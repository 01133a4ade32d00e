"""Lexical states over the few tokens that are below a trie node, without a picture of them.

A picture is made by Python and kept, which takes as long as a walk over a thousand nodes: in front
of an operand of `grammars/arithmetic.lark` 1,400 of them took 40 ms, and the walks take 1.
"""

from guideway.masks.kernels.closure import close, leads_of_found
from guideway.masks.kernels.layout import (
    ACCEPTS,
    DOUBTS,
    LEADS,
    LEX,
    LEX_FLAG,
    NEED_LEX,
    OK,
    SCRAP,
    TRIE_BYTE,
    TRIE_DEPTH,
    TRIE_END,
    WALK,
    WANT,
)
from guideway.masks.kernels.pictures import is_lead
from guideway.masks.kernels.reach import spread_found
from guideway.masks.kernels.tries import has_below, set_tokens
from guideway.masks.kernels.views import (
    Context,
    Words,
    inner,
    int32s,
    once,
    uint8s,
    uint16s,
    uint64s,
)
from guideway.masks.kernels.walks import note_unsure
from guideway.masks.kernels.worklist import begin


@inner
def is_scrap(context: Context, below: int) -> bool:
    """Whether so little is below a trie node that it is walked each time."""
    return below > 0 and int32s(context, TRIE_END)[below] - below <= context[SCRAP]


@once
def walk_scrap(context: Context, row: Words, below: int, state: int, after: int, stack: int) -> int:
    """Set the tokens that stay within a lexical state, and put what may follow it on the list.

    Args:
        context: of the network.
        row: the mask.
        below: the trie node.
        state: the lexical state.
        after: the node of what follows it,
        stack: and the stack below that.
    """
    rows, flags, states = int32s(context, LEX), uint8s(context, LEX_FLAG), int32s(context, WALK)
    bytes_, depths, ends = (
        uint8s(context, TRIE_BYTE),
        uint16s(context, TRIE_DEPTH),
        int32s(context, TRIE_END),
    )
    node, last, closed = below + 1, int(ends[below]), False
    states[depths[below]] = state
    while node < last:
        depth = depths[node]
        read = rows[int(states[depth - 1]) * 256 + bytes_[node]]
        if read == 0:
            context[WANT] = states[depth - 1]
            return NEED_LEX
        if read < 0:
            node = int(ends[node])
            continue
        if flags[read] & DOUBTS:
            note_unsure(context, node, int(ends[node]))
            node = int(ends[node])
            continue
        states[depth] = read
        set_tokens(context, row, node, node + 1)
        if flags[read] & ACCEPTS and has_below(context, node):
            if not closed:
                begin(context)
                code = close(context, after, stack)
                if code < 0:
                    return code
                leads_of_found(context)
                closed = True
            code = _leave(context, node)
            if code < 0:
                return code
        node += 1
    return OK


@inner
def _leave(context: Context, node: int) -> int:
    """Put what was found on the list below a node, if it reads any byte there."""
    bytes_, ends, leads = (
        uint8s(context, TRIE_BYTE),
        int32s(context, TRIE_END),
        uint64s(context, LEADS),
    )
    child, last = node + 1, int(ends[node])
    while child < last:
        if is_lead(leads, 0, int(bytes_[child])):
            return spread_found(context, node)
        child = int(ends[child])
    return OK
