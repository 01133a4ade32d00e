"""Parts of all routes: read a body, try a source, run texts, stream."""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import Any, ParamSpec, TypeVar, cast

from fastapi import Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ValidationError
from pydantic_core import from_json
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from guideway.api.engine import Engine
from guideway.api.running import Part
from guideway.errors import LimitError, SourceError, UnsupportedError
from guideway.generation.row.result import Result
from guideway.generation.stopping import in_thread
from guideway.server import protocol
from guideway.server.compiling import Compilers
from guideway.server.events import Events
from guideway.server.observing import Metrics, Record, record_of
from guideway.server.reading import Asked, Reader
from guideway.server.refusals import Refusal, as_invalid, as_refusal, of_field, of_settings
from guideway.server.settings import Limits, Names
from guideway.sources.sources import Source

logger = logging.getLogger("guideway.server")
Read = TypeVar("Read", bound=BaseModel)
Given = ParamSpec("Given")
Made = TypeVar("Made")


class Server:
    """State and steps that all routes share."""

    def __init__(self, engine: Engine, name: str, names: Names, limits: Limits) -> None:
        self.engine, self.name, self.names, self.limits = engine, name, names, limits
        self.reader = Reader(engine.model, name, names, limits)
        self.metrics = Metrics()
        self.compilers = Compilers(
            engine.model.vocabulary, seconds=limits.compiling, memory=limits.memory
        )
        self.metrics.watch(engine, lambda: self.compilers.killed)
        self.open = 0
        self.started = int(time.time())

    async def read(self, request: Request, kind: type[Read]) -> Read:
        try:
            body: Any = from_json(await request.body())
        except ClientDisconnect:
            raise _client_gone() from None
        except ValueError as error:
            raise SourceError(f"the body is not JSON: {error}") from None
        if not isinstance(body, dict):
            raise SourceError("the body must be a JSON object")
        if _depth(body) > self.limits.depth:
            raise SourceError(f"the body is nested deeper than {self.limits.depth}")
        given = cast("dict[str, Any]", body)
        record = record_of(request.scope)
        record.body, record.model = given, self.name
        protocol.check_refused(given, kind)
        try:
            return kind.model_validate(given)
        except ValidationError as error:
            raise as_invalid(error, kind, given) from None

    async def check(self, request: Request, source: Source | None, field: str | None) -> None:
        """Try the source that a field of a request gave; refuse one that is too expensive."""
        if source is None:
            return
        began = time.perf_counter()
        with of_field(field or ""), self.admitted(1):
            known = await self.attended(request, self.compilers.check(source))
        self.metrics.compiled.labels("hit" if known else "miss").inc()
        if not known:
            self.metrics.compiling.observe(time.perf_counter() - began)

    async def threaded(
        self, request: Request, work: Callable[Given, Made], *args: Given.args, **more: Given.kwargs
    ) -> Made:
        """The result of `work` in a thread, where generation ends if the client leaves."""
        with self.admitted(1):
            return await self.attended(request, in_thread(work, *args, **more))

    @contextlib.contextmanager
    def admitted(self, count: int) -> Any:
        """Count the texts of a request; 429 if too many wait, 400 if it alone has too many."""
        most = self.engine.max_batch + self.limits.queue
        if count > most:
            raise LimitError(
                f"the request asks for {count} texts: this server takes at most {most}",
                limit="texts",
                given=count,
            )
        if self.open + count > most:
            refusal = Refusal(429, f"{self.open} texts are running or waiting", "rate_limit_error")
            refusal.headers["Retry-After"] = "1"
            raise refusal
        self.open += count
        self.metrics.running.set(self.open)
        try:
            yield
        finally:
            self.open -= count
            self.metrics.running.set(self.open)

    def spread(self, asked: Asked, count: int) -> list[Asked]:
        """`n` texts of one request: each has a seed of its own."""
        seed = asked.settings.get("seed")
        if seed is None:
            return [asked] * count
        return [replace(asked, settings={**asked.settings, "seed": seed + n}) for n in range(count)]

    async def result(self, asked: Asked, record: Record) -> Result[Any]:
        arguments = asked.arguments
        generate: Any = asked.model.agenerate
        submit: Any = self.engine.submit
        with of_settings(asked.most):
            if asked.search:
                made = await generate(asked.prompt, asked.source, **arguments)
            else:
                future = submit(asked.prompt, asked.source, model=asked.model, **arguments)
                made = await asyncio.wrap_future(future)
        self._note(made, record)
        return made

    async def results(self, request: Request, asked: list[Asked]) -> list[Result[Any]]:
        """Generate texts beside one another; cancel them if the client goes away."""
        with self.admitted(len(asked)):
            record = record_of(request.scope)
            everything = asyncio.gather(*(self.result(each, record) for each in asked))
            return await self.attended(request, everything)

    async def attended(self, request: Request, work: Awaitable[Made]) -> Made:
        """The result of `work`, unless the client leaves or the time is over."""
        task = asyncio.ensure_future(work)
        gone = asyncio.ensure_future(_gone(request))
        try:
            done, _ = await asyncio.wait(
                {task, gone}, timeout=self.limits.timeout, return_when=asyncio.FIRST_COMPLETED
            )
            if task in done:
                return task.result()
            if gone in done:
                raise _client_gone()
            raise _timeout(self.limits.timeout)
        finally:
            for each in (task, gone):
                each.cancel()
            await asyncio.gather(task, gone, return_exceptions=True)

    def _note(self, made: Result[Any], record: Record) -> None:
        self.metrics.count(made)
        record.results.append(made)

    async def parts(self, asked: Asked, record: Record) -> AsyncIterator[Part[Any]]:
        stream = self.engine.astream(
            asked.prompt, asked.source, model=asked.model, **asked.arguments
        )
        async with contextlib.aclosing(stream):  # pyright: ignore[reportArgumentType]
            with of_settings(asked.most):
                async for part in stream:
                    yield part
                    if part.result is not None:
                        self._note(part.result, record)

    async def stream(self, request: Request, asked: list[Asked], events: Events) -> Response:
        """Server-sent events of texts that grow beside one another.

        Errors before the first token are errors of the request; later ones are events.
        """
        if any(each.search for each in asked):
            raise UnsupportedError("a search does not stream", feature="stream of a search")
        record = record_of(request.scope)
        until = asyncio.get_running_loop().time() + self.limits.timeout
        async with contextlib.AsyncExitStack() as opened:
            opened.enter_context(self.admitted(len(asked)))
            parts = merged([self.parts(each, record) for each in asked])
            opened.push_async_callback(parts.aclose)
            first = await self.attended(request, anext(parts))
            kept = opened.pop_all()

        async def body() -> AsyncGenerator[str]:
            try:
                async with asyncio.timeout_at(until):
                    for event in (*events.first(len(asked)), *events.part(*first)):
                        yield event
                    async for number, part in parts:
                        for event in events.part(number, part):
                            yield event
                    for event in events.last():
                        yield event
            except Exception as error:  # noqa: BLE001  the answer has begun: the client is told
                record.refusal = self._failure(error)
                yield events.failed(record.refusal)

        return _Stream(body(), kept)

    def _failure(self, error: Exception) -> Refusal:
        if isinstance(error, TimeoutError):
            return _timeout(self.limits.timeout)
        refusal = as_refusal(error)
        if refusal.status == 500:
            logger.error("a stream has failed", exc_info=error)
        return refusal


