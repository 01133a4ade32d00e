"""Lark grammars as Lark's own loader reads them; what it refuses, with its place."""

import re
import sys
from dataclasses import replace
from string import ascii_lowercase

import lark
import pytest
from lark.indenter import PythonIndenter

import guideway as gw
from guideway.context_free.lark.errors import Reading, refusals
from guideway.context_free.lark.extensions import extend
from guideway.context_free.lark.indenter import ItemIndenter
from guideway.context_free.lark.reader import MOST, read_lark
from guideway.context_free.lark.source import Lark, read_indenter
from guideway.errors import LimitError, SourceError, UnsupportedError
from guideway.sources.sources import Literal
from lark_samples import python_tree

EVERYTHING = r"""
start: _sep{word, ","} [num] tail~2..3 -> whole
?tail.2: "x"i | "(" tail ")" | low
!word: WORD
_sep{item, by}: item (by item)*
low: LOW
num: N | SIGN N?
WORD.3: /[a-z]+?(?=z)/is | "b".."d" /[ef]/
LOW: "low" | "lower"i
SIGN: "+" | "-"
%extend SIGN: "±"
%override SIGN2: "?"
%declare GONE
%import numbers (N, SIGN2)
%import common.WS -> BLANK
%ignore BLANK
%ignore /#[^\n]*/
"""
NUMBERS = 'N: /[0-9]+/\nSIGN2: "!"\n'


def test_trees_are_what_lark_reads():
    grammar = read_lark(Lark(EVERYTHING, imports={"numbers": NUMBERS}))
    own = lark.Lark(EVERYTHING, parser="lalr", import_paths=[lambda _, p: (p, NUMBERS)
                    if p == "numbers.lark" else _missing()])  # fmt: skip
    assert [(r.rule, len(r.symbols)) for r in grammar.table.productions] == [
        (r.origin.name, len(r.expansion)) for r in own.rules
    ]
    assert [(t.name, t.pattern.to_regexp(), t.pattern.max_width) for t in own.terminals] == [
        (t.name, t.pattern, t.max_width) for t in grammar.terminals.values()
    ]
    assert [t.priority for t in own.terminals] == [t.priority for t in grammar.terminals.values()]
    assert grammar.ignored == ("BLANK", "__IGNORE_1")
    assert grammar.terminals["X"].text == "x"
    assert grammar.terminals["X"].flags == {"i"}
    assert grammar.terminals["__IGNORE_1"].written == r"/#[^\n]*/"


def _missing():
    raise OSError


@pytest.mark.untraced
def test_python_as_the_lark_package_ships_it():
    grammar = python_tree()
    assert grammar.start == "file_input"
    assert grammar.indentation.newline == PythonIndenter.NL_type
    assert grammar.indentation.tab == 8
    assert "_INDENT" not in grammar.terminals


def test_a_grammar_with_items_gets_the_indenter_that_knows_them():
    text = 'start: _ITEM_INDENT "a" _NEWLINE _DEDENT\n_NEWLINE: /\\n */\n%declare _INDENT _DEDENT\n'
    grammar = read_lark(Lark(text + '_ITEM_INDENT: "- "'))
    assert grammar.indentation == read_indenter(ItemIndenter)
    assert grammar.items == {"_ITEM_INDENT": 2}
    plain = read_lark(Lark(text.replace("_ITEM_INDENT", "DASH") + 'DASH: "- "'))
    assert plain.indentation == read_indenter(PythonIndenter)
    assert plain.items == {}
    for pattern in ("/- +/", '""'):
        with pytest.raises(UnsupportedError, match=r"_ITEM_INDENT sets .* same length"):
            read_lark(Lark(f"{text}_ITEM_INDENT: {pattern}"))


def test_indentation_is_python_s_only_where_a_grammar_has_its_names():
    text = "start: _NEWLINE _INDENT\n_NEWLINE: /\\n/\n%declare _INDENT"
    assert read_lark(Lark(text)).indentation is None
    assert read_lark(Lark(text + " _DEDENT")).indentation is not None
    assert read_lark(Lark(text + " _DEDENT", lexer="dynamic")).indentation is None


