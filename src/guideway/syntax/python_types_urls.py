"""URLs that pydantic reads (by Rust's url crate, after the URL Standard), as it writes them.

Allowed are only forms that pydantic writes, and not all: host names of the web are lower-case
letters, digits, - and _, without empty labels or labels that begin with xn--, and the last label is
no number; paths, queries and fragments hold the characters of RFC 3986; a type with several hosts
has at least one.
"""

import re
from collections.abc import Iterator

from guideway.syntax.python_types_formats import IPV4, IPV6, other_words
from guideway.syntax.python_types_patterns import either, numerals, whole
from guideway.syntax.python_types_place import Core, Place, Schema

_WEB = ("http", "https", "ws", "wss", "ftp")  # with a host, whose name is checked
_SCHEME = re.compile("[a-z][a-z0-9+.-]*")
_FIRST = "abcdefghijklmnopqrstuvwxyz"
_LETTERS = f"{_FIRST}0123456789+.-"

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
    named = named if schemes else [other_words((*_WEB, "file"), _FIRST, _LETTERS)]
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
