"""Where each stack of Lark's automaton has a text to the end, that is told once, and is so."""

import lark
import pytest
from lark.indenter import PythonIndenter

from guideway.context_free.lark.errors import END, LarkTable
from guideway.context_free.lark.lowering import freedom
from guideway.context_free.lark.plans import Automaton, always_completed
from guideway.context_free.lark.reader import read_lark
from guideway.context_free.lark.scanners import Scanners
from guideway.context_free.lark.source import Lark
from guideway.errors import GuidewayError
from guideway.language.expr import ALL_BYTES
from guideway.language.pushdown import Frame
from lark_samples import Blocks, by_chance, python_lark, python_tree

LONGEST = 5  # states of a path,
SEARCHED = 400  # and stacks searched for the end of one


def spacer(text: str, spellable: int = ALL_BYTES, **options) -> bytes | None:
    grammar = read_lark(Lark(text, **options))
    found = freedom(grammar, Scanners(grammar), spellable)
    return None if found is None else found.spacer


@pytest.mark.parametrize(
    ("text", "space"),
    [
        ('start: "a" start "b" | "c"\n%ignore " "', b" "),
        ("start: /a+/ start | /a+/\n%ignore /[ b]/", b" "),
        # A conflict is resolved: what comes behind the other way is not needed to complete a text.
        ('start: "i" start ["e" start] | "x"\n%ignore " "', b" "),
        # Only behind a space of two are these what they are.
        ("start: /a(?!-)/ start | /b(?!-)/\n%ignore /-./", None),
        ("start: /a(?!-)/ start | /b/\n%ignore /-./", b"-\0"),
        ('start: "a" start | "b"\n%ignore /--/ \n%ignore / -/', b" -"),
        # What is taken goes on over any space, and the end is not reached without it; or it is.
        ("start: /a[^b]*/ start | /a[^b]*/ 'c'\n%ignore / /".replace("'", '"'), None),
        # Where it may be the last, or what comes behind it ends it, each stack is decided apart.
        ("start: /a[^b]*/ | /a[^b]*/ start\n%ignore / /", None),
        ("start: /a[^b]*/ /b/ start | /a[^b]*/ /b/\n%ignore / /", None),
        ("start: /a[^b]*/ start | /b/\n%ignore / /", b" "),
        (
            'start: _line (_NL _line)*\n_line: "a"+ | "(" "a" _NL ")"\n_NL: /\\n */\n%ignore " "',
            None,
        ),
        # Two of them are one; or what comes behind it goes on with it, or only the end does not.
        ('start: "a" _NL _NL "b"\n_NL: /\\n */\n%ignore " "', None),
        ('start: "a" _NL "(" "b"\n_NL: /\\n *(\\( *)?/\n%ignore " "', None),
        ('start: "a" _NL | "a" _NL start\n_NL: /\\n *(?!a)/\n%ignore " "', None),
        ('start: x _NL | x _NL "b"\nx: "a" | "c" x\n_NL: /\\n *(?=b)/\n%ignore " "', None),
        (
            'start: _line (_NL _line)*\n_line: "a" "("? | NAME "("\n'
            'NAME: /b(?=\\()/\n_NL: /\\n */\n%ignore " "',
            b" ",
        ),
        ("start: /a[^ ]*/ | /a[^ ]*/ start\n%ignore /[ \\t]+/", b" "),
        # The first text of what has to be taken is another's, or each is.
        (
            'start: INT start | "and" start | NAME\nINT.2: /[0-9]+(?![a-z])/\nNAME: /[0-9a-z]+/\n'
            "%ignore / /",
            b" ",
        ),
        ("start: A start | B\nA.2: /0x*|1b/\nB: /0x*|1b/\n%ignore / /", None),
        # "aa" is ignored where no name can come, so behind a name there is no end.
        ('start: /[ab]+/ "aa" | "aa" "c"\n%ignore /a{1,2}/\n%ignore " "', None),
        # It would be completed by more of the same only.
        ('start: "x" | more NAME "c"\nmore: more "a" | "a"\nNAME: /b$/\n%ignore " "', None),
        ('start: "x" | more NAME\nmore: more "a" | "a"\nNAME: /b$/\n%ignore " "', None),
        # Nothing is ignored; or not in front of each.
        ('start: "a" start "b" | "c"', None),
        ('start: "a" | " a" start\n%ignore " "', None),
        # What is ignored is that of a terminal in some states.
        ('start: "a" /b+/ start | "a"\n%ignore "b"', None),
        # A string is that of a regex in some states, and itself in others.
        ('start: "a" /[a-c]+/ "b" start | "b"\n%ignore " "', b" "),
        # Spaces are counted, and may not be the last.
        ('start: "a" start | "b"\n%ignore / (?=[ab])/', None),
        # What Lark makes of the end of a text, where it may be two things.
        ('start: x | y\nx.2: "a"\ny: "a"\n%ignore " "', None),
        # Before "e" Lark reads on, and another way leads to the end; or what it reads is nowhere.
        ('start: "i" start "e" start | "i" start | "x" ";"\n%ignore " "', b" "),
        ('start: "s" x "e"\nx: "i" x ["e" x] | "x"\n%ignore " "', None),
        ('start: "s" x "e" "!"\nx: "i" x ["e" x ";"] | "x"\n%ignore " "', None),
        ('start: "s" x "e" "!"\nx: "i" x | "i" x "e" x | "x"\n%ignore " "', None),
        ('start: "s" x "e"\nx: "i" x | "i" x "e" NO | "x"\n%ignore " "\n%declare NO', None),
        # What is a name where one may stand is not what leads to the end; or something else is not.
        ('start: "do" x\nx: N "," x | N /go/ x | N\nN: /[a-zA-Z]+/\n%ignore " "', b" "),
        ('start: "do" x ";"\nx: N /go/i N | x N\nN: /[a-zA-Z]+/\n%ignore " "', b" "),
        ('start: "do" x\nx: N x | /go/i\nN: /[a-zA-Z]+/\n%ignore " "', None),
        # At the beginning a terminal is taken that leads nowhere: before all that may stand there,
        # or all but one; or what may stand there is behind what Lark reads first.
        ('start: "a" start | "b" | A NO\nA.2: / +(?=[ab])/\n%ignore " "\n%declare NO', None),
        ('start: x | A NO\nx: "a" x | "b"\nA.2: / +(?=a)/\n%ignore " "\n%declare NO', b" "),
        ('start: x | A NO\nx: "a" x | "b"\nA.2: / +(?=[ab])/\n%ignore " "\n%declare NO', None),
        ('start: "a" | A NO\nA.2: / /\n%ignore " "\n%declare NO', None),
        ('start: x "a"\nx:\n%ignore " "', b" "),
        ('start: x "a" | A NO\nx:\nA.2: / +(?=a)/\n%ignore " "\n%declare NO', None),
        # What the table has no action for cannot be written.
        ('start: "a" "c"\n%ignore / |c/', None),
        # Each rule has to have a text.
        ('start: "a" | "b" x\nx: "b" x\n%ignore " "', None),
    ],
)
def test_what_stands_between_two_terminals(text, space):
    assert spacer(text) == space


