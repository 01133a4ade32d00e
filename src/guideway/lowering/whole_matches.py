"""Patterns with any lookaround, as one automaton (Chandra, Kozen and Stockmeyer 1981)."""

from collections.abc import Callable
from typing import final

from guideway.lowering.equations import Automaton, Equations
from guideway.lowering.nodes import Expr
from guideway.lowering.preferred_program import whole_program
from guideway.lowering.preferred_watches import Watches
from guideway.lowering.unicode import CodePoints
from guideway.syntax.regex_tree import Pattern


@final
class NotByParts(Exception):  # noqa: N818  it says how to go on, and is no error
    """A pattern cannot be put together from its parts."""


def whole_matches(pattern: Pattern, search: bool, spell: Callable[[CodePoints], Expr]) -> Expr:
    """The texts that `pattern` matches as a whole.

    >>> from guideway.lowering.unicode import character
    >>> from guideway.syntax.regex import parse_regex
    >>> texts = whole_matches(parse_regex("(?:ab(?=ba)|ba)*"), False, character)
    >>> from guideway.lowering.regular import contains
    >>> contains(texts, b"abba"), contains(texts, b"abab")
    (True, False)

    Args:
        pattern: the tree, which refers back to no group.
        search: those in which it matches somewhere.
        spell: one character out of a set, as bytes.

    Raises:
        UnsupportedError: lookaround nested more than 12 deep.
        LimitError: the automaton is too large.
    """
    steps = whole_program(pattern, search)
    watches = Watches(steps)
    machine = watches.machine
    found = watches.begun(steps.start, machine.pasts)
    automaton = Automaton(machine.languages.rows, machine.languages.ends)
    equations = Equations(automaton, bool, lambda atoms: spell(steps.characters(atoms)))
    return equations.texts_from(found)
