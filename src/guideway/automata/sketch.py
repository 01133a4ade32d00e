"""Estimates of the shortest length under lookahead: None is certain, a length is approximate.

An expression is a relation between the lookahead before it and after it, as in `automata.passages`.
Here only the highest level counts, at which `&`, `-` and `~` look over whole texts. The lookahead
of Lark's lexer is ignored, and its automaton read as its rules (`lowering.lark_sketch`): sql.lark
without `*` has 235,000 ways through its parts, and 300 here.

    part  lookahead before     lookahead after it, in so many bytes

The queue prefers ways that leave the least of the lookahead, so a long word of a text of fifty
characters is found before all short ones have been read. A lookahead that allows no more than
another is dropped. A search stops at the first way to the end, and continues there for the next
question.
"""

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from typing import Final, TypeAlias, cast, final

from guideway.automata.inclusion import Arcs, Inclusion
from guideway.automata.words import Word
from guideway.lowering.aheads import looking, parts
from guideway.lowering.expr import ANYTHING, EMPTY, both, repeat
from guideway.lowering.lark_automaton import Frame
from guideway.lowering.lark_contextual import Places
from guideway.lowering.lark_indentation import Place, ReadLine
from guideway.lowering.lark_sketch import HAS_NEWLINE, Choice, LarkSketch, Row
from guideway.lowering.nodes import Ahead, Alt, Call, Concat, Expr, Repeat, Rule, Stop, operands

MOST: Final = 250_000  # ways in one search, before it is given up,
_GREED: Final = 2  # how many bytes longer a way may be for one less to be looked ahead for
_MEETS: Final = 8  # of what is looked ahead for in rules that call themselves ever more meets
_TRIES: Final = 16  # and searches that are, before none is begun
_NEAR: Final = 8  # parts among which Lark's automaton is looked for


@final
class _Part:
    """A part that begins with a lookahead, with the ways found so far."""

    __slots__ = ("before", "begins", "bits", "found", "node", "told")

    def __init__(self, before: Expr, node: "_Node", begins: int) -> None:
        self.before, self.node, self.begins = before, node, begins
        self.found: dict[Expr, int] = {}
        self.bits = 0  # those of what is found
        self.told: list[tuple[_Part, int, _Node | None]] = []


_Node: TypeAlias = Expr | Row | Choice | tuple[LarkSketch, Frame]
_Way: TypeAlias = tuple[int, int, int, _Part, Expr | None]  # None: a part is to be begun


@final
class Sketch:
    """Estimates at all levels.

    Args:
        arcs: disjoint byte sets and derivatives of a regular expression.
        alive: emptiness of an expression without lookahead.
        loose: the shortest text without the lookahead.
        fuel: called with the number of ways, raises when there are too many.

    Attributes:
        inclusion: inclusions of regular expressions,
        is_within: and the question for one pair.
    """

    def __init__(
        self,
        arcs: Callable[[Expr], Arcs],
        alive: Callable[[Expr], bool],
        loose: Callable[[Expr], Word | None],
        fuel: Callable[[int], None],
    ) -> None:
        self._alive, self._loose, self.fuel = alive, loose, fuel
        self.inclusion = Inclusion(arcs, alive, fuel)
        self.is_within = self.inclusion.is_within
        self._levels: dict[int, _Level] = {}

    def forget(self) -> None:
        """Drop all caches."""
        self._levels.clear()
        self.inclusion.forget()

    def length(self, root: Expr) -> int | None:
        """Estimated length of a text of `root`, None if it surely has none.

        0 if unknown: if only Lark's lexer looks ahead, or after too many ways.
        """
        leads, core = looking(root)
        top = root.looks - 1
        if _looks_itself(core, top):
            return 0
        before = next((lead.item for lead in leads if lead.level == top), ANYTHING)
        level = self._levels.setdefault(top, _Level(self, top))
        return level.length(before, core)

    def through(self, before: Expr, expr: Expr) -> tuple[int, dict[Expr, int]]:
        """Work done, and lookaheads left of `before` after a regular expression, with lengths."""
        found: dict[Expr, int] = {}
        inclusion = self.inclusion
        seen = {expr: inclusion.bit(before)}
        todo = [(0, before, expr)]
        for read, left, rest in todo:  # grows while we go
            if left is ANYTHING:
                length = self.least(rest)
                if length is not None:
                    found[left] = min(found.get(left, read + length), read + length)
                continue
            if rest.nullable:
                found.setdefault(left, read)
            for after, target in inclusion.both(left, rest):
                known = seen.get(target, 0)
                if not inclusion.is_any_within(after, known):
                    seen[target] = known | inclusion.bit(after)
                    todo.append((read + 1, after, target))
        self.fuel(len(todo))
        return len(todo), found

    def joined(self, before: Expr, item: Expr) -> Expr:
        """Join two lookaheads; a large one is replaced by one that allows more."""
        met = both(before, item)
        if met is before or before is ANYTHING:
            return met
        if len(operands(met)) > _MEETS:
            return before
        return met if self._alive(met) else EMPTY

    def least(self, expr: Expr) -> int | None:
        """Lower bound of the length of an expression that is not visited."""
        word = self._loose(expr)
        return None if word is None else word.length


