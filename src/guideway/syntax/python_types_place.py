"""Where a reader of pydantic's core schemas stands, and how it refuses what stands there.

A core schema is pydantic's own tree of a type (a dict with a "type", documented in
`pydantic_core.core_schema`). It says exactly what is valid, which the JSON Schema that pydantic
publishes does not: that is why guideway reads the former.

This module knows no kind of type.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, cast, final

from guideway.errors import SourceError, UnsupportedError

Core: TypeAlias = Mapping[str, Any]
Schema: TypeAlias = dict[str, Any]

_SAID = "json_schema_input_schema"


@final
@dataclass(frozen=True, slots=True)
class Place:
    """A place in a type: `Person.address.zip`, `Person.tags[]`, `Person.prices{}`.

    Attributes:
        path: how to get there.
        config: pydantic's configuration that holds there.
        definitions: what the references in the type stand for.
        in_python: whether a function has made Python objects of the JSON that stands there.
        again: whether what is read of the JSON is read once more, as a Python object.
        followed: the references that lead here and into no part of the value.
        plain: whether numbers in strings are held to what their type can tell apart.
    """

    path: str
    config: Core = field(default_factory=dict[str, Any])
    definitions: Mapping[str, Core] = field(default_factory=dict[str, Core])
    in_python: bool = False
    again: bool = False
    followed: frozenset[str] = frozenset()
    plain: bool = False

    def child(self, step: str) -> "Place":
        """A part of this."""
        return replace(self, path=f"{self.path}{step}", followed=frozenset())

    def configured(self, config: Core | None) -> "Place":
        """This, under the configuration that the type brings, if it brings one."""
        return self if config is None else replace(self, config=config)

    def resolved(self, core: Core) -> Core:
        """`core`, or what it stands for if it is a reference."""
        while core["type"] == "definition-ref":
            core = self.definitions[core["schema_ref"]]
        return core

    def following(self, core: Core) -> tuple[Core, "Place"]:
        """`core`, or what it stands for, and the place of that.

        Raises:
            SourceError: it is what it is a part of, and of the same value.
        """
        at: Place = self
        while core["type"] == "definition-ref":
            ref: str = core["schema_ref"]
            if ref in at.followed:
                name = ref.rpartition(":")[0].rpartition(".")[2]
                told = f"{name} refers to itself without going into a part of the value"
                raise SourceError(told, place=self.path)
            core = self.definitions[ref]
            at = replace(at, followed=at.followed | {ref})
        return core, at

    def is_strict(self, core: Core) -> bool:
        """Whether `core` is read strictly: as it says itself, or else as is configured."""
        own = core.get("strict")
        return bool(self.config.get("strict") if own is None else own)

    def behind(self, core: Core) -> "Place":
        """What the function `core` is put around, unless it says itself what JSON it takes."""
        first = core["type"] in ("function-before", "function-wrap")
        return replace(self, in_python=True) if first and _SAID not in core else self

    def check_strict(self, core: Core, kinds: Collection[str]) -> None:
        """Refuse a strict type among `kinds` behind a function.

        Raises:
            UnsupportedError: it is one; there it is given a str or a list, and takes neither.
        """
        if self.in_python and core["type"] in kinds and self.is_strict(core):
            raise self.refuse(
                f"a strict {core['type']} after a validator",
                "does not accept the strings and lists of JSON; make it lax, or give the validator "
                "a json_schema_input_type",
                "strict",
            )

    def refuse(self, what: str, why: str, feature: str = "") -> UnsupportedError:
        """The error for something at this place that no schema can say exactly."""
        return UnsupportedError(f"{what} {why}", feature=feature or what, place=self.path)


Read: TypeAlias = Callable[[Core, Place], Schema]

BETTER = "BaseModel, dataclass or TypedDict"  # what a class without JSON should be

INTEGER = "#/$defs/integer"
INTEGER_SCHEMA: Schema = {
    # pydantic reads 1.0 and 1e2 as integers, but not 1e20, and in strict mode none of them. JSON
    # Schema can say "digits only" in one way: draft 4's integer, which 1.0 is not.
    "id": "integer",
    "$schema": "http://json-schema.org/draft-04/schema#",
    "type": "integer",
}


def integer(**more: object) -> Schema:
    """Digits with or without a sign, further limited by the keywords `more`."""
    return {"$ref": INTEGER, **more}


def side_of(core: Core, at: Place) -> Core:
    """What of a `lax-or-strict` holds at a place; a strict defaultdict ends with its lax side."""
    strict = at.is_strict(core) and core["strict_schema"]["type"] != "chain"
    side: Core = core["strict_schema" if strict else "lax_schema"]
    return side


def union_parts(core: Core) -> Iterator[Core]:
    """The members of a union, without the labels that they may have."""
    choices: list[Any] = core["choices"]
    for part in choices:
        yield cast("Core", part[0]) if isinstance(part, tuple) else part
