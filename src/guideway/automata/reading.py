"""Derivatives by one byte that keep the bytes of captures."""

from collections.abc import Callable, Iterable
from typing import TypeAlias

from guideway.automata.captures import known_capture, options_of, read_items
from guideway.automata.nearest import Ways
from guideway.lowering.aheads import looking, parts
from guideway.lowering.alternatives import alt_by_head
from guideway.lowering.expr import ahead, alt, capture, concat
from guideway.lowering.nodes import Expr

Derive: TypeAlias = Callable[[Expr, int], Expr]
"""The derivative of an expression by a byte that forgets what captures at its head have read."""


def read_byte(state: Expr, byte: int, derive: Derive) -> Expr:
    """The derivative by a byte with captured bytes; inner captures first."""
    if state.regular:
        return derive(state, byte)
    after: dict[Expr, Expr] = {}
    stack = [state]
    while stack:
        node = stack[-1]
        inner = [item for item in read_items(node) if item not in after]
        if inner:
            stack.extend(inner)
            continue
        options = options_of(stack.pop())
        after[node] = alt_by_head([_after(option, byte, after, derive) for option in options])
    return after[state]


def _after(option: Expr, byte: int, after: dict[Expr, Expr], derive: Derive) -> Expr:
    known = known_capture(option)
    if known is None:
        return derive(option, byte)
    leads, option = looking(option)
    going = [ahead(derive(lead.item, byte), lead.level) for lead in leads]
    read, item = known.read or b"", after.get(known.item)
    item = derive(known.item, byte) if item is None else item
    going_on = capture(item, read + bytes((byte,)), known.template, known.argument)
    if known.item.nullable:
        resumed = known.template.resume(known.argument, read)
        going_on = alt(going_on, derive(resumed, byte))
    return concat(*going, going_on, parts(option)[1])


def split(state: Expr) -> tuple[list[Expr], list[Expr]]:
    """Alternatives without an open capture, and those with one."""
    plain, reading = list[Expr](), list[Expr]()
    for option in options_of(state):
        (plain if known_capture(option) is None else reading).append(option)
    return ([state], []) if not reading else (plain, reading)


def ways_on(option: Expr, lines: Iterable[tuple[int, Expr]], derive: Derive) -> Ways:
    """Lazily, in byte order, the derivatives by the bytes of the lines."""
    first = 0
    for members, _ in lines:
        first |= members
    for byte in range(256):
        if first >> byte & 1:
            yield byte, read_byte(option, byte, derive)