def test_two_blanks_tell_an_item_from_one_that_begins_on_its_line():
    text = (
        'start: item+\nitem: D "a" _NL | _ITEM item+ _OUT\nD: /-(?=  )/\n_ITEM: /- (?! )/' + LINES
    )
    assert spacer(text, postlex=Blocks) == b"  "
    assert spacer(text.replace("D: /-(?=  )/", "D: /-(?=   )/"), postlex=Blocks) is None


def test_bytes_that_do_not_exist_are_no_space():
    text = 'start: "a" start | "b"\n%ignore /[ _]/'
    assert spacer(text) == b" "
    assert spacer(text, ALL_BYTES & ~(1 << ord(" "))) == b"_"
    assert spacer(text, ALL_BYTES & ~(1 << ord("b"))) is None
    either = 'start: "a" start | /[bc]/\n%ignore /[ _]/'
    assert spacer(either, ALL_BYTES & ~(1 << ord("b"))) == b" "
    assert spacer(either, ALL_BYTES & ~(1 << ord("b") | 1 << ord("c"))) is None


def test_a_grammar_without_a_table_says_nothing():
    assert spacer('start: "a" start | "b"\n%ignore " "', lexer="dynamic") is None


LINES = "\n_NL: /(\\n *)+/\n%ignore / +/\n%declare _IN _OUT"
BLOCK = 'start: item+\nitem: "a" "(" "a" ")" _NL | "a" _NL _IN item+ _OUT'


