"""Shortest texts of expressions, least in byte order; plain expressions and templates.

A `Word` is a text in linked pieces, so that a long repetition has a length and is not written out.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from typing import Any, Final, NamedTuple, TypeAlias, assert_never

from guideway.errors import GuidewayError, LimitError
from guideway.language.expr import EPSILON, alt, capture, concat, looking, parts
from guideway.language.fuel import while_there_is_room
from guideway.language.nodes import (
    Ahead,
    Alt,
    And,
    Answers,
    Bytes,
    Call,
    Capture,
    Concat,
    Empty,
    Epsilon,
    Expr,
    Not,
    Repeat,
    Rule,
    Stop,
    Unsure,
    rebuilt,
)
from guideway.language.regular import least_byte, parts_of

LONGEST = 1 << 24


@dataclass(frozen=True, slots=True, eq=False)
class Word:
    """`times` times `piece`, then `rest`.

    >>> Word.of(b"ab", Word.of(b"c")).text, Word.of(b"x", times=3).length
    (b'abc', 3)
    """

    piece: bytes
    times: int
    rest: "Word | None"
    length: int

    @classmethod
    def of(cls, piece: bytes, rest: "Word | None" = None, times: int = 1) -> "Word":
        length = len(piece) * times + (0 if rest is None else rest.length)
        return cls(piece, times, rest if rest is not None and rest.length else None, length)

    def then(self, other: "Word") -> "Word":
        if not self.length:
            return other
        if self.rest is not None:
            return Word.of(self.text, other)
        return Word.of(self.piece, other, self.times)

    def repeated(self, times: int) -> "Word":
        simple = self.rest is None and self.times == 1
        return Word.of(self.piece if simple else self.text, None, times)

    @property
    def text(self) -> bytes:
        """The word written out; more than 16 MiB raise LimitError."""
        if self.length > LONGEST:
            raise LimitError(
                f"the shortest text has {self.length} bytes; at most {LONGEST} are allowed",
                limit="bytes of the shortest text",
                given=LONGEST,
                needed=self.length,
            )
        pieces, word = list[bytes](), self
        while word is not None:
            pieces.append(word.piece * word.times)
            word = word.rest
        return b"".join(pieces)

    def __lt__(self, other: "Word") -> bool:
        """Return True if this word is shorter, or of equal length and before in byte order."""
        if self.length != other.length:
            return self.length < other.length
        return self is not other and self.text < other.text


NOTHING = Word.of(b"")


def text_of(word: Word | None) -> bytes:
    if word is None:
        raise GuidewayError("a state without any continuation was asked for its shortest")
    return word.text


Ways: TypeAlias = Iterator[tuple[int, Expr]]
Entry: TypeAlias = tuple[int, bytes, int, Expr, Ways | None]

_WHOLE: Ways = iter(())
_LAST: Final = 255  # the greatest byte


def nearest(
    root: Expr,
    ending: Callable[[Expr], Word | None],
    leading: Callable[[Expr], tuple[Iterable[tuple[int, Expr]], Iterable[Ways]]],
    bound: Callable[[Expr], int | None],
    goes_on: Callable[[int, int], bool],
) -> tuple[dict[Expr, Word], Iterable[Expr]]:
    """Words of the expressions on the shortest path, the root's last; or the empty expressions.

    `ending`: the rest of the shortest text, if known. `leading`: the least byte to each successor,
    and lazy successors in byte order. `bound`: consistent lower bound of the length, None if there
    is no text. `goes_on`: called with the numbers of expressions and bytes; False stops.
    """
    search = _Search(root, bound)
    while search.queue:
        least, read, _, node, ways = heappop(search.queue)
        if ways is _WHOLE and (rest := ending(node)) is not None:
            return search.retraced(node, rest), ()
        if ways is not None:
            search.go_on(least, read[:-1], node, ways)
        elif search.best[node] != read:
            continue
        elif (rest := ending(node)) is not None:
            search.put(len(read) + rest.length, read + rest.text, node, _WHOLE)
            continue
        else:
            search.leave(least, read, node, *leading(node))
        if not goes_on(len(search.best), len(read)):
            break
    return {}, search.best


class _Search:
    """Expressions reached, and the queue.

    Entries are (lower bound of the whole word, bytes read, serial number, expression, remaining
    successors): None for all, _WHOLE if the bytes are a whole word.
    """

    def __init__(self, root: Expr, bound: Callable[[Expr], int | None]) -> None:
        self._bound, self._serial = bound, count()
        self._came = dict[Expr, tuple[Expr, int]]()
        self.best = {root: b""}
        self.queue: list[Entry] = [(bound(root) or 0, b"", next(self._serial), root, None)]

    def put(self, least: int, read: bytes, node: Expr, ways: Ways | None) -> None:
        heappush(self.queue, (least, read, next(self._serial), node, ways))

    def leave(
        self,
        least: int,
        read: bytes,
        node: Expr,
        lines: Iterable[tuple[int, Expr]],
        ways: Iterable[Ways],
    ) -> None:
        """Expand an expression."""
        for byte, target in lines:
            self._meet(read, node, byte, target)
        for each in ways:
            self.go_on(least, read, node, each)

    def go_on(self, least: int, read: bytes, node: Expr, ways: Ways) -> None:
        """Take the next lazy successor, and requeue the others with bound `least`."""
        way = next(ways, None) if self.best[node] == read else None
        if way is not None:
            self._meet(read, node, *way)
            self.put(least, read + bytes((min(way[0] + 1, _LAST),)), node, ways)

    def _meet(self, read: bytes, node: Expr, byte: int, target: Expr) -> None:
        longer = read + bytes((byte,))
        before = self.best.get(target)
        nearer = before is None or (len(longer), longer) < (len(before), before)
        least = self._bound(target) if nearer else None
        if least is not None:
            self.best[target], self._came[target] = longer, (node, byte)
            self.put(len(longer) + least, longer, target, None)

    def retraced(self, node: Expr, word: Word) -> dict[Expr, Word]:
        words = {node: word}
        while node in self._came:
            node, byte = self._came[node]
            words[node] = word = Word.of(bytes((byte,)), word)
        return words


CERTAIN, VAGUE, UNDECIDED = range(3)
_MOST_KNOWN: Final = 1 << 14  # expressions, before all are dropped


def options_of(state: Expr) -> list[Expr]:
    """Alternatives of a state, split so that each open capture is the head of its own."""
    found: list[Expr] = []
    todo = [state]
    while todo:
        option = todo.pop()
        leads, core = looking(option)
        head, tail = parts(core)
        if isinstance(head, Alt) and (head is option or head.captures):
            todo.extend(concat(*leads, one, tail) for one in reversed(head.options))
        else:
            found.append(option)
    return found


def head_of(option: Expr) -> Expr:
    return parts(looking(option)[1])[0]


def known_capture(option: Expr) -> Capture | None:
    """The capture that `option` is reading, if its bytes are known."""
    head = head_of(option)
    return head if isinstance(head, Capture) and head.read is not None else None


def has_read(state: Expr) -> bool:
    """Return True if no capture is being read."""
    known = (known_capture(option) for option in options_of(state))
    return all(one is None or one.item is EPSILON for one in known)


def read_items(state: Expr) -> list[Expr]:
    """Items of open captures that may contain captures themselves."""
    known = (known_capture(option) for option in options_of(state))
    return [one.item for one in known if one is not None and not one.item.regular]


def forgotten(state: Expr) -> Expr:
    """A state without the bytes that its captures have read."""

    def forget(node: Expr, made: Mapping[Expr, Expr]) -> Expr:
        options = options_of(node)
        known = any(known_capture(option) for option in options)
        return alt(*(_forgotten(option, made) for option in options)) if known else node

    return rebuilt(state, read_items, forget)


def _forgotten(option: Expr, inner: Mapping[Expr, Expr]) -> Expr:
    """An alternative without the bytes of its capture and of captures inside."""
    known = known_capture(option)
    if known is None:
        return option
    item = inner.get(known.item, known.item)
    leads, rest = looking(option)
    blurred = capture(item, None, known.template, known.argument)
    return concat(*leads, blurred, parts(rest)[1])


class CaptureDependence:
    """Dependence of states on the unknown bytes of captures; cached."""

    def __init__(self) -> None:
        self._certain: set[Expr] = set()

    def of(self, state: Expr) -> int:
        """Return how a state depends on those bytes.

        CERTAIN: not at all. VAGUE: its shortest length depends on them. UNDECIDED: its emptiness.
        """
        todo, seen, found = [state], set[Expr](), CERTAIN
        while todo:
            node = todo.pop()
            if node.regular or node in seen or node in self._certain:
                continue
            if isinstance(node, Unsure):
                return UNDECIDED
            seen.add(node)
            found = VAGUE if _is_vague(node) else found
            todo += (node.item,) if isinstance(node, Ahead | Capture) else parts_of(node)
        if len(self._certain) > _MOST_KNOWN:
            self._certain.clear()
        if found == CERTAIN:
            self._certain |= seen
        return found


def _is_vague(node: Expr) -> bool:
    """Return True if the shortest length after a node depends on unknown captured bytes.

    Most objects do not: treating each possible key as vague made a step near the end of a budget
    try 512 tokens.
    """
    match node:
        case Call(template, argument):
            return not template.remembers(argument) and template.depends(argument)
        case Capture(_, None, template, argument):
            return template.depends(argument)
        case _:
            return False


Found: TypeAlias = Word | None
_Asked: TypeAlias = Callable[[Expr], Found]

_DEEPEST = 16
_LEVELS: Final = 8  # nested searches for missing parts
_ASKED = 16  # questions about one missing part before a search waits for it
_AT_ONCE = 64  # missing parts before a search waits for them; doubled if they did not suffice
_PORTIONS: Final = 8
_MORE: Final = 8  # times the work where it did not suffice for any word
_WORK: Final = 50_000  # parts of formulas by keys, looked at to shorten words: 50 ms
_FREE = 8  # bytes of each word that cost no fuel


class _Unknown(Exception):  # noqa: N818  it says that an answer has to wait, and is no error
    """A part that must be found before a search can go on.

    Treating it as empty for the moment doubled the time with each of fifty choices of two names.
    """


class _Above(NamedTuple):
    """State of the enclosing search: `opened` is being solved, `within` a rule."""

    opened: set[Expr]
    within: bool
    levels: int


class Least:
    """Shortest words, memoised."""

    def __init__(
        self,
        spellable: int,
        arcs: Callable[[Expr], list[tuple[int, Expr]]],
        fuel: Callable[[int], None],
    ) -> None:
        self._spellable, self._arcs, self._fuel = spellable, arcs, fuel
        self.alive: Callable[[Expr], bool] | None = None  # decides regular expressions
        self._known: dict[Expr, Found] = {}
        self._kept: dict[Hashable, Any] = {}  # results of templates
        self._depth = 0  # of nested searches
        self._left_out: Word | None = None  # a part's word, too long to be written out
        self._work, self._short = _WORK, False  # left, and whether it did not suffice

    def forget(self) -> None:
        self._known.clear()
        self._kept.clear()

    def word(self, expr: Expr) -> Found:
        """The shortest string of `expr`, first in byte order; None if it has none.

        If all strings have a part that is too long to be written out, LimitError is raised.
        """
        if expr in self._known:
            return self._known[expr]
        outer, self._left_out = self._left_out, None
        work, short, self._short = _WORK, self._short, False
        word = self._solved(expr)
        while word is None and self._short:
            self._work, self._short = work, False
            word, work = self._solved(expr), work * _MORE
        self._short = self._short or short
        left_out, self._left_out = self._left_out, self._left_out or outer
        return Word.of(left_out.text) if word is None and left_out is not None else word

    def _solved(self, expr: Expr) -> Found:
        """The word, round by round; None also if all strings have an omitted part."""
        guesses: dict[Rule, Found] = {}
        while True:
            found: dict[Expr, Found] = {}
            self._solve(expr, found, guesses)
            # A rule that a nested search has solved meanwhile is known, and in no later round.
            again = [rule for rule in guesses if rule in found]
            better = [rule for rule in again if _less(found[rule], guesses[rule])]
            if not better and self._left_out is not None:
                return found[expr]
            if not better:
                self._known.update(
                    (k, v) for k, v in found.items() if v is not None or not self._short
                )
                return found[expr]
            guesses.update({rule: found[rule] for rule in better})

    def _solve(
        self,
        root: Expr,
        found: dict[Expr, Found],
        guesses: dict[Rule, Found],
        above: _Above | None = None,
    ) -> None:
        """Fill `found` for `root` and its parts, without recursion.

        A rule outside other rules is solved by rounds of its own, and all else at once: otherwise
        300 required keys took minutes instead of .7 s.
        """
        stack, missing, asked = [root], dict[Expr, None](), 0
        known, limits = self._known, dict[Expr, int]()
        inside = above or _Above(set(), isinstance(root, Rule), _LEVELS)
        opened, within, levels = inside

        def look(part: Expr) -> Found:
            if part in known:
                return known[part]
            if part in found:
                return found[part]
            if isinstance(part, Rule) and (part in opened or not within):
                return self._rule_guess(part, found, guesses, within=part in opened)
            if levels:
                self._solve(part, found, guesses, _Above(opened, within, levels - 1))
                return found[part]
            nonlocal asked
            asked += part in missing
            missing[part] = None
            if asked > _ASKED or len(missing) > most:
                raise _Unknown
            return None

        written = Answers(
            self._in_bytes(look),
            lambda: not (missing or guesses or self._short) and self._left_out is None,
            self._kept,
            self._afford,
            self._portion,
            self._spellable,
        )
        while stack:
            node = stack[-1]
            missing.clear()
            asked, most = 0, limits.get(node, _AT_ONCE)
            opened.add(node)
            word = None
            if node not in found:
                with suppress(_Unknown):
                    word = self._word(node, look, written)
            if missing:
                limits[node] = 2 * most if len(missing) > most else most
                stack.extend(missing)
            else:
                found.setdefault(stack.pop(), word)
                self._fuel(1)

    def _rule_guess(
        self, rule: Rule, found: dict[Expr, Found], guesses: dict[Rule, Found], *, within: bool
    ) -> Found:
        """The guess of a rule inside itself, or its word."""
        if within:
            return guesses.setdefault(rule, None)
        return found.setdefault(rule, self._solved(rule))

    def _word(self, node: Expr, look: _Asked, written: Answers) -> Found:  # noqa: C901, PLR0911  one arm for each node
        match node:
            case Empty():
                return None
            case Epsilon() | Unsure() | Ahead() | Stop():
                return NOTHING
            case Bytes(members):
                spelled = members & self._spellable
                return Word.of(bytes((least_byte(spelled),))) if spelled else None
            case Concat(head, tail):
                return _joined_words(self._writable(look(head)), look(tail))
            case Alt(options) if not _is_automaton(node):
                words = [look(option) for option in options]
                return min((word for word in words if word is not None), default=None)
            case Repeat(item, low):
                once = self._writable(look(item))
                return NOTHING if low == 0 else None if once is None else once.repeated(low)
            case And() | Not() | Alt() | Rule(regular=True):
                self._depth += 1
                try:
                    return self._search(node)
                finally:
                    self._depth -= 1
            case Rule():
                return look(node.body)
            case Call(template, argument):
                return _from_bytes(template.least(argument, written))
            case Capture():
                return self._captured(node, look)
            case _:
                assert_never(node)

    def _captured(self, node: Capture, look: _Asked) -> Found:
        """A capture and what follows it."""
        word, read = look(node.item), node.read
        known = None if read is None or word is None else read + word.text
        return _joined_words(word, look(node.template.resume(node.argument, known)))

    def _writable(self, word: Found) -> Found:
        """The word if it can be written out; others are recorded as omitted."""
        if word is None or word.length <= LONGEST or word.rest is None:
            return word
        self._left_out = word
        return None

    def refuel(self, questions: int = 1) -> None:
        """Allow the work of more questions."""
        self._work, self._short = questions * _WORK, False

    def _afford(self, work: int) -> bool:
        """Pay for work that may shorten a word, or find one."""
        self._work -= work
        self._short = self._short or self._work <= 0
        return self._work > 0

    def _portion(self) -> Callable[[int], bool]:
        left = self._work // _PORTIONS

        def afford(work: int) -> bool:
            nonlocal left
            left -= work
            self._short = self._short or left <= 0
            return left > 0 and self._afford(work)

        return afford

    def _in_bytes(self, look: _Asked) -> Callable[[Expr], bytes | None]:
        """`look` for templates, which use plain bytes."""

        def written(part: Expr) -> bytes | None:
            word = look(part)
            if word is not None and word.length > LONGEST:
                self._left_out = word
                return None
            return None if word is None else word.text

        return written

    def _search(self, root: Expr) -> Found:
        """The nearest text; without the bound, some date-times took seconds instead of 16 ms.

        A search that finds nothing visits every state: one took 30 s, and `alive` .1 s.
        """
        with while_there_is_room:
            if self.alive is not None and not self.alive(root):
                self._known[root] = None
                return None
        words, empty = nearest(root, self._ending, self._successors, self._bound, self._tick)
        self._known.update(dict.fromkeys(empty))
        self._known.update(words)
        return words.get(root)

    def _ending(self, node: Expr) -> Found:
        return NOTHING if node.nullable else self._known.get(node)

    def _tick(self, _: int, read: int) -> bool:
        self._fuel(1 + read // _FREE)
        return True

    def _successors(self, node: Expr) -> tuple[list[tuple[int, Expr]], tuple[()]]:
        arcs = ((least_byte(members), target) for members, target in self._arcs(node))
        return [(byte, to) for byte, to in arcs if self._known.get(to, NOTHING) is not None], ()

    def _bound(self, expr: Expr) -> int | None:
        """Lower bound of the length of strings, exact except for And, Not and automata."""
        bound, todo = 0, [expr]
        while todo:
            part = todo.pop()
            known = self._known.get(part)
            if known is not None:
                bound = max(bound, known.length)
            elif isinstance(part, And):
                todo += [part.left, part.right]
            elif isinstance(part, Not) or self._depth >= _DEEPEST or _is_automaton(part):
                bound = max(bound, int(not part.nullable))
            elif (word := self.word(part)) is None:
                return None
            else:
                bound = max(bound, word.length)
        return bound


def _is_automaton(node: Expr) -> bool:
    """Return True for a state of a large automaton, whose words would take seconds."""
    if isinstance(node, Alt) and node.regular:
        return any(isinstance(o, Rule) or _leads_to_rule(o) for o in node.options)
    return isinstance(node, Rule) and node.regular


def _leads_to_rule(option: Expr) -> bool:
    return isinstance(option, Concat) and isinstance(option.tail, Rule)


def _joined_words(first: Found, rest: Found) -> Found:
    return None if first is None or rest is None else first.then(rest)


def _from_bytes(word: bytes | None) -> Found:
    return None if word is None else Word.of(word)


def _less(word: Found, than: Found) -> bool:
    return word is not None and (than is None or word < than)
