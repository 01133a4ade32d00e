"""A request as arguments of the engine: prompt, source, settings and expression."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast, final

from guideway.api.jobs import read_prompts
from guideway.api.model import Model
from guideway.api.prompts import Prompt
from guideway.api.watermark import Watermark
from guideway.errors import SourceError, UnsupportedError, brief
from guideway.generation.ensemble.ensemble import Ensemble
from guideway.server import protocol
from guideway.server.conversation import chat_messages, conversation
from guideway.server.logprobs import Logprobs
from guideway.server.refusals import Refusal, of_field
from guideway.server.replies import Form
from guideway.server.settings import BUDGET, Limits, Names
from guideway.server.sources import read_format, read_source
from guideway.server.tools import Chosen
from guideway.sources.regions import thinking
from guideway.sources.sources import Source, Text

SEARCHES: Final = ("exactness", "num_beams", "best_of")


@final
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
    logprobs: Logprobs | None = None  # writes the log-probabilities, if they are asked for
    search: bool = False  # whether a search runs, which an engine does not do
    trace: int = 0  # number of alternatives of each stage that the answer shows; 0 for no trace

    @property
    def arguments(self) -> dict[str, Any]:
        """The keyword arguments of `submit` and `generate`."""
        return {**self.settings, **self.more, "on_invalid": "return", "budget": BUDGET}


@final
class Reader:
    """Reads requests for one server."""

    def __init__(self, model: Model, name: str, names: Names, limits: Limits) -> None:
        self.model, self.name, self.names, self.limits = model, name, names, limits
        self._made: dict[object, Model] = {}

    def chat(self, asked: protocol.ChatRequest) -> Asked:
        if asked.top_logprobs and not asked.logprobs:
            raise SourceError("top_logprobs needs logprobs: true", place="/top_logprobs")
        most = "max_completion_tokens" if asked.max_completion_tokens else "max_tokens"
        with of_field("response_format"):
            form = read_format(asked.response_format)
        top = (asked.top_logprobs or 0) if asked.logprobs else None
        messages = chat_messages(asked.messages)
        return self._chat(asked, messages, {"response_format": form}, most, top)

    def responses(self, asked: protocol.ResponsesRequest) -> Asked:
        with of_field("text.format"):
            form = None if asked.text is None else read_format(asked.text.format)
        messages = conversation(asked.input, asked.instructions)
        top = (asked.top_logprobs or 0) if protocol.LOGPROBS in (asked.include or ()) else None
        if asked.top_logprobs and top is None:
            raise SourceError(
                f"top_logprobs needs include: [{protocol.LOGPROBS!r}]", place="/top_logprobs"
            )
        return self._chat(asked, messages, {"text.format": form}, "max_output_tokens", top)

    def completion(self, asked: protocol.CompletionRequest, prompt: str) -> Asked:
        with of_field("response_format"):
            form = read_format(asked.response_format)
        source, field = read_source(asked, {"response_format": form})
        read = Form(self.model.vocabulary)
        return self._asked(asked, prompt, (source, field), "max_tokens", read, asked.logprobs)

    def model_of(self, name: str) -> Model:
        """The engine's model, if a request means it."""
        if name not in ("", self.name):
            told = f"there is no model {brief(name)}; there is {self.name}"
            raise Refusal(404, told, "not_found_error", code="model_not_found", param="model")
        return self.model

    def watermark(self, name: str) -> Watermark:
        return _look(self.names.watermarks, name, "watermark")

    def tokens(self, prompt: Prompt) -> list[int]:
        return list(read_prompts(Ensemble(self.model.whole), prompt)[0].tokens)

    def _chat(
        self,
        asked: protocol.ChatRequest | protocol.ResponsesRequest,
        messages: list[dict[str, Any]],
        form: Mapping[str, Source | None],
        most: str,
        top: int | None,
    ) -> Asked:
        (source, field), read = (
            read_source(asked, form),
            Form(self.model.vocabulary, self.names.thinking),
        )
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
        shown = (
            asked.trace.alternatives
            if isinstance(asked, protocol.Generating) and asked.trace
            else 0
        )
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
        logprobs = None if top is None else Logprobs(form.vocabulary, top)
        model = self._expression(asked)
        rest = form, most, logprobs, bool(searches), shown
        return Asked(prompt, *source, model, settings, more, *rest)

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

    def _built(self, asked: protocol.Common) -> Model:
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


def _look(among: Mapping[str, Any], name: str, where: str, what: str = "") -> Any:
    if name not in among:
        there = ", ".join(among) or "none"
        raise SourceError(
            f"the server has no {what or where} {brief(name)}; it has {there}", place=f"/{where}"
        )
    return among[name]
