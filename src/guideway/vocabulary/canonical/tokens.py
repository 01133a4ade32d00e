"""Automaton of canonical tokens: the sequences of tokens that a tokenizer gives for their own text.

A state has the possible splits of the text so far into pieces, the bytes of an incomplete
character, and the partial matches of added tokens. A token leads from a state to at most two
states: joined to the last token in one piece, if BPE leaves both unchanged (`Merges.joins`), or in
a new piece. A sequence is canonical if its last state `ends`::

    "it"   "'s"      a boundary between them; none inside "'s"
    "a"    "b"       no boundary, and BPE does not merge them
    " "    " x"      of two blanks before a word the first is a piece

A split has the claim of each splitter (`splitting`) and the tokens of its last piece. Sets of
splits are numbered, and their transitions by sorts of characters are tabulated. Tokens with the
same sorts of characters and the same end are read as one group (smollm2's 49,152 tokens are 23,000
groups), by one array look-up for each column of characters: a row over all takes 5 ms.

Added tokens are matched first, leftmost and then longest. So after a match, no text begun before it
may be completed, nor a longer one from the same start.

A new automaton is compared with the tokenizer on a few hundred texts.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from threading import RLock
from typing import Any, Final, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from guideway.vocabulary.backend import Backend
from guideway.vocabulary.canonical.merges import Ids
from guideway.vocabulary.canonical.splitting import (
    NO_SORT,
    SPLIT,
    Characters,
    Claim,
    Splitter,
    not_canonical,
    restless,
)
from guideway.vocabulary.canonical.tokenization import Tokenization, read_tokenization
from guideway.vocabulary.self_check import probes


@dataclass(frozen=True, slots=True)
class Spelling:
    """Bytes of a text, as characters.

    Attributes:
        head: the end of a character begun before.
        chars: whole characters.
        tail: the beginning of an incomplete character.
        sorts: sorts of the characters, if asked for.
    """

    head: bytes
    chars: str
    tail: bytes
    sorts: tuple[int, ...] = ()


def span(begun: bytes) -> tuple[int, int]:
    r"""The first and the last character that begin with these bytes.

    >>> [hex(code) for code in span(b"\xe2\x82")]
    ['0x2080', '0x20bf']
    """
    length = 2 if begun[0] < 0xE0 else 3 if begun[0] < 0xF0 else 4
    value = begun[0] & (0x7F >> length)
    for byte in begun[1:]:
        value = value << 6 | byte & 0x3F
    missing = 6 * (length - len(begun))
    low = max(value << missing, (0x80, 0x800, 0x10000)[length - 2])
    return low, min((value + 1 << missing) - 1, 0x10FFFF)


def parts(data: bytes) -> Spelling | None:
    r"""The characters in `data`, None if no text contains these bytes.

    >>> parts("é€".encode()[1:-1])
    Spelling(head=b'\xa9', chars='', tail=b'\xe2\x82', sorts=())
    >>> parts(b"a\xff") is None
    True
    """
    head = 0
    while head < len(data) and 0x80 <= data[head] < 0xC0:
        head += 1
    if head > 3:
        return None
    rest = data[head:]
    try:
        return Spelling(data[:head], rest.decode(), b"")
    except UnicodeDecodeError as error:
        if error.reason != "unexpected end of data":
            return None
        return Spelling(data[:head], rest[: error.start].decode(), rest[error.start :])


PartialMatches: TypeAlias = frozenset[int]

NONE: Final[PartialMatches] = frozenset()


class AddedTexts:
    """The texts of added tokens.

    >>> marks = AddedTexts(["<s>", "<s>x"])
    >>> marks.read(marks.read(NONE, "a<s"), ">") is None
    True
    >>> marks.read(marks.matched(NONE, "<s>"), "x") is None
    True
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._children: list[dict[str, int]] = [{}]
        self._whole: list[bool] = [False]
        for text in texts:
            node = 0
            for char in text:
                fresh = len(self._children)
                node = self._children[node].setdefault(char, fresh)
                if node == fresh:
                    self._children.append({})
                    self._whole.append(False)
            self._whole[node] = bool(text)

    def goes_on(self, begun: PartialMatches, char: str) -> bool:
        """Return True if a character extends a partial match."""
        return any(char in self._children[node] for node in begun)

    def read(self, begun: PartialMatches, chars: str) -> PartialMatches | None:
        """State after characters without a match; None if there is one."""
        for char in chars:
            begun = self._step((0, *begun), char)
            if any(self._whole[node] for node in begun):
                return None
        return begun

    def matched(self, begun: PartialMatches, text: str) -> PartialMatches | None:
        """After one of them; None if another one is matched in its state."""
        own = 0
        for char in text:
            own = self._children[own][char]
            begun = self._step(begun, char)
            if any(self._whole[node] for node in begun):
                return None
        return begun | {own} if self._children[own] else begun

    def _step(self, nodes: Iterable[int], char: str) -> PartialMatches:
        found = (self._children[node].get(char) for node in nodes)
        return frozenset(node for node in found if node is not None)


