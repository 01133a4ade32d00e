"""Memory that is computed beside what torch allocates: weights, caches, and the profiler's peak."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.profiler import ProfilerActivity, profile
from transformers.models.auto.modeling_auto import AutoModelForCausalLM
from transformers.models.bert import BertConfig, BertModel
from transformers.models.mixtral import MixtralConfig
from transformers.models.t5 import T5Config

import guideway as gw
from guideway.api.memory import fitting, needed, planned
from guideway.models.fake import FakeModel
from small_models import CACHE, KINDS, LETTERS, SMALL, model, module

NOTES: dict[str, Any] = {"layers": 12, "heads": 12, "head_dim": 64, "parameters": 108_369_656}


def bytes_in_cache(past: Any) -> int:
    return sum(layer.keys.nbytes + layer.values.nbytes for layer in past.layers)


def peak_of(forward: Callable[[], Any]) -> tuple[int, int]:
    """Bytes of the cache after a forward, and the most that the CPU's allocator gave out in it."""
    forward()  # what is made once
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiled:
        past = forward()
    events = [each for each in profiled.profiler.kineto_results.events() if each.nbytes()]
    now = peak = 0
    for each in sorted(events, key=lambda each: each.start_ns()):
        now += each.nbytes()
        peak = max(peak, now)
    return bytes_in_cache(past), peak


def check(forward: Callable[[], Any], real: Any, need: gw.Memory) -> None:
    cache, peak = peak_of(forward)
    assert need.parameters == sum(each.nbytes for each in real.parameters())
    assert need.kv_cache == cache
    assert need.kv_cache + need.activations == pytest.approx(peak, rel=0.05)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("vocabulary", [100, 50_300])
@pytest.mark.parametrize(("batch", "context"), [(1, 500), (3, 200)])
def test_a_forward_allocates_what_is_said(
    kind: str, vocabulary: int, batch: int, context: int
) -> None:
    config = KINDS[kind](2)
    config.vocab_size = vocabulary  # wide logits are most of a forward, narrow ones nothing
    config.max_position_embeddings, config.hidden_size, config.head_dim = 512, 128, 32
    real = AutoModelForCausalLM.from_config(config).eval()
    tokens = torch.ones(batch, context, dtype=torch.int64)

    def forward() -> Any:
        with torch.inference_mode():
            output = real(tokens, use_cache=True, logits_to_keep=1)
            return getattr(output, CACHE)

    need = gw.memory(real, batch=batch, context=context)
    check(forward, real, need)
    assert gw.memory(config, batch=batch, context=context) == need


@pytest.mark.model
def test_the_built_in_model_allocates_what_is_said() -> None:
    loaded = gw.load("smollm2-135m", device="cpu")
    need = gw.memory(loaded, batch=2, context=300)
    assert need.parameters == 134_515_008 * 4
    assert need.kv_cache == 2 * 30 * 2 * 3 * 64 * 300 * 4  # 3 heads of keys for 9 of queries
    backend: Any = loaded.language_model
    check(lambda: backend.prefill([[5] * 300] * 2)[0].past, backend.module, need)
    assert gw.memory("smollm2-135m", batch=2, context=300) == need
    sizes = {
        "layers": 30, "heads": 9, "kv_heads": 3, "head_dim": 64, "parameters": 134_515_008,
        "intermediate": 1536, "vocabulary": 49_152,
    }  # fmt: skip
    same = gw.memory(sizes, batch=2, context=300)
    assert (same.parameters, same.kv_cache) == (need.parameters, need.kv_cache)
    assert same.activations == pytest.approx(need.activations, rel=0.05)
    assert same.total == pytest.approx(need.total, rel=0.01)


def test_parameters_are_those_of_the_model_that_transformers_builds() -> None:
    need = gw.memory(BertConfig(), context=16)
    assert need.parameters == 4 * 109_514_298  # with the head that predicts tokens
    assert need.kv_cache == 0
    small = BertConfig(hidden_size=32, num_attention_heads=2, intermediate_size=48)
    built = BertModel(small)
    count = sum(each.numel() for each in built.parameters())
    assert gw.memory(built, context=16, dtype="bf16").parameters == 2 * count
    experts = MixtralConfig(**SMALL, num_hidden_layers=2, num_local_experts=4)
    need = gw.memory(experts, batch=2, context=32)
    real = AutoModelForCausalLM.from_config(experts)
    assert need.parameters == 4 * sum(each.numel() for each in real.parameters())
    assert need.kv_cache == 2 * 2 * 2 * 2 * 8 * 32 * 4


