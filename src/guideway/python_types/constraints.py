"""Constraints that a type checks after a validator, put into the core schema of the value itself.

`Annotated[int | None, Field(ge=3)]` is a function of pydantic's around a union: it becomes the
union of the members that can have the constraint, each with it. Functions of pydantic's are
recognised by name; a validator of the user's is taken to return its input. Also here: JSON Schema
functions of types (`WithJsonSchema`, `__get_pydantic_json_schema__`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import partial
from inspect import getclosurevars
from math import frexp, lcm
from typing import Any, Final, TypeAlias, cast, get_origin, get_type_hints

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
    for hook in hooks_of(core):
        given = getattr(getattr(hook, "__self__", None), "json_schema", "")
        if _is_of(hook, "SkipJsonSchema") or (_is_of(hook, "WithJsonSchema") and given is None):
            return True
    inner: Core | None = core.get("schema")
    if core["type"] == "missing-sentinel" and inner is None:
        return True
    wraps = core["type"] in ("default", "missing-sentinel") or core["type"].endswith("-field")
    return inner is not None and wraps and is_hidden(inner)


def _is_of(hook: Hook, annotation: str) -> bool:
    return is_own(hook) and name_of(hook).startswith(f"{annotation}.")


def claimed_format(core: Core) -> Schema | None:
    """The schema for the format that a type of pydantic's own claims, or None."""
    claims = [hook(core, _Nothing()) for hook in hooks_of(core) if is_own(hook)]
    known = [FORMATS[claim["format"]] for claim in claims if claim.get("format") in FORMATS]
    return dict(known[-1]()) if known else None


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
_ANY: Core = {"type": "any"}
_INPUT: Final = "json_schema_input_schema"


def unwrapped(core: Core, at: Place) -> Core | None:
    """The schema inside a validator, with the validator's constraints; None if it decides alone."""
    function = core["function"]["function"]
    limits = constraints_of(core)
    text = core["schema"] if limits else core
    while text["type"] == "function-after" and constraints_of(text):
        text = text["schema"]
    if limits and (is_own(function) or text["type"] == "str"):
        return limited(core["schema"], limits, function, at)
    if not is_own(function) or name_of(function) in _HARMLESS:
        return core.get(_INPUT, core["schema"])
    return None


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
    found = _Constraints(limits, check).put_into(core, at)
    if found is None:
        raise at.refuse(_in_words(limits), "leaves no value", next(iter(limits)))
    return found


