"""Read an `Adapter` from a folder that PEFT saved, without PEFT.

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
from pathlib import Path
from typing import Any, Final, cast

from torch import Tensor

from guideway.errors import ModelError, UnsupportedError
from guideway.models.adapter import DOWN, PREFIX, Adapter

CONFIG: Final = "adapter_config.json"
TENSORS: Final = "adapter_model.safetensors"
FOLLOWED: Final = frozenset(
    {"peft_type", "r", "lora_alpha", "use_rslora", "rank_pattern", "alpha_pattern", "bias"}
)
# Settings about training, origin, or adapted modules (the tensors name these), and options of
# features that another setting turns on.
WITHOUT_EFFECT: Final = frozenset(
    {
        "auto_mapping",
        "base_model_name_or_path",
        "ensure_weight_tying",
        "exclude_modules",
        "fan_in_fan_out",
        "inference_mode",
        "init_lora_weights",
        "layers_pattern",
        "layers_to_transform",
        "lora_dropout",
        "megatron_core",
        "peft_version",
        "qalora_group_size",
        "revision",
        "target_modules",
        "task_type",
    }
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
