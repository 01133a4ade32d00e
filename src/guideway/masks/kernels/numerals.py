"""Numbers between bounds, digit by digit: what `lowering.number_machines` says, as records.

A PLACE says how far a mantissa is read, and where its readers are: a lower and an upper bound, and
whether only whole numbers count, or those of one or two decimals. Each is told apart by no more
than what follows depends on, so ranges share places as there. Where a place leads is reckoned when
it is asked for: written down as expressions, those that a mask looked at took .2 ms more in Python.

Names are those of `lowering.number_readers`; as there, a bound is 0.DIGITS·10^(exponent + 1), of
whose digits those that were read are gone.

What this module does not know: signs, zero, what follows the letter of an exponent.
"""

from typing import Final

from guideway.masks.kernels.algebra import pair_of, repeat_of
from guideway.masks.kernels.record_layout import (
    ABOUT,
    ALIVE,
    BYTES,
    COMPARED,
    COUNTING,
    DECIDED,
    DEPTH,
    DIGITS,
    EMPTY,
    EVEN,
    EXCLUSIVE,
    EXPONENT_BITS,
    EXPONENT_END,
    EXPONENT_ZERO,
    FRACTION,
    NORMAL,
    PLACE,
    PLAIN_END,
    RULE,
    SHAPE,
    SURE,
    TRUE_SIDE,
    UPPER,
    WHOLE_BITS,
    WHOLE_CODE,
    WHOLE_DEPTH,
    WHOLE_LONG,
    WITH_COUNT,
    WITH_EXPONENT,
    WITH_POINT,
    A,
    B,
    C,
)
from guideway.masks.kernels.records import add_line, field, put, record_of, set_of
from guideway.masks.kernels.views import Context, WholeNumbers, apart, inner, once

_POINT: Final = 10
_POINT_BIT: Final = 1 << 0x2E
_LETTERS: Final = 1 << 0x05 | 1 << 0x25  # E and e, in the second word
_FAR: Final = 1 << 40  # no end
_NEITHER: Final = -1  # of a side: nothing belongs, whatever follows


@inner
def _sign(state: int) -> int:
    """Whether what was read is less than its bound, the same so far, or more."""
    return ((state >> 3) & 3) - 1


@inner
def _side(context: Context, digits: int, exponent: int, number: int, flags: int) -> int:
    return record_of(context, COMPARED, digits, exponent, (number << 8) | flags)


@inner
def _is_counted(number: int) -> bool:
    return -DEPTH <= number < DEPTH


@inner
def _end_of(digits: int, exponent: int, state: int) -> int:
    """The least exponent with which a number belongs, or the greatest."""
    shift, sign = exponent - (state >> 8), _sign(state)
    if sign == 0 and digits != EMPTY:
        sign = -1
    if state & UPPER != 0:
        return shift if sign < 0 or (sign == 0 and state & EXCLUSIVE == 0) else shift - 1
    return shift if sign > 0 or (sign == 0 and state & EXCLUSIVE == 0) else shift + 1


@inner
def _belongs(digits: int, exponent: int, state: int) -> bool:
    """Whether a number belongs as it stands."""
    end = _end_of(digits, exponent, state)
    return end >= 0 if state & UPPER != 0 else end <= 0


@inner
def _settled(context: Context, digits: int, exponent: int, number: int, flags: int) -> int:
    """No more than whether it belongs, where no digit and no exponent changes that."""
    sign = _sign(flags)
    if flags & FRACTION != 0 and (sign != 0 or number != exponent) and not _is_counted(number):
        belongs = _belongs(digits, exponent, (number << 8) | flags)
        return record_of(context, COMPARED, EMPTY, 0, TRUE_SIDE) if belongs else _NEITHER
    if sign != 0:
        return _side(context, EMPTY, exponent, number, flags & ~EXCLUSIVE)
    return _side(context, digits, exponent, number, flags)


