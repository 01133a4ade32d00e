"""Combine sources with operators: sequence, either, both, complement, difference, repetition.

Run: python examples/operators.py

You will see a shortest text of each combination, and which of three texts belong to it.
"""

import guideway as gw

BYTES = gw.Vocabulary([bytes([byte]) for byte in range(256)])

word = gw.Regex("[a-z]+")
sources = {
    "word + '!'": word + "!",
    "word | Regex('[0-9]+')": word | gw.Regex("[0-9]+"),
    "word & Regex('.{5}')": word & gw.Regex(".{5}"),
    "word - Choice(['hello'])": word - gw.Choice(["hello"]),
    "~word": ~word,
    "repeat('ab', 2, 3)": gw.repeat("ab", 2, 3),
}


def main() -> None:
    for name, source in sources.items():
        constraint = gw.compile(source, BYTES)
        members = [text for text in ("hello", "12", "hello!") if constraint.matches(text)]
        print(f"{name:26} {constraint.example()!r:10} {members}")


if __name__ == "__main__":
    main()
