"""A finite constraint as arrays for a GPU."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from guideway.automaton.token_tries import words
from guideway.errors import LimitError
from guideway.language.budget import Budget, Meter
from guideway.language.derivative import Derivatives
from guideway.language.nodes import Expr
from guideway.language.regular import bytes_of
from guideway.vocabulary.vocabulary import Vocabulary


def byte_table(
    machine: Derivatives, start: Expr, most_states: int
) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """The states reachable from `start`, which is number 1; 0 is no state.

    Returns int32[states + 1, 256], the state after each byte, and bool[states + 1], whether it
    accepts.
    """
    numbers: dict[Expr, int] = {start: 1}
    rows = [np.zeros(256, np.int32)]
    queue = deque([start])
    while queue:
        row = np.zeros(256, np.int32)
        for members, target in _arcs(machine, queue.popleft()):
            if target not in numbers:
                numbers[target] = len(numbers) + 1
                queue.append(target)
            for byte in bytes_of(members):
                row[byte] = numbers[target]
        rows.append(row)
        if len(numbers) > most_states:
            raise LimitError(
                f"the constraint has more than {most_states} states, or infinitely many; tables "
                "need a finite constraint: if it is finite, raise most_states",
                limit="most_states",
                given=most_states,
            )
    return np.stack(rows), np.array([False, *map(machine.accepts, numbers)])


def _arcs(machine: Derivatives, state: Expr) -> Iterator[tuple[int, Expr]]:
    """Sets of bytes and the exact state after each; states with memory are read byte by byte."""
    blurred = machine.blurred(state)
    arcs = machine.arcs(blurred)
    for members, target in arcs:
        if blurred is state and not machine.unsure(target) and not machine.reads_capture(target):
            yield members, target
            continue
        for byte in bytes_of(members):
            exact = machine.step(state, byte)
            if exact is not None:
                yield 1 << byte, exact


STAYS: Final = 1


def token_functions(
    following: NDArray[np.int32], vocabulary: Vocabulary, most_bytes: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The tokens as functions on the states of a byte table, int32[states, 256].

    Returns int32[tokens with a spelling], the function of each in the order of the trie's
    `token_ids`, where 0 leads nowhere; and int32[functions, states], the state after each.
    """
    functions = _Functions(following, most_bytes)
    trie = vocabulary.trie
    found = np.zeros(len(trie) + 1, np.int32)
    found[-1] = STAYS  # the empty prefix
    for nodes, parents in vocabulary.levels:
        alive = np.flatnonzero(found[parents])
        if not alive.size:
            break
        above, here = found[parents[alive]], nodes[alive]
        found[here] = functions.extended(above, trie.byte[here])
    held = np.diff(trie.token_offsets)
    return np.repeat(found[:-1], held), np.stack(functions.rows)


class _Functions:
    def __init__(self, following: NDArray[np.int32], most_bytes: int) -> None:
        # Bytes that lead to the same state everywhere share a class.
        columns, self._byte_class = np.unique(following, axis=1, return_inverse=True)
        self._columns = np.ascontiguousarray(columns.T)
        self._most = most_bytes // (4 * len(following))
        self._most_bytes = most_bytes
        stays = np.arange(len(following), dtype=np.int32)
        self.rows = [np.zeros_like(stays), stays]
        self._numbers = {row.tobytes(): number for number, row in enumerate(self.rows)}
        self._extended: dict[int, int] = {}  # function * 256 + byte class → function

    def extended(self, function: NDArray[np.int32], byte: NDArray[np.uint8]) -> NDArray[np.int32]:
        """The functions with one more byte each."""
        pairs = function.astype(np.int64) << 8 | self._byte_class[byte]
        distinct, place = np.unique(pairs, return_inverse=True)
        known = self._extended
        for pair in distinct.tolist():
            if pair not in known:
                known[pair] = self._number(self._columns[pair & 255][self.rows[pair >> 8]])
        return np.array([known[pair] for pair in distinct.tolist()], np.int32)[place]

    def _number(self, row: NDArray[np.int32]) -> int:
        number = self._numbers.setdefault(row.tobytes(), len(self.rows))
        if number == len(self.rows):
            self.rows.append(row)
            if number > self._most:
                raise LimitError(
                    f"the tables take more than {self._most_bytes} bytes: simplify the source, or "
                    "pass a larger guideway.Budget(table_bytes=...)",
                    limit="table_bytes",
                    given=self._most_bytes,
                )
        return number


MOST_STATES: Final = 10_000
NO_STATE: Final = -1


