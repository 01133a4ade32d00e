"""A finished text read by the rules of a Lark grammar under the dynamic lexer (Earley 1970).

Of several readings the one is taken in which, from left to right, each symbol reaches as far as it
can, and of a rule's alternatives the first. A rule that has read something is remembered with when
that was first found: what it is made of was found before, so that rules that stand for themselves
are never gone round in.

What this module does not know: captures, values.
"""

from collections.abc import Collection, Iterator
from itertools import count
from typing import Final, TypeAlias, final

from guideway.api.lark_tokens import Ends, Leaf, Texts
from guideway.lowering.preferred import Exit, exits
from guideway.syntax.lark_tree import LarkGrammar
from guideway.syntax.regex import parse_regex

Item: TypeAlias = tuple[str, int, int, int]  # rule, alternative, symbols read, where it began
Node: TypeAlias = tuple[str, int, int]  # symbol, begin, end
CLOSED: Final = ""


@final
class Chart:
    """All that the rules of a grammar read in a text.

    Args:
        grammar: the grammar.
        texts: the text.
        ends: where the texts of a part end that begin somewhere.
    """

    def __init__(self, grammar: LarkGrammar, texts: Texts, ends: Ends) -> None:
        self._grammar, self._rules = grammar, grammar.rules
        self._terminals = _Terminals(grammar, texts, ends)
        self._length = len(texts.data)
        self._found: dict[tuple[str, int], dict[int, int]] = {}
        self._begins: dict[tuple[str, int], dict[int, None]] = {}
        self._count = count()
        self._waiting: dict[tuple[str, int], list[Item]] = {}
        self._items: list[dict[Item, None]] = [{} for _ in range(self._length + 1)]
        self._read()

    def leaves(self) -> tuple[list[Leaf], list[tuple[str, int, int]]] | None:
        """The terminals of the text, and its rules, each with its first leaf and behind its last.

        Outer rules come first. None if it is no text of the grammar.
        """
        ends = self._found.get((self._grammar.start, 0), {})
        whole = [end for end in ends if self._length in self._terminals.gaps(end)]
        if not whole:
            return None
        leaves: list[Leaf] = []
        rules: list[tuple[str, int, int]] = []
        todo: list[Node] = [(self._grammar.start, 0, max(whole))]
        while todo:
            symbol, begin, end = todo.pop()
            if symbol == CLOSED:
                name, first, _ = rules[begin]
                rules[begin] = (name, first, len(leaves))
            elif symbol in self._rules:
                todo.append((CLOSED, len(rules), 0))
                rules.append((symbol, len(leaves), 0))
                todo += reversed(self._children((symbol, begin, end)))
            else:
                leaves.append(Leaf(symbol, self._terminals.begin(symbol, begin, end), end))
        return leaves, rules

    def _read(self) -> None:
        self._predict(self._grammar.start, 0)
        for place, items in enumerate(self._items):
            todo = [*items]
            for item in todo:  # grows while we go
                for at, after in self._after(item, place):
                    if after not in self._items[at]:
                        self._items[at][after] = None
                        if at == place:
                            todo.append(after)

    def _predict(self, rule: str, place: int) -> Iterator[tuple[int, Item]]:
        """The alternatives of a rule, as they begin at a place."""
        found = [(rule, number, 0, place) for number in range(len(self._rules[rule]))]
        self._waiting.setdefault((rule, place), [])
        if place == 0 and rule == self._grammar.start:
            self._items[0] |= dict.fromkeys(found)
        return ((place, item) for item in found)

    def _after(self, item: Item, place: int) -> Iterator[tuple[int, Item]]:
        """What follows from an item."""
        rule, number, read, begin = item
        symbols = self._rules[rule][number]
        if read == len(symbols):
            ends = self._found.setdefault((rule, begin), {})
            if place not in ends:
                ends[place] = next(self._count)
                self._begins.setdefault((rule, place), {})[begin] = None
                for waiting in self._waiting.get((rule, begin), ()):
                    yield place, _on(waiting)
            return
        symbol = symbols[read]
        if symbol not in self._rules:
            for end in self._terminals.ends(symbol, place):
                self._begins.setdefault((symbol, end), {})[place] = None
                yield end, _on(item)
            return
        if (symbol, place) not in self._waiting:
            yield from self._predict(symbol, place)
        self._waiting[symbol, place].append(item)
        if place in self._found.get((symbol, place), {}):
            yield place, _on(item)

    def _children(self, node: Node) -> list[Node]:
        """The symbols of a rule's text."""
        found = (self._split(node, number) for number in range(len(self._rules[node[0]])))
        return next(each for each in found if each is not None)

    def _split(self, node: Node, number: int) -> list[Node] | None:
        """Where the symbols of an alternative stand, if it is what the rule has read there."""
        rule, begin, end = node
        symbols = self._rules[rule][number]
        right = [{end}]  # from where the last symbols lead to the end: none, one, and so on
        for read in range(len(symbols) - 1, -1, -1):
            item = (rule, number, read, begin)
            right.append(
                {
                    at
                    for after in right[-1]
                    for at in self._begins.get((symbols[read], after), ())
                    if item in self._items[at] and self._reads(node, symbols[read], at, after)
                }
            )
        if begin not in right[-1]:
            return None
        found: list[Node] = []
        for symbol, allowed in zip(symbols, right[-2::-1], strict=True):
            after = max(each for each in allowed if self._reads(node, symbol, begin, each))
            found.append((symbol, begin, after))
            begin = after
        return found

    def _reads(self, node: Node, symbol: str, begin: int, end: int) -> bool:
        """Whether a symbol within a rule's text may stand there."""
        if symbol not in self._rules:
            return end in self._terminals.ends(symbol, begin)
        when = self._found.get((symbol, begin), {}).get(end)
        rule, low, high = node
        return when is not None and (
            (begin, end) != (low, high) or when < self._found[rule, low][high]
        )


