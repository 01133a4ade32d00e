"""JSON Schema documents as trees, references followed: drafts 4, 6, 7, 2019-09 and 2020-12."""

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, Protocol, TypeAlias
from urllib.parse import unquote

from guideway.errors import SourceError, UnsupportedError
from guideway.json_schema.resources import (
    RECURSIVE,
    Anchor,
    Catalogue,
    Resource,
    asserted,
    has_dynamic,
    joined,
)
from guideway.json_schema.satisfiability.parts import VALUED, find_loop
from guideway.json_schema.text import Json, extend, show, steps, write_plain
from guideway.json_schema.tree import (
    JSON_TEXT,
    LATEST,
    OF_KIND,
    TYPES,
    Address,
    Arrays,
    Condition,
    Contains,
    Document,
    Draft,
    Keywords,
    Objects,
    Schema,
    Strings,
    kind_of,
    kinds_of,
    read_numbers,
    read_pattern,
    read_strings,
    with_scalars,
)
from guideway.language.values import by_identity
from guideway.regex.tree import Pattern
from guideway.sources.names import did_you_mean

Bindings: TypeAlias = tuple[tuple[str, Resource], ...]


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
            resource = self._foreign(joined(resource.uri, base, keyword, place.shown), what, at)
        name = unquote(fragment)
        if keyword == "$recursiveRef":
            scope = place.scope.entering(resource)
            if RECURSIVE in resource.dynamic:
                resource = dict(scope.bindings)[RECURSIVE]
            return Place(scope.entering(resource), resource.pointer, resource.raw)
        if not name or name.startswith("/"):
            return self._follow(place.scope.entering(resource), name, what, at)
        target = self._anchored(resource, name, what, at)
        if keyword == "$dynamicRef" and name in resource.dynamic:
            scope = place.scope.entering(resource)
            target = dict(scope.bindings)[name]
            return Place(scope.entering(target), *target.dynamic[name])
        return Place(place.scope.entering(resource), *target)

    def _foreign(self, uri: str, what: str, at: str) -> Resource:
        found = self._catalogue.find(uri)
        if found is None:
            raise UnsupportedError(
                f"{what} names another schema, and guideway fetches nothing: pass that schema as "
                "JsonSchema(..., resources={uri: schema}), or the folder of its file",
                feature="$ref",
                place=at,
            )
        return found

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
    found = find_loop(document.schemas, lambda address: document.schemas[address].in_place)
    if found is not None:
        raise SourceError(
            f"{found[1]} refers to itself without going into a part of the instance",
            place=found[0].partition("#")[2],
        )


