"""The routes, one method each."""

import asyncio
from dataclasses import asdict
from typing import Any, final

from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse

from guideway.errors import SourceError
from guideway.server import answers, protocol
from guideway.server.decisions import decide, decided_tokens
from guideway.server.events import ChatEvents, ResponseEvents, TextEvents
from guideway.server.explaining import detected, explained
from guideway.server.refusals import INVALID, Refusal
from guideway.server.replies import new_id
from guideway.server.serving import Server
from guideway.server.sources import read_structured
from guideway.server.traces import add_traces, traced, with_traces

Body = dict[str, Any]


@final
class Routes:
    """The routes of a server."""

    def __init__(self, server: Server) -> None:
        """Answer for this server."""
        self.server = server

    def add_to(self, app: FastAPI) -> None:
        """Add all routes to an application."""
        for path, handler in (
            ("/health", self.health),
            ("/metrics", self.metrics),
            ("/v1/models", self.models),
            ("/v1/models/{name:path}", self.one_model),
        ):
            app.add_api_route(path, handler, methods=["GET"], response_model=None)
        for path, handler in (
            ("/v1/chat/completions", self.chat),
            ("/v1/completions", self.completions),
            ("/v1/responses", self.responses),
            ("/v1/decisions", self.decisions),
            ("/v1/systemone", self.decisions),
            ("/v1/detect", self.detect),
            ("/v1/tokenize", self.tokenize),
            ("/v1/explain", self.explain),
            ("/v1/embeddings", self.embeddings),
        ):
            app.add_api_route(path, handler, methods=["POST"], response_model=None)

    async def health(self) -> Body:
        """`GET /health`."""
        return {"status": "ok", "open": self.server.open}

    async def metrics(self) -> Response:
        """`GET /metrics`."""
        return Response(self.server.metrics.text(), media_type="text/plain; version=0.0.4")

    async def models(self) -> Body:
        """`GET /v1/models`."""
        return {"object": "list", "data": [await self.one_model("")]}

    async def one_model(self, name: str) -> Body:
        """`GET /v1/models/NAME`."""
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
        """`POST /v1/chat/completions`."""
        asked = await self.server.read(request, protocol.ChatRequest)
        one = traced(self.server.reader.chat(asked), asked.trace)
        await self.server.check(request, one.source, one.field)
        head = answers.Head(new_id("chatcmpl"), "chat.completion", self.server.name)
        texts = self.server.spread(one, asked.n or 1)
        if asked.stream:
            events = with_traces(ChatEvents(head, one, asked.stream_options), asked.trace)
            return await self.server.stream(request, texts, events)
        results = await self.server.results(request, texts)
        choices = [answers.chat_choice(n, result, one) for n, result in enumerate(results)]
        add_traces(choices, results, asked.trace)
        return JSONResponse(head.of(choices, usage=answers.usage(results, one.form, len(results))))

    async def completions(self, request: Request) -> Response:
        """`POST /v1/completions`."""
        asked = await self.server.read(request, protocol.CompletionRequest)
        prompts = [asked.prompt] if isinstance(asked.prompt, str) else asked.prompt
        read = [traced(self.server.reader.completion(asked, each), asked.trace) for each in prompts]
        await self.server.check(request, read[0].source, read[0].field)
        head = answers.Head(new_id("cmpl"), "text_completion", self.server.name)
        texts = [text for one in read for text in self.server.spread(one, asked.n or 1)]
        one, each = read[0], asked.n or 1
        if asked.stream:
            events = with_traces(TextEvents(head, one, asked.stream_options, each), asked.trace)
            return await self.server.stream(request, texts, events)
        results = await self.server.results(request, texts)
        choices = [answers.text_choice(n, result, one.logprobs) for n, result in enumerate(results)]
        add_traces(choices, results, asked.trace)
        return JSONResponse(head.of(choices, usage=answers.usage(results, one.form, each)))

    async def responses(self, request: Request) -> Response:
        """`POST /v1/responses`."""
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
        """`POST /v1/decisions`."""
        asked = await self.server.read(request, protocol.DecisionRequest)
        model = self.server.reader.model_of(asked.model)
        found = await self.server.threaded(request, decide, model, asked)
        read = await asyncio.to_thread(decided_tokens, self.server.reader, asked)
        return JSONResponse({"model": self.server.name, "answers": found, "usage": read})

    async def detect(self, request: Request) -> Response:
        """`POST /v1/detect`."""
        asked = await self.server.read(request, protocol.DetectRequest)
        mark = self.server.reader.watermark(asked.watermark)
        source = read_structured(asked.structured_outputs or protocol.Structured())
        await self.server.check(request, source, "structured_outputs")
        model = self.server.reader.model_of(asked.model)
        found = await self.server.threaded(request, detected, mark, model, asked.text, source)
        return JSONResponse({"object": "detection", **asdict(found)})

    async def tokenize(self, request: Request) -> Response:
        """`POST /v1/tokenize`."""
        asked = await self.server.read(request, protocol.TokenizeRequest)
        self.server.reader.model_of(asked.model)
        given = [each for each in (asked.prompt, asked.messages) if each is not None]
        if len(given) != 1:
            raise SourceError("give either prompt or messages")
        tokens = await self.server.threaded(request, self.server.reader.tokens, given[0])
        return JSONResponse({"tokens": tokens, "count": len(tokens)})

    async def explain(self, request: Request) -> Response:
        """`POST /v1/explain`."""
        asked = await self.server.read(request, protocol.ExplainRequest)
        source = read_structured(asked.structured_outputs)
        if source is None:
            raise SourceError("structured_outputs has no source", place="/structured_outputs")
        await self.server.check(request, source, "structured_outputs")
        model = self.server.reader.model_of(asked.model)
        told = await self.server.threaded(request, explained, source, model)
        return JSONResponse(told)

    async def embeddings(self) -> Body:
        """`POST /v1/embeddings`, which is refused."""
        raise Refusal(
            400, "embeddings are not supported: the models generate", INVALID, code="unsupported"
        )
