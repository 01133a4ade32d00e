r"""Lark's LALR mode: the `Lark` object of the same mode says what is right."""

import re

import lark
import pytest

import guideway as gw
from guideway.constraint.lowering import lower_source
from guideway.context_free.lark import terminals as lark_terminals
from guideway.context_free.lark.lowering import Places, ReadLine, lower_lark, lower_lark_contextual
from guideway.context_free.lark.reader import read_lark
from guideway.context_free.lark.source import Lark
from guideway.context_free.lark.terminals import firsts, one_word
from guideway.errors import LimitError, UnsatisfiableError, UnsupportedError
from guideway.language.derivative import Derivatives
from guideway.language.expr import (
    ALL_BYTES,
    ANYTHING,
    EMPTY,
    both,
    byte_set,
    complement,
    literal,
    repeat,
)
from guideway.language.nodes import Concat
from lark_samples import (
    Blocks,
    OutOfFuelError,
    accepted,
    by_chance,
    lowered,
    parsed,
    short_strings,
)

MANY = " | ".join(f'"{n:b}"'.translate({48: "a", 49: "b"}) for n in range(1, 64) if n % 5)
GRAMMARS = [
    'start: "a" start | "b"',  # right recursion,
    "start: | start x\nx: A | B\nA: /a+/\nB: /[bc]/",  # left recursion, and nothing at all
    'start: s\ns: "a" s | "a" s "b" s | "c"',  # an else that dangles: shifted
    'start: x "b"\nx: "a" | "a" x',
    'start: n\nn: | "a" n "b"',
    # Terminals: what is preferred, and which comes first.
    "start: A B\nA: /a+/\nB: /ab?/",
    "start: A*\nA: /a|ab/ | /c/",
    "start: A | B A\nA.2: /a/\nB: /[ab]/",
    "start: A B | B A\nA: /[ab]/\nB: /[bc]/",
    'start: A*\nA: /a(?=b)/ | "b" | "c" "a"',
    'start: "A"i "b" | /a+?c/ "b"',
    # Strings inside of a regex: by state, by priority, with other flags, as what is ignored.
    'start: KW N | N "c"\nKW: "ab"\nN: /[ab]+/\n%ignore /c/',
    'start: N K N\nN: /[ab]+/\nK: "b"\n%ignore "c"',
    'start: (K | N "c")*\nN: /[ab]+/\nK.1: "ab"',
    'start: (K | N "c")*\nN: /[ab]+/\nK: "AB"i',
    'start: (K | L | N "c")+\nN: /[ab]+/i\nK: "ab"i\nL: "a"\n',
    'start: (K | N "c")+\nN: /[ab]+/i\nK: "AB"i\nL: "ab"\n%ignore L',
    'start: "ab" "c" | "c" W\nW: /[a-c]+/\n%ignore /b+/',
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
    'start: "a" | "b" x\nx: "b" x',
    # A terminal is taken behind which nothing can be, at the beginning, later, and by a rule.
    'start: "a"+ | A NO\nA.2: /a(?=b)/\n%ignore "b"\n%declare NO',
    'start: ("a" | "b" | B NO "a")+\nB.2: /bb/\n%ignore "c"\n%declare NO',
    'start: ("a" | x y)+\nx: "b"\ny: NO | "c" y NO\n%declare NO',
    'start: "a" | x | x "b" "a"\nx: y NO | "a" "c"\ny: "b"+\n%declare NO',
    # What is ignored is not read: nor are strings that it matches, if nothing else does.
    'start: "a" start | "b" "c" | "ab"\n%ignore /c+/',
    'start: W "a" | "b" W? "a"\nW: /c+/\n%ignore W',
    'start: "a" "c" | "b" X\nX: /[bc]/\n%ignore /c/',
    'start: "a" K | "b" "b"+\nK: "c"i\n%ignore /c/',
    'start: "a" K | "b" "b"+\nK.1: "c"\n%ignore /c/',
    'start: "a" "c" L | "b"\nL: "c"i\n%ignore /c+/',
    'start: "a" ("b" | "c")\n%ignore /c/',
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


def test_grammars_by_chance_agree_with_lark():
    assert [compared(seed, 5) for seed in range(40)].count(True) > 20


@pytest.mark.slow
def test_many_grammars_by_chance_agree_with_lark():
    found = [compared(seed, 7) for seed in range(1000, 2500)]
    assert found.count(False) == 0
    assert found.count(True) > 700


def test_a_string_that_is_not_ascii_is_told_from_a_name():
    text = 'start: "é"i "a" | "a"i N | N "É"\nN: /[aé]+/i'
    parser, machine = lark.Lark(text, parser="lalr"), Derivatives(lowered(text))
    read = set[str]()
    for each in short_strings("aAéÉ", 4):
        state = machine.start()
        for byte in each.encode():
            state = None if state is None else machine.step(state, byte)
        if state is not None and machine.accepts(state):
            read.add(each)
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
    text = INDENTED[0]
    machine = Derivatives(lowered(text, postlex=Blocks))
    parser = lark.Lark(text, parser="lalr", postlex=Blocks())

    def both_say(text: str) -> bool:
        state = machine.start()
        for byte in text.encode():
            state = machine.step(state, byte)
            if state is None:
                return False
        return machine.accepts(state)

    lines = ["a", "  a", "   a", "\ta", "\t\t a"]
    for first in lines:
        for second in lines:
            for third in lines:
                text = f"a\n{first}\n{second}\n{third}\n"
                try:
                    parser.parse(text)
                except lark.exceptions.LarkError:
                    assert not both_say(text)
                else:
                    assert both_say(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (r"start: /\ba/", "the terminal /.ba/: lookbehind beyond the beginning of a terminal"),
        (r"start: /(a)\1/", "the terminal .*a numbered back reference"),
        (r'start: "b" /(?i)a/', "the terminal .*: flags for the whole pattern"),
        ("start: A\nA: /a(?>b)/", "the terminal A: atomic groups"),
    ],
)
def test_terminals_that_cannot_be_taken_exactly_are_refused_by_name(text, said):
    with pytest.raises(UnsupportedError, match=said):
        lowered(text, lexer="contextual")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('start: "a" start', "leads to one of them: start"),
        ('start: x ("a" x)* | y\nx: x "b"\ny: "c" z\nz: y', "one of them: start, x, y, z"),
        ("start: X\n%declare X", "no text ends: X declared, and nothing says what that matches"),
    ],
)  # fmt: skip
def test_grammars_without_a_text_are_refused_naming_the_rules(text, said):
    with pytest.raises(UnsatisfiableError, match=f"{said}$"):
        lowered(text)


