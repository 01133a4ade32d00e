"""A part of a JSON Schema as a schema of its own, with its references.

    {"properties": {"a": {"$ref": "#/properties/b"}, "b": {"type": "integer"}}}

The whole becomes a resource, and the part a reference into it. Where all references lead to
definitions, only these are copied, which reads faster.
"""

from typing import Any, Final, cast
from urllib.parse import quote

from guideway.errors import UnsupportedError
from guideway.syntax.json_schema import parse_json_schema
from guideway.syntax.json_schema_resources import Catalogue, has_dynamic
from guideway.syntax.json_schema_source import JsonSchema
from guideway.syntax.json_schema_tree import Address
from guideway.syntax.json_text import find, read_json, walk, write_json

_WHOLE: Final = "whole:schema"
_DEFINITIONS: Final = ("$defs", "definitions")
_ELSEWHERE: Final = frozenset(("$dynamicRef", "$recursiveRef", "$id", "id"))


def part_of(source: JsonSchema, address: Address) -> JsonSchema:
    """The schema at an address of the tree of `source`, in the same style.

    >>> part_of(JsonSchema({"properties": {"a": {"type": "null"}}}), "#/properties/a").text
    '{"allOf":[{"type":"null"}]}'

    Raises:
        UnsupportedError: the meaning of the part depends on dynamic references, or no pointer leads
            to it.
    """
    document, pointer = _split(source, address)
    given = source.value if not document else read_json(dict(source.resource_texts)[document])
    try:
        part = find(given, pointer)
    except LookupError:
        raise _refused(address) from None
    if _is_bound(source, document, pointer):
        raise _refused(address)
    if not document and _names_definitions(source):
        return _alone(source, part)
    return _within(source, document, pointer)


def _split(source: JsonSchema, address: Address) -> tuple[str, str]:
    """The document and the pointer of an address; the name of a document may contain #."""
    named = (uri for uri, _ in source.resource_texts if address.startswith(f"{uri}#/"))
    document = max(named, key=len, default="")
    return document, address.removeprefix(document).partition("#")[2]


def _is_bound(source: JsonSchema, document: str, pointer: str) -> bool:
    """Return True if dynamic references may depend on the path to the part."""
    texts = (source.text, *(text for _, text in source.resource_texts))
    below_root = not document and pointer.startswith("/properties/") and pointer.count("/") == 2
    return not below_root and has_dynamic(texts)


def _names_definitions(source: JsonSchema) -> bool:
    """Return True if all references name definitions of the root."""
    if source.resource_texts:
        return False
    for _, said in walk(source.value):
        raw = cast("dict[str, Any]", said) if isinstance(said, dict) else {}
        named = raw.get("$ref")
        if isinstance(named, str) and not named.startswith(("#/$defs/", "#/definitions/")):
            return False
        if any(isinstance(raw.get(name), str) for name in _ELSEWHERE):
            return False
    return True


def _alone(source: JsonSchema, part: Any) -> JsonSchema:
    """The part with the definitions."""
    whole = cast("dict[str, Any]", source.value)
    kept = {name: whole[name] for name in ("$schema", *_DEFINITIONS) if name in whole}
    return _like(source, {"allOf": [part], **kept}, dict(source.resource_texts))


def _within(source: JsonSchema, document: str, pointer: str) -> JsonSchema:
    """The part as a reference into the whole."""
    own = _free_name(source)
    whole = cast("dict[str, Any]", source.value)
    schema = {"$schema": whole["$schema"]} if "$schema" in whole else {}
    uri = document.removesuffix("#") or own
    schema["$ref"] = f"{uri}#{quote(pointer, safe='/~')}"
    made = _like(source, schema, {own: source.text, **dict(source.resource_texts)})
    tree = parse_json_schema(made)
    if tree.schemas[tree.root].all_of != (f"{document or own}#{pointer}",):
        raise _refused(f"{document}#{pointer}")
    return made


def _like(source: JsonSchema, schema: dict[str, Any], resources: dict[str, str]) -> JsonSchema:
    style = source.key_order, source.whitespace, source.spelling, source.formats
    return JsonSchema(write_json(schema), *style, resources)


def _free_name(source: JsonSchema) -> str:
    """A URI that nothing in the schema has."""
    catalogue, name = Catalogue(source.value, source.resource_texts, dynamic=False), _WHOLE
    while catalogue.find(name) is not None:
        name = f"whole:{name}"
    return name


def _refused(address: Address) -> UnsupportedError:
    return UnsupportedError(
        "this part of the schema depends on the parts that lead to it, so it has no meaning alone",
        feature="part of a schema",
        place=address.removeprefix("#"),
    )
