"""Core schemas of single values: numbers, texts, dates, and the choices among them.

What pydantic reads beyond what it writes is not offered: no numbers as strings, no timestamps, no
"yes" for true. So the schemas here hold what `dump_json` writes, and little more::

    Decimal      a string, since a JSON number would go through a float
    datetime     seconds may be left out, up to 6 digits of a fraction, offset optional
    timedelta    ISO 8601 as pydantic writes it, years of 365 days included

Past and future are those of the day on which the type is read. As time goes on, what was past
stays so; a date to come may have come before it is read. Datetimes, of which the offset says which
day it is, lie two days apart from it, and those nearer are not on offer.
"""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from math import inf, isfinite, nextafter
from sys import float_info
from typing import Any, TypeAlias

from guideway.syntax.json_text import MAX_DIGITS
from guideway.syntax.python_types_bounds import BOUNDS, bounds_of, written
from guideway.syntax.python_types_decimals import decimal_patterns
from guideway.syntax.python_types_formats import BASE64_URL
from guideway.syntax.python_types_patterns import ordered, whole
from guideway.syntax.python_types_place import Core, Place, Schema, integer
from guideway.syntax.python_types_regex import translate, trimmed
from guideway.syntax.python_types_times import DATETIME, DURATION, TIME, ZONE
from guideway.syntax.python_types_urls import read_url

Scalar: TypeAlias = Callable[[Core, Place], Schema]

_BOUNDS = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum"}
LENGTHS = {"min_length": "minLength", "max_length": "maxLength"}
_WORDS = {
    "ge": "of at least {}",
    "gt": "above {}",
    "le": "of at most {}",
    "lt": "below {}",
    "max_digits": "with at most {} digits",
    "decimal_places": "with at most {} decimal places",
}
NO_YEAR_ZERO = "^0{0,3}[1-9]"


def read_any(core: Core, at: Place) -> Schema:
    """Any JSON value."""
    return {}


def read_none(core: Core, at: Place) -> Schema:
    """`null`."""
    return {"type": "null"}


def read_bool(core: Core, at: Place) -> Schema:
    """`true` or `false`."""
    return {"type": "boolean"}


def read_int(core: Core, at: Place) -> Schema:
    """Digits, with or without a minus."""
    limits = {_BOUNDS[name]: value for name, value in bounds_of(core, at).items()}
    if "multiple_of" in core:
        limits["multipleOf"] = int(core["multiple_of"])
    return integer(**limits)


def read_float(core: Core, at: Place) -> Schema:
    """A finite number; open bounds become closed ones of the next float, as texts are rounded."""
    if "multiple_of" in core:
        raise at.refuse("multiple_of", "is not supported for float")
    bounds = bounds_of(core, at)
    greatest = float_info.max  # beyond, pydantic reads infinity, which it writes as null
    lows, highs = [-greatest, bounds.get("ge", -inf)], [greatest, bounds.get("le", inf)]
    lows.append(nextafter(bounds.get("gt", -inf), inf))
    highs.append(nextafter(bounds.get("lt", inf), -inf))
    low, high = max(lows), min(highs)
    if low == inf or high == -inf:
        raise at.refuse(_in_words("a float", bounds), "is not finite")
    schema: Schema = {"type": "number", "minimum": low, "maximum": high}
    if "gt" in bounds or "lt" in bounds:
        schema["$comment"] = _in_words("number", {name: core[name] for name in bounds})
    return schema


def read_decimal(core: Core, at: Place) -> Schema:
    """A decimal number in quotes."""
    if "multiple_of" in core:
        raise at.refuse("multiple_of", "is not supported for Decimal")
    bounds = bounds_of(core, at)
    infinite = core.get("allow_inf_nan", at.config.get("allow_inf_nan"))
    if any(name in core for name in BOUNDS):
        infinite = False
    asked = {name: core[name] for name in ("max_digits", "decimal_places") if name in core}
    if asked.get("max_digits") == 0:
        raise at.refuse("max_digits=0", "leaves no number, as 0 has a digit", "max_digits")
    if (asked.get("decimal_places") or 0) > MAX_DIGITS:
        raise at.refuse(
            "decimal_places", f"of more than {MAX_DIGITS} is not supported", "decimal_places"
        )
    patterns = decimal_patterns({**asked, **bounds}, infinite=bool(infinite))
    return _string(*patterns, called=_in_words("decimal", {**bounds, **asked}))


