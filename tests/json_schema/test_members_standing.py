"""What is remembered of the rest of an object is what would be found again."""

import random
from functools import partial

import pytest

import guideway as gw
from guideway.json_schema import members as json_members_shortest
from guideway.json_schema import members as json_members_standing
from guideway.json_schema.lowering import lower_json_schema
from guideway.json_schema.members import Standing
from guideway.json_schema.source import JsonSchema
from guideway.language import nodes as answers
from guideway.language.derivative import Derivatives
from guideway.language.nodes import Expr

KEYS = {"a": ("a", "aa", "ab"), "b": ("b", "bb"), "c": ("c",)}
Words = tuple[str, ...]


def first_words(wanted: str, extras: frozenset[str | None], looked: set[str]) -> Words | None:
    """The first key of each class that has not come; None if there is none of some."""
    found: list[str] = []
    for name in wanted:
        word = next((word for word in KEYS[name] if word not in extras), None)
        if word is None:
            return None
        looked.add(word)
        found.append(word)
    return tuple(found)


@pytest.mark.parametrize("seed", range(50))
def test_an_answer_is_the_one_that_would_be_found(seed):
    chance, standing = random.Random(seed), Standing[Words | None](None)
    keys = [key for listed in KEYS.values() for key in listed]
    for _ in range(100):
        wanted = "".join(chance.sample("abc", chance.randint(0, 3)))
        came = frozenset(chance.sample([*keys, "x", "y", None], chance.randint(0, 6)))
        remembered = chance.random() < 0.7
        told = standing.ask(
            wanted, came, partial(first_words, wanted), lambda _, keep=remembered: keep
        )
        assert told == first_words(wanted, came, set())


def test_what_is_not_known_yet_is_asked_again():
    standing, found = Standing[bool | None](no=False), [None, None, True]
    for known in (None, None, True):
        assert standing.ask("", frozenset("x"), lambda *_: found.pop(0), bool) is known
    assert standing.ask("", frozenset("xy"), lambda *_: found.pop(0), bool) is True


def test_of_keys_that_matter_for_nothing_the_answer_is_looked_for_once():
    looks, standing = list[str](), Standing[Words | None](None)

    def find(extras: frozenset[str | None], looked: set[str]) -> Words | None:
        looks.append("")
        return first_words("ab", extras, looked)

    for number in range(100):
        assert standing.ask("ab", frozenset({f"x{number}"}), find, lambda _: True) == ("a", "b")
    assert standing.ask("ab", frozenset({"a", "x1"}), find, lambda _: True) == ("aa", "b")
    assert len(looks) == 2


def test_of_many_questions_and_answers_not_all_are_remembered(monkeypatch):
    monkeypatch.setattr(json_members_standing, "_MOST", 4)
    monkeypatch.setattr(json_members_standing, "_EACH", 2)
    monkeypatch.setattr(answers, "_MOST_KEPT", 2)
    standing = Standing[str](no="")
    for number in range(20):
        extras = frozenset({str(number % 5)})

        def find(extras: frozenset[str | None], looked: set[str]) -> str:
            looked |= set("01234")
            return str(sorted(map(str, extras)))

        told = standing.ask(number % 7, extras, find, lambda _: True)
        assert told == str(sorted(map(str, extras)))
    kept = answers.Answers(lambda part: b"", lambda: True, {})
    assert [kept.recall(key, partial(str, key)) for key in (1, 2, 1, 3, 1)] == [*"12131"]


# The same of real objects

ENTANGLED = (
    {"type": "object", "not": {"patternProperties": {"^q": {"type": "string"}}}},
    {
        "type": "object",
        "minProperties": 2,
        "patternProperties": {"^q": {"const": 1}, "^r": {"const": ""}},
        "additionalProperties": False,
    },
    {
        "oneOf": [
            {"required": ["n"], "patternProperties": {"^q": {"const": 1}}},
            {"patternProperties": {"^q": {"const": 2}}, "minProperties": 3},
            {"patternProperties": {"^r": {"type": "null"}}, "required": ["m"]},
        ],
        "type": "object",
    },
)


