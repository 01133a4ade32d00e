"""Answers that are errors, in OpenAI's form."""

import contextlib
import re
from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any, Final, cast, get_args

from fastapi.responses import JSONResponse
from pydantic import BaseModel, ValidationError

from guideway.errors import GuidewayError, ModelError, brief
from guideway.sources.names import did_you_mean

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

INVALID: Final = "invalid_request_error"


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

    @property
    def code(self) -> str:
        """The code, or the type of an error without one."""
        return self.more.get("code") or self.kind

    def answer(self) -> JSONResponse:
        return JSONResponse(self.body, self.status, headers=self.headers)


def as_refusal(error: Exception, field: str | None = None) -> Refusal:
    """The answer for an error; `field` is the field of the request that is wrong."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, ModelError):
        return Refusal(503, str(error), "server_error")
    if isinstance(error, GuidewayError):
        param = field or as_param(str(getattr(error, "place", "")))
        code = {"LimitError": "limit_exceeded", "UnsupportedError": "unsupported"}
        told = code.get(type(error).__name__, "invalid_value")
        return Refusal(400, str(error), INVALID, code=told, param=param)
    status = getattr(error, "status_code", 500)
    if status < 500:
        return Refusal(status, str(getattr(error, "detail", error)), INVALID)
    return Refusal(500, "the server has failed; its log says how", "server_error")


@contextlib.contextmanager
def of_field(name: str) -> Generator[None]:
    """Name a field of the request in errors that know their place in a source only."""
    try:
        yield
    except GuidewayError as error:
        raise as_refusal(error, name) from None


@contextlib.contextmanager
def of_settings(most: str) -> Generator[None]:
    """Name settings in errors as requests do; `most` is the field that limits the tokens."""
    try:
        yield
    except ModelError:
        raise
    except GuidewayError as error:
        told = str(error).replace("max_new_tokens", most).replace("min_new_tokens", "min_tokens")
        refusal, named = as_refusal(error), re.match(r"(\w+) (?:is|has) ", told)
        param = named[1] if named else most if most in told else None
        more = {**refusal.more, "param": refusal.more["param"] or param}
        raise Refusal(refusal.status, told, refusal.kind, **more) from None


def as_param(place: str) -> str | None:
    """A JSON pointer as OpenAI writes it.

    >>> as_param("/messages/0/content"), as_param("")
    ('messages[0].content', None)
    """
    return re.sub(r"\.(\d+)(?=\.|$)", r"[\1]", place.strip("/").replace("/", ".")) or None


WORDS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("bool_parsing", "bool_type"), "be true or false"),
    **dict.fromkeys(("dict_type", "model_type", "model_attributes_type"), "be an object"),
    "finite_number": "be a finite number",
    **dict.fromkeys(("float_parsing", "float_type"), "be a number"),
    "greater_than": "be more than {gt}",
    "greater_than_equal": "be at least {ge}",
    **dict.fromkeys(("int_from_float", "int_parsing", "int_type"), "be a whole number"),
    "int_parsing_size": "be a whole number of 4,300 digits at most",
    "less_than_equal": "be at most {le}",
    **dict.fromkeys(("list_type", "tuple_type"), "be a list"),
    "literal_error": "be {expected}",
    "string_pattern_mismatch": "match {pattern}",
    "string_too_long": "have at most {max_length} characters",
    "string_type": "be a string",
    "too_long": "have at most {max_length} items, not {actual_length}",
    "too_short": "have at least {min_length} items, not {actual_length}",
    "union_tag_invalid": "have one of the types {expected_tags}",
    "union_tag_not_found": "have a type",
}
"""The kinds of pydantic's errors in our words."""
COUNTED: Final = ("too_long", "too_short")
SPELLED: Final = {"True": "true", "False": "false", "None": "null"}  # as JSON writes them


def as_invalid(error: ValidationError, kind: type[BaseModel], body: object) -> Refusal:
    """The answer for a body of the wrong form: the field, its value, the allowed values."""
    errors = [(each, _fields(each, body)) for each in error.errors(include_url=False)]
    # Of the kinds that a field may have, the one that fits most.
    first, fields = max(errors, key=lambda each: len(each[1]))
    param = as_param("/".join(fields)) or "the body"
    if first["type"] == "missing":
        code, told = "missing_required_parameter", f"{param} is missing"
    elif first["type"] == "extra_forbidden":
        known = _field_names(kind, fields[:-1])
        meant = did_you_mean(fields[-1], known) or f"; known are {', '.join(known)}"
        code, told = "unknown_parameter", f"{param} is unknown{meant}"
    else:
        words = dict.fromkeys(_words(each) for each, place in errors if place == fields)
        given = first["input"]
        shown = "" if first["type"] in COUNTED else f", not {SPELLED.get(str(given), brief(given))}"
        code, told = "invalid_value", f"{param} must {' or '.join(words)}{shown}"
    return Refusal(400, told, INVALID, code=code, param=param)


def _words(error: "ErrorDetails") -> str:
    words = WORDS.get(error["type"])
    if words is None:
        return f"be right: {error['msg']}"
    facts = {name: SPELLED.get(str(fact), fact) for name, fact in error.get("ctx", {}).items()}
    return words.format(**facts)


def _fields(error: "ErrorDetails", body: object) -> list[str]:
    """The fields and indices of the wrong part of a body, without the names of alternatives."""
    found, at = list[str](), cast("Any", body)
    for part in error["loc"]:
        try:
            at = at[part]
        except (LookupError, TypeError):
            continue
        found.append(str(part))
    return [*found, str(error["loc"][-1])] if error["type"] == "missing" else found


def _field_names(kind: type[BaseModel], fields: list[str]) -> list[str]:
    """The names of the fields of a request, or of a part of it."""
    kinds = [kind]
    for field in fields:
        kinds = [
            part
            for each in kinds
            for name, info in each.model_fields.items()
            if field == (info.alias or name)
            for part in _models(info.annotation)
        ]
    return [info.alias or name for each in kinds for name, info in each.model_fields.items()]


def _models(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in get_args(annotation) for model in _models(part)]
