"""Kinds of values that schemas of tool arguments allow, and raw strings."""

from dataclasses import dataclass
from typing import Final, final

from guideway.syntax.json_schema_part import part_of
from guideway.syntax.json_schema_source import JsonSchema
from guideway.syntax.json_schema_tree import (
    KINDS,
    Address,
    Arrays,
    Document,
    Kind,
    Numbers,
    Objects,
    Schema,
    Strings,
)
from guideway.syntax.sources import Source, Text

_TEXTS: Final[frozenset[Kind]] = frozenset(("string", "null"))
_ANY: Final = {
    "boolean": True,
    "string": Strings(),
    "number": Numbers(),
    "array": Arrays(),
    "object": Objects({}),
}


@final
@dataclass(frozen=True)
class RawStrings(Source[str]):
    """The strings that a schema allows, without quotes and escapes."""

    schema: JsonSchema


def may_be_null(document: Document, root: Address) -> bool | None:
    """True or False for a schema of strings with or without null; None for other schemas."""
    told = kinds_of(document, root)
    allowed = {kind for kind in KINDS if told[kind]}
    return "null" in allowed if "string" in allowed and allowed <= _TEXTS else None


def strings_of(source: JsonSchema, document: Document, root: Address) -> Source:
    """Source of the raw strings that the schema at an address allows."""
    free = kinds_of(document, root)["string"] == 1
    return Text() if free else RawStrings(part_of(source, root))


def kinds_of(document: Document, root: Address) -> dict[Kind, float]:
    """For each kind, 1 if a schema allows all values, 0 if none, .5 if unknown (Kleene's logic)."""
    order = _in_order(document, root)
    return {kind: _verdict(document, order, kind) for kind in sorted(KINDS)}


def has_boolean(document: Document, root: Address, value: bool) -> bool:
    return _verdict(document, _in_order(document, root), value) == 1


def _in_order(document: Document, root: Address) -> list[Address]:
    """All schemas applied to the same instance, parts first."""
    found, todo = dict[Address, None](), [root]
    while todo:
        missing = [part for part in document.schemas[todo[-1]].in_place if part not in found]
        if not missing:
            found[todo.pop()] = None
        todo += missing
    return list(found)


def _verdict(document: Document, order: list[Address], kind: Kind | bool) -> float:
    """Verdict of the last schema on all values of a kind, or on one boolean; exact for null."""
    known: dict[Address, float] = {}
    for address in order:
        schema = document.schemas[address]
        answers = [_itself(schema, kind), *(known[part] for part in schema.all_of)]
        answers += (max(known[part] for part in group) for group in schema.any_of)
        for group in schema.one_of:
            *_, second, first = sorted((0, *(known[part] for part in group)))
            answers.append(min(first, 1 - second))
        answers += (1 - known[part] for part in schema.none_of)
        if schema.condition is not None:
            parts = schema.condition.test, schema.condition.then, schema.condition.otherwise
            test, then, other = (1 if part is None else known[part] for part in parts)
            either = max(min(test, then), min(1 - test, other))
            answers.append(then if then == other else either)
        known[address] = min(answers)
    return known[order[-1]]


def _itself(schema: Schema, kind: Kind | bool) -> float:
    """Verdict of a schema without its applicators."""
    if isinstance(kind, bool):
        return "boolean" in schema.kinds and kind in schema.booleans
    if kind not in schema.kinds or kind == "null":
        return kind in schema.kinds
    said = len(schema.booleans) == 2 if kind == "boolean" else getattr(schema, f"{kind}s")
    return 1 if said == _ANY[kind] else 0.5
