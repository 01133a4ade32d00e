"""The mutable cursor in a text, as serving engines expect it."""

from collections.abc import Iterable, Sequence
from operator import index
from threading import Event
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from guideway.automaton.token_tries import Row, has
from guideway.constraint.compiled import CompiledConstraint, DecodeState
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


class Job:
    """Masks of one constraint to compute, in one thread as they share a lock."""

    __slots__ = ("_constraint", "done", "error", "rows")

    def __init__(self, constraint: CompiledConstraint) -> None:
        self._constraint = constraint
        self.rows, self.done = dict[DecodeState, Row | None](), Event()
        self.error: Exception | None = None

    def run(self) -> None:
        try:
            for state in self.rows:
                self.rows[state] = self._constraint.mask(state)
        except Exception as error:  # noqa: BLE001  raised where the mask is needed
            self.error = error
        finally:
            self.done.set()


class Matcher:
    """A mutable cursor in a text under one constraint.

    Example:
        >>> import guideway as gw
        >>> vocabulary = gw.Vocabulary([b"a", b"b", b"<eos>"], eos_ids={2})
        >>> matcher = gw.Matcher(gw.compile(gw.Regex("ab"), vocabulary))
        >>> matcher.accept_token(1), matcher.accept_token(0), matcher.accept_token(1)
        (False, True, True)
        >>> matcher.rollback(1)
        >>> matcher.validate_tokens([1, 2, 2]), matcher.forced_tokens(), matcher.forced_text()
        (2, (1, 2), 'b')
        >>> matcher.accept_tokens([1, 2]) and matcher.is_terminated()
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
        self.late: Job | None = None  # of `fill_bitmask` after a deadline

    def __repr__(self) -> str:
        """The constraint, and the number of tokens accepted."""
        return one_line(f"Matcher({self.constraint!r}, {len(self._tokens)} tokens)")

    @property
    def state(self) -> DecodeState:
        """The current decode state."""
        return self._history[-1]

    def accept_token(self, token: int) -> bool:
        """Accept `token`. Return False and change nothing if it is not allowed."""
        return self.accept_tokens((token,))

    def accept_tokens(self, tokens: Sequence[int]) -> bool:
        """Accept all of `tokens`. Return False and change nothing if one of them is not allowed.

        No token is allowed after an end id.
        """
        states = self._read(tokens)
        if len(states) < len(tokens):
            return False
        self._history += states
        self._tokens += map(index, tokens)
        return True

    def validate_tokens(self, tokens: Iterable[int]) -> int:
        """Return how many of `tokens` can be accepted in turn. The cursor does not move."""
        return len(self._read(tokens))

    def _read(self, tokens: Iterable[int]) -> list[DecodeState]:
        """The states after the tokens that are allowed, up to the first one that is not."""
        states, state = list[DecodeState](), self.state
        for token in tokens:
            if state.ended:
                break
            try:
                state = self.constraint.advance(state, token)
            except TokenRejected:
                break
            states.append(state)
        return states

    def forced_tokens(self) -> tuple[int, ...]:
        """Return the next tokens as long as each is the only allowed one; () if there is a choice.

        A forced end id is the last one.
        """
        return self.constraint.forced(self.state)

    def forced_text(self) -> str:
        """Return the whole characters that all continuations begin with: a string to jump over.

        Tokens of the model's own tokenizer for it may merge with the text before. "" where the
        tokens so far end within a character.
        """
        forced = self.constraint.forced_bytes(self.state)
        try:
            return forced.decode()
        except UnicodeDecodeError as error:
            return forced[: error.start].decode()

    def fill_next_token_bitmask(self, bitmask: Bitmask, row: int = 0) -> None:
        """Write the mask of the next token into `bitmask[row]`.

        Args:
            bitmask: int32[batch, ceil(width / 32)]; numpy, or torch on the CPU.
            row: index in the batch.

        Raises:
            UnsupportedError: the bitmask is on another device, or has another shape or type.
            LimitError: the bitmask has no such row.
        """
        self.fill_draft_bitmask(bitmask, row, ())

    def fill_draft_bitmask(self, bitmask: Bitmask, row: int, draft: Sequence[int]) -> int:
        """Write the masks at each position of a draft, for engines that verify it in one forward.

        Row `row + i` gets the mask after the first `i` tokens of the draft: `len(draft) + 1` rows.
        The rows after a token that is not allowed, such as vLLM's padding -1, repeat the mask that
        excludes it. The cursor does not move.

        Example:
            >>> import guideway as gw, numpy as np
            >>> vocabulary = gw.Vocabulary([b"a", b"b", b"<eos>"], eos_ids={2})
            >>> matcher = gw.Matcher(gw.compile(gw.Regex("ab|b"), vocabulary))
            >>> bitmask = np.zeros((4, 1), np.int32)
            >>> matcher.fill_draft_bitmask(bitmask, 0, [0, 0, 1])
            1
            >>> bitmask.tolist()  # a or b; b; b; b
            [[3], [2], [2], [2]]

        Args:
            bitmask: int32[batch, ceil(width / 32)]; numpy, or torch on the CPU.
            row: index of the first row.
            draft: token ids.

        Returns:
            The number of tokens of the draft that can be accepted.

        Raises:
            UnsupportedError: the bitmask is on another device, or has another shape or type.
            LimitError: the bitmask has not enough rows.
        """
        first, valid, state = _first_row(bitmask, row, len(draft)), 0, self.state
        mask = self.constraint.mask(state)
        for place in range(len(draft) + 1):
            self._write(mask, bitmask[first + place])
            allowed = valid == place < len(draft) and not state.ended and has(mask, draft[place])
            if allowed:
                state, valid = self.constraint.advance(state, draft[place]), valid + 1
                mask = self.constraint.mask(state)
        return valid

    def _write(self, mask: NDArray[np.uint32], row: object) -> None:
        target = as_array(row)
        if target.shape != mask.shape or target.dtype.str[1:] not in ("i4", "u4"):
            raise UnsupportedError(
                f"a row of the bitmask is {target.dtype}{list(target.shape)}; for a vocabulary of "
                f"width {self.constraint.vocabulary.width} it must be int32[{len(mask)}]",
                feature="bitmask",
            )
        target.view(np.uint32)[:] = mask

    def rollback(self, tokens: int = 1) -> None:
        """Undo the last `tokens` accepted tokens, end ids included.

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
        return _matcher_at, (self.constraint, tuple(self._tokens))

    def reset(self) -> None:
        """Return to the start of the text."""
        del self._history[1:]
        self._tokens.clear()

    def is_terminated(self) -> bool:
        """Return whether an end id was accepted, or no token can follow.

        With end ids, a text that is complete is not terminated before one of them was accepted;
        `constraint.accepts(matcher.state)` is true before it.
        """
        return self.state.ended or (
            not self.constraint.vocabulary.eos_ids and not self.constraint.mask(self.state).any()
        )


def _first_row(bitmask: Bitmask, row: int, more: int) -> int:
    """The index from 0 of a row that `more` others follow."""
    rows = len(bitmask)
    first = row + rows if row < 0 else row
    if not 0 <= first < rows - more:
        raise LimitError(
            f"a bitmask of {rows} rows has no row {row}"
            + (f" with {more} more rows for a draft" if more else ""),
            limit="row",
            given=row,
            needed=rows - 1 - more,
        )
    return first


def _matcher_at(constraint: CompiledConstraint, tokens: tuple[int, ...]) -> Matcher:
    matcher = Matcher(constraint)
    matcher.accept_tokens(tokens)
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
