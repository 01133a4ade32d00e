"""Lark's LALR mode: the `Lark` object of the same mode says what is right."""

import random
import re
from itertools import product

import lark
import pytest
from lark.indenter import PythonIndenter

import guideway as gw
from guideway.api.parsing.lark import captured
from guideway.constraint.lowering import lower_source
from guideway.context_free.lark.grammar import END, LarkTable
from guideway.context_free.lark.lalr_automaton import Automaton, completes, shrinks
from guideway.context_free.lark.lowering import freedom, lower_lark_dynamic
from guideway.context_free.lark.reader import read_lark
from guideway.context_free.lark.scanners import Scanners
from guideway.context_free.lark.source import Lark
from guideway.errors import (
    GuidewayError,
    LimitError,
    SourceError,
    UnsatisfiableError,
    UnsupportedError,
)
from guideway.language.derivative import Derivatives
from guideway.language.pushdown import Frame
from lark_samples import (
    Blocks,
    OutOfFuelError,
    accepted,
    by_chance,
    lowered,
    parsed,
    python_lark,
    python_tree,
)
from plain_texts import matches, short_strings

MANY = " | ".join(f'"{n:b}"'.translate({48: "a", 49: "b"}) for n in range(1, 64) if n % 5)
GRAMMARS = [
    'start: "a" start | "b"',  # right recursion,
    "start: | start x\nx: A | B\nA: /a+/\nB: /[bc]/",  # left recursion, and nothing at all
    'start: s\ns: "a" s | "a" s "b" s | "c"',  # an else that dangles: shifted
    'start: n\nn: | "a" n "b"',
    # Terminals: what is preferred, and which comes first.
    "start: A B\nA: /a+/\nB: /ab?/",
    "start: A | B A\nA.2: /a/\nB: /[ab]/",
    'start: A*\nA: /a(?=b)/ | "b" | "c" "a"',
    'start: "A"i "b" | /a+?c/ "b"',
    # Strings inside of a regex: by state, by priority, with other flags, as what is ignored.
    'start: KW N | N "c"\nKW: "ab"\nN: /[ab]+/\n%ignore /c/',
    'start: (K | N "c")*\nN: /[ab]+/\nK.1: "ab"',
    'start: (K | N "c")*\nN: /[ab]+/\nK: "AB"i',
    'start: (K | L | N "c")+\nN: /[ab]+/i\nK: "ab"i\nL: "a"\n',
    'start: (K | N "c")+\nN: /[ab]+/i\nK: "AB"i\nL: "ab"\n%ignore L',
    "start: A+\nA: /a/\nB: /b/\n%ignore B\n%ignore /c(?=a)/",
    'start: (K | L | N "c")+\nN: /[ab]/i\nK: "a"i\nL: "A"i',
    'start: (K | L | M | N "c")+\nN: /[ab]+/\nK: "AB"i\nL: "ab"\nM: "Ba"i',
    'start: (K | "c" L | M M | N)+\nN: /[ab]+(?=c)/i\nK: "AB"i\nL: "aB"i\nM: "abb"i\n',
    # Many strings that begin one another; a group by its name, which the lexer counts as its own.
    f"start: x+\nx: {MANY}",
    "start: A A\nA: /(?P<first>a|b)c?(?P=first)/",
    "start: (" + " | ".join(f'"{"a" * n}"' for n in range(2, 24)) + ' | "b"i | "aB")+',
    # Many regexes that match before others do.
    "start: (" + " | ".join(f"/[ab]{{{n}}}c?/" for n in range(1, 40)) + " | /[ab]+/)+",
    # Rules without a text.
    'start: "a" | y x\ny: "b" "c"\nx: "b" x',
    'start: "a" | "c" "b" x y\nx: "a" "c"\ny: "b" y',
    # A terminal is taken behind which nothing can be, at the beginning, later, and by a rule.
    'start: "a"+ | A NO\nA.2: /a(?=b)/\n%ignore "b"\n%declare NO',
    'start: ("a" | "b" | B NO "a")+\nB.2: /bb/\n%ignore "c"\n%declare NO',
    'start: ("a" | x y)+\nx: "b"\ny: NO | "c" y NO\n%declare NO',
    'start: "a" | x | x "b" "a"\nx: y NO | "a" "c"\ny: "b"+\n%declare NO',
    # What is ignored is not read: nor are strings that it matches, if nothing else does.
    'start: "a" start | "b" "c" | "ab"\n%ignore /c+/',
    'start: W "a" | "b" W? "a"\nW: /c+/\n%ignore W',
    'start: "a" K | "b" "b"+\nK: "c"i\n%ignore /c/',
    'start: "a" K | "b" "b"+\nK.1: "c"\n%ignore /c/',
    'start: "a" ("bc" | "c") | "b"\n%ignore /b?c/',
    # Priorities of rules tell reductions apart.
    'start: x "b" | y "b" "c"\nx.2: "a"\ny: "a"',
]


