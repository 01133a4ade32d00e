"""Frozen values with slots: equal by identity, or by their fields."""

from dataclasses import dataclass, field
from typing import TypeVar, dataclass_transform

_Class = TypeVar("_Class")


@dataclass_transform(eq_default=False, frozen_default=True, field_specifiers=(field,))
def by_identity(cls: type[_Class]) -> type[_Class]:
    """A dataclass with slots and weak references, equal only to itself."""
    return dataclass(slots=True, eq=False, weakref_slot=True)(cls)


@dataclass_transform(eq_default=True, frozen_default=True, field_specifiers=(field,))
def by_value(cls: type[_Class]) -> type[_Class]:
    """A dataclass with slots, equal and hashed by its fields."""
    return dataclass(slots=True, unsafe_hash=True)(cls)
