"""The shortest string of an expression, first in byte order: distances, emptiness and examples.

After its first byte, the rest is the word of the derivative, so distances fall by one along it.
Sums and products are immediate (Knuth 1977, "A generalization of Dijkstra's algorithm"); rules are
iterated from "none yet" to a fixed point; And, Not and automata are searched, nearest first.
Lookahead is ignored (`automata.guarded` uses that as a bound).
"""

from collections.abc import Callable, Hashable
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias, assert_never, final
from weakref import WeakKeyDictionary

from guideway.automata.captures import head_of
from guideway.automata.consulted import Consulted
from guideway.automata.nearest import nearest
from guideway.automata.words import LONGEST, NOTHING, Word
from guideway.lowering.answers import Answers
from guideway.lowering.expr import ALL_BYTES
from guideway.lowering.nodes import (
    Ahead,
    Alt,
    And,
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
)
from guideway.lowering.regular import least_byte

Found: TypeAlias = Word | None
_Asked: TypeAlias = Callable[[Expr], Found]

_DEEPEST = 16
_LEVELS: Final = 8  # nested searches for missing parts
_ASKED = 16  # questions about one missing part before a search waits for it
_AT_ONCE = 64  # missing parts before a search waits for them; doubled if they did not suffice
_CONSULTED = 4  # intersections that `consulted` may fail to answer
_FREE = 8  # bytes of each word that cost no fuel

# Strings, numbers and white space are the same expressions in every schema. Larger results, such as
# the 20,000 parts of an enum of 2,000 words, are not shared.
_MOST_SHARED = 256
_shared: "WeakKeyDictionary[Expr, Found]" = WeakKeyDictionary()


@final
class _Unknown(Exception):  # noqa: N818  it says that an answer has to wait, and is no error
    """A part that must be found before a search can go on.

    Treating it as empty for the moment doubled the time with each of fifty choices of two names.
    """


class _Above(NamedTuple):
    """State of the enclosing search: `opened` is being solved, `within` a rule."""

    opened: set[Expr]
    within: bool
    levels: int