@pytest.mark.parametrize("text", GRAMMARS)
def test_texts_are_those_that_lark_parses(text):
    assert accepted(lowered(text), "abc", 6) == parsed(lark.Lark(text, parser="lalr"), "abc", 6)


@pytest.mark.parametrize("more", ["", "A", "B"])
def test_many_strings_of_any_case_are_told_apart(more):
    words = (f'"{n:b}"'.translate({48: "a", 49: "b"}) + "i" * (n % 3 > 0) for n in range(1, 64))
    some = [word for n, word in enumerate(words) if n % 4]
    text = f"start: x+\nx: {' | '.join([*some, *more])}\nA: /aab?/i\nB.2: /b[ab]/"
    assert accepted(lowered(text), "aAbB", 5) == parsed(lark.Lark(text, parser="lalr"), "aAbB", 5)


GROWING = [
    'start: "b" | y "a"\ny: "a" y |',
    'start: y "a" | "b" "c"*\ny: "a" y "b" |',
    'start: x y? "b"\nx: "a" x | "c"\ny: "b" y "a" | "b"',
    'start: "b" | x "c"\nx: y x "a" |\ny: "a"',
]


@pytest.mark.parametrize("text", GROWING)
@pytest.mark.parametrize("pattern", [None, "[abc]*", "(..)*", "a*[bc]c?", "(?!b)[abc]*"])
def test_stacks_that_grow_for_ever_are_decided(text, pattern):
    told = parsed(lark.Lark(text, parser="lalr"), "abc", 6)
    source = gw.Lark(text)
    if pattern is not None:
        told = {each for each in told if re.fullmatch(pattern, each)}
        source &= gw.Regex(pattern)
    expr = lower_source(source)
    assert (accepted(expr, "abc", 6) if Derivatives(expr).alive(expr) else set()) == told


def compared(seed: int, length: int) -> bool | None:
    """Whether both agree about a grammar by chance; None where Lark refuses it."""
    text = by_chance(seed)
    try:
        parser = lark.Lark(text, parser="lalr")
    except lark.exceptions.LarkError as error:
        # By the dynamic lexer what looks at what stands before it is refused.
        if "Reduce/Reduce" not in str(error) or "(?<" in text:
            return None
        parser, length = lark.Lark(text, ambiguity="forest"), length - 2
    try:
        mine = accepted(lowered(text), "abc", length)
    except (UnsatisfiableError, OutOfFuelError) as error:
        mine = set()
        if isinstance(error, OutOfFuelError):
            return None if not parsed(parser, "abc", length) else False
    assert mine == parsed(parser, "abc", length), text
    return True


@pytest.mark.parametrize(
    ("seeds", "length", "least", "refused"),
    [
        (range(40), 5, 20, []),
        # An ambiguous one with lookahead takes more than the fuel of `accepted` from 6 letters on.
        pytest.param(range(1000, 2500), 7, 700, [1440], marks=pytest.mark.slow),
    ],
)
def test_grammars_by_chance_agree_with_lark(seeds, length, least, refused):
    found = [compared(seed, length) for seed in seeds]
    assert [seed for seed, same in zip(seeds, found, strict=True) if same is False] == refused
    assert found.count(True) > least


def test_a_string_that_is_not_ascii_is_told_from_a_name():
    text = 'start: "é"i "a" | "a"i N | N "É"\nN: /[aé]+/i'
    parser, machine = lark.Lark(text, parser="lalr"), Derivatives(lowered(text))
    read = {each for each in short_strings("aAéÉ", 4) if matches(machine, each)}
    assert read == parsed(parser, "aAéÉ", 4)


