"""The logits processors and the back end of vLLM, without vLLM: a stand-in plays its batches."""

import json
import random
import sys
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import guideway as gw
from guideway.integrations import vllm
from guideway.integrations.requests import Compiler, read_request

TOKENS = [*(bytes([byte]) for byte in b'ab{}":, 0123'), b"ab", b'{"', b'":', b"aa", None, None]
END, OTHER_END = len(TOKENS) - 2, len(TOKENS) - 1
WIDTH = len(TOKENS) + 3
VOCABULARY = gw.Vocabulary(TOKENS, {END}, special={"<other>": OTHER_END})
FINITE = [{"regex": "(a|b){1,6}"}, {"choice": ["ab", "aab", "0"]}, {"regex": "[0-3]{2}a?"}]
SCHEMA = {"type": "object", "properties": {"a": {"enum": [1, 2, "b"]}}, "required": ["a"]}
NESTED = 'root ::= "a" | "{" root "}"'
ALL = [*FINITE, {"json": SCHEMA}, {"grammar": NESTED}, {"regex": "(ab)*0"}]


@pytest.fixture(autouse=True)
def own_tokens(monkeypatch: pytest.MonkeyPatch):
    def made(config: Any, budget: gw.Budget | None = None) -> Compiler:
        return Compiler(VOCABULARY, WIDTH, budget)

    monkeypatch.setattr(vllm, "compiler_of", made)


Direction = Enum("Direction", ["UNIDIRECTIONAL", "SWAP"])


def params(request: Any, *, ends: Any = (END,), structured: Any = None) -> Any:
    extra = None if request is None else {"guideway": request}
    return SimpleNamespace(
        extra_args=extra, structured_outputs=structured, all_stop_token_ids=set(ends)
    )


@dataclass
class Played:
    """A request and the oracle of its text: a constraint of its own, walked from the beginning."""

    request: Any
    ends: tuple[int, ...] = (END,)
    prompt: list[int] = field(default_factory=lambda: [0, 1, 2])
    tokens: list[int] = field(default_factory=list)

    def allowed(self, draft: tuple[int, ...] = ()) -> list[int] | None:
        """The ids that may come; None if all may, [] if the draft left the language."""
        if self.request is None:
            return None
        constraint = oracle(json.dumps(self.request), self.ends)
        state = constraint.start()
        for token in (*self.tokens, *draft):
            try:
                state = constraint.advance(state, token)
            except gw.TokenRejected:
                return []
        row = np.unpackbits(constraint.mask(state).view(np.uint8), bitorder="little")
        return np.flatnonzero(row[:WIDTH]).tolist()


@lru_cache
def oracle(request: str, ends: tuple[int, ...]) -> Any:
    tokens = [None if token in ends else text for token, text in enumerate(TOKENS)]
    own = gw.Vocabulary(tokens, ends, width=WIDTH, special={"<x>": END, "<y>": OTHER_END})
    return gw.compile(read_request(request), own)


def seen(row: torch.Tensor) -> list[int] | None:
    finite = torch.isfinite(row)
    return None if bool(finite.all()) else finite.nonzero().flatten().tolist()


def test_v1_follows_requests_that_are_added_removed_moved_and_resumed():
    chance = random.Random(1)
    processor = vllm.V1(SimpleNamespace(model_config=None), torch.device("cpu"), False)
    batch: list[Played] = []
    preempted: list[Played] = []
    for _ in range(60):
        removed, added, moved = list[int](), list[Any](), list[Any]()
        ended = [n for n, each in enumerate(batch) if each.tokens and each.tokens[-1] in each.ends]
        dropped = [n for n in range(len(batch)) if n in ended or chance.random() < 0.1]
        preempted += [batch[n] for n in dropped if n not in ended]
        holes = sorted(dropped)
        arriving = [preempted.pop()] if preempted and chance.random() < 0.7 else []
        if len(batch) < 6 or chance.random() < 0.2:
            ends = chance.choice([(END,), (END, OTHER_END), (END, TOKENS.index(b"aa"))])
            arriving.append(Played(chance.choice([None, *ALL]), ends))
        for each in arriving:  # vLLM fills holes first, and such an index is not "removed"
            place = holes.pop(0) if holes else len(batch)
            batch[place : place + 1] = [each]
            asked = params(each.request, ends=each.ends)
            added.append((place, asked, each.prompt, each.tokens))
        removed = sorted(holes, reverse=True)
        while holes:  # then moves the last ones into the holes that are left
            last, place = len(batch) - 1, holes.pop(0)
            if last in holes:
                holes.remove(last)
                batch.pop()
                holes.insert(0, place)
                continue
            if place < last:
                moved.append((last, place, Direction.UNIDIRECTIONAL))
                batch[place] = batch[last]
            batch.pop()
        if len(batch) > 1 and chance.random() < 0.3:
            one, other = chance.sample(range(len(batch)), 2)
            moved.append((one, other, Direction.SWAP))
            batch[one], batch[other] = batch[other], batch[one]
        changed = removed or added or moved
        update = SimpleNamespace(removed=removed, added=added, moved=moved) if changed else None
        processor.update_state(update)
        before = torch.randn(len(batch), WIDTH)
        after = processor.apply(before.clone())
        for row, each in enumerate(batch):
            allowed = each.allowed()
            assert seen(after[row]) == allowed
            assert torch.equal(after[row][allowed or ...], before[row][allowed or ...])
            each.tokens.append(chance.choice(allowed or range(len(TOKENS) - 2)))


