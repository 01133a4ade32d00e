"""Simplify formulas about objects by facts that hold in any case.

`oneOf` and conditions give each alternative several ways to fail; facts exclude most of them. Six
members of which at most one may be present had 3^6 cases, and have seven::

    "a" is a string, and: no "b", or "a" is no string            no "b"
    no other key than "a", and: some key that is not "a", or F   F
    no "a", or: there is "a", and its value satisfies F          Named("a", F)
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import field
from typing import Final, TypeGuard, final

from guideway.lowering.fuel import spend
from guideway.lowering.json_atoms import Beside, Found, Matching, Named, Required, named
from guideway.lowering.json_formulas import (
    FALSE,
    TRUE,
    Atom,
    Every,
    Formula,
    Leaf,
    Some,
    all_of,
    any_of,
    leaf,
)
from guideway.syntax.frozen import by_value

_DEEP: Final = 4  # levels of nested alternatives
_ROUNDS: Final = 8  # a settled choice may settle others
_FEW: Final = 8  # names that another key may have
_MOST: Final = (
    50_000  # atoms; ten conditions under `unevaluatedProperties` have fewer, and took minutes
)


@final
@by_value
class _Facts:
    """Facts that hold in any case.

    required: names that are present; values: formulas of their values, if present; closed: the only
    names that may be present, None for any.
    """

    required: frozenset[str] = frozenset()
    values: dict[str, Formula] = field(default_factory=dict[str, Formula])
    closed: frozenset[str] | None = None

    def with_units(self, parts: Iterable[Formula]) -> "_Facts":
        """These facts and the atoms among some parts."""
        required, values, closed = set(self.required), dict(self.values), self.closed
        for part in parts:
            atom = part.atom if type(part) is Leaf else None
            if type(atom) is Required:
                required.add(atom.name)
            elif type(atom) is Named:
                known = values.get(atom.name)
                values[atom.name] = atom.value if known is None else all_of(known, atom.value)
            elif type(atom) is Matching and atom.value is FALSE:
                keys = atom.keys
                if type(keys) is Beside and not keys.patterns:
                    closed = keys.names if closed is None else closed & keys.names
        return _Facts(frozenset(required), values, closed)

    def value(self, name: str) -> Formula:
        """Formula of a name's value; FALSE if the name cannot be present."""
        if self.closed is not None and name not in self.closed:
            return FALSE
        return self.values.get(name, TRUE)


