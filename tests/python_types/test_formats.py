"""Addresses and encodings, against the standard library; e-mail by examples."""

import base64
import ipaddress
import json
import random
import re
import warnings
from collections.abc import Hashable
from fractions import Fraction
from ipaddress import AddressValueError, IPv4Address, IPv4Network, IPv6Address, IPv6Network
from pathlib import Path, PureWindowsPath
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

import pydantic
import pydantic.networks
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AnyUrl, ConfigDict, EmailStr, Field, FileUrl, Json, TypeAdapter, create_model
from pydantic.networks import UrlConstraints

import guideway as gw
from guideway.errors import UnsatisfiableError
from guideway.python_types import formats
from guideway.python_types.formats import BASE64, BASE64_URL, FORMATS, IPV6, base64_texts
from guideway.python_types.source import type_schema
from guideway.sources.sources import PythonType
from random_types import Types
from random_walks import BYTES, text_of
from type_oracle import allowing, check_alike, check_offers, configured, is_read


def matches(name: str, text: str) -> bool:
    return re.search(FORMATS[name]()["pattern"], text) is not None


@given(st.ip_addresses(v=6))
def test_addresses_are_on_offer_as_they_are_written(address: IPv6Address) -> None:
    assert re.fullmatch(IPV6, str(address))
    assert re.fullmatch(IPV6, address.exploded.upper())


GROUPS = st.lists(st.sampled_from(["", "0", "ab", "12345", "g"]), min_size=1, max_size=10)


@given(GROUPS.map(":".join))
def test_what_is_no_address_is_not_on_offer(text: str) -> None:
    try:
        IPv6Address(text)
    except AddressValueError:
        assert not re.fullmatch(IPV6, text)
    else:
        assert re.fullmatch(IPV6, text)


@given(st.ip_addresses(), st.integers(0, 140))
def test_interfaces_have_a_length_that_there_is(address: Any, length: int) -> None:
    text = f"{address}/{length}"
    assert matches(f"ipv{address.version}interface", text) is (length <= address.max_prefixlen)
    if length <= address.max_prefixlen:
        assert ipaddress.ip_interface(text).network.prefixlen == length


@given(st.binary(max_size=12))
def test_bytes_are_on_offer_in_base64(data: bytes) -> None:
    written = [base64.b64encode(data), base64.urlsafe_b64encode(data)]
    for digits, text in zip((BASE64, BASE64_URL), written, strict=True):
        for low, high in ((0, None), (len(data), len(data)), (len(data) + 1, None)):
            counted = re.fullmatch(base64_texts(digits, low, high), text.decode())
            assert (counted is not None) is (low <= len(data))


@given(st.binary(max_size=7))
def test_texts_of_ascii_are_told_by_their_base64(data: bytes) -> None:
    pattern = base64_texts(formats.ascii_digits(BASE64_URL))
    text = base64.urlsafe_b64encode(data).decode()
    assert (re.fullmatch(pattern, text) is not None) is data.isascii()


NETWORKS = ["ipv4network", "ipv6network", "ipvanynetwork"]


@given(st.ip_addresses(v=4), st.integers(0, 32), st.booleans())
def test_networks_have_no_host(address: Any, length: int, hosted: bool) -> None:
    network = IPv4Network(f"{address}/{length}", strict=False)
    text = f"{address}/{length}" if hosted else str(network)
    allowed = text == str(network)
    assert [matches(name, text) for name in NETWORKS] == [allowed, False, allowed]


@given(st.ip_addresses(v=6), st.integers(0, 128), st.booleans())
def test_networks_of_version_6_have_no_host(address: Any, length: int, hosted: bool) -> None:
    network = IPv6Network(f"{address}/{length}", strict=False)
    text = f"{address}/{length}" if hosted else str(network)
    if matches("ipv6network", text):
        assert str(IPv6Network(text)) == str(network)
    else:  # a host, or zeros that are left out before the end
        assert text != str(network) or not str(network.network_address).endswith("::")