def _string(*patterns: str, called: str = "") -> Schema:
    """A string that matches all patterns; `$comment` has words for what they mean."""
    schema: Schema = {"type": "string"}
    if len(patterns) == 1:
        schema["pattern"] = patterns[0]
    elif patterns:
        schema["allOf"] = [{"pattern": pattern} for pattern in patterns]
    return {**schema, "$comment": called} if called else schema


def read_str(core: Core, at: Place) -> Schema:
    """A string; `strip_whitespace` means one that has nothing to strip."""

    def setting(name: str) -> Any:
        return core[name] if core.get(name) is not None else at.config.get(f"str_{name}")

    patterns: list[str] = []
    told = ""
    if core.get("pattern") is not None:
        named = core.get("regex_engine") or at.config.get("regex_engine")
        patterns.append(
            translate(core["pattern"], "python" if named == "python-re" else "rust", at)
        )
        written = getattr(core["pattern"], "pattern", core["pattern"])
        told = "" if written == patterns[0] else f"pattern {written}"
    if setting("strip_whitespace"):
        patterns.append(trimmed())
        told = told or "no blanks at either end"
    if core.get("ascii_only"):
        patterns.append(r"^[\x00-\x7f]*$")
    schema = _string(*patterns, called=told)
    schema |= {key: setting(name) for name, key in LENGTHS.items() if setting(name) is not None}
    return schema


def read_bytes(core: Core, at: Place) -> Schema:
    """Text, or base64 or hexadecimal digits, as `val_json_bytes` says."""
    low, high = core.get("min_length") or 0, core.get("max_length")
    match at.config.get("val_json_bytes", "utf8"):
        case "hex":
            digits = f"(?:[0-9a-fA-F]{{2}}){{{low},{'' if high is None else high}}}"
            return _string(whole(digits), called="hexadecimal")
        case _ if low > 1 or high is not None:
            raise at.refuse("a length", "is not supported for bytes: JSON counts characters")
        case "base64":
            schema = _string(BASE64_URL, called="base64url")
        case _:
            schema = _string()
    return {**schema, "minLength": low} if low else schema


def read_date(core: Core, at: Place) -> Schema:
    """A date of the years 1 to 9999."""
    patterns = [NO_YEAR_ZERO]
    bounds = [*bounds_of(core, at).items(), *_by_the_clock(core, timedelta())]
    patterns += [whole(_compared(name, day)) for name, day in bounds]
    told = _in_words(" ".join([*_moment(core), "date"]), core) if bounds else ""
    return {**_string(*patterns, called=told), "format": "date"}


def _compared(name: str, day: date) -> str:
    return ordered(day.isoformat(), least=name[0] == "g", exclusive=name[1] == "t")


def _by_the_clock(core: Core, apart: timedelta) -> list[tuple[str, date]]:
    """The bound of what is past or future, wherever on earth it is told which day it is."""
    days = date.today(), datetime.now(UTC).date()
    bounds = {"past": ("lt", min(days) - apart), "future": ("gt", max(days) + apart)}
    return [bounds[moment] for moment in _moment(core)]


def _moment(core: Core) -> list[str]:
    return [core["now_op"]] if "now_op" in core else []


def _in_words(kind: str, core: Core) -> str:
    told = [words.format(core[name]) for name, words in _WORDS.items() if name in core]
    return " ".join([kind, ", ".join(told)]).strip()


def read_time(core: Core, at: Place) -> Schema:
    """A time of the day, seconds optional."""
    _refuse_bounds(core, at, "time")
    return _string(whole(TIME + _zone(core, at)), called="time")


def read_datetime(core: Core, at: Place) -> Schema:
    """A date and a time, offset optional."""
    _refuse_bounds(core, at, "datetime")
    bounds = _by_the_clock(core, timedelta(days=1))
    days = [f"^(?:{_compared(name, day)})T" for name, day in bounds]
    called = " ".join([*_moment(core), "date-time"])
    return _string(whole(DATETIME + _zone(core, at)), *days, called=called)


def read_timedelta(core: Core, at: Place) -> Schema:
    """A duration of up to 999999999 days."""
    _refuse_bounds(core, at, "timedelta")
    return _string(whole(DURATION), called="ISO 8601 duration")


