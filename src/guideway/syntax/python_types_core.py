"""pydantic's core schema of a type → JSON Schema: the walk, wrappers and unions.

The leaves are in `python_types_scalars`, `_containers` and `_objects`. What a schema cannot express
is refused with its place. Types used more than once become `$defs`.
"""

import re
from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import cast, final

from guideway.errors import GuidewayError, SourceError
from guideway.syntax.json_schema_keywords import JSON_TEXT
from guideway.syntax.json_text import walk
from guideway.syntax.python_types_claimed import as_encoded, as_text
from guideway.syntax.python_types_containers import CONTAINERS, HASHED
from guideway.syntax.python_types_formats import BYTE_SIZE
from guideway.syntax.python_types_hooks import (
    ENCODED,
    Hook,
    claimed_format,
    described,
    is_hidden,
    name_of,
    users_hooks,
)
from guideway.syntax.python_types_limits import first_of, unwrapped
from guideway.syntax.python_types_objects import OBJECTS, fields_of
from guideway.syntax.python_types_place import (
    BETTER,
    INTEGER,
    INTEGER_SCHEMA,
    Core,
    Place,
    Schema,
    side_of,
    union_parts,
)
from guideway.syntax.python_types_scalars import SCALARS

_DEFS = "#/$defs/"
_STRICT = frozenset(  # what a strict type takes as a Python object only
    [
        *("bytes", "decimal", "date", "time", "datetime", "timedelta"),
        *("complex", "fraction", "tuple", "set", "frozenset", "deque", "ordered-dict", "counter"),
    ]
)
_OF_A_CLASS = ("title", "extra_fields_behavior", "validate_by_alias", "validate_by_name")


def read_core(core: Core, at: Place) -> Schema:
    """The JSON Schema (draft 2020-12) of a core schema.

    >>> read_core({"type": "list", "items_schema": {"type": "str"}}, Place("names"))
    {'type': 'array', 'items': {'type': 'string'}}
    """
    reader = _Reader()
    schema = reader.read(core, at)
    definitions = reader.definitions
    if _mentions([schema, definitions], INTEGER):
        definitions = {**definitions, "integer": INTEGER_SCHEMA}
    if definitions and "$defs" in schema:  # a user's, with definitions of its own
        schema = {"allOf": [schema]}
    return {**schema, "$defs": definitions} if definitions else schema


def _mentions(value: object, reference: str) -> bool:
    parts = (part for _, part in walk(value))
    return any(isinstance(p, dict) and cast("Schema", p).get("$ref") == reference for p in parts)


