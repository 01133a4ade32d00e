"""Bounds, decimals, URLs and other formats of pydantic types as patterns."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from math import ceil, floor, inf, nextafter
from sys import float_info
from typing import Any, TypeAlias
from zoneinfo import available_timezones

from guideway.json_schema.formats import IPV4, OCTET, ipv6_pattern
from guideway.json_schema.text import MAX_DIGITS
from guideway.python_types.place import Core, Place, Schema
from guideway.regex.numerals import (
    FRACTION,
    NATURAL,
    NUMERAL,
    decimals,
    either,
    numerals,
    unsigned_to,
    whole,
)

FINITE = (  # unsigned floats: plain, or scientific with one digit before the point
    rf"(?:(?:0|[1-9][0-9]{{0,{float_info.max_10_exp - 1}}}){FRACTION}"
    rf"|[0-9]{FRACTION}[eE](?:-[0-9]{{1,3}}|\+?(?:{numerals(0, float_info.max_10_exp - 1)}))"
    rf"|(?:{unsigned_to(Decimal(repr(float_info.max).partition('e')[0]), exclusive=False)})"
    rf"[eE]\+?{float_info.max_10_exp})"
)


_COUNTED = 28
_ANY_EXPONENT = "E[+-]?[0-9]{1,17}"  # Decimal reads exponents of up to 18 digits
_INFINITE = "Infinity|NaN"
_MOST_ENDING = 4  # digits that tell a multiple: of 16, 625 endings of four


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

    `infinite` allows infinity and NaN. These and exponents come only without bounds and counts.
    `plain` leaves out zeros that make no difference, and allows at most 28 digits on either side of
    the point.
    """
    bounds = {name: Decimal(core[name]) for name in BOUNDS if name in core}
    digits = _digits(core, zeros=not plain)
    unsigned = _plain(digits)
    if not bounds and digits.total is None and core.get("decimal_places") is None:
        unsigned.append(f"[0-9]{digits.fraction(digits.places)}{_ANY_EXPONENT}")
        unsigned += [_INFINITE] if infinite else []
    ranges = [
        decimals(value, least=name[0] == "g", exclusive=name[1] == "t")
        for name, value in bounds.items()
    ]
    return [whole(f"-?(?:{either(unsigned)})"), *map(whole, ranges)]


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


# Digits of a bound, which a pattern compares one by one: 1,000 took 5 s, and 4,000 a minute.
_MOST_OF_DECIMAL = 500
BOUNDS = ("ge", "gt", "le", "lt")


def bounds_of(core: Core, at: Place) -> dict[str, Any]:
    """Bounds of a number or date in its own kind, without infinite ones that always hold.

    >>> bounds_of({"type": "decimal", "ge": 1.1, "lt": Decimal("Infinity")}, Place("T"))
    {'ge': Decimal('1.1')}
    """
    bounds: dict[str, Any] = {}
    for name in BOUNDS:
        if name in core:
            value = own_bound(core["type"], name, core[name], at)
            if isinstance(value, date) or Decimal(value).is_finite():
                bounds[name] = value
            elif (value > 0) == (name in ("ge", "gt")):
                raise at.refuse(f"{name}={value}", "leaves no finite number", name)
    return bounds


def own_bound(kind: str, name: str, value: Any, at: Place) -> Any:
    """Bound in a core schema, as pydantic reads it there."""
    if isinstance(value, str) and kind != "date":  # pydantic has taken it for a number already
        value = Decimal(value)
    return _bound(kind, name, value, at, outer=False)


def outer_bound(kind: str, name: str, value: Any, at: Place) -> Any:
    """Bound that a function checks after a number or date was read, in that kind."""
    return _bound(kind, name, value, at, outer=True)


def _bound(kind: str, name: str, value: Any, at: Place, *, outer: bool) -> Any:
    if kind == "date":
        if not isinstance(value, date) or isinstance(value, datetime):
            raise at.refuse(f"{name}={written(value)}", "is not supported for date", name)
        return value
    exact = _exact(kind, name, value, at)
    if not exact.is_finite():
        return value
    # Between two values of a kind, lower bounds and open upper ones move to the greater one.
    up = name in ("ge", "lt")
    if kind == "int":
        return (ceil(exact) if up else floor(exact)) if outer else int(exact)
    if kind == "float":
        nearest = float(exact) if outer else float(value)  # infinite for those beyond all floats
        moves = outer and (nearest < exact if up else nearest > exact)
        return nextafter(nearest, inf if up else -inf) if moves else nearest
    bound = Decimal(repr(value)) if isinstance(value, float) and not outer else exact
    if _bounds_digits(bound) > _MOST_OF_DECIMAL:
        what = f"{name} with more than {_MOST_OF_DECIMAL} digits"
        raise at.refuse(what, "is not supported", name)
    return bound


