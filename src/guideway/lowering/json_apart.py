"""Split formulas about objects by the constants that one member may have.

Thirty conditions on a member `type` have 2^30 combinations, and thirty-two parts when split.
"""

from collections import defaultdict
from decimal import Decimal
from typing import TypeAlias, cast, final

from guideway.lowering.fuel import spend
from guideway.lowering.json_atoms import Among, Amount, Flag, Holds, Named, Required, Text, named
from guideway.lowering.json_cases import contradicted
from guideway.lowering.json_formulas import (
    FALSE,
    TRUE,
    Atom,
    Every,
    Formula,
    Leaf,
    Some,
    all_of,
    atoms,
    fold,
    leaf,
    replace,
)
from guideway.lowering.json_meaning import Meaning
from guideway.lowering.json_values import Exact
from guideway.syntax.json_schema_tree import Numbers, Strings

_MOST_CONSTANTS = 64
_FEWEST_TESTS = 3
_SCALARS = frozenset(("null", "boolean", "number", "string"))
_Constants: TypeAlias = "frozenset[Exact]"


@final
class Apart:
    """Splits formulas about objects."""

    def __init__(self, meaning: Meaning) -> None:
        self._meaning = meaning

    def parts(self, said: Formula) -> list[Formula]:
        """Disjoint formulas that cover `said`; only `said` if no split helps."""
        name, constants = self._best(said)
        if not constants:
            return [said]
        is_there, other = leaf(Required(name)), leaf(Among(constants, False))
        absent = all_of(named(name, FALSE), _member(said, name, None))
        another = all_of(
            is_there, named(name, other), _member(said, name, self._test(constants, None))
        )
        groups: defaultdict[Formula, set[Exact]] = defaultdict(set)
        for constant in sorted(constants, key=repr):
            groups[_member(said, name, self._test(constants, constant))].add(constant)
            spend(1)
        chosen = (
            all_of(is_there, named(name, leaf(Among(frozenset(values)))), rest)
            for rest, values in groups.items()
        )
        return [part for part in (*chosen, another, absent) if not _is_excluded(part)]

    def _best(self, said: Formula) -> tuple[str, _Constants]:
        """The member that most tests compare with constants, and these constants."""
        tests: defaultdict[str, dict[Formula, _Constants]] = defaultdict(dict)
        for atom in atoms(said):
            if isinstance(atom, Named):
                compared = [self._constants(one) for one in atoms(atom.value)]
                tests[atom.name][atom.value] = frozenset[Exact]().union(*compared)
        best, found = "", frozenset[Exact]()
        most = _FEWEST_TESTS - 1
        for name, listed in tests.items():
            count = sum(bool(constants) for constants in listed.values())
            constants = frozenset[Exact]().union(*listed.values())
            if count > most and len(constants) <= _MOST_CONSTANTS:
                best, found, most = name, constants, count
        return best, found

    def _constants(self, atom: Atom) -> _Constants:
        """All constants that an atom admits or excludes; empty if unknown."""
        match atom:
            case Among(values):
                return values if all(kind in _SCALARS for kind, _ in values) else frozenset()
            case Holds(schema):
                outline = self._meaning.outlines.of(schema)
            case _:
                raise TypeError(f"{atom} says nothing about a value")
        if outline.scalars is None or not outline.kinds <= _SCALARS:
            return frozenset()
        return frozenset(value for value in outline.scalars if value[0] in outline.kinds)

    def _test(self, constants: _Constants, constant: Exact | None) -> "_Test":
        return _Test(self, self._meaning, constants, constant)

    def admits_only(self, atom: Atom, constants: _Constants) -> bool:
        """Return True if an atom concerns only these constants."""
        found = self._constants(atom)
        return bool(found) and found <= constants


@final
class _Test:
    """Evaluates formulas for a value that is one constant, or (None) none of them."""

    def __init__(
        self, apart: Apart, meaning: Meaning, constants: _Constants, constant: Exact | None
    ) -> None:
        self._apart, self._meaning = apart, meaning
        self._constants, self._constant = constants, constant

    def left(self, value: Formula) -> Formula:
        return replace(value, self._decided)

    def _decided(self, atom: Atom) -> Formula | None:
        found = self._answer(atom)
        return None if found is None else TRUE if found else FALSE

    def _answer(self, atom: Atom) -> bool | None:
        constant = self._constant
        if constant is None:
            only = self._apart.admits_only(atom, self._constants)
            return not _sign(atom) if only else None
        if isinstance(atom, Among):
            return (constant in atom.values) is atom.sign
        holds = cast("Holds", atom)  # the only other atoms about values
        found = _satisfies(self._meaning.schema(holds.schema, constant[0]), constant)
        return None if found is None else found is holds.sign


def _is_excluded(part: Formula) -> bool:
    listed = part.parts if isinstance(part, Every) else (part,)
    return part is FALSE or contradicted({p.atom: None for p in listed if isinstance(p, Leaf)})


def _sign(atom: Atom) -> bool:
    return isinstance(atom, (Holds, Among)) and atom.sign


def _member(said: Formula, name: str, test: _Test | None) -> Formula:
    """The formula if a member is absent (None) or passes a test."""

    def change(atom: Atom) -> Formula | None:
        match atom:
            case Named(other, value) if other == name:
                return TRUE if test is None else named(name, test.left(value))
            case Required(other) if other == name:
                return FALSE if test is None else TRUE
            case _:
                return None

    return replace(said, change)


def _satisfies(formula: Formula, constant: Exact) -> bool | None:
    """Evaluate a formula for a scalar; None if that takes more than comparisons."""

    def make(node: Formula, made: dict[Formula, bool | None]) -> bool | None:
        match node:
            case Leaf(atom):
                return _is(atom, constant)
            case Every(parts) | Some(parts):
                answers = {made[part] for part in parts}
                deciding = isinstance(node, Some)
                return (
                    deciding if deciding in answers else None if None in answers else not deciding
                )
            case _:
                return node is TRUE

    return fold(formula, make)


def _is(atom: Atom, constant: Exact) -> bool | None:
    content, sign = constant[1], True
    if isinstance(atom, Text):
        found, sign = _is_text(atom.strings, cast("str", content)), atom.sign
    elif isinstance(atom, Amount):
        found, sign = _is_amount(atom.numbers, cast("Decimal", content)), atom.sign
    else:
        found = content in cast("Flag", atom).values
    return None if found is None else found is sign


def _is_text(strings: Strings, text: str) -> bool | None:
    if strings.values is not None and text not in strings.values:
        return False
    if not strings.low <= len(text) <= (len(text) if strings.high is None else strings.high):
        return False
    return None if strings.pattern is not None or strings.format is not None else True


def _is_amount(numbers: Numbers, amount: Decimal) -> bool | None:
    if numbers.values is not None and amount not in numbers.values:
        return False
    plain = numbers == Numbers(values=numbers.values, integer=numbers.integer)
    return amount == amount.to_integral_value() or not numbers.integer if plain else None