def test_a_window_bounds_the_cache() -> None:
    full = gw.memory(NOTES, context=4096)
    some = gw.memory(NOTES | {"window": 1024, "windowed": 9}, context=4096)
    assert some.kv_cache == full.kv_cache * (3 * 4 + 9) // 48
    assert gw.memory(NOTES | {"window": 1024}, context=512) == gw.memory(NOTES, context=512)
    sliding = gw.memory(KINDS["mistral"](2), context=40)
    assert sliding.kv_cache == 2 * 2 * 2 * 8 * (4 - 1) * 4  # transformers keeps window - 1


def test_a_type_is_that_of_weights_cache_and_activations() -> None:
    whole, half = (gw.memory(module("llama"), context=60, dtype=name) for name in ("fp32", "bf16"))
    assert (whole.parameters, whole.kv_cache) == (2 * half.parameters, 2 * half.kv_cache)
    config = KINDS["llama"](2)
    config.dtype = torch.bfloat16
    assert gw.memory(config, context=60) == half
    assert gw.memory(module("llama").bfloat16(), context=60) == half


def test_models_of_an_expression_share_what_is_the_same() -> None:
    base = gw.Model(model("llama"), name="base")
    expert = gw.Model(model("llama", 1), name="expert")
    one, two = gw.memory(base, context=32), gw.memory(expert, context=32)
    both = gw.memory(base + 0.5 * (expert - base.unprompted()), context=32)
    assert both.parameters == one.parameters + two.parameters
    assert both.kv_cache == 2 * one.kv_cache + two.kv_cache
    assert both.activations == gw.memory(base, batch=2, context=32).activations


def test_folders_and_files_are_read_without_weights(tmp_path: Path) -> None:
    config = KINDS["llama"](2)
    config.save_pretrained(tmp_path)
    need = gw.memory(config)
    assert need.context == SMALL["max_position_embeddings"]
    assert gw.memory(tmp_path) == gw.memory(str(tmp_path)) == need
    assert gw.memory(json.loads((tmp_path / "config.json").read_text())) == need


def test_it_is_printed_with_its_formulas() -> None:
    config = KINDS["llama"](2)
    config.intermediate_size = 4000
    assert str(gw.memory(config, batch=2, context=50)).splitlines() == [
        "parameters    16.0 MB  3,993,504 × 4 bytes",
        "KV cache      25.6 kB  4 × (2 × 2 × 50 × 8) × 4 bytes",
        "activations    4.9 MB  100 tokens × (3 × 4,000) × 4 bytes + 55.6 kB",
        "total         20.9 MB  2 rows of 50 tokens",
    ]
    assert "2 rows × (1 × 50,300) × 4 bytes" in str(gw.memory(module("llama"), batch=2, context=7))


def test_what_fits_is_the_longest_context_of_each_batch() -> None:
    plan, longest = planned(NOTES, "float16")
    assert longest is None
    card = 2 * 10**9
    found = list(fitting(plan, card, 10_000))
    assert [batch for batch, _ in found] == [1, 2, 4, 8, 16, 32, 64, 128]
    for batch, context in found:
        assert needed(plan, batch, context).total <= card
        assert context == 8192 or needed(plan, batch, 2 * context).total > card
    assert list(fitting(plan, 10**6, 10_000)) == []


@pytest.mark.parametrize(
    ("source", "settings", "error", "said"),
    [
        (NOTES, {}, gw.SourceError, "context is None: it must be a whole number from 1"),
        (KINDS["llama"](1), {"context": 0}, gw.SourceError, "context is 0"),
        (NOTES, {"context": 8, "batch": 2.0}, gw.SourceError, "batch is 2.0"),
        (NOTES, {"context": 8, "dtype": "flaot32"}, gw.ModelError, "did you mean 'float32'"),
        (NOTES | {"layer": 3}, {"context": 8}, gw.SourceError, "did you mean 'layers'"),
        (NOTES | {"heads": "12"}, {"context": 8}, gw.SourceError, "heads must be a whole number"),
        ({"layers": 3}, {"context": 8}, gw.SourceError, "need heads, head_dim, parameters"),
        ({"model_type": "llamma"}, {}, gw.ModelError, "configuration of this dict"),
        (3, {}, gw.SourceError, "not of 3"),
        ("no/such-model", {}, gw.ModelError, "there is no model 'no/such-model'"),
        ("no such model", {}, gw.ModelError, "neither a folder nor a hub id"),
        (Path("nowhere.gguf"), {}, gw.ModelError, "there is no file"),
        (T5Config(), {"context": 8}, gw.UnsupportedError, "t5 is not a causal language model"),
        (gw.Model(FakeModel.random(LETTERS)), {}, gw.UnsupportedError, "memory of a FakeModel"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(
    source: Any, settings: dict[str, Any], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        gw.memory(source, **settings)


def test_a_broken_configuration_is_our_error(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(gw.ModelError, match="could not be read"):
        gw.memory(tmp_path)
    broken = KINDS["llama"](2)
    broken.num_attention_heads = 0
    with pytest.raises(gw.ModelError, match="can be built"):
        gw.memory(broken)
