"""Combine constraints as sets, compare them, and see why a combination has no text.

Run: python examples/algebra.py

You will see a text of each combination of schemas, grammars and regexes; how two constraints are
compared, with a shortest text that only one of them has; and a conflict with its two parts.
"""

import guideway as gw

BYTES = gw.Vocabulary([bytes([byte]) for byte in range(256)])

person = gw.JsonSchema({"type": "object", "required": ["name"]})
dated = gw.JsonSchema({"properties": {"born": {"type": "integer"}}, "required": ["born"]})
nested = gw.Gbnf('root ::= "(" root ")" | "x" | root root')

COMBINED = {
    "person & dated": person & dated,
    "person - dated": person - dated,
    "nested & '.{5,6}'": nested & gw.Regex(".{5,6}"),
    "nested - 'x*'": nested - gw.Regex("x*"),
    "Choice - nested": gw.Choice(["x", "(x)", "(x"]) - nested,
}
EMPTY = {
    "nested & '[(]+'": nested & gw.Regex("[(]+"),
    "Choice - '[a-z]*'": gw.Choice(["yes", "no"]) - gw.Regex("[a-z]*"),
}


def main() -> None:
    for name, source in COMBINED.items():
        print(f"{name:18} for one: {gw.compile(source, BYTES).example()}")
    digits = gw.compile(gw.Regex("[0-9]+"), BYTES)
    for pattern in ("[0-9]{2,4}", "[0-9]*", "[0-9][0-9]*"):
        includes, same = digits.includes(gw.Regex(pattern)), digits.equivalent(gw.Regex(pattern))
        print(f"[0-9]+ has all of {pattern}: {bool(includes)}; is the same: {bool(same)}", end="")
        print("" if same else f", {same.witness!r} is in {same.side} only")
    print("[(x)]+ has all of nested:", bool(gw.compile(gw.Regex("[(x)]+"), BYTES).includes(nested)))
    for source in EMPTY.values():
        try:
            gw.compile(source, BYTES)
        except gw.UnsatisfiableError as error:
            print(error)


if __name__ == "__main__":
    main()