@pytest.mark.parametrize(
    ("kind", "texts"),
    [
        (pydantic.Base64Str, ['"aGk="', '"aGk"', '""', '"aGkh"']),
        (pydantic.Base64UrlStr, ['"aGk="', '"fn5-"', '"aGk"']),
        (pydantic.ByteSize, ["1", "0", "-1", "1.5", '"1.5 MB"', '"1KiB"', '"10b"', '"1 foo"']),
        (Annotated[pydantic.ByteSize, Field(ge=1024)], ["1024", "1"]),
        (pydantic.IPvAnyAddress, ['"127.0.0.1"', '"::1"', '"1.2.3"']),
        (pydantic.IPvAnyInterface, ['"127.0.0.1/8"', '"::1/64"', '"::1/129"']),
        (pydantic.IPvAnyNetwork, ['"127.0.0.0/8"', '"2001:db8::/32"', '"127.0.0.1/8"']),
        (IPv4Network, ['"10.0.0.0/8"', '"10.0.0.1/8"', '"10.0.0.0/33"']),
        (ZoneInfo, ['"UTC"', '"Europe/Berlin"', '"Europe/Nowhere"', "1"]),
        (re.Pattern, ['"a+"', '"(a|b)*?[^x-z]{2}"', '"("', '"*"', r'"\\d{1,3}$"', '"a{3,1}"']),
        (re.Pattern[str], ['"^(?:x(?=y))?$"', '"[a"', '"(((a)))"']),
        (complex, ['"1+2j"', '"-1.5e3-2j"', '"2j"', '"1.5"', '"a"', '"1+j2"', "true"]),
        (Fraction, ['"1/2"', '"-3"', '"0"', '"1/0"', '"a"']),
        (Annotated[Fraction, Field(gt=0)], ['"1/2"', '"-1/2"', '"0"']),
        (Hashable, ['"a"', "1", "null", "[]", "{}"]),
    ],
)
def test_types_whose_json_pydantic_reads_back(kind: Any, texts: list[str]) -> None:
    check_alike(kind, texts, walks=8)


def test_what_is_written_of_numbers_and_zones_is_on_offer() -> None:
    values = [1 + 2j, -2.5e-7j, complex(1e300, -0.0), 3 + 0j, Fraction(-7, 3), Fraction(10**40)]
    for value in [*values, ZoneInfo("UTC"), re.compile("^a+(b|c)?$"), IPv4Network("10.0.0.0/8")]:
        kind: Any = re.Pattern if isinstance(value, re.Pattern) else type(value)
        check_alike(kind, [TypeAdapter(kind).dump_json(value).decode()])


