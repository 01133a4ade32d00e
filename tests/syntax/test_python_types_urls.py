"""URLs: the schemes that a type allows, and the host that it asks for."""

from typing import Annotated, Any

import pytest
from pydantic import AnyUrl
from pydantic.networks import UrlConstraints

from fairlead.errors import UnsupportedError
from fairlead.syntax.python_types import type_schema
from type_oracle import check_offers


def allowing(*schemes: str) -> Any:
    return Annotated[AnyUrl, UrlConstraints(allowed_schemes=[*schemes])]


@pytest.mark.parametrize(
    ("schemes", "offered", "beyond"),
    [
        (["web.app"], ['"web.app://a"'], ['"webxapp://a"']),
        (["a+b", "c-1"], ['"a+b://a"', '"c-1://a"'], ['"aab://a"', '"ab://a"']),
        (["http", "HTTP", "a*", "1a", "a(", ""], ['"http://a"'], ['"1a://a"', '"aa://a"']),
        (["a*", "file"], ['"file://a"'], ['"aa://a"', '"a://a"', '"://a"']),
    ],
)
def test_schemes_are_read_letter_by_letter(
    schemes: list[str], offered: list[str], beyond: list[str]
) -> None:
    check_offers(allowing(*schemes), offered, beyond)


def test_schemes_none_of_which_is_read_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="allowed_schemes has none that is read") as refused:
        type_schema(allowing("HTTP", "1a", "a b"))
    assert refused.value.place == "AnyUrl"