@pytest.mark.parametrize("lexer", ["contextual", "dynamic"])
def test_a_shortest_text_that_is_too_long_is_refused(lexer):
    doubled = "\n".join(f"r{number}: r{number + 1} r{number + 1}" for number in range(21))
    with pytest.raises(
        LimitError, match="at least 2097152 characters; at most 1048576 are allowed"
    ):
        lowered(f'start: r0\n{doubled}\nr21: "x"', lexer=lexer)


def test_reductions_without_end_read_nothing():
    # At the end x becomes y and y becomes x; Lark itself does not come back.
    text = 'start: x | "b"\nx: y | "c"\ny.2: x'
    assert accepted(lowered(text), "abc", 4) == {"b"}


def test_texts_that_are_long_and_deep_are_read():
    machine = Derivatives(lowered('start: "(" start ")" | item ("," item)*\nitem: /[a-z]+/'))
    state = machine.start()
    for byte in b"(" * 300 + b"ab" + b",c" * 300 + b")" * 300:
        state = machine.step(state, byte)
    assert machine.accepts(state)
    assert len(machine.shortest(machine.start())) == 1


def test_answers_are_the_same_after_all_is_forgotten(monkeypatch):
    monkeypatch.setattr("guideway.context_free.lark.plans.REMEMBERED", 0)
    monkeypatch.setattr("guideway.context_free.lark.lowering.REMEMBERED", 0)
    text = GRAMMARS[1]
    assert accepted(lowered(text), "abc", 3) == parsed(lark.Lark(text, parser="lalr"), "abc", 3)


