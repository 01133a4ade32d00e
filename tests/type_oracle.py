"""What a type has on offer, beside what pydantic reads."""

import random
from collections.abc import Callable, Iterable
from typing import Annotated, Any

from pydantic import AnyUrl, ConfigDict, Field, TypeAdapter, ValidationError, create_model
from pydantic.networks import UrlConstraints

import guideway as gw
from random_walks import BYTES, text_of


def same(value: Any) -> Any:
    """A validator that changes nothing."""
    return value


def told(type_: Any, **limits: Any) -> Any:
    return Annotated[type_, Field(**limits)]


def configured(type_: Any, **config: Any) -> Any:
    """A model of one field `x`."""
    return create_model("M", x=(type_, ...), __config__=ConfigDict(**config))


def allowing(*schemes: str) -> Any:
    return Annotated[AnyUrl, UrlConstraints(allowed_schemes=[*schemes])]


def is_read(type_: Any, text: str, refused: type[Exception] = ValidationError) -> bool:
    try:
        TypeAdapter(type_).validate_json(text)
    except refused:
        return False
    return True


def is_valid(type_: Any, text: str) -> bool:
    """The same; where a bound compares with nothing there, pydantic raises a TypeError."""
    return is_read(type_, text, Exception)


def check_offers(type_: Any, offered: list[str], beyond: list[str]) -> None:
    """`offered` are on offer and read; `beyond` are neither."""
    constraint = gw.compile(type_, BYTES)
    for text in offered:
        assert is_read(type_, text), text
        assert constraint.matches(text), text
    for text in beyond:
        assert not is_read(type_, text), text
        assert not constraint.matches(text), text


def check_sound(
    type_: Any, texts: Iterable[str], exact: Callable[[str], bool] = lambda text: True
) -> None:
    """Of `texts` only those are on offer that pydantic reads; of those that are exact, all."""
    try:
        offered = gw.compile(type_, BYTES).matches
    except gw.UnsatisfiableError:
        assert not any(is_valid(type_, text) for text in texts if exact(text))
        return
    for text in texts:
        read = is_valid(type_, text)
        assert read or not offered(text), text
        assert offered(text) or not read or not exact(text), text


def check_alike(type_: Any, texts: Iterable[str], walks: int = 0) -> None:
    """Of `texts` those are on offer that pydantic reads, and it reads all of some random texts."""
    constraint = gw.compile(type_, BYTES)
    for text in texts:
        assert constraint.matches(text) == is_valid(type_, text), text
    chance = random.Random(repr(type_))
    for _ in range(walks):
        text = text_of(constraint, chance, 40).decode()
        assert is_read(type_, text), text
