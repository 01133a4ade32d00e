"""Constraints that a type checks after a validator, put into the core schema of the value itself.

`Annotated[int | None, Field(ge=3)]` is a function of pydantic's around a union: it becomes the
union of the members that can have the constraint, each with it. Functions of pydantic's are
recognised by name; a validator of the user's is taken to return its input. Also here: JSON Schema
functions of types (`WithJsonSchema`, `__get_pydantic_json_schema__`).
"""

from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import partial
from inspect import getclosurevars
from math import frexp, lcm
from typing import Any, Final, TypeAlias, cast, final, get_origin, get_type_hints

from annotated_types import Predicate
from pydantic_core import SchemaValidator

from guideway.errors import GuidewayError, UnsupportedError
from guideway.json_schema.text import copy_json
from guideway.python_types.formats import BOUNDS, FORMATS, outer_bound, own_bound, written
from guideway.python_types.patterns import SHAPES
from guideway.python_types.place import Core, Place, Schema, side_of, union_parts

Hook: TypeAlias = Callable[[Core, Any], Schema]

_UNCHANGED = (
    *("sequence_validator", "defaultdict_validator", "deque_validator"),
    "_BaseUrl.__get_pydantic_core_schema__.<locals>.wrap_val",
    "_BaseMultiHostUrl.__get_pydantic_core_schema__.<locals>.wrap_val",
)
SAME = (*_UNCHANGED, "EmailStr._validate")
"""Functions of pydantic's that return what they are given, as far as constraints go."""
SECRET = ("SecretStr", "SecretBytes")
"""Classes of pydantic's that are as long as what they hide."""
ENCODED = ("EncodedBytes.decode", "EncodedStr.decode_str")
"""Functions of pydantic's that decode a text."""
_HARMLESS = (*_UNCHANGED, *SECRET, "Secret.__get_pydantic_core_schema__.<locals>.<lambda>")
_PREDICATE = "apply_known_metadata.<locals>.val_func"
_OF_STRINGS = "apply_known_metadata.<locals>._apply_constraint_with_incompatibility_info"
_OF_USERS = "pydantic._internal._decorators_v1"
LENGTHS = ("min_length", "max_length")
_CONSTRAINTS = frozenset((*BOUNDS, "multiple_of", *LENGTHS, "max_digits", "decimal_places"))


def is_own(function: object) -> bool:
    """Return True for a function of pydantic's that calls no function of the user's."""
    inner = _inner(function)
    home = str(getattr(inner, "__module__", ""))
    return (
        home.partition(".")[0] == "pydantic" and home != _OF_USERS and name_of(inner) != _PREDICATE
    )


def is_harmless(function: object) -> bool:
    """Return True for a validator of pydantic's that accepts all that its schema allows."""
    return name_of(function) in _HARMLESS


def name_of(function: object) -> str:
    """Name of a function for messages."""
    inner = _inner(function)
    return str(getattr(inner, "__qualname__", None) or type(inner).__qualname__)


def _inner(function: object) -> object:
    while isinstance(function, partial):
        function = cast("partial[Any]", function).func
    return getattr(function, "__func__", function)


def constraints_of(core: Core) -> dict[str, Any]:
    """Constraints that a function checks on the value of its schema; {} for other functions."""
    function = core["function"]["function"]
    name = name_of(function)
    if name == _PREDICATE:
        said = getclosurevars(function).nonlocals.get("annotation")
        tested = said.func if isinstance(said, Predicate) else None
        shape = getattr(tested, "__name__", "")
        return {"shape": shape} if shape in SHAPES and tested is getattr(str, shape) else {}
    if not is_own(function):
        return {}
    if name == "forbid_inf_nan_check":
        return {"allow_inf_nan": False}
    if name == _OF_STRINGS:
        return {name: value for name, value in core["schema"].items() if name != "type"}
    keywords: dict[str, Any] = getattr(function, "keywords", {})
    return dict(keywords) if _CONSTRAINTS.issuperset(keywords) else {}


