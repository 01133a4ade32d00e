"""URLs: the schemes that a type allows, and the host that it asks for."""

from typing import Annotated, Any

import pytest
from pydantic import AnyUrl, FileUrl, HttpUrl
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


@pytest.mark.parametrize("url", [AnyUrl, FileUrl])
def test_this_machine_is_no_host_of_a_file_if_one_is_required(url: Any) -> None:
    near = ['"file://a"', '"file://localhosts/x"', '"file://localhost.a"', '"file://a/localhost"']
    gone = ['"file://localhost"', '"file://localhost/x"', '"file://localhost?q"']
    required = Annotated[url, UrlConstraints(host_required=True)]
    check_offers(required, near, gone)
    check_offers(dict[required, int], [f"{{{text}:1}}" for text in near], [])
    check_offers(url, near + gone, [])


def test_of_other_schemes_this_machine_is_a_host() -> None:
    check_offers(Annotated[HttpUrl, UrlConstraints(host_required=True)], ['"http://localhost"'], [])
