"""Ranges of numbers as records, and back: `kernels.numerals` reckons where their places lead.

Where a number begins is written down: its bounds, whether only whole numbers count, or multiples of
0.1 or 0.01, and how it may be spelled. What is a multiple of something else as well stays a rule
whose bodies Python makes: `lowering.number_machines` does not call it begun.

What this module does not know: how records are written, where places lead.
"""

from collections.abc import Callable
from typing import Final

from guideway.lowering.nodes import Expr, Rule
from guideway.lowering.number_forms import shifts
from guideway.lowering.number_machines import Shape, begun, place_from
from guideway.lowering.number_readers import Comparison, Long, Multiple, Reader, Rest, Size, State
from guideway.masks.kernels import record_layout as at

_BYTES: Final = sum(1 << byte for byte in b"0123456789.eE+-")


def begun_places(rule: Rule, spellable: int) -> list[int] | None:
    """What a program says of a number before its first digit; None if kernels do not know it."""
    found = begun(rule)
    if found is None or _BYTES & ~spellable:
        return None
    readers, shape = found
    bounds = [reader for reader in readers if isinstance(reader, Comparison)]
    scales = [reader.scale for reader in readers if isinstance(reader, Multiple)]
    whole = [at.WHOLE_START | scale << at.WHOLE_BITS for scale in scales]
    program = [_written(shape), *(whole or (0,))]
    for upper in (False, True):
        bound = next((bound for bound in bounds if bound.upper == upper), None)
        program += (0, 0, 0) if bound is None else _told(bound)
    return program


def _told(bound: Comparison) -> list[int]:
    return [len(bound.digits), bound.exponent, int(bound.exclusive), *bound.digits]


def _written(shape: Shape) -> int:
    flags = (
        (shape.point, at.WITH_POINT),
        (shape.exponent, at.WITH_EXPONENT),
        (shape.normal, at.NORMAL),
    )
    return sum(flag for holds, flag in flags if holds)


def shifts_of(number: int) -> Rule:
    """The digits of exponents that a rule's number below 0 stands for."""
    code = -1 - number
    ends = code >> 1 + at.EXPONENT_BITS, (code >> 1) & (1 << at.EXPONENT_BITS) - 1
    low, high = (end - at.EXPONENT_ZERO if end else None for end in ends)
    return shifts(low, high, bool(code & 1))


def place_of(fields: Callable[[int], list[int]], record: int) -> Expr:
    """What may be read at a place; `fields` gives those of a record."""
    _, about, sides, whole = fields(record)
    shape = Shape(*(bool(about & flag) for flag in (at.WITH_POINT, at.WITH_EXPONENT, at.NORMAL)))
    found = [] if not whole else [_whole(whole)]
    found += [_bound(fields, side) for side in (sides >> 32, sides & 0xFFFFFFFF) if side]
    return place_from(about & 7, bool(about & at.WITH_COUNT), found, shape)


def _bound(fields: Callable[[int], list[int]], side: int) -> tuple[Reader, State]:
    _, digits, exponent, state = fields(side)
    if state & at.DECIDED:
        return Comparison((), 0, exclusive=False, upper=False), True
    listed: list[int] = []
    while digits:
        _, digit, digits, _ = fields(digits)
        listed.append(digit)
    exclusive, upper = bool(state & at.EXCLUSIVE), bool(state & at.UPPER)
    reader = Comparison(tuple(listed), exponent, exclusive, upper)
    if state & at.COUNTING:
        return reader, state >> 8
    sign = (state // at.EVEN & 3) - 1
    return reader, Size(state >> 8, sign, 0, bool(state & at.FRACTION))


def _whole(code: int) -> tuple[Reader, State]:
    reader = Multiple(1, code >> at.WHOLE_BITS, at.WHOLE_DEPTH)
    if code == at.WHOLE_LONG:
        return reader, Long(0, 0)
    last, place = divmod((code & at.WHOLE_CODE) - 2, 4)
    return reader, Rest(0, 0, last - at.WHOLE_DEPTH - 1, place - 1 if place else None)
