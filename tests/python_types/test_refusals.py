"""Types that are refused: by which error, with which words, and where in the type."""

import dataclasses
import datetime as dt
import functools
import os
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable
from decimal import Decimal
from enum import Enum, IntEnum
from fractions import Fraction
from math import inf, nan
from pathlib import PosixPath, WindowsPath
from typing import Annotated, Any, Literal, NamedTuple

import pydantic
import pytest
from pydantic import BaseModel, ConfigDict, Field, Json, Strict, TypeAdapter, create_model
from pydantic.json_schema import SkipJsonSchema
from pydantic.networks import UrlConstraints
from pydantic_core import core_schema
from typing_extensions import TypeAliasType, TypedDict

import guideway as gw
from guideway.errors import LimitError, SourceError, UnsupportedError
from guideway.python_types import adapter as python_types_adapter
from guideway.python_types.adapter import read_core
from guideway.python_types.place import Place
from guideway.python_types.source import type_schema
from guideway.sources.sources import PythonType
from type_oracle import allowing, configured, is_read, same, told

Row = tuple[Any, str, str | None]


def refuses(error: type[Exception], type_: Any, message: str, place: str | None = None) -> None:
    with pytest.raises(error, match=message) as refused:
        gw.compile(PythonType(type_), gw.Vocabulary([b"a"]))
    assert place is None or refused.value.place == place
    assert refused.value.place or "refers to itself" not in message


def split(text: str) -> list[str]:
    return text.split(",")


def after(type_: Any, validator: Any = same, **limits: Any) -> Any:
    """Limits that come after a validator."""
    return Annotated[type_, pydantic.AfterValidator(validator), Field(**limits)]


class Alien:
    pass


class Asking(BaseModel):
    x: Callable[[], int]

    @classmethod
    def __get_pydantic_json_schema__(cls, core: Any, handler: Any) -> Any:
        return handler(core)


class Broken(BaseModel):
    other: "Missing"  # pyright: ignore[reportUndefinedVariable]


class Read:
    """A type with a core schema of its own."""

    def __init__(self, core: Any) -> None:
        self.core = core

    def __get_pydantic_core_schema__(self, *_: Any) -> Any:
        return self.core


PLAINLY = Annotated[Any, Read(core_schema.no_info_plain_validator_function(same))]
CHAINED = Annotated[Any, Read(core_schema.chain_schema([
    core_schema.str_schema(),
    core_schema.no_info_after_validator_function(same, core_schema.int_schema()),
]))]  # fmt: skip


class Inner(BaseModel):
    pattern: dict[str, list[re.Pattern[bytes]]]


class Outer(BaseModel):
    parts: tuple[int, Inner | None]


class Bytes(Enum):
    RAW = b"raw"


class Long(IntEnum):
    ONE = 1
    LONG = 2**63


class Pear(BaseModel):
    kind: Literal["pear"]


class Apple(BaseModel, frozen=True):
    kind: Literal["apple"]


class Frozen(BaseModel, frozen=True):
    names: list[str]


class Listing(NamedTuple):
    names: list[str]


MAYBE_UNHASHABLE = [
    *(tuple, tuple[int, list[int]], tuple[Any, ...], Listing, Frozen, tuple[Frozen, int]),
    *(int | list[int], list[int] | None, Annotated[Listing | int, Field(union_mode="smart")]),
    *(told(Apple | Pear, discriminator="kind"), defaultdict[str, int], pydantic.JsonValue),
]


def positional(a: int, /) -> None: ...


def many(*a: int) -> None: ...


def named(**a: int) -> None: ...


def unresolved(a: "Missing") -> None: ...  # pyright: ignore[reportUndefinedVariable]


NUMBER, EXACT = int | float, int | Decimal
OTHER_PATH = PosixPath if os.name == "nt" else WindowsPath
SAID = Annotated[int, pydantic.WithJsonSchema({"type": ["integer", "string"]})]
DEFAULTS = defaultdict[str, list[Json[int]]]
STRICT_DEFAULTS = create_model("M", __config__=ConfigDict(strict=True), x=(DEFAULTS, ...))