@final
class _Reader:
    """Reads one type and collects the definitions that it refers to."""

    def __init__(self) -> None:
        self.definitions: dict[str, Schema] = {}
        self._cores: dict[str, Core] = {}
        self._names: dict[tuple[str, str, bool, bool], str] = {}
        self._documents: list[Schema] = []
        self._wrappers: dict[str, Callable[[Core, Place], Schema]] = {
            "nullable": self._nullable,
            "union": self._union,
            "tagged-union": self._tagged,
            "function-after": self._validated,
            "function-before": self._validated,
            "function-wrap": self._validated,
            "function-plain": self._plain,
            "lax-or-strict": self._lax,
            "json-or-python": lambda core, at: self.read(core["json_schema"], at),
            "json": self._text,
            "chain": self._chain,
            "custom-error": self._inner,
            "missing-sentinel": self._inner,
            "definitions": self._definitions,
            "definition-ref": self._reference,
        }

    def read(self, core: Core, at: Place) -> Schema:
        """The schema of a node, changed by the user's JSON Schema functions."""
        reading: Callable[[Core], Schema] = lambda inner: self._node(inner, at)  # noqa: E731
        for hook in users_hooks(core):
            reading = self._hooked(hook, core, reading, at)
        return {**reading(core), **described(core)}

    def _hooked(
        self, hook: Hook, core: Core, reading: Callable[[Core], Schema], at: Place
    ) -> Callable[[Core], Schema]:
        handler = _Handler(self, core, reading, at)
        return lambda inner: self._on_its_own(_told_by(hook, inner, handler, at))

    def _on_its_own(self, schema: Schema) -> Schema:
        """A user's schema; with own definitions it gets an `$id`, so references stay in it."""
        if "$id" in schema or not schema.keys() & {"$defs", "definitions"}:
            return schema
        if schema not in self._documents:
            self._documents.append(schema)
        return {"$id": f"urn:guideway:{self._documents.index(schema) + 1}", **schema}

    def _node(self, core: Core, at: Place) -> Schema:
        kind: str = core["type"]
        at.check_strict(core, _STRICT)
        if kind in SCALARS:
            return SCALARS[kind](core, at)
        if kind in CONTAINERS:
            return CONTAINERS[kind](core, at, self.read)
        if kind in OBJECTS:
            return OBJECTS[kind](core, at, self.read)
        if kind in self._wrappers:
            return self._wrappers[kind](core, at)
        name = getattr(core.get("cls"), "__qualname__", "")
        if kind == "is-instance":
            why = f"has no JSON that pydantic reads; declare it as a {BETTER}"
            raise at.refuse(f"the class {name}", why, kind)
        raise at.refuse(f"{kind} {name}".strip(), "has no JSON that pydantic reads", kind)

    # Unions

    def _nullable(self, core: Core, at: Place) -> Schema:
        return _any_of([self.read(core["schema"], at), {"type": "null"}])

    def _union(self, core: Core, at: Place) -> Schema:
        parts = [part for part in union_parts(core) if not is_hidden(part)]
        if not parts:
            raise at.refuse(
                "a union", "has only hidden members; take SkipJsonSchema from one of them"
            )
        return _any_of([self.read(part, at) for part in parts])

    def _tagged(self, core: Core, at: Place) -> Schema:
        """A union with a discriminator; a key as discriminator is required in each member."""
        choices = [choice for choice in core["choices"].values() if not is_hidden(choice)]
        tag = core["discriminator"]
        if callable(tag):
            return _any_of([self.read(choice, at) for choice in choices])
        # A key, or the name and the alias of the field, as paths of one step.
        names = [tag] if isinstance(tag, str) else [path[0] for path in tag]
        return _any_of(
            [_with_key(self.read(choice, at), self._tag(choice, names, at)) for choice in choices]
        )

    def _tag(self, core: Core, names: list[str], at: Place) -> str:
        """The name among `names` by which a union member reads its tag."""
        at = at.configured(core.get("config"))
        match core["type"]:
            case "definition-ref":
                return self._tag(at.resolved(core), names, at)
            case "tagged-union":
                return self._tag(next(iter(core["choices"].values())), names, at)
            case "model-fields" | "dataclass-args" | "typed-dict":
                keys = {field.key for field in fields_of(core, at)}
                return next(name for name in names if name in keys)
            case _:
                return self._tag(core["schema"], names, at)

    # Wrappers

    def _inner(self, core: Core, at: Place) -> Schema:
        if is_hidden(core):
            raise at.refuse("MISSING", "has no JSON; use it in a union with the type of the value")
        return self.read(core["schema"], at)

    def _validated(self, core: Core, at: Place) -> Schema:
        name = name_of(core["function"]["function"])
        if name in ENCODED:
            return as_encoded(core, at)
        if name == "ByteSize._validate":
            return self._size(core["schema"], at)
        inner = unwrapped(core, at)
        if inner is None:
            return self._claimed(core, name, at)
        return self.read(inner, at.behind(core))

    def _size(self, core: Core, at: Place) -> Schema:
        """ByteSize: an int, or a text with a unit where no bound compares it."""
        if core["type"] != "union":
            return self.read(core, at)
        return _any_of([self.read(core["choices"][1], at), dict(BYTE_SIZE)])

    def _plain(self, core: Core, at: Place) -> Schema:
        if "json_schema_input_schema" in core:
            return self.read(core["json_schema_input_schema"], at)
        return self._claimed(core, name_of(core["function"]["function"]), at)

    def _claimed(self, core: Core, name: str, at: Place) -> Schema:
        schema = claimed_format(core)
        if name == "pattern_bytes_validator":
            raise at.refuse("a pattern of bytes", "has no JSON; use re.Pattern[str]", "Pattern")
        if schema is None:
            raise at.refuse(
                f"the validator {name}",
                "alone decides which JSON it accepts; declare that JSON with WithJsonSchema",
                name,
            )
        return as_text(schema, core, at)

    def _lax(self, core: Core, at: Place) -> Schema:
        claimed = claimed_format(core)
        if claimed is not None:
            return as_text(claimed, core, at)
        twice = at.is_strict(core) and core["strict_schema"]["type"] == "chain"
        return self.read(side_of(core, at), replace(at, again=at.again or twice))

    def _text(self, core: Core, at: Place) -> Schema:
        """A string that holds JSON; the other keywords are for readers of the schema."""
        if at.again:
            why = "in a strict defaultdict is read twice by pydantic; use a dict"
            raise at.refuse("JSON in a string", why, "strict")
        inside = replace(at, in_python=False)
        held = self.read(core.get("schema", {"type": "any"}), inside)
        media = {"contentMediaType": "application/json"}
        return {"type": "string", **media, JSON_TEXT: held}

    def _chain(self, core: Core, at: Place) -> Schema:
        if core["steps"][-1].get("cls") is Hashable:
            return {"type": [*HASHED]}
        return self.read(first_of(core, at), at)

    # Definitions

    def _definitions(self, core: Core, at: Place) -> Schema:
        for definition in core["definitions"]:
            self._cores[definition["ref"]] = definition
        return self.read(core["schema"], replace(at, definitions=self._cores))

    def _reference(self, core: Core, at: Place) -> Schema:
        ref: str = core["schema_ref"]
        # An alias has no configuration: that of each place applies.
        settings = "" if "config" in self._cores[ref] else _settings(at.config)
        used = (ref, settings, at.in_python, at.again)
        if used not in self._names:
            # `in_python` and `again` may refuse a type, but do not change its schema.
            same = next((name for as_, name in self._names.items() if as_[:2] == used[:2]), None)
            name = self._names[used] = same or self._name(ref)
            self.definitions.setdefault(name, {})  # known before it is read: it may refer to itself
            self.definitions[name] |= self.read(self._cores[ref], replace(at, path=name))
        return {"$ref": _DEFS + self._names[used]}

    def _name(self, ref: str) -> str:
        cls = self._cores[ref].get("cls")
        written = getattr(cls, "__name__", None) or ref.rpartition(":")[0].rpartition(".")[2]
        name = re.sub(r"[^A-Za-z0-9_.-]+", "_", written).strip("_")
        taken = {"integer", *self._names.values()}
        numbered = (name if n == 1 else f"{name}{n}" for n in range(1, len(taken) + 2))
        return next(free for free in numbered if free not in taken)

    def resolve(self, schema: Schema) -> Schema:
        """Resolve a reference into the definitions collected so far."""
        own = "$id" in schema  # its references are
        reference: str = "" if own else schema.get("$ref", "")
        return self.definitions.get(reference.removeprefix(_DEFS), schema)


