"""Lark grammars after Lark has read them: terminals, rules in BNF, an automaton, indentation.

    terminal      a Python pattern, as Lark hands it to `re`, with a priority
    rule          its expansions, each the names of terminals and rules in a row
    automaton     Lark's LALR(1) table: for each state what to do at a terminal, and where a rule
                  leads that has just been read (where the lexer is contextual)
    part          what stands in the place of a terminal and is no Lark, a JSON Schema for one
    indentation   what an `Indenter` is told: names of terminals and the width of a tab

Names of rules, terminals and declared terminals are all different: a name says what it is. Trees
hold no object of Lark's; templates, imports, repetitions and optional parts are all worked in.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import compress
from typing import Final, final

from guideway.syntax.lark_extensions import Part

_FLAGS: Final = bytes.maketrans(b"01", b"\x00\x01")


@final
@dataclass(frozen=True, slots=True)
class LarkTerminal:
    """A terminal.

    Attributes:
        name: as in rules; those that nobody named have a name from Lark.
        pattern: a pattern of Python's `re`, its flags in it as `(?i:…)`.
        text: what it was written as, if that is a string and no regex, without its flags.
        flags: any of "imslux" behind the string or regex.
        priority: terminals of a higher one are tried first.
        min_width: the fewest characters that a match has, one at least,
        max_width: and the most, as Lark counts them.
        length: of its pattern without flags, or of its text: Lark tries longer ones first.
        written: how to name it to whoever wrote the grammar.
        solid: whether the pattern could match nothing. What it matches then is what `re.match`
            prefers of one character at least.
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


@final
@dataclass(frozen=True, slots=True)
class Production:
    """One expansion of a rule."""

    rule: str
    symbols: tuple[str, ...]


@final
@dataclass(frozen=True, slots=True)
class LarkTable:
    """A deterministic automaton with a stack of states, conflicts resolved as Lark does.

    Attributes:
        shifts: for each state, the state after reading a terminal.
        reductions: for each state, the index of the production to reduce by before a terminal; the
            end of the text is the terminal `END`. No terminal is in both.
        gotos: for each state, the state after a rule.
        kernels: for each state, the productions that are being read, as (index, symbols read).
        productions: the expansions.
        start: the state at the bottom of the stack.
        end: the state on top of it when all is read.
        denied: states, productions and terminals before which Lark never reduces by them there,
            though the grammar would allow it: it resolves conflicts so.
        alike: terminals that are none of the table's, by the one that stands for them there.
        rules: the names of rules by their numbers,
        terminals: and of terminals, END the first; they are numbered after the rules.
        wanted: for each state, the terminals with an action as bits, that of END the lowest.
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
        """The names of terminals that are a set of bits, END excepted."""
        return [*compress(self.terminals, bin(terminals & ~1)[:1:-1].encode().translate(_FLAGS))]


@final
@dataclass(frozen=True, slots=True)
class Indentation:
    """What Lark's `Indenter` does to the terminals that were read.

    Attributes:
        newline: the terminal after which the width of a line's beginning counts.
        opening: terminals inside of which it does not,
        closing: up to one of these.
        indent: the terminal that stands for a greater width.
        dedent: the terminal that stands for the end of a width.
        tab: how many columns a tab is.
        items: terminals that begin a block as much wider as they are (`syntax.lark_indenter`).
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
        """Of all terminals that it has to do with."""
        own = {self.newline, self.indent, self.dedent}
        return self.opening | self.closing | self.items | own


@final
@dataclass(frozen=True, slots=True)
class LarkGrammar:
    """A whole grammar.

    Attributes:
        terminals: those that have a pattern.
        rules: expansions by the rule's name.
        start: the rule of whole texts.
        ignored: terminals that may stand between others.
        table: the automaton; None where texts are not read by one.
        indentation: None where there is none.
        parts: what stands for a terminal of this name and is no Lark; never the empty text.
        nested: grammars that do.
        collision: why there is no automaton, where nobody asked for none: what Lark's analysis
            says of rules that it cannot tell apart.
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
        """The terminals that begin a block on their line, and how wide each is."""
        names = frozenset[str]() if self.indentation is None else self.indentation.items
        return {name: self.terminals[name].min_width for name in names if name in self.terminals}


END = "$END"
"""The terminal of the end of the text in a table."""
