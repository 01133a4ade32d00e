"""The requests of the server: OpenAI's, with the fields of vLLM, SGLang, llama.cpp and our own.

A field is read, or accepted because the protocol gives it no effect on the text (`Ignored`), or
refused by name. Nothing is dropped.

Source: the types of openai-python 3.57; https://docs.vllm.ai/en/stable/features/structured_outputs
"""

from collections.abc import Container
from typing import Annotated, Any, Final, Literal, TypeAlias, cast

from pydantic import BaseModel, ConfigDict, Field

from guideway.errors import UnsupportedError

Schema: TypeAlias = dict[str, Any] | bool
Weighted: TypeAlias = Annotated[tuple[float, str], Field(strict=False)]  # JSON has lists only
LOGPROBS: Final = "message.output_text.logprobs"  # in `include`
Stop: TypeAlias = Annotated[str, Field(max_length=256)]


class Strict(BaseModel):
    """A part of a request: unknown fields are errors, and so are values of other types."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class Ignored(Strict):
    """Fields of OpenAI about users, billing and storage, without effect on the text."""

    user: str | None = None
    metadata: dict[str, str] | None = None
    store: bool | None = None
    service_tier: str | None = None
    safety_identifier: str | None = None
    prompt_cache_key: str | None = None
    prompt_cache_options: dict[str, Any] | None = None
    prompt_cache_retention: str | None = None


class Guided(Strict):
    """An expression over models of the server: `base + Σ weight · model`."""

    base: str
    plus: Annotated[list[Weighted], Field(max_length=8)] = []


class Structured(Strict):
    """vLLM's `structured_outputs`."""

    json_: Annotated[Schema | str | None, Field(alias="json")] = None
    regex: str | None = None
    choice: Annotated[list[str] | None, Field(max_length=10_000)] = None
    grammar: str | None = None
    json_object: Literal[True] | None = None
    structural_tag: dict[str, Any] | str | None = None


class StreamOptions(Strict):
    """Options of a stream."""

    include_usage: bool | None = None
    include_obfuscation: Literal[False] | None = None  # chunks are not padded


class Common(Ignored):
    """The fields of all requests that generate."""

    model: str = ""
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    temperature: Annotated[float | None, Field(ge=0, le=5)] = None
    top_p: Annotated[float | None, Field(gt=0, le=1)] = None
    # vLLM, SGLang and llama.cpp
    top_k: int | None = None
    min_p: float | None = None
    repetition_penalty: float | None = None
    min_tokens: Annotated[int | None, Field(ge=0)] = None
    structured_outputs: Structured | None = None
    guided_json: Schema | str | None = None
    guided_regex: str | None = None
    guided_choice: list[str] | None = None
    guided_grammar: str | None = None
    regex: str | None = None
    ebnf: str | None = None
    json_schema: Schema | str | None = None
    grammar: str | None = None
    structural_tag: dict[str, Any] | str | None = None
    # guideway's own
    guidance: Guided | None = None
    classifier: str | None = None
    watermark: str | None = None
    speculate: Literal["auto", "off"] = "auto"
    exactness: str | None = None
    num_beams: Annotated[int | None, Field(ge=1, le=16)] = None
    best_of: Annotated[int | None, Field(ge=1, le=16)] = None
    schema_in_prompt: bool = False


class Trace(Strict):
    """Ask for the effect of each stage on each token: `guideway.trace` of a choice or chunk."""

    alternatives: Annotated[int, Field(ge=1, le=20)] = 5


class Generating(Common):
    """Chat and text completions."""

    n: Annotated[int | None, Field(ge=1, le=8)] = None
    seed: int | None = None
    stop: Stop | Annotated[list[Stop], Field(max_length=16)] | None = None
    max_tokens: Annotated[int | None, Field(ge=1)] = None
    presence_penalty: Annotated[float | None, Field(ge=-2, le=2)] = None
    frequency_penalty: Annotated[float | None, Field(ge=-2, le=2)] = None
    logit_bias: Annotated[dict[int, float] | None, Field(max_length=1024)] = None
    trace: Trace | None = None


