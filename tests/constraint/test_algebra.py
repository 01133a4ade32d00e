"""Sources combine like sets; `re` is the oracle for each of them, and for the shortest witness."""

from itertools import product

import interegular
import pytest
from hypothesis import given
from hypothesis import strategies as st

import guideway as gw
from guideway.constraint.lowering import lower_source
from guideway.language.derivative import Derivatives
from regex_samples import oracle, reader, trees

WORDS = ["".join(word) for size in range(5) for word in product("ab\n", repeat=size)]
SIMPLE = trees(["a", "b", "ab", "[ab]", ".", "", r"\n", "^", "$", "a{2}"], 5)
PLAIN = trees(["a", "b", "ab", "[ab]", "a{2}", "(?:aab){1,3}", "[^a]"], 5)
ALPHABET = interegular.fsm.Alphabet.from_groups("a", "b", {interegular.fsm.anything_else})


@pytest.mark.untraced
@given(SIMPLE, SIMPLE, st.sampled_from("&|-~"))
def test_operators_are_those_of_sets(left: str, right: str, operator: str) -> None:
    a, b = gw.Regex(left), gw.Regex(right)
    combined = {"&": a & b, "|": a | b, "-": a - b, "~": ~a & ~b}[operator]
    first, second = oracle(left), oracle(right)
    accepts = reader(lower_source(combined))
    belonging: list[str] = []
    for text in WORDS:
        here, there = bool(first.fullmatch(text)), bool(second.fullmatch(text))
        expected = {
            "&": here and there,
            "|": here or there,
            "-": here and not there,
            "~": not here and not there,
        }[operator]
        assert accepts(text) == expected, text
        belonging += [text] if expected else []
    machine = Derivatives(lower_source(combined & gw.Regex(r"[ab\n]*")))
    if belonging:
        assert machine.shortest(machine.start()).decode() == min(belonging, key=in_order)


@given(PLAIN, PLAIN)
def test_whole_languages_meet_and_hold_each_other_as_automata_say(left: str, right: str) -> None:
    # Words of a few characters cannot say that of languages with long ones.
    one, other = (interegular.parse_pattern(text).to_fsm(ALPHABET) for text in (left, right))
    a, b = gw.Regex(left), gw.Regex(right)
    for source, empty in (
        (a & b, one.isdisjoint(other)),
        (a - b, one.issubset(other)),
        (b - a, other.issubset(one)),
    ):
        machine = Derivatives(lower_source(source))
        assert machine.alive(machine.start()) != empty


def in_order(text: str) -> tuple[int, bytes]:
    return len(text.encode()), text.encode()


@pytest.mark.parametrize(
    ("left", "right", "witness"),
    [
        ("[ab]*", "a*", "b"),
        ("(a|b)*a", "(b*a)+", None),
        ("(?!.*ab)[ab]*", "b*a*", None),
        (r"\w+", r"[a-z]+", "0"),
        (r"(?:a{2}){1,3}", "a{2,6}", None),
        ("a{2,6}", r"(?:a{2}){1,3}", "aaa"),
    ],
)
def test_what_is_in_one_and_not_in_the_other_has_a_shortest_witness(
    left: str, right: str, witness: str | None
) -> None:
    expr = lower_source(gw.Regex(left) - gw.Regex(right))
    machine = Derivatives(expr)
    assert machine.alive(expr) == (witness is not None)
    if witness is not None:
        assert machine.shortest(expr).decode() == witness