class _Stream(StreamingResponse):
    """A stream that ends with its response, also where a client leaves before it is read."""

    def __init__(self, events: AsyncGenerator[str], kept: contextlib.AsyncExitStack) -> None:
        super().__init__(events, media_type="text/event-stream")
        kept.push_async_callback(events.aclose)
        self._kept = kept

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events, and close all that they need."""
        async with self._kept:
            await super().__call__(scope, receive, send)


async def merged(
    streams: list[AsyncIterator[Part[Any]]],
) -> AsyncGenerator[tuple[int, Part[Any]]]:
    """The parts of several streams as they come, with the number of each stream."""
    queue = asyncio.Queue[tuple[int, Part[Any]] | None]()

    async def forward(number: int, stream: AsyncIterator[Part[Any]]) -> None:
        async for part in stream:
            queue.put_nowait((number, part))

    everything = asyncio.gather(*(forward(n, each) for n, each in enumerate(streams)))
    everything.add_done_callback(lambda _: queue.put_nowait(None))
    try:
        while (found := await queue.get()) is not None:
            yield found
        await everything
    finally:
        everything.cancel()
        await asyncio.gather(everything, return_exceptions=True)


def _client_gone() -> Refusal:
    return Refusal(499, "the client has gone", "client_closed_request")


def _timeout(seconds: float) -> Refusal:
    return Refusal(503, f"the request takes more than {seconds:g} seconds", "timeout_error")


async def _gone(request: Request) -> None:
    """Return when the client has closed the connection."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _depth(value: Any) -> int:
    """The nesting depth of lists and objects."""
    depth = 0
    level: list[Any] = [value]
    while level:
        depth += 1
        inside: list[Any] = [each.values() if isinstance(each, dict) else each for each in level]
        level = [one for each in inside for one in each if isinstance(one, dict | list)]
    return depth