INDENTED = [
    'start: _NL? item+\nitem: "a" _NL [_IN item+ _OUT]\n_NL: /(\\n *)+/\n%declare _IN _OUT',
    'start: item+\nitem: "(" _NL? "a" ")" _NL | "a" _NL _IN item+ _OUT\n_NL: /(\\n *)+(?!\\))/\n'
    "%declare _IN _OUT\n%ignore / /",
    'start: item+\nitem: "a"+ ")"? _NL | "(" "a"* ")" _NL _IN item+ _OUT\n_NL: /(\\n|b)+[ b]*/\n'
    "%declare _IN _OUT",
    'start: item+\nitem: "a" _NL | "(" _NL _IN item+ _OUT _NL\n_NL: /(\\n *)+/\n%ignore /[ b]+/\n'
    "%declare _IN _OUT",
    'start: item+\nitem: _ITEM item+ _OUT | "a" _NL [_IN item+ _OUT]\n_ITEM: "-"\n_NL: /(\\n *)+/\n'
    "%declare _IN _OUT",
    'start: item+\nitem: _ITEM item+ _OUT | "(" _ITEM? "a"* ")" _NL\n_ITEM: "- "\n_NL: /(\\n *)+/\n'
    "%declare _IN _OUT\n%ignore / /",
]


@pytest.mark.parametrize("text", INDENTED)
def test_blocks_are_those_of_the_indenter(text):
    expr = lowered(text, postlex=Blocks)
    parser = lark.Lark(text, parser="lalr", postlex=Blocks())
    for letters, length in (("a\n ", 7), ("a\n ()", 5), ("ab\n\t", 5), ("a-\n ", 7), ("(- \n)", 6)):
        assert accepted(expr, letters, length) == parsed(parser, letters, length)


def test_widths_are_remembered_for_as_long_as_their_blocks_are_open():
    machine = Derivatives(lowered(INDENTED[0], postlex=Blocks))
    parser = lark.Lark(INDENTED[0], parser="lalr", postlex=Blocks())
    for lines in product(["a", "  a", "   a", "\ta", "\t\t a"], repeat=3):
        text = "\n".join(["a", *lines, ""])
        try:
            parser.parse(text)
        except lark.exceptions.LarkError:
            assert not matches(machine, text)
        else:
            assert matches(machine, text)


DOUBLED = "\n".join(f"r{number}: r{number + 1} r{number + 1}" for number in range(21))
ROWS = " | ".join(f"A B C D E F G /{number}/" for number in range(40))
LETTERS = "\n".join(f"{letter}: /{letter}*/" for letter in "ABCDEFG")


@pytest.mark.parametrize("lexer", ["contextual", "dynamic"])
@pytest.mark.parametrize(("text", "error", "said"), [
    (r"start: /\ba/", UnsupportedError,
     "the terminal /.ba/: lookbehind beyond the beginning of a terminal"),
    (r"start: /(a*)\1/", UnsupportedError, "the terminal .*reference"),
    ("start: /(?P<x>a)*(?P=x)/", UnsupportedError, "the terminal .*a reference to a group"),
    ("start: /a++/", UnsupportedError, r"the terminal /a\+\+/: possessive quantifiers"),
    ('start: "a" start', UnsatisfiableError, "leads to one of them: start$"),
    ('start: x ("a" x)* | y\nx: x "b"\ny: "c" z\nz: y', UnsatisfiableError,
     "one of them: start, x, y, z$"),
    (f'start: r0\n{DOUBLED}\nr21: "x"', LimitError,
     "at least 2097152 characters; at most 1048576 are allowed"),
    (f"start: {ROWS}\n{LETTERS}", LimitError,
     "more than 4096 rows in the rules, in start and others"),
    # What may be nothing in some places only.
    *((f"start: X\nX: {pattern}", SourceError, "the terminal X may match nothing, and looks around")
      for pattern in ("/(?=a)/", r"/\b/", "/$/", "/a*(?!b)/", "/(?<=a)b?/")),
])  # fmt: skip
def test_what_cannot_be_taken_exactly_is_refused_by_name(text, error, said, lexer):
    with pytest.raises(error, match=said) as refused:
        lowered(text, lexer=lexer)
    if said.endswith("a terminal"):
        assert refused.value.feature == "lookbehind"


@pytest.mark.parametrize(("lexer", "text", "error", "said"), [
    ("contextual", 'start: X "b"\n%declare X', UnsatisfiableError,
     "no text ends: X declared, and nothing says what that matches"),
    ("dynamic", 'start: X "b"\n%declare X', UnsupportedError, "the terminal X is only declared"),
    ("contextual", 'start: "b" /(?i)a/', UnsupportedError,
     "the terminal .*: flags for the whole pattern"),
])  # fmt: skip
def test_what_one_lexer_cannot_take_is_refused(lexer, text, error, said):
    with pytest.raises(error, match=said):
        lowered(text, lexer=lexer)


def test_texts_that_are_long_and_deep_are_read():
    machine = Derivatives(lowered('start: "(" start ")" | item ("," item)*\nitem: /[a-z]+/'))
    assert matches(machine, "(" * 300 + "ab" + ",c" * 300 + ")" * 300)
    assert len(machine.shortest(machine.start())) == 1