class NamedSchema(Strict):
    """The schema of a `response_format`, with its name."""

    name: str = ""
    description: str | None = None
    schema_: Annotated[Schema, Field(alias="schema")] = True
    strict: bool | None = None


class TextFormat(Strict):
    """Any text."""

    type: Literal["text"]


class ObjectFormat(Strict):
    """Any JSON object."""

    type: Literal["json_object"]
    schema_: Annotated[Schema | None, Field(alias="schema")] = None  # llama.cpp


class SchemaFormat(Strict):
    """JSON of a schema."""

    type: Literal["json_schema"]
    json_schema: NamedSchema


class GrammarFormat(Strict):
    """Text of a Lark grammar or of a regex."""

    type: Literal["grammar"]
    grammar: str
    syntax: Literal["lark", "regex", "gbnf"] = "lark"


class TagFormat(Strict):
    """vLLM's structural tags: free text with tagged regions."""

    type: Literal["structural_tag"]
    format: dict[str, Any] | None = None
    structures: list[dict[str, Any]] | None = None
    triggers: list[str] | None = None


ResponseFormat: TypeAlias = Annotated[
    TextFormat | ObjectFormat | SchemaFormat | GrammarFormat | TagFormat,
    Field(discriminator="type"),
]


class GrammarInput(Strict):
    """Text of a grammar as the input of a custom tool."""

    type: Literal["grammar"]
    syntax: Literal["lark", "regex", "gbnf"]
    definition: str


