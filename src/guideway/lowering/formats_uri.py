"""The formats uri (RFC 3986), iri (RFC 3987) and uri-template (RFC 6570)."""

from guideway.lowering.formats_network import ipv6_pattern
from guideway.lowering.matching import Match
from guideway.lowering.nodes import Expr

_UNRESERVED, _SUB = r"A-Za-z0-9._~\-", "!$&'()*+,;="
_PERCENT = "%[0-9A-Fa-f]{2}"
_UCS = r"\u00a0-\ud7ff\uf900-\ufdcf\ufdf0-\uffef" + "".join(
    rf"\u{{{plane:x}{'1000' if plane == 14 else '0000'}}}-\u{{{plane:x}fffd}}"
    for plane in range(1, 15)
)
_PRIVATE = r"\ue000-\uf8ff\u{f0000}-\u{ffffd}\u{100000}-\u{10fffd}"


def uri(match: Match) -> Expr:
    """A URI with a scheme."""
    return match(_with_scheme("", ""))


def uri_reference(match: Match) -> Expr:
    """A URI with or without a scheme."""
    return match(_any("", ""))


def iri(match: Match) -> Expr:
    """An IRI with a scheme."""
    return match(_with_scheme(_UCS, _PRIVATE))


def iri_reference(match: Match) -> Expr:
    """An IRI with or without a scheme."""
    return match(_any(_UCS, _PRIVATE))


def _any(wide: str, private: str) -> str:
    return f"{_with_scheme(wide, private)}|{_without_scheme(wide, private)}"


def _with_scheme(wide: str, private: str) -> str:
    rootless = f"{_character(wide)}+(?:/{_character(wide)}*)*"
    path = f"(?:{_network(wide)}|{_absolute(wide)}|{rootless}|)"
    return f"[A-Za-z][A-Za-z0-9+.-]*:{path}{_ending(wide, private)}"


def _without_scheme(wide: str, private: str) -> str:
    first = f"(?:[{wide}{_UNRESERVED}{_SUB}@]|{_PERCENT})+"  # no colon, which would end a scheme
    rootless = f"{first}(?:/{_character(wide)}*)*"
    path = f"(?:{_network(wide)}|{_absolute(wide)}|{rootless}|)"
    return f"{path}{_ending(wide, private)}"


def _character(wide: str, also: str = "") -> str:
    return f"(?:[{wide}{_UNRESERVED}{_SUB}:@{also}]|{_PERCENT})"


def _network(wide: str) -> str:
    user = f"(?:(?:[{wide}{_UNRESERVED}{_SUB}:]|{_PERCENT})*@)?"
    future = rf"[vV][0-9A-Fa-f]+\.[{_UNRESERVED}{_SUB}:]+"
    address = rf"\[(?:{ipv6_pattern(most=7)}|{future})\]"
    name = f"(?:[{wide}{_UNRESERVED}{_SUB}]|{_PERCENT})*"  # includes IPv4 addresses
    return f"//{user}(?:{address}|{name})(?::[0-9]*)?(?:/{_character(wide)}*)*"


def _absolute(wide: str) -> str:
    return f"/(?:{_character(wide)}+(?:/{_character(wide)}*)*)?"


def _ending(wide: str, private: str) -> str:
    query = rf"\?{_character(wide, '/?' + private)}*"
    return rf"(?:{query})?(?:#{_character(wide, '/?')}*)?"


def uri_template(match: Match) -> Expr:
    literal = rf"(?:[!#$&-;=?-\[\]_a-z~{_UCS}{_PRIVATE}]|{_PERCENT})"
    letter = f"(?:[A-Za-z0-9_]|{_PERCENT})"
    variable = rf"{letter}(?:\.?{letter})*(?::[1-9][0-9]{{0,3}}|\*)?"
    return match(rf"(?:{literal}|\{{[+#./;?&=,!@|]?{variable}(?:,{variable})*\}})*")
