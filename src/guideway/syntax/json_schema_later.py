"""Late parts of a JSON Schema: lowered as a whole, but only when they are entered.

A part is late if nothing in it can be refused and it surely has an instance, although it has one of
the `LATE` keywords. At most one schema applies to each value inside. For objects, a witness is the
set of names of an object that satisfies all keywords if their values have instances::

    {"patternProperties": {"^x-": A}, "properties": {"y": B}}    no key matches both
    {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}        {"a": ...}
"""

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final

from guideway.syntax.json_schema_needs import VALUED, Raw, needs
from guideway.syntax.regex_finding import parsed
from guideway.syntax.regex_tree import Anchor, Group, Sequence, Text

_COUNTS: Final = frozenset(("minProperties", "maxProperties"))
_NEEDS: Final = frozenset(("dependentRequired", "dependencies"))
_BRANCHED: Final = frozenset(("anyOf", "oneOf"))
DEPENDENT: Final = _NEEDS | {"dependentSchemas"}
"""Keywords by which the presence of a name requires something."""

_OF_KEYS: Final = _COUNTS | _NEEDS | _BRANCHED | {"not", "patternProperties"}
LATE: Final = _OF_KEYS | {"uniqueItems"}
"""Keywords that tame parts may not have and late ones may."""

_OF_OBJECTS: Final = frozenset(("type", "required", "properties", "additionalProperties"))
_MOST_FRESH: Final = 8
Said = Callable[[Any], AbstractSet[str]]


def allows_nothing(raw: Raw, said: AbstractSet[str]) -> bool:
    """Return True for `{"not": {}}`, a common way to write `false`."""
    return said == {"not"} and (raw["not"] is True or raw["not"] == {})


def needs_of_late(raw: Raw, said: AbstractSet[str], said_of: Said) -> list[Any] | None:
    """Parts that need instances for a late part to have one; None if the part is not late.

    `said` are its asserting keywords, `said_of` those of another schema. The values of keywords
    that tame parts may have are checked before.

    >>> later = {"uniqueItems": True, "items": {"type": "null"}}
    >>> needs_of_late(later, set(later), lambda part: set(part))
    []
    >>> needs_of_late({**later, "minItems": 2}, {*later, "minItems"}, lambda part: set(part))
    """
    late = said & LATE
    if late == {"uniqueItems"}:
        free = raw.get("minItems", 0) <= 1 and said.isdisjoint(VALUED)
        few = raw["uniqueItems"] is False or free
        return needs(raw, said - late) if raw["uniqueItems"].__class__ is bool and few else None
    if "uniqueItems" in late or not said <= _OF_OBJECTS | late or not _is_plain(raw, late, said_of):
        return None
    return _needs_of_object(raw, late)


def most_dependent(raw: Raw, said: AbstractSet[str]) -> int:
    """The greatest number of entries in a dependency keyword."""
    return max((len(_mapped(raw[name])) for name in said & DEPENDENT), default=0)


def _is_plain(raw: Raw, late: AbstractSet[str], said_of: Said) -> bool:
    """Return True if the late keywords of an object are well formed and none interact."""
    counts = (raw[name] for name in late & _COUNTS)
    lists = [part for name in late & _NEEDS for part in _mapped(raw[name])]
    return (
        all(count.__class__ is int and count >= 0 for count in counts)
        and all(map(_is_names, lists))
        and len(late & _BRANCHED) < 2
        and all(_is_list(raw[name]) for name in late & _BRANCHED)
        and all(_asks_for_names(part, said_of) for part in _conditions(raw, late))
        and ("patternProperties" not in late or _are_apart(raw))
    )


def _mapped(value: Any) -> list[Any]:
    """Values of an object, or [None] for anything else."""
    return list(value.values()) if value.__class__ is dict else [None]


def _is_list(value: Any) -> bool:
    return value.__class__ is list and 1 <= len(value) <= 8