Numbers: TypeAlias = NDArray[np.int32]
Claims: TypeAlias = tuple[Claim, ...]

DEAD: Final = 0
"""No split."""

_FRESH: Final = -1  # the node of a piece without tokens
_UNKNOWN: Final = -1
_BLOCK: Final = 4096


@dataclass(frozen=True, slots=True)
class Split:
    """One possible split of a text.

    Attributes:
        claims: claim of each splitter.
        node: node in `ExcludedPieces` of the last piece's tokens; −1 before the first.
        alone: True if the piece must end here.
    """

    claims: Claims
    node: int = _FRESH
    alone: bool = False


class ExcludedPieces:
    """Token sequences that are never a whole piece, as a trie.

    Attributes:
        members: their tokens.
        whole: nodes where a sequence is complete.
    """

    def __init__(self, sequences: Iterable[tuple[int, ...]]) -> None:
        self._nodes = dict[tuple[int, int], int]()
        self.whole = set[int]()
        self.members = set[int]()
        for sequence in sequences:
            node = 0
            for token in sequence:
                node = self._nodes.setdefault((node, token), len(self._nodes) + 1)
            self.whole.add(node)
            self.members.update(sequence)

    def after(self, node: int, token: int) -> int:
        """The node of a piece after a token, which may be its first; 0 is outside the trie."""
        if node == _FRESH:
            return self._nodes.get((0, token), 0)
        return self._nodes.get((node, token), 0) if node else 0


class SplitSets:
    """The sets of splits of one tokenizer.

    Attributes:
        fresh: the set before any text.
        members: tokens with special rules in a piece.
    """

    def __init__(
        self,
        splitters: tuple[Splitter, ...],
        excluded: ExcludedPieces,
        alone: frozenset[int],
        characters: Characters,
    ) -> None:
        """Store the rules of a tokenizer."""
        self._splitters, self._excluded, self._alone = splitters, excluded, alone
        self._characters = characters
        self.live = cache(self._lives)
        self.members = excluded.members | alone
        self._sets: list[frozenset[Split]] = []
        self._numbers: dict[frozenset[Split], int] = {}
        self._table: Numbers = np.full((64, 1), _UNKNOWN, np.int32)
        self._number(frozenset())
        self.fresh = self._number(frozenset([Split(tuple(each.start for each in splitters))]))

    def entered(self, splits: int, token: int, *, joined: bool, inside: bool) -> int:
        """The splits after a token begins, in a new piece or (`joined`) in the current one.

        `inside`: the token begins inside a character, where no piece ends.
        """
        alone = token in self._alone
        found: list[Split] = []
        for split in self._sets[splits]:
            if not inside:
                begun = [split.claims] if split.node == _FRESH else self._cuts(split)
                node = self._excluded.after(_FRESH, token)
                found += [Split(claims, node, alone) for claims in begun]
            if joined and not alone and split.node != _FRESH and not split.alone:
                found.append(Split(split.claims, self._excluded.after(split.node, token)))
        return self._number(frozenset(found))

    def may_end(self, splits: int) -> bool:
        """Return True if a split is right when the text ends here."""
        return any(map(self._ends, self._sets[splits]))

    def step(self, splits: int, sort: int) -> int:
        """The splits after a character of a sort."""
        found = int(self._table[splits, sort]) if sort < self._table.shape[1] else _UNKNOWN
        if found == _UNKNOWN:
            atoms = self._characters.atoms(sort)
            after = (self._split_after(split, atoms) for split in self._sets[splits])
            found = self._number(frozenset(split for split in after if split is not None))
            while sort >= self._table.shape[1]:
                more = np.full_like(self._table, _UNKNOWN)
                self._table = np.concatenate([self._table, more], axis=1)
            self._table[splits, sort] = found
        return found

    def steps(self, splits: Numbers, sorts: Numbers) -> Numbers:
        """`step` for each of many sorts."""
        self.step(DEAD, int(sorts.max()))  # so that the table is wide enough
        found = self._table[splits, sorts]
        while (unknown := np.flatnonzero(found == _UNKNOWN)).size:
            width = self._table.shape[1]
            for pair in np.unique(
                splits[unknown].astype(np.int64) * width + sorts[unknown]
            ).tolist():
                self.step(*divmod(pair, width))
            found = self._table[splits, sorts]
        return found

    def _lives(self, splits: int, begun: bytes) -> bool:
        """Return True if some character that begins with these bytes leaves a split.

        Blocks have few sorts, so not every character is tried.
        """
        if not begun:
            return True
        low, high = span(begun)
        blocks = ((at, min(at + _BLOCK, high + 1) - 1) for at in range(low, high + 1, _BLOCK))
        sorts = (sort for block in blocks for sort in self._characters.within(*block))
        return any(self.step(splits, sort) != DEAD for sort in sorts)

    def _cuts(self, split: Split) -> Iterable[Claims]:
        """The claims with a boundary here, of each splitter in turn."""
        if split.node in self._excluded.whole:
            return
        for level in range(len(self._splitters) - 1, -1, -1):
            cut = self._splitters[level].cut(split.claims[level])
            if cut is not None:
                inner = (each.start for each in self._splitters[level + 1 :])
                yield (*split.claims[:level], cut, *inner)
            if not self._splitters[level].ends(split.claims[level]):
                return

    def _ends(self, split: Split) -> bool:
        if split.node in self._excluded.whole:
            return False
        pairs = zip(self._splitters, split.claims, strict=True)
        return all(splitter.ends(claim) for splitter, claim in pairs)

    def _split_after(self, split: Split, atoms: tuple[int, ...]) -> Split | None:
        found: list[Claim] = []
        for splitter, claim, bits in zip(self._splitters, split.claims, atoms, strict=True):
            after = splitter.read(claim, bits)
            if after is None:
                return None
            found.append(after)
        return Split(tuple(found), split.node, split.alone)

    def _number(self, splits: frozenset[Split]) -> int:
        number = self._numbers.setdefault(splits, len(self._sets))
        if number == len(self._sets):
            self._sets.append(splits)
            if number == len(self._table):
                self._table = np.concatenate([self._table, np.full_like(self._table, _UNKNOWN)])
        return number


