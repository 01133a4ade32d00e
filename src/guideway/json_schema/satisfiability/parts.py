"""The parts of a JSON Schema: references, what lies below what, and which have an instance."""

import re
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache, reduce
from typing import Any, Final, TypeAlias, TypeVar, cast
from urllib.parse import unquote

from guideway.errors import GuidewayError
from guideway.json_schema.text import Json, extend, steps
from guideway.json_schema.tree import ASSERTED, JSON_TEXT, LISTS, MAPS, PLACES, Draft
from guideway.regex.parser import parse_search
from guideway.regex.tree import Back, Boundary, Look

Raw: TypeAlias = "dict[str, Any]"
KeywordSet: TypeAlias = AbstractSet[str]
"""The asserting keywords of a schema."""

_NO_RESOURCE: Final = ("", "#")  # identifiers that begin so open no resource


class Targets(dict[str, Any]):
    """Schemas by reference, followed on demand.

    >>> found = Targets({"$defs": {"a": {"type": "null"}}}, 2020)
    >>> found["#/$defs/a"], found.get("#/$defs/b"), sorted(found)
    ({'type': 'null'}, None, ['#/$defs/a'])
    """

    def __init__(self, root: Json, draft: Draft) -> None:
        super().__init__()
        self._root, self._draft = root, draft
        self.identifier = "id" if draft == 4 else "$id"

    def __missing__(self, name: str) -> Any:
        """Follow a reference."""
        found = self.follow(name)
        if found is None:
            raise KeyError(name)
        self[name] = found
        return found

    def get(self, name: Any, default: Any = None) -> Any:
        """Target of a reference; `default` if it cannot be followed."""
        plain = name.__class__ is str and is_plain(name)
        try:
            return self[name] if plain else default
        except KeyError:
            return default

    def opens(self, raw: Raw) -> bool:
        """Return True if a resource may begin at a nested schema."""
        if "$schema" in raw:  # without an identifier it has no effect
            return "id" in raw or "$id" in raw
        given: Any = raw.get(self.identifier)
        if self._draft <= 7 and "$ref" in raw:  # other keywords are ignored beside it
            return False
        return given.__class__ is str and given[:1] not in _NO_RESOURCE

    def follow(self, name: str) -> Json:
        """Target of a pointer; None if it is missing or inside another resource."""
        value: Any = self._root
        for key in steps(unquote(name)):
            if value.__class__ is list:
                value = {str(place): one for place, one in enumerate(value)}
            elif value.__class__ is not dict or (value is not self._root and self.opens(value)):
                return None
            value = value.get(key)
        return value


def is_plain(name: str) -> bool:
    """Return True for a JSON pointer into the same document."""
    return name == "#" or name.startswith("#/")


_BRANCHES: Final = frozenset(("then", "else"))
PLACED: Final = frozenset(
    (
        *("allOf", "anyOf", "oneOf", "not", "if", "then", "else"),
        *("dependentSchemas", "dependencies"),
    )
)
"""Keywords whose schemas apply to the same instance."""

BELOW: Final = (PLACES | {JSON_TEXT}) - {"$defs", "definitions", "contentSchema"}
"""All keywords with schemas that may assert something."""


def schemas_at(raw: Raw, name: str) -> list[Any]:
    """Schemas of a keyword, without those that have no effect."""
    value: Any = raw[name]
    unread = (name in _BRANCHES and "if" not in raw) or (
        name == "additionalItems" and raw.get("items").__class__ is not list
    )
    if value.__class__ is list and name in LISTS:
        listed = value
    elif value.__class__ is dict and name in MAPS:
        names = name == "dependencies"  # its values may be lists of names
        listed = [part for part in value.values() if not names or part.__class__ is not list]
    else:
        listed = [value]
    return [] if unread else listed


def is_shallow(value: Any) -> bool:
    """Return True if a value has at most 32 levels, so that it can be compared."""
    parts = [value]
    for _ in range(33):
        below: list[Any] = []
        for part in parts:
            if part.__class__ is list:
                below += part
            elif part.__class__ is dict:
                below += part.values()
        parts = below
        if not parts:
            return True
    return False


