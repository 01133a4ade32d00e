"""What completed one object is tried on the next: it never says more than a search would."""

import random

import pytest

import guideway as gw
from guideway.constraint.compiled import CompiledConstraint
from guideway.json_schema import members as json_members
from guideway.json_schema import shortest_members as json_members_found
from guideway.json_schema.discriminators import Unlike
from guideway.json_schema.formulas import (
    FALSE,
    TRUE,
    Among,
    AtLeast,
    AtMost,
    Beside,
    Formula,
    Found,
    Matching,
    Named,
    Required,
    all_of,
    any_of,
    exact,
    leaf,
    opposite,
)
from guideway.json_schema.key_classes import KeyClass
from guideway.json_schema.lowering import Lowering
from guideway.json_schema.members import MembersTemplate
from guideway.json_schema.objects import Member, Rest
from guideway.json_schema.source import JsonSchema
from guideway.json_schema.spelling import json_style
from guideway.language.derivative import Derivatives
from guideway.language.expr import ALL_BYTES, ANYTHING, EPSILON, literal
from guideway.language.nodes import Expr

NAMES = "abcd"


def formula(chance: random.Random, depth: int = 3) -> Formula:
    """A formula about members of a few names, and of others."""
    if depth and chance.random() < 0.75:
        parts = [formula(chance, depth - 1) for _ in range(chance.randint(2, 4))]
        return chance.choice((all_of, any_of))(*parts)
    one = leaf(Among(frozenset({exact(1)})))  # said and denied: others are seldom both
    values = (TRUE, FALSE, one_of(chance, 1), one_of(chance, 2), opposite(one_of(chance, 1)))
    value = chance.choice((*values, one, opposite(one)))
    keys = Beside(frozenset(chance.sample(NAMES, 2)), ())
    name = chance.choice(NAMES)
    atoms = [Named(name, value)] * 4 + [Required(name)] * 4
    atoms += [AtLeast(chance.randint(1, 3)), AtMost(chance.randint(1, 3))]
    some = [dict.fromkeys(chance.sample(NAMES, chance.randint(0, 3)), 1) for _ in range(2)]
    atoms += [Unlike(frozenset(map(exact, some)))]
    atoms += [Matching(keys, value), Found(keys, value), Found(keys, TRUE), Found(keys, TRUE)]
    return leaf(chance.choice(atoms))


def one_of(chance: random.Random, count: int) -> Formula:
    return leaf(Among(frozenset(exact(number) for number in chance.sample(range(3), count))))


def answers(said: Formula, order: str, seed: int) -> list[bool]:
    """Whether what is asked lives, member by member along random ways."""
    source = JsonSchema(True, whitespace="compact", key_order=order)
    lowering, chance = Lowering(source), random.Random(seed)
    judge = lowering.meaning.outlines
    members = MembersTemplate(said, lowering.value, json_style(source), lowering.keysets, judge)
    look = Derivatives(EPSILON).living
    found: list[bool] = []
    for _ in range(4):
        rest = Rest(-1, frozenset(), said)
        while True:
            found.append(bool(members.lives(rest, look)))
            asked = {
                key: members.lives(Member(rest, key), look) for key in members.free(rest.place)
            }
            found += map(bool, asked.values())
            ways = [
                Rest(members.behind(rest.place, key), frozenset(), left)
                for key, lives in asked.items()
                if lives
                for left in members.after(rest.said, key)
            ]
            if not ways:
                break
            rest = chance.choice(ways)
    return found


@pytest.mark.parametrize("order", ["any", "declared"])
def test_with_what_was_found_before_the_answers_are_those_of_a_search(monkeypatch, order):
    seen = set[bool]()
    for seed in range(30):
        said = formula(random.Random(seed))
        with monkeypatch.context() as patch:
            patch.setattr(json_members_found, "_MOST_ANSWERS", 3 if seed % 4 < 2 else 1000)
            patch.setattr(json_members_found, "_MOST_BITS", 90 if seed % 8 < 4 else 1 << 20)
            patch.setattr(json_members_found, "_KEPT", 1 + seed % 2)
            quick = answers(said, order, seed)
        with monkeypatch.context() as patch:
            for name, none in (("suffice", False), ("with_members", set[int]())):
                patch.setattr(json_members_found.Completions, name, lambda *asked, none=none: none)
            assert quick == answers(said, order, seed), seed
        seen.update(quick)
    assert seen == {True, False}


def test_a_member_of_a_class_counts_and_is_what_is_said_of_it():
    others, value = Beside(frozenset("ab"), ()), leaf(Among(frozenset({exact(1)})))
    keys = [*(KeyClass(name, literal(name), frozenset()) for name in "ab")]
    keys.append(KeyClass(None, ANYTHING, frozenset()))
    said, found = leaf(Matching(others, value)), leaf(Found(others, TRUE))
    ways = json_members_found.Completions(keys, [])
    ways.keep([(Required("a"),)], {2})
    assert ways.suffice(found, 3)
    assert not ways.suffice(said, 3)
    assert not ways.suffice(all_of(found, leaf(AtMost(1))), 3)
    assert ways.suffice(all_of(leaf(AtLeast(2)), leaf(AtMost(2))), 3)
    assert ways.suffice(leaf(Unlike(frozenset({exact({"a": 1})}))), 3)
    assert not ways.suffice(leaf(Found(others, value)), 3)
    assert not ways.suffice(found, 2)  # "a" has come
    ways.keep([(Required("a"), Matching(others, value))], {2})
    assert ways.suffice(said, 3)


