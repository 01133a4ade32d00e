"""Decode states of canonical tokens, and of vocabularies that cannot spell every byte."""

import threading
from collections import deque
from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from typing import Any, Final, TypeAlias, TypeVar
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np

from guideway.automaton.plain_masks import Rows
from guideway.automaton.states import ALL, MOST_STARTS, PLAIN, State
from guideway.automaton.token_tries import Held, Row, has, held_rows, pack, total
from guideway.constraint.special_tokens import Readings, too_few
from guideway.errors import LimitError, UnsatisfiableError, UnsupportedError
from guideway.language.budget import Budget
from guideway.language.derivative import Derivatives
from guideway.language.expr import concat, literal
from guideway.language.nodes import Expr
from guideway.language.shortest_string import LONGEST
from guideway.language.special_tokens import mark, split_marks
from guideway.vocabulary.canonical.merges import Ids
from guideway.vocabulary.canonical.tokens import DEAD_STATE, CanonicalAutomaton
from guideway.vocabulary.vocabulary import Vocabulary

Key = TypeVar("Key")
Value = TypeVar("Value")
Route: TypeAlias = tuple[int, ...]

_MOST_OPTIONS: Final = 256
_MOST_KNOWN: Final = 1 << 18
_MOST_SPOTS: Final = 1 << 16  # of one search
_ASCII: Final = 0x80
_MARKED: Final = 0xF5  # bytes from here on are marks


def remember(memory: dict[Key, Value], key: Key, value: Value, most: int) -> Value:
    """Store a value; clear the memory first if it has `most` entries."""
    if len(memory) >= most:
        memory.clear()
    memory[key] = value
    return value


@dataclass(frozen=True, slots=True)
class Spot:
    """A place of canonical tokens in a text. `tail`: its end that may change with what follows."""

    rest: Expr
    place: int
    token: int
    tail: str


@dataclass(frozen=True, slots=True, eq=False)
class Options:
    """Tokens that may follow, regardless of the last one.

    `lengths`: of the route after each token. `open`: tokens whose route depends on earlier text.
    """

    tokens: Ids
    lengths: Ids
    open: tuple[int, ...]


