"""A request as arguments of the engine: prompt, source, settings and expression."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias, cast, final

from guideway.api.jobs import read_prompts
from guideway.api.model import Model
from guideway.api.prompts import Prompt
from guideway.api.watermark import Watermark
from guideway.engine.ensemble import Ensemble
from guideway.errors import SourceError, UnsupportedError, brief
from guideway.server.logprobs import Logprobs
from guideway.server.protocol import (
    LOGPROBS,
    ChatRequest,
    Common,
    CompletionRequest,
    Generating,
    GrammarFormat,
    NamedSchema,
    ObjectFormat,
    ResponsesRequest,
    ResponseText,
    SchemaFormat,
    Structured,
)
from guideway.server.refusals import Refusal
from guideway.server.replies import CLOSED, OPENED, Form
from guideway.server.settings import Limits, Names
from guideway.syntax.json_schema_source import JsonSchema, bare_schema
from guideway.syntax.lark_source import Lark
from guideway.syntax.regions import capture, thinking, until
from guideway.syntax.sources import (
    Choice,
    Either,
    Gbnf,
    Literal,
    Regex,
    Source,
    Text,
)
from guideway.syntax.sources import Sequence as InOrder
from guideway.syntax.tool_formats import FORMATS
from guideway.syntax.tools import tools as tools_source

SEARCHES: Final = ("exactness", "num_beams", "best_of")
AnyFormat: TypeAlias = Any


@final
@dataclass(frozen=True, slots=True)
class Asked:
    """One text to generate, by the arguments of `Engine.submit`.

    Attributes:
        prompt: a text or chat messages.
        source: what the text must be; None for any text.
        model: the expression.
        settings: by the names of `guideway.Sampling`.
        more: other arguments of `submit`.
        form: how the text is read.
        logprobs: writes the log-probabilities, if they are asked for.
        search: whether a search runs, which an engine does not do.
    """

    prompt: Prompt
    source: Source | None
    model: Model
    settings: Mapping[str, Any]
    more: Mapping[str, Any]
    form: Form
    logprobs: Logprobs | None = None
    search: bool = False


@final
class Reader:
    """Reads requests for one server."""

    def __init__(self, model: Model, name: str, names: Names, limits: Limits) -> None:
        """Read requests for `model`, which clients call `name`."""
        self.model, self.name, self.names, self.limits = model, name, names, limits
        self._made: dict[object, Model] = {}

    def chat(self, asked: ChatRequest) -> Asked:
        """Read a chat completion."""
        most = asked.max_completion_tokens or asked.max_tokens
        form = read_format(asked.response_format)
        top = (asked.top_logprobs or 0) if asked.logprobs else None
        return self._chat(asked, asked.messages, form, most, asked.tools, top)

    def responses(self, asked: ResponsesRequest) -> Asked:
        """Read a request of the Responses API."""
        form = None if asked.text is None else read_format(asked.text.format)
        messages = conversation(asked.input, asked.instructions)
        tools = None if asked.tools is None else [as_chat_tool(tool) for tool in asked.tools]
        top = (asked.top_logprobs or 0) if LOGPROBS in (asked.include or ()) else None
        return self._chat(asked, messages, form, asked.max_output_tokens, tools, top)

    def completion(self, asked: CompletionRequest, prompt: str) -> Asked:
        """Read a text completion of one prompt."""
        source = _one(asked, read_format(asked.response_format))
        settings = self._settings(asked, asked.max_tokens)
        form = Form(self.model.vocabulary)
        return self._asked(asked, prompt, source, settings, form, asked.logprobs)

    def model_of(self, name: str) -> Model:
        """The engine's model, if a request means it."""
        if name not in ("", self.name):
            told = f"there is no model {brief(name)}; there is {self.name}"
            raise Refusal(404, told, "not_found_error", code="model_not_found", param="model")
        return self.model

    def watermark(self, name: str) -> Watermark:
        """The watermark of a key id."""
        return _look(self.names.watermarks, name, "watermark")

    def tokens(self, prompt: Prompt) -> list[int]:
        """The tokens of a prompt, as the model reads them."""
        return list(read_prompts(Ensemble(self.model.whole), prompt)[0].tokens)

    def _chat(
        self,
        asked: ChatRequest | ResponsesRequest,
        messages: list[dict[str, Any]],
        form: Source | None,
        most: int | None,
        tools: list[dict[str, Any]] | None,
        top: int | None,
    ) -> Asked:
        source, read = _one(asked, form), Form(self.model.vocabulary, self.names.thinking)
        if tools and asked.tool_choice != "none":
            source, read, told = self._tools(asked, tools, source, read)
            messages = [*told, *messages]
        if self.names.thinking is not None:
            source = thinking(source or Text(), *self.names.thinking)
        return self._asked(asked, messages, source, self._settings(asked, most), read, top)

    def _tools(
        self,
        asked: ChatRequest | ResponsesRequest,
        given: list[dict[str, Any]],
        answer: Source | None,
        read: Form,
    ) -> tuple[Source, Form, list[dict[str, Any]]]:
        """The replies with calls, how they are read, and what the model is told of them."""
        choice: Any = asked.tool_choice or "auto"
        wanted = _named(choice)
        custom = {each["name"]: each for tool in given if (each := _custom(tool)) is not None}
        functions = [tool for tool in given if tool.get("type") == "function"]
        if unknown := [tool for tool in given if tool.get("type") not in ("function", "custom")]:
            kind = unknown[0].get("type")
            raise UnsupportedError(
                f"a tool has the type {brief(kind)}: the server runs no tools of its own; give "
                "functions and custom tools",
                feature=f"tool of type {kind}",
                place="/tools",
            )
        if wanted is not None and wanted in custom:
            custom, functions = {wanted: custom[wanted]}, []
            choice = "required"
        elif wanted is not None:
            custom = {}
        free = choice == "auto"
        parallel = asked.parallel_tool_calls is not False
        replies, marks = list[Source](), list[object]([OPENED])
        if functions:
            # Beside a schema, the answer in words is replaced by that of the schema.
            some = "required" if free and (answer is not None or custom) else choice
            called = tools_source(functions, self.names.tools, some, parallel=parallel)
            read = replace(read, tools=called)
            replies.append(called)
            marks += [] if (mark := FORMATS[called.format].trigger) is None else [mark]
        replies += [_call(name, tool) for name, tool in custom.items()]
        if free and answer is not None:
            replies.append(answer)
        elif free and custom:
            replies.append(until(*marks, include=False))
        told = [{"role": "system", "content": _told(custom)}] if custom else []
        source = replies[0] if len(replies) == 1 else Either(tuple(replies))
        return source, replace(read, custom=tuple(custom), mixed=len(replies) > 1), told

    def _asked(
        self,
        asked: Common,
        prompt: Prompt,
        source: Source | None,
        settings: Mapping[str, Any],
        form: Form,
        top: int | None,
    ) -> Asked:
        more: dict[str, Any] = {
            "schema_in_prompt": asked.schema_in_prompt,
            "speculate": asked.speculate,
            "trace": 0 if top is None else max(1, top),
        }
        search = any(name in settings for name in SEARCHES)
        logprobs = None if top is None else Logprobs(form.vocabulary, top)
        model = self._expression(asked)
        return Asked(prompt, source, model, settings, more, form, logprobs, search)

    def _settings(self, asked: Common, most: int | None) -> dict[str, Any]:
        """The settings by our names; OpenAI's default is to sample at temperature 1."""
        if most is not None and most > self.limits.tokens:
            raise SourceError(
                f"{most} tokens are requested: this server generates at most {self.limits.tokens}"
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
        if isinstance(asked, Generating):
            given |= {
                "presence_penalty": asked.presence_penalty,
                "frequency_penalty": asked.frequency_penalty,
                "seed": asked.seed,
                "stop": asked.stop or None,
                "logit_bias": asked.logit_bias or None,
            }
        return {name: value for name, value in given.items() if value is not None}

    def _expression(self, asked: Common) -> Model:
        """The model of a request, with guidance, classifier and watermark."""
        model = self.model_of(asked.model)
        guided = None if asked.guidance is None else asked.guidance.model_dump_json()
        key = guided, asked.classifier, asked.watermark
        if key == (None, None, None):
            return model
        made = self._made.pop(key, None) or self._built(asked)
        self._made[key] = made
        while len(self._made) > 64:
            del self._made[next(iter(self._made))]
        return made

    def _built(self, asked: Common) -> Model:
        made: Any = self.model
        models = {**self.names.models, self.name: self.model}
        if asked.guidance is not None:
            made = _look(models, asked.guidance.base, "guidance", "model")
            for weight, name in asked.guidance.plus:
                made = made + weight * _look(models, name, "guidance", "model")
        if asked.classifier is not None:
            made = made + _look(self.names.classifiers, asked.classifier, "classifier")
        if asked.watermark is not None:
            made = made.watermarked(_look(self.names.watermarks, asked.watermark, "watermark"))
        return cast("Model", made)


def read_format(given: AnyFormat) -> Source | None:
    """The source of a `response_format`, or of `text.format`."""
    match given:
        case ObjectFormat():
            return bare_schema(given.schema_ or {"type": "object"})
        case SchemaFormat(json_schema=NamedSchema() as named):
            return bare_schema(named.schema_)
        case ResponseText.Json():
            return bare_schema(given.schema_)
        case GrammarFormat():
            return read_grammar(given.grammar, given.syntax)
        case _:
            return None


def read_grammar(text: str, syntax: str | None = None) -> Source:
    """A grammar in Lark or GBNF, or a regex; by its `::=` if no syntax is given."""
    syntax = syntax or ("gbnf" if "::=" in text else "lark")
    if syntax == "regex":
        return read_regex(text)
    return Lark(text) if syntax == "lark" else Gbnf(text)


def read_regex(text: str) -> Regex:
    r"""A regex; `\d` is a digit of ASCII, as in the engines that clients know."""
    return Regex(text, dialect="ecma")


def read_structured(given: Structured) -> Source | None:
    """The source of vLLM's `structured_outputs`."""
    found = [
        None if given.json_ is None else read_schema(given.json_),
        None if given.regex is None else read_regex(given.regex),
        None if given.choice is None else Choice(given.choice),
        None if given.grammar is None else read_grammar(given.grammar),
        bare_schema({"type": "object"}) if given.json_object else None,
    ]
    return _only([each for each in found if each is not None])


def read_schema(given: Any) -> JsonSchema:
    """A schema as an object or as JSON text, closed as in `generate`."""
    return bare_schema(given)


def conversation(given: str | list[dict[str, Any]], instructions: str | None) -> list[Any]:
    """The messages of a request of the Responses API, with calls and their outputs."""
    told = [] if instructions is None else [{"role": "system", "content": instructions}]
    if isinstance(given, str):
        return [*told, {"role": "user", "content": given}]
    return [*told, *(_item(each, f"/input/{n}") for n, each in enumerate(given))]


def _item(given: dict[str, Any], place: str) -> dict[str, Any]:
    kind = given.get("type", "message")
    if kind == "message":
        role = "system" if given.get("role") == "developer" else given.get("role")
        return {"role": role, "content": given.get("content")}
    if kind == "function_call":
        function = {"name": given.get("name"), "arguments": given.get("arguments", "{}")}
        call = {"id": given.get("call_id"), "type": "function", "function": function}
        return {"role": "assistant", "content": None, "tool_calls": [call]}
    if kind in ("function_call_output", "custom_tool_call_output"):
        called = given.get("call_id")
        return {"role": "tool", "tool_call_id": called, "content": given.get("output")}
    raise UnsupportedError(
        f"an input has the type {brief(kind)}: there are messages, function calls and outputs",
        feature=f"input of type {kind}",
        place=place,
    )


def as_chat_tool(tool: dict[str, Any]) -> dict[str, Any]:
    """A tool of the Responses API in the form of chat completions."""
    if tool.get("type") != "function" or "function" in tool:
        return tool
    names = ("name", "description", "parameters", "strict")
    return {"type": "function", "function": {n: tool[n] for n in names if n in tool}}


def _one(asked: Common, form: Source | None) -> Source | None:
    """The only source that a request gives, under whatever name."""
    found = [form]
    if asked.structured_outputs is not None:
        found.append(read_structured(asked.structured_outputs))
    found += [
        read_schema(schema)
        for schema in (asked.guided_json, asked.json_schema)
        if schema is not None
    ]
    found += [read_regex(regex) for regex in (asked.guided_regex, asked.regex) if regex is not None]
    found += [Choice(asked.guided_choice)] if asked.guided_choice is not None else []
    found += [
        read_grammar(text, syntax)
        for text, syntax in (
            (asked.guided_grammar, None),
            (asked.ebnf, "gbnf"),
            (asked.grammar, "gbnf"),
        )
        if text is not None
    ]
    return _only([each for each in found if each is not None])


def _only(found: Sequence[Source]) -> Source | None:
    if len(found) > 1:
        raise SourceError(f"the request has {len(found)} constraints; give one of them")
    return found[0] if found else None


def _named(choice: object) -> str | None:
    """The name of the tool that a `tool_choice` requires."""
    if not isinstance(choice, Mapping):
        return None
    told = cast("Mapping[str, Any]", choice)
    inside: Any = told.get("function") or told.get("custom") or told
    named: Any = inside.get("name") if hasattr(inside, "get") else None
    return named if isinstance(named, str) else None


def _custom(tool: Mapping[str, Any]) -> dict[str, Any] | None:
    """The fields of a custom tool, in the form of either API; None for a function."""
    if tool.get("type") != "custom":
        return None
    inside: Any = tool.get("custom", tool)
    told = cast("dict[str, Any]", inside) if isinstance(inside, dict) else {}
    if not isinstance(told.get("name"), str):
        raise SourceError("a custom tool needs a name", place="/tools")
    return told


def _call(name: str, tool: Mapping[str, Any]) -> Source:
    """A call of a custom tool: its input is a text of its grammar, or any text up to the mark."""
    form: Any = tool.get("format") or {"type": "text"}
    grammar: Any = form.get("grammar", form)
    end = f"\n{CLOSED}"
    if form.get("type") == "grammar":
        item = read_grammar(grammar.get("definition", ""), grammar.get("syntax"))
    else:
        item = until(end, include=False)
    return InOrder((Literal(f"{OPENED}{name}\n"), capture(name, item), Literal(end)))


def _told(custom: Mapping[str, Mapping[str, Any]]) -> str:
    """The custom tools, for the model."""
    lines = [f"- {name}: {tool.get('description') or ''}".rstrip() for name, tool in custom.items()]
    form = f"{OPENED}NAME\nINPUT\n{CLOSED}"
    return "You can call these tools:\n" + "\n".join(lines) + f"\nWrite a call as\n{form}"


def _look(among: Mapping[str, Any], name: str, where: str, what: str = "") -> Any:
    if name not in among:
        there = ", ".join(among) or "none"
        raise SourceError(
            f"the server has no {what or where} {brief(name)}; it has {there}", place=f"/{where}"
        )
    return among[name]
