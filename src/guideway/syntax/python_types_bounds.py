"""Bounds of numbers and dates, as pydantic compares with them.

A bound in the core schema of a number is converted to its kind first: the float 1.1 is
Decimal("1.1") to a Decimal. A bound that a function of pydantic's checks is compared as it is.
"""

from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from math import ceil, floor, inf, nextafter
from typing import Any, TypeAlias

from guideway.syntax.json_text import MAX_DIGITS
from guideway.syntax.python_types_place import Core, Place

Convert: TypeAlias = Callable[[Decimal, Any, bool], int | float | Decimal]

# Digits of a bound, which a pattern compares one by one: 1,000 took 5 s, and 4,000 a minute.
_MOST_OF_DECIMAL = 500
BOUNDS = ("ge", "gt", "le", "lt")


def bounds_of(core: Core, at: Place) -> dict[str, Any]:
    """Bounds of a number or date in its own kind, without infinite ones that always hold.

    >>> bounds_of({"type": "decimal", "ge": 1.1, "lt": Decimal("Infinity")}, Place("T"))
    {'ge': Decimal('1.1')}
    """
    bounds: dict[str, Any] = {}
    for name in BOUNDS:
        if name in core:
            value = own_bound(core["type"], name, core[name], at)
            if isinstance(value, date) or Decimal(value).is_finite():
                bounds[name] = value
            elif (value > 0) == (name in ("ge", "gt")):
                raise at.refuse(f"{name}={value}", "leaves no finite number", name)
    return bounds


def own_bound(kind: str, name: str, value: Any, at: Place) -> Any:
    """Bound in a core schema, as pydantic reads it there."""
    if isinstance(value, str) and kind != "date":  # pydantic has taken it for a number already
        value = Decimal(value)
    return _bound(kind, name, value, at, _OWN)


def outer_bound(kind: str, name: str, value: Any, at: Place) -> Any:
    """Bound that a function checks after a number or date was read, in that kind."""
    return _bound(kind, name, value, at, _OUTER)


def _bound(kind: str, name: str, value: Any, at: Place, kinds: dict[str, Convert]) -> Any:
    if kind == "date":
        if not isinstance(value, date) or isinstance(value, datetime):
            raise at.refuse(f"{name}={written(value)}", "is not supported for date", name)
        return value
    exact = _exact(kind, name, value, at)
    if not exact.is_finite():
        return value
    bound = kinds[kind](exact, value, name in ("ge", "lt"))
    if kind == "decimal" and _digits(Decimal(bound)) > _MOST_OF_DECIMAL:
        raise at.refuse(
            f"{name} with more than {_MOST_OF_DECIMAL} digits", "is not supported", name
        )
    return bound


def _digits(exact: Decimal) -> int:
    """The digits before or after the point, whichever are more."""
    places = exact.as_tuple().exponent
    return max(exact.adjusted(), -places) if isinstance(places, int) else 0


def _float(exact: Decimal, value: Any, up: bool) -> float:
    nearest = float(exact)  # of Decimals beyond all floats it is infinite
    if up and nearest < exact:
        return nextafter(nearest, inf)
    return nextafter(nearest, -inf) if not up and nearest > exact else nearest


# From the exact bound, the bound as written, and whether to round up: between two values of a
# kind, lower bounds and open upper ones move to the greater one.
_OWN: dict[str, Convert] = {
    "int": lambda exact, value, up: int(exact),
    "float": lambda exact, value, up: float(value),
    "decimal": lambda exact, value, up: Decimal(repr(value)) if isinstance(value, float) else exact,
}
_OUTER: dict[str, Convert] = {
    "int": lambda exact, value, up: ceil(exact) if up else floor(exact),
    "float": _float,
    "decimal": lambda exact, value, up: exact,
}


def _exact(kind: str, name: str, value: Any, at: Place) -> Decimal:
    if not isinstance(value, int | float | Decimal):
        raise at.refuse(f"{name}={written(value)}", f"is not supported for {kind}", name)
    exact = Decimal(value)
    if exact.is_nan():
        raise at.refuse(f"{name}={value}", "is not a bound: no number compares with it", name)
    if _digits(exact) >= MAX_DIGITS:
        raise at.refuse(f"{name} with {MAX_DIGITS} digits or more", "is not supported", name)
    return exact


def written(value: object) -> str:
    """Text of a value for a message; long ints have no text in Python."""
    if isinstance(value, int) and value.bit_length() > 1000:
        return f"an int of {value.bit_length()} bits"
    return repr(value)
