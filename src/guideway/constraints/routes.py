"""Routes: canonical tokens from a place of a text to an end of it. Likely ones are tried first:

1. The text may end here.
2. A draft: a shortest text, or one for each kind of first byte, in a new piece. It does not depend
   on the last token, so it is shared by all tokens that lead to one state and place.
3. A draft in the same piece whose first token does not merge with the last one.
4. A search, with the shortest rests first; it decides.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Final, TypeAlias, final

import numpy as np

from guideway.automata.derivative import Derivatives
from guideway.automata.words import LONGEST
from guideway.errors import LimitError
from guideway.lowering.nodes import Expr
from guideway.lowering.special import split_marks
from guideway.masks.rows import Rows
from guideway.vocabulary.bounded import remember
from guideway.vocabulary.cutter import NOWHERE, Cutter
from guideway.vocabulary.merges import Ids
from guideway.vocabulary.spellings import Vocabulary

Route: TypeAlias = tuple[int, ...]

_MOST_OPTIONS: Final = 256
_MOST_KNOWN: Final = 1 << 18
_MOST_SPOTS: Final = 1 << 16  # of one search
_ASCII: Final = 0x80
_MARKED: Final = 0xF5  # bytes from here on are marks


@final
@dataclass(frozen=True, slots=True)
class Spot:
    """A place of canonical tokens in a text. `tail`: its end that may change with what follows."""

    rest: Expr
    place: int
    token: int
    tail: str


@final
@dataclass(frozen=True, slots=True, eq=False)
class Options:
    """Tokens that may follow, regardless of the last one.

    `lengths`: of the route after each token. `open`: tokens whose route depends on earlier text.
    """

    tokens: Ids
    lengths: Ids
    open: tuple[int, ...]


@final
class Routes:
    """Routes of one constraint. Not thread safe; its owner locks."""

    def __init__(
        self, machine: Derivatives, rows: Rows[Expr], vocabulary: Vocabulary, cutter: Cutter
    ) -> None:
        self._machine, self._rows = machine, rows
        self._vocabulary, self._cutter = vocabulary, cutter
        self.forget()

    def forget(self) -> None:
        self._options = dict[tuple[Expr, int, bool], Options]()
        self._settled = dict[tuple[Expr, int], Route | None]()
        self._known = dict[Spot, Route | None]()
        self._drafts = dict[tuple[Expr, bool], list[Route]]()
        self._going_on = dict[tuple[Expr, int, bool], list[Route]]()

    def options(self, rest: Expr, place: int, *, joined: bool) -> Options:
        """Tokens that may follow in a new piece or (`joined`) also in the current one."""
        key = (rest, place, joined)
        found = self._options.get(key)
        if found is None:
            made = self._gathered(rest, place, joined)
            found = remember(self._options, key, made, _MOST_OPTIONS)
        return found

    def route(self, spot: Spot) -> Route | None:
        """Tokens to an end, None if there are none."""
        found = self._settle(spot.rest, spot.place)
        if found is not None:
            return found
        if spot not in self._known:
            found = self._behind(spot)
            found = self._search(spot) if found is None else found
            remember(self._known, spot, found, _MOST_KNOWN)
        return self._known[spot]

    def encode(self, text: bytes) -> Route | None:
        """The tokens of a text with marks of special tokens."""
        found: list[int] = []
        for part, is_mark in split_marks(text):
            if is_mark:
                found += self._vocabulary.trie.ids(part)[:1].tolist()
                continue
            tokens = self._cutter.encode(part)
            if tokens is None:
                return None
            found += tokens
        return tuple(found)

    def _gathered(self, rest: Expr, place: int, joined: bool) -> Options:
        tokens, numbers, places, unsure = self._reached(rest, place, joined)
        pairs, back = np.unique(numbers.astype(np.int64) << 32 | places, return_inverse=True)
        states = {n: self._rows.state(n) for n in np.unique(numbers).tolist()}
        lengths = np.full(len(pairs), -1)
        for at, pair in enumerate(pairs.tolist()):
            route = self._settle(states[pair >> 32], pair & 0xFFFFFFFF)
            lengths[at] = -1 if route is None else len(route)
        found = lengths[back]
        opened: list[int] = []
        for at in np.flatnonzero(found < 0).tolist():
            token = int(tokens[at])
            if self._cutter.restless[token]:
                opened.append(token)
                continue
            route = self._single(rest, place, token, int(places[at]))
            found[at] = -1 if route is None else len(route)
        kept = found >= 0
        return Options(tokens[kept].astype(np.int64), found[kept], (*opened, *unsure))

    def _single(self, rest: Expr, place: int, token: int, after: int) -> Route | None:
        exact, tail = self._rows.after(rest, token), self._cutter.tail(place, "", token)
        return None if exact is None else self.route(Spot(exact, after, token, tail))

    def _reached(self, rest: Expr, place: int, joined: bool) -> tuple[Ids, Ids, Ids, list[int]]:
        """Tokens that both allow, the states and places after them, and unsure tokens."""
        reached = self._rows.reached(rest)
        tokens = reached.tokens.astype(np.int64)
        places = self._cutter.afters(place, tokens, joined=joined).astype(np.int64)
        kept = places != NOWHERE
        unsure = [
            token
            for token in reached.unsure.tolist()
            if self._rows.after(rest, token) is not None
            and self._cutter.after(place, token, joined=joined)
        ]
        return tokens[kept], reached.numbers[kept].astype(np.int64), places[kept], unsure

    def _settle(self, rest: Expr, place: int) -> Route | None:
        """A route regardless of the last token."""
        key = (rest, place)
        if key not in self._settled:
            remember(self._settled, key, self._settling(rest, place), _MOST_KNOWN)
        return self._settled[key]

    def _settling(self, rest: Expr, place: int) -> Route | None:
        cutter = self._cutter
        if rest.nullable and cutter.ends(place):
            return ()
        if cutter.inside(place):
            return None
        for route in self._drafted(rest, every=False):
            quiet = route and not cutter.restless[route[0]]
            if quiet and cutter.ends(cutter.run(place, route, joined=False)):
                return route
        return None

    def _drafted(self, rest: Expr, *, every: bool) -> list[Route]:
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
                    sort = self._cutter.sorts(byte) if byte < _ASCII else _ASCII
                    if every or sort not in seen:
                        seen.add(sort)
                        yield bytes((byte,)) + end

    def _behind(self, spot: Spot) -> Route | None:
        """A draft that goes on in the same piece."""
        cutter = self._cutter
        if cutter.inside(spot.place):
            return self._completed(spot)
        for every in (False, True):
            for route in self._joinable(spot.rest, spot.place, every):
                if cutter.joins(spot.token, route[0]) and self._stays(spot.tail, route):
                    return route
        return None

    def _stays(self, tail: str, route: Route) -> bool:
        """Return True if the text before a route does not change."""
        known = self._vocabulary.tokens
        text = b"".join(known[token] or b"" for token in route) if tail else b""
        return self._cutter.characters.stays(tail, text.decode(errors="ignore"))

    def _joinable(self, rest: Expr, place: int, every: bool) -> list[Route]:
        """Routes from here in the same piece, if they do not change the last token."""
        key = (rest, place, every)
        if key not in self._going_on:
            cutter = self._cutter
            found = [
                route
                for route in self._drafted(rest, every=every)
                if cutter.ends(cutter.run(place, route, joined=True))
            ]
            remember(self._going_on, key, found, _MOST_KNOWN)
        return self._going_on[key]

    def _completed(self, spot: Spot) -> Route | None:
        """The end of a partial character, and a route from there."""
        cutter = self._cutter
        for tokens in cutter.completions(spot.place, spot.token).routes:
            after: Spot | None = spot
            for token in tokens:
                after = None if after is None else self.following(after, token)
            route = None if after is None else self._settle(after.rest, after.place)
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
                route = self._settle(after.rest, after.place)
                if route is None:
                    route = self._behind(after)
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
        cutter = self._cutter
        if cutter.inside(spot.place):
            known = cutter.completions(spot.place, spot.token)
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
        cutter, joined = self._cutter, self._cutter.joins(spot.token, token)
        place = cutter.after(spot.place, token, joined=joined)
        rest = self._rows.after(spot.rest, token) if place else None
        if rest is None or not cutter.stays(spot.place, spot.tail, token):
            return None
        return Spot(rest, place, token, cutter.tail(spot.place, spot.tail, token))
