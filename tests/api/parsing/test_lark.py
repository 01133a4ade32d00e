"""Captures of Lark grammars: where Lark's own trees have the rules, and their values."""

import random

import lark
import pytest
from lark.indenter import PythonIndenter

import guideway as gw
from guideway.api.parsing.lark import captured, counted
from guideway.api.parsing.values import read_captures, read_value
from guideway.context_free.lark.reader import read_lark
from guideway.errors import UnsupportedError
from guideway.language.special_tokens import mark
from guideway.models.fake import FakeModel
from lark_samples import short_strings

GRAMMARS = [
    's: x ("," x)*\nx: "a" y? | "b"\ny: "b" x',
    's: s "," x | x\nx: A | A x\nA: /a(?!a)/ | "b"\n%ignore " "',
    's: x y\nx: A*\ny: B x\nA: "a"\nB: /b+/\n%ignore /,+/',
    's: y | x\nx: "a" x "b" | \ny: x ","',
    's: (x y)~1..2\nx: /a+/ | /b/\ny: ","\n%ignore " "',
]


def spans(tree: lark.Tree) -> list[tuple[str, int, int]]:
    """The rules of a tree that have read something, outer ones first, and where."""
    found = [
        (each.data, each.meta.start_pos, each.meta.end_pos)
        for each in tree.iter_subtrees()
        if not each.meta.empty
    ]
    return sorted(found)


def found_in(source: gw.Lark, text: str) -> list[tuple[str, int, int]]:
    places = captured(source, text.encode(), lambda source, begin: [])
    return sorted((place.name, begin, end) for place, begin, end in places if begin < end)


@pytest.mark.parametrize("lexer", ["contextual", "dynamic"])
@pytest.mark.parametrize("grammar", GRAMMARS)
def test_rules_stand_where_lark_has_them(grammar, lexer):
    mode = {"parser": "lalr"} if lexer == "contextual" else {"parser": "earley"}
    oracle = lark.Lark(
        grammar, start="s", propagate_positions=True, keep_all_tokens=True, lexer=lexer, **mode
    )
    named = "\n".join(
        f"{line[0]}[capture]{line[1:]}" if line[1:2] == ":" and line[0].islower() else line
        for line in grammar.split("\n")
    )
    source = gw.Lark(named, start="s", lexer=lexer)
    read = 0
    for text in short_strings("ab, ", 4):
        try:
            tree = oracle.parse(text)
        except lark.exceptions.LarkError:
            continue
        read += 1
        assert found_in(source, text) == spans(tree), text
    assert read > 4


def test_blocks_stand_where_lark_has_them():
    grammar = """
file: (line | _NEWLINE)*
line: NAME ["(" NAME ")"] _NEWLINE [block]
block: _INDENT line+ _DEDENT
NAME: /[a-z]+/
_NEWLINE: /(\\r?\\n[ \\t]*)+/
%ignore /[ \\t]+/
%declare _INDENT _DEDENT
"""
    indenter = type("Blocks", (PythonIndenter,), {"OPEN_PAREN_types": [], "CLOSE_PAREN_types": []})
    oracle = lark.Lark(
        grammar, start="file", parser="lalr", postlex=indenter(), propagate_positions=True
    )
    source = gw.Lark(grammar.replace("line:", "line[capture]:"), start="file", postlex=indenter())
    text = "a (b)\n  c\n  d\n    e\nf\n\tg\n"
    lines = [each for each in spans(oracle.parse(text)) if each[0] == "line"]
    assert [text[begin:].split(maxsplit=1)[0] for _, begin, _ in lines] == [*"acdefg"]
    assert [each[1] for each in found_in(source, text)] == [each[1] for each in lines]
    assert found_in(source, "a\n  c\n b\n") == []
    brackets = gw.Lark(
        'file_input: (x _NEWLINE)*\nx[capture]: LPAR "a"* RPAR | "b" _INDENT\nLPAR: "("\n'
        'RPAR: ")"\n_NEWLINE: /\\n */\n%declare _INDENT _DEDENT'
    )
    assert found_in(brackets, "(a\n  a)\n()\n") == [("x", 0, 7), ("x", 8, 10)]
    assert found_in(brackets, "b\n  b") == []
    grammar = """
start: item+
item: _ITEM_INDENT (item+ | "a" _NEWLINE) _DEDENT | "(" _ITEM_INDENT? "a" ")" _NEWLINE
_ITEM_INDENT: "- "
_NEWLINE: /\\n */
%declare _INDENT _DEDENT
"""
    oracle = lark.Lark(grammar, parser="lalr", postlex=gw.ItemIndenter(), propagate_positions=True)
    items, text = gw.Lark(grammar.replace("item:", "item[capture]:")), "- - a\n  - a\n- a\n"
    found = [each for each in spans(oracle.parse(text)) if each[0] == "item"]
    assert [begin for _, begin, _ in found] == [0, 2, 8, 12]
    assert [each[:2] for each in found_in(items, text)] == [each[:2] for each in found]
    assert found_in(items, "- - a\n - a\n") == []
    assert found_in(items, "(- a)\n(a)\n") == [("item", 0, 6), ("item", 6, 10)]


