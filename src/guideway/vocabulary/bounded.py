"""Memories with a bound: what is forgotten is found again, the same."""

from typing import TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


def remember(memory: dict[Key, Value], key: Key, value: Value, most: int) -> Value:
    """Store a value; clear the memory first if it has `most` entries."""
    if len(memory) >= most:
        memory.clear()
    memory[key] = value
    return value
