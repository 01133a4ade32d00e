"""What types say about themselves beside their core schema: validators and JSON Schema functions.

A validator that a user wrote may reject what the schema allows: pydantic then says so when the text
is parsed. One of pydantic's own is part of the type, so it is either known here to reject nothing
more, or turned into constraints (`python_types_limits`), or refused. The wrappers that pydantic
puts around v1 validators and around predicates of annotated_types call the user's function.

A JSON Schema that a user gave (`WithJsonSchema`, `__get_pydantic_json_schema__`) is taken at its
word. `json_schema_extra` describes and does not validate, so only descriptions are taken from it.
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
    """Whether pydantic brings this function, and calls no function of the user's in it."""
    inner = _inner(function)
    home = str(getattr(inner, "__module__", ""))
    return (
        home.partition(".")[0] == "pydantic" and home != _OF_USERS and name_of(inner) != _PREDICATE
    )


def is_users(core: Core) -> bool:
    """Whether a function of the user's is the core schema."""
    return "function" in core and not is_own(core["function"]["function"])


def is_harmless(function: object) -> bool:
    """Whether one of pydantic's own validators takes all that its schema allows."""
    return name_of(function) in _HARMLESS


def name_of(function: object) -> str:
    """The name of a function, for a message."""
    inner = _inner(function)
    return str(getattr(inner, "__qualname__", None) or type(inner).__qualname__)


def _inner(function: object) -> object:
    while isinstance(function, partial):
        function = cast("partial[Any]", function).func
    return getattr(function, "__func__", function)


def asked_by(core: Core) -> dict[str, Any]:
    """The constraints that a function checks on the value that its schema gives, by their names.

    Empty for a function that does anything else.
    """
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
    return dict(known[-1]()) if known else None


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
