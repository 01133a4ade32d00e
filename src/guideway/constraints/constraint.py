"""The seam between constraints and decoding loops.

Laws, which `tests/laws` checks on every implementation:

- states are values: immutable; `advance` makes a new one and leaves the old as it was;
- `advance(state, t)` works exactly where bit t of `mask(state)` is set, else `TokenRejected`;
- no mask is empty, save that of an accepting state of a vocabulary without end ids;
- the bits of the end ids are set exactly where `accepts(state)`; after one of them the state
  accepts and allows the end ids alone;
- from every state some allowed tokens lead to an accepting one.
"""

from typing import Protocol, TypeVar

from guideway.masks.bits import Row

State = TypeVar("State")


class Constraint(Protocol[State]):
    """What a decoding loop holds."""

    def start(self, lead: bytes | None = None) -> State:
        """The state before the first token; the text is preceded by `lead`, if that is given."""
        ...

    def mask(self, state: State) -> Row:
        """The tokens that may come next, uint32[ceil(width / 32)], read-only."""
        ...

    def advance(self, state: State, token: int) -> State:
        """The state after one more token."""
        ...

    def accepts(self, state: State) -> bool:
        """Whether the text may end here."""
        ...
