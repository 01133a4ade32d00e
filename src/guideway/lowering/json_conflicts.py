"""Explain why a JSON Schema has no instance: name the keywords that exclude each other."""

import json
from collections.abc import Callable
from functools import partial
from itertools import combinations
from typing import Any, cast

from guideway.errors import UnsatisfiableError
from guideway.lowering.json_atoms import Holds, Longer, Required
from guideway.lowering.json_cases import cases, items_of, prefix_length
from guideway.lowering.json_constants import is_constant
from guideway.lowering.json_formulas import FALSE, Formula, atoms, leaf
from guideway.lowering.json_keysets import said_of
from guideway.lowering.json_schema import Lowering, lower_json_schema
from guideway.lowering.nodes import Expr
from guideway.syntax.json_schema_source import JsonSchema
from guideway.syntax.json_schema_tree import Address, Document, Schema
from guideway.syntax.json_text import find, show

_FEW = 64  # constants and parts of them
_LONGEST = 24  # characters of a value that a message shows

_LONE = frozenset(
    (
        *("enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
        *("minLength", "maxLength", "pattern", "format", "minItems", "maxItems"),
        *("multipleOf", "minProperties", "maxProperties", "required"),
    )
)


def explain_conflict(source: JsonSchema, is_empty: Callable[[Expr], bool]) -> UnsatisfiableError:
    """The error that says why no instance satisfies `source`.

    Args:
        source: a schema without any instance.
        is_empty: whether an expression denotes no text.
    """
    lowering = Lowering(source, alike=lambda part: part)  # messages name each
    constants = sum(map(is_constant, lowering.document.schemas.values()))
    lowering.meaning.listing &= constants > _FEW  # else messages name their parts, too
    said: Formula = leaf(Holds(lowering.document.root))
    entered: dict[Formula, str] = {}
    why = ""
    while said not in entered:
        entered[said] = why
        parts = _required_parts(lowering, said)
        empty = next((part for part in parts if is_empty(lowering.value(part))), None)
        if empty is None:
            return _local_conflict(source, _involved(lowering.document, said), why, is_empty)
        said, why = empty, parts[empty]
    return UnsatisfiableError(
        f"no finite instance: {why} leads back to its own place",
        place=_pointer(_addresses(said)[0]),
        conflict=tuple(filter(None, entered.values())),
    )


def _required_parts(lowering: Lowering, said: Formula) -> dict[Formula, str]:
    """Parts that every instance of some case contains, and the keyword that requires each."""
    parts: dict[Formula, str] = {}

    def add(part: Formula, why: str, about: Callable[[Schema], Address | None]) -> None:
        named = _named_never(lowering.document, said, about) if part is FALSE else part
        parts.setdefault(named, why)

    for case in cases(lowering.meaning.of(said, "object")) or ():
        required = {atom.name for atom in case if isinstance(atom, Required)}
        for key in lowering.keysets.names(case):
            if key.name in required:
                about = partial(_about_member, str(key.name))
                add(said_of(case, key), f"required {show(key.name)}", about)
    for case in cases(lowering.meaning.of(said, "array")) or ():
        low = max((atom.count for atom in case if isinstance(atom, Longer)), default=0)
        item = items_of(case)
        for position in range(min(low, prefix_length(case) + 1)):
            about = partial(_about_item, position)
            add(item(position), f"minItems, item {position}", about)
    return {part: why for part, why in parts.items() if _addresses(part)}


def _named_never(
    document: Document, said: Formula, about: Callable[[Schema], Address | None]
) -> Formula:
    found = (about(schema) for schema in _involved(document, said))
    never = (part for part in found if part is not None and not document.schemas[part].kinds)
    return next((leaf(Holds(part)) for part in never), FALSE)


def _about_member(name: str, schema: Schema) -> Address | None:
    return schema.objects.properties.get(name, schema.objects.additional)


def _about_item(position: int, schema: Schema) -> Address | None:
    prefix = schema.arrays.prefix
    return prefix[position] if position < len(prefix) else schema.arrays.items


def _addresses(said: Formula) -> list[Address]:
    return [atom.schema for atom in atoms(said) if isinstance(atom, Holds)]


def _involved(document: Document, said: Formula) -> list[Schema]:
    addresses = dict.fromkeys(_addresses(said))
    order = list(addresses)
    for address in order:  # grows while we go
        linked = [part for part in document.schemas[address].in_place if part not in addresses]
        addresses |= dict.fromkeys(linked)
        order += dict.fromkeys(linked)
    schemas = [document.schemas[address] for address in order]
    return [schema for schema in schemas if schema.keywords]


def _local_conflict(
    source: JsonSchema, involved: list[Schema], why: str, is_empty: Callable[[Expr], bool]
) -> UnsatisfiableError:
    first, *others = involved
    place = _pointer(first.address)
    names = tuple(dict.fromkeys(name for schema in involved for name in _keywords(schema)))
    if not others:
        names = _smallest(source, first, is_empty) or first.keywords
    raw = {} if others else _written(source.text, first.address)
    shown = [f"{name} {_short(raw[name])}".rstrip() if name in raw else name for name in names]
    names = (*names, why) if why else names
    shown += [why] if why else []
    return UnsatisfiableError(
        f"no instance satisfies {' and '.join(shown)}", place=place, conflict=names
    )


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST else ""


def _keywords(schema: Schema) -> list[str]:
    pointer = _pointer(schema.address)
    if schema.address.startswith("="):
        return [pointer]
    passing = ("$ref", "allOf", "anyOf", "oneOf")
    return [f"{pointer}/{name}" for name in schema.keywords if name not in passing]


def _smallest(
    source: JsonSchema, schema: Schema, is_empty: Callable[[Expr], bool]
) -> tuple[str, ...]:
    """Up to three keywords that, with `type`, have no instance; () if it takes more."""
    raw = _written(source.text, schema.address)
    names = [name for name in schema.keywords if name in raw and _is_lone(name, raw[name])]
    for count in (1, 2, 3):
        for chosen in combinations(names, count):
            kept = {name: raw[name] for name in ("$schema", "type", *chosen) if name in raw}
            if is_empty(lower_json_schema(JsonSchema(kept))):
                typed = count == 1 and "type" in raw
                return ("type", *chosen) if typed else chosen
    return ()


def _is_lone(name: str, value: object) -> bool:
    return name in _LONE or isinstance(value, bool)


def _written(text: str, address: Address) -> dict[str, Any]:
    document, _, pointer = address.partition("#")
    try:
        root: Any = json.loads(text)
        found: Any = find(root, "" if document else pointer)
    except (RecursionError, LookupError):  # too deep for json, or for a pointer to be followed
        return {}
    if document or not isinstance(found, dict):
        return {}
    return {name: root[name] for name in ("$schema",) if name in root} | cast(
        "dict[str, Any]", found
    )


def _pointer(address: Address) -> str:
    return address.partition("#")[2]