@pytest.fixture(autouse=True)
def _anyone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The package that checks addresses need not be here."""
    monkeypatch.setattr(pydantic.networks, "import_email_validator", lambda: None)


def test_usual_addresses_are_on_offer() -> None:
    constraint = gw.compile(Annotated[EmailStr, Field(max_length=30)], BYTES)
    offered = ["ada@example.com", "Ada.Lovelace+x_1@a-b.museum", "a@b.testing", "a" * 25 + "@b.de"]
    beyond = ["a@b", "a..b@c.de", "a@b.test", "a@b.localhost", "a@B.de", "a@-b.de", "ä@b.de"]
    assert all(constraint.matches(f'"{text}"') for text in offered)
    assert not any(constraint.matches(f'"{text}"') for text in [*beyond, "a" * 26 + "@b.de"])
    long = gw.compile(EmailStr, BYTES)
    for name, domain in ((64, 63), (65, 63), (64, 64)):
        text = f'"{"a" * name}@{"b" * domain}.de"'
        assert long.matches(text) is (name + domain == 127)


def test_an_address_may_have_a_name() -> None:
    constraint = gw.compile(pydantic.NameEmail, BYTES)
    assert constraint.matches('"Ada Lovelace <ada@example.com>"')
    assert not constraint.matches('"Ada <ada@localhost>"')
    assert not constraint.matches(f'"Ada <{"a" * 65}@example.com>"')


def test_what_is_asked_of_an_address_holds_beside_it() -> None:
    for most, kept in ((9, 9), (999, 254)):
        stripped = configured(EmailStr, str_max_length=most, str_strip_whitespace=True)
        assert type_schema(stripped).schema["properties"]["x"]["maxLength"] == kept
    plain = type_schema(EmailStr).schema
    matched = type_schema(Annotated[EmailStr, Field(pattern="^a")]).schema
    assert matched["allOf"][-1] == {"pattern": "^a"}
    lowered = Annotated[EmailStr, pydantic.StringConstraints(to_lower=True)]
    assert type_schema(lowered).schema == plain
    names = type_schema(dict[EmailStr, int]).schema["propertyNames"]
    assert names == {name: part for name, part in plain.items() if name != "type"}
    users = Annotated[str, pydantic.AfterValidator(str), Field(pattern="^a")]
    assert type_schema(users).schema == {"type": "string", "pattern": "^a"}


def texts(*values: str) -> list[str]:
    return [f'{{"x":{value}}}' for value in values]


@pytest.mark.parametrize(("type_", "config", "offered", "beyond"), [
    (Path, {"str_max_length": 3, "str_min_length": 1}, ['"abc"'], ['"abcd"', '""']),
    (pydantic.NewPath, {"str_max_length": 3}, [], ['"abcd"']),
    (dict[Path, int], {"str_max_length": 3}, ['{"abc":1}'], ['{"abcd":1}']),
    (Path, {"str_min_length": 1, "str_strip_whitespace": True}, ['"a b"'], ['" "']),
    (IPv4Address, {"str_max_length": 9}, ['"100.100.100.100"'], []),
    (IPv4Address, {"str_max_length": 9, "strict": True}, ['"1.2.3.4"'], ['"10.10.10.10"']),
    (pydantic.Base64Bytes, {"val_json_bytes": "utf8"}, ['"YQ=="'], ['"YQ="']),
])  # fmt: skip
def test_the_configuration_holds_for_types_with_a_validator_of_their_own(
    type_: Any, config: dict[str, Any], offered: list[str], beyond: list[str]
) -> None:
    check_offers(configured(type_, **config), texts(*offered), texts(*beyond))


# URLs: the schemes that a type allows, the hosts that it asks for, and how they are written.


FILES = ['"file://localhost"', '"file://localhost/x"', '"file://localhost?q"']
NEAR_FILES = ['"file://a"', '"file://localhosts/x"', '"file://localhost.a"', '"file://a/localhost"']
HOST = UrlConstraints(host_required=True)


@pytest.mark.parametrize(("type_", "offered", "beyond"), [
    (allowing("web.app"), ['"web.app://a"'], ['"webxapp://a"']),
    (allowing("a+b", "c-1"), ['"a+b://a"', '"c-1://a"'], ['"aab://a"', '"ab://a"']),
    (allowing("http", "HTTP", "a*", "1a", "a(", ""), ['"http://a"'], ['"1a://a"', '"aa://a"']),
    *((Annotated[url, HOST], NEAR_FILES, FILES) for url in (AnyUrl, FileUrl)),
    *((dict[Annotated[url, HOST], int], [f"{{{text}:1}}" for text in NEAR_FILES], [])
      for url in (AnyUrl, FileUrl)),
    *((url, NEAR_FILES + FILES, []) for url in (AnyUrl, FileUrl)),
    (Annotated[pydantic.HttpUrl, HOST], ['"http://localhost"'], []),
    (PureWindowsPath, ['"C:"'], []),
])  # fmt: skip
def test_schemes_are_read_letter_by_letter_and_this_machine_is_a_host_but_of_files(
    type_: Any, offered: list[str], beyond: list[str]
) -> None:
    check_offers(type_, offered, beyond)


WEB = ["127.0.0.1/", "127.0.0.1:8080/x", "[::1]/", "[2001:db8::1]:65535/", "u:p@a.de/", ":p@a/"]
WEB += ["a:9999/", "3com.com/", "1.a/", "a_b.c.de./", "x--n.xn-a/", "a.01x/", "a.1-/", "-/%7c"]
NONE = ["mailto:ada@b.de", "urn:a:b", "tel:+491", "data:,a%20b", "a:", "a:/b?c#d", "a:///b", "a://"]
HOSTS = ["a", "a,b", "u:p@A:1,[::1]:2/x,y", "127.0.0.1,b.c?d=e", "a_b/"]
POSTGRES, MONGO = ([f"{name}://{hosts}" for hosts in HOSTS] for name in ("postgres", "mongodb+srv"))
NEAR = ["f", "fi", "fil", "files", "file+a", "fa", "fia", "fila", "a", "http"]
BAD = ["a.256.0.0.0", "a.1", "a.0x", "xn--a", "a.xn--", "a:65536", "[1::2::3]", "u@", ":1", "a b"]


def quoted(*urls: str) -> list[str]:
    return [json.dumps(url) for url in urls]


@pytest.mark.parametrize(("type_", "offered", "beyond"), [
    (pydantic.HttpUrl, [f"https://{rest}" for rest in WEB], [f"http://{rest}" for rest in BAD]),
    (AnyUrl, [f"ws://{rest}" for rest in WEB], ["http://", "https://u@/", "ftp://:1"]),
    (AnyUrl, [*NONE, "file:///a", "file:///", "file://"], ["file://a:1/", "file://u@a/"]),
    (AnyUrl, [f"{near}://x:80/" for near in NEAR], ["file://x:80", "file://x:80/"]),
    (pydantic.AmqpDsn, ["amqp:///x", "amqps://u:p@h:1/v"], ["http://a"]),
    (pydantic.RedisDsn, ["redis://:p@h:6379/0"], ["redis:a"]),
    (pydantic.PostgresDsn, POSTGRES, ["postgres://a,", "postgres:"]),
    (pydantic.MongoDsn, MONGO, ["mongodb:///x", "mongodb:/a,b"]),
    (pydantic.NatsDsn, ["ws://a,127.0.0.1:1", "tls://u@a,v@b"], ["ws://a,1.x.256", "nats://,a"]),
    (Annotated[AnyUrl, UrlConstraints(default_port=1)], ["a://b"], ["file://a", "a:b"]),
    (Annotated[AnyUrl, UrlConstraints(max_length=6)], ["a:b"], ["a:bcdef"]),
])  # fmt: skip
def test_urls_are_on_offer_as_they_are_written(
    type_: Any, offered: list[str], beyond: list[str]
) -> None:
    check_offers(type_, quoted(*offered), quoted(*beyond))
    adapter, constraint = TypeAdapter(type_), gw.compile(type_, BYTES)
    for url in map(adapter.validate_json, quoted(*offered)):
        assert constraint.matches(adapter.dump_json(url).decode())


PARTS = ["a", "x", "xn-", "-", "_", ".", "..", "0x", "1", "255", "256", "65535", "127.0.0.1", "::"]
PARTS += ["[::1]", "localhost", "B", "u:p@", "@", ":", "/", "?", "#", ",", "%20", ";", "=", "'"]
SCHEMES = ["http", "ftp", "file", "a", "file+x", "postgres", "mongodb", "nats", "redis"]


@pytest.mark.parametrize(
    "type_", [AnyUrl, pydantic.PostgresDsn, pydantic.MongoDsn, pydantic.NatsDsn, pydantic.RedisDsn]
)
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


# Strings that hold the JSON of a type: pydantic reads what is on offer, and what it writes is.


class Call(pydantic.BaseModel):
    """A call of a tool, as OpenAI writes it."""

    name: Literal["search"]
    arguments: Json["Arguments"]


class Arguments(pydantic.BaseModel):
    model_config = ConfigDict(extra="forbid")
    query: str
    limit: Annotated[int, Field(ge=1, le=50)] = 10
    within: "list[Arguments]" = []


Call.model_rebuild()


@pytest.mark.parametrize(("kind", "texts"), [
    (Json, ["1", '"a"', '{"a": [null, "\\n\\\\"]}', "a", ""]),
    (Json[int], ["1", "-20", "1.5", '"a"', "1 2"]),
    (Json[str], ['"a"', '"a\\"b\\u00e9"', "1", '"a']),
    (Json[list[int]], ["[1, 2]", "[]", "[1", '["a"]']),
    (Json[bool | None], ["null", "true", "2"]),
    (Json[Literal["a b", 3]], ['"a b"', "3", '"b"']),
    (Json[Arguments], ['{"query": "a", "limit": 3}', '{"query": "a", "limit": 0}', "{}"]),
    (Json[Arguments], ['{"query": "", "within": [{"query": "x"}]}', '{"query": 1}']),
    (Json[Annotated[set[int], Field(min_length=2)]], ["[1, 2]", "[1, 1]", "[1]"]),
    (Annotated[Json[list[int]], Field(max_length=1)], ["[1]", "[1,2]"]),
    (Annotated[Json[int], pydantic.AfterValidator(lambda value: value), Field(ge=3)], ["3", "2"]),
    (Annotated[Json[list[int]], pydantic.BeforeValidator(lambda value: value)], ["[1]", "1"]),
    (Json[dict[int, str]], ['{"1": "a"}', '{"a": "a"}']),
    (Json[Json[list[str]]], quoted('["a", "\\""]', '["a]')),
    (Json[list[int]] | int | None, ["null", "[1]", "a", '"[1"']),
    (list[Json[int] | Json[bool]], ['["1","true"]', '["a"]']),
    (Json[int] | Literal["a"], ["1", "a", "b"]),
])  # fmt: skip
def test_the_json_of_a_type_stands_in_a_string(kind: Any, texts: list[str]) -> None:
    check_alike(kind, [*quoted(*texts), *texts], walks=4)


def test_characters_beyond_ascii_stand_as_they_are() -> None:
    check_alike(Json[str], ['"\\"é\\""', r'"\"\\u00e9\""'])


@pytest.mark.parametrize("seed", range(40, 52))
def test_any_type_may_stand_in_a_string(seed: int) -> None:
    types = Types(seed)
    made, value = types.any(2)
    kind: Any = Json[made]
    adapter, inner = TypeAdapter(kind), TypeAdapter(made)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of unions, pydantic guesses what a value is of
        texts = [inner.dump_json(value(), by_alias=True).decode() for _ in range(2)]
    for source in (PythonType(kind), PythonType(kind).plain_form):
        constraint = gw.compile(source, BYTES)
        for text in texts if source.style == (None, None, None) else ():
            assert constraint.matches(json.dumps(text, ensure_ascii=False)), text
        chance = random.Random(seed)
        for _ in range(2):
            adapter.validate_json(text_of(constraint, chance, 60))


def test_nothing_is_lost_on_the_way_to_an_end() -> None:
    constraint = gw.compile(Call, BYTES)
    text = Call(name="search", arguments='{"query":"a\\"b","limit":3}').model_dump_json(  # pyright: ignore[reportArgumentType]
        round_trip=True
    )
    state = constraint.start()
    for byte in text.encode():
        assert constraint.distance(state) > 0
        state = constraint.advance(state, byte)
    assert constraint.distance(state) == 0
    Call.model_validate_json(constraint.example())


def test_a_type_without_values_is_none_in_a_string_either() -> None:
    never: Any = Annotated[int, Field(gt=3, lt=4)]
    with pytest.raises(UnsatisfiableError):
        gw.compile(Json[never], BYTES)
    missing: Any = Json[never] | None
    model = create_model("M", a=(missing, None), b=(int, 1))
    check_alike(model, ['{"a":null}', '{"b":1}', '{"a":"3"}'], walks=2)


def test_it_is_described_and_published() -> None:
    assert gw.describe(Json[list[int]]) == "string with the JSON of [integer, ...]"
    parameters = gw.tools([Call]).schemas[0]["function"]["parameters"]
    held = parameters["properties"]["arguments"]
    assert held["contentMediaType"] == "application/json"
    assert held["contentSchema"] == {"$ref": "#/$defs/Arguments"}


def test_floats_and_patterns_are_published_as_users_write_them() -> None:
    pattern = r"(?i)^\d\b"
    some = {
        "x": float,
        "y": Annotated[float, Field(ge=0)],
        "z": Annotated[str, Field(pattern=pattern)],
    }
    made = create_model("M", **{name: (kind, ...) for name, kind in some.items()})
    assert gw.tools([made]).schemas[0]["function"]["parameters"]["properties"] == {
        "x": {"type": "number"}, "y": {"type": "number", "minimum": 0.0},
        "z": {"type": "string", "pattern": pattern},
    }  # fmt: skip
