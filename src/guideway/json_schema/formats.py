"""Formats of JSON Schema as regular expressions; IDNA characters (RFC 5892)."""

import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from typing import Final, final

from guideway.language.expr import EMPTY, EPSILON, alt, both, complement, concat, optional, repeat
from guideway.language.nodes import Expr, Lower, Match
from guideway.language.utf8 import CodePoints, points, union

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


_EXCEPTIONS = (0xDF, 0x3C2, 0x6FD, 0x6FE, 0xF0B, 0x3007)
_CONTEXT = (0xB7, 0x375, 0x5F3, 0x5F4, 0x30FB, *range(0x660, 0x66A), *range(0x6F0, 0x6FA))
_DISALLOWED = (0x640, 0x7FA, 0x302E, 0x302F, *range(0x3031, 0x3036), 0x303B)
_IGNORABLE = (
    *(0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180B, 0x180C, 0x180D, 0x180F, 0x3164, 0xFFA0),
    *(*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)),
    *(*range(0x20D0, 0x2100), *range(0x1D100, 0x1D250)),  # the ignorable blocks
    *(*range(0x1100, 0x1200), *range(0xA960, 0xA97D), *range(0xD7B0, 0xD7FC)),  # old Hangul
)
_NEVER = frozenset((*_CONTEXT, *_DISALLOWED, *_IGNORABLE))
_CATEGORIES = frozenset(("Ll", "Lu", "Lo", "Nd", "Lm", "Mn", "Mc"))
# Ideographs and Hangul syllables of Unicode 13, all permitted; checking each took 0.4 s.
PLAIN: CodePoints = (
    *((0x3400, 0x4DBF), (0x4E00, 0x9FFC), (0xAC00, 0xD7A3), (0x20000, 0x2A6DD)),
    *((0x2A700, 0x2B734), (0x2B740, 0x2B81D), (0x2B820, 0x2CEA1), (0x2CEB0, 0x2EBE0)),
    (0x30000, 0x3134A),
)
_OTHERS = (range(0x80, 0x3400), range(0xA000, 0xAC00), range(0xF900, 0x20000))


@lru_cache(maxsize=1)
def permitted_code_points() -> tuple[CodePoints, CodePoints]:
    """Permitted code points beyond ASCII: those that may begin a label (no marks), and all."""
    found = letters()
    first = select(found, lambda char: not unicodedata.category(char).startswith("M"))
    return union(first, PLAIN), union(points(found), PLAIN)


@lru_cache(maxsize=1)
def letters() -> tuple[int, ...]:
    """Permitted code points beyond ASCII and outside PLAIN."""
    return tuple(code for code in chain(*_OTHERS) if _is_permitted(code))


def select(codes: Iterable[int], holds: Callable[[str], bool]) -> CodePoints:
    """The code points whose character satisfies `holds`."""
    return points([code for code in codes if holds(chr(code))])


def code_class(*sets: CodePoints) -> tuple[str, ...]:
    """Each set as ranges inside an ECMA character class."""
    return tuple(
        "".join(rf"\u{{{low:x}}}-\u{{{high:x}}}" for low, high in ranges) for ranges in sets
    )


def _is_permitted(code: int) -> bool:
    char = chr(code)
    if unicodedata.category(char) not in _CATEGORIES or code in _NEVER:
        return code in _EXCEPTIONS
    return code in _EXCEPTIONS or _is_stable(char)


def _is_stable(char: str) -> bool:
    folded = unicodedata.normalize("NFKC", char).casefold()
    return unicodedata.normalize("NFKC", folded) == char


OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
IPV4 = rf"{OCTET}(?:\.{OCTET}){{3}}"
_GROUP = "[0-9a-fA-F]{1,4}"

_LABEL = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_END, _INNER = "[A-Za-z0-9]", "[A-Za-z0-9-]"
PLAIN_LABEL = (  # no hyphens in third and fourth place
    f"{_END}(?:{_INNER}{{0,2}}{_END}|{_INNER}(?:{_INNER}{_END}|{_END}-){_INNER}{{0,58}}{_END})?"
)
_ATEXT = "A-Za-z0-9!#$%&'*+/=?^_`{|}~-"
_QTEXT = r" !#-\[\]-~"
_MOST_LOCAL = 64  # octets


