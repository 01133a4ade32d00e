"""What types say about themselves beside their core schema: validators and JSON Schema functions.

A validator that a user wrote may reject what the schema allows: pydantic then says so when the text
is parsed. One of pydantic's own is part of the type, so it is either known here to reject nothing
more, or turned into constraints, or refused.

A JSON Schema that a user gave (`WithJsonSchema`, `__get_pydantic_json_schema__`) is taken at its
word. `json_schema_extra` describes and does not validate, so only descriptions are taken from it.
"""

from collections.abc import Callable, Mapping
from functools import partial
from math import lcm
from typing import Any, TypeAlias, cast, final

from guideway.errors import GuidewayError
from guideway.syntax.json_text import copy_json
from guideway.syntax.python_types_bounds import BOUNDS, outer_bound, own_bound, written
from guideway.syntax.python_types_formats import FORMATS
from guideway.syntax.python_types_place import Core, Place, Schema, side_of, union_parts

Hook: TypeAlias = Callable[[Core, Any], Schema]

_HARMLESS = (
    "SecretStr",
    "SecretBytes",
    "Secret.__get_pydantic_core_schema__.<locals>.<lambda>",
    "sequence_validator",
    "defaultdict_validator",
    "deque_validator",
    "_BaseUrl.__get_pydantic_core_schema__.<locals>.wrap_val",
    "_BaseMultiHostUrl.__get_pydantic_core_schema__.<locals>.wrap_val",
)
LIMITS = (*BOUNDS, "multiple_of", "min_length", "max_length", "pattern")
"""Constraints by their names in core schemas."""


def is_own(function: object) -> bool:
    """Whether pydantic, or the standard library, brings this function."""
    home = str(getattr(_inner(function), "__module__", "")).partition(".")[0]
    return home in ("pydantic", "ipaddress", "pathlib")


def is_harmless(function: object) -> bool:
    """Whether one of pydantic's own validators takes all that its schema allows."""
    return getattr(_inner(function), "__qualname__", "") in _HARMLESS


def asked_of_strings(core: Core) -> list[str]:
    """What one of pydantic's functions checks by having a string read once more."""
    own = core["type"] == "function-wrap" and is_own(core["function"]["function"])
    again: Core = core["schema"] if own else {}
    changing = ("type", "to_lower", "to_upper", "strip_whitespace")  # these reject nothing
    return [name for name in again if name not in changing] if again.get("type") == "str" else []


def is_users(core: Core) -> bool:
    """Whether a function of the user's is the core schema."""
    return "function" in core and not is_own(core["function"]["function"])


def name_of(function: object) -> str:
    """The name of a function, for a message."""
    inner = _inner(function)
    return str(getattr(inner, "__qualname__", None) or type(inner).__qualname__)


def _inner(function: object) -> object:
    while isinstance(function, partial):
        function = cast("partial[Any]", function).func
    return getattr(function, "__func__", function)


def constraints_of(function: object) -> dict[str, Any] | None:
    """The constraint that one of pydantic's validators checks, None for any other function."""
    own = is_own(function)
    if not own or not isinstance(function, partial):
        return None
    keywords = cast("partial[Any]", function).keywords
    return keywords if keywords and all(name in LIMITS for name in keywords) else None


def hooks_of(core: Core) -> list[Hook]:
    """The JSON Schema functions of a core schema, in the order in which they are applied."""
    metadata: Mapping[str, Any] = core.get("metadata") or {}
    return [
        *metadata.get("pydantic_js_functions", ()),
        *metadata.get("pydantic_js_annotation_functions", ()),
    ]


def users_hooks(core: Core) -> list[Hook]:
    """Those that say what a user wants said, `WithJsonSchema` among them."""
    return [hook for hook in hooks_of(core) if not is_own(hook) or _is_of(hook, "WithJsonSchema")]


