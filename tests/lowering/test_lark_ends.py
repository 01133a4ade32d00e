"""What is said to come to an end does so: the plain engine is the oracle."""

import random
from itertools import product

import lark
import pytest

from guideway.automata.derivative import Derivatives
from guideway.errors import GuidewayError
from guideway.lowering import lark_ends, lark_freedom, lark_straight
from guideway.lowering.expr import (
    ALL_BYTES,
    ANYTHING,
    EPSILON,
    ahead,
    byte_set,
    complement,
    concat,
    literal,
    repeat,
    stop,
)
from guideway.lowering.lark_automaton import Frame
from guideway.lowering.lark_contextual import Places
from guideway.lowering.lark_ends import END, Ends
from guideway.lowering.lark_indentation import Place
from guideway.lowering.nodes import Expr
from guideway.syntax.lark_reader import read_lark
from guideway.syntax.lark_source import Lark
from lark_samples import Fuel, OutOfFuelError, by_chance

ANY = byte_set(ALL_BYTES)
# What is looked for in all that follows.
LASTING = [
    *(
        complement(concat(ANYTHING, literal(text), ANYTHING))
        for text in ("a", "bc", "aa", " ", "c")
    ),
    complement(literal("b")),
    repeat(concat(repeat(byte_set(b"bc ")), literal("a"), repeat(byte_set(b"bc ")), literal("a"))),
    concat(byte_set(b"ab"), ANYTHING),
]


def ends_of(text: str, spellable: int = ALL_BYTES) -> tuple[Places, Ends]:
    places = Places(read_lark(Lark(text)), {})
    found = places.ends(spellable)
    assert found is not None
    return places, found


def stacks(places: Places, dice: random.Random, count: int = 12) -> list[Frame]:
    """Some, by terminals that the automaton takes."""
    found = [places.start.stack]
    for _ in range(count):
        place = Place(dice.choice(found), 0, (0,))
        names = [way.terminal for way in places.ways(place.stack.state) if not way.ignored]
        after = places.behind(place, dice.choice(names)) if names else None
        if after is not None and after.stack not in found:
            found.append(after.stack)
    return found


def checked(seed: int, ignored: str) -> int:
    """Compare what is said of a grammar by chance; how much was."""
    text = by_chance(seed) + ignored
    try:
        lark.Lark(text, parser="lalr")
        places, ends = ends_of(text)
    except (lark.exceptions.LarkError, GuidewayError):
        return 0
    count = 0
    for stack in stacks(places, random.Random(seed)):
        whole = concat(places.rest(Place(stack, 0, (0,))), stop(0))
        machine = Derivatives(whole, fuel=Fuel())
        try:
            for beginning in ends.beginnings(stack):
                state = whole
                for byte in beginning or b"":
                    state = machine.step(state, byte)
                    assert state is not None, (text, beginning)
                assert beginning is not END or machine.accepts(whole), text
                count += 1
            for way in places.ways(places.start.stack.state):
                after = [ahead(each.after, 0) for each in way.exits]
                guards = [ahead(each, 0) for each in LASTING]
                lasting = [concat(guard, way.text) for guard in guards]
                for read in (way.text, *after, *guards, *lasting):
                    told = ends.ends(read, stack)
                    if told is not None:
                        assert machine.alive(concat(read, whole)) is told, (text, way.terminal)
                        count += 1
                for read, least in product((way.text, *after), (0, 9)):
                    texts = [*ends.texts(read, stack, least)]
                    assert all(accepted(machine, concat(read, whole), each) for each in texts), text
                    count += len(texts)
        except OutOfFuelError:
            continue
    return count


def accepted(machine: Derivatives, state: Expr | None, text: bytes) -> bool:
    for byte in text:
        state = None if state is None else machine.step(state, byte)
    return state is not None and machine.accepts(state)


def over_all(seed: int, ignored: str) -> int:
    """What is plain to see where something is looked ahead for over the whole, too."""
    text = by_chance(seed) + ignored
    try:
        lark.Lark(text, parser="lalr")
        places, _ = ends_of(text)
    except (lark.exceptions.LarkError, GuidewayError):
        return 0
    count, over = 0, places.level + 1
    for stack in stacks(places, random.Random(seed), 5):
        whole = concat(places.rest(Place(stack, 0, (0,))), stop(places.level), stop(over))
        ways = places.ways(places.start.stack.state)
        reads = [way.text for way in ways] + [ahead(e.after) for way in ways for e in way.exits]
        for read in reads:
            for guard in (*LASTING, repeat(byte_set(b"abc ()"), 2, 4), repeat(ANY, 6)):
                root = concat(ahead(guard, over), read, whole)
                if Derivatives(root)._plainly.ends(root):
                    machine = Derivatives(root, fuel=Fuel())
                    machine._looking._hopeful._plain = lambda _: False
                    try:
                        assert machine.alive(root), (text, stack, read)
                    except OutOfFuelError:
                        continue
                    count += 1
    return count


@pytest.mark.parametrize("ignored", ["", '\n%ignore " "', "\n%ignore /c ?/", "\n%ignore /[ c]+/"])
def test_what_is_plain_to_see_under_a_guard_over_all_is_so(ignored):
    assert sum(over_all(seed, ignored) for seed in range(12)) > 20


@pytest.mark.parametrize("looked_at", [256, 2])
@pytest.mark.parametrize("ignored", ["", '\n%ignore " "', "\n%ignore /c ?/"])
def test_beginnings_lead_to_the_end(ignored, looked_at, monkeypatch):
    monkeypatch.setattr(lark_ends, "_LOOKED_AT", looked_at)
    assert sum(checked(seed, ignored) for seed in range(10)) > 40


