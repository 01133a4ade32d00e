"""Resources in the given documents: their roots, URIs and anchors.

A resource is a document, or a schema in one with an identifier (`$id`; `id` in draft 4).
Identifiers count only where a schema is, not in an enum or an unknown keyword.

    2019-09 on   $id opens a resource, $anchor and $dynamicAnchor name a place in it
    draft 4–7    an identifier with a fragment names a place; beside $ref it says nothing
    2019-09      $recursiveAnchor: true is the dynamic anchor RECURSIVE at the root
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias, cast, final
from urllib.parse import urljoin

from guideway.errors import GuidewayError, SourceError, UnsupportedError
from guideway.syntax.json_schema_keywords import LATEST, Draft, find_draft, find_vocabulary
from guideway.syntax.json_text import Json, extend, read_json, show

RECURSIVE = ""

_SCHEMAS = (
    *("additionalItems", "items", "contains", "additionalProperties", "propertyNames", "not"),
    *("if", "then", "else", "unevaluatedItems", "unevaluatedProperties", "contentSchema"),
)
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems", "items")
_MAPS = (
    *("properties", "patternProperties", "$defs", "definitions", "dependentSchemas"),
    "dependencies",
)

Anchor: TypeAlias = tuple[str, Json]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Resource:
    """One resource.

    Attributes:
        document: name of its JSON text, "" for the main one.
        pointer: its root in that text.
        raw: the value there.
        keywords: those of its metaschema's vocabularies, None for all of the draft.
        anchors: pointer and value by name of the anchor.
        dynamic: dynamic ones among them; empty if no document has a dynamic reference.
    """

    uri: str
    document: str
    pointer: str
    raw: Json
    draft: Draft
    keywords: frozenset[str] | None = None
    anchors: dict[str, Anchor] = field(default_factory=dict[str, "Anchor"])
    dynamic: dict[str, Anchor] = field(default_factory=dict[str, "Anchor"])


@final
class Catalogue:
    """All resources: a main document, and texts of others by URI.

    Args:
        dynamic: True if documents may have dynamic references.
        draft: draft of documents that name none.
        anchors: True if identifiers and anchors inside documents matter.
        name: prefix of document names in addresses.
    """

    def __init__(
        self,
        raw: Json,
        resources: tuple[tuple[str, str], ...],
        dynamic: bool,
        draft: Draft = LATEST,
        anchors: bool = True,
        name: str = "",
    ) -> None:
        self.name = name
        self._anchors = anchors
        self._dynamic = dynamic
        self._texts = {uri.removesuffix("#"): other for uri, other in resources}
        self._by_uri: dict[str, Resource] = {}
        self._by_place: dict[tuple[str, str], Resource] = {}
        self._numbers: dict[Hashable, int] = {}
        self._refused: dict[str, UnsupportedError] = {}
        self.main = self._add("", raw, draft)
        for uri, other in resources:
            try:
                self._add(uri, read_json(other), self.main.draft)
            except UnsupportedError as error:  # it matters only if something refers to it
                self._refused[uri.removesuffix("#")] = error

    def find(self, uri: str) -> Resource | None:
        """The resource with this URI, or None; refused if its draft is unsupported."""
        name = uri.removesuffix("#")
        if name in self._refused:
            raise self._refused[name]
        return self._by_uri.get(name)

    @property
    def every(self) -> Iterable[Resource]:
        return self._by_place.values()

    def at(self, document: str, pointer: str) -> Resource | None:
        return self._by_place.get((document, pointer))

    def number(self, bindings: Hashable) -> int:
        """Number of these bindings; 0 for those of the main document."""
        return self._numbers.setdefault(bindings, len(self._numbers))

    def _add(self, document: str, raw: Json, default: Draft) -> Resource:
        said: Mapping[str, Json] = raw if isinstance(raw, dict) else {}
        draft, keywords = self._dialect(said.get("$schema"), document, default)
        own = joined(document, identifier(said, draft), _keyword(draft), f"{document}#")
        uri = own.partition("#")[0]
        root = Resource(uri, document, "", raw, draft, keywords)
        for name in (uri, document.removesuffix("#")):
            self._by_uri.setdefault(name, root)
        self._by_place[document, ""] = root
        if self._anchors:
            self._walk(root)
        return root

    def _dialect(
        self, uri: object, document: str, default: Draft
    ) -> tuple[Draft, frozenset[str] | None]:
        """The draft of `$schema`, or of the given metaschema with this URI."""
        text = self._texts.get(uri.removesuffix("#")) if isinstance(uri, str) else None
        own = read_json(text) if text is not None else None
        if not isinstance(own, dict) or own.get("$schema") == uri:
            return find_draft(uri, document, default), None
        said = cast("dict[str, Json]", own)
        vocabularies = said.get("$vocabulary")
        draft = find_draft(said.get("$schema"), f"{uri}#", default)
        if not isinstance(vocabularies, dict):
            return draft, None
        return draft, _keywords(cast("dict[str, Json]", vocabularies), document)

    def _walk(self, root: Resource) -> None:
        """Find the resources and anchors of a document; not recursive."""
        todo: list[tuple[Resource, str, Json]] = [(root, "", root.raw)]
        while todo:
            around, pointer, raw = todo.pop()
            if isinstance(raw, dict):
                resource = self._entered(around, pointer, raw)
                self._name(resource, pointer, raw)
                todo += [(resource, at, part) for at, part in parts_of(pointer, raw)]

    def _entered(self, around: Resource, pointer: str, raw: dict[str, Json]) -> Resource:
        """The resource that begins here, or `around`."""
        if pointer == around.pointer:
            return around
        draft = _own_draft(raw, around.draft)
        given = identifier(raw, draft)
        if not given or given.startswith("#") or (draft <= 7 and "$ref" in raw):
            return around
        place = f"{around.document and f'{around.document}#'}{pointer}"
        uri = joined(around.uri, given, _keyword(draft), place).partition("#")[0]
        resource = Resource(uri, around.document, pointer, raw, draft, around.keywords)
        self._by_uri.setdefault(uri, resource)
        self._by_place[around.document, pointer] = resource
        return resource

    def _name(self, resource: Resource, pointer: str, raw: dict[str, Json]) -> None:
        for name in _anchors(raw, resource.draft):
            resource.anchors.setdefault(name, (pointer, raw))
        if not self._dynamic:
            return
        dynamic = raw.get("$dynamicAnchor")
        if resource.draft == LATEST and isinstance(dynamic, str):
            resource.dynamic.setdefault(dynamic, (pointer, raw))
        recursive = raw.get("$recursiveAnchor") is True and pointer == resource.pointer
        if resource.draft == 2019 and recursive:
            resource.dynamic[RECURSIVE] = pointer, raw


def has_dynamic(texts: Iterable[str]) -> bool:
    return any("$dynamicRef" in text or "$recursiveRef" in text for text in texts)


def _keywords(vocabularies: dict[str, Json], document: str) -> frozenset[str]:
    """Keywords of the known vocabularies; unknown ones must be optional."""
    found: set[str] = set()
    for uri, required in vocabularies.items():
        keywords = find_vocabulary(uri)
        if keywords is None and required is not False:
            raise UnsupportedError(
                f"the metaschema requires the unknown vocabulary {show(uri)}",
                feature="$vocabulary",
                place=f"{document}/$schema",
            )
        found |= keywords or frozenset()
    return frozenset(found)


def identifier(raw: Mapping[str, Json], draft: Draft) -> str:
    given = raw.get(_keyword(draft))
    return given if isinstance(given, str) else ""


def _keyword(draft: Draft) -> str:
    return "id" if draft == 4 else "$id"


def joined(base: str, reference: str, keyword: str, place: str) -> str:
    """Resolve a reference against the URI `base`."""
    try:
        return urljoin(base, reference)
    except ValueError as error:
        within = f" within the resource {show(base)}" if base else ""
        raise SourceError(
            f"{keyword} {show(reference)}{within} is not a URI: {error}",
            place=f"{place}/{keyword}",
        ) from None


def _own_draft(raw: dict[str, Json], around: Draft) -> Draft:
    """The draft that a nested schema names; errors are raised when it is read."""
    try:
        return find_draft(raw.get("$schema"), "", around)
    except GuidewayError:
        return around


def _anchors(raw: dict[str, Json], draft: Draft) -> Iterator[str]:
    if draft <= 7:
        fragment = "" if "$ref" in raw else identifier(raw, draft).partition("#")[2]
        if fragment:
            yield fragment
        return
    for keyword in ("$anchor", "$dynamicAnchor"):
        name = raw.get(keyword)
        if isinstance(name, str) and (keyword == "$anchor" or draft == LATEST):
            yield name


def parts_of(pointer: str, raw: dict[str, Json]) -> Iterator[tuple[str, Json]]:
    """Direct subschemas with their pointers."""
    for keyword in _SCHEMAS:
        if keyword in raw:
            yield extend(pointer, keyword), raw[keyword]
    for keyword in _LISTS:
        members = raw.get(keyword)
        if isinstance(members, list):
            at = extend(pointer, keyword)
            yield from ((extend(at, str(n)), part) for n, part in enumerate(members))
    for keyword in _MAPS:
        named = raw.get(keyword)
        if isinstance(named, dict):
            at = extend(pointer, keyword)
            parts = cast("dict[str, Json]", named)
            yield from ((extend(at, name), part) for name, part in parts.items())
