r"""Terminals: which of its matches `re.match` prefers, as languages.

`re.match(pattern, text)` takes the first match that backtracking finds: the first alternative, as
much as a greedy count can have, as little as a lazy one. Which one that is depends on what follows:

    exits(pattern)   -> (Exit(text, after), …)
    begins(pattern)  -> Expr

For every text t and w, u with t = w·u, `re.match(pattern, t)` ends behind w exactly if there is an
exit with w in its `text` and u in its `after`; it matches at all exactly if t is in `begins`. All
are regular. Usually there is one exit: of `[^\W\d]\w*` names, behind which no \w comes; of
`".*?"` what is between two quotes, and anything after. `if|if else` has `if` alone, and `0*(?!1)`
zeros behind which there is no 1, or one more zero and then a 1.

`after` and `begins` are about texts, and special tokens among them where those are asked for:
whether they hold other strings that are no UTF-8 is left open. What would look at characters before
the terminal (^, \b at its start, `(?<!a)`) is refused by name, as are a lookbehind with lookaround
in it, and references back to other than a few texts.

How it is done: `lowering.preferred_machine` is an automaton of all ways through the pattern, in the
order in which they are tried. Behind an exit the ways that would have been preferred go on until
one of them comes to an end, and then it was not the exit.
"""

import operator
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final, final

