"""How many tokens bring a text to its end, and which tokens leave enough of them.

The shortest rest of a text, in as few tokens as spell it, suffices; that fewer tokens may spell a
longer one is not asked. Where the vocabulary cannot spell every byte on its own, `token_graph`
knows the numbers.

What this module does not know: decode states (`compiled`), canonical tokens (`canonical`).
"""

from collections.abc import Callable
from functools import cached_property
from itertools import chain
from typing import Final, Protocol, final

import numpy as np
from numpy.typing import NDArray

from guideway.automata.captures import CERTAIN, VAGUE, Doubts
from guideway.automata.derivative import Derivatives
from guideway.automata.words import LONGEST
from guideway.constraints.grouped import NONE, Group, Grouping, Groups
from guideway.constraints.segmentation import Segmentation, too_few
from guideway.constraints.token_graph import TokenGraph
from guideway.lowering.nodes import Expr
from guideway.masks.bits import Row, pack
from guideway.masks.foresight import Foresight
from guideway.masks.rows import Rows
from guideway.masks.state import ALL, State
from guideway.masks.states import States
from guideway.masks.walk import Reached
from guideway.vocabulary.spellings import Vocabulary

_MORE: Final = 16  # tokens that a rest may take more if a name or an item is one that came
_MANY: Final = 512  # tokens that are asked one by one near the end of a budget: 30 to 450 ms in all
_FEW: Final = 64  # tokens that are asked for one by one: a millisecond each


class Rests(Protocol):
    """What knows what may follow a state."""

    def rest(self, state: State) -> Expr:
        """As an expression."""
        ...


