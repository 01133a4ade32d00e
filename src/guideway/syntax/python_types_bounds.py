"""Bounds of numbers and dates, as pydantic compares with them.

A bound that stands in the core schema of a number becomes a number of that kind first: the float
1.1 is Decimal("1.1") to a Decimal, and 2**53 + 1 is 2**53 to a float. What pydantic checks with a
function of its own around a union is compared as it is: there 1.1 is 1.100000000000000088....
"""

from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from math import ceil, floor, inf, nextafter
from typing import Any, TypeAlias

from guideway.syntax.json_text import MAX_DIGITS
from guideway.syntax.python_types_place import Core, Place

Number: TypeAlias = "int | float | Decimal"

# They are compared digit by digit in a pattern: 1,000 took 5 s, and 4,000 a minute.
_MOST_OF_DECIMAL = 500
BOUNDS = ("ge", "gt", "le", "lt")
_UP = ("ge", "lt")  # what lies between two values of a kind is moved to the greater one


def bounds_of(core: Core, at: Place) -> dict[str, Any]:
    """The bounds of a number or a date, in its own kind, without those that all finite ones keep.

    >>> bounds_of({"type": "decimal", "ge": 1.1, "lt": Decimal("Infinity")}, Place("T"))
    {'ge': Decimal('1.1')}

    Raises:
        UnsupportedError: a bound of another kind, NaN, or one that nothing finite keeps.
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
    """A bound that a core schema has, as pydantic reads it there.

    Raises:
        UnsupportedError: as `bounds_of`.
    """
    if kind == "date":
        return _date(name, value, at)
    if isinstance(value, str):  # pydantic has taken it for a number already
        value = Decimal(value)
    exact = _exact(kind, name, value, at)
    return _short(kind, name, _OWN[kind](exact, value), at) if exact.is_finite() else value


_OWN: dict[str, Callable[[Decimal, Any], Number]] = {
    "int": lambda exact, value: int(exact),
    "float": lambda exact, value: float(value),
    "decimal": lambda exact, value: Decimal(repr(value)) if isinstance(value, float) else exact,
}


def outer_bound(kind: str, name: str, value: Any, at: Place) -> Any:
    """A bound that pydantic checks behind a number or a date, as a bound of its own.

    Raises:
        UnsupportedError: as `bounds_of`.
    """
    if kind == "date":
        return _date(name, value, at)
    exact = _exact(kind, name, value, at)
    return _short(kind, name, _OUTER[kind](exact, name in _UP), at) if exact.is_finite() else value


def _short(kind: str, name: str, bound: Number, at: Place) -> Number:
    if kind == "decimal" and _digits(Decimal(bound)) > _MOST_OF_DECIMAL:
        raise at.refuse(
            f"{name} with more than {_MOST_OF_DECIMAL} digits", "is not supported", name
        )
    return bound


def _digits(exact: Decimal) -> int:
    """The digits before the point or behind it, whichever are more."""
    places = exact.as_tuple().exponent
    return max(exact.adjusted(), -places) if isinstance(places, int) else 0


def _float(exact: Decimal, up: bool) -> float:
    nearest = float(exact)  # of Decimals beyond all floats it is infinite
    if up and nearest < exact:
        return nextafter(nearest, inf)
    return nextafter(nearest, -inf) if not up and nearest > exact else nearest


_OUTER: dict[str, Callable[[Decimal, bool], Number]] = {
    "int": lambda exact, up: ceil(exact) if up else floor(exact),
    "float": _float,
    "decimal": lambda exact, up: exact,
}


def _date(name: str, value: Any, at: Place) -> date:
    if not isinstance(value, date) or isinstance(value, datetime):
        raise at.refuse(f"{name}={written(value)}", "is not supported for date", name)
    return value


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
    """A value in a message; long whole numbers have no text in Python.

    >>> written(2), written(10**5000)
    ('2', 'an int of 16610 bits')
    """
    if isinstance(value, int) and value.bit_length() > 1000:
        return f"an int of {value.bit_length()} bits"
    return repr(value)
