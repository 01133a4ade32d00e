"""Parts of a JSON Schema that can be lowered when they are entered, without exceeding a limit.

Three things must be few: the remainders of common multiples, overlapping key patterns, and schemas
of one member or item.
"""

from collections import defaultdict
from collections.abc import Iterable
from decimal import Decimal
from math import lcm
from typing import Any, Final, final

from guideway.syntax.json_schema_counts import Counts
from guideway.syntax.json_schema_needs import VALUED, Raw
from guideway.syntax.json_schema_tame_tree import ASSERTED
from guideway.syntax.json_schema_tame_values import PLACED, schemas_at
from guideway.syntax.json_schema_tree import factor_of
from guideway.syntax.json_schema_verdicts import Verdicts

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
