"""Formats of addresses and names: ipv4, ipv6, hostname, email, idn-email.

RFC 2673 (ipv4), RFC 4291 (ipv6), RFC 1123 (hostname, without labels with `--` in third place),
RFC 5321 (email), RFC 6531 (idn-email).
"""

from guideway.lowering.expr import EMPTY, EPSILON, alt, both, concat
from guideway.lowering.idna import code_class, permitted_code_points
from guideway.lowering.matching import Match
from guideway.lowering.nodes import Expr

_OCTET = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
IPV4 = rf"{_OCTET}(?:\.{_OCTET}){{3}}"
_GROUP = "[0-9a-fA-F]{1,4}"

_LABEL = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_END, _INNER = "[A-Za-z0-9]", "[A-Za-z0-9-]"
PLAIN_LABEL = (  # no hyphens in third and fourth place
    f"{_END}(?:{_INNER}{{0,2}}{_END}|{_INNER}(?:{_INNER}{_END}|{_END}-){_INNER}{{0,58}}{_END})?"
)
_ATEXT = "A-Za-z0-9!#$%&'*+/=?^_`{|}~-"
_QTEXT = r" !#-\[\]-~"
_MOST_LOCAL = 64  # octets


def ipv4(match: Match) -> Expr:
    return match(IPV4)


def ipv6(match: Match) -> Expr:
    return match(ipv6_pattern(most=7))


def hostname(match: Match) -> Expr:
    """Names without hyphens at the third and fourth place of a label."""
    return _name(PLAIN_LABEL, match)


def any_hostname(match: Match) -> Expr:
    """Names with any labels of letters, digits and hyphens."""
    return _name(_LABEL, match)


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
