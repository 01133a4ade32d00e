"""Where `$ref` leads: into the same document or a given resource, never onto a network.

A reference is a URI, resolved against the URI of the resource it stands in (the nearest `$id`), and
a JSON pointer into that resource. A resource that stands inside another (`$id` in a subschema) is
its own scope: `#` there means its root.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final
from urllib.parse import unquote, urljoin

from fairlead.errors import SourceError, UnsupportedError
from fairlead.syntax.json_schema_keywords import LATEST, Draft, find_draft
from fairlead.syntax.json_schema_tree import Address, Document
from fairlead.syntax.json_text import Json, extend, read_json, show
from fairlead.syntax.names import did_you_mean


@final
@dataclass(frozen=True, slots=True, eq=False)
class Scope:
    """The resource that a schema belongs to.

    Attributes:
        uri: its URI, "" where it has none.
        document: the name of the JSON text it stands in, "" for the main one.
        pointer: its root in that text.
        raw: what stands there.
        draft: the draft it is written in.
    """

    uri: str
    document: str
    pointer: str
    raw: Json
    draft: Draft


@final
@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """A schema to be read, or, if `constant`, a value."""

    scope: Scope
    pointer: str
    raw: Json
    constant: bool = False

    @property
    def address(self) -> Address:
        """The name of the schema in the tree."""
        return f"{'=' if self.constant else ''}{self.scope.document}#{self.pointer}"

    @property
    def shown(self) -> str:
        """The place for a message: the pointer, after the URI if it is another document's."""
        return f"{self.scope.document}#{self.pointer}" if self.scope.document else self.pointer

    def child(self, *keys: str | int) -> str:
        """The pointer of a part."""
        pointer = self.pointer
        for key in keys:
            pointer = extend(pointer, str(key))
        return pointer

    def entered(self) -> "Place":
        """This place, in the scope that it opens if it has an `$id`."""
        return Place(_inner(self.scope, self.pointer, self.raw), self.pointer, self.raw)


@final
class Library:
    """The main document and the resources, by URI."""

    def __init__(self, text: str, resources: tuple[tuple[str, str], ...]) -> None:
        self._roots: dict[str, Scope] = {}
        self.main = self._add("", text, LATEST)
        for uri, other in resources:
            self._add(uri, other, self.main.draft)

    def resolve(self, place: Place, reference: object) -> Place:
        """The place that a `$ref` at `place` names.

        Raises:
            SourceError: it is no string, or leads nowhere.
            UnsupportedError: it leaves the documents at hand, or names an anchor.
        """
        at = f"{place.shown}/$ref"
        if not isinstance(reference, str):
            raise SourceError(f"$ref must be a string, not {show(reference)}", place=at)
        base, _, fragment = reference.partition("#")
        scope = self._root(place.scope, base) if base else place.scope
        if scope is None:
            raise UnsupportedError(
                f"$ref {show(reference)} leaves this schema; nothing is fetched, so pass what it "
                "means as JsonSchema(..., resources={uri: schema})",
                feature="$ref",
                place=at,
            )
        if fragment and not fragment.startswith("/"):
            raise UnsupportedError(
                f"$ref {show(reference)} names an anchor; only JSON pointers are supported",
                feature="$ref",
                place=at,
            )
        return _follow(scope, unquote(fragment), f"$ref {show(reference)}", at)

    def _root(self, scope: Scope, base: str) -> Scope | None:
        uri = urljoin(scope.uri, base)
        return scope if uri == scope.uri else self._roots.get(uri)

    def _add(self, document: str, text: str, default: Draft) -> Scope:
        raw = read_json(text)
        said: Mapping[str, Json] = raw if isinstance(raw, dict) else {}
        draft = find_draft(said.get("$schema"), document, default)
        uri = urljoin(document, _identifier(raw, draft)).removesuffix("#")
        scope = Scope(uri, document, "", raw, draft)
        self._roots[uri] = self._roots[document.removesuffix("#")] = scope
        return scope


def check_loops(document: Document) -> None:
    """Refuse a schema that refers to itself without going into a part of the instance.

    Raises:
        SourceError: {"$ref": "#"} and its like, which mean nothing (JSON Schema 2020-12, §9.4.1).
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


def _follow(scope: Scope, pointer: str, what: str, at: str) -> Place:
    value, path = scope.raw, scope.pointer
    for step in pointer.split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        scope = _inner(scope, path, value)
        path = extend(path, key)
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif isinstance(value, list) and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        else:
            names = list(value) if isinstance(value, dict) else []
            raise SourceError(
                f"{what} leads nowhere: there is no {path}{did_you_mean(key, names)}", place=at
            )
    return Place(scope, path, value)


def _inner(scope: Scope, pointer: str, raw: Json) -> Scope:
    """The scope inside `raw`: its own, where it has an `$id`."""
    identifier = _identifier(raw, scope.draft)
    if not identifier or pointer == scope.pointer or identifier.startswith("#"):
        return scope
    draft = find_draft(raw.get("$schema"), pointer, scope.draft) if isinstance(raw, dict) else 0
    uri = urljoin(scope.uri, identifier).removesuffix("#")
    return Scope(uri, scope.document, pointer, raw, draft)


def _identifier(raw: Json, draft: Draft) -> str:
    given = raw.get("id" if draft == 4 else "$id") if isinstance(raw, dict) else None
    return given if isinstance(given, str) else ""
