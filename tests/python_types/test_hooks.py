"""Constraints behind validators: they hold for the JSON value, in every kind of type."""

import dataclasses
import datetime as dt
import json
import re
import warnings
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable
from decimal import Decimal
from enum import Enum, IntEnum
from fractions import Fraction
from ipaddress import IPv4Network
from pathlib import Path
from typing import Annotated, Any, Literal, Optional
from uuid import UUID
from zoneinfo import ZoneInfo

import annotated_types
import pydantic
import pytest
from annotated_types import Ge, Interval, IsAscii, IsDigits, Len, LowerCase, MultipleOf, Predicate
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, Strict, validator
from typing_extensions import TypeAliasType, TypedDict

import guideway as gw
from guideway.errors import UnsupportedError
from guideway.python_types.source import type_schema
from random_walks import BYTES
from type_oracle import check_alike, check_offers, is_read, is_valid, same


def wrap(value: Any, handler: Any) -> Any:
    return handler(value)


VALIDATORS = {
    "after": AfterValidator(same), "before": BeforeValidator(same),
    "wrap": pydantic.WrapValidator(wrap),
}  # fmt: skip
BOUNDED: dict[str, tuple[Any, Any, list[str]]] = {
    "ge": (int, Field(ge=3), ["2", "3", "99"]),
    "interval": (int, Interval(gt=1, le=4), ["1", "2", "4", "5"]),
    "multiple": (int, MultipleOf(3), ["3", "4", "-6"]),
    "share": (float, Field(gt=0, lt=1), ["0.0", "0.5", "1.0", "-0.5"]),
    "half": (float, Field(multiple_of=0.5), ["0.5", "1.5", "0.3", "-2.0"]),
    "finite": (float, Field(allow_inf_nan=False), ["1.5", "1"]),
    "money": (Decimal, Field(max_digits=4, decimal_places=1), ['"12.5"', '"12.55"', '"1234"']),
    "nickels": (Decimal, Field(multiple_of=Decimal("0.05")), ['"0.15"', '"0.16"', '"3"']),
    "price": (Decimal, Field(ge=0, le=Decimal("9.99")), ['"9.99"', '"-1"', '"10"', '"0"']),
    "most": (str, Field(max_length=3), ['"abc"', '"abcd"', '""']),
    "least": (str, Len(2), ['"ab"', '"a"']),
    "pattern": (str, Field(pattern="^[a-z]+$"), ['"ab"', '"A1"', '""']),
    "python": (str, Field(pattern=re.compile("^(?=.*b)[a-z]+$")), ['"ab"', '"aa"']),
    "strip": (str, pydantic.StringConstraints(strip_whitespace=True, min_length=1), ['"a"', '""']),
    "lower": (str, pydantic.StringConstraints(to_lower=True, pattern="^[a-z]+$"), ['"ab"', '"1"']),
    "items": (list[int], Field(max_length=2), ["[1,2]", "[1,2,3]", "[]"]),
    "set": (set[int], Field(min_length=2), ["[1,2]", "[1,1]", "[1]"]),
    "row": (tuple[int, ...], Field(min_length=1), ["[1]", "[]"]),
    "members": (dict[str, int], Field(min_length=1), ['{"a":1}', "{}"]),
    "day": (dt.date, Field(ge=dt.date(2024, 2, 1)), ['"2024-02-01"', '"2024-01-31"']),
    "naive": (dt.datetime, Field(lt=dt.datetime(2024, 2, 1)),
              ['"2024-01-31T23:59:59"', '"2024-02-01T00:00:00"', '"2024-01-01T00:00:00Z"']),
    "aware": (dt.datetime, Field(ge=dt.datetime(2024, 2, 1, tzinfo=dt.UTC)),
              ['"2024-02-01T00:00:00Z"', '"2024-01-31T23:59:59Z"', '"2024-03-01T00:00:00"']),
    "clock": (dt.time, Field(ge=dt.time(9, 30)), ['"09:30:00"', '"09:29:59"', '"10:00:00Z"']),
    "span": (dt.timedelta, Field(le=dt.timedelta(hours=2)), ['"PT2H"', '"PT121M"', '"-PT3H"']),
    "bytes": (bytes, Field(max_length=2), ['"ab"', '"abc"', '"é"', '"éa"']),
    "flag": (bool, Field(ge=1), ["true", "false"]),
    "literal": (Literal["a", "bbb"], Field(max_length=2), ['"a"', '"bbb"']),
    "strict": (int, Strict(), ["1"]),
    "optional": (Optional[int], Field(ge=3), ["2", "3"]),  # noqa: UP045  as people write it
}  # fmt: skip


