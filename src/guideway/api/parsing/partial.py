"""Values of a type from incomplete JSON.

Complete parts are read by pydantic; containers are built around them:

    a model, a dataclass       an instance without validation; a missing field is its default, or
                               None (`model_fields_set` names the others)
    a typed dict, a dict       the members so far
    a named tuple              the fields so far, then None
    a list, a tuple, a set     the items so far
    a string                   the characters so far; nothing for a date, an Enum, …
    a union                    the first member that fits

Parts that a validator refuses are left out. Nothing raises.
"""

import dataclasses
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any, Final, cast, final

from pydantic_core import SchemaValidator

from guideway.api.parsing.prefix import (
    Closed,
    Node,
    OpenList,
    OpenObject,
    OpenString,
    plain,
    read_prefix,
)
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
NOTHING: Final = object()
"""The value of what has not come yet."""


def read_partial(adapter: Any, text: str) -> Any:
    """The value of the beginning of a JSON text, None if there is none yet.

    >>> from pydantic import TypeAdapter
    >>> read_partial(TypeAdapter(list[int]), "[1, 2, 3")
    [1, 2]
    """
    try:
        node = read_prefix(text)
        value = NOTHING if node is None else _reader(adapter).read(node)
    except (RecursionError, ValueError):  # nested too deep, or a number too long, for Python
        return None
    return None if value is NOTHING else value


@lru_cache(maxsize=64)
def _reader(adapter: Any) -> "_Reader":
    config: Any = getattr(adapter, "_config", None)
    return _Reader(adapter.core_schema, Place("").configured(config))


@final
class _Reader:
    """Reads nodes as one type; remembers the validators of its parts."""

    def __init__(self, core: Core, at: Place) -> None:
        self._definitions: dict[str, Core] = {}
        while core["type"] == "definitions":
            self._definitions |= {part["ref"]: part for part in core["definitions"]}
            core = core["schema"]
        self._core, self._at = core, at
        self._validators: dict[int, SchemaValidator] = {}  # by identity: `core` keeps them alive

    def read(self, node: Node) -> Any:
        """The value of the whole."""
        return self._read(node, self._core, self._at)

    def _read(self, node: Node, core: Core, at: Place) -> Any:
        if isinstance(node, Closed):
            return self._validated(node.text, core, at)
        bare = self._bare(core)
        at = at.configured(bare.get("config"))
        match bare["type"]:
            case "any":
                return plain(node)
            case "union" | "tagged-union":
                return self._member(node, bare, at)
            case "model" | "dataclass":
                return self._instance(node, bare, at)
            case _:
                return self._container(node, bare, at)

    def _container(self, node: Node, core: Core, at: Place) -> Any:
        kind = core["type"]
        match node:
            case OpenString(text) if kind == "str":
                return text
            case OpenList(items) if kind in _ARRAYS:
                return self._array(items, core, at)
            case OpenList(items) if kind in ("named-tuple", "call"):
                return self._named_tuple(items, core, at)
            case OpenObject(members) if kind in _FIELDS:
                return self._fields(members, core, at)
            case OpenObject(members) if kind in _DICTS:
                return self._dict(members, core, at)
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

    def _validated(self, text: str, core: Core, at: Place) -> Any:
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

    def _member(self, node: Node, core: Core, at: Place) -> Any:
        """The value as the first member of a union that takes it."""
        for choice in self._choices(node, core):
            value = self._read(node, choice, at)
            if value is not NOTHING and self._belongs(node, choice, at):
                return value
        return NOTHING

    def _choices(self, node: Node, core: Core) -> list[Core]:
        if core["type"] == "union":
            return list(union_parts(core))
        choices: dict[Any, Core] = core["choices"]
        tag = core["discriminator"]
        if not isinstance(tag, str):
            return list(choices.values())
        told = node.members.get(tag) if isinstance(node, OpenObject) else None
        named = plain(told) if isinstance(told, Closed) else None
        return [choices[named]] if isinstance(named, str | int) and named in choices else []

    def _belongs(self, node: Node, choice: Core, at: Place) -> bool:
        """Return True if an open object has only keys of the fields of `choice`."""
        bare = self._bare(choice)
        at = at.configured(bare.get("config"))
        fields = self._bare(bare["schema"]) if "schema" in bare else bare
        if not isinstance(node, OpenObject) or fields["type"] not in _FIELDS:
            return True
        return {field.key for field in fields_of(fields, at)} >= set(node.members)

    def _array(self, items: tuple[Node, ...], core: Core, at: Place) -> Any:
        given: Any = core.get("items_schema", _ANY)
        schemas = cast("list[Core]", given or [_ANY]) if isinstance(given, list) else [given]
        last = len(schemas) - 1
        values = [self._read(item, schemas[min(i, last)], at) for i, item in enumerate(items)]
        found = [value for value in values if value is not NOTHING]
        return _safely(_ARRAYS[core["type"]], found)

    def _named_tuple(self, items: tuple[Node, ...], core: Core, at: Place) -> Any:
        fields = list(fields_of(core, at))
        read = [self._read(node, f.value, at) for node, f in zip(items, fields, strict=False)]
        values = [None if value is NOTHING else value for value in read]
        return _safely(tuple_class(core)._make, values + [None] * (len(fields) - len(values)))

    def _dict(self, members: Mapping[str, Node], core: Core, at: Place) -> Any:
        keys, values = core.get("keys_schema", _ANY), core.get("values_schema", _ANY)
        found: dict[Any, Any] = {}
        for name, member in members.items():
            try:
                key = self._validator(keys, at).validate_python(name)
            except Exception:  # noqa: BLE001  as above
                continue
            value = self._read(member, values, at)
            if value is not NOTHING:
                found[key] = value
        return found

    def _fields(self, members: Mapping[str, Node], core: Core, at: Place) -> dict[str, Any]:
        """The fields that have come, by name."""
        at = at.configured(core.get("config"))
        known = {field.key: field for field in fields_of(core, at)}
        extra = core.get("extras_schema", _ANY)
        found: dict[str, Any] = {}
        for key, member in members.items():
            field = known.get(key)
            value = self._read(member, field.core if field else extra, at)
            if value is not NOTHING:
                found[field.name if field else key] = value
        return found

    def _instance(self, node: Node, core: Core, at: Place) -> Any:
        make: Any = core["cls"]
        if core.get("root_model"):
            root = self._read(node, core["schema"], at)
            return NOTHING if root is NOTHING else _safely(make.model_construct, root)
        inner = self._bare(core["schema"])
        if not isinstance(node, OpenObject) or inner["type"] not in _FIELDS:
            return NOTHING
        found = self._fields(node.members, inner, at)
        missing = [f.name for f in fields_of(inner, at) if f.required and f.name not in found]
        if core["type"] == "model":
            make = partial(make.model_construct, _fields_set=set(found))
            return _safely(lambda fields: make(**fields, **dict.fromkeys(missing)), found)
        return _safely(partial(_dataclass, make), found)


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