@pytest.mark.parametrize(
    ("text", "free"),
    [
        (BLOCK, True),
        ('start: item+\nitem: "a" _NL | "b" _NL _IN rest\nrest: item+ _OUT', False),
        ('start: item+\nitem: "a" _NL | "b" _IN item+ _OUT', False),
        ('start: item+\nitem: "a" _NL | "b" _NL _IN "a" _OUT', False),
        ('start: item+\nitem: "a" _NL | "b" _NL _IN item* _OUT', False),
        ('start: item+\nitem: "a" _NL | "b" _NL _IN item+ tail _OUT\ntail: ["c" _NL]', True),
        ('start: item+\nitem: "a" _NL | "b" _NL _IN item+ tail _OUT\ntail: ["c"]', False),
        ('start: item+\nitem: "(" open\nopen: "a" ")" _NL', False),
        ('start: item+\nitem: "(" "a" _NL ")" _NL', False),
        ('start: item+\nitem: "a" _NL _NL', False),
        ('start: item+\nitem: _ITEM item+ _OUT | "a" _NL\n_ITEM: "-"', True),
        ('start: item+\nitem: _ITEM "a" _OUT | "a" _NL\n_ITEM: "-"', False),
        ('start: item+\nitem: _ITEM "a" _NL rest | "a" _NL\nrest: _OUT\n_ITEM: "-"', False),
        ('start: item+\nitem: "(" x ")" _NL\nx: _ITEM "a" _NL _OUT | "b"\n_ITEM: "-"', False),
    ],
)
def test_lines_begin_and_end_as_rules_have_them(text, free):
    grammar = read_lark(Lark(text + LINES, postlex=Blocks))
    assert grammar.table is not None
    assert always_completed(grammar, grammar.table) is free
    assert (spacer(text + LINES, postlex=Blocks) == b" ") is free


PARTED = 'start: item+\nitem: "a" _NL | "b" _NL _IN item+ _OUT _NL' + LINES


@pytest.mark.parametrize(
    ("more", "space"),
    [
        ("", None),
        ("\n%ignore /-/", b"-"),
        # A newline goes on over it, or is not what it is before it.
        ("\n%ignore /\\n/", None),
        ("\n%ignore /-/\nX.2: /\\n+(?=-)/\n%extend item: X _NL", None),
    ],
)
def test_a_newline_comes_behind_another_where_something_ignored_parts_them(more, space):
    grammar = read_lark(Lark(PARTED + more, postlex=Blocks))
    assert grammar.table is not None
    assert not always_completed(grammar, grammar.table)
    assert always_completed(grammar, grammar.table, parted=True)
    assert spacer(PARTED + more, postlex=Blocks) == space


@pytest.mark.parametrize("start", ["single_input", "eval_input"])
def test_other_beginnings_of_python_are_free(start):
    # What is read at Python's prompt took more than 30 s to the first mask.
    text = python_lark().read_text()
    assert spacer(text, start=start, postlex=PythonIndenter) is not None


@pytest.mark.parametrize(
    "line",
    [
        "/\\n+/",
        "/(\\n )+/",
        "/\\n {0,3}/",
        "/\\n *(?=[^\\n]| $)/",
        "/\\n *(?!a)/",
        "/(x{300})?\\n *(?!\\n)/",
    ],
)
def test_newlines_that_do_not_begin_any_line(line):
    assert spacer(BLOCK + LINES.replace("/(\\n *)+/", line), postlex=Blocks) is None


def test_each_text_that_is_ignored_is_tried():
    lines = LINES.replace("/(\\n *)+/", "/\\n {0,3}/")
    assert lines != LINES
    assert spacer(f"{BLOCK}{lines}\n%ignore /-/", postlex=Blocks) is None


def test_newlines_that_cannot_be_written():
    assert spacer(BLOCK + LINES, ALL_BYTES & ~(1 << ord("\n")), postlex=Blocks) is None


def test_python_is_free():
    grammar = python_tree()
    found = freedom(grammar, Scanners(grammar))
    assert found is not None
    assert found.spacer == b"\t"
    assert len(found.lines) == 1


def test_a_newline_is_the_spacer_where_it_can_be_as_it_ends_comments():
    ignored = "\n%ignore /[ \\n]+/\n%ignore /--[^\\n]*/"
    grammar = read_lark(Lark('start: "a" start "b" | "c"' + ignored))
    found = freedom(grammar, Scanners(grammar))
    assert found is not None
    assert found.spacer == b"\n"
    without = freedom(grammar, Scanners(grammar), ALL_BYTES & ~(1 << 10))
    assert without is not None
    assert without.spacer == b" "


def test_a_rule_that_takes_what_is_avoided_has_a_text_all_the_same() -> None:
    grammar = read_lark(Lark('start: "a" rest | "c"\nrest: "x"'))
    assert grammar.table is not None
    assert always_completed(grammar, grammar.table)
    assert not always_completed(grammar, grammar.table, frozenset({"X"}))
    assert always_completed(grammar, grammar.table, frozenset({"C"}))


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
            if always_completed(grammar, table, avoided):
                for path in paths(table, automaton, names):
                    assert comes_to_its_end(automaton, table, path, avoided), (text, avoided)
                told += 1
    assert told > 20