@pytest.mark.slow
@pytest.mark.parametrize("ignored", ["", '\n%ignore " "', "\n%ignore /c ?/", "\n%ignore /a+b?/"])
def test_many_beginnings_lead_to_the_end(ignored):
    assert sum(checked(seed, ignored) for seed in range(100, 600)) > 3000


def test_a_comment_ends_with_its_line():
    places, ends = ends_of('start: "(" start ")" | "a"\n%ignore /--[^\\n]*/\n%ignore /[ \\n]+/')
    (comment,) = (way for way in places.ways(places.start.stack.state) if ends._word(way) == b"--")
    assert ends.beginnings(places.start.stack) == [b"\n", b"a\n", b"(\n"]
    assert ends.ends(comment.text, places.start.stack)


def test_what_is_looked_for_in_all_that_follows_lets_some_end_pass(monkeypatch):
    text = 'start: item+\nitem: "(" start ")" | "a" | "x" "a"\n%ignore " "'
    places, ends = ends_of(text)

    def told(guard: Expr) -> bool | None:
        return ends.ends(ahead(guard), stack)

    after = places.behind(places.behind(places.start, "LPAR"), "LPAR")
    stack = after.stack
    for word, said in {"x": True, "xa": True, "a": None, ")": None, "  ": True, " ": None}.items():
        without = complement(concat(ANYTHING, literal(word), ANYTHING))
        assert told(without) is said, word
        assert Derivatives(concat(ahead(without), places.rest(after), stop(0))).alive(
            concat(ahead(without), places.rest(after), stop(0))
        ) is (said is True or word == " ")
    twice = complement(concat(*[ANYTHING, literal(" ")] * 2, ANYTHING))
    assert told(twice) is None  # one blank may come, and no terminal is without another
    monkeypatch.setattr(lark_freedom, "_REMEMBERED", 0)
    monkeypatch.setattr(lark_freedom, "_PLACES", 1)
    counted = repeat(byte_set(b"()a x"), 0, 9)
    assert told(counted) is None
    assert told(counted) is None


def test_where_only_what_leads_away_may_follow_that_is_found_too():
    places, ends = ends_of('start: "b" | "a" "(" start ")"')
    assert ends.beginnings(places.start.stack) == [b"b"]
    assert ends.ends(ahead(concat(literal("a("), ANYTHING)), places.start.stack) is None
    assert ends.ends(ahead(concat(literal("("), ANYTHING)), places.start.stack) is False
    assert ends.ends(ahead(concat(literal("a"), ANYTHING)), places.start.stack)


def test_what_others_look_for_is_not_told():
    places, ends = ends_of('start: "a"')
    assert ends.ends(literal("b"), places.start.stack)
    assert not ends.ends(ahead(byte_set(b"a"), 1), places.start.stack)
    assert not ends.ends(places.rest(places.start), places.start.stack)


def test_bytes_that_cannot_be_spelled_are_not_read():
    places, ends = ends_of('start: "a"', sum(1 << byte for byte in b"ac"))
    assert ends.ends(byte_set(b"c"), places.start.stack)
    assert not ends.ends(byte_set(b"b"), places.start.stack)


def test_little_is_looked_at_and_answers_are_forgotten(monkeypatch):
    monkeypatch.setattr(lark_ends, "_LOOKED_AT", 1)
    monkeypatch.setattr(lark_ends, "_FARTHEST", 1)
    monkeypatch.setattr(lark_ends, "_REMEMBERED", 0)
    places, ends = ends_of('start: "a" "b" "c"')
    for letter in "bbcb":
        assert not ends.ends(literal(letter), places.start.stack)


def test_a_text_is_put_together_and_filled_up(monkeypatch):
    monkeypatch.setattr(lark_straight, "_REMEMBERED", 0)
    text = 'start: "(" start ")" | "a" /b+/\n%ignore " "'
    places, ends = ends_of(text)
    stack = places.behind(places.behind(places.start, "LPAR"), "LPAR").stack
    for _ in range(2):
        assert [*ends.texts(EPSILON, stack)] == [b" a b ) ) "]
        assert [*ends.texts(literal("x"), stack, 12)] == [b"x   a b ) ) "]
    monkeypatch.setattr(lark_straight, "_REMEMBERED", 9)
    monkeypatch.setattr(lark_straight, "_LONGEST", 3)
    assert [*ends_of(text)[1].texts(EPSILON, stack)] == []
    places, ends = ends_of('start: "(" start ")" | "a"\n%ignore / (?! )/')
    assert [*ends.texts(EPSILON, places.start.stack)] == [b" a "]
    assert [*ends.texts(EPSILON, places.start.stack, 9)] == []
    places, ends = ends_of('start: "a"')
    assert [*ends.texts(EPSILON, places.start.stack)] == []


def test_the_nearest_way_may_be_long():
    places, ends = ends_of("start: " + '"a" "b" ' * 1000 + "| start start")
    assert ends.beginnings(places.start.stack) == [b"a"]
    after = places.behind(places.start, "A")
    assert after is not None
    assert ends.beginnings(after.stack) == [b"b"]


def test_that_nothing_may_follow_is_no_end_where_the_text_may_end(monkeypatch):
    monkeypatch.setattr(lark_ends, "_LOOKED_AT", 0)
    places, ends = ends_of('start: "a"')
    after = places.behind(places.start, "A")
    assert after is not None
    assert ends.ends(ahead(repeat(literal("x"))), after.stack)
    assert ends.ends(ahead(literal("x")), after.stack) is False
