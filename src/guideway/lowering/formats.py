"""String formats of JSON Schema, as regular expressions.

`lower_format` accepts only valid strings. `format_bound` accepts all valid strings, for `not`. They
differ for hostname, idn-hostname and regex, which are not regular.
"""

from typing import Final

from guideway.lowering.formats_idn import any_idn_hostname, idn_hostname
from guideway.lowering.formats_network import (
    any_hostname,
    email,
    hostname,
    idn_email,
    ipv4,
    ipv6,
)
from guideway.lowering.formats_regex import any_regex, regex
from guideway.lowering.formats_times import date, date_time, duration, time
from guideway.lowering.formats_uri import iri, iri_reference, uri, uri_reference, uri_template
from guideway.lowering.matching import Lower, Match
from guideway.lowering.nodes import Expr


def lower_format(name: str, match: Match) -> Expr:
    """A subset of the strings of a format; `match` lowers ECMA patterns of whole strings."""
    return _FORMATS[name](match)


def format_bound(name: str, match: Match) -> Expr:
    """All strings of a format, and some others if its rule is not regular."""
    return _BOUNDS.get(name, _FORMATS[name])(match)


def is_plain_format(name: str) -> bool:
    """Return True if a format has only ASCII that JSON need not escape."""
    return name in _PLAIN


def _uuid(match: Match) -> Expr:
    return match("[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")


def _json_pointer(match: Match) -> Expr:
    return match(r"(?:/(?:[^/~]|~[01])*)*")


def _relative_json_pointer(match: Match) -> Expr:
    """Exclude index manipulation (`0+1/a`, latest draft), which validators refuse."""
    return match(r"(?:0|[1-9][0-9]*)(?:#|(?:/(?:[^/~]|~[01])*)*)")


_FORMATS: dict[str, Lower] = {
    "date": date,
    "time": time,
    "date-time": date_time,
    "duration": duration,
    "email": email,
    "idn-email": idn_email,
    "hostname": hostname,
    "idn-hostname": idn_hostname,
    "ipv4": ipv4,
    "ipv6": ipv6,
    "uri": uri,
    "uri-reference": uri_reference,
    "iri": iri,
    "iri-reference": iri_reference,
    "uri-template": uri_template,
    "json-pointer": _json_pointer,
    "relative-json-pointer": _relative_json_pointer,
    "uuid": _uuid,
    "regex": regex,
}
_BOUNDS: dict[str, Lower] = {
    "hostname": any_hostname,
    "idn-hostname": any_idn_hostname,
    "regex": any_regex,
}
_PLAIN: Final = frozenset((
    "date", "time", "date-time", "duration", "hostname", "ipv4", "ipv6", "uri", "uri-reference",
    "uuid",
))  # fmt: skip