def limited(kind: Any, validators: list[Any], bound: Any) -> Any:
    for one in validators:
        kind = Annotated[kind, one]
    return Annotated[kind, bound]


@pytest.mark.parametrize("place", VALIDATORS)
@pytest.mark.parametrize("name", BOUNDED)
def test_a_bound_behind_a_validator_holds(name: str, place: str) -> None:
    kind, bound, texts = BOUNDED[name]
    bounded = limited(kind, [VALIDATORS[place]], bound)
    check_alike(bounded, texts, walks=2)
    check_alike(limited(kind, [*VALIDATORS.values()], bound), texts)


ALONE = [
    *("ge", "interval", "multiple", "share", "finite", "most", "least", "pattern", "python"),
    *("strip", "items", "set", "row", "members"),
]


@pytest.mark.parametrize("name", ALONE)
def test_a_bound_behind_a_validator_alone_holds_for_the_kind_of_its_type(name: str) -> None:
    kind, bound, texts = BOUNDED[name]
    alone = limited(kind, [pydantic.PlainValidator(same)], bound)
    check_alike(alone, texts, walks=3)
    for text in ("null", "[[],[],[]]", '"Other!"', '{"a":1}'):
        assert is_valid(alone, text) or not gw.compile(alone, BYTES).matches(text)


@pytest.mark.parametrize("name", ["money", "nickels", "half", "day", "naive", "clock", "span"])
def test_a_bound_that_no_json_value_has_is_refused_behind_a_validator_alone(name: str) -> None:
    kind, bound, _ = BOUNDED[name]
    with pytest.raises(UnsupportedError, match="after the validator same cannot be enforced"):
        gw.compile(limited(kind, [pydantic.PlainValidator(same)], bound), BYTES)


def holders(part: Any) -> dict[str, tuple[Any, Callable[[str], str]]]:
    """Types that hold another, and how they are written."""
    row: Any = namedtuple("Row", ["part"])
    row.__annotations__ = {"part": part}
    alias: Any = TypeAliasType
    named = alias("Named", part)
    return {
        "list": (list[part], "[{}]".format),
        "dict": (dict[str, part], '{{"a":{}}}'.format),
        "tuple": (tuple[part, int], "[{},1]".format),
        "optional": (part | None, "{}".format),
        "model": (pydantic.create_model("M", part=(part, ...)), '{{"part":{}}}'.format),
        "optional field": (pydantic.create_model("M", part=(part | None, None)),
                           '{{"part":{}}}'.format),
        "dataclass": (dataclasses.make_dataclass("D", [("part", part)]), '{{"part":{}}}'.format),
        "typed dict": (TypedDict("T", {"part": part}), '{{"part":{}}}'.format),  # pyright: ignore[reportInvalidTypeForm]
        "named tuple": (row, "[{}]".format),
        "alias": (named, "{}".format),
        "narrowed": (Annotated[named, Field(description="x")], "{}".format),
    }  # fmt: skip


@pytest.mark.parametrize("holder", holders(int))
@pytest.mark.parametrize("name", ["ge", "most", "pattern", "items", "price", "naive"])
def test_a_bound_behind_a_validator_holds_wherever_it_stands(name: str, holder: str) -> None:
    kind, bound, texts = BOUNDED[name]
    made, written = holders(limited(kind, [VALIDATORS["after"]], bound))[holder]
    check_alike(made, map(written, texts), walks=1)


Checked = Annotated[int, AfterValidator(same)]
Named = TypeAliasType("Named", Checked)
Maybe = Annotated[Checked | str | None, Field(description="no bound")]
Review = pydantic.create_model(
    "Review",
    stars=(Checked | None, Field(None, ge=1, le=5)),
    votes=(list[Annotated[Checked, Field(ge=0, le=9)]], []),
    named=(Annotated[Named, Field(le=3)], 0),
    plain=(Checked, Field(0, ge=-1)),
    both=(Maybe, None),
)


