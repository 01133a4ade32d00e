"""Which parts of a JSON Schema are tame, told in one cheap pass over its JSON.

In a tame part nothing can be refused, so that it may wait until it is entered: types, bounds,
values, properties, items, references into the same document, alternatives that stand alone. Most
schemas in use hold little else. What is not tame, or perhaps wrong, is wild: `syntax.json_schema`
has to read it when compiling, and says what is wrong with it.

The pass looks at what can be reached from the root, as reading does. Of each part it also tells
whether it surely has an instance; where that would take a search it says nothing.

What this module does not know: what schemas mean beyond that.
"""

from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final, final
from urllib.parse import unquote

from fairlead.errors import FairleadError
from fairlead.syntax.json_schema_clashes import exclude_each_other
from fairlead.syntax.json_schema_crowds import Crowds
from fairlead.syntax.json_schema_keywords import LATEST, Draft, find_draft
from fairlead.syntax.json_schema_later import LATE, allows_nothing, needs_of_late
from fairlead.syntax.json_schema_multiples import factor_of
from fairlead.syntax.json_schema_needs import Raw, Said, needs
from fairlead.syntax.json_schema_shapes import Shape, in_force
from fairlead.syntax.json_schema_tame_graph import Instances, has_loop, reaching
from fairlead.syntax.json_schema_tame_tree import ASSERTED, TameSchema, stands_for
from fairlead.syntax.json_schema_tame_values import (
    BELOW,
    PLACED,
    is_plain_pattern,
    is_shallow,
    schemas_at,
)
from fairlead.syntax.json_schema_values import FORMATS, TYPES
from fairlead.syntax.json_schema_verdicts import UNTOLD, Verdicts
from fairlead.syntax.json_schema_witnesses import Witnesses
from fairlead.syntax.json_text import Json

Lowers = Callable[[str], bool]
MOST_BRANCHES: Final = 8
_MOST_MEETING: Final = 256  # branches of a part that waits though they do not stand alone
_DYNAMIC: Final = frozenset(("$dynamicRef", "$recursiveRef"))
_NO_RESOURCE: Final = ("", "#")  # identifiers that begin so name none
_KNOWN_TYPES: Final = frozenset(TYPES)
_KNOWN_FORMATS: Final = frozenset(FORMATS)
_NUMBERS: Final = frozenset((int, Decimal))


def read_tame(
    raw: Json, *, strict: bool, draft: Draft = LATEST, lowers: Lowers = is_plain_pattern
) -> TameSchema | None:
    """The schema `raw` and which parts of it are tame; None where that makes no sense.

    >>> sorted(read_tame({"type": "string", "not": {}}, strict=False).wild.values())
    [{'type': 'string', 'not': {}}]
    >>> read_tame({"items": 3}, strict=False) is None
    True

    Args:
        raw: a JSON value.
        strict: whether unknown formats are to be refused.
        draft: what it is written in if it does not say so.
        lowers: tells whether a pattern is well formed and has an automaton.
    """
    try:
        draft = find_draft(raw.get("$schema") if isinstance(raw, dict) else None, "", draft)
    except FairleadError:
        return None
    check = _Check(raw, draft, strict, lowers)
    if not check.passes():
        return None
    sure, wild, late = check.instances.sure, check.wild, check.late
    eager = reaching(wild, check.below)
    return TameSchema(raw, draft, check.targets, check.seen, sure, wild, late, eager, check.typed)


