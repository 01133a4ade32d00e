"""Linear layers with weights of 8 or 4 bits, packed by torchao (`load(..., quantize=)`).

int8 has a scale for each output; int4 has a scale and a zero for each group of 32 inputs, but an
int8 output layer: in int4 it raised the perplexity of the built-in model by 6 %.
Activations are not quantized, but most kernels read them in bfloat16: those for float32 are ten
times slower on a CPU with AVX2. Embeddings, norms and biases stay as they are.
"""

from importlib import import_module
from typing import Any, Final

import torch
from torch import Tensor, nn
from torch.nn import functional

from guideway.errors import ModelError, brief
from guideway.extras import require
from guideway.sources.names import did_you_mean

KINDS: Final = ("int8", "int4")
GROUP: Final = 32
"""Inputs that share a scale in int4. torch's kernel also needs a multiple of 16 outputs."""
FEW: Final = 8
"""Up to so many rows torch's int8 kernel is faster than torchao's product, which converts the
weights to the type of the activations (AMD EPYC with AVX2, layers of 576 × 1536)."""


def checked(quantize: object) -> str | None:
    """`quantize`, if it is a kind of weights and torchao is installed."""
    if quantize is None:
        return None
    if quantize not in KINDS:
        raise ModelError(
            f'quantize is {brief(quantize)}: it must be "int8", "int4" or None'
            f"{did_you_mean(str(quantize), KINDS)}"
        )
    require("quantize", f'quantize="{quantize}"')
    return str(quantize)


class PackedLinear(nn.Linear):
    """A linear layer whose weight is a tensor of torchao.

    Attributes:
        kind: "int8" or "int4".
        precision: the type of inputs and outputs, and of adapters.
    """

    def __init__(self, layer: nn.Linear, kind: str) -> None:
        """Take over the weight, which is packed afterwards, and the bias."""
        nn.Module.__init__(self)
        self.in_features, self.out_features = layer.in_features, layer.out_features
        self.kind, self.precision = kind, layer.weight.dtype
        kept = layer.weight.detach()
        self.weight = nn.Parameter(kept.bfloat16() if kind == "int4" else kept, False)
        self.bias = layer.bias

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002  torch's name
        rows: Tensor = input.reshape(-1, self.in_features)
        held: Any = self.weight
        cpu = rows.device.type == "cpu"
        if cpu and self.kind == "int4":
            output = torch.ops.aten._weight_int4pack_mm_for_cpu(
                rows.bfloat16(), held.qdata, GROUP, held.scale_and_zero
            )
        elif cpu and len(rows) <= FEW:
            output = torch.ops.aten._weight_int8pack_mm(
                rows.bfloat16(), held.qdata, held.scale.flatten().bfloat16()
            )
        else:
            output = functional.linear(rows.to(held.dtype), held)
        bias: Any = self.bias
        output: Tensor = output.to(input.dtype)
        return (output if bias is None else output + bias).view(*input.shape[:-1], -1)


def pack(module: Any, kind: str) -> None:
    """Pack the weights of the linear layers of a transformers model, in place.

    Raises:
        ModelError: most weights are not in linear layers whose shape fits.
    """
    head: nn.Module | None = module.get_output_embeddings()
    layers: dict[str, nn.Linear] = {
        name: layer
        for name, layer in module.named_modules()
        if isinstance(layer, nn.Linear) and (layer is head or kind == "int8" or _fits(layer))
    }
    packed = sum(layer.weight.numel() for layer in layers.values() if layer is not head)
    done = {id(layer.weight) for layer in layers.values()}
    done |= {id(each.weight) for each in module.modules() if isinstance(each, nn.Embedding)}
    rest = sum(p.numel() for p in module.parameters() if p.ndim > 1 and id(p) not in done)
    if packed <= rest:
        raise ModelError(
            f"{kind} packs {packed:,} of {packed + rest:,} weights of {type(module).__name__}: the "
            "others are not in linear layers"
            + (f" with multiples of {GROUP} inputs and 16 outputs" if kind == "int4" else "")
        )
    library: Any = import_module("torchao.quantization")
    for name, layer in layers.items():
        made = PackedLinear(layer, "int8" if layer is head else kind)
        library.quantize_(made, _config(library, made), _every_layer)
        module.set_submodule(name, made)


def _fits(layer: nn.Linear) -> bool:
    return layer.in_features % GROUP == 0 and layer.out_features % 16 == 0


def _every_layer(layer: nn.Module, name: str) -> bool:
    return True


def _config(library: Any, layer: PackedLinear) -> Any:
    if layer.kind == "int8":
        return library.Int8WeightOnlyConfig(set_inductor_config=False)
    if layer.weight.device.type == "cpu":
        cpu: Any = import_module("torchao.prototype.quantization.int4")
        return cpu.PrototypeInt4WeightOnlyConfig(GROUP, set_inductor_config=False)
    workflows: Any = import_module("torchao.quantization.quantize_.workflows")
    packing = workflows.Int4PackingFormat.TILE_PACKED_TO_4D
    return library.Int4WeightOnlyConfig(
        GROUP, set_inductor_config=False, int4_packing_format=packing
    )


def parts_of(weight: Tensor) -> list[Tensor]:
    """Tensors that hold a packed weight; the weight itself if it is not packed."""
    flatten: Any = getattr(weight, "__tensor_flatten__", None)
    return [weight] if flatten is None else [getattr(weight, name) for name in flatten()[0]]
