"""Patterns of bounded length: the characters to an end, and whether a count can still be met."""

from typing import Final

from guideway.automaton.jit.views import Context, inner, int32s, int64s, once, uint8s
from guideway.automaton.kernels import layout as at
from guideway.automaton.kernels.intern import node_of, pair_of
from guideway.automaton.kernels.lexer_states import expand_wanted
from guideway.automaton.kernels.record_layout import SPENT, STATE_RECORD
from guideway.automaton.kernels.records import least_of
from guideway.automaton.kernels.state_masks import is_expanded, leaves, repeats

TOO_MANY: Final = 1
_PREFERRED: Final = (
    2  # doublings of the limit when splitting; with 7, `date-time` and maxLength 30 took 2 s
)


@inner
def _meet(context: Context, state: int, inside: int, between: int, parent: int, field: int) -> int:
    """Visit a pair, for the first time or with fewer characters than before."""
    pair = pair_of(context, state, inside)
    if pair < 0:
        return pair
    lengths, level = int32s(context, at.LENGTH), int(context[at.SEARCH_LEVEL])
    place = pair * at.L_ROW
    fresh = lengths[place + at.L_SEEN] != context[at.SEARCH]
    if not fresh and lengths[place + at.L_LEVEL] >> 1 <= level:
        return at.OK
    known = lengths[place + field]
    if known > 0:
        lengths[place + at.L_SEEN], lengths[place + at.L_LEVEL] = context[at.SEARCH], level << 1
        lengths[place + at.L_PARENT] = parent
        _end_with(context, level + known - 1, pair)
        return at.OK
    if inside != between:
        begins = parent != 0 and int64s(context, at.PAIR)[parent] & 0xFFFFFFFF == between
        if field == at.L_SINGLE and begins:
            return at.OK
        left = 0
    else:
        code = leaves(context, state, between)
        if code < 0:
            return code
        left = -1 if code > 0 else _left(context, state) if field == at.L_SINGLE else 0
    waits = 0 if fresh else lengths[place + at.L_LEVEL] & 1
    lengths[place + at.L_SEEN], lengths[place + at.L_PARENT] = context[at.SEARCH], parent
    lengths[place + at.L_LEFT], lengths[place + at.L_LEVEL] = left, (level << 1) | waits
    if left < 0:
        _end_with(context, level, pair)
    elif waits:
        context[at.SEARCH_NEXT] = min(context[at.SEARCH_NEXT], level + left)
    else:
        _wait(context, pair)
    return at.OK


@inner
def _end_with(context: Context, characters: int, pair: int) -> None:
    """Note a text that ends at a pair, whose rest is known."""
    if context[at.SEARCH_BEST] < 0 or characters < context[at.SEARCH_BEST]:
        context[at.SEARCH_BEST], context[at.SEARCH_END] = characters, pair


@inner
def _left(context: Context, state: int) -> int:
    """Lower bound of the one-byte characters left from a state, without the closing byte."""
    if context[at.LEXICON] == 0:
        return 0
    records = int64s(context, at.LEXICON)
    return max(least_of(records, int(int32s(records, STATE_RECORD)[state])) - 1, 0)


@inner
def _wait(context: Context, pair: int) -> None:
    """Put a pair on the list of the nearest pairs, or on that for later."""
    lengths, place = int32s(context, at.LENGTH), pair * at.L_ROW
    fewest = (lengths[place + at.L_LEVEL] >> 1) + lengths[place + at.L_LEFT]
    listed = at.SEARCH_WITHIN if fewest <= context[at.SEARCH_FEWEST] else at.SEARCH_BETWEEN
    if listed == at.SEARCH_BETWEEN:
        context[at.SEARCH_NEXT] = min(context[at.SEARCH_NEXT], fewest)
    lengths[place + at.L_LEVEL] |= 1
    lengths[place + at.L_LINK] = context[listed]
    context[listed] = pair


@once
def options_of(context: Context, state: int) -> int:
    """Index in LEX_OPTION of the options of a state, 0 if it is not split, or a code.

    Not split unless SPLITTING: `a.{8}b` with maxLength 100 took 0.42 s within one mask when all 512
    sets were searched, and 0.05 s by options; `a.{24}b` did not finish.
    """
    if context[at.SPLITTING] == 0:
        return 0
    option = int(int32s(context, at.LEX_OPTION_AT)[state])
    if option == 0:
        context[at.WANT] = state + at.OPTIONS_OF
        if context[at.LEXICON] == 0 or not expand_wanted(context):
            return at.NEED_LEX
        option = int(int32s(context, at.LEX_OPTION_AT)[state])
    return max(option, 0)


