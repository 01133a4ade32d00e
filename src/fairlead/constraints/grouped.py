"""The tokens of a mask by the state they lead to, so that one of each group tells for all.

Near the end of a budget the plain engine reads whatever may come next, byte by byte (`closing`).
Where something is looked ahead for that takes long: 130 states behind a place of python.lark took
it 7.8 s under a profiler, 6.5 of them to ask whether each arc may still come to an end.
The kernels have told so with the mask; and where they come to the same state the rest is the same.
So the 112,000 tokens of that mask are read by kernels, and the plain engine reads one token for
each of their 500 states, the shortest.

What this module does not know: budgets.
"""

from dataclasses import dataclass
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from fairlead.automata.derivative import Derivatives
from fairlead.lowering.nodes import Expr
from fairlead.masks.bits import unpack
from fairlead.masks.state import State
from fairlead.masks.states import States
from fairlead.vocabulary.spellings import Vocabulary

NONE: Final = np.empty(0, np.int32)
_MOST: Final = 4096  # groups; more are not told apart


@final
@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Tokens that lead to the same state.

    Attributes:
        tokens: int32[n], ascending.
        whole: whether the text may end after them.
    """

    tokens: NDArray[np.int32]
    whole: bool


@final
class Groups:
    """Those of one mask.

    Attributes:
        each: the groups.
        rest: what may follow before them.
    """

    def __init__(
        self, each: list[Group], rest: Expr, machine: Derivatives, vocabulary: Vocabulary
    ) -> None:
        self.each, self.rest = each, rest
        self._machine, self._vocabulary, self._known = machine, vocabulary, {b"": rest}

    def after(self, group: Group) -> Expr:
        """What may follow the tokens of a group: something does, or they would not be allowed."""
        shortest = int(group.tokens[self._vocabulary.lengths[group.tokens].argmin()])
        text = self._vocabulary.tokens[shortest] or b""
        known, length = self._known, len(text)
        while text[:length] not in known:
            length -= 1
        rest = known[text[:length]]
        for place in range(length, len(text)):
            rest = known[text[: place + 1]] = self._machine.after(rest, text[place])
        self._machine.trust(rest)
        return rest

    def without(self, token: int) -> NDArray[np.int32]:
        """The tokens of all groups but that of one of them."""
        others = [group.tokens for group in self.each if token not in group.tokens]
        return np.concatenate([NONE, *others])


@final
class Grouping:
    """The groups of the masks of one constraint. Not thread safe; its owner locks."""

    def __init__(self, machine: Derivatives, states: States, vocabulary: Vocabulary) -> None:
        self._machine, self._states, self._vocabulary = machine, states, vocabulary
        self._last: tuple[State, Groups | None] | None = None

    def groups(self, state: State) -> Groups | None:
        """Those of a state's mask; None where kernels do not tell, or there are too many."""
        if self._last is None or self._last[0] is not state:
            self._last = state, self._grouped(state)
        return self._last[1]

    def _grouped(self, state: State) -> Groups | None:
        ends = np.array(sorted(self._vocabulary.eos_ids), np.int64)
        tokens = np.setdiff1d(unpack(self._states.mask(state)), ends, assume_unique=True)
        codes = self._states.places(state, tokens)
        if codes is None:
            return None
        order = np.argsort(codes, kind="stable")
        begins = np.flatnonzero(np.diff(codes[order])) + 1
        if len(begins) >= _MOST:
            return None
        parts = np.split(order, begins)
        each = [Group(tokens[n].astype(np.int32), bool(codes[n[0]] & 2)) for n in parts if n.size]
        return Groups(each, self._states.rest(state), self._machine, self._vocabulary)