UNSUPPORTED: list[Row] = [
    # What pydantic does not know, and what has no JSON.
    (Alien, "pydantic cannot read Alien from JSON; declare it as a BaseModel", None),
    (list[Alien], "cannot read Alien (in list[Alien]) from JSON", None),
    (Asking, "callable has no JSON", None),
    (Callable[[int], int], "callable has no JSON", None),
    (Outer, "a pattern of bytes has no JSON", "Outer.parts[1].pattern{}[]"),
    (type[int], "is-subclass int has no JSON", None),
    (pydantic.ImportString[Any], "import_string alone decides which JSON", None),
    (dict[pydantic.ImportString[Any], int],
     "the validator import_string alone decides which JSON",
     "dict[Annotated[Any, ImportString], int]{key}"),
    (SkipJsonSchema[None] | SkipJsonSchema[int], "a union has only hidden members", None),
    (OTHER_PATH, f"{OTHER_PATH.__name__} does not exist on this system", None),
    # Parameters that JSON cannot name.
    (positional, "positional-only parameters have no names", None),
    (many, "*args have no names", None),
    (named, "**kwargs have no names", None),
    (dict.fromkeys, "positional-only", None),
    (vars, "vars has no signature", None),
    # Keys of objects.
    (create_model("Deep", deep=(bool, Field(validation_alias=pydantic.AliasPath("a", "b")))),
     "AliasPath into other keys", "Deep.deep"),
    (create_model("Hidden", hidden=(SkipJsonSchema[int], ...)), "hides a required field", None),
    # Choices.
    (Bytes, "b'raw' has no JSON that pydantic reads back", None),
    (Literal[2**63], "9223372036854775808 in a choice is not supported beyond 64 bits", None),
    *((kind, "in a choice is not supported beyond 64", None)
      for kind in (Long, dict[Long, int])),
    # Sets.
    (set[list[int]], "a set of unhashable items can only be empty", None),
    *((set[kind], "a set of items that may be unhashable", None) for kind in MAYBE_UNHASHABLE),
    (told(set[float], min_length=2), "min_length is not supported for sets", None),
    # Keys of dicts.
    (dict[tuple[int, int], int], "tuple as the key of a dict is not supported", None),
    (dict[told(int, multiple_of=2), int], "int as the key of a dict", None),
    (dict[told(float, ge=0), int], "float as the key of a dict", None),
    (dict[Literal[1], int], "a choice without strings has no JSON keys", None),
    (Annotated[dict[Literal[True], int], pydantic.BeforeValidator(same)],
     "a choice without strings has no JSON keys", None),
    *((told(dict[key, int], min_length=2), "min_length is not supported for dicts", None)
      for key in (float, Literal[True, "yes"])),
    # Bounds.
    (told(EXACT, multiple_of=3), "multiple_of=3 is not supported for Decimal", None),
    (told(float, ge=nan), "ge=nan is not a bound: no number compares with it", None),
    (told(Decimal, ge=Decimal("NaN")), "ge=NaN is not a bound", None),
    (told(EXACT, le=Decimal("sNaN")), "le=sNaN is not a bound", None),
    (told(float, ge=inf), "ge=inf leaves no finite number", None),
    (told(float, lt=-sys.float_info.max), "a float below -1.7976931348623157e+308", None),
    (told(NUMBER, ge=10**400), "ge=inf leaves no finite number", None),
    (told(Decimal, lt=-inf), "lt=-inf leaves no finite number", None),
    (told(Decimal, le=Decimal("1e5000")), "le with 4000 digits or more is not supported", None),
    (told(Decimal, le=Decimal("1e600")), "le with more than 500 digits is not supported", None),
    (told(EXACT, ge=5e-324), "ge with more than 500 digits is not supported", None),
    (told(dt.date | int, ge=2), "ge=2 is not supported for date", None),
    (told(dt.date | int, ge=dt.datetime(2020, 1, 1)),
     "ge=datetime.datetime(2020, 1, 1, 0, 0) is not supported for date", None),
    (told(EXACT, ge="a"), "ge='a' is not supported for int", None),
    (told(int | bool, multiple_of=0.1), "multiple_of=0.1 is not supported for int", None),
    (told(Decimal, max_digits=0), "max_digits=0 allows no number: even 0 has a digit", None),
    (told(Decimal, decimal_places=10**9), "decimal_places of more than 4000 is not supported",
     None),
    (told(pydantic.SecretStr, ge=3), "ge=3 is not supported for SecretStr", None),
    (told(dt.timedelta, multiple_of=dt.timedelta(1)), "multiple_of is not supported", None),
    (told(Fraction, ge=Fraction(1, 2)), "ge=1/2 is not supported for Fraction", None),
    (told(pydantic.HttpUrl, pattern="a"), "is not supported for", None),
    (told(pydantic.ByteSize, max_length=3), "is not supported for int", None),
    # Bounds after a validator, which the JSON value cannot have.
    (after(str, len, ge=3), "ge=3 after the validator len", None),
    (after(str, split, max_length=3), "the validator split cannot", None),
    (after(bool, ge=2), "ge=2 leaves no value", None),
    (after(float, multiple_of=0.1), "multiple_of=0.1 after the validator same", None),
    (told(PLAINLY, ge=3), "ge=3 after the validator same", None),
    (CHAINED, "function-after after str is not supported", None),
    (told(SAID | told(float, description="or this"), ge=3),
     "ge=3 is not supported on a type with its own JSON Schema", None),
    # Strings with a format.
    *((configured(pydantic.Base64Bytes, val_json_bytes=encoding),
       f"val_json_bytes='{encoding}' is not supported", None) for encoding in ("hex", "base64")),
    (allowing("HTTP", "1a", "a b"), "allowed_schemes has no valid scheme", "AnyUrl"),
    (dict[Json[int], int], "JSON in a string is not supported here", None),
    (told(Json[int], pattern="1"), "pattern='1' is not supported for int", None),
    (STRICT_DEFAULTS, "JSON in a string in a strict defaultdict is read twice", None),
]  # fmt: skip


