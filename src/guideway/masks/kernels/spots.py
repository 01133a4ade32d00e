"""Where each character begins in the vocabulary's trie: what jumps go to.

What this module does not know: lexical states.
"""

from typing import Final

from guideway.masks.kernels.characters import INVALID, code_after, is_space
from guideway.masks.kernels.jump_layout import (
    BROKEN_SPOT,
    CHARS,
    GROUP,
    JUMP_WORDS,
    OTHER_SPOT,
    SPACED_SPOT,
    SPOT,
    SPOT_LIST,
)
from guideway.masks.kernels.layout import BEGUN, PART, TRIE_BYTE, TRIE_DEPTH, TRIE_END, WALK
from guideway.masks.kernels.skips import BETWEEN
from guideway.masks.kernels.views import (
    Context,
    inner,
    int32s,
    int64s,
    lowest_bit,
    once,
    uint8s,
    uint16s,
)

ASCII: Final = 0x80


@inner
def spot_nodes(context: Context) -> None:
    """Write down where each character begins; after `survey_parts`."""
    bytes_, depths, parts = (
        uint8s(context, TRIE_BYTE),
        uint16s(context, TRIE_DEPTH),
        uint8s(context, PART),
    )
    states, leads, chars = int32s(context, WALK), int32s(context, BEGUN), uint16s(context, CHARS)
    states[0] = states[1] = 0
    for node in range(1, int32s(context, TRIE_END)[0]):
        depth, byte = int(depths[node]), int(bytes_[node])
        before = int(states[depth * 2 - 2]) & 15
        code = code_after(int(states[depth * 2 - 2]), byte)
        state, states[depth * 2] = code & 15, code
        states[depth * 2 + 1] = states[depth * 2 - 1] + (1 if byte & 0xC0 != 0x80 else 0)
        chars[node] = states[depth * 2 + 1]
        leads[depth] = node if before == 0 else leads[depth - 1]
        if before == 0 and byte < ASCII:
            _spot(context, byte, node)
            _spot(context, GROUP + (byte >> 5), node)
        elif before == 0:
            _spot(context, OTHER_SPOT, node)
        if state == 0 and is_space(code >> 4):
            _spot(context, SPACED_SPOT, int(leads[depth]))
        if state == INVALID and before != INVALID:
            _spot(context, BROKEN_SPOT, int(leads[depth]))
        if state == 0:
            parts[node] |= BETWEEN
    _list_spots(context)


@once
def _list_spots(context: Context) -> None:
    """List the nodes at which each ASCII character begins."""
    spots, listed, words = int64s(context, SPOT), int32s(context, SPOT_LIST), context[JUMP_WORDS]
    place = ASCII + 1
    for char in range(ASCII):
        listed[char] = place
        for word in range(words):
            rest = int(spots[char * words + word])
            while rest != 0:
                listed[place] = word * 64 + lowest_bit(rest)
                place, rest = place + 1, rest & (rest - 1)
    listed[ASCII] = place


@inner
def _spot(context: Context, row: int, node: int) -> None:
    place = row * context[JUMP_WORDS] + (node >> 6)
    int64s(context, SPOT)[place] |= 1 << (node & 63)
