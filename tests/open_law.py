"""The law of the texts of a small language, by brute force: what exactness is measured against.

Shares no code with the engine but the model: texts are a set of bytes, and ways to spell them are
tried one by one. A text ends where no longer one begins with it, or where no tokens are left, or
with an end id.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Tensor

from guideway.models.fake import FakeModel

Law = dict[tuple[int, ...], float]


def open_law(
    model: FakeModel,
    texts: Iterable[bytes],
    *,
    most: int = 256,
    least: int = 0,
    warp: Callable[[Tensor], Tensor] = lambda row: row,
    local: bool = False,
) -> Law:
    """The probability of each way to spell a text; together, that of the language.

    `local`: each token's as a share of what may come there, as it is with masks and nothing else.
    """
    texts, found = set(texts), Law()
    vocabulary = model.vocabulary
    stack: list[tuple[tuple[int, ...], bytes, float]] = [((), b"", 1.0)]
    while stack:
        tokens, spelled, p = stack.pop()
        longer = any(text != spelled and text.startswith(spelled) for text in texts)
        if spelled in texts and tokens and (not longer or len(tokens) == most):
            if len(tokens) >= least:
                found[tokens] = p
            continue
        if len(tokens) == most:
            continue
        shares = warp(model.prefill([(0, *tokens)])[1][0].double()).softmax(0)
        after = {
            token: spelled + piece
            for token, piece in enumerate(vocabulary.tokens)
            if piece and token not in vocabulary.eos_ids
        }
        steps = {
            token: longer
            for token, longer in after.items()
            if any(text.startswith(longer) for text in texts)
        }
        ends = [*vocabulary.eos_ids] if spelled in texts and len(tokens) >= least else []
        p /= float(shares[[*steps, *ends]].sum()) if local else 1.0
        if ends:
            found[tokens] = p * float(shares[ends].sum())
        stack += [((*tokens, x), each, p * float(shares[x])) for x, each in steps.items()]
    return found


def shares(law: Law) -> Law:
    """The law, given that the text is in the language."""
    total = math.fsum(law.values())
    return {tokens: p / total for tokens, p in law.items()}


def fits(drawn: Sequence[tuple[int, ...]], law: Law) -> bool:
    """Whether draws follow a law: chi-square, with a probability of one in a hundred.

    Texts that are expected less than five times are one class. The bound is Wilson's and
    Hilferty's. Draws are seeded: where it holds once, it holds.
    """
    counts = Counter(drawn)
    assert counts.keys() <= law.keys()
    often = [tokens for tokens, p in law.items() if p * len(drawn) >= 5]
    expected = [law[tokens] * len(drawn) for tokens in often]
    seen = [counts[tokens] for tokens in often]
    if (rest := len(drawn) - sum(expected)) > 1e-6:
        expected.append(rest)
        seen.append(len(drawn) - sum(seen))
    chi = sum((a - b) ** 2 / b for a, b in zip(seen, expected, strict=True))
    freedom = len(expected) - 1
    z = ((chi / freedom) ** (1 / 3) - 1 + 2 / (9 * freedom)) / math.sqrt(2 / (9 * freedom))
    return z < 2.33


def divergence(one: Law, other: Law) -> float:
    """KL(one ‖ other) in nats."""
    return math.fsum(p * math.log(p / other[tokens]) for tokens, p in one.items() if p)


def skewed(prefix: Sequence[int]) -> Tensor:
    """A model of bits: 0 comes first nine times of ten, and after it there is hardly another 0."""
    first = prefix[1:2]
    one = 0.1 if not first else 0.99 if first[0] == 0 else 0.5
    return torch.tensor([math.log(1 - one), math.log(one), -math.inf])
