"""Tools: functions and schemas that a model may call, and how a prompt describes them."""

import inspect
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from sys import float_info
from typing import Any, Final, cast

from guideway.chat.parts import parts_of
from guideway.chat.tool_formats import FORMATS, Format, format_name
from guideway.chat.tool_literals import (
    Elements,
    Literals,
    as_json,
    elements,
    is_name,
    literals,
    literals_as_json,
    parameters,
    spelled,
)
from guideway.errors import SourceError, UnsupportedError, brief, warn
from guideway.json_schema.resources import steps_in
from guideway.json_schema.source import JsonSchema, bare_schema
from guideway.json_schema.text import read_json, write_json
from guideway.json_schema.tree import JSON_TEXT
from guideway.python_types.place import INTEGER
from guideway.python_types.source import type_schema
from guideway.sources.names import did_you_mean, near
from guideway.sources.reading import check_pickled
from guideway.sources.regions import Composed, Region, Until
from guideway.sources.sources import (
    Either,
    Literal,
    PythonType,
    Repetition,
    Sequence,
    Source,
    Text,
    check_flag,
    check_text,
)

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


def _as_mapping(given: object) -> Mapping[str, Any] | None:
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


def _described(given: Mapping[str, Any], tool: object) -> "Iterator[Tool]":
    """The tools of a description: one, or Gemini's list; `tool` is what the user gave."""
    given = {key: value for key, value in given.items() if value is not None}
    for key in (*_LISTS, *_INSIDE):
        if key in given:
            _check_keys(given, {key})
            listed: list[Any] = given[key] if key in _LISTS else [given[key]]
            for one in listed if isinstance(listed, list) else [listed]:  # pyright: ignore[reportUnnecessaryIsInstance]
                if not isinstance(one, Mapping):
                    raise SourceError(f"{key} of a tool must be a description, not {brief(one)}")
                yield from _described(cast("Mapping[str, Any]", one), tool)
            return
    yield _read(given, tool)


def _read(given: Mapping[str, Any], tool: object) -> "Tool":
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
    read = _NO_ARGUMENTS
    for key in keys:
        schema = given[key]
        if not isinstance(schema, Mapping):
            raise SourceError(f"{key} of the tool {name} must be a dict, not {brief(schema)}")
        read = _SCHEMAS[key](name, dict(cast("Mapping[str, Any]", schema)))
    _check_name(name)
    # Without a type the arguments are an object too. {} would allow any JSON.
    whole = {"type": "object", **_each_changed(read, _add_null, '"nullable":')}
    if whole["type"] != "object":
        raise _no_object(name)
    return Tool(name, bare_schema(whole), tool, about, {"type": "object", **read})


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
    return _each_changed(schema, _lower) if isinstance(kind, str) and kind.isupper() else schema