def test_places_remember_nothing_and_refuse_nothing_later():
    place = lowered(INDENTED[0], postlex=Blocks)
    call = place.head
    template, line = call.template, next(iter(_lines_read(call)))
    assert template.resume(call.argument, b"") is EMPTY
    assert template.resume_any(call.argument) is EMPTY
    assert template.remembers(call.argument)
    assert not template.depends(call.argument)
    assert template.lives(call.argument, None)
    assert template.lives(line.argument, None)
    assert not template.lives_after(call.argument, None, lambda: b"")
    assert template.parts(call.argument) == ()
    assert template.least(line.argument, lambda part: None) == bytes(2)
    assert template.least_after(call.argument, lambda part: None) is None
    assert template.least_begun(call.argument, lambda part: None, b"") is None


def _lines_read(call):
    """Calls of newlines among what a call unfolds to."""
    for option in call.template.unfold(call.argument, None).options:
        found = option.head if isinstance(option, Concat) else option
        if isinstance(getattr(found, "argument", None), ReadLine):
            yield found


def test_what_bytes_a_terminal_may_begin_with():
    words = repeat(byte_set(b"bc"), 2)
    assert firsts(both(complement(literal("bb")), words)) == firsts(byte_set(b"bc"))
    assert firsts(both(words, complement(literal("bb")))) == firsts(byte_set(b"bc"))
    assert firsts(EMPTY) == 0
    assert firsts(complement(words)) == firsts(ANYTHING) == ALL_BYTES
    assert one_word(literal("ab")) == b"ab"
    assert one_word(byte_set(b"ab")) is None


def test_a_grammar_without_a_table_has_no_automaton():
    grammar = read_lark(Lark('start: "a"', lexer="dynamic"))
    assert accepted(lower_lark(grammar, lower_source), "a", 2) == {"a"}
    with pytest.raises(UnsatisfiableError):
        lower_lark_contextual(grammar)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        # What is ignored is not read; nor is a string that it matches, unless something else does,
        # with other flags, another priority, or instead of one that is as good.
        ('start: "a" | W "b"\nW: /c+/\n%ignore W', {"A"}),
        ('start: "a" | "b" "c"\n%ignore /c+/', {"A"}),
        ('start: "a" | "b" "c" | X\nX: /[bc]x?/\n%ignore /c/', {"A", "B", "X"}),
        ('start: "a" | "b" K\nK: "c"i\n%ignore /c/', {"A", "B"}),
        ('start: "a" | "b" K\nK.1: "c"\n%ignore /c/', {"A", "B"}),
        ('start: "a" | "b" "c"\n%ignore "c"', {"A", "B"}),
        ('start: "a" | "b" ("d" | "c")\n%ignore /c/', {"A", "B"}),
        ('start: "a" | "b" ("cc" | "c")\n%ignore /c+/', {"A"}),
    ],
)
def test_what_is_never_read_leads_nowhere(text, kept):
    table = Places(read_lark(Lark(text)), {}).table
    assert table.shifts[table.start].keys() == kept


def test_what_is_never_read_in_one_state_alone_leads_nowhere_there():
    grammar = read_lark(Lark('start: /[ab]+/ "aa" | "aa" "c"\n%ignore /a{1,2}/\n%ignore " "'))
    expr = lower_lark(grammar, lower_source)
    machine = Derivatives(expr)
    begun = [chr(byte) for byte in range(256) if machine.step(expr, byte) is not None]
    assert begun == [" ", "a"]  # as Lark ignores "aa" behind "b"


def test_whether_a_string_is_swallowed_is_told_without_backtracking():
    word = "a" * 60  # `re.match` would try 2^60 ways
    text = f'start: "x" | "{word}b" "x" | "{word}c" "b"\n%ignore /(a+)+c/'
    table = Places(read_lark(Lark(text)), {}).table
    assert table.shifts[table.start].keys() == {"X", f"{'A' * 60}B"}


def test_words_that_are_regexes_are_told_apart_as_strings_are(monkeypatch):
    met = list[bytes]()
    may_meet = lark_terminals.may_meet
    monkeypatch.setattr(
        lark_terminals, "may_meet", lambda word, begun: met.append(word) or may_meet(word, begun)
    )
    words = [f"w{number * 7919 % 1009}" for number in range(200)]
    expr = lowered("start: " + " | ".join(f"/{word}/" for word in words))
    taken = accepted(expr, "w123", 4)
    assert taken == {word for word in words if re.fullmatch("w[123]{,3}", word)}
    assert not met  # each with all others once
