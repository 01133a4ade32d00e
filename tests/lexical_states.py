"""Lexical states made one after the other, as masks make them."""

from guideway.automaton.lexer_dfa import LexerDfa


def spread(states: LexerDfa, state: int, most: int) -> None:
    """Make the rows of a state and of those that it leads to, nearest first, so many at most."""
    found, todo = {state}, [state]
    for one in todo:
        states.expand(one)
        for after in dict.fromkeys(states.rows[one].tolist()):
            if after > 0 and after not in found and len(found) < most:
                found.add(after)
                todo.append(after)
