"""Core schemas of single values: numbers, texts, dates, choices."""

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from math import inf, isfinite, nextafter
from sys import float_info
from typing import Any, Final, TypeAlias

from guideway.json_schema.formats import DATE
from guideway.json_schema.text import MAX_DIGITS
from guideway.python_types.constraints import LENGTHS
from guideway.python_types.formats import (
    BASE64_URL,
    BOUNDS,
    FINITE,
    base64_texts,
    bounds_of,
    decimal_patterns,
    multiples,
    read_url,
    written,
)
from guideway.python_types.patterns import SHAPES, TRIMMED, translate, unchanged
from guideway.python_types.place import Core, Place, Schema, integer
from guideway.regex.numerals import (
    FRACTION,
    NATURAL,
    either,
    fraction_from,
    fraction_to,
    numerals,
    ordered,
    whole,
)

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
    clock = [(hours, "H", "(?:(?:1?[0-9]|2[0-3])H)?"), (minutes, "M", "(?:[0-5]?[0-9]M)?")]
    by_days = [(bound.days, "D", "(?:[0-9]+D)?"), *clock]
    day = f"(?:(?:{numerals(0, 364)})D)?"
    by_years = [(years, "Y", "(?:[0-9]+Y)?"), (rest, "D", day), *clock]
    exact = _seconds(bound, least, exclusive)
    parts = [*_lexical(by_days, least, exact), *_lexical(by_years, least, exact)]
    for size, letter in ((3600, "H"), (60, "M"), (1, "S")):  # a duration of one unit
        count, more = divmod(bound, timedelta(seconds=size))
        if least:
            counts = numerals(count + (exclusive or bool(more)), None)
        else:
            counts = numerals(0, count - (exclusive and not more))
        parts.append(f"T(?:{counts}){letter}")
    return either(parts)


def _seconds(bound: timedelta, least: bool, exclusive: bool) -> str:
    """Seconds that satisfy a bound if all larger units are equal."""
    seconds, digits = bound.seconds % 60, f"{bound.microseconds:06}".rstrip("0")
    fraction = fraction_from if least else fraction_to
    zero = not seconds and not digits
    missing = (zero and not exclusive) or (not zero and not least)
    others = numerals(seconds + 1, 59) if least else numerals(0, seconds - 1)
    same = f"{seconds}{fraction(digits, exclusive)}S"
    return f"(?:{either([same, f'(?:{others}){FRACTION}S', *([''] if missing else [])])})"


def _lexical(units: list[tuple[int, str, str]], least: bool, last: str) -> Iterator[str]:
    """Durations by their first unit that differs from the bound's.

    A unit is its count in the bound, its letter, and the pattern of all counts.
    """

    def row(*parts: str) -> str:
        days = len(units) - 2  # or years and days; a T precedes the hours
        return "".join([*parts[:days], "T?", *parts[days:]])

    equal = [f"{count}{letter}" if count else f"(?:0{letter})?" for count, letter, _ in units]
    rests = [free for _, _, free in units] + [rf"(?:[0-5]?[0-9]{FRACTION}S)?"]
    for index, (count, letter, _) in enumerate(units):
        if least:
            other = f"(?:{numerals(count + 1, None)}){letter}"
            yield row(*equal[:index], other, *rests[index + 1 :])
        elif count:
            other = f"(?:(?:{numerals(0, count - 1)}){letter})?"
            yield row(*equal[:index], other, *rests[index + 1 :])
    yield row(*equal, last)


Scalar: TypeAlias = Callable[[Core, Place], Schema]

_BOUNDS = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum"}
_WORDS = {
    "ge": "of at least {}",
    "gt": "above {}",
    "le": "of at most {}",
    "lt": "below {}",
    "max_digits": "with at most {} digits",
    "decimal_places": "with at most {} decimal places",
    "multiple_of": "a multiple of {}",
}


def read_int(core: Core, at: Place) -> Schema:
    limits = {_BOUNDS[name]: value for name, value in bounds_of(core, at).items()}
    if "multiple_of" in core:
        limits["multipleOf"] = int(core["multiple_of"])
    return integer(**limits)


