"""Validators and JSON Schema functions that types carry beside their core schema.

A user's validator may reject what the schema allows. pydantic's own validators are known here to
reject nothing more, or become constraints (`python_types_limits`), or are refused. A JSON Schema
that a user gave (`WithJsonSchema`, `__get_pydantic_json_schema__`) is used as it is; of
`json_schema_extra` only descriptions are used.
"""

from collections.abc import Callable, Mapping
from functools import partial
from inspect import getclosurevars
from typing import Any, TypeAlias, cast, final

from annotated_types import Predicate

from guideway.errors import GuidewayError
from guideway.syntax.json_text import copy_json
from guideway.syntax.python_types_bounds import BOUNDS
from guideway.syntax.python_types_formats import FORMATS
from guideway.syntax.python_types_place import Core, Schema
from guideway.syntax.python_types_regex import SHAPES

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
_ASKED = frozenset((*BOUNDS, "multiple_of", *LENGTHS, "max_digits", "decimal_places"))


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


def asked_by(core: Core) -> dict[str, Any]:
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
    return dict(keywords) if _ASKED.issuperset(keywords) else {}


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
