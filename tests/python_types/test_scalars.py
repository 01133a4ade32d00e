"""Single values and containers: their schemas, and what of them is refused by name."""

import datetime as dt
import json
import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum, IntEnum
from math import inf, nan
from typing import Annotated, Any, Literal, NamedTuple

import pytest
from pydantic import (
    AnyUrl,
    BaseModel,
    ConfigDict,
    Field,
    FileUrl,
    FutureDate,
    FutureDatetime,
    HttpUrl,
    JsonValue,
    PastDate,
    PastDatetime,
    Strict,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    create_model,
)
from pydantic_core import core_schema
from typing_extensions import TypeAliasType

import guideway as gw
from guideway.errors import UnsupportedError
from guideway.python_types.adapter import read_core
from guideway.python_types.place import INTEGER, Place
from guideway.python_types.source import type_schema
from random_walks import BYTES
from type_oracle import check_offers

BOOL = {"type": "boolean"}
MOMENTS = [f"T{t}{z}" for t in ("00:00", "23:59:59.999") for z in ("", "Z", "+23:59", "-23:59")]


def schema_of(type_: Any) -> dict[str, Any]:
    return {name: part for name, part in type_schema(type_).schema.items() if name != "$defs"}


class Apple(BaseModel):
    model_config = ConfigDict(frozen=True)
    kind: Literal["apple"]


class Pear(BaseModel):
    kind: Literal["pear"]


class Loose(BaseModel):
    pass


class Listing(NamedTuple):
    names: list[str]


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True)
    names: list[str]


UNHASHABLE = [
    *(tuple, tuple[int, list[int]], tuple[Any, ...], Listing, Frozen, tuple[Frozen, int]),
    *(int | list[int], list[int] | None, Annotated[Listing | int, Field(union_mode="smart")]),
    Annotated[Apple | Pear, Field(discriminator="kind")],
    *(defaultdict[str, int], JsonValue),
]


def test_items_of_a_set_can_be_hashed() -> None:
    scalars = {"type": ["null", "boolean", "number", "string"]}
    for bare in (set, frozenset[Any], set[object]):
        assert schema_of(bare)["items"] == scalars
    assert "prefixItems" in schema_of(set[tuple[int, frozenset[int]]])["items"]


class Knot(BaseModel):
    model_config = ConfigDict(frozen=True)
    ends: "tuple[Knot, ...]" = ()


@dataclass
class Mutable:
    a: int = 0


Name = TypeAliasType("Name", str)
Numbers = TypeAliasType("Numbers", list[int])
Fixed = TypeAliasType("Fixed", tuple[int, ...])


def twice(item: Any) -> Any:
    """A model with `item` in two places, so that pydantic writes references to it."""
    return create_model("Twice", first=(item, ...), all=(set.__class_getitem__(item), ...))


@pytest.mark.parametrize(
    ("item", "text"),
    [
        *((Knot, "{}"), (Fixed, "[1]"), (tuple[Knot, int], "[{},1]"), (Apple, '{"kind":"apple"}')),
        *((Loose, "{}"), (Mutable, '{"a":1}'), (Numbers, "[1]"), (tuple[Mutable, int], "[{},1]")),
    ],
)
def test_items_of_a_set_are_looked_at_behind_references(item: Any, text: str) -> None:
    adapter = TypeAdapter(twice(item))
    try:
        adapter.validate_json(f'{{"first":{text},"all":[{text}]}}')
    except ValidationError:
        with pytest.raises(UnsupportedError, match="unhashable") as refused:
            type_schema(adapter)
        assert refused.value.place == "Twice.all[]"
    else:
        assert "$ref" in str(schema_of(adapter)["properties"]["all"]["items"])


class Roll(BaseModel):
    first: Name
    all: Annotated[set[Name], Field(min_length=2)]


def test_a_set_of_strings_by_another_name_asks_for_distinct_ones() -> None:
    assert schema_of(Roll)["properties"]["all"]["uniqueItems"] is True


class Texts(BaseModel):
    model_config = ConfigDict(
        str_min_length=1, str_max_length=4, str_strip_whitespace=True, regex_engine="python-re"
    )
    usual: str
    own: Annotated[str, StringConstraints(max_length=9, strip_whitespace=False)]
    matched: Annotated[str, StringConstraints(pattern="a$", strip_whitespace=False)]


