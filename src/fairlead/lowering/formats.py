r"""The formats of strings that JSON Schema names, as regular expressions, exact.

    date        a day of the calendar, years 0001 to 9999 (RFC 3339 §5.6; the year 0000, which
                Python's calendar does not have, is left out)
    time        with seconds and an offset; second 60 only where UTC has 23:59:60
    date-time   both, T and Z in either case
    uuid        8-4-4-4-12 hexadecimal digits (RFC 9562)
    ipv4        four decimal numbers up to 255, no leading zeros (RFC 2673 §3.2)
    email       a mailbox (RFC 5321 §4.1.2): local part of up to 64 characters, a domain of labels
                of up to 63 or an address in brackets, 254 characters in all

Each is a pattern, or several that have to hold at once. They are given to `match`, which makes an
expression of a pattern that the whole string matches, and so decides how strings are spelled.

What this module does not know: spelling, schemas.
"""

from collections.abc import Callable

from fairlead.lowering.expr import alt, both, concat
from fairlead.lowering.nodes import Expr

Match = Callable[[str], Expr]

_LEAP = "(?:0[48]|[2468][048]|[13579][26])"  # two digits that 4 divides, 00 excepted
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

_OCTET = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
_IPV4 = rf"{_OCTET}(?:\.{_OCTET}){{3}}"

_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_LOCAL = rf'(?:{_ATOM}(?:\.{_ATOM})*|"(?:[ !#-\[\]-~]|\\[ -~])*")'
_LABEL = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_GROUP = "[0-9a-fA-F]{1,4}"


def lower_format(name: str, match: Match) -> Expr:
    """The strings of a format.

    Args:
        name: one of `fairlead.syntax.json_schema_values.FORMATS`.
        match: the strings that an ECMA pattern matches as a whole.
    """
    return _FORMATS[name](match)


def _date(match: Match) -> Expr:
    return match(_DATE)


def _time(match: Match) -> Expr:
    return alt(match(_USUAL_TIME), _leap_second(match))


def _leap_second(match: Match) -> Expr:
    """The times of second 60 whose offset makes them 23:59:60 in UTC.

    Local minute 29 goes with offsets of +xx:30 and -xx:30, local hour 1 with +01 and -22, except
    that minute 59 carries into the hour. Minutes and hours are two patterns that hold at once: 60
    and 48 alternatives instead of 1,440.
    """
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


def _date_time(match: Match) -> Expr:
    return concat(match(f"{_DATE}[Tt]"), _time(match))


def _uuid(match: Match) -> Expr:
    return match("[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")


def _ipv4(match: Match) -> Expr:
    return match(_IPV4)


def _email(match: Match) -> Expr:
    local = both(match(_LOCAL), match(r"[\s\S]{1,64}"))
    name = both(match(rf"{_LABEL}(?:\.{_LABEL})*"), match(r"[\s\S]{1,253}"))
    address = match(rf"\[(?:{_IPV4}|IPv6:(?:{_ipv6()}))\]")
    return both(concat(local, match("@"), alt(name, address)), match(r"[\s\S]{3,254}"))


def _ipv6() -> str:
    """IPv6-addr of RFC 5321 §4.1.3: :: stands for two groups of zeros or more."""
    full = [f"{_groups(8)}", f"{_groups(6)}:{_IPV4}"]
    short = [f"{_groups(left)}::{_up_to(6 - left, '')}" for left in range(7)]
    mixed = [f"{_groups(left)}::{_up_to(4 - left, ':')}{_IPV4}" for left in range(5)]
    return "|".join(full + short + mixed)


def _groups(count: int) -> str:
    return ":".join([_GROUP] * count)


def _up_to(count: int, end: str) -> str:
    """At most `count` groups, then, if there are any, `end`."""
    return f"(?:{_GROUP}(?::{_GROUP}){{0,{count - 1}}}{end})?" if count else ""


_FORMATS: dict[str, Callable[[Match], Expr]] = {
    "date": _date,
    "time": _time,
    "date-time": _date_time,
    "uuid": _uuid,
    "ipv4": _ipv4,
    "email": _email,
}
