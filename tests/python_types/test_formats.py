"""Addresses and encodings, against the standard library; e-mail by examples."""

import base64
import os
import re
from collections.abc import Hashable
from fractions import Fraction
from ipaddress import (
    AddressValueError,
    IPv4Address,
    IPv4Interface,
    IPv4Network,
    IPv6Address,
    IPv6Interface,
    IPv6Network,
)
from pathlib import Path, PosixPath, PurePosixPath, PureWindowsPath, WindowsPath
from typing import Annotated, Any
from zoneinfo import ZoneInfo

import pydantic.networks
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import (
    AfterValidator,
    Base64Bytes,
    Base64Str,
    Base64UrlStr,
    ByteSize,
    ConfigDict,
    EmailStr,
    Field,
    IPvAnyAddress,
    IPvAnyInterface,
    IPvAnyNetwork,
    NameEmail,
    NewPath,
    StringConstraints,
    TypeAdapter,
    create_model,
)

import guideway as gw
from guideway.errors import UnsupportedError
from guideway.python_types.formats import (
    BASE64,
    BASE64_URL,
    FORMATS,
    IPV6,
    ascii_digits,
    base64_texts,
    other_words,
)
from guideway.python_types.source import type_schema
from random_walks import BYTES
from type_oracle import check_alike, check_offers


def matches(name: str, text: str) -> bool:
    return re.search(FORMATS[name]()["pattern"], text) is not None


def is_ipv6(text: str) -> bool:
    return re.fullmatch(IPV6, text) is not None


@given(st.ip_addresses(v=6))
def test_addresses_are_on_offer_as_they_are_written(address: IPv6Address) -> None:
    assert is_ipv6(str(address))
    assert is_ipv6(address.exploded.upper())


GROUPS = st.lists(st.sampled_from(["", "0", "ab", "12345", "g"]), min_size=1, max_size=10)


@given(GROUPS.map(":".join))
def test_what_is_no_address_is_not_on_offer(text: str) -> None:
    try:
        IPv6Address(text)
    except AddressValueError:
        assert not is_ipv6(text)
    else:
        assert is_ipv6(text)


@given(st.ip_addresses(v=4), st.integers(0, 40))
def test_interfaces_have_a_length_that_there_is(address: Any, length: int) -> None:
    text = f"{address}/{length}"
    assert matches("ipv4interface", text) is (length <= 32)
    if length <= 32:
        assert str(IPv4Interface(text)) == text


@given(st.ip_addresses(v=6), st.integers(0, 140))
def test_interfaces_of_version_6_have_a_length_that_there_is(address: Any, length: int) -> None:
    text = f"{address}/{length}"
    assert matches("ipv6interface", text) is (length <= 128)
    if length <= 128:
        assert IPv6Interface(text).network.prefixlen == length


@given(st.binary(max_size=12))
def test_bytes_are_on_offer_in_base64(data: bytes) -> None:
    written = [base64.b64encode(data), base64.urlsafe_b64encode(data)]
    for digits, text in zip((BASE64, BASE64_URL), written, strict=True):
        counted = base64_texts(digits, len(data), len(data))
        for low, high in ((0, None), (len(data), len(data)), (len(data) + 1, None)):
            counted = re.fullmatch(base64_texts(digits, low, high), text.decode())
            assert (counted is not None) is (low <= len(data))


@given(st.binary(max_size=7))
def test_texts_of_ascii_are_told_by_their_base64(data: bytes) -> None:
    pattern = base64_texts(ascii_digits(BASE64_URL))
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
        (Base64Str, ['"aGk="', '"aGk"', '""', '"aGkh"']),
        (Base64UrlStr, ['"aGk="', '"fn5-"', '"aGk"']),
        (ByteSize, ["1", "0", "-1", "1.5", '"1.5 MB"', '"1KiB"', '"10b"', '"2 k"', '"1 foo"']),
        (Annotated[ByteSize, Field(ge=1024)], ["1024", "1"]),
        (IPvAnyAddress, ['"127.0.0.1"', '"::1"', '"1.2.3"']),
        (IPvAnyInterface, ['"127.0.0.1/8"', '"::1/64"', '"::1/129"']),
        (IPvAnyNetwork, ['"127.0.0.0/8"', '"2001:db8::/32"', '"127.0.0.1/8"']),
        (IPv4Network, ['"10.0.0.0/8"', '"10.0.0.1/8"', '"10.0.0.0/33"']),
        (IPv6Network, ['"2001:db8::/32"', '"2001:db8::1/32"', '"::/0"']),
        (ZoneInfo, ['"UTC"', '"Europe/Berlin"', '"Europe/Nowhere"', "1"]),
        (re.Pattern, ['"a+"', '"(a|b)*?[^x-z]{2}"', '"("', '"*"', r'"\\d{1,3}$"', '"a{3,1}"']),
        (re.Pattern[str], ['"^(?:x(?=y))?$"', '"[a"', '"(((a)))"']),
        (complex, ['"1+2j"', '"-1.5e3-2j"', '"2j"', '"1.5"', '"a"', '"1+j2"', "true"]),
        (Fraction, ['"1/2"', '"-3"', '"0"', '"1/0"', '"a"']),
        (Annotated[Fraction, Field(gt=0)], ['"1/2"', '"-1/2"', '"0"']),
        (Annotated[Fraction, Field(le=0)], ['"1/2"', '"-1/2"', '"0"']),
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