ONE = {f"p{n}": {"type": "string"} for n in range(60)}
IFS = [
    {"if": {"properties": {f"p{n}": {"const": "x"}}, "required": [f"p{n}"]},
     "then": {"required": [f"p{(n + 1) % 60}"]}}
    for n in range(60)
]  # fmt: skip


@pytest.mark.parametrize(
    ("said", "most"),
    [({"allOf": IFS}, 12), ({"oneOf": [{"required": [name]} for name in ONE]}, 70)],
    ids=["if", "one"],
)
def test_most_names_need_no_search(said, most, monkeypatch):
    # Each of the 60 took one of 3 to 9 ms in each state: a mask .3 and .5 s. Behind one of those
    # that exclude each other, none is told to be possible without a search.
    searched: list[Formula] = []
    can_end = json_members.can_end

    def counted(ways, formula, extras, members):
        searched.append(formula)
        return can_end(ways, formula, extras, members)

    monkeypatch.setattr(json_members, "can_end", counted)
    vocabulary = gw.Vocabulary([bytes([byte]) for byte in range(256)])
    constraint = gw.compile(gw.JsonSchema({"type": "object", "properties": ONE} | said), vocabulary)
    state = constraint.start()
    for byte in b'{"p1":"':
        constraint.mask(state)
        state = constraint.advance(state, byte)
    constraint.mask(state)
    assert len(searched) < most


def test_what_differs_by_a_key_that_nobody_names_needs_no_search(monkeypatch):
    # Behind the first item each name took a search: of one like it but for another key.
    searched: list[Formula] = []
    can_end = json_members.can_end

    def counted(ways, formula, extras, members):
        searched.append(formula)
        return can_end(ways, formula, extras, members)

    monkeypatch.setattr(json_members, "can_end", counted)
    items = {"type": "object", "properties": {f"p{n}": {"type": "integer"} for n in range(20)}}
    schema = {"type": "array", "items": items, "uniqueItems": True}
    vocabulary = gw.Vocabulary([bytes([byte]) for byte in range(256)])
    constraint = gw.compile(gw.JsonSchema(schema), vocabulary)
    first = "".join(f'"p{n}":{n},' for n in range(8))
    assert _goes_on(constraint, f'[{{{first[:-1]}}},{{"p3":3,"p9":')
    assert len(searched) < 10


@pytest.mark.parametrize("seed", range(12))
def test_each_of_many_names_that_need_others_comes_where_all_that_it_needs_may(seed: int) -> None:
    dice = random.Random(seed)
    names = [f"{letter}{other}" for letter in "abcdef" for other in "uvwxyz"]
    needs = {name: dice.sample(names, dice.choice([0, 1, 1, 2])) for name in names}
    never = {*dice.sample(names, dice.choice([0, 0, 1, 3]))}
    most = dice.choice([3, 6, 36])
    schema = {
        "type": "object",
        "dependentRequired": needs,
        "properties": dict.fromkeys(never, False),
        "maxProperties": most,
    }
    tokens = [bytes([byte]) for byte in range(256)]
    constraint = gw.compile(gw.JsonSchema(schema), gw.Vocabulary([*tokens, b"<end>"], {256}))
    came: list[str] = []
    while True:
        begun = "{" + "".join(f'"{name}":0,' for name in came) + '"'
        left = [name for name in names if name not in came]
        may = {name for name in left if _goes_on(constraint, begun + name + '"')}
        closed = {name: _closure({*came, name}, needs) for name in left}
        fits = {name for name, all_ in closed.items() if not all_ & never and len(all_) <= most}
        assert may == fits
        if not may:
            break
        came.append(dice.choice(sorted(may)))


def _closure(names: set[str], needs: dict[str, list[str]]) -> set[str]:
    found, todo = set[str](), [*names]
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo += needs[name]
    return found


def _goes_on(constraint: CompiledConstraint, text: str) -> bool:
    state = constraint.start()
    for byte in text.encode():
        if not int(constraint.mask(state)[byte // 32]) >> byte % 32 & 1:
            return False
        state = constraint.advance(state, byte)
    return True


def test_of_many_names_that_need_others_all_are_looked_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    searches: list[Formula] = []

    def counted(ways: object, said: Formula, extras: object, members: object) -> object:
        searches.append(said)
        return can_end(ways, said, extras, members)  # pyright: ignore[reportArgumentType]

    can_end = json_members.can_end
    monkeypatch.setattr(json_members, "can_end", counted)
    schema = {"type": "object", "dependentRequired": {f"a{n}": [f"b{n}"] for n in range(100)}}
    tokens = [bytes([byte]) for byte in range(256)]
    constraint = gw.compile(gw.JsonSchema(schema), gw.Vocabulary([*tokens, b"<end>"], {256}))
    assert _goes_on(constraint, '{"a7":1,"b3')
    assert len(searches) < 10


def test_all_names_are_looked_at_again_when_their_values_are_known() -> None:
    pairs = [(leaf(Required(f"a{n}")), leaf(Required(f"b{n}"))) for n in range(40)]
    said = all_of(*(any_of(opposite(first), second) for first, second in pairs))
    source = JsonSchema(True, whitespace="compact")
    lowering = Lowering(source)
    judge = lowering.meaning.outlines
    members = MembersTemplate(said, lowering.value, json_style(source), lowering.keysets, judge)
    rest, look = Rest(-1, frozenset(), said), _Later()
    key = members.names.index("a7")
    assert members.lives(Member(rest, key), look) is None
    look.known = True
    assert members.lives(Member(rest, key), look) is True


class _Later:
    """Tells nothing of any value until all are known."""

    spellable = ALL_BYTES
    settled = False
    known = False

    def __call__(self, part: Expr) -> bool | None:
        return True if self.known else None

    def word(self, part: Expr) -> bytes | None:
        return b""
