r"""What may be nothing: the same grammar in Lark alone, `T?` for such a T, says what is right."""

import random

import lark
import pytest

import guideway as gw
from guideway.api.parsing.lark import captured
from guideway.context_free.lark.reader import read_lark
from guideway.context_free.lark.source import Lark
from guideway.errors import LimitError, SourceError, UnsatisfiableError, UnsupportedError
from lark_samples import OutOfFuelError, accepted, lowered, parsed

LEXERS = ("contextual", "dynamic")
HOLLOW = (  # patterns, and the same of one character at least: as wide and as long
    ("/[ab]*/", "/[ab]+/"), ("/a*/", "/a+/"), ("/b*?/", "/b+?/"), ("/b{0,1}/", "/b{1,1}/"),
    ('"" | "b"', "/(?:b|(?!))/"), ("/(?:ab|c|)/", "/(ab|c){1}/"), ('"a"*', "/(?:a)+/"),
    ("/(|a)c{,1}/", "/ac{0,1}|c/"), ("/c*/i", "/c+/i"),
)  # fmt: skip
WHOLE = ('"a"', '"b"', '"ab"', '"c"', "/a+/", "/[bc]+?/", "/a(?=b)/", "/b(?!c)/", "/ab?/")


def drawn(draw: random.Random) -> tuple[str, str]:
    """A grammar in which A and B may be nothing, and the same one for Lark."""

    def item(deep: int) -> tuple[str, str]:
        kind = draw.random()
        if kind < 0.3:
            name, sign = draw.choice("AB"), draw.choice(["", "", "?", "*", "+"])
            return name + sign, name + {"": "?", "+": "*"}.get(sign, sign)
        if kind < 0.4:
            return draw.choice(['""', '""i', '""~2', '""*', '""+', '(""?)', "nothing{C}"]), ""
        if kind < 0.5 and deep:
            (ours, theirs), sign = row(0), draw.choice("?*+")
            return (f"({ours}){sign}", f"({theirs}){sign}") if theirs else (ours, theirs)
        same = draw.choice(["C", "D", "x", "twice{C}"])
        return same, same

    def row(deep: int) -> tuple[str, str]:
        items = [item(deep) for _ in range(draw.choice([1, 2, 3]))]
        return " ".join(ours for ours, _ in items), " ".join(theirs for _, theirs in items)

    lines = [('nothing{t}: "" | ""~1..2', ""), ("twice{t}: t t",) * 2]
    for rule in ("start", "x"):
        options = [row(1) for _ in range(draw.choice([1, 2]))]
        last = draw.choice(['"c"', "D", '"b"'])
        lines.append(
            tuple(f"{rule}: {' | '.join([*each, last])}" for each in zip(*options, strict=True))
        )
    lines += [tuple(f"{name}: {each}" for each in draw.choice(HOLLOW)) for name in "AB"]
    lines += [(f"{name}: {draw.choice(WHOLE)}",) * 2 for name in "CD"]
    if draw.random() < 0.3:
        lines.append(tuple(f"%ignore {each}" for each in draw.choice([*HOLLOW[1:4], ("A", "A")])))
    ours, theirs = zip(*lines, strict=True)
    return "\n".join(ours), "\n".join(theirs)


def compared(seed: int, lexer: str, size: int) -> bool:
    """Whether Lark takes the grammar; then both have the same texts."""
    ours, theirs = drawn(random.Random(seed))
    options = {"parser": "lalr"} if lexer == "contextual" else {}
    try:
        oracle = lark.Lark(theirs, **options)
    except lark.exceptions.LarkError:
        return False
    try:
        found = accepted(lowered(ours, lexer=lexer), "abc", size)
    except UnsatisfiableError:
        found = set[str]()
    except OutOfFuelError:
        return False
    except SourceError as error:  # a rule of nothing, as `nothing` is, stays one
        assert "collision" in str(error)  # noqa: PT017
        return False
    assert found == parsed(oracle, "abc", size), (ours, theirs)
    return True


@pytest.mark.parametrize("lexer", LEXERS)
def test_grammars_by_chance_are_those_that_leave_it_out(lexer):
    assert [compared(seed, lexer, 4) for seed in range(50)].count(True) >= 20