def _bounds_digits(exact: Decimal) -> int:
    """The digits before or after the point, whichever are more."""
    places = exact.as_tuple().exponent
    return max(exact.adjusted(), -places) if isinstance(places, int) else 0


def _exact(kind: str, name: str, value: Any, at: Place) -> Decimal:
    if not isinstance(value, int | float | Decimal):
        raise at.refuse(f"{name}={written(value)}", f"is not supported for {kind}", name)
    exact = Decimal(value)
    if exact.is_nan():
        raise at.refuse(f"{name}={value}", "is not a bound: no number compares with it", name)
    if _bounds_digits(exact) >= MAX_DIGITS:
        raise at.refuse(f"{name} with {MAX_DIGITS} digits or more", "is not supported", name)
    return exact


def written(value: object) -> str:
    """Text of a value for a message; long ints have no text in Python."""
    if isinstance(value, int) and value.bit_length() > 1000:
        return f"an int of {value.bit_length()} bits"
    return repr(value)


_GROUP = "[0-9a-fA-F]{1,4}"
IPV6 = ipv6_pattern(most=7)

# The top-level domains of RFC 6761 that email-validator refuses.
_RESERVED = ("arpa", "invalid", "local", "localhost", "onion", "test")
_ATOM = "[A-Za-z0-9_+'&-]+"
_LABEL = "[a-z0-9]+(?:-[a-z0-9]+)*"


def other_words(words: tuple[str, ...], first: str, letters: str, least: int = 1) -> str:
    """Pattern of the words of `letters` (one of `first` in front) that are not among `words`.

    >>> import re
    >>> others = other_words(("on",), "no", "no")
    >>> [bool(re.fullmatch(others, word)) for word in ("on", "oo", "o", "no", "")]
    [False, True, True, True, False]
    """
    parts: list[str] = []
    for prefix in sorted({word[:end] for word in words for end in range(len(word) + 1)}):
        following = {w[len(prefix)] for w in words if w.startswith(prefix) and w != prefix}
        others = "".join(c for c in (letters if prefix else first) if c not in following)
        more = max(0, least - len(prefix) - 1)
        parts.append(f"{prefix}[{others}]" + f"[{letters}]{{{more},}}")
        if len(prefix) >= least and prefix not in words:
            parts.append(prefix)
    return either(parts)


_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_EMAIL = (
    rf"{_ATOM}(?:\.{_ATOM})*@(?:{_LABEL}\.)+(?:{other_words(_RESERVED, _LETTERS, _LETTERS, 2)})"
)


def _email(begin: str, end: str, called: str) -> Schema:
    """E-mail addresses between two patterns, with the lengths of RFC 5321."""
    return {
        "type": "string",
        "maxLength": 254,
        "allOf": [
            {"pattern": f"{begin}{_EMAIL}{end}"},
            {"pattern": f"{begin}[^@]{{1,64}}@"},
            {"pattern": rf"@(?:[^.]{{1,63}}\.)*[^.]{{1,63}}{end}"},
        ],
        "$comment": called,
    }


Digits: TypeAlias = tuple[str, ...]
"""Four digits in base64, those of three bytes, a class each."""
BASE64: Digits = ("[A-Za-z0-9+/]",) * 4
BASE64_URL: Digits = ("[A-Za-z0-9_-]",) * 4


