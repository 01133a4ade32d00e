"""Answers that are errors, in OpenAI's form."""

from typing import Any, final

from fastapi.responses import JSONResponse

from guideway.errors import GuidewayError, ModelError


@final
class Refusal(Exception):  # noqa: N818  an answer, as HTTPException is
    """An answer that is an error."""

    def __init__(self, status: int, message: str, kind: str, **more: Any) -> None:
        super().__init__(message)
        self.status, self.kind, self.more = status, kind, more
        self.headers: dict[str, str] = {}

    @property
    def body(self) -> dict[str, Any]:
        """OpenAI's form of an error."""
        error = {"message": str(self)[:500], "type": self.kind, "param": None, "code": None}
        return {"error": {**error, **self.more}}

    def answer(self) -> JSONResponse:
        """The answer."""
        return JSONResponse(self.body, self.status, headers=self.headers)


def as_refusal(error: Exception) -> Refusal:
    """The answer for an error."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, ModelError):
        return Refusal(503, str(error), "server_error")
    if isinstance(error, GuidewayError):
        place = getattr(error, "place", None)
        code = {"LimitError": "limit_exceeded", "UnsupportedError": "unsupported"}
        told = code.get(type(error).__name__, "invalid_value")
        return Refusal(400, str(error), "invalid_request_error", code=told, param=place or None)
    status = getattr(error, "status_code", 500)
    if status < 500:
        return Refusal(status, str(getattr(error, "detail", error)), "invalid_request_error")
    return Refusal(500, "the server has failed; its log says how", "server_error")
