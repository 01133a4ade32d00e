"""Sets of possible splits of a text, as numbered states.

A way has the claim of each splitter (`splitting`) and the state of its piece. Transitions by
character sorts are tabulated, so a whole vocabulary is read by a few array look-ups, column by
column.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from guideway.vocabulary.characters import Characters
from guideway.vocabulary.splitting import Claim, Splitter
from guideway.vocabulary.utf8 import span

Numbers: TypeAlias = NDArray[np.int32]
Claims: TypeAlias = tuple[Claim, ...]

DEAD: Final = 0
"""No way."""

_FRESH: Final = -1  # the union of a piece without tokens
_UNKNOWN: Final = -1
_BLOCK: Final = 4096


@final
@dataclass(frozen=True, slots=True)
class Way:
    """One possible split of a text.

    Attributes:
        claims: claim of each splitter.
        union: node in `Unions` of the piece's tokens; −1 before the first.
        alone: True if the piece must end here.
    """

    claims: Claims
    union: int = _FRESH
    alone: bool = False


@final
class Unions:
    """Token sequences that are never a whole piece, as a trie.

    Attributes:
        members: their tokens.
        whole: nodes where a sequence is complete.
    """

    def __init__(self, unions: Iterable[tuple[int, ...]]) -> None:
        self._nodes = dict[tuple[int, int], int]()
        self.whole = set[int]()
        self.members = set[int]()
        for union in unions:
            node = 0
            for token in union:
                node = self._nodes.setdefault((node, token), len(self._nodes) + 1)
            self.whole.add(node)
            self.members.update(union)

    def after(self, node: int, token: int) -> int:
        """The node of a piece after a token, which may be its first; 0 is in no union."""
        if node == _FRESH:
            return self._nodes.get((0, token), 0)
        return self._nodes.get((node, token), 0) if node else 0


@final
class Ways:
    """The sets of splits of one tokenizer.

    Attributes:
        fresh: the set before any text.
        members: tokens with special rules in a piece.
    """

    def __init__(
        self,
        splitters: tuple[Splitter, ...],
        unions: Unions,
        alone: frozenset[int],
        characters: Characters,
    ) -> None:
        """Store the rules of a tokenizer."""
        self._splitters, self._unions, self._alone = splitters, unions, alone
        self._characters = characters
        self._lives = dict[tuple[int, bytes], bool]()
        self.members = unions.members | alone
        self._sets: list[frozenset[Way]] = []
        self._numbers: dict[frozenset[Way], int] = {}
        self._table: Numbers = np.full((64, 1), _UNKNOWN, np.int32)
        self._number(frozenset())
        self.fresh = self._number(frozenset([Way(tuple(each.start for each in splitters))]))

    def entered(self, ways: int, token: int, *, joined: bool, inside: bool) -> int:
        """The ways after a token begins, in a new piece or (`joined`) in the current one.

        `inside`: the token begins inside a character, where no piece ends.
        """
        alone = token in self._alone
        found: list[Way] = []
        for way in self._sets[ways]:
            if not inside:
                begun = [way.claims] if way.union == _FRESH else self._cuts(way)
                union = self._unions.after(_FRESH, token)
                found += [Way(claims, union, alone) for claims in begun]
            if joined and not alone and way.union != _FRESH and not way.alone:
                found.append(Way(way.claims, self._unions.after(way.union, token)))
        return self._number(frozenset(found))

    def may_end(self, ways: int) -> bool:
        """Return True if a way is right when the text ends here."""
        return any(map(self._ends, self._sets[ways]))

    def step(self, ways: int, sort: int) -> int:
        """The ways after a character of a sort."""
        found = int(self._table[ways, sort]) if sort < self._table.shape[1] else _UNKNOWN
        if found == _UNKNOWN:
            atoms = self._characters.atoms(sort)
            after = (self._after(way, atoms) for way in self._sets[ways])
            found = self._number(frozenset(way for way in after if way is not None))
            while sort >= self._table.shape[1]:
                more = np.full_like(self._table, _UNKNOWN)
                self._table = np.concatenate([self._table, more], axis=1)
            self._table[ways, sort] = found
        return found

    def steps(self, ways: Numbers, sorts: Numbers) -> Numbers:
        """The same for each of many."""
        self.step(DEAD, int(sorts.max()))  # so that the table is wide enough
        found = self._table[ways, sorts]
        while (unknown := np.flatnonzero(found == _UNKNOWN)).size:
            width = self._table.shape[1]
            for pair in np.unique(ways[unknown].astype(np.int64) * width + sorts[unknown]).tolist():
                self.step(*divmod(pair, width))
            found = self._table[ways, sorts]
        return found

    def live(self, ways: int, begun: bytes) -> bool:
        """Return True if some character that begins with these bytes leaves a way.

        Blocks have few sorts, so not every character is tried.
        """
        key = (ways, begun)
        found = not begun or self._lives.get(key)
        if found is None:
            low, high = span(begun)
            blocks = ((at, min(at + _BLOCK, high + 1) - 1) for at in range(low, high + 1, _BLOCK))
            sorts = (sort for block in blocks for sort in self._characters.within(*block))
            found = self._lives[key] = any(self.step(ways, sort) != DEAD for sort in sorts)
        return found

    def _cuts(self, way: Way) -> Iterable[Claims]:
        """The claims with a boundary here, of each splitter in turn."""
        if way.union in self._unions.whole:
            return
        for level in range(len(self._splitters) - 1, -1, -1):
            cut = self._splitters[level].cut(way.claims[level])
            if cut is not None:
                inner = (each.start for each in self._splitters[level + 1 :])
                yield (*way.claims[:level], cut, *inner)
            if not self._splitters[level].ends(way.claims[level]):
                return

    def _ends(self, way: Way) -> bool:
        if way.union in self._unions.whole:
            return False
        pairs = zip(self._splitters, way.claims, strict=True)
        return all(splitter.ends(claim) for splitter, claim in pairs)

    def _after(self, way: Way, atoms: tuple[int, ...]) -> Way | None:
        found: list[Claim] = []
        for splitter, claim, bits in zip(self._splitters, way.claims, atoms, strict=True):
            after = splitter.read(claim, bits)
            if after is None:
                return None
            found.append(after)
        return Way(tuple(found), way.union, way.alone)

    def _number(self, ways: frozenset[Way]) -> int:
        number = self._numbers.setdefault(ways, len(self._sets))
        if number == len(self._sets):
            self._sets.append(ways)
            if number == len(self._table):
                self._table = np.concatenate([self._table, np.full_like(self._table, _UNKNOWN)])
        return number