End: TypeAlias = tuple[bytes, PartialMatches]


class Groups:
    """The groups of one vocabulary.

    Attributes:
        of: group of each token, 0 for none.
        ends: remainders after tokens: bytes of a character, and partial matches of added tokens.
    """

    def __init__(
        self, splits: SplitSets, tokens: Sequence[tuple[int, tuple[int, ...], End]], size: int
    ) -> None:
        """Group tokens by the sorts of their characters and their remainders; `size` bounds ids."""
        self._splits = splits
        numbers: dict[tuple[Any, ...], int] = {}
        ends: dict[End, int] = {}
        self.of: Numbers = np.zeros(size, np.int32)
        rows: list[tuple[int, ...]] = [()]
        own: list[tuple[int, int]] = [(-1, 0)]
        for token, sorts, end in tokens:
            kind = (token if token in splits.members else -1, ends.setdefault(end, len(ends)))
            number = numbers.setdefault((sorts, kind), len(rows))
            if number == len(rows):
                rows.append(sorts)
                own.append(kind)
            self.of[token] = number
        self.ends = [*ends]
        self._own, self._end = np.array(own, np.int64).T
        lengths = np.fromiter(map(len, rows), np.int64, len(rows))
        self._columns = list[tuple[Ids, Numbers]]()
        for column in range(int(lengths.max())):
            held = np.flatnonzero(lengths > column)
            sorts_there = [rows[at][column] for at in held.tolist()]
            self._columns.append((held, np.array(sorts_there, np.int32)))

    def read(self, splits: int, *, joined: bool) -> Ids:
        """For each group the splits after it, times 2³², and the number of its end."""
        entered = self._splits.entered
        usual = entered(splits, -1, joined=joined, inside=False)
        after = np.full(len(self._own), usual, np.int32)
        for at in np.flatnonzero(self._own >= 0).tolist():
            after[at] = entered(splits, int(self._own[at]), joined=joined, inside=False)
        after[0] = DEAD
        for held, sorts in self._columns:
            after[held] = self._splits.steps(after[held], sorts)
        return after.astype(np.int64) << 32 | self._end


DEAD_STATE: Final = 0
"""The state of a sequence that is not canonical, however it goes on."""

_MOST_ROWS: Final = 256
_MOST_TEXTS: Final = 1 << 14
_MOST_KNOWN: Final = 1 << 18
_MOST_LOOKED: Final = 4096  # tokens inside of one character
_MOST_COMPLETIONS: Final = 8


