"""Stages that change probabilities, and their orders.

Transformers' order is the default; `"llama.cpp"` is that of llama.cpp. Stages that one of them
lacks are placed by effect: top-nσ first, XTC and mirostat last. Bias, penalties and bans come
before.
"""

import difflib
from collections.abc import Collection, Iterable
from typing import Final

from guideway.errors import UnsupportedError

ORDERS: Final[dict[str, tuple[str, ...]]] = {
    "transformers": (
        "top_n_sigma", "temperature", "top_h", "top_k", "top_p", "min_p", "typical_p",
        "epsilon_cutoff", "eta_cutoff", "xtc", "mirostat",
    ),
    "llama.cpp": (
        "top_n_sigma", "top_k", "typical_p", "top_p", "min_p", "xtc", "top_h", "epsilon_cutoff",
        "eta_cutoff", "temperature", "mirostat",
    ),
}  # fmt: skip
STAGES: Final = ORDERS["transformers"]


def read_order(given: str | Iterable[str], on: Collection[str]) -> tuple[str, ...]:
    """The order of stages by name, or as a list that has all stages in `on`.

    >>> read_order(["top_p", "temperature"], {"temperature"})
    ('top_p', 'temperature')
    """
    if isinstance(given, str):
        if given not in ORDERS:
            raise UnsupportedError(
                f"order is {given!r}: it must be one of {', '.join(map(repr, ORDERS))}, or a list "
                f"of stages",
                feature="order",
            )
        return ORDERS[given]
    order = list[str]()
    for name in given:
        if name not in STAGES:
            near = difflib.get_close_matches(name, STAGES, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(STAGES)}"
            raise UnsupportedError(
                f"order has {name!r}, which is not a stage; {hint}", feature="order"
            )
        if name in order:
            raise UnsupportedError(f"order names {name!r} twice", feature="order")
        order.append(name)
    if missing := [name for name in STAGES if name in on and name not in order]:
        raise UnsupportedError(
            f"order lacks {', '.join(missing)}, which the settings turn on", feature="order"
        )
    return tuple(order)
