"""Descriptions of tools, as vendors write them.

    OpenAI, Mistral        {"type": "function", "function": {"name", "description", "parameters"}}
    OpenAI's Responses     {"type": "function", "name", "description", "parameters"}
    Anthropic              {"name", "description", "input_schema"}
    MCP                    {"name", "description", "inputSchema"}
    Amazon Bedrock         {"toolSpec": {"name", "description", "inputSchema": {"json": schema}}}
    Gemini                 {"functionDeclarations": [{"name", "description", "parameters"}]}, types
                           in capitals, or a JSON Schema as "parametersJsonSchema"
    smolagents             {"name", "description", "inputs": {"city": {"type", "description"}}}

Pydantic objects, such as those of MCP and Google's client, work too. An unknown key is refused if
its value may be a schema, and else a `GuidewayWarning`. A tool without a schema has no arguments.
"""

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast, final

from guideway.errors import SourceError, UnsupportedError, brief, warn
from guideway.syntax.json_schema_resources import parts_of
from guideway.syntax.json_text import write_json
from guideway.syntax.names import did_you_mean, near
from guideway.syntax.sources import check_text

_ANNOTATIONS: Final = frozenset(
    (
        *("type", "name", "description", "title", "strict", "annotations", "icons", "_meta"),
        *("outputSchema", "output_schema", "output_type", "return", "response"),
        *("responseJsonSchema", "response_json_schema", "behavior", "execution"),
        *("cache_control", "input_examples", "defer_loading", "allowed_callers"),
        *("eager_input_streaming", "cachePoint"),
    )
)
_LISTS: Final = ("functionDeclarations", "function_declarations")
_INSIDE: Final = ("function", "toolSpec")
_NO_ARGUMENTS: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {},
    "additionalProperties": False,
}
_WITH_SCHEMA: Final = ("function", "custom", None)  # values of "type"


@final
@dataclass(frozen=True, slots=True)
class Description:
    """One tool; `published` is the schema for prompts, with `nullable` for chat templates."""

    name: str
    about: str
    parameters: dict[str, Any]
    published: dict[str, Any]


def as_mapping(given: object) -> Mapping[str, Any] | None:
    if isinstance(given, Mapping):
        return cast("Mapping[str, Any]", given)
    if isinstance(given, type):
        return None
    if hasattr(given, "__pydantic_fields_set__"):
        model: Any = given
        return model.model_dump(mode="json", by_alias=True, exclude_none=True)
    inputs, name = getattr(given, "inputs", None), getattr(given, "name", None)
    if isinstance(inputs, Mapping) and isinstance(name, str):  # a smolagents tool
        return {"name": name, "description": getattr(given, "description", ""), "inputs": inputs}
    return None


def read_descriptions(given: Mapping[str, Any]) -> Iterator[Description]:
    """The tools of a description: one, or Gemini's list.

    >>> [tool] = read_descriptions({"name": "f", "input_schema": {"type": "object"}})
    >>> tool.name, tool.parameters
    ('f', {'type': 'object'})
    """
    given = {key: value for key, value in given.items() if value is not None}
    for key in (*_LISTS, *_INSIDE):
        if key in given:
            _check_keys(given, {key})
            listed: list[Any] = given[key] if key in _LISTS else [given[key]]
            for one in listed if isinstance(listed, list) else [listed]:  # pyright: ignore[reportUnnecessaryIsInstance]
                if not isinstance(one, Mapping):
                    raise SourceError(f"{key} of a tool must be a description, not {brief(one)}")
                yield from read_descriptions(cast("Mapping[str, Any]", one))
            return
    yield _read(given)