class CustomTool(Strict):
    """A custom tool, without its type."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,64}$")]
    description: str | None = None
    format: Annotated[TextFormat | GrammarInput | None, Field(discriminator="type")] = None


class ChatRequest(Generating):
    """`POST /v1/chat/completions`."""

    messages: Annotated[list[dict[str, Any]], Field(min_length=1, max_length=1024)]
    max_completion_tokens: Annotated[int | None, Field(ge=1)] = None
    logprobs: bool | None = None
    top_logprobs: Annotated[int | None, Field(ge=0, le=20)] = None
    response_format: ResponseFormat | None = None
    tools: Annotated[list[dict[str, Any]] | None, Field(max_length=128)] = None
    tool_choice: str | dict[str, Any] | None = None
    parallel_tool_calls: bool | None = None
    modalities: list[Literal["text"]] | None = None
    prediction: dict[str, Any] | None = None  # a hint: lookup drafts from the prompt anyway


class CompletionRequest(Generating):
    """`POST /v1/completions`."""

    prompt: str | Annotated[list[str], Field(min_length=1, max_length=64)]
    logprobs: Annotated[int | None, Field(ge=0, le=20)] = None
    echo: Literal[False] | None = None
    response_format: ResponseFormat | None = None


class ResponseText(Strict):
    """`text` of the Responses API."""

    class Json(NamedSchema):
        """JSON of a schema."""

        type: Literal["json_schema"]
        schema_: Schema = Field(..., alias="schema")

    format: Annotated[
        TextFormat | ObjectFormat | Json | GrammarFormat | None, Field(discriminator="type")
    ] = None


class ResponsesRequest(Common):
    """`POST /v1/responses`: without state, so each request has the whole conversation."""

    input: str | Annotated[list[dict[str, Any]], Field(min_length=1, max_length=1024)]
    instructions: str | None = None
    max_output_tokens: Annotated[int | None, Field(ge=1)] = None
    text: ResponseText | None = None
    tools: Annotated[list[dict[str, Any]] | None, Field(max_length=128)] = None
    tool_choice: str | dict[str, Any] | None = None
    parallel_tool_calls: bool | None = None
    top_logprobs: Annotated[int | None, Field(ge=0, le=20)] = None
    truncation: Literal["disabled"] | None = None
    include: list[Literal["message.output_text.logprobs"]] | None = None
    background: Literal[False] | None = None


class Option(Strict):
    """A choice, or a level of a score."""

    value: str | bool
    description: str | None = None


class Level(Strict):
    """A level of a score, from the lowest."""

    label: str
    description: str | None = None


class Asking(Strict):
    """The fields of every question."""

    instructions: str | list[dict[str, Any]]
    name: str | None = None


class Predicate(Asking):
    """How probable is it that a statement about the input is true?"""

    type: Literal["predicate"]


class ChoiceQuestion(Asking):
    """Which of the options?"""

    type: Literal["choice"]
    choices: Annotated[list[Option], Field(min_length=2, max_length=255)]


class Score(Asking):
    """Which of the ordered levels?"""

    type: Literal["score"]
    levels: Annotated[list[Level], Field(min_length=2, max_length=255)]


Question: TypeAlias = Annotated[Predicate | ChoiceQuestion | Score, Field(discriminator="type")]


class DecisionRequest(Ignored):
    """`POST /v1/decisions`."""

    model: str = ""
    input: str | Annotated[list[dict[str, Any]], Field(min_length=1, max_length=1024)]
    questions: Annotated[list[Question], Field(min_length=1, max_length=64)]


class DetectRequest(Strict):
    """`POST /v1/detect`: is a watermark of the server in a text?"""

    watermark: str
    text: Annotated[str, Field(max_length=1 << 18)]
    model: str = ""
    structured_outputs: Structured | None = None


class TokenizeRequest(Strict):
    """`POST /v1/tokenize`: the tokens of a text, or of chat messages in their template."""

    model: str = ""
    prompt: str | None = None
    messages: Annotated[list[dict[str, Any]] | None, Field(max_length=1024)] = None


class ExplainRequest(Strict):
    """`POST /v1/explain`: the meaning of a source, without generating."""

    model: str = ""
    structured_outputs: Structured


WHITESPACE = "whitespace is that of json.dumps"
REFUSED = {
    "audio": "only text is generated",
    "modalities": 'only ["text"] is generated',
    "functions": "write tools",
    "function_call": "write tool_choice",
    "web_search_options": "the server opens nothing",
    "moderation": "use a classifier",
    "previous_response_id": "the server keeps no conversation: send all messages",
    "conversation": "the server keeps no conversation: send all messages",
    "prompt": "the server keeps no prompts",
    "reasoning_effort": "the chat template decides",
    "reasoning": "the chat template decides",
    "chat_template": "templates of clients are code",
    "chat_template_kwargs": "the server's template is used as it is",
    "ignore_eos": "a text ends where its constraint or the model ends it",
    "suffix": "the model reads from left to right",
    "max_tool_calls": "the server calls no tool",
    "trace": "ask for the trace of a chat or text completion",
    "verbosity": "the model decides; limit max_tokens",
    "guided_decoding_backend": "there is one back end",
    "guided_whitespace_pattern": WHITESPACE,
}
"""Fields that are refused, with the reason or what to write instead."""
STRUCTURED_REFUSED = {
    "whitespace_pattern": WHITESPACE,
    "disable_any_whitespace": WHITESPACE,
    "disable_fallback": "there is one back end, which enforces or refuses",
    "disable_additional_properties": "a schema is closed if it says nothing else",
}
"""Fields of `structured_outputs` that are refused."""


def check_refused(body: dict[str, Any], known: type[BaseModel]) -> None:
    """Refuse the first field that the server cannot honour, by name.

    Raises:
        UnsupportedError: such a field is there, and is not null.
    """
    _check(body, REFUSED, known.model_fields, "")
    inside: Any = body.get("structured_outputs")
    if isinstance(inside, dict):
        _check(cast("dict[str, Any]", inside), STRUCTURED_REFUSED, (), "/structured_outputs")


def _check(
    body: dict[str, Any], refused: dict[str, str], known: Container[str], place: str
) -> None:
    for name, value in body.items():
        if name in refused and name not in known and value is not None:
            raise UnsupportedError(
                f"{name} is not supported: {refused[name]}", feature=name, place=f"{place}/{name}"
            )
