"""Lark's automaton in the kernels offers what the plain engine offers, place by place."""

import random
from functools import cache
from typing import Any

import lark
import pytest

import guideway as gw
from guideway.automaton.states import States
from guideway.automaton.token_tries import unpack
from guideway.errors import GuidewayError
from guideway.language.derivative import Derivatives
from lark_samples import Blocks, Fuel, OutOfFuelError, by_chance, lowered, parsed, short_strings
from random_walks import BYTES
from two_engines import compared


def words(letters: str, seed: int, count: int = 24) -> gw.Vocabulary:
    """Each letter, and some tokens of several."""
    dice = random.Random(seed)
    longer = {"".join(dice.choices(letters, k=dice.choice([2, 2, 3, 4]))) for _ in range(count)}
    tokens = [each.encode() for each in (*letters, *sorted(longer))]
    return gw.Vocabulary([*tokens, b"<end>"], eos_ids={len(tokens)})


def checked(seeds: range, ignored: str = "") -> int:
    """Compare grammars by chance, those that Lark takes and in which there is a text."""
    count = 0
    for seed in seeds:
        text = by_chance(seed) + ignored
        try:
            lark.Lark(text, parser="lalr")
            expr = lowered(text)
            count += compared(expr, words("abc ", seed), 3, 6, seed, fuel=Fuel())
        except (lark.exceptions.LarkError, GuidewayError, OutOfFuelError):
            continue
    return count


@pytest.mark.untraced
@pytest.mark.parametrize("ignored", ["", '\n%ignore " "', "\n%ignore / +/", "\n%ignore /c ?/"])
def test_grammars_by_chance(ignored):
    assert checked(range(12), ignored) > 20


@pytest.mark.slow
@pytest.mark.parametrize("ignored", ["", '\n%ignore " "', "\n%ignore / +/", "\n%ignore /c ?/"])
def test_many_grammars_by_chance(ignored):
    assert checked(range(100, 500), ignored) > 2000


@pytest.mark.untraced
@pytest.mark.parametrize(
    "text",
    [
        # Behind the last terminal nothing may come, not even what is ignored.
        'start: A* | | D | / +(?=[ab])/ NO\nA: "ab"\nB: /[^a]/\nC.2: "b"\n'
        "D: /[ab]+?(?=c)/\n%declare NO",
        # What is ignored goes over any space, or asks for the end; only some terminal ends it.
        'start: "a" ["b"]\n%ignore / +/',
        'start: "a" B "c"\nB: /b(?=c)/\n%ignore / +(b[^c]*)?/',
        'start: B "a" | "a" A NO\nB: /b+(?=a)/\nA.2: /a(?=b)/\n%ignore / +/\n%declare NO',
        # A terminal asks for another that stands behind it at once.
        'start: (K ":" V)*\nK: /[ab]+(?=:)/\nV: /[ab]+(?= )/\n%ignore / +/',
    ],
)
def test_what_has_to_follow_tells_whether_a_text_goes_on(text):
    assert compared(lowered(text), words("abc :", 3, 40), 4, 10, 3, fuel=Fuel()) > 2


@pytest.mark.parametrize("text", [
    'start: "n=" n ";"\nn: %json {"enum": [12]}',
    'start: "n" n\nn: %json {"type": "integer", "minimum": 1}',
    'start: "n" m ";"\nm: %lark {start: "1" start "2" |}',
    'start: "n" m ";"\nm: %lark {start: "1"*}\n%ignore "="',
])  # fmt: skip
def test_with_any_byte_begins_what_is_no_lark(text):
    assert compared(lowered(text), words("n=12;", 2, 20), 4, 10, 3, fuel=Fuel()) > 2


INDENTED = [
    (
        'start: _NL? item+\nitem: "a" _NL [_IN item+ _OUT]\n_NL: /(\\n *)+/\n%declare _IN _OUT',
        "a\n ",
    ),
    (
        'start: item+\nitem: "(" _NL? "a" ")" _NL | "a" _NL _IN item+ _OUT\n'
        "_NL: /(\\n *)+(?!\\))/\n%declare _IN _OUT\n%ignore / /",
        "a\n ()",
    ),
    (
        'start: item+\nitem: "a"+ ")"? _NL | "(" "a"* ")" _NL _IN item+ _OUT\n'
        "_NL: /(\\n|b)+[ b]*/\n%declare _IN _OUT",
        "a\n b()",
    ),
    (
        'start: (_NL | item)*\nitem: "a" ("a" | "(" "a"* ")")* _NL | "b" _NL _IN item+ _OUT\n'
        "_NL: /(\\r?\\n[\\t ]*)+/\n%ignore /[\\t ]+/\n%declare _IN _OUT",
        "ab\n\t\r ()",
    ),
    # A newline behind the end of a block: something ignored parts them.
    (
        'start: item+\nitem: "a" _NL | "b" _NL _IN item+ _OUT _NL\n_NL: /(\\n *)+/\n'
        "%ignore /[ -]+/\n%declare _IN _OUT",
        "ab\n -",
    ),
    # Items begin blocks on their line, but not within brackets.
    (
        'start: item+\nitem: _ITEM ("a" _NL | item+) _OUT | "(" _ITEM? "a" ")" _NL [_IN item+ _OUT]'
        '\n_ITEM: "- "\n_NL: /(\\n *)+/\n%ignore / /\n%declare _IN _OUT',
        "-a\n ()",
    ),
]


