"""`CompiledConstraint`: the states, masks and distances of a source over one vocabulary."""

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from operator import index
from typing import Any, Final, Self, SupportsIndex, TypeAlias, cast

from guideway.automaton.states import State, States
from guideway.automaton.token_tries import Held, Row, count, track, unpack
from guideway.constraint.canonical_paths import CanonicalStates, ExploredStates
from guideway.constraint.closing import Closing, halved
from guideway.constraint.comparison import Comparison, Language, equal, included
from guideway.constraint.lowering import lower_source
from guideway.constraint.special_tokens import checked_lead, read_text, resolve
from guideway.constraint.tables import MOST_STATES, Tables, build_tables
from guideway.errors import (
    TokenRejected,
    UnsupportedError,
    brief,
    one_line,
)
from guideway.language.budget import Budget, Meter
from guideway.language.derivative import Derivatives
from guideway.language.expr import concat, literal
from guideway.language.finite_languages import Decisions
from guideway.language.fuel import attempt, metered
from guideway.language.nodes import Expr
from guideway.language.shortest_string import LONGEST
from guideway.language.special_tokens import shown, unmarked
from guideway.sources.regions import Special
from guideway.sources.sources import Source, source
from guideway.vocabulary.canonical.tokens import CanonicalAutomaton
from guideway.vocabulary.vocabulary import Vocabulary

DecodeState: TypeAlias = State


_NODES: Final = 4  # translated when compiling, at 40 µs each; none: p99 of masks is 1.1 times that
_PARTS: Final = 500  # of automata, about a millisecond


