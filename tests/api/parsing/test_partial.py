"""Typed values of unfinished texts: they grow, they never raise, and end as the value itself."""

import dataclasses
import datetime as dt
import json
from collections import deque
from collections.abc import Iterator
from decimal import Decimal
from itertools import pairwise
from typing import Annotated, Any, Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import (
    AliasPath,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    RootModel,
    TypeAdapter,
    field_validator,
)
from pydantic_core import PydanticUndefined

from guideway.api.parsing.partial import NOTHING, read_partial, read_prefix
from type_samples import TYPES, Cat, Color, Dog, Options, Pet, Point


def partial(type_: Any, text: str) -> Any:
    return read_partial(TypeAdapter(type_), text)


class Address(BaseModel):
    street: str
    zip: str = "00000"


class Person(BaseModel):
    name: str
    born: dt.date
    tags: list[str] = []
    home: Address
    friend: Optional["Person"] = None


def shown(type_: type[BaseModel], **fields: Any) -> BaseModel:
    """A model with these fields; others have their default or None."""
    given = {n: f.get_default(call_default_factory=True) for n, f in type_.model_fields.items()}
    empty = {n: None if value is PydanticUndefined else value for n, value in given.items()}
    return type_.model_construct({*fields}, **{**empty, **fields})


FULL = Person(
    name="Ada",
    born=dt.date(1815, 12, 10),
    tags=["x", "yz"],
    home=Address(street="St James"),
    friend=Person(name="Bo", born=dt.date(1800, 1, 1), home=Address(street="B")),
)


def prefixes(text: str) -> Iterator[str]:
    for end in range(len(text) + 1):
        yield text[:end]


def test_a_model_grows_and_ends_as_the_value_itself() -> None:
    value, seen = None, list[set[str]]()
    for text in prefixes(FULL.model_dump_json(indent=1)):
        value = partial(Person, text)
        if value is not None:
            assert isinstance(value, Person)
            seen.append(value.model_fields_set)
    assert value == FULL
    assert all(before <= after for before, after in pairwise(seen))


def test_fields_that_have_not_come_are_their_default_or_none() -> None:
    value = partial(Person, '{"name": "Ad')
    assert (value.name, value.born, value.tags, value.home) == ("Ad", None, [], None)
    assert value.model_fields_set == {"name"}


@pytest.mark.parametrize("name", TYPES)
def test_no_prefix_of_any_type_raises_and_the_whole_is_the_value(name: str) -> None:
    adapter = TypeAdapter(TYPES[name]) if name != "callable" else TypeAdapter(bool)
    texts = {
        "model": '{"name":"a","age":3,"home":{"street":"s","zip":"12345"},"tags":["x"]}',
        "tagged union": '{"kind":"dog","friend":{"kind":"cat","lives":9}}',
        "recursive model": '{"value":1,"children":[{"value":2,"left":{"value":3}}]}',
        "named tuple": '[1,"here"]',
        "root model": '{"red":[{"kind":"cat","lives":3}]}',
        "open model": '{"Size":1,"more":2}',
        "dataclass": '{"title":"t","steps":[1,2]}',
        "typed dict": '{"depth":1,"name":"n"}',
        "defaultdict": '{"a":[1]}',
        "any": '{"a":[1,{"b":"c"}]}',
        "generic model": '{"item":"2024-05-31"}',
    }
    text = texts.get(name, "[1,2]")
    for begun in prefixes(text):
        read_partial(adapter, begun)
    if name in texts:
        assert read_partial(adapter, text) == adapter.validate_json(text)


@dataclasses.dataclass
class Task:
    title: str
    steps: list[int] = dataclasses.field(default_factory=list[int])
    done: bool = False

    def __post_init__(self) -> None:
        self.title = self.title.strip()  # would raise on None


class Roots(RootModel[list[int]]):
    pass


class Checked(BaseModel):
    even: int | None = None
    text: str

    @field_validator("even")
    @classmethod
    def is_even(cls, value: int) -> int:
        assert value % 2 == 0
        return value


class Hooked(BaseModel):
    left: int
    right: int

    def model_post_init(self, context: Any, /) -> None:
        assert self.left < self.right


