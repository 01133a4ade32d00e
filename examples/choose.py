"""The exact probability of each of a few answers, with the built-in model.

You will see, for each review, how likely the model finds each label. Nothing is sampled: all tokens
of all labels are scored, so labels of several tokens are as exact as those of one.
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