@pytest.mark.untraced
@pytest.mark.parametrize(("text", "letters"), INDENTED)
def test_blocks(text, letters):
    expr = lowered(text, postlex=Blocks)
    assert compared(expr, words(letters, 1, 40), 4, 10, 1) > 12


@pytest.mark.parametrize(("text", "letters"), INDENTED[1:])
def test_a_text_goes_on_in_another_pda(text, letters):
    """Wherever it stands, and within the newlines of a line too."""
    expr, vocabulary = lowered(text, postlex=Blocks), words(letters, 2)
    fast = States(expr, Derivatives(expr, vocabulary.spellable), vocabulary, gw.Budget())
    dice, state, moved = random.Random(3), fast.start(b""), 0
    for _ in range(12):
        row = unpack(fast.mask(state)).tolist()
        fast._move(state)
        assert unpack(fast.mask(state)).tolist() == row
        allowed = [token for token in row if token not in vocabulary.eos_ids]
        following = fast.after(state, dice.choice(allowed))
        assert following is not None
        state, moved = following, moved + 1
    assert moved == 12


def test_a_word_that_is_ignored_and_taken_for_another_is_nothing():
    expr = lowered('start: "a" /b+/ start | "a"\n%ignore "b"')
    assert compared(expr, words("ab", 1), 3, 5, 1) > 6


@pytest.mark.parametrize(
    ("text", "letters"),
    [
        # Something else is tried before the newline; a newline is ignored, or cannot be written.
        (INDENTED[0][0].replace("_NL:", "X.2: /\\n b/\n_NL:") + "\n%ignore X", "a\n b"),
        (INDENTED[0][0].replace("_NL:", "_NL.-1:") + "\n%ignore _NL", "a\n "),
        (INDENTED[0][0].replace("(\\n *)+", "(\\r?\\n *)+|é"), "a\n "),
    ],
)
def test_newlines_among_other_terminals(text, letters):
    expr = lowered(text, postlex=Blocks)
    assert compared(expr, words(letters, 1), 3, 6, 1) > 2


JUDGED = [
    # Before "e" Lark reads on.
    ('start: "s" x "e"\nx: "i" x ["e" x] | "x" | x "x"\n%ignore " "', "siex "),
    # What is a keyword is a name where one may stand; and one keyword begins with what is ignored.
    ('start: "d" x\nx: N "," x | N /g/ x | N\nN: /[a-g]+/\n%ignore " "', "dag, "),
    (
        'start: "s" x ("," x)* /f/ N J?\nx: N ["a" N]\nJ.5: (/l/? " "+)? "j"\nN: /[a-z]+/\n'
        '%ignore " "',
        "sfalj, ",
    ),
    # Behind "s" each "&" belongs to what it begins, so that it comes to no end behind "b".
    ('start: q | start "&" q\nq: n | n "b" n "&" n\nn: "x" | "s" start\n%ignore " "', "xsb& "),
    (
        'start: q | start "&" q\nq: n | n "b" n "&" n\nn: "x" | "s" start | "(" start ")"\n'
        '%ignore " "',
        "xsb&() ",
    ),
]


@pytest.mark.parametrize(("text", "letters"), JUDGED)
def test_stacks_are_decided_one_by_one_where_not_all_are_known_to_end(text, letters):
    assert compared(lowered(text), words(letters, 1, 40), 6, 10, 1) > 12


