"""Lark's LALR(1) table, built within limits; transitions that nothing can read are removed."""

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from itertools import chain
from typing import Any, Final

from guideway.context_free.lark.grammar import END, LarkTable
from guideway.context_free.lowering import Production, least_texts
from guideway.language.finite_automata import strongly_connected
from guideway.language.fuel import spend


def spread(sets: list[int], edges: Sequence[Sequence[int]]) -> None:
    """Add to the set of each node of a graph those of all reachable nodes."""
    for component in strongly_connected(range(len(edges)), edges.__getitem__):
        found = 0
        for node in component:
            for each in (node, *edges[node]):
                found |= sets[each]
        for node in component:
            sets[node] = found


_LONG: Final = 16  # symbols; a terminal in a longer production is not merged


def alike_of(rules: Sequence[Any], strings: Collection[str]) -> dict[str, str]:
    """Map strings to a representative with the same contexts, which itself is omitted."""
    places = dict[str, set[Hashable]]()
    for rule in rules:
        symbols = tuple(str(symbol.name) for symbol in rule.expansion)
        for at, name in enumerate(symbols):
            if name in strings:
                around = rule.origin, rule.options.priority, symbols[:at], symbols[at + 1 :]
                long = len(symbols) > _LONG
                places.setdefault(name, set()).add(name if long else around)
    firsts = dict[frozenset[Hashable], str]()
    found = ((name, firsts.setdefault(frozenset(held), name)) for name, held in places.items())
    return {name: first for name, first in found if name != first}


_NOTHING: Final = -1  # symbol after the end of a production
_ABOVE: Final = -1  # augmented start production, never reduced


def production(rule: Any) -> Production:
    symbols = tuple(str(symbol.name) for symbol in rule.expansion)
    return Production(str(rule.origin.name), symbols)


def tabulate(rules: Sequence[Any], start: str, strings: Collection[str] = ()) -> LarkTable:
    """The table of Lark's rules; `strings` with the same contexts share their entries.

    Raises Lark's GrammarError for reduce-reduce conflicts.
    """
    alike = alike_of(rules, strings)
    merged = dict[Production, Any]()
    for rule in rules:
        each = production(rule)
        symbols = tuple(alike.get(symbol, symbol) for symbol in each.symbols)
        merged.setdefault(Production(each.rule, symbols), rule)
    productions, rules = tuple(merged), [*merged.values()]
    grammar = _Grammar(productions, start)
    states = _States(grammar)
    answers = _Answers(grammar, rules)
    for shifts, follows in zip(states.shifts, _follows(grammar, states), strict=True):
        answers.add(shifts, follows)
    shifts, reductions, gotos = states.shifts, answers.reductions, states.gotos
    return LarkTable(
        shifts=tuple(map(grammar.named, shifts)),
        reductions=tuple(map(grammar.named, reductions)),
        gotos=tuple(map(grammar.named, gotos)),
        kernels=tuple(map(grammar.places, states.kernels)),
        productions=productions,
        start=0,
        end=states.gotos[0][grammar.symbols[0]],
        denied=tuple(answers.denied),
        alike=alike,
        rules=tuple(grammar.names[: grammar.rules]),
        terminals=tuple(grammar.names[grammar.rules :]),
        wanted=tuple(answers.wanted),
    )


class _Grammar:
    """A grammar in numbers.

    Attributes:
        rules: number of rules; rules are numbered before terminals.
        names: names of rules and terminals.
        symbols: symbol after each item.
        owner: production of each item.
        items: first item of each production.
        rule: rule of each production.
        of: productions of each rule.
        begun: first symbols of each rule's productions, with the items after them.
        lefts: the rules among them.
        nullable: rules that derive the empty text.
        rest: for each item, True if all symbols after it are nullable.
    """

    def __init__(self, productions: Sequence[Production], start: str) -> None:
        rules = dict.fromkeys(each.rule for each in productions)
        symbols = chain.from_iterable(each.symbols for each in productions)
        self.rules, self.names = len(rules), list(dict.fromkeys((*rules, END, *symbols)))
        numbers = {name: number for number, name in enumerate(self.names)}
        self.symbols, self.owner = [numbers[start], _NOTHING], [_ABOVE, _ABOVE]
        self.rule = [numbers[each.rule] for each in productions]
        self.items, self.of = list[int](), [list[int]() for _ in rules]
        for number, each in enumerate(productions):
            self.of[self.rule[number]].append(number)
            self.items.append(len(self.symbols))
            self.symbols += [*(numbers[name] for name in each.symbols), _NOTHING]
            self.owner += [number] * (len(each.symbols) + 1)
        self.begun = [self._first_items(numbers) for numbers in self.of]
        self.lefts = [
            list(dict.fromkeys(symbol for symbol, _ in begun if symbol < self.rules))
            for begun in self.begun
        ]
        least = least_texts(productions, dict.fromkeys(self.names[self.rules :], 1))
        self.nullable = {numbers[name] for name, length in least.items() if not length}
        self.nullable_rest = self._nullable_rest()

    def named(self, moves: Mapping[int, int]) -> dict[str, int]:
        return {self.names[symbol]: target for symbol, target in moves.items()}

    def places(self, kernel: Sequence[int]) -> tuple[tuple[int, int], ...]:
        """The (production, symbols read) of items."""
        owned = ((self.owner[item], item) for item in kernel)
        return tuple((each, item - self.items[each]) for each, item in owned if each != _ABOVE)

    def bit(self, terminal: int) -> int:
        return 1 << terminal - self.rules

    def terminal(self, bit: int) -> int:
        return self.rules + bit.bit_length() - 1

    def _first_items(self, productions: Sequence[int]) -> list[tuple[int, int]]:
        items = (self.items[number] for number in productions)
        return [(self.symbols[at], at + 1) for at in items if self.symbols[at] != _NOTHING]

    def _nullable_rest(self) -> list[bool]:
        found = list[bool]()
        for symbol in reversed(self.symbols):
            found.append(symbol == _NOTHING or (symbol in self.nullable and found[-1]))
        return found[::-1]


