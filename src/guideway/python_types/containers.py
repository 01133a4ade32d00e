"""Core schemas of containers and of types with named fields."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from inspect import cleandoc
from typing import Any, TypeAlias, cast

from pydantic_core import SchemaValidator, ValidationError

from guideway.python_types.constraints import is_hidden, is_json, unwrapped
from guideway.python_types.formats import BOUNDS, FINITE, bounds_of
from guideway.python_types.place import Core, Place, Read, Schema, union_parts
from guideway.python_types.scalars import literal_values, refuse_long
from guideway.regex.numerals import LONGEST_INTEGER, integers, whole

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
            return read_keys(inner, at.inside_function(core), read, numbers)
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
            bounds = bounds_of(core, at)
            lows = [bounds[name] + more for name, more in (("ge", 0), ("gt", 1)) if name in bounds]
            highs = [bounds[name] - less for name, less in (("le", 0), ("lt", 1)) if name in bounds]
            low, high = max(lows, default=None), min(highs, default=None)
            digits = integers(low, high, LONGEST_INTEGER)
            return {"pattern": whole(digits), "$comment": "integer"}
        case "float" if (
            core.keys().isdisjoint((*BOUNDS, "multiple_of"))
            and core.get("allow_inf_nan") is not False
        ):
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
    # pydantic looks for True by the text of a key, but not after a function.
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


def _counts(core: Core, what: str) -> Schema:
    named = {"min_length": f"min{what}", "max_length": f"max{what}"}
    return {key: core[name] for name, key in named.items() if core.get(name) is not None}


CONTAINERS: dict[str, Container] = {
    **dict.fromkeys(("list", "deque", "generator"), read_array),
    **dict.fromkeys(("set", "frozenset"), read_set),
    "tuple": read_tuple,
    **dict.fromkeys(("dict", "frozendict", "ordered-dict", "counter"), read_dict),
}


Path: TypeAlias = list[str | int]


@dataclass(frozen=True, slots=True)
class Field:
    """A field of an object: name in Python, key in JSON, paths in order, type with metadata."""

    name: str
    key: str
    paths: list[Path]
    required: bool
    core: Core
    value: Core


def key_paths(name: str, field: Core, at: Place) -> list[Path]:
    """Paths along which pydantic looks for a field, in order.

    >>> key_paths("a", {"validation_alias": ["x", 0]}, Place("T", {"validate_by_name": True}))
    [['x', 0], ['a']]
    """
    alias: Any = field.get("validation_alias")
    if alias is None or at.config.get("validate_by_alias") is False:
        return [[name]]
    # A key; or a path of keys and indices; or several paths, of which the first found counts.
    paths: Any = [[alias]] if isinstance(alias, str) else alias
    paths = paths if isinstance(paths[0], list) else [paths]
    by_name = at.config.get("validate_by_name") or at.config.get("populate_by_name")
    return [*paths, [name]] if by_name else paths


def key_on_offer(name: str, field: Core, paths: list[Path]) -> str | None:
    """The key under which a field is written if it is read there, else the first one or None."""
    keys = [path[0] for path in paths if len(path) == 1 and isinstance(path[0], str)]
    written = field.get("serialization_alias") or name
    return written if written in keys else next(iter(keys), None)


def shared_keys(fields: Iterable[Field], offered: Iterable[Field], at: Place) -> Schema:
    """`dependentRequired` for `fields` that would be read from the key of an offered one."""
    owners: dict[str, Field] = {}
    for field in offered:
        other = owners.setdefault(field.key, field)
        if other is not field:
            raise _read_twice(field, other, at)
    needed: dict[str, list[str]] = {}
    for field in fields:
        for key, before in _other_keys(field, owners):
            if before:
                raise _read_twice(field, owners[key], at)
            if not field.required:
                needed.setdefault(key, []).append(field.key)
    return {"dependentRequired": needed} if needed else {}


def _other_keys(field: Field, owners: dict[str, Field]) -> Iterator[tuple[str, bool]]:
    """The offered keys on the other paths of a field, and whether pydantic looks there first."""
    before = True
    for path in field.paths:
        if path == [field.key] and owners.get(field.key) is field:
            before = False
        elif path[0] in owners and (before or path[0] != field.key):
            yield str(path[0]), before


def _read_twice(field: Field, other: Field, at: Place) -> Exception:
    return at.child(f".{field.name}").refuse(
        f"the key {other.key!r} of the field {other.name}",
        f"is read for the field {field.name} as well; give one of them another alias",
        "alias",
    )


def is_default_taken(core: Core, at: Place) -> bool:
    """Return True if a field with this default may be left out."""
    own = core.get("validate_default")
    validated = at.config.get("validate_default") if own is None else own
    if not validated or "default" not in core:
        return True
    whole: Any = core
    if at.definitions:
        known = [*at.definitions.values()]
        whole = {"type": "definitions", "schema": core, "definitions": known}
    try:
        SchemaValidator(whole, cast("Any", dict(at.config))).get_default_value()
    except ValidationError:
        return False
    except Exception:  # noqa: BLE001  of a function of the user's
        return True
    return True


_SHOWN = (str, int, bool, type(None))

Object: TypeAlias = Callable[[Core, Place, Read], Schema]


def read_model(core: Core, at: Place, read: Read) -> Schema:
    """Schema of a model, dataclass or root model."""
    inside = replace(at.configured(core.get("config")), again=False)  # an instance is one already
    if core.get("custom_init"):  # which gets Python objects
        inside = replace(inside, in_python=True)
    schema = {**named(core["cls"]), **read(core["schema"], inside)}
    if core.get("slots") and not core["cls"].__dictoffset__:  # no room for undeclared keys
        schema["additionalProperties"] = False
    return schema


def named(cls: type) -> Schema:
    """Title and docstring of a class, unless Python made the docstring."""
    docstring: object = cls.__dict__.get("__doc__")
    made = f"{cls.__name__}("  # dataclasses and named tuples get one from their fields
    if not isinstance(docstring, str) or docstring.startswith(made) or not docstring.strip():
        return {"title": cls.__name__}
    return {"title": cls.__name__, "description": cleandoc(docstring)}


def read_fields(core: Core, at: Place, read: Read) -> Schema:
    """Schema of the fields of a model, dataclass or typed dict."""
    inside = at.configured(core.get("config"))
    every = list(fields_of(core, inside))
    fields = [field for field in every if not _is_left_out(field, inside)]
    schema: Schema = {
        "type": "object",
        "properties": {
            field.key: read(field.core, inside.child(f".{field.name}")) for field in fields
        },
    }
    required = [field.key for field in fields if field.required]
    if required:
        schema["required"] = required
    schema |= shared_keys(every, fields, inside)
    schema["additionalProperties"] = _additional(core, inside, read)
    if schema["additionalProperties"] is not False:
        for field in every:  # such a key would be read as the field, not kept as an extra one
            for path in field.paths:
                schema["properties"].setdefault(path[0], False)
    titled = named(core["cls"]) if core["type"] == "typed-dict" and "cls" in core else {}
    return {**titled, **schema}


def _is_left_out(field: Field, at: Place) -> bool:
    if not is_hidden(field.core):
        return False
    if field.required:
        raise at.child(f".{field.name}").refuse(
            "SkipJsonSchema", "hides a required field; give it a default", "SkipJsonSchema"
        )
    return True


def fields_of(core: Core, at: Place) -> Iterator[Field]:
    """The fields that JSON may hold, in order."""
    given = core["fields"] if "fields" in core else core["arguments_schema"]["arguments_schema"]
    if not isinstance(given, dict):  # dataclasses and named tuples have a list
        given = {field["name"]: field for field in given}
    for name, field in cast("dict[str, Core]", given).items():
        value = field["schema"]
        defaults = value["type"] == "default"
        taken = not defaults or is_default_taken(value, at)
        if field.get("init") is False:
            if not taken:
                raise at.child(f".{name}").refuse(
                    "a default",
                    "is the only value of this field, and pydantic refuses it",
                    "validate_default",
                )
            continue
        needed = core["type"] != "typed-dict" or field.get("required", core.get("total", True))
        required = not taken if defaults else needed
        paths = key_paths(name, field, at)
        key = key_on_offer(name, field, paths)
        if key is None:
            raise at.child(f".{name}").refuse(
                "AliasPath", "into other keys is not supported; give the field its own key"
            )
        if at.again and core["type"] == "typed-dict" and [name] not in paths:
            raise at.child(f".{name}").refuse(
                "an alias",
                "in a strict defaultdict is looked up twice by pydantic; use a dict",
                "strict",
            )
        yield Field(name, key, paths, required, field, value)


def _additional(core: Core, at: Place, read: Read) -> Any:
    behavior = core.get("extra_behavior") or at.config.get("extra_fields_behavior")
    if behavior != "allow":
        return False
    if core.get("extras_keys_schema", {"type": "str"}) != {"type": "str"}:
        raise at.refuse(
            "a type for undeclared keys",
            "is not supported; use dict[str, ...]",
            "__pydantic_extra__",
        )
    return read(core.get("extras_schema", {"type": "any"}), at.child("{}"))


def read_field(core: Core, at: Place, read: Read) -> Schema:
    """Schema of a field."""
    return read(core["schema"], at)


def read_default(core: Core, at: Place, read: Read) -> Schema:
    """Schema of a type with a default."""
    schema = read(core["schema"], at)
    shown = core.get("default", ...)
    if (type(shown) in _SHOWN or isinstance(shown, float)) and is_json(shown):
        return {**schema, "default": shown}
    return schema


def read_named_tuple(core: Core, at: Place, read: Read) -> Schema:
    """Schema of an array with an item for each field; defaults may be missing at the end."""
    inside = at.configured(core.get("config"))
    fields = list(fields_of(core, inside))
    return {
        **named(tuple_class(core)),
        "type": "array",
        "prefixItems": [read(field.value, inside.child(f".{field.name}")) for field in fields],
        "items": False,
        "minItems": max((i for i, field in enumerate(fields, 1) if field.required), default=0),
    }


def tuple_class(core: Core) -> Any:
    """Class of a named tuple; before pydantic 2.13 it is a call with arguments."""
    return core["cls"] if core["type"] == "named-tuple" else core["function"]


OBJECTS: dict[str, Object] = {
    "model": read_model,
    "dataclass": read_model,
    "model-fields": read_fields,
    "dataclass-args": read_fields,
    "typed-dict": read_fields,
    "model-field": read_field,
    "dataclass-field": read_field,
    "typed-dict-field": read_field,
    "default": read_default,
    "named-tuple": read_named_tuple,
    "call": read_named_tuple,
}
