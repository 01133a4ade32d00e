"""The laws of `VariedModel`, on the fake and on transformers of all kinds.

Early exits against copies of the model that end there, adapters against copies into whose weights
they are merged; states against those of a plain forward of the row's tokens alone.
"""

import copy
import threading
from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest
import torch

import guideway as gw
from guideway.models.adapter import Adapter
from guideway.models.fake import FakeModel
from guideway.models.variants import recorded
from small_models import KINDS, LETTERS, model, noise

LAYERS = 3
PROMPTS = [[5, 6, 7], [8], [9, 10, 11, 12, 13, 14, 15, 16]]
EXITS = [2, 1]
EXIT_SEEDS = {"": (1, 2, 0), "one": (11, 12, 10), "other": (21, 22, 20)}  # exits, then the model
every = pytest.mark.parametrize("kind", ["fake", *KINDS])


def fake(adapted: dict[str, FakeModel], name: str) -> FakeModel:
    *exits, last = map(noise, EXIT_SEEDS[name])
    return FakeModel(LETTERS, last, exits=exits, adapted=adapted, states=lambda p: noise(3)(p)[:4])


@cache
def subject(kind: str) -> Any:
    if kind == "fake":
        return fake({name: fake({}, name) for name in ("one", "other")}, "")
    return model(kind, LAYERS)


@cache
def adapters(kind: str) -> dict[str, Adapter]:
    """Two adapters of different ranks, scales and modules; "" stands for none."""
    noise = torch.Generator().manual_seed(5)
    targets = {
        "one": ("q_proj", "down_proj", "c_attn", "lm_head"),
        "other": ("q_proj", "v_proj", "mlp.c_fc"),
    }
    modules = {} if kind == "fake" else dict(subject(kind).module.named_modules())
    made: dict[str, Adapter] = {}
    for (name, ends), rank, scale in zip(targets.items(), (2, 3), (0.5, 2.0), strict=True):
        shapes = {m: linear(target).shape for m, target in modules.items() if m.endswith(ends)}
        tensors = {}
        for module, (inputs, outputs) in (shapes or {"a": (1, 1)}).items():
            for end, size in (("lora_A", (rank, inputs)), ("lora_B", (outputs, rank))):
                place = f"base_model.model.{module}.{end}.weight"
                tensors[place] = torch.randn(*size, generator=noise)
        made[name] = Adapter.of(name, tensors, scale)
    return made


def linear(target: Any) -> torch.Tensor:
    """The weight of a linear module as inputs times outputs."""
    return target.weight if type(target).__name__ == "Conv1D" else target.weight.T


@cache
def merged(kind: str, adapter: str, blocks: int = LAYERS) -> Any:
    """A copy with these blocks only, and the adapter in its weights."""
    changed = copy.deepcopy(subject(kind).module)
    if changed.lm_head.weight is changed.get_input_embeddings().weight:  # the head alone is adapted
        changed.lm_head.weight = torch.nn.Parameter(changed.lm_head.weight.clone())
    with torch.no_grad():
        for name, pair in adapters(kind)[adapter].pairs.items() if adapter else ():
            linear(changed.get_submodule(name)).add_(pair.scale * (pair.up @ pair.down).T)
    decoder = changed.get_decoder()
    name = "h" if kind == "gpt2" else "layers"
    setattr(decoder, name, getattr(decoder, name)[:blocks])
    changed.config.num_hidden_layers = blocks
    return changed


def oracle(kind: str, adapter: str, blocks: int) -> Callable[[list[int]], torch.Tensor]:
    """What a model of so many blocks gives after a prefix."""
    if kind == "fake":
        function = noise(EXIT_SEEDS[adapter][blocks - 1])
        return lambda prefix: function(tuple(prefix))
    whole = merged(kind, adapter, blocks)
    return lambda prefix: whole(torch.tensor([prefix])).logits[0, -1].detach()


def states_of(kind: str, adapter: str, tokens: list[int]) -> torch.Tensor:
    """The state after each token, of a forward without cache, padding and company."""
    if kind == "fake":
        return torch.stack([noise(3)(tuple(tokens[:end]))[:4] for end in range(1, len(tokens) + 1)])
    decoder = merged(kind, adapter).get_decoder()
    return decoder(torch.tensor([tokens])).last_hidden_state[0].detach()


def expected(kind: str, prefixes: list[list[int]], names: list[str]) -> torch.Tensor:
    pairs = [*zip(prefixes, names, strict=True)]
    rows = [[oracle(kind, n, blocks)(p) for p, n in pairs] for blocks in (LAYERS, *EXITS)]
    return torch.stack([torch.stack(row) for row in rows])


def near(given: torch.Tensor, wanted: torch.Tensor) -> None:
    torch.testing.assert_close(given, wanted, atol=2e-3, rtol=2e-3)


