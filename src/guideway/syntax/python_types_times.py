"""Times, datetimes and durations as patterns: exactly the values of Python's types, and bounds.

A bound without an offset applies to the wall clock, as in pydantic. A bound with an offset is exact
for texts in UTC and with the same offset; other offsets are allowed where the wall clock suffices.
Bounded durations have two forms: days, hours, minutes and seconds (and years of 365 days), or
hours, minutes or seconds alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Final, final

from guideway.syntax.python_types_patterns import (
    FRACTION,
    either,
    fraction_from,
    fraction_to,
    numerals,
    ordered,
    whole,
)

_LONG = "(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])"
_SHORT = "(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)"
_FEBRUARY = "02-(?:0[1-9]|1[0-9]|2[0-8])"
_ANY_YEAR = "(?:000[1-9]|00[1-9][0-9]|0[1-9][0-9]{2}|[1-9][0-9]{3})"
_FOURTHS = "(?:0[48]|[2468][048]|[13579][26])"
_LEAP_YEAR = f"(?:[0-9]{{2}}{_FOURTHS}|{_FOURTHS}00)"
DATE = f"(?:{_ANY_YEAR}-(?:{_LONG}|{_SHORT}|{_FEBRUARY})|{_LEAP_YEAR}-02-29)"

_CLOCK = "(?:[01][0-9]|2[0-3]):[0-5][0-9]"
TIME = rf"{_CLOCK}(?::[0-5][0-9](?:\.[0-9]{{1,6}})?)?"
ZONE = f"Z|[+-]{_CLOCK}"
DATETIME = f"{DATE}T{TIME}"


def _time_parts(hours: str, minutes: str, seconds: str) -> str:
    """Hours, minutes and seconds of a duration; at least one of them."""
    return f"T(?:{hours}(?:{minutes})?(?:{seconds})?|{minutes}(?:{seconds})?|{seconds})"


def _duration() -> str:
    """ISO 8601 durations up to 999999999 days; years have 365 days, as pydantic writes them."""
    micros = r"(?:\.[0-9]{1,6})?S"
    free = _time_parts("[0-9]{1,4}H", "[0-9]{1,4}M", "[0-9]{1,4}" + micros)
    clock = _time_parts("(?:1?[0-9]|2[0-3])H", "[0-5]?[0-9]M", "(?:[0-5]?[0-9])" + micros)
    day = f"(?:{numerals(1, 364)})D"
    years = f"(?:{numerals(1, 2739725)})Y(?:{day})?(?:{clock})?"
    last = f"2739726Y(?:[1-8]D)?(?:{clock})?|2739726Y9D"
    return f"-?P(?:[0-9]{{1,8}}D(?:{free})?|{free}|{years}|{last})|P2739726Y9D{clock}"


DURATION = _duration()


_UTC: Final = "(?:Z|[+-]00:00)"
_DAY: Final = timedelta(days=1)


def bounded(name: str, bound: datetime | time, *, mixed: bool) -> str:
    """Pattern of times or datetimes that satisfy a bound ("ge", "gt", "le" or "lt").

    `mixed`: values with and without an offset are compared with one another.

    >>> import re
    >>> late = bounded("ge", time(9, 30), mixed=True)
    >>> [bool(re.search(late, text)) for text in ("09:29:59", "09:30", "09:30:00.5Z")]
    [False, True, True]
    """
    if bound.tzinfo is None or bound.utcoffset() is None:
        return whole(_wall(name, bound) + (f"(?:{ZONE})?" if mixed else ""))
    return whole(either([*([_wall(name, bound)] if mixed else []), *_by_offset(name, bound)]))


def _by_offset(name: str, bound: datetime | time) -> Iterator[str]:
    """Texts with an offset, which is less than a day."""
    written = bound.isoformat()[-6:]
    if written != "+00:00" and written[0] in "+-":  # an offset with seconds has no such text
        yield _wall(name, bound) + written.replace("+", "[+]")
    sure, other, day = ("-", "[+]", _DAY) if name[0] == "g" else ("[+]", "-", -_DAY)
    utc = _moved(bound, -(bound.utcoffset() or timedelta()))
    if utc is not None:
        yield f"{_wall(name, utc)}(?:{_UTC}|{sure}{_CLOCK})"
        far = _moved(utc, day)
        if far is not None:
            yield f"{_wall(name, far)}{other}{_CLOCK}"


def _moved(bound: datetime | time, by: timedelta) -> datetime | time | None:
    """Wall clock `by` later; None if out of range, for a time if on another day."""
    wall = bound if isinstance(bound, datetime) else datetime.combine(date(2000, 1, 1), bound)
    try:
        moved = wall.replace(tzinfo=None) + by
    except OverflowError:
        return None
    if isinstance(bound, datetime):
        return moved
    return moved.time() if moved.date() == wall.date() else None


def _wall(name: str, bound: datetime | time) -> str:
    """Wall clocks on one side of a bound; missing seconds are 0."""
    least, exclusive = name[0] == "g", name[1] == "t"
    text = bound.replace(tzinfo=None).isoformat(timespec="microseconds")
    head, seconds, digits = text[:-10], text[-9:-7], text[-6:].rstrip("0")
    fraction = fraction_from if least else fraction_to
    after = f":(?:{ordered(seconds, least=least, exclusive=True)}){FRACTION}"
    same = f":{seconds}{fraction(digits, exclusive)}"
    parts = [after, same]
    zero = seconds == "00" and not digits
    if (zero and not exclusive) or (not zero and not least):
        parts.append("")
    others = ordered(head, least=least, exclusive=True)
    return f"(?:(?:{others})(?::[0-9]{{2}}{FRACTION})?|{head}(?:{either(parts)}))"


@final
@dataclass(frozen=True, slots=True)
class _Unit:
    """Part of a duration: count in the bound, letter, pattern of all counts."""

    value: int
    letter: str
    any: str

    @property
    def equal(self) -> str:
        """The same count as the bound; 0 may be omitted."""
        return f"{self.value}{self.letter}" if self.value else f"(?:0{self.letter})?"

    def other(self, least: bool) -> str | None:
        """Counts above the bound's, or below; None if there are none."""
        if least:
            return f"(?:{numerals(self.value + 1, None)}){self.letter}"
        if self.value == 0:
            return None
        return f"(?:(?:{numerals(0, self.value - 1)}){self.letter})?"


