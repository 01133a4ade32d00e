"""Classify the parts of a JSON Schema in one cheap pass over its JSON.

    lazy       nothing in it can be refused: types, bounds, values, properties, items, references
               into the same document, single alternatives. It is lowered when a text enters it.
    late       its keywords interact. It is lowered as a formula when a text enters what is around
               it, which asks whether it has an instance.
    decided    all others, which are read and decided when compiling

Most real schemas contain only lazy parts. Without this pass compiling and the first mask of 1,889
schemas of MaskBench take 2 times as long in the mean, and 3.3 times at the 99th percentile.
"""

from collections.abc import Callable
from decimal import Decimal
from math import lcm
from typing import Any, Final, TypeAlias

from guideway.errors import GuidewayError
from guideway.json_schema.formats import FORMATS
from guideway.json_schema.resources import find_draft
from guideway.json_schema.satisfiability.parts import (
    BELOW,
    DEPENDENT,
    GROUPS,
    PLACED,
    VALUED,
    Instances,
    KeywordSet,
    LazySchema,
    Raw,
    Targets,
    allows_nothing,
    find_loop,
    is_plain,
    is_plain_pattern,
    is_shallow,
    most_dependent,
    needs,
    reaching,
    schemas_at,
)
from guideway.json_schema.text import Json, write_plain
from guideway.json_schema.tree import ASSERTED, LATEST, OF_SCALARS, TYPES, Draft, factor_of

Lowers = Callable[[str], bool]
_MOST_MEETING: Final = 256  # branches of a late part
_KNOWN_TYPES: Final = frozenset(TYPES)
_KNOWN_FORMATS: Final = frozenset(FORMATS)
_NUMBERS: Final = frozenset((int, Decimal))
_EXCLUSIVE: Final = frozenset(("exclusiveMinimum", "exclusiveMaximum"))


def _is_count(value: Any) -> bool:
    return value.__class__ is int and value >= 0


def _is_number(value: Any) -> bool:
    return value.__class__ in _NUMBERS


def _is_factor(value: Any) -> bool:
    return value.__class__ in _NUMBERS and value > 0 and factor_of(Decimal(value)) is not None


def _is_type(name: Any) -> bool:
    return name.__class__ is str and name in _KNOWN_TYPES


def _are_types(value: Any) -> bool:
    return _is_type(value) or (_is_list(value) and all(map(_is_type, value)))


def _are_names(value: Any) -> bool:
    return value.__class__ is list and all(name.__class__ is str for name in value)


def _is_list(value: Any) -> bool:
    return value.__class__ is list and len(value) > 0


def _is_map(value: Any) -> bool:
    return value.__class__ is dict


def _may_be_schema(value: Any) -> bool:
    """Return False for a list; other values that are no schemas are found when they are read."""
    return value.__class__ is not list


def _are_branches(value: Any) -> bool:
    return _is_list(value) and len(value) <= _MOST_MEETING


def _are_dependencies(value: Any) -> bool:
    """Check lists of names, or schemas, by name."""
    return value.__class__ is dict and all(
        part.__class__ is not list or _are_names(part) for part in value.values()
    )


_LAZY: Final[dict[str, Callable[[Any], bool]]] = {
    "type": _are_types,
    "enum": lambda value: _is_list(value) and is_shallow(value),
    "const": is_shallow,
    **dict.fromkeys(("minItems", "maxItems", "minLength", "maxLength"), _is_count),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _is_number),
    "multipleOf": _is_factor,
    "pattern": lambda value: value.__class__ is str,
    "format": lambda value: value.__class__ is str,
    "required": _are_names,
    "properties": _is_map,
    **dict.fromkeys(("additionalProperties", "items", "additionalItems"), _may_be_schema),
    "prefixItems": _is_list,
}
"""Checks of the values of keywords that lazy parts may have."""
_CHECKS: Final[dict[str, Callable[[Any], bool]]] = {
    **_LAZY,
    **dict.fromkeys(("anyOf", "oneOf", "allOf"), _are_branches),
    **dict.fromkeys(("not", "if", "then", "else", "propertyNames", "contains"), _may_be_schema),
    **dict.fromkeys(("minProperties", "maxProperties", "minContains", "maxContains"), _is_count),
    "uniqueItems": lambda value: value.__class__ is bool,
    **dict.fromkeys(("patternProperties", "dependentSchemas"), _is_map),
    "dependencies": _are_dependencies,
    "dependentRequired": lambda value: (
        value.__class__ is dict and all(map(_are_names, value.values()))
    ),
}


