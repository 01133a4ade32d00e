"""Texts to the end of what is indented: the plain engine and Lark are the oracles."""

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import lark
import pytest

import guideway as gw
from guideway.automata.derivative import Derivatives
from guideway.lowering import lark_line_ends
from guideway.lowering.expr import ALL_BYTES, EMPTY, EPSILON, ahead, concat, stop
from guideway.lowering.lark_contextual import Places
from guideway.lowering.lark_indentation import Place, ReadLine
from guideway.lowering.nodes import Call, Concat, Expr
from guideway.syntax.lark_reader import read_lark
from guideway.syntax.lark_source import Lark
from guideway.syntax.sources import Source
from lark_samples import ERRORS, Blocks, python_tree, short_strings

LINES = "\n_NL: /(\\n *)+/\n%declare _IN _OUT\n%ignore / +/"
GRAMMARS = [
    'start: (_NL | item)*\nitem: "a" _NL | "b" ":" _NL _IN item+ _OUT | "(" "c"* ")" _NL' + LINES,
    'start: item+\nitem: "a" _NL | "t" _NL _IN item+ _OUT "f" _NL _IN item+ _OUT' + LINES,
    'start: item+\nitem: "a" "b"? _NL | "(" "c"* ")" _NL | "i" _NL _IN item+ _OUT ("e" item)?'
    + LINES.replace("\\n *)+", "\\n *|#[^\\n]*)+")
    + "\n%ignore /#[^\\n]*/",
    'start: item+\nitem: "ab"+ _NL | "x" _NL _IN item+ _OUT | "x" item' + LINES,
    'start: item+\nitem: _ITEM ("a" _NL | item+) _OUT | "b" _NL [_IN item+ _OUT]\n_ITEM: "- "'
    + LINES,
]


def places_of(text: str) -> Places:
    return Places(read_lark(Lark(text, postlex=Blocks)), {})


def some_places(places: Places, dice: random.Random, count: int) -> list[Place]:
    """Some, by terminals that may come and by lines of any width."""
    found = [places.start]
    lines: Any = places._lines
    for _ in range(count):
        place = dice.choice(found)
        names = [way.terminal for way in places.ways(place.stack.state) if not way.ignored]
        name = dice.choice(names) if names else None
        if name == lines.newline:
            after = None if place.brackets else lines.indented(place, dice.randrange(4))
        else:
            after = name and lines.take(place, name)
        if after and places.needs(after) is not None:
            found.append(after)
    return found


def lines_at(places: Places, place: Place) -> Iterator[ReadLine]:
    """Lines that begin there, with some read of them."""
    for way in places.ways(place.stack.state):
        for leaving in way.exits if way.terminal == "_NL" and not place.brackets else ():
            todo: list[Expr] = [places.line(place, leaving.text, None, leaving.after)]
            for text in (b"", b"\n", b"\n  ", b"\n#", b"#\n "):
                machine = Derivatives(todo[0])
                state: Expr | None = machine.start()
                for byte in text:
                    state = None if state is None else machine.step(state, byte)
                for node in calls(state):
                    if isinstance(node.argument, ReadLine):
                        yield node.argument


def calls(state: Expr | None) -> Iterator[Call]:
    todo = [] if state is None else [state]
    while todo:
        node = todo.pop()
        if isinstance(node, Call):
            yield node
        todo += [node.head, node.tail] if isinstance(node, Concat) else getattr(node, "options", ())


def accepted(machine: Derivatives, state: Expr | None, text: bytes) -> bool:
    for byte in text:
        state = None if state is None else machine.step(state, byte)
    return state is not None and machine.accepts(state)


def checked(places: Places, seed: int, count: int) -> int:
    """How many texts were looked at; each is one of what stands there."""
    machine, seen = Derivatives(EPSILON), 0
    for place in some_places(places, random.Random(seed), count):
        rest = concat(places.rest(place), stop(places.level))
        ways = [way for way in places.ways(place.stack.state) if way.terminal != "_NL"][:4]
        reads = [each for way in ways for each in (way.text, ahead(way.exits[0].after, 0))]
        for read, least in product((EPSILON, *reads), (0, 12)):
            for text in places.texts(read, place, ALL_BYTES, least):
                assert accepted(machine, concat(read, rest), text), (place.widths, text)
                seen += 1
        for line in lines_at(places, place):
            whole = concat(places.line(place, line.text, line.columns, line.after), stop(0))
            for text in places.texts(EPSILON, line, ALL_BYTES, 0):
                assert accepted(machine, whole, text), (line.columns, place.widths, text)
                seen += 1
    return seen


