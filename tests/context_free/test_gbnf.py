r"""GBNF as llama.cpp reads it; errors say where."""

import pytest

import guideway as gw
from guideway.context_free.gbnf import Characters, Item, Name, Terminal, Word, parse_gbnf, tokens_of
from guideway.errors import SourceError, UnsupportedError


def first(text: str) -> Item:
    return parse_gbnf(f"root ::= {text}").rules["root"][0][0]


@pytest.mark.parametrize(
    ("text", "item"),
    [
        ('"a b"', Item(Word("a b"))),
        (r'"\n\r\t\\\"\[\]\x41\u00e9\U0001F600"', Item(Word('\n\r\t\\"[]Aé😀'))),
        ("[a-z]", Item(Characters(((97, 122),)))),
        (r"[^\x00-\x1f-]", Item(Characters(((0, 31), (45, 45)), negated=True))),
        (r"[a\-z]", Item(Characters(((97, 97), (45, 45), (122, 122))))),
        (r"[-\]а-я]", Item(Characters(((45, 45), (93, 93), (0x430, 0x44F))))),
        (".", Item(Characters((), negated=True))),
        ("root", Item(Name("root"))),
        ("rule_1\nrule_1 ::= [a]", Item(Name("rule_1"))),
        ('"ab"*', Item(Word("ab"), 0, None)),
        ('"ab" +', Item(Word("ab"), 1, None)),
        ('"ab"?', Item(Word("ab"), 0, 1)),
        ('"ab"{3}', Item(Word("ab"), 3, 3)),
        ('"ab"{ 3 , }', Item(Word("ab"), 3, None)),
        ('"ab"{2,3}', Item(Word("ab"), 2, 3)),
        ('"ab"{,3}', Item(Word("ab"), 0, 3)),
    ],
)
def test_atoms_and_counts(text: str, item: Item):
    assert first(text) == item


def test_groups_are_rules_of_their_own():
    grammar = parse_gbnf('root ::= ("a" | ("b"\n # here\n "c"))+ "d"')
    group = grammar.rules["root"][0][0]
    assert (group.low, group.high) == (1, None)
    inner = grammar.rules[group.atom.rule]
    assert inner[0] == (Item(Word("a")),)
    assert grammar.rules[inner[1][0].atom.rule] == ((Item(Word("b")), Item(Word("c"))),)
    assert set(grammar.groups) == set(grammar.rules) - {"root"}


def test_a_count_of_what_is_counted():
    grammar = parse_gbnf('root ::= "a"{2}*')
    item = grammar.rules["root"][0][0]
    assert (item.low, item.high) == (0, None)
    assert grammar.rules[item.atom.rule] == ((Item(Word("a"), 2, 2),),)


def test_rules_end_with_their_lines_unless_an_alternative_begins():
    grammar = parse_gbnf('# all\nroot ::=\n "a" |\n  other # one\r\n\nother ::= | "b"')
    assert grammar.rules["root"] == ((Item(Word("a")),), (Item(Name("other")),))
    assert grammar.rules["other"] == ((), (Item(Word("b")),))


@pytest.mark.parametrize(("text", "message"), [
    ("other ::= [a]", "there is no rule 'root' to start with; there are other"),
    ("rot ::= [a]", "did you mean 'rot'?"),
    ("root ::= thing", "there is no rule 'thing'; there are root (at line 1, column 10)"),
    ('root ::= "a"\nroot ::= "b"', "the rule 'root' is defined twice (at line 2, column 1)"),
    ('root = "a"', "`::=` must follow the name of the rule 'root'"),
    ('::= "a"', "expected the name of a rule"),
    ('root ::= "a"\n | "b"', "; a new line ends a rule, except in parentheses and after `|` (at"),
    ('root ::= "a', "the closing '\"' is missing (at line 1, column 10)"),
    ("root ::= <[a]>", "a special token is written <name>, or <[7]> by its id"),
    ("root ::= [z-a]", "this range ends before it begins"),
    ("root ::= []", "a class needs characters"),
    (r'root ::= "\q"', "unknown escape; the escapes are \\n"),
    (r'root ::= "\ud800"', "U+D800 is not a character"),
    ('root ::= ("a"', "this parenthesis is never closed (at line 1, column 10)"),
    ('root ::= "a")', "unexpected ')'"),
    ("root ::= *", "'*' has no item before it to repeat"),
    ('root ::= "a"{3,2}', "3 to 2 times"),
    ('root ::= "a"{x}', "a count is written {m}, {m,} or {m,n}"),
    ('root ::= "a"{9999999999}', "more than 9 digits"),
])  # fmt: skip
def test_what_is_no_grammar_is_refused_with_its_place(text: str, message: str):
    with pytest.raises(SourceError) as caught:
        parse_gbnf(text)
    assert message in str(caught.value)


def test_an_error_shows_the_line_with_a_caret():
    with pytest.raises(SourceError) as caught:
        parse_gbnf('root ::= "a"\nb ::= "x" c')
    assert str(caught.value).splitlines()[1:] == ['  b ::= "x" c', "            ^"]


def test_special_tokens_are_read_by_name_and_id():
    text = 'root ::= <think> "<a>" [<>] <[7]>+ # <b>\n'
    grammar = parse_gbnf(text)
    assert [item.atom for item in grammar.rules["root"][0]][::3] == [
        Terminal("<think>"),
        Terminal("<[7]>"),
    ]
    assert tokens_of(text) == {"<think>": gw.special("<think>"), "<[7]>": gw.special(7)}
    assert tokens_of("root ::= [a]") == {}


def test_special_tokens_stand_where_a_grammar_has_them():
    tokens = gw.Vocabulary([b"a", b"<", b"b", b">", None, b"</b>"], special={"<b>": 4}, eos_ids=())
    constraint = gw.compile(gw.Gbnf("root ::= <b> [a-z]* <[5]>"), tokens)
    assert constraint.matches([gw.special("<b>"), "ab", gw.special(5)])
    state = constraint.start()
    for token in (4, 0, 2, 5):
        state = constraint.advance(state, token)
    assert constraint.accepts(state)
    with pytest.raises(UnsupportedError, match="the vocabulary has no token '<c>'"):
        gw.compile(gw.Gbnf("root ::= <c>"), tokens)


@pytest.mark.parametrize("token", ["!<[12]>", "!<end>?", "!<end>{2}", "(!<end>)*"])
def test_a_number_of_tokens_but_one_is_refused_by_name(token: str):
    with pytest.raises(UnsupportedError, match="for one token is not supported") as error:
        parse_gbnf(f"root ::= {token}")
    assert error.value.feature == "!<token>"


def test_a_source_is_checked_when_it_is_made():
    with pytest.raises(SourceError, match="a grammar must be a str"):
        gw.Gbnf(b"root ::= [a]")  # pyright: ignore[reportArgumentType]


def test_of_many_rules_some_are_listed_and_what_is_not_printed_is_told():
    rules = "\n".join(f'rule{n} ::= "a"' for n in range(500))
    with pytest.raises(gw.SourceError, match="rule10 and 489 others"):
        parse_gbnf(f"root ::= something\n{rules}")
    with pytest.raises(gw.SourceError, match=r"not '\\ufeff'"):
        parse_gbnf('\ufeffroot ::= "a"')


@pytest.mark.parametrize("opening", ["[", '"'])
def test_what_is_never_closed_goes_to_the_end(opening: str):
    # From each quote of 100,000 the end would be looked for anew.
    assert [*tokens_of(f"root ::= <t> {opening} <u>")] == ["<t>"]