MOST_BRANCHES: Final = 24  # as in `cases`; GeoJSON has 9: 5 ms, 15 ms with a limit of 8
# Costs in states of automata: 25 to 35 µs for a part of `oneOf`, a late or a decided part, and
# 80 µs to read a decided one.
_LATE: Final = 8
_TOGETHER: Final = 9  # names with dependencies take a bit for each pair: 20,000 took 570 MB
_DECIDED_COST: Final = 16
Pay: TypeAlias = Callable[[int], None]
_DYNAMIC: Final = frozenset(("$dynamicRef", "$recursiveRef"))


def find_lazy_parts(
    raw: Json,
    *,
    strict: bool,
    draft: Draft = LATEST,
    lowers: Lowers = is_plain_pattern,
    pay: Pay = lambda parts: None,
) -> LazySchema | None:
    """The lazy parts of a schema; None if the pass cannot analyse it.

    Args:
        raw: the schema as JSON.
        strict: refuse unknown formats.
        draft: used if the schema has no `$schema`.
        lowers: returns True for a well-formed pattern with an automaton.
        pay: called with the cost of expensive parts, in states of automata; may raise.

    >>> list(find_lazy_parts({"type": "string", "not": {}}, strict=False).late.values())
    [{'type': 'string', 'not': {}}]
    >>> find_lazy_parts({"items": 3}, strict=False) is None
    True
    """
    try:
        draft = find_draft(raw.get("$schema") if isinstance(raw, dict) else None, "", draft)
    except GuidewayError:
        return None
    check = _Check(raw, draft, strict, lowers, pay)
    if not check.passes():
        return None
    return LazySchema(
        raw,
        draft,
        check.targets,
        check.seen,
        check.instances.sure,
        check.decided,
        check.late,
        reaching(check.decided, check.below),
        check.typed,
    )


_MOST_PATTERNS: Final = 8  # they make 256 kinds of keys at most
_MOST_CONTAINED: Final = 8  # minContains and maxContains
_DEEPEST: Final = 8  # schemas for the same instance
_TYPE: Final = {"type"}
_NOT_EMPTY: Final = frozenset(("enum", "const", "oneOf", "not", "if"))
"""Keywords that an empty object or array may not satisfy."""
_POSTPONED: Final = (
    frozenset[str]().union(*ASSERTED.values())
    - _DYNAMIC
    - {
        *("unevaluatedItems", "unevaluatedProperties"),
    }
)


def _may_wait(raw: Raw, kw: KeywordSet, meets: bool) -> bool:
    """Return True if a part is not refused when it is lowered alone.

    `meets`: the key patterns and the factors of the whole document can be combined.
    """
    if not kw <= _POSTPONED or kw >= VALUED:
        return False
    if any(raw[name] > _MOST_CONTAINED for name in kw & {"minContains", "maxContains"}):
        return False
    alone = kw.isdisjoint(PLACED | {"$ref"})
    return len(_key_patterns(raw)) <= _MOST_PATTERNS if alone else meets


def _may_be_sure(kw: KeywordSet) -> bool:
    """Return False for `enum` and `const` together, or with keywords of arrays or objects."""
    return kw.isdisjoint(VALUED) or (kw <= OF_SCALARS and not kw >= VALUED)


def _have_multiple(factors: list[Any]) -> bool:
    """Return True if the least common multiple of the factors can be enforced."""
    if len(factors) < 2:
        return True
    whole = all(factor.__class__ is int and factor > 0 for factor in factors)
    return whole and factor_of(Decimal(lcm(*factors))) is not None


