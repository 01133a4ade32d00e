"""Random texts of a constraint, token by token along its masks."""

import random

import guideway as gw
from guideway.constraint.compiled import CompiledConstraint

BYTES = gw.Vocabulary([bytes([byte]) for byte in range(256)] + [b"<end>"], eos_ids={256})


def text_of(constraint: CompiledConstraint, chance: random.Random, most: int) -> bytes:
    """A text of a constraint over `BYTES`.

    It is left to chance up to so many bytes, then ended soon: no mask is empty, and where the text
    may not end some token brings the end nearer.
    """
    state, text = constraint.start(), bytearray()
    while not constraint.accepts(state) or (len(text) < most and chance.random() < 0.7):
        row = constraint.mask(state)
        tokens = [t for t in range(257) if int(row[t // 32]) >> t % 32 & 1]
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
        tokens = [t for t in range(len(row) * 32) if int(row[t // 32]) >> t % 32 & 1]
        following = (constraint.advance(state, token) for token in tokens)
        state = next(after for after in following if constraint.distance(after) < left)
    return found