NEVER: Address = "never"
# Most schemas have keywords of one kind; reading the others' absence takes twice as long.
_DEPENDENT = frozenset(("dependencies", "dependentRequired", "dependentSchemas"))
_IN_PLACE = frozenset(
    (
        *("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "$ref", "$dynamicRef"),
        *("$recursiveRef", "enum", "const"),
    )
)
_LISTING = frozenset(("type", "enum", "title", "description", "default", "examples"))
_ARRAYS, _OBJECTS = Arrays(), Objects({})
_MOST_LETTERS = 1 << 20  # of a document that are compared, 10 ms


class Written(Protocol):
    """A `JsonSchema`."""

    @property
    def text(self) -> str: ...

    @cached_property
    def value(self) -> Json: ...

    @property
    def formats(self) -> str: ...

    @property
    def resource_texts(self) -> tuple[tuple[str, str], ...]: ...


def parse_json_schema(source: Written, raw: Json = None, name: str = "") -> Document:
    """The tree of a source; `raw` is its value if it was read already.

    `name` precedes all addresses, so that several documents fit in one table.

    >>> from guideway.json_schema.source import JsonSchema
    >>> document = parse_json_schema(JsonSchema({"type": "string", "maxLength": 3}))
    >>> document.schemas[document.root].strings.high
    3

    Raises:
        SourceError: the text is no JSON, or the value of a keyword has the wrong shape.
        UnsupportedError: a keyword that cannot be enforced exactly, or a reference that leaves the
            documents.
        LimitError: a number has too many digits.
    """
    given = source.value if raw is None else raw
    dynamic = (source.text, *(text for _, text in source.resource_texts))
    library = Library(Catalogue(given, source.resource_texts, has_dynamic(dynamic), name=name))
    reader = _Reader(library, strict=source.formats == "strict")
    reader.formats = source.formats != "annotation"
    document = Document(reader.read(), reader.schemas, first=reader.first)
    check_loops(document)
    return document


class LooseParts(Mapping[Address, Schema]):
    """Schemas of a document without identifiers, read on demand; `strict` refuses formats.

    >>> parts = LooseParts({"items": {"const": 3}}, LATEST, strict=False)
    >>> parts[parts.enter("/items", {"const": 3})].kinds
    frozenset({'number'})
    """

    def __init__(self, raw: Json, draft: Draft, *, strict: bool) -> None:
        self._library = Library(Catalogue(raw, (), dynamic=False, draft=draft, anchors=False))
        self._reader = _Reader(self._library, strict=strict)
        self.root = self.enter("", raw)

    def enter(self, pointer: str, raw: Json) -> Address:
        """Address of the schema at a pointer."""
        return self._reader.visit(Place(self._library.main, pointer, raw))

    def raw(self, address: Address) -> Json:
        """The schema at an address as written, None for one that is not written."""
        place = self._reader.places.get(address)
        return None if place is None or place.constant else place.raw

    def first(self, address: Address) -> Address:
        """The first schema that is written like this one."""
        return self._reader.first(address)

    def restricts(self, address: Address) -> bool:
        """Return True if a schema plainly restricts something, and allows something."""
        raw: Any = self.raw(address)
        if raw.__class__ is not dict:
            return False
        named: Any = raw.get("type")
        if "$ref" in raw or named.__class__ is not str or named not in TYPES:
            return "$ref" in raw
        listed: Any = raw.get("enum") if raw.keys() <= _LISTING and named == "string" else None
        texts = listed.__class__ is list and any(value.__class__ is str for value in listed)
        return texts or VALUED.isdisjoint(raw)

    def __getitem__(self, address: Address) -> Schema:
        """The schema at an address that was entered, or that another schema names."""
        return self._reader.one(address)

    def __iter__(self) -> Iterator[Address]:
        return iter(self._reader.schemas)

    def __len__(self) -> int:
        return len(self._reader.schemas)


class _Reader:
    """Reads places until none is left."""

    def __init__(self, library: Library, *, strict: bool) -> None:
        self._library, self._strict, self.formats = library, strict, True
        self._todo: list[Address] = []
        self.places: dict[Address, Place] = {}
        self._first: dict[Hashable, Address] = {}  # by text, and by address
        self._left = _MOST_LETTERS
        self.schemas = {NEVER: Schema(NEVER, ("false",), kinds=frozenset())}

    def read(self) -> Address:
        """Read all schemas; return the address of the root."""
        root = self.visit(self._library.root)
        while self._todo:
            self.one(self._todo.pop())
        return root

    def one(self, address: Address) -> Schema:
        """The schema at an address, read once."""
        found = self.schemas.get(address)
        if found is None:
            place = self.places[address]
            read = self._constant if place.constant else self._schema
            found = self.schemas[address] = read(place)
        return found

    def visit(self, place: Place) -> Address:
        """Address of a place, which is read later."""
        address = place.address
        if address not in self.places:
            self.places[address] = place
            self._todo.append(address)
        return address

    def first(self, address: Address) -> Address:
        """The first visited schema with this text in this scope.

        Branches that repeat a part then share its formula: tye-schema had masks of .4 s.
        """
        found = self._first.get(address)
        if found is None:
            found, place = address, self.places.get(address)
            text = None if place is None or self._left < 0 else write_plain(place.raw)
            if place is not None and text is not None and not place.constant:
                self._left -= len(text)
                found = self._first.setdefault((place.scope.name, text), address)
            self._first[address] = found
        return found

    def _schema(self, outer: Place) -> Schema:
        raw = outer.raw
        if isinstance(raw, bool):
            return (
                Schema(outer.address)
                if raw
                else replace(self.schemas[NEVER], address=outer.address)
            )
        if not isinstance(raw, dict):
            raise SourceError(
                f"a schema must be an object or a boolean, not {show(raw)}", place=outer.shown
            )
        place = outer.entered()
        said = asserted(raw, place.scope.draft, place.scope.resource.keywords)
        if not self.formats:
            said.pop("format", None)
        if "$ref" in raw and place.scope.draft <= 7:  # ignores keywords beside $ref
            said = {"$ref": raw["$ref"]}
        keywords = Keywords(said, place.shown)
        types = keywords.types()
        keys = said.keys()
        combined = not keys.isdisjoint(_IN_PLACE)
        denied = self._child(place, keywords, "not")
        schema = Schema(
            outer.address,
            tuple(said),
            kinds_of(types),
            strings=self._strings(place, keywords),
            numbers=read_numbers(keywords, types, place.scope.draft),
            arrays=self._arrays(place, keywords) if keys & OF_KIND["array"] else _ARRAYS,
            objects=self._objects(place, keywords) if keys & OF_KIND["object"] else _OBJECTS,
            all_of=self._all_of(place, keywords) if combined else (),
            any_of=self._group(place, keywords, "anyOf") if combined else (),
            one_of=self._group(place, keywords, "oneOf") if combined else (),
            none_of=() if denied is None else (denied,),
            condition=self._condition(place, keywords) if combined else None,
        )
        return self._enumerated(place, schema, keywords)

    # Parts of a schema

    def _strings(self, place: Place, keywords: Keywords) -> Strings:
        strings = read_strings(keywords, strict=self._strict)
        held = self._child(place, keywords, JSON_TEXT)
        return strings if held is None else replace(strings, holds=held)

    def _child(self, place: Place, keywords: Keywords, name: str) -> Address | None:
        if name not in keywords.raw:
            return None
        return self.visit(Place(place.scope, place.child(name), keywords.raw[name]))

    def _children(self, place: Place, keywords: Keywords, name: str) -> tuple[Address, ...]:
        return tuple(
            self.visit(Place(place.scope, place.child(name, index), raw))
            for index, raw in enumerate(keywords.branches(name))
        )

    def _group(
        self, place: Place, keywords: Keywords, name: str
    ) -> tuple[tuple[Address, ...], ...]:
        branches = self._children(place, keywords, name)
        return (branches,) if branches else ()

    def _all_of(self, place: Place, keywords: Keywords) -> tuple[Address, ...]:
        parts = self._children(place, keywords, "allOf")
        for name in ("$recursiveRef", "$dynamicRef", "$ref"):
            if name in keywords.raw:
                target = self._library.resolve(place, name, keywords.raw[name])
                parts = (self.visit(target), *parts)
        if "enum" in keywords.raw and "const" in keywords.raw:
            parts = (*parts, self.visit(_const(place, keywords)))
        return parts

    def _condition(self, place: Place, keywords: Keywords) -> Condition | None:
        test = self._child(place, keywords, "if")
        if test is None:  # then and else say nothing without it
            return None
        then, otherwise = (self._child(place, keywords, name) for name in ("then", "else"))
        return Condition(test, then, otherwise)

    def _arrays(self, place: Place, keywords: Keywords) -> Arrays:
        prefix, rest = "prefixItems", "items"
        items = keywords.raw.get("items")
        if isinstance(items, list):
            if place.scope.draft == LATEST:
                hint = " (in 2020-12 an array of schemas is prefixItems)"
                raise keywords.wrong("items", "a schema", items, hint)
            prefix, rest = "items", "additionalItems"
        return Arrays(
            self._children(place, keywords, prefix),
            self._child(place, keywords, rest),
            keywords.count("minItems") or 0,
            keywords.count("maxItems"),
            self._contains(place, keywords),
            keywords.flag("uniqueItems"),
            self._child(place, keywords, "unevaluatedItems"),
        )

    def _contains(self, place: Place, keywords: Keywords) -> Contains | None:
        schema = self._child(place, keywords, "contains")
        low, high = keywords.count("minContains"), keywords.count("maxContains")
        if schema is None:
            return None
        return Contains(schema, 1 if low is None else low, high, place.scope.draft == LATEST)

    def _objects(self, place: Place, keywords: Keywords) -> Objects:
        needs, dependents = self._dependencies(place, keywords)
        return Objects(
            self._members(place, keywords, "properties"),
            keywords.texts("required"),
            self._patterns(place, keywords),
            self._child(place, keywords, "additionalProperties"),
            self._child(place, keywords, "propertyNames"),
            keywords.count("minProperties") or 0,
            keywords.count("maxProperties"),
            needs,
            dependents,
            self._child(place, keywords, "unevaluatedProperties"),
        )

    def _members(self, place: Place, keywords: Keywords, keyword: str) -> dict[str, Address]:
        found = keywords.mapping(keyword)
        above = place.child(keyword) if found else ""
        return {
            name: self.visit(Place(place.scope, extend(above, name), raw))
            for name, raw in found.items()
        }

    def _patterns(self, place: Place, keywords: Keywords) -> tuple[tuple[Pattern, Address], ...]:
        name = "patternProperties"
        members = self._members(place, keywords, name)
        return tuple(
            (read_pattern(text, place.child(name, text)), schema)
            for text, schema in members.items()
        )

    def _dependencies(
        self, place: Place, keywords: Keywords
    ) -> tuple[tuple[tuple[str, tuple[str, ...]], ...], tuple[tuple[str, Address], ...]]:
        """Names that need other names, and names that need a schema."""
        if keywords.raw.keys().isdisjoint(_DEPENDENT):
            return (), ()
        needs: list[tuple[str, tuple[str, ...]]] = []
        schemas = list(self._members(place, keywords, "dependentSchemas").items())
        for keyword in ("dependencies", "dependentRequired"):
            for name, raw in keywords.mapping(keyword).items():
                at = place.child(keyword, name)
                if isinstance(raw, list):
                    part = Keywords({"required": raw}, at)
                    needs.append((name, part.texts("required")))
                elif keyword == "dependencies" and not isinstance(raw, str):
                    schemas.append((name, self.visit(Place(place.scope, at, raw))))
                else:
                    raise SourceError(
                        f"{keyword} needs an array of strings, not {show(raw)}", place=at
                    )
        return tuple(needs), tuple(schemas)

    # enum and const

    def _enumerated(self, place: Place, schema: Schema, keywords: Keywords) -> Schema:
        """Restrict `schema` to the values of `enum` or `const`."""
        if "enum" in keywords.raw:
            address, scalars, parts = f"={place.address}/enum", list[Json](), list[Place]()
            for index, value in enumerate(keywords.items("enum")):
                if isinstance(value, list | dict):
                    parts.append(Place(place.scope, place.child("enum", index), value, True))
                else:
                    scalars.append(value)
            return self._limited(schema, address, scalars, parts)
        if "const" in keywords.raw:
            const = _const(place, keywords)
            if isinstance(const.raw, list | dict):
                return self._limited(schema, const.address, [], [const])
            return with_scalars(schema, [const.raw])
        return schema

    def _limited(
        self, schema: Schema, address: Address, scalars: "list[Json]", parts: list[Place]
    ) -> Schema:
        """Restrict `schema` to values; scalars beside arrays and objects become a schema."""
        if not parts:
            return with_scalars(schema, scalars)
        options = [self.visit(part) for part in parts]
        if scalars:
            self.schemas[address] = with_scalars(Schema(address, ("enum",)), scalars)
            options.append(address)
        return replace(schema, any_of=(*schema.any_of, tuple(options)))

    def _constant(self, place: Place) -> Schema:
        """The schema of exactly one value."""
        plain = Schema(place.address, ("const",), frozenset((kind_of(place.raw),)))
        match place.raw:
            case list() as items:
                prefix = [self._part(place, index, item) for index, item in enumerate(items)]
                arrays = Arrays(tuple(prefix), NEVER, len(items), len(items))
                return replace(plain, arrays=arrays, value=items)
            case dict() as members:
                properties = {key: self._part(place, key, value) for key, value in members.items()}
                objects = Objects(properties, tuple(members), additional=NEVER)
                return replace(plain, objects=objects, value=members)
            case scalar:
                return with_scalars(plain, [scalar])

    def _part(self, place: Place, key: str | int, value: Json) -> Address:
        return self.visit(Place(place.scope, place.child(key), value, constant=True))


def _const(place: Place, keywords: Keywords) -> Place:
    return Place(place.scope, place.child("const"), keywords.raw["const"], constant=True)
