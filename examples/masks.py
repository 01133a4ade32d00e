"""Use a constraint without any model: the tokens that may come next, step by step.

Run: python examples/masks.py

You will see the allowed tokens of each step, the distance to the end, and the tokens that follow
without a choice. An engine needs to know no more about a constraint.
"""

import numpy as np

import guideway as gw

TOKENS = [b"2", b"0", b"1", b"9", b"20", b"-", b"x", b"<end>"]


def main() -> None:
    vocabulary = gw.Vocabulary(TOKENS, eos_ids={7})
    constraint = gw.compile(gw.Regex("(19|20)[0-9]{2}-x"), vocabulary)
    state = constraint.start()
    for token in (4, 1, 2, 5, 6):
        bits = np.unpackbits(constraint.mask(state).view(np.uint8), bitorder="little")
        allowed = b" ".join(TOKENS[i] for i in np.flatnonzero(bits)).decode()
        forced = b"".join(TOKENS[i] for i in constraint.forced(state)).decode()
        print(f"{allowed:12} distance {constraint.distance(state)}  forced {forced!r}")
        state = constraint.advance(state, token)
    print("may end here:", constraint.accepts(state))


if __name__ == "__main__":
    main()
