"""Token budgets: tokens that leave room for an end."""

from collections.abc import Callable
from functools import cached_property
from itertools import chain
from typing import Final

import numpy as np
from numpy.typing import NDArray

from guideway.automaton.completion_cost import CompletionCost, Group
from guideway.automaton.plain_masks import Reached
from guideway.automaton.states import ALL, State, States
from guideway.automaton.token_tries import Row, pack
from guideway.constraint.special_tokens import Segmentation, too_few
from guideway.language.derivative import Derivatives, read_on
from guideway.language.nodes import Expr
from guideway.language.shortest_string import CERTAIN, LONGEST, VAGUE, CaptureDependence
from guideway.vocabulary.vocabulary import Vocabulary

_MORE: Final = 16  # tokens kept in reserve if a key or an item may have to differ from earlier ones
_MANY: Final = 512  # tokens tried one by one near the end of a budget: 30 to 450 ms in all
_FEW: Final = 64  # tokens tried one by one: a millisecond each


class Closing:
    """Token limits of one constraint. Not thread safe; its owner locks."""

    def __init__(
        self,
        machine: Derivatives,
        states: States,
        vocabulary: Vocabulary,
    ) -> None:
        self._machine, self._states, self._rows = machine, states, states.plain
        self._vocabulary, self._doubts = vocabulary, CaptureDependence()
        self._ends = sorted(vocabulary.eos_ids)
        self._grouped: tuple[State, list[Group] | None] | None = None  # of the last state
        self._completion_cost = CompletionCost(states)

    @cached_property
    def _segmentation(self) -> Segmentation:
        return Segmentation(self._vocabulary)

    def distance(self, rest: Expr) -> int:
        return self._segmentation.fewest(self._machine.hoped(rest)) or 0

    def fits(self, rest: Expr, tokens: int) -> bool:
        """Return True if `tokens` suffice for `rest`."""
        # A token has between 1 and `longest` bytes, which mostly decides.
        length = self._machine.shortest_length(rest)
        if length > LONGEST:
            return False
        if length <= tokens or length > tokens * self._vocabulary.longest:
            return length <= tokens
        return self.distance(rest) <= tokens

    def reaches(self, state: State, tokens: int) -> bool:
        """Return True if `tokens` suffice after `state`, mostly from a bound in bytes.

        Exact distances for each token of new schemas took 364 us a token, with the bound 134.
        """
        bytes_ = self._completion_cost.at_most(state)
        if bytes_ is not None and bytes_ <= tokens:
            return True
        return self.fits(self._states.rest(state), tokens)

    def without(self, state: State, token: int) -> Row | None:
        """The mask without the group of `token`; None if the groups are unknown."""
        if state.ended or not self._states.rest(state).looks:
            return None
        groups = self._groups(state)
        if groups is None:
            return None
        return self._packed(state, [g.tokens for g in groups if token not in g.tokens])

    def _groups(self, state: State) -> list[Group] | None:
        """The tokens of a mask by the state after them; None where kernels cannot tell."""
        if self._grouped is None or self._grouped[0] is not state:
            self._grouped = state, self._completion_cost.groups(state, self._ends)
        return self._grouped[1]

    def within(self, state: State, mask: Row, tokens_left: int) -> Row:
        """The tokens of a mask after which `tokens_left - 1` suffice."""
        if state.enough == ALL:
            bytes_ = self._completion_cost.enough(state)
            state.enough = ALL if bytes_ is None else bytes_ + 1
        if tokens_left >= state.enough:
            return mask
        if not self.reaches(state, tokens_left):
            raise too_few(tokens_left, self.distance(self._states.rest(state)))
        groups = self._groups(state)
        if groups is None:
            near = self.reaches(state, tokens_left // 4)
            return halved(state, mask, tokens_left, self.row, also_half=near)
        known = [group.most for group in groups if group.most is not None]
        if len(known) == len(groups):
            state.enough = min(state.enough, max(known, default=0) + 1)
        return mask if tokens_left >= state.enough else self._row_of(state, groups, tokens_left)

    def _row_of(self, state: State, groups: list[Group], tokens_left: int) -> Row:
        left, known, tokens = tokens_left - 1, dict[bytes, Expr](), self._vocabulary.tokens

        def after(group: Group) -> Expr:
            """The language after the shortest token; the plain engine reads the whole text."""
            shortest = int(group.tokens[self._vocabulary.lengths[group.tokens].argmin()])
            known[b""] = known.get(b"") or self._states.rest(state)
            rest = read_on(known, tokens[shortest] or b"", self._machine.after)
            self._machine.trust(rest)
            return rest

        def fits(group: Group) -> bool:
            near = group.most is not None and group.most <= left
            return near or self.fits(after(group), left)

        def length(group: Group) -> int:
            return self.distance(after(group)) if group.most is None else group.most

        fit = [group.tokens for group in groups if fits(group)]
        if not (fit or state.accepts):
            fit = [np.array(self._first_token(self._states.rest(state), tokens_left), np.int32)]
            if not set(fit[0].tolist()) <= {t for g in groups for t in g.tokens.tolist()}:
                # as after an item that must differ from others
                fit = [min(groups, key=length).tokens]
        return self._packed(state, fit)

    def _packed(self, state: State, tokens: list[NDArray[np.int32]]) -> Row:
        ends = np.array(self._ends if state.accepts else [], np.int32)
        return pack(np.concatenate([ends, *tokens]), self._vocabulary.width)

    def row(self, state: State, tokens_left: int) -> Row:
        """The tokens after which `tokens_left - 1` suffice, by the plain engine.

        If the distance depends on the keys or items in a token, and 16 more tokens might not
        suffice, up to 512 tokens are tried one by one, and others are excluded.
        """
        rest = self._states.rest(state)
        needed = self.distance(rest)
        reached = self._rows.reached(rest)
        numbers = np.unique(reached.numbers)
        fit = [n for n in numbers.tolist() if self.fits(self._rows.state(n), tokens_left - 1)]
        vague = [n for n in fit if not self._surely_fits(self._rows.state(n), tokens_left - 1)]
        if len(fit) == len(numbers) and not reached.unsure.size and not vague:
            return self._rows.pack(rest, reached.tokens)
        sure = reached.tokens[np.isin(reached.numbers, [n for n in fit if n not in vague])]
        asked = [*reached.unsure.tolist(), *self._doubtful(reached, vague)]
        asked += self._by_key(reached, {*numbers.tolist()} - {*fit})
        stepped = [(t, self._rows.after(rest, t)) for t in asked]
        more = [t for t, s in stepped if s is not None and self.fits(s, tokens_left - 1)]
        if not (sure.size or more or needed == 0):
            more = self._first_token(rest, tokens_left)
        return self._rows.pack(rest, np.concatenate([sure, np.array(more, np.int32)]))

    def _first_token(self, rest: Expr, tokens_left: int) -> list[int]:
        """The first token of a text that suffices, for whose rest enough is known to be left.

        Without it a bound found in a hurry may be smaller than that after each token.
        """
        if self.distance(rest) > tokens_left:
            self._machine.think_again()
        text = self._machine.hoped(rest)
        self._machine.learn(rest, text)
        return self._segmentation.first(text)

    def _surely_fits(self, rest: Expr, tokens: int) -> bool:
        """Return True if `rest` fits exactly, or with tokens in reserve."""
        doubt = CERTAIN if rest.looks else self._doubts.of(rest)
        return doubt == CERTAIN or (doubt == VAGUE and self.fits(rest, tokens - _MORE))

    def _doubtful(self, reached: Reached, numbers: list[int]) -> list[int]:
        """The tokens that lead to these states, nearest to the end first."""
        states = {n: self._machine.shortest_length(self._rows.state(n)) for n in numbers}
        first = sorted(numbers, key=states.__getitem__)
        tokens = [reached.tokens[reached.numbers == n].tolist() for n in first]
        return [*chain.from_iterable(tokens)][:_MANY]

    def _by_key(self, reached: Reached, numbers: set[int]) -> list[int]:
        """A few tokens that begin a key or an item: the distance after one depends on the token."""
        states = {n: self._rows.state(n) for n in numbers}
        into = [n for n, s in states.items() if self._depends_on_token(s)]
        tokens = reached.tokens[np.isin(reached.numbers, into)]
        return tokens.tolist() if len(tokens) <= _FEW else []

    def _depends_on_token(self, rest: Expr) -> bool:
        """Return True if the distance may depend on the text of the last token."""
        if rest.looks:
            return self._machine.reads_capture(rest)
        return self._doubts.of(rest) != CERTAIN


def halved(
    state: State, mask: Row, tokens_left: int, row: Callable[[State, int], Row], *, also_half: bool
) -> Row:
    """Return `row(state, tokens_left)`, and remember the limit if it is the whole mask.

    With `also_half`, half of the limit is tried first, so that a falling limit needs few searches.
    """
    if also_half and np.array_equal(row(state, tokens_left // 2), mask):
        state.enough = tokens_left // 2
        return mask
    found = row(state, tokens_left)
    if np.array_equal(found, mask):
        state.enough = tokens_left
        return mask
    return found