@dataclass(frozen=True, slots=True)
class State:
    """State of a sequence of tokens.

    Attributes:
        splits: possible splits of the text (`SplitSets`).
        partial: bytes of an incomplete character.
        begun: partial matches of added tokens.
    """

    splits: int
    partial: bytes
    begun: PartialMatches


@dataclass(frozen=True, slots=True)
class Completions:
    """Token sequences that complete a character, and True if there may be `others`."""

    routes: tuple[tuple[int, ...], ...]
    others: bool


class CanonicalAutomaton:
    """Tokens that may follow each other, for one tokenizer.

    Attributes:
        start: the state before the first token.
        restless: bool[tokens], True if the text before a token might change with it.
        lock: hold it when several threads use the automaton, because it numbers states.
    """

    def __init__(self, tokenization: Tokenization, tokens: tuple[bytes | None, ...]) -> None:
        """The automaton of a tokenizer with these spellings, checked against the tokenizer."""
        self._how, self._tokens, self.lock = tokenization, tokens, RLock()
        self._merges, self.characters = tokenization.merges, tokenization.characters
        self._literals = AddedTexts(tokenization.added.values())
        self._splits = SplitSets(
            tokenization.splitters,
            ExcludedPieces(tokenization.excluded),
            tokenization.alone,
            self.characters,
        )
        self._states: list[State] = [State(DEAD, b"", NONE)]
        self._numbers: dict[State, int] = {self._states[0]: DEAD_STATE}
        self.after = lru_cache(_MOST_KNOWN)(self._after)
        self.encode = lru_cache(_MOST_TEXTS)(self._encoding)
        self._row = lru_cache(_MOST_ROWS)(self._row_of)
        self._completing = lru_cache(_MOST_KNOWN)(self._completions_of)
        self.start = self._number(State(self._splits.fresh, b"", NONE))
        self._spell()
        fit = [
            (token, spelled.sorts if tokenization.splitters else (), (spelled.tail, begun))
            for token, spelled in self._spellings.items()
            if not spelled.head and self._spelled_so(token, spelled.chars)
            if (begun := self._literals.read(NONE, spelled.chars)) is not None
        ]
        self._groups = Groups(self._splits, fit, len(tokens))
        self._check()

    @classmethod
    def of(cls, backend: Backend, tokens: tuple[bytes | None, ...]) -> Self:
        """The automaton of a tokenizer; unsupported parts are refused."""
        return cls(read_tokenization(backend), tokens)

    def ends(self, state: int) -> bool:
        """Return True if a sequence at this state is canonical."""
        found = self._states[state]
        return not found.partial and self._splits.may_end(found.splits)

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

    def tail(self, state: int, before: str, token: int) -> str:
        """End of the text after a token that may change with later characters."""
        return self.characters.tail(before, self._completed(state, token))

    def stays(self, state: int, before: str, token: int) -> bool:
        """Return True if the text that ends with `before` is unchanged when a token follows."""
        return self.characters.stays(before, self._completed(state, token))

    def _completed(self, state: int, token: int) -> str:
        """The characters that a token completes."""
        if token in self._how.added:
            return self._how.added[token]
        partial = self._states[state].partial
        read = parts(partial + (self._tokens[token] or b"")) if partial else None
        spelled = self._spellings.get(token)
        return read.chars if read else spelled.chars if spelled else ""

    def _after(self, state: int, token: int, *, joined: bool) -> int:
        """The state after one more token, 0 if there is none; `joined`: in the same piece."""
        return self._number(self._following(state, token, joined))

    def afters(self, state: int, tokens: Ids, *, joined: bool) -> Numbers:
        """The states after each of these tokens."""
        here = self._states[state]
        if here.partial:
            row, apart = np.zeros(len(tokens), np.int32), self._inside[tokens]
        else:
            row = self._row(state, joined=joined)[self._groups.of[tokens]]
            apart = self._added[tokens]
        if here.begun and not here.partial:
            apart |= self._goes_on(here)[tokens]
        for at in np.flatnonzero(apart).tolist():
            row[at] = self.after(state, int(tokens[at]), joined=joined)
        return row

    def run(self, state: int, tokens: Iterable[int], *, joined: bool) -> int:
        """The state after these tokens; `joined`: whether the first joins the last before it."""
        before = -1
        for token in tokens:
            if before >= 0:
                joined = self.joins(before, token)
            state = self.after(state, token, joined=joined)
            if not state:
                break
            before = token
        return state

    def completions(self, state: int, token: int) -> Completions:
        """Some token sequences that complete the character in which `token` led to a state."""
        return self._completing(self._states[state].partial, token)

    def _completions_of(self, begun: bytes, token: int) -> Completions:
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

    def inside(self, state: int) -> bool:
        """Return True inside an incomplete character."""
        return bool(self._states[state].partial)

    def _encoding(self, text: bytes) -> tuple[int, ...] | None:
        """The tokens that the tokenizer gives for a text, None if they do not spell it."""
        try:
            ids = self._how.tokenizer.encode(text.decode()) or []
        except UnicodeDecodeError:
            return None
        spelled = [self._tokens[i] if i < len(self._tokens) else None for i in ids]
        return tuple(ids) if b"".join(each or b"" for each in spelled) == text else None

    def _spell(self) -> None:
        found: dict[int, Spelling] = {}
        for token in sorted(self._how.pieces):
            data = self._tokens[token] if token < len(self._tokens) else None
            read = parts(data) if data else None
            if read is not None:
                found[token] = read
        ascii_ = map(chr, range(0x80))
        self.characters.learn(sorted({*ascii_, *"".join(each.chars for each in found.values())}))
        self._spellings = dict[int, Spelling]()
        self._firsts = dict[str, list[int]]()
        self._added = np.zeros(len(self._tokens), np.bool_)
        self._added[[token for token in self._how.added if token < len(self._tokens)]] = True
        self._inside = np.zeros(len(self._tokens), np.bool_)
        self.restless: NDArray[np.bool_] = np.zeros(len(self._tokens), np.bool_)
        for token, read in found.items():
            chars, self._inside[token] = read.chars, bool(read.head)
            self.restless[token] = self.characters.normalises and (
                not chars or bool(read.head) or restless(chars[0])
            )
            sorts = tuple(map(self._sort, chars))
            if NO_SORT not in sorts and self._allows(chars[:1], chars[1:]):
                self._spellings[token] = replace(read, sorts=sorts)
                self._firsts.setdefault(chars[:1], []).append(token)

    def _allows(self, first: str, rest: str) -> bool:
        """Return True if the normaliser leaves neighbouring characters unchanged."""
        kept = self.characters
        for char in rest:
            if not kept.stays(first, char):
                return False
            first = kept.tail(first, char)
        return True

    def _row_of(self, state: int, *, joined: bool) -> Numbers:
        """The next state for each group of tokens."""
        ends = self._groups.read(self._states[state].splits, joined=joined)
        pairs, back = np.unique(ends, return_inverse=True)
        numbers = [self._ending(*divmod(pair, 1 << 32)) for pair in pairs.tolist()]
        return np.array(numbers, np.int32)[back]

    def _ending(self, splits: int, end: int) -> int:
        tail, begun = self._groups.ends[end]
        lives = splits != DEAD and self._splits.live(splits, tail)
        return self._number(State(splits, tail, begun)) if lives else DEAD_STATE

    def _goes_on(self, here: State) -> NDArray[np.bool_]:
        """The tokens that may go on with an added token in the making."""
        found = np.zeros(len(self._tokens), np.bool_)
        for char, tokens in self._firsts.items():
            if not char or self._literals.goes_on(here.begun, char):
                found[tokens] = True
        return found

    def _following(self, state: int, token: int, joined: bool) -> State | None:
        here = self._states[state]
        if token in self._how.added:
            return self._matched(here, self._how.added[token])
        spelled = self._spellings.get(token)
        if spelled is None or not here.splits:
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
        splits = self._splits.entered(here.splits, token, joined=joined, inside=bool(here.partial))
        for sort in sorts:
            splits = self._splits.step(splits, sort)
        lives = begun is not None and splits != DEAD and self._splits.live(splits, tail)
        return State(splits, tail, begun) if begun is not None and lives else None

    def _matched(self, here: State, text: str) -> State | None:
        """After an added token."""
        begun = self._literals.matched(here.begun, text)
        ends = not here.partial and self._splits.may_end(here.splits)
        return State(self._splits.fresh, b"", begun) if ends and begun is not None else None

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

    def _number(self, state: State | None) -> int:
        if state is None:
            return DEAD_STATE
        number = self._numbers.setdefault(state, len(self._states))
        if number == len(self._states):
            self._states.append(state)
        return number

    def _check(self) -> None:
        """Compare the states with the tokenizer on some texts."""
        for text in probes(self._tokens):
            tokens = self.encode(text.encode()) if text else None
            if tokens is not None and not self.ends(self.run(self.start, tokens, joined=False)):
                raise not_canonical(f"its tokens for {text!r} do not follow from its configuration")
