"""A server that speaks OpenAI's protocol: `create_app(engine)` is its FastAPI application."""

from typing import TYPE_CHECKING, Any

from guideway.extras import require

if TYPE_CHECKING:
    from guideway.server.app import create_app as create_app
    from guideway.server.observing import JsonLines as JsonLines
    from guideway.server.settings import Limits as Limits
    from guideway.server.settings import Names as Names


def __getattr__(name: str) -> Any:
    """Import the application when it is needed: the processes that compile do without."""
    if name not in ("create_app", "JsonLines", "Limits", "Names"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    require("server", "guideway.server")
    from guideway.server import app, observing, settings

    room = {"create_app": app, "JsonLines": observing}.get(name, settings)
    return getattr(room, name)