@pytest.mark.parametrize(("type_", "message", "place"), UNSUPPORTED)
def test_what_no_schema_says_is_refused_by_name(
    type_: Any, message: str, place: str | None
) -> None:
    refuses(UnsupportedError, type_, re.escape(message), place)


Itself = TypeAliasType("Itself", "Itself | str")  # pyright: ignore[reportGeneralTypeIssues]
Short = TypeAliasType("Short", "Annotated[Short, Field(max_length=3)]")
CIRCLE: dict[str, Any] = {}
CIRCLE["items"] = CIRCLE


@pytest.mark.parametrize(("type_", "message"), [
    (list.__class_getitem__("a b"), "Forward reference must be an expression"),
    (Broken, "pydantic refuses Broken: .* is not fully defined"),
    (Annotated[Literal[1], Strict()], "pydantic cannot read the type .*: Unable to apply"),
    (told(dt.date, ge="a"), "pydantic cannot read the type date: Error building"),
    (list[told(int, ge=10**5000)], "pydantic failed on GenericAlias with ValueError: Exceeds"),
    (unresolved, "name 'Missing' is not defined"),
    (dict[Itself, int], "Itself refers to itself without going into"),
    (dict[told(Itself, max_length=2), int], "Itself refers to itself without going into"),
    (Short, "Short refers to itself without going into"),
    (Annotated[list[int], pydantic.WithJsonSchema(CIRCLE)],
     "the value is not JSON: it contains itself"),
])  # fmt: skip
def test_what_is_no_type_is_a_wrong_source(type_: Any, message: str) -> None:
    refuses(SourceError, type_, message)


class Failing:
    """A type whose methods fail with what is asked for."""

    def __init__(self, method: str, error: type[Exception]) -> None:
        self.method, self.error = method, error

    def __get_pydantic_core_schema__(self, *_: Any) -> Any:
        if self.method == "core":
            raise self.error("nope")
        return core_schema.bool_schema()

    def __get_pydantic_json_schema__(self, *_: Any) -> Any:
        raise self.error("nope")


@pytest.mark.parametrize("error", [KeyError, AttributeError, ZeroDivisionError])
def test_errors_of_a_users_methods_do_not_leave_as_they_are(error: type[Exception]) -> None:
    said = f"with {error.__name__}: '?nope"
    core, name = Failing("core", error), "Failing.__get_pydantic_json_schema__"
    refuses(SourceError, Annotated[bool, core], f"^pydantic failed on bool {said}")
    refuses(SourceError, Annotated[bool, Failing("json", error)], f"^{name} failed {said}")


def test_types_nested_beyond_pythons_stack_are_refused_as_that() -> None:
    def nested(depth: int) -> Any:
        type_: Any = bool
        for number in range(depth):
            type_ = create_model(f"N{number}", n=(type_ | None, None))
        return type_

    refuses(UnsupportedError, nested(70), r"N\d+ nests too deeply for Python's recursion limit")
    assert type_schema(nested(20)).schema["title"] == "N19"


def test_a_type_of_very_many_parts_is_refused_before_pydantic_reads_them() -> None:
    nested: Any = int
    for _ in range(30):
        nested = tuple[nested, nested]
    with pytest.raises(LimitError, match="2147483647 parts") as refused:
        gw.compile(nested, gw.Vocabulary([b"a"]))
    assert (refused.value.limit, refused.value.given) == ("parts of a type", 2**31 - 1)


def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> Any:
        raise ImportError("email-validator is not installed")

    monkeypatch.setattr(python_types_adapter, "TypeAdapter", type("Fake", (), {"__init__": fail}))
    message = "int needs a package that is not installed: email-valid"
    with pytest.raises(UnsupportedError, match=message):
        python_types_adapter.adapt(int)


