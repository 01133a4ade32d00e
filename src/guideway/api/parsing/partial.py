"""Values of a type from incomplete JSON.

Complete parts are read by pydantic; containers are built around them:

    a model, a dataclass       an instance without validation; a missing field is its default, or
                               None (`model_fields_set` names the others)
    a typed dict, a dict       the members so far
    a named tuple              the fields so far, then None
    a list, a tuple, a set     the items so far
    a string                   the characters so far; nothing for a date, an Enum, …
    a union                    the first member that fits

Strings are closed by their quote, numbers by the character after them. Parts that a validator
refuses are left out. Nothing raises.
"""

import dataclasses
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import lru_cache, partial
from typing import Any, Final, Literal, TypeVar, cast

from pydantic_core import SchemaValidator, from_json, to_json

from guideway.python_types.containers import fields_of, tuple_class
from guideway.python_types.place import Core, Place, union_parts

_INNER = {"lax-or-strict": "lax_schema", "json-or-python": "json_schema"}
_ARRAYS: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "deque": list,
    "generator": list,
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
}
_DICTS = ("dict", "frozendict", "ordered-dict", "counter")
_FIELDS = ("model-fields", "dataclass-args", "typed-dict")
_ANY: Core = {"type": "any"}
Part = TypeVar("Part")
_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_NUMBER: Final = re.compile(r"[-0-9][-+.0-9eE]*\Z")
NOTHING: Final = object()
"""The value of what has not come yet."""


def read_prefix(text: str) -> tuple[Any, int]:
    """The data of an incomplete JSON text, or NOTHING, and how many of its values are open.

    The open values are the whole, its last part, the last part of that, and so on.

    >>> read_prefix('{"a": [1], "b": ["c", 2')
    ({'a': [1], 'b': ['c']}, 2)
    """
    bare, quote, _ = _STRING.sub("", text).partition('"')
    if not quote and (number := _NUMBER.search(bare)):
        text = text[: -len(number[0])]
    data = _loaded(text, "trailing-strings")
    levels = sum((sign in "[{") - (sign in "]}") for sign in bare)
    # Without the open string only a key leaves the data as it is.
    return data, levels + (quote != "" and _loaded(text, True) != data)


def _loaded(text: str, partial: Literal[True, "trailing-strings"]) -> Any:
    try:
        return from_json(text, allow_partial=partial)
    except ValueError:
        return NOTHING


def read_partial(adapter: Any, text: str) -> Any:
    """The value of the beginning of a JSON text, None if there is none yet.

    >>> from pydantic import TypeAdapter
    >>> read_partial(TypeAdapter(list[int]), "[1, 2, 3")
    [1, 2]
    """
    data, levels = read_prefix(text)
    try:
        value = NOTHING if data is NOTHING else _reader(adapter).read(data, levels)
    except (RecursionError, ValueError):  # nested too deep for Python
        return None
    return None if value is NOTHING else value


@lru_cache(maxsize=64)
def _reader(adapter: Any) -> "_Reader":
    config: Any = getattr(adapter, "_config", None)
    return _Reader(adapter.core_schema, Place("").configured(config))