def read_float(core: Core, at: Place) -> Schema:
    """A finite number; open bounds become closed ones at the next float, as pydantic rounds."""
    bounds = bounds_of(core, at)
    greatest = float_info.max  # above, pydantic reads infinity, and writes null
    lows, highs = [-greatest, bounds.get("ge", -inf)], [greatest, bounds.get("le", inf)]
    lows.append(nextafter(bounds.get("gt", -inf), inf))
    highs.append(nextafter(bounds.get("lt", inf), -inf))
    low, high = max(lows), min(highs)
    if low == inf or high == -inf:
        raise at.refuse(_in_words("a float", bounds), "is not finite")
    schema: Schema = {"type": "number", "format": "double", "minimum": low, "maximum": high}
    if "multiple_of" in core:
        multiple = abs(core["multiple_of"])
        schema["multipleOf"] = int(multiple) if multiple == int(multiple) else multiple
    if "gt" in bounds or "lt" in bounds:
        schema["$comment"] = _in_words("number", {name: core[name] for name in bounds})
    return schema


def read_decimal(core: Core, at: Place) -> Schema:
    bounds = bounds_of(core, at)
    infinite = core.get("allow_inf_nan", at.config.get("allow_inf_nan"))
    names = ("max_digits", "decimal_places", "whole_digits", "multiple_of")
    asked = {name: core[name] for name in names if name in core}
    if any(name in core for name in (*BOUNDS, "multiple_of")):
        infinite = False
    if asked.get("max_digits") == 0:
        raise at.refuse("max_digits=0", "allows no number: even 0 has a digit", "max_digits")
    if (asked.get("decimal_places") or 0) > MAX_DIGITS:
        raise at.refuse(
            "decimal_places", f"of more than {MAX_DIGITS} is not supported", "decimal_places"
        )
    patterns = decimal_patterns({**asked, **bounds}, infinite=bool(infinite), plain=at.plain)
    if "multiple_of" in asked:
        found = multiples(Decimal(str(asked["multiple_of"])))
        if not found:
            told = f"multiple_of={asked['multiple_of']}"
            why = "is not supported for Decimal; products of 2 and 5, by a power of ten, are"
            raise at.refuse(told, why, "multiple_of")
        patterns += found
    return _string(*patterns, called=_in_words("decimal", {**bounds, **asked}))


def read_fraction(core: Core, at: Place) -> Schema:
    """A whole number or a fraction, in quotes."""
    sign = "-?"
    for name in (*BOUNDS, "multiple_of"):
        if core.get(name) is not None and (core[name] != 0 or name == "multiple_of"):
            raise at.refuse(f"{name}={core[name]}", "is not supported for Fraction", name)
        if core.get(name) is not None:
            sign = "-" if name in ("lt", "le") else ""
    zero = "" if "gt" in core or "lt" in core else "|0"
    called = _in_words("fraction", core)
    return _string(whole(f"{sign}{NATURAL}(?:/{NATURAL})?{zero}"), called=called)


def read_complex(core: Core, at: Place) -> Schema:
    """A complex number in quotes, as Python writes it: "1+2j"."""
    part = FINITE
    return _string(whole(f"-?{part}|(?:-?{part}[+-]|-?){part}j"), called="complex number")


def _string(*patterns: str, called: str = "") -> Schema:
    """A string that matches all patterns; `called` becomes `$comment`."""
    schema: Schema = {"type": "string"}
    if len(patterns) == 1:
        schema["pattern"] = patterns[0]
    elif patterns:
        schema["allOf"] = [{"pattern": pattern} for pattern in patterns]
    return {**schema, "$comment": called} if called else schema


