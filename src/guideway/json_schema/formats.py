"""Formats of JSON Schema as regular expressions; IDNA characters (RFC 5892)."""

import unicodedata
from dataclasses import dataclass
from typing import Final

from guideway.language.expr import EMPTY, alt, both, complement, concat, optional, repeat
from guideway.language.nodes import Expr, Lower, Match

_LEAP = "(?:0[48]|[2468][048]|[13579][26])"  # two digits divisible by 4, except 00
_YEAR = r"(?:[1-9][0-9]{3}|0[1-9][0-9][0-9]|00[1-9][0-9]|000[1-9])"
_MONTH_DAY = (
    r"(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)"
    r"|02-(?:0[1-9]|1[0-9]|2[0-8]))"
)
DATE = rf"(?:{_YEAR}-{_MONTH_DAY}|(?:[0-9][0-9]{_LEAP}|{_LEAP}00)-02-29)"

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
_DURATION = rf"P(?:(?:{_DAYS}|{_MONTHS}|{_YEARS})(?:{_CLOCK})?|{_CLOCK}|\d+W)"


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
    return concat(match(f"{DATE}[Tt]"), time(match))


def _small_letters() -> str:
    """The small letters of Latin, Greek and Cyrillic that IDNA permits (RFC 5892)."""
    small = (chr(code) for code in range(0xE0, 0x530) if unicodedata.category(chr(code)) == "Ll")
    kept = (char for char in small if unicodedata.normalize("NFKC", char.casefold()) == char)
    return "".join(("\u00df\u03c2", *kept))


# Letters of Europe, China, Japan and Korea that IDNA permits everywhere in a label: no marks, no
# letters with a rule of context (RFC 5892, appendix A), none written from right to left (RFC 5893).
_WIDE: Final = (
    rf"{_small_letters()}\u3005-\u3007\u3041-\u3096\u309d\u309e\u30a1-\u30fa\u30fc-\u30fe"
    r"\u3400-\u4dbf\u4e00-\u9ffc\uac00-\ud7a3\u{20000}-\u{2a6dd}"
)

OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
IPV4 = rf"{OCTET}(?:\.{OCTET}){{3}}"
_GROUP = "[0-9a-fA-F]{1,4}"

_LABEL = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_END, _INNER = "[A-Za-z0-9]", "[A-Za-z0-9-]"
PLAIN_LABEL = (  # no hyphens in third and fourth place
    f"{_END}(?:{_INNER}{{0,2}}{_END}|{_INNER}(?:{_INNER}{_END}|{_END}-){_INNER}{{0,58}}{_END})?"
)
_ATEXT = "A-Za-z0-9!#$%&'*+/=?^_`{|}~-"
_LOCAL_PART = rf'[{_ATEXT}]+(?:\.[{_ATEXT}]+)*|"(?:[ !#-\[\]-~]|\\[ -~])*"'
_MOST_LOCAL = 64  # octets


def hostname(match: Match) -> Expr:
    """Names without hyphens at the third and fourth place of a label."""
    return _name(PLAIN_LABEL, match)


def _name(label: str, match: Match) -> Expr:
    return both(match(rf"{label}(?:\.{label})*"), match("[A-Za-z0-9.-]{1,253}"))


def _local_part(match: Match) -> Expr:
    return both(match(_LOCAL_PART), match(f"[ -~]{{1,{_MOST_LOCAL}}}"))


def email(match: Match) -> Expr:
    return concat(_local_part(match), match(rf"@(?:{_LABEL}(?:\.{_LABEL})*|{_literal()})"))


def idn_email(match: Match) -> Expr:
    """Addresses with ASCII before the @, or up to 16 characters of four octets at most."""
    label = _LABEL.replace("A-Z", f"{_WIDE}A-Z")
    atoms = rf"[\u0080-\ud7ff\ue000-\u{{10ffff}}{_ATEXT}]+"
    wide = both(match(rf"{atoms}(?:\.{atoms})*"), match(rf"[^@]{{1,{_MOST_LOCAL // 4}}}"))
    return concat(alt(_local_part(match), wide), match(rf"@(?:{label}(?:\.{label})*|{_literal()})"))


def _any_idn_email(match: Match) -> Expr:
    return match(rf"[\s\S]+@(?:{_ANY_IDN_NAME}|{_literal()})")


def _literal() -> str:
    return rf"\[(?:{IPV4}|[Ii][Pp][Vv]6:(?:{ipv6_pattern(most=6)}))\]"


