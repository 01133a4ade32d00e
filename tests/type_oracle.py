"""What a type has on offer, beside what pydantic reads."""

from typing import Any

from pydantic import TypeAdapter, ValidationError

import guideway as gw
from random_walks import BYTES


def is_read(type_: Any, text: str) -> bool:
    try:
        TypeAdapter(type_).validate_json(text)
    except ValidationError:
        return False
    return True


def check_offers(type_: Any, offered: list[str], beyond: list[str]) -> None:
    """`offered` are on offer and read; `beyond` are neither."""
    constraint = gw.compile(type_, BYTES)
    for text in offered:
        assert is_read(type_, text), text
        assert constraint.matches(text), text
    for text in beyond:
        assert not is_read(type_, text), text
        assert not constraint.matches(text), text