def bounded_duration(name: str, bound: timedelta) -> str:
    """Pattern of durations that satisfy a bound ("ge", "gt", "le" or "lt").

    >>> import re
    >>> short = bounded_duration("le", timedelta(hours=2))
    >>> [bool(re.search(short, text)) for text in ("PT2H", "PT120M", "PT1H59M", "PT121M")]
    [True, True, True, False]
    """
    least, exclusive = name[0] == "g", name[1] == "t"
    negative = bound < timedelta()
    compared = _magnitude(abs(bound), least is not negative, exclusive)
    if negative:
        return whole(f"-P(?:{compared})" + ("|P.*" if least else ""))
    return whole(f"P(?:{compared})" + ("" if least else "|-P.*"))


def _magnitude(bound: timedelta, least: bool, exclusive: bool) -> str:
    """Unsigned durations on one side of a bound, without their P."""
    hours, minutes = divmod(bound.seconds // 60, 60)
    years, rest = divmod(bound.days, 365)
    time_of_day = [
        _Unit(hours, "H", "(?:(?:1?[0-9]|2[0-3])H)?"),
        _Unit(minutes, "M", "(?:[0-5]?[0-9]M)?"),
    ]
    exact = _seconds(bound, least, exclusive)
    by_days = [_Unit(bound.days, "D", "(?:[0-9]+D)?"), *time_of_day]
    by_years = [
        _Unit(years, "Y", "(?:[0-9]+Y)?"),
        _Unit(rest, "D", f"(?:(?:{numerals(0, 364)})D)?"),
        *time_of_day,
    ]
    parts = [*_lexical(by_days, least, exact), *_lexical(by_years, least, exact)]
    for size, letter in ((3600, "H"), (60, "M"), (1, "S")):
        parts.append(f"T(?:{_whole_units(bound, size, least, exclusive)}){letter}")
    return either(parts)


def _whole_units(bound: timedelta, size: int, least: bool, exclusive: bool) -> str:
    count, rest = divmod(bound, timedelta(seconds=size))
    if least:
        return numerals(count + (exclusive or bool(rest)), None)
    return numerals(0, count - (exclusive and not rest))


def _seconds(bound: timedelta, least: bool, exclusive: bool) -> str:
    """Seconds that satisfy a bound if all larger units are equal."""
    seconds, digits = bound.seconds % 60, f"{bound.microseconds:06}".rstrip("0")
    fraction = fraction_from if least else fraction_to
    zero = not seconds and not digits
    missing = (zero and not exclusive) or (not zero and not least)
    others = numerals(seconds + 1, 59) if least else numerals(0, seconds - 1)
    same = f"{seconds}{fraction(digits, exclusive)}S"
    return f"(?:{either([same, f'(?:{others}){FRACTION}S', *([''] if missing else [])])})"


def _lexical(units: list[_Unit], least: bool, last: str) -> Iterator[str]:
    """Durations by their first unit that differs from the bound's."""
    seconds = rf"(?:[0-5]?[0-9]{FRACTION}S)?"
    for index, unit in enumerate(units):
        other = unit.other(least)
        if other is not None:
            before = [part.equal for part in units[:index]]
            yield _row(units, [*before, other, *(part.any for part in units[index + 1 :]), seconds])
    yield _row(units, [*(unit.equal for unit in units), last])


def _row(units: list[_Unit], parts: list[str]) -> str:
    """Join parts, with a T before the hours."""
    days = len(units) - 2
    return "".join([*parts[:days], "T?", *parts[days:]])
