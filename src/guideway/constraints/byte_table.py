"""A finite language as a table over bytes."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from guideway.automata.derivative import Derivatives
from guideway.errors import LimitError
from guideway.lowering.nodes import Expr


@final
@dataclass(frozen=True, slots=True, eq=False)
class ByteTable:
    """All states of a language, numbered from 1; 0 is no state.

    `following`: int32[states + 1, 256]. `accepting`: bool[states + 1].
    """

    following: NDArray[np.int32]
    accepting: NDArray[np.bool_]


def byte_table(machine: Derivatives, start: Expr, most_states: int) -> ByteTable:
    """The table of the states reachable from `start`, which is number 1."""
    numbers: dict[Expr, int] = {start: 1}
    rows = [np.zeros(256, np.int32)]
    queue = deque([start])
    while queue:
        row = np.zeros(256, np.int32)
        for members, target in _arcs(machine, queue.popleft()):
            if target not in numbers:
                numbers[target] = len(numbers) + 1
                queue.append(target)
            for byte in _bytes(members):
                row[byte] = numbers[target]
        rows.append(row)
        if len(numbers) > most_states:
            raise LimitError(
                f"the constraint has more than {most_states} states, or infinitely many; tables "
                "need a finite constraint: if it is finite, raise most_states",
                limit="most_states",
                given=most_states,
            )
    return ByteTable(np.stack(rows), np.array([False, *map(machine.accepts, numbers)]))


def _arcs(machine: Derivatives, state: Expr) -> Iterator[tuple[int, Expr]]:
    """Sets of bytes and the exact state after each; states with memory are read byte by byte."""
    blurred = machine.blurred(state)
    arcs = machine.arcs(blurred)
    for members, target in arcs:
        if blurred is state and not machine.unsure(target) and not machine.reads_capture(target):
            yield members, target
            continue
        for byte in _bytes(members):
            exact = machine.step(state, byte)
            if exact is not None:
                yield 1 << byte, exact


def _bytes(members: int) -> list[int]:
    return [byte for byte in range(256) if members >> byte & 1]