def ipv6_pattern(most: int) -> str:
    """IPv6 addresses; :: with up to `most` groups, 7 by RFC 4291 and 6 by RFC 5321 §4.1.3."""
    full = [f"{_groups(8)}", f"{_groups(6)}:{IPV4}"]
    short = [f"{_groups(left)}::{_up_to(most - left, '')}" for left in range(most + 1)]
    mixed = [f"{_groups(left)}::{_up_to(most - 2 - left, ':')}{IPV4}" for left in range(most - 1)]
    return "|".join(full + short + mixed)


def _groups(count: int) -> str:
    return ":".join([_GROUP] * count)


def _up_to(count: int, end: str) -> str:
    return f"(?:{_GROUP}(?::{_GROUP}){{0,{count - 1}}}{end})?" if count else ""


_UNRESERVED, _SUB = r"A-Za-z0-9._~\-", "!$&'()*+,;="
_PERCENT = "%[0-9A-Fa-f]{2}"
_UCS = r"\u00a0-\ud7ff\uf900-\ufdcf\ufdf0-\uffef" + "".join(
    rf"\u{{{plane:x}{'1000' if plane == 14 else '0000'}}}-\u{{{plane:x}fffd}}"
    for plane in range(1, 15)
)
_PRIVATE = r"\ue000-\uf8ff\u{f0000}-\u{ffffd}\u{100000}-\u{10fffd}"


def _references(*, scheme: bool, wide: str = "", private: str = "") -> str:
    """URIs (RFC 3986) or, with `wide` and `private` characters, IRIs (RFC 3987)."""
    safe = f"{wide}{_UNRESERVED}{_SUB}"
    character, name = f"(?:[{safe}:@]|{_PERCENT})", f"(?:[{safe}]|{_PERCENT})*"
    tail = f"(?:/{character}*)*"
    user = f"(?:(?:[{safe}:]|{_PERCENT})*@)?"
    future = rf"[vV][0-9A-Fa-f]+\.[{_UNRESERVED}{_SUB}:]+"
    address = rf"\[(?:{ipv6_pattern(most=7)}|{future})\]"
    network = f"//{user}(?:{address}|{name})(?::[0-9]*)?{tail}"  # a name may be an IPv4 address
    first = f"{character}+" if scheme else f"(?:[{safe}@]|{_PERCENT})+"  # a colon ends a scheme
    path = f"(?:{network}|/(?:{character}+{tail})?|{first}{tail}|)"
    query = rf"(?:\?(?:[{safe}:@/?{private}]|{_PERCENT})*)?"
    fragment = f"(?:#(?:[{safe}:@/?]|{_PERCENT})*)?"
    return f"{'[A-Za-z][A-Za-z0-9+.-]*:' if scheme else ''}{path}{query}{fragment}"


_TEMPLATE_LETTER = f"(?:[A-Za-z0-9_]|{_PERCENT})"
_VARIABLE = rf"{_TEMPLATE_LETTER}(?:\.?{_TEMPLATE_LETTER})*(?::[1-9][0-9]{{0,3}}|\*)?"
_URI_TEMPLATE = (
    rf"(?:[!#$&-;=?-\[\]_a-z~{_UCS}{_PRIVATE}]|{_PERCENT}"
    rf"|\{{[+#./;?&=,!@|]?{_VARIABLE}(?:,{_VARIABLE})*\}})*"
)


_DEEPEST = 8
_ESCAPE = r"\\(?:[dDwWsSfnrtv^$\\.*+?()[\]{}|/-]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4})"
_ORDERED = "|".join(f"{low},[{low}-9]" for low in range(10))
_COUNT = (
    r"\{(?:[0-9]{1,3}(?:,)?|"
    rf"{_ORDERED}|[0-9],[1-9][0-9]{{1,2}}|[1-9][0-9],[1-9][0-9]{{2}})\}}"
)
_QUANTIFIER = rf"(?:[*+?]|{_COUNT})\??"


def regex(match: Match) -> Expr:
    """A subset of the valid patterns."""
    repeated = optional(match(_QUANTIFIER))
    simple = concat(alt(match(rf"[^\^$\\.*+?()[\]{{}}|]|\.|{_ESCAPE}"), _class(match)), repeated)
    assertion = match(r"[\^$]|\\[bB]")
    opening, ahead, closing = match(r"\((?:\?:)?"), match(r"\(\?[=!]"), match(r"\)")
    groups: Expr = EMPTY
    bar = match(r"\|")
    for _ in range(_DEEPEST):
        terms = repeat(alt(simple, assertion, groups, bar))
        groups = alt(concat(opening, terms, closing, repeated), concat(ahead, terms, closing))
    return repeat(alt(simple, assertion, groups, bar))