class _States:
    """The LR(0) automaton: kernel items, and transitions by terminals and by rules."""

    def __init__(self, grammar: _Grammar) -> None:
        self._grammar = grammar
        self.kernels: list[tuple[int, ...]] = [(0,)]
        self.shifts, self.gotos = list[dict[int, int]](), list[dict[int, int]]()
        known = {self.kernels[0]: 0}
        for kernel in self.kernels:  # grows
            shifts, gotos = dict[int, int](), dict[int, int]()
            for symbol, items in self._moves(kernel).items():
                key = tuple(sorted(items))
                target = known.setdefault(key, len(self.kernels))
                if target == len(self.kernels):
                    self.kernels.append(key)
                (gotos if symbol < grammar.rules else shifts)[symbol] = target
            self.shifts.append(shifts)
            self.gotos.append(gotos)

    def _moves(self, kernel: Sequence[int]) -> dict[int, list[int]]:
        """Kernels of the successors by symbol."""
        grammar, moves = self._grammar, dict[int, list[int]]()
        for item in kernel:
            if grammar.symbols[item] != _NOTHING:
                moves.setdefault(grammar.symbols[item], []).append(item + 1)
        opened = [symbol for symbol in moves if symbol < grammar.rules]
        seen = set(opened)
        for rule in opened:  # grows
            spend(1 + len(grammar.begun[rule]))
            for symbol, item in grammar.begun[rule]:
                moves.setdefault(symbol, []).append(item)
            more = [left for left in grammar.lefts[rule] if left not in seen]
            seen.update(more)
            opened += more
        return moves

    def way(self, state: int, item: int) -> list[int]:
        """States from an item to the end of its production."""
        symbols, found = self._grammar.symbols, [state]
        while symbols[item] != _NOTHING:
            moves = self.gotos if symbols[item] < self._grammar.rules else self.shifts
            found.append(moves[found[-1]][symbols[item]])
            item += 1
        spend(len(found))
        return found

    def middles(self, state: int) -> dict[int, list[int]]:
        """Kernel items by rule."""
        grammar, found = self._grammar, defaultdict[int, list[int]](list)
        for item in self.kernels[state]:
            if grammar.owner[item] != _ABOVE:
                found[grammar.rule[grammar.owner[item]]].append(item)
        return found


def _follows(grammar: _Grammar, states: _States) -> list[dict[int, int]]:
    """For each state, the completed productions and their lookaheads."""
    nodes = [(state, rule) for state, gotos in enumerate(states.gotos) for rule in gotos]
    spend(len(nodes))
    numbers = {node: number for number, node in enumerate(nodes)}
    targets = [states.gotos[state][rule] for state, rule in nodes]
    reads = [sum(map(grammar.bit, shifts)) for shifts in states.shifts]
    empty = grammar.nullable
    spread(reads, [[gotos[rule] for rule in gotos if rule in empty] for gotos in states.gotos])
    sets = [reads[target] for target in targets]
    sets[numbers[0, grammar.symbols[0]]] |= grammar.bit(grammar.rules)
    includes, ends = [list[int]() for _ in nodes], list[tuple[int, int, int]]()
    for number, item, way in _item_paths(grammar, states):
        for at, place in zip(way, range(item, item + len(way) - 1), strict=False):
            symbol = grammar.symbols[place]
            if symbol < grammar.rules and grammar.nullable_rest[place + 1]:
                includes[numbers[at, symbol]].append(number)
        owner = grammar.owner[item]
        if item == grammar.items[owner]:
            ends.append((way[-1], owner, number))
    spread(sets, includes)
    found = [dict[int, int]() for _ in states.kernels]
    for state, owner, number in ends:
        found[state][owner] = found[state].get(owner, 0) | sets[number]
    return found