@final
class Closing:
    """The same for one constraint. Not thread safe; its owner locks."""

    def __init__(
        self,
        machine: Derivatives,
        states: Rests,
        rows: Rows[Expr],
        vocabulary: Vocabulary,
        graph: TokenGraph | None,
    ) -> None:
        self._machine, self._states, self._rows, self._graph = machine, states, rows, graph
        self._vocabulary, self._doubts = vocabulary, Doubts()
        self._ends = sorted(vocabulary.eos_ids)
        self._foresight: Foresight | None = None
        self._grouping: Grouping | None = None
        if isinstance(states, States) and graph is None:
            self._foresight = Foresight(states)
            self._grouping = Grouping(machine, states, self._foresight, vocabulary)

    @cached_property
    def _segmentation(self) -> Segmentation:
        return Segmentation(self._vocabulary)

    def distance(self, rest: Expr) -> int:
        """Tokens that suffice where this may follow."""
        if self._graph is not None:
            return self._graph.distance(rest)
        return self._segmentation.fewest(self._machine.hoped(rest)) or 0

    def fits(self, rest: Expr, tokens: int) -> bool:
        """Whether so many do."""
        if self._graph is None:
            # A token is at least a byte and at most the longest: mostly that decides.
            length = self._machine.shortest_length(rest)
            if length > LONGEST:
                return False
            if length <= tokens or length > tokens * self._vocabulary.longest:
                return length <= tokens
            parts = self._segmentation.in_parts(self._machine.hoped(rest))
            if parts is not None and parts <= tokens:
                return True
        return self.distance(rest) <= tokens

    def reaches(self, state: State, tokens: int) -> bool:
        """Whether so many tokens suffice behind a state.

        Far from the end of a budget a bound tells. Asked exactly behind each token of schemas that
        are new it took 364 us a token (90 % below 647), and takes 134 (84); a mask takes 10.
        """
        bytes_ = None if self._foresight is None else self._foresight.at_most(state)
        if bytes_ is not None and bytes_ <= tokens:
            return True
        return self.fits(self._states.rest(state), tokens)

    def without(self, state: State, token: int) -> Row | None:
        """The mask without what leads to where a token leads; None if that is not told."""
        if self._grouping is None or state.ended or not self._states.rest(state).looks:
            return None
        groups = self._grouping.groups(state, -1)  # whatever stays within a token told apart
        return None if groups is None else self._packed(state, groups.without(token))

    def within(self, state: State, mask: Row, tokens_left: int) -> Row:
        """The tokens of a mask after which one less than `tokens_left` suffice.

        Far from the end of a budget it is all of them, as long as bounds say so, or as it was found
        with fewer tokens. Asked at each step with 30 tokens more than the text has, half of the
        masks of new schemas took 6 ms and the mean was 22 (p99 443).

        Raises:
            LimitError: `tokens_left` do not suffice.
        """
        if state.enough == ALL and self._foresight is not None:
            bytes_ = self._foresight.enough(state)
            state.enough = ALL if bytes_ is None else bytes_ + 1
        if tokens_left >= state.enough:
            return mask
        if not self.reaches(state, tokens_left):
            raise too_few(tokens_left, self.distance(self._states.rest(state)))
        groups = None if self._grouping is None else self._grouping.groups(state, tokens_left - 1)
        if groups is None:
            near = self.reaches(state, tokens_left // 4)
            return halved(state, mask, tokens_left, self.row, also_half=near)
        if groups.most is not None:
            state.enough = min(state.enough, groups.most + 1)
        return mask if tokens_left >= state.enough else self._row_of(state, groups, tokens_left)

    def _row_of(self, state: State, groups: Groups, tokens_left: int) -> Row:
        left = tokens_left - 1
        fit = [g.tokens for g in groups.each if self._fits(g, groups, left)]
        if not (fit or state.accepts):  # as behind an item that must not be another
            fit = [min(groups.each, key=lambda group: self._length(group, groups)).tokens]
        return self._packed(state, np.concatenate([NONE, *fit]))

    def _packed(self, state: State, tokens: "NDArray[np.int32]") -> Row:
        """The row of these tokens, with the end ids where the text may end."""
        ends = np.array(self._ends if state.accepts else [], np.int32)
        return pack(np.concatenate([tokens, ends]), self._vocabulary.width)

    def row(self, state: State, tokens_left: int) -> Row:
        """The tokens after which one less than `tokens_left` suffice, as the plain engine says.

        Where it is not known which names or items a token has read, it depends on them how much has
        to follow, and 16 more might not suffice, tokens are asked one by one, 512 at most: others
        are left out.
        """
        rest = self._states.rest(state)
        needed = self.distance(rest)
        if self._graph is not None:
            tokens = self._graph.within(rest, tokens_left)
            return self._rows.pack(rest, np.array(tokens, np.int32))
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
            more = self._segmentation.first(self._machine.hoped(rest))
        return self._rows.pack(rest, np.concatenate([sure, np.array(more, np.int32)]))

    def _fits(self, group: Group, groups: Groups, tokens: int) -> bool:
        """Whether so many tokens suffice after those of a group."""
        if group.most is not None and group.most <= tokens:
            return True
        return self.fits(groups.after(group), tokens)

    def _length(self, group: Group, groups: Groups) -> int:
        return self.distance(groups.after(group)) if group.most is None else group.most

    def _surely_fits(self, rest: Expr, tokens: int) -> bool:
        """Whether what seems to fit does, or would if some more tokens were needed."""
        doubt = CERTAIN if rest.looks else self._doubts.of(rest)
        return doubt == CERTAIN or (doubt == VAGUE and self.fits(rest, tokens - _MORE))

    def _doubtful(self, reached: Reached, numbers: list[int]) -> list[int]:
        """The tokens that lead to some states, those first of which the least has to follow."""
        states = {n: self._machine.shortest_length(self._rows.state(n)) for n in numbers}
        first = sorted(numbers, key=states.__getitem__)
        tokens = [reached.tokens[reached.numbers == n].tolist() for n in first]
        return [*chain.from_iterable(tokens)][:_MANY]

    def _by_key(self, reached: Reached, numbers: set[int]) -> list[int]:
        """A few tokens into a key or an item: after each it may take another number to the end."""
        states = {n: self._rows.state(n) for n in numbers}
        into = [n for n, s in states.items() if self._depends_on_token(s)]
        tokens = reached.tokens[np.isin(reached.numbers, into)]
        return tokens.tolist() if len(tokens) <= _FEW else []

    def _depends_on_token(self, rest: Expr) -> bool:
        """Whether it may depend on what a token has read how many have to follow."""
        if rest.looks:
            return self._machine.reads_capture(rest)
        return self._doubts.of(rest) != CERTAIN


def halved(
    state: State,
    mask: Row,
    tokens_left: int,
    row: Callable[[State, int], Row],
    *,
    also_half: bool,
) -> Row:
    """What `row` says, which is remembered if it is the whole mask.

    Asked with ever fewer tokens, as within a string, `row` is asked a few times: first with half.
    """
    if also_half and np.array_equal(row(state, tokens_left // 2), mask):
        state.enough = tokens_left // 2
        return mask
    found = row(state, tokens_left)
    if np.array_equal(found, mask):
        state.enough = tokens_left
        return mask
    return found