def _key_patterns(part: Raw) -> set[str]:
    """Key patterns of a part; `propertyNames` counts as one."""
    patterns: Any = part.get("patternProperties")
    found = {str(pattern) for pattern in patterns} if patterns.__class__ is dict else set[str]()
    return found | {f"names {id(part)}"} if "propertyNames" in part else found


class _Check:
    """One pass over a document."""

    def __init__(
        self,
        root: Json,
        draft: Draft,
        strict: bool,
        lowers: Lowers,
        pay: Pay,
    ) -> None:
        self._root, self._draft, self._pay = root, draft, pay
        self._asserted = ASSERTED[draft]
        self._resources: list[Raw] = []  # that begin below the root
        self._todo: list[Any] = [root]
        self._strict, self._lowers = strict, lowers
        self._in_place: dict[int, list[Any]] = {}
        self.below: list[tuple[int, list[Any]]] = []
        self.instances = Instances()
        self.targets = Targets(root, draft)
        self._id = self.targets.identifier
        self.seen: dict[int, Raw] = {}
        self.decided: dict[int, Raw] = {}
        self.late: dict[int, Raw] = {}
        self.typed: dict[int, str] = {}
        self._nothing: list[int] = []

    def passes(self) -> bool:
        """Classify all parts; return False if that is impossible."""
        seen, todo = self.seen, self._todo
        while todo:
            raw = todo.pop()
            if raw.__class__ is dict:
                if id(raw) not in seen:
                    seen[id(raw)] = raw
                    begun = len(todo)
                    if not self._node(raw):
                        return False
                    if len(todo) > begun:
                        self.below.append((id(raw), todo[begun:]))
            elif raw.__class__ is not bool:
                return False
        if self._leads_elsewhere() or find_loop(self._in_place, self._placed) is not None:
            return False
        if self.decided:
            self._postpone()
        self._pay(_DECIDED_COST * len(self.decided))
        self.instances.settle()
        for key in self._nothing:
            del seen[key]
        return True

    def _leads_elsewhere(self) -> bool:
        """Return True if a reference may be inside a nested resource."""
        texts = map(write_plain, self._resources if self.targets else ())
        return any(text is None or '"$ref"' in text for text in texts)

    def _placed(self, part: int) -> list[int]:
        return [*map(id, self._in_place.get(part, ()))]

    def _node(self, raw: Raw) -> bool:
        """Classify one schema; return False if the pass has to give up."""
        if ("$schema" in raw or self._id in raw) and self._may_mean_else(raw):
            return False
        kw = raw.keys() & self._asserted
        if not kw or (kw == _TYPE and _is_type(raw["type"])):
            self.typed[id(raw)] = raw["type"] if kw else ""
            self.instances.sure.add(id(raw))
            return True
        if "$ref" in kw and (self._draft <= 7 or len(kw) == 1):
            return self._reference(raw)
        if len(kw) == 1 and not kw.isdisjoint(GROUPS) and self._group(raw, *kw):
            return True
        if not kw.isdisjoint(DEPENDENT):
            self._pay(most_dependent(raw, kw) ** 2 >> _TOGETHER)
        if allows_nothing(raw, kw):
            self._nothing.append(id(raw))
            return True
        return self._to_wait(raw, kw) or self._to_decide(raw, kw)

    def _to_wait(self, raw: Raw, kw: KeywordSet) -> bool:
        """Record a lazy part and its subschemas; return False for any other part."""
        if not _may_be_sure(kw):
            return False
        for name in kw:
            if name == "additionalItems" and raw.get("items").__class__ is not list:
                continue  # it has no effect
            if name not in _LAZY or not self._is_well_formed(name, raw[name]):
                return False
        self._judge(raw, kw)
        for name in kw & BELOW:
            self._todo.extend(schemas_at(raw, name))
        return True

    def _is_well_formed(self, name: str, value: Any) -> bool:
        """Check the value of a keyword."""
        if name == "$ref":
            return value in self.targets
        if name == "items" and value.__class__ is list:
            return self._draft < LATEST and len(value) > 0
        if name in _EXCLUSIVE and self._draft == 4:
            return value.__class__ is bool
        formed = name in _CHECKS and _CHECKS[name](value)
        if formed and name in ("pattern", "patternProperties"):
            return all(map(self._lowers, [value] if name == "pattern" else value))
        return formed and not (self._strict and name == "format" and value not in _KNOWN_FORMATS)

    def _may_mean_else(self, raw: Raw) -> bool:
        """Return True if a resource of another draft may begin at a part."""
        if raw is self._root or not self.targets.opens(raw):
            return False
        self._resources.append(raw)
        return "$schema" in raw

    def _postpone(self) -> None:
        """Find the decided parts that may wait, once all references are known."""
        factors = [part["multipleOf"] for part in self.seen.values() if "multipleOf" in part]
        patterns = len({name for part in self.seen.values() for name in _key_patterns(part)})
        meets = _have_multiple(factors) and patterns <= _MOST_PATTERNS
        for key, raw in [*self.decided.items()]:
            kw = raw.keys() & self._asserted
            formed = all(self._is_well_formed(name, raw[name]) for name in kw)
            if formed and _may_wait(raw, kw, meets):
                self.late[key] = self.decided.pop(key)
        # What applies to the same instance is decided together.
        together = reaching(self.decided, [*self._in_place.items()]) & self.late.keys()
        self.decided |= {key: self.late.pop(key) for key in together}
        for key, raw in self.late.items():
            if self._allows_empty(raw, "object") or self._allows_empty(raw, "array"):
                self.instances.sure.add(key)

    def _allows_empty(self, part: Any, kind: str, left: int = _DEEPEST) -> bool:
        """Return True if an empty object or array is surely allowed."""
        if part.__class__ is not dict or left == 0:
            return part is True
        kw = part.keys() & self._asserted
        types = part.get("type", kind)
        counted = "required" if kind == "object" else "minItems"
        if kind not in (types if types.__class__ is list else (types,)) or kw & _NOT_EMPTY:
            return False
        if part.get(counted) or part.get("minProperties" if kind == "object" else "contains"):
            return False
        below = [*part.get("allOf", ())]
        below += [self.targets[part["$ref"]]] if "$ref" in kw else []
        return all(self._allows_empty(one, kind, left - 1) for one in below) and (
            "anyOf" not in kw
            or any(self._allows_empty(one, kind, left - 1) for one in part["anyOf"])
        )

    def _to_decide(self, raw: Raw, kw: KeywordSet) -> bool:
        """Record a decided part and its subschemas."""
        self._pay(_LATE)
        self.decided[id(raw)] = raw
        if not kw.isdisjoint(_DYNAMIC) or ("$ref" in kw and not self._reference(raw)):
            return False
        place = self._in_place.setdefault(id(raw), [])
        for name in kw & BELOW:
            found = schemas_at(raw, name)
            self._todo.extend(found)
            if name in PLACED:
                place.extend(found)
        return True

    def _reference(self, raw: Raw) -> bool:
        name = raw["$ref"]
        if name.__class__ is not str or not is_plain(name):
            return False
        if name not in self.targets:
            found = self.targets.follow(name)
            if found is None:
                return False
            self.targets[name] = found
            self._todo.append(found)
        below = [self.targets[name]]
        self._in_place[id(raw)] = below
        self.below.append((id(raw), below))
        if id(raw) not in self.decided:
            self.instances.wait(raw, below, every=True)
        return True

    def _group(self, raw: Raw, name: str) -> bool:
        branches = raw[name]
        most = MOST_BRANCHES if name == "anyOf" else 1
        if branches.__class__ is not list or not 1 <= len(branches) <= most:
            return False
        self._todo.extend(branches)
        self._in_place[id(raw)] = branches
        self.instances.wait(raw, branches, every=False)
        return True

    def _judge(self, raw: Raw, kw: KeywordSet) -> None:
        """Record that a schema has an instance, or what it needs for one."""
        needed = needs(raw, kw)
        if needed:
            self.instances.wait(raw, needed, every=True)
        elif needed is not None:
            self.instances.sure.add(id(raw))
