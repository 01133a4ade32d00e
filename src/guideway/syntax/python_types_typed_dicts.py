"""`typing.TypedDict` as pydantic wants it.

Before Python 3.12 pydantic takes only the TypedDict of typing_extensions.
"""

import functools
import types
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

from typing_extensions import ReadOnly, TypedDict


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


@functools.lru_cache(256)
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
    """A hint without Required, NotRequired and ReadOnly, and whether it is required, if said."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin not in (Annotated, Required, NotRequired, ReadOnly):
        return hint, None
    inner, said = _unqualified(parts[0])
    if origin is Annotated:
        return Annotated[(inner, *parts[1:])], said
    return inner, said if origin is ReadOnly else origin is Required