@pytest.mark.parametrize(
    ("text", "said", "line", "column"),
    [
        ('start: "a" b\nbb: "c"', "'b' used but not defined.*did you mean 'bb'", 1, 12),
        ('start: "a" §', "Unexpected input", 1, 12),
        ('start: "a"\n%ignor " "', "Unexpected input; did you mean '%ignore'", 2, 1),
        ('%imprt common.WS\nstart: "a"', "did you mean '%import'", 1, 1),
        ('start: "a"\n%ignore " "\n %ignore // a space\n', "what is ignored", 3, 2),
        ("start: A\n\nA: 'x'", "Unexpected input", 3, 4),
        ("%import common.NUMBR\nstart: NUMBR", "'NUMBR' used.*did you mean 'NUMBER'", 1, 16),
        ('start: A\nA: "x" ONNE\nONE: "y"', "not defined: ONNE; did you mean 'ONE'", 2, 8),
        ('start: "a"\nstart: "b"', "'start' defined more than once", 1, 1),
        ("start: A\nA: /b*(?=c)/", "A may match nothing, and looks around it", 1, 8),
        ("start: A\nA: /(/", "A is no regex as Lark reads them: missing", 1, 8),
        ("start: /(/", "/(/ is no regex as Lark reads them: missing".replace("(", "[(]"), 1, 8),
        ("start: A\nA: /\\p{Lu}/", "Lark reads them: bad escape .* any letter is", 1, 8),
        ('start: A\nA: "x" A', "Recursion in terminal 'A'", 1, 8),
        ('%ignore X\nstart: "a"', "marked to ignore", 1, 9),
        ('start: foo{start}\nfoo{x, y}: x y "a"', "number of template arguments", 1, 1),
        ("start: A\n%import common.B -> C", "'A' used but not defined", 1, 8),
        ("start: A\n%import A", "Nothing was imported from grammar", None, None),
        ('start: "a".."\\\\"', "a range is from one character to another", 1, 8),
        ('start: A\nA: "x" "\\x41".."Z" "ab".."c"', "a range is from one character to", 2, 20),
        ('start: "a"\n  | "z".."a"', "from 'z' to 'a' is the wrong way round", 2, 5),
        ('start: A\nA: "z".."["', "from 'z' to '.' is the wrong way round", 2, 4),
        ("start: A\nA: /[z-a]/", "A is no regex as Lark reads them: bad character range", 1, 8),
        ('start: "c" ("a" | B)~3..2\nB: "b"', "3..2 times: the lower bound comes first", 1, 21),
        (r'start: "\x41\xZZ"', r"an escape is written .xXX, with hexadecimal digits", 1, 13),
        ('%declare A b\nstart: "a"', "%declare is for terminals, whose names are in", 1, 1),
        ('sart: "a"', "did you mean 'sart'", None, None),
        ('a: "a"\nb: "b"', "no rule 'start' to start with; there are a, b$", None, None),
    ],
)
def test_errors_are_lark_s_with_their_place(text, said, line, column):
    with pytest.raises(SourceError, match=said) as caught:
        read_lark(Lark(text))
    if line:
        assert f"line {line}, column {column or ''}" in caught.value.place
        assert caught.value.text == text
        assert str(caught.value).endswith("^")


def test_rules_that_collide_are_read_without_an_automaton_where_that_is_left_open():
    text = 'start: a | b\na: "x"\nb: "x"'
    grammar = read_lark(Lark(text))
    assert grammar.table is None
    assert re.match("Reduce/Reduce.*<[ab] : X> - <[ab] : X>$", grammar.collision)
    assert replace(grammar, collision="") == read_lark(Lark(text, lexer="dynamic"))
    good = read_lark(Lark('start: "a" start "b" | "c"'))
    assert (good.table is None, good.collision) == (False, "")
    said = r"collision.*<[ab] : X>; lexer='dynamic', or none at all, takes it \(at line 1"
    with pytest.raises(SourceError, match=said):
        read_lark(Lark(text, lexer="contextual"))


def test_groups_that_are_referred_to_by_number_are_read_without_an_automaton_too():
    for one in (r"start: /(a|b)c\1/", 'start: A\nA: /(a|b)c\\1/ "d"'):
        grammar = read_lark(Lark(one))
        assert "refers to a group by its number" in grammar.collision
        assert replace(grammar, collision="") == read_lark(Lark(one, lexer="dynamic"))
        assert read_lark(Lark(one, lexer="contextual")).table is not None
    for one in (r"start: /(?P<x>a|b)c(?P=x)/", r"start: /\\1/ | /[\1]/"):
        assert read_lark(Lark(one)).collision == ""


@pytest.mark.parametrize("lexer", [None, "contextual"])
def test_rules_that_collide_are_refused_where_lines_are_indented(lexer):
    text = 'start: a | b\na: "x" _NEWLINE\nb: "x" _NEWLINE\n_NEWLINE: /\\n/\n%declare '
    with pytest.raises(SourceError, match=r"collision.*NEWLINE> \(at"):
        read_lark(Lark(text + "_INDENT _DEDENT", lexer=lexer))
    with pytest.raises(SourceError, match=r"collision.*NEWLINE> \(at"):
        read_lark(Lark(text + "A B", lexer=lexer, postlex=PythonIndenter))
    if lexer is None:
        assert read_lark(Lark(text + "A B")).collision


