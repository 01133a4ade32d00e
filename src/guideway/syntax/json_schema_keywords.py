"""Keywords by draft.

A keyword that the draft does not have is an annotation there, as the specification says: `const` in
draft 4, `prefixItems` in draft 7, a misspelled `requred` anywhere.
"""

import re
from collections.abc import Mapping
from typing import TypeAlias

from guideway.errors import SourceError, UnsupportedError
from guideway.syntax.json_text import Json, show

Draft: TypeAlias = int
LATEST: Draft = 2020
JSON_TEXT = "x-guideway-json"
"""Of a string: the schema of the JSON that it holds; only types ask for that."""

_DRAFTS: dict[str, Draft] = {
    "json-schema.org/draft-04/schema": 4,
    "json-schema.org/draft-06/schema": 6,
    "json-schema.org/draft-07/schema": 7,
    "json-schema.org/draft/2019-09/schema": 2019,
    "json-schema.org/draft/2020-12/schema": 2020,
    "json-schema.org/schema": LATEST,  # the current version, says draft-zyp-json-schema-04
}

# Each with the first and the last draft that has it.
READ: dict[str, tuple[Draft, Draft]] = {
    **dict.fromkeys(("type", "enum", "properties", "required", "additionalProperties"), (4, 2020)),
    **dict.fromkeys(("items", "minItems", "maxItems", "minLength", "maxLength"), (4, 2020)),
    **dict.fromkeys(("pattern", "format", "minimum", "maximum"), (4, 2020)),
    **dict.fromkeys(("exclusiveMinimum", "exclusiveMaximum", "multipleOf"), (4, 2020)),
    **dict.fromkeys(("anyOf", "oneOf", "allOf", "$ref"), (4, 2020)),
    **dict.fromkeys(("const", "propertyNames"), (6, 2020)),
    "additionalItems": (4, 2019),
    **dict.fromkeys(("not", "patternProperties", "minProperties", "maxProperties"), (4, 2020)),
    **dict.fromkeys(("uniqueItems", "dependencies"), (4, 2020)),
    "contains": (6, 2020),
    **dict.fromkeys(("if", "then", "else"), (7, 2020)),
    **dict.fromkeys(("minContains", "maxContains"), (2019, 2020)),
    **dict.fromkeys(("dependentRequired", "dependentSchemas"), (2019, 2020)),
    **dict.fromkeys(("unevaluatedItems", "unevaluatedProperties"), (2019, 2020)),
    "prefixItems": (2020, 2020),
    "$recursiveRef": (2019, 2019),
    "$dynamicRef": (2020, 2020),
    JSON_TEXT: (4, 2020),
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


_VOCABULARIES: dict[str, tuple[str, ...]] = {
    "applicator": (
        *("prefixItems", "items", "additionalItems", "contains", "properties", "propertyNames"),
        *("patternProperties", "additionalProperties", "dependentSchemas", "allOf", "anyOf"),
        *("oneOf", "not", "if", "then", "else"),
    ),
    "unevaluated": ("unevaluatedItems", "unevaluatedProperties"),
    "validation": (
        *("type", "enum", "const", "multipleOf", "maximum", "exclusiveMaximum", "minimum"),
        *("exclusiveMinimum", "maxLength", "minLength", "pattern", "maxItems", "minItems"),
        *("uniqueItems", "maxContains", "minContains", "maxProperties", "minProperties"),
        *("required", "dependentRequired"),
    ),
    "format": ("format",),
    "core": ("$ref", "$dynamicRef", "$recursiveRef"),
    "meta-data": (),
    "content": (),
}
_VOCABULARY_URI = re.compile(r"https://json-schema\.org/draft/(20\d\d)-\d\d/vocab/([a-z-]+)")


def find_vocabulary(uri: str) -> frozenset[str] | None:
    """Asserting keywords of a vocabulary, None if it is unknown.

    >>> sorted(find_vocabulary("https://json-schema.org/draft/2019-09/vocab/format"))
    ['format']
    """
    found = _VOCABULARY_URI.fullmatch(uri)
    name = "" if found is None else found[2].removesuffix("-annotation").removesuffix("-assertion")
    if found is None or name not in _VOCABULARIES:
        return None
    keywords = _VOCABULARIES[name]
    both = name == "applicator" and found[1] == "2019"  # there, one vocabulary
    return frozenset((*keywords, *_VOCABULARIES["unevaluated"]) if both else keywords)


def asserted(
    raw: Mapping[str, Json], draft: Draft, known: frozenset[str] | None = None
) -> dict[str, Json]:
    """Asserting keywords of a schema in this draft, in the given order.

    `known` are the keywords of its metaschema's vocabularies, None for all.

    >>> asserted({"title": "A", "const": 1, "enum": [1]}, 4)
    {'enum': [1]}
    """
    nowhere = (LATEST + 1, LATEST)
    found: dict[str, Json] = {}
    for name, value in raw.items():
        first, last = READ.get(name, nowhere)
        if first <= draft <= last and (known is None or name in known):
            found[name] = value
    return found
