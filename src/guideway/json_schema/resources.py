"""Resources of JSON Schema: drafts, URIs, anchors, meta-schemas, files."""

import json
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, reduce
from itertools import islice
from pathlib import Path
from typing import Any, Final, TypeAlias, cast
from urllib.parse import unquote, urljoin

from guideway.errors import GuidewayError, LimitError, SourceError, UnsupportedError
from guideway.json_schema.text import Json, extend, read_json, show
from guideway.json_schema.tree import ASSERTED, LATEST, LISTS, MAPS, PLACES, SCHEMAS, Draft
from guideway.sources.reading import read_file

_DRAFTS: dict[str, Draft] = {
    "json-schema.org/draft-04/schema": 4,
    "json-schema.org/draft-06/schema": 6,
    "json-schema.org/draft-07/schema": 7,
    "json-schema.org/draft/2019-09/schema": 2019,
    "json-schema.org/draft/2020-12/schema": 2020,
    "json-schema.org/schema": LATEST,  # the current version, says draft-zyp-json-schema-04
}


def find_draft(uri: object, pointer: str, default: Draft) -> Draft:
    """The draft that `$schema` names."""
    if uri is None:
        return default
    if not isinstance(uri, str):
        raise SourceError(f"$schema must be a string, not {show(uri)}", place=f"{pointer}/$schema")
    draft = _DRAFTS.get(uri.partition("://")[2].removesuffix("#"))
    if draft is None:
        raise UnsupportedError(
            f"$schema {show(uri)} is not supported; supported are drafts 4, 6, 7, 2019-09 and "
            "2020-12",
            feature="$schema",
            place=f"{pointer}/$schema",
        )
    return draft


def asserted(
    raw: Mapping[str, Json], draft: Draft, known: frozenset[str] | None = None
) -> dict[str, Json]:
    """Asserting keywords of a schema in this draft, in the given order.

    `known` are the keywords of its metaschema's vocabularies, None for all.

    >>> asserted({"title": "A", "const": 1, "enum": [1]}, 4)
    {'enum': [1]}
    """
    of_draft = ASSERTED[draft]
    return {
        name: value
        for name, value in raw.items()
        if name in of_draft and (known is None or name in known)
    }


RECURSIVE = ""

Anchor: TypeAlias = tuple[str, Json]


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
                resource = self._resource_at(around, pointer, raw)
                self._name(resource, pointer, raw)
                todo += [(resource, at, part) for at, part in schemas_in(pointer, raw)]

    def _resource_at(self, around: Resource, pointer: str, raw: dict[str, Json]) -> Resource:
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
    known = _vocabularies()
    for uri, required in vocabularies.items():
        if uri not in known and required is not False:
            raise UnsupportedError(
                f"the metaschema requires the unknown vocabulary {show(uri)}",
                feature="$vocabulary",
                place=f"{document}/$schema",
            )
    return frozenset[str]().union(*(known.get(uri, ()) for uri in vocabularies))


@lru_cache(maxsize=1)
def _vocabularies() -> dict[str, frozenset[str]]:
    """Keywords of each vocabulary by its URI, from the meta-schemas of single vocabularies."""
    read = [json.loads(text) for _, text in _by_path().values()]
    alone = [raw for raw in read if len(raw.get("$vocabulary", ())) == 1]
    return {next(iter(raw["$vocabulary"])): frozenset(raw["properties"]) for raw in alone}


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


def schemas_in(pointer: str, raw: dict[str, Json]) -> Iterator[tuple[str, Json]]:
    """Direct subschemas with their pointers."""
    return ((reduce(extend, steps, pointer), part) for steps, part in steps_in(raw))


def steps_in(raw: dict[str, Json]) -> Iterator[tuple[tuple[str, ...], Json]]:
    """Direct subschemas with the steps that their pointers append."""
    if raw.keys().isdisjoint(PLACES):
        return
    for keyword, value in raw.items():
        if isinstance(value, list) and keyword in LISTS:
            yield from (((keyword, str(n)), part) for n, part in enumerate(value))
        elif isinstance(value, dict) and keyword in MAPS:
            parts = cast("dict[str, Json]", value)
            yield from (((keyword, name), part) for name, part in parts.items())
        elif keyword in SCHEMAS:
            yield (keyword,), value


_REFERENCE: Final = re.compile(
    r'"\$(?:ref|dynamicRef|recursiveRef)"\s*:\s*"(https?:(?:\\?/){2}json-schema\.org\\?/[^"#]+)'
)
_LATEST: Final = "json-schema.org/draft/2020-12/schema"
_SHORT: Final = {"json-schema.org/schema": _LATEST}  # the latest, says draft 4