def hooks_of(core: Core) -> list[Hook]:
    """JSON Schema functions of a core schema, in the order of application."""
    metadata: Mapping[str, Any] = core.get("metadata") or {}
    return [
        *metadata.get("pydantic_js_functions", ()),
        *metadata.get("pydantic_js_annotation_functions", ()),
    ]


def users_hooks(core: Core) -> list[Hook]:
    """JSON Schema functions of the user's, `WithJsonSchema` included."""
    return [hook for hook in hooks_of(core) if not is_own(hook) or _is_of(hook, "WithJsonSchema")]


def is_hidden(core: Core) -> bool:
    """Return True if `SkipJsonSchema` or pydantic's MISSING hides a type."""
    if any(_hides(hook) for hook in hooks_of(core)):
        return True
    inner: Core | None = core.get("schema")
    if core["type"] == "missing-sentinel" and inner is None:
        return True
    wraps = core["type"] in ("default", "missing-sentinel") or core["type"].endswith("-field")
    return inner is not None and wraps and is_hidden(inner)


def _hides(hook: Hook) -> bool:
    says_nothing = getattr(getattr(hook, "__self__", None), "json_schema", "") is None
    return _is_of(hook, "SkipJsonSchema") or (_is_of(hook, "WithJsonSchema") and says_nothing)


def _is_of(hook: Hook, annotation: str) -> bool:
    return is_own(hook) and name_of(hook).startswith(f"{annotation}.")


def claimed_format(core: Core) -> Schema | None:
    """The schema for the format that a type of pydantic's own claims, or None."""
    claims = [hook(core, _Nothing()) for hook in hooks_of(core) if is_own(hook)]
    known = [FORMATS[claim["format"]] for claim in claims if claim.get("format") in FORMATS]
    return dict(known[-1]()) if known else None


@final
class _Nothing:
    """A handler for JSON Schema functions that only add a format."""

    mode = "validation"

    def __call__(self, core: Core) -> Schema:
        return {}


def described(core: Core) -> Schema:
    """Description and examples of a field or annotation."""
    metadata: Mapping[str, Any] = core.get("metadata") or {}
    found: Schema = {}
    for said in (metadata.get("pydantic_js_updates"), metadata.get("pydantic_js_extra")):
        if isinstance(said, Mapping):
            for name, value in cast("Schema", said).items():
                if name in ("description", "examples") and is_json(value):
                    found[name] = value
    return found


def is_json(value: object) -> bool:
    try:
        copy_json(value)
    except GuidewayError:
        return False
    return True


Limits: TypeAlias = Mapping[str, Any]
Check: TypeAlias = Callable[[Any], Any]

_NUMBERS: Final = frozenset((*BOUNDS, "multiple_of", "allow_inf_nan"))
_COUNTED: Final = frozenset(LENGTHS)
_TAKEN: Final[dict[str, frozenset[str]]] = {
    **dict.fromkeys(("int", "float", "fraction"), _NUMBERS),
    "decimal": _NUMBERS | {"max_digits", "decimal_places"},
    **dict.fromkeys(("date", "time", "datetime", "timedelta"), frozenset(BOUNDS)),
    "str": _COUNTED
    | {"pattern", "shape", "ascii_only", "strip_whitespace", "to_lower", "to_upper"},
    **dict.fromkeys(("list", "tuple", "set", "frozenset", "deque", "bytes"), _COUNTED),
    **dict.fromkeys(("dict", "frozendict", "ordered-dict", "counter"), _COUNTED),
    **dict.fromkeys(("url", "multi-host-url"), _COUNTED),
}
_GROUPS: Final = {  # kinds of values that can replace one another
    **dict.fromkeys(("int", "float", "decimal", "fraction"), "number"),
    **dict.fromkeys(("list", "tuple", "set", "frozenset", "deque"), "array"),
    **dict.fromkeys(("dict", "frozendict", "ordered-dict", "counter"), "object"),
    **{kind: kind for kind in ("str", "bytes", "date", "time", "datetime", "timedelta")},
}
_CLASSES: Final[dict[type, str]] = {
    **dict.fromkeys((int, float, Decimal, Fraction), "number"),
    **dict.fromkeys((list, tuple, set, frozenset), "array"),
    dict: "object",
    str: "str",
    bytes: "bytes",
    date: "date",
    time: "time",
    datetime: "datetime",
    timedelta: "timedelta",
}
_INNER: Final = {"default": "schema", "custom-error": "schema", "json-or-python": "json_schema"}
_ANY: Core = {"type": "any"}
_INPUT: Final = "json_schema_input_schema"