@inner
def _meet_options(
    context: Context, state: int, inside: int, between: int, parent: int, field: int
) -> int:
    """Visit a pair, or one for each option of the state: the shortest text is one of an option."""
    option = options_of(context, state)
    if option <= 0:
        return option if option < 0 else _meet(context, state, inside, between, parent, field)
    options, code = int32s(context, at.LEX_OPTION), at.OK
    while options[option] != 0 and code == at.OK:
        code = _meet(context, int(options[option]), inside, between, parent, field)
        option += 1
    return code


@inner
def _go_on(context: Context, pair: int, between: int, field: int) -> int:
    rows = int32s(context, at.LEX)
    state = int64s(context, at.PAIR)[pair] >> 32
    inside = int64s(context, at.PAIR)[pair] & 0xFFFFFFFF
    if not is_expanded(context, int(state)) or not is_expanded(context, int(inside)):
        return at.NEED_LEX
    if context[at.LEXICON] != 0:
        int64s(context, at.LEXICON)[SPENT] += 1
    before = 0
    for byte in range(256):
        after, within = int(rows[state * 256 + byte]), int(rows[inside * 256 + byte])
        if after > 0 and within > 0 and (after << 32) | within != before:
            before = (after << 32) | within
            code = _meet_options(context, after, within, between, pair, field)
            if code < 0:
                return code
    return at.OK


@inner
def search_text(context: Context, state: int, inside: int, between: int, field: int) -> int:
    """Find the fewest characters from a pair; TOO_MANY after BOUND_SEARCH pairs (options: * 4)."""
    context[at.SEARCH] += 1
    context[at.SEARCH_LEVEL] = context[at.SEARCH_BETWEEN] = context[at.SEARCH_WITHIN] = 0
    context[at.SEARCH_BEST], context[at.SEARCH_FEWEST], context[at.SEARCH_NEXT] = -1, -1, at.ENDLESS
    lengths, gone = int32s(context, at.LENGTH), 0
    most = int(context[at.BOUND_SEARCH]) << (_PREFERRED * int(context[at.SPLITTING]))
    code = _meet_options(context, state, inside, between, 0, field)
    while code == at.OK and _is_going_on(context):
        pair = int(context[at.SEARCH_WITHIN])
        place = pair * at.L_ROW
        context[at.SEARCH_WITHIN] = lengths[place + at.L_LINK]
        level = lengths[place + at.L_LEVEL] >> 1
        lengths[place + at.L_LEVEL] = level << 1
        if 0 <= context[at.SEARCH_BEST] <= level + lengths[place + at.L_LEFT]:
            continue
        gone += 1
        if gone == most:
            return TOO_MANY
        begins = int64s(context, at.PAIR)[pair] & 0xFFFFFFFF == between
        context[at.SEARCH_LEVEL] = level + (1 if begins else 0)
        code = _go_on(context, pair, between, field)
    return code


@inner
def _is_going_on(context: Context) -> bool:
    """Return True if a shorter text is possible; then SEARCH_WITHIN has a pair."""
    links = int32s(context, at.LENGTH)
    while context[at.SEARCH_WITHIN] == 0:
        pair = int(context[at.SEARCH_BETWEEN])
        if pair == 0 or 0 <= context[at.SEARCH_BEST] <= context[at.SEARCH_NEXT]:
            return False
        context[at.SEARCH_FEWEST], context[at.SEARCH_NEXT] = context[at.SEARCH_NEXT], at.ENDLESS
        context[at.SEARCH_BETWEEN] = 0
        while pair != 0:
            following = int(links[pair * at.L_ROW + at.L_LINK])
            _wait(context, pair)
            pair = following
    return True


@inner
def note_text(context: Context, between: int, field: int) -> None:
    """Write the lengths that a search has found, for all pairs on the path."""
    lengths, pairs = int32s(context, at.LENGTH), int64s(context, at.PAIR)
    pair = context[at.SEARCH_END]
    known = int(lengths[pair * at.L_ROW + field])
    left, steady = max(known - 1, 0), int(lengths[pair * at.L_ROW + at.L_STEADY + field])
    while pair != 0:
        place = pair * at.L_ROW
        inside = pairs[pair] & 0xFFFFFFFF
        if steady == 0 and inside == between and repeats(context, pairs[pair] >> 32, between):
            steady = 1
        if lengths[place + field] == 0 or (lengths[place + field] == left + 1 and steady != 0):
            lengths[place + field], lengths[place + at.L_STEADY + field] = left + 1, steady
        pair = int(lengths[place + at.L_PARENT])
        if pair != 0 and pairs[pair] & 0xFFFFFFFF == between:
            left += 1


_FURTHER: Final = 3  # doublings of BOUND_SEARCH after searches over states and options both failed


