from typing import Any

import pytest
import torch
from transformers.models.auto.configuration_auto import AutoConfig
from transformers.models.auto.modeling_auto import AutoModelForCausalLM

import guideway as gw
from guideway.models.adapter import Adapter
from guideway.models.transformers import TransformersModel
from guideway.models.variants import blocks_of, exits_hold, prepare
from real_tokenizers import tokenizer_folder
from small_models import model, module, tokenizer

PROJECTION = "model.layers.1.self_attn.q_proj"


def adapter(name: str = PROJECTION, inputs: int = 32, outputs: int = 32) -> Adapter:
    pair = {"A": torch.ones(1, inputs), "B": torch.ones(outputs, 1)}
    return Adapter.of("pirate", {f"{name}.lora_{k}.weight": tensor for k, tensor in pair.items()})


def of(kind: str, **sizes: int) -> Any:
    config = AutoConfig.for_model(kind, vocab_size=50_300, **sizes)
    return AutoModelForCausalLM.from_config(config).eval()


@pytest.mark.parametrize("count", [0, -1, 2, 3])
def test_an_exit_that_is_none_is_refused(count: int):
    with pytest.raises(gw.ModelError, match=f"no exit after block {count}: .* from 1 to 1 of 2"):
        model("llama").prefill_varied([[5]], [None], [count])


def test_a_model_whose_blocks_cannot_be_told_has_no_exits():
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
    bert = of("bert", **sizes, intermediate_size=48, is_decoder=True)
    assert blocks_of(bert) == ()
    xlnet = of("xlnet", d_model=32, n_layer=2, n_head=4, d_inner=48)  # the batch comes second
    tokens = torch.tensor([[0, 1], [1, 0]])
    with torch.inference_mode():
        assert not exits_hold(blocks_of(xlnet), lambda: xlnet(tokens).logits)


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (
            {"name": "layers.1.self_attn.q_proj"},
            gw.ModelError,
            rf"does not have; did you mean '{PROJECTION}'",
        ),
        ({"name": "#"}, gw.ModelError, r"which LlamaForCausalLM does not have$"),
        ({"inputs": 7}, gw.ModelError, r"with 7 inputs and 32 outputs; .* it has 32 and 32"),
        ({"name": "model.norm"}, gw.UnsupportedError, "is of type LlamaRMSNorm"),
        ({"name": "model.embed_tokens"}, gw.UnsupportedError, "is of type Embedding"),
    ],
)
def test_an_adapter_for_another_model_is_refused(wrong: Any, error: Any, message: str):
    with pytest.raises(error, match=message):
        model("llama").prefill_varied([[5]], [adapter(**wrong)], [])
    (pair,) = prepare(module("llama").bfloat16(), adapter()).values()
    assert pair.down.dtype == pair.up.dtype == torch.bfloat16  # that of the module


def test_a_model_that_does_otherwise_with_what_its_blocks_give_is_refused_by_name():
    gpt = TransformersModel(
        of("openai-gpt", n_embd=32, n_layer=2, n_head=4), tokenizer(tokenizer_folder("gpt2"))
    )
    assert gpt.layers == 2
    with pytest.raises(gw.UnsupportedError, match="early exits of OpenAIGPTLMHeadModel"):
        gpt.prefill_varied([[5]], [None], [1])


def test_a_module_that_does_not_see_rows_is_refused():
    flat = TransformersModel(module("llama"), tokenizer(tokenizer_folder("gpt2")))
    inner = flat.module.get_submodule(PROJECTION)
    handle = inner.register_forward_pre_hook(lambda _, given: (given[0].flatten(0, 1),))
    with pytest.raises(gw.UnsupportedError, match="does not keep the rows of a batch apart"):
        flat.prefill_varied([[5, 6]], [adapter()], [])
    handle.remove()
    assert not any(part._forward_hooks for part in flat.module.modules())