@dataclass(frozen=True, slots=True)
class _Constraints:
    """Constraints that are put into a core schema; the result is None if no value is left."""

    limits: Limits
    check: Check

    def put_into(self, core: Core, at: Place) -> Core | None:  # noqa: C901, PLR0911, PLR0912  an arm for each kind
        core, at = at.following(core)
        if users_hooks(core):
            why = "is not supported on a type with its own JSON Schema; write it in that schema"
            raise self._refused(why, at)
        match core["type"]:
            case "none":  # satisfies no constraint
                return None
            case "nullable":
                return self.put_into(core["schema"], at)
            case "any":
                return self._any_of(set(), at)
            case "default" | "custom-error":
                return self._narrow(core, "schema", at)
            case "json-or-python":
                return self._narrow(core, "json_schema", at)
            case "json":
                return self._narrow({"schema": _ANY, **core}, "schema", at)
            case "union":
                return _with_choices(core, [self.put_into(part, at) for part in union_parts(core)])
            case "tagged-union":
                parts = {tag: self.put_into(part, at) for tag, part in core["choices"].items()}
                kept = {tag: part for tag, part in parts.items() if part is not None}
                return {**core, "choices": kept} if kept else None
            case "lax-or-strict" if claimed_format(core) is None:
                return self.put_into(side_of(core, at), at)
            case "chain":
                first = self.put_into(core["steps"][0], at)
                return None if first is None else {**core, "steps": [first, *core["steps"][1:]]}
            case "bool" | "literal" | "enum":
                return self._values(core)
            case "function-after" | "function-before" | "function-wrap" | "function-plain":
                own = is_own(core["function"]["function"])
                return self._own_function(core, at) if own else self._users_function(core, at)
            case _:
                return self._constrained(core, at)

    def _refused(self, why: str, at: Place, named: str = "") -> UnsupportedError:
        return at.refuse(f"{_in_words(self.limits)}{named}", why, next(iter(self.limits)))

    def _narrow(self, core: Core, name: str, at: Place) -> Core | None:
        inner = self.put_into(core[name], at)
        return None if inner is None else {**core, name: inner}

    def _values(self, core: Core) -> Core | None:
        """A type with listed values that pass the check."""
        if core["type"] == "bool":
            core = {"type": "literal", "expected": [True, False]}
        name = "members" if core["type"] == "enum" else "expected"
        kept = [value for value in core[name] if _is_taken(value, self.check)]
        return {**core, name: kept} if kept else None

    def _any_of(self, groups: set[str], at: Place) -> Core | None:
        """Union of JSON types that can have the constraints, of `groups` if possible."""
        able = [kind for kind in ("int", "float", "str", "list", "dict") if self._suit(kind)]
        if "multiple_of" in self.limits:
            able = [kind for kind in able if kind == "int"]  # remainders of floats are rounded
        kinds = [kind for kind in able if _GROUPS[kind] in groups] or able
        if not kinds:
            return self._constrained(_ANY, at)
        union = {"type": "union", "choices": [{"type": kind} for kind in kinds]}
        return self.put_into(union, at)

    def _own_function(self, core: Core, at: Place) -> Core | None:
        """A function of pydantic's, with or without a schema inside."""
        name = name_of(core["function"]["function"])
        counted = _COUNTED.issuperset(self.limits)
        if name == "ByteSize._validate":  # not for texts with units
            return self._narrow({**core, "schema": core["schema"]["choices"][1]}, "schema", at)
        if name in ENCODED and counted:
            return {**core, "more": (*core.get("more", ()), self.limits)}
        if name in SAME or constraints_of(core) or (name in SECRET and counted):
            return self._narrow(core, "schema", at)
        raise self._refused(f"is not supported for {name}", at)

    def _users_function(self, core: Core, at: Place) -> Core | None:
        function = core["function"]["function"]
        serialized: Core = core.get("serialization") or {}
        groups = _groups(core.get("schema") or serialized.get("schema") or _ANY, at)
        named = f" after the validator {name_of(function)}"
        try:
            other = groups and _returned(function) not in (None, *groups)
            read = _INPUT in core or "schema" in core
            if (other and core["type"] != "function-before") or not read:
                raise self._refused("is about another kind of value", at)
            if _INPUT not in core:
                return self._narrow(core, "schema", at)
            found = self._members(core[_INPUT], groups, at)
        except UnsupportedError:
            why = (
                "cannot be enforced, because the validator may change the value; check it in the "
                "validator, or declare the JSON with WithJsonSchema"
            )
            raise self._refused(why, at, named) from None
        return None if found is None else {**core, _INPUT: found}

    def _members(self, core: Core, groups: set[str], at: Place) -> Core | None:
        """Declared input with constraints on its members of the type's own kind."""
        core, at = at.following(core)
        match core["type"]:
            case "any":
                return self._any_of(groups, at)
            case "union":
                parts = union_parts(core)
                return _with_choices(core, [self._members(part, groups, at) for part in parts])
            case "nullable":
                inner = self._members(core["schema"], groups, at)
                return {"type": "none"} if inner is None else {**core, "schema": inner}
            case kind:
                return self.put_into(core, at) if _GROUPS.get(kind) in groups else core

    def _constrained(self, core: Core, at: Place) -> Core:
        """A core schema that has the constraints itself."""
        kind, limits = core["type"], self.limits
        if not self._suit(kind):
            raise self._refused(f"is not supported for {kind}", at)
        compared = kind == "date" or _GROUPS.get(kind) == "number"
        counted = limits.keys() <= _COUNTED and kind not in ("str", "url", "multi-host-url")
        if not compared and not counted:
            return {**core, "more": (*core.get("more", ()), limits)}
        both = {name: _tightest(core, name, value, at) for name, value in limits.items()}
        return {**core, **both, **_whole_digits(core, limits)}

    def _suit(self, kind: str) -> bool:
        return self.limits.keys() <= _TAKEN.get(kind, frozenset())


def _with_choices(core: Core, parts: list[Core | None]) -> Core | None:
    kept = [part for part in parts if part is not None]
    return {**core, "choices": kept} if kept else None


def _is_taken(value: object, check: Check) -> bool:
    try:
        check(value)
    except Exception:  # noqa: BLE001  also TypeError, without a comparison
        return False
    return True


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


def _tightest(core: Core, name: str, value: Any, at: Place) -> Any:
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
