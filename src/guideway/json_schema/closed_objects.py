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
from collections.abc import Callable, Iterator
from decimal import Decimal
from itertools import chain, combinations
from typing import Any, Final, TypeAlias, TypeGuard, cast

from guideway.errors import GuidewayError, warn
from guideway.json_schema.discriminators import Outlines
from guideway.json_schema.parser import LooseParts
from guideway.json_schema.resources import find_draft, steps_in
from guideway.json_schema.satisfiability.parts import Targets
from guideway.json_schema.text import read_json, write_deep, write_plain
from guideway.json_schema.tree import LATEST, Document

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
_RESTRICTING: Final = frozenset(
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


class _Closing:
    """`visit` collects the schemas to close, then `change` adds keywords.

    A schema that is part of a composed one somewhere (`open`) is not changed.
    """

    def __init__(self, root: Any, draft: int) -> None:
        self._root, self._targets, self._draft = root, Targets(root, draft), draft
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
        if _is_raw(target) and (self._draft <= 7 or not raw.keys() & _RESTRICTING):
            self._referring.append((raw, target))
            return [target]
        if self._is_union(raw):
            branches = chain.from_iterable(_list(raw.get(name)) for name in _BRANCHES)
            return [*branches, *self._below(raw, frozenset())]
        whole, composed = self._with_parts(raw, self._subschemas), self._with_parts(raw, self._held)
        self._open.update(id(part) for part in composed[1:])
        for part in chain.from_iterable(_list(one.get("oneOf")) for one in composed):
            self._leave(part)
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
                self._leave(part)
            else:
                found.append(part)
        for keyword in _ITEMS:
            held = raw.get(keyword)
            found += _list(held) or [held]
        for keyword in _DENYING:
            self._leave(raw.get(keyword))
        return [*found, *_map(raw.get("patternProperties")).values()]

    def _leave(self, raw: Any) -> None:
        """Leave a schema and all schemas below unchanged."""
        todo = [raw]
        while todo:
            raw = todo.pop()
            if _is_raw(raw) and id(raw) not in self._kept:
                self._kept.add(id(raw))
                todo += (part for steps, part in steps_in(raw) if steps[0] not in _DEFINED)
                todo.append(self._targets.get(raw.get("$ref")))
                if not self._is_known(raw):
                    self._lost = next(str(raw[name]) for name in _REFERENCES if name in raw)

    def _is_union(self, raw: Raw) -> bool:
        """Return True if each branch can be closed by itself."""
        held = raw.keys() & {*_RESTRICTING, "$ref"}
        if held == {"oneOf"}:
            return self._exclude_each_other(_list(raw["oneOf"]))
        return held == {"anyOf"} or (held == {"allOf"} and len(_list(raw["allOf"])) == 1)

    def _exclude_each_other(self, branches: list[Any]) -> bool:
        """Return True if surely no object satisfies two of the branches."""
        parts = LooseParts(self._root, self._draft, strict=False)
        places = [parts.enter(f"/{number}", branch) for number, branch in enumerate(branches)]
        exclude = Outlines(Document(parts.root, parts)).exclude
        try:
            return all(exclude(one, other, "object") for one, other in combinations(places, 2))
        except GuidewayError:  # raised again when the schema is read
            return False

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


_DEFINED: Final = ("$defs", "definitions")


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


def _is_raw(value: Any) -> TypeGuard[Raw]:
    return isinstance(value, dict)


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _map(value: Any) -> Raw:
    return value if _is_raw(value) else {}
