"""Read the errors for wrong sources.

Run: python examples/errors.py

You will see four wrong sources, each with the type of its error and a message that says where the
fault is, what was given and what is allowed.
"""

import guideway as gw

BYTES = gw.Vocabulary([bytes([byte]) for byte in range(256)])

WRONG = [
    gw.Regex("(19|20"),
    gw.Regex(r"(a)?\1"),
    gw.JsonSchema({"properties": {"age": {"type": "integr"}}}),
    gw.JsonSchema({"type": "integer", "minimum": 5, "maximum": 3}),
]


def main() -> None:
    for source in WRONG:
        try:
            gw.compile(source, BYTES)
        except gw.GuidewayError as error:
            print(f"{type(error).__name__}: {error}\n")


if __name__ == "__main__":
    main()