@final
class Clauses:
    """Shortens formulas about objects; `impossible` tells formulas that plainly have no value."""

    def __init__(self, impossible: Callable[[Formula], bool]) -> None:
        self._impossible = impossible

    def shortened(self, said: Formula) -> Formula:
        """An equivalent formula."""
        return self._made(said, _Facts(), _DEEP) if _gains(said) else said

    def _made(self, said: Formula, facts: _Facts, deep: int) -> Formula:
        """Simplify a part under facts."""
        match said:
            case Leaf(atom):
                return self._left(atom, said, facts)
            case Some(parts) if deep:
                spend(len(parts))
                return _joined([self._made(part, facts, deep - 1) for part in parts])
            case Every():
                return self._every(said, facts, deep)
            case _:
                return said

    def _every(self, said: Every, facts: _Facts, deep: int) -> Formula:
        found: Formula = said
        before = None
        for _ in range(_ROUNDS):
            if not isinstance(found, Every):
                return self._made(found, facts, deep)
            spend(20 + len(found.parts) + len(facts.values))  # 27 µs on average, about 40 parts
            inner = facts.with_units(found.parts)
            if inner == before:  # no new facts
                break
            before = inner
            if self._excluded(inner, found.parts):
                return FALSE
            made = all_of(
                *[
                    self._left(part.atom, part, facts)
                    if type(part) is Leaf
                    else self._made(part, inner, deep)
                    for part in found.parts
                ]
            )
            if made is found:
                break
            found = made
        return found

    def _excluded(self, facts: _Facts, parts: Iterable[Formula]) -> bool:
        """Return True if the atoms contradict each other or the facts."""
        for part in parts:
            atom = part.atom if type(part) is Leaf else None
            if type(atom) is not Named and type(atom) is not Required:
                continue
            if atom.name in facts.required and self._is_none(facts.value(atom.name)):
                return True
        return False

    def _is_none(self, value: Formula) -> bool:
        return value is FALSE or self._impossible(value)

    def _left(self, atom: Atom, said: Formula, facts: _Facts) -> Formula:
        """Simplify an atom under facts."""
        if type(atom) is Named:
            return self._of_value(atom.name, atom.value, said, facts)
        match atom:
            case Required(name):
                if name in facts.required:
                    return TRUE
                return FALSE if self._is_none(facts.value(name)) else said
            case Found(Beside(names, ()), value) if facts.closed is not None:
                return self._some_name(facts.closed - names, value, said, facts)
            case Matching(Beside(names, ()), _) if facts.closed is not None:
                return TRUE if facts.closed <= names else said
            case _:
                return said

    def _of_value(self, name: str, value: Formula, said: Formula, facts: _Facts) -> Formula:
        known = facts.value(name)
        both = value if known is TRUE else known if known is value else all_of(known, value)
        if both is known:  # implied
            return TRUE
        if not self._is_none(both):
            return said
        return FALSE if name in facts.required else named(name, FALSE)

    def _some_name(
        self, names: frozenset[str], value: Formula, said: Formula, facts: _Facts
    ) -> Formula:
        """Formula: one of these names is present with such a value."""
        if len(names) > _FEW:
            return said
        ways = (all_of(leaf(Required(name)), named(name, value)) for name in sorted(names))
        return any_of(*(self._made(way, facts, 0) for way in ways))


def _gains(said: Formula) -> bool:
    """Return True if a conjunction contains alternatives, and not too many."""
    options = said.parts if isinstance(said, Some) else (said,)
    clauses = [
        part
        for option in options
        if isinstance(option, Every)
        for part in option.parts
        if isinstance(part, Some)
    ]
    size = sum(len(one.parts) for clause in clauses for one in clause.parts if _is_joined(one))
    return bool(clauses) and size + sum(len(clause.parts) for clause in clauses) <= _MOST


def _is_joined(said: Formula) -> TypeGuard[Every | Some]:
    return isinstance(said, (Every, Some))


def _joined(options: list[Formula]) -> Formula:
    """Disjunction; merges an option on an optional member with options that require the member."""
    without: dict[str, Formula] = {}
    present: defaultdict[str, list[Formula]] = defaultdict(list)
    others: list[Formula] = []
    for option in options:
        atom = option.atom if isinstance(option, Leaf) else None
        if isinstance(atom, Named):
            without[atom.name] = any_of(without.get(atom.name, FALSE), atom.value)
        elif (name := _only_of(option)) is not None:
            present[name].append(option)
        else:
            others.append(option)
    for name, wanting in present.items():
        if name in without:
            without[name] = any_of(without[name], *map(_value_of, wanting))
        else:
            others += wanting
    return any_of(*(named(name, value) for name, value in without.items()), *others)


def _only_of(option: Formula) -> str | None:
    """The only member that an option constrains, if the option requires it."""
    names, wanted = set[str](), False
    for part in option.parts if isinstance(option, Every) else (option,):
        atom = part.atom if isinstance(part, Leaf) else None
        if not isinstance(atom, (Named, Required)):
            return None
        names.add(atom.name)
        wanted |= isinstance(atom, Required)
    return names.pop() if wanted and len(names) == 1 else None


def _value_of(option: Formula) -> Formula:
    """Formula of the value of that member."""
    parts = option.parts if isinstance(option, Every) else (option,)
    listed = [part.atom for part in parts if isinstance(part, Leaf)]
    return all_of(*(atom.value for atom in listed if isinstance(atom, Named)))
