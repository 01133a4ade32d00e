"""Texts and the plain engine, the derivatives of an expression: read one, or draw one."""

import random
from itertools import product

from guideway.language.derivative import Derivatives
from guideway.language.nodes import Expr


def short_strings(letters: str, length: int) -> list[str]:
    """All strings over the letters, the shortest first."""
    return ["".join(w) for n in range(length + 1) for w in product(letters, repeat=n)]


def behind(machine: Derivatives, text: str | bytes) -> Expr | None:
    """The state behind a text; None if nothing goes on so."""
    state: Expr | None = machine.start()
    for byte in text.encode() if isinstance(text, str) else text:
        state = None if state is None else machine.step(state, byte)
    return state


def matches(machine: Derivatives, text: str | bytes) -> bool:
    """Whether a text is in the language."""
    state = behind(machine, text) if machine.alive(machine.start()) else None
    return state is not None and machine.accepts(state)


def draw(machine: Derivatives, chance: random.Random, steps: int = 60) -> bytes:
    """A text of the language: random bytes for a while, then the shortest way to an end."""
    state, text = machine.start(), bytearray()
    for _ in range(steps):
        arcs = machine.arcs(machine.blurred(state))
        if not arcs or (machine.accepts(state) and chance.random() < 0.3):
            break
        members, _ = chance.choice(arcs)
        byte = chance.choice([b for b in range(256) if members >> b & 1])
        following = machine.step(state, byte)
        if following is None:  # an arc that leads to unsure
            continue
        text.append(byte)
        state = following
    return bytes(text) + machine.shortest(state)