def read_str(core: Core, at: Place) -> Schema:
    """A string; `strip_whitespace` forbids whitespace at both ends."""
    settings = {name.removeprefix("str_"): said for name, said in at.config.items()}
    patterns, told = list[str](), list[str]()
    lows, highs = [0], list[int]()
    cases: list[str] = []  # case conversions of the parts before
    own = {name: value for name, value in core.items() if value is not None}
    for part in ({**settings, **own}, *core.get("more", ())):
        if "pattern" in part:
            named = part.get("regex_engine") or at.config.get("regex_engine")
            engine = "python" if named == "python-re" else "rust"
            patterns.append(translate(part["pattern"], engine, at))
            written = getattr(part["pattern"], "pattern", part["pattern"])
            told += [f"pattern {written}"] if written != patterns[-1] else []
        if part.get("strip_whitespace"):
            patterns.append(TRIMMED)
        if part.get("ascii_only") or "shape" in part:
            patterns.append(SHAPES[part.get("shape", "isascii")])
        if cases and part.keys() & {"pattern", *LENGTHS}:
            patterns += map(unchanged, cases)
        lows += [part["min_length"]] if "min_length" in part else []
        highs += [part["max_length"]] if "max_length" in part else []
        cases += [name for name in ("to_lower", "to_upper") if part.get(name)]
    blanks = "no blanks at either end" if TRIMMED in patterns else ""
    schema = _string(*dict.fromkeys(patterns), called=", ".join(told) or blanks)
    schema |= {"minLength": max(lows)} if any(lows) else {}
    return schema | ({"maxLength": min(highs)} if highs else {})


def read_bytes(core: Core, at: Place) -> Schema:
    """Text, base64 or hexadecimal digits, by `val_json_bytes`.

    pydantic counts bytes. For text, the least length counts characters here, and the greatest
    length is exact only if all characters have the same size.
    """
    low, high = core.get("min_length") or 0, core.get("max_length")
    match at.config.get("val_json_bytes", "utf8"):
        case "hex":
            digits = f"(?:[0-9a-fA-F]{{2}}){{{low},{'' if high is None else high}}}"
            return _string(whole(digits), called="hexadecimal")
        case "base64":
            return _string(whole(base64_texts(BASE64_URL, low, high)), called="base64url")
        case _:
            return limited_bytes(low, high)


