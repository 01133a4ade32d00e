"""Lark grammars by chance, and what Lark and guideway make of all short strings."""

import random
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

import lark

from guideway.constraint.lowering import lower_source
from guideway.context_free.lark.grammar import LarkGrammar
from guideway.context_free.lark.indenter import ItemIndenter
from guideway.context_free.lark.lowering import lower_lark
from guideway.context_free.lark.reader import read_lark
from guideway.context_free.lark.source import Lark
from guideway.language.derivative import Derivatives
from guideway.language.nodes import Expr
from plain_texts import short_strings

PATTERNS = (
    '"a"', '"b"', '"c"', '"ab"', '"aa"', '"abc"', '"ba"', '"a"i', "/a+/", "/[ab]+/", "/[abc]+/",
    "/ab?/", "/a+?b/", "/a(?=b)/", "/b(?!c)/", "/[ab]+?(?=c)/", "/a|ab/", "/(ab|a)c?/", "/c+|b/",
    "/a{1,2}/", "/b*c/", "/[^a]/", "/.b/", "/A/i", "/a.*?c/", "/(?:a|b)(?<!b)/",
)  # fmt: skip
ERRORS = (lark.exceptions.LarkError, AssertionError, IndexError)


class Blocks(ItemIndenter):
    """Indents with as little as can be."""

    NL_type = "_NL"
    OPEN_PAREN_types: ClassVar = ["LPAR"]
    CLOSE_PAREN_types: ClassVar = ["RPAR"]
    INDENT_type = "_IN"
    DEDENT_type = "_OUT"
    ITEM_types: ClassVar = ["_ITEM"]
    tab_len = 2


def python_lark() -> Path:
    """The grammar of Python in the lark package."""
    return Path(lark.__file__).parent / "grammars" / "python.lark"


@lru_cache(maxsize=1)
def python_tree() -> LarkGrammar:
    """What it says; reading it takes Lark a second."""
    return read_lark(Lark.open(python_lark()))


def parsed(parser: lark.Lark, letters: str, length: int) -> set[str]:
    """Those of them that Lark parses."""
    found = set[str]()
    for text in short_strings(letters, length):
        try:
            parser.parse(text)
        except ERRORS:
            continue
        except RuntimeError as error:  # it has read the text in two ways, and knows of one only
            assert "multiple start symbol items" in str(error)  # noqa: PT017
        found.add(text)
    return found


def accepted(expr: Expr, letters: str, length: int) -> set[str]:
    """Those of them that are in an expression; nothing that is begun is left without an end."""
    machine = Derivatives(expr, fuel=Fuel())
    found, todo = set[str](), [("", machine.start())]
    while todo:
        text, state = todo.pop()
        if machine.accepts(state):
            found.add(text)
        if len(text) < length:
            steps = ((letter, machine.step(state, ord(letter))) for letter in letters)
            todo += [(text + letter, after) for letter, after in steps if after is not None]
    return found


class Fuel:
    """Ends searches that find no end."""

    def __init__(self) -> None:
        self.left = 400_000

    def __call__(self, made: int) -> None:
        self.left -= made
        if self.left < 0:
            raise OutOfFuelError


class OutOfFuelError(Exception):
    """Undecided."""


def lowered(text: str, **options) -> Expr:
    """A grammar in the core."""
    return lower_lark(read_lark(Lark(text, **options)), lower_source)


def by_chance(seed: int) -> str:
    """A small grammar: overlapping terminals, priorities, what is empty, conflicts of all sorts."""
    dice = random.Random(seed)
    names = ["A", "B", "C", "D"][: dice.randint(2, 4)]
    rules = ["start", "x", "y"][: dice.randint(1, 3)]

    def item(deep: int) -> str:
        kind = dice.random()
        if kind > 0.7 and not deep:
            inner = f"{sequence(1)} | {sequence(1)}"
            written = f"({inner})" if kind < 0.85 else f"[{inner}]"
            return written if kind > 0.85 else written + dice.choice(["", "?", "*", "+"])
        if kind > 0.55:
            return dice.choice(PATTERNS)
        return dice.choice(names + rules) + dice.choice(["", "", "", "", "?", "*", "+"])

    def sequence(deep: int) -> str:
        return " ".join(item(deep) for _ in range(dice.choice([1, 2] if deep else [0, 1, 1, 2, 3])))

    lines = [f"{r}: " + " | ".join(sequence(0) for _ in range(dice.randint(1, 3))) for r in rules]
    lines += [f"{n}{dice.choice(['', '', '.1', '.2'])}: {dice.choice(PATTERNS)}" for n in names]
    if dice.random() < 0.3:
        lines.append(f"%ignore {dice.choice([*PATTERNS, *names])}")
    return "\n".join(lines)
