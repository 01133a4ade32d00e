"""Patterns of bounded length: the characters to an end, and whether a count can still be met."""

from typing import Final

from guideway.automaton.jit.operands import checked, exists, inner, once
from guideway.automaton.kernels import layout as at
from guideway.automaton.kernels.intern import node_of, pair_of
from guideway.automaton.kernels.layout import Context
from guideway.automaton.kernels.regexes import least_of
from guideway.automaton.kernels.state_masks import expand_state, leaves, repeats

TOO_MANY: Final = 1
_SEARCHED: Final = 2048  # pairs that a search expands


@inner
def _meet(context: Context, state: int, inside: int, between: int, parent: int) -> int:
    """Visit a pair, for the first time or with fewer characters than before."""
    pair = checked(pair_of(context, state, inside))
    length, level = context.lengths[pair], context.search_level
    fresh = length.seen != context.search
    if not fresh and length.level >> 1 <= level:
        return at.OK
    known = length.fewest
    if 0 < known < at.UNKNOWN:
        length.seen, length.level = context.search, level << 1
        length.parent = parent
        _end_with(context, level + known - 1, pair)
        return at.OK
    if inside != between:
        if parent != 0 and context.pairs[parent] & 0xFFFFFFFF == between:
            return at.OK  # a character of several bytes begins
        left = 0
    else:
        left = -1 if checked(leaves(context, state, between)) > 0 else _fewest_left(context, state)
    waits = 0 if fresh else length.level & 1
    length.seen, length.parent = context.search, parent
    length.left, length.level = left, (level << 1) | waits
    if left < 0:
        _end_with(context, level, pair)
    elif waits:
        context.search_next = min(context.search_next, level + left)
    else:
        _enqueue(context, pair)
    return at.OK


@inner
def _end_with(context: Context, characters: int, pair: int) -> None:
    """Note a text that ends at a pair, whose rest is known."""
    if context.search_best < 0 or characters < context.search_best:
        context.search_best, context.search_end = characters, pair


@inner
def _fewest_left(context: Context, state: int) -> int:
    """Lower bound of the one-byte characters left from a state, without the closing byte."""
    if not exists(context.regexes):
        return 0
    regexes = context.regexes[0]
    return max(least_of(regexes, regexes.state_records[state]) - 1, 0)


@inner
def _enqueue(context: Context, pair: int) -> None:
    """Put a pair on the list of the nearest pairs, or on that for later."""
    length = context.lengths[pair]
    fewest = (length.level >> 1) + length.left
    length.level |= 1
    if fewest <= context.search_fewest:
        length.link, context.search_nearest = context.search_nearest, pair
        return
    context.search_next = min(context.search_next, fewest)
    length.link, context.search_later = context.search_later, pair


@inner
def _expand(context: Context, pair: int, between: int) -> int:
    rows = context.transitions
    state = context.pairs[pair] >> 32
    inside = context.pairs[pair] & 0xFFFFFFFF
    checked(expand_state(context, state))
    checked(expand_state(context, inside))
    if exists(context.regexes):
        context.regexes[0].spent += 1
    before = 0
    for byte in range(256):
        after, within = rows[state].after[byte], rows[inside].after[byte]
        if after > 0 and within > 0 and (after << 32) | within != before:
            before = (after << 32) | within
            checked(_meet(context, after, within, between, pair))
    return at.OK


@inner
def search_text(context: Context, state: int, inside: int, between: int) -> int:
    """Find the fewest characters from a pair, or TOO_MANY after 2,048 pairs."""
    context.search += 1
    context.search_level = context.search_later = context.search_nearest = 0
    context.search_best, context.search_fewest, context.search_next = -1, -1, at.ENDLESS
    gone = 0
    code = _meet(context, state, inside, between, 0)
    while code == at.OK and _is_going_on(context):
        pair = context.search_nearest
        length = context.lengths[pair]
        context.search_nearest = length.link
        level = length.level >> 1
        length.level = level << 1
        if 0 <= context.search_best <= level + length.left:
            continue
        gone += 1
        if gone == _SEARCHED:
            return TOO_MANY
        begins = context.pairs[pair] & 0xFFFFFFFF == between
        context.search_level = level + (1 if begins else 0)
        code = _expand(context, pair, between)
    return code


