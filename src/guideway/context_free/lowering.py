"""Context-free grammars as expressions over bytes, without left recursion."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from heapq import heapify, heappop, heappush
from typing import Final, TypeAlias, assert_never

from guideway.context_free.gbnf import (
    Alternative,
    Atom,
    Characters,
    Grammar,
    Item,
    Name,
    Terminal,
    Word,
)
from guideway.errors import UnsatisfiableError
from guideway.language.expr import EMPTY, EPSILON, alt, concat, either, literal, repeat
from guideway.language.finite_automata import strongly_connected
from guideway.language.fuel import spend
from guideway.language.nodes import Expr, Rule
from guideway.language.regular import parts_of
from guideway.language.utf8 import character, inverse, union
from guideway.language.values import by_identity


@by_identity
class Part:
    """Expressions of an item or a rule.

    whole: all texts; some: the non-empty ones; size: number of items, with those of rules in place;
    ways: ways to begin with a rule in place, nested ones included.
    """

    whole: Expr
    some: Expr
    size: int = 1
    ways: int = 0


NOTHING: Final = Part(EPSILON, EMPTY, 0)


class LeftRecursion:
    """Texts of mutually left-recursive rules.

    bases: texts that begin with none of the rules; ways: what follows rule k in rule j, by (k, j);
    looks: levels of Ahead in them.
    """

    def __init__(
        self,
        bases: Mapping[str, list[Expr]],
        ways: Mapping[tuple[str, str], list[Part]],
        looks: int,
    ) -> None:
        self._looks = looks
        free = dict[str, list[str]]({name: [] for name in bases})
        for (before, after), parts in ways.items():
            if any(part.whole.nullable for part in parts):
                free[before].append(after)
        alike = list(strongly_connected([*bases], free.__getitem__))
        first = self._first = {name: same[0] for same in alike for name in same}
        self._bases, self._free = dict[str, Expr](), dict[str, frozenset[str]]()
        for same in alike:  # successors first
            self._bases[same[0]] = either(base for name in same for base in bases[name])
            behind = {first[after] for name in same for after in free[name]} - {same[0]}
            spend(len(behind))
            self._free[same[0]] = frozenset((same[0],)).union(*(self._free[b] for b in behind))
        steps = dict[tuple[str, str], list[Expr]]()
        for (before, after), parts in ways.items():
            steps.setdefault((first[before], first[after]), []).extend(part.some for part in parts)
        self._steps = dict[str, dict[str, Expr]]({name: {} for name in self._bases})
        for (before, after), somes in steps.items():
            self._steps[before][after] = either(somes)
        self._known: dict[tuple[str, str], Part] = {}

    def texts(self, name: str) -> Expr:
        """Non-empty texts of a rule."""
        end = self._first[name]
        return either(
            concat(base, self._between(begin, end).whole) for begin, base in self._bases.items()
        )

    def _between(self, begin: str, end: str) -> Part:
        """Texts that complete rule `end` after rule `begin`: R* of the equation."""
        if len(self._bases) == 1:
            step = self._steps[begin][end]
            return Part(repeat(step), repeat(step, 1))
        if (begin, end) not in self._known:
            name, looks = f"{end} behind {begin}", self._looks
            rule = Rule(name, make=lambda: self._step_to(begin, end), looks=looks)
            free = end in self._free[begin]
            self._known[begin, end] = Part(alt(rule, EPSILON) if free else rule, rule)
        return self._known[begin, end]

    def _step_to(self, begin: str, end: str) -> Expr:
        # The rules are strongly connected, so each can reach the end.
        return either(
            concat(step, self._between(after, end).whole)
            for before in self._bases  # in a fixed order, unlike the set
            if before in self._free[begin]
            for after, step in self._steps[before].items()
        )


_NAMED: Final = 5  # rules in a message


def unending(rules: Sequence[str]) -> UnsatisfiableError:
    """The error for rules without a finite text: each alternative needs one of the rules.

    >>> print(unending(["start", "x"]))
    no text ends, because every alternative of these rules leads to one of them: start, x
    """
    named = ", ".join(rules[:_NAMED]) + (", …" if len(rules) > _NAMED else "")
    return UnsatisfiableError(
        f"no text ends, because every alternative of these rules leads to one of them: {named}",
        conflict=tuple(rules),
    )


IN_PLACE: Final = 64  # items of a rule in place; larger rules become nodes
REGULAR: Final = 4096  # the same for regular rules, which are faster in one piece,
COPIED: Final = 1 << 15  # while few items were copied: chains of rules copy all below
FEW: Final = 16
"""Parts of a large rule that stays in place. Thirty rules `r0: r1 r2 ... r29 | "x" |` are
`x{0,2^29}`: one small expression in place, but as nodes 2^29 stacks after an x."""
WAYS: Final = 128
"""Ways to begin with a rule in place: a prefix has as many readings. Sixteen rules
`r0: r1 r2 ... r15 | "a" |`, each with its own letter, took a minute to the first mask."""
FREE: Final = ""

Rules: TypeAlias = Mapping[str, tuple[Alternative, ...]]
Terminals: TypeAlias = Mapping[str, Expr]


def lower_grammar(grammar: Grammar, terminals: Terminals | None = None) -> Expr:
    """The texts of a grammar; none of `terminals` is nullable or empty."""
    rules = _productive(grammar)
    return _Lowering(rules, _nullable(rules), terminals or {}).start(grammar.start)


class _Lowering:
    def __init__(self, rules: Rules, nullable: frozenset[str], terminals: Terminals) -> None:
        self._rules, self._nullable, self._terminals = rules, nullable, terminals
        self._done: dict[str, Part] = {}
        self._lefts: dict[str, LeftRecursion] = {}
        self._copied = 0

    def start(self, name: str) -> Expr:
        mentioned = {each: _mentioned(rows) for each, rows in self._rules.items()}
        for names in strongly_connected([name], mentioned.__getitem__):
            if len(names) == 1 and names[0] not in mentioned[names[0]]:
                self._in_place(names[0])
            else:
                self._component(names)
        return self._done[name].whole

    def _in_place(self, name: str) -> None:
        chains = [self._chain(alternative) for alternative in self._rules[name]]
        size = sum(chain.size for chain in chains)
        whole = either(chain.whole for chain in chains)
        full = all(chain.whole is chain.some for chain in chains)
        some = whole if full else either(chain.some for chain in chains)
        ways = max(1, sum(chain.ways for chain in chains))
        if size > IN_PLACE and whole.regular and _has_few_parts(whole):
            size, ways = FEW, 1
        self._copied += size
        in_one = whole.regular and ways <= WAYS and self._copied < COPIED
        if size > (REGULAR if in_one else IN_PLACE):
            # A node, as copies of a large rule in each use are larger still.
            rule = Rule(name, looks=some.looks)
            rule.define(some)
            whole, some, size, ways = alt(rule, EPSILON) if whole.nullable else rule, rule, 1, 1
        self._done[name] = Part(whole, some, size, ways)

    def _component(self, names: Sequence[str]) -> None:
        looks = max(map(self._looks, names))
        nodes = {name: Rule(name, make=partial(self._left, name), looks=looks) for name in names}
        for name, rule in nodes.items():
            whole = alt(rule, EPSILON) if name in self._nullable else rule
            self._done[name] = Part(whole, rule)
        inside = frozenset(names)
        for left in strongly_connected(names, lambda name: self._corners(name, inside)):
            if len(left) == 1 and left[0] not in self._corners(left[0], inside):
                chains = [self._chain(each).some for each in self._rules[left[0]]]
                nodes[left[0]].define(either(chains))
            else:
                self._left_recursive(left, looks)

    def _looks(self, name: str) -> int:
        atoms = [item.atom for alternative in self._rules[name] for item in alternative]
        done = [self._done.get(_name(atom) or FREE) for atom in atoms]
        parts = [part.whole for part in done if part is not None]
        parts += [self._terminals[atom.name] for atom in atoms if isinstance(atom, Terminal)]
        return max((part.looks for part in parts), default=0)

    def _corners(self, name: str, inside: frozenset[str]) -> list[str]:
        """Rules of `inside` that can begin a text of a rule."""
        found: dict[str, None] = {}
        for alternative in self._rules[name]:
            for item in alternative:
                if isinstance(item.atom, Name) and item.atom.rule in inside:
                    found[item.atom.rule] = None
                if not _may_be_empty(item, self._nullable):
                    break
        return [*found]

    def _left(self, name: str) -> Expr:
        return self._lefts[name].texts(name)

    def _left_recursive(self, names: Sequence[str], looks: int) -> None:
        bases = dict[str, list[Expr]]({name: [] for name in names})
        ways: dict[tuple[str, str], list[Part]] = {}  # from k to j: the rest after X_k in X_j
        for name in names:
            for alternative in self._rules[name]:
                for begin, item in enumerate(alternative):
                    rest = self._chain(alternative[begin + 1 :])
                    atom = item.atom
                    if isinstance(atom, Name) and atom.rule in bases:
                        behind = _concatenated([_repeated_rest(item, self._done[atom.rule]), rest])
                        ways.setdefault((atom.rule, name), []).append(behind)
                    else:
                        bases[name].append(concat(self._item(item).some, rest.whole))
                    if not _may_be_empty(item, self._nullable):
                        break
        self._lefts |= dict.fromkeys(names, LeftRecursion(bases, ways, looks))

    def _chain(self, alternative: Alternative) -> Part:
        spend(len(alternative))
        return _concatenated([self._item(item) for item in alternative])

    def _item(self, item: Item) -> Part:
        low, high = item.low, item.high
        if high == 0:
            return NOTHING
        atom = self._atom(item.atom)
        if low == 1 == high:
            return atom
        if atom.whole.nullable:
            whole, some = repeat(atom.some, 0, high), repeat(atom.some, 1, high)
            return Part(whole, some, atom.size, atom.ways)
        some = repeat(atom.whole, max(low, 1), high)
        return Part(repeat(atom.whole, low, high), some, atom.size, atom.ways)

    def _atom(self, atom: Atom) -> Part:
        if isinstance(atom, Name):
            return self._done[atom.rule]
        if isinstance(atom, Word):
            found = literal(atom.text)
            return Part(found, found) if atom.text else NOTHING
        found = _characters(atom) if isinstance(atom, Characters) else self._terminals[atom.name]
        return Part(found, found)


def _mentioned(alternatives: Iterable[Alternative]) -> list[str]:
    return [item.atom.rule for each in alternatives for item in each if isinstance(item.atom, Name)]


def _concatenated(parts: Sequence[Part]) -> Part:
    if len(parts) < 2:
        return parts[0] if parts else NOTHING
    whole, some, size, ways = parts[-1].whole, parts[-1].some, parts[-1].size, parts[-1].ways
    for part in parts[-2::-1]:
        begun = concat(part.some, whole)
        some = alt(begun, some) if part.whole.nullable else begun
        whole = begun if part.whole is part.some else concat(part.whole, whole)
        size += part.size
        ways = part.ways + (ways if part.whole.nullable else 0)
    return Part(whole, some, size, ways)


def _has_few_parts(root: Expr) -> bool:
    found, todo = {root}, [root]
    while todo and len(found) <= FEW:
        fresh = [part for part in parts_of(todo.pop()) if part not in found]
        found.update(fresh)
        todo += fresh
    return len(found) <= FEW


def _repeated_rest(item: Item, atom: Part) -> Part:
    """The rest of an item after its first non-empty text."""
    low = 0 if atom.whole.nullable else max(item.low - 1, 0)
    high = None if item.high is None else item.high - 1
    some = repeat(atom.some, max(low, 1), high) if high != 0 else EMPTY
    return Part(repeat(atom.some, low, high), some)


@lru_cache(1 << 12)
def _characters(atom: Characters) -> Expr:
    ranges = union(atom.ranges)
    return character(inverse(ranges) if atom.negated else ranges)


def _may_be_empty(item: Item, nullable: frozenset[str]) -> bool:
    if item.low == 0:
        return True
    match item.atom:
        case Word(text):
            return not text
        case Name(rule):
            return rule in nullable
        case Characters() | Terminal():
            return False
        case _:
            assert_never(item.atom)


def _nullable(rules: Rules) -> frozenset[str]:
    def needed(item: Item) -> str | None:
        atom = item.atom
        return FREE if item.low == 0 or (isinstance(atom, Word) and not atom.text) else _name(atom)

    return _grown(rules, needed)


def _productive(grammar: Grammar) -> Rules:
    """Drop alternatives without a text; raise UnsatisfiableError if the start has none."""
    rules = grammar.rules
    ends = _grown(rules, lambda item: FREE if item.low == 0 else _name(item.atom) or FREE)
    if grammar.start not in ends:
        endless = [name for name in rules if name not in ends and name not in grammar.groups]
        raise unending(endless)

    if len(ends) == len(rules):
        return rules

    def lives(item: Item) -> bool:
        return not isinstance(item.atom, Name) or item.atom.rule in ends

    return {
        name: tuple(
            tuple(filter(lives, each))
            for each in alternatives
            if all(item.low == 0 or lives(item) for item in each)
        )
        for name, alternatives in rules.items()
        if name in ends
    }


def _name(atom: Atom) -> str | None:
    return atom.rule if isinstance(atom, Name) else None


def _grown(rules: Rules, needed: Callable[[Item], str | None]) -> frozenset[str]:
    """Least set of rules with an alternative whose items all hold.

    `needed` gives the rule that an item depends on: `FREE` if none, None if it never holds.
    """
    made: list[Production] = []
    for name, alternatives in rules.items():
        for alternative in alternatives:
            needs = [needed(item) for item in alternative]
            if None not in needs:
                made.append(Production(name, tuple(each for each in needs if each)))
    return frozenset(least_texts(made, {}))


@dataclass(frozen=True, slots=True)
class Production:
    """One alternative of a rule, as names of rules and terminals."""

    rule: str
    symbols: tuple[str, ...]


def least_texts(productions: Sequence[Production], widths: Mapping[str, int]) -> dict[str, int]:
    """The fewest characters of each rule that has a text (Knuth 1977)."""
    waiting: dict[str, list[int]] = {}
    missing: list[int] = []
    queue: list[tuple[int, str]] = []
    lengths: list[int] = []
    for number, production in enumerate(productions):
        length = unknown = 0
        for symbol in production.symbols:
            if symbol in widths:
                length += widths[symbol]
            else:
                unknown += 1
                waiting.setdefault(symbol, []).append(number)
        missing.append(unknown)
        lengths.append(length)
        if not unknown:
            queue.append((length, production.rule))
    heapify(queue)
    found: dict[str, int] = {}
    while queue:
        length, rule = heappop(queue)
        if rule in found:
            continue
        found[rule] = length
        for after in waiting.get(rule, ()):
            missing[after] -= 1
            lengths[after] += length
            if not missing[after] and productions[after].rule not in found:
                heappush(queue, (lengths[after], productions[after].rule))
    return found