@final
class _Check:
    """One pass over a document."""

    def __init__(self, root: Json, draft: Draft, strict: bool, lowers: Lowers) -> None:
        self._root, self._draft, self._strict, self._lowers = root, draft, strict, lowers
        self._asserted = ASSERTED[draft]
        self._id = "id" if draft == 4 else "$id"
        self._nested_ids = False
        self._todo: list[Any] = [root]
        self._in_place: dict[int, list[Any]] = {}
        self._one_of: list[Raw] = []
        self.below: list[tuple[int, list[Any]]] = []
        self.instances = Instances()
        self.targets: dict[str, Any] = {}
        self.seen: dict[int, Raw] = {}
        self.wild: dict[int, Raw] = {}
        self.late: dict[int, Raw] = {}
        self.typed: dict[int, str] = {}
        self._shapes: dict[tuple[str, ...], Shape] = {}  # by the keywords of a part

    def passes(self) -> bool:
        """Whether all that is not tame can be told apart from what is."""
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
        if (self.targets and self._nested_ids) or has_loop(self._in_place):
            return False
        self.wild |= {
            id(raw): raw
            for raw in self._one_of
            if not exclude_each_other(raw["oneOf"], self._resolved)
        }
        self._postpone()
        self.instances.settle(self.wild)
        unsure = self.late.keys() - self.instances.sure
        self.wild |= {key: self.late.pop(key) for key in unsure}
        return True

    def _node(self, raw: Raw) -> bool:
        """Look at one schema; False if nothing can be told any more."""
        if raw is not self._root and ("$schema" in raw or self._id in raw) and self._opens(raw):
            if "$schema" in raw:
                return False
            self._nested_ids = True
        shape = self._shapes.get(keys := tuple(raw))
        if shape is None:
            shape = self._shapes[keys] = Shape(raw.keys() & self._asserted)
        if shape.may_be_idle:
            shape = in_force(raw, shape)
        said = shape.said
        if not said or (shape.is_type and self.is_type(raw["type"])):
            self.typed[id(raw)] = raw["type"] if said else ""
            self.instances.sure.add(id(raw))
            return True
        if "$ref" in said and (self._draft <= 7 or len(said) == 1):
            return self._reference(raw)
        if shape.group and self._group(raw, shape.group):
            return True
        if shape.is_late:
            return allows_nothing(raw, said) or self._wait(raw, said) or self._untamed(raw, said)
        tame = shape.may_be_sure and self._holds(raw, said) and self._judge(raw, said)
        return tame or self._untamed(raw, said)

    def _holds(self, raw: Raw, said: Said) -> bool:
        """Whether keywords hold what they can hold, those of tame parts."""
        for name in said:
            check = _CHECKS.get(name)
            if check is None or not check(self, raw[name]):
                return False
        return True

    def _wait(self, raw: Raw, said: Said) -> bool:
        """Note a late part, what it needs and what is below it; False if it is none."""
        patterns: Any = raw["patternProperties"] if "patternProperties" in said else {}
        well_formed = patterns.__class__ is dict and all(map(self.pattern, patterns))
        if not (well_formed and self._holds(raw, said - LATE)):
            return False
        needed = needs_of_late(raw, said, lambda part: part.keys() & self._asserted)
        if needed is None:
            return False
        for name in said & LATE & BELOW:
            self._todo.extend(schemas_at(raw, name))
        self.late[id(raw)] = raw
        self.instances.wait(raw, needed, every=True)
        return True

    def _postpone(self) -> None:
        """Find out which wild parts are late; what they refer to is known by now."""
        if not self.wild:
            return
        self.instances.drop(self.wild)
        wrong = {key for key, raw in self.wild.items() if not self._is_well_formed(raw)}
        self._todo.clear()

        def said_of(part: Raw) -> "set[str] | frozenset[str]":
            return UNTOLD if id(part) in wrong else part.keys() & self._asserted

        judge = Verdicts(self.targets, said_of, alone=self._draft <= 7)
        crowds, witnesses = Crowds(self.seen.values(), judge), Witnesses(judge)
        for key, raw in [*self.wild.items()]:
            if key not in wrong and crowds.allow(raw):
                needed = witnesses.needs(raw)
                if needed is not None:
                    self.late[key] = self.wild.pop(key)
                    self.instances.wait(raw, needed, every=True)

    def _is_well_formed(self, raw: Raw) -> bool:
        """Whether the keywords of a wild part hold what they can hold, and nothing special."""
        said = raw.keys() & self._asserted
        checks = ((_CHECKS.get(name) or _WILDER.get(name), raw[name]) for name in said)
        return all(check is not None and check(self, held) for check, held in checks)

    def _untamed(self, raw: Raw, said: Said) -> bool:
        """Note a wild part, and what is below it."""
        self.wild[id(raw)] = raw
        if not said.isdisjoint(_DYNAMIC) or ("$ref" in said and not self._reference(raw)):
            return False
        place = self._in_place.setdefault(id(raw), [])
        for name in said & BELOW:
            found = schemas_at(raw, name)
            self._todo.extend(found)
            if name in PLACED:
                place.extend(found)
        return True

    def _opens(self, raw: Raw) -> bool:
        """Whether a resource may begin at a nested schema: not without an identifier."""
        if "$schema" in raw:  # which says nothing then
            return "id" in raw or "$id" in raw
        given: Any = raw.get(self._id)
        if self._draft <= 7 and "$ref" in raw:  # beside which nothing counts
            return False
        return given.__class__ is str and given[:1] not in _NO_RESOURCE

    # What stands for others

    def _reference(self, raw: Raw) -> bool:
        name = raw["$ref"]
        if name.__class__ is not str or not (name == "#" or name.startswith("#/")):
            return False
        if name not in self.targets:
            found = self._follow(name)
            if found is None:
                return False
            self.targets[name] = found
            self._todo.append(found)
        below = [self.targets[name]]
        self._in_place[id(raw)] = below
        self.below.append((id(raw), below))
        if id(raw) not in self.wild:
            self.instances.wait(raw, below, every=True)
        return True

    def _follow(self, name: str) -> Json:
        """Where a pointer leads, None where that is not plain."""
        value: Any = self._root
        for step in unquote(name).split("/")[1:]:
            key = step.replace("~1", "/").replace("~0", "~")
            if value.__class__ is list:
                value = {str(place): one for place, one in enumerate(value)}
            elif value.__class__ is not dict or (value is not self._root and self._opens(value)):
                return None
            value = value.get(key)
        return value

    def _group(self, raw: Raw, name: str) -> bool:
        branches = raw[name]
        most = 1 if name == "allOf" else MOST_BRANCHES
        if branches.__class__ is not list or not 1 <= len(branches) <= most:
            return False
        if name == "oneOf":
            self._one_of.append(raw)
        self._todo.extend(branches)
        self._in_place[id(raw)] = branches
        self.instances.wait(raw, branches, every=False)
        return True

    def _resolved(self, part: Any) -> Any:
        """What a part stands for, if that is one whose keywords all hold."""
        whole = self.wild.keys() | self.late.keys()
        while id(part) not in whole and (below := stands_for(part, self.targets)):
            part = below[0] if len(below) == 1 else True
        if part.__class__ is not dict:
            return part
        return True if "$ref" in part else {n: part[n] for n in part.keys() & self._asserted}

    def _judge(self, raw: Raw, said: Said) -> bool:
        """Note whether a schema has an instance, or what it needs for that."""
        needed = needs(raw, said)
        if needed:
            self.instances.wait(raw, needed, every=True)
        elif needed is not None:
            self.instances.sure.add(id(raw))
        return True

    # Keywords

    def type(self, value: Any) -> bool:
        """The names of types."""
        if value.__class__ is str:
            return value in _KNOWN_TYPES
        return value.__class__ is list and len(value) > 0 and all(map(self.is_type, value))

    def is_type(self, name: Any) -> bool:
        """The name of a type."""
        return name.__class__ is str and name in _KNOWN_TYPES

    def values(self, value: Any) -> bool:
        """One or more values."""
        return value.__class__ is list and len(value) > 0 and is_shallow(value)

    def count(self, value: Any) -> bool:
        """A length or a number of items."""
        return value.__class__ is int and value >= 0

    def number(self, value: Any) -> bool:
        """A number."""
        return value.__class__ in _NUMBERS

    def bound(self, value: Any) -> bool:
        """A number, or in draft 4 a boolean."""
        return value.__class__ is bool if self._draft == 4 else value.__class__ in _NUMBERS

    def multiple(self, value: Any) -> bool:
        """A number of which multiples can be told."""
        return value.__class__ in _NUMBERS and value > 0 and factor_of(Decimal(value)) is not None

    def pattern(self, value: Any) -> bool:
        """A pattern that has an automaton."""
        return value.__class__ is str and self._lowers(value)

    def format(self, value: Any) -> bool:
        """The name of a format."""
        return value.__class__ is str and (not self._strict or value in _KNOWN_FORMATS)

    def names(self, value: Any) -> bool:
        """A list of names."""
        return value.__class__ is list and all(name.__class__ is str for name in value)

    def schema(self, value: Any) -> bool:
        """A schema."""
        self._todo.append(value)
        return value.__class__ is not list

    def schemas(self, value: Any) -> bool:
        """A list of one or more schemas."""
        if value.__class__ is list and value:
            self._todo.extend(value)
            return True
        return False

    def items(self, value: Any) -> bool:
        """A schema, or before 2020-12 a list of them."""
        if value.__class__ is list:
            return self._draft < LATEST and self.schemas(value)
        return self.schema(value)

    def members(self, value: Any) -> bool:
        """Schemas by name."""
        if value.__class__ is dict:
            self._todo.extend(value.values())
            return True
        return False

    def branches(self, value: Any) -> bool:
        """A list of schemas, not very many."""
        return self.schemas(value) and len(value) <= _MOST_MEETING

    def patterns(self, value: Any) -> bool:
        """Schemas by patterns that have automata."""
        return self.members(value) and all(map(self._lowers, value))

    def lists(self, value: Any) -> bool:
        """Lists of names by name."""
        return value.__class__ is dict and all(map(self.names, value.values()))

    def conditions(self, value: Any) -> bool:
        """Lists of names, or schemas, by name."""
        return value.__class__ is dict and all(
            self.names(part) or (part.__class__ is not list and self.schema(part))
            for part in value.values()
        )