def _bedrock(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    """Unwrap Bedrock's schema."""
    return schema["json"] if schema.keys() == {"json"} else schema


def _each_changed(
    schema: dict[str, Any], change: Callable[[dict[str, Any]], None], about: str = ""
) -> dict[str, Any]:
    """A copy of a schema, where `change` has changed each schema in it, if its text has `about`."""
    text = write_json(schema)
    if about not in text:
        return schema
    whole: dict[str, Any] = json.loads(text)
    todo: list[Any] = [whole]
    while todo:
        raw = todo.pop()
        if isinstance(raw, dict):
            said = cast("dict[str, Any]", raw)
            todo += (part for _, part in steps_in(said))
            change(said)
    return whole


def _lower(said: dict[str, Any]) -> None:
    """Translate Gemini's schema to JSON Schema."""
    if isinstance(kind := said.get("type"), str):
        said["type"] = kind.lower()
    for key in _COUNTS & said.keys():
        if isinstance(count := said[key], str) and count.isdecimal():
            said[key] = int(count)


def _add_null(said: dict[str, Any]) -> None:
    """Allow null where `nullable` is set, as in OpenAPI and transformers.

    >>> said = {"type": "string", "enum": ["a"], "nullable": True}
    >>> _add_null(said)
    >>> said
    {'type': ['string', 'null'], 'enum': ['a', None], 'nullable': True}
    """
    if said.get("nullable") is not True:
        return
    if kind := said.get("type", ()):
        said["type"] = [*([kind] if isinstance(kind, str) else kind), "null"]
    for listed, null in (("enum", None), ("anyOf", {"type": "null"})):
        if listed in said:
            said[listed] = [*said[listed], null]


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


CHOICES: Final = ("auto", "required", "none")
_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")


@dataclass(frozen=True)
class Tool:
    """A tool: name, source of the JSON of its arguments, the user's object, description.

    `published` is the schema of the arguments for prompts, if it differs.
    """

    name: str
    arguments: PythonType | JsonSchema
    given: object
    description: str = ""
    published: Mapping[str, Any] | None = None

    @property
    def schema(self) -> dict[str, Any]:
        """Description for chat templates (`tools=` of `apply_chat_template`)."""
        match self.arguments:
            case _ if self.published is not None:
                parameters: Any = self.published
            case PythonType(type_):
                parameters = _published(type_schema(type_).schema)
            case JsonSchema():
                parameters = read_json(self.arguments.text)
        function = {"name": self.name, "description": self.description, "parameters": parameters}
        return {"type": "function", "function": function}

    def __getstate__(self) -> dict[str, Any]:
        """All fields; a given tool that pickle does not support is refused."""
        check_pickled(self.given, "the tool")
        return vars(self)

    def __hash__(self) -> int:
        """Hash without the given tool, which may not be hashable."""
        return hash((self.name, self.arguments))


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of a tool.

    Attributes:
        name: the name of the tool.
        arguments: the arguments as values: a pydantic model, a dict for a callable, or the data of
            the JSON. None if a validator refused them (`result.error`).
        text: the arguments as JSON text, as the model wrote them.
        tool: the tool as you gave it. `call.tool(**call.arguments)` runs a callable.
        id: the id of the call, for `tool_call_id` in the message with the tool's answer.
    """

    name: str
    arguments: Any
    text: str
    tool: Any
    id: str = ""

    @property
    def message(self) -> dict[str, Any]:
        """The call in OpenAI's form, as in the message of an assistant."""
        function = {"name": self.name, "arguments": self.text}
        return {"id": self.id, "type": "function", "function": function}


@dataclass(frozen=True)
class Tools(Composed[tuple[ToolCall, ...]]):
    """Replies that may call tools.

    Attributes:
        tools: all tools; for prompts, also those that `choice` excludes.
        format: the name of the format.
        choice: "auto", "required", "none", or the name of a tool.
        parallel: allow several calls.
    """

    tools: tuple[Tool, ...]
    format: str
    choice: str
    parallel: bool

    @property
    def schemas(self) -> list[dict[str, Any]]:
        """Descriptions for chat templates."""
        return [tool.schema for tool in self.tools]

    @property
    def spelled_out(self) -> Source:
        """Text or calls; the arguments are regions."""
        form = FORMATS[self.format]
        free = _free(form)
        if self.choice == "none":
            reply = free
        elif self.choice == "auto":
            before = () if form.trigger is None else (Until(form.trigger),)
            reply = Either((free, Sequence((*before, *self._calls(form)[len(before) :]))))
        else:
            reply = Sequence(self._calls(form))
        if form.prelude is None:
            return reply
        return Sequence((Repetition(form.prelude, 0, None), reply))

    def _calls(self, form: Format) -> tuple[Source, ...]:
        """One call or more; the first part is the trigger, if the format has one."""
        named = [t for t in self.tools if self.choice in (*CHOICES, t.name)]
        given = [(tool.name, Region(tool.name, self._arguments(tool))) for tool in named]
        one, *others = (
            (*head, Either(tuple(Sequence((Literal(name), *middle, of)) for name, of in given)))
            for head, middle in ((form.head, form.middle), *form.others)
        )
        if others:
            one = (Either((Sequence(one), *map(Sequence, others))),)
        again: tuple[Source, ...] = ()
        if self.parallel and form.between is not None:
            again = (Repetition(Sequence((*form.between, *one, *form.tail)), 0, None),)
        return (*form.opening, *one, *form.tail, *again, *form.closing)

    def _arguments(self, tool: Tool) -> Source:
        match FORMATS[self.format].arguments:
            case Elements() as form:
                return elements(parameters(tool.name, tool.arguments), form)
            case Literals() as form:
                return literals(tool.name, tool.arguments, form)
            case None:
                return tool.arguments

    def ids(self, text: str) -> list[str]:
        """Ids of the calls of a reply, in order, if the format writes them."""
        pattern = FORMATS[self.format].ids
        return [] if pattern is None else pattern.findall(text)

    def before(self, text: str) -> str:
        """Text of a reply before its first call."""
        trigger = FORMATS[self.format].trigger
        return "" if trigger is None else text.partition(spelled(trigger))[0]

    def read(self, tool: Tool, text: str) -> str:
        """Arguments of a call as JSON."""
        match FORMATS[self.format].arguments:
            case Elements() as form:
                return as_json(parameters(tool.name, tool.arguments), text, form)
            case Literals() as form:
                return literals_as_json(text, form)
            case None:
                return text


def _published(document: dict[str, Any]) -> dict[str, Any]:
    """The schema of a type without guideway's own keywords; integers by their type."""
    said = {name: part for name, part in _portable_schema(document).items() if name != "title"}
    definitions: dict[str, Any] = said.pop("$defs", {})
    definitions.pop(INTEGER.rpartition("/")[2], None)
    return {**said, "$defs": definitions} if definitions else said


def _portable_schema(schema: Any) -> Any:
    """A schema as other readers know it, with references to pydantic's integers as integers.

    >>> _portable_schema({"type": "string", "pattern": "(?u)^.$", "$comment": "pattern ^.$"})
    {'type': 'string', 'pattern': '^.$'}
    """
    if isinstance(schema, list):
        return [_portable_schema(part) for part in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    said = {name: _portable_schema(part) for name, part in cast("dict[str, Any]", schema).items()}
    if said.get("$ref") != INTEGER:
        return _as_written(said)
    return {"type": "integer", **{name: part for name, part in said.items() if name != "$ref"}}


def _as_written(said: dict[str, Any]) -> dict[str, Any]:
    """A part without keywords for masks: bounds of all floats, translated patterns."""
    if said.get("format") == "double":
        beyond = float_info.max, -float_info.max
        return {
            name: part for name, part in said.items() if name != "format" and part not in beyond
        }
    if JSON_TEXT in said:
        said["contentSchema"] = said.pop(JSON_TEXT)
    comment = str(said.get("$comment"))
    if "pattern" in said and comment.startswith("pattern "):
        said["pattern"] = comment.removeprefix("pattern ")
        del said["$comment"]
    return said


def _free(form: Format) -> Source:
    if form.text is not None:
        return form.text
    return Text() if form.trigger is None else Until(form.trigger, include=False)


def tools(
    given: Iterable[object],
    format: str = "hermes",  # noqa: A002  the name that users of chat templates expect
    choice: object = "auto",
    *,
    parallel: bool = True,
) -> Tools:
    """Return the replies of a chat model that may call these tools, as a source.

    The value is the tuple of the calls, also in `result.tool_calls`. The arguments are read as the
    type of the tool. If the prompt is chat messages, the chat template gets the tools.
    `result.message` is the reply in OpenAI's form. This loop runs until the model answers in words:

        messages = [{"role": "user", "content": question}]
        while True:
            result = model.generate(messages, gw.tools([add]))
            messages.append(result.message)
            if not result.tool_calls:
                break
            for call in result.tool_calls:
                content = str(call.tool(**call.arguments))
                answer = {"role": "tool", "tool_call_id": call.id, "content": content}
                messages.append(answer)

    >>> def add(a: int, b: int) -> int:
    ...     "Add two numbers."
    ...     return a + b
    >>> tools([add]).schemas[0]["function"]["description"]
    'Add two numbers.'

    Args:
        given: pydantic models and other types whose JSON is an object, callables, or descriptions
            (dicts or objects) of OpenAI, `{"type": "function", "function": {"name": ...,
            "parameters": schema}}`, Anthropic, MCP, Gemini, Amazon Bedrock or smolagents.
        format: the notation of calls: "hermes" (Qwen 2.5 and 3), "qwen3_coder", "llama3",
            "llama3_python_tag", "pythonic" (Llama 3.2 and 4, Gemma 3), "mistral", "mistral_v13",
            "harmony" (gpt-oss), "deepseek_v3" (R1 too), "deepseek_v31", "deepseek_v32", "kimi_k2",
            "glm4" (4.5 and 4.6), "glm47", "minimax_m1", "minimax_m2", "functiongemma", "gemma4".
            Names of models such as "gpt-oss" and "DeepSeek-R1" work too. The marks of a format are
            special tokens if the vocabulary has them, and text otherwise.
        choice: "auto" allows text or calls, "required" calls only, "none" no calls. The name of a
            tool requires a call of it, as do the dicts of OpenAI and Anthropic:
            `{"type": "function", "function": {"name": ...}}`, `{"type": "tool", "name": ...}`.
        parallel: whether one reply may have several calls, if the format supports that.

    Raises:
        SourceError: there is no tool, two tools have the same name, a format or choice is unknown,
            or `parallel` is neither True nor False.
        UnsupportedError: the format cannot write a name, or the JSON of a type is not an object.
    """
    listed = () if _is_one(given) else tuple(chain.from_iterable(map(_tools, given)))
    names = [tool.name for tool in listed]
    if not names:
        raise SourceError("tools needs a list with at least one model, callable or description")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise SourceError(f"two tools have the name {twice!r}")
    form = format_name(format)
    if form == "pythonic":
        for name in names:
            if not all(map(is_name, name.split("."))):
                raise UnsupportedError(
                    f"{name!r} is not a Python name, which the pythonic format needs",
                    feature="name of a tool",
                )
    check_flag("parallel", parallel)
    return Tools(listed, form, _checked_choice(choice, names), parallel)


def _is_one(given: object) -> bool:
    return isinstance(given, str | Mapping | type) or not isinstance(given, Iterable)


def tools_of(source: Source) -> list[dict[str, Any]]:
    """Descriptions of the tools in a source, for chat templates."""
    if isinstance(source, Tools):
        return source.schemas
    return [schema for part in parts_of(source) for schema in tools_of(part)]


def _checked_choice(choice: object, names: list[str]) -> str:
    wanted = choice
    if isinstance(choice, Mapping):
        wanted = _named(cast("Mapping[str, Any]", choice))
    allowed = [*CHOICES, *names]
    if not isinstance(wanted, str) or wanted not in allowed:
        raise SourceError(
            f"choice is {brief(cast('object', choice))}: it must be one of {', '.join(allowed)}"
            f"{did_you_mean(wanted, allowed)}"
        )
    return wanted


def _named(choice: Mapping[str, Any]) -> object:
    """The choice in OpenAI's or Anthropic's `tool_choice`; None if there are more keys."""
    match choice:
        case {"function": {"name": name, **more}, **others} if not more and {*others} <= {"type"}:
            return name
        case {"name": name, "type": _, **others} if not others:
            return name
        case {"type": kind, **others} if not others:
            return "required" if kind == "any" else kind
        case _:
            return None


def _tools(given: object) -> Iterator[Tool]:
    """The given tool, or the tools that a description lists."""
    described = _as_mapping(given)
    if described is None:
        yield _typed(given)
    else:
        yield from _described(described, given)


def _typed(given: object) -> Tool:
    name = getattr(given, "__name__", None)
    if not callable(given) or not isinstance(name, str):
        raise SourceError(
            f"{brief(given)} is not a tool: give a model, a callable or a description"
        )
    _check_name(name)
    own = not isinstance(given, type) or vars(given).get("__doc__")  # a class inherits it
    about = (inspect.getdoc(given) or "") if own else ""
    tool = Tool(name, PythonType(given).plain_form, given, about)
    _check_object(tool)
    return tool


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name) or name in CHOICES:
        raise UnsupportedError(
            f"a tool has the name {name!r}: names have 1 to 64 letters a-z, digits, and _ . -, and "
            f"are none of {', '.join(CHOICES)}",
            feature="name of a tool",
        )


def _check_object(tool: Tool) -> None:
    whole = schema = tool.schema["function"]["parameters"]
    prefix, _, name = str(schema.get("$ref", "")).rpartition("/")
    if prefix == "#/$defs":  # a type that mentions itself
        schema = whole["$defs"][name]
    if schema.get("type") != "object":
        raise _no_object(tool.name)


def _no_object(name: str) -> UnsupportedError:
    return UnsupportedError(
        f"the arguments of the tool {name} are not a JSON object: give a model, a dataclass, a "
        'TypedDict, a callable, or a schema whose type is "object"',
        feature="tool whose arguments are no object",
    )
