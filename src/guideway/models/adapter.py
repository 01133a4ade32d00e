"""LoRA adapters: low-rank additions to modules of a model.

    adapted module(x) = module(x) + scale · up · (down · x)

An adapter belongs to no model: a model checks names and shapes when it uses one. Adapters are
compared by identity.

A folder that PEFT saved is read without PEFT:

    adapter_config.json          kind, rank, alpha; other settings that change results are followed
                                 or refused by name
    adapter_model.safetensors    the tensors; their names give the adapted modules

scale = alpha / rank, or alpha / √rank with `use_rslora` (Kalajdzievski 2023, arXiv 2312.03732);
`alpha_pattern` and `rank_pattern` override single modules. `fan_in_fan_out` matters only for
merging, which does not happen here.
"""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, cast

from jaxtyping import Float
from torch import Tensor

from guideway.errors import ModelError, UnsupportedError

PREFIX: Final = "base_model.model."  # what PEFT puts before the name of each module
DOWN: Final = ".lora_A.weight"
UP: Final = ".lora_B.weight"


@dataclass(frozen=True, slots=True, eq=False)
class LowRank:
    """The addition to one module: `scale` · `up` · `down`."""

    down: Float[Tensor, "rank inputs"]
    up: Float[Tensor, "outputs rank"]
    scale: float


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
        downs, ups = _split_pairs(tensors)
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


def _split_pairs(tensors: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
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


CONFIG: Final = "adapter_config.json"
TENSORS: Final = "adapter_model.safetensors"
FOLLOWED: Final = frozenset(
    {"peft_type", "r", "lora_alpha", "use_rslora", "rank_pattern", "alpha_pattern", "bias"}
)
# Settings about training, origin, or adapted modules (the tensors name these), and options of
# features that another setting turns on.
WITHOUT_EFFECT: Final = frozenset(
    (
        *("auto_mapping", "base_model_name_or_path", "ensure_weight_tying", "exclude_modules"),
        *("fan_in_fan_out", "inference_mode", "init_lora_weights", "layers_pattern"),
        *("layers_to_transform", "lora_dropout", "megatron_core", "peft_version"),
        *("qalora_group_size", "revision", "target_modules", "task_type"),
    )
)
# Beginnings that leave the base model's weights as they are; others move a part of them into the
# adapter, which then is none for the model as published.
PLAIN_BEGINNINGS: Final = (True, False, None, "gaussian", "eva", "orthogonal")


def read_adapter(path: str | Path) -> Adapter:
    """The LoRA adapter in a folder, named after it; unknown settings are refused."""
    folder = Path(path).expanduser()
    for name in (CONFIG, TENSORS):
        if not (folder / name).is_file():
            raise ModelError(
                f"{str(path)!r} has no {name}: an adapter is a folder with {CONFIG} and {TENSORS}, "
                "as save_pretrained of PEFT writes it"
            )
    config = _read_config(folder / CONFIG)
    from safetensors import SafetensorError
    from safetensors.torch import load_file  # pyright: ignore[reportUnknownVariableType]

    try:
        tensors: dict[str, Tensor] = load_file(str(folder / TENSORS))
    except SafetensorError as error:
        raise ModelError(f"{folder / TENSORS} cannot be read: {error}") from None
    ranks = {
        key.removeprefix(PREFIX).removesuffix(DOWN): tensor.shape[0]
        for key, tensor in tensors.items()
        if key.endswith(DOWN) and tensor.ndim
    }
    scales = {module: _scale(config, module, rank) for module, rank in ranks.items()}
    return Adapter.of(folder.resolve().name, tensors, scales)


def _read_config(file: Path) -> Mapping[str, Any]:
    try:
        read: object = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"{file} cannot be read: {error}") from None
    if not isinstance(read, dict):
        raise ModelError(f"{file} holds no JSON object")
    config = cast("dict[str, Any]", read)
    kind = config.get("peft_type")
    if kind != "LORA":
        raise UnsupportedError(
            f"the adapter is of type {kind!r}: only LORA is supported", feature=str(kind)
        )
    if (bias := config.get("bias", "none")) != "none":
        raise UnsupportedError(
            f"the adapter changes biases ({bias!r}): only bias 'none' is supported", feature="bias"
        )
    begun = config.get("init_lora_weights", True)
    if begun not in PLAIN_BEGINNINGS:
        raise UnsupportedError(
            f"init_lora_weights is {begun!r}, which changes the base model's weights too",
            feature="init_lora_weights",
        )
    for key in sorted(config.keys() - FOLLOWED - WITHOUT_EFFECT):
        if config[key]:  # null, false and empty: a feature of PEFT that is not used
            raise UnsupportedError(
                f"the adapter's setting {key} is {config[key]!r}: it is not supported", feature=key
            )
    _check_numbers(config)
    return config


def _check_numbers(config: Mapping[str, Any]) -> None:
    for kind, patterns in (("lora_alpha", "alpha_pattern"), ("r", "rank_pattern")):
        given: dict[str, Any] = {"": config.get(kind), **(config.get(patterns) or {})}
        for module, value in given.items():
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not number or not math.isfinite(value) or (kind == "r" and value < 1):
                place = f" of {module!r}" if module else ""
                raise ModelError(f"{kind}{place} in {CONFIG} is {value!r}: it must be a number")


def _scale(config: Mapping[str, Any], module: str, rank: int) -> float:
    """Alpha / rank of one module, with the rank that its tensors have, checked."""
    wanted = _of_module(config.get("rank_pattern") or {}, module, config["r"])
    if wanted != rank:
        raise ModelError(f"module {module!r} has rank {rank}, and {CONFIG} says {wanted}")
    alpha = _of_module(config.get("alpha_pattern") or {}, module, config["lora_alpha"])
    return alpha / (math.sqrt(rank) if config.get("use_rslora") else rank)


def _of_module(patterns: Mapping[str, Any], module: str, otherwise: Any) -> Any:
    """The value of the first pattern that the module's name ends with, as PEFT matches them."""
    for pattern, value in patterns.items():
        try:
            if re.fullmatch(rf"(?:.*\.)?(?:{pattern})", module):
                return value
        except re.error as error:
            raise ModelError(f"the pattern {pattern!r} in {CONFIG} is no regex: {error}") from None
    return otherwise