@final
class _Level:
    """Estimates at one level."""

    def __init__(self, sketch: Sketch, level: int) -> None:
        self._sketch, self._level = sketch, level
        self._parts: dict[tuple[Expr, _Node], _Part] = {}
        self._ways: list[_Way] = []
        self._serial, self._tries = count(), _TRIES

    def length(self, before: Expr, core: Expr) -> int | None:
        """As `Sketch.length`."""
        root = self._part(before, core, 0)
        found = [length for after, length in root.found.items() if after.nullable]
        left, inclusion = MOST if self._tries > 0 else 0, self._sketch.inclusion
        while not found and left > 0:
            if not self._ways:
                return None
            _, _, length, part, after = heappop(self._ways)
            left -= 1
            if after is None:
                left -= self._begin(part)
                continue
            if inclusion.is_any_within(after, part.bits):
                continue  # what goes on from there goes on from another one
            part.found[after] = length
            part.bits |= inclusion.bit(after)
            for asking, more, then in part.told:
                self._tell(asking, length + more, after, then)
            if part is root and after.nullable:
                found.append(length)
            self._sketch.fuel(1)
        self._tries -= not found
        return min(found, default=0)

    def _tell(self, asking: _Part, length: int, after: Expr, then: _Node | None) -> None:
        """Report a way to the end of a part, or to that of the first of two."""
        if then is not None:
            self._ask(asking, after, then, None, length)
        elif not self._sketch.inclusion.is_any_within(after, asking.bits):
            self._wait(length, asking, after)

    def _wait(self, length: int, part: _Part, after: Expr | None) -> None:
        """Queue a way to the end of a part, or a visit to a part."""
        left = self._sketch.least(part.before if after is None else after) or 0
        far = part.begins + length + _GREED * left
        heappush(self._ways, (far, next(self._serial), length, part, after))

    def _ask(
        self, asking: _Part, before: Expr, node: _Node, then: _Node | None = None, more: int = 0
    ) -> None:
        """Make all ways through a node, and then another one, ways of `asking`."""
        part = self._part(before, node, asking.begins + more)
        part.told.append((asking, more, then))
        for after, length in part.found.items():
            self._tell(asking, length + more, after, then)

    def _part(self, before: Expr, node: _Node, begins: int) -> _Part:
        key = before, node
        found = self._parts.get(key)
        if found is None:
            found = self._parts[key] = _Part(before, node, begins)
            self._wait(0, found, None)
        return found

    def _put(self, part: _Part, after: Expr, length: int | None) -> None:
        if length is not None and after is not EMPTY:
            self._tell(part, length, after, None)

    def _begin(self, part: _Part) -> int:
        """Visit a part; return the number of its byte pairs."""
        before, node = part.before, part.node
        if isinstance(node, Row):
            self._ask(part, before, node.first, node.rest)
        elif isinstance(node, Choice):
            for row in node.rows:
                self._on(part, row, None)
        elif isinstance(node, tuple):
            sketch, frame = node
            for row, stack in sketch.following(frame):
                self._on(part, row, None if stack is None else (sketch, stack))
        elif node.regular:
            looked, ways = self._sketch.through(before, node)
            for after, length in ways.items():
                self._put(part, after, length)
            return looked
        else:
            self._begin_irregular(part, node)
        return 0

    def _on(self, part: _Part, row: Row | None, then: _Node | None) -> None:
        """Continue through a row, which may be empty, and then `then`."""
        first = row or then
        if first is None:
            self._put(part, part.before, 0)
        else:
            self._ask(part, part.before, first, then if row else None)

    def _begin_irregular(self, part: _Part, node: Expr) -> None:
        before = part.before
        match node:
            case Concat(head, tail):
                self._ask(part, before, head, tail)
            case Alt(options):
                for option in options:
                    self._ask(part, before, option)
            case Rule():
                self._ask(part, before, node.body)
            case Repeat(item, low):
                self._put(part, before, None if low else 0)
                self._ask(part, before, item, repeat(item))
            case Ahead(item, level):
                after = self._sketch.joined(before, item) if level == self._level else before
                self._put(part, after, 0)
            case Stop(level):
                over = ANYTHING if before.nullable else EMPTY
                self._put(part, over if level == self._level else before, 0)
            case _:
                if not self._called(part, node):
                    self._put(part, ANYTHING, self._sketch.least(node))

    def _called(self, part: _Part, node: Expr) -> bool:
        """Continue through one of Lark's automata; return False if that is unknown."""
        if not isinstance(node, Call) or not isinstance(node.template, Places):
            return False
        places, at = node.template, node.argument
        if places.level >= self._level:
            return False
        if isinstance(at, ReadLine):
            text = both(at.text, HAS_NEWLINE) if at.columns is None else at.text
            for stack in places.behind_line(at):
                self._ask(part, part.before, text, (places.sketch, stack))
        else:
            self._ask(part, part.before, (places.sketch, cast("Place", at).stack))
        return True


def _looks_itself(core: Expr, level: int) -> bool:
    """Return True if Lark's lexer looks ahead at a level."""
    for _ in range(_NEAR):
        core = core.options[0] if isinstance(core, Alt) else core
        head, core = parts(core)
        if isinstance(head, Call):
            return isinstance(head.template, Places) and head.template.level >= level
    return False