class Routes:
    """Routes of one constraint. Not thread safe; its owner locks."""

    def __init__(
        self,
        machine: Derivatives,
        rows: Rows,
        vocabulary: Vocabulary,
        automaton: CanonicalAutomaton,
    ) -> None:
        self._machine, self._rows = machine, rows
        self._vocabulary, self._automaton = vocabulary, automaton
        self.forget()

    def forget(self) -> None:
        self._options = dict[tuple[Expr, int, bool], Options]()
        self._settled = dict[tuple[Expr, int], Route | None]()
        self._known = dict[Spot, Route | None]()
        self._drafts = dict[tuple[Expr, bool], list[Route]]()

    def options(self, rest: Expr, place: int, *, joined: bool) -> Options:
        """Tokens that may follow in a new piece or (`joined`) also in the current one."""
        key = (rest, place, joined)
        found = self._options.get(key)
        if found is None:
            made = self._collect(rest, place, joined)
            found = remember(self._options, key, made, _MOST_OPTIONS)
        return found

    def route(self, spot: Spot) -> Route | None:
        """Tokens to an end, None if there are none."""
        found = self._free_route(spot.rest, spot.place)
        if found is not None:
            return found
        if spot not in self._known:
            found = self._completion_in_piece(spot)
            found = self._search(spot) if found is None else found
            remember(self._known, spot, found, _MOST_KNOWN)
        return self._known[spot]

    def encode(self, text: bytes) -> Route | None:
        """The tokens of a text with marks of special tokens."""
        found: list[int] = []
        for part, is_mark in split_marks(text):
            if is_mark:
                found += self._vocabulary.ids(part)[:1]
                continue
            tokens = self._automaton.encode(part)
            if tokens is None:
                return None
            found += tokens
        return tuple(found)

    def _collect(self, rest: Expr, place: int, joined: bool) -> Options:
        tokens, numbers, places, unsure = self._reached(rest, place, joined)
        pairs, back = np.unique(numbers.astype(np.int64) << 32 | places, return_inverse=True)
        states = {n: self._rows.state(n) for n in np.unique(numbers).tolist()}
        lengths = np.full(len(pairs), -1)
        for at, pair in enumerate(pairs.tolist()):
            route = self._free_route(states[pair >> 32], pair & 0xFFFFFFFF)
            lengths[at] = -1 if route is None else len(route)
        found = lengths[back]
        opened: list[int] = []
        for at in np.flatnonzero(found < 0).tolist():
            token = int(tokens[at])
            if self._automaton.restless[token]:
                opened.append(token)
                continue
            route = self._single(rest, place, token, int(places[at]))
            found[at] = -1 if route is None else len(route)
        kept = found >= 0
        return Options(tokens[kept].astype(np.int64), found[kept], (*opened, *unsure))

    def _single(self, rest: Expr, place: int, token: int, after: int) -> Route | None:
        exact, tail = self._rows.after(rest, token), self._automaton.tail(place, "", token)
        return None if exact is None else self.route(Spot(exact, after, token, tail))

    def _reached(self, rest: Expr, place: int, joined: bool) -> tuple[Ids, Ids, Ids, list[int]]:
        """Tokens that both allow, the states and places after them, and unsure tokens."""
        reached = self._rows.reached(rest)
        tokens = reached.tokens.astype(np.int64)
        places = self._automaton.afters(place, tokens, joined=joined).astype(np.int64)
        kept = places != DEAD_STATE
        unsure = [
            token
            for token in reached.unsure.tolist()
            if self._rows.after(rest, token) is not None
            and self._automaton.after(place, token, joined=joined)
        ]
        return tokens[kept], reached.numbers[kept].astype(np.int64), places[kept], unsure

    def _free_route(self, rest: Expr, place: int) -> Route | None:
        """A route regardless of the last token."""
        key = (rest, place)
        if key not in self._settled:
            remember(self._settled, key, self._find_free_route(rest, place), _MOST_KNOWN)
        return self._settled[key]

    def _find_free_route(self, rest: Expr, place: int) -> Route | None:
        automaton = self._automaton
        if rest.nullable and automaton.ends(place):
            return ()
        if automaton.inside(place):
            return None
        for route in self._text_routes(rest, every=False):
            quiet = route and not automaton.restless[route[0]]
            if quiet and automaton.ends(automaton.run(place, route, joined=False)):
                return route
        return None

    def _text_routes(self, rest: Expr, *, every: bool) -> list[Route]:
        """Tokens of texts, shortest first: one for each sort of first character (`every`: byte)."""
        key = (rest, every)
        if key not in self._drafts:
            texts = sorted(set(self._texts(rest, every)), key=lambda text: (len(text), text))
            routes = (self.encode(text) for text in texts)
            remember(self._drafts, key, [route for route in routes if route], _MOST_KNOWN)
        return self._drafts[key]

    def _texts(self, rest: Expr, every: bool) -> Iterator[bytes]:
        machine = self._machine
        yield from [machine.shortest(rest)] if machine.shortest_length(rest) <= LONGEST else []
        for members, target in machine.arcs(machine.blurred(rest)):
            if machine.unsure(target) or machine.shortest_length(target) > LONGEST:
                continue
            end = machine.shortest(target)
            seen = set[int]()
            for byte in range(_MARKED):
                if members >> byte & 1:
                    sort = self._automaton.sorts(byte) if byte < _ASCII else _ASCII
                    if every or sort not in seen:
                        seen.add(sort)
                        yield bytes((byte,)) + end

    def _completion_in_piece(self, spot: Spot) -> Route | None:
        """A draft that goes on in the same piece."""
        automaton = self._automaton
        if automaton.inside(spot.place):
            return self._completed(spot)
        for every in (False, True):
            for route in self._text_routes(spot.rest, every=every):
                fits = automaton.joins(spot.token, route[0]) and self._stays(spot.tail, route)
                if fits and automaton.ends(automaton.run(spot.place, route, joined=True)):
                    return route
        return None

    def _stays(self, tail: str, route: Route) -> bool:
        """Return True if the text before a route does not change."""
        known = self._vocabulary.tokens
        text = b"".join(known[token] or b"" for token in route) if tail else b""
        return self._automaton.characters.stays(tail, text.decode(errors="ignore"))

    def _completed(self, spot: Spot) -> Route | None:
        """The end of a partial character, and a route from there."""
        automaton = self._automaton
        for tokens in automaton.completions(spot.place, spot.token).routes:
            after: Spot | None = spot
            for token in tokens:
                after = None if after is None else self.following(after, token)
            route = None if after is None else self._free_route(after.rest, after.place)
            if route is not None:
                return (*tokens, *route)
        return None

    def _search(self, spot: Spot) -> Route | None:
        """Search a route among all tokens, shortest rests first."""
        heap: list[tuple[int, int, Route, Spot]] = [(0, 0, (), spot)]
        seen = {spot}
        serial = 0
        while heap:
            _, _, path, here = heappop(heap)
            for token, after in self._next(here, seen):
                route = self._free_route(after.rest, after.place)
                if route is None:
                    route = self._completion_in_piece(after)
                if route is not None:
                    return (*path, token, *route)
                serial += 1
                length = self._machine.shortest_length(after.rest)
                heappush(heap, (length, serial, (*path, token), after))
            if len(seen) > _MOST_SPOTS:
                raise LimitError(
                    f"the search for a canonical end stopped after {_MOST_SPOTS} places; simplify "
                    "the source, or leave canonical out",
                    limit="places",
                    given=_MOST_SPOTS,
                )
        for each in seen:
            self._known[each] = None
        return None

    def _next(self, spot: Spot, seen: set[Spot]) -> Iterator[tuple[int, Spot]]:
        """The tokens that may follow a spot, and new spots after them."""
        automaton = self._automaton
        if automaton.inside(spot.place):
            known = automaton.completions(spot.place, spot.token)
            if not known.routes and not known.others:
                return
        tokens, _, _, unsure = self._reached(spot.rest, spot.place, True)
        for token in [*tokens.tolist(), *unsure]:
            after = self.following(spot, token)
            if after is not None and after not in seen:
                seen.add(after)
                yield token, after

    def following(self, spot: Spot, token: int) -> Spot | None:
        """The spot after a token, with or without a route."""
        automaton, joined = self._automaton, self._automaton.joins(spot.token, token)
        place = automaton.after(spot.place, token, joined=joined)
        rest = self._rows.after(spot.rest, token) if place else None
        if rest is None or not automaton.stays(spot.place, spot.tail, token):
            return None
        return Spot(rest, place, token, automaton.tail(spot.place, spot.tail, token))


