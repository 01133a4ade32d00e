"""A JSON Schema document to its tree, of drafts 4, 6, 7, 2019-09 and 2020-12.

Rules: what can be reached from the root is read, each schema once, and nothing else is (what nobody
refers to may say what it likes). No recursion but a list of places still to read, so that nesting
and chains of references have no depth here.

`enum` and `const` become what they mean: a set of scalars, or, for an array or object, the schema
that exactly this value satisfies.
"""

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import final

from fairlead.errors import SourceError, UnsupportedError
from fairlead.syntax.json_schema_keywords import LATEST, Draft, check_names
from fairlead.syntax.json_schema_references import Library, Place, check_loops
from fairlead.syntax.json_schema_source import JsonSchema
from fairlead.syntax.json_schema_tree import (
    Address,
    Arrays,
    Bound,
    Document,
    Numbers,
    Objects,
    Schema,
    Strings,
)
from fairlead.syntax.json_schema_values import FORMATS, LATER_FORMATS, Keywords, kind_of, kinds_of
from fairlead.syntax.json_text import Json, show
from fairlead.syntax.names import did_you_mean
from fairlead.syntax.regex import parse_regex
from fairlead.syntax.regex_tree import Pattern

NEVER: Address = "never"


def parse_json_schema(source: JsonSchema) -> Document:
    """The tree of a source.

    >>> document = parse_json_schema(JsonSchema({"type": "string", "maxLength": 3}))
    >>> document.schemas[document.root].strings.high
    3

    Raises:
        SourceError: the text is no JSON, or a keyword holds what it cannot hold.
        UnsupportedError: a keyword that cannot be honoured exactly, or a reference that leaves the
            document.
        LimitError: nested too deep.
    """
    reader = _Reader(source)
    document = Document(reader.read(), reader.schemas)
    check_loops(document)
    return document


@final
class _Reader:
    """Reads places until none is left."""

    def __init__(self, source: JsonSchema) -> None:
        self._strict = source.formats == "strict"
        self._library = Library(source.text, source.resource_texts)
        self._todo: list[Place] = []
        self.schemas = {NEVER: Schema(NEVER, ("false",), kinds=frozenset())}

    def read(self) -> Address:
        """The address of the root, when `schemas` holds all."""
        main = self._library.main
        root = self._visit(Place(main, "", main.raw))
        while self._todo:
            place = self._todo.pop()
            if place.address not in self.schemas:
                read = self._constant if place.constant else self._schema
                self.schemas[place.address] = read(place)
        return root

    def _visit(self, place: Place) -> Address:
        self._todo.append(place)
        return place.address

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
                f"a schema is an object or a boolean, not {show(raw)}", place=outer.shown
            )
        place = outer.entered()
        keywords = Keywords(raw, place.shown)
        if "$ref" in raw and place.scope.draft <= 7:  # there, what stands beside $ref is ignored
            return Schema(place.address, ("$ref",), all_of=(self._reference(place, keywords),))
        names = check_names(raw, place.scope.draft, place.shown)
        types = keywords.types()
        schema = Schema(
            place.address,
            names,
            kinds_of(types),
            strings=self._strings(keywords),
            numbers=_numbers(keywords, types, place.scope.draft),
            arrays=self._arrays(place, keywords),
            objects=self._objects(place, keywords),
            all_of=self._all_of(place, keywords),
            any_of=self._group(place, keywords, "anyOf"),
            one_of=self._group(place, keywords, "oneOf"),
        )
        return self._enumerated(place, schema, keywords)

    # Parts of a schema

    def _child(self, place: Place, keywords: Keywords, name: str) -> Address | None:
        if name not in keywords.raw:
            return None
        return self._visit(Place(place.scope, place.child(name), keywords.raw[name]))

    def _children(self, place: Place, keywords: Keywords, name: str) -> tuple[Address, ...]:
        return tuple(
            self._visit(Place(place.scope, place.child(name, index), raw))
            for index, raw in enumerate(keywords.branches(name))
        )

    def _group(
        self, place: Place, keywords: Keywords, name: str
    ) -> tuple[tuple[Address, ...], ...]:
        branches = self._children(place, keywords, name)
        return (branches,) if branches else ()

    def _reference(self, place: Place, keywords: Keywords) -> Address:
        return self._visit(self._library.resolve(place, keywords.raw["$ref"]))

    def _all_of(self, place: Place, keywords: Keywords) -> tuple[Address, ...]:
        parts = self._children(place, keywords, "allOf")
        if "$ref" in keywords.raw:
            parts = (self._reference(place, keywords), *parts)
        if "enum" in keywords.raw and "const" in keywords.raw:
            parts = (*parts, self._visit(_const(place, keywords)))
        return parts

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
        )

    def _objects(self, place: Place, keywords: Keywords) -> Objects:
        return Objects(
            {
                name: self._visit(Place(place.scope, place.child("properties", name), raw))
                for name, raw in keywords.mapping("properties").items()
            },
            keywords.texts("required"),
            self._child(place, keywords, "additionalProperties"),
            self._child(place, keywords, "propertyNames"),
        )

    def _strings(self, keywords: Keywords) -> Strings:
        return Strings(
            low=keywords.count("minLength") or 0,
            high=keywords.count("maxLength"),
            pattern=_pattern(keywords),
            format=self._format(keywords),
        )

    def _format(self, keywords: Keywords) -> str | None:
        name = keywords.text("format")
        if name is None or name in FORMATS:
            return name
        if self._strict or name in LATER_FORMATS:
            raise UnsupportedError(
                f"the format {show(name)} is not supported; supported are "
                f"{', '.join(FORMATS)}{did_you_mean(name, FORMATS)}",
                feature=f"format {name}",
                place=keywords.place("format"),
            )
        return None

    # enum and const

    def _enumerated(self, place: Place, schema: Schema, keywords: Keywords) -> Schema:
        """`schema`, for the values of `enum` or `const` only."""
        if "enum" in keywords.raw:
            values = enumerate(keywords.items("enum"))
            parts = [Place(place.scope, place.child("enum", n), value, True) for n, value in values]
            return self._limited(schema, f"={place.address}/enum", parts)
        if "const" in keywords.raw:
            const = _const(place, keywords)
            return self._limited(schema, const.address, [const])
        return schema

    def _limited(self, schema: Schema, address: Address, values: list[Place]) -> Schema:
        """`schema`, for some values only; the scalars of a mixed list are the schema `address`."""
        scalars = [value.raw for value in values if not isinstance(value.raw, list | dict)]
        if len(scalars) == len(values):
            return _with_scalars(schema, scalars)
        options = [self._visit(value) for value in values if isinstance(value.raw, list | dict)]
        if scalars:
            self.schemas[address] = _with_scalars(Schema(address, ("enum",)), scalars)
            options.append(address)
        return replace(schema, any_of=(*schema.any_of, tuple(options)))

    def _constant(self, place: Place) -> Schema:
        """The schema of exactly one value."""
        plain = Schema(place.address, ("const",), frozenset((kind_of(place.raw),)))
        match place.raw:
            case list() as items:
                prefix = [self._part(place, index, item) for index, item in enumerate(items)]
                arrays = Arrays(tuple(prefix), NEVER, len(items), len(items))
                return replace(plain, arrays=arrays)
            case dict() as members:
                properties = {key: self._part(place, key, value) for key, value in members.items()}
                return replace(plain, objects=Objects(properties, tuple(members), NEVER))
            case scalar:
                return _with_scalars(plain, [scalar])

    def _part(self, place: Place, key: str | int, value: Json) -> Address:
        return self._visit(Place(place.scope, place.child(key), value, constant=True))


