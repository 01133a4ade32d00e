"""Random schemas of branches about one thing: bounds of numbers, lengths of strings."""

import random
from collections.abc import Callable
from typing import Any

Plain = Callable[[random.Random], dict[str, Any]]


def tangle(rng: random.Random, depth: int, plain: Plain) -> dict[str, Any]:
    """Branches within branches, so deep at most; `plain` makes what has none."""
    if depth == 0 or rng.random() < 0.2:
        return plain(rng)
    name = rng.choice(("oneOf", "oneOf", "anyOf", "allOf", "not", "if"))
    if name in ("not", "if"):
        said = {name: tangle(rng, depth - 1, plain)}
        return said if name == "not" else {**said, "then": plain(rng), "else": plain(rng)}
    return {name: [tangle(rng, depth - 1, plain) for _ in range(rng.randint(1, 5))], **plain(rng)}
