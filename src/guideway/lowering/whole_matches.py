r"""The texts that match a pattern, wherever it looks ahead or back: one automaton for all of it.

    (?:ab(?=ba)|b)*       a loop that looks further than at one character
    a(?!b)\w+(?<!c)d      a lookahead that reaches beyond a lookbehind

All ways through the pattern are followed at once, each with the language in which the rest has to
be (`lowering.preferred_machine`); they stay finitely many, as those of an alternating automaton do
(Chandra, Kozen and Stockmeyer 1981). That takes an automaton of the whole pattern, so patterns that
`lowering.lookaround` puts together from parts are left to it.
"""

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
