"""Core schemas of models, dataclasses, typed dicts and named tuples.

Keys stay in the order of declaration. Fields with a default may be left out, unless pydantic would
refuse the default. Undeclared keys are allowed where `extra="allow"` keeps them. `init=False`,
computed fields and `SkipJsonSchema` are left out.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from inspect import cleandoc
from typing import Any, TypeAlias, cast

from guideway.syntax.python_types_defaults import is_default_taken
from guideway.syntax.python_types_hooks import is_hidden, is_json
from guideway.syntax.python_types_keys import Field, key_on_offer, key_paths, shared_keys
from guideway.syntax.python_types_place import Core, Place, Read, Schema

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
