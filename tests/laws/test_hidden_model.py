"""The laws of `HiddenModel`, on the fake and on transformers of different kinds: states are those
that a plain forward of the row's tokens alone gives, and showing them changes nothing else."""

import copy
import threading
from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest
import torch

import guideway as gw
from guideway.models.adapter import Adapter
from guideway.models.fake import FakeModel
from guideway.models.variants import shown
from small_models import KINDS, LETTERS, model, noise

PROMPTS = [[5, 6, 7], [8], [9, 10, 11, 12, 13, 14, 15, 16]]
every = pytest.mark.parametrize("kind", ["fake", *KINDS])


@cache
def subject(kind: str) -> Any:
    if kind == "fake":
        return FakeModel(LETTERS, noise(1), exits=[noise(2)], states=lambda p: noise(3)(p)[:4])
    return model(kind)


def alone(kind: str, tokens: list[int]) -> torch.Tensor:
    """The state after each token, of a forward without cache, padding and company."""
    if kind == "fake":
        return torch.stack([noise(3)(tuple(tokens[:end]))[:4] for end in range(1, len(tokens) + 1)])
    return subject(kind).module.get_decoder()(torch.tensor([tokens])).last_hidden_state[0].detach()


def near(given: torch.Tensor, wanted: torch.Tensor) -> None:
    assert given.dtype == torch.float32
    torch.testing.assert_close(given, wanted, atol=1e-4, rtol=1e-4)


@every
@pytest.mark.parametrize("exits", [[], [1]])
def test_states_are_those_of_each_row_alone_whatever_the_exits(kind: str, exits: list[int]):
    none = [None] * len(PROMPTS)
    states, later = list[torch.Tensor](), list[torch.Tensor]()
    cached, heads = subject(kind).prefill_varied(PROMPTS, none, exits, states)
    for prompt, each in zip(PROMPTS, states, strict=True):
        near(each, alone(kind, prompt))
    _, before = subject(kind).prefill_varied(PROMPTS, none, exits)
    assert torch.equal(heads, before)
    rows, new = [2, 0, 0], [[3, 4], [17, 18], [3, 3]]
    chosen = subject(kind).select(cached, rows)
    _, heads = subject(kind).extend_varied(chosen, torch.tensor(new), exits, later)
    for row, more, each in zip(rows, new, later, strict=True):
        near(each, alone(kind, PROMPTS[row] + more)[-2:])
    chosen = subject(kind).select(cached, rows)
    assert torch.equal(heads, subject(kind).extend_varied(chosen, torch.tensor(new), exits)[1])


def test_a_row_with_an_adapter_has_the_states_of_a_model_into_which_it_is_merged():
    noise_of = torch.Generator().manual_seed(5)
    name = "model.layers.0.self_attn.q_proj"
    adapter = Adapter.of(
        "one",
        {
            f"base_model.model.{name}.lora_A.weight": torch.randn(2, 32, generator=noise_of),
            f"base_model.model.{name}.lora_B.weight": torch.randn(32, 2, generator=noise_of),
        },
        0.5,
    )
    merged = copy.deepcopy(subject("llama").module)
    with torch.no_grad():
        pair = adapter.pairs[name]
        merged.get_submodule(name).weight.add_(pair.scale * (pair.up @ pair.down))
    states = list[torch.Tensor]()
    subject("llama").prefill_varied(PROMPTS, [None, None, adapter], [1], states)
    near(states[0], alone("llama", PROMPTS[0]))
    tokens = torch.tensor([PROMPTS[2]])
    near(states[2], merged.get_decoder()(tokens).last_hidden_state[0].detach())
    assert not torch.allclose(states[2], alone("llama", PROMPTS[2]), atol=1e-2)


def test_a_fake_without_states_and_a_decoder_of_another_kind_are_refused_by_name():
    with pytest.raises(gw.UnsupportedError, match="the fake has no hidden states"):
        FakeModel.random(LETTERS).prefill_varied([[1]], [None], [], [])
    flat = torch.nn.Flatten()
    with (
        pytest.raises(gw.UnsupportedError, match="states of SimpleNamespace are not supported"),
        shown(SimpleNamespace(get_decoder=lambda: flat)),
    ):
        flat(torch.zeros(2, 3))


def test_forwards_of_other_threads_are_not_shown():
    decoder = subject("llama").module.get_decoder()
    with shown(subject("llama").module) as states, torch.inference_mode():
        other = threading.Thread(target=lambda: decoder(torch.tensor([[5]])))
        other.start()
        other.join()
        assert states == []
        decoder(torch.tensor([[5]]))
    assert len(states) == 1
