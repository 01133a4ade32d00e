"""A Lark grammar as plain data: what `reader` returns, without objects of Lark."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import compress
from typing import Final

from guideway.context_free.lark.extensions import Part
from guideway.context_free.lowering import Production

_FLAGS: Final = bytes.maketrans(b"01", b"\x00\x01")


@dataclass(frozen=True, slots=True)
class LarkTerminal:
    """A terminal.

    Attributes:
        name: its name in rules; Lark names anonymous ones.
        pattern: Python `re` pattern, with flags as `(?i:…)`.
        text: the string without flags, or None for a regex.
        flags: letters of "imslux" after the string or regex.
        priority: higher ones are tried first.
        min_width: least length of a match, at least 1.
        max_width: greatest length, as Lark counts it.
        length: of the text or pattern without flags; Lark tries longer ones first.
        written: its name for messages.
        solid: True if the pattern matches "": the match is then the first of `re`'s preference that
            is not empty.
    """

    name: str
    pattern: str
    text: str | None
    flags: frozenset[str]
    priority: int
    min_width: int
    max_width: int
    length: int
    written: str
    solid: bool = False


@dataclass(frozen=True, slots=True)
class LarkTable:
    """LALR(1) table, conflicts resolved as in Lark.

    Attributes:
        shifts: for each state, the next state by terminal.
        reductions: for each state, the production by lookahead, `END` at the end of the text. No
            terminal is in both.
        gotos: for each state, the next state by rule.
        kernels: for each state, its items as (production, symbols read).
        end: the state on top of the stack at the end of the text.
        denied: (state, production, terminal) of reductions in conflict.
        alike: terminals merged into another one, which represents them in the table.
        rules: names of rules by number.
        terminals: names of terminals, END first; they are numbered after the rules.
        wanted: for each state, bit mask of the terminals with an action, END lowest.
    """

    shifts: tuple[Mapping[str, int], ...]
    reductions: tuple[Mapping[str, int], ...]
    gotos: tuple[Mapping[str, int], ...]
    kernels: tuple[tuple[tuple[int, int], ...], ...]
    productions: tuple[Production, ...]
    start: int
    end: int
    denied: tuple[tuple[int, int, str], ...]
    alike: Mapping[str, str]
    rules: tuple[str, ...]
    terminals: tuple[str, ...]
    wanted: tuple[int, ...]

    def named(self, terminals: int) -> list[str]:
        """Names of the terminals in a bit mask, without END."""
        return [*compress(self.terminals, bin(terminals & ~1)[:1:-1].encode().translate(_FLAGS))]


@dataclass(frozen=True, slots=True)
class Indentation:
    """Attributes of Lark's `Indenter`.

    Attributes:
        newline: terminal that sets the indentation of the next line.
        opening: opening brackets; indentation is ignored up to the closing one.
        closing: closing brackets.
        indent: terminal inserted for greater indentation.
        dedent: terminal inserted at the end of a block.
        tab: columns of a tab.
        items: terminals that begin a block within a line (`context_free.lark.indenter`).
    """

    newline: str
    opening: frozenset[str]
    closing: frozenset[str]
    indent: str
    dedent: str
    tab: int
    items: frozenset[str] = frozenset()

    @property
    def names(self) -> frozenset[str]:
        """All its terminals."""
        own = {self.newline, self.indent, self.dedent}
        return self.opening | self.closing | self.items | own


@dataclass(frozen=True, slots=True)
class LarkGrammar:
    """A loaded grammar.

    Attributes:
        table: the LALR table, or None for the dynamic lexer.
        parts: parts in guideway's notation by terminal; never empty here.
        nested: their grammars, for `%lark` parts.
        collision: why the default lexer is dynamic: a conflict that Lark reports, or a numbered
            group reference.
    """

    terminals: Mapping[str, LarkTerminal]
    rules: Mapping[str, tuple[tuple[str, ...], ...]]
    start: str
    ignored: tuple[str, ...]
    table: LarkTable | None = None
    indentation: Indentation | None = None
    parts: Mapping[str, Part] = field(default_factory=dict[str, Part])
    nested: Mapping[str, "LarkGrammar"] = field(default_factory=dict[str, "LarkGrammar"])
    collision: str = ""

    @property
    def items(self) -> Mapping[str, int]:
        """Widths of the terminals that begin a block within a line."""
        names = frozenset[str]() if self.indentation is None else self.indentation.items
        return {name: self.terminals[name].min_width for name in names if name in self.terminals}


END = "$END"
"""The terminal of the end of the text in a table."""
