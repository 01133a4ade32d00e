"""URLs: the schemes that a type allows, the hosts that it asks for, and how they are written."""

import json
import random
from typing import Annotated, Any

import pytest
from pydantic import (
    AmqpDsn,
    AnyUrl,
    FileUrl,
    HttpUrl,
    MongoDsn,
    NatsDsn,
    PostgresDsn,
    RedisDsn,
    TypeAdapter,
)
from pydantic.networks import UrlConstraints

import guideway as gw
from guideway.errors import UnsupportedError
from guideway.python_types.source import type_schema
from random_walks import BYTES
from type_oracle import check_offers, is_read


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
    with pytest.raises(UnsupportedError, match="allowed_schemes has no valid scheme") as refused:
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


WEB = ["127.0.0.1/", "127.0.0.1:8080/x", "[::1]/", "[2001:db8::1]:65535/", "u:p@a.de/", ":p@a/"]
WEB += ["a:9999/", "3com.com/", "1.a/", "a_b.c.de./", "x--n.xn-a/", "a.01x/", "a.1-/", "-/%7c"]
NONE = ["mailto:ada@b.de", "urn:a:b", "tel:+491", "data:,a%20b", "a:", "a:/b?c#d", "a:///b", "a://"]
HOSTS = ["a", "a,b", "u:p@A:1,[::1]:2/x,y", "127.0.0.1,b.c?d=e", "a_b/"]
BAD = ["a.256.0.0.0", "a.1", "a.0x", "xn--a", "a.xn--", "a:65536", "[1::2::3]", "u@", ":1", "a b"]


def quoted(*urls: str) -> list[str]:
    return [json.dumps(url) for url in urls]


@pytest.mark.parametrize(
    ("type_", "offered", "beyond"),
    [
        (HttpUrl, [f"https://{rest}" for rest in WEB], [f"http://{rest}" for rest in BAD]),
        (AnyUrl, [f"ws://{rest}" for rest in WEB], ["http://", "https://u@/", "ftp://:1"]),
        (AnyUrl, [*NONE, "file:///a", "file:///", "file://"], ["file://a:1/", "file://u@a/"]),
        (AnyUrl, ["a://B_~!,%20:1/x", "ftps://1.2", "f:x", "fil:x"], ["a://:1", "a://u@/x"]),
        (AmqpDsn, ["amqp:///x", "amqps://u:p@h:1/v"], ["http://a"]),
        (RedisDsn, ["redis://:p@h:6379/0"], ["redis:a"]),
        (PostgresDsn, [f"postgres://{hosts}" for hosts in HOSTS], ["postgres://a,", "postgres:"]),
        (MongoDsn, [f"mongodb+srv://{hosts}" for hosts in HOSTS], ["mongodb:///x", "mongodb:/a,b"]),
        (NatsDsn, ["ws://a,127.0.0.1:1", "tls://u@a,v@b"], ["ws://a,1.x.256", "nats://,a"]),
        (Annotated[AnyUrl, UrlConstraints(host_required=True)], ["a://b"], ["a:b", "a:///b"]),
        (Annotated[AnyUrl, UrlConstraints(default_port=1)], ["a://b"], ["file://a", "a:b"]),
        (Annotated[AnyUrl, UrlConstraints(max_length=6)], ["a:b"], ["a:bcdef"]),
    ],
)
def test_urls_are_on_offer_as_they_are_written(
    type_: Any, offered: list[str], beyond: list[str]
) -> None:
    check_offers(type_, quoted(*offered), quoted(*beyond))
    written = [
        TypeAdapter(type_).dump_json(url)
        for url in map(TypeAdapter(type_).validate_json, quoted(*offered))
    ]
    assert all(map(gw.compile(type_, BYTES).matches, (text.decode() for text in written)))


def test_a_default_port_leaves_no_url_of_a_file() -> None:
    files = Annotated[FileUrl, UrlConstraints(default_port=1)]
    assert not is_read(files, '"file:///a"')
    with pytest.raises(
        UnsupportedError, match="default_port allows no URL: file URLs have no port"
    ):
        type_schema(files)


PARTS = ["a", "x", "xn-", "-", "_", ".", "..", "0x", "1", "255", "256", "65535", "127.0.0.1", "::"]
PARTS += ["[::1]", "localhost", "B", "u:p@", "@", ":", "/", "?", "#", ",", "%20", ";", "=", "'"]
SCHEMES = ["http", "ftp", "file", "a", "file+x", "postgres", "mongodb", "nats", "redis"]


@pytest.mark.parametrize("type_", [AnyUrl, PostgresDsn, MongoDsn, NatsDsn, RedisDsn])
def test_urls_put_together_by_chance_are_read_if_they_are_on_offer(type_: Any) -> None:
    chance, constraint, count = random.Random(1), gw.compile(type_, BYTES), 0
    strict = TypeAdapter(type_)
    for _ in range(1500):
        rest = "".join(chance.choices(PARTS, k=chance.randint(0, 5)))
        text = json.dumps(f"{chance.choice(SCHEMES)}{chance.choice(['://', '://', ':'])}{rest}")
        if constraint.matches(text):
            strict.validate_json(text, strict=True)
            assert is_read(type_, text)
            count += 1
    assert count > 20
