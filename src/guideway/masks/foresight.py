"""What bounds say of decode states, where kernels read them: how near an end is, whatever comes.

What this module does not know: the plain engine, which tells exactly.
"""

from typing import Final, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from guideway.lowering.fuel import while_there_is_room
from guideway.masks.bits import Row
from guideway.masks.headroom import Headroom
from guideway.masks.kernels import layout as at
from guideway.masks.nearness import Nearness
from guideway.masks.network import Network
from guideway.masks.state import State
from guideway.masks.states import States

MOST: Final = 4096  # states that are told apart
_MANY: Final = 1 << 12  # tokens that may each lead to another state, which is then made
_REMEMBERED: Final = frozenset((at.MEMBER, at.MEMBERS, at.KEY, at.CAPTURE))

Apart: TypeAlias = tuple[NDArray[np.uint32], dict[int, int | None]]


@final
class Foresight:
    """The same for one constraint; thread safe.

    Args:
        states: what makes them.
    """

    def __init__(self, states: States) -> None:
        self._states = states

    def at_most(self, state: State) -> int | None:
        """So many bytes suffice for an end; None where that is not told soon."""
        with self._states.lock:
            network = self._network(state)
            return None if network is None else self._nearness(network).at_most(state.macro)

    def enough(self, state: State) -> int | None:
        """So many bytes suffice for an end behind any token; None where that is not told soon."""
        with self._states.lock, while_there_is_room:
            network = self._network(state)
            return None if network is None else self._headroom(network).enough(state.macro)
        return None

    def staying(self, state: State) -> list[tuple[Row, int]]:
        """Tokens that stay within what is being read, and how many bytes then suffice."""
        with self._states.lock, while_there_is_room:
            network = self._network(state)
            if network is not None:
                found = self._headroom(network).within(state.macro)
                rows = [(network.gallery.staying(inside), most) for inside, most in found]
                return [(row, most) for row, most in rows if row is not None]
        return []

    def apart(self, state: State, tokens: "NDArray[np.int64]") -> "Apart | None":
        """The states that tokens of a mask lead to; None where kernels do not tell.

        Returns:
            uint32[n], what READ (`kernels.entry`) says to each token, and how many bytes suffice
            where it says so.
        """
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
                return None if (codes & 1).any() else (codes, self._behind(network, codes))
        return None

    def _behind(self, network: Network, codes: "NDArray[np.uint32]") -> dict[int, int | None]:
        met = np.unique(codes).tolist()
        if len(met) > MOST or network is not self._states.network:
            return dict.fromkeys(met)
        near = self._nearness(network)
        return {code: near.at_most(code >> 2) for code in met}

    def _network(self, state: State) -> Network | None:
        """The network that reads a state, if it is the present one, of which bounds are known."""
        network = None if state.ended else self._states.reader(state)
        return network if network is self._states.network else None

    def _nearness(self, network: Network) -> Nearness:
        found = self._states.beside.get(Nearness)
        if found is None:
            found = self._states.beside[Nearness] = Nearness(network)
        return found

    def _headroom(self, network: Network) -> Headroom:
        found = self._states.beside.get(Headroom)
        if found is None:
            found = self._states.beside[Headroom] = Headroom(self._nearness(network))
        return found


def _leads_to_few(network: Network, macro: int) -> bool:
    """Whether many tokens lead to few states: nothing is being read that has to be remembered."""
    nodes = [node for node, _ in network.arena.configurations(macro)]
    return not any(network.arena.record(node)[0] in _REMEMBERED for node in nodes)