def _const(place: Place, keywords: Keywords) -> Place:
    return Place(place.scope, place.child("const"), keywords.raw["const"], constant=True)


def _with_scalars(schema: Schema, values: Sequence[Json]) -> Schema:
    """`schema`, for these values only; those of a kind that it excludes stay excluded."""
    kinds = frozenset(kind_of(value) for value in values)
    numbers = frozenset(
        Decimal(value)
        for value in values
        if isinstance(value, int | Decimal) and not isinstance(value, bool)
    )
    return replace(
        schema,
        kinds=schema.kinds & kinds,
        booleans=frozenset(value for value in values if isinstance(value, bool)),
        strings=replace(
            schema.strings, values=frozenset(value for value in values if isinstance(value, str))
        ),
        numbers=replace(schema.numbers, values=numbers),
    )


def _numbers(keywords: Keywords, types: frozenset[str], draft: Draft) -> Numbers:
    integer = "integer" in types and "number" not in types
    lower = _bounds(keywords, "minimum", "exclusiveMinimum", draft)
    upper = _bounds(keywords, "maximum", "exclusiveMaximum", draft)
    return Numbers(None, integer, integer and draft == 4, lower, upper)


def _bounds(keywords: Keywords, closed: str, open_: str, draft: Draft) -> tuple[Bound, ...]:
    bound = keywords.number(closed)
    if draft == 4:  # there, exclusiveMinimum: true is said about minimum
        exclusive = keywords.flag(open_)
        return () if bound is None else (Bound(bound, exclusive),)
    other = keywords.number(open_)
    found = () if bound is None else (Bound(bound),)
    return found if other is None else (*found, Bound(other, True))


def _pattern(keywords: Keywords) -> Pattern | None:
    text = keywords.text("pattern")
    if text is None:
        return None
    try:
        return parse_regex(text, "ecma")
    except (SourceError, UnsupportedError) as error:
        raise _placed(error, keywords.place("pattern")) from None


def _placed(error: SourceError | UnsupportedError, place: str) -> SourceError | UnsupportedError:
    """The error about a pattern, said about the schema: its caret stays, its place is a pointer."""
    message = str(error).partition("\n")[0].removesuffix(f" (at {error.place})")
    if isinstance(error, SourceError):
        return SourceError(message, place=place, text=error.text, position=error.position)
    return UnsupportedError(
        message, feature=error.feature, place=place, text=error.text, position=error.position
    )
