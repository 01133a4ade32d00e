"""Types of every kind that the front end for Python types reads, by a short name."""

import dataclasses
import datetime as dt
import enum
import ipaddress
import re
import uuid
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, NamedTuple, Optional, Required, TypeVar, Union

import pydantic
from pydantic import UUID4, AnyUrl, AwareDatetime, Base64Bytes, BaseModel, ConfigDict, Field, Secret
from typing_extensions import TypedDict

Item = TypeVar("Item")


class Point(NamedTuple):
    x: int
    label: str = "origin"


class Options(TypedDict, total=False):
    depth: Required[int]
    name: Annotated[str, Field(min_length=1, description="how to call it")]


@dataclasses.dataclass
class Task:
    title: str
    steps: list[int] = dataclasses.field(default_factory=list[int])


class Color(enum.Enum):
    RED = "red"
    GREEN = "green"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 22


class Mixed(enum.Enum):
    ONE = 1
    LETTER = "b"
    HALF = 2.5
    NOTHING = None
    NO = False


class Address(BaseModel):
    street: str
    zip: Annotated[str, Field(pattern=r"^\d{5}$")]


class Person(BaseModel):
    name: str
    age: Annotated[int, Field(ge=0, lt=150)]
    email: str | None = None
    home: Address
    work: Address | None = None
    tags: list[str] = []


class Node(BaseModel):
    value: int
    children: list["Node"] = []
    left: Optional["Node"] = None


class Box(BaseModel, Generic[Item]):
    item: Item


class Cat(BaseModel):
    kind: Literal["cat"] = "cat"
    lives: int


class Dog(BaseModel):
    kind: Literal["dog", "wolf"]
    friend: Optional["Pet"] = None


Pet = Annotated[Union[Cat, Dog], Field(discriminator="kind")]  # noqa: UP007  a name for pydantic
Dog.model_rebuild()


class Open(BaseModel):
    model_config = ConfigDict(extra="allow", validate_by_name=True)
    __pydantic_extra__: dict[str, int]  # pyright: ignore[reportIncompatibleVariableOverride]
    size: int = Field(alias="Size")


class Strict(BaseModel):
    model_config = ConfigDict(str_strip_whitespace=True, str_min_length=2, strict=True)
    text: str
    day: dt.date
    id: uuid.UUID
    color: Color
    pair: tuple[int, str]
    seen: set[int]
    ratios: dict[int, float]
    price: Decimal
    span: dt.timedelta
    sure: bool
    ratio: float
    time: dt.time
    moment: dt.datetime
    raw: bytes


class Zoo(pydantic.RootModel[dict[Color, list[Pet]]]):
    pass


class Encoded(BaseModel):
    model_config = ConfigDict(val_json_bytes="base64", ser_json_bytes="base64")
    raw: bytes
    some: Annotated[bytes, Field(min_length=1)]


class Digits(BaseModel):
    model_config = ConfigDict(val_json_bytes="hex", ser_json_bytes="hex")
    raw: Annotated[bytes, Field(min_length=1, max_length=3)]
    rest: bytes


def search(
    query: str,
    limit: Annotated[int, Field(ge=1, le=50)] = 10,
    *,
    language: Literal["en", "de"] = "en",
    since: dt.date | None = None,
) -> list[str]:
    """Search the web."""
    raise AssertionError((query, limit, language, since))


TYPES: dict[str, Any] = {
    "int": int, "bool": bool, "none": type(None), "str": str, "float": float, "decimal": Decimal,
    "date": dt.date, "time": dt.time, "datetime": dt.datetime, "timedelta": dt.timedelta,
    "uuid": uuid.UUID, "uuid4": UUID4, "bytes": bytes, "any": Any, "json": pydantic.JsonValue,
    "aware": AwareDatetime, "naive": pydantic.NaiveDatetime, "named tuple": Point,
    "typed dict": Options, "dataclass": Task, "enum": Color, "int enum": Level,
    "mixed enum": Mixed, "model": Person, "recursive model": Node,
    "generic model": Box[dt.date | None], "tagged union": Pet, "list of tagged": list[Pet],
    "open model": Open, "strict model": Strict, "root model": Zoo, "base64 model": Encoded,
    "hex model": Digits, "callable": search, "literal": Literal[1, "a", None, True],
    "positive": pydantic.PositiveInt, "share": Annotated[float, Field(gt=0, lt=1)],
    "rounded": Annotated[float, Field(ge=-0.5, le=1e300)],
    "money": Annotated[Decimal, Field(max_digits=6, decimal_places=2, ge=0, lt=Decimal("1000.5"))],
    "cost": Annotated[Decimal, Field(gt=0)],
    "counted decimal": Annotated[Decimal, Field(max_digits=9)],
    "placed decimal": Annotated[Decimal, Field(decimal_places=8, le=0)],
    "debt": Annotated[Decimal, Field(lt=Decimal("-0.25"), ge=-100)],
    "since": Annotated[dt.date, Field(ge=dt.date(2020, 2, 29), lt=dt.date(2031, 1, 1))],
    "between": Annotated[dt.date, Field(gt=dt.date(1999, 12, 31), le=dt.date(2000, 1, 10))],
    "int keys": dict[int, bool], "bounded keys": dict[Annotated[int, Field(ge=-5, lt=130)], None],
    "open bounded keys": dict[Annotated[int, Field(gt=98, le=10**12)], None],
    "float keys": dict[float, None], "date keys": dict[dt.date, None],
    "union keys": dict[int | Literal["x", "y"], bool], "optional keys": dict[bool | None, bool],
    "literal keys": dict[Literal["a", "b"], int], "level keys": dict[Level, int],
    "mixed keys": dict[Mixed, int], "decimal keys": dict[Decimal, None],
    "any keys": dict[Any, bool],
    "rust pattern": Annotated[str, Field(pattern=r"^\w+[^\s\d]-.\D$")],
    "python pattern": Annotated[str, Field(pattern=re.compile(r"(\w|\s)x$"))],
    "trimmed": Annotated[
        str, pydantic.StringConstraints(strip_whitespace=True, min_length=1, max_length=3)
    ],
    "letters": Annotated[str, Field(min_length=2, max_length=4, pattern="^[a-c]*$")],
    "set": Annotated[set[bool], Field(max_length=2)], "empty tuple": tuple[()],
    "long tuple": tuple[int, ...], "ipv4": ipaddress.IPv4Address, "ipv6": ipaddress.IPv6Address,
    "ipv4 interface": ipaddress.IPv4Interface, "ipv6 interface": ipaddress.IPv6Interface,
    "web": pydantic.HttpUrl, "url": AnyUrl, "hosts": pydantic.PostgresDsn,
    "secret": pydantic.SecretStr, "secret date": Secret[dt.date], "path": Path,
    "base64": Base64Bytes, "base64 url": pydantic.Base64UrlBytes, "counter": Counter[str],
    "defaultdict": defaultdict[str, list[int]],
    "deque": Annotated[deque[int], Field(min_length=1)], "sequence": Sequence[int | None],
    "iterable": Iterable[bool], "constrained union": Annotated[int | Decimal, Field(ge=1)],
}  # fmt: skip

NOT_WRITTEN_BACK = {"secret", "secret date", "iterable", "callable"}
"""What `dump_json` writes as something else than it reads: ********, nothing, no value at all."""
