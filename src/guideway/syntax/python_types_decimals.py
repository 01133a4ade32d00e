"""Decimals as patterns, with the digits and bounds that pydantic counts.

pydantic counts digits after dropping zeros at the end of the fraction: 12.500 has one decimal place
and three digits; 0.01 has no digit before the point, 0 has one. It rounds to the 28 digits of
decimal's default context, so `max_digits` allows 28 at most. Exponents, which `str(Decimal)` writes
in 1E+3 and 1E-7, are allowed where no bound but zero is set.
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
_MOST_ENDING = 4  # digits that tell a multiple: of 16, 625 endings of four
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
    """Most digits before the point, after it and in all (None: any); `zeros` may end a fraction."""

    units: int | None
    places: int | None
    total: int | None
    zeros: bool

    def fraction(self, places: int | None) -> str:
        """Optional fraction of at most `places` digits."""
        if places is None:
            return FRACTION
        more = "0*" if self.zeros else ""
        if places == 0:
            return r"(?:\.0+)?" if self.zeros else ""
        return rf"(?:\.[0-9]{{1,{places}}}{more})?"


def decimal_patterns(core: Core, *, infinite: bool, plain: bool = False) -> list[str]:
    """Patterns that all have to match.

    `infinite` allows infinity and NaN, if no bound or count excludes them. `plain` leaves out zeros
    that make no difference, and allows at most 28 digits on either side of the point.
    """
    bounds = {name: Decimal(core[name]) for name in ("ge", "gt", "le", "lt") if name in core}
    digits = _digits(core, zeros=not plain)
    unsigned = _plain(digits)
    bounded = any(bounds.values())
    unsigned += [_zero(digits.units)] if bounded else _scientific(digits)
    if infinite and not bounds and core.get("decimal_places") is None and digits.total is None:
        unsigned.append(_INFINITE)
    return [whole(f"-?(?:{either(unsigned)})"), *_ranges(bounds, bounded)]


def _ranges(bounds: dict[str, Decimal], bounded: bool) -> list[str]:
    patterns: list[str] = []
    for name, value in bounds.items():
        if not bounded:
            patterns.append(_AROUND_ZERO[name])
        else:
            part = decimals(value, least=name[0] == "g", exclusive=name[1] == "t")
            patterns.append(whole(part))
    return patterns


def _digits(core: Core, *, zeros: bool) -> _Digits:
    total, places = core.get("max_digits"), core.get("decimal_places")
    if total is None and zeros:
        return _Digits(None, places, None, zeros)
    counted = _COUNTED if total is None else min(total, _COUNTED)
    implied = None if total is None or places is None else max(0, total - places)
    units = core.get("whole_digits", implied)
    return _Digits(
        counted if units is None else min(units, counted),
        counted if places is None else min(places, counted),
        None if total is None else counted,
        zeros,
    )


def _plain(digits: _Digits) -> list[str]:
    """Digits and an optional fraction."""
    units, places, total = digits.units, digits.places, digits.total
    fraction = digits.fraction(places)
    if units is None:
        return [f"{NUMERAL}{fraction}"]
    if units == 0:  # pydantic takes 0.0 there, but 0 has a digit too many
        return [r"0\.0+", *([f"0{fraction.removesuffix('?')}"] if places else [])]
    if total is None or (places is not None and units + places <= total):
        return [f"(?:0|[1-9][0-9]{{0,{units - 1}}}){fraction}"]
    return [f"0{fraction}"] + [
        f"[1-9][0-9]{{{count - 1}}}{digits.fraction(min(places or 0, total - count))}"
        for count in range(1, units + 1)
    ]


def _scientific(digits: _Digits) -> list[str]:
    """One digit, an optional fraction and an exponent."""
    units, places = digits.units, digits.places
    if places is None or (digits.total is None and not digits.zeros):
        return [f"[0-9]{digits.fraction(places)}{_ANY_EXPONENT}"]
    small = [
        f"[1-9]{digits.fraction(places - exponent)}E-{exponent}"
        for exponent in range(_LEAST_WRITTEN, places + 1)
    ]
    return [_zero(units), *_great(digits, places), *small]


def _zero(units: int | None) -> str:
    """Zero as `str` writes the decimals 0E-7 and 0E+1."""
    return f"0E{'-' if units == 0 else '[+-]'}{_COUNTED_EXPONENT}"


def _great(digits: _Digits, places: int) -> list[str]:
    """Exponents above zero: each moves as many digits of the fraction before the point."""
    units = digits.units
    moved = 0 if units is not None else places
    parts = [
        rf"[1-9]{digits.fraction(exponent + moved)}E\+{exponent}"
        for exponent in range(1, _COUNTED if units is None else units)
    ]
    beyond = rf"[1-9]{digits.fraction(_COUNTED)}E\+(?:{numerals(_COUNTED, 99_999)})"
    return [*parts, beyond] if units is None else parts


# Multiples


def multiples(of: Decimal) -> list[str]:
    """Patterns of the multiples of a decimal number, without exponents; all of them have to match.

    Empty unless the number is a product of twos and fives and a power of ten, where the last digits
    decide. Python's decimals divide up to 28 digits.

    >>> import re
    >>> multiple, _ = multiples(Decimal("0.25"))
    >>> [bool(re.search(multiple, text)) for text in ("1.5", "-0.750", "1.3")]
    [True, True, False]
    """
    digits, exponent = of.copy_abs().normalize().as_tuple()[1:]
    base = int("".join(map(str, digits)))
    if not isinstance(exponent, int) or base == 0:
        return []
    size = next((size for size in range(_MOST_ENDING + 1) if 10**size % base == 0), None)
    if size is None:
        return []
    ends = [f"{value:0{size}}"[:size] for value in range(0, 10**size, base)]
    places, zeros = max(0, -exponent), "0" * max(0, exponent)
    most = max(_COUNTED + of.adjusted(), 1)
    parts = ["0(?:[.]0+)?"] if places == 0 else []
    for count in range(places + 1):  # how many digits the fraction has; the others are 0
        hidden = places - count
        kept = {
            f"{end}{zeros}"[: max(0, size - hidden) + len(zeros)]
            for end in ends
            if end.endswith("0" * min(hidden, size))
        }
        parts += [_ending(end, count, last=hidden == 0) for end in sorted(kept)]
    return [whole(f"-?(?:{either(parts)})"), rf"^-?[0-9]{{1,{most}}}(?:\.|$)"]


def _ending(end: str, count: int, *, last: bool) -> str:
    """Numbers with `count` decimal places whose last digits are `end`."""
    behind = end[max(0, len(end) - count) :] if count else ""
    before = end[: len(end) - len(behind)]
    units = f"(?:[1-9][0-9]*{before}|{before.lstrip('0') or '0'})" if before else NUMERAL
    more = "0*" if last else ""
    if count == 0:
        return units + (r"(?:\.0+)?" if last else "")
    return rf"{units}\.[0-9]{{{count - len(behind)}}}{behind}{more}"
