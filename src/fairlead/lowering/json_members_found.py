"""Ways to complete an object that have been found, tried on what is asked next.

States of one object differ by a member or two, and what completes one mostly completes the next:
some members, and the atoms that hold with them. To see whether a formula holds then is one pass
over it, where the search for a way is many::

    "kind" is missing; one of eight schemas         found: "kind" and "port" of the third
    the same behind "env", which all of them allow  those two complete it still

One of eight schemas with 18 names, 130 states: 1.6 s without this, .4 s with it.

What cannot be seen so is left to the search. What this module does not know: spelling, values.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from operator import itemgetter
from typing import Final, TypeAlias, final

from fairlead.lowering.json_atoms import AtLeast, AtMost, Matching, Named, Required
from fairlead.lowering.json_cases import Case
from fairlead.lowering.json_formulas import FALSE, TRUE, Atom, Every, Formula, Leaf, Some, fold
from fairlead.lowering.json_keysets import KeyClass

_KEPT: Final = 16  # ways of one kind of object; those that served last are tried first
_TRIED: Final = 6
_CIRCUITS: Final = 64
_Gate: TypeAlias = Callable[[Iterable[object]], bool]


@final
@dataclass(frozen=True, slots=True)
class _Way:
    """Members that complete an object: their names, and what holds with values that exist."""

    names: frozenset[str]
    atoms: frozenset[Atom]


@final
class Completions:
    """The ways that have been found for objects of one kind.

    Args:
        names: those that atoms mention.
    """

    def __init__(self, names: Iterable[KeyClass]) -> None:
        self._names = {str(name.name): name for name in names}
        self._ways: list[_Way] = []
        self._circuits: dict[Formula, _Circuit] = {}

    def keep(self, cases: list[Case]) -> None:
        """Remember atoms that can all hold, with the members that they require and no others."""
        listed = frozenset(atom for case in cases for atom in case)
        names = frozenset(atom.name for atom in listed if isinstance(atom, Required))
        way = _Way(names, listed)
        self._ways = [way, *(other for other in self._ways if other != way)][:_KEPT]

    def suffice(self, said: Formula, free: Callable[[str], bool]) -> bool:
        """Whether one of them completes an object of which this is left to be said.

        Args:
            said: what the members that come have to satisfy.
            free: whether a name may come.
        """
        for way in self._ways[:_TRIED]:
            if all(map(free, way.names)) and self._known(self._circuit(said), way).holds:
                self._serve(way)
                return True
        return False

    def with_member(
        self,
        said: Formula,
        name: str,
        behind: Callable[[str], bool],
        lives: Callable[[Formula], bool | None],
    ) -> bool:
        """The same where a member of this name comes first.

        Args:
            said: as above, of that member too.
            name: a name that may come.
            behind: whether a name may come after it.
            lives: whether there is a member of that name with a value.
        """
        circuit = self._circuit(said)
        for way in self._ways[:_TRIED]:
            if not all(map(behind, way.names - {name})):
                continue
            known, wanted = self._known(circuit, way), list[Atom]()
            holds = known.holds
            if name not in way.names:
                wanted = self._wanted(circuit, way, name)
                if _differ(wanted):
                    continue
                changes = self._changes(circuit, name, len(way.names) + 1, wanted)
                holds = circuit.still_holds(known, changes)
            if holds and (name in way.names or lives(_value(wanted))):
                self._serve(way)
                return True
        return False

    def _serve(self, way: _Way) -> None:
        if self._ways[0] is not way:
            self._ways = [way, *(other for other in self._ways if other is not way)][:_KEPT]

    def _circuit(self, said: Formula) -> "_Circuit":
        found = self._circuits.get(said)
        if found is None:
            if len(self._circuits) >= _CIRCUITS:
                self._circuits = {}
            found = self._circuits[said] = _Circuit(said)
        return found

    def _known(self, circuit: "_Circuit", way: _Way) -> "_Known":
        """What holds with the members of a way."""
        found = circuit.known.get(way)
        if found is None:
            if len(circuit.known) > _KEPT:
                circuit.known.clear()
            leaves = [self._holds(atom, way) for atom in circuit.atoms]
            found = circuit.known[way] = _Known(leaves, circuit.holds(leaves))
        return found

    def _wanted(self, circuit: "_Circuit", way: _Way, name: str) -> list[Atom]:
        """What a member more would have to satisfy: all that is asked of it, or what a way asks."""
        wanted = [
            atom
            for place in circuit.about(name)
            if self._is_about(atom := circuit.atoms[place], name)
            and _said(atom) is not FALSE
            and (isinstance(atom, Named) or self._holds(atom, way))
        ]
        if _differ(wanted):
            return [atom for atom in wanted if atom in way.atoms or _said(atom) is TRUE]
        return wanted

    def _changes(
        self, circuit: "_Circuit", name: str, count: int, wanted: list[Atom]
    ) -> dict[int, bool]:
        """Which atoms hold with a member more, so that there are `count` of them."""
        found = dict[int, bool]()
        for place in circuit.about(name):
            atom = circuit.atoms[place]
            match atom:
                case Required():
                    found[place] = True
                case AtLeast(low):
                    found[place] = count >= low
                case AtMost(high):
                    found[place] = count <= high
                case _ if self._is_about(atom, name):
                    found[place] = atom in wanted
                case _:
                    pass
        return found

    def _is_about(self, atom: Atom, name: str) -> bool:
        if isinstance(atom, Named):
            return atom.name == name
        return isinstance(atom, Matching) and self._names[name].among(atom.keys)

    def _holds(self, atom: Atom, way: _Way) -> bool:
        match atom:
            case Named(name):
                return name not in way.names or atom in way.atoms
            case Required(name):
                return name in way.names
            case Matching(keys):
                return atom in way.atoms or not any(
                    self._names[name].among(keys) for name in way.names
                )
            case AtLeast(count):
                return len(way.names) >= count
            case AtMost(count):
                return len(way.names) <= count
            case _:
                return False


@final
@dataclass(frozen=True, slots=True)
class _Known:
    """Which atoms of a formula hold in a way, and whether the formula does."""

    leaves: list[bool]
    holds: bool


@final
class _Circuit:
    """A formula in the order of its parts, and which of its atoms hold in which ways."""

    def __init__(self, said: Formula) -> None:
        order: list[Formula] = []
        fold(said, lambda node, made: order.append(node))
        leaves = [node for node in order if isinstance(node, Leaf)]
        gates = [node for node in order if isinstance(node, Every | Some)]
        number: dict[Formula, int] = {node: place for place, node in enumerate((*leaves, *gates))}
        self.atoms = [node.atom for node in leaves]
        self.known: dict[_Way, _Known] = {}
        self._gates: list[tuple[_Gate, Callable[[list[bool]], Iterable[bool]]]] = [
            (
                all if isinstance(gate, Every) else any,
                itemgetter(*[number[part] for part in gate.parts]),
            )
            for gate in gates
        ]
        self._holds = said is TRUE
        self._named: defaultdict[str, list[int]] = defaultdict(list)
        self._others: list[int] = []
        for place, atom in enumerate(self.atoms):
            named = isinstance(atom, Named | Required)
            (self._named[atom.name] if named else self._others).append(place)

    def about(self, name: str) -> list[int]:
        """The places of the atoms that a member of this name may change."""
        return self._named.get(name, []) + self._others

    def still_holds(self, known: _Known, changes: dict[int, bool]) -> bool:
        """Whether the formula holds where some atoms are changed.

        It has no opposites, so it holds all the more where none of them does no longer.
        """
        leaves = known.leaves
        if known.holds and all(holds or not leaves[place] for place, holds in changes.items()):
            return True
        changed = leaves.copy()
        for place, holds in changes.items():
            changed[place] = holds
        return self.holds(changed)

    def holds(self, leaves: list[bool]) -> bool:
        """Whether the formula holds where these of its atoms do."""
        if not leaves:
            return self._holds
        values = leaves.copy()
        for gate, parts in self._gates:
            values.append(gate(parts(values)))
        return values[-1]


def _differ(wanted: list[Atom]) -> bool:
    """Whether atoms say more than one thing of a value."""
    return len({_said(atom) for atom in wanted} - {TRUE}) > 1


def _value(wanted: list[Atom]) -> Formula:
    return next((said for atom in wanted if (said := _said(atom)) is not TRUE), TRUE)


def _said(atom: Atom) -> Formula:
    return atom.value if isinstance(atom, Named | Matching) else TRUE
