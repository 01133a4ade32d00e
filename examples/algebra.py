"""Whole constraints as sets: what two have in common, what one has more, and why nothing is left.

You will see what a combination of schemas, grammars and regexes accepts, how two constraints are
compared, with a shortest text that tells them apart, and how a conflict names its two parts.
"""

import fairlead as fl

BYTES = fl.Vocabulary([bytes([byte]) for byte in range(256)])

person = fl.JsonSchema({"type": "object", "required": ["name"]})
dated = fl.JsonSchema({"properties": {"born": {"type": "integer"}}, "required": ["born"]})
nested = fl.Gbnf('root ::= "(" root ")" | "x" | root root')

COMBINED = {
    "person & dated": person & dated,
    "person - dated": person - dated,
    "nested & '.{5,6}'": nested & fl.Regex(".{5,6}"),
    "nested - 'x*'": nested - fl.Regex("x*"),
    "Choice - nested": fl.Choice(["x", "(x)", "(x"]) - nested,
}
EMPTY = {
    "nested & '[(]+'": nested & fl.Regex("[(]+"),
    "Choice - '[a-z]*'": fl.Choice(["yes", "no"]) - fl.Regex("[a-z]*"),
}


def main() -> None:
    for name, source in COMBINED.items():
        print(f"{name:18} for one: {fl.compile(source, BYTES).example()}")
    digits = fl.compile(fl.Regex("[0-9]+"), BYTES)
    for pattern in ("[0-9]{2,4}", "[0-9]*", "[0-9][0-9]*"):
        includes, same = digits.includes(fl.Regex(pattern)), digits.equivalent(fl.Regex(pattern))
        print(f"[0-9]+ has all of {pattern}: {bool(includes)}; is the same: {bool(same)}", end="")
        print("" if same else f", {same.witness!r} is in {same.side} only")
    print("[(x)]+ has all of nested:", bool(fl.compile(fl.Regex("[(x)]+"), BYTES).includes(nested)))
    for source in EMPTY.values():
        try:
            fl.compile(source, BYTES)
        except fl.UnsatisfiableError as error:
            print(error)


if __name__ == "__main__":
    main()
