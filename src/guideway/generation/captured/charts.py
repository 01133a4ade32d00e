"""Constraints as tables in a device's memory: masks and transitions without the host.

    state ─▶ masks[state] ─▶ draw ─▶ following[base[state] + classes[owner, token]] ─▶ state

`owner` is the constraint of a row; the states of all constraints of a batch are numbered together.
Free text is a constraint of one state.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final, final
from weakref import WeakKeyDictionary

import numpy as np
import torch
from jaxtyping import Int
from numpy.typing import NDArray
from torch import Tensor

from guideway.automaton.token_tries import words
from guideway.constraint.compiled import CompiledConstraint
from guideway.constraint.tables import Tables
from guideway.errors import LimitError, UnsupportedError
from guideway.generation.row.cursor import end_row, text_row
from guideway.logits.transfer import send
from guideway.vocabulary.vocabulary import Vocabulary

STATES: Final = 2_000  # that are worth a table: 2,000 take half a second to find on one core

_known: Final = WeakKeyDictionary[CompiledConstraint, dict[bytes, Tables | None]]()


def chart(constraint: CompiledConstraint, lead: bytes) -> Tables | None:
    """The tables of texts after `lead`; None if there are more than `STATES` states."""
    known = _known.setdefault(constraint, {})
    if lead not in known:
        try:
            known[lead] = constraint.tables(STATES, lead)
        except (LimitError, UnsupportedError):
            known[lead] = None
    return known[lead]


@lru_cache(16)
def free(vocabulary: Vocabulary) -> Tables:
    """The tables of free text."""
    row = (text_row(vocabulary) | end_row(vocabulary))[None]
    once, all_ = np.zeros((1, 1), np.int32), np.zeros(vocabulary.width, np.uint16)
    return Tables(all_, once, row, np.ones(1, np.bool_), 0)


def bucket(count: int) -> int:
    """The least power of two that is not less."""
    return 1 << (count - 1).bit_length()


def sizes(charts: Sequence[Tables]) -> tuple[int, int, int]:
    """Constraints, states and transitions that memory for these charts has room for."""
    tables = [each.next_state for each in dict.fromkeys(charts)]
    return bucket(len(tables)), bucket(sum(map(len, tables))), bucket(sum(t.size for t in tables))


@final
class Charts:
    """Memory for the charts of a batch that never moves, and the state of each row.

    Attributes:
        state: int64[rows].
        masks: packed masks, int32[states, words].
    """

    def __init__(self, charts: Sequence[Tables], rows: int, device: torch.device) -> None:
        """Room for charts of these sizes."""
        constraints, states, entries = sizes(charts)
        width = len(charts[0].token_class)

        def zeros(*size: int, kind: torch.dtype = torch.int64) -> Tensor:
            return torch.zeros(*size, dtype=kind, device=device)

        self.state, self._owner, self._base = zeros(rows), zeros(rows), zeros(states)
        self.masks = zeros(states, words(width), kind=torch.int32)
        self._following = zeros(entries, kind=torch.int32)
        self._classes = zeros(constraints, width, kind=torch.int32)
        self._loaded = dict[Tables, int]()  # with the number of its first state

    def load(self, charts: Sequence[Tables]) -> None:
        """Copy charts, one for each row; `move` sets the states."""
        distinct = list(dict.fromkeys(charts))
        if distinct != [*self._loaded]:
            self._fill(distinct)
        self._owner.copy_(send([distinct.index(each) for each in charts], self.state.device))

    def move(self, charts: Sequence[Tables], texts: Sequence[Sequence[int]]) -> None:
        """The rows stand after these texts."""
        states = list[int]()
        for each, text in zip(charts, texts, strict=True):
            state = each.start
            for token in text:
                state = int(each.next_state[state, each.token_class[token]])
            states.append(self._loaded[each] + state)
        self.state.copy_(send(states, self.state.device))

    def follow(self, tokens: Int[Tensor, "batch"]) -> None:
        """The rows go on by these tokens."""
        entry = self._base[self.state] + self._classes[self._owner, tokens]
        self.state.copy_(self._following[entry])

    def _fill(self, charts: Sequence[Tables]) -> None:
        self._loaded = dict[Tables, int]()
        base, following = list[NDArray[Any]](), list[NDArray[Any]]()
        states = entries = 0
        for each in charts:
            table, self._loaded[each] = each.next_state, states
            # A token that is not allowed is drawn only where nothing is, and the row fails then.
            following.append((np.maximum(table, 0) + states).ravel().astype(np.int32))
            base.append(entries + np.arange(len(table)) * table.shape[1])
            states, entries = states + len(table), entries + table.size
        for into, parts in (
            (self._base, base),
            (self._following, following),
            (self.masks, [each.mask.view(np.int32) for each in charts]),
            (self._classes, [each.token_class[None].astype(np.int32) for each in charts]),
        ):
            whole = np.concatenate(parts)
            into[: len(whole)].copy_(send(whole, into.device))
