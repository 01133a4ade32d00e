"""Random Python types, nested as people nest them, each with random values that it has.

Values are made beside the type, not from what pydantic says of it, so that nothing here shares code
with what reads types.
"""

import dataclasses
import datetime as dt
import enum
import random
import string
import typing
import uuid
from collections.abc import Callable
from decimal import Decimal
from ipaddress import IPv4Address, IPv6Address
from typing import Annotated, Any, ForwardRef, Literal, NamedTuple, NotRequired, Optional, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, RootModel, create_model
from typing_extensions import TypedDict

Value: TypeAlias = Callable[[], Any]
Typed: TypeAlias = tuple[Any, Value]

_LETTERS = 'abcXYZ019 _-é💩"\\\n/'
_PATTERNS = {
    r"^[a-c]{2,4}$": ("ab", "abc", "cab", "aaaa"),
    r"^\d{3}-\d{2}$": ("123-45", "000-00"),
    r"^x": ("x", "xyz", "x\n"),
    r"(foo|bar)+$": ("foo", "a bar", "foobar"),
}


class Types:
    """A stream of random types.

    Args:
        seed: of all choices.
    """

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self._count = 0

    def any(self, depth: int = 3) -> Typed:
        """Some type, nested no deeper than that."""
        kinds = [self.scalar] * 3
        if depth > 0:
            kinds += [self.container, self.container, self.record, self.record, self.union]
        return self.chance.choice(kinds)(depth)

    def scalar(self, _depth: int = 0) -> Typed:
        return self.chance.choice(
            [self.integer, self.float, self.text, self.text, self.choice, self.decimal, self.plain]
        )()

    def integer(self) -> Typed:
        chance, limits = self.chance, dict[str, int]()
        low, high, step = -(10**6), 10**6, 1
        if chance.random() < 0.4:
            low = limits["ge"] = chance.randint(-50, 50)
        if chance.random() < 0.4:
            high = low + chance.randint(3, 200)
            limits["lt"] = high + 1
        if chance.random() < 0.2:
            step = limits["multiple_of"] = chance.randint(2, 3)
        first = -(-low // step)
        return _with(int, limits), lambda: step * chance.randint(first, high // step)

    def float(self) -> Typed:
        chance, limits = self.chance, dict[str, Any]()
        low, high = -1e9, 1e9
        if chance.random() < 0.3:
            low = limits["gt"] = chance.choice([-0.5, 0.0, 1.25])
        if chance.random() < 0.3:
            high = limits["le"] = chance.choice([2.0, 1e5, 1.7976931348623157e308])
        tiny = [low + (high - low) / 2, 1.5, high, *([1e-9] if low < 1e-9 else [])]
        return _with(float, limits), lambda: chance.choice(
            [chance.uniform(low, high) or 1.5, *tiny]
        )

    def text(self) -> Typed:
        chance, limits = self.chance, dict[str, Any]()
        if chance.random() < 0.2:
            pattern = chance.choice(list(_PATTERNS))
            return _with(str, {"pattern": pattern}), lambda: chance.choice(_PATTERNS[pattern])
        low, high = 0, 6
        if chance.random() < 0.3:
            low = limits["min_length"] = chance.randint(1, 4)
        if chance.random() < 0.3:
            high = limits["max_length"] = low + chance.randint(0, 5)
        high = max(low, high)
        return _with(str, limits), lambda: "".join(
            chance.choice(_LETTERS) for _ in range(chance.randint(low, high))
        )

    def choice(self) -> Typed:
        chance = self.chance
        values: list[Any] = ["a", "b b", 'c"', "", "é", 1, 0, -7, True, None]
        found = chance.sample(values, chance.randint(1, 4))
        if chance.random() < 0.5:
            return Literal[tuple(found)], lambda: chance.choice(found)
        members = chance.sample(["a", "bé", "c c", 3, 40, 2.5], chance.randint(1, 4))
        made = enum.Enum(self._name("Enum"), {f"M{n}": v for n, v in enumerate(members)})
        return made, lambda: chance.choice(list(made))

    def decimal(self) -> Typed:
        chance, limits = self.chance, dict[str, Any]()
        whole, places = 6, 3
        if chance.random() < 0.5:
            places = limits["decimal_places"] = chance.randint(0, 3)
        if chance.random() < 0.5:
            limits["max_digits"] = places + chance.randint(1, 4)
            whole = limits["max_digits"] - places
        if chance.random() < 0.3:
            limits["ge"] = 0
        low = 0 if "ge" in limits else -(10 ** (whole + places)) + 1
        top = 10 ** (whole + places) - 1
        return _with(Decimal, limits), lambda: Decimal(chance.randint(low, top)).scaleb(-places)

    def plain(self) -> Typed:
        chance = self.chance
        days = dt.date(1, 1, 1).toordinal(), dt.date(9999, 12, 31).toordinal()

        def day() -> dt.date:
            return dt.date.fromordinal(chance.randint(*days))

        def time() -> dt.time:
            zone = chance.choice([None, dt.UTC, dt.timezone(dt.timedelta(hours=-3, minutes=-30))])
            micro = chance.choice([0, 120000, 123456])
            return dt.time(chance.randint(0, 23), 59, chance.randint(0, 59), micro, tzinfo=zone)

        kinds: list[Typed] = [
            (bool, lambda: chance.random() < 0.5),
            (type(None), lambda: None),
            (dt.date, day),
            (dt.time, time),
            (dt.datetime, lambda: dt.datetime.combine(day(), time())),
            (
                dt.timedelta,
                lambda: dt.timedelta(chance.randint(-400, 400), chance.randint(0, 9**5)),
            ),
            (uuid.UUID, lambda: uuid.UUID(int=chance.getrandbits(128))),
            (bytes, lambda: "".join(chance.choices(string.ascii_letters, k=3)).encode()),
            (IPv4Address, lambda: IPv4Address(chance.getrandbits(32))),
            (IPv6Address, lambda: IPv6Address(chance.getrandbits(128))),
        ]
        return chance.choice(kinds)

    def container(self, depth: int) -> Typed:
        return self.chance.choice([self.row, self.row, self.unordered, self.pair, self.mapping])(
            depth
        )

    def row(self, depth: int) -> Typed:
        chance, (item, value), limits = self.chance, self.any(depth - 1), dict[str, int]()
        low, high = 0, 3
        if chance.random() < 0.3:
            low = limits["min_length"] = chance.randint(1, 2)
        if chance.random() < 0.3:
            high = limits["max_length"] = low + chance.randint(0, 2)
        if chance.random() < 0.2:
            return tuple[item, ...], lambda: tuple(value() for _ in range(chance.randint(0, 3)))
        high = max(low, high)
        return _with(list[item], limits), lambda: [
            value() for _ in range(chance.randint(low, high))
        ]

    def unordered(self, _depth: int) -> Typed:
        chance, (item, value) = self.chance, self.scalar()
        kind: Any = chance.choice([set, frozenset])
        limits = {"max_length": 3} if chance.random() < 0.3 else {}
        return _with(kind[item], limits), lambda: kind(value() for _ in range(chance.randint(0, 3)))

    def pair(self, depth: int) -> Typed:
        parts = [self.any(depth - 1) for _ in range(self.chance.randint(1, 3))]
        types = tuple(part for part, _ in parts)
        if self.chance.random() < 0.4:
            fields = [(f"f{n}", part) for n, part in enumerate(types)]
            made = NamedTuple(self._name("Row"), fields)  # pyright: ignore[reportUntypedNamedTuple]
            return made, lambda: made(*(value() for _, value in parts))
        return tuple[types], lambda: tuple(value() for _, value in parts)

    def mapping(self, depth: int) -> Typed:
        chance, (item, value) = self.chance, self.any(depth - 1)
        key, name = chance.choice(
            [
                (str, lambda: chance.choice(["", "a", 'q"', "é"])),
                (int, lambda: chance.randint(-5, 1000)),
                (uuid.UUID, lambda: uuid.UUID(int=chance.getrandbits(128))),
                (dt.date, lambda: dt.date(2024, 2, chance.randint(1, 29))),
                (Literal["x", "yy"], lambda: chance.choice(["x", "yy"])),
                (Annotated[str, Field(max_length=2)], lambda: chance.choice(["", "é", "ab"])),
            ]
        )
        limits = {"max_length": 2} if chance.random() < 0.2 else {}
        made = _with(dict[key, item], limits)
        return made, lambda: {name(): value() for _ in range(chance.randint(0, 2))}

    def union(self, depth: int) -> Typed:
        chance = self.chance
        if chance.random() < 0.4:
            part, value = self.any(depth - 1)
            return Optional[part], lambda: chance.choice([None, value()])  # noqa: UP045  no class
        tagged = chance.random() < 0.4
        count = chance.randint(2, 3)
        if tagged:
            parts = [self._model(depth, tag=f"t{n}") for n in range(count)]
        else:
            parts = [self.any(depth - 1) for _ in range(count)]
        made: Any = typing.Union[tuple(part for part, _ in parts)]  # noqa: UP007  as many as there are
        if tagged and chance.random() < 0.7:
            made = Annotated[made, Field(discriminator="tag")]

        def value_of_one() -> Any:
            _, one = chance.choice(parts)
            return one()

        return made, value_of_one

    def record(self, depth: int) -> Typed:
        chance = self.chance
        kind = chance.randrange(5)
        if kind == 0:
            return self._dataclass(depth)
        if kind == 1:
            return self._typed_dict(depth)
        if kind == 2 and chance.random() < 0.5:
            part, value = self.any(depth - 1)
            root = type(self._name("Root"), (RootModel[part],), {})
            return root, lambda: root(value())
        return self._model(depth)

    def _dataclass(self, depth: int) -> Typed:
        parts = [self.any(depth - 1) for _ in range(self.chance.randint(1, 3))]
        fields: list[Any] = []
        for n, (part, value) in enumerate(parts):
            if self.chance.random() < 0.3 or (fields and len(fields[-1]) > 2):
                fields.append((f"f{n}", part, dataclasses.field(default_factory=value)))
            else:
                fields.append((f"f{n}", part))
        made = dataclasses.make_dataclass(self._name("Data"), fields)
        return made, lambda: made(*(value() for _, value in parts))

    def _typed_dict(self, depth: int) -> Typed:
        chance = self.chance
        parts = {f"k{n}": self.any(depth - 1) for n in range(chance.randint(1, 3))}
        missing = {key for key in parts if chance.random() < 0.4}
        fields = {key: NotRequired[p] if key in missing else p for key, (p, _) in parts.items()}
        made: Any = TypedDict(self._name("Dict"), fields)  # pyright: ignore[reportGeneralTypeIssues]
        return made, lambda: {
            key: value()
            for key, (_, value) in parts.items()
            if key not in missing or chance.random() < 0.5
        }

    def _model(self, depth: int, tag: str | None = None) -> Typed:
        chance = self.chance
        parts = {f"f{n}": self.any(depth - 1) for n in range(chance.randint(1, 3))}
        extra: Any = chance.choice(["ignore", "ignore", "forbid", "allow"])
        config = ConfigDict(extra=extra, validate_by_name=True)
        fields: dict[str, Any] = {}
        defaults = set[str]()
        for name, (part, value) in parts.items():
            options: dict[str, Any] = {"alias": f"the {name}"} if chance.random() < 0.2 else {}
            if chance.random() < 0.3:
                options["default_factory"] = value
                defaults.add(name)
            fields[name] = (part, Field(**options))
        if tag is not None:
            fields["tag"] = (Literal[tag], ...)
        if chance.random() < 0.2:
            own: Any = ForwardRef("Model")
            fields["child"] = (Optional[own], None)  # noqa: UP045  no class
        made: type[BaseModel] = create_model("Model", __config__=config, **fields)
        if "child" in fields:
            made.model_rebuild(_types_namespace={"Model": made})

        def value() -> Any:
            given = {
                name: make()
                for name, (_, make) in parts.items()
                if name not in defaults or chance.random() < 0.5
            }
            return made(**given, **({} if tag is None else {"tag": tag}))

        return made, value

    def _name(self, kind: str) -> str:
        self._count += 1
        return f"{kind}{self._count}"


def _with(kind: Any, limits: dict[str, Any]) -> Any:
    return Annotated[kind, Field(**limits)] if limits else kind
