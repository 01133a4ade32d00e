r"""Which letters a lexical state reads for ever: whatever comes of them, more of them may follow.

A pattern that is searched for is begun by many letters, and a key that must not be one of some
names may begin as they do. So letters lead from state to state, none of them back to where it came
from, yet none to where another could not be read::

    .*(?:int|float).*        all of "a float" is read, by way of six states
    [a-z]+, but not "name"   all of "namely" is

If all that is below a node of the trie is of such letters, all of it can be read. What is found for
a state is found for all that these letters lead to: each is looked at once. Characters that are not
ASCII mostly lead any of these to one that they lead back to.
"""

from typing import Final

from guideway.masks.kernels.jump_layout import FOREVER
from guideway.masks.kernels.layout import (
    ACCEPTS,
    BACKSLASH,
    DOUBTS,
    EXPANDED,
    LEX,
    LEX_FLAG,
    LOOP,
    LOOPS,
    NEED_LEX,
    QUOTE_BYTE,
)
from guideway.masks.kernels.returns import all_else_loop, find_loops, is_expanded
from guideway.masks.kernels.views import (
    Context,
    apart,
    bit_count,
    inner,
    int32s,
    int64s,
    once,
    uint8s,
)

# Bits of the first word, instead of bytes that are no letters:
_KNOWN: Final = 1  # it is known,
_LISTED: Final = 2  # or the state is being looked at, and the second word has the next one;
_ELSE_AT: Final = 2  # two bits: which characters that are not ASCII are letters, as loops are told
_TOLD: Final = 15
_MOST: Final = 48  # states that are looked at together
_MANY: Final = 80  # letters that are worth it
USUAL: Final = 0x65  # "e", which leads where most letters do
_LEAD: Final = 0xC3  # é,
_TRAIL: Final = 0xA9  # one of them


@inner
def are_letters_known(context: Context, state: int) -> bool:
    """Whether the letters of a state are known, at once where that may be; else WANT is set."""
    return int64s(context, FOREVER)[state * 2] != 0 or _explore(context, state) == 0


@inner
def letters_of(context: Context, state: int) -> tuple[int, int]:
    """The letters that a state is known to read for ever, as two words of ASCII."""
    letters = int64s(context, FOREVER)
    low = int(letters[state * 2])
    known = -(low & _KNOWN)  # all bits, or none
    return low & known & ~_TOLD, int(letters[state * 2 + 1]) & known


@inner
def others_of(context: Context, state: int) -> int:
    """Which are not ASCII, as in `all_else_loop`."""
    return int(int64s(context, FOREVER)[state * 2]) >> _ELSE_AT & 3


@inner
def is_mark(byte: int) -> bool:
    """Whether a byte ends a string or begins an escape."""
    return byte in (QUOTE_BYTE, BACKSLASH)


@once
def _explore(context: Context, state: int) -> int:
    """Find the letters of a state, and of all that they lead to; NEED_LEX if rows are missing."""
    apart()
    letters = int64s(context, FOREVER)
    if not is_expanded(context, state):
        return NEED_LEX
    low, high = _read_by(context, state)
    if bit_count(low) + bit_count(high) < _MANY:
        letters[state * 2 + 1], letters[state * 2] = 0, _KNOWN
        return 0
    letters[state * 2], letters[state * 2 + 1] = _LISTED, 0
    at, last, count, code, most = state, state, 1, 1, 2
    while at != 0 and code > 0:
        code = 1 if is_expanded(context, at) else NEED_LEX
        for byte in range(0x80 if code > 0 else 0):
            if code > 0 and _is_among(low, high, byte):
                after = int(int32s(context, LEX)[at * 256 + byte])
                code = _goes_on(context, after, low, high)
                if code == 1 and letters[after * 2] & _LISTED == 0:
                    most = min(most, others_of(context, after))
                if code > 1:
                    letters[last * 2 + 1] = after
                    letters[after * 2], letters[after * 2 + 1] = _LISTED, 0
                    last, count = after, count + 1
        code = 0 if count > _MOST and code > 0 else code
        at = int(letters[at * 2 + 1])
    if code > 0:
        code = _others(context, state, low, high, most)
        _settle(context, state, low, high, code)
    else:
        _give_up(context, state, low, high, code == 0)
    return min(code, 0)


