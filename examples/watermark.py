"""Mark texts with a watermark, edit them, and look for it.

Run: python examples/watermark.py        It takes a minute or two.

You will see, for each share of replaced tokens, the mean z and how many texts are still found (z
above 4); the result of another key; and the marked part of a longer text. A replaced token spoils
two pairs of tokens. Measured on 500 texts of 200 tokens (`python -m tests.benchmarks watermark`),
mean z and share found:

    replaced    0 %    5 %   10 %   20 %   30 %   40 %   50 %
    z          6.71   5.89   5.22   4.13   3.30   2.56   2.00
    found      .962   .892   .816   .544   .308   .090   .016
"""

import random
import sys
from collections.abc import Sequence
from dataclasses import replace

import guideway as gw

PROMPTS = [
    "The lighthouse stood at the end of the bay, and every evening",
    "My grandmother's recipe begins with a warning:",
    "The history of the town is a history of its river. In the beginning",
    "When the last train had left the station,",
]
MARK = gw.Watermark(key="a secret of mine", gamma=0.5, delta=2.0, stage="logits")
OTHER = gw.Watermark(key="somebody else's", gamma=0.5, delta=2.0, stage="logits")


def edited(tokens: Sequence[int], share: float, pool: Sequence[int], seed: int) -> list[int]:
    """The tokens, a share of them replaced by tokens of the pool."""
    chance = random.Random(seed)
    places = set(chance.sample(range(len(tokens)), round(share * len(tokens))))
    return [chance.choice(pool) if n in places else token for n, token in enumerate(tokens)]


def under_edits(texts: Sequence[Sequence[int]], shares: Sequence[float]) -> None:
    """Print z for each share of replaced tokens."""
    pool = [token for text in texts for token in text]
    for share in shares:
        found = [MARK.detect(edited(text, share, pool, seed)).z for seed, text in enumerate(texts)]
        mean, still = sum(found) / len(found), sum(z > 4 for z in found)
        print(f"{share:4.0%} replaced: z {mean:5.2f}, {still} of {len(found)} found")


def main(tokens: int = 200, shares: Sequence[float] = (0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)) -> None:
    model = gw.load("smollm2-135m")
    size = gw.Sampling(temperature=0.7, seed=0, min_new_tokens=tokens, max_new_tokens=tokens)
    print(f"generating {len(PROMPTS)} texts of {tokens} tokens …", file=sys.stderr)
    results = model.watermarked(MARK).generate(PROMPTS, sampling=size)
    under_edits([each.tokens for each in results], shares)
    first = results[0]
    print(f"the text, encoded again: z {MARK.detect(first.text, model).z:.2f}")
    print(f"with another key: z {OTHER.detect(first.tokens).z:.2f}")
    plain = model.generate(PROMPTS[1], sampling=replace(size, seed=1))
    found = MARK.detect([*plain.tokens, *first.tokens], model).window
    if found is not None:
        where = f"tokens {found.start} to {found.stop}, p {found.p:.1g}"
        print(f"after {tokens} unmarked tokens: {where}")


if __name__ == "__main__":
    main()
