"""Close the objects of a schema that list `properties` and say nothing about other names.

A bare schema in `generate` means "these fields". The standard allows any other field beside them,
and a model then invents fields until its budget ends. Closing only adds keywords:

    an object by itself                  "additionalProperties": false
    one composed of several parts        "unevaluatedProperties": false, or in drafts 4 to 7 the
                                         names of all parts and no others
    a union (anyOf; disjoint oneOf)      each branch by itself

A member that several parts list stays open. So do schemas below `not`, `if`, `contains`,
`propertyNames` and any other `oneOf`, because closing them would allow more; a reference by URI or
anchor in such a place leaves the whole schema open, with a warning.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from itertools import chain, combinations
from typing import Any, Final, TypeAlias, TypeGuard, cast, final

from guideway.errors import GuidewayError, warn
from guideway.json_schema.resources import LATEST, find_draft, schemas_in
from guideway.json_schema.satisfiability.parts import Targets
from guideway.json_schema.text import read_json, write_deep, write_plain

Raw: TypeAlias = "dict[str, Any]"

_OTHERS: Final = (
    *("additionalProperties", "patternProperties", "unevaluatedProperties", "propertyNames"),
)
_BRANCHES: Final = ("allOf", "anyOf", "oneOf")
_DENYING: Final = ("not", "if", "contains", "propertyNames")  # what fails there is allowed
_DEPENDENT: Final = ("dependentSchemas", "dependencies")
_UNKNOWN: Final = ("$dynamicRef", "$recursiveRef")
_REFERENCES: Final = ("$ref", *_UNKNOWN)
_ITEMS: Final = ("items", "prefixItems", "additionalItems", "unevaluatedItems")
_SPEAKING: Final = frozenset(
    (*_BRANCHES, "if", "then", "else", *_DEPENDENT, *_UNKNOWN, *_OTHERS, "properties", "required")
)
_BESIDE_A_REFERENCE: Final = ("title", "description", "default", "$schema", "$defs", "definitions")


def close_objects(text: str) -> str:
    """The JSON text of a schema, closed; text that is no schema is returned as it is.

    >>> close_objects('{"properties": {"a": {"minimum": 0.50}}}')
    '{"properties":{"a":{"minimum":0.50}},"additionalProperties":false}'
    """
    try:
        root = read_json(text)
        closing = _Closing(root, find_draft(_map(root).get("$schema"), "", LATEST))
    except GuidewayError:  # raised again when the schema is read
        return text
    closing.visit(root)
    closing.change()
    return write_plain(root) or write_deep(root, _exact)


def _exact(scalar: object) -> str:
    return str(scalar) if isinstance(scalar, Decimal) else json.dumps(scalar)


@final
class _Closing:
    """`visit` collects the schemas to close, then `change` adds keywords.

    A schema that is part of a composed one somewhere (`open`) is not changed.
    """

    def __init__(self, root: Any, draft: int) -> None:
        self._targets, self._draft = Targets(root, draft), draft
        self._seen, self._open, self._kept = set[int](), set[int](), set[int]()
        self._found: list[tuple[Raw, list[Raw]]] = []
        self._referring: list[tuple[Raw, Raw]] = []
        self._lost: str | None = None  # an unknown reference out of a kept schema

    def visit(self, raw: Any) -> None:
        """Collect a schema that is no part of another, and those below."""
        todo = [raw]
        while todo:
            raw = todo.pop()
            if _is_raw(raw) and id(raw) not in self._seen:
                self._seen.add(id(raw))
                todo += self._visited(raw)

    def _visited(self, raw: Raw) -> list[Any]:
        """Collect a schema; return the schemas to visit next."""
        target = self._targets.get(raw.get("$ref"))
        if _is_raw(target) and (self._draft <= 7 or not raw.keys() & _SPEAKING):
            self._referring.append((raw, target))
            return [target]
        if self._is_union(raw):
            branches = chain.from_iterable(_list(raw.get(name)) for name in _BRANCHES)
            return [*branches, *self._below(raw, frozenset())]
        whole, composed = self._with_parts(raw, self._subschemas), self._with_parts(raw, self._held)
        self._open.update(id(part) for part in composed[1:])
        for part in chain.from_iterable(_list(one.get("oneOf")) for one in composed):
            self._keep(part)
        times = Counter(name for part in whole for name in _map(part.get("properties")))
        shared = frozenset(name for name in times if times[name] > 1)
        self._found.append((raw, whole))
        return [*chain.from_iterable(self._below(part, shared) for part in composed)]

    def _subschemas(self, raw: Raw) -> list[Any]:
        """Schemas that apply to the same value."""
        if self._draft <= 7 and "$ref" in raw:
            return self._held(raw)
        return [*self._held(raw), *_list(raw.get("oneOf")), raw.get("if")]

    def _held(self, raw: Raw) -> list[Any]:
        """Schemas that the value satisfies, all or some of them."""
        found: list[Any] = [self._targets.get(raw.get("$ref"))]
        if self._draft > 7 or "$ref" not in raw:
            found += [*_list(raw.get("allOf")), *_list(raw.get("anyOf"))]
            found += [raw.get("then"), raw.get("else")]
            found += chain.from_iterable(_map(raw.get(name)).values() for name in _DEPENDENT)
        return [part for part in found if part is not None]

    def _with_parts(self, raw: Raw, parts: Callable[[Raw], list[Any]]) -> list[Raw]:
        """A schema and all its parts."""
        whole, seen, todo = list[Raw](), set[int](), [raw]
        while todo:
            part: Any = todo.pop()
            if _is_raw(part) and id(part) not in seen:
                seen.add(id(part))
                whole.append(part)
                todo += parts(part)
        return whole

    def _below(self, raw: Raw, shared: frozenset[str]) -> list[Any]:
        """Schemas of members and items, without `shared` members."""
        found: list[Any] = [raw.get("additionalProperties"), raw.get("unevaluatedProperties")]
        for name, part in _map(raw.get("properties")).items():
            if name in shared:
                self._keep(part)
            else:
                found.append(part)
        for keyword in _ITEMS:
            held = raw.get(keyword)
            found += _list(held) or [held]
        for keyword in _DENYING:
            self._keep(raw.get(keyword))
        return [*found, *_map(raw.get("patternProperties")).values()]

    def _keep(self, raw: Any) -> None:
        """Leave a schema and all schemas below unchanged."""
        todo = [raw]
        while todo:
            raw = todo.pop()
            if _is_raw(raw) and id(raw) not in self._kept:
                self._kept.add(id(raw))
                todo += (part for at, part in schemas_in("", raw) if not at.startswith(_DEFINED))
                todo.append(self._targets.get(raw.get("$ref")))
                if not self._is_known(raw):
                    self._lost = next(str(raw[name]) for name in _REFERENCES if name in raw)

    def _is_union(self, raw: Raw) -> bool:
        """Return True if each branch can be closed by itself."""
        held = raw.keys() & {*_SPEAKING, "$ref"}
        if held == {"oneOf"}:
            branches = map(self._resolved, _list(raw["oneOf"]))
            return exclude_each_other(_of_objects(branches), self._resolved)
        return held == {"anyOf"} or (held == {"allOf"} and len(_list(raw["allOf"])) == 1)

    def _resolved(self, raw: Any) -> Any:
        """A schema, or the target of its references."""
        seen = set[int]()
        while _is_raw(raw) and "$ref" in raw and id(raw) not in seen:
            seen.add(id(raw))
            raw = self._targets.get(raw["$ref"])
        return raw

    def change(self) -> None:
        """Add the keywords."""
        if self._lost is not None:
            warn(
                "the objects of this schema stay open, because the reference "
                f"{self._lost!r} is not a JSON pointer and is used in not, if, oneOf or contains. "
                'Write "additionalProperties": false where you want no other members'
            )
            return
        fixed = self._open | self._kept
        for raw, whole in self._found:
            if id(raw) not in fixed and _is_to_close(whole):
                self._close(raw, whole)
        for raw, target in self._referring:
            whole = self._with_parts(target, self._subschemas)
            if id(target) in fixed and id(raw) not in fixed and _is_to_close(whole):
                self._close(raw, [raw, *whole])

    def _close(self, raw: Raw, whole: list[Raw]) -> None:
        known = all(self._is_known(part) for part in whole)
        if self._draft <= 7 and not known:  # these drafts have no unevaluatedProperties
            return
        static = self._draft <= 7 or (known and all("properties" not in one for one in whole[1:]))
        if self._draft <= 7 and "$ref" in raw:  # other keywords are ignored beside it
            kept = {name: raw[name] for name in _BESIDE_A_REFERENCE if name in raw}
            whole = whole[1:]
            reference = raw["$ref"]
            raw.clear()
            raw |= kept | {"allOf": [{"$ref": reference}]}
        parts = (raw,) if static else whole
        listed = {name for part in parts for name in _map(part.get("properties"))}
        more: Raw = {
            name: {} for part in whole for name in _mentioned_names(part) if name not in listed
        }
        if more:
            raw["properties"] = {**_map(raw.get("properties")), **more}
        raw["additionalProperties" if static else "unevaluatedProperties"] = False

    def _is_known(self, raw: Raw) -> bool:
        """Return True if all references of a schema can be followed."""
        found = "$ref" not in raw or self._targets.get(raw["$ref"]) is not None
        return found and not any(keyword in raw for keyword in _UNKNOWN)


_DEFINED: Final = ("/$defs/", "/definitions/")


def _is_to_close(whole: list[Raw]) -> bool:
    """Return True if properties are listed, and no keyword is about other names."""
    return any("properties" in part for part in whole) and not any(
        keyword in part for part in whole for keyword in _OTHERS
    )


def _mentioned_names(raw: Raw) -> Iterator[str]:
    """Names in `properties`, `required` and dependencies."""
    yield from _map(raw.get("properties"))
    yield from (name for name in _list(raw.get("required")) if isinstance(name, str))
    for keyword in ("dependentRequired", "dependencies"):
        for needed in _map(raw.get(keyword)).values():
            yield from (name for name in _list(needed) if isinstance(name, str))


def _of_objects(branches: Iterable[Any]) -> list[Any]:
    """The branches that objects may satisfy, for objects alone."""
    found = [branch if _is_raw(branch) else {} for branch in branches if branch is not False]
    types = [one.get("type", "object") for one in found]
    return [
        {**one, "type": "object"}
        for one, kinds in zip(found, types, strict=True)
        if kinds == "object" or "object" in _list(kinds)
    ]


def _is_raw(value: Any) -> TypeGuard[Raw]:
    return isinstance(value, dict)


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _map(value: Any) -> Raw:
    return value if _is_raw(value) else {}


Resolve: TypeAlias = Callable[[Any], Any]
Known: TypeAlias = "frozenset[tuple[str, object]]"

_DEPTH: Final = 4
_KINDS: Final = {
    **{name: name for name in ("null", "boolean", "number", "string", "array", "object")},
    "integer": "number",
}
_OBJECTS: Final = frozenset(("object",))


def exclude_each_other(branches: list[Any], resolve: Resolve) -> bool:
    """Return True if no value satisfies two of the branches; False if unknown.

    `resolve` follows references; keywords of its result apply, but their values may be malformed.

    >>> a, b = ({"properties": {"t": {"const": t}}, "required": ["t"]} for t in "ab")
    >>> plain = {"type": "null"}
    >>> exclude_each_other([{**a, "type": "object"}, {**b, "type": "object"}, plain], lambda x: x)
    True
    >>> exclude_each_other([a, b], lambda x: x)  # both allow 1
    False
    """
    return all(apart(one, other, resolve) for one, other in combinations(branches, 2))


def apart(one: Any, other: Any, resolve: Resolve, depth: int = _DEPTH) -> bool:
    """Return True if two schemas surely exclude each other."""
    one, other = resolve(one), resolve(other)
    if one is False or other is False:
        return True
    if one.__class__ is not dict or other.__class__ is not dict:
        return False
    shared = _kinds(one) & _kinds(other)
    if not shared:
        return True
    known, others = _listed_scalars(one), _listed_scalars(other)
    if known is not None and others is not None:
        return known.isdisjoint(others)
    if known is not None or others is not None:
        shared &= {kind for kind, _ in known or others or ()}
    return not shared or (shared == _OBJECTS and _objects_apart(one, other, resolve, depth))


def _kinds(raw: Raw) -> frozenset[str]:
    types: Any = raw.get("type")
    names: Any = [types] if types.__class__ is str else types
    if names.__class__ is not list:
        return frozenset(_KINDS.values())
    return frozenset(_KINDS[name] for name in names if name.__class__ is str and name in _KINDS)


def _listed_scalars(raw: Raw) -> "Known | None":
    """Scalars that `enum` or `const` list; None without these or with arrays or objects."""
    listed = raw["enum"] if raw.get("enum").__class__ is list else None
    if "const" in raw:
        listed = [raw["const"]]
    if listed is None:
        return None
    found = {(_kind(value), value) for value in listed if value.__class__ not in (list, dict)}
    return frozenset(found) if len(found) == len(listed) else None


def _kind(value: Any) -> str:
    if value is None or value.__class__ is bool:
        return "null" if value is None else "boolean"
    return "number" if value.__class__ in (int, Decimal) else "string"


def _objects_apart(one: Raw, other: Raw, resolve: Resolve, depth: int) -> bool:
    needed, more = _required(one), _required(other)
    if not (_lets_in(one, more) and _lets_in(other, needed)):
        return True
    mine, theirs = _map(one.get("properties")), _map(other.get("properties"))
    return depth > 0 and any(
        apart(mine[name], theirs[name], resolve, depth - 1)
        for name in needed & more
        if name in mine and name in theirs
    )


def _required(raw: Raw) -> set[str]:
    return {name for name in _list(raw.get("required")) if isinstance(name, str)}


def _lets_in(raw: Raw, names: set[str]) -> bool:
    """Return False if the schema forbids one of these members."""
    closed = raw.get("additionalProperties") is False and "patternProperties" not in raw
    return not closed or names <= _map(raw.get("properties")).keys()
