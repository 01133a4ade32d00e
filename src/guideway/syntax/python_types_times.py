"""Dates with times and durations as patterns: exactly what Python's types hold, and their bounds.

Days exist (leap years of the Gregorian calendar), years run from 0001 to 9999, there is no leap
second, offsets stay below a day. Spellings are those of RFC 3339 with a big T and Z, except that
seconds and the offset may be left out.

A bound without an offset is compared with the wall clock, as pydantic does. Beside a bound with an
offset, texts in UTC and with the same offset are compared exactly; texts with another offset are on
offer where their wall clock decides.

Beside a bound, durations are on offer in two forms: with days, hours below 24, minutes and seconds
below 60 (and years of 365 days, as pydantic writes them), or in hours, minutes or seconds alone.

What this module does not know: schemas, pydantic.
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


def _duration() -> str:
    """ISO 8601 durations: small ones freely, years as pydantic writes them, 365 days each.

    The greatest is 999999999 days (2739726 years and 9 days) and nearly a day more; the least is
    -999999999 days sharp.
    """
    seconds = r"[0-9]{1,4}(?:\.[0-9]{1,6})?S"
    hours, minutes = "[0-9]{1,4}H", "[0-9]{1,4}M"
    time = f"T(?:{hours}(?:{minutes})?(?:{seconds})?|{minutes}(?:{seconds})?|{seconds})"
    free = f"[0-9]{{1,8}}D(?:{time})?|{time}"
    day = f"(?:{numerals(1, 364)})D"
    years = f"(?:{numerals(1, 2739725)})Y(?:{day})?(?:{_clock()})?"
    last = f"2739726Y(?:[1-8]D)?(?:{_clock()})?|2739726Y9D"
    return f"-?P(?:{free}|{years}|{last})|P2739726Y9D{_clock()}"


def _clock() -> str:
    """A time of less than a day."""
    seconds = r"(?:[0-5]?[0-9])(?:\.[0-9]{1,6})?S"
    hours, minutes = "(?:1?[0-9]|2[0-3])H", "[0-5]?[0-9]M"
    return f"T(?:{hours}(?:{minutes})?(?:{seconds})?|{minutes}(?:{seconds})?|{seconds})"


DURATION = _duration()


# Bounds of dates and times

_UTC: Final = "(?:Z|[+-]00:00)"
_DAY: Final = timedelta(days=1)


def bounded(name: str, bound: datetime | time, *, mixed: bool) -> str:
    """The texts of times, or of dates with times, that keep a bound.

    >>> import re
    >>> late = bounded("ge", time(9, 30), mixed=True)
    >>> [bool(re.search(late, text)) for text in ("09:29:59", "09:30", "09:30:00.5Z")]
    [False, True, True]

    Args:
        name: "ge", "gt", "le" or "lt".
        bound: the bound.
        mixed: whether values with and without an offset are compared with one another.
    """
    if bound.tzinfo is None or bound.utcoffset() is None:
        return whole(_wall(name, bound) + (f"(?:{ZONE})?" if mixed else ""))
    return whole(either([*([_wall(name, bound)] if mixed else []), *_by_offset(name, bound)]))


def _by_offset(name: str, bound: datetime | time) -> Iterator[str]:
    """The texts with an offset; it is less than a day."""
    written = bound.isoformat()[-6:]
    if written != "+00:00" and written[0] in "+-":  # and not with seconds
        yield _wall(name, bound) + written.replace("+", "[+]")
    sure, other, day = ("-", "[+]", _DAY) if name[0] == "g" else ("[+]", "-", -_DAY)
    utc = _moved(bound, -(bound.utcoffset() or timedelta()))
    if utc is not None:
        yield f"{_wall(name, utc)}(?:{_UTC}|{sure}{_CLOCK})"
        far = _moved(utc, day)
        if far is not None:
            yield f"{_wall(name, far)}{other}{_CLOCK}"


def _moved(bound: datetime | time, by: timedelta) -> datetime | time | None:
    """A bound by the clock, so much later; None if that is not on the same day, or not in time."""
    wall = bound if isinstance(bound, datetime) else datetime.combine(date(2000, 1, 1), bound)
    try:
        moved = wall.replace(tzinfo=None) + by
    except OverflowError:
        return None
    if isinstance(bound, datetime):
        return moved
    return moved.time() if moved.date() == wall.date() else None


def _wall(name: str, bound: datetime | time) -> str:
    """Wall clocks at or after a bound, or before; seconds may be missing, and then are 0."""
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


# Bounds of durations


@final
@dataclass(frozen=True, slots=True)
class _Unit:
    """A part of a duration: how much of it the bound has, its letter, and all that there may be."""

    value: int
    letter: str
    any: str

    @property
    def equal(self) -> str:
        """As much as the bound has; nothing is 0."""
        return f"{self.value}{self.letter}" if self.value else f"(?:0{self.letter})?"

    def other(self, least: bool) -> str | None:
        """More than the bound has, or less; None if there is none."""
        if least:
            return f"(?:{numerals(self.value + 1, None)}){self.letter}"
        if self.value == 0:
            return None
        return f"(?:(?:{numerals(0, self.value - 1)}){self.letter})?"


def bounded_duration(name: str, bound: timedelta) -> str:
    """The texts of durations that keep a bound.

    >>> import re
    >>> short = bounded_duration("le", timedelta(hours=2))
    >>> [bool(re.search(short, text)) for text in ("PT2H", "PT120M", "PT1H59M", "PT121M")]
    [True, True, True, False]

    Args:
        name: "ge", "gt", "le" or "lt".
        bound: the bound.
    """
    least, exclusive = name[0] == "g", name[1] == "t"
    negative = bound < timedelta()
    compared = _magnitude(abs(bound), least is not negative, exclusive)
    if negative:
        return whole(f"-P(?:{compared})" + ("|P.*" if least else ""))
    return whole(f"P(?:{compared})" + ("" if least else "|-P.*"))


def _magnitude(bound: timedelta, least: bool, exclusive: bool) -> str:
    """Unsigned durations from a bound on, or up to it, without their P."""
    minutes, seconds = divmod(bound.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    years, rest = divmod(bound.days, 365)
    time_of_day = [
        _Unit(hours, "H", "(?:(?:1?[0-9]|2[0-3])H)?"),
        _Unit(minutes, "M", "(?:[0-5]?[0-9]M)?"),
    ]
    exact = _Exact(seconds, f"{bound.microseconds:06}".rstrip("0"), least, exclusive)
    by_days = [_Unit(bound.days, "D", "(?:[0-9]+D)?"), *time_of_day]
    by_years = [
        _Unit(years, "Y", "(?:[0-9]+Y)?"),
        _Unit(rest, "D", f"(?:(?:{numerals(0, 364)})D)?"),
        *time_of_day,
    ]
    parts = [*_lexical(by_days, exact), *_lexical(by_years, exact)]
    for size, letter in ((3600, "H"), (60, "M"), (1, "S")):
        parts.append(f"T(?:{_whole_units(bound, size, least, exclusive)}){letter}")
    return either(parts)


def _whole_units(bound: timedelta, size: int, least: bool, exclusive: bool) -> str:
    """The counts of one unit that keep a bound."""
    count, rest = divmod(bound, timedelta(seconds=size))
    if least:
        return numerals(count + (exclusive or bool(rest)), None)
    return numerals(0, count - (exclusive and not rest))


@final
@dataclass(frozen=True, slots=True)
class _Exact:
    """The seconds of a bound, with their fraction."""

    seconds: int
    digits: str
    least: bool
    exclusive: bool

    @property
    def part(self) -> str:
        """The seconds that keep the bound where all before them are equal."""
        fraction = fraction_from if self.least else fraction_to
        zero = not self.seconds and not self.digits
        same = f"{self.seconds}{fraction(self.digits, self.exclusive)}S"
        missing = (zero and not self.exclusive) or (not zero and not self.least)
        if self.least:
            others = f"(?:{numerals(self.seconds + 1, 59)}){FRACTION}S"
        else:
            others = f"(?:{numerals(0, self.seconds - 1)}){FRACTION}S"
        return f"(?:{either([same, others, *([''] if missing else [])])})"


def _lexical(units: list[_Unit], exact: _Exact) -> Iterator[str]:
    """Durations whose first unit that differs from the bound's is more than it, or less."""
    seconds = rf"(?:[0-5]?[0-9]{FRACTION}S)?"
    for index, unit in enumerate(units):
        other = unit.other(exact.least)
        if other is not None:
            before = [part.equal for part in units[:index]]
            yield _row(units, [*before, other, *(part.any for part in units[index + 1 :]), seconds])
    yield _row(units, [*(unit.equal for unit in units), exact.part])


def _row(units: list[_Unit], parts: list[str]) -> str:
    """Parts one after the other, a T before the hours; whether it has to be there is said apart."""
    days = len(units) - 2
    return "".join([*parts[:days], "T?", *parts[days:]])
