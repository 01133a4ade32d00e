"""A language and a vocabulary, ready for decoding: what `guideway.compile` returns.

A decode state is a state of the recognizer, or that state after an end id. States are values, so
rollback, fork and search are nothing more than keeping an older one.

Every state that is handed out can still reach an end. Where each byte of each token is itself a
token ("closed" vocabularies) the recognizer alone sees to that, since whatever bytes are missing,
there are tokens for them. Otherwise `token_graph` has found the states from which tokens lead to an
end, and no other is ever offered.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from operator import index
from typing import Any, Self, SupportsIndex, TypeAlias, final

from guideway.automata.budget import Budget, Meter
from guideway.automata.decided import Decisions
from guideway.automata.derivative import Derivatives
from guideway.automata.words import LONGEST
from guideway.constraints.canonical import CanonicalStates
from guideway.constraints.closing import Closing, halved
from guideway.constraints.comparison import Comparison, Language, equal, included
from guideway.constraints.explored import ExploredStates
from guideway.constraints.readings import checked_lead, read_text
from guideway.constraints.special_tokens import resolve
from guideway.constraints.tables import MOST_STATES, Tables, build_tables
from guideway.constraints.token_graph import TokenGraph
from guideway.errors import TokenRejected, UnsupportedError, brief, one_line
from guideway.lowering.expr import concat, literal
from guideway.lowering.fuel import metered
from guideway.lowering.nodes import Expr
from guideway.lowering.sources import lower_source
from guideway.lowering.special import shown, unmarked
from guideway.masks.bits import Row, count, unpack
from guideway.masks.memory import Held, track
from guideway.masks.rows import Rows
from guideway.masks.state import State
from guideway.masks.states import States
from guideway.syntax.sources import Source, source
from guideway.syntax.special import Special
from guideway.vocabulary.cutter import Cutter
from guideway.vocabulary.spellings import Vocabulary

DecodeState: TypeAlias = State


@final
class CompiledConstraint:
    """A compiled constraint: immutable, and safe to share between threads.

    Example:
        >>> import guideway as gw
        >>> vocabulary = gw.Vocabulary([b"a", b"b", None, b"<eos>"], eos_ids={3})
        >>> constraint = gw.compile(gw.Regex("ab?"), vocabulary)
        >>> state = constraint.advance(constraint.start(), 0)
        >>> constraint.mask(state).tolist(), constraint.accepts(state)
        ([10], True)

    A pickle holds the source, the vocabulary and the budget, and loading it compiles them again.

    Attributes:
        vocabulary: the vocabulary it was compiled for.
        source: what it was compiled from.
    """

    def __init__(
        self,
        expr: Expr,
        machine: Derivatives,
        vocabulary: Vocabulary,
        budget: Budget,
        graph: TokenGraph | None = None,
        *,
        spelled: Vocabulary | None = None,
        names: frozenset[str] = frozenset(),
        cutter: Cutter | None = None,
    ) -> None:
        """Put the parts together; `guideway.compile` makes them.

        `spelled` is the vocabulary with the marks of special tokens, those of `names` among them;
        `cutter` says which tokens are canonical, where no others are wanted.
        """
        self.vocabulary = vocabulary
        self._spelled = vocabulary if spelled is None else spelled
        self._expr, self._machine, self._graph = expr, machine, graph
        self._budget, self._names, self._ends = budget, names, vocabulary.eos_ids
        self.source: Source | None = None
        self._again: tuple[Any, ...] = ()
        self._canonical: CanonicalStates | None = None
        self._states: States | ExploredStates | CanonicalStates
        if cutter is not None:
            self._canonical = CanonicalStates(expr, machine, self._rows, self._spelled, cutter)
            self._states = self._canonical
        elif graph is None:
            self._states = States(expr, machine, self._spelled, budget)
        else:
            self._states = ExploredStates(expr, graph, self._rows, self._spelled)
        self._lock = self._states.lock  # masks and all else ask the same recognizer
        track(self)

    def made_from(self, source: Source, again: tuple[Any, ...]) -> None:
        """Note what it was compiled from, and how pickles compile it: a function, arguments."""
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
        """Compile again where it is loaded.

        Raises:
            UnsupportedError: a type or a function in the source cannot be pickled.
        """
        return self._again

    def start(self, lead: bytes | None = None) -> DecodeState:
        """The state before the first token.

        Args:
            lead: bytes that the tokens spell before the text itself; what decoding takes away from
                the beginning of a text (`vocabulary.lead`), if not given.

        Raises:
            SourceError, UnsatisfiableError: it is no bytes, or none that tokens spell.
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
            raise TokenRejected(f"a token is an id, not {brief(token)}", token=-1)
        token = index(token)
        if token in self.vocabulary.eos_ids and state.accepts:
            return state if state.ended else self._states.end(state)
        following = None if state.ended or token < 0 else self._states.after(state, token)
        if following is None:
            raise self._rejection(state, token)
        return following

    def accepts(self, state: DecodeState) -> bool:
        """Return whether the text may end here. Exactly then the end ids are set in the mask."""
        return state.accepts

    def forced(self, state: DecodeState) -> tuple[int, ...]:
        """Return the longest chain of tokens without another choice; () if there is a choice.

        An end id without another choice ends the chain.
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

    def forced_bytes(self, state: DecodeState) -> bytes:
        """Return the bytes that every continuation begins with, up to a special token."""
        common = bytearray()
        with self._lock:
            rest = self._machine.blurred(self._states.rest(state))
            while not state.ended and not self._machine.accepts(rest):
                arcs = self._machine.arcs(rest)
                members, following = arcs[0]
                if len(arcs) > 1 or members & (members - 1) or self._machine.unsure(following):
                    break
                common.append(members.bit_length() - 1)
                rest = following
        return unmarked(bytes(common))

    def distance(self, state: DecodeState) -> int:
        """Return a number of tokens that suffices to reach the end, end ids not counted.

        0 where `accepts`; else smaller behind some token, but for a few arrays of different arrays
        or objects, of which several texts are as short. Where names or items that must not come
        twice meet other constraints, it may be too small if a search does not soon tell.

        Raises:
            LimitError: the shortest text is longer than 16 MiB; of canonical tokens, too: it takes
                too long to find out.
        """
        if self._canonical is not None:
            return self._canonical.distance(state)
        with self._lock:
            return self._closing.distance(self._states.rest(state))

    def fits(self, state: DecodeState, tokens: int) -> bool:
        """Return whether `tokens` suffice to reach the end: `distance(state) <= tokens`.

        A text longer than 16 MiB does not end so soon. Of canonical tokens as `distance` raises.
        """
        if self._canonical is not None:
            return self._canonical.distance(state) <= tokens
        with self._lock:
            return self._closing.reaches(state, tokens)

    def mask_within(self, state: DecodeState, tokens_left: int) -> Row:
        """Return the mask without tokens after which `tokens_left - 1` tokens are not enough.

        Where names or items have to come that must not come twice, as by `minProperties` or
        `uniqueItems`, tokens into such are tried one by one within 16 tokens of the end, 512 at
        most, and others are left out; further from it such a rest is trusted to take at most 16
        tokens more than the shortest.

        Raises:
            LimitError: `distance(state)` is more than `tokens_left`, or as `distance`.
        """
        mask = self.mask(state)
        if state.ended or tokens_left >= min(state.enough, LONGEST + 1):
            return mask
        if self._canonical is not None:
            near = self._canonical.distance(state) <= tokens_left // 4
            return halved(state, mask, tokens_left, self._canonical.within, also_half=near)
        with self._lock:
            return self._closing.within(state, mask, tokens_left)

    def mask_without(self, state: DecodeState, token: int, tokens_left: int) -> Row:
        """`mask_within`, given a token that is not in it; or a mask with more, also without it.

        Where something is looked ahead for, it lacks only what leads to where `token` leads: each
        state that tokens lead to has to be searched for its shortest end. Raises as `mask_within`.
        """
        with self._lock:
            found = None if self._canonical else self._closing.without(state, token)
        return self.mask_within(state, tokens_left) if found is None else found

    def matches(self, text: str | bytes | Sequence[str | Special]) -> bool:
        """Return whether `text` is in the language and the vocabulary can spell it.

        Args:
            text: where the name of a special token that the source names stands in a text, that may
                be the token or the characters of its name: the text matches if it does in either
                way. In a list of texts and `guideway.special(...)` it is told.

        Raises:
            SourceError: it is no text.
            UnsupportedError: the vocabulary has no such special token.
        """
        readings = read_text(text, self.vocabulary, self._names)
        with self._lock:
            if self._graph is not None:
                return self._graph.matches(self.vocabulary.lead, readings)
            if not readings.matches(self._machine, self._expr):
                return False
            return self._canonical is None or self._canonical.spells(readings)

    def spells(self, token: int) -> bool:
        """Whether a token spells text, or is a special token where the source names any."""
        known = self._spelled.tokens
        return 0 <= token < len(known) and bool(known[token])

    def marked(self, tokens: Iterable[int]) -> bytes:
        """What tokens spell, with marks where special tokens stand (`lowering.special`)."""
        known = self._spelled.tokens
        return b"".join(known[token] or b"" for token in tokens)

    def example(self) -> str:
        """Return a shortest text, the first in byte order. Special tokens have their names.

        Raises:
            LimitError: the text is longer than 16 MiB; or names or items that must not come twice
                meet other constraints, and none is found after 10,000 states.
        """
        with self._lock:
            if self._graph is not None:
                return shown(self._graph.example()[len(self.vocabulary.lead) :]).decode()
            if self._canonical is not None:
                return shown(self._canonical.example()[len(self.vocabulary.lead) :]).decode()
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
            other: another constraint, or what `guideway.compile` takes, with this one's vocabulary.

        Returns:
            A `Comparison`, true or false as a condition; where it is false, its `witness` is a
            shortest text of `other` that this one does not have.

        Raises:
            UnsupportedError: it cannot be decided: one nests without end, and `other` has more
                than a few texts.
            LimitError: the search takes more work than this constraint's budget allows, or the
                witness is longer than 16 MiB.
            GuidewayError: as `guideway.compile`, where `other` is a source.
        """
        return included(self._language, self._other(other), self._fuel())

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
            other: another constraint, or what `guideway.compile` takes, with this one's vocabulary.

        Returns:
            A `Comparison`, true or false as a condition; where it is false, its `witness` is a
            shortest text of one that the other does not have, and its `side` says which has it.

        Raises:
            UnsupportedError, LimitError, GuidewayError: as `includes`.
        """
        return equal(self._language, self._other(other), self._fuel())

    def tables(self, most_states: int = MOST_STATES) -> Tables:
        """Return the whole constraint as arrays, for loops on a GPU.

        Only finite constraints have them: no values nested without end, no open set of keys.

        Raises:
            LimitError: there are more than `most_states` states of bytes, or the tables take more
                work or memory than the budget allows.
        """
        if self._canonical is not None:
            raise UnsupportedError(
                "canonical tokens have no tables: which of them may follow depends on the last one",
                feature="tables of canonical tokens",
            )
        start = concat(literal(self.vocabulary.lead), self._expr)
        return build_tables(start, self._spelled, self._budget, most_states)

    def held(self) -> Held:
        """What is remembered of it at the moment; see `guideway.cache_info`."""
        held = self._states.held()
        return held + self._rows.held() if "_rows" in self.__dict__ else held

    def size(self) -> int:
        """The memory of all that `held` counts, which looks at each state for that."""
        rows = self._rows.held().bytes if "_rows" in self.__dict__ else 0
        return self._states.size() + rows

    def forget(self) -> None:
        """Drop masks and transitions; what is asked for later is made again, the same."""
        with self._lock:
            if "_rows" in self.__dict__:
                self._rows.forget()
            self.__dict__.pop("_closing", None)  # whose groups hold a state
            self._states.forget()

    @cached_property
    def _rows(self) -> Rows[Expr]:
        """The masks of the plain engine, which only a limit of tokens asks for."""
        return Rows(self._machine, self._spelled, self._budget)

    @cached_property
    def _closing(self) -> Closing:
        return Closing(self._machine, self._states, self._rows, self._spelled, self._graph)

    @property
    def _language(self) -> Language:
        return Language(self._expr, self._spelled)

    def _other(self, other: object) -> Language:
        if isinstance(other, CompiledConstraint):
            return other._language
        fuel = self._fuel()
        with metered(fuel, fresh=True):
            resolved = resolve(source(other), self.vocabulary)
            expr = lower_source(resolved.source, Decisions(fuel))
            return Language(expr, resolved.vocabulary)

    def _fuel(self) -> Callable[[int], None]:
        """What counts the work of a comparison."""
        return Meter(self._budget, "comparing").tick

    def _rejection(self, state: DecodeState, token: int) -> TokenRejected:
        known, allowed = self.vocabulary.tokens, self.mask(state)
        spelling = known[token] if 0 <= token < len(known) else None
        likely = unpack(allowed)[:8].tolist()
        what = f"token {brief(token)}"
        what += f" ({spelling!r})" if spelling else ", no text,"
        said = f"{what} is not allowed here; {count(allowed)} tokens are, {likely} among them"
        return TokenRejected(said, token=token, spelling=spelling)
