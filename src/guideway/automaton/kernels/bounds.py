"""Patterns of bounded length: the characters to an end, and whether a count can still be met."""

from typing import Final

from guideway.automaton.jit.views import checked, exists, inner, once
from guideway.automaton.kernels import layout as at
from guideway.automaton.kernels.intern import node_of, pair_of
from guideway.automaton.kernels.layout import Context
from guideway.automaton.kernels.lexer_states import expand_wanted
from guideway.automaton.kernels.records import least_of
from guideway.automaton.kernels.state_masks import expand_state, leaves, repeats

TOO_MANY: Final = 1
_PREFERRED: Final = 2  # doublings of the limit when splitting; 7: 2 s for date-time, maxLength 30


@inner
def _meet(context: Context, state: int, inside: int, between: int, parent: int, field: int) -> int:
    """Visit a pair, for the first time or with fewer characters than before."""
    pair = checked(pair_of(context, state, inside))
    length, level = context.lengths[pair], context.search_level
    fresh = length.seen != context.search
    if not fresh and length.level >> 1 <= level:
        return at.OK
    known = length.fewest[field]
    if known > 0:
        length.seen, length.level = context.search, level << 1
        length.parent = parent
        _end_with(context, level + known - 1, pair)
        return at.OK
    if inside != between:
        begins = parent != 0 and context.pairs[parent] & 0xFFFFFFFF == between
        if field == at.SINGLE and begins:
            return at.OK
        left = 0
    else:
        code = checked(leaves(context, state, between))
        left = -1 if code > 0 else _left(context, state) if field == at.SINGLE else 0
    waits = 0 if fresh else length.level & 1
    length.seen, length.parent = context.search, parent
    length.left, length.level = left, (level << 1) | waits
    if left < 0:
        _end_with(context, level, pair)
    elif waits:
        context.search_next = min(context.search_next, level + left)
    else:
        _wait(context, pair)
    return at.OK


@inner
def _end_with(context: Context, characters: int, pair: int) -> None:
    """Note a text that ends at a pair, whose rest is known."""
    if context.search_best < 0 or characters < context.search_best:
        context.search_best, context.search_end = characters, pair


@inner
def _left(context: Context, state: int) -> int:
    """Lower bound of the one-byte characters left from a state, without the closing byte."""
    if not exists(context.regexes):
        return 0
    regexes = context.regexes[0]
    return max(least_of(regexes, regexes.state_records[state]) - 1, 0)


@inner
def _wait(context: Context, pair: int) -> None:
    """Put a pair on the list of the nearest pairs, or on that for later."""
    length = context.lengths[pair]
    fewest = (length.level >> 1) + length.left
    length.level |= 1
    if fewest <= context.search_fewest:
        length.link, context.search_nearest = context.search_nearest, pair
        return
    context.search_next = min(context.search_next, fewest)
    length.link, context.search_later = context.search_later, pair


@once
def options_of(context: Context, state: int) -> int:
    """Index in `options` of the options of a state, 0 if it is not split, or a code.

    Not split unless `splitting`: `a.{8}b` with maxLength 100 took 0.42 s within one mask when all
    512 sets were searched, and 0.05 s by options; `a.{24}b` did not finish.
    """
    if context.splitting == 0:
        return 0
    option = context.option_at[state]
    if option == 0:
        context.want = state + at.OPTIONS_OF
        if not exists(context.regexes) or not expand_wanted(context):
            return at.NEED_LEX
        option = context.option_at[state]
    return max(option, 0)


@inner
def _meet_options(
    context: Context, state: int, inside: int, between: int, parent: int, field: int
) -> int:
    """Visit a pair, or one for each option of the state: the shortest text is one of an option."""
    option = options_of(context, state)
    if option <= 0:
        return option if option < 0 else _meet(context, state, inside, between, parent, field)
    options, code = context.options, at.OK
    while options[option] != 0 and code == at.OK:
        code = _meet(context, options[option], inside, between, parent, field)
        option += 1
    return code


@inner
def _go_on(context: Context, pair: int, between: int, field: int) -> int:
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
            checked(_meet_options(context, after, within, between, pair, field))
    return at.OK


@inner
def search_text(context: Context, state: int, inside: int, between: int, field: int) -> int:
    """Find the fewest characters from a pair, or TOO_MANY after `bound_search` pairs."""
    context.search += 1
    context.search_level = context.search_later = context.search_nearest = 0
    context.search_best, context.search_fewest, context.search_next = -1, -1, at.ENDLESS
    gone = 0
    most = context.bound_search << (_PREFERRED * context.splitting)
    code = _meet_options(context, state, inside, between, 0, field)
    while code == at.OK and _is_going_on(context):
        pair = context.search_nearest
        length = context.lengths[pair]
        context.search_nearest = length.link
        level = length.level >> 1
        length.level = level << 1
        if 0 <= context.search_best <= level + length.left:
            continue
        gone += 1
        if gone == most:
            return TOO_MANY
        begins = context.pairs[pair] & 0xFFFFFFFF == between
        context.search_level = level + (1 if begins else 0)
        code = _go_on(context, pair, between, field)
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
            _wait(context, pair)
            pair = following
    return True


