"""The formats date, time, date-time and duration of RFC 3339, without the year 0000."""

from guideway.lowering.expr import alt, both, concat
from guideway.lowering.matching import Match
from guideway.lowering.nodes import Expr

_LEAP = "(?:0[48]|[2468][048]|[13579][26])"  # two digits divisible by 4, except 00
_YEAR = r"(?:[1-9]\d{3}|0[1-9]\d\d|00[1-9]\d|000[1-9])"
_MONTH_DAY = (
    r"(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)"
    r"|02-(?:0[1-9]|1\d|2[0-8]))"
)
_DATE = rf"(?:{_YEAR}-{_MONTH_DAY}|(?:\d\d{_LEAP}|{_LEAP}00)-02-29)"

_HOUR, _MINUTE = r"(?:[01]\d|2[0-3])", r"[0-5]\d"
_FRACTION = r"(?:\.\d+)?"
_OFFSET = f"(?:[Zz]|[+-]{_HOUR}:{_MINUTE})"
_USUAL_TIME = f"{_HOUR}:{_MINUTE}:{_MINUTE}{_FRACTION}{_OFFSET}"

_DAYS = r"\d+D"
_MONTHS = rf"\d+M(?:{_DAYS})?"
_YEARS = rf"\d+Y(?:{_MONTHS})?"
_SECONDS = r"\d+S"
_MINUTES = rf"\d+M(?:{_SECONDS})?"
_HOURS = rf"\d+H(?:{_MINUTES})?"
_CLOCK = f"T(?:{_HOURS}|{_MINUTES}|{_SECONDS})"


def date(match: Match) -> Expr:
    return match(_DATE)


def time(match: Match) -> Expr:
    return alt(match(_USUAL_TIME), _leap_second(match))


def _leap_second(match: Match) -> Expr:
    """Times with second 60 that are 23:59:60 in UTC: minutes and hours intersect."""
    minutes, hours = [rf"\d\d:59:60{_FRACTION}(?:[Zz]|[+-]\d\d:00)"], list[str]()
    for minute in range(59):
        offset = rf"(?:\+\d\d:{minute + 1:02}|-\d\d:{59 - minute:02})"
        minutes.append(rf"\d\d:{minute:02}:60{_FRACTION}{offset}")
    for hour in range(24):
        utc = "[Zz]|" if hour == 23 else ""
        offset = rf"(?:{utc}\+{(hour + 1) % 24:02}:\d\d|-{23 - hour:02}:\d\d)"
        hours.append(f"{hour:02}:59:60{_FRACTION}{offset}")
        offset = rf"(?:\+{hour:02}:\d\d|-{23 - hour:02}:\d\d)"
        hours.append(rf"{hour:02}:(?:[0-4]\d|5[0-8]):60{_FRACTION}{offset}")
    return both(match("|".join(minutes)), match("|".join(hours)))


def date_time(match: Match) -> Expr:
    return concat(match(f"{_DATE}[Tt]"), time(match))


def duration(match: Match) -> Expr:
    return match(rf"P(?:(?:{_DAYS}|{_MONTHS}|{_YEARS})(?:{_CLOCK})?|{_CLOCK}|\d+W)")