def test_a_nested_grammar_is_read_by_its_own_rules():
    text = 'start: "(" inner ")"\ninner: %lark {start: start start | "a" |}'
    grammar = read_lark(Lark(text))
    assert grammar.table is not None
    assert [each.collision != "" for each in grammar.nested.values()] == [True]
    with pytest.raises(SourceError, match="takes it"):
        read_lark(Lark(text, lexer="contextual"))


def test_errors_in_an_imported_grammar_name_it():
    with pytest.raises(SourceError, match=r"Expecting a value \(at b.lark, line 1, column 5\)"):
        read_lark(Lark("start: A\n%import b.A", imports={"b": "A: ("}))


def test_what_is_not_beside_the_source_is_not_looked_for():
    # The line is no %import to whoever looks for them; Lark reads it as one.
    with pytest.raises(SourceError, match=r"there is no grammar 'b\.lark' to import"):
        read_lark(Lark("start: A\n%import \\\n b.A"))


@pytest.mark.parametrize(("raised", "error", "said"), [
    (AssertionError, SourceError, "Lark cannot read this grammar: AssertionError"),
    (RecursionError, LimitError, "too deeply for Lark"),
])  # fmt: skip
def test_what_lark_did_not_mean_to_raise_is_an_error_of_the_grammar(raised, error, said):
    with pytest.raises(error, match=said) as refused, refusals(Reading({"": extend("", Literal)})):
        raise raised
    assert error is SourceError or refused.value.given == sys.getrecursionlimit()


# How large a Lark grammar is, told from its text.


def doubled(count, first="A0: B B"):
    lines = "".join(f"A{i + 1}: A{i} A{i}\n" for i in range(count))
    return f'start: A{count}\n{lines}{first}\nB: "b"\n'


@pytest.mark.parametrize("text", [
    doubled(13, "%extend A0: B B B\n%override B: /c/\nA0: B B"),
    doubled(20, "%import a (C)\nA0: C"),
    doubled(62) + "A63: A62 A62\nA64: A63 A63",
])  # fmt: skip
def test_terminals_made_of_each_other_are_worked_in_no_more_than_there_may_be(text):
    with pytest.raises(LimitError, match="come to more than 32768 strings") as caught:
        read_lark(Lark(text, imports={"a": 'C: D D\nD: "d"'}))
    assert caught.value.limit == "parts of terminals"
    assert caught.value.place.startswith("line ")
    assert str(caught.value).endswith("^")
    assert len(str(caught.value)) <= 500


@pytest.mark.parametrize("opening", ['"', "/"])
def test_what_is_never_closed_is_refused_before_lark_tries_all_ways_to_read_it(opening):
    with pytest.raises(SourceError, match="is never closed") as refused:
        read_lark(Lark(f"start: {opening}" + "\\" * 80 + "\nx: y\n"))
    assert refused.value.place == "line 1, column 8"


# What Lark would write out, counted before it does: Lark's own rules say what is right.


def test_rules_that_come_to_too_much_are_refused_by_name():
    text = "start: " + " ".join(f'["{letter}"]' for letter in ascii_lowercase)
    with pytest.raises(LimitError, match="the rule start comes to more") as caught:
        read_lark(gw.Lark(text))
    assert caught.value.given == MOST
    assert caught.value.place == "line 1, column 1"
    assert len(str(caught.value)) <= 500


# Templates that would never end are refused; all others are those of Lark.

ENDLESS = [
    'start: t{"a"}\nt{x}: "b" t{u{x}} | x\nu{x}: x x',
    'start: t{"a"}\nt{x}: x t{_p{x}} | x\n_p{x}: x x',
    'start: t{A, A}\nt{x, y}: x | t{p{x, y}, p{x, x}}\np{x, y}: x y\nA: "a"',
]


@pytest.mark.parametrize("text", ENDLESS)
def test_templates_that_ask_for_ever_larger_ones_are_refused(text):
    with pytest.raises(LimitError, match=r"template '(t|u|p|_p)' comes to more rules") as caught:
        read_lark(gw.Lark(text))
    assert caught.value.limit == "rules of templates"
    assert len(str(caught.value)) <= 500


ENDING = [
    'start: list{"a"} | list{pair{B, "c"}}\nlist{x}: x ("," x)*\npair{x, y}: "(" x y ")"\nB: "b"',
    'start: t{"a"}\nt{x}: "b" t{x} | x',
    'start: m{u, "a"} | m{v, "b"}\nm{f, x}: f{x}\nu{x}: x x\nv{x}: x | x v{x}',
]


@pytest.mark.parametrize("text", ENDING)
def test_others_come_to_the_rules_of_lark(text):
    made = {str(rule.origin.name) for rule in lark.Lark(text, parser="lalr").rules}
    assert {each for each in made if "{" in each} <= read_lark(gw.Lark(text)).rules.keys()
