"""States from which tokens can end a text, for vocabularies that cannot spell every byte alone.

With the tokens "ab" and "b" no text can end in an "a". So all states that tokens reach are explored
beforehand, and those that cannot reach an accepting one are removed.
"""

from collections import deque
from collections.abc import Iterator
from heapq import heappop, heappush
from typing import final

import numpy as np

from guideway.automata.derivative import Derivatives
from guideway.constraints.readings import Readings
from guideway.errors import UnsatisfiableError, UnsupportedError
from guideway.lowering.nodes import Expr
from guideway.lowering.special import mark
from guideway.masks.bits import Row
from guideway.masks.rows import Rows
from guideway.vocabulary.spellings import Vocabulary

MOST_STATES = 10_000


@final
class TokenGraph:
    """The states reachable by tokens, and the distance of each to an accepting state."""

    def __init__(
        self, start: Expr, machine: Derivatives, rows: Rows[Expr], vocabulary: Vocabulary
    ) -> None:
        self._machine, self._rows, self._vocabulary = machine, rows, vocabulary
        self._start = start
        self._after: dict[Expr, dict[int, Expr]] = {}
        self._distances: dict[Expr, int] = {}
        self.include(start)

    def include(self, start: Expr) -> None:
        """Explore from another start; too many states, or no text, are refused."""
        if start not in self._after:
            self._explore(start)
            self._distances = self._measure()
        if start not in self._distances:
            raise UnsatisfiableError(
                "the tokens of this vocabulary cannot spell any text of the source",
                conflict=("source", "vocabulary"),
            )

    def alive(self, state: Expr) -> bool:
        return state in self._distances

    def distance(self, state: Expr) -> int:
        return self._distances[state]

    def within(self, state: Expr, tokens_left: int) -> list[int]:
        """Tokens after which `tokens_left - 1` more suffice."""
        return [
            token
            for token, after in self._after[state].items()
            if self._distances.get(after, tokens_left) < tokens_left
        ]

    def row(self, state: Expr) -> Row:
        tokens = [t for t, after in self._after[state].items() if after in self._distances]
        return self._rows.pack(state, np.array(tokens, np.int32))

    def example(self) -> bytes:
        """The first, in byte order, of the shortest texts that tokens spell (Dijkstra 1959)."""
        queue: list[tuple[int, bytes, int, Expr]] = [(0, b"", 0, self._start)]
        serial = 0
        done = set[Expr]()
        while True:
            _, text, _, state = heappop(queue)
            if self._machine.accepts(state):
                return text
            if state in done:
                continue
            done.add(state)
            for token, after in self._after[state].items():
                if after in self._distances:
                    serial += 1
                    longer = text + (self._vocabulary.tokens[token] or b"")
                    heappush(queue, (len(longer), longer, serial, after))

    def matches(self, lead: bytes, read: Readings) -> bool:
        """Return True if tokens spell a reading of the text after `lead`."""
        text = lead + read.data
        ways: dict[int, set[Expr]] = {0: {self._start}}
        for at in range(len(text)):
            for state in ways.pop(at, ()):
                for spelling, length in self._spellings(text, at, read.names):
                    for token in self._vocabulary.trie.ids(spelling).tolist():
                        after = self._after[state].get(token)
                        if after is not None:
                            ways.setdefault(at + length, set()).add(after)
        return any(self._machine.accepts(state) for state in ways.get(len(text), ()))

    def _spellings(
        self, text: bytes, at: int, names: tuple[bytes, ...]
    ) -> Iterator[tuple[bytes, int]]:
        """Spellings of tokens at a place of the text, and their lengths in it."""
        for length in self._vocabulary.trie.prefixes(text, at):
            yield text[at : at + length], length
        for name in names:
            if text.startswith(name, at):
                yield mark(name.decode()), len(name)

    def _explore(self, start: Expr) -> None:
        queue = deque([start])
        while queue:
            state = queue.popleft()
            if state in self._after:
                continue
            if self._machine.reads_capture(state) or len(self._after) >= MOST_STATES:
                raise self._refusal()
            reached = self._rows.reached(state)
            states = {n: self._rows.state(n) for n in np.unique(reached.numbers).tolist()}
            pairs = zip(reached.tokens.tolist(), reached.numbers.tolist(), strict=True)
            self._after[state] = {token: states[number] for token, number in pairs}
            queue.extend(states.values())

    def _measure(self) -> dict[Expr, int]:
        """Distances, backwards from the accepting states."""
        before: dict[Expr, list[Expr]] = {}
        for state, following in self._after.items():
            for after in set(following.values()):
                before.setdefault(after, []).append(state)
        distances = {state: 0 for state in self._after if self._machine.accepts(state)}
        queue = deque(distances)
        while queue:
            state = queue.popleft()
            for earlier in before.get(state, ()):
                if earlier not in distances:
                    distances[earlier] = distances[state] + 1
                    queue.append(earlier)
        return distances

    def _refusal(self) -> UnsupportedError:
        single = {token[0] for token in self._vocabulary.tokens if token and len(token) == 1}
        spelled = {byte for token in self._vocabulary.tokens if token for byte in token}
        missing = bytes(sorted(spelled - single))
        return UnsupportedError(
            f"the vocabulary has no tokens for the single bytes {missing[:16]!r}"
            f"{' and more' if len(missing) > 16 else ''}. For such vocabularies a source must have "
            f"at most {MOST_STATES} states, and no open sets of keys",
            feature="vocabulary without single bytes",
        )