@inner
def _read_by(context: Context, state: int) -> tuple[int, int]:
    """The letters behind which a state goes on; none that ends a string or begins an escape."""
    apart()
    rows, low, high = int32s(context, LEX), 0, 0
    for byte in range(0x80):
        after = int(rows[state * 256 + byte])
        if not is_mark(byte) and _goes_on(context, after, 0, 0) > 0:
            low |= 1 << byte if byte < 0x40 else 0
            high |= 1 << (byte - 0x40) if byte >= 0x40 else 0
    return low & ~_TOLD, high


@inner
def _goes_on(context: Context, state: int, low: int, high: int) -> int:
    """Whether a state may read these letters for ever: 0 if not, 1 if so, 2 if nobody has looked.

    1, too, if it is being looked at.
    """
    if state <= 0 or uint8s(context, LEX_FLAG)[state] & (ACCEPTS | DOUBTS):
        return 0
    letters = int64s(context, FOREVER)
    one, other = int(letters[state * 2]), int(letters[state * 2 + 1])
    if one == 0:
        return 2
    return 1 if one & _LISTED or (low & ~one) | (high & ~other) == 0 else 0


@inner
def _is_among(low: int, high: int, byte: int) -> bool:
    word = low if byte < 0x40 else high
    return word >> (byte & 63) & 1 != 0


@once
def _others(context: Context, state: int, low: int, high: int, most: int) -> int:
    """Which characters that are not ASCII lead each listed state to one that they lead back to.

    As in `all_else_loop`, `most` at most; or NEED_LEX. Those read the letters for ever, too.
    """
    letters, found, at = int64s(context, FOREVER), most, state
    while at != 0 and found > 0:
        found = min(found, _others_behind(context, at, low, high))
        at = int(letters[at * 2 + 1])
    return found


@once
def _others_behind(context: Context, state: int, low: int, high: int) -> int:
    """The same of one state."""
    rows, letters = int32s(context, LEX), int64s(context, FOREVER)
    within = int(rows[state * 256 + _LEAD])
    if within <= 0 or not is_expanded(context, within):
        return 0 if within <= 0 else NEED_LEX
    base = int(rows[within * 256 + _TRAIL])
    if _goes_on(context, base, low, high) != 1:
        return 0
    if uint8s(context, LOOPS)[base] == 0 and find_loops(context, base) < 0:
        return NEED_LEX
    found = all_else_loop(int(uint8s(context, LOOPS)[base]))
    if letters[base * 2] & _LISTED == 0:
        found = min(found, others_of(context, base))
    for byte in range(0x80, 0x100):
        found = found if rows[state * 256 + byte] == rows[base * 256 + byte] else 0
    return found


@once
def _settle(context: Context, state: int, low: int, high: int, others: int) -> None:
    """Write these letters to all states that are listed, this one first; below 0: none are known.

    A state that they all lead back to goes nowhere else by them.
    """
    letters, loops, at = int64s(context, FOREVER), int64s(context, LOOP), state
    while at != 0:
        after, own = int(letters[at * 2 + 1]), others
        if others >= 0 and (low & ~loops[at * 2]) | (high & ~loops[at * 2 + 1]) == 0:
            own = max(others, all_else_loop(int(uint8s(context, LOOPS)[at])))
        letters[at * 2 + 1] = high
        letters[at * 2] = low | own << _ELSE_AT | _KNOWN if others >= 0 else 0
        at = after


@once
def _give_up(context: Context, state: int, low: int, high: int, known: bool) -> None:
    """Write that there are none, if that is `known`, to those that are listed with these letters.

    Others may read those for ever that they have: the state of a search, behind an escape. So may
    one that letters lead back to, which is where many patterns end.
    """
    letters, flags, at = int64s(context, FOREVER), uint8s(context, LEX_FLAG), state
    while at != 0:
        after, alike = int(letters[at * 2 + 1]), known and flags[at] & EXPANDED != 0
        if at != state and alike:
            one, other = _read_by(context, at)
            back = int32s(context, LEX)[at * 256 + USUAL] == at
            alike = one == low and other == high and not back
        letters[at * 2], letters[at * 2 + 1] = _KNOWN if alike else 0, 0
        at = after
