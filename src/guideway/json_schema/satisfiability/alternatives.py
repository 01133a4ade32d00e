"""Whether a part of a JSON Schema has few enough alternatives to be lowered when it is entered."""

from collections import defaultdict
from collections.abc import Iterable
from decimal import Decimal
from itertools import combinations
from math import lcm, prod
from typing import Any, Final, final

from guideway.json_schema.satisfiability.assertions import (
    UNTOLD,
    VALUED,
    Raw,
    Verdicts,
    apart,
)
from guideway.json_schema.satisfiability.parts import ASSERTED, PLACED, schemas_at
from guideway.json_schema.tree import factor_of

_MOST: Final = 256  # a quarter of the limit of lowering
_DEEPEST: Final = 32
_MOST_PARTS: Final = 2000
_SINGLE: Final = frozenset(("required", "properties", "prefixItems", "minProperties"))
_TWICE: Final = frozenset(
    ("additionalProperties", "items", "additionalItems", "propertyNames", "contains")
)
_MOST_COMPARED: Final = 20_000  # pairs of branches in a document: 10 µs each
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
        return self._count(part, _DEEPEST)[0] <= _MOST

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
            case "allOf":
                return prod(holds), sum(denied)
            case _:
                depends = name != "$ref"
                return prod(one + depends for one in holds), sum(denied)

    def _one_of(self, branches: list[Any], found: list[_Count]) -> _Count:
        others = [1] * len(found)
        more = 0
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


MOST_PATTERNS: Final = 8  # they make 256 kinds of keys at most
_MOST_TESTS: Final = 5  # of one member; with their negations 2^10 combinations
_MOST_PLACED: Final = 128  # schemas that apply to the same instance
_MOST_LOOKS: Final = 100_000  # visits from all parts, 3 µs each; real schemas need 3,400
_MOST_CONTAINED: Final = 8  # minContains and maxContains
_ITEMS: Final = ("items", "prefixItems", "additionalItems", "contains")
_ELSEWHERE: Final = frozenset(
    (*("uniqueItems", "unevaluatedItems", "unevaluatedProperties", "$dynamicRef", "$recursiveRef"),)
)
_POSTPONED: Final = frozenset[str]().union(*ASSERTED.values()) - _ELSEWHERE
_MEETING: Final = PLACED | {"$ref"}


@final
class Crowds:
    """Size limits for the parts of a document.

    >>> judge = Verdicts({}, lambda part: set(part), alone=False)
    >>> Crowds([{"multipleOf": 2}, {"multipleOf": 997}], judge).allow({"not": {}})
    False
    """

    def __init__(self, parts: Iterable[Raw], judge: Verdicts) -> None:
        self._judge, self._counts = judge, Counts(judge)
        self._keys: dict[int, object] = {}
        self._looks = 0
        factors, patterns = dict[str, Any](), set[str]()
        for part in parts:
            if "multipleOf" in part:
                factors[str(part["multipleOf"])] = part["multipleOf"]
            if "patternProperties" in part or "propertyNames" in part:
                patterns |= _patterns(part)
        self._factors, self._patterns = list(factors.values()), len(patterns)

    def allow(self, part: Raw) -> bool:
        """Return True if a part may be lowered when it is entered."""
        said = self._judge.said_of(part)
        if not said <= _POSTPONED or said >= VALUED:
            return False
        counts = (part[name] for name in ("minContains", "maxContains") if name in said)
        if any(count > _MOST_CONTAINED for count in counts):
            return False
        if said.isdisjoint(_MEETING):
            return len(_patterns(part)) <= MOST_PATTERNS
        few = _meet(self._factors) and self._patterns <= MOST_PATTERNS
        return few and (self._counts.few(part) or self._few_tests(part))

    def _few_tests(self, root: Raw) -> bool:
        """Return True if few schemas apply to one member or item, over all branches.

        Nested schemas are visited from up to 128 around them: 10,000 took 2 s.
        """
        tests: defaultdict[str | None, set[object]] = defaultdict(set)
        todo, seen = [root], set[int]()
        while todo and len(seen) <= _MOST_PLACED and self._looks < _MOST_LOOKS:
            self._looks += 1
            part: Any = self._judge.resolved(todo.pop())
            if part.__class__ is bool or id(part) in seen:
                continue
            seen.add(id(part))
            said = self._judge.said_of(part)
            for name, member in part["properties"].items() if "properties" in said else ():
                tests[f"property {name}"].add(self._key(member))
            for name in said.intersection(_ITEMS):
                tests["item"].update(map(self._key, schemas_at(part, name)))
            for name in said.intersection(("additionalProperties", "patternProperties")):
                tests[None].update(map(self._key, schemas_at(part, name)))
            for name in said & PLACED:
                todo += schemas_at(part, name)
            if "$ref" in said:
                todo.append(self._judge.targets[part["$ref"]])
        others = tests[None]
        most = max(len({*found, *others} - {None}) for found in tests.values())
        return not todo and most <= _MOST_TESTS

    def _key(self, part: Any) -> object:
        """Key of a schema; None if it asserts nothing, one key for all that list values."""
        part = self._judge.resolved(part)
        if part.__class__ is bool:
            return None
        found = self._keys.get(id(part))
        if found is None:
            said = self._judge.said_of(part)
            listed = [(name, part.get(name)) for name in sorted(said)]
            found = self._keys[id(part)] = said.isdisjoint(VALUED) and repr(listed)
        return found


def _meet(factors: list[Any]) -> bool:
    """Return True if the least common multiple of the factors can be enforced."""
    if len(factors) < 2:
        return True
    whole = all(factor.__class__ is int and factor > 0 for factor in factors)
    return whole and factor_of(Decimal(lcm(*factors))) is not None


def _patterns(part: Raw) -> set[str]:
    """Key patterns of a part; `propertyNames` counts as one."""
    patterns: Any = part.get("patternProperties")
    found = {str(pattern) for pattern in patterns} if patterns.__class__ is dict else set[str]()
    return found | {f"names {id(part)}"} if "propertyNames" in part else found
