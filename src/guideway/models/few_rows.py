"""Linear layers on a CPU that are fast for few rows: the tokens of a forward that checks a draft.

For more than one row of float32, `functional.linear` first copies the weights into the order of its
kernel, in each call; for few rows the copy takes longer than the product. Two products read the
weights as they are: the transposed one, W · Xᵀ, and that of oneDNN. Nothing is stored, so there is
no second copy of the weights that could be out of date. One row, other types, other devices and
gradients go the usual way.

Milliseconds of the products of keys, values and perceptrons in the built-in model, with two threads
of an AMD EPYC with AVX2 (the least of many, beside other work): of 2 rows 36 before and 16 now, of
5 rows 42 and 23, of 12 rows 49 and 38, of 25 rows 65 and 53. Weights that oneDNN packs once take
17, 20, 27 and 41, but twice the memory, and could be out of date.
"""

from typing import Any, Final

import torch
from torch import Tensor, nn
from torch.nn import functional

FEW: Final = 6
"""Up to so many rows the transposed product is the faster one."""
MOST: Final = 64
"""For more rows the copy is small beside the product."""
LARGE: Final = 1 << 21
"""Weights of a layer from which oneDNN is faster with one thread too."""
_ops: Final[Any] = torch.ops.mkldnn
PRODUCT: Final[Any] = getattr(_ops, "_linear_pointwise", None)
"""oneDNN's product; None in a torch without it."""


class FewRowsLinear(nn.Linear):
    """A linear layer of float32 weights, which belong to it as to any other."""

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002  torch's name
        """Multiply by the weight, in the way that is fastest for so many rows."""
        weight: Tensor = self.weight
        bias: Any = self.bias
        count = input.numel() // self.in_features
        if not 1 < count <= MOST or not is_plain(input, weight):
            return functional.linear(input, weight, bias)
        if count <= FEW:
            rows = torch.mm(weight, input.reshape(count, -1).t()).t().contiguous()
            output = rows.view(*input.shape[:-1], self.out_features)
            return output if bias is None else output.add_(bias)
        if PRODUCT and (weight.numel() >= LARGE or torch.get_num_threads() > 1):
            return PRODUCT(input.contiguous(), weight, bias, "none", [], "")
        return functional.linear(input, weight, bias)


def is_plain(rows: Tensor, weight: Tensor) -> bool:
    """Return True if oneDNN can multiply them as they are: float32 on a CPU, without gradients."""
    return (
        weight.device.type == "cpu"
        and weight.dtype == rows.dtype == torch.float32
        and not torch.is_grad_enabled()
        and not torch.compiler.is_compiling()
    )


def prepare_few_rows(module: nn.Module) -> None:
    """Make all linear layers of a model fast for few rows, in place.

    Example:
        >>> model = nn.Sequential(nn.Linear(4, 2))
        >>> prepare_few_rows(model)
        >>> type(model[0]).__name__, sorted(model.state_dict())
        ('FewRowsLinear', ['0.bias', '0.weight'])
    """
    for each in module.modules():
        if type(each) is nn.Linear:
            each.__class__ = FewRowsLinear