@final
class Least:
    """Shortest words, memoised; `consulted`, if set, answers first about intersections."""

    def __init__(
        self,
        spellable: int,
        arcs: Callable[[Expr], list[tuple[int, Expr]]],
        fuel: Callable[[int], None],
    ) -> None:
        self._spellable, self._arcs, self._fuel = spellable, arcs, fuel
        self._known: dict[Expr, Found] = {}
        self._kept: dict[Hashable, Any] = {}  # results of templates
        # If every byte can be spelled, words are the same for all vocabularies.
        self._shared = _shared if spellable == ALL_BYTES else WeakKeyDictionary[Expr, Found]()
        self._depth = 0  # of nested searches
        self._left_out: Word | None = None  # a part's word, too long to be written out
        self.consulted: Consulted | None = None
        self._patience = _CONSULTED

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
        word = self._found(expr)
        left_out, self._left_out = self._left_out, self._left_out or outer
        return Word.of(left_out.text) if word is None and left_out is not None else word

    def _found(self, expr: Expr) -> Found:
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
                self._known.update(found)
                if len(found) <= _MOST_SHARED:
                    regular = {node: word for node, word in found.items() if node.regular}
                    self._shared.update(regular)
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
            if part in shared:
                return shared[part]
            if isinstance(part, Rule) and (part in opened or not within):
                return self._met(part, found, guesses, within=part in opened)
            if levels:
                self._solve(part, found, guesses, _Above(opened, within, levels - 1))
                return found[part]
            nonlocal asked
            asked += part in missing
            missing[part] = None
            if asked > _ASKED or len(missing) > most:
                raise _Unknown
            return None

        shared, settled = self._shared, partial(self._is_settled, missing, guesses)
        written = Answers(self._in_bytes(look), settled, self._kept)
        while stack:
            node = stack[-1]
            missing.clear()
            asked, most = 0, limits.get(node, _AT_ONCE)
            opened.add(node)
            word = None if node in found else self._tried(node, look, written)
            if missing:
                limits[node] = 2 * most if len(missing) > most else most
                stack.extend(missing)
            else:
                found.setdefault(stack.pop(), word)
                self._fuel(1)

    def _tried(self, node: Expr, look: _Asked, written: Answers) -> Found:
        try:
            return self._told(node, look, written)
        except _Unknown:
            return None

    def _is_settled(self, missing: dict[Expr, None], guesses: dict[Rule, Found]) -> bool:
        return not missing and not guesses and self._left_out is None

    def _met(
        self, rule: Rule, found: dict[Expr, Found], guesses: dict[Rule, Found], *, within: bool
    ) -> Found:
        """The guess of a rule inside itself, or its word."""
        if within:
            return guesses.setdefault(rule, None)
        return found.setdefault(rule, self._found(rule))

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
                return _joined(self._whole(look(head)), look(tail))
            case Alt(options) if not _is_automaton(node):
                return _least([look(option) for option in options])
            case Repeat(item, low):
                once = self._whole(look(item))
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
                return self._captured(node, look, written)
            case _:
                assert_never(node)

    def _told(self, node: Expr, look: _Asked, written: Answers) -> Found:
        """The word of an intersection, from `consulted` if it has the answer."""
        lexicon = self.consulted
        if lexicon is None or self._depth or not self._patience or not _meets(node):
            return self._word(node, look, written)
        told, word = lexicon.shortest(node)
        self._patience -= not told
        return _from_bytes(word) if told else self._word(node, look, written)

    def _captured(self, node: Capture, look: _Asked, written: Answers) -> Found:
        """A capture and what follows it; a longer capture may give a lesser text of equal length.

        Such as `" ":0,"":0` before `"":0," ":0`.
        """
        word, read = look(node.item), node.read
        known = None if read is None or word is None else read + word.text
        rest = node.template.least_after(node.argument, written, known)
        found = _joined(word, _from_bytes(rest))
        begun = None if read is None else node.template.least_begun(node.argument, written, read)
        return found if begun is None else _least([found, Word.of(begun.removeprefix(read or b""))])

    def _whole(self, word: Found) -> Found:
        """The word if it can be written out; others are recorded as omitted."""
        if word is None or word.length <= LONGEST or word.rest is None:
            return word
        self._left_out = word
        return None

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
        """The nearest text; without the bound, some date-times took seconds instead of 16 ms."""
        words, empty = nearest(root, self._ending, self._leading, self._bound, self._tick)
        self._known.update(dict.fromkeys(empty))
        self._known.update(words)
        return words.get(root)

    def _ending(self, node: Expr) -> Found:
        return NOTHING if node.nullable else self._known.get(node)

    def _tick(self, _: int, read: int) -> bool:
        self._fuel(1 + read // _FREE)
        return True

    def _leading(self, node: Expr) -> tuple[list[tuple[int, Expr]], tuple[()]]:
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


def _meets(node: Expr) -> bool:
    """Return True for intersections of regular expressions, and choices between them."""
    if isinstance(node, Alt) and node.regular:
        return any(isinstance(head_of(option), And | Not) for option in node.options)
    return isinstance(node, And | Not)


def _is_automaton(node: Expr) -> bool:
    """Return True for a state of a large automaton, whose words would take seconds."""
    if isinstance(node, Alt) and node.regular:
        return any(isinstance(o, Rule) or _leads_to_rule(o) for o in node.options)
    return isinstance(node, Rule) and node.regular


def _leads_to_rule(option: Expr) -> bool:
    return isinstance(option, Concat) and isinstance(option.tail, Rule)


def _joined(first: Found, rest: Found) -> Found:
    return None if first is None or rest is None else first.then(rest)


def _from_bytes(word: bytes | None) -> Found:
    return None if word is None else Word.of(word)


def _less(word: Found, than: Found) -> bool:
    return word is not None and word.less(than)


def _least(words: list[Found]) -> Found:
    best: Found = None
    for word in words:
        if _less(word, best):
            best = word
    return best
