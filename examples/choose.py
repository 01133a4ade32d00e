"""Get the exact probability of each of a few answers.

Run: python examples/choose.py

You will see the probability of each label for two reviews. Nothing is sampled: all tokens of all
labels are scored, so labels of several tokens are as exact as labels of one.
"""

import guideway as gw

REVIEWS = [
    "I loved every minute of it, and so did my children.",
    "Broken after two days, and nobody answers my letters.",
]


def main() -> None:
    model = gw.load("smollm2-135m")
    for review in REVIEWS:
        question = f"Is this review positive or negative? Answer with one word.\n\n{review}"
        chances = model.choose([{"role": "user", "content": question}], ["positive", "negative"])
        print({label: round(chance, 3) for label, chance in chances.items()}, review)


if __name__ == "__main__":
    main()