_CHECKS: Final[dict[str, Callable[[_Check, Any], bool]]] = {
    "type": _Check.type,
    "enum": _Check.values,
    "const": lambda check, value: is_shallow(value),
    **dict.fromkeys(("minItems", "maxItems", "minLength", "maxLength"), _Check.count),
    **dict.fromkeys(("minimum", "maximum"), _Check.number),
    **dict.fromkeys(("exclusiveMinimum", "exclusiveMaximum"), _Check.bound),
    "pattern": _Check.pattern,
    "format": _Check.format,
    "required": _Check.names,
    "properties": _Check.members,
    "additionalProperties": _Check.schema,
    "items": _Check.items,
    "prefixItems": _Check.schemas,
    "additionalItems": _Check.schema,
    "multipleOf": _Check.multiple,
}
_WILDER: Final[dict[str, Callable[[_Check, Any], bool]]] = {
    **dict.fromkeys(("anyOf", "oneOf", "allOf"), _Check.branches),
    **dict.fromkeys(("not", "if", "then", "else", "propertyNames", "contains"), _Check.schema),
    **dict.fromkeys(("minProperties", "maxProperties", "minContains", "maxContains"), _Check.count),
    "patternProperties": _Check.patterns,
    "dependencies": _Check.conditions,
    "dependentRequired": _Check.lists,
    "dependentSchemas": _Check.members,
    "$ref": lambda check, value: value in check.targets,
}