@dataclass(frozen=True, slots=True, eq=False)
class Tables:
    """A finite constraint (drawn at the top of this module); read-only, contiguous arrays.

    Attributes:
        token_class: uint16[width] (int32 where there are more than 65,536 classes).
        next_state: int32[states, classes], -1 where the token is not allowed.
        mask: uint32[states, ceil(width / 32)], as `constraint.mask` packs it.
        accepting: bool[states].
        start: the number of the first state.

    Example:
        >>> import guideway as gw
        >>> vocabulary = gw.Vocabulary([b"a", b"b", b"ab", b"<eos>"], eos_ids={3})
        >>> tables = gw.compile(gw.Regex("a*b"), vocabulary).tables()
        >>> state = tables.next_state[tables.start, tables.token_class[2]]
        >>> bool(tables.accepting[state]), tables.mask[state].tolist()
        (True, [8])
    """

    token_class: NDArray[np.uint16 | np.int32]
    next_state: NDArray[np.int32]
    mask: NDArray[np.uint32]
    accepting: NDArray[np.bool_]
    start: int

    @property
    def nbytes(self) -> int:
        """Memory of the arrays, in bytes."""
        arrays = (self.token_class, self.next_state, self.mask, self.accepting)
        return sum(array.nbytes for array in arrays)


def build_tables(
    start: Expr, vocabulary: Vocabulary, budget: Budget, most_states: int = MOST_STATES
) -> Tables:
    """Tables of the language `start`, which begins with the lead of the vocabulary."""
    machine = Derivatives(start, vocabulary.spellable, Meter(budget).tick)
    bytes_after, accepting = byte_table(machine, start, most_states)
    functions, after = token_functions(bytes_after, vocabulary, budget.table_bytes)
    used, column = np.unique(functions, return_inverse=True)
    following = after[used].T
    if not vocabulary.closed:
        following = _without_dead_ends(following, accepting)
    states = _reachable(following)
    number = np.full(len(following), NO_STATE, np.int32)
    number[states] = np.arange(len(states))
    accepting = accepting[states]
    following = number[following[states]]

    never = np.full(len(states), NO_STATE, np.int32)
    following = np.column_stack([never, following])
    columns = np.zeros(vocabulary.width, np.int64)
    columns[vocabulary.trie.token_ids] = 1 + column
    if vocabulary.eos_ids:
        columns[sorted(vocabulary.eos_ids)] = following.shape[1]
        following = _with_end(following, accepting)
        accepting = np.append(accepting, True)
    # np.unique sorts: the all -1 column becomes the first.
    next_state, merged = np.unique(following, axis=1, return_inverse=True)
    return packed(merged[columns], next_state, accepting, budget)


def _with_end(following: NDArray[np.int32], accepting: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Add a column for end ids, and a state that allows only them."""
    ended = len(following)
    row = np.full((1, following.shape[1]), NO_STATE, np.int32)
    column = np.append(np.where(accepting, ended, NO_STATE), ended).astype(np.int32)
    return np.column_stack([np.concatenate([following, row]), column])


def _without_dead_ends(
    following: NDArray[np.int32], accepting: NDArray[np.bool_]
) -> NDArray[np.int32]:
    """`following` without states that cannot reach an accepting one."""
    alive = accepting.copy()
    while True:
        pending = np.flatnonzero(~alive)
        fresh = pending[alive[following[pending]].any(axis=1)]
        if not fresh.size:
            return np.where(alive[following], following, np.int32(0))
        alive[fresh] = True


def _reachable(following: NDArray[np.int32]) -> NDArray[np.int64]:
    """The states reachable from state 1, in the order of their distance."""
    seen = np.zeros(len(following), np.bool_)
    seen[:2] = True
    levels = [np.array([1])]
    while levels[-1].size:
        targets = np.unique(following[levels[-1]])
        fresh = targets[~seen[targets]]
        seen[fresh] = True
        levels.append(fresh)
    return np.concatenate(levels)


def packed(
    token_class: NDArray[np.int64],
    next_state: NDArray[np.int32],
    accepting: NDArray[np.bool_],
    budget: Budget,
) -> Tables:
    """The tables with masks; state 0 is the start."""
    states, classes = next_state.shape
    width = words(len(token_class))
    needed = states * (4 * classes + 4 * width)
    if needed > budget.table_bytes:
        raise LimitError(
            f"the tables of {states} states take {needed} bytes, and the budget allows "
            f"{budget.table_bytes}: pass a larger guideway.Budget(table_bytes=...)",
            limit="table_bytes",
            given=budget.table_bytes,
            needed=needed,
        )
    narrow = token_class.astype(np.uint16 if classes <= 1 << 16 else np.int32)
    allowed = next_state >= 0
    mask = np.zeros((states, 4 * width), np.uint8)
    for state in range(states):
        packed = np.packbits(allowed[state][narrow], bitorder="little")
        mask[state, : len(packed)] = packed
    arrays = (narrow, np.ascontiguousarray(next_state), mask.view(np.uint32), accepting)
    for array in arrays:
        array.flags.writeable = False
    return Tables(*arrays, start=0)
