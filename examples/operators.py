"""Sources combine like sets: sequence, either, both, anything but, difference, repetition.

You will see, for each combination, a shortest text, and which of three texts are in it.
"""

import fairlead as fl

BYTES = fl.Vocabulary([bytes([byte]) for byte in range(256)])

word = fl.Regex("[a-z]+")
sources = {
    "word + '!'": word + "!",
    "word | Regex('[0-9]+')": word | fl.Regex("[0-9]+"),
    "word & Regex('.{5}')": word & fl.Regex(".{5}"),
    "word - Choice(['hello'])": word - fl.Choice(["hello"]),
    "~word": ~word,
    "repeat('ab', 2, 3)": fl.repeat("ab", 2, 3),
}


def main() -> None:
    for name, source in sources.items():
        constraint = fl.compile(source, BYTES)
        members = [text for text in ("hello", "12", "hello!") if constraint.matches(text)]
        print(f"{name:26} {constraint.example()!r:10} {members}")


if __name__ == "__main__":
    main()
