"""Values of keywords, as far as the search for tame parts reads them."""

from functools import lru_cache
from typing import Any, Final

from guideway.errors import GuidewayError
from guideway.syntax.json_schema_needs import Raw
from guideway.syntax.json_schema_resources import JSON_TEXT
from guideway.syntax.regex_finding import parsed

_LISTS: Final = frozenset(("allOf", "anyOf", "oneOf", "items", "prefixItems"))
_BRANCHES: Final = frozenset(("then", "else"))
MAPS: Final = frozenset(("properties", "patternProperties", "dependentSchemas", "dependencies"))
"""Keywords with schemas by name."""

PLACED: Final = frozenset(
    (
        *("allOf", "anyOf", "oneOf", "not", "if", "then", "else"),
        *("dependentSchemas", "dependencies"),
    )
)
"""Keywords whose schemas apply to the same instance."""

BELOW: Final = frozenset(
    (
        *("items", "prefixItems", "additionalItems", "contains", "unevaluatedItems"),
        *("additionalProperties", "propertyNames", "unevaluatedProperties", JSON_TEXT),
        *MAPS,
        *PLACED,
    )
)
"""All keywords with schemas."""


def schemas_at(raw: Raw, name: str) -> list[Any]:
    """Schemas of a keyword, without those that have no effect."""
    value: Any = raw[name]
    unread = (name in _BRANCHES and "if" not in raw) or (
        name == "additionalItems" and raw.get("items").__class__ is not list
    )
    if value.__class__ is list and name in _LISTS:
        listed = value
    elif value.__class__ is dict and name in MAPS:
        names = name == "dependencies"  # its values may be lists of names
        listed = [part for part in value.values() if not names or part.__class__ is not list]
    else:
        listed = [value]
    return [] if unread else listed


def is_shallow(value: Any) -> bool:
    """Return True if a value has at most 32 levels, so that it can be compared."""
    parts = [value]
    for _ in range(33):
        below: list[Any] = []
        for part in parts:
            if part.__class__ is list:
                below += part
            elif part.__class__ is dict:
                below += part.values()
        parts = below
        if not parts:
            return True
    return False


@lru_cache(maxsize=1024)
def is_plain_pattern(text: str) -> bool:
    """Return True for a well-formed pattern without lookaround, boundaries and back references."""
    try:
        pattern = parsed(text)
    except GuidewayError:
        return False
    return not (pattern.looks or pattern.boundaries or pattern.backs)