@pytest.mark.parametrize(("type_", "text", "value"), [
    (int, "12", None),
    (int, "12 ", 12),
    (str, '"a\\nb', "a\nb"),
    (Color, '"r', None),
    (Decimal, '"1.', None),
    (str | None, '"a', "a"),
    (int | str, '"a', "a"),
    (int | Color, '"r', None),
    (list[str], '["a", "b', ["a", "b"]),
    (list[int], "[1, 2", [1]),
    (list[Any], '[1, {"a": "b', [1, {"a": "b"}]),
    (list, '["a', ["a"]),
    (dict, '{"a": "b', {"a": "b"}),
    (tuple[int, str, bool], '[1, "b', (1, "b")),
    (tuple[int, ...], "[1, 2, 3", (1, 2)),
    (set[int], "[1, 1, 2", {1}),
    (frozenset[str], '["a", "b', frozenset({"a", "b"})),
    (deque[int], "[1, 2", [1]),
    (dict[int, str], '{"1": "a', {1: "a"}),
    (dict[Color, list[int]], '{"red": [1, ', {Color.RED: [1]}),
    (dict[Color, list[int]], '{"blue": [1, ', {}),
    (dict[str, int], '{"a": 1, "b": 2', {"a": 1}),
    (Point, "[1, ", Point(1, None)),
    (Point, '[1, "x', Point(1, "x")),
    (Point, "[1", Point(None, None)),
    (Options, '{"depth": 1, "na', {"depth": 1}),
    (Roots, "[1, 2", Roots([1])),
    (Roots, '"a', None),
    (Person, "[", None),
    (Person, '{"home": {"street": "St', shown(Person, home=Address(street="St"))),
    (Person, '{"friend": {"name": "B', shown(Person, friend=shown(Person, name="B"))),
    *((Person, text, shown(Person)) for text in ('{"born": "1815-1', '{"born": 181', '{"born": ')),
    (Task, '{"title": " a "}', Task("a")),
    (Pet, '{"friend": null, ', None),
    (Pet, '{"kind": "d', None),
    (Pet, '{"kind": "dog", "friend": {"kind": "ca', Dog(kind="dog")),
    (Pet, '{"kind": "cow", "friend": null', None),
    (list[Pet], '[{"kind": "cat", "lives": 9}, {', [Cat(kind="cat", lives=9)]),
    (Checked, '{"even": 1, "text": "a', Checked(text="a")),
    (Checked, '{"even": 1, "text": "a"}', None),
    (Hooked, '{"left": 1, ', {"left": 1}),
    (JsonValue, '{"a": [1, "b', {"a": [1, "b"]}),
    (Annotated[Person | Address, Field(union_mode="left_to_right")], '{"street": "a',
     Address(street="a")),
    (Address | dict[str, int], '{"x": 1, ', {"x": 1}),
    (Address | int, '{"x": 1, ', None),
])  # fmt: skip
def test_what_has_come_is_shown(type_: Any, text: str, value: Any) -> None:
    assert partial(type_, text) == value == partial(type_, text)


def test_a_dataclass_is_shown_before_its_hook_has_run() -> None:
    assert partial(Task, '{"steps": [1, 2').steps == [1]
    assert partial(Task, '{"steps": [1').title is None


class Aliased(BaseModel):
    model_config = ConfigDict(extra="allow")
    size: int = Field(alias="Size")


class Deep(BaseModel):
    deep: int = Field(validation_alias=AliasPath("a", 0))


def test_aliases_and_undeclared_keys_are_kept() -> None:
    value = partial(Aliased, '{"Size": 1, "more": ["a')
    assert (value.size, value.model_extra) == (1, {"more": ["a"]})


@pytest.mark.parametrize(
    "text", ["[" * 20_000, "[" * 600 + "]" * 600 + " ", '{"a": ' + "9" * 5_000 + ","]
)
def test_what_is_too_deep_or_too_long_for_python_shows_nothing_or_less(text: str) -> None:
    assert partial(Any, text) in (None, {})
    assert partial(JsonValue, text) in (None, {})


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)


def begins(part: Any, whole: Any) -> bool:
    """Whether `part` is what `whole` may look like before it is all there."""
    match part, whole:
        case str(), str():
            return whole.startswith(part)
        case list(), list():
            return len(part) <= len(whole) and all(map(begins, part, whole))
        case dict(), dict():
            return list(part) == list(whole)[: len(part)] and all(
                begins(part[key], whole[key]) for key in part
            )
        case _:
            return part == whole and type(part) is type(whole)


@given(VALUES, st.booleans(), st.data())
def test_every_prefix_of_a_text_shows_a_beginning_of_its_value(
    value: Any, ascii_only: bool, data: st.DataObject
) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=data.draw(st.none() | st.just(1)))
    cut = data.draw(st.integers(0, len(text)))
    part, levels = read_prefix(text[:cut])
    assert part is NOTHING or begins(part, value)
    assert cut < len(text) or levels == 0


@given(st.text(st.sampled_from('{}[]",:\\u01ae-. tn')))
def test_no_text_makes_it_raise(text: str) -> None:
    read_prefix(text)


@pytest.mark.parametrize(("text", "seen"), [
    ("", NOTHING), ("1", NOTHING), ("1 ", 1), ("tru", NOTHING), ("true", True), ("]", NOTHING),
    (r'"a\u00', "a"), (r'"a\ud83d', "a"), (r'"a\ud83d\ude00', "a😀"), ('{"a":', {}),
    ('{"a": {"b": [nul', {"a": {"b": []}}), ('{"a": "b 1', {"a": "b 1"}),
])  # fmt: skip
def test_what_is_not_whole_does_not_count(text: str, seen: Any) -> None:
    assert read_prefix(text)[0] == seen


@pytest.mark.parametrize(("text", "levels"), [
    ("[1, 2] ", 0), ('{"a": [1], "b": ["c", "d', 3), ('{"a": [1], "b": ["c", "d"', 2),
    ('{"a": [1], "b', 1), ('{"a": "]", "b": [[', 3),
])  # fmt: skip
def test_only_the_last_parts_are_open(text: str, levels: int) -> None:
    assert read_prefix(text)[1] == levels
