"""A finite constraint as arrays, for loops on a GPU.

    token  ─ token_class ─▶ class          state × class ─ next_state ─▶ state, or -1
    state  ─ mask ─▶ packed tokens         state ─ accepting ─▶ may the text end here

Tokens with equal effects in every state share a class. Class 0 is never allowed. End ids are a
class and lead to one more state, the last. All states lie between the start and an accepting one.
"""

from dataclasses import dataclass
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from guideway.automata.budget import Budget, Meter
from guideway.automata.derivative import Derivatives
from guideway.constraints.byte_table import byte_table
from guideway.constraints.token_functions import token_functions
from guideway.errors import LimitError
from guideway.lowering.nodes import Expr
from guideway.masks.bits import words
from guideway.vocabulary.spellings import Vocabulary

MOST_STATES: Final = 10_000
NO_STATE: Final = -1


@final
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
    table = byte_table(machine, start, most_states)
    functions = token_functions(table.following, vocabulary.trie, budget.table_bytes)
    used, column = np.unique(functions.function, return_inverse=True)
    following = functions.after[used].T
    if not vocabulary.closed:
        following = _without_dead_ends(following, table.accepting)
    states = _reachable(following)
    number = np.full(len(following), NO_STATE, np.int32)
    number[states] = np.arange(len(states))
    accepting = table.accepting[states]
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
