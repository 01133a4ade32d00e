"""TypeAdapters of types and callables; the only module that loads pydantic.

A callable becomes the typed dict of its arguments: pydantic's own adapter of a function would call
it while validating.
"""

import functools
import inspect
import re
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Annotated, Any, NotRequired, cast, get_args, get_origin, get_type_hints

from pydantic import TypeAdapter
from pydantic.errors import (
    PydanticSchemaGenerationError,
    PydanticUndefinedAnnotation,
    PydanticUserError,
)
from pydantic.fields import FieldInfo
from pydantic_core import SchemaError
from typing_extensions import TypedDict

from guideway.errors import GuidewayError, LimitError, SourceError, UnsupportedError
from guideway.syntax.python_types_core import read_core
from guideway.syntax.python_types_hooks import is_json
from guideway.syntax.python_types_place import BETTER, Place, Schema
from guideway.syntax.python_types_typed_dicts import with_typed_dicts

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
        parts = _parts(type_, {})
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
        schema |= {"title": name} | _documented(type_)
    return schema, adapter


def _parts(type_: object, known: dict[int, int]) -> int:
    """Count the parts of a type, repeated ones each time."""
    found = known.get(id(type_))
    if found is None:
        found = known[id(type_)] = 1 + sum(_parts(part, known) for part in get_args(type_))
    return found


def type_name(type_: object) -> str:
    """Name of a type for messages.

    >>> type_name(list[int]), type_name(dict)
    ('list[int]', 'dict')
    """
    if isinstance(type_, TypeAdapter):
        return type_name(cast("Any", type_)._type)
    if isinstance(type_, functools.partial):
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
    return inspect.isroutine(type_) or isinstance(type_, functools.partial)


def _documented(function: object) -> Schema:
    text = inspect.getdoc(function) if not isinstance(function, functools.partial) else None
    return {"description": text} if text and is_json(text) else {}


def _arguments(function: Any) -> Any:
    """The typed dict of the arguments by name; those with a default may be left out."""
    name = type_name(function)
    try:
        signature = inspect.signature(function)
    except ValueError:
        raise UnsupportedError(f"{name} has no signature", feature="signature") from None
    inner = function
    while isinstance(inner, functools.partial):
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
