"""A regular expression as the program of a backtracking matcher."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias, assert_never

from guideway.errors import LimitError, UnsupportedError
from guideway.language.fuel import spend
from guideway.language.utf8 import SCALARS, CodePoints, points, union
from guideway.regex.references import written_out
from guideway.regex.tree import (
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
    nodes_of,
)
from guideway.regex.tree import Sequence as Parts
from guideway.regex.unicode import leaf_points, literal_points, word_points
from guideway.sources.reading import where


@dataclass(frozen=True, slots=True)
class Read:
    """Read one of these atoms."""

    atoms: int


@dataclass(frozen=True, slots=True)
class Row:
    """Match the items in order."""

    items: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """Match one of the options, in order of preference."""

    options: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Count:
    """Match the item `low` to `high` times (None: any number)."""

    item: int
    low: int
    high: int | None
    lazy: bool


@dataclass(frozen=True, slots=True)
class Ahead:
    """Match the empty string, if the following text begins with the item, or does not."""

    item: int
    negated: bool


@dataclass(frozen=True, slots=True)
class Behind:
    """Match nothing, if the text before ends in a past of the program, or does not."""

    past: int
    negated: bool
    place: int = field(compare=False)  # for errors


Step: TypeAlias = Read | Row | Choice | Count | Ahead | Behind


@dataclass(frozen=True, slots=True)
class Program:
    """The steps of a pattern.

    `atoms` are the characters of each atom, `start` the step of the whole pattern, `pasts` the
    steps that read any text and then that of a lookbehind, `sets` the character sets of the pattern
    by atoms; `asked` is the number of the first pasts that each step may depend on. `begun`: the
    text begins where the program starts, else any text may precede it.
    """

    text: str
    atoms: tuple[CodePoints, ...]
    steps: tuple[Step, ...]
    start: int
    pasts: tuple[int, ...]
    sets: Mapping[int, CodePoints]
    asked: tuple[int, ...]
    begun: bool

    @property
    def places(self) -> int:
        """The number of places in the history of each lookbehind."""
        return 1 if self.begun else 2

    def characters(self, atoms: int) -> CodePoints:
        """The characters of a set of atoms."""
        found = self.sets.get(atoms)
        if found is None:
            return union(*(each for n, each in enumerate(self.atoms) if atoms >> n & 1))
        return found


MOST_ATOMS: Final = 256
MOST_NESTED: Final = 12
_NEWLINE: Final = points([0x0A])


def program(pattern: Pattern, marks: bool = False) -> Program:
    """The steps of `pattern`, which any text may precede.

    With `marks` the last atom is for what is no character. Raises UnsupportedError (some back
    references and lookarounds) or LimitError.
    """
    compiler = _Compiler(pattern, marks, begun=False)
    return compiler.program(compiler.body())


def whole_program(pattern: Pattern, search: bool) -> Program:
    """The steps of `pattern` for a text from beginning to end, or to `search` it."""
    compiler = _Compiler(pattern, marks=False, begun=True)
    return compiler.program(compiler.whole(search))


class _Compiler:
    def __init__(self, pattern: Pattern, marks: bool, begun: bool) -> None:
        self._pattern, self._begun = pattern, begun
        self._body = written_out(pattern.body, self._refuse_reference, free=True)
        self._nodes = nodes_of(self._body)
        self._atoms, self._bits = _disjoint(_sets(self._nodes), pattern.text, marks)
        self._all = (1 << len(self._atoms)) - 1
        self._steps: dict[Step, int] = {}
        self._asked: list[int] = []
        self._pasts: dict[int, int] = {}  # by step

    def body(self) -> int:
        """The step of the pattern."""
        numbers: dict[int, int] = {}  # steps by id of node
        depths: dict[int, int] = {}
        for node in reversed(self._nodes):
            depths[id(node)] = self._depth(node, [depths[id(n)] for n in children(node)])
            numbers[id(node)] = self._node(node, [numbers[id(n)] for n in children(node)])
        return numbers[id(self._body)]

    def whole(self, search: bool) -> int:
        """The step of the pattern up to the end of the text, or after any text."""
        body = self.body()
        return self._row([self._anything(), body] if search else [body, self._at_end(self._all)])

    def program(self, start: int) -> Program:
        return Program(
            self._pattern.text,
            self._atoms,
            tuple(self._steps),
            start,
            tuple(self._pasts),
            {bits: each for each, bits in self._bits.items()},
            tuple(self._asked),
            self._begun,
        )

    def _node(self, node: Node, parts: list[int]) -> int:  # noqa: PLR0911  one arm for each node
        match node:
            case Anchor():
                return self._anchor(node)
            case Boundary():
                return self._boundary(node)
            case Look(item, ahead, negated, place):
                if ahead:
                    return self._step(Ahead(parts[0], negated))
                self._check_past(item)
                return self._lookbehind(parts[0], negated, place)
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

    def _depth(self, node: Node, below: Sequence[int]) -> int:
        """The nesting depth of lookaround in a part."""
        depth = max(below, default=0) + isinstance(node, Look)
        if depth > MOST_NESTED:
            raise self._refused(
                f"lookaround nested more than {MOST_NESTED} deep", "lookaround", node
            )
        return depth

    def _step(self, step: Step) -> int:
        number = self._steps.setdefault(step, len(self._steps))
        if number == len(self._asked):
            spend(1)
            self._asked.append(len(self._pasts))
        return number

    def _row(self, items: Sequence[int]) -> int:
        return items[0] if len(items) == 1 else self._step(Row(tuple(items)))

    def _lookbehind(self, item: int, negated: bool, place: int) -> int:
        past = self._row([self._anything(), item])
        number = self._pasts.setdefault(past, len(self._pasts))
        return self._step(Behind(number, negated, place))

    def _anything(self) -> int:
        """The step that reads any text."""
        return self._step(Count(self._step(Read(self._all)), 0, None, lazy=True))

    def _at_end(self, atoms: int) -> int:
        """The step that requires that none of the atoms follows."""
        return self._step(Ahead(self._step(Read(atoms)), negated=True))

    def _anchor(self, node: Anchor) -> int:
        newline = self._bits[_NEWLINE]
        match node.kind:
            case "text start" | "line start":
                atoms = self._all if node.kind == "text start" else self._all & ~newline
                return self._lookbehind(self._step(Read(atoms)), True, node.place)
            case "text end":
                return self._at_end(self._all)
            case "line end":
                return self._at_end(self._all & ~newline)
            case "last line end":
                last = self._step(Count(self._step(Read(newline)), 0, 1, lazy=True))
                return self._step(Ahead(self._row([last, self._at_end(self._all)]), negated=False))
            case _:
                assert_never(node.kind)

    def _boundary(self, node: Boundary) -> int:
        word, any_atom = (
            self._step(Read(n)) for n in (self._bits[word_points(node.mode)], self._all)
        )
        sides = [
            self._row(
                [
                    self._lookbehind(word, negated, node.place),
                    self._step(Ahead(word, negated == node.negated)),
                ]
            )
            for negated in (False, True)
        ]
        found = self._step(Choice(tuple(sides)))
        if not self._begun or not node.negated or node.mode.dialect == "ecma":
            return found
        # \\B never matches in the empty text before Python 3.14
        behind = self._lookbehind(any_atom, False, node.place)
        some = self._step(Choice((behind, self._step(Ahead(any_atom, negated=False)))))
        return self._row([some, found])

    def _check_past(self, item: Node) -> None:
        """Refuse lookaround in the lookbehinds of terminals."""
        for node in () if self._begun else nodes_of(item):
            if isinstance(node, Look | Anchor | Boundary):
                raise self._refused("lookaround in a lookbehind", "lookaround", node)

    def _refuse_reference(self, what: str, node: Node) -> UnsupportedError:
        return self._refused(what, "backreference", node)

    def _refused(self, what: str, feature: str, node: Node) -> UnsupportedError:
        inside = "here" if self._begun else "in a terminal"
        return UnsupportedError(
            f"{what} is not supported {inside}; write the pattern without it",
            feature=feature,
            **where(self._pattern.text, node.place),
        )


def _sets(nodes: Iterable[Node]) -> Iterator[CodePoints]:
    """The sets of characters in a pattern."""
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


def _disjoint(
    sets: Iterable[CodePoints], text: str, marks: bool
) -> tuple[tuple[CodePoints, ...], Mapping[CodePoints, int]]:
    """The atoms of some sets of characters, and each set as bits of atoms."""
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
            f"a pattern has {len(alike)} different sets of characters; at most {MOST_ATOMS} are "
            f"allowed: {text:.60}",
            limit="sets of characters",
            given=MOST_ATOMS,
            needed=len(alike),
        )
    bits = {
        each: sum(1 << atom for atom, kinds in enumerate(alike) if kinds >> number & 1)
        for each, number in numbered.items()
    }
    return tuple(map(tuple, [*alike.values(), *[()] * marks])), bits