def is_hidden(core: Core) -> bool:
    """Whether `SkipJsonSchema`, or pydantic's MISSING, keeps a type from being on offer."""
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
    """The schema of a type of pydantic's own that no core schema describes, None for others."""
    claims = [hook(core, _Nothing()) for hook in hooks_of(core) if is_own(hook)]
    known = [FORMATS[claim["format"]] for claim in claims if claim.get("format") in FORMATS]
    return dict(known[-1]) if known else None


@final
class _Nothing:
    """A handler for JSON Schema functions that only add a format."""

    mode = "validation"

    def __call__(self, core: Core) -> Schema:
        return {}


def described(core: Core) -> Schema:
    """Description and examples that a field or an annotation carries."""
    metadata: Mapping[str, Any] = core.get("metadata") or {}
    found: Schema = {}
    for said in (metadata.get("pydantic_js_updates"), metadata.get("pydantic_js_extra")):
        if isinstance(said, Mapping):
            for name, value in cast("Schema", said).items():
                if name in ("description", "examples") and is_json(value):
                    found[name] = value
    return found


def is_json(value: object) -> bool:
    """Whether JSON has such a value; what only describes a type and is none is not told."""
    try:
        copy_json(value)
    except GuidewayError:
        return False
    return True


def unwrapped(core: Core, at: Place) -> Core | None:
    """What a validator is put around, with what it asks of that; None if it decides alone.

    Raises:
        UnsupportedError: as `constrained`.
    """
    function = core["function"]["function"]
    constraints = constraints_of(function)
    if constraints is not None:
        return constrained(core["schema"], constraints, at)
    if not is_own(function) or is_harmless(function):
        return core.get("json_schema_input_schema", core["schema"])
    return None


def constrained(core: Core, constraints: Mapping[str, Any], at: Place) -> Core:
    """`core`, with constraints that pydantic checks after reading it.

    Raises:
        UnsupportedError: they are said about a type that cannot say them itself.
        SourceError: the type refers to itself.
    """
    core, at = at.following(core)
    kind = core["type"]
    if kind == "union":
        parts = [constrained(part, constraints, at) for part in union_parts(core)]
        return {**core, "choices": parts}
    if kind == "lax-or-strict" and claimed_format(core) is None:
        return constrained(side_of(core, at), constraints, at)
    if kind in ("nullable", "default"):  # no constraint holds for None
        return constrained(core["schema"], constraints, at)
    if kind in ("function-after", "function-before", "function-wrap"):
        function = core["function"]["function"]
        if not is_own(function):  # what it returns is checked, not what is written
            return core
        return {**core, "schema": constrained(core["schema"], constraints, at)}
    if not all(kind in _TAKEN_BY[name] for name in constraints):
        listed = ", ".join(f"{name}={written(value)}" for name, value in constraints.items())
        raise at.refuse(listed, f"is not supported for {kind}", next(iter(constraints)))
    both = {name: _both(core, name, value, at) for name, value in constraints.items()}
    return {**core, **both}


_NUMBERS: frozenset[str] = frozenset(("int", "float", "decimal", "date"))
_SIZED: frozenset[str] = frozenset(
    ("str", "list", "tuple", "set", "frozenset", "dict", "bytes", "deque")
)
_NEVER: frozenset[str] = frozenset()
_TAKEN_BY: dict[str, frozenset[str]] = {
    **dict.fromkeys(BOUNDS, _NUMBERS),
    "multiple_of": frozenset(("int",)),
    "pattern": _NEVER,
    "min_length": _SIZED,
    "max_length": _SIZED,
}


def _both(core: Core, name: str, value: Any, at: Place) -> Any:
    """What `core` asks under this name, and `value` as well."""
    own: Any = core.get(name)
    if name == "multiple_of":
        if type(value) is not int or value == 0:  # the rest of a float is rounded
            raise at.refuse(f"{name}={written(value)}", "is not supported for int", name)
        return lcm(1 if own is None else int(own), value)
    if name in BOUNDS:
        value = outer_bound(core["type"], name, value, at)
        own = None if own is None else own_bound(core["type"], name, own, at)
    if own is None:
        return value
    return max(own, value) if name in ("ge", "gt", "min_length") else min(own, value)
