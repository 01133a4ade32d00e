r"""What `re.match` prefers where little is to be preferred, without the automaton of all ways.

Behind most of what a terminal reads one way goes on at most, and it is greedy. Then the longest
match is taken: one that ends at some place of the pattern is, where none that goes on from there
follows.

    [0-9]+(?:\.[0-9]+)?    ends before the dot: no digit follows, nor a dot with a digit
                           ends behind it:      no digit follows

And where what has to follow a match (`(?![a-z])`, `\b`, `(?=:)`) begins with no character with
which a longer one would go on, there is one match at most. So it is with names that are no
keywords, `(?!(?:if|else)(?![a-z]))[a-z]+`: behind a name no letter comes, so the keyword that is
looked for is the name or not there.

Two ways are followed as a pair, as they read the same. None is the answer where any of this is not
so, or the pattern looks around elsewhere.

What this module does not know: threads, guards, languages over atoms (`lowering.preferred`).
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from operator import itemgetter
from typing import Final, TypeAlias, final

from guideway.lowering.alternatives import either
from guideway.lowering.characters import leaf_points, literal_points, word_points
from guideway.lowering.expr import ANYTHING, EMPTY, alt, both, complement, concat
from guideway.lowering.fuel import spend
from guideway.lowering.nodes import Expr
from guideway.lowering.preferred_places import Part, Places, numbers
from guideway.lowering.regex import lower_regex
from guideway.lowering.unicode import CodePoints, character, union
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
    Shorthand,
    Text,
    nodes_of,
)
from guideway.syntax.regex_tree import Sequence as Items

Told: TypeAlias = tuple[Sequence[tuple[Expr, Expr]], Expr]
"""Texts, each with what has to follow, and what begins with a match."""

MOST_PAIRS: Final = 4_000


def told(pattern: Pattern) -> Told | None:
    r"""What is preferred, and where anything matches, if that is found so.

    >>> from guideway.syntax.regex import parse_regex
    >>> letters = lower_regex(parse_regex("a+"))
    >>> told(parse_regex("a+")) == (
    ...     [(letters, complement(concat(lower_regex(parse_regex("a")), ANYTHING)))],
    ...     concat(lower_regex(parse_regex("a")), ANYTHING),
    ... )
    True
    >>> told(parse_regex("ab|a")) is None
    True
    """
    body = _bare(pattern.body)
    items = body.items if isinstance(body, Items) else (body,)
    if items and isinstance(items[0], Look) and items[0].ahead and items[0].negated:
        return _unlike(pattern.text, items[0], Items(items[1:], body.place))
    found = _Reader(pattern.text, body)
    return found.told() if found.is_clear() else None


@final
@dataclass(frozen=True, slots=True)
class _Look:
    """What has to follow, or must not.

    Attributes:
        after: all that may follow.
        negated: whether that begins with none of these,
        firsts: or with one.
        single: whether one of these is enough.
    """

    after: Expr
    negated: bool
    firsts: CodePoints
    single: bool

    def allows(self, characters: CodePoints) -> bool:
        """Whether one of these may come first, as far as is known."""
        if self.negated:
            return not (self.single and _is_within(characters, self.firsts))
        return _meet(characters, self.firsts)


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Option:
    """One of the alternatives of a pattern, and what is looked for behind it."""

    node: Node
    part: Part
    looks: Sequence[_Look]

    @property
    def after(self) -> Expr:
        """All that may follow."""
        found = ANYTHING
        for look in self.looks:
            found = both(found, look.after)
        return found

    @property
    def begun(self) -> Expr:
        """What begins with a match."""
        return concat(self.part.text if self.looks else self.part.begun(), self.after)

    def allows(self, characters: CodePoints) -> bool:
        """Whether one of these may come behind a match."""
        return all(look.allows(characters) for look in self.looks)


@final
class _Reader:
    """The matches of a pattern that looks nowhere but behind itself."""

    def __init__(self, text: str, body: Node) -> None:
        self._text = text
        self._places = Places()
        options = body.options if isinstance(body, Alternation) else (body,)
        self._options = [self._option(_bare(each)) for each in options]
        self._last: Mapping[int, _Option] = {
            place: option for option in self._options for place in numbers(option.part.last)
        }

    def told(self) -> Told | None:
        """What is preferred, if that is the longest or the only match."""
        taken: dict[Expr, dict[_Option, int]] = {}
        for place, option in self._last.items():
            after = self._after(option, place)
            if after is None:
                return None
            found = taken.setdefault(after, {})
            found[option] = found.get(option, 0) | 1 << place
        exits = ((self._ended(found), after) for after, found in taken.items())
        found = [each for each in exits if EMPTY not in each]
        return found, alt(*(option.begun for option in self._options))

    def is_clear(self) -> bool:
        """Whether something is read, and no way goes on beside one that ends."""
        if not self._places.known or any(option.part.nullable for option in self._options):
            return False
        follow, firsts = self._places.follow, 0
        for option in self._options:
            firsts |= option.part.first
        begun = (pair for each in {firsts, *follow} for pair in combinations(numbers(each), 2))
        todo = [pair for pair in dict.fromkeys(begun) if self._meet(*pair)]
        seen = {*todo}
        for one, other in todo:  # grows while we go
            spend(1)
            if len(seen) > MOST_PAIRS or self._goes_on(one, other) or self._goes_on(other, one):
                return False
            for pair in product(numbers(follow[one]), numbers(follow[other])):
                both_ways = min(pair), max(pair)
                if pair[0] != pair[1] and both_ways not in seen and self._meet(*pair):
                    seen.add(both_ways)
                    todo.append(both_ways)
        return True

    def bars(self, sets: Iterable[CodePoints]) -> bool:
        """Whether nothing of these may come behind a match."""
        barred = [self._barred(option, place) for place, option in self._last.items()]
        return all(_is_within(each, characters) for characters in barred for each in sets)

    def reads_only(self, characters: CodePoints) -> bool:
        """Whether all that is read is among these."""
        return all(_is_within(each, characters) for each in self._places.sets)

    def _barred(self, option: _Option, place: int) -> CodePoints:
        """Some of what does not come behind a match that ends at a place."""
        if option.looks:
            found = [each.firsts for each in option.looks if each.negated and each.single]
        else:
            longer = self._places.follow[place] & option.part.last
            found = [self._places.sets[each] for each in numbers(longer)]
        return union(*found)

    def _goes_on(self, place: int, other: int) -> bool:
        """Whether a way goes on from the other place, though a match may end here."""
        option, sets = self._last.get(place), self._places.sets
        follow = numbers(self._places.follow[other])
        return option is not None and any(option.allows(sets[each]) for each in follow)

    def _meet(self, one: int, other: int) -> bool:
        return _meet(self._places.sets[one], self._places.sets[other])

    def _after(self, option: _Option, place: int) -> Expr | None:
        """What follows a match that ends at a place; None if that is not known."""
        if not self._goes_on(place, place):
            return option.after
        if option.looks or not self._places.greedy:
            return None
        return complement(concat(option.part.more(1 << place), ANYTHING))

    def _ended(self, taken: Mapping[_Option, int]) -> Expr:
        """The texts that end at some last places."""
        return either(
            lower_regex(Pattern(self._text, option.node))
            if places == option.part.last
            else option.part.ended(places)
            for option, places in taken.items()
        )

    def _option(self, node: Node) -> _Option:
        items = [*node.items] if isinstance(node, Items) else [node]
        looks: list[Look | Boundary] = []
        while items and isinstance(last := _bare(items[-1]), Look | Boundary):
            looks.append(last)
            items.pop()
        rest = Items(tuple(items), node.place)
        part = self._places.part(rest)
        return _Option(rest, part, [self._look(each, part) for each in looks])

    def _look(self, look: Look | Boundary, part: Part) -> _Look:
        """What is looked for behind a part."""
        if isinstance(look, Boundary):
            word = word_points(look.mode)
            sets = [self._places.sets[each] for each in numbers(part.last)]
            inside = all(_is_within(each, word) for each in sets)
            if not inside and any(_meet(each, word) for each in sets):
                self._places.known = False
            return _look(character(word), inside != look.negated, word, single=True)
        ahead = Places()
        item = ahead.part(look.item)
        if not look.ahead or not ahead.known or item.nullable:
            self._places.known = False
        firsts = union(*(ahead.sets[each] for each in numbers(item.first)))
        return _look(item.begun(), look.negated, firsts, single=not item.first & ~item.last)


def _look(begun: Expr, negated: bool, firsts: CodePoints, *, single: bool) -> _Look:
    after = concat(begun, ANYTHING)
    return _Look(complement(after) if negated else after, negated, firsts, single)


def _unlike(text: str, look: Look, rest: Node) -> Told | None:
    """What is preferred of the rest, where no word that is looked for stands.

    Behind what is taken comes nothing that words are made of, so each word is in what is taken or
    is not there; and if it is only its beginning, a character that may follow it comes.
    """
    words, behind = _words(look.item)
    read, reader = _characters(words), _Reader(text, _bare(rest))
    if behind is None or read is None or not reader.is_clear():
        return None
    found = reader.told()
    if found is None or not reader.bars([*read, behind]):
        return None
    word = lower_regex(Pattern(text, words))
    begun = concat(word, complement(concat(character(behind), ANYTHING)))
    others = complement(word if reader.reads_only(behind) else begun)
    exits = ((both(taken, others), after) for taken, after in found[0])
    return [each for each in exits if EMPTY not in each], both(found[1], complement(begun))


def _words(root: Node) -> tuple[Node, CodePoints | None]:
    """What is looked for, and what must not follow it; None if that is not known."""
    root = _bare(root)
    if not isinstance(root, Items) or not root.items:
        return root, ()
    words, last = Items(root.items[:-1], root.place), _bare(root.items[-1])
    if isinstance(last, Boundary):
        behind, read = word_points(last.mode), _characters(words)
        inside = read is not None and all(_is_within(each, behind) for each in read)
        return words, behind if inside and not last.negated else None
    if not isinstance(last, Look):
        return root, ()
    item = _bare(last.item)
    if not isinstance(item, Class | Shorthand) or not last.ahead or not last.negated:
        return words, None
    return words, leaf_points(item)


def _characters(root: Node) -> set[CodePoints] | None:
    """The characters that its texts are made of; None if it looks around."""
    found = set[CodePoints]()
    for node in nodes_of(root):
        match node:
            case Text(text, mode):
                found |= {literal_points(char, mode) for char in {*text}}
            case Class() | Shorthand() | Dot():
                found.add(leaf_points(node))
            case Look() | Anchor() | Boundary() | Back():
                return None
            case _:
                pass
    return found


def _bare(node: Node) -> Node:
    """What is in parentheses that change nothing."""
    while isinstance(node, Group) or (isinstance(node, Items) and len(node.items) == 1):
        node = node.item if isinstance(node, Group) else node.items[0]
    return node


def _meet(left: CodePoints, right: CodePoints) -> bool:
    """Whether a character is in both."""
    few, many = sorted((left, right), key=len)
    for low, high in few:
        at = bisect_left(many, low, key=itemgetter(1))
        if at < len(many) and many[at][0] <= high:
            return True
    return False


def _is_within(left: CodePoints, right: CodePoints) -> bool:
    """Whether each character of the first is in the second."""
    for low, high in left:
        at = bisect_left(right, low, key=itemgetter(1))
        if at == len(right) or right[at][0] > low or right[at][1] < high:
            return False
    return True
