"""What is refused, and how it is said.

You will see four wrong sources, each with the type of its error and the message: where it is, what
was given, what is allowed.
"""

import fairlead as fl

BYTES = fl.Vocabulary([bytes([byte]) for byte in range(256)])

WRONG = [
    fl.Regex("(19|20"),
    fl.Regex(r"(a)?\1"),
    fl.JsonSchema({"properties": {"age": {"type": "integr"}}}),
    fl.JsonSchema({"type": "integer", "minimum": 5, "maximum": 3}),
]


def main() -> None:
    for source in WRONG:
        try:
            fl.compile(source, BYTES)
        except fl.FairleadError as error:
            print(f"{type(error).__name__}: {error}\n")


if __name__ == "__main__":
    main()