def _is_names(value: Any) -> bool:
    return value.__class__ is list and all(name.__class__ is str for name in value)


def _conditions(raw: Raw, late: AbstractSet[str]) -> list[Any]:
    """Schemas that apply to the object itself."""
    found = [part for name in late & _BRANCHED for part in raw[name]]
    return [*found, raw["not"]] if "not" in late else found


def _asks_for_names(part: Any, said_of: Said) -> bool:
    """Return True if a schema has no keyword but `required`."""
    return part.__class__ is dict and said_of(part) == {"required"} and _is_names(part["required"])


# Patterns


def _are_apart(raw: Raw) -> bool:
    """Return True if at most one schema applies to each key."""
    patterns = raw["patternProperties"]
    if patterns.__class__ is not dict:
        return False
    names = list(raw.get("properties", {}))
    if not names and len(patterns) == 1:
        return True
    starts = [(beginning(pattern), False) for pattern in patterns]
    every = sorted([*starts, *((name, True) for name in names)])
    # Sorted, a text is followed by those that begin with it.
    return all(start for start, _ in starts) and not any(
        after.startswith(start) for (start, named), (after, _) in pairwise(every) if not named
    )


@lru_cache(maxsize=1024)
def beginning(text: str) -> str:
    """A prefix of all keys that match a well-formed pattern; "" if none is evident.

    >>> beginning("^x-[a-z]+$"), beginning("x-"), beginning("^(a|b)"), beginning("^((x-)y)$")
    ('x-', '', '', 'x-')
    """
    body = parsed(text).body
    parts = body.items if isinstance(body, Sequence) else ()
    if len(parts) < 2 or not isinstance(parts[0], Anchor) or parts[0].kind != "text start":
        return ""
    first = parts[1]
    while isinstance(first, Group | Sequence):
        inside = (first.item,) if isinstance(first, Group) else first.items
        first = inside[0] if inside else None
    return first.text if isinstance(first, Text) and not first.mode.ignore_case else ""


# Witnesses


def _needs_of_object(raw: Raw, late: AbstractSet[str]) -> list[Any] | None:
    types = raw.get("type", "object")
    if types != "object" and (types.__class__ is str or "object" not in types):
        return None
    declared = set(raw.get("required", ()))
    branches = [part["required"] for name in late & _BRANCHED for part in raw[name]]
    for chosen in branches or [()]:
        names = _enough(raw, declared.union(chosen))
        if _fits(raw, late, names, branches):
            return _values(raw, names)
    return None


def _enough(raw: Raw, names: set[str]) -> set[str]:
    """Add names up to `minProperties`, if possible."""
    missing = min(raw.get("minProperties", 0) - len(names), _MOST_FRESH)
    if raw.get("additionalProperties") is False or "patternProperties" in raw:
        others = [name for name in raw.get("properties", {}) if name not in names]
    else:
        others = [f"new {number}" for number in range(missing)]
    return names.union(others[: max(missing, 0)])


def _fits(raw: Raw, late: AbstractSet[str], names: set[str], branches: list[list[str]]) -> bool:
    """Return True if an object with these names satisfies all keywords, its values aside."""
    if "oneOf" in late and sum(names.issuperset(branch) for branch in branches) != 1:
        return False
    if "not" in late and names.issuperset(raw["not"]["required"]):
        return False
    needed = (raw[keyword].get(name, ()) for keyword in late & _NEEDS for name in names)
    if not all(names.issuperset(others) for others in needed):
        return False
    patterned = "patternProperties" in late and not names.issubset(raw.get("properties", {}))
    return not patterned and raw.get("minProperties", 0) <= len(names) <= raw.get(
        "maxProperties", len(names)
    )


def _values(raw: Raw, names: set[str]) -> list[Any]:
    """Schemas of the values of these names."""
    properties, others = raw.get("properties", {}), raw.get("additionalProperties", True)
    found = (properties.get(name, others) for name in sorted(names))
    return [part for part in found if part is not True]
