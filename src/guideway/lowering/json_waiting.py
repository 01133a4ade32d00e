"""Which schemas may wait until a text enters them, and which are decided when compiling.

A schema is plain if it says nothing that may be refused or takes a search to satisfy: types,
bounds, values, patterns, items, properties, references, alternatives that exclude each other, but
no `allOf`, `not` or `if`.
A plain schema waits if it surely has an instance. What it leads to that is not plain is decided
when a constraint is compiled.

What this module does not know: what schemas mean beyond that.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations
from typing import Final, TypeAlias, final

from guideway.lowering.json_cases import MOST
from guideway.lowering.json_exclusive import Outlines
from guideway.lowering.json_words import is_written
from guideway.syntax.json_schema_tree import (
    Address,
    Arrays,
    Document,
    Kind,
    Numbers,
    Objects,
    Schema,
    Strings,
)

HasValue: TypeAlias = Callable[[Address, frozenset[Kind]], bool]

_ELSEWHERE: Final = ("$ref", "anyOf", "oneOf")
_FREE: Final = frozenset(("null", "boolean"))
_COMPOSED: Final[frozenset[Kind]] = frozenset(("array", "object"))
_NUMBERS, _STRINGS, _OBJECTS = Numbers(), Strings(), Objects({})


@final
class Waiting:
    """The schemas of a document that may wait.

    >>> from guideway.syntax.json_schema import parse_json_schema
    >>> from guideway.syntax.json_schema_source import JsonSchema
    >>> source = JsonSchema({"items": {"not": {}}, "properties": {"a": {"type": "null"}}})
    >>> document = parse_json_schema(source)
    >>> found = Waiting(document, Outlines(document), lambda address, kinds: False)
    >>> sorted(found.sure), found.decided
    (['#', '#/properties/a'], ['#/items'])

    Args:
        document: the schemas.
        outlines: tells which of them exclude each other.
        has_value: tells whether a schema plainly allows a value of some types without parts; asked
            where bounds, patterns and the like meet.

    Attributes:
        sure: the addresses of those that may wait.
        decided: those that are not plain, of all that plain ones hold.
    """

    def __init__(self, document: Document, outlines: Outlines, has_value: HasValue) -> None:
        self._schemas, self._outlines, self._has_value = document.schemas, outlines, has_value
        plain = {
            address: schema
            for address, schema in document.schemas.items()
            if self._is_plain(schema)
        }
        parts = dict.fromkeys(part for schema in plain.values() for part in _parts(schema))
        self.decided = [part for part in parts if part not in plain]
        self.sure = _inhabited(plain)

    def _is_plain(self, schema: Schema) -> bool:
        """Whether a schema says nothing itself that has to be decided."""
        if schema.in_place:
            return _refers(schema) and all(map(self._are_apart, schema.one_of))
        return (
            ("array" not in schema.kinds or _is_plain_array(schema.arrays))
            and ("object" not in schema.kinds or self._is_plain_object(schema.objects))
            and self._has_scalars(schema)
        )

    def _are_apart(self, branches: tuple[Address, ...]) -> bool:
        """Whether no two branches allow the same value."""
        outlines = self._outlines
        return all(
            outlines.exclude(one, other, kind)
            for one, other in combinations(branches, 2)
            for kind in outlines.of(one).kinds & outlines.of(other).kinds
        )

    def _is_plain_object(self, objects: Objects) -> bool:
        plain = replace(
            _OBJECTS,
            properties=objects.properties,
            required=objects.required,
            additional=objects.additional,
            patterns=objects.patterns,
        )
        return objects == plain and self._are_plain(objects)

    def _are_plain(self, objects: Objects) -> bool:
        """Whether each value has one schema at most, whatever patterns its key has."""
        patterns = objects.patterns
        if any(pattern.looks or pattern.boundaries or pattern.backs for pattern, _ in patterns):
            return False
        alone = len(patterns) == 1 and not objects.properties
        return alone or not any(self._schemas[part].keywords for _, part in patterns)

    def _has_scalars(self, schema: Schema) -> bool:
        """Whether there are plainly values of each type without parts."""
        if schema.strings.holds is not None:  # other schemas, which this one would lead to
            return False
        kinds = schema.kinds - _COMPOSED
        if "string" in kinds and _has_string(schema.strings):
            kinds -= {"string"}
        if "number" in kinds and _has_number(schema.numbers):
            kinds -= {"number"}
        return kinds <= _FREE or self._has_value(schema.address, kinds)


def _inhabited(schemas: dict[Address, Schema]) -> set[Address]:
    """The plain schemas with an instance: the least fixed point of what each needs."""
    found, waiting = set[Address](), defaultdict[Address, list[Address]](list)
    todo = [*schemas]  # the last ones first, as parts stand behind what they are parts of
    while todo:
        address = todo.pop()
        lacking = None if address in found else _lacking(schemas[address], found)
        if lacking is None:
            found.add(address)
            todo += waiting.pop(address, ())
        else:
            for part in lacking:
                waiting[part].append(address)
    return found


def _lacking(schema: Schema, found: set[Address]) -> list[Address] | None:
    """The parts of which one has to have an instance first; None if this schema has one."""
    if options := schema.in_place:
        return [*options] if found.isdisjoint(options) else None
    if not schema.kinds <= _COMPOSED:
        return None
    needed = [_needed(schema, kind) for kind in schema.kinds]
    lacking = [[part for part in parts if part not in found][:1] for parts in needed]
    return None if [] in lacking else [part for parts in lacking for part in parts]


def _needed(schema: Schema, kind: Kind) -> list[Address]:
    """The parts that an array or object of a plain schema holds at least."""
    arrays, objects = schema.arrays, schema.objects
    if kind == "array":
        rest = () if arrays.items is None else (arrays.items,)
        return [*arrays.prefix[: arrays.low], *(rest if arrays.low > len(arrays.prefix) else ())]
    said = (objects.properties.get(name, objects.additional) for name in objects.required)
    return [part for part in said if part is not None]


def _parts(schema: Schema) -> Iterator[Address]:
    """All schemas that a plain one leads to."""
    yield from schema.in_place
    yield from schema.arrays.prefix
    yield from schema.objects.properties.values()
    yield from (part for _, part in schema.objects.patterns)
    yield from (part for part in (schema.arrays.items, schema.objects.additional) if part)


def _refers(schema: Schema) -> bool:
    """Whether a schema is a reference, or any of some schemas, and says nothing else."""
    alone = len(schema.keywords) == 1 and schema.keywords[0] in _ELSEWHERE
    return alone and len(schema.in_place) <= MOST


def _is_plain_array(arrays: Arrays) -> bool:
    return (
        arrays.contains is arrays.unevaluated is None
        and not (arrays.unique and arrays.low > 1)
        and (arrays.high is None or arrays.low <= arrays.high)
    )


def _has_string(strings: Strings) -> bool:
    return (
        strings == _STRINGS
        or strings == Strings(format=strings.format)
        or (
            strings.values is not None
            and strings == Strings(strings.values)
            and is_written("".join(strings.values))
        )
        or (
            strings == Strings(low=strings.low, high=strings.high)
            and strings.low <= (strings.low if strings.high is None else strings.high)
        )
    )


def _has_number(numbers: Numbers) -> bool:
    if numbers.values is not None:
        return numbers == Numbers(numbers.values)
    return not (numbers.multiples or numbers.double or (numbers.lower and numbers.upper))