@every
@pytest.mark.parametrize("names", [
    ["one", "", "other"],
    *(pytest.param(each, marks=pytest.mark.slow) for each in (["", "", ""], ["other"] * 3)),
])  # fmt: skip
def test_heads_are_cut_copies_and_rows_are_merged_copies_at_every_step(kind: str, names: list[str]):
    varied = subject(kind)
    assert varied.layers == LAYERS
    given = [adapters(kind).get(name) for name in names]
    cache, heads = varied.prefill_varied(PROMPTS, given, EXITS)
    near(heads, expected(kind, PROMPTS, names))
    rows = [2, 0, 1, 0]
    cache = varied.select(cache, rows)
    new = [[3, 4], [17, 18], [3, 3], [19, 20]]
    cache, heads = varied.extend_varied(cache, torch.tensor(new), EXITS)
    chosen = [names[row] for row in rows]
    for at in (1, 2):
        longer = [PROMPTS[row] + more[:at] for row, more in zip(rows, new, strict=True)]
        near(heads[:, :, at - 1], expected(kind, longer, chosen))
    _, logits = varied.extend(cache, torch.tensor([[21]] * 4))
    longer = [[*PROMPTS[row], *more, 21] for row, more in zip(rows, new, strict=True)]
    near(logits[:, 0], expected(kind, longer, chosen)[0])


@every
def test_nothing_stays_of_exits_and_adapters(kind: str):
    varied = subject(kind)
    _, before = varied.prefill(PROMPTS)
    varied.prefill_varied(PROMPTS, [adapters(kind)["one"], None, None], EXITS)
    cache, after = varied.prefill(PROMPTS)
    assert torch.equal(before, after)
    _, heads = varied.prefill_varied(PROMPTS, [None] * 3, [])
    assert torch.equal(before[None], heads)
    _, logits = varied.extend(cache, torch.tensor([[3]] * 3))
    assert logits.shape == (3, 1, varied.vocabulary.width)
    if kind != "fake":
        assert not any(part._forward_hooks for part in varied.module.modules())


@every
@pytest.mark.parametrize("exits", [[], [1]])
def test_states_are_those_of_each_row_alone_whatever_the_exits(kind: str, exits: list[int]):
    """Showing them changes nothing else."""
    names = ["", "", "one" if kind == "llama" else ""]
    given = [adapters(kind).get(name) for name in names]
    states, later = list[torch.Tensor](), list[torch.Tensor]()
    cached, heads = subject(kind).prefill_varied(PROMPTS, given, exits, states)
    for prompt, name, each in zip(PROMPTS, names, states, strict=True):
        assert each.dtype == torch.float32
        near(each, states_of(kind, name, prompt))
    _, before = subject(kind).prefill_varied(PROMPTS, given, exits)
    assert torch.equal(heads, before)
    rows, new = [2, 0, 0], [[3, 4], [17, 18], [3, 3]]
    chosen = subject(kind).select(cached, rows)
    _, heads = subject(kind).extend_varied(chosen, torch.tensor(new), exits, later)
    for row, more, each in zip(rows, new, later, strict=True):
        near(each, states_of(kind, names[row], PROMPTS[row] + more)[-2:])
    chosen = subject(kind).select(cached, rows)
    assert torch.equal(heads, subject(kind).extend_varied(chosen, torch.tensor(new), exits)[1])


def test_an_adapter_changes_the_states():
    one, other = (states_of("llama", name, PROMPTS[2]) for name in ("", "one"))
    assert not torch.allclose(one, other, atol=1e-2)


def test_a_fake_without_states_and_a_decoder_of_another_kind_are_refused_by_name():
    with pytest.raises(gw.UnsupportedError, match="the fake has no hidden states"):
        FakeModel.random(LETTERS).prefill_varied([[1]], [None], [], [])
    flat = torch.nn.Flatten()
    with (
        pytest.raises(gw.UnsupportedError, match="states of SimpleNamespace are not supported"),
        recorded(SimpleNamespace(get_decoder=lambda: flat)),
    ):
        flat(torch.zeros(2, 3))


def test_hooks_act_in_the_thread_that_set_them_only():
    varied = subject("llama")
    decoder = varied.module.get_decoder()
    with recorded(varied.module) as states, torch.inference_mode():
        other = threading.Thread(target=lambda: decoder(torch.tensor([[5]])))
        other.start()
        other.join()
        assert states == []
        decoder(torch.tensor([[5]]))
    assert len(states) == 1
    inside, on = threading.Event(), threading.Event()

    def wait(*_: object) -> None:
        if threading.current_thread() is other:
            inside.set()
            on.wait(30)

    kept: list[torch.Tensor] = []
    one = adapters("llama")["one"]
    other = threading.Thread(
        target=lambda: kept.append(varied.prefill_varied([[5, 6]], [one], [1])[1])
    )
    _, alone = varied.prefill([[5, 6]])
    handle = decoder.layers[0].register_forward_pre_hook(wait)
    try:
        other.start()
        inside.wait(30)
        _, beside = varied.prefill([[5, 6]])  # while the other's hooks are there
    finally:
        on.set()
        other.join()
        handle.remove()
    assert torch.equal(alone, beside)
    near(kept[0][0], oracle("llama", "one", LAYERS)([5, 6])[None])
    near(kept[0][1], oracle("llama", "one", 1)([5, 6])[None])