def unwrapped(core: Core, at: Place) -> Core | None:
    """The schema inside a validator, with the validator's constraints; None if it decides alone."""
    function = core["function"]["function"]
    limits = constraints_of(core)
    if limits and is_own(function):
        return limited(core["schema"], limits, function, at)
    if limits and _is_text(core):
        return limited(core["schema"], limits, function, at)
    if not is_own(function) or is_harmless(function):
        return core.get(_INPUT, core["schema"])
    return None


def _is_text(core: Core) -> bool:
    while core["type"] == "function-after" and constraints_of(core):
        core = core["schema"]
    return core["type"] == "str"


def first_of(core: Core, at: Place) -> Core:
    """The first step of a chain, with the constraints of the others."""
    first, *others = core["steps"]
    for step in others:
        called = step.get("function", {}).get("function")
        limits = constraints_of(step) if called else {}
        if limits:
            check = SchemaValidator(step["schema"]).validate_python
            first = limited(first, limits, check, at)
        elif step.get("schema", _ANY if called else step)["type"] != "any" or is_own(called):
            after = f"{step['type']} after {first['type']}"
            raise at.refuse(after, "is not supported", "chain")
    return first


def limited(core: Core, limits: Limits, check: Check, at: Place) -> Core:
    """Core schema with more constraints; `check` is pydantic's function that raises if violated."""
    found = _limited(core, limits, check, at)
    if found is None:
        raise at.refuse(_in_words(limits), "leaves no value", next(iter(limits)))
    return found


def _limited(core: Core, limits: Limits, check: Check, at: Place) -> Core | None:
    core, at = at.following(core)
    kind: str = core["type"]
    if users_hooks(core):
        why = "is not supported on a type with its own JSON Schema; write it in that schema"
        raise at.refuse(_in_words(limits), why, next(iter(limits)))
    if kind in _INNER:
        return _inside(core, _INNER[kind], limits, check, at)
    make = _LIMITED_BY_KIND.get(kind)
    return _with(core, limits, at) if make is None else make(core, limits, check, at)


def _inside(core: Core, name: str, limits: Limits, check: Check, at: Place) -> Core | None:
    inner = _limited(core[name], limits, check, at)
    return None if inner is None else {**core, name: inner}


def _union(core: Core, limits: Limits, check: Check, at: Place) -> Core | None:
    parts = [_limited(part, limits, check, at) for part in union_parts(core)]
    kept = [part for part in parts if part is not None]
    return {**core, "choices": kept} if kept else None


def _tagged(core: Core, limits: Limits, check: Check, at: Place) -> Core | None:
    parts = {tag: _limited(part, limits, check, at) for tag, part in core["choices"].items()}
    kept = {tag: part for tag, part in parts.items() if part is not None}
    return {**core, "choices": kept} if kept else None


def _nullable(core: Core, limits: Limits, check: Check, at: Place) -> Core | None:
    return _limited(core["schema"], limits, check, at)  # None satisfies no constraint


def _lax(core: Core, limits: Limits, check: Check, at: Place) -> Core | None:
    if claimed_format(core) is not None:
        return _with(core, limits, at)
    return _limited(side_of(core, at), limits, check, at)


def _json(core: Core, limits: Limits, check: Check, at: Place) -> Core | None:
    return _inside({"schema": _ANY, **core}, "schema", limits, check, at)


def _chain(core: Core, limits: Limits, check: Check, at: Place) -> Core | None:
    first = _limited(core["steps"][0], limits, check, at)
    return None if first is None else {**core, "steps": [first, *core["steps"][1:]]}