def test_a_named_type_with_a_validator_is_narrowed() -> None:
    texts = [f'{{"{name}":{n}}}' for n in (-2, 3, 99) for name in ("stars", "named", "plain")]
    check_alike(Review, [*texts, *(f'{{"votes":[{n}]}}' for n in (-2, 3, 99))], walks=3)


class Decorated(BaseModel):
    number: int = Field(ge=3)
    text: Annotated[str, Field(max_length=2)]

    @pydantic.field_validator("number", "text", mode="after")
    @classmethod
    def after(cls, value: Any) -> Any:
        assert value != 77_777, "sevens"
        return value

    @pydantic.field_validator("number", mode="wrap")
    @classmethod
    def around(cls, value: Any, handler: Any) -> Any:
        return handler(value)

    @pydantic.model_validator(mode="wrap")
    @classmethod
    def whole(cls, value: Any, handler: Any) -> Any:
        return handler(value)


with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)

    class First(BaseModel):
        """As pydantic 1 had it."""

        number: int = Field(ge=3)
        text: Annotated[str, Field(max_length=2)]
        parts: list[Annotated[int, Field(le=3)]] = []

        @validator("number")
        def number_is(cls, value: Any) -> Any:  # noqa: N805
            assert value != 77_777, "sevens"
            return value

        @validator("parts", each_item=True, always=True)
        def part_is(cls, value: Any) -> Any:  # noqa: N805
            return value

        @pydantic.root_validator(pre=True)
        def before(cls, values: Any) -> Any:  # noqa: N805
            return values


@pytest.mark.parametrize("model", [Decorated, First])
def test_decorators_of_both_kinds_leave_the_bounds_of_fields(model: Any) -> None:
    whole = {"number": 3, "text": "ab"}
    changed = [{"number": 2}, {"text": "abc"}, {"number": 9}]
    check_alike(model, [json.dumps(whole | more) for more in changed], walks=2)
    said = json.dumps(whole | {"number": 77_777})  # of which a validator speaks itself
    assert gw.compile(model, BYTES).matches(said)
    assert not is_valid(model, said)


def even(value: int) -> bool:
    return value % 2 == 0


@pytest.mark.parametrize(("kind", "texts", "spoken"), [
    (Annotated[int, Predicate(even), Ge(3)], ["2", "4"], "5"),
    (Annotated[int, Ge(1), annotated_types.Unit("m")], ["0", "1"], None),
    (IsAscii[str], ['"a"', '"é"'], None),
    (LowerCase[str], ['"ab"', '"aB"', '"1"', '"éa"', '"Éa"'], None),
    (IsDigits[str], ['"12"', '"1a"', '""', '"٣"'], None),
    (Annotated[str, Predicate(str.isalpha)], ['"aé"', '"a1"', '""'], None),
    (Annotated[str, Predicate(str.isalnum)], ['"aé1"', '"a-"', '"½"'], None),
    (Annotated[IsAscii[str], Predicate(str.isupper), Field(max_length=2)], ['"A"', '"ABC"', '"É"'],
     None),
    (Annotated[str, Predicate(str.istitle)], ['"Ab"'], '"ab"'),
    (Annotated[str, AfterValidator(str.lower), Predicate(str.islower)], ['"AB"'], '"1"'),
])  # fmt: skip
def test_predicates_are_validators_and_those_of_str_hold(
    kind: Any, texts: list[str], spoken: str | None
) -> None:
    check_alike(kind, texts)
    if spoken is not None:
        assert gw.compile(kind, BYTES).matches(spoken)
        assert not is_valid(kind, spoken)
    else:
        check_alike(kind, [], walks=5)


@pytest.mark.parametrize("place", VALIDATORS)
def test_bounds_of_keys_hold(place: str) -> None:
    for kind, bound, texts in (
        (int, Field(ge=3), ['{"3":1}', '{"2":1}']),
        (str, Field(max_length=2, pattern="^a"), ['{"ab":1}', '{"abc":1}', '{"b":1}']),
    ):
        check_alike(dict[limited(kind, [VALIDATORS[place]], bound), int], texts, walks=2)