def function_of(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """The inner dict of `{"type": "function", "function": {...}}`, or the dict itself."""
    inner = given.get("function", given)
    return cast("Mapping[str, Any]", inner) if isinstance(inner, Mapping) else {}


def _read(given: Mapping[str, Any]) -> Description:
    name, about = given.get("name"), given.get("description", "")
    if not isinstance(name, str):
        raise SourceError(f"the description of a tool needs a name: {brief(given)}")
    check_text(about, f"the description of the tool {name}")
    if given.get("type") not in _WITH_SCHEMA:
        raise SourceError(
            f"the tool {name} has the type {brief(given['type'])}: only functions are supported"
        )
    _check_keys(given, _SCHEMAS)
    keys = [key for key in _SCHEMAS if key in given]
    if len(keys) > 1:
        raise SourceError(f"the tool {name} has {' and '.join(keys)}: give only one of them")
    if not keys:
        return Description(name, about, _NO_ARGUMENTS, _NO_ARGUMENTS)
    [key] = keys
    schema = given[key]
    if not isinstance(schema, Mapping):
        raise SourceError(f"{key} of the tool {name} must be a dict, not {brief(schema)}")
    read = _SCHEMAS[key](name, dict(cast("Mapping[str, Any]", schema)))
    return Description(name, about, _with_null(read), read)


def _check_keys(given: Mapping[str, Any], read: Collection[str]) -> None:
    """Refuse unknown keys whose value may be a schema; warn of others."""
    for key, value in given.items():
        if key in read or key in _ANNOTATIONS:
            continue
        about = f"{key!r} in the description of the tool {given.get('name', '')}".rstrip()
        meant = did_you_mean(key, _SCHEMAS)
        if isinstance(value, Mapping | list | type) or key in _SCHEMAS or near(key, _SCHEMAS):
            raise SourceError(
                f"{about} is unknown, and may be a schema{meant}; the keys for schemas are "
                f"{', '.join(_SCHEMAS)}"
            )
        warn(f"{about} is unknown, and is ignored")


def _json_schema(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    """JSON Schema, translated if it is Gemini's."""
    kind = schema.get("type")
    return _lowered(schema) if isinstance(kind, str) and kind.isupper() else schema


def _bedrock(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    """Unwrap Bedrock's schema."""
    return schema["json"] if schema.keys() == {"json"} else schema


def _lowered(schema: Any) -> Any:
    """Translate Gemini's schema to JSON Schema."""
    if not isinstance(schema, dict):
        return schema
    said: dict[str, Any] = dict(cast("dict[str, Any]", schema))
    for key, value in said.items():
        if key in ("items", "additionalProperties"):
            said[key] = _lowered(value)
        elif key == "properties" and isinstance(value, dict):
            named = cast("dict[str, Any]", value)
            said[key] = {name: _lowered(part) for name, part in named.items()}
        elif key == "anyOf" and isinstance(value, list):
            said[key] = [_lowered(part) for part in cast("list[Any]", value)]
        elif key in _COUNTS and isinstance(value, str) and value.isdecimal():
            said[key] = int(value)
        elif key == "type" and isinstance(value, str):
            said[key] = value.lower()
    return said


def _with_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Allow null where `nullable` is set, as in OpenAPI and transformers.

    >>> _with_null({"type": "string", "enum": ["a"], "nullable": True})
    {'type': ['string', 'null'], 'enum': ['a', None], 'nullable': True}
    """
    text = write_json(schema)
    if '"nullable":' not in text:
        return schema
    whole: dict[str, Any] = json.loads(text)
    todo: list[Any] = [whole]
    while todo:
        raw = todo.pop()
        if not isinstance(raw, dict):
            continue
        said = cast("dict[str, Any]", raw)
        todo += (part for _, part in parts_of("", said))
        if said.get("nullable") is True:
            kind: Any = said.get("type", ())
            if kind:
                said["type"] = [*([kind] if isinstance(kind, str) else kind), "null"]
            for listed, null in (("enum", None), ("anyOf", {"type": "null"})):
                if listed in said:
                    said[listed] = [*said[listed], null]
    return whole


def _inputs(name: str, given: dict[str, Any]) -> dict[str, Any]:
    """Schema of smolagents' inputs; nullable ones are optional."""
    properties: dict[str, Any] = {}
    for key, part in given.items():
        if not isinstance(part, Mapping):
            raise SourceError(
                f"the input {key!r} of the tool {name} must be a dict, not {brief(part)}"
            )
        said = dict(cast("Mapping[str, Any]", part))
        kind = said.get("type")
        if kind in ("image", "audio"):
            raise UnsupportedError(
                f"the input {key!r} of the tool {name} has the type {kind}, which is not JSON",
                feature=f"input of type {kind}",
            )
        if kind == "any":
            del said["type"]
        properties[key] = said
    required = [key for key, part in given.items() if not part.get("nullable")]
    return {"type": "object", "properties": properties, "required": required}


_COUNTS: Final = frozenset(
    ("minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties")
)
_SCHEMAS: Final[dict[str, Callable[[str, dict[str, Any]], dict[str, Any]]]] = {
    "parameters": _json_schema,
    "input_schema": _json_schema,
    "inputSchema": _bedrock,
    "parametersJsonSchema": _json_schema,
    "parameters_json_schema": _json_schema,
    "inputs": _inputs,
}
