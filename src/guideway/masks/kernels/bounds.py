"""Shortest remaining lengths of bounded patterns, in characters, and liveness under bounds.

A bounded pattern is a pair: the lexical state of the pattern, and that of its characters (items
that form a prefix code), read in lockstep. A character counts from its first byte on. After the
last one a byte that begins no character ends the text. Lengths are found by best-first search over
pairs; a first search over one-byte characters gives an upper bound, mostly enough.
"""

from typing import Final

from guideway.masks.kernels.bound_layout import (
    BOUND_SEARCH,
    L_ROW,
    LEX_OPTION,
    PLAINLY,
    SPLITTING,
)
from guideway.masks.kernels.intern import node_of, pair_of
from guideway.masks.kernels.layout import (
    BOUNDED,
    DEAD,
    ENDLESS,
    L_EXACT,
    L_SINGLE,
    L_STEADY,
    LENGTH,
    LEX,
    LEX_FLAG,
    LEXEME,
    NEED_LEX,
    NEED_NODE,
    NODE,
    OK,
    PAIR,
    SEARCH_BEST,
    TARGET,
    WANT,
)
from guideway.masks.kernels.text_searches import TOO_MANY, note_text, options_of, search_text
from guideway.masks.kernels.views import Context, inner, int32s, int64s, once, uint8s

_FURTHER: Final = 3  # doublings of BOUND_SEARCH after searches over states and options both failed


@inner
def know_length(context: Context, pair: int, between: int, field: int) -> int:
    lengths, pairs = int32s(context, LENGTH), int64s(context, PAIR)
    at = pair * L_ROW
    if lengths[at + field] != 0:
        return OK
    inside = pairs[pair] & 0xFFFFFFFF
    if field == L_EXACT and _is_exact(context, int(lengths[at + L_SINGLE]), inside, between):
        lengths[at + L_EXACT] = lengths[at + L_SINGLE]
        lengths[at + L_STEADY + L_EXACT] = lengths[at + L_STEADY + L_SINGLE]
        return OK
    while True:
        code = _try_length(context, pair, between, field)
        if code != TOO_MANY:
            return code
        context[BOUND_SEARCH] <<= _FURTHER * context[SPLITTING]
        context[SPLITTING] = 1 - context[SPLITTING]


@once
def _is_exact(context: Context, single: int, inside: int, between: int) -> bool:
    """Return True if the length over one-byte characters is known to be the exact minimum."""
    plainly = uint8s(context, LEX_FLAG)[between] & PLAINLY != 0
    return single > 0 and (plainly or single <= (2 if inside == between else 1))


@inner
def _try_length(context: Context, pair: int, between: int, field: int) -> int:
    """As `know_length`, or TOO_MANY; states or options are mostly few (`a.{24}b`: 2^25 and 26)."""
    option = options_of(context, int(int64s(context, PAIR)[pair] >> 32))
    if option <= 0:
        return option if option < 0 else _find_length(context, pair, between, field)
    return _know_fewest(context, pair, option, between, field)


@once
def _know_fewest(context: Context, pair: int, option: int, between: int, field: int) -> int:
    """Compute the length of a pair as the minimum over its options, which other pairs share."""
    lengths, options = int32s(context, LENGTH), int32s(context, LEX_OPTION)
    inside, fewest, steady = int(int64s(context, PAIR)[pair] & 0xFFFFFFFF), ENDLESS, 0
    while options[option] != 0:
        one = pair_of(context, int(options[option]), inside)
        code = _find_length(context, one, between, field) if one > 0 else one
        if code != OK:
            return code
        known = int(lengths[one * L_ROW + field])
        if known <= fewest:
            more = int(lengths[one * L_ROW + L_STEADY + field])
            fewest, steady = known, more if known < fewest else max(more, steady)
        option += 1
    lengths[pair * L_ROW + field], lengths[pair * L_ROW + L_STEADY + field] = fewest, steady
    return OK


@inner
def _find_length(context: Context, pair: int, between: int, field: int) -> int:
    """Compute the length of a pair by a search that does not split it into options."""
    lengths, found = int32s(context, LENGTH), int64s(context, PAIR)[pair]
    if lengths[pair * L_ROW + field] != 0:
        return OK
    code = search_text(context, int(found >> 32), int(found & 0xFFFFFFFF), between, field)
    if code == OK:
        if context[SEARCH_BEST] < 0:
            lengths[pair * L_ROW + field] = ENDLESS
        else:
            note_text(context, between, field)
    return code


@inner
def alive(context: Context, state: int, inside: int, between: int, low: int, high: int) -> int:
    """Return 1 if a text goes on with `low` to `high` characters (-1: unbounded), else 0."""
    pair = pair_of(context, state, inside)
    lengths = int32s(context, LENGTH)
    most, fewest = high if high >= 0 else ENDLESS - 2, 0
    for field in range(L_SINGLE, L_EXACT - 1, -1):
        code = know_length(context, pair, between, field) if pair > 0 else pair
        if code < 0:
            return code
        fewest = lengths[pair * L_ROW + field] - 1
        steady = lengths[pair * L_ROW + L_STEADY + field] != 0
        if fewest <= most and (low <= fewest or steady):
            return 1
    if fewest > most:
        return 0
    return _alive_exactly(context, state, inside, between, low, high)


@inner
def _alive_exactly(
    context: Context, state: int, inside: int, between: int, low: int, high: int
) -> int:
    """As `alive` where lengths have gaps: `lengths.Lengths` decides and sets TARGET."""
    node = node_of(context, BOUNDED, state, low, high, between, 0 if inside == between else inside)
    if node < 0:
        return node
    target = int32s(context, TARGET)[node]
    if target == 0:
        context[WANT] = node
        return NEED_NODE
    return 0 if target - 1 == DEAD else 1


@once
def after_byte(context: Context, node: int, after: int, byte: int) -> int:
    """The node after a byte that leads a BOUNDED pattern to `after`; DEAD or a code."""
    nodes = int32s(context, NODE)
    low, high = int(nodes[node * 6 + 2]), int(nodes[node * 6 + 3])
    between, inside = int(nodes[node * 6 + 4]), int(nodes[node * 6 + 5])
    begins = inside == 0
    if begins:
        inside = between
    within = int(int32s(context, LEX)[inside * 256 + byte])
    if within == 0:
        context[WANT] = inside
        return NEED_LEX
    if within < 0:
        return DEAD if low > 0 else node_of(context, LEXEME, after, 0, 0, 0, 0)
    if begins:
        if high == 0:
            return DEAD
        low, high = max(low - 1, 0), high - 1 if high > 0 else high
    if low == 0 and high < 0:
        return node_of(context, LEXEME, after, 0, 0, 0, 0)
    living = alive(context, after, within, between, low, high)
    if living <= 0:
        return DEAD if living == 0 else living
    inside = 0 if within == between else within
    return node_of(context, BOUNDED, after, low, high, between, inside)
