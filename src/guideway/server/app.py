"""The application: routes, limits, errors, streams, and the playground.

    request ─▶ Guard (host, key, size) ─▶ read (protocol, reading) ─▶ try the source (compiling)
                                                                     │
    answer or events ◀─ answers ◀─ Engine (searches: Model) ◀────────┘

A request that its client leaves is cancelled at the next step, streamed or not.

The playground is static files of this package at `/`, which use the server's own API and are read
once. Browsers run only these scripts, send requests only to this server, and refuse HTML made from
text (Trusted Types).
"""

import asyncio
import contextlib
import hmac
import logging
import re
from collections.abc import AsyncGenerator, Callable, Sequence
from importlib.resources import files
from typing import Final

from fastapi import FastAPI, Request, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from guideway.api.engine import Engine
from guideway.errors import GuidewayError, brief
from guideway.server.observing import Observer, record_of
from guideway.server.refusals import INVALID, Refusal, as_refusal
from guideway.server.routes import Routes
from guideway.server.serving import Server
from guideway.server.settings import Limits, Names

FILES: Final = {
    "/": ("guideway.server", "page/index.html", "text/html"),
    "/page/page.css": ("guideway.server", "page/page.css", "text/css"),
    "/page/page.js": ("guideway.server", "page/page.js", "text/javascript"),
    "/page/icon.svg": ("guideway.server", "page/icon.svg", "image/svg+xml"),
    "/page/tokens.js": ("guideway.generation.row", "tokens.js", "text/javascript"),
}
HEADERS: Final = {
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'; object-src 'none'; require-trusted-types-for 'script'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


def add_page(app: FastAPI) -> None:
    for path, (package, name, kind) in FILES.items():
        served = _static(files(package).joinpath(name).read_bytes(), kind)
        app.add_api_route(path, served, response_model=None, include_in_schema=False)


def _static(content: bytes, kind: str) -> Callable[[], Response]:
    """A handler without parameters, as FastAPI reads each one from the query."""
    return lambda: Response(content, media_type=f"{kind}; charset=utf-8", headers=HEADERS)


logger = logging.getLogger("guideway.server")
OPEN: Final = ("/health", *FILES)  # without a key


class Guard:
    """Checks host, key, kind, size and pace of a request before anything reads it."""

    def __init__(
        self, app: ASGIApp, keys: Sequence[str], hosts: Sequence[str], limits: Limits
    ) -> None:
        self.app, self.limits = app, limits
        self._keys = [key.encode() for key in keys]
        self._hosts = [host.lower() for host in hosts]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 400, 401, 413 or 415, or hand the request on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        if refusal is None:
            await self.app(scope, self._counted(receive), send)
            return
        record_of(scope).refusal = refusal
        await refusal.answer()(scope, receive, send)

    def _refusal(self, scope: Scope) -> Refusal | None:
        """The answer to a request that is refused by its head."""
        headers, limit = dict(scope["headers"]), self.limits.body
        length = headers.get(b"content-length", b"0")
        if self._hosts and (host := _host(headers)) not in self._hosts:
            told = f"this server is not {brief(host)}: name the host when you start the server"
            return Refusal(400, told, INVALID, code="unknown_host")
        if self._keys and scope["path"] not in OPEN and not self._is_key(headers):
            return Refusal(401, "the API key is missing or wrong", "authentication_error")
        if scope["method"] == "POST" and not _is_json(headers):
            return Refusal(415, "send the body with Content-Type: application/json", INVALID)
        if not length.isdigit() or int(length) > limit:
            return _too_large(limit)
        return None

    def _counted(self, receive: Receive) -> Receive:
        """The body of a request, within its limits of size and time."""
        seen, ended = 0, False
        late = f"the body takes more than {self.limits.sending:g} seconds"
        until = asyncio.get_running_loop().time() + self.limits.sending

        async def counted() -> Message:
            nonlocal seen, ended
            try:
                async with asyncio.timeout_at(None if ended else until):
                    message = await receive()
            except TimeoutError:
                raise Refusal(408, late, INVALID) from None
            seen += len(message.get("body", b""))
            ended = not message.get("more_body")
            if seen > self.limits.body:
                raise _too_large(self.limits.body)
            return message

        return counted

    def _is_key(self, headers: dict[bytes, bytes]) -> bool:
        given = headers.get(b"authorization", b"").removeprefix(b"Bearer ")
        found = [hmac.compare_digest(given, key) for key in self._keys]  # all of them, always
        return any(found)


def _host(headers: dict[bytes, bytes]) -> str:
    """The host that a request names, without the port.

    >>> _host({b"host": b"[::1]:8000"}), _host({b"host": b"Localhost"}), _host({})
    ('::1', 'localhost', '')
    """
    named = headers.get(b"host", b"").decode("latin-1").lower()
    return re.sub(r":\d*$", "", named).strip("[]")


def _is_json(headers: dict[bytes, bytes]) -> bool:
    """Return True for JSON, which a page of another origin cannot send unasked."""
    return headers.get(b"content-type", b"").split(b";")[0].strip().lower() == b"application/json"


def _too_large(limit: int) -> Refusal:
    return Refusal(413, f"the request is larger than {limit} bytes", INVALID)


def create_app(
    engine: Engine,
    *,
    name: str = "guideway",
    keys: Sequence[str] = (),
    hosts: Sequence[str] = (),
    names: Names | None = None,
    limits: Limits | None = None,
    origins: Sequence[str] = (),
    log_texts: bool = False,
) -> FastAPI:
    """Return the server as a FastAPI application, for uvicorn or Ray Serve.

    Args:
        engine: generates all texts; the application does not close it.
        name: what clients call the model.
        keys: API keys; without one, everybody may use the server.
        hosts: names and addresses that the header `Host` may have; without one, it may have any.
            A server without keys needs them: a page elsewhere could reach it under a name of its
            own (DNS rebinding).
        names: models, classifiers and watermarks that requests may name.
        limits: limits of requests.
        origins: origins that browsers may send requests from (CORS).
        log_texts: log requests and texts too, not only counts and times.

    Example:
        >>> import guideway as gw
        >>> from guideway.server import create_app  # doctest: +SKIP
        >>> app = create_app(gw.Engine(gw.load("smollm2-135m")))  # doctest: +SKIP
    """
    server = Server(engine, name, names or Names(), limits or Limits())

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None]:
        server.compilers.start()
        yield
        server.compilers.close()

    app = FastAPI(title="guideway", docs_url=None, redoc_url=None, lifespan=lifespan)
    app.state.server = server
    app.add_middleware(Guard, keys=keys, hosts=hosts, limits=server.limits)
    if origins:
        from starlette.middleware.cors import CORSMiddleware

        app.add_middleware(
            CORSMiddleware, allow_origins=[*origins], allow_methods=["*"], allow_headers=["*"]
        )
    app.add_middleware(Observer, metrics=server.metrics, log_texts=log_texts)
    _add_errors(app)
    Routes(server).add_to(app)
    add_page(app)
    return app


def _add_errors(app: FastAPI) -> None:
    """Every error has OpenAI's form, and none has a stack trace."""

    async def refused(request: Request, error: Exception) -> Response:
        refusal = as_refusal(error)
        if getattr(error, "status_code", None) in (404, 405):  # of starlette
            told = f"there is no {request.method} {brief(request.url.path)}"
            refusal = Refusal(refusal.status, told, refusal.kind, code="not_found")
        record_of(request.scope).refusal = refusal
        if refusal.status == 500:
            logger.error("a request has failed", exc_info=error)
        return refusal.answer()

    for kind in (GuidewayError, Refusal, Exception, 404, 405):
        app.add_exception_handler(kind, refused)