MOST_STATES: Final = 10_000


class ListedStates:
    """Decode states that hold the rest of the language; `lock` guards the recognizer."""

    def __init__(
        self,
        expr: Expr,
        machine: Derivatives,
        vocabulary: Vocabulary,
        budget: Budget,
        states: MutableMapping[Any, State],
        lock: "threading.RLock",
    ) -> None:
        self._expr, self._machine, self._rows = expr, machine, Rows(machine, vocabulary, budget)
        self._states, self._vocabulary, self.lock = states, vocabulary, lock
        self._end_row = pack(sorted(vocabulary.eos_ids), vocabulary.width)

    def end(self, state: State) -> State:
        return state.end(self._end_row, self.rest(state))

    def rest(self, state: State) -> Expr:
        return state.known_rest()

    def held(self) -> Held:
        return total([held_rows(s.row for s in self._states.values()), self._rows.held()])

    def size(self) -> int:
        return self.held().bytes

    def forget(self) -> None:
        with self.lock:
            for state in self._states.values():
                state.row = None
            self._rows.forget()


class ExploredStates(ListedStates):
    """The states that tokens can reach, explored beforehand, and their distances to an end."""

    def __init__(
        self, expr: Expr, machine: Derivatives, vocabulary: Vocabulary, budget: Budget
    ) -> None:
        """Explore from the usual start; too many states, or no text, are refused."""
        super().__init__(expr, machine, vocabulary, budget, {}, threading.RLock())
        self._after: dict[Expr, dict[int, Expr]] = {}
        self._distances: dict[Expr, int] = {}
        self.start(vocabulary.lead)

    def start(self, lead: bytes) -> State:
        rest = concat(literal(lead), self._expr)
        with self.lock:
            if rest not in self._after:
                self._explore(rest)
                self._distances = self._measure()
            if rest not in self._distances:
                raise UnsatisfiableError(
                    "the tokens of this vocabulary cannot spell any text of the source",
                    conflict=("source", "vocabulary"),
                )
            return self._state(rest)

    def mask(self, state: State) -> Row:
        with self.lock:
            if state.row is None:
                state.row = self._row(state, ALL)
            return state.row

    def within(self, state: State, tokens_left: int) -> Row:
        """The mask without tokens after which `tokens_left - 1` more are not enough."""
        needed = self.distance(state)
        if needed > tokens_left:
            raise too_few(tokens_left, needed)
        return self._row(state, tokens_left)

    def _row(self, state: State, tokens_left: int) -> Row:
        rest = self.rest(state)
        tokens = [
            token
            for token, after in self._after[rest].items()
            if self._distances.get(after, tokens_left) < tokens_left
        ]
        return self._rows.pack(rest, np.array(tokens, np.int32))

    def distance(self, state: State) -> int:
        return self._distances[self.rest(state)]

    def after(self, state: State, token: int) -> State | None:
        following = self._after[self.rest(state)].get(token)
        return self._state(following) if following in self._distances else None

    def example(self) -> bytes:
        """The first, in byte order, of the shortest texts that tokens spell (Dijkstra 1959)."""
        start = self.rest(self.start(self._vocabulary.lead))
        queue: list[tuple[int, bytes, int, Expr]] = [(0, b"", 0, start)]
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
                    longer = text + self._vocabulary.spelling(token)
                    heappush(queue, (len(longer), longer, serial, after))

    def matches(self, read: Readings) -> bool:
        """Return True if tokens spell a reading of the text after the lead."""
        lead = self._vocabulary.lead
        whole, start = replace(read, data=lead + read.data), concat(literal(lead), self._expr)
        return whole.matches(self._machine, start, self._vocabulary)

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

    def _state(self, rest: Expr) -> State:
        return self._states.setdefault(rest, State(None, 0, rest.nullable, rest))


