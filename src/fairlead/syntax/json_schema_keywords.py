"""Which keywords exist, in which draft, and what becomes of the others.

A keyword that fairlead reads is read; one that any draft asserts with and fairlead does not read is
refused by name; annotations are ignored. A name in no draft is an annotation too, as the
specification says, unless it looks like a slip of the pen for a keyword (`requred`, `minlength`):
then it is refused, since ignoring it would drop what its author wanted.

This module knows names only; `json_schema_values` knows the shapes of what they hold.
"""

from collections.abc import Mapping
from typing import TypeAlias

from fairlead.errors import SourceError, UnsupportedError
from fairlead.syntax.json_text import Json, extend, show
from fairlead.syntax.names import did_you_mean

Draft: TypeAlias = int
LATEST: Draft = 2020

_DRAFTS: dict[str, Draft] = {
    "json-schema.org/draft-04/schema": 4,
    "json-schema.org/draft-06/schema": 6,
    "json-schema.org/draft-07/schema": 7,
    "json-schema.org/draft/2019-09/schema": 2019,
    "json-schema.org/draft/2020-12/schema": 2020,
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
}

_REFUSED = frozenset(("$dynamicRef", "$recursiveRef", "extends", "disallow", "divisibleBy"))

_ANNOTATIONS = frozenset(
    (
        *("title", "description", "default", "examples", "example", "deprecated"),
        *("readOnly", "writeOnly", "$comment", "$schema", "$id", "id", "$defs"),
        *("definitions", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$vocabulary"),
        *("discriminator", "contentMediaType", "contentEncoding", "contentSchema"),
    )
)


def find_draft(uri: object, pointer: str, default: Draft) -> Draft:
    """The draft that `$schema` names.

    Raises:
        SourceError: it is no string.
        UnsupportedError: it names something else.
    """
    if uri is None:
        return default
    if not isinstance(uri, str):
        raise SourceError(f"$schema must be a string, not {show(uri)}", place=f"{pointer}/$schema")
    draft = _DRAFTS.get(uri.partition("://")[2].removesuffix("#"))
    if draft is None:
        raise UnsupportedError(
            f"$schema {show(uri)} is none of drafts 4, 6, 7, 2019-09 and 2020-12",
            feature="$schema",
            place=f"{pointer}/$schema",
        )
    return draft


def check_names(raw: Mapping[str, Json], draft: Draft, pointer: str) -> tuple[str, ...]:
    """The keywords of a schema that assert something, in the given order.

    Raises:
        UnsupportedError: a keyword that asserts what fairlead cannot honour, or that this draft
            does not have.
        SourceError: a name that looks like a misspelled keyword.
    """
    read: list[str] = []
    for name in raw:
        if name in READ:
            first, last = READ[name]
            if not first <= draft <= last:
                raise UnsupportedError(
                    f"{name} is no keyword of {_called(draft)}; name another draft in $schema",
                    feature=name,
                    place=extend(pointer, name),
                )
            read.append(name)
        elif name in _REFUSED:
            raise UnsupportedError(
                f"the keyword {name} is not supported",
                feature=name,
                place=extend(pointer, name),
            )
        elif name not in _ANNOTATIONS:
            _check_slip(name, pointer)
    return tuple(read)


def _check_slip(name: str, pointer: str) -> None:
    """Refuse `name` if it is a keyword but for case, or but for one slip in a long one.

    People put a keyword out of force as `_format`; that is no slip.
    """
    if name.startswith("_"):
        return
    for keyword in (*READ, *_REFUSED):
        if name.casefold() == keyword.casefold() or (len(keyword) > 5 and _one_slip(name, keyword)):
            raise SourceError(
                f"{show(name)} is no keyword" + did_you_mean(name, (keyword,)),
                place=extend(pointer, name),
            )


def _one_slip(given: str, meant: str) -> bool:
    """Whether one letter is missing, added, wrong, or has changed places with the next.

    >>> _one_slip("requred", "required"), _one_slip("minLenght", "minLength")
    (True, True)
    """
    start = 0
    while start < min(len(given), len(meant)) and given[start] == meant[start]:
        start += 1
    left, right = given[start:], meant[start:]
    return (
        left[1:] == right
        or left == right[1:]
        or left[1:] == right[1:]
        or (left[:2] == right[1::-1] and left[2:] == right[2:])
    )


def _called(draft: Draft) -> str:
    return {4: "draft-04", 6: "draft-06", 7: "draft-07", 2019: "2019-09", 2020: "2020-12"}[draft]