@inner
def note_text(context: Context, between: int, field: int) -> None:
    """Write the lengths that a search has found, for all pairs on the path."""
    lengths, pairs = context.lengths, context.pairs
    pair = context.search_end
    known = lengths[pair].fewest[field]
    left, steady = max(known - 1, 0), lengths[pair].steady[field]
    while pair != 0:
        length = lengths[pair]
        inside = pairs[pair] & 0xFFFFFFFF
        if steady == 0 and inside == between and repeats(context, pairs[pair] >> 32, between):
            steady = 1
        if length.fewest[field] == 0 or (length.fewest[field] == left + 1 and steady != 0):
            length.fewest[field], length.steady[field] = left + 1, steady
        pair = length.parent
        if pair != 0 and pairs[pair] & 0xFFFFFFFF == between:
            left += 1


_FURTHER: Final = 3  # doublings of `bound_search` after both searches failed


@inner
def know_length(context: Context, pair: int, between: int, field: int) -> int:
    length, inside = context.lengths[pair], context.pairs[pair] & 0xFFFFFFFF
    if length.fewest[field] != 0:
        return at.OK
    if field == at.EXACT and _is_exact(context, length.fewest[at.SINGLE], inside, between):
        length.fewest[at.EXACT] = length.fewest[at.SINGLE]
        length.steady[at.EXACT] = length.steady[at.SINGLE]
        return at.OK
    while True:
        code = _try_length(context, pair, between, field)
        if code != TOO_MANY:
            return code
        context.bound_search <<= _FURTHER * context.splitting
        context.splitting = 1 - context.splitting


@once
def _is_exact(context: Context, single: int, inside: int, between: int) -> bool:
    """Return True if the length over one-byte characters is known to be the exact minimum."""
    plainly = context.lexer_flags[between] & at.PLAINLY != 0
    return single > 0 and (plainly or single <= (2 if inside == between else 1))


@inner
def _try_length(context: Context, pair: int, between: int, field: int) -> int:
    """As `know_length`, or TOO_MANY; states or options are mostly few (`a.{24}b`: 2^25 and 26)."""
    option = options_of(context, context.pairs[pair] >> 32)
    if option <= 0:
        return option if option < 0 else _find_length(context, pair, between, field)
    return _know_fewest(context, pair, option, between, field)


@once
def _know_fewest(context: Context, pair: int, option: int, between: int, field: int) -> int:
    """Compute the length of a pair as the minimum over its options, which other pairs share."""
    lengths, options = context.lengths, context.options
    inside, fewest, steady = context.pairs[pair] & 0xFFFFFFFF, at.ENDLESS, 0
    while options[option] != 0:
        one = pair_of(context, options[option], inside)
        code = _find_length(context, one, between, field) if one > 0 else one
        if code != at.OK:
            return code
        known = lengths[one].fewest[field]
        if known <= fewest:
            more = lengths[one].steady[field]
            fewest, steady = known, more if known < fewest else max(more, steady)
        option += 1
    lengths[pair].fewest[field], lengths[pair].steady[field] = (
        fewest,
        steady,
    )
    return at.OK


@inner
def _find_length(context: Context, pair: int, between: int, field: int) -> int:
    """Compute the length of a pair by a search that does not split it into options."""
    lengths, found = context.lengths, context.pairs[pair]
    if lengths[pair].fewest[field] != 0:
        return at.OK
    code = search_text(context, found >> 32, found & 0xFFFFFFFF, between, field)
    if code == at.OK:
        if context.search_best < 0:
            lengths[pair].fewest[field] = at.ENDLESS
        else:
            note_text(context, between, field)
    return code


@inner
def alive(context: Context, state: int, inside: int, between: int, low: int, high: int) -> int:
    """Return 1 if a text goes on with `low` to `high` characters (-1: unbounded), else 0."""
    pair = pair_of(context, state, inside)
    lengths = context.lengths
    most, fewest = high if high >= 0 else at.ENDLESS - 2, 0
    for field in range(at.SINGLE, at.EXACT - 1, -1):
        checked(know_length(context, pair, between, field) if pair > 0 else pair)
        fewest = lengths[pair].fewest[field] - 1
        steady = lengths[pair].steady[field] != 0
        if fewest <= most and (low <= fewest or steady):
            return 1
    if fewest > most:
        return 0
    return _alive_exactly(context, state, inside, between, low, high)


@inner
def _alive_exactly(
    context: Context, state: int, inside: int, between: int, low: int, high: int
) -> int:
    """As `alive` where lengths have gaps: `lengths.Lengths` decides and sets `target`."""
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