@inner
def _compared(context: Context, side: int, number: int, flags: int, digit: int) -> int:
    """The side of a bound after a digit behind a first one."""
    digits, exponent = field(context, side, A), field(context, side, B)
    if _sign(flags) != 0:
        return _side(context, digits, exponent, number, flags)
    beside = field(context, digits, A) if digits != EMPTY else 0
    if digit == beside:
        rest = field(context, digits, B) if digits != EMPTY else EMPTY
        return _side(context, rest, exponent, number, flags)
    signed = (flags & ~(3 << 3)) | (2 << 3 if digit > beside else 0)
    return _settled(context, EMPTY, exponent, number, signed)


@inner
def _side_after(context: Context, side: int, symbol: int) -> int:
    """Where a bound is after one more symbol; _NEITHER if nothing belongs any more."""
    apart()
    digits, exponent = field(context, side, A), field(context, side, B)
    state = field(context, side, C)
    number, flags = state >> 8, state & 0xFF
    if flags & DECIDED != 0:
        return side
    if flags & COUNTING != 0:
        return _side_behind_zeros(context, side, number, flags, symbol)
    if symbol == _POINT:
        if number == -1:  # nothing but a zero before it
            return _side(context, digits, exponent, 0, flags | COUNTING)
        return _settled(context, digits, exponent, number, flags | FRACTION)
    if flags & FRACTION == 0:
        most = max(DEPTH, exponent)
        number = min(number, most) + 1
        if number > most and flags & UPPER != 0:
            return _NEITHER
    return _compared(context, side, number, flags, symbol)


@once
def _side_behind_zeros(context: Context, side: int, count: int, flags: int, symbol: int) -> int:
    """The same where there were only zeros, so many of them behind the point."""
    if symbol != 0:
        return _compared(context, side, -count - 1, (flags & ~COUNTING) | FRACTION, symbol)
    exponent = field(context, side, B)
    most = max(DEPTH, -exponent) + 1
    return _side(context, field(context, side, A), exponent, min(count + 1, most), flags)


@inner
def _whole_after(code: int, symbol: int) -> int:
    """Where the reader of whole numbers is after a symbol; _NEITHER if none begins so.

    A code is 2 + (last + 3) * 4 + place + 1, `place` -1 before the point, and the decimals << 5.
    """
    if code <= WHOLE_LONG:
        return code if code < WHOLE_LONG or symbol == 0 else _NEITHER
    last, place = _whole_last(code), (((code & WHOLE_CODE) - 2) & 3) - 1
    if symbol == _POINT:
        place = 0
    elif place < 0:
        last = last - 1 if symbol == 0 else 0
    else:
        place += 1
        last = last if symbol == 0 else place
    if place > WHOLE_DEPTH:
        return WHOLE_LONG if last <= code >> WHOLE_BITS else _NEITHER
    return (code & ~WHOLE_CODE) + 2 + (max(last, -WHOLE_DEPTH - 1) + 3) * 4 + place + 1


@inner
def _whole_last(code: int) -> int:
    """How far behind the point the last digit other than 0 stands."""
    return (((code & WHOLE_CODE) - 2) >> 2) - 3


@inner
def _whole_least(code: int) -> int:
    """The least exponent that makes it whole."""
    return _whole_last(code) - (code >> WHOLE_BITS)


@inner
def _side_window(context: Context, side: int) -> int:
    """The end of all exponents that a bound may leave, whatever follows; _FAR for none."""
    exponent, state = field(context, side, B), field(context, side, C)
    if state & DECIDED != 0:
        return 0
    number = state >> 8
    begun = state & COUNTING == 0 and (number >= 0 or state & FRACTION != 0)
    if not begun or number > max(DEPTH, exponent):
        return _FAR
    shift, sign = exponent - number, _sign(state)
    return shift - (1 if sign > 0 else 0) if state & UPPER != 0 else shift + (1 if sign < 0 else 0)


@inner
def _exclude(context: Context, lower: int, upper: int, whole: int) -> bool:
    """Whether nothing belongs where the readers are, as far as is plain."""
    low, high = -_FAR, _FAR
    if lower != 0:
        end = _side_window(context, lower)
        low = low if end == _FAR else end
        if field(context, lower, C) & DECIDED != 0:
            high = 0
    if upper != 0:
        high = min(high, _side_window(context, upper))
        if field(context, upper, C) & DECIDED != 0:
            low = max(low, 0)
    if whole == WHOLE_LONG:
        low, high = max(low, 0), min(high, 0)
    elif whole > WHOLE_LONG and _whole_last(whole) >= -WHOLE_DEPTH:
        low = max(low, _whole_least(whole))
    return low > high


