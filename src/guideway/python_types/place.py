"""A place in a type, and the errors raised there.

A core schema is pydantic's own tree of a type (`pydantic_core.core_schema`). It says exactly what
is valid, which the JSON Schema that pydantic publishes does not.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, cast

from guideway.errors import SourceError, UnsupportedError

Core: TypeAlias = Mapping[str, Any]
Schema: TypeAlias = dict[str, Any]

_INPUT_SCHEMA = "json_schema_input_schema"


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a type: `Person.address.zip`, `Person.tags[]`, `Person.prices{}`.

    Attributes:
        path: steps from the type.
        config: pydantic's configuration there.
        definitions: targets of the references in the type.
        in_python: a function has made Python objects of the JSON.
        again: the value is validated once more, as a Python object.
        followed: references followed since the last part of the value.
        plain: decimals have no digits that make no difference.
    """

    path: str
    config: Core = field(default_factory=dict[str, Any])
    definitions: Mapping[str, Core] = field(default_factory=dict[str, Core])
    in_python: bool = False
    again: bool = False
    followed: frozenset[str] = frozenset()
    plain: bool = False

    def child(self, step: str) -> "Place":
        return replace(self, path=f"{self.path}{step}", followed=frozenset())

    def configured(self, config: Core | None) -> "Place":
        """This place under the configuration of a type, if it has one."""
        return self if config is None else replace(self, config=config)

    def resolved(self, core: Core) -> Core:
        """`core`, or the target if it is a reference."""
        while core["type"] == "definition-ref":
            core = self.definitions[core["schema_ref"]]
        return core

    def following(self, core: Core) -> tuple[Core, "Place"]:
        """`core` or the target of its references, and the place; a circle is refused."""
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
        own = core.get("strict")
        return bool(self.config.get("strict") if own is None else own)

    def inside_function(self, core: Core) -> "Place":
        """The place inside the function `core`; the same if that declares its JSON input."""
        first = core["type"] in ("function-before", "function-wrap")
        return replace(self, in_python=True) if first and _INPUT_SCHEMA not in core else self

    def check_strict(self, core: Core, kinds: Collection[str]) -> None:
        """Refuse a strict type among `kinds` inside a function, where it gets a str or list."""
        if self.in_python and core["type"] in kinds and self.is_strict(core):
            raise self.refuse(
                f"a strict {core['type']} after a validator",
                "does not accept the strings and lists of JSON; make it lax, or give the validator "
                "a json_schema_input_type",
                "strict",
            )

    def refuse(self, what: str, why: str, feature: str = "") -> UnsupportedError:
        """The error for a part that no schema expresses exactly."""
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
    """An integer without fraction and exponent, with more keywords."""
    return {"$ref": INTEGER, **more}


def side_of(core: Core, at: Place) -> Core:
    """The side of a `lax-or-strict` that holds; a strict defaultdict ends with its lax side."""
    strict = at.is_strict(core) and core["strict_schema"]["type"] != "chain"
    side: Core = core["strict_schema" if strict else "lax_schema"]
    return side


def union_parts(core: Core) -> Iterator[Core]:
    """Members of a union, without their labels."""
    choices: list[Any] = core["choices"]
    for part in choices:
        yield cast("Core", part[0]) if isinstance(part, tuple) else part