@given(st.text("on", max_size=5) | st.sampled_from(["one", "ones", "two", "o"]))
def test_other_words_are_all_but_those_given(word: str) -> None:
    letters = "abcdefghijklmnopqrstuvwxyz"
    expected = len(word) > 1 and word not in ("on", "one", "noon")
    assert (
        re.fullmatch(other_words(("on", "one", "noon"), letters, letters, 2), word) is not None
    ) is expected


@pytest.fixture
def email(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The schema of an address; the package that checks addresses need not be here."""
    monkeypatch.setattr(pydantic.networks, "import_email_validator", lambda: None)
    return type_schema(Annotated[EmailStr, Field(max_length=30)]).schema


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        ("ada@example.com", True),
        ("Ada.Lovelace+x_1@a-b.museum", True),
        ("a@b", False),
        ("a..b@c.de", False),
        ("a@b.test", False),
        ("a@b.testing", True),
        ("a@b.localhost", False),
        ("a@B.de", False),
        ("a@-b.de", False),
        ("a" * 65 + "@b.de", False),
        ("a@" + "b" * 64 + ".de", False),
        ("ä@b.de", False),
    ],
)
def test_usual_addresses_are_on_offer(email: dict[str, Any], text: str, offered: bool) -> None:
    assert all(re.search(part["pattern"], text) for part in email["allOf"]) is offered
    assert email["maxLength"] == 30


def test_an_address_may_have_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pydantic.networks, "import_email_validator", lambda: None)
    constraint = gw.compile(NameEmail, BYTES)
    assert constraint.matches('"Ada Lovelace <ada@example.com>"')
    assert not constraint.matches('"Ada <ada@localhost>"')
    assert not constraint.matches(f'"Ada <{"a" * 65}@example.com>"')


def configured(type_: Any, **config: Any) -> Any:
    return create_model("M", x=(type_, ...), __config__=ConfigDict(**config))


def texts(*values: str) -> list[str]:
    return [f'{{"x":{value}}}' for value in values]


@pytest.mark.parametrize(
    ("type_", "config", "offered", "beyond"),
    [
        (Path, {"str_max_length": 3, "str_min_length": 1}, ['"abc"'], ['"abcd"', '""']),
        (PurePosixPath, {"str_max_length": 3, "strict": True}, ['"abc"'], ['"abcd"']),
        (NewPath, {"str_max_length": 3}, [], ['"abcd"']),
        (set[Path], {"str_max_length": 3}, ['["abc"]'], ['["abcd"]']),
        (dict[Path, int], {"str_max_length": 3}, ['{"abc":1}'], ['{"abcd":1}']),
        (Path, {"str_min_length": 1, "str_strip_whitespace": True}, ['"a b"'], ['" "']),
        (IPv4Address, {"str_max_length": 9}, ['"100.100.100.100"'], []),
        (IPv4Address, {"str_max_length": 9, "strict": True}, ['"1.2.3.4"'], ['"10.10.10.10"']),
        (Base64Bytes, {"val_json_bytes": "utf8"}, ['"YQ=="'], ['"YQ="']),
    ],
)
def test_the_configuration_holds_for_types_with_a_validator_of_their_own(
    type_: Any, config: dict[str, Any], offered: list[str], beyond: list[str]
) -> None:
    check_offers(configured(type_, **config), texts(*offered), texts(*beyond))


@pytest.mark.parametrize("encoding", ["hex", "base64"])
def test_bytes_that_are_encoded_twice_are_refused(encoding: Any) -> None:
    with pytest.raises(UnsupportedError, match=f"val_json_bytes='{encoding}' is not supported"):
        type_schema(configured(Base64Bytes, val_json_bytes=encoding))


def test_the_configuration_holds_for_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pydantic.networks, "import_email_validator", lambda: None)
    stripped = configured(EmailStr, str_max_length=9, str_strip_whitespace=True)
    schema = type_schema(stripped).schema["properties"]["x"]
    assert schema["maxLength"] == 9
    assert len(schema["allOf"]) == 4
    long = type_schema(configured(EmailStr, str_max_length=999)).schema["properties"]["x"]
    assert long["maxLength"] == 254


def test_what_is_asked_of_a_string_that_a_format_has_read_holds_beside_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pydantic.networks, "import_email_validator", lambda: None)
    matched = type_schema(Annotated[EmailStr, Field(pattern="^a")]).schema
    assert matched["allOf"][-1] == {"pattern": "^a"}
    lowered = Annotated[EmailStr, StringConstraints(to_lower=True)]
    assert type_schema(lowered).schema == type_schema(EmailStr).schema
    users = Annotated[str, AfterValidator(str), Field(pattern="^a")]
    assert type_schema(users).schema == {"type": "string", "pattern": "^a"}


def test_paths_of_another_system_are_refused() -> None:
    other = PosixPath if os.name == "nt" else WindowsPath
    with pytest.raises(UnsupportedError, match=f"{other.__name__} does not exist on this system"):
        type_schema(other)
    check_offers(PureWindowsPath, ['"C:"'], [])
