"""The routes, one method each; explanations of sources, watermark detection, decisions."""

import asyncio
import json
from dataclasses import asdict
from itertools import islice
from operator import itemgetter
from typing import Any, Final

from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse

from guideway.api.linting.enforcement import enforcement
from guideway.api.model import Model
from guideway.api.prompts import plain
from guideway.api.watermark import Detection, Watermark
from guideway.automaton.token_tries import unpack
from guideway.constraint.compile import compile as compile_source
from guideway.errors import SourceError
from guideway.language.budget import Meter
from guideway.language.fuel import metered
from guideway.server import answers, protocol
from guideway.server.conversation import conversation
from guideway.server.events import ChunkEvents, ResponseEvents
from guideway.server.reading import Asked, read_structured
from guideway.server.refusals import INVALID, Refusal, of_field
from guideway.server.replies import new_id
from guideway.server.serving import Server
from guideway.server.settings import BUDGET
from guideway.sources.sources import Source

Body = dict[str, Any]
LINES: Final = 500  # of an explanation
TOKENS: Final = 12


class Routes:
    """The routes of a server."""

    def __init__(self, server: Server) -> None:
        self.server = server

    def add_to(self, app: FastAPI) -> None:
        for method, path, handler in (
            ("GET", "/health", self.health),
            ("GET", "/metrics", self.metrics),
            ("GET", "/v1/models", self.models),
            ("GET", "/v1/models/{name:path}", self.one_model),
            ("POST", "/v1/chat/completions", self.chat),
            ("POST", "/v1/completions", self.completions),
            ("POST", "/v1/responses", self.responses),
            ("POST", "/v1/decisions", self.decisions),
            ("POST", "/v1/systemone", self.decisions),
            ("POST", "/v1/detect", self.detect),
            ("POST", "/v1/tokenize", self.tokenize),
            ("POST", "/v1/explain", self.explain),
            ("POST", "/v1/embeddings", self.embeddings),
        ):
            app.add_api_route(path, handler, methods=[method], response_model=None)

    async def health(self) -> Body:
        return {"status": "ok", "open": self.server.open}

    async def metrics(self) -> Response:
        return Response(self.server.metrics.text(), media_type="text/plain; version=0.0.4")

    async def models(self) -> Body:
        return {"object": "list", "data": [await self.one_model("")]}

    async def one_model(self, name: str) -> Body:
        self.server.reader.model_of(name)
        own = {"id": self.server.name, "object": "model", "created": self.server.started}
        names = self.server.names
        more = {
            "models": [*names.models],
            "classifiers": [*names.classifiers],
            "watermarks": [*names.watermarks],
            "max_tokens": self.server.limits.tokens,
        }
        return {**own, "owned_by": "guideway", "guideway": more}

    async def chat(self, request: Request) -> Response:
        asked = await self.server.read(request, protocol.ChatRequest)
        return await self._choices(request, asked, [self.server.reader.chat(asked)])

    async def completions(self, request: Request) -> Response:
        asked = await self.server.read(request, protocol.CompletionRequest)
        prompts = [asked.prompt] if isinstance(asked.prompt, str) else asked.prompt
        read = [self.server.reader.completion(asked, each) for each in prompts]
        return await self._choices(request, asked, read)

    async def _choices(
        self,
        request: Request,
        asked: protocol.ChatRequest | protocol.CompletionRequest,
        read: list[Asked],
    ) -> Response:
        """The texts of each prompt, at once or as a stream."""
        one, each, chat = read[0], asked.n or 1, isinstance(asked, protocol.ChatRequest)
        await self.server.check(request, one.source, one.field)
        number, kind = ("chatcmpl", "chat.completion") if chat else ("cmpl", "text_completion")
        head = answers.Head(new_id(number), kind, self.server.name)
        texts = [text for prompt in read for text in self.server.spread(prompt, each)]
        if asked.stream:
            events = ChunkEvents(head, one, asked, each)
            return await self.server.stream(request, texts, events)
        results = await self.server.results(request, texts)
        choice = answers.chat_choice if chat else answers.text_choice
        choices = [choice(n, result, one) for n, result in enumerate(results)]
        return JSONResponse(head.of(choices, usage=answers.usage(results, one.form, each)))

    async def responses(self, request: Request) -> Response:
        asked = await self.server.read(request, protocol.ResponsesRequest)
        one = self.server.reader.responses(asked)
        await self.server.check(request, one.source, one.field)
        head = answers.Head(new_id("resp"), "response", self.server.name)
        body = asked.model_dump(mode="json", by_alias=True, exclude_unset=True)
        if asked.stream:
            events = ResponseEvents(head, one, body)
            return await self.server.stream(request, [one], events)
        results = await self.server.results(request, [one])
        result = results[0]
        traced = answers.traced(one, result.trace or ()) or []
        status, counted = answers.status_of(result), answers.usage(results, one.form, 1)
        items = answers.items_of(one.form.reply(result), head.id, status, traced)
        return JSONResponse(answers.response(head, body, result, items, counted))

    async def decisions(self, request: Request) -> Response:
        asked = await self.server.read(request, protocol.DecisionRequest)
        model = self.server.reader.model_of(asked.model)
        found = await self.server.threaded(request, decide, model, asked)
        messages = conversation(asked.input, None)  # each question reads them
        count = len(await asyncio.to_thread(self.server.reader.tokens, messages))
        usage = {
            "input_tokens": count,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": 0,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": count,
        }
        return JSONResponse({"model": self.server.name, "answers": found, "usage": usage})

    async def detect(self, request: Request) -> Response:
        asked = await self.server.read(request, protocol.DetectRequest)
        mark = self.server.reader.watermark(asked.watermark)
        source = read_structured(asked.structured_outputs or protocol.Structured())
        await self.server.check(request, source, "structured_outputs")
        model = self.server.reader.model_of(asked.model)
        found = await self.server.threaded(request, detected, mark, model, asked.text, source)
        return JSONResponse({"object": "detection", **asdict(found)})

    async def tokenize(self, request: Request) -> Response:
        asked = await self.server.read(request, protocol.TokenizeRequest)
        self.server.reader.model_of(asked.model)
        given = [each for each in (asked.prompt, asked.messages) if each is not None]
        if len(given) != 1:
            raise SourceError("give either prompt or messages")
        tokens = await self.server.threaded(request, self.server.reader.tokens, given[0])
        return JSONResponse({"tokens": tokens, "count": len(tokens)})

    async def explain(self, request: Request) -> Response:
        asked = await self.server.read(request, protocol.ExplainRequest)
        source = read_structured(asked.structured_outputs)
        if source is None:
            raise SourceError("structured_outputs has no source", place="/structured_outputs")
        await self.server.check(request, source, "structured_outputs")
        model = self.server.reader.model_of(asked.model)
        return JSONResponse(await self.server.threaded(request, explained, source, model))

    async def embeddings(self) -> Body:
        raise Refusal(
            400, "embeddings are not supported: the models generate", INVALID, code="unsupported"
        )


