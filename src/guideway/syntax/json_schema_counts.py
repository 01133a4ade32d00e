"""Upper bound on the alternatives that a schema leaves for one member or item.

Alternatives multiply in a conjunction and add up in a disjunction, for a schema and its negation::

    anyOf: [A, B]      holds: A + B              negated: not A * not B
    allOf: [A, B]      holds: A * B              negated: not A + not B
    oneOf: [A, B]      holds: A * not B + B * not A; A + B if they exclude each other
"""

from collections import defaultdict
from itertools import combinations
from math import prod
from typing import Any, Final, final

from guideway.syntax.json_schema_clashes import apart, are_told_apart
from guideway.syntax.json_schema_needs import VALUED, Raw
from guideway.syntax.json_schema_tame_values import PLACED, schemas_at
from guideway.syntax.json_schema_verdicts import UNTOLD, Verdicts

_MOST: Final = 256  # a quarter of the limit of lowering
_DEEPEST: Final = 32
_MOST_PARTS: Final = 2000
_SINGLE: Final = frozenset(("required", "properties", "prefixItems", "minProperties"))
_TWICE: Final = frozenset(
    ("additionalProperties", "items", "additionalItems", "propertyNames", "contains")
)
_MOST_LISTS: Final = 8  # of `allOf` within others
_ALL_OF: Final = {"allOf"}
_MANY: Final = PLACED | {"$ref", "contains"}
_TESTS: Final = frozenset(("type", "properties", "required"))
_MOST_COMPARED: Final = 20_000  # pairs of branches in a document: 10 µs each
_MOST_CONSTANTS: Final = 64  # tests of one member
_Count = tuple[int, int]


@final
class Counts:
    """Counts the alternatives of the parts of one document.

    >>> judge = Verdicts({}, lambda part: set(part), alone=False)
    >>> Counts(judge).few({"anyOf": [{"properties": {"a": {"minimum": n}}} for n in range(99)]})
    True
    """

    def __init__(self, judge: Verdicts) -> None:
        self._judge = judge
        self._known: dict[int, _Count] = {}
        self._ones: dict[int, bool] = {}
        self._plainly: dict[int, Any] = {}
        self._compared = 0

    def few(self, part: Raw) -> bool:
        """Return True if every member and item has few alternatives."""
        return self._is_one(part, _MOST_LISTS) or self._count(part, _DEEPEST)[0] <= _MOST

    def _is_one(self, part: Raw, left: int) -> bool:
        """Return True for nested `allOf` without any choice: the usual case."""
        found = self._ones.get(id(part))
        if found is None:
            found = self._judge.said_of(part) == _ALL_OF and all(
                one.__class__ is dict
                and (
                    self._judge.said_of(one).isdisjoint(_MANY)
                    or (left and self._is_one(one, left - 1))
                )
                for one in map(self._judge.resolved, part["allOf"])
            )
            self._ones[id(part)] = found
        return found

    def _count(self, part: Any, left: int) -> _Count:
        """Alternatives of a part and of its negation."""
        part = self._judge.resolved(part)
        if part.__class__ is bool:
            return 1, 1
        found = self._known.get(id(part))
        if found is None:
            if left == 0 or len(self._known) > _MOST_PARTS:
                return _MOST + 1, _MOST + 1
            found = self._known[id(part)] = self._counted(part, left - 1)
        return found

    def _counted(self, part: Raw, left: int) -> _Count:
        said = self._judge.said_of(part)
        patterns: Any = part["patternProperties"] if "patternProperties" in said else ()
        own = 1 + len(said & _SINGLE) + 2 * len(said & _TWICE) + 2 * len(patterns)
        pairs = [
            (1 + ("contains" in said), own),
            *(self._group(part, name, left) for name in said & (PLACED | {"$ref"})),
        ]
        holds, denied = prod(one for one, _ in pairs), sum(other for _, other in pairs)
        return min(holds, _MOST + 1), min(denied, _MOST + 1)

    def _group(self, part: Raw, name: str, left: int) -> _Count:
        if name in ("if", "then", "else"):
            return self._condition(part, left) if name == "if" else (1, 0)
        if name == "allOf":
            return self._all_of(part[name], left)
        branches = [self._judge.targets[part[name]]] if name == "$ref" else schemas_at(part, name)
        found = [self._count(branch, left) for branch in branches]
        holds, denied = [one for one, _ in found], [other for _, other in found]
        match name:
            case "anyOf":
                return sum(holds), prod(denied)
            case "oneOf":
                return self._one_of(branches, found)
            case "not":
                return denied[0], holds[0]
            case _:
                depends = name != "$ref"
                return prod(one + depends for one in holds), sum(denied)

    def _all_of(self, branches: list[Any], left: int) -> _Count:
        """Conditions that test one member for constants count as a sum: at most one applies."""
        told: defaultdict[str, list[Raw]] = defaultdict(list)
        found: list[_Count] = []
        for branch in map(self._judge.resolved, branches):
            name = self._tested(branch)
            if name is None:
                found.append(self._count(branch, left))
            else:
                told[name].append(branch)
        for tests in told.values():
            counts = [self._count(test, left) for test in tests]
            few = 1 < len(counts) <= _MOST_CONSTANTS
            held = (1 + sum(one for one, _ in counts), sum(other for _, other in counts))
            found += [held] if few else counts
        return prod(one for one, _ in found), sum(other for _, other in found)

    def _tested(self, part: Any) -> str | None:
        """The member that an `if` compares with constants, if it tests nothing else."""
        said = self._judge.said_of(part) if part.__class__ is dict else UNTOLD
        test: Any = self._judge.resolved(part["if"]) if said == {"if", "then"} else True
        if test.__class__ is not dict or not self._judge.said_of(test) <= _TESTS:
            return None
        members: Any = test.get("properties")
        if members.__class__ is not dict or len(members) != 1:
            return None
        name, held = next(iter(members.items()))
        listed = held.__class__ is dict and not VALUED.isdisjoint(self._judge.said_of(held))
        return name if listed else None

    def _one_of(self, branches: list[Any], found: list[_Count]) -> _Count:
        others = [1] * len(found)
        more = 0
        if not are_told_apart(branches, self._plain):
            self._compared += len(found) ** 2
            many = self._compared > _MOST_COMPARED
            for one, other in combinations(range(len(found)), 2):
                if many or not apart(branches[one], branches[other], self._plain):
                    others[one] *= found[other][1]
                    others[other] *= found[one][1]
                    more += found[one][0] * found[other][0]
        holds = sum(one[0] * denied for one, denied in zip(found, others, strict=True))
        return holds, prod(denied for _, denied in found) + more

    def _condition(self, part: Raw, left: int) -> _Count:
        test, then, otherwise = (
            self._count(part.get(name, True), left) for name in ("if", "then", "else")
        )
        return (
            test[0] * then[0] + test[1] * otherwise[0],
            (test[1] + then[1]) * (test[0] + otherwise[1]),
        )

    def _plain(self, part: Any) -> Any:
        """The resolved part with its asserting keywords; True if unknown."""
        part = self._judge.resolved(part)
        if part.__class__ is not dict:
            return part
        found = self._plainly.get(id(part))
        if found is None:
            said = self._judge.said_of(part)
            found = True if said is UNTOLD else {name: part[name] for name in said}
            self._plainly[id(part)] = found
        return found
