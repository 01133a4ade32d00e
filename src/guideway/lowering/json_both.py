"""Intersection and difference of JSON Schemas, as one document with `allOf` and `not`.

Their texts must agree in spelling and key order; whitespace is the narrower of all.
"""

from collections.abc import Sequence
from functools import reduce

from guideway.lowering.json_schema import Lowering
from guideway.lowering.nodes import Expr
from guideway.syntax.json_schema import parse_json_schema
from guideway.syntax.json_schema_source import JsonSchema
from guideway.syntax.json_schema_tree import Document, Schema
from guideway.syntax.json_style import Whitespace, WhitespaceName

ROOT = "both#"


def apart(held: Sequence[JsonSchema], denied: Sequence[JsonSchema]) -> str:
    """The option that differs, so that these cannot be one document; "" if they can.

    >>> apart([JsonSchema(True), JsonSchema(True, spelling="plain")], [])
    'the same spelling'
    """
    every = (*held, *denied)
    if any(each.key_order != "any" for each in every):
        return "key_order='any'"
    if len({each.spelling for each in every}) > 1:
        return "the same spelling"
    own = _common(held)
    narrower = any(_narrower(own, _bounds(each.whitespace)) != own for each in denied)
    return "whitespace that the first one has, too," if narrower else ""


def lower_together(held: Sequence[JsonSchema], denied: Sequence[JsonSchema]) -> Expr:
    """The JSON texts of values that all of `held` and none of `denied` allow.

    Raises:
        SourceError, UnsupportedError, LimitError: as `parse_json_schema` says.
    """
    read = [parse_json_schema(each, name=f"{n}:") for n, each in enumerate((*held, *denied))]
    roots = [document.root for document in read]
    whole = Schema(
        ROOT,
        ("allOf", "not") if denied else ("allOf",),
        all_of=tuple(roots[: len(held)]),
        none_of=tuple(roots[len(held) :]),
    )
    schemas = {ROOT: whole}
    for document in read:
        schemas |= document.schemas
    bounds = _common(held)
    style = JsonSchema(
        True,
        whitespace="any" if bounds is None else bounds,
        spelling=held[0].spelling,
    )
    return Lowering(style, Document(ROOT, schemas)).text()


def _common(held: Sequence[JsonSchema]) -> Whitespace | None:
    return reduce(_narrower, (_bounds(each.whitespace) for each in held))


def _bounds(given: WhitespaceName | Whitespace) -> Whitespace | None:
    if given == "any":
        return None
    bounds = given if isinstance(given, Whitespace) else Whitespace()
    if given == "compact":
        bounds = Whitespace(0, newline=False)
    return bounds if bounds.newline else Whitespace(bounds.spaces, newline=False, indent=0)


def _narrower(one: Whitespace | None, other: Whitespace | None) -> Whitespace | None:
    if one is None or other is None:
        return other if one is None else one
    newline = one.newline and other.newline
    indent = min(one.indent, other.indent) if newline else 0
    return Whitespace(min(one.spaces, other.spaces), newline=newline, indent=indent)