@pytest.mark.parametrize(("kind", "validator", "bound", "offered", "beyond"), [
    (int, BeforeValidator(same, json_schema_input_type=int | str | None), Field(ge=3),
     ["3", '"2"', "null"], ["2"]),
    (list[str], BeforeValidator(str.split, json_schema_input_type=str), Field(max_length=2),
     ['"a,b"'], []),
    (list[int], pydantic.PlainValidator(same, json_schema_input_type=list[int] | str),
     Field(max_length=1), ["[1]", '"abc"'], ["[1,2]"]),
    (Annotated[int, pydantic.WithJsonSchema({"type": ["integer", "string"]})], AfterValidator(same),
     Field(ge=3), ['"a"', "2"], ["null"]),
])  # fmt: skip
def test_a_declared_input_is_limited_where_it_is_of_the_kind_of_the_type(
    kind: Any, validator: Any, bound: Any, offered: list[str], beyond: list[str]
) -> None:
    constraint = gw.compile(limited(kind, [validator], bound), BYTES)
    assert [text for text in [*offered, *beyond] if constraint.matches(text)] == offered


NUMBERS = st.integers(-20, 20)


@st.composite
def numeric(draw: st.DrawFn) -> tuple[Any, list[str]]:
    """A number with bounds between validators, and texts near the bounds."""
    kind: Any = draw(st.sampled_from([int, float, Decimal, int | float]))
    for _ in range(draw(st.integers(1, 4))):
        name = draw(st.sampled_from(["ge", "gt", "le", "lt", "multiple_of", "validator", "none"]))
        value = draw(NUMBERS)
        if name == "validator":
            kind = Annotated[kind, draw(st.sampled_from([*VALIDATORS.values()]))]
        elif name == "none":
            kind = Annotated[kind | None, Field(description="or none")]
        elif name != "multiple_of":
            limit: dict[str, Any] = {name: value}
            kind = Annotated[kind, Field(**limit)]
        elif draw(st.booleans()):
            kind = Annotated[kind, Field(multiple_of=draw(st.sampled_from([1, 2, 4])))]
    values = draw(st.lists(st.integers(-22, 22), min_size=3, max_size=6))
    quoted = '"{}"' if "Decimal" in repr(kind) else "{}"
    return kind, [quoted.format(value) for value in values]


@given(numeric())
def test_bounds_and_validators_may_stand_in_any_order(made: tuple[Any, list[str]]) -> None:
    kind, texts = made
    try:
        pydantic.TypeAdapter(kind)
    except TypeError:
        return
    try:
        check_alike(kind, texts)
    except gw.UnsatisfiableError:
        assert not any(is_valid(kind, text) for text in texts)
    except UnsupportedError:  # by name: no value is left, or a float whose rest is rounded
        pass


# Strict types: behind a function pydantic gives them what JSON became in Python.


class Level(Enum):
    LOW = "low"


class Number(IntEnum):
    ONE = 1


class Model(BaseModel):
    model_config = pydantic.ConfigDict(strict=True)


class Looking(Model):
    @pydantic.model_validator(mode="before")
    @classmethod
    def looks(cls, data: Any) -> Any:
        return data


class Made(Model):
    def __init__(self, **data: Any) -> None:
        super().__init__(**data)


