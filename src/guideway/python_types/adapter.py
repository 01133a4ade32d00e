"""pydantic's core schema of a type as a JSON Schema."""

import inspect
import re
import sys
import types
from collections.abc import Callable, Generator, Hashable
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache, partial
from math import inf
from pathlib import Path, PosixPath, WindowsPath
from typing import (
    Annotated,
    Any,
    NotRequired,
    Required,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from pydantic import TypeAdapter
from pydantic.errors import (
    PydanticSchemaGenerationError,
    PydanticUndefinedAnnotation,
    PydanticUserError,
)
from pydantic.fields import FieldInfo
from pydantic.types import Base64Encoder, Base64UrlEncoder
from pydantic_core import SchemaError
from typing_extensions import ReadOnly, TypedDict

from guideway.errors import GuidewayError, LimitError, SourceError, UnsupportedError
from guideway.json_schema.text import walk
from guideway.json_schema.tree import JSON_TEXT
from guideway.python_types.constraints import (
    ENCODED,
    LENGTHS,
    Hook,
    claimed_format,
    described,
    first_of,
    is_hidden,
    is_json,
    name_of,
    unwrapped,
    users_hooks,
)
from guideway.python_types.containers import CONTAINERS, HASHED, OBJECTS, fields_of
from guideway.python_types.formats import (
    BASE64,
    BASE64_URL,
    BYTE_SIZE,
    ascii_digits,
    base64_texts,
)
from guideway.python_types.place import (
    BETTER,
    INTEGER,
    INTEGER_SCHEMA,
    Core,
    Place,
    Schema,
    side_of,
    union_parts,
)
from guideway.python_types.scalars import SCALARS, read_str
from guideway.regex.numerals import whole


def with_typed_dicts(type_: Any, within: frozenset[Any] = frozenset()) -> Any:
    """Replace every TypedDict in a type by one of typing_extensions.

    One that contains itself (`within`) is left, and pydantic refuses it before Python 3.12.
    """
    if isinstance(type_, type) and is_typeddict(type_):
        return type_ if type_ in within else _made_again(type_, within)
    parts = get_args(type_)
    if get_origin(type_) is Annotated:
        return Annotated[(with_typed_dicts(parts[0], within), *parts[1:])]
    changed = tuple(with_typed_dicts(part, within) if _may_hold(part) else part for part in parts)
    if all(new is old for new, old in zip(changed, parts, strict=True)):
        return type_
    origin: Any = get_origin(type_)
    of_any = origin in (Union, types.UnionType)
    return Union[changed] if of_any else origin[changed]  # noqa: UP007  from a tuple


def _may_hold(part: object) -> bool:
    """Return True for types: not for the values of a Literal, nor for `...`."""
    return isinstance(part, type) or get_origin(part) is not None


@lru_cache(256)
def _made_again(type_: Any, within: frozenset[Any]) -> Any:
    fields: dict[str, Any] = {}
    for name, hint in get_type_hints(type_, include_extras=True).items():
        inner, required = _unqualified(hint)
        # `__required_keys__` ignores annotations that are strings, as all are after
        # `from __future__ import annotations`.
        if required is None:
            required = name in type_.__required_keys__
        changed = with_typed_dicts(inner, within | {type_})
        fields[name] = changed if required else NotRequired[changed]
    made = cast("Any", TypedDict)(type_.__name__, fields)
    made.__doc__ = type_.__doc__
    if hasattr(type_, "__pydantic_config__"):
        made.__pydantic_config__ = type_.__pydantic_config__
    return made


def _unqualified(hint: Any) -> tuple[Any, bool | None]:
    """A hint without Required, NotRequired and ReadOnly, and whether it is required, if given."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin not in (Annotated, Required, NotRequired, ReadOnly):
        return hint, None
    inner, said = _unqualified(parts[0])
    if origin is Annotated:
        return Annotated[(inner, *parts[1:])], said
    return inner, said if origin is ReadOnly else origin is Required


_INSIDE = {
    "json-or-python": "json_schema",
    **dict.fromkeys(("function-after", "function-before", "function-wrap"), "schema"),
}


def as_text(claimed: Schema, core: Core, at: Place) -> Schema:
    """Schema of a claimed format, with the limits of the string that pydantic reads first."""
    text = _first_read(core, at)
    if text["type"] != "str":
        return _as_bytes(claimed, text, at)
    asked = read_str(text, at)
    limits = {name: asked[name] for name in ("minLength", "maxLength") if name in asked}
    patterns = [{"pattern": asked["pattern"]}] if "pattern" in asked else asked.get("allOf", [])
    if "maxLength" in limits:
        limits["maxLength"] = min(limits["maxLength"], claimed.get("maxLength", inf))
    if patterns:
        limits["allOf"] = [*claimed.get("allOf", ()), *patterns]
    return claimed | limits


_ENCODERS = {Base64Encoder: BASE64, Base64UrlEncoder: BASE64_URL}


def as_encoded(core: Core, at: Place) -> Schema:
    """Schema of base64 bytes or strings; any text for a user's encoder."""
    function: Any = core["function"]["function"]
    digits = _ENCODERS.get(function.__self__.encoder)
    if digits is None:
        return as_text({"type": "string"}, core, at)
    if at.again:
        why = "in a strict defaultdict is decoded twice by pydantic; use a dict"
        raise at.refuse("base64", why, "strict")
    if name_of(function) == "EncodedStr.decode_str":
        digits = ascii_digits(digits)
    low = max((asked.get("min_length", 0) for asked in core.get("more", ())), default=0)
    highs = [asked["max_length"] for asked in core.get("more", ()) if "max_length" in asked]
    pattern = whole(base64_texts(digits, low, min(highs, default=None)))
    return as_text({"type": "string", "pattern": pattern, "$comment": "base64"}, core, at)


def _first_read(core: Core, at: Place) -> Core:
    """The core schema of the string or bytes that the type's functions get."""
    while core["type"] in ("union", "lax-or-strict", *_INSIDE):
        if core["type"] == "union":  # of two ways to the same string
            core = next(union_parts(core))
        elif core["type"] == "lax-or-strict":
            core = side_of(core, at)
        else:
            cls = core.get("python_schema", {}).get("cls")
            if cls in (PosixPath, WindowsPath) and not isinstance(Path(), cls):
                raise at.refuse(cls.__name__, "does not exist on this system", cls.__name__)
            core = core[_INSIDE[core["type"]]]
    return core


def _as_bytes(claimed: Schema, core: Core, at: Place) -> Schema:
    at.check_strict(core, ("bytes",))
    for name in LENGTHS:
        if core.get(name) is not None:  # of the bytes that the text stands for
            raise at.refuse(name, "is not supported for a type that pydantic reads from bytes")
    encoding = at.config.get("val_json_bytes", "utf8")
    if core["type"] == "bytes" and encoding != "utf8":
        what = f"val_json_bytes={encoding!r}"
        raise at.refuse(what, "is not supported for this type; use 'utf8'", "val_json_bytes")
    return claimed


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
    parts = (part for _, part in walk([schema, definitions]))
    if any(isinstance(p, dict) and cast("Schema", p).get("$ref") == INTEGER for p in parts):
        definitions = {**definitions, "integer": INTEGER_SCHEMA}
    if definitions and "$defs" in schema:  # a user's, with definitions of its own
        schema = {"allOf": [schema]}
    return {**schema, "$defs": definitions} if definitions else schema


class _Reader:
    """Reads one type and collects the definitions that it refers to."""

    def __init__(self) -> None:
        self.definitions: dict[str, Schema] = {}
        self._cores: dict[str, Core] = {}
        self._names: dict[tuple[str, str, bool, bool], str] = {}
        self._documents: list[Schema] = []

    def read(self, core: Core, at: Place) -> Schema:
        """The schema of a node, changed by the user's JSON Schema functions."""
        reading: Callable[[Core], Schema] = lambda inner: self._node(inner, at)  # noqa: E731
        for hook in users_hooks(core):
            reading = partial(self._hooked, hook, _Handler(self, core, reading, at))
        return {**reading(core), **described(core)}

    def _hooked(self, hook: Hook, handler: "_Handler", core: Core) -> Schema:
        """Result of a user's JSON Schema function."""
        try:
            schema = dict(hook(core, handler))
        except GuidewayError:  # of the handler
            raise
        except Exception as error:
            told = f"{type(error).__name__}: {error}"[:300]
            raise SourceError(
                f"{name_of(hook)} failed with {told}", place=handler.at.path
            ) from error
        return self._on_its_own(schema)

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
        return self._wrapper(core, at)

    def _wrapper(self, core: Core, at: Place) -> Schema:  # noqa: C901, PLR0911, PLR0912
        match core["type"]:
            case "nullable":
                return _any_of([self.read(core["schema"], at), {"type": "null"}])
            case "union":
                return self._union(core, at)
            case "tagged-union":
                return self._tagged(core, at)
            case "function-after" | "function-before" | "function-wrap":
                return self._validated(core, at)
            case "function-plain" if "json_schema_input_schema" in core:
                return self.read(core["json_schema_input_schema"], at)
            case "function-plain":
                return _claimed(core, at)
            case "lax-or-strict" if (claimed := claimed_format(core)) is not None:
                return as_text(claimed, core, at)
            case "lax-or-strict":
                twice = at.is_strict(core) and core["strict_schema"]["type"] == "chain"
                return self.read(side_of(core, at), replace(at, again=at.again or twice))
            case "json-or-python":
                return self.read(core["json_schema"], at)
            case "json":
                return self._text(core, at)
            case "chain" if core["steps"][-1].get("cls") is Hashable:
                return {"type": [*HASHED]}
            case "chain":
                return self.read(first_of(core, at), at)
            case "custom-error" | "missing-sentinel" if not is_hidden(core):
                return self.read(core["schema"], at)
            case "definitions":
                self._cores |= {definition["ref"]: definition for definition in core["definitions"]}
                return self.read(core["schema"], replace(at, definitions=self._cores))
            case "definition-ref":
                return self._reference(core, at)
            case kind:
                raise _without_json(core, kind, at)

    # Unions

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

    def _validated(self, core: Core, at: Place) -> Schema:
        name = name_of(core["function"]["function"])
        if name in ENCODED:
            return as_encoded(core, at)
        if name == "ByteSize._validate":  # an int, or a text with a unit where no bound compares it
            sizes = [*union_parts(core["schema"])] if core["schema"]["type"] == "union" else []
            number = self.read(sizes[1] if sizes else core["schema"], at)
            return _any_of([number, dict(BYTE_SIZE)]) if sizes else number
        inner = unwrapped(core, at)
        return _claimed(core, at) if inner is None else self.read(inner, at.inside_function(core))

    def _text(self, core: Core, at: Place) -> Schema:
        """A string that holds JSON; the other keywords are for readers of the schema."""
        if at.again:
            why = "in a strict defaultdict is read twice by pydantic; use a dict"
            raise at.refuse("JSON in a string", why, "strict")
        inside = replace(at, in_python=False)
        held = self.read(core.get("schema", {"type": "any"}), inside)
        media = {"contentMediaType": "application/json"}
        return {"type": "string", **media, JSON_TEXT: held}

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


def _claimed(core: Core, at: Place) -> Schema:
    """The schema of a function that decides alone, by the format that it claims."""
    schema, name = claimed_format(core), name_of(core["function"]["function"])
    if name == "pattern_bytes_validator":
        raise at.refuse("a pattern of bytes", "has no JSON; use re.Pattern[str]", "Pattern")
    if schema is None:
        why = "alone decides which JSON it accepts; declare that JSON with WithJsonSchema"
        raise at.refuse(f"the validator {name}", why, name)
    return as_text(schema, core, at)


def _without_json(core: Core, kind: str, at: Place) -> UnsupportedError:
    name = getattr(core.get("cls"), "__qualname__", "")
    if kind == "missing-sentinel":
        return at.refuse("MISSING", "has no JSON; use it in a union with the type of the value")
    if kind == "is-instance":
        why = f"has no JSON that pydantic reads; declare it as a {BETTER}"
        return at.refuse(f"the class {name}", why, kind)
    return at.refuse(f"{kind} {name}".strip(), "has no JSON that pydantic reads", kind)


class _Handler:
    """The handler that pydantic's JSON Schema functions expect."""

    mode = "validation"

    def __init__(
        self, reader: _Reader, core: Core, reading: Callable[[Core], Schema], at: Place
    ) -> None:
        self._reader, self._core, self._reading, self.at = reader, core, reading, at

    def __call__(self, core: Core) -> Schema:
        same = core is self._core
        return self._reading(core) if same else self._reader.read(core, self.at)

    def resolve_ref_schema(self, schema: Schema) -> Schema:
        return self._reader.resolve(schema)


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


_UNKNOWN = re.compile(r".*? schema for (?:<class ')?(.+?)(?:'>)?\. Set ")  # pydantic's message
_MOST_PARTS = 10_000  # 16,000 took 3 s to compile
_PARAMETER = inspect.Parameter
_UNNAMED = {
    _PARAMETER.POSITIONAL_ONLY: "positional-only parameters",
    _PARAMETER.VAR_POSITIONAL: "*args",
    _PARAMETER.VAR_KEYWORD: "**kwargs",
}


def adapt(type_: object, *, plain: bool = False) -> tuple[Schema, TypeAdapter[Any]]:
    """The JSON Schema of a type's values and the TypeAdapter that reads them."""
    with _as_ours(type(type_).__name__):
        parts = _count_parts(type_, {})
    if parts > _MOST_PARTS:
        raise LimitError(
            f"the type has {parts} parts, counting repeated ones, and at most {_MOST_PARTS} are "
            "allowed; define a class for a part that is repeated",
            limit="parts of a type",
            given=parts,
            needed=_MOST_PARTS,
        )
    name = type_name(type_)
    with _as_ours(name):
        adapter = _adapter(type_)
        core: Any = adapter.core_schema
        config: Any = dict(getattr(adapter, "_config", None) or {})
        schema = read_core(dict(core), Place(name, config, plain=plain))
    if _is_callable(type_):
        schema["title"] = name
        text = None if isinstance(type_, partial) else inspect.getdoc(type_)
        if text and is_json(text):
            schema["description"] = text
    return schema, adapter


def _count_parts(type_: object, known: dict[int, int]) -> int:
    """Count the parts of a type, repeated ones each time."""
    found = known.get(id(type_))
    if found is None:
        found = known[id(type_)] = 1 + sum(_count_parts(part, known) for part in get_args(type_))
    return found


def type_name(type_: object) -> str:
    """Name of a type for messages.

    >>> type_name(list[int]), type_name(dict)
    ('list[int]', 'dict')
    """
    if isinstance(type_, TypeAdapter):
        return type_name(cast("Any", type_)._type)
    if isinstance(type_, partial):
        return type_name(type_.func)
    if get_origin(type_) is Annotated:
        return type_name(get_args(type_)[0])
    if isinstance(type_, type) and not getattr(type_, "__args__", ()):
        return type_.__name__
    if _is_callable(type_):
        return str(getattr(type_, "__name__", "a function"))
    try:
        written = repr(type_)
    except Exception:  # noqa: BLE001  a user's, or of an int that is too long for a text
        written = type(type_).__name__
    return _without_modules(written)


def _without_modules(written: str) -> str:
    """Remove modules and addresses from the repr of a type."""
    return re.sub(r"\b(?:[a-z_]\w*\.)+(?=\w)| at 0x[0-9a-f]+|<locals>\.", "", written)[:80]


@contextmanager
def _as_ours(name: str) -> Generator[None]:
    """Turn pydantic's errors into guideway's, with the name of the type."""
    try:
        yield
    except GuidewayError:
        raise
    except PydanticSchemaGenerationError as error:
        found = _UNKNOWN.match(error.message)
        culprit = _without_modules(found[1]) if found else name
        inside = f" (in {name})" if culprit != name else ""
        raise UnsupportedError(
            f"pydantic cannot read {culprit}{inside} from JSON; declare it as a "
            f"{BETTER}, or define __get_pydantic_core_schema__",
            feature=name,
        ) from None
    except (PydanticUserError, PydanticUndefinedAnnotation) as error:
        raise SourceError(f"pydantic refuses {name}: {error.message}") from None
    except ImportError as error:
        raise UnsupportedError(
            f"{name} needs a package that is not installed: {error}", feature=name
        ) from None
    except RecursionError:
        raise UnsupportedError(
            f"{name} nests too deeply for Python's recursion limit of {sys.getrecursionlimit()} "
            "calls; nest the types less, or raise sys.setrecursionlimit",
            feature="nesting",
        ) from None
    except (SchemaError, SyntaxError, TypeError, RuntimeError, NameError) as error:
        # A constraint on the wrong type, a forward reference to nothing, ...
        told = str(error)[:300]
        raise SourceError(f"pydantic cannot read the type {name}: {told}") from error
    except Exception as error:  # of a method of the user's, above all
        told = f"{type(error).__name__}: {error}"[:300]
        raise SourceError(f"pydantic failed on {name} with {told}") from error


def _adapter(type_: object) -> TypeAdapter[Any]:
    if isinstance(type_, TypeAdapter):
        return cast("TypeAdapter[Any]", type_)
    adapted: Any = _arguments(type_) if _is_callable(type_) else with_typed_dicts(type_)
    return TypeAdapter(adapted)


def _is_callable(type_: object) -> bool:
    return inspect.isroutine(type_) or isinstance(type_, partial)


def _arguments(function: Any) -> Any:
    """The typed dict of the arguments by name; those with a default may be left out."""
    name = type_name(function)
    try:
        signature = inspect.signature(function)
    except ValueError:
        raise UnsupportedError(f"{name} has no signature", feature="signature") from None
    inner = function
    while isinstance(inner, partial):
        inner = inner.func
    hints = get_type_hints(inner, include_extras=True)
    fields: dict[str, Any] = {}
    for parameter in signature.parameters.values():
        if parameter.kind in _UNNAMED:
            raise UnsupportedError(
                f"{_UNNAMED[parameter.kind]} have no names that JSON could use",
                feature=_UNNAMED[parameter.kind],
                place=f"{name}({parameter})",
            )
        fields[parameter.name] = _argument(parameter, hints.get(parameter.name, Any))
    made = cast("Callable[..., Any]", TypedDict)(name, fields)
    made.__pydantic_config__ = {"extra": "forbid"}
    return made


def _argument(parameter: inspect.Parameter, hint: Any) -> Any:
    default, hint = parameter.default, with_typed_dicts(hint)
    if isinstance(default, FieldInfo):
        hint = Annotated[hint, default]
        return hint if default.is_required() else NotRequired[hint]
    return hint if default is _PARAMETER.empty else NotRequired[hint]
