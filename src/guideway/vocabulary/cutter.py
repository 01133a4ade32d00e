"""Canonical tokens: the sequences of tokens that a tokenizer gives for their own text.

A place is the state of a sequence: the possible splits of its text (each cut between tokens is
claimed to be a boundary or not, see `splitting`), the bytes of an incomplete character, and the
partial matches of added tokens. A token leads from a place to at most two places, joined to the
last token (`Merges.joins`) or not; a sequence is canonical if its last place `ends`. A place may
exist without being able to end::

    "it"   "'s"      a boundary between them; none inside "'s"
    "a"    "b"       no boundary, and BPE does not merge them
    " "    " x"      of two blanks before a word the first is a piece

A new cutter is compared with the tokenizer on a few hundred texts.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from threading import RLock
from typing import Final, Self, final

import numpy as np
from numpy.typing import NDArray

from guideway.vocabulary.backend import Backend
from guideway.vocabulary.bounded import remember
from guideway.vocabulary.characters import NO_SORT, restless
from guideway.vocabulary.groups import Groups
from guideway.vocabulary.literals import NONE, Begun, Literals
from guideway.vocabulary.merges import Ids
from guideway.vocabulary.self_check import probes
from guideway.vocabulary.split_pattern import SPLIT, not_canonical
from guideway.vocabulary.tokenization import Tokenization, read_tokenization
from guideway.vocabulary.utf8 import parts
from guideway.vocabulary.ways import DEAD, Numbers, Unions, Ways

NOWHERE: Final = 0
"""The place of a sequence that is not canonical, however it goes on."""

_MOST_ROWS: Final = 256
_MOST_TEXTS: Final = 1 << 14
_MOST_KNOWN: Final = 1 << 18
_MOST_LOOKED: Final = 4096  # tokens inside of one character
_MOST_COMPLETIONS: Final = 8


@final
@dataclass(frozen=True, slots=True)
class Place:
    """State of a sequence of tokens.

    Attributes:
        ways: possible splits of the text (`Ways`).
        partial: bytes of an incomplete character.
        begun: partial matches of added tokens.
    """

    ways: int
    partial: bytes
    begun: Begun


@final
@dataclass(frozen=True, slots=True)
class Spelling:
    """A token as text.

    Attributes:
        head: the end of a character begun before.
        chars: whole characters.
        tail: the beginning of an incomplete one.
        sorts: sorts of the characters.
    """

    head: bytes
    chars: str
    tail: bytes
    sorts: tuple[int, ...]


@final
@dataclass(frozen=True, slots=True)
class Completions:
    """Token sequences that complete a character, and True if there may be `others`."""

    routes: tuple[tuple[int, ...], ...]
    others: bool


@final
class Cutter:
    """Tokens that may follow each other, for one tokenizer.

    Attributes:
        start: the place before the first token.
        restless: bool[tokens], True if the text before a token might change with it.
        lock: hold it when several threads use the cutter, because it numbers places.
    """

    def __init__(self, tokenization: Tokenization, tokens: tuple[bytes | None, ...]) -> None:
        """The cutter of a tokenizer with these spellings, checked against the tokenizer."""
        self._how, self._tokens, self.lock = tokenization, tokens, RLock()
        self._merges, self.characters = tokenization.merges, tokenization.characters
        self._literals = Literals(tokenization.added.values())
        self._ways = Ways(
            tokenization.splitters,
            Unions(tokenization.unions),
            tokenization.alone,
            self.characters,
        )
        self._places: list[Place] = [Place(DEAD, b"", NONE)]
        self._numbers: dict[Place, int] = {self._places[0]: NOWHERE}
        self._after = dict[tuple[int, int, bool], int]()
        self._rows = dict[tuple[int, bool], Numbers]()
        self._completions = dict[tuple[bytes, int], Completions]()
        self._encoded = dict[bytes, tuple[int, ...] | None]()
        self.start = self._number(Place(self._ways.fresh, b"", NONE))
        self._spell()
        fit = [
            (token, spelled.sorts if tokenization.splitters else (), (spelled.tail, begun))
            for token, spelled in self._spellings.items()
            if not spelled.head and self._spelled_so(token, spelled.chars)
            if (begun := self._literals.read(NONE, spelled.chars)) is not None
        ]
        self._groups = Groups(self._ways, fit, len(tokens))
        self._check()

    @classmethod
    def of(cls, backend: Backend, tokens: tuple[bytes | None, ...]) -> Self:
        """The cutter of a tokenizer; unsupported parts are refused."""
        return cls(read_tokenization(backend), tokens)

    def ends(self, place: int) -> bool:
        """Return True if a sequence at this place is canonical."""
        found = self._places[place]
        return not found.partial and self._ways.may_end(found.ways)

    def joins(self, before: int, after: int) -> bool:
        """Return True if a token is unchanged after another one in the same piece."""
        merged = self._how.merged
        return before in merged and after in merged and self._merges.joins(before, after)

    def clashes(self, before: int) -> Ids:
        """The tokens, ascending, that do not."""
        return self._merges.clashes(before)

    def merges(self, token: int) -> bool:
        """Return True if a token may be in a piece with others."""
        return token in self._how.merged

    def tail(self, place: int, before: str, token: int) -> str:
        """End of the text after a token that may change with later characters."""
        return self.characters.tail(before, self._completed(place, token))

    def stays(self, place: int, before: str, token: int) -> bool:
        """Return True if the text that ends with `before` is unchanged when a token follows."""
        return self.characters.stays(before, self._completed(place, token))

    def _completed(self, place: int, token: int) -> str:
        """The characters that a token completes."""
        if token in self._how.added:
            return self._how.added[token]
        partial = self._places[place].partial
        read = parts(partial + (self._tokens[token] or b"")) if partial else None
        spelled = self._spellings.get(token)
        return read.chars if read else spelled.chars if spelled else ""

    def after(self, place: int, token: int, *, joined: bool) -> int:
        """The place after one more token, 0 if there is none; `joined`: in the same piece."""
        key = (place, token, joined)
        found = self._after.get(key)
        if found is None:
            number = self._number(self._following(place, token, joined))
            found = remember(self._after, key, number, _MOST_KNOWN)
        return found

    def afters(self, place: int, tokens: Ids, *, joined: bool) -> Numbers:
        """The places after each of these tokens."""
        here = self._places[place]
        if here.partial:
            row, apart = np.zeros(len(tokens), np.int32), self._inside[tokens]
        else:
            row = self._row(place, joined=joined)[self._groups.of[tokens]]
            apart = self._added[tokens]
        if here.begun and not here.partial:
            apart |= self._goes_on(here)[tokens]
        for at in np.flatnonzero(apart).tolist():
            row[at] = self.after(place, int(tokens[at]), joined=joined)
        return row

    def run(self, place: int, tokens: Iterable[int], *, joined: bool) -> int:
        """The place after these tokens; `joined`: whether the first joins the last before it."""
        before = -1
        for token in tokens:
            if before >= 0:
                joined = self.joins(before, token)
            place = self.after(place, token, joined=joined)
            if not place:
                break
            before = token
        return place

    def encode(self, text: bytes) -> tuple[int, ...] | None:
        """The tokens that the tokenizer gives for a text, None if they do not spell it."""
        if text not in self._encoded:
            remember(self._encoded, text, self._encoding(text), _MOST_TEXTS)
        return self._encoded[text]

    def completions(self, place: int, token: int) -> Completions:
        """Some token sequences that complete the character in which `token` led to a place."""
        key = (self._places[place].partial, token)
        if key not in self._completions:
            remember(self._completions, key, self._completing(*key), _MOST_KNOWN)
        return self._completions[key]

    def _completing(self, begun: bytes, token: int) -> Completions:
        queue = deque[tuple[tuple[int, ...], bytes]]([((), begun)])
        found: list[tuple[int, ...]] = []
        looked = 0
        inside = np.flatnonzero(self._inside).tolist()
        while queue and looked < _MOST_LOOKED and len(found) < _MOST_COMPLETIONS:
            path, partial = queue.popleft()
            before = path[-1] if path else token
            for after in inside:
                read = parts(partial + (self._tokens[after] or b""))
                if read is None or read.head or not self.joins(before, after):
                    continue
                looked += 1
                if read.tail:
                    queue.append(((*path, after), read.tail))
                else:
                    found.append((*path, after))
        return Completions(tuple(found), others=bool(queue))

    def sorts(self, byte: int) -> int:
        """The sort of a byte that is a character."""
        return self._sort(chr(byte))

    def inside(self, place: int) -> bool:
        """Return True inside an incomplete character."""
        return bool(self._places[place].partial)

    def _encoding(self, text: bytes) -> tuple[int, ...] | None:
        try:
            ids = self._how.tokenizer.encode(text.decode()) or []
        except UnicodeDecodeError:
            return None
        spelled = [self._tokens[i] if i < len(self._tokens) else None for i in ids]
        return tuple(ids) if b"".join(each or b"" for each in spelled) == text else None

    def _spell(self) -> None:
        found: dict[int, tuple[bytes, str, bytes]] = {}
        for token in sorted(self._how.pieces):
            data = self._tokens[token] if token < len(self._tokens) else None
            read = parts(data) if data else None
            if read is not None:
                found[token] = (read.head, read.chars, read.tail)
        ascii_ = map(chr, range(0x80))
        self.characters.learn(sorted({*ascii_, *"".join(each[1] for each in found.values())}))
        self._spellings = dict[int, Spelling]()
        self._firsts = dict[str, list[int]]()
        self._added = np.zeros(len(self._tokens), np.bool_)
        self._added[[token for token in self._how.added if token < len(self._tokens)]] = True
        self._inside = np.zeros(len(self._tokens), np.bool_)
        self.restless: NDArray[np.bool_] = np.zeros(len(self._tokens), np.bool_)
        for token, (head, chars, tail) in found.items():
            self._inside[token] = bool(head)
            self.restless[token] = self.characters.normalises and (
                not chars or bool(head) or restless(chars[0])
            )
            sorts = tuple(map(self._sort, chars))
            if NO_SORT not in sorts and self._allows(chars[:1], chars[1:]):
                self._spellings[token] = Spelling(head, chars, tail, sorts)
                self._firsts.setdefault(chars[:1], []).append(token)

    def _allows(self, first: str, rest: str) -> bool:
        """Return True if the normaliser leaves neighbouring characters unchanged."""
        kept = self.characters
        for char in rest:
            if not kept.stays(first, char):
                return False
            first = kept.tail(first, char)
        return True

    def _row(self, place: int, *, joined: bool) -> Numbers:
        """The next place for each group of tokens."""
        key = (place, joined)
        found = self._rows.get(key)
        if found is None:
            ends = self._groups.read(self._places[place].ways, joined=joined)
            pairs, back = np.unique(ends, return_inverse=True)
            numbers = [self._ending(*divmod(pair, 1 << 32)) for pair in pairs.tolist()]
            row = np.array(numbers, np.int32)[back]
            found = remember(self._rows, key, row, _MOST_ROWS)
        return found

    def _ending(self, ways: int, end: int) -> int:
        tail, begun = self._groups.ends[end]
        lives = ways != DEAD and self._ways.live(ways, tail)
        return self._number(Place(ways, tail, begun)) if lives else NOWHERE

    def _goes_on(self, here: Place) -> NDArray[np.bool_]:
        """The tokens that may go on with an added token in the making."""
        found = np.zeros(len(self._tokens), np.bool_)
        for char, tokens in self._firsts.items():
            if not char or self._literals.goes_on(here.begun, char):
                found[tokens] = True
        return found

    def _following(self, place: int, token: int, joined: bool) -> Place | None:
        here = self._places[place]
        if token in self._how.added:
            return self._matched(here, self._how.added[token])
        spelled = self._spellings.get(token)
        if spelled is None or not here.ways:
            return None
        chars, tail, sorts = spelled.chars, spelled.tail, spelled.sorts
        if here.partial:
            read = parts(here.partial + (self._tokens[token] or b""))
            if read is None or read.head:
                return None
            chars, tail = read.chars, read.tail
            sorts = tuple(map(self._sort, chars))
        elif spelled.head:
            return None
        if NO_SORT in sorts or not self._spelled_so(token, chars):
            return None
        begun = self._literals.read(here.begun, chars)
        ways = self._ways.entered(here.ways, token, joined=joined, inside=bool(here.partial))
        for sort in sorts:
            ways = self._ways.step(ways, sort)
        lives = begun is not None and ways != DEAD and self._ways.live(ways, tail)
        return Place(ways, tail, begun) if begun is not None and lives else None

    def _matched(self, here: Place, text: str) -> Place | None:
        """After an added token."""
        begun = self._literals.matched(here.begun, text)
        ends = not here.partial and self._ways.may_end(here.ways)
        return Place(self._ways.fresh, b"", begun) if ends and begun is not None else None

    def _spelled_so(self, token: int, chars: str) -> bool:
        """Return False if a fallback byte completes a character that is itself a token."""
        known = self._how.known
        return token not in self._how.fallback or known is None or known.isdisjoint(chars)

    def _sort(self, char: str) -> int:
        sort = self.characters.sort(char)
        if sort != NO_SORT:
            atoms = self.characters.atoms(sort)
            pairs = zip(self._how.splitters, atoms, strict=True)
            if not all(splitter.covers(bits) for splitter, bits in pairs):
                raise not_canonical(f"its split pattern leaves {char!r} out of all pieces", SPLIT)
        return sort

    def _number(self, place: Place | None) -> int:
        if place is None:
            return NOWHERE
        number = self._numbers.setdefault(place, len(self._places))
        if number == len(self._places):
            self._places.append(place)
        return number

    def _check(self) -> None:
        """Hold the places to what the tokenizer gives for some texts."""
        for text in probes(self._tokens):
            tokens = self.encode(text.encode()) if text else None
            if tokens is not None and not self.ends(self.run(self.start, tokens, joined=False)):
                raise not_canonical(f"its tokens for {text!r} do not follow from its configuration")