def hostname(match: Match) -> Expr:
    """Names without hyphens at the third and fourth place of a label."""
    return _name(PLAIN_LABEL, match)


def _name(label: str, match: Match) -> Expr:
    return both(match(rf"{label}(?:\.{label})*"), match("[A-Za-z0-9.-]{1,253}"))


def email(match: Match) -> Expr:
    local = alt(_dotted(match, [_ATEXT]), _quoted(match, [_QTEXT]))
    return concat(local, match(rf"@(?:{_LABEL}(?:\.{_LABEL})*|{_literal()})"))


def idn_email(match: Match) -> Expr:
    wide = [r"\u0080-\u07ff", r"\u0800-\ud7ff\ue000-\uffff", r"\u{10000}-\u{10ffff}"]
    local = alt(_dotted(match, [_ATEXT, *wide]), _quoted(match, [_QTEXT, *wide]))
    first, inner = code_class(*permitted_code_points())
    end = f"[A-Za-z0-9{inner}]"
    label = f"[A-Za-z0-9{first}](?:[A-Za-z0-9{inner}-]{{0,61}}{end})?"
    return concat(local, match(rf"@(?:{label}(?:\.{label})*|{_literal()})"))


def _dotted(match: Match, classes: list[str]) -> Expr:
    """Words joined by dots; a character of class n takes n + 1 octets."""
    atoms = [match(f"[{members}]") for members in classes]
    dot = match(r"\.")
    rests = [EPSILON]  # rest after a character, by the number of octets left
    for left in range(1, _MOST_LOCAL):
        begun = _weighted(atoms, rests, left)
        after_dot = _weighted(atoms, rests, left - 1)
        rests.append(alt(EPSILON, begun, concat(dot, after_dot)))
    return _weighted(atoms, rests, _MOST_LOCAL)


def _quoted(match: Match, classes: list[str]) -> Expr:
    letters = [match(f"[{members}]") for members in classes]
    pair, quote = match(r"\\[ -~]"), match('"')
    rests = [EMPTY, quote]
    for left in range(2, _MOST_LOCAL):
        escaped = concat(pair, rests[left - 2])
        rests.append(alt(quote, escaped, _weighted(letters, rests, left)))
    return concat(quote, rests[_MOST_LOCAL - 1])


def _weighted(letters: list[Expr], rests: list[Expr], left: int) -> Expr:
    return alt(
        *(concat(letter, rests[left - n]) for n, letter in enumerate(letters, 1) if n <= left)
    )


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


_CONTEXTS = {
    0xB7: "middle dot",
    0x375: "keraia",
    0x5F3: "geresh",
    0x5F4: "geresh",
    0x30FB: "katakana dot",
    0x200D: "joiner",
    0x200C: "non-joiner",
    0x2D: "hyphen",
    ord("l"): "l",
    **dict.fromkeys(range(0x660, 0x66A), "arabic"),
    **dict.fromkeys(range(0x6F0, 0x6FA), "extended"),
}
_SCRIPTS = {"GREEK": "greek", "HEBREW": "hebrew", "HIRAGANA": "kana", "KATAKANA": "kana"}
# Letters of the Arabic block (ArabicShaping.txt): joining on both sides, and right-joining.
_DUAL = (
    *((0x620, 0x620), (0x626, 0x626), (0x628, 0x628), (0x62A, 0x62E), (0x633, 0x63F)),
    *((0x641, 0x647), (0x649, 0x64A), (0x66E, 0x66F), (0x678, 0x687), (0x69A, 0x6BF)),
    *((0x6C1, 0x6C2), (0x6CC, 0x6CC), (0x6CE, 0x6CE), (0x6D0, 0x6D1), (0x6FA, 0x6FC)),
    (0x6FF, 0x6FF),
)
_RIGHT = (
    *((0x622, 0x625), (0x627, 0x627), (0x629, 0x629), (0x62F, 0x632), (0x648, 0x648)),
    *((0x671, 0x673), (0x675, 0x677), (0x688, 0x699), (0x6C0, 0x6C0), (0x6C3, 0x6CB)),
    *((0x6CD, 0x6CD), (0x6CF, 0x6CF), (0x6D2, 0x6D3), (0x6D5, 0x6D5)),
)
_WAYS = {"R": "R", "AL": "R", "L": "L", "EN": "EN", "AN": "AN", "NSM": "NSM"}


