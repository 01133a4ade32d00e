"""Schemas of pydantic's types with validators of their own, by the format that they claim.

Some allow less than pydantic reads: e-mail addresses are those that email-validator does not
change, base64 texts are ASCII, IPv6 networks end in ::. Paths are any text; time zones are those of
this machine.
"""

from collections.abc import Callable
from typing import TypeAlias
from zoneinfo import available_timezones

from guideway.syntax.python_types_patterns import NATURAL, either
from guideway.syntax.python_types_place import Schema

_OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
IPV4 = rf"(?:{_OCTET}\.){{3}}{_OCTET}"
_GROUP = "[0-9a-fA-F]{1,4}"
IPV6 = "|".join(
    [f"(?:{_GROUP}:){{7}}{_GROUP}"]
    + [
        f"{f'(?:{_GROUP}:){{{left}}}' if left else ':'}(?::{_GROUP}){{1,{7 - left}}}"
        for left in range(7)
    ]
    + [f"(?:{_GROUP}:){{1,7}}:", "::"]
)

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
        octets = [_OCTET] * (prefix // 8)
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
