"""Lark's automaton in the kernels offers what the plain engine offers, place by place."""

import random
from collections import Counter
from typing import Any

import lark
import pytest

import guideway as gw
from guideway.automaton import lookahead_emptiness as verdicts
from guideway.automaton import pushdown_automaton as pda
from guideway.automaton import token_mask_cache as mask_cache
from guideway.automaton.arena import Arena
from guideway.automaton.kernels import layout
from guideway.automaton.plain_masks import Rows
from guideway.automaton.states import States
from guideway.automaton.token_tries import unpack
from guideway.context_free.lark.lowering import Places
from guideway.errors import GuidewayError
from guideway.language.derivative import Derivatives
from lark_samples import (
    Blocks,
    Fuel,
    OutOfFuelError,
    by_chance,
    lowered,
    parsed,
    short_strings,
)
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


@pytest.mark.parametrize(
    "text",
    [
        'start: "n=" n ";"\nn: %json {"enum": [12]}',
        'start: "n" n\nn: %json {"type": "integer", "minimum": 1}',
        'start: "n" m ";"\nm: %lark {start: "1" start "2" |}',
        'start: "n" m ";"\nm: %lark {start: "1"*}\n%ignore "="',
    ],
)
def test_with_any_byte_begins_what_is_no_lark(text):
    assert compared(lowered(text), words("n=12;", 2, 20), 4, 10, 3, fuel=Fuel()) > 2


def test_a_table_takes_as_much_as_is_in_it():
    rows = "".join(f'\nn{number}: "a{number}"' for number in range(500))
    expr = lowered("start: " + " ".join(f"n{number}" for number in range(500)) + rows)
    states = States(expr, Derivatives(expr), words("a0123456789", 1), gw.Budget.default())
    states.mask(states.start(b""))
    assert (
        states._pda.arena.nbytes < 2 << 20
    )  # as a matrix of its 1,000 states the table alone takes 4 MB


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


def test_blocks_around_go_on_in_another_pda():
    expr, vocabulary = lowered(INDENTED[0][0], postlex=Blocks), words("a\n ", 2)
    fast = States(expr, Derivatives(expr, vocabulary.spellable), vocabulary, gw.Budget())
    plain = Rows(Derivatives(expr, vocabulary.spellable), vocabulary, gw.Budget())
    state, rest = fast.start(b""), expr
    for letter in "a\n a\n  a\n ":
        token = vocabulary.tokens.index(letter.encode())
        following = fast.after(state, token)
        assert following is not None
        state, rest = following, plain.after(rest, token)
        fast._move(state)
        assert unpack(fast.mask(state)).tolist() == unpack(plain.row(rest)).tolist()


@pytest.mark.parametrize("text", [text for text, _ in INDENTED])
def test_stacks_are_judged_one_by_one_where_they_have_to_be(text, monkeypatch):
    letters = dict(INDENTED)[text]
    monkeypatch.setattr(Places, "freedom", lambda places, spellable: None)
    for short in (0, 256):
        monkeypatch.setattr(pda, "SHORT", short)
        expr = lowered(text, postlex=Blocks)
        assert compared(expr, words(letters, 1, 12), 2, 6, 1) > 6


def test_what_stands_for_all_behind_it_is_left_to_the_search(monkeypatch):
    expr = lowered('start: (A | B | C)+\nA: /a+/\nB: /b+(?!a)/\nC: /ca?(?=b)/\n%ignore " "')
    for short in (0, 1, 256):
        monkeypatch.setattr(pda, "SHORT", short)
        assert compared(expr, words("abc ", 1), 3, 5, 1) > 6


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


def test_what_is_known_of_a_deep_stack_is_not_gone_through_again(monkeypatch):
    expr, vocabulary = lowered('start: "(" start ")" | "a"'), words("()a", 1)
    gone = list[int]()
    pop = Arena.pop
    monkeypatch.setattr(Arena, "pop", lambda arena, stack: gone.append(stack) or pop(arena, stack))
    fast = States(expr, Derivatives(expr, vocabulary.spellable), vocabulary, gw.Budget())
    state: Any = fast.start(b"")
    for letter in "(" * 200 + "a" + ")" * 200:
        fast.mask(state)
        state = fast.after(state, vocabulary.tokens.index(letter.encode()))
    assert state.accepts
    assert len(gone) < 40 * 400


def test_what_is_known_of_stacks_may_be_forgotten(monkeypatch):
    monkeypatch.setattr(verdicts, "_REMEMBERED", 2)
    expr = lowered('start: "(" start ")" | "a"')
    assert compared(expr, words("()a", 1), 2, 12, 1) > 6


@pytest.mark.parametrize("scrap", [0, 4])
def test_what_few_tokens_allow_is_the_same_with_a_state_mask_and_without(scrap, monkeypatch):
    monkeypatch.setattr(mask_cache, "SMALL", scrap)
    assert checked(range(12, 16), '\n%ignore " "') > 5


def test_what_cannot_be_said_is_searched_for(monkeypatch):
    monkeypatch.setattr(verdicts.Verdicts, "_said", lambda *_: None)
    expr = lowered("start: A start? | B\nA: /a+(?!b)/\nB: /ab?/")
    assert compared(expr, words("ab", 1), 3, 6, 1) > 6


@pytest.mark.parametrize(
    "text",
    [
        'start: _line (_NL _line)*\n_line: "a"+ | "(" "a" _NL ")"\n_NL: /\\n */\n%ignore " "',
        'start: ("a" _NL)+ | "(" _NL? "a" ")"\n_NL: /(\\n *|a\\n)+/\n%ignore / +/',
        'start: "a" _NL | "a" _NL start\n_NL: /\\n *(?!a)/\n%ignore " "',
        'start: x _NL | x _NL "("\nx: "a" | ")" x\n_NL: /\\n *(?=\\()/\n%ignore " "',
        "start: /a[^)]*/ | /a[^)]*/ start\n%ignore / /",
    ],
)
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


@pytest.mark.parametrize("behind", ["", ' "b{}"'])
def test_states_and_guards_of_many_rules_are_not_asked_for_one_by_one(behind, monkeypatch):
    links = (f'r{n}: r{n + 1}{behind.format(n)} | "a{n}"' for n in range(400))
    text = "\n".join(("start: r0", *links, 'r400: "x"'))
    served = Counter[int]()
    serve = pda.PushdownAutomaton._serve

    def counted(own: pda.PushdownAutomaton, code: int, *wanted: int) -> None:
        served[code] += 1
        serve(own, code, *wanted)

    monkeypatch.setattr(pda.PushdownAutomaton, "_serve", counted)
    constraint = gw.compile(gw.Lark(text), BYTES, gw.Budget.untrusted())
    assert constraint.mask(constraint.start()).any()
    assert served[layout.NEED_SCANNER] < 90  # 64 one by one, then twice as many each time: 400 were
    assert served[layout.NEED_LEX] < 20  # each state of a guard was one once


def test_what_many_rules_allow_is_what_the_plain_engine_allows():
    links = (f'r{n}: r{n + 1} "b"? | "{n}"' for n in range(80))
    text = "\n".join(("start: r0", *links, 'r80: "x"'))
    assert compared(lowered(text), words("0123456789bx", 1), 3, 6, 1) > 6
