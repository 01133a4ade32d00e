"""Calls of tools that a text has, as values."""

from dataclasses import dataclass
from typing import Any, TypeGuard, cast, final


@final
@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of a tool.

    Attributes:
        name: of the tool.
        arguments: what they are read as: a pydantic model, a dict of a callable's arguments, or the
            JSON's data; None where a validator refused them (`result.error`).
        text: the arguments as they were written, in JSON.
        tool: what was given as the tool: `call.tool(**call.arguments)` runs a callable.
    """

    name: str
    arguments: Any
    text: str
    tool: Any


def called(value: object) -> tuple[ToolCall, ...]:
    """The calls that a value consists of, () if it is something else."""
    return value if _are_calls(value) else ()


def _are_calls(value: object) -> TypeGuard[tuple[ToolCall, ...]]:
    items = cast("tuple[object, ...]", value) if isinstance(value, tuple) else (None,)
    return all(isinstance(item, ToolCall) for item in items)