def explained(source: Source, model: Model) -> dict[str, Any]:
    """The parts of a source, a shortest text, and the tokens that may come first."""
    vocabulary = model.vocabulary
    constraint = compile_source(plain(source), vocabulary, BUDGET)
    with metered(Meter(BUDGET, "explaining").tick, fresh=True):
        start = constraint.start()
        allowed: list[int] = unpack(constraint.mask(start)).tolist()
        example, shortest = constraint.example(), constraint.distance(start)
    some = [*map(vocabulary.spelling, allowed[:TOKENS])]
    return {
        "object": "explanation",
        "enforced": [asdict(each) for each in islice(enforcement(plain(source)), LINES)],
        "example": example,
        "shortest_tokens": shortest,
        "first_tokens": [each.decode(errors="replace") for each in some],
        "first_count": len(allowed),
    }


def detected(mark: Watermark, model: Model, text: str, source: Source | None) -> Detection:
    """The evidence of a watermark in a text, which must be one of `source`."""
    held = None if source is None else compile_source(plain(source), model.vocabulary, BUDGET)
    return mark.detect(text, model, held)


def decide(model: Model, asked: protocol.DecisionRequest) -> list[dict[str, Any]]:
    """Answers of `/v1/decisions`: exact probabilities of given answers, without a text."""
    messages = conversation(asked.input, None)
    with of_field("questions"):
        return [
            {"type": each.type, "name": each.name, **_answer(model, messages, each)}
            for each in asked.questions
        ]


def _answer(model: Model, messages: list[Any], question: protocol.Question) -> dict[str, Any]:
    said = question.instructions
    if not isinstance(said, str):
        said = "\n".join(each.get("text", json.dumps(each.get("data"))) for each in said)
    match question:
        case protocol.Predicate():
            asked = f"Is this true? {said}\nAnswer yes or no."
            return {"probability": model.choose(_with(messages, asked), ["yes", "no"])["yes"]}
        case protocol.ChoiceQuestion(choices=given):
            named: list[dict[str, Any]] = [{"value": each.value} for each in given]
            labels = [v if isinstance(v := each.value, str) else str(v).lower() for each in given]
        case protocol.Score(levels=given):
            labels = [each.label for each in given]
            named = [{"value": n, "label": label} for n, label in enumerate(labels)]
    about = [f": {each.description}" if each.description else "" for each in given]
    lines = [f"- {label}{more}" for label, more in zip(labels, about, strict=True)]
    listed = "\n".join((said, "Answer with one of these:", *lines))
    found = model.choose(_with(messages, listed), labels).values()
    shares = [{**name, "probability": share} for name, share in zip(named, found, strict=True)]
    best = max(shares, key=itemgetter("probability"))
    answer = {"confidence": best["probability"], "probabilities": shares}
    if isinstance(question, protocol.ChoiceQuestion):
        return {"choice": best["value"], **answer}
    return {"score": sum(each["value"] * each["probability"] for each in shares), **answer}


def _with(messages: list[Any], question: str) -> list[Any]:
    """The messages with a question, in the last turn of the user."""
    if messages and messages[-1].get("role") == "user" and isinstance(messages[-1]["content"], str):
        last = {"role": "user", "content": f"{messages[-1]['content']}\n\n{question}"}
        return [*messages[:-1], last]
    return [*messages, {"role": "user", "content": question}]