@inner
def _missing(context: Context, side: int) -> int:
    """How many digits may follow before the point if they are only counted, else _FAR."""
    state = field(context, side, C)
    sign, number = _sign(state), state >> 8
    if state & (DECIDED | COUNTING | FRACTION) != 0 or sign == 0 or _is_counted(number):
        return _FAR
    upper = 1 if state & UPPER != 0 else 0
    return field(context, side, B) - number + (1 if sign < 0 else 0) - upper


@inner
def _rest(context: Context, shape: int, lower: int, upper: int) -> int:
    """The record of digits that are only counted, and a fraction; else _NEITHER."""
    apart()
    low, high = 0, -1
    if lower != 0:
        low = max(_missing(context, lower), 0)
    if upper != 0:
        high = _missing(context, upper)
    if low == _FAR or high == _FAR or lower + upper == 0:
        return _NEITHER
    if upper != 0 and high < low:
        return EMPTY
    digit = record_of(context, BYTES, set_of(context, 0x3FF << 0x30, 0, 0, 0), 0, 0)
    found = repeat_of(context, digit, low, high)
    if shape & WITH_POINT == 0:
        return found
    point = record_of(context, BYTES, set_of(context, _POINT_BIT, 0, 0, 0), 0, 0)
    behind = pair_of(context, point, repeat_of(context, digit, 1, -1))
    return pair_of(context, found, repeat_of(context, behind, 0, 1))


@inner
def _ends(
    context: Context, shape: int, lower: int, upper: int, whole: int
) -> tuple[int, int, int, int]:
    """Whether a number may end as it stands, whether with an exponent, and those that may."""
    low, high, told = -_FAR, _FAR, _tells(context, lower) and _tells(context, upper)
    if lower != 0:
        low = _end(context, lower, low)
    if upper != 0:
        high = _end(context, upper, high)
    if whole > WHOLE_LONG:
        low = max(low, _whole_least(whole))
    plain = low <= 0 <= high
    told = told and (whole == 0 or (whole > WHOLE_LONG and _whole_last(whole) >= -WHOLE_DEPTH))
    if (shape & 7) not in (2, 3, 6, 7) or shape & WITH_COUNT == 0:
        return 0, 0, 0, 0
    if shape & NORMAL != 0:  # one digit before the point, and up to three in the exponent
        told = told and (shape & 7) in (2, 6)
        low, high = max(low, -999), min(high, 999)
    return int(plain), int(told and shape & WITH_EXPONENT != 0 and low <= high), low, high


@inner
def _end(context: Context, side: int, none: int) -> int:
    """The end of the exponents with which a number belongs, as far as a bound says."""
    state = field(context, side, C)
    if state & DECIDED != 0:
        return none
    return _end_of(field(context, side, A), field(context, side, B), state)


@inner
def _tells(context: Context, side: int) -> bool:
    """Whether a bound, if there is one, tells exponents."""
    state = field(context, side, C)
    return side == 0 or (state & DECIDED == 0 and _is_counted(state >> 8))


@inner
def _place(context: Context, shape: int, lower: int, upper: int, whole: int) -> int:
    """The record of a place, or of what is known to follow there."""
    if whole == 0:
        rest = _rest(context, shape, lower, upper)
        if rest != _NEITHER:
            return rest
    plain, told, _low, _high = _ends(context, shape, lower, upper, whole)
    ends = (PLAIN_END if plain != 0 else 0) | (EXPONENT_END if told != 0 else 0)
    return record_of(context, PLACE, shape | ends, (lower << 32) | upper, whole)