@final
class _Handler:
    """The handler that pydantic's JSON Schema functions expect."""

    mode = "validation"

    def __init__(
        self, reader: _Reader, core: Core, reading: Callable[[Core], Schema], at: Place
    ) -> None:
        self._reader, self._core, self._reading, self._at = reader, core, reading, at

    def __call__(self, core: Core) -> Schema:
        same = core is self._core
        return self._reading(core) if same else self._reader.read(core, self._at)

    def resolve_ref_schema(self, schema: Schema) -> Schema:
        return self._reader.resolve(schema)


def _told_by(hook: Hook, core: Core, handler: _Handler, at: Place) -> Schema:
    """Result of a user's JSON Schema function."""
    try:
        return dict(hook(core, handler))
    except GuidewayError:  # of the handler
        raise
    except Exception as error:
        told = f"{type(error).__name__}: {error}"[:300]
        raise SourceError(f"{name_of(hook)} failed with {told}", place=at.path) from error


def _settings(config: Core) -> str:
    """Text of the settings that may affect other types than the class that has them."""
    return repr(sorted((name, said) for name, said in config.items() if name not in _OF_A_CLASS))


def _with_key(schema: Schema, key: str) -> Schema:
    """`schema`, requiring `key` of its objects."""
    if "anyOf" in schema:
        return {**schema, "anyOf": [_with_key(part, key) for part in schema["anyOf"]]}
    return {**schema, "required": [*dict.fromkeys([*schema.get("required", ()), key])]}


def _any_of(options: list[Schema]) -> Schema:
    distinct: list[Schema] = []
    for option in options:
        if option not in distinct:
            distinct.append(option)
    return distinct[0] if len(distinct) == 1 else {"anyOf": distinct}
