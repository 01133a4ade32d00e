"""Weights of 8 and 4 bits: the laws of language models, quality, memory, adapters, refusals.

The numbers are those of float32 weights, within the error that rounding the weights makes.
"""

import random
import re
from pathlib import Path

import pytest
import torch
from transformers.models.auto.modeling_auto import AutoModelForCausalLM
from transformers.models.llama import LlamaConfig

import guideway as gw
from guideway.errors import ModelError
from guideway.models.adapter import Adapter
from guideway.models.load import load
from guideway.models.packed import PackedLinear
from guideway.models.transformers import TransformersModel
from real_tokenizers import tokenizer_folder
from small_models import SMALL, module, tokenizer

PROMPTS = [[5, 6, 7], [8], [9, 10, 11, 12, 13, 14, 15, 16]]
KINDS = ("int8", "int4")
TEXT = Path(__file__).parents[2] / "LICENSE"


@pytest.fixture(scope="module", params=[(k, d) for k in KINDS for d in ("float32", "bf16")])
def packed(request: pytest.FixtureRequest, folder: Path) -> TransformersModel:
    pytest.importorskip("torchao")
    kind, dtype = request.param
    model = load(folder, device="cpu", quantize=kind, dtype=dtype)
    assert isinstance(model, TransformersModel)
    return model


def near(found: torch.Tensor, expected: torch.Tensor) -> None:
    """Activations are rounded to bfloat16 in each layer, in another order for other shapes."""
    error = (found - expected).square().mean().sqrt() / expected.std()
    assert error < 0.06, error


def alone(model: TransformersModel, rows: list[list[int]]) -> torch.Tensor:
    return torch.cat([model.prefill([row])[1] for row in rows])


def test_rows_are_extended_cropped_selected_and_joined(packed: TransformersModel) -> None:
    chance = random.Random(0)
    rows = [list(prompt) for prompt in PROMPTS]
    cache, logits = packed.prefill(rows)
    assert logits.dtype == torch.float32
    assert logits.shape == (3, packed.vocabulary.width)
    near(logits, alone(packed, rows))
    for _ in range(4):
        count = chance.randrange(1, 5)
        new = [[chance.randrange(3, 30) for _ in range(count)] for _ in rows]
        cache, _ = packed.extend(cache, torch.tensor(new))
        removed = [chance.randrange(count + 1) for _ in rows]
        rows = [[*row, *more[: count - n]] for row, more, n in zip(rows, new, removed, strict=True)]
        order = chance.choice(([2, 0, 1], [0, 1, 2]))
        cache, rows = packed.select(packed.crop(cache, removed), order), [rows[n] for n in order]
    cache, rows = packed.concat([cache, packed.prefill([[5, 6]])[0]]), [*rows, [5, 6]]
    _, logits = packed.extend(cache, torch.full((4, 1), 17))
    near(logits[:, 0], alone(packed, [[*row, 17] for row in rows]))


def test_numbers_are_near_those_of_the_full_weights(
    packed: TransformersModel, folder: Path
) -> None:
    layers = [each for each in packed.module.modules() if isinstance(each, PackedLinear)]
    assert len(layers) == 2 * 7 + 1
    full = load(folder, device="cpu")
    found, expected = alone(packed, PROMPTS), alone(full, PROMPTS)
    assert torch.corrcoef(torch.stack([found.flatten(), expected.flatten()]))[0, 1] > 0.9


def test_an_adapter_of_a_packed_layer_changes_its_row(packed: TransformersModel) -> None:
    generator = torch.Generator().manual_seed(0)
    name = "model.layers.0.self_attn.q_proj"
    down = torch.randn(2, 32, generator=generator)
    up = torch.randn(32, 2, generator=generator)
    given = {f"{name}.lora_A.weight": down, f"{name}.lora_B.weight": up}
    adapter = Adapter.of("some", given, scale=1.0)
    _, heads = packed.prefill_varied([[5, 6, 7]] * 2, (None, adapter), ())
    plain = alone(packed, [[5, 6, 7]])
    near(heads[0, :1], plain)
    assert (heads[0, 1:] - plain).abs().max() > 0.1


def test_constraints_hold_and_memory_counts_packed_weights(folder: Path) -> None:
    pytest.importorskip("torchao")
    sizes: list[int] = []
    for kind in (None, *KINDS):
        model = gw.load(folder, device="cpu", quantize=kind)
        text = model.generate("A", gw.Regex("[ab]{3}-[0-9]{2}"), max_new_tokens=20, seed=0).text
        assert re.fullmatch("[ab]{3}-[0-9]{2}", text)
        sizes.append(gw.memory(model, context=8).parameters)
    numbers = sum(each.numel() for each in load(folder, device="cpu").module.parameters())
    table = 50_300 * 32  # the embeddings stay
    assert sizes[0] == 4 * numbers
    assert numbers + 3 * table < sizes[1] < 1.25 * (numbers + 3 * table)
    assert sizes[2] < sizes[1]


@pytest.mark.model
@pytest.mark.parametrize(("kind", "worse"), [("int8", 1.02), ("int4", 1.03)])
def test_perplexity_is_kept(kind: str, worse: float, smollm2: TransformersModel) -> None:
    pytest.importorskip("torchao")
    tokens: list[int] = smollm2.tokenizer(TEXT.read_text(encoding="utf-8")[:900])["input_ids"]
    model = load("smollm2-135m", device="cpu", quantize=kind)
    for step, count in ((4, 60), (len(tokens), len(tokens))):  # other kernels for few rows
        found, full = (perplexity(each, tokens[:count], step) for each in (model, smollm2))
        assert full / worse < found < full * worse


def perplexity(model: TransformersModel, tokens: list[int], step: int) -> float:
    cache, first = model.prefill([tokens[:1]])
    rows = [first]
    for start in range(1, len(tokens) - 1, step):
        new = torch.tensor([tokens[start : min(start + step, len(tokens) - 1)]])
        cache, logits = model.extend(cache, new)
        rows.append(logits[0])
    loss = torch.nn.functional.cross_entropy(torch.cat(rows), torch.tensor(tokens[1:]))
    return float(loss.exp())


def test_layers_that_do_not_fit_are_not_left_out_in_silence(tmp_path: Path) -> None:
    pytest.importorskip("torchao")
    odd = LlamaConfig(**SMALL | {"hidden_size": 24, "head_dim": 6}, num_hidden_layers=1)
    given = {"int8": module("gpt2"), "int4": AutoModelForCausalLM.from_config(odd)}
    for kind, each in given.items():
        each.save_pretrained(tmp_path)
        tokenizer(tokenizer_folder("gpt2")).save_pretrained(tmp_path)
        with pytest.raises(ModelError, match=rf"{kind} packs [\d,]+ of [\d,]+ weights of \w+: the"):
            load(tmp_path, device="cpu", quantize=kind)


def test_wrong_arguments_are_refused_by_name(folder: Path) -> None:
    with pytest.raises(ModelError, match=r"quantize is 'int9': .* did you mean 'int8'"):
        load(folder, quantize="int9")
    with pytest.raises(ModelError, match="quantize is only for models that guideway loads"):
        load(module("llama"), tokenizer(tokenizer_folder("gpt2")), quantize="int8")