def test_the_configuration_of_a_model_holds_for_its_strings() -> None:
    parts = schema_of(Texts)["properties"]
    assert (parts["usual"]["minLength"], parts["usual"]["maxLength"]) == (1, 4)
    assert parts["usual"]["$comment"] == "no blanks at either end"
    assert parts["own"] == {"type": "string", "minLength": 1, "maxLength": 9}
    assert parts["matched"]["pattern"] == "(?u)a$"
    assert parts["matched"]["$comment"] == "pattern a$"


def test_ascii_strings_are_told_so() -> None:
    core = core_schema.str_schema() | {"ascii_only": True}
    assert read_core(core, Place("T"))["pattern"] == r"^[\x00-\x7f]*$"


def test_the_configuration_of_an_adapter_holds_too() -> None:
    adapter = TypeAdapter(str, config=ConfigDict(str_max_length=3))
    assert schema_of(adapter) == {"type": "string", "maxLength": 3}


class Infinite(BaseModel):
    model_config = ConfigDict(allow_inf_nan=True)
    price: Decimal


def test_infinite_decimals_are_on_offer_where_they_are_allowed() -> None:
    pattern = schema_of(Infinite)["properties"]["price"]["pattern"]
    assert re.search(pattern, "-Infinity")
    assert not re.search(schema_of(Decimal)["pattern"], "-Infinity")


def day(off: int) -> str:
    return (dt.date.today() + dt.timedelta(days=off)).isoformat()


@pytest.mark.parametrize(
    ("past", "future", "suffixes", "near"),
    [
        (PastDate, FutureDate, [""], 1),
        (PastDatetime, FutureDatetime, MOMENTS, 3),
    ],
)
def test_past_and_future_are_told_by_the_day(
    past: Any, future: Any, suffixes: list[str], near: int
) -> None:
    # A day more, where the day is another elsewhere on earth.
    before = [
        f'"{date}{s}"' for date in ("0001-01-01", "1999-12-31", day(-near - 1)) for s in suffixes
    ]
    behind = [
        f'"{date}{s}"' for date in (day(near + 1), "2999-01-01", "9999-12-31") for s in suffixes
    ]
    check_offers(past, before, behind)
    check_offers(future, behind, before)
    check_offers(Annotated[past, Field(description="when")], before, behind)
    assert "$comment" in schema_of(past)


def test_what_is_neither_surely_past_nor_future_is_not_on_offer() -> None:
    for past, now in ((PastDate, day(0)), (PastDatetime, f"{day(0)}T00:00:00+23:59")):
        assert not gw.compile(past, BYTES).matches(f'"{now}"')
    for future, now in ((FutureDate, day(0)), (FutureDatetime, f"{day(0)}T23:59:59-23:59")):
        assert not gw.compile(future, BYTES).matches(f'"{now}"')


def test_strict_types_are_written_alike() -> None:
    assert schema_of(Annotated[int, Strict()]) == schema_of(int)


def test_bounds_are_told_in_words() -> None:
    day = Annotated[dt.date, Field(gt=dt.date(2024, 1, 31))]
    assert schema_of(day)["$comment"] == "date above 2024-01-31"
    assert schema_of(Annotated[Decimal, Field(ge=1, decimal_places=2)])["$comment"] == (
        "decimal of at least 1, with at most 2 decimal places"
    )


def test_urls_keep_their_greatest_length() -> None:
    class Short(AnyUrl):
        _constraints = AnyUrl._constraints.__class__(max_length=20, allowed_schemes=["a+b"])

    schema = schema_of(Short)
    assert schema["maxLength"] == 20
    assert re.search(schema["pattern"], "a+b://host.name/path?q#f")


def test_urls_of_files_have_no_port() -> None:
    for kind in (AnyUrl, FileUrl):
        check_offers(kind, ['"file://x/"', '"file://x"'], ['"file://x:80"', '"file://x:80/"'])
    near = ("f", "fi", "fil", "files", "file+a", "fa", "fia", "fila", "a", "http")
    check_offers(AnyUrl, [f'"{scheme}://x:80/"' for scheme in near], [])
    check_offers(HttpUrl, ['"http://x:80/"'], ['"file://x/"'])


