"""Decimals as patterns, with the digits and bounds that pydantic knows.

pydantic counts digits after dropping zeros at the end of the fraction: 12.500 has one decimal
place and three digits. The zero in 0.01 counts for nothing, but 0 itself is one digit. To count, it
rounds to the 28 digits of decimal's default context, which makes 30 digits of 29 nines: with
`max_digits`, 28 digits are the most on offer.

Exponents, which `str(Decimal)` writes in 1E+3 and 1E-7, are on offer where no bound but zero is
set; to compare 1E+3 with 999.5, a pattern would have to count.

What this module does not know: where the numbers come from.
"""

from dataclasses import dataclass
from decimal import Decimal
from typing import final

from guideway.syntax.python_types_patterns import (
    FRACTION,
    NUMERAL,
    decimals,
    either,
    numerals,
    whole,
)
from guideway.syntax.python_types_place import Core

_COUNTED = 28
_ANY_EXPONENT = "E[+-]?[0-9]{1,17}"  # Decimal reads exponents of up to 18 digits
_COUNTED_EXPONENT = "[1-9][0-9]{0,4}"  # decimal's default context ends at 999,999
_INFINITE = "Infinity|NaN"
_LEAST_WRITTEN = 7  # str(Decimal) writes 0.000001, and 1E-7
_AROUND_ZERO = {
    "ge": "^(?:[0-9]|-[0.]+(?:E|$))",
    "gt": "^[0.]*[1-9]",
    "le": "^(?:-|[0.]+(?:E|$))",
    "lt": "^-[0.]*[1-9]",
}


@final
@dataclass(frozen=True, slots=True)
class _Digits:
    """How many digits may stand before the point, after it, and in all; None: any number."""

    units: int | None
    places: int | None
    total: int | None


def decimal_patterns(core: Core, *, infinite: bool) -> list[str]:
    """Patterns that all have to match.

    >>> decimal_patterns({"max_digits": 3, "decimal_places": 2, "ge": 0}, infinite=False)[1]
    '^(?:[0-9]|-[0.]+(?:E|$))'

    Args:
        core: its `max_digits`, `decimal_places`, `ge`, `gt`, `le` and `lt` count.
        infinite: whether infinity and NaN are allowed; bounds and counts leave them out.
    """
    bounds = {name: Decimal(core[name]) for name in ("ge", "gt", "le", "lt") if name in core}
    digits = _digits(core.get("max_digits"), core.get("decimal_places"))
    unsigned = _plain(digits)
    bounded = any(bounds.values())
    unsigned += [_zero(digits.units)] if bounded else _scientific(digits)
    if infinite and not bounds and digits.places is None:
        unsigned.append(_INFINITE)
    return [whole(f"-?(?:{either(unsigned)})"), *_ranges(bounds, bounded)]


def _ranges(bounds: dict[str, Decimal], bounded: bool) -> list[str]:
    patterns: list[str] = []
    for name, value in bounds.items():
        if not bounded:
            patterns.append(_AROUND_ZERO[name])
        elif name[0] == "g":
            patterns += map(whole, decimals(value, None, name == "gt", False))
        else:
            patterns += map(whole, decimals(None, value, False, name == "lt"))
    return patterns


def _digits(total: int | None, places: int | None) -> _Digits:
    if total is None:
        return _Digits(None, places, None)
    counted = min(total, _COUNTED)
    if places is None:
        return _Digits(counted, counted, counted)
    units = max(0, total - places)
    return _Digits(min(units, counted), min(places, counted), counted)


def _plain(digits: _Digits) -> list[str]:
    """Digits, and a fraction perhaps."""
    units, places, total = digits.units, digits.places, digits.total
    if places is None:
        return [f"{NUMERAL}{FRACTION}"]
    if units is None or total is None:
        return [f"{NUMERAL}{_fraction(places)}"]
    if units == 0:  # pydantic takes 0.0 there, but 0 has a digit too many
        return [rf"0\.(?:[0-9]{{1,{places}}}0*|0+)"]
    if units + places <= total:
        return [f"(?:0|[1-9][0-9]{{0,{units - 1}}}){_fraction(places)}"]
    return [f"0{_fraction(places)}"] + [
        f"[1-9][0-9]{{{count - 1}}}{_fraction(min(places, total - count))}"
        for count in range(1, units + 1)
    ]


def _fraction(places: int) -> str:
    return rf"(?:\.[0-9]{{1,{places}}}0*)?" if places else r"(?:\.0+)?"


def _scientific(digits: _Digits) -> list[str]:
    """One digit, a fraction perhaps, and an exponent."""
    units, places = digits.units, digits.places
    if places is None:
        return [f"[0-9]{FRACTION}{_ANY_EXPONENT}"]
    small = [
        f"[1-9]{_fraction(places - exponent)}E-{exponent}"
        for exponent in range(_LEAST_WRITTEN, places + 1)
    ]
    return [_zero(units), *_great(units, places), *small]


def _zero(units: int | None) -> str:
    """Zero as `str` writes the decimals 0E-7 and 0E+1."""
    return f"0E{'-' if units == 0 else '[+-]'}{_COUNTED_EXPONENT}"


def _great(units: int | None, places: int) -> list[str]:
    """Exponents above zero: each moves as many digits of the fraction before the point."""
    moved = 0 if units is not None else places
    parts = [
        rf"[1-9]{_fraction(exponent + moved)}E\+{exponent}"
        for exponent in range(1, _COUNTED if units is None else units)
    ]
    beyond = rf"[1-9]{_fraction(_COUNTED)}E\+(?:{numerals(_COUNTED, 99_999)})"
    return [*parts, beyond] if units is None else parts
