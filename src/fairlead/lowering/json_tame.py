"""Documents whose parts may be lowered when they are first entered.

What cannot be honoured is refused when compiling, so whatever might be refused, or might turn out
to have no instance in a way that takes a search, is lowered then. Most schemas in use hold nothing
of the kind: types, bounds, properties, items, references, alternatives that stand alone.
"""

from fairlead.lowering.json_atoms import AtMost, Item, Items, Matching, Named, Shorter
from fairlead.lowering.json_cases import Case
from fairlead.syntax.json_schema_tree import Document, Schema

_TAME = frozenset(
    (
        *("type", "enum", "const", "properties", "required", "additionalProperties", "items"),
        *("prefixItems", "minItems", "maxItems", "minLength", "maxLength", "pattern", "format"),
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "false"),
    )
)
_ALONE = ({"$ref"}, {"anyOf"}, {"enum"}, {"const"}, {"type", "enum"}, {"type", "const"})
_MOST_BRANCHES = 8


def is_tame(document: Document) -> bool:
    """Whether no part of a document can be refused any more, or need a search for an instance."""
    return all(_is_tame(schema) for schema in document.schemas.values())


def _is_tame(schema: Schema) -> bool:
    names = set(schema.keywords)
    if schema.all_of or schema.any_of:
        alone = names in _ALONE and len(schema.all_of) + len(schema.any_of) == 1
        return alone and all(len(group) <= _MOST_BRANCHES for group in schema.any_of)
    if not names <= _TAME:
        return False
    pattern = schema.strings.pattern
    return pattern is None or not (pattern.looks or pattern.boundaries or pattern.backs)


def has_empty(case: Case) -> bool:
    """Whether the empty object or array satisfies a case."""
    return all(
        isinstance(atom, Named | Matching | AtMost | Item | Items | Shorter) for atom in case
    )