@pytest.mark.parametrize("text", [
    'start: _line (_NL _line)*\n_line: "a"+ | "(" "a" _NL ")"\n_NL: /\\n */\n%ignore " "',
    'start: ("a" _NL)+ | "(" _NL? "a" ")"\n_NL: /(\\n *|a\\n)+/\n%ignore / +/',
    'start: "a" _NL | "a" _NL start\n_NL: /\\n *(?!a)/\n%ignore " "',
    'start: x _NL | x _NL "("\nx: "a" | ")" x\n_NL: /\\n *(?=\\()/\n%ignore " "',
    "start: /a[^)]*/ | /a[^)]*/ start\n%ignore / /",
])  # fmt: skip
def test_what_goes_on_over_spaces_is_followed_by_what_ends_it(text: str) -> None:
    letters = "a\n ()"
    parser = lark.Lark(text, parser="lalr")
    begun = {each[:end] for each in parsed(parser, letters, 6) for end in range(len(each) + 1)}
    constraint = gw.compile(gw.Lark(text, lexer="contextual"), BYTES)
    states = {"": constraint.start()}
    for before in [each for each in short_strings(letters, 2) if each in begun]:
        row = constraint.mask(states[before])
        for letter in letters:
            allowed = int(row[ord(letter) // 32]) >> ord(letter) % 32 & 1
            assert allowed == (before + letter in begun), (before, letter)
            if allowed:
                states[before + letter] = constraint.advance(states[before], ord(letter))
    assert len(states) > 6


def test_what_many_rules_allow_is_what_the_plain_engine_allows():
    links = (f'r{n}: r{n + 1} "b"? | "{n}"' for n in range(80))
    text = "\n".join(("start: r0", *links, 'r80: "x"'))
    assert compared(lowered(text), words("0123456789bx", 1), 3, 6, 1) > 6


# Lexers of Lark's automaton: read as one, they offer what each terminal by itself would.

CALLS = r"""
start: (call ";")+
call: NAME "(" [value ("," value)*] ")"
value: call | NAME | NUMBER | STRING | "not" value | "if" value "then" value
NAME: /[a-z_]+/
NUMBER: /[0-9]+(\.[0-9]+)?/
STRING: /"[^"\n]*"/
%ignore /[ \t]+/
%ignore /#[^\n]*\n/
"""
LINES = r"""
start: (_NL | line)*
line: NAME "(" [NAME ("," NAME)*] ")" _NL | "if" NAME ":" _NL _IN line+ _OUT
NAME: /[a-z]+/
_NL: (/\r?\n[\t ]*/ | COMMENT)+
COMMENT: /#[^\n]*/
LPAR: "("
RPAR: ")"
%ignore /[\t ]+/
%ignore COMMENT
%declare _IN _OUT
"""
CALL = 'if(not x,"a b",1.5)  ;#é ü\nnot_if( then) ;f(if a then "", 12);'
LINED = "f(ab,\n #é x\n c)\nif ab: # y z\n  f( )\n\n # w\n  if b:\n\t\tg(a)\n  f()\nx()\n"


@cache
def cut(text: str, count: int, most: int) -> gw.Vocabulary:
    """Each byte, and pieces of a text, some of them changed."""
    dice, found, raw = random.Random(4), set[bytes](), text.encode()
    while len(found) < count:
        begin, other = dice.randrange(len(raw)), dice.randrange(len(raw))
        piece = raw[begin : begin + dice.randint(1, most)] + raw[other : other + dice.randint(0, 3)]
        found.add(piece)
    single = [bytes((byte,)) for byte in range(256)]
    tokens = [*single, *sorted(found - {*single}), b"<end>"]
    return gw.Vocabulary(tokens, eos_ids={len(tokens) - 1})


def states_of(text: str, vocabulary: gw.Vocabulary, **options: Any) -> States:
    expr = lowered(text, **options)
    return States(expr, Derivatives(expr, vocabulary.spellable), vocabulary, gw.Budget())


def told_one_by_one(fast: States, state: Any, vocabulary: gw.Vocabulary) -> list[int]:
    """The tokens that can be read: no trie is walked, and nothing is seen ahead."""
    read = (t for t in range(vocabulary.width - 1) if fast.after(state, t) is not None)
    return [*read, *(vocabulary.eos_ids if state.accepts else ())]


@pytest.mark.untraced
@pytest.mark.parametrize(
    ("text", "read", "options"), [(CALLS, CALL, {}), (LINES, LINED, {"postlex": Blocks})]
)
def test_a_mask_has_the_tokens_that_can_be_read(text, read, options):
    vocabulary = cut(read, 500, 8)
    fast = states_of(text, vocabulary, **options)
    state: Any = fast.start(b"")
    for byte in read.encode():
        assert unpack(fast.mask(state)).tolist() == told_one_by_one(fast, state, vocabulary)
        state = fast.after(state, byte)
    assert state.accepts
    assert fast._pda.arena.context.mask_places.used > 100


@pytest.mark.untraced
@pytest.mark.parametrize(("text", "letters", "options"), [
    (CALLS, 'a1."(), ;#\n', {}),
    (LINES, "a(,)#:if \n", {"postlex": Blocks}),
])  # fmt: skip
def test_the_plain_engine_says_the_same(text, letters, options):
    vocabulary = cut(letters * 8, 120, 4)
    assert compared(lowered(text, **options), vocabulary, 3, 8, 2) > 12