def test_what_is_never_read_in_one_state_alone_leads_nowhere_there():
    expr = lowered('start: /[ab]+/ "aa" | "aa" "c"\n%ignore /a{1,2}/\n%ignore " "')
    machine = Derivatives(expr)
    begun = [chr(byte) for byte in range(256) if machine.step(expr, byte) is not None]
    assert begun == [" ", "a"]  # as Lark ignores "aa" behind "b"


# Lark's Earley parser with its dynamic lexer is the oracle, text by text.

HAND = [
    's: s s | "a"',
    's: s s | "a" |',
    's: x s "a" | "b"\nx: "c"?',
    's: x "a" | "b"\nx: s "b" | y\ny: x | s "c" |',
    's: x\nx: y\ny: x |',
    's: x* "c"\nx: "a"? "b"?',
    's: (A | B)+\nA: /a+/\nB: "ab"',
    's: "a" s "b" | "a" s "c" |\n%ignore /c+/',
    's: A? \nA: "a"\n%ignore /b+/',
    's: A s | A\nA: /a(?=b)|b(?!b)|a(?=$)/',
    's: A "c"\nA: /[ab]*?b/ | "ca"',
    's: A ~ 2..3 [B]\nA: /a|ab/\nB: "b"i',
    's: A B\nA: /[^a]/s\nB: /./s\n%ignore /a/',
    's: A B?\nA: /(a|b)c*?\\1/\nB: /(?P<q>[ab]).(?P=q)/',
    's: (A "b")* A\nA: /a|(?<!c)c/',
]  # fmt: skip


def check(grammar: str, size: int, start: str = "s") -> bool:
    """Whether the grammar is taken; if it is, it has to have the texts that it has for Lark."""
    try:
        oracle = lark.Lark(grammar, start=start, ambiguity="forest")
    except lark.exceptions.GrammarError:
        return False
    expected = parsed(oracle, "abc", size)
    try:
        found = accepted(
            lower_lark_dynamic(read_lark(Lark(grammar, start, "dynamic"))), "abc", size
        )
    except UnsatisfiableError:
        found = set[str]()
    except UnsupportedError as error:
        assert error.feature == "lookbehind"  # noqa: PT017  it is one of several outcomes
        return False
    assert found == expected, (grammar, sorted(found ^ expected)[:5])
    return True


@pytest.mark.parametrize("grammar", HAND)
def test_a_grammar_has_the_texts_that_it_has_for_lark(grammar: str):
    assert check(grammar, 4) or "?<!" in grammar


@pytest.mark.untraced
@pytest.mark.parametrize(
    ("seeds", "size", "least"),
    [(range(30), 3, 15), pytest.param(range(1000, 1040), 7, 30, marks=pytest.mark.slow)],
)
def test_random_grammars_have_the_texts_that_they_have_for_lark(seeds, size, least):
    assert sum(check(by_chance(seed), size, "start") for seed in seeds) > least


def test_a_terminal_that_never_matches_leaves_its_alternative_out():
    expr = lowered('start: "a" A | "b" A? | "c"\nA: /a(?!a)(?=a)b/', lexer="dynamic")
    assert accepted(expr, "abc", 3) == {"b", "c"}
    with pytest.raises(UnsatisfiableError, match="these rules leads to one of them: start"):
        lowered("start: A\nA: /(?!a)a/", lexer="dynamic")


@pytest.mark.parametrize("grammar", HAND[:-2])
def test_what_may_be_empty_may_be_repeated(grammar: str):
    try:
        texts = accepted(lowered(grammar, start="s", lexer="dynamic"), "abc", 4)
    except UnsatisfiableError:
        return
    twice = gw.repeat(Lark(grammar, "s", "dynamic"), 0, 2)
    pairs = {a + b for a, b in product({*texts, ""}, repeat=2)}
    assert accepted(lower_source(twice), "abc", 4) == {text for text in pairs if len(text) <= 4}


# What may be nothing: the same grammar in Lark alone, `T?` for such a T, says what is right.

