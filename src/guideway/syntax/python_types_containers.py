"""Core schemas of lists, tuples, sets and dicts.

Sets are arrays that may repeat items, as in pydantic; `uniqueItems` is set only where duplicates
would leave too few items. Keys of dicts are the strings that pydantic writes: "3", "true".
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias, cast

from guideway.syntax.python_types_bounds import BOUNDS, bounds_of
from guideway.syntax.python_types_limits import unwrapped
from guideway.syntax.python_types_patterns import FINITE, LONGEST_INTEGER, integers, whole
from guideway.syntax.python_types_place import Core, Place, Read, Schema, union_parts
from guideway.syntax.python_types_scalars import literal_values, refuse_long

Keys: TypeAlias = "list[str] | Schema"
Container: TypeAlias = Callable[[Core, Place, Read], Schema]

HASHED = ("null", "boolean", "number", "string")
"""The JSON values that Python hashes."""
_DISTINCT = frozenset(("int", "bool", "enum", "date"))
_UNHASHABLE = frozenset(("list", "deque", "dict", "set", "typed-dict", "ordered-dict", "counter"))
_VALIDATED = ("function-after", "function-before", "function-wrap")


def read_array(core: Core, at: Place, read: Read) -> Schema:
    """Schema of an array of one kind of item."""
    items = read(core.get("items_schema", {"type": "any"}), at.child("[]"))
    return {"type": "array", "items": items, **_counts(core, "Items")}


def read_set(core: Core, at: Place, read: Read) -> Schema:
    """Schema of an array of hashable items, distinct where `min_length` counts them."""
    items = at.resolved(core.get("items_schema", {"type": "any"}))
    if _is_unhashable(items):
        raise at.child("[]").refuse("a set of unhashable items", "can only be empty; use a list")
    if items["type"] != "any" and _may_be_unhashable(items, at):
        why = "of items that may be unhashable is not supported; use a list"
        raise at.child("[]").refuse("a set", why)
    schema = read_array(core, at, read)
    if items["type"] == "any":
        schema["items"] = {"type": [*HASHED]}
    if (core.get("min_length") or 0) > 1:
        if not _is_told_apart(items, at):
            why = "is not supported for sets of these items: different JSON may be one item"
            raise at.refuse("min_length", why, "min_length")
        schema["uniqueItems"] = True
    return schema


def _is_told_apart(core: Core, at: Place) -> bool:
    """Return True if different JSON values are read as different Python values."""
    match core["type"]:
        case "str":
            cases = ("to_lower", "to_upper")
            return not any(core.get(case, at.config.get(f"str_{case}")) for case in cases)
        case "literal":  # 1 == True
            return len(set(core["expected"])) == len(core["expected"])
        case kind:
            return kind in _DISTINCT


def _is_unhashable(core: Core) -> bool:
    classes: list[Any] = [core.get("cls"), *map(type, core.get("expected", ()))]  # of a Literal
    return core["type"] in _UNHASHABLE or any(cls.__hash__ is None for cls in classes)


def _may_be_unhashable(core: Core, at: Place, as_key: bool = False) -> bool:
    """Return True if a value, or a part that it is hashed with, may be unhashable."""
    parts = _all_hashed(core, at)
    return any(_is_unhashable(p) or (p["type"] == "any" and not as_key) for p in parts)


def _all_hashed(core: Core, at: Place) -> Iterator[Core]:
    """The type and the types of all parts that its hash may use."""
    todo, seen = [core], set[str]()
    for part in todo:  # grows while we go
        yield part
        if part["type"] != "definition-ref":
            todo += _hashed_with(part)
        elif part["schema_ref"] not in seen:
            seen.add(part["schema_ref"])
            todo.append(at.resolved(part))


def _hashed_with(core: Core) -> list[Core]:
    """Direct parts of a value that its hash uses, or the alternatives of a union."""
    match core["type"]:
        case "union":
            return list(union_parts(core))
        case "tagged-union":
            return list(core["choices"].values())
        case "tuple":
            return list(core["items_schema"])
        case "frozenset":  # looked at where it is read
            return []
        case _:
            fields: Any = core.get("fields", ())
            parts: list[Any] = [*(fields.values() if isinstance(fields, Mapping) else fields)]
            parts += (core.get(name) for name in ("schema", "json_schema", "lax_schema"))
            return [cast("Core", part) for part in parts if isinstance(part, Mapping)]


def read_tuple(core: Core, at: Place, read: Read) -> Schema:
    """Schema of an array with an item for each place; the last may repeat."""
    items: list[Core] = list(core["items_schema"])
    repeated = core.get("variadic_item_index")
    if repeated is not None and repeated != len(items) - 1:
        raise at.refuse("a tuple", "with items after the repeated one is not supported")
    fixed = items if repeated is None else items[:repeated]
    schema: Schema = {"type": "array"}
    if fixed:
        schema["prefixItems"] = [read(c, at.child(f"[{i}]")) for i, c in enumerate(fixed)]
    schema["items"] = False if repeated is None else read(items[-1], at.child("[]"))
    counts = _counts(core, "Items")
    counts["minItems"] = max(len(fixed), counts.get("minItems", 0))
    return {**schema, **counts}


def read_dict(core: Core, at: Place, read: Read) -> Schema:
    """Schema of an object with values of one type."""
    counted = {"type": "int" if core["type"] == "counter" else "any"}
    values = read(core.get("values_schema", counted), at.child("{}"))
    keys = core.get("keys_schema", {"type": "any"})
    if (core.get("min_length") or 0) > 1 and not _are_keys_told_apart(keys, at):
        why = "is not supported for dicts with these keys: different JSON may be one key"
        raise at.refuse("min_length", why, "min_length")
    names = read_keys(keys, at.child("{key}"), read)
    schema: Schema = {"type": "object"}
    if isinstance(names, list):
        schema |= {"properties": dict.fromkeys(names, values), "additionalProperties": False}
    else:
        schema |= {"additionalProperties": values} | ({"propertyNames": names} if names else {})
    return {**schema, **_counts(core, "Properties")}


def _are_keys_told_apart(core: Core, at: Place) -> bool:
    if core["type"] in ("literal", "enum") and any(isinstance(v, bool) for v in _values(core, at)):
        return False  # pydantic reads the keys "1" and "yes" as True as well
    return core["type"] == "any" or _is_told_apart(core, at)


def read_keys(core: Core, at: Place, read: Read, numbers: bool = False) -> Keys:
    """Names of the keys, or the schema of keys; `numbers`: True may be written as "True"."""
    core, at = at.following(core)
    match core["type"]:
        case "nullable" | "default":
            return read_keys(core["schema"], at, read, numbers)
        case "union":
            numbers = any(part["type"] in ("int", "float") for part in _all_hashed(core, at))
            return _either([read_keys(part, at, read, numbers) for part in union_parts(core)])
        case kind if kind in _VALIDATED:
            inner = unwrapped(core, at)
            if inner is None:
                return _string(core, at, read)
            return read_keys(inner, at.behind(core), read, numbers)
        case _:
            return _plain_keys(core, at, read, numbers)


def _plain_keys(core: Core, at: Place, read: Read, numbers: bool) -> Keys:
    at.check_strict(core, ("bool", "int", "float"))
    if core.get("sub_type") == "int":  # of an Enum: pydantic looks a str up as an int
        at.check_strict(core, ("enum",))
    if core["type"] not in _UNHASHABLE and _may_be_unhashable(core, at, as_key=True):
        raise at.refuse("a dict", "with keys that may be unhashable is not supported; use str keys")
    match core["type"]:
        case "any":
            return {}
        case "bool":
            return _of_bools([True, False], numbers)
        case "literal" | "enum":
            return _named(core, at, numbers)
        case "int" if "multiple_of" not in core:
            digits = integers(*_range(core, at), LONGEST_INTEGER)
            return {"pattern": whole(digits), "$comment": "integer"}
        case "float" if not _is_bounded(core):
            return {"pattern": whole(f"-?{FINITE}"), "$comment": "number"}
        case _:
            return _string(core, at, read)


def _string(core: Core, at: Place, read: Read) -> Schema:
    schema = read(core, at)
    if schema.get("type") != "string":
        what = f"{core['type']} as the key of a dict"
        raise at.refuse(what, "is not supported; use str", core["type"])
    return {name: value for name, value in schema.items() if name != "type"}


def _of_bools(values: list[bool], numbers: bool) -> list[str]:
    names = [str(value) for value in values]
    return [*map(str.lower, names), *(names if numbers else ())]


def _named(core: Core, at: Place, numbers: bool) -> list[str]:
    values = _values(core, at)
    # pydantic looks for True by the text of a key, but not behind a function.
    bools = [] if at.in_python else [value for value in values if isinstance(value, bool)]
    names = [value for value in values if isinstance(value, str)]
    if core.get("sub_type") == "int":  # only then pydantic looks a string up as a number
        for value in values:
            refuse_long(value, at)
        names = [str(int(value)) for value in values]
    if not names and not bools:
        raise at.refuse("a choice without strings", "has no JSON keys; use strings", core["type"])
    return [*map(str.__str__, names), *_of_bools(bools, numbers)]


def _values(core: Core, at: Place) -> list[Any]:
    if core["type"] == "literal":
        return literal_values(core, at)
    return [member.value for member in core["members"]]


def _either(options: list[Keys]) -> Keys:
    listed = [name for option in options if isinstance(option, list) for name in option]
    schemas = [option for option in options if not isinstance(option, list)]
    if not schemas:
        return listed
    if {} in schemas:
        return {}
    return {"anyOf": [*schemas, {"enum": listed}] if listed else schemas}


def _range(core: Core, at: Place) -> tuple[int | None, int | None]:
    bounds = bounds_of(core, at)
    lows = [bounds[name] + more for name, more in (("ge", 0), ("gt", 1)) if name in bounds]
    highs = [bounds[name] - less for name, less in (("le", 0), ("lt", 1)) if name in bounds]
    return max(lows, default=None), min(highs, default=None)


def _is_bounded(core: Core) -> bool:
    return (
        any(name in core for name in (*BOUNDS, "multiple_of")) or core.get("allow_inf_nan") is False
    )


def _counts(core: Core, what: str) -> Schema:
    named = {"min_length": f"min{what}", "max_length": f"max{what}"}
    return {key: core[name] for name, key in named.items() if core.get(name) is not None}


CONTAINERS: dict[str, Container] = {
    **dict.fromkeys(("list", "deque", "generator"), read_array),
    **dict.fromkeys(("set", "frozenset"), read_set),
    "tuple": read_tuple,
    **dict.fromkeys(("dict", "frozendict", "ordered-dict", "counter"), read_dict),
}
