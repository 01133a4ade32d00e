"""Whether no match of a pattern is the beginning of another, told without its automaton.

Then there is nothing to prefer: what matches at a place is one text, whatever follows. Ways through
the pattern are followed two by two, as they read the same; there are at most as many pairs as the
square of the pattern, where sets of ways are as many as there are subsets.

What this module does not know: what the texts are.
"""

from collections.abc import Sequence
from itertools import combinations_with_replacement, product
from typing import Final

from guideway.lowering.fuel import spend
from guideway.lowering.preferred_languages import ALL
from guideway.lowering.preferred_machine import Machine, Place

MOST_PAIRS: Final = 20_000


def is_free(machine: Machine, start: Place) -> bool:
    """Whether that is so; False where it is not known.

    Args:
        machine: the ways; nothing in them looks around.
        start: where they begin.
    """
    rows: dict[int, Sequence[Place]] = {}

    def row(stack: int) -> Sequence[Place]:
        if stack not in rows:
            rows[stack] = machine.row(Place(((stack, ALL),), start.history, ()))
        return rows[stack]

    stacks = [stack for stack, _ in start.threads]
    todo = [*combinations_with_replacement(stacks, 2)]
    seen = {*todo}
    for one, other in todo:  # grows while we go
        if len(seen) > MOST_PAIRS:
            return False
        for left, right in zip(row(one), row(other), strict=True):
            # One ends here; of what the other reads on, something may end later.
            if (left.ends and right.threads) or (right.ends and left.threads):
                return False
            pairs = product((s for s, _ in left.threads), (s for s, _ in right.threads))
            fresh = {(min(pair), max(pair)) for pair in pairs} - seen
            spend(1 + len(fresh))
            seen |= fresh
            todo += fresh
    return not start.ends and not machine.cuts