@lru_cache(maxsize=1024)
def is_plain_pattern(text: str) -> bool:
    """Return True for a well-formed pattern without lookaround, boundaries and back references."""
    try:
        pattern = parse_search(text)
    except GuidewayError:
        return False
    return not pattern.has(Look, Boundary, Back)


VALUED: Final = frozenset(("enum", "const"))
_TYPES: Final[dict[type, set[str]]] = {
    str: {"string"},
    bool: {"boolean"},
    int: {"integer", "number"},
    type(None): {"null"},
}
_LOWER: Final = frozenset(("minimum", "exclusiveMinimum"))
_UPPER: Final = frozenset(("maximum", "exclusiveMaximum"))
_BOUNDS: Final = _LOWER | _UPPER
_NUMBERS: Final = frozenset((int, Decimal))
_OPEN_OR_FEWER: Final = frozenset(("exclusiveMinimum", "exclusiveMaximum", "multipleOf"))
_MANY: Final = 1 << 62
# A sequence of repeated character classes, with outer anchors only: it always matches some text.
_ANY_LENGTH: Final = re.compile(
    r"\^?(?:(?:[A-Za-z0-9 _:@/,;-]|\\[dws.]|\[(?:[a-z0-9_.-]|A-Z)+\])"
    r"(?:[*+?]|\{\d+(?:,\d*)?\})?)*\$?"
)


def needs(raw: Raw, kw: KeywordSet) -> list[Any] | None:
    """Subschemas that must have instances for a schema to have one; None if that is not known.

    The schema is well formed, without references and combining keywords. `kw` are its asserting
    keywords.

    >>> needs({"type": "array", "items": False, "minItems": 1}, {"type", "items", "minItems"})
    [False]
    """
    if not kw.isdisjoint(VALUED):
        return _valued(raw, kw)
    types: Any = raw.get("type")
    return (_JUDGES[types] if types.__class__ is str else _any_type)(raw, kw)


def _any_type(raw: Raw, kw: KeywordSet) -> list[Any] | None:
    if "type" not in raw:
        return []
    found = [_JUDGES[name](raw, kw) for name in raw["type"]]
    return [] if [] in found else next((needed for needed in found if needed), None)


def _valued(raw: Raw, kw: KeywordSet) -> list[Any] | None:
    """`needs` for `enum` or `const`, alone or with types and string keywords."""
    if len(kw) == 1:
        return []
    if not kw <= {"type", *VALUED}:
        return None
    values = raw["enum"] if "enum" in kw else [raw["const"]]
    given = raw.get("type", "string")
    types = {given} if given.__class__ is str else set(given)
    return [] if any(types & _TYPES.get(value.__class__, set()) for value in values) else None


def _surely(raw: Raw, kw: KeywordSet) -> list[Any]:
    return []


def _string(raw: Raw, kw: KeywordSet) -> list[Any] | None:
    if "pattern" in kw:
        return [] if len(kw) == 2 and _ANY_LENGTH.fullmatch(raw["pattern"]) else None
    if "format" in kw:
        return [] if len(kw) == 2 else None
    return [] if raw.get("minLength", 0) <= raw.get("maxLength", _MANY) else None


def _number(raw: Raw, kw: KeywordSet) -> list[Any] | None:
    """`needs` for numbers; in draft 4, exclusive bounds are booleans."""
    bounds = [raw[name] for name in kw & _BOUNDS]
    if "multipleOf" not in kw and all(bound.__class__ in _NUMBERS for bound in bounds):
        low = max((raw[name] for name in kw & _LOWER), default=None)
        high = min((raw[name] for name in kw & _UPPER), default=None)
        if low is not None and high is not None and low < high:
            return []
    return _integer(raw, kw)


def _integer(raw: Raw, kw: KeywordSet) -> list[Any] | None:
    if kw.isdisjoint(_LOWER) or kw.isdisjoint(_UPPER):
        return []
    closed = "minimum" in kw and "maximum" in kw and kw.isdisjoint(_OPEN_OR_FEWER)
    low = raw["minimum"] if closed else None
    return [] if low.__class__ is int and low <= raw["maximum"] else None


