"""Bounds on the distance of decode states from an end, where kernels read them."""

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

MOST: Final = 4096  # distinct states
_MANY: Final = 1 << 12  # tokens that may each create a state
_REMEMBERED: Final = frozenset((at.MEMBER, at.MEMBERS, at.KEY, at.CAPTURE))

Apart: TypeAlias = tuple[NDArray[np.uint32], dict[int, int | None]]


@final
class Foresight:
    """Distance bounds for one constraint; thread safe."""

    def __init__(self, states: States) -> None:
        self._states = states

    def at_most(self, state: State) -> int | None:
        """Number of bytes that suffice to reach an end; None if not known soon."""
        with self._states.lock:
            network = self._network(state)
            return None if network is None else self._nearness(network).at_most(state.macro)

    def enough(self, state: State) -> int | None:
        """Number of bytes that suffice to reach an end after any token; None if not known soon."""
        with self._states.lock, while_there_is_room:
            network = self._network(state)
            return None if network is None else self._headroom(network).enough(state.macro)
        return None

    def staying(self, state: State) -> list[tuple[Row, int]]:
        """Rows of tokens that stay in a current lexical state, with the bytes that then suffice."""
        with self._states.lock, while_there_is_room:
            network = self._network(state)
            if network is not None:
                found = self._headroom(network).within(state.macro)
                rows = [(network.gallery.staying(inside), most) for inside, most in found]
                return [(row, most) for row, most in rows if row is not None]
        return []

    def apart(self, state: State, tokens: "NDArray[np.int64]") -> "Apart | None":
        """Codes of READ (`kernels.entry`) for tokens of a mask, and by code the bytes that suffice.

        Return None where kernels cannot tell.
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
    """Return True if many tokens lead to few states, as no text has to be remembered."""
    nodes = [node for node, _ in network.arena.configurations(macro)]
    return not any(network.arena.record(node)[0] in _REMEMBERED for node in nodes)
