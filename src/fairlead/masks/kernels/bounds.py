"""How many characters a text must still have, and whether a bound leaves room for them.

A bounded pattern is read in lock-step: the lexical state of the pattern, and that of its characters
(items none of which begins another), make a pair. A character counts from its first byte on. Behind
the last one comes a byte that no character begins with, which ends the text.

What is known of a pair is found by breadth-first searches over pairs, one level for each character.
A first one looks at characters of one byte only; what it finds is an upper bound, mostly enough.
"""

from typing import Final

from fairlead.masks.kernels.bound_layout import (
    BOUND_SEARCH,
    LEX_OPTION,
    LEX_OPTION_AT,
    OPTIONS_OF,
    SPLITTING,
)
from fairlead.masks.kernels.intern import node_of, pair_of
from fairlead.masks.kernels.jump_layout import LEXICON
from fairlead.masks.kernels.layout import (
    BOUNDED,
    DEAD,
    ENDLESS,
    L_EXACT,
    L_LINK,
    L_PARENT,
    L_SEEN,
    L_SINGLE,
    L_STEADY,
    LENGTH,
    LEX,
    LEXEME,
    NEED_LEX,
    NEED_NODE,
    NODE,
    OK,
    PAIR,
    SEARCH,
    SEARCH_BEST,
    SEARCH_BETWEEN,
    SEARCH_END,
    SEARCH_LEVEL,
    SEARCH_WITHIN,
    TARGET,
    WANT,
)
from fairlead.masks.kernels.leavings import leaves, repeats
from fairlead.masks.kernels.lexemes import expand_wanted
from fairlead.masks.kernels.record_layout import SPENT
from fairlead.masks.kernels.returns import is_expanded
from fairlead.masks.kernels.views import Context, inner, int32s, int64s, once

_TOO_MANY: Final = 1
_PREFERRED: Final = (
    2  # doublings of the pairs for options: with 7 `date-time` and maxLength 30 took 2 s
)
_FURTHER: Final = 3  # times that the pairs double when neither states nor options were enough


@inner
def _meet(context: Context, state: int, inside: int, between: int, parent: int, field: int) -> int:
    """A search comes to a pair."""
    pair = pair_of(context, state, inside)
    if pair < 0:
        return pair
    lengths = int32s(context, LENGTH)
    at = pair * 8
    if lengths[at + L_SEEN] == context[SEARCH]:
        return OK
    level, best = context[SEARCH_LEVEL], context[SEARCH_BEST]
    lengths[at + L_SEEN], lengths[at + L_PARENT] = context[SEARCH], parent
    known = lengths[at + field]
    if known > 0:
        if best < 0 or level + known - 1 < best:
            context[SEARCH_BEST], context[SEARCH_END] = level + known - 1, pair
        return OK
    if inside != between:
        begins = parent != 0 and int64s(context, PAIR)[parent] & 0xFFFFFFFF == between
        if field == L_EXACT or not begins:
            lengths[at + L_LINK] = context[SEARCH_WITHIN]
            context[SEARCH_WITHIN] = pair
        return OK
    code = leaves(context, state, between)
    if code > 0:
        context[SEARCH_BEST], context[SEARCH_END] = level, pair
    elif code == 0:
        lengths[at + L_LINK] = context[SEARCH_BETWEEN]
        context[SEARCH_BETWEEN] = pair
    return min(code, OK)


@once
def _options(context: Context, state: int) -> int:
    """Where in LEX_OPTION the options of a state are, 0 if it is its only one; or a code below 0.

    It is where searches are not SPLITTING: `a.{8}b` beside maxLength 100 took .42 s within one mask
    where all of 512 sets were looked through, and takes .05; `a.{24}b` came to no mask.
    """
    if context[SPLITTING] == 0:
        return 0
    option = int(int32s(context, LEX_OPTION_AT)[state])
    if option == 0:
        context[WANT] = state + OPTIONS_OF
        if context[LEXICON] == 0 or not expand_wanted(context):
            return NEED_LEX
        option = int(int32s(context, LEX_OPTION_AT)[state])
    return max(option, 0)


