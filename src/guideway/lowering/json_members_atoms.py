"""Derivatives of atoms about objects by a member, and which atoms hold at the end."""

from guideway.lowering.json_atoms import (
    AtLeast,
    AtMost,
    Found,
    Matching,
    Named,
    Required,
    at_least,
    at_most,
)
from guideway.lowering.json_formulas import TRUE, Atom, Formula, all_of, any_of, leaf
from guideway.lowering.json_given import Unlike
from guideway.lowering.json_keysets import KeyClass
from guideway.lowering.json_progress import now
from guideway.lowering.json_unlike import unlike_member
from guideway.lowering.json_values import members_of


def holds_at_end(atom: Atom) -> bool:
    """Return True if an atom holds when no more members come."""
    match atom:
        case Named() | Matching() | AtMost():
            return True
        case Unlike(values):
            return all(members_of(value) for value in values)
        case _:
            return False


def asks(atom: Atom, key: KeyClass) -> bool:
    """Return True if an atom that fails at the end can be satisfied by members of a key."""
    match atom:
        case Required(name):
            return name == key.name
        case Found(keys, _):
            return key.among(keys)
        case _:
            return isinstance(atom, (AtLeast, Unlike))


def read_member(atom: Atom, key: KeyClass) -> Formula | None:  # noqa: PLR0911  an arm for each atom
    """The derivative of an atom by a member of this key; None if it stays."""
    match atom:
        case Named(name, value):
            return now(value) if name == key.name else None
        case Required(name):
            return TRUE if name == key.name else None
        case Matching(keys, value):
            return all_of(now(value), leaf(atom)) if key.among(keys) else None
        case Found(keys, value):
            return any_of(now(value), leaf(atom)) if key.among(keys) else None
        case AtLeast(count):
            return at_least(count - 1)
        case AtMost(count):
            return at_most(count - 1)
        case Unlike(values):
            return unlike_member(values, key.name)
        case _:
            raise TypeError(f"{atom} says nothing about members")
