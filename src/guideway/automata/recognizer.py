"""Protocol of recognizers of bytes. `tests/laws` checks these laws:

- states are immutable and hashable; every returned state can reach an accepting one;
- the arcs of a state are disjoint and agree with `step`, except arcs to `unsure` states;
- `blurred` drops what only single steps need, so that many states share their arcs.
"""

from typing import Protocol, TypeVar

State = TypeVar("State")


class Recognizer(Protocol[State]):
    def start(self) -> State: ...

    def step(self, state: State, byte: int) -> State | None: ...

    def accepts(self, state: State) -> bool: ...

    def shortest(self, state: State) -> bytes:
        """The shortest string to an accepting state, first in byte order."""
        ...


class Blurry(Recognizer[State], Protocol[State]):
    """A recognizer whose arcs can be tabulated for a walk over a whole vocabulary."""

    def blurred(self, state: State) -> State:
        """The state whose arcs represent those of `state` in a table."""
        ...

    def arcs(self, state: State) -> list[tuple[int, State]]:
        """Disjoint byte sets (256-bit integers) of a blurred state, and the states after them."""
        ...

    def unsure(self, state: State) -> bool:
        """Return True if only single steps give this state exactly."""
        ...

    def forget(self) -> None: ...