@inner
def _meet_options(
    context: Context, state: int, inside: int, between: int, parent: int, field: int
) -> int:
    """A search comes to a pair, or to one for each option of the state.

    A text of fewest characters is one of an option.
    """
    option = _options(context, state)
    if option <= 0:
        return option if option < 0 else _meet(context, state, inside, between, parent, field)
    options, code = int32s(context, LEX_OPTION), OK
    while options[option] != 0 and code == OK:
        code = _meet(context, int(options[option]), inside, between, parent, field)
        option += 1
    return code


@inner
def _go_on(context: Context, pair: int, between: int, field: int) -> int:
    """A search goes on from a pair by one byte."""
    rows = int32s(context, LEX)
    state, inside = int64s(context, PAIR)[pair] >> 32, int64s(context, PAIR)[pair] & 0xFFFFFFFF
    if not is_expanded(context, int(state)) or not is_expanded(context, int(inside)):
        return NEED_LEX
    if context[LEXICON] != 0:
        int64s(context, LEXICON)[SPENT] += 1
    before = 0
    for byte in range(256):
        after, within = int(rows[state * 256 + byte]), int(rows[inside * 256 + byte])
        if after > 0 and within > 0 and (after << 32) | within != before:
            before = (after << 32) | within
            code = _meet_options(context, after, within, between, pair, field)
            if code < 0:
                return code
    return OK


@inner
def _search(context: Context, state: int, inside: int, between: int, field: int) -> int:
    """Find the fewest characters of a text from a pair on; L_SINGLE: among those of one byte.

    _TOO_MANY if it would have to go on from BOUND_SEARCH pairs, or, of options, four times that.
    """
    context[SEARCH] += 1
    context[SEARCH_LEVEL] = context[SEARCH_BETWEEN] = context[SEARCH_WITHIN] = 0
    context[SEARCH_BEST] = -1
    links, gone = int32s(context, LENGTH), 0
    most = int(context[BOUND_SEARCH]) << (_PREFERRED * int(context[SPLITTING]))
    code = _meet_options(context, state, inside, between, 0, field)
    while code == OK and context[SEARCH_BEST] != context[SEARCH_LEVEL]:
        pair = context[SEARCH_WITHIN]
        gone += 1
        if gone == most:
            return _TOO_MANY
        if pair != 0:
            context[SEARCH_WITHIN] = links[pair * 8 + L_LINK]
            code = _go_on(context, pair, between, field)
            continue
        pair = context[SEARCH_BETWEEN]
        if pair == 0 or context[SEARCH_BEST] == context[SEARCH_LEVEL] + 1:
            break
        context[SEARCH_BETWEEN] = 0
        context[SEARCH_LEVEL] += 1
        while pair != 0 and code == OK and context[SEARCH_BEST] != context[SEARCH_LEVEL]:
            following, gone = int(links[pair * 8 + L_LINK]), gone + 1
            code = _go_on(context, pair, between, field) if gone != most else _TOO_MANY
            pair = following
    return code


@inner
def _note(context: Context, between: int, field: int) -> None:
    """Note the lengths that a search has found: of all pairs on the way, from its end on."""
    lengths, pairs = int32s(context, LENGTH), int64s(context, PAIR)
    pair = context[SEARCH_END]
    known = int(lengths[pair * 8 + field])
    left, steady = max(known - 1, 0), int(lengths[pair * 8 + L_STEADY + field])
    while pair != 0:
        at = pair * 8
        inside = pairs[pair] & 0xFFFFFFFF
        if steady == 0 and inside == between and repeats(context, pairs[pair] >> 32, between):
            steady = 1
        if lengths[at + field] == 0 or (lengths[at + field] == left + 1 and steady != 0):
            lengths[at + field], lengths[at + L_STEADY + field] = left + 1, steady
        pair = int(lengths[at + L_PARENT])
        if pair != 0 and pairs[pair] & 0xFFFFFFFF == between:
            left += 1