class Half(Enum):
    HALF = 0.5
    TEXT = "t"


class Bytes(Enum):
    RAW = b"raw"


class Tuples(Enum):
    PAIR = (1, 2)


class Numbered(Enum):
    ONE = 1


class Word(str, Enum):  # noqa: UP042  what 3.10 had
    A = "a"
    B = "b"


class Count(IntEnum):
    ONE = 1
    TWO = 2


class Share(float, Enum):
    HALF = 0.5


class Coded(str, Enum):  # noqa: UP042
    A = ("a", "x")

    def __new__(cls, text: str, code: str) -> "Coded":
        made = str.__new__(cls, text)
        made._value_ = code
        return made


def test_choices_are_split_into_whole_numbers_and_the_rest() -> None:
    assert schema_of(Half) == {"enum": [0.5, "t"]}
    assert schema_of(Literal[1, Count.TWO, True, Word.A, Share.HALF]) == {
        "anyOf": [{"enum": [True, "a", 0.5]}, {"$ref": INTEGER, "enum": [1, 2]}]
    }


@pytest.mark.parametrize(
    "member",
    [*Half, Numbered.ONE, *Word, *Count, Share.HALF, Coded.A],
)
def test_a_member_in_a_literal_is_on_offer_if_it_is_read_from_its_value(member: Any) -> None:
    literal: Any = Literal[member]
    text = TypeAdapter(type(member)).dump_json(member)
    try:
        TypeAdapter(literal).validate_json(text)
    except ValidationError:
        for type_ in (literal, dict[literal, int]):
            with pytest.raises(
                UnsupportedError, match=f"{member} in a Literal does not equal its value"
            ):
                type_schema(type_)
    else:
        assert json.loads(text) in schema_of(literal)["enum"]


def test_keys_of_open_kinds_are_told_by_their_names() -> None:
    listed = schema_of(dict[Literal["a"] | bool, bool])["properties"]
    assert list(listed) == ["a", "true", "false"]
    assert schema_of(dict[str | bool, bool]) == {"type": "object", "additionalProperties": BOOL}
    keys = Annotated[str, Field(max_length=3)]
    assert schema_of(dict[keys | bool, bool])["propertyNames"] == {
        "anyOf": [{"maxLength": 3}, {"enum": ["true", "false"]}]
    }
    assert schema_of(dict[keys | dt.date, bool])["propertyNames"] == {
        "anyOf": [{"maxLength": 3}, {"format": "date"}]
    }
    checked = core_schema.no_info_after_validator_function(str, core_schema.bool_schema())
    read = read_core(core_schema.dict_schema(checked, core_schema.bool_schema()), Place("T"))
    assert read["properties"] == {"true": BOOL, "false": BOOL}


def test_counts_of_items_and_keys_are_kept() -> None:
    assert schema_of(Annotated[list[bool], Field(min_length=1, max_length=2)]) == {
        "type": "array",
        "items": BOOL,
        "minItems": 1,
        "maxItems": 2,
    }
    assert schema_of(Annotated[dict[str, bool], Field(max_length=2)])["maxProperties"] == 2
    assert schema_of(Annotated[dict[str, bool], Field(min_length=2)])["minProperties"] == 2
    assert schema_of(Annotated[tuple[bool, ...], Field(min_length=2)])["minItems"] == 2


def test_a_set_asks_for_distinct_items_only_if_duplicates_would_leave_too_few() -> None:
    assert "uniqueItems" not in schema_of(set[int])
    assert schema_of(Annotated[set[int], Field(min_length=2)])["uniqueItems"] is True


