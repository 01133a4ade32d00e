r"""Languages of the matches that `re.match` prefers: leftmost alternatives, greedy or lazy counts.

For every text t = w·u, `re.match(pattern, t)` ends after w exactly if some Exit has w in `text` and
u in `after`; it matches at all exactly if t is in `begins`. All are regular, and mostly there is
one exit: for `[^\W\d]\w*` names not followed by \w, for `if|if else` only `if`. The automaton keeps
all ways of backtracking in order (`backtracking_automaton`); after an exit, the preferred ways must
not match. Conditions on text before the match (^, \b at the start, `(?<!a)`) are refused.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Final

from guideway.language.expr import (
    ANYTHING,
    EMPTY,
    alt,
    byte_set,
    complement,
    concat,
    either,
)
from guideway.language.finite_automata import Automaton, Texts, reaching, smallest
from guideway.language.fuel import spend
from guideway.language.nodes import Expr
from guideway.language.special_tokens import MARKS
from guideway.language.utf8 import CodePoints, character, intersection
from guideway.language.values import by_value
from guideway.regex.backtracking_automaton import (
    ALL,
    NONE,
    Machine,
    Place,
    Watch,
    explored,
)
from guideway.regex.backtracking_program import program
from guideway.regex.lowering import lower_regex
from guideway.regex.tree import (
    Alternation,
    Anchor,
    Back,
    Boundary,
    Class,
    Dot,
    Group,
    Look,
    Node,
    Pattern,
    Repeat,
    Shorthand,
    Text,
    nodes_of,
)
from guideway.regex.tree import Sequence as Parts
from guideway.regex.unicode import leaf_points, literal_points

MANY_WORDS: Final = 32


@by_value
class Exit:
    """Texts that are preferred where the text after them is in `after`."""

    text: Expr
    after: Expr


@by_value
class Matches:
    """The texts that `re.match` may prefer, and the texts that begin with a match."""

    exits: tuple[Exit, ...]
    begins: Expr


def matches(pattern: Pattern, marks: bool = False, solid: bool = False) -> Matches:
    """The matches of a pattern.

    `marks`: special tokens may follow, which no pattern matches. `solid`: empty matches do not
    count, and backtracking goes on after them. Raises UnsupportedError or LimitError.
    """
    if not solid and (_is_plain(pattern.body) or _ends_once(pattern.body)):
        text = lower_regex(pattern)
        return Matches(() if text is EMPTY else (Exit(text, ANYTHING),), concat(text, ANYTHING))
    words = _words(pattern.body)
    if words is not None:
        return _of_words([word for word in words if word or not solid])
    return _Reader(pattern, marks, solid).read()


def _words(root: Node) -> list[str] | None:
    """The words of an alternation of many words, in order, else None."""
    while isinstance(root, Group):
        root = root.item
    if not isinstance(root, Alternation) or len(root.options) < MANY_WORDS:
        return None
    words = [each.text for each in root.options if isinstance(each, Text) and _is_spelled_so(each)]
    return list(dict.fromkeys(words)) if len(words) == len(root.options) else None


def _is_spelled_so(node: Text) -> bool:
    return not node.mode.ignore_case and not any("\ud800" <= char <= "\udfff" for char in node.text)


def _of_words(words: Sequence[str]) -> Matches:
    """Matches of an alternation of words: one is taken if no earlier one matches there."""
    order = {word: place for place, word in enumerate(words)}
    longer: dict[str, list[str]] = {}  # by word, the rests of those preferred to it
    cut: set[str] = set()
    for place, word in enumerate(words):
        spend(len(word))
        for size in range(1, len(word)):
            before = order.get(word[:size])
            if before is not None and before < place:
                cut.add(word)
            elif before is not None:
                longer.setdefault(word[:size], []).append(word[size:])
    ends: dict[frozenset[str], list[bytes]] = {}
    for word in words:
        if word not in cut:
            ends.setdefault(frozenset(longer.get(word, ())), []).append(word.encode())
    exits = [
        Exit(either(texts), complement(concat(either(rest.encode() for rest in rests), ANYTHING)))
        for rests, texts in ends.items()
    ]
    return Matches(tuple(exits), concat(either(word.encode() for word in words), ANYTHING))


def _items(node: Node) -> Sequence[Node]:
    """The items of a sequence."""
    while isinstance(node, Group):
        node = node.item
    return node.items if isinstance(node, Parts) else (node,)


def _ends_once(root: Node) -> bool:
    """Return True if the last character occurs nowhere else: no match is a prefix of another.

    The automaton of `(a|b)*a(a|b){20}c` would have 2^20 states.
    """
    *before, last = _items(root) or (root,)
    if not isinstance(last, Class | Shorthand) and not (
        isinstance(last, Text) and len(last.text) == 1
    ):
        return False
    sets, ends = _character_sets(Parts(tuple(before), root.place)), _character_sets(last) or []
    return sets is not None and not any(intersection(each, end) for each in sets for end in ends)


def _character_sets(root: Node) -> list[CodePoints] | None:
    """The sets of characters of a part; None if it has lookaround."""
    found = list[CodePoints]()
    for node in nodes_of(root):
        match node:
            case Text(text, mode):
                found += [literal_points(char, mode) for char in {*text}]
            case Class() | Shorthand() | Dot():
                found.append(leaf_points(node))
            case Look() | Anchor() | Boundary() | Back():
                return None
            case _:
                pass
    return found


def _is_plain(root: Node) -> bool:
    """Return True if there is no choice: a fixed number of characters, each of one set."""
    return all(
        isinstance(node, Text | Class | Shorthand | Dot | Group | Parts)
        or (isinstance(node, Repeat) and node.low == node.high)
        for node in nodes_of(root)
    )


class _Reader:
    """The automata of one pattern."""

    def __init__(self, pattern: Pattern, marks: bool, solid: bool) -> None:
        self._program, self._solid = program(pattern, marks), solid
        self._marks = 1 << len(self._program.atoms) - 1 if marks else 0
        self._machine = Machine(self._program)
        self._languages = self._machine.languages
        self._spelled = cache(self._characters)

    def read(self) -> Matches:
        start = self._machine.start(self._program.start, self._machine.pasts, solid=self._solid)
        following = explored([start], self._machine.row)
        number = {place: n for n, place in enumerate(following)}
        rows = [[number[target] for target in row] for row in following.values()]
        begins = self._machine.begun(self._program.start, self._machine.pasts, solid=self._solid)
        afters = self._afters([*following])
        texts, _ = smallest(Automaton(rows, afters))
        rest = self._expression()
        exits: list[Exit] = []
        for after in dict.fromkeys(each for each in afters if each != NONE):
            ends = [mark == after for mark in texts.marks]
            exits.append(Exit(Texts(texts.rows, ends, self._spelled).after(0), rest(after)))
        return Matches(tuple(exits), rest(begins))

    def _expression(self) -> Callable[[int], Expr]:
        """Expressions of languages, as the texts that follow.

        The complement if that is simpler: "no a follows", not "nothing, or not a and anything".
        """
        rows, ends = self._languages.rows, self._languages.ends
        texts = Texts(rows, ends, self._spelled, ANYTHING)
        others = Texts(rows, [not end for end in ends], self._spelled, ANYTHING)
        free = reaching(rows, [ALL])

        def rest(language: int) -> Expr:
            if ends[language] and language in free:
                return complement(others.after(language))
            return texts.after(language)

        return rest

    def _afters(self, places: Sequence[Place]) -> Sequence[int]:
        """For each place, the language that may follow if the preferred match ends there."""
        watches = dict.fromkeys(each for place in places for each in _watches(place))
        found = dict(zip(watches, self._machine.unmatched([*watches]), strict=True))
        afters: list[int] = []
        for place in places:
            after = NONE
            for watch in _watches(place):
                after = self._languages.either(after, found[watch])
            afters.append(after)
        return afters

    def _characters(self, atoms: int) -> Expr:
        found = character(self._program.characters(atoms))
        return alt(found, byte_set(MARKS)) if atoms & self._marks else found


def _watches(place: Place) -> Sequence[Watch]:
    """For each match that ends at a place, the ways preferred to it."""
    return [
        (Place(place.threads[:count], place.history if count else (), ()), guard)
        for count, guard in place.ends
    ]