def _item_paths(grammar: _Grammar, states: _States) -> Iterator[tuple[int, int, list[int]]]:
    """Yield (transition by a rule, item, states to the item's end)."""
    number = 0
    for state, gotos in enumerate(states.gotos):
        middles = states.middles(state)
        for rule in gotos:
            for item in (*(grammar.items[each] for each in grammar.of[rule]), *middles[rule]):
                yield number, item, states.way(state, item)
            number += 1


class _Answers:
    """Reductions by state; conflicts resolved as in Lark, by priority, and in favour of shifts."""

    def __init__(self, grammar: _Grammar, rules: Sequence[Any]) -> None:
        self._grammar, self._rules = grammar, rules
        self.reductions, self.denied = list[dict[int, int]](), list[tuple[int, int, str]]()
        self.wanted = list[int]()

    def add(self, shifts: Mapping[int, int], follows: Mapping[int, int]) -> None:
        """Add the next state, given the lookaheads of its completed productions."""
        once = several = 0
        for follow in follows.values():
            several |= once & follow
            once |= follow
        shifted = sum(map(self._grammar.bit, shifts))
        unclear = several | once & shifted
        found = {
            self._grammar.terminal(bit): number
            for number, follow in follows.items()
            for bit in _single_bits(follow & ~unclear)
        }
        for bit in _single_bits(unclear):
            numbers = [number for number, follow in follows.items() if follow & bit]
            terminal = self._grammar.terminal(bit)
            name = self._grammar.names[terminal]
            self.denied += ((len(self.reductions), number, name) for number in numbers)
            best = self._best(numbers, name)
            if not bit & shifted:
                found[terminal] = best
        spend(len(found))
        self.reductions.append(found)
        self.wanted.append(once | shifted)

    def _best(self, numbers: list[int], terminal: str) -> int:
        """The production of the highest priority."""
        ranks = {number: self._rules[number].options.priority or 0 for number in numbers}
        highest = [number for number in numbers if ranks[number] == max(ranks.values())]
        if len(highest) > 1:
            errors: Any = import_module("lark.exceptions")
            listed = "".join(f"\n\t- {self._rules[number]}" for number in highest)
            raise errors.GrammarError(
                f"Reduce/Reduce collision in Terminal({terminal!r}) between the following rules: "
                f"{listed}"
            )
        return highest[0]


def _single_bits(terminals: int) -> Iterator[int]:
    """Split a bit mask into single bits."""
    while terminals:
        yield terminals & -terminals
        terminals &= terminals - 1


def without_dead(table: LarkTable, nothing: Collection[str]) -> LarkTable:
    """The table without transitions that need a terminal in `nothing`, which is never read."""
    if not {*nothing}.intersection(table.terminals):
        return table  # saves 3 of the 18 ms from python.lark to the first mask
    dead = dead_states(table, nothing)
    shifts = [
        {name: to for name, to in row.items() if to not in dead and name not in nothing}
        for row in table.shifts
    ]
    reached = _reachable(table, shifts)
    shifts = [row if state in reached else {} for state, row in enumerate(shifts)]
    return replace(
        table,
        shifts=tuple(shifts),
        kernels=tuple(
            kernel if state in reached else () for state, kernel in enumerate(table.kernels)
        ),
        denied=tuple(each for each in table.denied if each[0] in reached),
        wanted=tuple(some if state in reached else 0 for state, some in enumerate(table.wanted)),
    )


def dead_states(table: LarkTable, nothing: Collection[str]) -> set[int]:
    """States in which every item still needs one of these terminals."""
    written = dict.fromkeys({*table.terminals} - {*nothing}, 1)
    rules = {each.rule for each in table.productions}
    void = {*nothing, *rules.difference(least_texts(table.productions, written))}
    rests = [_last_void(each, void) for each in table.productions]
    return {
        state
        for state, kernel in enumerate(table.kernels)
        if kernel and all(read <= rests[number] for number, read in kernel)
    }


def _last_void(production: Production, void: Collection[str]) -> int:
    """Index of the last void symbol, or -1."""
    return max((at for at, symbol in enumerate(production.symbols) if symbol in void), default=-1)


def _reachable(table: LarkTable, shifts: Sequence[Mapping[str, int]]) -> set[int]:
    """States reachable from the start."""
    todo, found = [table.start], {table.start}
    for state in todo:  # grows
        targets = {*shifts[state].values(), *table.gotos[state].values()} - found
        found |= targets
        todo += targets
    return found