@final
@dataclass(frozen=True, slots=True)
class Sort:
    """Properties of a character that the rules of labels use.

    kind: script or name if a context rule needs it, else "other"; way: Bidi class, with R for R and
    AL, N for no direction; mark: must not come first; combines: combining class is not 0.
    """

    kind: str
    way: str
    mark: bool = False
    combines: bool = False


@lru_cache(maxsize=1)
def sorts() -> dict[Sort, CodePoints]:
    left_out = _seconds()
    ascii_codes = b"abcdefghijklmnopqrstuvwxyz0123456789"
    found: dict[Sort, list[int]] = {}
    for code in chain(ascii_codes, _CONTEXTS, letters()):
        if code not in left_out:
            found.setdefault(_sort(code), []).append(code)
    grouped = {sort: set(codes) for sort, codes in found.items()}
    made = {sort: points(codes) for sort, codes in grouped.items()}
    for block in PLAIN:  # without marks, from left to right
        sort = Sort("other" if block[0] == _HANGUL else "kana", "L")
        made[sort] = (*made.get(sort, ()), block)
    return {sort: tuple(sorted(ranges)) for sort, ranges in made.items()}


_HANGUL = 0xAC00


def _sort(code: int) -> Sort:
    char = chr(code)
    mark = unicodedata.category(char).startswith("M")
    combines = unicodedata.combining(char) != 0
    return Sort(_kind(code), _WAYS.get(unicodedata.bidirectional(char), "N"), mark, combines)


def _kind(code: int) -> str:
    if code in _CONTEXTS:
        return _CONTEXTS[code]
    if unicodedata.combining(chr(code)) == 9:
        return "virama"
    if _within(code, _DUAL):
        return "dual"
    if _within(code, _RIGHT):
        return "right"
    return _SCRIPTS.get(unicodedata.name(chr(code), "").partition(" ")[0], "other")


def _within(code: int, ranges: Iterable[tuple[int, int]]) -> bool:
    return any(low <= code <= high for low, high in ranges)


def _seconds() -> frozenset[int]:
    found: set[int] = set()
    for code in chain(range(0xC0, 0x3100), range(0x11000, 0x11A00)):
        parts = unicodedata.decomposition(chr(code)).split()
        if len(parts) == 2 and not parts[0].startswith("<"):
            found.add(int(parts[1], 16))
    return frozenset(found)


_MOST_CODES, _MOST_LABELS = 7, 3
_DOTS = r"[.\u3002\uff0e\uff61]"
_ANY_CODE = r"[A-Za-z0-9\u0080-\u3001\u3003-\uff0d\uff0f-\uff60\uff62-\u{10ffff}-]"
_BEHIND = {
    "middle dot": ("l",),
    "geresh": ("hebrew",),
    "joiner": ("virama",),
    "non-joiner": ("virama", "dual"),
}
_REMEMBERED = frozenset(("l", "hebrew", "virama", "dual", "hyphen"))


def idn_hostname(match: Match) -> Expr:
    match = lru_cache(match)  # 27 classes of characters in 3,000 places
    one_way = alt(match(PLAIN_LABEL), _label(match, _State(bidi=False)))
    ascii_label = both(match(PLAIN_LABEL), match(r"[A-Za-z][\s\S]*"))
    either_way = alt(ascii_label, _label(match, _State(bidi=True)))
    return alt(hostname(match), _idn_name(match, one_way), _idn_name(match, either_way))


def _idn_name(match: Match, label: Expr) -> Expr:
    return concat(label, repeat(concat(match(_DOTS), label), 0, _MOST_LABELS - 1))