def _array(raw: Raw, kw: KeywordSet) -> list[Any] | None:
    low = raw.get("minItems", 0)
    if low > raw.get("maxItems", low):
        return None
    prefix, rest = items_of(raw, kw)
    needed = prefix[:low] if low <= len(prefix) else [*prefix, rest]
    return [part for part in needed if part is not True]


def items_of(raw: Raw, kw: KeywordSet) -> tuple[list[Any], Any]:
    """The schemas of the first items, and the one of all others."""
    rest: Any = raw.get("items", True)
    if rest.__class__ is list:  # before 2020-12
        return rest, raw.get("additionalItems", True)
    return raw["prefixItems"] if "prefixItems" in kw else [], rest


def _object(raw: Raw, kw: KeywordSet) -> list[Any] | None:
    if "required" not in kw:
        return []
    properties, others = raw.get("properties", {}), raw.get("additionalProperties", True)
    needed = (properties.get(name, others) for name in raw["required"])
    return [part for part in needed if part is not True]


_JUDGES: Final[dict[str, Callable[[Raw, KeywordSet], "list[Any] | None"]]] = {
    "null": _surely,
    "boolean": _surely,
    "string": _string,
    "integer": _integer,
    "number": _number,
    "array": _array,
    "object": _object,
}


DEPENDENT: Final = frozenset(("dependentRequired", "dependencies", "dependentSchemas"))
"""Keywords by which the presence of a name requires something."""


def allows_nothing(raw: Raw, kw: KeywordSet) -> bool:
    """Return True for `{"not": {}}`, a common way to write `false`."""
    return kw == {"not"} and (raw["not"] is True or raw["not"] == {})


def most_dependent(raw: Raw, kw: KeywordSet) -> int:
    """The greatest number of entries in a dependency keyword."""
    return max((len(_mapped(raw[name])) for name in kw & DEPENDENT), default=0)


def _mapped(value: Any) -> list[Any]:
    """Values of an object, or [None] for anything else."""
    return list(value.values()) if value.__class__ is dict else [None]


_Node = TypeVar("_Node", bound=Hashable)
Waiting: TypeAlias = tuple[int, list[Any], bool]
"""A part, the parts whose instances it needs, and True if it needs all, not any, of them."""


def find_loop(
    starts: Iterable[_Node], following: Callable[[_Node], Iterable[_Node]]
) -> tuple[_Node, _Node] | None:
    """A node, and one that follows it and leads to it; None if there is no loop.

    >>> find_loop([1, 2], {1: [2], 2: []}.get), find_loop([1], {1: [2], 2: [1]}.get)
    (None, (2, 1))
    """
    closed, opened = set[_Node](), set[_Node]()
    for start in starts:
        stack = [start]
        while stack:  # depth first: a node is opened, then closed
            node = stack[-1]
            if node in opened or node in closed:
                opened.discard(stack.pop())
                closed.add(node)
                continue
            opened.add(node)
            for target in following(node):
                if target in opened:
                    return node, target
                stack.append(target)
    return None


def reaching(goals: Collection[int], edges: list[tuple[int, list[Any]]]) -> set[int]:
    """Parts from which one of `goals` is reachable; `edges` are parts and their children."""
    around: dict[int, list[int]] = {}
    for part, below in edges if goals else ():
        for one in below:
            around.setdefault(id(one), []).append(part)
    found, todo = set(goals), list(goals)
    while todo:
        fresh = [part for part in around.get(todo.pop(), ()) if part not in found]
        found.update(fresh)
        todo.extend(fresh)
    return found


class Instances:
    """Parts that surely have an instance.

    >>> leaf, box = {}, {}
    >>> known = Instances()
    >>> known.sure.add(id(leaf))
    >>> known.wait(box, [leaf, False], every=False)
    >>> known.settle()
    >>> id(box) in known.sure
    True
    """

    def __init__(self) -> None:
        self._waiting = list[Waiting]()
        self.sure: Final[set[int]] = set()

    def wait(self, part: Any, needed: list[Any], *, every: bool) -> None:
        """Record that a part has an instance if all (`every`) or any of `needed` have."""
        self._waiting.append((id(part), needed, every))

    def settle(self) -> None:
        """Propagate instances to the parts that wait for them, latest first."""
        left = [one for one in reversed(self._waiting) if not self._settled(*one)]
        dependents: dict[int, list[Waiting]] = {}
        for one in left:
            for part in one[1]:
                dependents.setdefault(id(part), []).append(one)
        while left:
            one = left.pop()
            if one[0] not in self.sure and self._settled(*one):
                left.extend(dependents.get(one[0], ()))

    def _settled(self, key: int, needed: list[Any], every: bool) -> bool:
        sure = self.sure
        if (all if every else any)(part is True or id(part) in sure for part in needed):
            sure.add(key)
            return True
        return False