def _on(item: Item) -> Item:
    rule, number, read, begin = item
    return (rule, number, read + 1, begin)


@final
class _Terminals:
    """What terminals and parts take, what is ignored before them included."""

    def __init__(self, grammar: LarkGrammar, texts: Texts, ends: Ends) -> None:
        self._grammar, self._texts, self._ends_of = grammar, texts, ends
        self._exits: dict[str, tuple[Exit, ...]] = {}
        self._taken: dict[tuple[str, int], frozenset[int]] = {}
        self._gaps: dict[int, list[int]] = {}
        self._ends: dict[tuple[str, int], dict[int, None]] = {}

    def gaps(self, place: int) -> list[int]:
        """Where what is ignored from a place on may end, the place itself first."""
        if place not in self._gaps:
            found = dict.fromkeys([place])
            todo = [place]
            for at in todo:  # grows while we go
                for name in self._grammar.ignored:
                    todo += (end for end in self._take(name, at) if end not in found)
                    found |= dict.fromkeys(self._take(name, at))
            self._gaps[place] = [*found]
        return self._gaps[place]

    def ends(self, name: str, place: int) -> Collection[int]:
        """Where a terminal ends, whatever is ignored before it."""
        if (name, place) not in self._ends:
            found = {end for at in self.gaps(place) for end in self._take(name, at)}
            self._ends[name, place] = dict.fromkeys(sorted(found))
        return self._ends[name, place]

    def begin(self, name: str, place: int, end: int) -> int:
        """Where it begins, as much as can be ignored before it."""
        return max(at for at in self.gaps(place) if end in self._take(name, at))

    def _take(self, name: str, at: int) -> frozenset[int]:
        """Where a terminal ends that begins here."""
        if (name, at) not in self._taken:
            part = self._grammar.parts.get(name)
            if part is not None:
                found = [end for end in self._ends_of(part.source, at) if end > at]
            else:
                found = [
                    end
                    for each in self._exits_of(name)
                    for end in self._texts.ends(each.text, at)
                    if self._texts.holds(each.after, end)
                ]
            self._taken[name, at] = frozenset(found)
        return self._taken[name, at]

    def _exits_of(self, name: str) -> tuple[Exit, ...]:
        if name not in self._exits:
            terminal, marks = self._grammar.terminals[name], bool(self._grammar.parts)
            self._exits[name] = exits(parse_regex(terminal.pattern), marks, terminal.solid)
        return self._exits[name]
