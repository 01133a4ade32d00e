"""Expand rules whose parts or terminals may be empty into rows with and without them.

Lark's loader expands `?` in the same way, so its automaton never reduces an empty rule.

    x: WS "a" WS      ->   x: WS "a" WS | "a" WS | WS "a" | "a"        WS: /[ ]*/

Rules that Lark made (for `(…)*`) may become empty too, and are left out in the same way. A row with
many such symbols is continued in a rule of its own.
"""

from collections.abc import Collection, Sequence
from importlib import import_module
from itertools import compress, product
from typing import Any, Final, final

from guideway.syntax.lark_errors import Reading

MOST_EMPTY: Final = 8  # possibly empty symbols in a row before it is cut
CUT: Final = 4  # number of them before the cut
MOST_ROWS: Final = 4096  # additional rows
MADE: Final = "__"  # prefix of the rules that Lark made


def with_empty(
    rules: list[Any], empty: Collection[str], nothing: Collection[str], reading: Reading
) -> list[Any]:
    """Add the rows that omit symbols in `empty`, and remove symbols in `nothing` everywhere."""
    return _Rows(rules, empty, nothing, reading).all() if empty or nothing else rules


@final
class _Rows:
    """The rows found so far."""

    def __init__(
        self,
        rules: Sequence[Any],
        empty: Collection[str],
        nothing: Collection[str],
        reading: Reading,
    ) -> None:
        self._rules, self._reading = rules, reading
        made = _made(rules)
        hollow = _hollow(made, {*empty, *nothing})
        self._nothing = {*nothing, *_void(made, hollow, nothing)}
        self._empty = {*empty, *hollow} - self._nothing
        self._made: Any = import_module("lark.grammar")
        self._found = dict[tuple[str, tuple[str, ...]], Any]()
        self._rests = dict[tuple[str, tuple[str, ...]], Any]()

    def all(self) -> list[Any]:
        for rule in self._rules:
            name = str(rule.origin.name)
            if name not in self._nothing:
                symbols = [each for each in rule.expansion if str(each.name) not in self._nothing]
                solid = name in self._empty
                self._add(rule, rule.origin, symbols, solid=solid)
        return list(self._found.values())

    def _add(self, rule: Any, origin: Any, symbols: list[Any], *, solid: bool) -> None:
        """Add a row and its variants without empty symbols; `solid` omits the empty row."""
        symbols = self._short(rule, symbols)
        options = [[True, False] if str(s.name) in self._empty else [True] for s in symbols]
        for kept in product(*options):
            row = list(compress(symbols, kept))
            same = len(row) == 1 and row[0] == origin and len(rule.expansion) > 1
            if same or (solid and not row):
                continue
            made = self._made.Rule(origin, row, len(self._found), rule.alias, rule.options)
            self._found.setdefault(_key(origin, row), made)
        if len(self._found) > len(self._rules) + MOST_ROWS:
            raise self._reading.exceeded(
                f"with and without what may be empty there are more than {MOST_ROWS} rows in the "
                f"rules, in {rule.origin.name} and others",
                str(rule.origin.name),
                limit="rows of rules",
                given=MOST_ROWS,
            )

    def _short(self, rule: Any, symbols: list[Any]) -> list[Any]:
        """Move the rest of a row with many empty symbols to a rule of its own."""
        places = [at for at, symbol in enumerate(symbols) if str(symbol.name) in self._empty]
        if len(places) <= MOST_EMPTY:
            return symbols
        cut = places[CUT]
        key = _key(rule.origin, symbols[cut:])
        rest = self._rests.get(key)
        if rest is None:
            name = f"{MADE}{rule.origin.name}_rest_{len(self._rests)}"
            rest = self._rests[key] = self._made.NonTerminal(name)
            if len(places) - CUT == len(symbols) - cut:
                self._empty.add(name)
            self._add(rule, rest, symbols[cut:], solid=True)
        return [*symbols[:cut], rest]


def _key(origin: Any, symbols: Sequence[Any]) -> tuple[str, tuple[str, ...]]:
    return str(origin.name), tuple(str(symbol.name) for symbol in symbols)


def _made(rules: Sequence[Any]) -> dict[str, list[list[str]]]:
    """Rows of the rules that Lark made."""
    found = dict[str, list[list[str]]]()
    for rule in rules:
        name = str(rule.origin.name)
        if name.startswith(MADE):
            found.setdefault(name, []).append([str(symbol.name) for symbol in rule.expansion])
    return found


def _hollow(made: dict[str, list[list[str]]], empty: set[str]) -> set[str]:
    """Rules made by Lark that may be empty."""
    found, size = set[str](), -1
    while size < len(found):
        size = len(found)
        found |= {
            name
            for name, rows in made.items()
            if any(row and empty.union(found).issuperset(row) for row in rows)
        }
    return found


def _void(made: dict[str, list[list[str]]], hollow: set[str], nothing: Collection[str]) -> set[str]:
    """Rules made by Lark that are always empty."""
    found, size = set(hollow), -1
    while size != len(found):
        size = len(found)
        known = found.union(nothing)
        found = {name for name in found if all(known.issuperset(row) for row in made[name])}
    return found
