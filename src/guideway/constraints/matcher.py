"""A mutable cursor with the methods of xgrammar's and llguidance's matchers."""

from typing import Any, Protocol, Self, final

import numpy as np
from numpy.typing import NDArray

from guideway.constraints.compiled import CompiledConstraint, DecodeState
from guideway.errors import (
    LimitError,
    SourceError,
    TokenRejected,
    UnsupportedError,
    brief,
    one_line,
)


class Bitmask(Protocol):
    """int32[batch, ceil(width / 32)], a numpy array or a CPU tensor of torch."""

    def __len__(self) -> int:
        """Number of rows."""
        ...

    def __getitem__(self, row: int, /) -> object:
        """One row, sharing memory."""
        ...


@final
class Matcher:
    """A mutable cursor in a text under one constraint.

    Example:
        >>> import guideway as gw
        >>> vocabulary = gw.Vocabulary([b"a", b"b", b"<eos>"], eos_ids={2})
        >>> matcher = gw.Matcher(gw.compile(gw.Regex("ab"), vocabulary))
        >>> matcher.accept_token(1), matcher.accept_token(0), matcher.accept_token(1)
        (False, True, True)
        >>> matcher.rollback(1)
        >>> matcher.accept_token(1) and matcher.accept_token(2) and matcher.is_terminated()
        True
    """

    def __init__(self, constraint: CompiledConstraint) -> None:
        """Place the cursor before the first token.

        Raises:
            SourceError: `constraint` is not a compiled constraint.
        """
        if not hasattr(constraint, "mask"):
            raise SourceError(
                f"a Matcher needs a compiled constraint, not {brief(constraint)}; write "
                "guideway.Matcher(guideway.compile(source, vocabulary))"
            )
        self.constraint = constraint
        self._history: list[DecodeState] = [constraint.start()]
        self._tokens: list[int] = []

    def __repr__(self) -> str:
        """The constraint, and the number of tokens accepted."""
        return one_line(f"Matcher({self.constraint!r}, {len(self._tokens)} tokens)")

    @property
    def state(self) -> DecodeState:
        """The current decode state."""
        return self._history[-1]

    def accept_token(self, token: int) -> bool:
        """Accept `token`. Return False and change nothing if it is not allowed."""
        if self.is_terminated():
            return False
        try:
            self._history.append(self.constraint.advance(self.state, token))
        except TokenRejected:
            return False
        self._tokens.append(token)
        return True

    def fill_next_token_bitmask(self, bitmask: Bitmask, row: int = 0) -> None:
        """Write the mask of the next token into `bitmask[row]`.

        Args:
            bitmask: int32[batch, ceil(width / 32)]; numpy, or torch on the CPU.
            row: index in the batch.

        Raises:
            UnsupportedError: the bitmask is on another device, or has another shape or type.
            LimitError: the bitmask has no such row.
        """
        rows = len(bitmask)
        if not -rows <= row < rows:
            raise LimitError(
                f"a bitmask of {rows} rows has no row {row}",
                limit="row",
                given=row,
                needed=rows - 1,
            )
        target = as_array(bitmask[row])
        mask = self.constraint.mask(self.state)
        if target.shape != mask.shape or target.dtype.str[1:] not in ("i4", "u4"):
            raise UnsupportedError(
                f"a row of the bitmask is {target.dtype}{list(target.shape)}; for a vocabulary of "
                f"width {self.constraint.vocabulary.width} it must be int32[{len(mask)}]",
                feature="bitmask",
            )
        target.view(np.uint32)[:] = mask

    def rollback(self, tokens: int = 1) -> None:
        """Undo the last `tokens` accepted tokens.

        Raises:
            LimitError: fewer were accepted, or the number is negative.
        """
        most = len(self._history) - 1
        if not 0 <= tokens <= most:
            raise LimitError(
                f"rollback({tokens}): the matcher has accepted {most} tokens",
                limit="rollback",
                given=tokens,
                needed=most,
            )
        del self._history[len(self._history) - tokens :]
        del self._tokens[len(self._tokens) - tokens :]

    def fork(self) -> Self:
        """Return an independent cursor at the same place."""
        other = type(self)(self.constraint)
        other._history, other._tokens = list(self._history), list(self._tokens)
        return other

    __copy__ = fork

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """As `fork`: constraints and states are immutable."""
        return self.fork()

    def __reduce__(self) -> tuple[Any, ...]:
        """The constraint, and the tokens that were accepted.

        Raises:
            UnsupportedError: as pickling the constraint.
        """
        return _at, (self.constraint, tuple(self._tokens))

    def reset(self) -> None:
        """Return to the start of the text."""
        del self._history[1:]
        self._tokens.clear()

    def is_terminated(self) -> bool:
        """Return whether an end id was accepted, or no token can follow."""
        return self.state.ended or not self.constraint.mask(self.state).any()


def _at(constraint: CompiledConstraint, tokens: tuple[int, ...]) -> Matcher:
    matcher = Matcher(constraint)
    for token in tokens:
        matcher.accept_token(token)
    return matcher


def as_array(row: object) -> NDArray[np.generic]:
    """A bitmask on the CPU, or a row of one, as a numpy array of the same memory."""
    device = getattr(row, "device", "cpu")
    if str(device) != "cpu":
        raise UnsupportedError(
            f"the bitmask is on {device}: allocate it on the CPU and copy it over",
            feature=f"bitmask on {device}",
        )
    return np.asarray(row)
