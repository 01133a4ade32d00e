"""Dates with times and durations as patterns: exactly what Python's types hold.

Days exist (leap years of the Gregorian calendar), years run from 0001 to 9999, there is no leap
second, offsets stay below a day. Spellings are those of RFC 3339 with a big T and Z, except that
seconds and the offset may be left out.

What this module does not know: schemas, pydantic.
"""

from guideway.syntax.python_types_patterns import numerals

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
