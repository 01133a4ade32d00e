"""A constraint as tables on a GPU: whole texts without asking the host, each step one CUDA graph.

The oracle is the constraint itself, read afterwards: each token is one that it allows, each mask is
its mask, and what has ended is a text that it matches.
"""

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
import torch

import guideway as gw
from benchmarks.tables import LLAMA3, SCHEMA, captured, made_vocabulary, on_device
from elsewhere import waits
from guideway.automaton.token_tries import words
from guideway.constraint.compiled import CompiledConstraint
from guideway.logits.mask import apply_mask, unpack
from guideway.sampling.noise import categorical, keys, streams

pytestmark = pytest.mark.gpu

STEPS = 60
SOURCES = {
    "nested schema": gw.JsonSchema(
        SCHEMA, key_order="declared", whitespace="compact", spelling="plain"
    ),
    "regex": gw.Regex("(ab|é)*c[0-9]{2,4}|[^\\n]{3}"),
    "choice": gw.Choice(["yes", "no", "née", "etaoin"]),
}


@cache
def constraint(name: str, width: int) -> CompiledConstraint:
    return gw.compile(SOURCES[name], made_vocabulary(width))


class Recorded:
    """A loop that keeps each step's masks, states and tokens, all of it on the device."""

    def __init__(
        self, constraint: CompiledConstraint, rows: int, device: torch.device, *, greedy: bool
    ) -> None:
        self.width, self.greedy = constraint.vocabulary.width, greedy
        self.held = on_device(constraint, rows, device, anew=False)
        self.streams = streams([(3, row) for row in range(rows)], device)
        self.step = torch.zeros(1, dtype=torch.int64, device=device)
        size = (STEPS, rows)
        self.tokens = torch.zeros(size, dtype=torch.int64, device=device)
        self.seen = torch.zeros(*size, words(self.width), dtype=torch.int32, device=device)
        # Noise decided by the state and the step, without a generator; few ends among it.
        noise = torch.Generator().manual_seed(1)
        self.logits = torch.randn(8, self.width, generator=noise).to(device)

    def __call__(self) -> None:
        key = keys(self.streams, self.step.expand_as(self.streams))
        logits = self.logits[(key ^ self.held.state) & 7]
        packed = self.held.masks.index_select(0, self.held.state)
        row = apply_mask(logits, unpack(packed, self.width))
        token = row.argmax(1) if self.greedy else categorical(row, key)
        self.held.follow(token)
        self.tokens.index_copy_(0, self.step, token[None])
        self.seen.index_copy_(0, self.step, packed[None])
        self.step += 1


def check(constraint: CompiledConstraint, tokens: list[int], masks: np.ndarray) -> bool:
    """Go after a row with the constraint; whether it has ended."""
    state, text, ends = constraint.start(), list[int](), constraint.vocabulary.eos_ids
    for token, mask in zip(tokens, masks, strict=True):
        assert np.array_equal(mask.view(np.uint32), constraint.mask(state))
        if token in ends:
            spelled = b"".join(constraint.vocabulary.tokens[each] for each in text)
            assert constraint.matches(spelled)
            return True
        state = constraint.advance(state, token)  # or it is refused here
        text.append(token)
    return False


@pytest.mark.parametrize("greedy", [False, True], ids=["drawn", "greedy"])
@pytest.mark.parametrize(
    ("rows", "width"), [(1, 900), (32, 900), (256, 900), (32, LLAMA3), (256, LLAMA3)]
)
@pytest.mark.parametrize("name", SOURCES)
@torch.inference_mode()
def test_a_graph_draws_texts_of_the_language(
    gpu: torch.device, name: str, rows: int, width: int, greedy: bool
) -> None:
    held = constraint(name, width)
    loop = Recorded(held, rows, gpu, greedy=greedy)
    step = captured(loop, gpu)
    loop.step.zero_()
    loop.held.state.fill_(held.tables().start)
    for _ in range(STEPS):
        step()
    tokens, masks = loop.tokens.T.tolist(), loop.seen.transpose(0, 1).cpu().numpy()
    some = range(0, rows, max(1, rows // 64))
    ended = [check(held, tokens[row], masks[row]) for row in some]
    if name == "choice":
        assert all(ended)
        # After its end a text has nothing but ends, and its state is the last one.
        assert all(row[-1] in held.vocabulary.eos_ids for row in tokens)


@torch.inference_mode()
def test_a_graph_draws_what_the_same_steps_draw_one_by_one(gpu: torch.device) -> None:
    held = constraint("nested schema", 900)
    plain, replayed = (Recorded(held, 32, gpu, greedy=False) for _ in range(2))
    step = captured(replayed, gpu)
    replayed.step.zero_()
    replayed.held.state.fill_(held.tables().start)
    for _ in range(STEPS):
        plain()
        step()
    assert torch.equal(plain.tokens, replayed.tokens)
    assert torch.equal(plain.held.state, replayed.held.state)


@torch.inference_mode()
def test_what_a_graph_reads_is_its_own_as_long_as_it_lives(gpu: torch.device) -> None:
    seen = torch.zeros(1000, device=gpu)

    def counted() -> Callable[[], object]:
        number = torch.zeros(1000, device=gpu)
        return captured(lambda: seen.copy_(number.add_(1)), gpu)

    step = counted()  # and nothing else knows of the number
    for each in [torch.full((1000,), -7.0, device=gpu) for _ in range(50)]:
        step()
        assert int(each[0]) == -7
    assert seen.unique().numel() == 1
    assert int(seen[0]) == 3 + 50  # before the capture, and after it


@torch.inference_mode()
def test_a_step_of_tables_asks_the_host_for_nothing(gpu: torch.device) -> None:
    loop = Recorded(constraint("nested schema", 900), 32, gpu, greedy=False)
    loop()  # what is made once is made now
    torch.cuda.synchronize()
    with waits() as found:
        loop()
    assert found == []


def test_bitmasks_are_filled_on_the_cpu_and_applied_on_the_gpu(gpu: torch.device) -> None:
    held = constraint("choice", 900)
    matchers = [gw.Matcher(held), None]
    bitmask = gw.allocate_token_bitmask(2, 900)
    gw.fill_bitmask(matchers, bitmask)
    logits = torch.zeros(2, 900)
    expected = logits.clone()
    gw.apply_token_bitmask_inplace(expected, bitmask)
    found = logits.to(gpu)
    gw.apply_token_bitmask_inplace(found, bitmask)
    assert torch.equal(found.cpu(), expected)
    with pytest.raises(gw.UnsupportedError, match="CPU"):
        gw.fill_bitmask(matchers, bitmask.to(gpu))