def test_v1_ends_a_text_that_left_its_language_or_cannot_be_spelled(caplog: Any):
    processor = vllm.V1(SimpleNamespace(model_config=None), torch.device("cpu"), False)
    left: list[int] = []
    added = [
        (0, params({"regex": "ab"}), [], left),
        (1, params({"regex": "[x-z]"}), [], []),
        (2, params({"regex": "a"}), [], []),
    ]
    processor.update_state(SimpleNamespace(removed=[], added=added, moved=[]))
    left.append(TOKENS.index(b"0"))
    after = processor.apply(torch.zeros(3, WIDTH))
    assert [seen(row) for row in after] == [[END], [END], [TOKENS.index(b"a")]]
    assert "outside the constraint" in caplog.text
    assert "cannot be compiled" in caplog.text


class Slots:
    """The request state of the second model runner: slots, positions, drafts."""

    def __init__(self, slots: int, most: int) -> None:
        self.device, self.max_num_reqs, self.vocab_size = torch.device("cpu"), slots, WIDTH
        self.all_token_ids = SimpleNamespace(gpu=torch.zeros(slots, most, dtype=torch.int32))
        self.prompt_len = SimpleNamespace(np=np.zeros(slots, np.int32))
        self.prefill_len = SimpleNamespace(np=np.zeros(slots, np.int32))

    def fill(self, slot: int, each: Played) -> None:
        tokens = [*each.prompt, *each.tokens]
        self.all_token_ids.gpu[slot, : len(tokens)] = torch.tensor(tokens, dtype=torch.int32)
        self.prompt_len.np[slot], self.prefill_len.np[slot] = len(each.prompt), len(tokens)


@pytest.mark.parametrize("most_drafts", [0, 3])
def test_v2_follows_slots_drafts_and_preempted_requests(most_drafts: int):
    chance = random.Random(2)
    state = Slots(5, 300)
    config = SimpleNamespace(model_config=None, num_speculative_tokens=most_drafts)
    processor = vllm.V2(config, state)
    batch: dict[int, Played] = {}
    preempted: list[Played] = []
    for _ in range(60):
        change_slots(batch, preempted, chance)
        for slot in {*range(5)} - batch.keys():
            if chance.random() < 0.6:
                each = preempted.pop() if preempted else Played(chance.choice([None, *FINITE]))
                batch[slot] = each
                state.fill(slot, each)
                asked = params(each.request, ends=each.ends)
                assert processor.add_request(slot, asked) == (each.request is not None)
        order = chance.sample([*batch], len(batch))
        rows = list[tuple[int, int, int, int, tuple[int, ...]]]()
        for slot in order:
            each = batch[slot]
            known = [*each.prompt, *each.tokens]
            draft = [] if slot in processor._fresh else guessed(each, chance, most_drafts)
            for place, token in enumerate([known[-1], *draft]):
                rows.append((slot, place, token, len(known) - 1 + place, tuple(draft[:place])))
        if not rows:
            continue
        slots, places, tokens, positions, drafts = zip(*rows, strict=True)
        context = SimpleNamespace(
            expanded_idx_mapping=torch.tensor(slots, dtype=torch.int32),
            idx_mapping_np=np.array(order, np.int32),
            expanded_local_pos=torch.tensor(places),
            input_ids=torch.tensor(tokens, dtype=torch.int32),
            pos=torch.tensor(positions),
        )
        logits = processor.apply(torch.zeros(len(rows), WIDTH), context)
        for slot, row, draft in zip(slots, logits, drafts, strict=True):
            allowed = batch[slot].allowed(draft)
            if allowed != []:  # after a wrong token of a draft, which is rejected, anything
                assert seen(row) == allowed
        for slot in order:
            accept(
                batch[slot], [d for s, d in zip(slots, drafts, strict=True) if s == slot], chance
            )


def change_slots(batch: dict[int, Played], preempted: list[Played], chance: random.Random) -> None:
    """Free slots of texts that ended, and preempt some others."""
    for slot, each in [*batch.items()]:
        over = len(each.tokens) > 60 or (bool(each.tokens) and each.tokens[-1] in each.ends)
        if over or chance.random() < 0.08:
            preempted += [] if over else [each]
            del batch[slot]