def limited_bytes(low: int, high: int | None) -> Schema:
    schema: Schema = {"type": "string"} | ({"minLength": low} if low else {})
    if high is None:
        return schema
    ways = [
        {"pattern": f"^[\\0-\\u{{{last:x}}}]*$", "maxLength": high // size}
        for size, last in enumerate((0x7F, 0x7FF, 0xFFFF, 0x10FFFF), 1)
    ]
    return schema | {"allOf": [{"anyOf": ways}], "$comment": f"at most {high} bytes"}


def read_date(core: Core, at: Place) -> Schema:
    bounds = [*bounds_of(core, at).items(), *_by_the_clock(core, timedelta())]
    patterns = [whole(_compared(name, day)) for name, day in bounds]
    told = _in_words(" ".join([*_moment(core), "date"]), core) if bounds else ""
    return {**_string(*patterns, called=told), "format": "date"}


def _compared(name: str, day: date) -> str:
    return ordered(day.isoformat(), least=name[0] == "g", exclusive=name[1] == "t")


def _by_the_clock(core: Core, apart: timedelta) -> list[tuple[str, date]]:
    """The bound of `past` or `future`, in any time zone."""
    days = date.today(), datetime.now(UTC).date()
    bounds = {"past": ("lt", min(days) - apart), "future": ("gt", max(days) + apart)}
    return [bounds[moment] for moment in _moment(core)]


def _moment(core: Core) -> list[str]:
    return [core["now_op"]] if "now_op" in core else []


def _in_words(kind: str, core: Core) -> str:
    told = [words.format(core[name]) for name, words in _WORDS.items() if name in core]
    return " ".join([kind, ", ".join(told)]).strip()


def read_time(core: Core, at: Place) -> Schema:
    return _times(core, at, time, TIME, "time")


def read_datetime(core: Core, at: Place) -> Schema:
    schema = _times(core, at, datetime, DATETIME, "date-time")
    if "now_op" in core:
        bounds = _by_the_clock(core, timedelta(days=1))
        days = [{"pattern": f"^(?:{_compared(name, day)})T"} for name, day in bounds]
        schema = {**schema, "allOf": [*schema.get("allOf", ()), *days]}
    return schema


def _times(core: Core, at: Place, cls: type[Any], form: str, kind: str) -> Schema:
    bounds = list(_bounds_of_times(core, cls, kind, at))
    patterns = [bounded(name, bound, mixed=mixed) for name, bound, mixed in bounds]
    words = {name: bound.isoformat() for name, bound, _ in bounds}
    called = _in_words(" ".join([*_moment(core), kind]), words)
    return _string(whole(form + _zone(core, at)), *patterns, called=called)


def read_timedelta(core: Core, at: Place) -> Schema:
    if "multiple_of" in core:
        raise at.refuse("multiple_of", "is not supported for timedelta")
    bounds = list(_bounds_of_times(core, timedelta, "timedelta", at))
    patterns = [bounded_duration(name, bound) for name, bound, _ in bounds]
    words = {name: bound for name, bound, _ in bounds}
    return _string(whole(DURATION), *patterns, called=_in_words("ISO 8601 duration", words))


def _bounds_of_times(
    core: Core, cls: type[Any], kind: str, at: Place
) -> Iterator[tuple[str, Any, bool]]:
    """Yield (name, bound, True if values with and without an offset are compared).

    pydantic compares them for its own bounds; Python refuses in functions.
    """
    for said, own in ((core, True), *((more, False) for more in core.get("more", ()))):
        for name in BOUNDS:
            bound: Any = said.get(name)
            if own and cls is datetime and type(bound) is date:
                bound = datetime(bound.year, bound.month, bound.day)
            if bound is not None and not isinstance(bound, cls):
                raise at.refuse(f"{name}={bound!r}", f"is not supported for {kind}", name)
            if bound is not None:
                yield name, bound, own


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
    version = core.get("version")
    schema: Schema = {"type": "string", "format": "uuid"}
    if version is not None:
        schema["pattern"] = f"^[^-]{{8}}-[^-]{{4}}-{version}[^-]{{3}}-[89ABab]"
    return schema


def read_literal(core: Core, at: Place) -> Schema:
    return choice(literal_values(core, at), at)


def read_enum(core: Core, at: Place) -> Schema:
    values = [member.value for member in core["members"]]
    return choice(values, at, exact=core.get("sub_type") != "float")


def literal_values(core: Core, at: Place) -> list[Any]:
    """Values of a Literal; for enum members their values."""
    for value in core["expected"]:
        if isinstance(value, Enum) and value != value.value:
            enum = type(value).__name__
            raise at.refuse(
                f"{value} in a Literal",
                f"does not equal its value, by which pydantic looks it up; derive {enum} from str",
                "Literal",
            )
    return [value.value if isinstance(value, Enum) else value for value in core["expected"]]


def choice(values: list[Any], at: Place, exact: bool = True) -> Schema:
    """One of `values`; ints as digits. `exact`: pydantic compares ints and floats exactly."""
    for value in values:
        plain = value is None or isinstance(value, str | int | float)
        if not plain or (isinstance(value, float) and not isfinite(value)):
            why = "has no JSON that pydantic reads back; use strings, numbers, bools or None"
            raise at.refuse(repr(value), why, "enum")
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
    """Refuse ints beyond 64 bits, which pydantic does not read as enum members."""
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        told = written(int(value))
        raise at.refuse(told, "in a choice is not supported beyond 64 bits", "enum")


def _bare(value: Any) -> Any:
    """The plain `str` or `float` of a subclass, as in enums."""
    if isinstance(value, str):
        return str.__str__(value)
    return float(value) if isinstance(value, float) else value


def _is_inexact(value: object) -> bool:
    """Return True if a float is whole, but its text denotes another number.

    >>> _is_inexact(1e22), _is_inexact(1e23)
    (False, True)
    """
    if not isinstance(value, float):
        return False
    return value.is_integer() and Decimal(repr(value)) != Decimal(value)


SCALARS: dict[str, Scalar] = {
    "any": lambda core, at: {},
    "none": lambda core, at: {"type": "null"},
    "bool": lambda core, at: {"type": "boolean"},
    "int": read_int,
    "float": read_float,
    "decimal": read_decimal,
    "fraction": read_fraction,
    "complex": read_complex,
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