@pytest.mark.parametrize(
    ("type_", "message"),
    [
        (Bytes, "b'raw' has no JSON that pydantic reads back"),
        (Tuples, "(1, 2) has no JSON"),
        (Literal[2**63], "9223372036854775808 in a choice is not supported beyond 64 bits"),
        (set[list[int]], "a set of unhashable items can only be empty"),
        (frozenset[Loose], "a set of unhashable items can only be empty"),
        *((set[kind], "a set of items that may be unhashable") for kind in UNHASHABLE),
        (Annotated[set[float], Field(min_length=2)], "min_length is not supported for sets"),
        (dict[tuple[int, int], int], "tuple as the key of a dict is not supported"),
        (dict[Annotated[int, Field(multiple_of=2)], int], "int as the key of a dict"),
        (dict[Annotated[float, Field(ge=0)], int], "float as the key of a dict"),
        (dict[Numbered, int], "a choice without strings has no JSON keys"),
        (dict[Literal[1], int], "a choice without strings has no JSON keys"),
        (Annotated[dict[float, int], Field(min_length=2)], "min_length is not supported for dicts"),
        (Callable[[int], int], "callable has no JSON"),
    ],
)
def test_what_no_schema_says_is_refused_by_name(type_: Any, message: str) -> None:
    with pytest.raises(UnsupportedError, match=re.escape(message)):
        type_schema(type_)


LOWER = Annotated[str, StringConstraints(to_lower=True)]
UPPER = Annotated[str, StringConstraints(to_upper=True)]
AS_IT_IS = Annotated[str, StringConstraints(to_lower=False)]


CASES = [str, LOWER, UPPER, AS_IT_IS, Literal["a", "A"]]


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize(
    ("kind", "text"),
    [
        *((set.__class_getitem__(item), '["a","A"]') for item in CASES),
        *((dict.__class_getitem__((item, int)), '{"a":1,"A":1}') for item in CASES),
        *((set[Literal[1, True]], "[1,true]"), (frozenset[Literal[1, True, "a"]], "[1,true]")),
        (dict[Any, int], '{"a":1,"A":1}'),
    ],
)
def test_a_least_count_is_refused_where_different_texts_are_one_value(
    kind: Any, text: str, lower: bool
) -> None:
    limited: Any = Annotated[kind, Field(min_length=2)]
    adapter = TypeAdapter(limited, config=ConfigDict(str_to_lower=lower))
    try:
        adapter.validate_json(text)
    except ValidationError:
        with pytest.raises(UnsupportedError, match="min_length is not supported for"):
            type_schema(adapter)
    else:
        assert {"minItems", "minProperties"} & type_schema(adapter).schema.keys()


class Ends(IntEnum):
    FIRST = -(2**63)
    LAST = 2**63 - 1


class Long(IntEnum):
    ONE = 1
    LONG = 2**63


class Least(IntEnum):
    LEAST = -(2**63) - 1


def test_whole_numbers_of_64_bits_are_choices() -> None:
    first, last = int(Ends.FIRST), int(Ends.LAST)
    check_offers(Ends, [str(first), str(last)], ["0", str(first - 1), str(last + 1)])
    check_offers(dict[Ends, int], [f'{{"{first}":1}}'], [f'{{"{first - 1}":1}}', '{"0":1}'])
    check_offers(Literal[-(2**63), True], [str(first), "true"], [str(first - 1)])


@pytest.mark.parametrize("type_", [Long, Least, dict[Long, int], dict[Least, int]])
def test_whole_numbers_of_more_than_64_bits_are_refused(type_: Any) -> None:
    with pytest.raises(UnsupportedError, match="in a choice is not supported beyond 64"):
        type_schema(type_)


def test_a_whole_number_that_python_cannot_write_is_told_by_its_bits() -> None:
    with pytest.raises(UnsupportedError, match="an int of 16610 bits in a choice"):
        read_core(core_schema.literal_schema([10**5000]), Place("T"))


@pytest.mark.parametrize("value", [inf, -inf, nan])
def test_numbers_that_json_does_not_have_are_refused_in_choices(value: float) -> None:
    with pytest.raises(UnsupportedError, match="has no JSON"):
        read_core(core_schema.literal_schema([value]), Place("T"))


def test_a_fixed_offset_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="tz_constraint=3600 is not supported"):
        read_core(core_schema.datetime_schema(tz_constraint=3600), Place("T"))


def test_items_after_the_repeated_one_of_a_tuple_are_refused() -> None:
    middle = core_schema.tuple_schema(
        [core_schema.int_schema(), core_schema.int_schema()], variadic_item_index=0
    )
    with pytest.raises(UnsupportedError, match="with items after the repeated one"):
        read_core(middle, Place("T"))