_NONE: Final = 1 << 40  # longer than any route


class CanonicalStates(ListedStates):
    """The canonical states of one constraint; `lock` guards the recognizer and the automaton."""

    def __init__(
        self,
        expr: Expr,
        machine: Derivatives,
        vocabulary: Vocabulary,
        budget: Budget,
        automaton: CanonicalAutomaton,
    ) -> None:
        states = WeakValueDictionary[Spot, State]()
        super().__init__(expr, machine, vocabulary, budget, states, automaton.lock)
        self._automaton = automaton
        self._routes = Routes(machine, self._rows, vocabulary, automaton)
        self._spots = WeakKeyDictionary[State, Spot]()
        self._ways = WeakKeyDictionary[State, Route]()
        self._starts = dict[bytes, State]()

    def start(self, lead: bytes) -> State:
        with self.lock:
            found = self._starts.get(lead)
            if found is None:
                spot = Spot(concat(literal(lead), self._expr), self._automaton.start, -1, "")
                route = self._routes.route(spot)
                if route is None:
                    raise UnsatisfiableError(
                        "no text of the source survives encoding and decoding: the tokenizer "
                        "changes each text, or reads the name of a special token in it",
                        conflict=("source", "tokenizer"),
                    )
                found = remember(self._starts, lead, self._state(spot, route), MOST_STARTS)
            return found

    def mask(self, state: State) -> Row:
        with self.lock:
            if state.row is None:
                tokens, _ = self._open(self._spots[state])
                state.row = self._packed(state, tokens)
            return state.row

    def within(self, state: State, tokens_left: int) -> Row:
        """The mask without tokens after which `tokens_left - 1` more are not enough."""
        with self.lock:
            needed = self.distance(state)
            if needed > tokens_left:
                raise too_few(tokens_left, needed)
            tokens, lengths = self._open(self._spots[state])
            known = np.array(self._ways[state][:1], np.int64)
            fit = tokens[lengths < tokens_left]
            return self._packed(state, np.union1d(fit, known))

    def distance(self, state: State) -> int:
        return 0 if state.ended else len(self._ways[state])

    def after(self, state: State, token: int) -> State | None:
        with self.lock:
            spot = self._spots[state]
            allowed = has(self.mask(state), token)
            after = self._routes.following(spot, token) if allowed else None
            if after is None:
                return None
            known = self._ways[state]
            route = known[1:] if known[:1] == (token,) else self._routes.route(after)
            return None if route is None else self._state(after, route)

    def example(self) -> bytes:
        route = self._ways[self.start(self._vocabulary.lead)]
        return b"".join(map(self._vocabulary.spelling, route))

    def matches(self, read: Readings) -> bool:
        """Return True if a text is read, and the tokenizer reproduces it, special tokens too."""
        text = self._vocabulary.lead + read.data
        for name in read.names:
            text = text.replace(name, mark(name.decode()))
        with self.lock:
            read_so = read.matches(self._machine, self._expr)
            tokens = self._routes.encode(text) if read_so else None
            if tokens is None:
                return False
            return self._automaton.ends(
                self._automaton.run(self._automaton.start, tokens, joined=False)
            )

    def forget(self) -> None:
        super().forget()
        with self.lock:
            self._routes.forget()

    def _state(self, spot: Spot, route: Route) -> State:
        found = self._states.get(spot)
        if found is None:
            accepts = spot.rest.nullable and self._automaton.ends(spot.place)
            found = self._states[spot] = State(None, PLAIN, accepts, spot.rest)
            self._spots[found] = spot
        if len(route) < len(self._ways.get(found, (*route, -1))):
            self._ways[found] = route
        return found

    def _open(self, spot: Spot) -> tuple[Ids, Ids]:
        """Tokens with a route, and the shortest known length of the route after each."""
        least = np.full(self._vocabulary.width, _NONE)
        new = self._routes.options(spot.rest, spot.place, joined=False)
        self._measure(least, new, spot, joined=False)
        if self._automaton.merges(spot.token):
            going_on = self._routes.options(spot.rest, spot.place, joined=True)
            clashing = self._automaton.clashes(spot.token)
            kept = least[clashing]
            self._measure(least, going_on, spot, joined=True)
            least[clashing] = kept
        tokens = np.flatnonzero(least < _NONE)
        doubtful = (
            tokens[self._automaton.restless[tokens]] if self._automaton.restless.any() else ()
        )
        for token in map(int, doubtful):
            if not self._automaton.stays(spot.place, spot.tail, token):
                least[token] = _NONE
        tokens = np.flatnonzero(least < _NONE)
        return tokens, least[tokens]

    def _measure(self, least: Ids, options: Options, spot: Spot, *, joined: bool) -> None:
        least[options.tokens] = np.minimum(least[options.tokens], options.lengths)
        for token in options.open:
            if joined == self._automaton.joins(spot.token, token):
                after = self._routes.following(spot, token)
                route = None if after is None else self._routes.route(after)
                if route is not None:
                    least[token] = len(route)

    def _packed(self, state: State, tokens: Ids) -> Row:
        ends = np.array(sorted(self._vocabulary.eos_ids) if state.accepts else [], np.int64)
        return pack(np.concatenate([tokens, ends]).astype(np.int32), self._vocabulary.width)
