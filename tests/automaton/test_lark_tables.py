"""Lark's automaton in the kernels offers what the plain engine offers, place by place."""

import random
from typing import Any

import lark
import pytest

import guideway as gw
from guideway.automaton.states import States
from guideway.automaton.token_tries import unpack
from guideway.errors import GuidewayError
from guideway.language.derivative import Derivatives
from lark_samples import Blocks, Fuel, OutOfFuelError, by_chance, lowered, parsed
from plain_texts import short_strings
from random_walks import BYTES
from two_engines import compared


def words(letters: str, seed: int, count: int = 24) -> gw.Vocabulary:
    """Each letter, and some tokens of several."""
    dice = random.Random(seed)
    longer = {"".join(dice.choices(letters, k=dice.choice([2, 2, 3, 4]))) for _ in range(count)}
    tokens = [each.encode() for each in (*letters, *sorted(longer))]
    return gw.Vocabulary([*tokens, b"<end>"], eos_ids={len(tokens)})


@pytest.mark.untraced
@pytest.mark.parametrize(
    ("seeds", "least"),
    [(range(12), 20), pytest.param(range(100, 500), 2000, marks=pytest.mark.slow)],
)
@pytest.mark.parametrize("ignored", ["", '\n%ignore " "', "\n%ignore / +/", "\n%ignore /c ?/"])
def test_grammars_by_chance(seeds, least, ignored):
    """Those that Lark takes and in which there is a text."""
    count = 0
    for seed in seeds:
        text = by_chance(seed) + ignored
        try:
            lark.Lark(text, parser="lalr")
            count += compared(lowered(text), words("abc ", seed), 3, 6, seed, fuel=Fuel())
        except (lark.exceptions.LarkError, GuidewayError, OutOfFuelError):
            continue
    assert count > least


INDENTED = [
    ('start: _NL? item+\nitem: "a" _NL [_IN item+ _OUT]\n_NL: /(\\n *)+/\n%declare _IN _OUT',
     "a\n "),
    ('start: item+\nitem: "(" _NL? "a" ")" _NL | "a" _NL _IN item+ _OUT\n'
     "_NL: /(\\n *)+(?!\\))/\n%declare _IN _OUT\n%ignore / /", "a\n ()"),
    ('start: item+\nitem: "a"+ ")"? _NL | "(" "a"* ")" _NL _IN item+ _OUT\n'
     "_NL: /(\\n|b)+[ b]*/\n%declare _IN _OUT", "a\n b()"),
    ('start: (_NL | item)*\nitem: "a" ("a" | "(" "a"* ")")* _NL | "b" _NL _IN item+ _OUT\n'
     "_NL: /(\\r?\\n[\\t ]*)+/\n%ignore /[\\t ]+/\n%declare _IN _OUT", "ab\n\t\r ()"),
    # A newline behind the end of a block: something ignored parts them.
    ('start: item+\nitem: "a" _NL | "b" _NL _IN item+ _OUT _NL\n_NL: /(\\n *)+/\n'
     "%ignore /[ -]+/\n%declare _IN _OUT", "ab\n -"),
    # Items begin blocks on their line, but not within brackets.
    ('start: item+\nitem: _ITEM ("a" _NL | item+) _OUT | "(" _ITEM? "a" ")" _NL [_IN item+ _OUT]'
     '\n_ITEM: "- "\n_NL: /(\\n *)+/\n%ignore / /\n%declare _IN _OUT', "-a\n ()"),
]  # fmt: skip


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


# Stacks are decided one by one where not all are known to end.
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


