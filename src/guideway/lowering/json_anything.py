"""JSON values of any kind: shared rules for what a schema says nothing about."""

from typing import Literal, TypeAlias

from guideway.lowering.expr import alt, concat, literal
from guideway.lowering.json_arrays import json_array
from guideway.lowering.json_formulas import TRUE
from guideway.lowering.json_leaves import Leaves
from guideway.lowering.json_objects import Members, json_object
from guideway.lowering.json_scalars import number, text_content
from guideway.lowering.json_text import QUOTE, JsonStyle
from guideway.lowering.nodes import Expr, Rule

Composed: TypeAlias = Literal["array", "object"]
_every: Leaves[Rule] = Leaves(most=64)


def anything(style: JsonStyle) -> Expr:
    """The values of all kinds."""
    spelling = style.spelling
    scalars = (
        literal("null"),
        alt(literal("true"), literal("false")),
        number(TRUE, plain=spelling.plain),
        concat(QUOTE, text_content(TRUE, spelling), QUOTE),
    )
    return alt(*scalars, every("array", style), every("object", style))


def every(kind: Composed, style: JsonStyle) -> Rule:
    """All arrays, or all objects.

    >>> from guideway.lowering.json_text import json_style
    >>> from guideway.syntax.json_schema_source import JsonSchema
    >>> style = json_style(JsonSchema({}))
    >>> every("array", style) is every("array", style)
    True
    """
    found = _every.get((kind, style))
    if found is None:
        make = _arrays if kind == "array" else _objects
        found = Rule(kind, inhabited=True, make=lambda: make(style))
        _every.put((kind, style), found)
    return found


def _arrays(style: JsonStyle) -> Expr:
    return json_array(lambda _: anything(style), 0, 0, None, style)


def _objects(style: JsonStyle) -> Expr:
    return json_object(Members((), (), (), anything(style), None, style.ordered), style)
