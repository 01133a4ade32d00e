"""The playground: static files of this package at `/`, which use the server's own API.

The files are read once. Browsers run only these scripts, send requests only to this server, and
refuse HTML made from text (Trusted Types).
"""

from collections.abc import Callable, Iterator
from importlib.resources import files
from typing import Final

from fastapi import FastAPI, Response

FILES: Final = {
    "/": ("guideway.server", "page/index.html", "text/html"),
    "/page/page.css": ("guideway.server", "page/page.css", "text/css"),
    "/page/page.js": ("guideway.server", "page/page.js", "text/javascript"),
    "/page/icon.svg": ("guideway.server", "page/icon.svg", "image/svg+xml"),
    "/page/tokens.js": ("guideway.api", "tokens.js", "text/javascript"),
}
HEADERS: Final = {
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'; object-src 'none'; require-trusted-types-for 'script'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


def add_page(app: FastAPI) -> None:
    """Add the files of the page to an application."""
    for path, handler in _handlers():
        app.add_api_route(path, handler, response_model=None, include_in_schema=False)


def _handlers() -> Iterator[tuple[str, Callable[[], Response]]]:
    for path, (package, name, kind) in FILES.items():
        content = files(package).joinpath(name).read_bytes()

        def handler(content: bytes = content, kind: str = kind) -> Response:
            return Response(content, media_type=f"{kind}; charset=utf-8", headers=HEADERS)

        yield path, handler