def _refuse_bounds(core: Core, at: Place, what: str) -> None:
    for name in BOUNDS:
        if name in core:
            raise at.refuse(f"{name}={core[name]!r}", f"is not supported for {what}", name)


def _zone(core: Core, at: Place) -> str:
    match core.get("tz_constraint"):
        case None:
            return f"(?:{ZONE})?"
        case "aware":
            return f"(?:{ZONE})"
        case "naive":
            return ""
        case other:
            raise at.refuse(f"tz_constraint={other!r}", "is not supported", "tz_constraint")


def read_uuid(core: Core, at: Place) -> Schema:
    """A UUID with its hyphens, of one version if there is one."""
    version = core.get("version")
    schema: Schema = {"type": "string", "format": "uuid"}
    if version is not None:
        schema["pattern"] = f"^[^-]{{8}}-[^-]{{4}}-{version}[^-]{{3}}-[89ABab]"
    return schema


def read_literal(core: Core, at: Place) -> Schema:
    """One of some values."""
    return choice(literal_values(core, at), at)


def read_enum(core: Core, at: Place) -> Schema:
    """The value of one of the members."""
    values = [member.value for member in core["members"]]
    return choice(values, at, exact=core.get("sub_type") != "float")


def literal_values(core: Core, at: Place) -> list[Any]:
    """The values of a Literal; a member of an Enum is written as its value.

    Raises:
        UnsupportedError: a member is not equal to its value, by which pydantic looks for it.
    """
    for value in core["expected"]:
        if isinstance(value, Enum) and value != value.value:
            enum = type(value).__name__
            raise at.refuse(
                f"{value} in a Literal",
                f"is not read back from its value, which it does not equal; mix str into {enum}",
                "Literal",
            )
    return [value.value if isinstance(value, Enum) else value for value in core["expected"]]


def choice(values: list[Any], at: Place, exact: bool = True) -> Schema:
    """One of `values`; whole numbers as digits.

    Args:
        values: the values.
        at: where they are.
        exact: whether pydantic compares floats with digits as whole numbers.

    Raises:
        UnsupportedError: one of them is no string, number, bool or None, so that its JSON would not
            be read back as it.
    """
    for value in values:
        plain = value is None or isinstance(value, str | int | float)
        if not plain or (isinstance(value, float) and not isfinite(value)):
            raise at.refuse(repr(value), "has no JSON that would be read back as it", "enum")
        refuse_long(value, at)
    whole_numbers = [int(v) for v in values if isinstance(v, int) and not isinstance(v, bool)]
    others = [_bare(v) for v in values if isinstance(v, bool) or not isinstance(v, int)]
    inexact = [value for value in others if exact and _is_inexact(value)]
    others = [value for value in others if value not in inexact]
    schemas: list[Schema] = []
    if others:
        schemas.append({"enum": others})
    if inexact:
        schemas.append({"enum": inexact, "not": integer()})
    if whole_numbers:
        schemas.append(integer(enum=whole_numbers))
    return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}


def refuse_long(value: object, at: Place) -> None:
    """Whole numbers beyond 64 bits are not read as members of an Enum, and get lost beside True.

    Raises:
        UnsupportedError: `value` is one.
    """
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        told = written(int(value))
        raise at.refuse(told, "in a choice is not supported beyond 64 bits", "enum")


def _bare(value: Any) -> Any:
    """A `str` or `float` itself, where an Enum's mixed-in value is of a subclass."""
    if isinstance(value, str):
        return str.__str__(value)
    return float(value) if isinstance(value, float) else value


def _is_inexact(value: object) -> bool:
    """Whether a float is a whole number, but not the one that its text stands for.

    >>> _is_inexact(1e22), _is_inexact(1e23)
    (False, True)
    """
    if not isinstance(value, float):
        return False
    return value.is_integer() and Decimal(repr(value)) != Decimal(value)


SCALARS: dict[str, Scalar] = {
    "any": read_any,
    "none": read_none,
    "bool": read_bool,
    "int": read_int,
    "float": read_float,
    "decimal": read_decimal,
    "str": read_str,
    "bytes": read_bytes,
    "date": read_date,
    "time": read_time,
    "datetime": read_datetime,
    "timedelta": read_timedelta,
    "uuid": read_uuid,
    "url": read_url,
    "multi-host-url": read_url,
    "literal": read_literal,
    "enum": read_enum,
}
