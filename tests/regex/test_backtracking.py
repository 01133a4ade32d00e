"""What `re.match` prefers: `re` itself is the oracle, text by text, split by split."""

import random
import re
import warnings

import lark
import pytest
from lark.indenter import PythonIndenter

import guideway as gw
from guideway.constraint.lowering import lower_source
from guideway.errors import LimitError, UnsupportedError
from guideway.language.regular import contains
from guideway.regex.backtracking import Exit, matches
from guideway.regex.parser import parse_regex
from plain_texts import short_strings

SIGNS = ["*", "+", "?", "{2}", "{1,2}", "{0,2}", "{2,}", "{,3}"]
LEAVES = ["[ab]", "[^a]", ".", r"\w", "", "(?s:.)"]
LOOKS = ["$", r"\Z", r"\b", r"\B", "(?<=a)", "(?<!ab)", "(?<![ab]b)", "(?m:$)", "(?m:^)"]
HUGE = "(a|b)*a(a|b){20}"


def check(pattern: str, texts: list[str], flags: str = "", *, solid: bool = False) -> int:
    """How many exits the pattern has, which have to say what `re` does."""
    tree = parse_regex(pattern, flags=flags)
    made = matches(tree, solid=solid)
    found, beginning = made.exits, made.begins
    if solid:
        pattern = rf"(?:{pattern})(?<=[\s\S])"  # of a text that begins here: not of nothing
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        oracle = re.compile(pattern, sum(re.RegexFlag[flag.upper()] for flag in flags))
    for text in texts:
        match = oracle.match(text)
        splits = ((text[:i], text[i:]) for i in range(len(text) + 1))
        ends = [len(w) for w, rest in splits if any(splits_so(e, w, rest) for e in found)]
        assert ends == ([match.end()] if match else []), (pattern, text)
        assert contains(beginning, text.encode()) == bool(match), (pattern, text)
    return len(found)


def splits_so(way: Exit, text: str, rest: str) -> bool:
    return contains(way.text, text.encode()) and contains(way.after, rest.encode())


def drawn(draw: random.Random, depth: int, looks: bool, letters: str = "ab") -> str:
    """A pattern: greedy, lazy, ordered, with lookaround if asked for."""

    def part() -> str:
        return drawn(draw, depth - 1, looks, letters)

    kind = draw.random()
    if depth == 0 or kind < 0.25:
        return draw.choice([*letters, *letters, *LEAVES])
    if kind < 0.45:
        return part() + part()
    if kind < 0.62:
        return "(?:" + "|".join(part() for _ in range(draw.randint(2, 3))) + ")"
    if kind < 0.85 or not looks:
        return f"(?:{part()}){draw.choice(SIGNS)}{draw.choice(['', '?'])}"
    return draw.choice([f"(?={part()})", f"(?!{part()})", *LOOKS])


@pytest.mark.parametrize(("seeds", "deepest", "size", "least"), [
    (range(150), 4, 4, 110),
    pytest.param(range(1000, 7000), 5, 6, 4500, marks=pytest.mark.slow),
])  # fmt: skip
def test_what_is_preferred_is_what_re_prefers(
    seeds: range, deepest: int, size: int, least: int
) -> None:
    taken = 0
    for seed in seeds:
        draw = random.Random(seed)
        letters = draw.choice(["ab", "aB", "a ", "b\n"])
        pattern = drawn(draw, draw.randint(2, deepest), draw.random() < 0.6, letters.strip())
        for flag in draw.sample("is", draw.choice([0, 0, 1])):
            pattern = f"(?{flag}:{pattern})"
        try:
            check(pattern, short_strings(letters + "c", size), solid=seed % 3 == 0)
            taken += 1
        except UnsupportedError as error:
            assert error.feature == "lookbehind"  # noqa: PT017  it is one of many outcomes
    assert taken > least


@pytest.mark.parametrize("pattern", [
    r"(a|b)c*?\1", r"a*?(a|ba|bb)(c|b)*\1", r"([ab]{2}?)c(b|a)\2?\1", r"(?P<q>aab|ab)b*?(?P=q)",
    r"(?:(a|b)c\1)+", r"b(?:a*(a|b)c)b?\1", r"(a)(?=(b|bc)c)\1|([ab])\3\3",
])  # fmt: skip
def test_references_are_written_out(pattern: str):
    check(pattern, short_strings("abc", 5))


def test_flags_are_honoured():
    verbose = "a  +  # letters\n|b.(?=[\n])"
    assert check(verbose, short_strings("ab\n", 4), "x") == 2
    assert check(verbose, short_strings("ab\n", 4), "xs") == 2
    assert check("K+|ſ", short_strings("kK\u212aſsS", 3), "i") == 2
    for flags in ("", "m"):
        assert check("a.*$", short_strings("a\nb", 5), flags) == 1