@pytest.mark.parametrize("text", GRAMMARS)
def test_texts_are_texts_of_what_is_left(text: str) -> None:
    assert checked(places_of(text), seed=1, count=24) > 60


# Behind a comment of the third the oracle itself ends in a LimitError, at some places.
@pytest.mark.slow
@pytest.mark.parametrize("text", [*GRAMMARS[:2], *GRAMMARS[3:]])
def test_many_texts_are_texts_of_what_is_left(text: str) -> None:
    assert sum(checked(places_of(text), seed, 40) for seed in range(2, 40)) > 2_000


@pytest.mark.untraced
def test_texts_of_python_are_texts_of_what_is_left() -> None:
    assert checked(Places(python_tree(), {}), seed=1, count=16) > 60


def test_little_is_remembered_and_long_texts_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lark_line_ends, "_REMEMBERED", 0)
    places = places_of(GRAMMARS[0])
    after = places.behind(places.behind(places.start, "B") or places.start, "COLON")
    assert after is not None
    for _ in range(2):
        found = [*places.texts(EPSILON, after, ALL_BYTES, 0)]
        assert found == [b" \n a \n"]
    monkeypatch.setattr(lark_line_ends, "_LONGEST", 1)
    assert [*places_of(GRAMMARS[0]).texts(EPSILON, after, ALL_BYTES, 0)] == []


def test_where_nothing_is_free_there_are_no_texts() -> None:
    places = places_of('start: "a" _NL\n_NL: /(\\n *)+/\n%declare _IN _OUT')
    assert [*places.texts(EPSILON, places.start, ALL_BYTES, 0)] == []


def test_spaces_that_may_not_be_two_fill_nothing_up() -> None:
    places = places_of('start: item+\nitem: "a" _NL' + LINES.replace("/ +/", "/ (?! )/"))
    assert [*places.texts(EPSILON, places.start, ALL_BYTES, 0)] == [b" a \n", b"a \n"]
    assert [*places.texts(EPSILON, places.start, ALL_BYTES, 9)] == [b"a \n"]


def test_a_line_that_nothing_may_follow_has_no_texts() -> None:
    places = places_of(GRAMMARS[1])
    after = places.behind(places.start, "T")
    assert after is not None
    (newline,) = (way for way in places.ways(after.stack.state) if way.terminal == "_NL")
    lines = [ReadLine(each.text, None, each.after, after) for each in newline.exits]
    found = [text for line in lines for text in places.texts(EPSILON, line, ALL_BYTES, 0)]
    assert found == [b"\n a \nf \n a \n"]
    for line in lines:
        assert [*places.texts(EPSILON, replace(line, after=EMPTY), ALL_BYTES, 0)] == []


@pytest.mark.parametrize("text", GRAMMARS[:3])
@pytest.mark.parametrize("regex", ["(?s).{0,5}", "(?s)[^(]*", "(?s)a.*", "(?s).*\n\n.*"])
def test_what_meets_a_regex_is_what_both_allow(text: str, regex: str) -> None:
    vocabulary = gw.Vocabulary([bytes((b,)) for b in range(128)] + [b"<eos>"], {128})
    parser = lark.Lark(text, parser="lalr", postlex=Blocks())
    grammar, pattern = gw.Lark(text, postlex=Blocks), gw.Regex(regex)
    held = gw.compile(pattern, vocabulary)

    def texts_of(source: Source) -> Callable[[str], bool]:
        try:
            return gw.compile(source, vocabulary).matches
        except gw.UnsatisfiableError:
            return lambda text: False

    both, less = texts_of(grammar & pattern), texts_of(grammar - pattern)
    found = 0
    more = ["b:\n a\n", "b:\n a\na\n", "t\n a\nf\n a\n", "i\n a\n", "i\n a\ne a\n"]
    for each in [*short_strings("a\n (", 4), *short_strings("b:\n a", 3), *more]:
        try:
            parser.parse(each)
        except ERRORS:
            parses = False
        else:
            parses = True
        assert both(each) == (parses and held.matches(each)), each
        assert less(each) == (parses and not held.matches(each)), each
        found += parses
    assert found