Day = TypeAliasType("Day", Annotated[dt.date, Strict()])
SAMPLES = [
    (bool, "true"), (float, "1.5"), (list[int], "[1]"), (dict[str, int], '{"a":1}'),
    (defaultdict[str, int], '{"a":1}'), (Number, "1"), (dict[Level, int], '{"low":1}'),
    (UUID, '"00000000-0000-4000-8000-000000000000"'), (Level, '"low"'), (Path, '"a"'),
    (pydantic.SecretStr, '"a"'), (IPv4Network, '"10.0.0.0/8"'), (pydantic.IPvAnyAddress, '"::"'),
    (ZoneInfo, '"UTC"'), (re.Pattern, '"a+"'), (pydantic.ByteSize, '"1 kB"'),
    (pydantic.Base64Str, '"YQ=="'),
    (Annotated[defaultdict[str, int], Field(min_length=1)], '{"a":1}'),
]  # fmt: skip
PYTHONS = [
    (bytes, '"a"'), (Decimal, '"1"'), (dt.date, '"2020-01-01"'), (dt.time, '"12:00"'),
    (dt.datetime, '"2020-01-01T00:00"'), (dt.timedelta, '"P1D"'), (tuple[int], "[1]"),
    (set[int], "[1]"), (frozenset[int], "[1]"), (deque[int], "[1]"),
    (OrderedDict[str, int], '{"a":1}'), (Counter[str], '{"a":1}'), (dict[int, int], '{"1":1}'),
    (dict[float, int], '{"1":1}'), (dict[bool, int], '{"true":1}'),
    (dict[dt.date, int], '{"2020-01-01":1}'), (dict[Number, int], '{"1":1}'),
    (pydantic.Base64Bytes, '"YQ=="'), (complex, '"1+2j"'), (Fraction, '"1/2"'),
    *((kind, text.replace("#", "\"a\"")) for kind, text in (
        (pydantic.SecretBytes, "#"), (list[pydantic.SecretBytes], "[#]"),
        (dict[pydantic.SecretBytes, int], "{#:1}"))),
]  # fmt: skip


def field(base: type[BaseModel], type_: Any) -> Any:
    return pydantic.create_model("M", __base__=base, x=(type_, ...))


@pytest.mark.parametrize(("type_", "text"), SAMPLES + PYTHONS)
def test_strict_types_are_read_from_json(type_: Any, text: str) -> None:
    check_offers(field(Model, type_), [f'{{"x":{text}}}'], [])


@pytest.mark.parametrize(("type_", "text"), SAMPLES)
def test_what_json_has_is_read_strictly_behind_a_function(type_: Any, text: str) -> None:
    check_offers(field(Looking, type_), [f'{{"x":{text}}}'], [])


@pytest.mark.parametrize(("type_", "text"), PYTHONS)
def test_what_json_has_not_is_refused_behind_a_function(type_: Any, text: str) -> None:
    for base in (Looking, Made):
        model = field(base, type_)
        assert not is_read(model, f'{{"x":{text}}}')
        with pytest.raises(UnsupportedError, match=r"a strict [a-z-]+ after a validator does not"):
            type_schema(model)


@pytest.mark.parametrize("type_", [
    Annotated[dt.date, Strict(), BeforeValidator(same)],
    Annotated[dt.date, Strict(), pydantic.WrapValidator(wrap)],
    defaultdict[Annotated[int, Strict()], int],
    defaultdict[Annotated[Number, Strict()], int],
    defaultdict[str, list[Annotated[dt.date, Strict()]]],
    dict[Annotated[int, Strict(), BeforeValidator(same)], int],
    pydantic.create_model("Both", first=(Day, ...), then=(defaultdict[str, list[Day]], ...)),
])  # fmt: skip
def test_functions_of_pydantics_count_and_the_use_counts_not_the_type(type_: Any) -> None:
    with pytest.raises(UnsupportedError, match=r"a strict [a-z]+ after a validator does not"):
        type_schema(type_)


class Loose(BaseModel):
    model_config = pydantic.ConfigDict(strict=True)
    day: Annotated[dt.date, Field(strict=False)]

    @pydantic.model_validator(mode="before")
    @classmethod
    def looks(cls, data: Any) -> Any:
        return data


def test_what_is_lax_or_told_or_checked_afterwards_is_on_offer() -> None:
    check_offers(Annotated[dt.date, Strict(), AfterValidator(same)], ['"2020-01-01"'], ['"a"'])
    check_offers(Loose, ['{"day":"2020-01-01"}'], ['{"day":"a"}'])
    told = BeforeValidator(dt.date.fromisoformat, json_schema_input_type=dt.date)
    check_offers(Annotated[dt.date, Strict(), told], ['"2020-01-01"'], [])
    kept = pydantic.create_model(
        "Kept", first=(Loose, ...), then=(defaultdict[str, list[Loose]], ...)
    )
    assert list(type_schema(kept).schema["$defs"]) == ["Loose"]
    plain = pydantic.PlainValidator(same, json_schema_input_type=Annotated[dt.date, Strict()])
    assert type_schema(Annotated[int, plain]).schema["format"] == "date"