from guideway.lowering.alternatives import either
from guideway.lowering.characters import leaf_points, literal_points, word_points
from guideway.lowering.equations import Automaton, Equations, Spell, smallest, texts_by_mark
from guideway.lowering.expr import ANYTHING, EMPTY, EPSILON, alt, both, byte_set, complement, concat
from guideway.lowering.fuel import spend
from guideway.lowering.nodes import Expr
from guideway.lowering.preferred_languages import ALL, NONE, Languages, explored
from guideway.lowering.preferred_machine import Place
from guideway.lowering.preferred_program import program
from guideway.lowering.preferred_steps import Ahead, Behind, Guard
from guideway.lowering.preferred_watches import Watch, Watches
from guideway.lowering.regex import lower_regex
from guideway.lowering.special import MARKS
from guideway.lowering.unicode import CodePoints, character, intersection
from guideway.syntax.frozen import by_value
from guideway.syntax.regex_tree import (
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
from guideway.syntax.regex_tree import Sequence as Parts

MANY_WORDS: Final = 32
MOST_SOLVED: Final = 64  # states: more are told as the pattern has them, where that is right


@final
@by_value
class Exit:
    """Texts that are preferred where what follows is in `after`."""

    text: Expr
    after: Expr


def exits(pattern: Pattern, marks: bool = False, solid: bool = False) -> tuple[Exit, ...]:
    r"""The texts that `re.match` may prefer, each with what has to follow it.

    >>> from guideway.lowering.expr import literal
    >>> from guideway.syntax.regex import parse_regex
    >>> exits(parse_regex("if|ifs")) == (Exit(literal("if"), ANYTHING),)
    True
    >>> exits(parse_regex("a+")) == (Exit(lower_regex(parse_regex("a+")),
    ...     complement(concat(literal("a"), ANYTHING))),)
    True

    Args:
        pattern: what matches.
        marks: whether special tokens may follow, which no part of a pattern matches.
        solid: whether a match of nothing is none, and backtracking goes on behind it.

    Raises:
        UnsupportedError: what the module refuses, with its place in the pattern.
        LimitError: the automaton is too large.
    """
    return _preferences(_Key(pattern.text, _modes(pattern), marks, solid, pattern))[0]


def begins(pattern: Pattern, marks: bool = False, solid: bool = False) -> Expr:
    """The texts that begin with a match; errors as of `exits`."""
    return _preferences(_Key(pattern.text, _modes(pattern), marks, solid, pattern))[1]


@final
@dataclass(frozen=True, slots=True)
class _Key:
    """A pattern, told from others by its text and its flags: to compare trees would recurse."""

    text: str
    modes: tuple[Hashable, ...]
    marks: bool
    solid: bool
    pattern: Pattern = field(compare=False)


def _modes(pattern: Pattern) -> tuple[Hashable, ...]:
    found: list[Hashable] = []
    for node in nodes_of(pattern.body):
        if isinstance(node, Text | Class | Shorthand | Dot | Boundary | Back):
            found.append(node.mode)
        elif isinstance(node, Anchor):
            found.append(node.kind)
    return tuple(found)


@lru_cache(maxsize=1024)
def _preferences(key: _Key) -> tuple[tuple[Exit, ...], Expr]:
    """The exits of a pattern, and what begins with a match."""
    if not key.solid and (_is_plain(key.pattern.body) or _ends_once(key.pattern.body)):
        text = lower_regex(key.pattern)
        return () if text is EMPTY else (Exit(text, ANYTHING),), concat(text, ANYTHING)
    words = _words(key.pattern.body)
    if words is not None:
        return _of_words([word for word in words if word or not key.solid])
    return _unlike(key) or _Reader(key.pattern, key.marks, key.solid).read()


def _words(root: Node) -> list[str] | None:
    """The words that an alternation is made of, in order, if it is one of many."""
    while isinstance(root, Group):
        root = root.item
    if not isinstance(root, Alternation) or len(root.options) < MANY_WORDS:
        return None
    words = [each.text for each in root.options if isinstance(each, Text) and _is_spelled_so(each)]
    return list(dict.fromkeys(words)) if len(words) == len(root.options) else None


def _is_spelled_so(node: Text) -> bool:
    return not node.mode.ignore_case and not any("\ud800" <= char <= "\udfff" for char in node.text)


def _of_words(words: Sequence[str]) -> tuple[tuple[Exit, ...], Expr]:
    """The same for words: one is taken if none before it begins there, be it shorter or longer."""
    order = {word: place for place, word in enumerate(words)}
    longer: dict[str, list[str]] = {}  # by word, the ends of those that are preferred to it
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
    return tuple(exits), concat(either(word.encode() for word in words), ANYTHING)


def _unlike(key: _Key) -> tuple[tuple[Exit, ...], Expr] | None:
    r"""The same of `(?!(?:if|else)(?!\w))[a-z_]\w*` and all that is like it, None of others.

    Words and names are made of characters that come behind neither: so a word stands where a name
    does only if it is the whole name. The automaton of 100 keywords would take 0.3 s.
    """
    items = _items(key.pattern.body)
    look = items[0] if items else None
    if not isinstance(look, Look) or not look.ahead or not look.negated:
        return None
    inside, rest = _items(look.item), Parts(tuple(items[1:]), key.pattern.body.place)
    behind, words = _barred(inside), Parts(tuple(inside[:-1]), look.place)
    if behind is None or not (_is_made_of(words, behind) and _is_made_of(rest, behind)):
        return None
    after = complement(concat(character(behind), ANYTHING))
    word, others = lower_regex(Pattern(key.text, words)), Pattern(key.text, rest)
    exits, begun = _preferences(replace(key, modes=(key.modes, "rest"), pattern=others))
    if word.nullable or any(each.after is not after for each in exits):
        return None
    taken = ((both(each.text, complement(word)), each.after) for each in exits)
    found = tuple(Exit(text, after) for text, after in taken if text is not EMPTY)
    return found, both(begun, complement(concat(word, after)))


def _items(node: Node) -> Sequence[Node]:
    """What a part is made of, one after the other."""
    while isinstance(node, Group):
        node = node.item
    return node.items if isinstance(node, Parts) else (node,)


def _barred(items: Sequence[Node]) -> CodePoints | None:
    """The characters of which the last item says that none follows."""
    last = items[-1] if items else None
    if isinstance(last, Boundary) and not last.negated:
        return word_points(last.mode)  # behind one of these, as the others are made of them
    if isinstance(last, Look) and last.ahead and last.negated:
        (item, *more) = _items(last.item) or (last,)
        if isinstance(item, Class | Shorthand) and not more:
            return leaf_points(item)
    return None


def _is_made_of(root: Node, characters: CodePoints) -> bool:
    """Whether its texts are some of these characters, and nothing is looked at."""
    sets = _character_sets(root)
    return sets is not None and all(intersection(each, characters) == each for each in sets)


def _ends_once(root: Node) -> bool:
    """Return True if the last character is none of those before it: no match begins another.

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
    """The sets of characters of which texts are made; None if something is looked at."""
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
    """Whether there is never a choice: always as many characters, each out of one set."""
    return all(
        isinstance(node, Text | Class | Shorthand | Dot | Group | Parts)
        or (isinstance(node, Repeat) and node.low == node.high)
        for node in nodes_of(root)
    )


@final
class _Reader:
    """The automata of one pattern."""

    def __init__(self, pattern: Pattern, marks: bool, solid: bool) -> None:
        self._pattern, self._program, self._solid = pattern, program(pattern, marks), solid
        self._marks = 1 << len(self._program.atoms) - 1 if marks else 0
        self._watches = Watches(self._program)
        self._machine = self._watches.machine
        self._languages = self._machine.languages
        self._characters: dict[int, Expr] = {}

    def read(self) -> tuple[tuple[Exit, ...], Expr]:
        """The exits, and what begins with a match."""
        start = self._machine.start(self._program.start, self._machine.pasts, solid=self._solid)
        places, rows = explored([start], self._machine.row)
        begins = self._watches.begun(self._program.start, self._machine.pasts, solid=self._solid)
        afters = self._afters(places)
        texts, _ = smallest(Automaton(rows, afters))
        told = _Told(self._languages, self._spelled)
        followed = [after for after in dict.fromkeys(afters) if after != NONE]
        if len(texts.rows) > MOST_SOLVED and len(followed) == 1 and self._takes_all():
            return (Exit(self._whole(), told.expr(followed[0])),), told.expr(begins)
        found = texts_by_mark(texts, frozenset(followed), self._spelled)
        exits = tuple(Exit(found[after], told.expr(after)) for after in followed)
        return exits, told.expr(begins)

    def _whole(self) -> Expr:
        """The texts that match as a whole."""
        text = lower_regex(self._pattern)
        return both(text, complement(EPSILON)) if self._solid else text

    def _takes_all(self) -> bool:
        """Whether every text that matches as a whole is preferred somewhere."""
        looks = any(isinstance(step, Ahead | Guard | Behind) for step in self._program.steps)
        return not self._machine.cuts and not looks and not self._pattern.backs

    def _afters(self, places: Sequence[Place]) -> Sequence[int]:
        """For each place, what may follow where the preferred match ends there."""
        watches = dict.fromkeys(each for place in places for each in _watches(place))
        found = dict(zip(watches, self._watches.unmatched([*watches]), strict=True))
        afters: list[int] = []
        for place in places:
            after = NONE
            for watch in _watches(place):
                after = self._languages.either(after, found[watch])
            afters.append(after)
        return afters

    def _spelled(self, atoms: int) -> Expr:
        found = self._characters.get(atoms)
        if found is None:
            found = character(self._program.characters(atoms))
            if atoms & self._marks:
                found = alt(found, byte_set(MARKS))
            self._characters[atoms] = found
        return found


def _watches(place: Place) -> Sequence[Watch]:
    """For each match that ends at a place, the ways that are preferred to it."""
    return [
        Watch(place.threads[:count], place.history if count else (), guard)
        for count, guard in place.ends
    ]


@final
class _Told:
    """Languages over atoms as expressions of the core, where the texts that follow are meant.

    Of two expressions the one with the simpler ending: "no a comes" rather than "nothing, or
    something else and then anything".
    """

    def __init__(self, languages: Languages, spell: Spell) -> None:
        rows, ends = languages.rows, languages.ends
        automaton = Automaton(rows, ends)
        self._rows, self._ends = rows, ends
        self._texts = Equations(automaton, bool, spell, ANYTHING)
        self._others = Equations(automaton, operator.not_, spell, ANYTHING)

    def expr(self, language: int) -> Expr:
        """The expression."""
        if self._ends[language] and self._gets_free(language):
            return complement(self._others.texts_from(language))
        return self._texts.texts_from(language)

    def _gets_free(self, language: int) -> bool:
        """Whether there is a text behind which anything may follow."""
        seen, todo = {language}, [language]
        while todo:
            targets = set(self._rows[todo.pop()])
            todo += targets - seen
            seen |= targets
        return ALL in seen
