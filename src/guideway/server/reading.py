"""A request as arguments of the engine: prompt, settings and expression, and the source.

A source comes under the names of OpenAI, vLLM, SGLang and llama.cpp, or from tools: functions,
custom tools, and an answer beside them.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final, TypeAlias, cast

from pydantic import BaseModel, ValidationError

from guideway.api.jobs import read_prompts
from guideway.api.model import Model
from guideway.api.prompts import Prompt
from guideway.api.watermark import Watermark
from guideway.chat.structural_tags import KINDS, regex, structural_tag
from guideway.chat.tool_formats import FORMATS
from guideway.chat.tools import CHOICES
from guideway.chat.tools import tools as tools_source
from guideway.context_free.lark.source import Lark
from guideway.errors import SourceError, UnsupportedError, brief
from guideway.generation.ensemble.ensemble import Ensemble
from guideway.json_schema.source import bare_schema
from guideway.server import protocol
from guideway.server.conversation import chat_messages, conversation, is_object, objects
from guideway.server.refusals import Refusal, as_invalid, of_field
from guideway.server.replies import CLOSED, OPENED, Form
from guideway.server.settings import BUDGET, Limits, Names
from guideway.sources.names import did_you_mean
from guideway.sources.regions import capture, thinking, until
from guideway.sources.sources import Either, Gbnf, Literal, Sequence, Source, Text

Read: TypeAlias = Callable[[Any], Source | None]


def read_format(given: Any) -> Source | None:
    """The source of a `response_format`, or of `text.format`."""
    match given:
        case protocol.ObjectFormat():
            return bare_schema(given.schema_ or {"type": "object"})
        case protocol.SchemaFormat(json_schema=named) | (protocol.ResponseText.Json() as named):
            return bare_schema(named.schema_)
        case protocol.GrammarFormat():
            return read_grammar(given.grammar, given.syntax)
        case protocol.TagFormat():
            return structural_tag(given.model_dump(exclude_none=True, exclude={"type"}))
        case _:
            return None


def read_grammar(text: str, syntax: str) -> Source:
    """A grammar in Lark or GBNF, or a regex."""
    readers: dict[str, Callable[[str], Source]] = {"lark": Lark, "regex": regex, "gbnf": Gbnf}
    return readers[syntax](text)


def read_structured(given: protocol.Structured) -> Source | None:
    return _only(_given(given, _STRUCTURED, "structured_outputs."))[0]


def read_source(
    asked: protocol.Common, form: Mapping[str, Source]
) -> tuple[Source | None, str | None]:
    """The only source that a request gives, under whatever name, and the name."""
    return _only({**form, **_given(asked, _SOURCES)})


def _given(asked: BaseModel, readers: Mapping[str, Read], place: str = "") -> dict[str, Source]:
    """The sources of the fields that a request has, by the place of each field."""
    found = dict[str, Source]()
    for name, read in readers.items():
        value, field = getattr(asked, name), place + name.rstrip("_")
        with of_field(field):
            source = None if value is None else read(value)
        if source is not None:
            found[field] = source
    return found


def _only(found: Mapping[str, Source]) -> tuple[Source | None, str | None]:
    if len(found) > 1:
        names = ", ".join(found)
        raise SourceError(f"the request has {len(found)} constraints: {names}; give one of them")
    for name, source in found.items():
        return source, name
    return None, None


_RESPONSE_FORMAT: Final = {"response_format": read_format}
_STRUCTURED: Final = {"json_" if kind == "json" else kind: read for kind, read in KINDS.items()}
_SOURCES: Final[Mapping[str, Read]] = {
    "structured_outputs": read_structured,
    **{f"guided_{kind}": KINDS[kind] for kind in ("json", "regex", "choice", "grammar")},
    "json_schema": bare_schema,
    "regex": regex,
    "ebnf": Gbnf,
    "grammar": Gbnf,
    "structural_tag": structural_tag,
}
"""The fields with sources: of vLLM, SGLang and llama.cpp."""


TYPES: Final = ("function", "custom")

Tool = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Chosen:
    """The tools that a reply may call."""

    functions: list[Tool]  # descriptions of functions, as in chat completions
    custom: dict[str, protocol.CustomTool]  # custom tools by name
    choice: str  # "auto", "required", "none"

    @classmethod
    def of(cls, tools: list[Tool], choice: Any) -> "Chosen":
        """Read `tools` and `tool_choice` of either API.

        Raises:
            Refusal: a tool or the choice is unknown or malformed.
        """
        with of_field("tools"):
            named = _by_name(tools)
        with of_field("tool_choice"):
            mode, names = _chosen(choice or "auto", [*named])
        if mode in ("none", "auto") and not tools:
            return cls([], {}, "none")
        kept = {name: tool for name, tool in named.items() if names is None or name in names}
        functions = [tool for tool in kept.values() if tool["type"] == "function"]
        with of_field("tools"):
            custom = {name: _custom(tool) for name, tool in kept.items() if "custom" in tool}
        return cls(functions, custom, mode)

    def read(
        self, answer: Source | None, form: Form, notation: str, *, parallel: bool
    ) -> tuple[Source, Form]:
        """The replies as a source, and how they are read; `answer` is the schema beside tools."""
        free = self.choice == "auto"
        replies, marks = list[Source](), list[object]([OPENED])
        if self.functions:
            # Beside a schema, the answer in words is replaced by that of the schema.
            some = "required" if free and (answer is not None or self.custom) else self.choice
            called = tools_source(self.functions, notation, some, parallel=parallel)
            form = replace(form, tools=called)
            replies.append(called)
            marks += [] if (mark := FORMATS[called.format].trigger) is None else [mark]
        replies += [_call(tool) for tool in self.custom.values()]
        if free and answer is not None:
            replies.append(answer)
        elif free and self.custom:
            replies.append(until(*marks, include=False))
        source = replies[0] if len(replies) == 1 else Either(tuple(replies))
        return source, replace(form, custom=tuple(self.custom), mixed=len(replies) > 1)

    @property
    def told(self) -> list[dict[str, str]]:
        """System message that describes custom tools, because chat templates do not list them."""
        if not self.custom:
            return []
        told = [f"- {tool.name}: {tool.description or ''}" for tool in self.custom.values()]
        listed = "\n".join(line.rstrip(": ") for line in told)
        form = f"{OPENED}NAME\nINPUT\n{CLOSED}"
        content = f"You can call these tools:\n{listed}\nWrite a call as\n{form}"
        return [{"role": "system", "content": content}]


def _by_name(tools: list[Tool]) -> dict[str, Tool]:
    """The tools in the form of chat completions, by name."""
    for tool in tools:
        if tool.get("type") not in TYPES:
            raise UnsupportedError(
                f"a tool has the type {brief(tool.get('type'))}: the server runs no tools of its "
                "own; give functions and custom tools",
                feature=f"tool of type {tool.get('type')}",
            )
    listed = [_as_chat(tool) for tool in tools]
    names = [_name(tool) for tool in listed]
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise SourceError(f"two tools have the name {brief(twice[0])}")
    return dict(zip(names, listed, strict=True))


def _as_chat(tool: Tool) -> Tool:
    kind = tool["type"]
    if kind in tool:
        return tool
    return {"type": kind, kind: {name: tool[name] for name in tool if name != "type"}}


def _name(tool: Tool) -> str:
    name = _inside(tool).get("name")
    if not isinstance(name, str):
        raise SourceError(f"a tool needs a name, not {brief(tool)}")
    return name


def _inside(tool: object) -> Tool:
    """The fields under the type of a tool or choice, in chat completions; else those beside it."""
    told = tool if is_object(tool) else {}
    inside = told.get(str(told.get("type")), told)
    return inside if is_object(inside) else {}


def _chosen(choice: object, names: list[str]) -> tuple[str, list[str] | None]:
    """The mode of a `tool_choice`, and the tools that it allows; None for all."""
    mode, allowed, inside = choice, None, _inside(choice)
    kind = choice.get("type") if is_object(choice) else None
    if kind in TYPES:
        mode, allowed = "required", [_checked_name(inside.get("name"), names)]
    elif kind == "allowed_tools":
        mode = inside.get("mode", "auto")
        listed = objects(inside.get("tools"))
        allowed = [_checked_name(_inside(each).get("name"), names) for each in listed]
        if not allowed:
            raise SourceError("allowed_tools needs a list of tools")
    if mode not in CHOICES:
        raise SourceError(
            f"tool_choice is {brief(choice)}: it must be {', '.join(CHOICES)}, or name a tool"
        )
    if mode == "required" and not names:
        raise SourceError("tool_choice is 'required', but the request has no tools")
    return str(mode), allowed


def _checked_name(name: object, names: list[str]) -> str:
    if not isinstance(name, str) or name not in names:
        raise SourceError(
            f"tool_choice names {brief(name)}: the tools are {', '.join(names) or 'none'}"
            f"{did_you_mean(name, names)}"
        )
    return name


def _custom(tool: Tool) -> protocol.CustomTool:
    inside = _inside(tool)
    form = inside.get("format")
    if is_object(form) and is_object(form.get("grammar")):  # chat completions have one more level
        inside = {**inside, "format": {"type": form.get("type"), **form["grammar"]}}
    try:
        return protocol.CustomTool.model_validate(inside)
    except ValidationError as error:
        told = as_invalid(error, protocol.CustomTool, inside)
        raise SourceError(f"of the custom tool {brief(inside.get('name'))}, {told}") from None


def _call(tool: protocol.CustomTool) -> Source:
    """A call of a custom tool: its input is a text of its grammar, or any text up to the mark."""
    end = f"\n{CLOSED}"
    item: Source = until(end, include=False)
    if isinstance(tool.format, protocol.GrammarInput):
        item = read_grammar(tool.format.definition, tool.format.syntax)
    return Sequence((Literal(f"{OPENED}{tool.name}\n"), capture(tool.name, item), Literal(end)))


SEARCHES: Final = ("exactness", "num_beams", "best_of")
EXPRESSIONS: Final = 64  # that are kept, for their caches


@dataclass(frozen=True, slots=True)
class Asked:
    """One text to generate, by the arguments of `Engine.submit`."""

    prompt: Prompt  # a text or chat messages
    source: Source | None  # what the text must be; None for any text
    field: str | None  # the field that gave the source
    model: Model  # the expression
    settings: Mapping[str, Any]  # by the names of `guideway.Sampling`
    more: Mapping[str, Any]  # other arguments of `submit`
    form: Form  # how the text is read
    most: str  # the field that limits the tokens
    top: int | None = None  # so many tokens with their log-probabilities at each place
    search: bool = False  # whether a search runs, which an engine does not do
    trace: int = 0  # number of alternatives of each stage that the answer shows; 0 for no trace

    @property
    def arguments(self) -> dict[str, Any]:
        """The keyword arguments of `submit` and `generate`."""
        return {**self.settings, **self.more, "on_invalid": "return", "budget": BUDGET}


class Reader:
    """Reads requests for one server."""

    def __init__(self, model: Model, name: str, names: Names, limits: Limits) -> None:
        self.model, self.name, self.names, self.limits = model, name, names, limits
        self._built = lru_cache(EXPRESSIONS)(self._build)

    def chat(self, asked: protocol.ChatRequest) -> Asked:
        if asked.top_logprobs and not asked.logprobs:
            raise SourceError("top_logprobs needs logprobs: true", place="/top_logprobs")
        most = "max_completion_tokens" if asked.max_completion_tokens else "max_tokens"
        form = _given(asked, _RESPONSE_FORMAT)
        top = (asked.top_logprobs or 0) if asked.logprobs else None
        return self._chat(asked, chat_messages(asked.messages), form, most, top)

    def responses(self, asked: protocol.ResponsesRequest) -> Asked:
        form = {} if asked.text is None else _given(asked.text, {"format": read_format}, "text.")
        messages = conversation(asked.input, asked.instructions)
        top = (asked.top_logprobs or 0) if protocol.LOGPROBS in (asked.include or ()) else None
        if asked.top_logprobs and top is None:
            raise SourceError(
                f"top_logprobs needs include: [{protocol.LOGPROBS!r}]", place="/top_logprobs"
            )
        return self._chat(asked, messages, form, "max_output_tokens", top)

    def completion(self, asked: protocol.CompletionRequest, prompt: str) -> Asked:
        source = read_source(asked, _given(asked, _RESPONSE_FORMAT))
        read = Form(self.model.vocabulary)
        return self._asked(asked, prompt, source, "max_tokens", read, asked.logprobs)

    def model_of(self, name: str) -> Model:
        """The engine's model, if a request means it."""
        if name not in ("", self.name):
            told = f"there is no model {brief(name)}; there is {self.name}"
            raise Refusal(404, told, "not_found_error", code="model_not_found", param="model")
        return self.model

    def watermark(self, name: str) -> Watermark:
        return _find(self.names.watermarks, name, "watermark")

    def tokens(self, prompt: Prompt) -> list[int]:
        return list(read_prompts(Ensemble(self.model.whole), prompt)[0].tokens)

    def _chat(
        self,
        asked: protocol.ChatRequest | protocol.ResponsesRequest,
        messages: list[dict[str, Any]],
        form: Mapping[str, Source],
        most: str,
        top: int | None,
    ) -> Asked:
        source, field = read_source(asked, form)
        read = Form(self.model.vocabulary, self.names.thinking)
        chosen = Chosen.of(asked.tools or [], asked.tool_choice)
        if chosen.choice != "none":
            parallel = asked.parallel_tool_calls is not False
            with of_field("tools"):
                source, read = chosen.read(source, read, self.names.tools, parallel=parallel)
            field, messages = "tools", [*chosen.told, *messages]
        if self.names.thinking is not None:
            source = thinking(source or Text(), *self.names.thinking)
        return self._asked(asked, messages, (source, field), most, read, top)

    def _asked(
        self,
        asked: protocol.Common,
        prompt: Prompt,
        source: tuple[Source | None, str | None],
        most: str,
        form: Form,
        top: int | None,
    ) -> Asked:
        if asked.stream_options is not None and not asked.stream:
            raise SourceError("stream_options needs stream: true", place="/stream_options")
        settings = self._settings(asked, most)
        trace = asked.trace if isinstance(asked, protocol.Generating) else None
        shown = 0 if trace is None else trace.alternatives
        more: dict[str, Any] = {
            "schema_in_prompt": asked.schema_in_prompt,
            "speculate": asked.speculate,
            "trace": max(shown, 0 if top is None else max(1, top)),
        }
        searches = [name for name in SEARCHES if name in settings]
        if searches and top is not None:
            raise UnsupportedError(
                f"logprobs does not go with {searches[0]}, whose steps belong to several texts",
                feature="logprobs of a search",
                place="/logprobs",
            )
        rest = form, most, top, bool(searches), shown
        return Asked(prompt, *source, self._expression(asked), settings, more, *rest)

    def _settings(self, asked: protocol.Common, field: str) -> dict[str, Any]:
        """The settings by our names; OpenAI's default is to sample at temperature 1."""
        most: int | None = getattr(asked, field)
        if most is not None and most > self.limits.tokens:
            raise SourceError(
                f"{field} must be at most {self.limits.tokens} on this server, not {brief(most)}",
                place=f"/{field}",
            )
        given: dict[str, Any] = {
            "temperature": 1.0 if asked.temperature is None else asked.temperature,
            "top_p": asked.top_p,
            "top_k": None if asked.top_k in (0, -1) else asked.top_k,
            "min_p": asked.min_p,
            "repetition_penalty": asked.repetition_penalty,
            "min_new_tokens": asked.min_tokens,
            "max_new_tokens": most or self.limits.tokens,
            **{name: getattr(asked, name) for name in SEARCHES},
        }
        if isinstance(asked, protocol.Generating):
            given |= {
                "presence_penalty": asked.presence_penalty,
                "frequency_penalty": asked.frequency_penalty,
                "seed": asked.seed,
                "stop": asked.stop or None,
                "logit_bias": asked.logit_bias or None,
            }
        return {name: value for name, value in given.items() if value is not None}

    def _expression(self, asked: protocol.Common) -> Model:
        """The model of a request, with guidance, classifier and watermark."""
        self.model_of(asked.model)
        guided = None if asked.guidance is None else (asked.guidance.base, *asked.guidance.plus)
        return self._built(guided, asked.classifier, asked.watermark)

    def _build(
        self,
        guided: tuple[str, *tuple[protocol.Weighted, ...]] | None,
        classifier: str | None,
        watermark: str | None,
    ) -> Model:
        made: Any = self.model
        models = {**self.names.models, self.name: self.model}
        if guided is not None:
            base, *plus = guided
            made = _find(models, base, "guidance", "model")
            for weight, name in plus:
                made = made + weight * _find(models, name, "guidance", "model")
        if classifier is not None:
            made = made + _find(self.names.classifiers, classifier, "classifier")
        if watermark is not None:
            made = made.watermarked(_find(self.names.watermarks, watermark, "watermark"))
        return cast("Model", made)


def _find(among: Mapping[str, Any], name: str, where: str, what: str = "") -> Any:
    if name not in among:
        there = ", ".join(among) or "none"
        raise SourceError(
            f"the server has no {what or where} {brief(name)}; it has {there}", place=f"/{where}"
        )
    return among[name]
