"""Linear layers for few rows: the products of torch, with nothing stored."""

import copy
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers.models.auto.modeling_auto import AutoModelForCausalLM

from guideway.models import few_rows
from guideway.models.adapter import Adapter
from guideway.models.few_rows import FEW, MOST, FewRowsLinear, prepare_few_rows
from guideway.models.load import load
from real_tokenizers import tokenizer_folder
from small_models import tokenizer

ROWS = (0, 1, 2, FEW, FEW + 1, 9, MOST, MOST + 1)


@pytest.fixture(params=[1, 2])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


def made(bias: bool = True) -> FewRowsLinear:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(24, 40, bias=bias))
    prepare_few_rows(model)
    layer = model[0]
    assert isinstance(layer, FewRowsLinear)
    return layer


def compare(layer: nn.Linear, rows: Tensor) -> None:
    exact = functional.linear(
        rows.double(), layer.weight.double(), None if layer.bias is None else layer.bias.double()
    )
    output = layer(rows)
    assert output.dtype == rows.dtype
    assert output.is_contiguous()
    torch.testing.assert_close(output.double(), exact, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("operation", [few_rows.PRODUCT, None], ids=["product", "without it"])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.usefixtures("threads")
def test_the_product_is_that_of_every_number_of_rows(
    bias: bool, operation: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(few_rows, "PRODUCT", operation)
    layer = made(bias)
    with torch.inference_mode():
        for count in ROWS:
            compare(layer, torch.randn(count, 24))
            compare(layer, torch.randn(1, count, 24))
            compare(layer, torch.randn(count, 3, 24).transpose(0, 1))
            compare(layer, torch.randn(3, 48, count).transpose(1, 2)[..., ::2])


def test_gradients_and_other_types_are_those_of_torch() -> None:
    layer = made()
    for count in ROWS[1:]:
        rows = torch.randn(count, 24, requires_grad=True)
        layer(rows).sum().backward()
        assert rows.grad is not None
        torch.testing.assert_close(rows.grad, layer.weight.sum(0).expand(count, 24))
        with torch.no_grad():
            half = layer.bfloat16()(rows.bfloat16())
        assert half.dtype == torch.bfloat16
        layer.float()


def test_weights_belong_to_the_layer_however_they_change() -> None:
    layer = made()
    with torch.inference_mode():
        layer(torch.randn(9, 24))
    layer.weight.data.mul_(2)
    with torch.no_grad():
        layer.bias.add_(1)
    copies = [layer, copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))]
    layer.load_state_dict({"weight": layer.weight + 1, "bias": layer.bias})
    assert set(layer.state_dict()) == {"weight", "bias"}
    with torch.inference_mode():
        for each in copies:
            assert type(each) is FewRowsLinear
            for count in ROWS:
                compare(each, torch.randn(count, 24))


@pytest.mark.parametrize("folder", [True], indirect=True, ids=["tied"])
def test_a_loaded_model_is_that_of_transformers(folder: Path) -> None:
    plain = AutoModelForCausalLM.from_pretrained(folder)
    model = load(folder, device="cpu")
    kinds = {type(each) for each in model.module.modules() if isinstance(each, nn.Linear)}
    assert kinds == {FewRowsLinear}
    assert model.module.lm_head.weight is model.module.get_input_embeddings().weight
    assert list(model.module.state_dict()) == list(plain.state_dict())
    down, up = torch.randn(2, 32), torch.randn(64, 2)
    name = "model.layers.1.mlp.up_proj"
    adapter = Adapter.of(
        "a", {f"{name}.lora_A.weight": down, f"{name}.lora_B.weight": up}, scale=1.0
    )
    for count in (2, 5):
        tokens = [list(range(3, 3 + count))]
        with torch.inference_mode():
            expected = plain(torch.tensor(tokens)).logits
            cache, _ = model.prefill([[7]])
            changed = plain(torch.tensor([[7, *tokens[0]]])).logits[:, 1:]
        _, found = model.extend(cache, torch.tensor(tokens))
        torch.testing.assert_close(found, changed, rtol=1e-4, atol=1e-4)
        _, found = model.prefill(tokens)
        torch.testing.assert_close(found, expected[:, -1], rtol=1e-4, atol=1e-4)
        _, adapted = model.prefill_varied(tokens, [adapter], ())
        assert not torch.allclose(adapted[0], found)


def test_a_model_that_is_handed_over_stays_as_it_is(folder: Path) -> None:
    module = AutoModelForCausalLM.from_pretrained(folder)
    load(module, tokenizer(tokenizer_folder("gpt2")))
    assert not [each for each in module.modules() if isinstance(each, FewRowsLinear)]
