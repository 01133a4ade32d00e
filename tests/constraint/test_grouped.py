"""Where something is looked ahead for, a token for each state tells which leave room for an end."""

import gc
import random
from weakref import ref

import pytest

import guideway as gw
from guideway.automaton.pushdown_automaton import PushdownAutomaton
from guideway.automaton.token_tries import unpack
from guideway.constraint import closing as grouped
from guideway.constraint.closing import Closing
from guideway.constraint.compiled import CompiledConstraint, DecodeState
from guideway.generation.loop import generate
from guideway.generation.row.request import Request
from guideway.models.fake import FakeModel
from lark_samples import python_lark

BYTES = [bytes([byte]) for byte in range(256)]
MORE = [
    "if",
    "then",
    "end",
    "1+",
    "(1",
    "))",
    "((",
    "+a",
    " a",
    "ab",
    "\n ",
    "\n",
    "a:",
    ")\n",
    "=1",
]
TOKENS = [*BYTES, *(text.encode() for text in MORE), b"<eos>"]
END = len(TOKENS) - 1
VOCABULARY = gw.Vocabulary(TOKENS, {END})
SOURCES = {
    "sums": gw.Lark(
        'start: sum\nsum: sum "+" item | item\nitem: NAME | "(" sum ")"\n'
        "NAME: /(?!if)[a-z]{1,3}(?![a-z])/\n"
    ),
    "conditions": gw.Lark(
        'start: "if" NAME "then" start "end" | NAME\n'
        'NAME: /(?!if\\b|then\\b|end\\b)[a-z]+/\n%ignore " "'
    ),
    "brackets": gw.Lark('start: "(" start ")" | "[" start start "]" | NAME\nNAME: /[ab](?!c)/'),
    "words": gw.Regex(r"(?:(?!abc)\w)*(?=end)end;(?:(?!xx)[a-z])*"),
    "json": gw.Lark('start: "(" value ")" (?=";") ";"\nvalue: %json {"type": "array"}'.replace(
        ' (?=";") ";"', " STOP\nSTOP: /;(?!;)/"
    )),
}  # fmt: skip


def _walk(constraint: CompiledConstraint, dice: random.Random, steps: int) -> list[DecodeState]:
    """States along a text by chance, whose tokens are of several bytes as often as of one."""
    states = [constraint.start()]
    while len(states) < steps and not states[-1].ended:
        allowed = unpack(constraint.mask(states[-1])).tolist()
        longer = [token for token in allowed if token >= len(BYTES)]
        token = dice.choice(longer if longer and dice.random() < 0.5 else allowed)
        states.append(constraint.advance(states[-1], token))
    return states


def _plainly(constraint: CompiledConstraint) -> Closing:
    """What asks the plain engine about every byte."""
    plain = Closing(
        constraint._machine, constraint._states, constraint._rows, VOCABULARY, constraint._graph
    )
    plain._grouping = None
    return plain


@pytest.mark.parametrize("name", SOURCES)
def test_a_mask_within_a_budget_is_that_of_the_plain_engine(name: str) -> None:
    constraint, dice = gw.compile(SOURCES[name], VOCABULARY), random.Random(name)
    plain, narrower = _plainly(constraint), 0
    for _ in range(6):
        for state in _walk(constraint, dice, 12):
            if state.ended:
                continue
            needed = constraint.distance(state)
            for left in range(needed, needed + 4):
                row = constraint.mask_within(state, left)
                assert row.tolist() == plain.row(state, left).tolist(), (name, left)
                narrower += row.tolist() != constraint.mask(state).tolist()
    assert narrower > 10


@pytest.mark.parametrize("name", SOURCES)
def test_a_mask_without_a_token_lacks_what_leads_to_the_same(name: str) -> None:
    constraint, dice = gw.compile(SOURCES[name], VOCABULARY), random.Random(name)
    grouping = constraint._closing._grouping
    for state in _walk(constraint, dice, 12):
        if state.ended:
            continue
        left = constraint.distance(state)
        within = {*unpack(constraint.mask_within(state, left)).tolist()}
        allowed = {*unpack(constraint.mask(state)).tolist()}
        for token in dice.sample(sorted(allowed - within), min(4, len(allowed - within))):
            without = {*unpack(constraint.mask_without(state, token, left)).tolist()}
            assert within <= without < allowed
            assert token not in without
            after = constraint.advance(state, token)
            same = {t for t in allowed - {END} if constraint.advance(state, t) is after}
            told = constraint._states.rest(state).looks and grouping.groups(state) is not None
            assert without == (allowed - same if told else within)


def test_nothing_is_looked_ahead_for_and_all_that_fits_is_told() -> None:
    constraint = gw.compile(gw.Regex("a{2}|b{9}|c{9}"), VOCABULARY)
    row = constraint.mask_without(constraint.start(), ord("b"), 2)
    assert unpack(row).tolist() == [ord("a")]