LINKS = (f'r{n}: r{n + 1} "b"? | "{n}"' for n in range(80))
CASES = [  # with letters, how many tokens of several there are, and how many masks at least
    # Behind the last terminal nothing may come, not even what is ignored.
    ('start: A* | | D | / +(?=[ab])/ NO\nA: "ab"\nB: /[^a]/\nC.2: "b"\n'
     "D: /[ab]+?(?=c)/\n%declare NO", "abc :", 40, 2),
    # What is ignored goes over any space, or asks for the end; only some terminal ends it.
    ('start: "a" ["b"]\n%ignore / +/', "abc :", 40, 2),
    ('start: "a" B "c"\nB: /b(?=c)/\n%ignore / +(b[^c]*)?/', "abc :", 40, 2),
    ('start: B "a" | "a" A NO\nB: /b+(?=a)/\nA.2: /a(?=b)/\n%ignore / +/\n%declare NO', "abc :",
     40, 2),
    # A terminal asks for another that stands behind it at once.
    ('start: (K ":" V)*\nK: /[ab]+(?=:)/\nV: /[ab]+(?= )/\n%ignore / +/', "abc :", 40, 2),
    # With any byte begins what is no Lark.
    ('start: "n=" n ";"\nn: %json {"enum": [12]}', "n=12;", 20, 2),
    ('start: "n" n\nn: %json {"type": "integer", "minimum": 1}', "n=12;", 20, 2),
    ('start: "n" m ";"\nm: %lark {start: "1" start "2" |}', "n=12;", 20, 2),
    ('start: "n" m ";"\nm: %lark {start: "1"*}\n%ignore "="', "n=12;", 20, 2),
    # A word that is ignored and taken for another is nothing.
    ('start: "a" /b+/ start | "a"\n%ignore "b"', "ab", 24, 6),
    ("\n".join(("start: r0", *LINKS, 'r80: "x"')), "0123456789bx", 24, 6),
    *((text, letters, 40, 12) for text, letters in JUDGED),
]  # fmt: skip


@pytest.mark.untraced
@pytest.mark.parametrize(("text", "letters", "count", "least"), CASES)
def test_masks_are_those_of_the_plain_engine(text, letters, count, least):
    assert compared(lowered(text), words(letters, 1, count), 6, 10, 1, fuel=Fuel()) > least


@pytest.mark.untraced
@pytest.mark.parametrize(("text", "letters"), [
    *INDENTED,
    # Something else is tried before the newline; a newline is ignored, or cannot be written.
    (INDENTED[0][0].replace("_NL:", "X.2: /\\n b/\n_NL:") + "\n%ignore X", "a\n b"),
    (INDENTED[0][0].replace("_NL:", "_NL.-1:") + "\n%ignore _NL", "a\n "),
    (INDENTED[0][0].replace("(\\n *)+", "(\\r?\\n *)+|é"), "a\n "),
])  # fmt: skip
def test_masks_of_blocks_are_those_of_the_plain_engine(text, letters):
    assert compared(lowered(text, postlex=Blocks), words(letters, 1, 40), 4, 10, 1) > 2


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


def told_one_by_one(fast: States, state: Any, vocabulary: gw.Vocabulary) -> list[int]:
    """The tokens that can be read: no trie is walked, and nothing is seen ahead."""
    read = (t for t in range(vocabulary.width - 1) if fast.after(state, t) is not None)
    return [*read, *(vocabulary.eos_ids if state.accepts else ())]


@pytest.mark.untraced
@pytest.mark.parametrize(("text", "read", "letters", "options"), [
    (CALLS, CALL, 'a1."(), ;#\n', {}),
    (LINES, LINED, "a(,)#:if \n", {"postlex": Blocks}),
])  # fmt: skip
def test_a_mask_has_the_tokens_that_can_be_read(text, read, letters, options):
    assert compared(lowered(text, **options), cut(letters * 8, 120, 4), 3, 8, 2) > 12
    vocabulary = cut(read, 500, 8)
    expr = lowered(text, **options)
    fast = States(expr, Derivatives(expr, vocabulary.spellable), vocabulary, gw.Budget())
    state: Any = fast.start(b"")
    for byte in read.encode():
        assert unpack(fast.mask(state)).tolist() == told_one_by_one(fast, state, vocabulary)
        state = fast.after(state, byte)
    assert state.accepts
    assert fast._pda.arena.context.mask_places.used > 100
