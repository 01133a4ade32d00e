"""Targets of references: in the same document or a given resource, never on a network.

A reference is a URI, resolved against the URI of its resource, and a fragment: a JSON pointer, or
the name of an anchor.

A `$dynamicRef` to a `$dynamicAnchor` continues to the anchor of that name in the outermost resource
on the path, `$recursiveRef` likewise to a root. So the meaning of a schema may depend on the
resources passed: the scope has the anchors that they bind, and `Place.address` differs with them.
Bindings are kept only if a document has a dynamic reference; there are finitely many.
"""

from dataclasses import replace
from typing import TypeAlias, final
from urllib.parse import unquote

from guideway.errors import SourceError, UnsupportedError
from guideway.syntax.frozen import by_identity
from guideway.syntax.json_schema_resources import (
    RECURSIVE,
    Anchor,
    Catalogue,
    Resource,
    joined,
)
from guideway.syntax.json_schema_tree import Address, Document
from guideway.syntax.json_text import Json, extend, show, steps
from guideway.syntax.names import did_you_mean

Bindings: TypeAlias = tuple[tuple[str, Resource], ...]


@final
@by_identity
class Scope:
    """The nearest resource, and the outermost resource of each dynamic anchor on the path."""

    resource: Resource
    bindings: Bindings
    catalogue: Catalogue

    @property
    def draft(self) -> int:
        return self.resource.draft

    def entering(self, resource: Resource) -> "Scope":
        """This scope inside another resource."""
        if resource is self.resource:
            return self
        bound = {name for name, _ in self.bindings}
        fresh = tuple((name, resource) for name in resource.dynamic if name not in bound)
        return Scope(resource, self.bindings + fresh, self.catalogue)

    @property
    def name(self) -> str:
        """The document, with a number for the bindings if there are any."""
        number = self.catalogue.number(self.bindings) if self.bindings else 0
        document = f"{self.catalogue.name}{self.resource.document}"
        return f"{document}~{number}" if number else document


@final
@by_identity
class Place:
    """A schema to be read, or a value if `constant`."""

    scope: Scope
    pointer: str
    raw: Json
    constant: bool = False

    @property
    def address(self) -> Address:
        """Name of the schema in the tree."""
        return f"{'=' if self.constant else ''}{self.scope.name}#{self.pointer}"

    @property
    def shown(self) -> str:
        """The place for a message: the pointer, after the URI if it is another document's."""
        document = self.scope.resource.document
        return f"{document}#{self.pointer}" if document else self.pointer

    def child(self, *keys: str | int) -> str:
        """Pointer of a part."""
        pointer = self.pointer
        for key in keys:
            pointer = extend(pointer, str(key))
        return pointer

    def entered(self) -> "Place":
        """This place, in the scope of the resource that begins here, if one does."""
        own = self.scope.catalogue.at(self.scope.resource.document, self.pointer)
        return self if own is None else replace(self, scope=self.scope.entering(own))


@final
class Library:
    """The main document, the resources, and the targets of references."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        main = catalogue.main
        bindings = tuple((name, main) for name in main.dynamic)
        self.main = Scope(main, bindings, catalogue)

    @property
    def root(self) -> Place:
        return Place(self.main, "", self._catalogue.main.raw)

    def resolve(self, place: Place, keyword: str, reference: object) -> Place:
        """The place that a reference at `place` names."""
        at = f"{place.shown}/{keyword}"
        if not isinstance(reference, str):
            raise SourceError(f"{keyword} must be a string, not {show(reference)}", place=at)
        what = f"{keyword} {show(reference)}"
        base, _, fragment = reference.partition("#")
        resource = place.scope.resource
        if base:
            resource = self._other(joined(resource.uri, base, keyword, place.shown), what, at)
        name = unquote(fragment)
        if keyword == "$recursiveRef":
            return self._recursive(place, resource)
        if not name or name.startswith("/"):
            return self._follow(place.scope.entering(resource), name, what, at)
        target = self._anchored(resource, name, what, at)
        if keyword == "$dynamicRef" and name in resource.dynamic:
            scope = place.scope.entering(resource)
            target = dict(scope.bindings)[name]
            return Place(scope.entering(target), *target.dynamic[name])
        return Place(place.scope.entering(resource), *target)

    def _other(self, uri: str, what: str, at: str) -> Resource:
        found = self._catalogue.find(uri)
        if found is None:
            raise UnsupportedError(
                f"{what} names another schema, and guideway fetches nothing: pass that schema as "
                "JsonSchema(..., resources={uri: schema}), or the folder of its file",
                feature="$ref",
                place=at,
            )
        return found

    def _recursive(self, place: Place, resource: Resource) -> Place:
        scope = place.scope.entering(resource)
        if RECURSIVE in resource.dynamic:
            resource = dict(scope.bindings)[RECURSIVE]
        return Place(scope.entering(resource), resource.pointer, resource.raw)

    def _anchored(self, resource: Resource, name: str, what: str, at: str) -> Anchor:
        found = resource.anchors.get(name)
        if found is None:
            hint = did_you_mean(name, list(resource.anchors))
            raise SourceError(f"{what} is wrong: there is no such anchor{hint}", place=at)
        return found

    def _follow(self, scope: Scope, pointer: str, what: str, at: str) -> Place:
        """Follow a pointer from the root of the scope's resource."""
        place = Place(scope, scope.resource.pointer, scope.resource.raw)
        for key in steps(pointer):
            place, value = place.entered(), place.raw
            path = place.child(key)
            if isinstance(value, dict) and key in value:
                value = value[key]
            elif isinstance(value, list) and _is_index(key) and int(key) < len(value):
                value = value[int(key)]
            else:
                names = list(value) if isinstance(value, dict) else []
                raise SourceError(
                    f"{what} is wrong: there is no {path}{did_you_mean(key, names)}", place=at
                )
            place = Place(place.scope, path, value)
        return place


def _is_index(key: str) -> bool:
    """Return True for an index of a list; Python refuses to read 5,000 digits."""
    return key.isdecimal() and len(key) < 20


def check_loops(document: Document) -> None:
    """Refuse a schema that refers to itself without going into a part of the instance.

    Such as {"$ref": "#"}, which has no meaning (JSON Schema 2020-12, §9.4.1).
    """
    # Depth first with an explicit stack; a schema is opened, then closed.
    closed, opened = set[Address](), dict[Address, None]()
    for start in document.schemas:
        stack = [start]
        while stack:
            address = stack[-1]
            if address in closed or address in opened:
                stack.pop()
                if opened.pop(address, 0) is None:
                    closed.add(address)
                continue
            opened[address] = None
            following = document.schemas[address].in_place
            for target in following:
                if target in opened:
                    raise SourceError(
                        f"{target} refers to itself without going into a part of the instance",
                        place=address.partition("#")[2],
                    )
            stack.extend(target for target in following if target not in closed)