@inner
def know_length(context: Context, pair: int, between: int, field: int) -> int:
    lengths, pairs = int32s(context, at.LENGTH), int64s(context, at.PAIR)
    place = pair * at.L_ROW
    if lengths[place + field] != 0:
        return at.OK
    inside = pairs[pair] & 0xFFFFFFFF
    if field == at.L_EXACT and _is_exact(
        context, int(lengths[place + at.L_SINGLE]), inside, between
    ):
        lengths[place + at.L_EXACT] = lengths[place + at.L_SINGLE]
        lengths[place + at.L_STEADY + at.L_EXACT] = lengths[place + at.L_STEADY + at.L_SINGLE]
        return at.OK
    while True:
        code = _try_length(context, pair, between, field)
        if code != TOO_MANY:
            return code
        context[at.BOUND_SEARCH] <<= _FURTHER * context[at.SPLITTING]
        context[at.SPLITTING] = 1 - context[at.SPLITTING]


@once
def _is_exact(context: Context, single: int, inside: int, between: int) -> bool:
    """Return True if the length over one-byte characters is known to be the exact minimum."""
    plainly = uint8s(context, at.LEX_FLAG)[between] & at.PLAINLY != 0
    return single > 0 and (plainly or single <= (2 if inside == between else 1))


@inner
def _try_length(context: Context, pair: int, between: int, field: int) -> int:
    """As `know_length`, or TOO_MANY; states or options are mostly few (`a.{24}b`: 2^25 and 26)."""
    option = options_of(context, int(int64s(context, at.PAIR)[pair] >> 32))
    if option <= 0:
        return option if option < 0 else _find_length(context, pair, between, field)
    return _know_fewest(context, pair, option, between, field)


@once
def _know_fewest(context: Context, pair: int, option: int, between: int, field: int) -> int:
    """Compute the length of a pair as the minimum over its options, which other pairs share."""
    lengths, options = int32s(context, at.LENGTH), int32s(context, at.LEX_OPTION)
    inside, fewest, steady = int(int64s(context, at.PAIR)[pair] & 0xFFFFFFFF), at.ENDLESS, 0
    while options[option] != 0:
        one = pair_of(context, int(options[option]), inside)
        code = _find_length(context, one, between, field) if one > 0 else one
        if code != at.OK:
            return code
        known = int(lengths[one * at.L_ROW + field])
        if known <= fewest:
            more = int(lengths[one * at.L_ROW + at.L_STEADY + field])
            fewest, steady = known, more if known < fewest else max(more, steady)
        option += 1
    lengths[pair * at.L_ROW + field], lengths[pair * at.L_ROW + at.L_STEADY + field] = (
        fewest,
        steady,
    )
    return at.OK


@inner
def _find_length(context: Context, pair: int, between: int, field: int) -> int:
    """Compute the length of a pair by a search that does not split it into options."""
    lengths, found = int32s(context, at.LENGTH), int64s(context, at.PAIR)[pair]
    if lengths[pair * at.L_ROW + field] != 0:
        return at.OK
    code = search_text(context, int(found >> 32), int(found & 0xFFFFFFFF), between, field)
    if code == at.OK:
        if context[at.SEARCH_BEST] < 0:
            lengths[pair * at.L_ROW + field] = at.ENDLESS
        else:
            note_text(context, between, field)
    return code


@inner
def alive(context: Context, state: int, inside: int, between: int, low: int, high: int) -> int:
    """Return 1 if a text goes on with `low` to `high` characters (-1: unbounded), else 0."""
    pair = pair_of(context, state, inside)
    lengths = int32s(context, at.LENGTH)
    most, fewest = high if high >= 0 else at.ENDLESS - 2, 0
    for field in range(at.L_SINGLE, at.L_EXACT - 1, -1):
        code = know_length(context, pair, between, field) if pair > 0 else pair
        if code < 0:
            return code
        fewest = lengths[pair * at.L_ROW + field] - 1
        steady = lengths[pair * at.L_ROW + at.L_STEADY + field] != 0
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
    node = node_of(
        context, at.BOUNDED, state, low, high, between, 0 if inside == between else inside
    )
    if node < 0:
        return node
    target = int32s(context, at.TARGET)[node]
    if target == 0:
        context[at.WANT] = node
        return at.NEED_NODE
    return 0 if target - 1 == at.DEAD else 1


@once
def after_byte(context: Context, node: int, after: int, byte: int) -> int:
    """The node after a byte that leads a BOUNDED pattern to `after`; DEAD or a code."""
    nodes = int32s(context, at.NODE)
    low, high = int(nodes[node * 6 + 2]), int(nodes[node * 6 + 3])
    between, inside = int(nodes[node * 6 + 4]), int(nodes[node * 6 + 5])
    begins = inside == 0
    if begins:
        inside = between
    within = int(int32s(context, at.LEX)[inside * 256 + byte])
    if within == 0:
        context[at.WANT] = inside
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
