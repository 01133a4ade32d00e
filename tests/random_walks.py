"""Random texts of a constraint, token by token along its masks."""

import random
from collections.abc import Iterable
from typing import Any

import guideway as gw
from guideway.automaton.token_tries import has, unpack
from guideway.constraint.compiled import CompiledConstraint

BYTES = gw.Vocabulary([bytes([byte]) for byte in range(256)] + [b"<end>"], eos_ids={256})


def read(constraint: CompiledConstraint, tokens: Iterable[int], state: Any = None) -> Any:
    """The state behind some tokens; None where a mask does not allow one of them."""
    state = state or constraint.start()
    for token in tokens:
        if not has(constraint.mask(state), token):
            return None
        state = constraint.advance(state, token)
    return state


def reads(constraint: CompiledConstraint, tokens: Iterable[int]) -> bool:
    """Whether masks allow some tokens, and an end behind them."""
    state = read(constraint, tokens)
    return state is not None and constraint.accepts(state)


def text_of(constraint: CompiledConstraint, chance: random.Random, most: int) -> bytes:
    """A text of a constraint over `BYTES`.

    It is left to chance up to so many bytes, then ended soon: no mask is empty, and where the text
    may not end some token brings the end nearer.
    """
    state, text = constraint.start(), bytearray()
    while not constraint.accepts(state) or (len(text) < most and chance.random() < 0.7):
        tokens = unpack(constraint.mask(state)).tolist()
        assert tokens, (bytes(text), "leads nowhere")
        tokens = [token for token in tokens if token != 256]
        if not tokens:
            break
        if len(text) < most:
            seen = [token for token in tokens if 32 < token < 127]
            token = chance.choice(seen if seen and chance.random() < 0.9 else tokens)
        else:
            left = constraint.distance(state)
            after = (t for t in tokens if constraint.distance(constraint.advance(state, t)) < left)
            token = next(after)
        text.append(token)
        state = constraint.advance(state, token)
    return bytes(text)


def masks_along(constraint: CompiledConstraint) -> list[bytes]:
    """The masks along a shortest way to an end, the lowest ids first."""
    state, found = constraint.start(), list[bytes]()
    while left := constraint.distance(state):
        row = constraint.mask(state)
        found.append(row.tobytes())
        following = (constraint.advance(state, token) for token in unpack(row).tolist())
        state = next(after for after in following if constraint.distance(after) < left)
    return found
