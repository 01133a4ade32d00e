"""Memories with a bound: what is forgotten is found again, the same."""

from typing import TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


def remember(memory: dict[Key, Value], key: Key, value: Value, most: int) -> Value:
    """Keep a value; where there are `most` already, they are forgotten first.

    >>> memory = {1: "a", 2: "b"}
    >>> remember(memory, 3, "c", 2), memory
    ('c', {3: 'c'})
    """
    if len(memory) >= most:
        memory.clear()
    memory[key] = value
    return value