def any_regex(match: Match) -> Expr:
    """A superset of the valid patterns."""
    wrong = (r"[*+?)][\s\S]*", r"[^\\]*\\", r"[^\\\[]*\[[^\]]*", r"[^\\\[)]*\([^\\\[)]*")
    return both(match(r"[\s\S]*"), complement(match("|".join(wrong))))


def _class(match: Match) -> Expr:
    ranges = "|".join(
        f"{chr(low)}-[{chr(low)}-{last}]"
        for first, last in ("09", "az", "AZ")
        for low in range(ord(first), ord(last) + 1)
    )
    member = rf"[^\\\]\[^-]|{_ESCAPE}"
    return match(rf"\[\^?(?:-?(?:{member}|{ranges})(?:{member}|{ranges})*-?|-)\]")


_DOTS = r"[.\u3002\uff0e\uff61]"
_ANY_CODE = r"[A-Za-z0-9\u0080-\u3001\u3003-\uff0d\uff0f-\uff60\uff62-\u{10ffff}-]"
_ANY_IDN_NAME = rf"{_ANY_CODE}+(?:{_DOTS}{_ANY_CODE}+)*"


def idn_hostname(match: Match) -> Expr:
    """Up to three labels of `_WIDE` letters, each of ten: at most 63 characters of Punycode."""
    letter = f"[A-Za-z0-9{_WIDE}]"
    label = f"(?:{PLAIN_LABEL}|{letter}(?:-?{letter}){{0,9}})"
    return alt(hostname(match), match(f"{label}(?:{_DOTS}{label}){{0,2}}"))


@dataclass(frozen=True, slots=True)
class _Format:
    """The strings of a format.

    lower: a subset of them, which the constraint generates; bound: all of them and some others, if
    the rule is not regular; plain: True if they have only ASCII that JSON need not escape.
    """

    lower: Lower
    bound: Lower | None = None
    plain: bool = False


def _pattern(pattern: str, *, plain: bool = False) -> _Format:
    return _Format(lambda match: match(pattern), plain=plain)


def _any_name(match: Match) -> Expr:
    return _name(_LABEL, match)


def _any_idn_name(match: Match) -> Expr:
    return match(f"{_ANY_IDN_NAME}{_DOTS}?")


_POINTER = "(?:/(?:[^/~]|~[01])*)*"
_URI, _LOCAL = _references(scheme=True), _references(scheme=False)
_IRI, _LOCAL_IRI = (
    _references(scheme=scheme, wide=_UCS, private=_PRIVATE) for scheme in (True, False)
)
_TABLE: Final[dict[str, _Format]] = {
    "date": _pattern(DATE, plain=True),
    "date-time": _Format(date_time, plain=True),
    "time": _Format(time, plain=True),
    "duration": _pattern(_DURATION, plain=True),
    "email": _Format(email),
    "idn-email": _Format(idn_email, _any_idn_email),
    "hostname": _Format(hostname, _any_name, plain=True),
    "idn-hostname": _Format(idn_hostname, _any_idn_name),
    "ipv4": _pattern(IPV4, plain=True),
    "ipv6": _pattern(ipv6_pattern(most=7), plain=True),
    "uri": _pattern(_URI, plain=True),
    "uri-reference": _pattern(f"{_URI}|{_LOCAL}", plain=True),
    "iri": _pattern(_IRI),
    "iri-reference": _pattern(f"{_IRI}|{_LOCAL_IRI}"),
    "uri-template": _pattern(_URI_TEMPLATE),
    "json-pointer": _pattern(_POINTER),
    # Without index manipulation (`0+1/a`, latest draft), which validators refuse.
    "relative-json-pointer": _pattern(f"(?:0|[1-9][0-9]*)(?:#|{_POINTER})"),
    "uuid": _pattern("[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}", plain=True),
    "regex": _Format(regex, any_regex),
}
FORMATS: Final = tuple(_TABLE)


def lower_format(name: str, match: Match) -> Expr:
    """A subset of the strings of a format; `match` lowers ECMA patterns of whole strings."""
    return _TABLE[name].lower(match)


def format_bound(name: str, match: Match) -> Expr:
    """All strings of a format, and some others if its rule is not regular."""
    return (_TABLE[name].bound or _TABLE[name].lower)(match)


def is_plain_format(name: str) -> bool:
    """Return True if a format has only ASCII that JSON need not escape."""
    return _TABLE[name].plain
