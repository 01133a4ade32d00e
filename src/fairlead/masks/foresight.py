"""What bounds say of decode states, where kernels read them: how near an end is, whatever comes.

What this module does not know: the plain engine, which tells exactly.
"""

from functools import partial
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from fairlead.lowering.fuel import while_there_is_room
from fairlead.masks.bits import Row
from fairlead.masks.headroom import Headroom
from fairlead.masks.kernels import layout as at
from fairlead.masks.nearness import Nearness
from fairlead.masks.network import Network
from fairlead.masks.state import State
from fairlead.masks.states import States
from fairlead.vocabulary.greedy import greedy_tokens
from fairlead.vocabulary.spellings import Vocabulary

_MANY: Final = 1 << 12  # tokens that may each lead to another state, which is then made
_REMEMBERED: Final = frozenset((at.MEMBER, at.MEMBERS, at.KEY, at.CAPTURE))


@final
class Foresight:
    """The same for one constraint; thread safe.

    Args:
        states: what makes them.
        vocabulary: whose tokens they read; each byte is one.
    """

    def __init__(self, states: States, vocabulary: Vocabulary) -> None:
        self._states, self._tokens = states, partial(greedy_tokens, vocabulary)
        self._bytes: Nearness | None = None
        self._near: Nearness | None = None
        self._room: Headroom | None = None

    def suffices(self, state: State, tokens: int) -> bool:
        """Whether so many tokens surely suffice for an end."""
        with self._states.lock:
            network = self._network(state)
            if network is None:
                return False
            if self._bytes is None or self._bytes.network is not network:
                self._bytes = Nearness(network)
            found = self._bytes.at_most(state.macro)  # with no name told in tokens
            if found is not None and found > tokens:
                found = self._nearness(network).at_most(state.macro)
            return found is not None and found <= tokens

    def enough(self, state: State) -> int | None:
        """So many tokens suffice for an end behind any token; None where that is not told soon."""
        with self._states.lock, while_there_is_room:
            network = self._network(state)
            return None if network is None else self._headroom(network).enough(state.macro)
        return None

    def staying(self, state: State) -> list[tuple[Row, int]]:
        """Tokens that stay within what is being read, and how many tokens then suffice."""
        with self._states.lock, while_there_is_room:
            network = self._network(state)
            if network is not None:
                found = self._headroom(network).within(state.macro)
                rows = [(network.gallery.staying(inside), most) for inside, most in found]
                return [(row, most) for row, most in rows if row is not None]
        return []

    def places(self, state: State, tokens: "NDArray[np.int64]") -> "NDArray[np.uint32] | None":
        """What READ (`kernels.entry`) says to tokens of its mask; None where they do not tell."""
        codes = np.zeros(len(tokens), np.uint32)
        with self._states.lock:
            network = self._states.reader(state)
            if network is None or network.marks.any:
                return None
            if len(tokens) > _MANY and not _leads_to_few(network, state.macro):
                return None
            each = np.ascontiguousarray(tokens, np.uint32)
            with while_there_is_room:
                network.run(at.READ_EACH, state.macro, len(each), each, codes)
                return None if (codes & 1).any() else codes
        return None

    def behind(self, state: State, codes: list[int]) -> list[int | None]:
        """How many tokens suffice where READ said this of a token."""
        with self._states.lock:
            network = self._network(state)
            if network is None:
                return [None] * len(codes)
            near = self._nearness(network)
            return [near.at_most(code >> 2) for code in codes]

    def _network(self, state: State) -> Network | None:
        """The network that reads a state, if it is the present one, of which bounds are known."""
        network = None if state.ended else self._states.reader(state)
        return network if network is self._states.network else None

    def _nearness(self, network: Network) -> Nearness:
        if self._near is None or self._near.network is not network:
            self._near, self._room = Nearness(network, self._tokens), None
        return self._near

    def _headroom(self, network: Network) -> Headroom:
        near = self._nearness(network)
        if self._room is None:
            self._room = Headroom(near)
        return self._room


def _leads_to_few(network: Network, macro: int) -> bool:
    """Whether many tokens lead to few states: nothing is being read that has to be remembered."""
    nodes = [node for node, _ in network.arena.configurations(macro)]
    return not any(network.arena.record(node)[0] in _REMEMBERED for node in nodes)