class CompiledConstraint:
    """A compiled constraint: immutable, and safe to share between threads.

    Example:
        >>> import guideway as gw
        >>> vocabulary = gw.Vocabulary([b"a", b"b", None, b"<eos>"], eos_ids={3})
        >>> constraint = gw.compile(gw.Regex("ab?"), vocabulary)
        >>> state = constraint.advance(constraint.start(), 0)
        >>> constraint.mask(state).tolist(), constraint.accepts(state)
        ([10], True)

    A pickle contains the source, the vocabulary and the budget. Loading it compiles them again.

    Attributes:
        vocabulary: the vocabulary of the tokens.
        source: the compiled source.
    """

    def __init__(
        self,
        expr: Expr,
        machine: Derivatives,
        vocabulary: Vocabulary,
        budget: Budget,
        *,
        spelled: Vocabulary | None = None,
        names: frozenset[str] = frozenset(),
        automaton: CanonicalAutomaton | None = None,
    ) -> None:
        """Assemble the parts that `guideway.compile` builds.

        `spelled` is the vocabulary with the marks of the special tokens `names`. `automaton`, if
        given, limits the constraint to canonical tokens.
        """
        self.vocabulary = vocabulary
        self._spelled = vocabulary if spelled is None else spelled
        self._expr, self._machine = expr, machine
        self._budget, self._names, self._ends = budget, names, vocabulary.eos_ids
        self.source: Source | None = None
        self._again: tuple[Any, ...] = ()
        self._listed: ExploredStates | CanonicalStates | None = None
        if automaton is not None:
            self._listed = CanonicalStates(expr, machine, self._spelled, budget, automaton)
        elif not self._spelled.closed:
            self._listed = ExploredStates(expr, machine, self._spelled, budget)
        self._states = self._listed or States(expr, machine, self._spelled, budget)
        self._lock = self._states.lock  # one lock for all uses of the recognizer
        track(self)

    def prepare(self) -> None:
        """Translate what a text meets first, so that fewer masks have to."""
        states = self._states
        if not isinstance(states, States):
            return

        def translate() -> bool:
            self.start()
            states.pda.prepare(_NODES)
            return True

        with states.lock:
            attempt(translate, _PARTS)

    def made_from(self, source: Source, again: tuple[Any, ...]) -> None:
        """Set the source, and the function with arguments that compiles a pickle again."""
        self.source, self._again = source, again

    def __repr__(self) -> str:
        """Source and vocabulary."""
        return one_line(f"CompiledConstraint({brief(self.source, 90)}, {self.vocabulary!r})")

    def __copy__(self) -> Self:
        """Itself: it is immutable."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Itself: it is immutable."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the arguments of `guideway.compile`.

        Raises:
            UnsupportedError: a type or a function in the source cannot be pickled.
        """
        return self._again

    def start(self, lead: bytes | None = None) -> DecodeState:
        """Return the state before the first token.

        Args:
            lead: bytes that the tokens spell before the text itself, such as those of
                `guideway.heal`. Default: `vocabulary.lead`, which decoding removes.

        Raises:
            SourceError: `lead` is not bytes.
            UnsatisfiableError: the tokens cannot spell it.
        """
        return self._states.start(checked_lead(lead, self._spelled))

    def mask(self, state: DecodeState) -> Row:
        """Return the tokens that may come next.

        Returns:
            Read-only uint32[ceil(width / 32)]: token t is bit t % 32 of word t // 32.
        """
        row = state.row
        if row is None:
            return self._states.mask(state)
        state.hits += 1
        return row

    def advance(self, state: DecodeState, token: int) -> DecodeState:
        """Return the state after one more token.

        Raises:
            TokenRejected: the bit of `token` is not set in `mask(state)`.
        """
        if token.__class__ is int:
            following = state.next if token == state.token else state.following(token)
            if following is not None:
                return following
            if token >= 0 and not state.ended and token not in self._ends:
                following = self._states.after(state, token)
                if following is not None:
                    return following
        return self._advance(state, token)

    def _advance(self, state: DecodeState, token: int) -> DecodeState:
        if not isinstance(token, SupportsIndex):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TokenRejected(f"a token must be an id (int), not {brief(token)}", token=-1)
        token = index(token)
        if token in self.vocabulary.eos_ids and state.accepts:
            return state if state.ended else self._states.end(state)
        following = None if state.ended or token < 0 else self._states.after(state, token)
        if following is None:
            raise self._rejection(state, token)
        return following

    def accepts(self, state: DecodeState) -> bool:
        """Return whether the text may end here: the mask has the end ids exactly then."""
        return state.accepts

    def forced(self, state: DecodeState) -> tuple[int, ...]:
        """Return the next tokens as long as each is the only allowed one; () if there is a choice.

        A forced end id is the last token of the chain.
        """
        chain: list[int] = []
        seen = {state}
        while not state.ended and count(row := self.mask(state)) == 1:
            token = int(unpack(row)[0])
            chain.append(token)
            state = self.advance(state, token)
            if state in seen and not state.ended:
                break  # a loop without exit only exists where accepting needs no token
            seen.add(state)
        return tuple(chain)

    def forced_bytes(self, state: DecodeState, most: float | int = math.inf) -> bytes:
        """Return the longest common prefix of all continuations, up to a special token.

        At most `most` bytes.
        """
        if self._branches(self.mask(state)):
            return b""
        common = bytearray()
        with self._lock:
            rest = self._machine.blurred(self._states.rest(state))
            while len(common) < most and not state.ended and not self._machine.accepts(rest):
                arcs = self._machine.arcs(rest)
                members, following = arcs[0]
                if len(arcs) > 1 or members & (members - 1) or self._machine.unsure(following):
                    break
                common.append(members.bit_length() - 1)
                rest = following
        return unmarked(bytes(common))

    def _branches(self, row: Row) -> bool:
        """Return True if the first and the last allowed token begin with different bytes."""
        places = row.nonzero()[0][[0, -1]].tolist() if row.any() else [0, 0]
        low, high = row[places].tolist()
        first = 32 * places[0] + (low & -low).bit_length() - 1
        last = 32 * places[1] + high.bit_length() - 1
        spelled = self._spelled.tokens
        one, other = (spelled[token : token + 1] for token in (first, last))
        return bool(one and other and one[0] and other[0] and one[0][0] != other[0][0])

    def distance(self, state: DecodeState) -> int:
        """Return a number of tokens that suffices to reach the end, without the end id.

        It is 0 if `accepts`. Otherwise some token leads to a smaller distance, except in a few
        arrays of distinct arrays or objects. It may be larger than needed for objects with many
        alternatives, whose shortest text takes long to find. It may be too small if distinct keys
        or items must also satisfy other constraints, and a bounded search does not decide them.

        Raises:
            LimitError: the shortest text is longer than 16 MiB; or, with canonical tokens, the
                search takes too long.
        """
        if self._listed is not None:
            return self._listed.distance(state)
        with self._lock:
            self._machine.refuel()
            return self._closing.distance(self._states.rest(state))

    def fits(self, state: DecodeState, tokens: int) -> bool:
        """Return whether `tokens` suffice to reach the end: `distance(state) <= tokens`.

        False if the shortest text is longer than 16 MiB. Canonical tokens raise as `distance`.
        """
        if self._listed is not None:
            return self._listed.distance(state) <= tokens
        with self._lock:
            self._machine.refuel()
            return self._closing.reaches(state, tokens)

    def mask_within(self, state: DecodeState, tokens_left: int) -> Row:
        """Return the mask without tokens after which `tokens_left - 1` tokens are not enough.

        Distinct keys or items that are still required (`minProperties`, `uniqueItems`) make the
        distance inexact. Within 16 tokens of the end, up to 512 tokens are tried one by one, and
        the others are excluded. Further away, 16 tokens are reserved beyond the shortest text.

        Raises:
            LimitError: `distance(state)` is more than `tokens_left`, or as `distance`.
        """
        mask = self.mask(state)
        if state.ended or tokens_left >= min(state.enough, LONGEST + 1):
            return mask
        if self._listed is not None:
            near = self._listed.distance(state) <= tokens_left // 4
            return halved(state, mask, tokens_left, self._listed.within, also_half=near)
        with self._lock:
            self._machine.refuel()
            return self._closing.within(state, mask, tokens_left)

    def mask_without(self, state: DecodeState, token: int, tokens_left: int) -> Row:
        """Return `mask_within`, or a larger mask, without `token`, which `mask_within` excludes.

        It is larger for lookaheads: it excludes only the tokens that lead to the state after
        `token`, because each state needs a search for its shortest end. Raises as `mask_within`.
        """
        with self._lock:
            found = None if self._listed else self._closing.without(state, token)
        return self.mask_within(state, tokens_left) if found is None else found

    def matches(self, text: str | bytes | Sequence[str | Special]) -> bool:
        """Return whether `text` is in the language and the vocabulary can spell it.

        Args:
            text: a text, or a list of texts and `guideway.special(...)`. In a text, the name of a
                special token in the source is read both as the token and as characters, and the
                text matches if one of the readings does.

        Raises:
            SourceError: `text` is not a text.
            UnsupportedError: the vocabulary has no such special token.
        """
        readings = read_text(text, self.vocabulary, self._names)
        with self._lock:
            if self._listed is not None:
                return self._listed.matches(readings)
            return readings.matches(self._machine, self._expr)

    def spells(self, token: int) -> bool:
        """Return whether a token spells text, or is a special token that the source names."""
        return bool(self._spelled.spelling(token))

    def marked(self, tokens: Iterable[int]) -> bytes:
        """Return the bytes of tokens, with marks for special tokens (`language.special_tokens`)."""
        known = self._spelled.tokens
        return b"".join(known[token] or b"" for token in tokens)

    def example(self) -> str:
        """Return a shortest text, the first in byte order. Special tokens have their names.

        Raises:
            LimitError: the text is longer than 16 MiB; or distinct keys or items must also satisfy
                other constraints, and no text is found in 10,000 states.
        """
        with self._lock:
            if self._listed is not None:
                return shown(self._listed.example()[len(self.vocabulary.lead) :]).decode()
            return shown(self._machine.shortest(self._expr)).decode()

    def includes(self, other: object) -> Comparison:
        """Return whether this constraint allows every text of `other`.

        Example:
            >>> import guideway as gw
            >>> vocabulary = gw.Vocabulary([bytes([b]) for b in range(256)])
            >>> words = gw.compile(gw.Regex("[a-z]+"), vocabulary)
            >>> bool(words.includes(gw.Choice(["yes", "no"])))
            True
            >>> words.includes(gw.Regex("[a-z]*")).witness
            ''

        Args:
            other: another constraint, or a source, which is compiled for this vocabulary.

        Returns:
            A `Comparison`, which is true or false as a condition. If it is false, its `witness` is
            a shortest text of `other` that this constraint rejects.

        Raises:
            UnsupportedError: the question is undecidable here: one side nests without end, and
                `other` has too many texts to try.
            LimitError: the search exceeds this constraint's budget, or the witness is longer than
                16 MiB.
            GuidewayError: as `guideway.compile`, if `other` is a source.
        """
        return included(self._language, self._language_of(other), self._fuel())

    def equivalent(self, other: object) -> Comparison:
        """Return whether this constraint and `other` allow the same texts.

        Example:
            >>> import guideway as gw
            >>> vocabulary = gw.Vocabulary([bytes([b]) for b in range(256)])
            >>> constraint = gw.compile(gw.Regex("(a|b)*a"), vocabulary)
            >>> bool(constraint.equivalent(gw.Regex("(b*a)+")))
            True
            >>> found = constraint.equivalent(gw.Regex("(ab|ba?)*a"))
            >>> found.witness, found.side
            ('aa', 'this')

        Args:
            other: another constraint, or a source, which is compiled for this vocabulary.

        Returns:
            A `Comparison`, which is true or false as a condition. If it is false, its `witness` is
            a shortest text that only one of them accepts, and its `side` names that one.

        Raises:
            UnsupportedError, LimitError, GuidewayError: as `includes`.
        """
        return equal(self._language, self._language_of(other), self._fuel())

    def tables(self, most_states: int = MOST_STATES, lead: bytes | None = None) -> Tables:
        """Return the whole constraint as arrays, for loops on a GPU.

        The constraint must be finite: without unbounded nesting and without open sets of keys.
        Texts begin with `lead`, as in `start`.

        Raises:
            LimitError: the automaton of bytes has more than `most_states` states, or the tables
                exceed the budget.
            UnsupportedError: the constraint is limited to canonical tokens.
        """
        if isinstance(self._listed, CanonicalStates):
            raise UnsupportedError(
                "tables do not support canonical=True, because the next tokens depend on the last",
                feature="tables of canonical tokens",
            )
        start = concat(literal(checked_lead(lead, self._spelled)), self._expr)
        return build_tables(start, self._spelled, self._budget, most_states)

    def held(self) -> Held:
        """Return the current contents of its caches; see `guideway.cache_info`."""
        return self._states.held()

    def size(self) -> int:
        """Return the memory of all that `held` counts. This visits every state."""
        return self._states.size()

    @property
    def spent(self) -> bool:
        """Return True if the next text begins in tables that are built anew."""
        return isinstance(self._states, States) and self._states.mask_cache.spent

    def forget(self) -> None:
        """Drop masks and transitions. They are computed again when they are needed."""
        with self._lock:
            self.__dict__.pop("_closing", None)  # its groups hold a state
            self._states.forget()

    @cached_property
    def _closing(self) -> Closing:
        states = cast("States", self._states)  # others have their own distances
        return Closing(self._machine, states, self._spelled)

    @property
    def _language(self) -> Language:
        return Language(self._expr, self._spelled)

    def _language_of(self, other: object) -> Language:
        if isinstance(other, CompiledConstraint):
            return other._language
        fuel = self._fuel()
        with metered(fuel, fresh=True):
            resolved = resolve(source(other), self.vocabulary)
            expr = lower_source(resolved.source, Decisions(fuel))
            return Language(expr, resolved.vocabulary)

    def _fuel(self) -> Callable[[int], None]:
        return Meter(self._budget, "comparing").tick

    def _rejection(self, state: DecodeState, token: int) -> TokenRejected:
        allowed, spelling = self.mask(state), self.vocabulary.spelling(token) or None
        likely = unpack(allowed)[:8].tolist()
        what = f"token {brief(token)}"
        what += f" ({spelling!r})" if spelling else ", which spells no text,"
        said = f"{what} is not allowed here; allowed are {count(allowed)} tokens such as {likely}"
        return TokenRejected(said, token=token, spelling=spelling)
