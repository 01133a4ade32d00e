"""The seam between languages and tokens: something that reads bytes.

Laws, which `tests/laws` checks on every implementation:

- states are values: hashable, immutable, kept as long as anybody wants;
- `step(state, byte)` is None exactly where no text of the language goes on so: from every state
  that is handed out an accepting one is reachable;
- the arcs of a state are disjoint, and agree with `step`, except where an arc leads to `unsure`;
- `blurred` forgets what only single steps need, so that many states share their arcs.
"""

from typing import Protocol, TypeVar

State = TypeVar("State")


class Recognizer(Protocol[State]):
    """A language over bytes, read one byte at a time."""

    def start(self) -> State:
        """The state before the first byte."""
        ...

    def step(self, state: State, byte: int) -> State | None:
        """The state after one more byte, None where no text goes on so."""
        ...

    def accepts(self, state: State) -> bool:
        """Whether the text may end here."""
        ...

    def shortest(self, state: State) -> bytes:
        """The least, in byte order, of the shortest strings that lead to an accepting state."""
        ...


class Blurry(Recognizer[State], Protocol[State]):
    """A recognizer whose arcs can be tabulated for a walk over a whole vocabulary."""

    def blurred(self, state: State) -> State:
        """The state whose arcs stand for those of `state` in a table."""
        ...

    def arcs(self, state: State) -> list[tuple[int, State]]:
        """Disjoint byte sets (256-bit integers) of a blurred state, and where each leads."""
        ...

    def unsure(self, state: State) -> bool:
        """Whether this blurred state only says: step through the bytes to know."""
        ...

    def forget(self) -> None:
        """Drop everything memoised; results stay the same."""
        ...