@pytest.mark.parametrize(
    ("pattern", "feature", "place"),
    [
        ("a*^b", "lookbehind", "line 1, column 3"),
        ("x*(?<!a)b", "lookbehind", "line 1, column 3"),
        (r"\bif", "lookbehind", "line 1, column 1"),
        (r"(?m)^if", "lookbehind", "line 1, column 5"),
        (r"(a)*\1", "backreference", "line 1, column 5"),
        (r"(a|b)?c\1", "backreference", "line 1, column 8"),
        (r"((a)b)\2\1", "backreference", "line 1, column 9"),
        (r"(?:(a)|b)\1", "backreference", "line 1, column 10"),
        (r"(a|ab)(c|b)*\1", "backreference", "line 1, column 13"),
        (r"(|a)b\1", "backreference", "line 1, column 6"),
        (r"([ab]{9})\1", "backreference", "line 1, column 10"),
        (r"((?=a)a)\1", "backreference", "line 1, column 9"),
        (r"([a-z]|[A-Z]{1,3})\1", "backreference", "line 1, column 19"),
        (r"(?:([a-p][a-p])" + "b?" * 100 + r"\1)", "backreference", "line 1, column 216"),
        (r"(?i:(a)\1)", "backreference", "line 1, column 8"),
        (r"ab(?<=(?=b)b)", "lookaround", "line 1, column 7"),
    ],
)
def test_what_looks_elsewhere_is_refused_with_its_place(pattern: str, feature: str, place: str):
    with pytest.raises(UnsupportedError, match="terminal") as error:
        matches(parse_regex(pattern))
    assert (error.value.feature, error.value.place) == (feature, place)


def test_what_is_too_large_is_refused():
    with pytest.raises(LimitError, match="states") as error:
        matches(parse_regex("(?:[ab]*a[ab]{13})?b"))
    assert error.value.limit == "states of a pattern"
    with pytest.raises(LimitError, match="300 different sets of characters") as error:
        matches(parse_regex("|".join(f"{chr(code)}+?b" for code in range(0x4E00, 0x4E00 + 298))))
    assert error.value.needed == 300


def test_an_automaton_of_many_states_is_no_larger_as_an_expression():
    vocabulary = gw.Vocabulary([b"a", b"b", b"c", None], {3})
    made = gw.compile(gw.Lark('start: /[ab]*a[ab]{7}/ "c"'), vocabulary)
    assert made.matches("ba" + "b" * 7 + "c")
    assert not made.matches("bb" + "b" * 7 + "c")


def terminals() -> dict[str, str]:
    """The regular expressions of the terminals of python.lark and common.lark; no tables."""
    python = lark.Lark.open_from_package(
        "lark", "python.lark", ["grammars"], parser="earley", lexer="basic", start="file_input",
        postlex=PythonIndenter(),
    )  # fmt: skip
    common = """
        CNAME C_COMMENT CPP_COMMENT CR DECIMAL DIGIT ESCAPED_STRING FLOAT HEXDIGIT INT LETTER LF
        NEWLINE NUMBER SH_COMMENT SIGNED_FLOAT SIGNED_INT SIGNED_NUMBER SQL_COMMENT UCASE_LETTER
        LCASE_LETTER WORD WS WS_INLINE
    """.split()  # noqa: SIM905  a list of words
    imports = "".join(f"%import common.{name}\n" for name in common)
    shared = lark.Lark(f"start: {'|'.join(common)}\n{imports}", parser="earley")
    return {each.name: each.pattern.to_regexp() for each in [*python.terminals, *shared.terminals]}


TERMINALS = terminals()
REGEXES = {name: each for name, each in TERMINALS.items() if not each.isalpha()}
PIECES = {
    "STRING": ["'", '"', '""', "\\", "u", "R", "b", "a", "\n"],
    "LONG_STRING": ["'''", '"""', '"', "\\", "f", "rB", "a", "\n"],
    "ESCAPED_STRING": ['"', "\\", "a", "\n"],
    "C_COMMENT": ["/*", "*", "/", "a", "\n"],
    "NAME": ["a", "é", "_", "1", "٣", "-", "\u0301"],
}
QUOTED = ['""', '"""', '""""', '"a"', '"a""', r'"\""', r'"\\"', 'rb"a\\"', "''", "u''", "'\n'"]
SPECIAL = {  # a number gives a digit back, and two quotes are a string unless a third comes
    "DEC_NUMBER": ["0", "00", "001", "0_0_1", "0_01", "01", "10", "1_0_", "00_", "0a"],
    "STRING": [text + more for text in QUOTED for more in ["", "a", '"', "'"]],
}
NUMBERS = ["0", "1", "9", "_", ".", "e", "E+", "-", "x", "0b", "0O", "7", "J", "a", "F"]
OTHERS = ["a", "Z", "_", "0", " ", "\t", "\f", "\r", "\n", "#", "/", "//", "--", "é", "\\", "+"]


@pytest.mark.parametrize("name", sorted(REGEXES))
def test_terminals_of_larks_own_grammars(name: str):
    draw = random.Random(name)
    pieces = PIECES.get(name) or (NUMBERS if re.search("NUMBER|INT|DEC|FLOAT", name) else OTHERS)
    texts = ["".join(draw.choices(pieces, k=draw.randint(0, 7))) for _ in range(60)]
    texts += [REGEXES[name], REGEXES[name] + "a", *SPECIAL.get(name, ())]
    assert check(REGEXES[name], texts) >= (2 if name in SPECIAL else 1)


@pytest.mark.parametrize("lexer", ["contextual", "dynamic"])
def test_a_terminal_that_is_too_large_is_named(lexer):
    with pytest.raises(LimitError, match=r"the terminal BIG: the automaton of a pattern has more"):
        lower_source(gw.Lark(f'start: BIG "c"\nBIG: /{HUGE}/', lexer=lexer))