def base64_texts(digits: Digits, low: int = 0, high: int | None = None) -> str:
    """Pattern of the base64 of `low` to `high` bytes, with padding."""
    parts: list[str] = []
    one, two = f"{digits[0]}[AQgw]==", f"{digits[0]}{digits[1]}[AEIMQUYcgkosw048]="
    for rest, end in enumerate(("", one, two)):
        least = -(-max(0, low - rest) // 3)
        most = "" if high is None else (high - rest) // 3
        if most == "" or most >= least:
            parts.append(f"(?:{''.join(digits)}){{{least},{most}}}{end}")
    return either(parts)


def ascii_digits(digits: Digits) -> Digits:
    """Classes of the base64 digits of three ASCII bytes."""
    return "[A-Za-f]", "[A-HQ-Xg-nw-z0-3]", "[ABEFIJMNQRUVYZcdghklopstwx014589]", digits[3]


# Networks and sizes


def _network4() -> str:
    """IPv4 networks: all bits after the prefix are zero."""
    parts: list[str] = []
    for prefix in range(33):
        octets = [OCTET] * (prefix // 8)
        if prefix % 8:
            octets.append(f"(?:{'|'.join(map(str, range(0, 256, 1 << 8 - prefix % 8)))})")
        parts.append(rf"{r'[.]'.join([*octets, *['0'] * (4 - len(octets))])}/{prefix}")
    return "|".join(parts)


def _network6() -> str:
    """IPv6 networks: as many groups as the prefix needs, or fewer, then ::."""
    parts = ["::/0"]
    for prefix in range(1, 129):
        others = (prefix - 1) // 16  # groups before the last one
        fewer = f"(?:(?:{_GROUP}:){{1,{others}}}|:):" if others else "::"
        full = f"(?:{_GROUP}:){{{others}}}{_leading_bits(prefix - 16 * others)}"
        parts.append(f"(?:{fewer}|{full}{'' if others == 7 else '::'})/{prefix}")
    return "|".join(parts)


def _leading_bits(bits: int) -> str:
    """A group of 16 bits of which only the first `bits` may be set.

    >>> _leading_bits(8), _leading_bits(6)
    ('(?:0{1,4}|[0-9a-fA-F]{1,2}00)', '(?:0{1,4}|[0-9a-fA-F]{0,1}[048cC]00)')
    """
    digits, rest = divmod(bits, 4)
    if digits == 4:
        return _GROUP
    if rest == 0:
        return f"(?:0{{1,4}}|[0-9a-fA-F]{{1,{digits}}}{'0' * (4 - digits)})"
    ends = "".join(dict.fromkeys("".join(f"{n:x}{n:X}" for n in range(0, 16, 1 << 4 - rest))))
    return f"(?:0{{1,4}}|[0-9a-fA-F]{{0,{digits}}}[{ends}]{'0' * (3 - digits)})"


_SIZE = "[kKmMgGtTpPeE]"


def _of(pattern: str, called: str) -> Schema:
    return {"type": "string", "pattern": f"^(?:{pattern})$", "$comment": called}


BYTE_SIZE = _of(
    rf"[0-9]{{1,15}}(?:\.[0-9]{{1,15}})? ?(?:(?:{_SIZE}[iI]?)?[bB](?:it)?|{_SIZE})?",
    "size such as 1.5 GB",
)
"""Sizes with their units that `ByteSize` reads."""


_INTERFACE4 = rf"{IPV4}/(?:3[0-2]|[12]?[0-9])"
_INTERFACE6 = rf"(?:{IPV6})/(?:12[0-8]|1[01][0-9]|[1-9]?[0-9])"

FORMATS: dict[str, Callable[[], Schema]] = {
    "ipv4": lambda: {"type": "string", "format": "ipv4"},
    "ipv6": lambda: {"type": "string", "format": "ipv6"},
    "ipv4interface": lambda: _of(_INTERFACE4, "IPv4 address with its prefix length"),
    "ipv6interface": lambda: _of(_INTERFACE6, "IPv6 address with its prefix length"),
    "ipv4network": lambda: _of(_network4(), "IPv4 network such as 10.0.0.0/8"),
    "ipv6network": lambda: _of(_network6(), "IPv6 network such as 2001:db8::/32"),
    "ipvanyaddress": lambda: _of(f"{IPV4}|{IPV6}", "IP address"),
    "ipvanyinterface": lambda: _of(
        f"{_INTERFACE4}|{_INTERFACE6}", "IP address with its prefix length"
    ),
    "ipvanynetwork": lambda: _of(f"{_network4()}|{_network6()}", "IP network such as 10.0.0.0/8"),
    "email": lambda: _email("^", "$", "email"),
    "name-email": lambda: _email("^(?:[A-Za-z0-9]+ )+<", ">$", "Name <email>"),
    "fraction": lambda: _of(f"-?{NATURAL}(?:/{NATURAL})?|0", "fraction"),  # before pydantic 2.13
    "path": lambda: {"type": "string", "$comment": "path"},
    "file-path": lambda: {"type": "string", "$comment": "path of a file"},
    "directory-path": lambda: {"type": "string", "$comment": "path of a folder"},
    "zoneinfo": lambda: {"type": "string", "enum": sorted(available_timezones())},
    "regex": lambda: {"type": "string", "format": "regex"},
}
"""The texts of types by the format that pydantic claims for them."""


_WEB = ("http", "https", "ws", "wss", "ftp")  # with a host, whose name is checked
_SCHEME = re.compile("[a-z][a-z0-9+.-]*")
_FIRST = "abcdefghijklmnopqrstuvwxyz"
_URLS_LETTERS = f"{_FIRST}0123456789+.-"

_ENCODED = "%[0-9A-Fa-f]{2}"
_SAFE = f"(?:[A-Za-z0-9_.~!$&'()*+,;=:@-]|{_ENCODED})"
_MORE = f"(?:{_SAFE}|/)*"
_QUERY = rf"(?:\?(?:{_SAFE}|[/?])*)?(?:#(?:{_SAFE}|[/?])*)?"
_TAIL = f"(?:/{_MORE})?{_QUERY}"
_PLAIN = f"(?:/?(?:{_SAFE}{_MORE})?|//(?:/{_MORE})?){_QUERY}"  # without a host

_SHORTEST = 2  # a URL is a scheme and a colon at least
_BARE = f"^(?:{either([*_WEB, 'file'])})://[^/?#]*(?:[?#]|$)"  # where pydantic writes a / more

_PORT = f"(?::(?:{numerals(0, 65535)}))?"
_NAMED = "[a-z0-9_-]"
_UNCODED = (  # begins with a letter, and not with xn--
    f"(?:[a-wyz_-]{_NAMED}*|x(?:[a-mo-z0-9_-]{_NAMED}*)?|xn(?:[a-z0-9_]{_NAMED}*)?"
    f"|xn-(?:[a-z0-9_]{_NAMED}*)?)"
)
_LAST = f"(?:{_UNCODED}|[0-9]+[a-wyz_-]{_NAMED}*|(?:[1-9][0-9]*|0[0-9]+)x{_NAMED}*)"  # no number
_ADDRESS = rf"{IPV4}|\[(?:{IPV6})\]"
_WEB_HOST = rf"(?:(?:(?:{_UNCODED}|[0-9]{_NAMED}*)\.)*{_LAST}\.?|{_ADDRESS})"


def read_url(core: Core, at: Place) -> Schema:
    several = core["type"] == "multi-host-url"
    comma = "" if several else ","
    defaults = [core.get("default_host"), core.get("default_port")]
    hosted = several or bool(core.get("host_required")) or defaults != [None, None]
    schemes = _schemes(core, at)
    named = [re.sub("[+.]", r"\\\g<0>", s) for s in schemes if s not in (*_WEB, "file")]
    named = named if schemes else [other_words((*_WEB, "file"), _FIRST, _URLS_LETTERS)]
    web = [scheme for scheme in _WEB if not schemes or scheme in schemes]
    parts: list[str] = []
    if web:
        parts.append(f"(?:{either(web)})://{_authority(_WEB_HOST, comma)}{_TAIL}")
    if named:
        other = rf"(?:(?:[A-Za-z0-9_.~!$&'()*+{comma};=-]|{_ENCODED})+|\[(?:{IPV6})\])"
        after = f"//{_authority(other, comma)}{_TAIL}"
        parts.append(f"(?:{either(named)}):(?:{after if hosted else f'{after}|{_PLAIN}'})")
    if _has_file(core, schemes):
        parts.append(f"file://{_WEB_HOST}{'' if hosted else '?'}{_TAIL}")
    if not parts:
        raise at.refuse("default_port", "allows no URL: file URLs have no port", "default_port")
    schema: Schema = {"type": "string", "pattern": whole(either(parts)), "$comment": "url"}
    if core.get("max_length") is not None:
        schema["maxLength"] = core["max_length"]
    if hosted and _has_file(core, schemes):
        schema["not"] = {"pattern": "^file://localhost(?:[/?#]|$)"}  # a host that is taken away
    limits = [limit for asked in core.get("more", ()) for limit in _limits(asked)]
    return schema | ({"allOf": limits} if limits else {})


def _limits(asked: Core) -> Iterator[Schema]:
    """Lengths of a URL as it is written: with a / after its host, without a default port.

    A port and an IPv6 address may be written shorter, so they are excluded beside a least length.
    """
    low, high = asked.get("min_length", 0), asked.get("max_length")
    if low > _SHORTEST:
        yield {"minLength": low, "not": {"pattern": r"^[^/]*//[^/?#]*(?::[0-9]+(?:[,/?#]|$)|\[)"}}
    if high is not None:
        yield {"anyOf": [{"maxLength": high - 1}, {"maxLength": high, "not": {"pattern": _BARE}}]}


def _has_file(core: Core, schemes: list[str]) -> bool:
    """Return True if file URLs are allowed; with a default port pydantic fails on them."""
    return core.get("default_port") is None and (not schemes or "file" in schemes)


def _schemes(core: Core, at: Place) -> list[str]:
    """Allowed schemes in lower case, none for all."""
    asked: list[str] = core.get("allowed_schemes") or []
    known = [scheme for scheme in asked if _SCHEME.fullmatch(scheme)]
    if asked and not known:
        raise at.refuse("allowed_schemes", "has no valid scheme: they begin with a small letter")
    return known


def _authority(host: str, comma: str) -> str:
    """User, host and port; several of them where a comma is no part of any."""
    user = f"(?:[A-Za-z0-9_.~!$&'()*+{comma}-]|{_ENCODED})"
    one = f"(?:{user}+(?::{user}+)?@|:{user}+@)?{host}{_PORT}"
    return one if comma else f"{one}(?:,{one})*"