@final
@dataclass(frozen=True, slots=True)
class _State:
    """Requirements of the characters so far on those that follow.

    wants: kinds that must follow; digits: kind of Arabic digits seen; kana: "seen" or "wanted";
    way: direction of the first character; closed: True if the Bidi rule lets the label end here.
    """

    bidi: bool
    before: str = ""
    marked: bool = False
    wants: frozenset[str] = frozenset()
    digits: str = ""
    kana: str = ""
    way: str = ""
    numbers: str = ""
    closed: bool = True

    @property
    def may_end(self) -> bool:
        done = self.before not in ("", "hyphen") and not self.wants
        return done and self.closed and self.kana != "wanted"

    def after(self, sort: Sort) -> "_State | None":
        if not (self._fits(sort) and self._in_context(sort.kind)):
            return None
        directed = self._directed(sort.way) if self.bidi else self
        if directed is None or (not self.bidi and sort.way in ("R", "AN")):
            return None
        kana = "seen" if sort.kind == "kana" else self.kana
        return replace(
            directed,
            before=sort.kind if sort.kind in _REMEMBERED else "other",
            marked=sort.combines,
            wants=self._wanted(sort.kind),
            digits=sort.kind if sort.kind in ("arabic", "extended") else self.digits,
            kana="wanted" if sort.kind == "katakana dot" and not kana else kana,
        )

    def _fits(self, sort: Sort) -> bool:
        if self.before == "" and (sort.mark or sort.kind == "hyphen"):
            return False
        if self.before == "hyphen" and sort.kind == "hyphen":
            return False
        return not (self.marked and sort.combines)

    def _in_context(self, kind: str) -> bool:
        """RFC 5892, appendix A: rules on the characters before."""
        if self.wants and kind not in self.wants:
            return False
        if kind in ("arabic", "extended"):
            return self.digits in ("", kind)
        return kind not in _BEHIND or self.before in _BEHIND[kind]

    def _wanted(self, kind: str) -> frozenset[str]:
        """RFC 5892, appendix A: rules on the characters after."""
        if kind == "middle dot":
            return frozenset(("l",))
        if kind == "keraia":
            return frozenset(("greek",))
        if kind == "non-joiner" and self.before == "dual":
            return frozenset(("dual", "right"))
        return frozenset()

    def _directed(self, way: str) -> "_State | None":
        """The state after a character by the Bidi rule (RFC 5893 §2), None if it is refused."""
        if not self.way:
            return replace(self, way=way) if way in ("L", "R") else None
        if way == "NSM":
            return self
        if self.way == "L":
            return replace(self, closed=way != "N") if way not in ("R", "AN") else None
        if way == "L" or (way in ("EN", "AN") and self.numbers not in ("", way)):
            return None
        numbers = way if way in ("EN", "AN") else self.numbers
        return replace(self, closed=way != "N", numbers=numbers)


def _label(match: Match, start: _State) -> Expr:
    levels: list[dict[_State, dict[_State, list[Sort]]]] = []
    states = {start}
    for _ in range(_MOST_CODES):
        levels.append({state: _arcs(state) for state in states})
        states = {after for arcs in levels[-1].values() for after in arcs}
    rest = {state: EPSILON if state.may_end else EMPTY for state in states}
    for level in reversed(levels):
        rest = {
            state: alt(
                EPSILON if state.may_end else EMPTY,
                *_grouped(match, [(found, rest[after]) for after, found in arcs.items()]),
            )
            for state, arcs in level.items()
        }
    return rest[start]


def _grouped(match: Match, options: list[tuple[list[Sort], Expr]]) -> list[Expr]:
    together: dict[Expr, list[Sort]] = {}
    for found, rest in options:
        together.setdefault(rest, []).extend(found)
    return [
        concat(alt(*(match(_idn_class(sort)) for sort in found)), rest)
        for rest, found in together.items()
        if rest is not EMPTY
    ]


@lru_cache(maxsize=1024)
def _arcs(state: _State) -> dict[_State, list[Sort]]:
    found: dict[_State, list[Sort]] = {}
    for sort in sorts():
        after = state.after(sort)
        if after is not None:
            found.setdefault(after, []).append(sort)
    return found


@lru_cache(maxsize=64)
def _idn_class(sort: Sort) -> str:
    return f"[{code_class(sorts()[sort])[0]}]"


@final
@dataclass(frozen=True, slots=True)
class _Format:
    """How the strings of a format are written.

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
    return match(rf"{_ANY_CODE}+(?:{_DOTS}{_ANY_CODE}+)*{_DOTS}?")


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
    "idn-email": _Format(idn_email),
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