@inner
def know_length(context: Context, pair: int, between: int, field: int) -> int:
    """Have a field of LENGTH known of a pair; a code below 0 if something is needed for that."""
    lengths, pairs = int32s(context, LENGTH), int64s(context, PAIR)
    at = pair * 8
    if lengths[at + field] != 0:
        return OK
    inside = pairs[pair] & 0xFFFFFFFF
    # Where a character must come, or may end the text, none can be fewer than so many.
    if field == L_EXACT and 0 < lengths[at + L_SINGLE] <= (2 if inside == between else 1):
        lengths[at + L_EXACT] = lengths[at + L_SINGLE]
        lengths[at + L_STEADY + L_EXACT] = lengths[at + L_STEADY + L_SINGLE]
        return OK
    while True:
        code = _try_length(context, pair, between, field)
        if code != _TOO_MANY:
            return code
        context[BOUND_SEARCH] <<= _FURTHER * context[SPLITTING]
        context[SPLITTING] = 1 - context[SPLITTING]


@inner
def _try_length(context: Context, pair: int, between: int, field: int) -> int:
    """The same, or _TOO_MANY.

    Mostly either states or their options are few: `a.{24}b` has 2^25 sets of 26 members, and of
    three groups of nine patterns that meet the members' tuples are more than the sets that come.
    """
    option = _options(context, int(int64s(context, PAIR)[pair] >> 32))
    if option <= 0:
        return option if option < 0 else _find_length(context, pair, between, field)
    return _know_fewest(context, pair, option, between, field)


@once
def _know_fewest(context: Context, pair: int, option: int, between: int, field: int) -> int:
    """Have a length known of a pair by those of its options, which others share."""
    lengths, options = int32s(context, LENGTH), int32s(context, LEX_OPTION)
    inside, fewest, steady = int(int64s(context, PAIR)[pair] & 0xFFFFFFFF), ENDLESS, 0
    while options[option] != 0:
        one = pair_of(context, int(options[option]), inside)
        code = _find_length(context, one, between, field) if one > 0 else one
        if code != OK:
            return code
        known = int(lengths[one * 8 + field])
        if known <= fewest:
            more = int(lengths[one * 8 + L_STEADY + field])
            fewest, steady = known, more if known < fewest else max(more, steady)
        option += 1
    lengths[pair * 8 + field], lengths[pair * 8 + L_STEADY + field] = fewest, steady
    return OK


@inner
def _find_length(context: Context, pair: int, between: int, field: int) -> int:
    """Have a length known of a pair that is its only option, or where that does not matter."""
    lengths, found = int32s(context, LENGTH), int64s(context, PAIR)[pair]
    if lengths[pair * 8 + field] != 0:
        return OK
    code = _search(context, int(found >> 32), int(found & 0xFFFFFFFF), between, field)
    if code == OK:
        if context[SEARCH_BEST] < 0:
            lengths[pair * 8 + field] = ENDLESS
        else:
            _note(context, between, field)
    return code


@inner
def alive(context: Context, state: int, inside: int, between: int, low: int, high: int) -> int:
    """Whether a text goes on with `low` to `high` characters (-1: any number); 1, 0, or a code."""
    pair = pair_of(context, state, inside)
    lengths = int32s(context, LENGTH)
    most, fewest = high if high >= 0 else ENDLESS - 2, 0
    for field in range(L_SINGLE, L_EXACT - 1, -1):
        code = know_length(context, pair, between, field) if pair > 0 else pair
        if code < 0:
            return code
        fewest = lengths[pair * 8 + field] - 1
        steady = lengths[pair * 8 + L_STEADY + field] != 0
        if fewest <= most and (low <= fewest or steady):
            return 1
    if fewest > most:
        return 0
    return _alive_exactly(context, state, inside, between, low, high)


@inner
def _alive_exactly(
    context: Context, state: int, inside: int, between: int, low: int, high: int
) -> int:
    """The same where lengths have gaps: `lengths.Lengths` knows, and notes it as the target."""
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
    """The node behind a byte that leads a BOUNDED pattern to `after`; DEAD, or a code below 0."""
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
