"""What keywords of a JSON Schema hold, as far as a pass that tells tame parts apart looks at it.

What this module does not know: which keywords stand together.
"""

from functools import lru_cache
from typing import Any, Final

from guideway.errors import GuidewayError
from guideway.syntax.json_schema_keywords import JSON_TEXT
from guideway.syntax.json_schema_needs import Raw
from guideway.syntax.regex_finding import parsed

_LISTS: Final = frozenset(("allOf", "anyOf", "oneOf", "items", "prefixItems"))
_BRANCHES: Final = frozenset(("then", "else"))
MAPS: Final = frozenset(("properties", "patternProperties", "dependentSchemas", "dependencies"))
"""The keywords that hold schemas by name."""

PLACED: Final = frozenset(
    (
        *("allOf", "anyOf", "oneOf", "not", "if", "then", "else"),
        *("dependentSchemas", "dependencies"),
    )
)
"""The keywords whose schemas look at the same instance."""

BELOW: Final = frozenset(
    (
        *("items", "prefixItems", "additionalItems", "contains", "unevaluatedItems"),
        *("additionalProperties", "propertyNames", "unevaluatedProperties", JSON_TEXT),
        *MAPS,
        *PLACED,
    )
)
"""Those with any schemas."""


def schemas_at(raw: Raw, name: str) -> list[Any]:
    """The schemas of a keyword of a wild part, as far as reading looks at them."""
    value: Any = raw[name]
    unread = (name in _BRANCHES and "if" not in raw) or (
        name == "additionalItems" and raw.get("items").__class__ is not list
    )
    if value.__class__ is list and name in _LISTS:
        listed = value
    elif value.__class__ is dict and name in MAPS:
        names = name == "dependencies"  # some of which are lists of names
        listed = [part for part in value.values() if not names or part.__class__ is not list]
    else:
        listed = [value]
    return [] if unread else listed


def is_shallow(value: Any) -> bool:
    """Whether a value nests in 32 levels, so that it may be compared as a whole.

    >>> is_shallow([1, {"a": [2]}])
    True
    """
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
    """Whether a pattern is well formed and needs no product of automata: no lookaround."""
    try:
        pattern = parsed(text)
    except GuidewayError:
        return False
    return not (pattern.looks or pattern.boundaries or pattern.backs)
