"""A server that speaks OpenAI's protocol: `create_app(engine)` is its FastAPI application."""

from typing import TYPE_CHECKING, Any

from guideway.extras import require

if TYPE_CHECKING:
    from guideway.server.app import create_app as create_app
    from guideway.server.settings import Limits as Limits
    from guideway.server.settings import Names as Names


def __getattr__(name: str) -> Any:
    """Import the application when it is needed: the processes that compile do without."""
    if name not in ("create_app", "Limits", "Names"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    require("server", "guideway.server")
    from guideway.server import app, settings

    return {"create_app": app.create_app, "Limits": settings.Limits, "Names": settings.Names}[name]
