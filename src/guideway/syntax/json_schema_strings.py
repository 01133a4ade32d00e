"""Search for a string that satisfies several string keywords of a JSON Schema.

Candidates are samples of patterns, examples of formats, and both padded to the least length::

    pattern "^https?://", format "uri", minLength 9      "http://" no, "http://aa" yes
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain, permutations
from typing import Any, Final

from guideway.syntax.json_schema_tree import FORMATS
from guideway.syntax.regex_finding import finds, samples

_MOST_PATTERNS: Final = 3  # whose samples are concatenated
_LONGEST: Final = 256
ABOUT_STRINGS: Final = ("minLength", "maxLength", "pattern", "format")

_URI: Final = r"[a-z]+:(?:///?)?[a-z]+(?:/[a-z0-9]+)*"
_DATE: Final = r"[12]\d\d\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])"
_TIME: Final = r"(?:0\d|1\d|2[0-3]):[0-5]\d:[0-5]\dZ"
_HOST: Final = r"[a-z]{1,63}(?:\.[a-z]{1,63}){0,2}"  # at most 253 characters
_SURELY: Final = {
    name: (re.compile(pattern), example)
    for name, pattern, example in (
        ("date", _DATE, "2000-01-01"),
        ("date-time", f"{_DATE}T{_TIME}", "2000-01-01T00:00:00Z"),
        ("time", _TIME, "00:00:00Z"),
        ("duration", r"P\d+D", "P1D"),
        *((f"{kind}email", f"[a-z]{{1,64}}@{_HOST}", "a@a.aa") for kind in ("", "idn-")),
        *((f"{kind}hostname", _HOST, "a.aa") for kind in ("", "idn-")),
        ("ipv4", r"\d(?:\.\d){3}", "0.0.0.0"),
        ("ipv6", r"::[0-9a-f]?", "::"),
        *((name, _URI, "http://a/a") for name in ("uri", "iri")),
        *((f"{name}-reference", f"{_URI}|[a-z/]*", "a") for name in ("uri", "iri")),
        ("uri-template", "[a-z]*", "a"),
        ("json-pointer", "(?:/[a-z]*)*", "/a"),
        ("relative-json-pointer", r"\d", "0"),
        ("uuid", "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", "-".join(
            "0" * length for length in (8, 4, 4, 4, 12)
        )),
        ("regex", "[a-z]*", "a"),
    )
}  # fmt: skip


_WITHIN: Final = {
    name: re.compile(pattern)
    for name, pattern in (
        ("date", r"[\d-]{10}"),
        ("date-time", r"[\d-]{10}[Tt][\dZz.:+-]+"),
        ("time", r"[\dZz.:+-]+"),
        ("duration", "P.+"),
        *((f"{kind}email", ".+@.+") for kind in ("", "idn-")),
        ("hostname", "[A-Za-z0-9.-]+"),
        ("ipv4", r"[\d.]+"),
        ("ipv6", r"[\da-fA-F.]*:[\da-fA-F:.]*"),
        *((name, ".+:.*") for name in ("uri", "iri")),
        ("json-pointer", "(?:/.*)?"),
        ("relative-json-pointer", r"\d.*"),
        ("uuid", r"[\da-fA-F-]{36}"),
    )
}


def satisfies(name: str, held: Any, text: str) -> bool | None:
    """Check a string keyword; None if unknown.

    >>> [satisfies("format", "date", text) for text in ("2000-01-01", "2000-02-29", "a")]
    [True, None, False]
    """
    match name:
        case "minLength":
            return len(text) >= held
        case "maxLength":
            return len(text) <= held
        case "pattern":
            return finds(held, text)
        case _:
            if held not in FORMATS or _SURELY[held][0].fullmatch(text) is not None:
                return True
            return None if held not in _WITHIN or _WITHIN[held].fullmatch(text) else False


def strings(parts: Iterable[dict[str, Any]]) -> Iterator[str]:
    """A few strings that satisfy the string keywords of all `parts`, which are well formed.

    >>> next(strings([{"pattern": "^a+$"}, {"minLength": 3}]))
    'aaa'
    >>> list(strings([{"pattern": "^a"}, {"pattern": "^b"}]))
    []
    """
    said = _said(parts)
    least = max((held for name, held in said if name == "minLength"), default=0)
    for text in _tried(said, least) if least <= _LONGEST else ():
        if all(satisfies(name, held, text) for name, held in said):
            yield text


def has_string(part: dict[str, Any]) -> bool:
    """Return True if a string is found that satisfies the string keywords of a schema."""
    return _has_string(_said((part,)))


def is_string(part: dict[str, Any], text: str) -> bool:
    """Return True if a text certainly satisfies the string keywords of a schema."""
    return all(satisfies(name, held, text) for name, held in _said((part,)))


def _said(parts: Iterable[dict[str, Any]]) -> tuple[tuple[str, Any], ...]:
    found = [(name, part[name]) for part in parts for name in ABOUT_STRINGS if name in part]
    return tuple(dict.fromkeys(found))


@lru_cache(maxsize=1024)
def _has_string(said: tuple[tuple[str, Any], ...]) -> bool:
    return any(True for _ in strings([{name: held} for name, held in said]))


def _tried(said: tuple[tuple[str, Any], ...], least: int) -> Iterator[str]:
    patterns = [held for name, held in said if name == "pattern"]
    begun = (_SURELY[held][1] for name, held in said if name == "format" and held in FORMATS)
    found = (text for pattern in patterns for text in samples(pattern))
    for text in chain(begun, found, _in_a_row(patterns)):
        yield text
        for more in {1, max(least - len(text), 0)} - {0}:
            yield from (text + "a" * more, "a" * more + text)
    for pattern in patterns if least else ():
        yield from samples(pattern, least)
    yield from ("a" * max(least, 1), "0" * max(least, 1), "-" * least)


def _in_a_row(patterns: list[str]) -> Iterator[str]:
    """Samples of all patterns, concatenated in every order."""
    if 1 < len(patterns) <= _MOST_PATTERNS:
        for row in permutations(patterns):
            yield "".join(next(samples(pattern), "") for pattern in row)