@pytest.mark.slow
@pytest.mark.parametrize("lexer", LEXERS)
def test_many_grammars_by_chance_are_those_that_leave_it_out(lexer):
    assert [compared(seed, lexer, 6) for seed in range(1000, 1250)].count(True) > 150


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ('start: ("" | "a")* "b"', 'start: "a"* "b"'),
        ('start: "" | "a" start', 'start: | "a" start'),
        ('start: x ""\nx: x "" | "a" | x ""+ "b"', 'start: x\nx: "a" | x "b"'),
        ('start: ""* W "c"\nW: ""\n%ignore W', 'start: "c"'),
        ('start: "a" W "b" W "c"\nW: /[ac]*/', 'start: "a" W? "b" W? "c"\nW: /[ac]+/'),
        ('start: (W W)* "c"\nW: /a?/', 'start: W* "c"\nW: /a/'),
        ('start: K W "c"\nK: "ab"\nW: /[ab]*/', 'start: K W? "c"\nK: "ab"\nW: /[ab]+/'),
        ('start: "c" W // ""\nW: /(|ab|a""|[\\/]")b*/', 'start: "c" W?\nW: /(ab|a""|b)b*/'),
    ],
)
@pytest.mark.parametrize("lexer", LEXERS)
def test_what_may_be_nothing_is_left_out(ours, theirs, lexer):
    oracle = lark.Lark(theirs, parser="lalr" if lexer == "contextual" else "earley")
    assert accepted(lowered(ours, lexer=lexer), "abc", 6) == parsed(oracle, "abc", 6)


def test_what_is_nothing_in_imported_and_nested_grammars():
    imports = {"n": 'x: ("" | "a") B\nB: "b" | ""'}
    text = 'start: x "c" %lark {start: "" | "b" x\nx: ""~2 A\nA: /a*/}\n%import n.x'
    for lexer in (None, *LEXERS):
        expr = lowered(text, lexer=lexer, imports=imports)
        heads, tails = ["", "a", "b", "ab"], ["", "b", "ba", "baa"]
        expected = {f"{head}c{tail}" for head in heads for tail in tails}
        assert accepted(expr, "abc", 4) == {each for each in expected if len(each) < 5}


def test_the_tree_has_no_terminal_of_nothing():
    grammar = read_lark(Lark('start: "" A B C\nA: ""\nB: /b*/\nC: "c"\n%ignore ""\n%ignore A'))
    assert [(each.name, each.solid, each.min_width) for each in grammar.terminals.values()] == [
        ("B", True, 1),
        ("C", False, 1),
    ]
    assert grammar.rules == {"start": (("B", "C"), ("C",))}
    assert grammar.ignored == ()


@pytest.mark.parametrize("pattern", ["/(?=a)/", r"/\b/", "/$/", "/a*(?!b)/", "/(?<=a)b?/"])
def test_what_may_be_nothing_in_some_places_only_is_refused_by_name(pattern):
    with pytest.raises(SourceError, match=r"the terminal X may match nothing, and looks around"):
        read_lark(Lark(f"start: X\nX: {pattern}"))


def test_what_is_no_regex_here_is_refused_as_that():
    with pytest.raises(UnsupportedError, match="the terminal X: possessive"):
        lowered("start: X\nX: /a*+/")


def test_a_pattern_that_only_seems_to_match_nothing_is_not_left_out():
    grammar = read_lark(Lark(r"start: X" + "\n" + r"X: /(a)?\1/", lexer="dynamic"))
    assert grammar.rules == {"start": (("X",),)}


def test_the_rest_of_long_rows_is_made_once():
    many = "W " * 9
    grammar = read_lark(Lark(f'start: {many} "a" | "b" {many} "a"\nW: /w*/'))
    assert [name for name in grammar.rules if "rest" in name] == ["__start_rest_0"]


def test_what_comes_to_too_many_rows_is_refused():
    rows = " | ".join(f"A B C D E F G /{number}/" for number in range(40))
    terminals = "\n".join(f"{letter}: /{letter}*/" for letter in "ABCDEFG")
    with pytest.raises(LimitError, match="more than 4096 rows in the rules, in start and others"):
        read_lark(Lark(f"start: {rows}\n{terminals}"))


def test_captures_are_found_around_what_may_be_nothing():
    text = 'start: W x W ","\nx[capture]: "b" W y\ny[capture]: "" | "c"\nW: /a*/'
    source = Lark(text)
    for word, spans in (("abaca,", {"x": (1, 4), "y": (3, 4)}), ("b,", {"x": (0, 1)})):
        found = list(captured(source, word.encode(), lambda part, begin: []))
        named = {place.name: (begin, end) for place, begin, end in found if end > begin}
        assert named == spans


def test_masks_lead_through_it():
    vocabulary = gw.Vocabulary([b"a", b" ", b"  a", b"m", b"<eos>"], eos_ids={4})
    for lexer in (None, *LEXERS):
        source = Lark('start: "a" W "" "m" W\nW: /[ ]*/', lexer=lexer)
        constraint = gw.compile(source, vocabulary)
        state = constraint.advance(constraint.start(), 0)
        assert bin(int(constraint.mask(state)[0])) == "0b1010"
        assert [constraint.matches(text) for text in ("am", "a  m ", "am m")] == [True, True, False]