def guessed(each: Played, chance: random.Random, most: int) -> list[int]:
    """A draft that is right up to some token."""
    draft = list[int]()
    for _ in range(chance.randint(0, most)):
        allowed = each.allowed(tuple(draft))
        right = allowed and chance.random() < 0.8
        draft.append(chance.choice(allowed if right else range(len(TOKENS) - 2)))
        if draft[-1] in each.ends:
            break
    return draft


def accept(each: Played, drafts: list[tuple[int, ...]], chance: random.Random) -> None:
    """Take some right tokens of the draft, then one that is drawn."""
    right = [draft for draft in drafts if each.allowed(draft) != []]
    each.tokens += chance.choice(right)
    if not each.tokens or each.tokens[-1] not in each.ends:
        each.tokens.append(chance.choice(each.allowed() or range(len(TOKENS) - 2)))


@pytest.mark.parametrize(("request_", "said"), [
    ({"jsn": SCHEMA}, "one of the keys"),
    ({"json": {"allOf": [{"type": "string"}, {"type": "null"}]}}, "guideway"),
], ids=["form", "meaning"])  # fmt: skip
@pytest.mark.parametrize("version", [vllm.V1, vllm.V2])
def test_a_bad_source_is_refused_when_the_request_is_validated(
    version: Any, request_: Any, said: str
):
    with pytest.raises(ValueError, match=said):
        version.validate_params(params(request_))


def test_what_a_version_can_hold_passes_and_all_else_is_refused_by_name():
    for version, held in ((vllm.V1, ALL), (vllm.V2, FINITE)):
        for request in (None, *held):
            version.validate_params(params(request))
    with pytest.raises(ValueError, match=r"finite constraint .* backend guideway"):
        vllm.V2.validate_params(params({"grammar": NESTED}))
    with pytest.raises(ValueError, match="either"):
        vllm.V1.validate_params(params(ALL[0], structured=object()))


def test_a_grammar_validates_drafts_rolls_back_across_the_end_and_starts_again():
    a, ab, b = (TOKENS.index(each) for each in (b"a", b"ab", b"b"))
    constraint = Compiler(VOCABULARY, WIDTH).compile({"regex": "(ab){1,2}"}, {END, OTHER_END})
    grammar = vllm.Grammar(gw.Matcher(constraint))
    assert grammar.validate_tokens([a, b, ab, END]) == [a, b, ab, END]
    assert grammar.validate_tokens([ab, a, a]) == [ab, a]
    assert grammar.validate_tokens([b]) == []
    assert not grammar.accept_tokens("", [b])
    assert grammar.accept_tokens("", [ab, ab, OTHER_END])
    assert grammar.is_terminated()
    assert grammar.accept_tokens("", [b])  # tokens after the end are vLLM's
    grammar.rollback(2)
    bitmask = gw.allocate_token_bitmask(2, WIDTH)
    grammar.fill_bitmask(bitmask, 1)
    assert bitmask.tolist() == [[-1], [1 << a | 1 << ab | 1 << END | 1 << OTHER_END]]
    grammar.reset()
    assert grammar.validate_tokens([END]) == []


def test_a_stop_id_that_spells_text_ends_a_text_and_is_not_in_it():
    """vLLM stops at it, wherever it comes; xgrammar allows it at the end only, too."""
    a, ab, b = (TOKENS.index(each) for each in (b"a", b"ab", b"b"))
    compiler = Compiler(VOCABULARY, WIDTH)
    constraint = compiler.compile({"regex": "(ab){1,2}"}, {END, ab, WIDTH - 1, WIDTH + 7})
    matcher = gw.Matcher(constraint)
    assert matcher.forced_tokens() == (a, b)
    assert not matcher.accept_token(ab)
    assert matcher.accept_tokens([a, b])
    assert [t for t in range(WIDTH) if matcher.validate_tokens([t])] == [a, ab, END, WIDTH - 1]
    assert matcher.accept_token(ab)
    assert matcher.is_terminated()


def test_a_stop_id_of_one_byte_takes_this_byte_out_of_texts():
    compiler, ends = Compiler(VOCABULARY, WIDTH), {END, TOKENS.index(b" ")}
    constraint = compiler.compile({"json": SCHEMA}, ends)
    assert constraint.matches('{"a":1}')
    assert not constraint.matches('{"a": 1}')
    with pytest.raises(gw.UnsatisfiableError):
        compiler.compile({"regex": "0 0"}, ends)


@pytest.mark.parametrize("name", ["GuidewayV1", "GuidewayV2", "Backend"])
def test_without_vllm_a_name_says_what_to_install(name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "vllm", None)
    monkeypatch.setattr("guideway.extras.find_spec", lambda module: None)
    vllm._named.cache_clear()
    with pytest.raises(gw.ModelError, match="pip install vllm"):
        getattr(vllm, name)
    with pytest.raises(gw.ModelError, match="pip install vllm"):
        vllm.register()
    with pytest.raises(AttributeError):
        vllm.Nothing  # noqa: B018
