"""Numerals and decimals in a range, as patterns."""

from collections.abc import Iterator
from decimal import Decimal

DIGITS = "[0-9]*"
FRACTION = r"(?:\.[0-9]+)?"
ZERO = r"0(?:\.0+)?(?:E[+-][0-9]{1,5})?"  # as str(Decimal) writes it
NUMERAL = "(?:0|[1-9][0-9]*)"
LONGEST_INTEGER = 4300  # digits; beyond, Python's int() refuses
NATURAL = f"[1-9][0-9]{{0,{LONGEST_INTEGER - 1}}}"
NOTHING = "[^\\s\\S]"  # matches no text: no character is neither


def whole(part: str) -> str:
    return f"^(?:{part})$"


def either(parts: list[str]) -> str:
    return "|".join(parts) if parts else NOTHING


def numerals(low: int, high: int | None) -> str:
    """Numerals of the whole numbers from `low` (0 or more) to `high` (None: no end).

    >>> numerals(0, 12)
    '[0-9]|1[0-2]'
    """
    if high is not None and high < low:
        return NOTHING
    first = str(low)
    if high is None:
        return either([*_same_length(first, "9" * len(first)), f"[1-9]{_count(len(first), None)}"])
    last = str(high)
    if len(first) == len(last):
        return either(_same_length(first, last))
    parts = _same_length(first, "9" * len(first))
    if len(last) - len(first) > 1:
        parts.append(f"[1-9]{_count(len(first), len(last) - 2)}")
    return either([*parts, *_same_length("1" + "0" * (len(last) - 1), last)])


def integers(low: int | None, high: int | None, digits: int) -> str:
    """Numerals of the integers in a range, with at most `digits` digits.

    >>> integers(-1, 20, 4300)
    '[0-9]|20|1[0-9]|-(?:1)'
    """
    greatest = 10**digits - 1
    first = -greatest if low is None else max(low, -greatest)
    last = greatest if high is None else min(high, greatest)
    parts: list[str] = []
    if last >= 0:
        parts.append(numerals(max(0, first), last))
    if first < 0:
        parts.append(f"-(?:{numerals(max(1, -last), -first)})")
    return either(parts)


def decimals(bound: Decimal, *, least: bool, exclusive: bool) -> str:
    """Decimal numbers in plain notation from a bound on (`least`), or up to it."""
    # x <= bound is -x >= -bound: the same with the signs changed
    negative, positive = ("-", "") if least else ("", "-")
    low = bound if least else bound.copy_negate()
    zero = rf"-?{ZERO}"
    if low < 0:
        below = f"{negative}(?:{unsigned_to(low.copy_abs(), exclusive)})"
        return f"{positive}{NUMERAL}{FRACTION}|{zero}|{below}"
    units, fraction = _split(low)
    equal = fraction_from(fraction, exclusive or low == 0)
    above = f"{positive}(?:{units}{equal}|(?:{numerals(units + 1, None)}){FRACTION})"
    return f"{above}|{zero}" if low == 0 and not exclusive else above


def unsigned_to(high: Decimal, exclusive: bool) -> str:
    """Unsigned plain decimals up to `high` (above 0)."""
    units, fraction = _split(high)
    parts = [f"{units}{fraction_to(fraction, exclusive)}"]
    if units:
        parts.append(f"(?:{numerals(0, units - 1)}){FRACTION}")
    return either(parts)


def _split(value: Decimal) -> tuple[int, str]:
    units, _, fraction = f"{value:f}".partition(".")
    return int(units), fraction.rstrip("0")


def fraction_from(digits: str, exclusive: bool) -> str:
    """Fractions, with their point, of 0.`digits` and above; none at all is 0."""
    more = "0*[1-9][0-9]*"
    if not digits:
        return rf"\.{more}" if exclusive else FRACTION
    parts = [f"{digits}{more if exclusive else DIGITS}"]
    parts += [f"{begun}[0-9]*" for begun, _ in _differing(digits, up=True)]
    return rf"\.(?:{either(parts)})"


def fraction_to(digits: str, exclusive: bool) -> str:
    """Fractions, with their point, up to 0.`digits`, or none."""
    if not digits:
        return NOTHING if exclusive else r"(?:\.0+)?"
    parts = [digits[:end] for end in range(1, len(digits))]  # 0.12 is less than 0.125
    parts += [f"{begun}[0-9]*" for begun, _ in _differing(digits, up=False)]
    if not exclusive:
        parts.append(f"{digits}0*")
    return rf"(?:\.(?:{either(parts)}))?"


def ordered(text: str, *, least: bool, exclusive: bool) -> str:
    """Texts of the form of `text` that are at or after it (`least`), or at or before it.

    >>> ordered("2024-05", least=True, exclusive=False)
    '2024-05|[3-9]......|2[1-9].....|20[3-9]....|202[5-9]...|2024-[1-9].|2024-0[6-9]'
    """
    parts = [f"{begun}{'.' * left}" for begun, left in _differing(text, up=least)]
    return either(parts if exclusive else [text, *parts])


def _differing(text: str, *, up: bool, start: int = 0) -> Iterator[tuple[str, int]]:
    """Begin like `text`, up to a digit from `start` on that is greater (`up`) or less.

    With each beginning, how many characters are left.
    """
    for index, digit in enumerate(text[start:], start):
        if digit.isdigit() and digit != ("9" if up else "0"):
            others = _class(int(digit) + 1, 9) if up else _class(0, int(digit) - 1)
            yield f"{text[:index]}{others}", len(text) - index - 1


def _same_length(first: str, last: str) -> list[str]:
    """Numerals of one length, from `first` to `last`."""
    shared = next((i for i, (a, b) in enumerate(zip(first, last, strict=True)) if a != b), None)
    if shared is None:
        return [first]
    low, high, left = int(first[shared]), int(last[shared]), len(first) - shared - 1
    parts: list[str] = []
    for edge, up in ((first, True), (last, False)):
        if edge[shared + 1 :] != ("0" if up else "9") * left:
            tails = _differing(edge, up=up, start=shared + 1)
            parts += [edge, *(f"{begun}{_count(n, n)}" for begun, n in tails)]
            low, high = low + up, high - (not up)
    if low <= high:
        parts.append(f"{first[:shared]}{_class(low, high)}{_count(left, left)}")
    return parts


def _class(low: int, high: int) -> str:
    return str(low) if low == high else f"[{low}-{high}]"


def _count(low: int, high: int | None) -> str:
    """`low` to `high` digits."""
    if high == 0:
        return ""
    if low == high:
        return "[0-9]" if low == 1 else f"[0-9]{{{low}}}"
    return f"[0-9]{{{low},{'' if high is None else high}}}"