def members(chance: random.Random, count: int) -> str:
    """The beginning of an object of some members of every class."""
    keys = chance.sample(["q", "q1", "q2", "r", "r1", "n", "m", "x", "y", "z"], count)
    values = ("1", "2", '""', "null")
    return "{" + "".join(f'"{key}":{chance.choice(values)},' for key in keys)


@pytest.mark.parametrize("count", [40, pytest.param(120, marks=pytest.mark.slow)])
@pytest.mark.parametrize("schema", ENTANGLED)
def test_what_is_remembered_changes_no_length(schema, count):
    source = JsonSchema(schema, whitespace="compact", spelling="plain")
    chance, compared = random.Random(3), 0
    expr = lower_json_schema(source)
    warm = Derivatives(expr)
    for _ in range(count):
        text = members(chance, chance.randint(0, 4)) + chance.choice(['"', '"q', '"x'])
        length = length_behind(warm, expr, text)
        expr_anew = lower_json_schema(source)  # which remembers nothing
        assert length == length_behind(Derivatives(expr_anew), expr_anew, text)
        compared += length is not None
    assert compared >= count / 8


def length_behind(machine: Derivatives, expr: Expr, text: str) -> int | None:
    """How much has to follow a text at least; None if nothing can."""
    state: Expr | None = expr
    for byte in text.encode():
        state = None if state is None else machine.step(state, byte)
    return None if state is None else machine.shortest_length(state)


@pytest.mark.parametrize(
    ("schema", "begun", "most"),
    [
        (ENTANGLED[0], '{"x', 20),  # another class is asked for
        (ENTANGLED[2], '{"r', 60),  # keys of this class are asked for, but most of them in vain
    ],
)
def test_near_the_end_of_a_budget_a_rest_is_searched_for_a_few_times(
    schema, begun, most, monkeypatch
):
    searches: list[object] = []

    def counted(*asked: object) -> object:
        searches.append(asked)
        return least_members(*asked)

    least_members = json_members_shortest.least_members
    monkeypatch.setattr(json_members_shortest, "least_members", counted)
    letters = [f"{one}{two}".encode() for one in "abcdefghij" for two in "abcdefghij"]
    tokens = [bytes([byte]) for byte in range(256)] + letters
    vocabulary = gw.Vocabulary([*tokens, b"<end>"], {len(tokens)})
    constraint = gw.compile(gw.JsonSchema(schema, whitespace="compact"), vocabulary)
    state = constraint.start()
    for byte in begun.encode():
        state = constraint.advance(state, byte)
    row = constraint.mask_within(state, constraint.distance(state) + 4)
    assert sum(int(row[token // 32]) >> token % 32 & 1 for token in range(256, 356)) == 100
    assert len(searches) < most


def test_what_suffices_no_longer_does_when_its_keys_have_come():
    schema = {"type": "object", "not": {"patternProperties": {"^qq?$": {"type": "string"}}}}
    tokens = [bytes([byte]) for byte in range(256)]
    vocabulary = gw.Vocabulary([*tokens, b"<end>"], {256})
    constraint = gw.compile(gw.JsonSchema(schema, whitespace="compact"), vocabulary)

    def may_come(text: str, byte: bytes) -> bool:
        state = constraint.start()
        for one in text.encode():
            state = constraint.advance(state, one)
        return bool(int(constraint.mask(state)[byte[0] // 32]) >> byte[0] % 32 & 1)

    assert may_come('{"x":"",', b'"')  # some key is needed, whichever came
    assert may_come('{"q":', b'"')
    assert not may_come('{"q":"","qq":', b'"')
    assert may_come('{"q":"","qq":', b"1")
    assert not may_come('{"qq":"","x":1,"q":', b'"')
