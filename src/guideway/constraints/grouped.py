"""Tokens of a mask grouped by the state they lead to, so that one of each group is measured.

Kernels give the groups with the mask, and mostly a bound on the rest (`masks.foresight`). The plain
engine reads only the shortest token of each other group: reading all took 6 ms for half of the
masks of new JSON Schemas, and 7.8 s at a lookahead of python.lark. Tokens that stay within a string
are one group with the bound of its farthest place.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from guideway.automata.derivative import Derivatives
from guideway.lowering.nodes import Expr
from guideway.masks.bits import Row, unpack
from guideway.masks.foresight import MOST, Foresight
from guideway.masks.state import ALL, State
from guideway.masks.states import States
from guideway.vocabulary.spellings import Vocabulary

NONE: Final = np.empty(0, np.int32)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Tokens that lead to the same state.

    `most`: number of bytes that suffice for an end after them, None if unknown. `staying` tokens
    stay within a string, in several states.
    """

    tokens: NDArray[np.int32]
    most: int | None
    staying: bool = False


@final
class Groups:
    """The groups of one mask. `most`: bytes that suffice after any of them, None if unknown."""

    def __init__(self, each: list[Group], ways: "_Ways") -> None:
        self.each, self._ways = each, ways
        found = [group.most for group in each if group.most is not None]
        self.most = max(found, default=0) if len(found) == len(each) else None

    def after(self, group: Group) -> Expr:
        return self._ways.after(group.tokens)

    def without(self, token: int) -> NDArray[np.int32]:
        others = [group.tokens for group in self.each if token not in group.tokens]
        return np.concatenate([NONE, *others])


@final
class _Ways:
    """Languages after tokens, each read from its longest known prefix."""

    def __init__(
        self, rest: Callable[[], Expr], machine: Derivatives, vocabulary: Vocabulary
    ) -> None:
        self._rest, self._machine, self._vocabulary = rest, machine, vocabulary
        self._known = dict[bytes, Expr]()

    def after(self, tokens: NDArray[np.int32]) -> Expr:
        """The language after the shortest of these tokens."""
        shortest = int(tokens[self._vocabulary.lengths[tokens].argmin()])
        text = self._vocabulary.tokens[shortest] or b""
        known, length = self._known, len(text)
        if not known:  # the plain engine reads the whole text for it
            known[b""] = self._rest()
        while text[:length] not in known:
            length -= 1
        rest = known[text[:length]]
        for place in range(length, len(text)):
            rest = known[text[: place + 1]] = self._machine.after(rest, text[place])
        self._machine.trust(rest)
        return rest


@final
class Grouping:
    """The groups of the masks of one constraint. Not thread safe; its owner locks."""

    def __init__(
        self, machine: Derivatives, states: States, foresight: Foresight, vocabulary: Vocabulary
    ) -> None:
        self._machine, self._states, self._vocabulary = machine, states, vocabulary
        self._foresight = foresight
        self._last: tuple[State, Groups | None] | None = None

    def groups(self, state: State, tokens: int = ALL) -> Groups | None:
        """The groups of a state's mask; None if kernels do not give them, or there are too many.

        Tokens that stay within a string are grouped by state if they might need more than `tokens`.
        """
        if self._last is None or self._last[0] is not state:
            self._last = state, self._grouped(state, self._foresight.staying(state))
        groups = self._last[1]
        if groups is not None and any(g.staying and (g.most or 0) > tokens for g in groups.each):
            groups = self._grouped(state, [])
            self._last = state, groups
        return groups

    def _grouped(self, state: State, staying: list[tuple[Row, int]]) -> Groups | None:
        mask, each = self._states.mask(state).copy(), list[Group]()
        ends = np.array(sorted(self._vocabulary.eos_ids), np.int64)
        for row, most in sorted(staying, key=itemgetter(1)):
            if (tokens := unpack(mask & row)).size:
                each.append(Group(tokens.astype(np.int32), most, staying=True))
                mask &= ~row
        tokens = np.setdiff1d(unpack(mask), ends, assume_unique=True)
        told = self._foresight.apart(state, tokens)
        if told is None or len(told[1]) > MOST:
            return None
        codes, most = told
        order = np.argsort(codes, kind="stable")
        begins = np.flatnonzero(np.diff(codes[order])) + 1
        each += [
            Group(tokens[part].astype(np.int32), most[int(codes[part[0]])])
            for part in np.split(order, begins)
            if part.size
        ]
        rest = partial(self._states.rest, state)  # no reference to `self`
        return Groups(each, _Ways(rest, self._machine, self._vocabulary))
