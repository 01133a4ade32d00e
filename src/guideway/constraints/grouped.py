"""The tokens of a mask by the state they lead to, so that one of each group tells for all.

Near the end of a budget it is asked for each token that may come next whether the rest still fits.
The plain engine reads byte by byte for that (`closing`): half of all masks of new JSON Schemas took
6 ms, one of a hundred .4 s; where something is looked ahead for, 130 states behind a place of
python.lark took 7.8 s. Kernels have told all tokens with the mask, and where they come to the same
state the rest is the same; mostly a bound says how long it is (`masks.foresight`). The plain engine
reads one token, the shortest, for each state of which the bound says too much.

Tokens that stay within a string are a group without being read: nothing else can take them further
from the end than the farthest place in it.

What this module does not know: budgets.
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

    Attributes:
        tokens: int32[n], ascending.
        most: so many bytes suffice for an end after them; None: that is not known.
        staying: whether they are tokens that stay within what is being read, in several states.
    """

    tokens: NDArray[np.int32]
    most: int | None
    staying: bool = False


@final
class Groups:
    """Those of one mask.

    Attributes:
        each: the groups.
        most: so many bytes suffice after any of them; None: that is not known.
    """

    def __init__(self, each: list[Group], ways: "_Ways") -> None:
        self.each, self._ways = each, ways
        found = [group.most for group in each if group.most is not None]
        self.most = max(found, default=0) if len(found) == len(each) else None

    def after(self, group: Group) -> Expr:
        """What may follow the tokens of a group: something does, or they would not be allowed."""
        return self._ways.after(group.tokens)

    def without(self, token: int) -> NDArray[np.int32]:
        """The tokens of all groups but that of one of them."""
        others = [group.tokens for group in self.each if token not in group.tokens]
        return np.concatenate([NONE, *others])


@final
class _Ways:
    """What may follow tokens, each read from the longest beginning that was read before."""

    def __init__(
        self, rest: Callable[[], Expr], machine: Derivatives, vocabulary: Vocabulary
    ) -> None:
        self._rest, self._machine, self._vocabulary = rest, machine, vocabulary
        self._known = dict[bytes, Expr]()

    def after(self, tokens: NDArray[np.int32]) -> Expr:
        """What may follow the shortest of some tokens."""
        shortest = int(tokens[self._vocabulary.lengths[tokens].argmin()])
        text = self._vocabulary.tokens[shortest] or b""
        known, length = self._known, len(text)
        if not known:  # the plain engine goes all the way here for it
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
        """Those of a state's mask; None where kernels do not tell, or there are too many.

        Args:
            state: where the mask is asked for.
            tokens: how many tokens may follow; of what stays within what is being read, it is told
                apart where it leads if more might be needed.
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
        rest = partial(self._states.rest, state)  # not of this, which keeps the groups
        return Groups(each, _Ways(rest, self._machine, self._vocabulary))
