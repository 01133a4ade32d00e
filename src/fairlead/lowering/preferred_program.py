r"""A regular expression as the steps of a matcher that reads atoms, for `lowering.preferred`.

Characters that no part of the pattern tells apart are one atom: in `[^\W\d]\w*` there are three,
letters, digits and all others. Sets of characters are bit sets of atoms, and what looks ahead or
back is an expression of the core over them: the byte b stands for the atom b there.

    step      does
    Read      reads one of some atoms
    Row       its items, one after another
    Choice    the first option that leads to a match
    Count     its item `low` to `high` times, as often or, lazily, as seldom as can be
    Ahead     nothing, where what follows begins with the item, or does not
    Guard     nothing, where all that follows is in a language
    Behind    nothing, where what has been read is in a language, or is not

Steps name their parts by number, and parts come before what they are part of.

What this module does not know: which match is preferred.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, assert_never, final

from fairlead.errors import LimitError, UnsupportedError
from fairlead.lowering.characters import leaf_points, literal_points, word_points
from fairlead.lowering.expr import (
    ANYTHING,
    EMPTY,
    EPSILON,
    alt,
    byte_set,
    complement,
    concat,
    repeat,
)
from fairlead.lowering.fuel import spend
from fairlead.lowering.nodes import Expr
from fairlead.lowering.preferred_references import in_order
from fairlead.lowering.regular import derivative
from fairlead.lowering.unicode import SCALARS, CodePoints, points, union
from fairlead.syntax.regex_tree import (
    Alternation,
    Anchor,
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
    children,
)
from fairlead.syntax.regex_tree import Sequence as Parts
from fairlead.syntax.source import describe_place

MOST_ATOMS: Final = 256
_NEWLINE: Final = points([0x0A])


@final
@dataclass(frozen=True, slots=True)
class Read:
    """One of these atoms."""

    atoms: int


@final
@dataclass(frozen=True, slots=True)
class Row:
    """The items, in order."""

    items: tuple[int, ...]


@final
@dataclass(frozen=True, slots=True)
class Choice:
    """The options, the preferred ones first."""

    options: tuple[int, ...]


@final
@dataclass(frozen=True, slots=True)
class Count:
    """The item, `low` to `high` times (None: any number)."""

    item: int
    low: int
    high: int | None
    lazy: bool


@final
@dataclass(frozen=True, slots=True)
class Ahead:
    """A place before a match of the item, or before none."""

    item: int
    negated: bool


@final
@dataclass(frozen=True, slots=True)
class Guard:
    """A place with all that follows in this language of atoms."""

    rest: Expr


@final
@dataclass(frozen=True, slots=True)
class Behind:
    """A place behind a text of the past of this number, or not; `place` is where that is asked."""

    past: int
    negated: bool
    place: int


@final
@dataclass(frozen=True, slots=True)
class Past:
    """Languages of atoms that have been read: surely, and with what is unknown before the start."""

    surely: Expr
    perhaps: Expr


Silent: TypeAlias = Row | Choice | Count | Ahead | Guard | Behind
Step: TypeAlias = Read | Silent


@final
@dataclass(frozen=True, slots=True)
class Program:
    """The steps of a pattern.

    Attributes:
        text: the pattern.
        atoms: the characters of each atom.
        steps: what is done.
        start: the step that is the whole pattern.
        pasts: what lookbehinds ask about.
        sets: the characters of some sets of atoms, the pattern's own.
    """

    text: str
    atoms: tuple[CodePoints, ...]
    steps: tuple[Step, ...]
    start: int
    pasts: tuple[Past, ...]
    sets: Mapping[int, CodePoints]

    def characters(self, atoms: int) -> CodePoints:
        """The characters of a set of atoms."""
        found = self.sets.get(atoms)
        if found is None:
            return union(*(each for n, each in enumerate(self.atoms) if atoms >> n & 1))
        return found


def program(pattern: Pattern, marks: bool = False) -> Program:
    """The steps of `pattern`.

    With `marks` the last atom is what is no character, and has none.

    Raises:
        UnsupportedError: references to groups with many texts, lookarounds in lookbehinds.
        LimitError: it tells more than 256 sets of characters apart.
    """
    return _Compiler(pattern, marks).compile()


@final
class _Compiler:
    def __init__(self, pattern: Pattern, marks: bool) -> None:
        self._pattern = pattern
        self._body = pattern.body
        if pattern.backs:
            self._body = in_order(pattern.body, self._refuse_reference)
        self._nodes = _below(self._body)
        self._atoms, self._bits = _apart(_sets(self._nodes), pattern.text, marks)
        self._steps: list[Step] = []
        self._pasts: dict[Past, int] = {}

    def compile(self) -> Program:
        numbers: dict[int, int] = {}  # of the steps of nodes, by their ids
        for node in reversed(self._nodes):
            numbers[id(node)] = self._node(node, [numbers[id(n)] for n in children(node)])
        start = numbers[id(self._body)]
        steps, pasts = tuple(self._steps), tuple(self._pasts)
        sets = {bits: each for each, bits in self._bits.items()}
        return Program(self._pattern.text, self._atoms, steps, start, pasts, sets)

    def _node(self, node: Node, parts: list[int]) -> int:  # noqa: PLR0911  one arm for each node
        match node:
            case Anchor():
                return self._anchor(node)
            case Boundary():
                return self._boundary(node)
            case Look(item, ahead, negated, place):
                if ahead:
                    return self._step(Ahead(parts[0], negated))
                return self._behind(self._past(item), negated, place)
            case Repeat(_, low, high, lazy):
                return self._step(Count(parts[0], low, high, lazy))
            case Parts():
                return self._row(parts)
            case Alternation():
                return self._step(Choice(tuple(parts)))
            case Group():
                return parts[0]
            case _:
                return self._row([self._step(Read(self._bits[each])) for each in _sets([node])])

    def _step(self, step: Step) -> int:
        spend(1)
        self._steps.append(step)
        return len(self._steps) - 1

    def _row(self, items: Sequence[int]) -> int:
        return items[0] if len(items) == 1 else self._step(Row(tuple(items)))

    def _anchor(self, node: Anchor) -> int:
        newline = byte_set(self._bits[_NEWLINE])
        match node.kind:
            case "text start":
                return self._behind(Past(EMPTY, EPSILON), False, node.place)
            case "line start":
                return self._behind(self._ended(newline), False, node.place)
            case "text end":
                return self._step(Guard(EPSILON))
            case "line end":
                return self._step(Guard(alt(EPSILON, concat(newline, ANYTHING))))
            case "last line end":
                return self._step(Guard(alt(EPSILON, newline)))
            case _:
                assert_never(node.kind)

    def _boundary(self, node: Boundary) -> int:
        word = byte_set(self._bits[word_points(node.mode)])
        past, before = self._ended(word), concat(word, ANYTHING)
        after_word, after_other = (
            self._row(
                [
                    self._behind(past, negated, node.place),
                    self._step(Guard(before if negated != node.negated else complement(before))),
                ]
            )
            for negated in (False, True)
        )
        return self._step(Choice((after_word, after_other)))

    def _behind(self, past: Past, negated: bool, place: int) -> int:
        number = self._pasts.setdefault(past, len(self._pasts))
        return self._step(Behind(number, negated, place))

    def _past(self, item: Node) -> Past:
        return self._ended(self._language(item))

    def _ended(self, texts: Expr) -> Past:
        """What ends in one of the texts, all of one length; `perhaps` with the rest of one."""
        endings = {texts: None}
        todo = [texts]
        for text in todo:  # grows while we go
            for atom in range(len(self._atoms)):
                after = derivative(text, atom)
                if after not in endings:
                    endings[after] = None
                    todo.append(after)
        ended = concat(ANYTHING, texts)
        return Past(ended, alt(ended, *endings))

    def _language(self, root: Node) -> Expr:
        """The texts of a part that looks nowhere, over atoms."""
        found: dict[int, Expr] = {}
        for node in reversed(_below(root)):
            parts = [found[id(each)] for each in children(node)]
            found[id(node)] = self._texts(node, parts)
        return found[id(root)]

    def _texts(self, node: Node, parts: list[Expr]) -> Expr:
        match node:
            case Text() | Class() | Shorthand() | Dot():
                return concat(*(byte_set(self._bits[each]) for each in _sets([node])))
            case Repeat(_, low, high):
                return repeat(parts[0], low, high)
            case Parts():
                return concat(*parts)
            case Alternation():
                return alt(*parts)
            case Group():
                return parts[0]
            case _:
                raise self._refused("lookaround in a lookbehind", "lookaround", node)

    def _refuse_reference(self, what: str, node: Node) -> UnsupportedError:
        return self._refused(what, "backreference", node)

    def _refused(self, what: str, feature: str, node: Node) -> UnsupportedError:
        text = self._pattern.text
        return UnsupportedError(
            f"{what} has no automaton in a terminal; write it without",
            feature=feature,
            place=describe_place(text, node.place),
            text=text,
            position=node.place,
        )


def _below(root: Node) -> list[Node]:
    """A part and all that it is made of, each after what it is part of."""
    found = [root]
    for node in found:  # grows while we go
        found += children(node)
    return found


def _sets(nodes: Iterable[Node]) -> Iterator[CodePoints]:
    """The sets of characters that a pattern asks for."""
    for node in nodes:
        match node:
            case Text(text, mode):
                yield from (literal_points(char, mode) for char in text)
            case Class() | Shorthand() | Dot():
                yield leaf_points(node)
            case Anchor():
                yield _NEWLINE
            case Boundary(_, mode):
                yield word_points(mode)
            case _:
                pass


def _apart(
    sets: Iterable[CodePoints], text: str, marks: bool
) -> tuple[tuple[CodePoints, ...], Mapping[CodePoints, int]]:
    """The atoms of the sets, and of which each set is made."""
    numbered = {each: number for number, each in enumerate(dict.fromkeys([SCALARS, *sets]))}
    turns = sorted(
        (place, number)
        for each, number in numbered.items()
        for low, high in each
        for place in (low, high + 1)
    )
    spend(len(turns))
    alike: dict[int, list[tuple[int, int]]] = {}
    inside, begin = 0, 0
    for place, number in turns:
        if inside & 1 and place > begin:
            alike.setdefault(inside, []).append((begin, place - 1))
        inside, begin = inside ^ 1 << number, place
    if len(alike) + marks > MOST_ATOMS:
        raise LimitError(
            f"a terminal tells {len(alike)} sets of characters apart, {MOST_ATOMS} are allowed: "
            f"{text:.60}",
            limit="sets of characters",
            given=MOST_ATOMS,
            needed=len(alike),
        )
    bits = {
        each: sum(1 << atom for atom, kinds in enumerate(alike) if kinds >> number & 1)
        for each, number in numbered.items()
    }
    return tuple(map(tuple, [*alike.values(), *[()] * marks])), bits