LEXERS = ("contextual", "dynamic")
HOLLOW = (  # patterns, and the same of one character at least: as wide and as long
    ("/[ab]*/", "/[ab]+/"), ("/a*/", "/a+/"), ("/b*?/", "/b+?/"), ("/b{0,1}/", "/b{1,1}/"),
    ('"" | "b"', "/(?:b|(?!))/"), ("/(?:ab|c|)/", "/(ab|c){1}/"), ('"a"*', "/(?:a)+/"),
    ("/(|a)c{,1}/", "/ac{0,1}|c/"), ("/c*/i", "/c+/i"),
)  # fmt: skip
WHOLE = ('"a"', '"b"', '"ab"', '"c"', "/a+/", "/[bc]+?/", "/a(?=b)/", "/b(?!c)/", "/ab?/")


def drawn_of_empty(draw: random.Random) -> tuple[str, str]:
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


def compared_of_empty(seed: int, lexer: str, size: int) -> bool:
    """Whether Lark takes the grammar; then both have the same texts."""
    ours, theirs = drawn_of_empty(random.Random(seed))
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
@pytest.mark.parametrize(
    ("seeds", "size", "least"),
    [(range(50), 4, 20), pytest.param(range(1000, 1250), 6, 150, marks=pytest.mark.slow)],
)
def test_grammars_by_chance_are_those_that_leave_it_out(seeds, size, least, lexer):
    assert sum(compared_of_empty(seed, lexer, size) for seed in seeds) >= least


@pytest.mark.parametrize(("ours", "theirs"), [
    ('start: ("" | "a")* "b"', 'start: "a"* "b"'),
    ('start: x ""\nx: x "" | "a" | x ""+ "b"', 'start: x\nx: "a" | x "b"'),
    ('start: ""* W "c"\nW: ""\n%ignore W', 'start: "c"'),
    ('start: "a" W "b" W "c"\nW: /[ac]*/', 'start: "a" W? "b" W? "c"\nW: /[ac]+/'),
    ('start: K W "c"\nK: "ab"\nW: /[ab]*/', 'start: K W? "c"\nK: "ab"\nW: /[ab]+/'),
    ('start: "c" W // ""\nW: /(|ab|a""|[\\/]")b*/', 'start: "c" W?\nW: /(ab|a""|b)b*/'),
])  # fmt: skip
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


# Where each stack of Lark's automaton has a text to the end, that is told once, and is so.

LONGEST = 5  # states of a path,
SEARCHED = 400  # and stacks searched for the end of one


def test_python_is_free():
    # What is read at Python's prompt took more than 30 s to the first mask.
    for start in ("single_input", "eval_input"):
        text = python_lark().read_text()
        own = read_lark(Lark(text, start=start, postlex=PythonIndenter))
        assert freedom(own, Scanners(own)) is not None
    grammar = python_tree()
    found = freedom(grammar, Scanners(grammar))
    assert found is not None
    assert found.spacer == b"\t"
    assert len(found.lines) == 1


def comes_to_its_end(
    automaton: Automaton, table: LarkTable, stack: Frame, avoided: frozenset[str]
) -> bool:
    """Search breadth first for terminals that lead to the end."""
    todo, seen = [stack], {stack}
    for frame in todo:  # grows while we go
        if automaton.ends(frame):
            return True
        for name in table.named(table.wanted[frame.state]):
            after = None if name in avoided else automaton.feed(frame, name)
            if after is not None and after not in seen and len(seen) < SEARCHED:
                seen.add(after)
                todo.append(after)
    return False


def paths(table: LarkTable, automaton: Automaton, met: frozenset[str]) -> list[Frame]:
    """All short stacks on which a terminal has been put last, and the first stack."""
    found, todo = [automaton.start], [automaton.start]
    for frame in todo:  # grows while we go
        for rows in (table.shifts, table.gotos) if frame.depth < LONGEST else ():
            for symbol, after in rows[frame.state].items():
                if after != table.end and (rows is table.gotos or symbol in met):
                    todo.append(frame.push(after))
                    found += [todo[-1]] if rows is table.shifts else []
    return found


def test_each_stack_comes_to_its_end_without_what_is_avoided():
    told = 0
    for seed in range(60):
        text = by_chance(seed)
        try:
            lark.Lark(text, parser="lalr")
            grammar = read_lark(Lark(text))
        except (lark.exceptions.LarkError, GuidewayError):
            continue
        table = grammar.table
        assert table is not None
        automaton = Automaton(table, grammar.start, dict.fromkeys(table.terminals, 1))
        names = frozenset(table.terminals)
        unread = names.difference({END}, *table.shifts)
        for avoided in (unread, *(unread | {name} for name in sorted(names - {END}))):
            if completes(grammar, table) and shrinks(table, grammar.start, avoided):
                for path in paths(table, automaton, names):
                    assert comes_to_its_end(automaton, table, path, avoided), (text, avoided)
                told += 1
    assert told > 20