@inner
def _stage_after(stage: int, symbol: int, shape: int) -> int:
    """The stage after a symbol, as `number_machines` has them; 0 if it may not come."""
    if stage == 0:
        return 1 if symbol == 0 else 0 if symbol == _POINT else 2 if shape & NORMAL != 0 else 3
    if symbol == _POINT:
        point = 5 if stage in (1, 3) else 4 if stage == 2 else 0
        return point if shape & WITH_POINT != 0 else 0
    return 0 if stage == 1 else 3 if stage <= 3 else 6 if stage in (4, 6) else 7


@inner
def _after(context: Context, record: int, symbol: int) -> int:
    """The record of what follows a symbol at a place."""
    apart()
    about, sides, whole = (
        field(context, record, A),
        field(context, record, B),
        field(context, record, C),
    )
    lower, upper = sides >> 32, sides & 0xFFFFFFFF
    stage = _stage_after(about & 7, symbol, about)
    if stage == 0:
        return EMPTY
    shape = (about & SHAPE) | stage
    if about & 7 == 0 and symbol == 0:
        return _place(context, shape, lower, upper, whole)
    if lower != 0:
        lower = _side_after(context, lower, symbol)
    if upper != 0:
        upper = _side_after(context, upper, symbol)
    if whole != 0:
        whole = _whole_after(whole, symbol)
    if min(lower, upper, whole) < 0 or _exclude(context, lower, upper, whole):
        return EMPTY
    if 0 < symbol < _POINT:
        shape |= WITH_COUNT
    made = _place(context, shape, lower, upper, whole)
    if symbol == _POINT and about & (PLAIN_END | EXPONENT_END) != 0:  # zeros change nothing
        put(context, made, ABOUT, field(context, made, ABOUT) | ALIVE)
    return made


@inner
def _bound_of(end: int) -> int:
    """An end of exponents, as a few bits; 0 for none."""
    return 0 if abs(end) == _FAR else end + EXPONENT_ZERO


@once
def add_places(context: Context, record: int) -> None:
    """Write the lines of a place."""
    before, members = EMPTY, 0
    for symbol in range(_POINT + 1):
        after = _after(context, record, symbol)
        if after != before:
            add_line(context, set_of(context, members, 0, 0, 0), before)
            before, members = after, 0
        members |= 1 << (0x30 + symbol) if symbol < _POINT else _POINT_BIT
    add_line(context, set_of(context, members, 0, 0, 0), before)
    about, sides = field(context, record, A), field(context, record, B)
    if about & EXPONENT_END != 0:
        whole = field(context, record, C)
        _plain, _told, low, high = _ends(context, about, sides >> 32, sides & 0xFFFFFFFF, whole)
        ends = _bound_of(low) << EXPONENT_BITS | _bound_of(high)
        number = -1 - (ends << 1 | (1 if about & NORMAL != 0 else 0))
        shifts = record_of(context, RULE, number, 1, 0)
        add_line(context, set_of(context, 0, _LETTERS, 0, 0), shifts)


@inner
def _written_bound(context: Context, program: WholeNumbers, at: int, flags: int) -> int:
    """The side of a bound before the first digit: how many digits, exponent, exclusive, digits."""
    digits = EMPTY
    for back in range(int(program[at])):
        digit = int(program[at + 2 + int(program[at]) - back])
        digits = record_of(context, DIGITS, digit, digits, 0)
    exclusive = EXCLUSIVE if program[at + 2] != 0 else 0
    return _side(context, digits, int(program[at + 1]), -1, flags | EVEN | exclusive)


@once
def begin_places(context: Context, program: WholeNumbers, at: int) -> int:
    """The place before the first digit, of which is known that a number follows.

    From `at` on: shape, code of whole numbers, both bounds, each without digits if there is none.
    """
    upper_at = at + 5 + int(program[at + 2])
    lower, upper = 0, 0
    if program[at + 2] != 0:
        lower = _written_bound(context, program, at + 2, 0)
    if program[upper_at] != 0:
        upper = _written_bound(context, program, upper_at, UPPER)
    made = record_of(context, PLACE, int(program[at]), (lower << 32) | upper, int(program[at + 1]))
    put(context, made, ABOUT, field(context, made, ABOUT) | SURE)
    return made