@inner
def _is_going_on(context: Context) -> bool:
    """Return True if a shorter text is possible; then `search_nearest` has a pair."""
    links = context.lengths
    while context.search_nearest == 0:
        pair = context.search_later
        if pair == 0 or 0 <= context.search_best <= context.search_next:
            return False
        context.search_fewest, context.search_next = context.search_next, at.ENDLESS
        context.search_later = 0
        while pair != 0:
            following = links[pair].link
            _enqueue(context, pair)
            pair = following
    return True


@inner
def note_text(context: Context, between: int) -> None:
    """Write the lengths that a search has found, for all pairs on the path."""
    lengths, pairs = context.lengths, context.pairs
    pair = context.search_end
    known = lengths[pair].fewest
    left, steady = max(known - 1, 0), lengths[pair].steady
    while pair != 0:
        length = lengths[pair]
        inside = pairs[pair] & 0xFFFFFFFF
        if steady == 0 and inside == between and repeats(context, pairs[pair] >> 32, between):
            steady = 1
        if length.fewest == 0 or (length.fewest == left + 1 and steady != 0):
            length.fewest, length.steady = left + 1, steady
        pair = length.parent
        if pair != 0 and pairs[pair] & 0xFFFFFFFF == between:
            left += 1


@inner
def know_length(context: Context, pair: int, between: int) -> int:
    """Compute the length of a pair; UNKNOWN if that takes long."""
    length, found = context.lengths[pair], context.pairs[pair]
    if length.fewest != 0:
        return at.OK
    code = search_text(context, found >> 32, found & 0xFFFFFFFF, between)
    if code == TOO_MANY:
        length.fewest = at.UNKNOWN
        return at.OK
    if code == at.OK and context.search_best < 0:
        length.fewest = at.ENDLESS
    elif code == at.OK:
        note_text(context, between)
    return code


@inner
def alive(context: Context, state: int, inside: int, between: int, low: int, high: int) -> int:
    """Return 1 if a text goes on with `low` to `high` characters (-1: unbounded), else 0."""
    pair = checked(pair_of(context, state, inside))
    checked(know_length(context, pair, between))
    length, most = context.lengths[pair], high if high >= 0 else at.ENDLESS - 2
    fewest = length.fewest - 1
    if fewest <= most and (low <= fewest or length.steady != 0):
        return 1
    return _alive_exactly(context, state, inside, between, low, high)


@inner
def _alive_exactly(
    context: Context, state: int, inside: int, between: int, low: int, high: int
) -> int:
    """As `alive`, decided by `lexer_dfa.Lengths`, which sets `target`."""
    node = checked(
        node_of(context, at.BOUNDED, state, low, high, between, 0 if inside == between else inside)
    )
    target = context.nodes[node].target
    if target == 0:
        context.want = node
        return at.NEED_NODE
    return 0 if target - 1 == at.DEAD else 1


@once
def after_byte(context: Context, node: int, after: int, byte: int) -> int:
    """The node after a byte that leads a BOUNDED pattern to `after`; DEAD or a code."""
    low, high = context.nodes[node].b, context.nodes[node].c
    between, inside = context.nodes[node].d, context.nodes[node].e
    begins = inside == 0
    if begins:
        inside = between
    within = context.transitions[inside].after[byte]
    if within == 0:
        context.want = inside
        return at.NEED_LEX
    if within < 0:
        return at.DEAD if low > 0 else node_of(context, at.LEXEME, after, 0, 0, 0, 0)
    if begins:
        if high == 0:
            return at.DEAD
        low, high = max(low - 1, 0), high - 1 if high > 0 else high
    if low == 0 and high < 0:
        return node_of(context, at.LEXEME, after, 0, 0, 0, 0)
    living = alive(context, after, within, between, low, high)
    if living <= 0:
        return at.DEAD if living == 0 else living
    inside = 0 if within == between else within
    return node_of(context, at.BOUNDED, after, low, high, between, inside)