@pytest.mark.parametrize(("core", "message"), [
    (core_schema.literal_schema([inf]), "has no JSON"),
    (core_schema.datetime_schema(tz_constraint=3600), "tz_constraint=3600 is not supported"),
    (core_schema.tuple_schema([core_schema.int_schema()] * 2, variadic_item_index=0),
     "with items after the repeated one"),
    (core_schema.model_fields_schema({}, extra_behavior="allow",
                                     extras_keys_schema=core_schema.int_schema()),
     "a type for undeclared keys"),
])  # fmt: skip
def test_what_core_schemas_alone_can_say_is_refused(core: Any, message: str) -> None:
    with pytest.raises(UnsupportedError, match=message):
        read_core(core, Place("T"))


@pytest.mark.parametrize("inner", [int | Decimal, str | Decimal])
def test_numbers_that_python_cannot_write_are_refused(inner: Any) -> None:
    """pydantic itself cannot name such a type, so the core schema is made from another."""
    core: Any = TypeAdapter(told(inner, ge=1)).core_schema
    core["function"]["function"].keywords["ge"] = 10**5000
    with pytest.raises(UnsupportedError, match=r"^ge(=an int of 16610 bits| with 4000)"):
        read_core(core, Place("T"))
    message = r"pydantic failed on \w+ \| Decimal with ValueError: Exceeds"
    refuses(SourceError, told(inner, ge=10**5000), message)


# Types of which pydantic reads no value, or not that of a usual text.


class Equal(Enum):  # noqa: PLW1641
    """It compares, so Python takes its hash away."""

    A = "a"

    def __eq__(self, other: object) -> bool:
        return self is other or other == "a"


class Root(pydantic.RootModel[str]):
    pass


@pydantic.dataclasses.dataclass(config=ConfigDict(validate_default=True))
class Never:
    given: int
    made: int = dataclasses.field(default="bad", init=False)  # pyright: ignore[reportAssignmentType]


class Path(BaseModel):
    a: int = Field(0, validation_alias=pydantic.AliasChoices(pydantic.AliasPath("b", 0), "a"))
    b: list[str]


class StrictNamed(TypedDict):
    raw: Annotated[str, Field(alias="Raw")]


def strictly(type_: Any) -> Any:
    return configured(type_, strict=True)


LAX = Annotated[pydantic.Base64Bytes, Strict(strict=False)]
TWICE = "the key '{}' of the field {} is read for the field {} as well"


@pytest.mark.parametrize(("type_", "text", "message", "place"), [
    *((kind, '{"a":1}', "a dict with keys that may be unhashable", None)
      for kind in (dict[Equal | int, int], Counter[Equal], dict[Root, int])),
    (set[Literal[Equal.A]], '["a"]', "unhashable", None),
    (Never, '{"given":1}', "a default is the only value of this field", "Never.made"),
    (create_model("Same", a=(int, Field(alias="x")), b=(str, Field(alias="x"))), '{"x":1}',
     TWICE.format("x", "a", "b"), "Same.b"),
    (Path, '{"b":["s"]}', TWICE.format("b", "b", "a"), "Path.a"),
    (create_model("Hidden", a=(SkipJsonSchema[int], Field(0, alias="b")), b=(str, ...)),
     '{"b":"s"}', TWICE.format("b", "b", "a"), "Hidden.a"),
    (Annotated[pydantic.FileUrl, UrlConstraints(default_port=1)], '"file:///a"',
     "default_port allows no URL: file URLs have no port", None),
    (strictly(defaultdict[str, list[LAX]]), '{"x":{"a":["YQ=="]}}',
     "base64 in a strict defaultdict", None),
    (strictly(defaultdict[str, list[StrictNamed]]), '{"x":{"a":[{"Raw":"a"}]}}',
     "an alias in a strict defaultdict", None),
])  # fmt: skip
def test_types_that_pydantic_does_not_read_are_refused(
    type_: Any, text: str, message: str, place: str | None
) -> None:
    assert not is_read(type_, text, Exception)
    refuses(UnsupportedError, type_, re.escape(message), place)


@pytest.mark.parametrize(("type_", "name"), [
    (TypeAdapter(Annotated[bool, 1]), "bool"),
    (functools.partial(positional), "positional"),
    (Annotated[Alien, 1], "Alien"),
    (dict[str, Alien], "dict[str, Alien]"),
    (Failing("core", KeyError).__get_pydantic_json_schema__, "__get_pydantic_json_schema__"),
])  # fmt: skip
def test_a_type_is_called_by_its_short_name(type_: Any, name: str) -> None:
    assert python_types_adapter.type_name(type_) == name