def _any(core: Core, limits: Limits, check: Check, at: Place) -> Core | None:
    return _any_of(set(), limits, check, at)


def _any_of(groups: set[str], limits: Limits, check: Check, at: Place) -> Core | None:
    """Union of JSON types that can have the constraints, of `groups` if possible."""
    taking = [kind for kind in ("int", "float", "str", "list", "dict") if _takes(kind, limits)]
    if "multiple_of" in limits:
        taking = [kind for kind in taking if kind == "int"]  # remainders of floats are rounded
    kinds = [kind for kind in taking if _GROUPS[kind] in groups] or taking
    if not kinds:
        return _with(_ANY, limits, at)
    return _union(
        {"type": "union", "choices": [{"type": kind} for kind in kinds]}, limits, check, at
    )


def _keep_values(core: Core, limits: Limits, check: Check, at: Place) -> Core | None:
    name = "members" if core["type"] == "enum" else "expected"
    values = [True, False] if core["type"] == "bool" else core[name]
    kept = [value for value in values if _is_taken(value, check)]
    if core["type"] == "bool":
        core, name = {"type": "literal"}, "expected"
    return {**core, name: kept} if kept else None


def _is_taken(value: object, check: Check) -> bool:
    try:
        check(value)
    except Exception:  # noqa: BLE001  also TypeError, without a comparison
        return False
    return True


def _none(core: Core, limits: Limits, check: Check, at: Place) -> None:
    """None satisfies no constraint."""


def _constrain_function(core: Core, limits: Limits, check: Check, at: Place) -> Core | None:
    """A function, with or without a schema inside."""
    function = core["function"]["function"]
    name = name_of(function)
    if not is_own(function):
        return _constrain_user_function(core, limits, check, at)
    if name == "ByteSize._validate":  # not for texts with units
        return _inside(
            {**core, "schema": core["schema"]["choices"][1]}, "schema", limits, check, at
        )
    if name in ENCODED and _COUNTED.issuperset(limits):
        return {**core, "more": (*core.get("more", ()), limits)}
    same = (
        name in SAME
        or bool(constraints_of(core))
        or (name in SECRET and _COUNTED.issuperset(limits))
    )
    if not same:
        raise at.refuse(_in_words(limits), f"is not supported for {name}", next(iter(limits)))
    return _inside(core, "schema", limits, check, at)


def _constrain_user_function(core: Core, limits: Limits, check: Check, at: Place) -> Core | None:
    function = core["function"]["function"]
    groups = _groups(_output(core), at)
    try:
        other = groups and _returned(function) not in (None, *groups)
        if (other and core["type"] != "function-before") or not core.keys() & {_INPUT, "schema"}:
            raise at.refuse(_in_words(limits), "is about another kind of value")
        if _INPUT not in core:
            return _inside(core, "schema", limits, check, at)
        declared: Core = core[_INPUT]
        found = _alike(declared, groups, limits, check, at)
    except UnsupportedError:
        raise at.refuse(
            f"{_in_words(limits)} after the validator {name_of(function)}",
            "cannot be enforced, because the validator may change the value; check it in the "
            "validator, or declare the JSON with WithJsonSchema",
            next(iter(limits)),
        ) from None
    return None if found is None else {**core, _INPUT: found}


def _alike(core: Core, groups: set[str], limits: Limits, check: Check, at: Place) -> Core | None:
    """Declared input with constraints on its members of the type's own kind."""
    core, at = at.following(core)
    if core["type"] == "any":
        return _any_of(groups, limits, check, at)
    if core["type"] == "union":
        parts = [_alike(part, groups, limits, check, at) for part in union_parts(core)]
        kept = [part for part in parts if part is not None]
        return {**core, "choices": kept} if kept else None
    if core["type"] == "nullable":
        inner = _alike(core["schema"], groups, limits, check, at)
        return {"type": "none"} if inner is None else {**core, "schema": inner}
    alike = _GROUPS.get(core["type"]) in groups
    return _limited(core, limits, check, at) if alike else core


def _output(core: Core) -> Core:
    """Schema of a type with a user's function."""
    serialized: Core = core.get("serialization") or {}
    return core.get("schema") or serialized.get("schema") or _ANY