def test_after_an_end_only_ends_are_left() -> None:
    constraint = gw.compile(SOURCES["sums"], VOCABULARY)
    ended = constraint.advance(constraint.advance(constraint.start(), ord("a")), END)
    assert unpack(constraint.mask_without(ended, END, 1)).tolist() == [END]


def test_kernels_that_tell_nothing_leave_it_to_the_plain_engine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows: list[list[int]] = []
    for change in ("none", "few", "full"):
        with monkeypatch.context() as changed:
            constraint = gw.compile(SOURCES["sums"], VOCABULARY)
            state = constraint.advance(constraint.start(), ord("("))
            constraint.mask(state)
            constraint.__dict__.pop("_closing", None)  # which remembers the groups
            if change == "few":
                changed.setattr(grouped, "MOST", 1)
            elif change == "full":
                changed.setattr(PushdownAutomaton, "run", _full)
            assert (constraint._closing._grouping.groups(state) is None) == (change != "none")
            rows.append(constraint.mask_within(state, 2).tolist())
    assert rows[0] == rows[1] == rows[2]


def _full(*_: object) -> int:
    raise gw.LimitError("no room", limit="room", given=0)


def test_items_that_differ_within_what_looks_ahead_are_asked_one_by_one() -> None:
    schema = '{"type": "array", "uniqueItems": true, "items": {"enum": [{"a": 1}, {"b": 2}]}}'
    source = gw.Lark(f"start: value STOP\nvalue: %json {schema}\nSTOP: /;(?!;)/")
    constraint = gw.compile(source, VOCABULARY)
    state = constraint.start()
    for byte in b'[{"a": 1}, {"':
        state = constraint.advance(state, byte)
    needed = constraint.distance(state)
    expected = _plainly(constraint).row(state, needed).tolist()
    assert constraint.mask_within(state, needed).tolist() == expected


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("more", [0, 1, 3, 10])
def test_texts_end_within_their_budget(name: str, more: int) -> None:
    constraint = gw.compile(SOURCES[name], VOCABULARY)
    most = constraint.distance(constraint.start()) + more
    requests = [
        Request((n,), constraint, gw.Sampling(seed=n, temperature=1.0, max_new_tokens=most))
        for n in range(4)
    ]
    for done in generate(FakeModel.random(VOCABULARY, seed=more), requests):
        assert done.finish_reason in {"stop", "length"}
        assert len(done.tokens) <= most
        assert constraint.matches(done.text)


@pytest.mark.untraced
def test_python_lark_is_brought_to_its_end() -> None:
    constraint = gw.compile(gw.Lark.open(python_lark(), start="file_input"), VOCABULARY)
    requests = [
        Request((n,), constraint, gw.Sampling(seed=n, temperature=1.0, max_new_tokens=8))
        for n in range(3)
    ]
    for done in generate(FakeModel.random(VOCABULARY, seed=1), requests):
        assert done.finish_reason in {"stop", "length"}
        assert constraint.matches(done.text)


@pytest.mark.parametrize("name", ["brackets", "words", "json"])
def test_one_by_one_or_all_at_once_the_same_tokens_are_drawn(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def texts() -> list[str]:
        constraint = gw.compile(SOURCES[name], VOCABULARY)
        most = constraint.distance(constraint.start()) + 1
        requests = [
            Request((n,), constraint, gw.Sampling(seed=n, temperature=1.0, max_new_tokens=most))
            for n in range(8)
        ]
        return [done.text for done in generate(FakeModel.random(VOCABULARY, seed=3), requests)]

    def within(constraint: CompiledConstraint, state: DecodeState, _: int, left: int) -> object:
        refused.append(left)
        return constraint.mask_within(state, left)

    refused: list[int] = []
    one_by_one = texts()
    monkeypatch.setattr(CompiledConstraint, "mask_without", within)
    assert texts() == one_by_one
    assert len(refused) > 3


def test_what_is_forgotten_holds_no_state() -> None:
    constraint = gw.compile(SOURCES["sums"], VOCABULARY)
    state = constraint.advance(constraint.start(), ord("("))
    before = constraint.mask_within(state, 2).tolist()
    held = ref(state)
    del state
    constraint.forget()
    gc.collect()
    assert held() is None
    state = constraint.advance(constraint.start(), ord("("))
    assert constraint.mask_within(state, 2).tolist() == before


def test_groups_do_not_wait_for_a_collector() -> None:
    constraint = gw.compile(gw.JsonSchema({"enum": ["one", "two", "three"]}), VOCABULARY)
    constraint.mask_within(constraint.start(), constraint.distance(constraint.start()))
    left = ref(constraint._closing._grouping)
    gc.disable()
    try:
        constraint.forget()
        assert left() is None
    finally:
        gc.enable()
