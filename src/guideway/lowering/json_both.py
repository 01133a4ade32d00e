"""JSON Schemas that hold together, and those that do not: one document made of several.

Schemas combine as schemas do, `allOf` and `not`, each read by itself: with its own draft, its own
resources and identifiers. So what `a & b` and `a - b` mean is decided value by value, however deep
arrays and objects nest, where two context-free languages have no meet that could be computed.

Texts are another matter than values. That the texts of both are those of the document takes that

    whitespace   the narrower of both, gap by gap; what is taken away may not be narrower
    spelling     the same in all: which numbers have a plain form depends on what is said of them
    key_order    "any" in all: two orders need not go together

and where that does not hold, there is no such document.

What this module does not know: how a document is lowered (`json_schema`).
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
    """The options with which there would be one document of these; "" where there is one.

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
    """The JSON texts of values that all of `held` allow, at least one, and none of `denied`.

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
    """The bounds of an option, None for any whitespace."""
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
