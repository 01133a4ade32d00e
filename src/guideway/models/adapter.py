"""LoRA adapters: low-rank additions to modules of a model.

    adapted module(x) = module(x) + scale · up · (down · x)

An adapter belongs to no model: a model checks names and shapes when it uses one. Adapters are
compared by identity.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, final

from jaxtyping import Float
from torch import Tensor

from guideway.errors import ModelError, UnsupportedError

PREFIX: Final = "base_model.model."  # what PEFT puts before the name of each module
DOWN: Final = ".lora_A.weight"
UP: Final = ".lora_B.weight"


@final
@dataclass(frozen=True, slots=True, eq=False)
class LowRank:
    """The addition to one module: `scale` · `up` · `down`."""

    down: Float[Tensor, "rank inputs"]
    up: Float[Tensor, "outputs rank"]
    scale: float


@final
@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Adapter:
    """A LoRA adapter (Hu et al. 2021, arXiv 2106.09685).

    Attributes:
        name: for messages and printed expressions.
        pairs: the additions by module name, as in `named_modules` of the model.

    Example:
        >>> import torch
        >>> down, up = torch.ones(1, 3), torch.ones(2, 1)
        >>> Adapter.of("pirate", {"head.lora_A.weight": down, "head.lora_B.weight": up}, scale=2.0)
        Adapter('pirate', 1 module, rank 1)
    """

    name: str
    pairs: Mapping[str, LowRank]

    @classmethod
    def of(
        cls, name: str, tensors: Mapping[str, Tensor], scale: float | Mapping[str, float] = 1.0
    ) -> "Adapter":
        """The adapter of tensors named `<module>.lora_A.weight` and `<module>.lora_B.weight`.

        A has the shape [rank, inputs], B [outputs, rank]. PEFT's prefix `base_model.model.` is
        optional. `scale` is alpha / rank as a rule; a mapping has one for each module.
        """
        downs, ups = _sorted_out(tensors)
        if not downs and not ups:
            raise ModelError(f"the adapter {name!r} has no tensors")
        if lone := sorted(downs.keys() ^ ups.keys()):
            raise ModelError(
                f"the adapter {name!r} has only one of lora_A and lora_B for module {lone[0]!r}"
            )
        pairs: dict[str, LowRank] = {}
        for module, down in downs.items():
            _check_shapes(f"the adapter {name!r}, module {module!r}", down, ups[module])
            factor = scale if isinstance(scale, float | int) else scale[module]
            pairs[module] = LowRank(down, ups[module], factor)
        return cls(name, MappingProxyType(pairs))

    def __repr__(self) -> str:
        """Name and size; the weights would fill pages."""
        ranks = sorted({len(pair.down) for pair in self.pairs.values()})
        shown = f"{ranks[0]}" if len(ranks) == 1 else f"{ranks[0]} to {ranks[-1]}"
        count = f"{len(self.pairs)} module{'s' * (len(self.pairs) > 1)}"
        return f"Adapter({self.name!r}, {count}, rank {shown})"


def _sorted_out(tensors: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    downs: dict[str, Tensor] = {}
    ups: dict[str, Tensor] = {}
    for key, tensor in tensors.items():
        short = key.removeprefix(PREFIX)
        for end, found in ((DOWN, downs), (UP, ups)):
            if short.endswith(end):
                found[short.removesuffix(end)] = tensor
                break
        else:
            raise UnsupportedError(
                f"the adapter has a tensor {key!r}: only <module>{DOWN} and <module>{UP} are read",
                feature=key,
            )
    return downs, ups


def _check_shapes(where: str, down: Tensor, up: Tensor) -> None:
    if down.ndim != 2 or up.ndim != 2 or down.shape[0] != up.shape[1] or not len(down):
        raise ModelError(
            f"{where}: lora_A has shape {tuple(down.shape)} and lora_B {tuple(up.shape)}; they "
            "must be (rank, inputs) and (outputs, rank)"
        )