class _Reader:
    """Reads data as one type; remembers the validators of its parts.

    `levels` is the number of open values, as in `read_prefix`.
    """

    def __init__(self, core: Core, at: Place) -> None:
        self._definitions: dict[str, Core] = {}
        while core["type"] == "definitions":
            self._definitions |= {part["ref"]: part for part in core["definitions"]}
            core = core["schema"]
        self._core, self._at = core, at
        self._validators: dict[int, SchemaValidator] = {}  # by identity: `core` keeps them alive

    def read(self, data: Any, levels: int) -> Any:
        """The value of the whole."""
        return self._read(data, levels, self._core, self._at)

    def _read(self, data: Any, levels: int, core: Core, at: Place) -> Any:
        if not levels:
            return self._validated(data, core, at)
        bare = self._bare(core)
        at = at.configured(bare.get("config"))
        match bare["type"]:
            case "any":
                return data
            case "union" | "tagged-union":
                return self._member(data, levels, bare, at)
            case "model" | "dataclass":
                return self._instance(data, levels, bare, at)
            case _:
                return self._container(data, levels, bare, at)

    def _container(self, data: Any, levels: int, bare: Core, at: Place) -> Any:
        kind = bare["type"]
        match data:
            case str() if kind == "str":
                return data
            case list() if kind in _ARRAYS:
                return self._array(cast("list[Any]", data), levels, bare, at)
            case list() if kind in ("named-tuple", "call"):
                return self._named_tuple(cast("list[Any]", data), levels, bare, at)
            case dict() if kind in _FIELDS:
                return self._fields(cast("dict[str, Any]", data), levels, bare, at)
            case dict() if kind in _DICTS:
                return self._dict(cast("dict[str, Any]", data), levels, bare, at)
            case _:
                return NOTHING

    def _bare(self, core: Core) -> Core:
        """The core schema without wrappers."""
        while True:
            kind = core["type"]
            if kind == "definition-ref":
                core = self._definitions[core["schema_ref"]]
            elif kind == "chain":
                core = core["steps"][0]
            elif kind in _INNER:
                core = core[_INNER[kind]]
            elif "schema" in core and kind not in ("model", "dataclass"):
                core = core["schema"]
            else:
                return core

    def _validated(self, data: Any, core: Core, at: Place) -> Any:
        text = to_json(data, inf_nan_mode="constants")
        try:
            return self._validator(core, at).validate_json(text)
        except Exception:  # noqa: BLE001  validators are the user's code, and may raise anything
            return NOTHING

    def _validator(self, core: Core, at: Place) -> SchemaValidator:
        key = id(core)
        if key not in self._validators:
            field = core["type"].endswith("-field")
            ref = core.get("ref")
            known = {"type": "definition-ref", "schema_ref": ref}
            inner = core["schema"] if field else known if ref in self._definitions else core
            parts = list(self._definitions.values())
            whole = {"type": "definitions", "schema": inner, "definitions": parts}
            made = SchemaValidator(cast("Any", whole if parts else inner), cast("Any", at.config))
            self._validators[key] = made
        return self._validators[key]

    def _member(self, data: Any, levels: int, core: Core, at: Place) -> Any:
        """The value as the first member of a union that takes it."""
        for choice in self._choices(data, levels, core):
            value = self._read(data, levels, choice, at)
            if value is not NOTHING and self._belongs(data, choice, at):
                return value
        return NOTHING

    def _choices(self, data: Any, levels: int, core: Core) -> list[Core]:
        if core["type"] == "union":
            return list(union_parts(core))
        choices: dict[Any, Core] = core["choices"]
        tag = core["discriminator"]
        if not isinstance(tag, str):
            return list(choices.values())
        members = cast("dict[str, Any]", data if isinstance(data, dict) else {})
        known = _parts(members.items(), levels)
        named = [value for (key, value), below in known if key == tag and not below]
        return [choices[each] for each in named if isinstance(each, str | int) and each in choices]

    def _belongs(self, data: Any, choice: Core, at: Place) -> bool:
        """Return True if an open object has only keys of the fields of `choice`."""
        bare = self._bare(choice)
        at = at.configured(bare.get("config"))
        fields = self._bare(bare["schema"]) if "schema" in bare else bare
        if not isinstance(data, dict) or fields["type"] not in _FIELDS:
            return True
        return {field.key for field in fields_of(fields, at)}.issuperset(cast("Core", data))

    def _array(self, items: list[Any], levels: int, core: Core, at: Place) -> Any:
        given: Any = core.get("items_schema", _ANY)
        schemas = cast("list[Core]", given or [_ANY]) if isinstance(given, list) else [given]
        last, found = len(schemas) - 1, list[Any]()
        for place, (item, below) in enumerate(_parts(items, levels)):
            value = self._read(item, below, schemas[min(place, last)], at)
            found += [] if value is NOTHING else [value]
        return _safely(_ARRAYS[core["type"]], found)

    def _named_tuple(self, items: list[Any], levels: int, core: Core, at: Place) -> Any:
        fields, parts = list(fields_of(core, at)), _parts(items, levels)
        read = [self._read(*part, f.value, at) for part, f in zip(parts, fields, strict=False)]
        values = [None if value is NOTHING else value for value in read]
        return _safely(tuple_class(core)._make, values + [None] * (len(fields) - len(values)))

    def _dict(self, members: dict[str, Any], levels: int, core: Core, at: Place) -> Any:
        keys, values = core.get("keys_schema", _ANY), core.get("values_schema", _ANY)
        found: dict[Any, Any] = {}
        for (name, member), below in _parts(members.items(), levels):
            try:
                key = self._validator(keys, at).validate_python(name)
            except Exception:  # noqa: BLE001  as above
                continue
            value = self._read(member, below, values, at)
            if value is not NOTHING:
                found[key] = value
        return found

    def _fields(
        self, members: dict[str, Any], levels: int, core: Core, at: Place
    ) -> dict[str, Any]:
        """The fields that the text has so far, by name."""
        at = at.configured(core.get("config"))
        known = {field.key: field for field in fields_of(core, at)}
        extra = core.get("extras_schema", _ANY)
        found: dict[str, Any] = {}
        for (key, member), below in _parts(members.items(), levels):
            field = known.get(key)
            value = self._read(member, below, field.core if field else extra, at)
            if value is not NOTHING:
                found[field.name if field else key] = value
        return found

    def _instance(self, data: Any, levels: int, core: Core, at: Place) -> Any:
        make: Any = core["cls"]
        if core.get("root_model"):
            root = self._read(data, levels, core["schema"], at)
            return NOTHING if root is NOTHING else _safely(make.model_construct, root)
        inner = self._bare(core["schema"])
        if not isinstance(data, dict) or inner["type"] not in _FIELDS:
            return NOTHING
        found = self._fields(cast("dict[str, Any]", data), levels, inner, at)
        missing = [f.name for f in fields_of(inner, at) if f.required and f.name not in found]
        if core["type"] == "model":
            make = partial(make.model_construct, _fields_set=set(found))
            return _safely(lambda fields: make(**fields, **dict.fromkeys(missing)), found)
        return _safely(partial(_dataclass, make), found)


def _parts(parts: Collection[Part], levels: int) -> Iterator[tuple[Part, int]]:
    """The parts of an open value, each with the number of open values in it."""
    for place, part in enumerate(parts, 1):
        yield part, levels - 1 if place == len(parts) else 0


def _dataclass(cls: Any, found: Mapping[str, Any]) -> Any:
    """An instance without `__post_init__`, since that expects all fields."""
    instance = object.__new__(cls)
    for field in dataclasses.fields(cls):
        default: Any = None if field.default is dataclasses.MISSING else field.default
        if field.default_factory is not dataclasses.MISSING:
            default = field.default_factory()
        object.__setattr__(instance, field.name, found.get(field.name, default))
    return instance


def _safely(make: Callable[[Any], Any], parts: Any) -> Any:
    """`make(parts)`, or the parts if user code raises."""
    try:
        return make(parts)
    except Exception:  # noqa: BLE001  hooks such as model_post_init may expect all fields
        return parts