def meta_schemas(texts: Iterable[str], given: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Meta-schemas and vocabularies that texts refer to, as (URI, JSON text), without `given` URIs.

    >>> text = '{"$ref": "http://json-schema.org/draft-07/schema#"}'
    >>> [uri for uri, _ in meta_schemas([text], [])]
    ['http://json-schema.org/draft-07/schema']
    """
    found: dict[str, str] = {}
    for written in {
        name.replace("\\/", "/") for text in texts for name in _REFERENCE.findall(text)
    }:
        found |= dict(_with_vocabularies(written))
    known = {uri.removesuffix("#") for uri in given}
    return tuple((uri, text) for uri, text in sorted(found.items()) if uri not in known)


def is_meta_schema(uri: str) -> bool:
    """Return True for the URI of a meta-schema or vocabulary of these drafts."""
    path = uri.partition("://")[2]
    return _SHORT.get(path, path) in _by_path()


def _with_vocabularies(uri: str) -> Iterator[tuple[str, str]]:
    """A meta-schema and its vocabularies; those of 2019-09 on are eight documents."""
    if not is_meta_schema(uri):
        return
    path = uri.partition("://")[2]
    yield uri, _by_path()[_SHORT.get(path, path)][1]
    draft = re.match(r"json-schema\.org/draft/[^/]+/", _SHORT.get(path, path))
    if draft:
        yield from (own for other, own in _by_path().items() if other.startswith(draft[0]))


@lru_cache(maxsize=1)
def _by_path() -> dict[str, tuple[str, str]]:
    """URIs and texts, by the URI without its scheme."""
    content = Path(__file__).with_name("drafts.json").read_text(encoding="utf-8")
    read: dict[str, Any] = json.loads(content)
    return {uri.partition("://")[2]: (uri, json.dumps(raw)) for uri, raw in read.items()}


_MOST_FILES: Final = 10_000
_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef", "$schema")


def files_of(folder: Path, schema: Json) -> tuple[tuple[str, str], ...]:
    """Files that a schema needs, as (URI, JSON text)."""
    files, found = _Folder(folder, _base("", schema)), dict[str, str]()
    todo, known = [("", schema)], {""}
    while todo:
        references, own = _uris(*todo.pop())
        known |= own
        for uri in references - known:
            known.add(uri)
            text = files.find(uri)
            if text is not None:
                found[uri] = text
                todo.append((uri, read_json(text)))
    return tuple(sorted(found.items()))


class _Folder:
    """Files by URI."""

    def __init__(self, folder: Path, base: str) -> None:
        self._folder, self._prefix = folder.resolve(), base.rpartition("/")[0]
        self._by_id: dict[str, Path] | None = None

    def find(self, uri: str) -> str | None:
        """Text of the file with this URI, or None."""
        path = self._file_at(uri) or (None if is_meta_schema(uri) else self._file_named(uri))
        return None if path is None else read_file(path, "the schema")

    def _file_at(self, uri: str) -> Path | None:
        """The file at a path relative to the folder."""
        start = f"{self._prefix}/" if self._prefix else ""
        if not uri.startswith(start):
            return None
        try:
            path = (self._folder / unquote(uri[len(start) :])).resolve()
            return path if path.is_relative_to(self._folder) and path.is_file() else None
        except (OSError, ValueError):  # no name of a file: too long, or with a NUL
            return None

    def _file_named(self, uri: str) -> Path | None:
        """The file with this identifier."""
        if self._by_id is None:
            listed = list(islice(self._folder.rglob("*.json"), _MOST_FILES + 1))
            if len(listed) > _MOST_FILES:
                raise LimitError(
                    f"the folder {str(self._folder)!r} has more than {_MOST_FILES} JSON files: "
                    "pass the needed ones as resources={uri: schema}",
                    limit="files of a folder",
                    given=_MOST_FILES,
                )
            self._by_id = {name: path for path in sorted(listed) for name in _identifiers(path)}
        return self._by_id.get(uri)


def _identifiers(path: Path) -> Iterator[str]:
    try:
        found = _base("", read_json(read_file(path, "the schema")))
    except GuidewayError:  # raised again when the file is referred to by path
        return
    if found:
        yield found


def _base(around: str, raw: Json) -> str:
    """The URI of a schema within a resource."""
    given: Any = (raw.get("$id") or raw.get("id")) if isinstance(raw, dict) else None
    return _join(around, given) if isinstance(given, str) else around


def _join(base: str, uri: str) -> str:
    try:
        return urljoin(base, uri).partition("#")[0]
    except ValueError:  # no URI: raised again, with the place, when the schema is read
        return base


def _uris(base: str, schema: Json) -> tuple[set[str], set[str]]:
    """URIs of all references in a document, and of all resources; data does no harm."""
    references, own, todo = set[str](), {base}, [(base, schema)]
    while todo:
        around, raw = todo.pop()
        if isinstance(raw, dict):
            base = _base(around, raw)
            own.add(base)
            named = (raw[name] for name in _REFERENCES if name in raw)
            references |= {_join(base, uri) for uri in named if isinstance(uri, str)}
            todo += ((base, part) for part in raw.values())
        elif isinstance(raw, list):
            todo += ((around, part) for part in raw)
    return references, own