GROUPS: Final = ("anyOf", "oneOf", "allOf")
"""Keywords with a list of schemas for the same instance."""

_Way: TypeAlias = "tuple[_Way, str | int] | None"  # parent and last key
_ELSEWHERE: Final = frozenset(("$ref", *GROUPS))


@dataclass(frozen=True, slots=True, eq=False)
class LazySchema:
    """A schema and its parts, by id.

    Attributes:
        root: the whole schema.
        targets: schemas by reference.
        parts: reachable objects that are schemas.
        sure: parts that surely have an instance.
        decided: parts that are not lazy.
        late: parts lowered as a whole when they are entered.
        eager: parts from which a decided one is reachable.
        typed: the type of parts without other keywords, "" for parts without any.
    """

    root: Json
    draft: Draft
    targets: dict[str, Any]
    parts: Collection[int]
    sure: set[int]
    decided: dict[int, Raw]
    late: dict[int, Raw]
    eager: set[int]
    typed: dict[int, str]

    def keywords(self, raw: Raw) -> set[str]:
        """The asserting keywords of a part."""
        return raw.keys() & ASSERTED[self.draft]

    def is_lazy(self, raw: Json) -> bool:
        return id(raw) in self.parts and id(raw) not in self.decided

    def is_sure(self, raw: Raw) -> bool:
        """Return True if a part other than `false` surely has an instance."""
        return id(raw) in self.sure

    def is_nothing(self, raw: Json) -> bool:
        """Return True if a part surely has no instance."""
        if raw.__class__ is not dict:
            return raw is False
        part = cast("Raw", raw)
        return "not" in part and allows_nothing(part, self.keywords(part))

    def options(self, raw: Json) -> list[Json]:
        """Alternatives of a part, with references followed."""
        if raw.__class__ is dict and _ELSEWHERE.isdisjoint(cast("Raw", raw)):
            return [raw]
        found, todo, seen = list[Json](), [raw], set[int]()
        while todo:
            part = todo.pop()
            whole = id(part) in self.decided or id(part) in self.late
            below = None if whole else stands_for(part, self.targets)
            if below is None:
                found.append(part)
            elif id(part) not in seen:
                seen.add(id(part))
                todo.extend(reversed(below))
        return found

    def pointers(self, goals: Collection[int]) -> Iterator[tuple[int, str]]:
        """Ids and JSON pointers of some parts, lazily, the root first."""
        left = len(goals)
        told = dict[int, tuple[_Way, str]]()
        todo: list[tuple[Any, _Way]] = [(self.root, None)]
        while todo and left:
            value, way = todo.pop()
            if id(value) in goals:
                left -= 1
                yield id(value), _pointer(way, told)
            inside = value.items() if value.__class__ is dict else enumerate(value)
            todo += [(one, (way, key)) for key, one in inside if one.__class__ in (dict, list)]


def _pointer(way: _Way, told: dict[int, tuple[_Way, str]]) -> str:
    """JSON pointer of a path; continues from a known one (`not` 3,000 deep took 2.7 s)."""
    keys, at = list[str](), way
    while at is not None and id(at) not in told:
        at, key = at
        keys.append(str(key))
    found = reduce(extend, reversed(keys), "" if at is None else told[id(at)][1])
    told[id(way)] = way, found  # keeps the id valid
    return found


def stands_for(raw: Any, targets: dict[str, Any]) -> list[Any] | None:
    """Schemas whose union equals a lazy schema; None without reference or group."""
    if raw.__class__ is not dict:
        return None
    if "$ref" in raw:
        return [targets[raw["$ref"]]]
    for name in GROUPS:
        if name in raw:
            return raw[name]
    return None