def test_json_is_captured_as_its_value():
    text = """
start: "call" name args ("," args)*
name[capture="function"]: /[a-z]+/
args[capture]: %json {"type": "integer"} | list
list: %json {"type": "array"}
%ignore " "
"""
    source = gw.Lark(text)
    found, error = read_captures(source, b"call f [1, [2]] ,3")
    assert (found, error) == ({"function": "f", "args": [[1, [2]], 3]}, None)
    assert read_captures(source, b"call f") == ({"args": []}, None)
    assert read_value(source, "call f 1")[0] == "call f 1"


@pytest.mark.parametrize(("text", "named"), [
    ("start[capture]: %json {}", "%json {}"),
    ('start: a <x>\na[capture]: "a"', "<x>"),
    ('start: a W\na[capture]: "a"\nW: /[ ]*/', "W"),
    ('start: %lark {start[capture]: "a"}', "%lark"),
])  # fmt: skip
def test_the_dynamic_lexer_captures_nothing_beside_what_lark_has_not(text, named):
    gw.Lark(text)
    with pytest.raises(UnsupportedError, match=f"captures no rules in a grammar with {named}"):
        read_lark(gw.Lark(text, lexer="dynamic"))
    read_lark(gw.Lark(text.replace("[capture]", ""), lexer="dynamic"))


def test_captures_stand_in_sources_around_the_grammar_and_in_grammars_within():
    inner = 'start: "(" x ")"\nx[capture]: "a" y?\ny[capture="deep"]: "b"'
    source = (
        "t" + gw.repeat(gw.Lark("start: %lark {" + inner + '} "."'), 1, 2) + gw.capture("r", int)
    )
    found, _ = read_captures(source, b"t(ab).(a).7")
    assert found == {"x": ["ab", "a"], "deep": ["b"], "r": 7}
    once = gw.Lark("start: %lark {" + inner + "}")
    assert read_captures(once, b"(ab)")[0] == {"x": "ab", "deep": "b"}
    twice = gw.Lark("start: a a\na: %lark {" + inner + "}")
    assert read_captures(twice, b"(ab)(a)")[0] == {"x": ["ab", "a"], "deep": ["b"]}


def test_special_tokens_stand_between_captures():
    vocabulary = gw.Vocabulary([b"a", b"b", None, None], special={"<x>": 2, "<y>": 3})
    source = gw.Lark(
        "start: t? <x> u\nt[capture]: /(.|\\n)+/\nu[capture]: (<[3]> | V)+\nV: /b(?!a)/"
    )
    data = b"ab" + mark("<x>") + b"b" + mark("<y>") + b"b"
    assert read_captures(source, data, vocabulary) == ({"t": "ab", "u": "b<y>b"}, None)


def test_how_often_a_rule_may_stand():
    def counts(rules: str) -> dict[str, int]:
        return counted(gw.Lark("start: a\n" + rules), lambda part: {})

    assert counts('a: "(" a ")" | b\nb[capture]: "b"') == {"b": 1}
    assert counts('a: "(" a ")" b | b\nb[capture]: "b"') == {"b": 2}
    assert counts('a[capture]: "(" a ")" | b\nb[capture="a"]: "b"') == {"a": 2}
    assert counts('a: b | c\nb[capture]: "b"\nc[capture="b"]: "c"') == {"b": 2}
    assert counts('a: "b"\nb[capture]: "c"') == {"b": 0}
    assert counts('a: b c | b\nc: "c" b?\nb[capture]: "b"') == {"b": 2}
    assert counts('a: c c\nc: "c" | d\nd: b\nb[capture]: "b"') == {"b": 2}


def test_rules_without_a_text_capture_nothing_but_the_empty_one():
    source = gw.Lark('start: a "x"\na[capture]: b?\nb: "b"')
    assert read_captures(source, b"x") == ({"a": ""}, None)
    assert read_captures(gw.Lark('start[capture]: "x"?'), b"") == ({"start": ""}, None)
    dynamic = gw.Lark('start[capture]: a*\na: "x"', lexer="dynamic")
    assert read_captures(dynamic, b"") == ({"start": ""}, None)
    assert [*captured(dynamic, b"y", lambda source, begin: [])] == []


def test_ambiguous_rules_have_a_reading():
    draw = random.Random(3)
    source = gw.Lark('start: s\ns[capture]: s s | "a" | t |\nt[capture]: s | "b"', lexer="dynamic")
    for _ in range(20):
        text = "".join(draw.choices("ab", k=draw.randint(0, 6)))
        found, error = read_captures(source, text.encode())
        assert error is None
        assert found["s"][0] == text


def test_a_model_writes_what_is_captured():
    source = gw.Lark('start: "n=" n ";"\nn[capture]: %json {"enum": [12]}')
    vocabulary = gw.Vocabulary([b"n", b"=", b"1", b"2", b";", None], eos_ids={5})
    result = gw.Model(FakeModel(vocabulary, lambda prefix: [0.0] * 6)).generate(
        "", source, max_new_tokens=9
    )
    assert result.captures == {"n": 12}