def _groups(core: Core, at: Place) -> set[str]:
    """Groups of a type's values."""
    core, at = at.following(core)
    if core["type"] == "union":
        return set[str]().union(*(_groups(part, at) for part in union_parts(core)))
    inner = core.get("schema") or core.get("json_schema")
    group = _GROUPS.get(core["type"])
    return {group} if group else _groups(inner, at) if inner else set()


def _returned(function: object) -> str | None:
    """Group of a function's return annotation, or None."""
    try:
        hint: Any = get_type_hints(cast("Any", function)).get("return")
        return _CLASSES.get(get_origin(hint) or hint)
    except Exception:  # noqa: BLE001  unknown names; builtins have no hints
        return None


def _with(core: Core, limits: Limits, at: Place) -> Core:
    kind: str = core["type"]
    if not _takes(kind, limits):
        raise at.refuse(_in_words(limits), f"is not supported for {kind}", next(iter(limits)))
    if kind == "date" or _GROUPS.get(kind) == "number":
        digits = _whole_digits(core, limits)
        return {
            **core,
            **{name: _both(core, name, limits[name], at) for name in limits},
            **digits,
        }
    if limits.keys() <= _COUNTED and kind not in ("str", "url", "multi-host-url"):
        return {**core, **{name: _both(core, name, limits[name], at) for name in limits}}
    return {**core, "more": (*core.get("more", ()), limits)}


def _takes(kind: str, limits: Limits) -> bool:
    return limits.keys() <= _TAKEN.get(kind, frozenset())


def _whole_digits(core: Core, limits: Limits) -> dict[str, int | None]:
    """Most digits before the point of a decimal with two sets of digit limits."""
    if core["type"] != "decimal" or limits.keys().isdisjoint(("max_digits", "decimal_places")):
        return {}
    found: list[int] = [] if core.get("whole_digits") is None else [core["whole_digits"]]
    for said in (limits, *(() if "whole_digits" in core else (core,))):
        total, places = said.get("max_digits"), said.get("decimal_places")
        if total is not None and places is not None:
            found.append(max(0, total - places))
    return {"whole_digits": min(found, default=None)}


def _both(core: Core, name: str, value: Any, at: Place) -> Any:
    """The constraint of `core` combined with `value`."""
    own: Any = core.get(name)
    if name == "multiple_of":
        return _multiple(core, own, value, at)
    if name in BOUNDS:
        value = outer_bound(core["type"], name, value, at)
        own = None if own is None else own_bound(core["type"], name, own, at)
    if own is None:
        return value
    return max(own, value) if name in ("ge", "gt", "min_length") else min(own, value)


def _multiple(core: Core, own: Any, value: Any, at: Place) -> Any:
    """Combined `multiple_of`; only values that Python's % checks exactly."""
    kind: str = core["type"]
    if kind == "int" and type(value) is int and value != 0:
        return lcm(1 if own is None else int(own), value)
    exact = {
        "decimal": isinstance(value, int | Decimal),
        "float": isinstance(value, int | float) and value != 0 and frexp(value)[0] in (0.5, -0.5),
    }
    if not exact.get(kind) or own not in (None, value):  # remainders of floats are rounded
        raise at.refuse(
            f"multiple_of={written(value)}", f"is not supported for {kind}", "multiple_of"
        )
    return value


def _in_words(limits: Limits) -> str:
    return ", ".join(f"{name}={written(value)}" for name, value in limits.items())


_LIMITED_BY_KIND: Final[dict[str, Callable[[Core, Limits, Check, Place], Core | None]]] = {
    **dict.fromkeys(("function-after", "function-before", "function-wrap"), _constrain_function),
    "function-plain": _constrain_function,
    **dict.fromkeys(("bool", "literal", "enum"), _keep_values),
    "union": _union,
    "tagged-union": _tagged,
    "nullable": _nullable,
    "none": _none,
    "lax-or-strict": _lax,
    "json": _json,
    "chain": _chain,
    "any": _any,
}
