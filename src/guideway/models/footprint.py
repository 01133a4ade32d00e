"""Memory of a transformers model, measured without its weights.

Tensors on torch's meta device have shapes and no memory. A model that is built there has the exact
number of parameters, and its forward allocates what the real one does: `traced` adds up the tensors
that are alive. Two operations have a slower path on that device; their results are made directly:
attention, which has no matrix of scores on other devices, and the grouped products of experts.
"""

import copy
import inspect
import weakref
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from guideway.errors import ModelError, UnsupportedError
from guideway.models.load import located, quiet

DESCRIBE: Final = 'describe it as a dict {"layers": …, "heads": …, "head_dim": …, "parameters": …}'


@dataclass(frozen=True, slots=True)
class Traced:
    """Memory of one forward that reads all tokens, without the parameters.

    Attributes:
        peak: the greatest number of bytes that are alive at once.
        cache: number of tensors in the cache after the forward, by shape and bytes of an element.
        live: number of other tensors at the peak, by number of elements and bytes of an element.
    """

    peak: int
    cache: Mapping[tuple[tuple[int, ...], int], int]
    live: Mapping[tuple[int, int], int]


def config_of(source: str | Path | Mapping[str, Any]) -> Any:
    """The configuration that a name, a folder, a .gguf file or the content of a file gives."""
    from transformers.models.auto import configuration_auto

    configs: Any = configuration_auto.AutoConfig
    try:
        if isinstance(source, Mapping):
            return configs.for_model(**source)
        name, arguments = located(source)
        with quiet():
            return configs.from_pretrained(name, trust_remote_code=False, **arguments)
    except ModelError:
        raise
    except Exception as error:  # noqa: BLE001  OSError, ValueError, TypeError, validation errors …
        raise ModelError(
            f"the configuration of {'this dict' if isinstance(source, Mapping) else source} could "
            f"not be read: {type(error).__name__}: {error}"
        ) from None


def skeleton(config: Any, dtype: torch.dtype, kind: type[Any] | None = None) -> Any:
    """A model of this configuration on the meta device.

    `kind` is its class; by default that of transformers for causal models, then for others.
    """
    from transformers.models.auto import modeling_auto

    auto: Any = modeling_auto
    name = str(getattr(config, "model_type", "")) or type(config).__name__
    if getattr(config, "is_encoder_decoder", False):
        raise UnsupportedError(f"{name} is not a causal language model", feature=name)
    causal = type(config) in auto.MODEL_FOR_CAUSAL_LM_MAPPING
    build = kind or (auto.AutoModelForCausalLM if causal else auto.AutoModel).from_config
    try:
        with torch.device("meta"), quiet():
            return build(copy.deepcopy(config)).eval().to(dtype)
    except Exception as error:  # noqa: BLE001  whatever the model's own code raises
        raise ModelError(
            f"no model of the configuration {name!r} can be built: {type(error).__name__}: {error}"
        ) from None


def traced(module: Any, batch: int, context: int) -> Traced:
    """Trace one forward of a skeleton that reads `batch` rows of `context` tokens."""
    arguments: dict[str, Any] = {"use_cache": True}
    if "logits_to_keep" in inspect.signature(module.forward).parameters:
        arguments["logits_to_keep"] = 1  # as `TransformersModel.prefill`
    live = _Live(module)
    try:
        with torch.no_grad(), torch.device("meta"), _Direct(), live:
            output = module(torch.zeros(batch, context, dtype=torch.int64), **arguments)
            _ = output.logits.float() if hasattr(output, "logits") else None
    except Exception as error:  # noqa: BLE001  whatever the model's own code raises
        name = type(module).__name__
        count = sum(each.numel() for each in module.parameters())
        raise UnsupportedError(
            f"{name} ({count:,} parameters) cannot be traced without its weights; {DESCRIBE}. "
            f"{type(error).__name__}: {error}",
            feature=name,
        ) from None
    pasts = [each for each in output.values() if hasattr(each, "layers")]
    kept = [each for each in _tensors([past.layers for past in pasts]) if each.dim()]
    for each in kept:
        live.forget(each)
    return Traced(
        live.peak,
        Counter((tuple(each.shape), each.element_size()) for each in kept),
        Counter(live.at_peak.values()),
    )


def _tensors(value: object) -> Iterator[Tensor]:
    """The tensors of a cache's layers: keys and values, or states."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, dict | list | tuple):
        held = cast("dict[Any, Any] | list[Any]", value)
        for each in held.values() if isinstance(held, dict) else held:
            yield from _tensors(each)
    elif type(value).__module__.startswith("transformers."):
        yield from _tensors(vars(value))


def _key(tensor: Tensor) -> int:
    return tensor.untyped_storage()._cdata  # pyright: ignore[reportPrivateUsage]


class _Live(TorchDispatchMode):
    """Adds up the storages that are alive; the parameters of `module` do not count.

    Attributes:
        peak: the greatest sum so far, in bytes.
        at_peak: number of elements and bytes of an element, by the number of the storage.
    """

    def __init__(self, module: Any) -> None:
        super().__init__()  # pyright: ignore[reportUnknownMemberType]
        self.peak = 0
        self.at_peak: dict[int, tuple[int, int]] = {}
        self._sum = 0
        self._live: dict[int, tuple[int, int, int]] = {}  # addresses are used again: numbered
        self._made = 0
        self._own = {_key(each) for each in (*module.parameters(), *module.buffers())}

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> object:
        if func is torch.ops.aten._local_scalar_dense.default and args[0].dtype == torch.bool:
            return True  # a mask is asked if it is all true: nothing is padded
        result = func(*args, **(kwargs or {}))
        for each in tree_leaves(result):
            if isinstance(each, Tensor):
                self._add(each)
        return result

    def _add(self, tensor: Tensor) -> None:
        storage, key = tensor.untyped_storage(), _key(tensor)
        if key in self._own or key in self._live:
            return
        size = tensor.element_size()
        self._made += 1
        self._live[key] = (self._made, storage.nbytes() // size, size)
        self._sum += storage.nbytes()
        weakref.finalize(storage, self._drop, key)
        if self._sum > self.peak:
            self.peak = self._sum
            self.at_peak = {number: (n, size) for number, n, size in self._live.values()}

    def forget(self, tensor: Tensor) -> None:
        """Take the storage of a tensor out of `at_peak`."""
        number, *_ = self._live.get(_key(tensor), (0,))
        self.at_peak.pop(number, None)

    def _drop(self, key: int) -> None:
        _, count, size = self._live.pop(key)
        self._sum -= count * size


class _Direct(TorchFunctionMode):
    """Makes the results of two operations directly, which the meta device computes another way."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> object:
        name = getattr(func, "__name__", "")
        if name == "scaled_dot_product_attention" and len(args) >= 3:
            query, _, value = args[:3]
            mask = args[3] if len(args) > 3 else kwargs.get("attn_mask")
            _added = None if mask is None else mask.to(query.dtype)  # kernels add it to scores
            _sums = query.new_empty(query.shape[:-1], dtype=torch.float32)
            return query.new_empty((*query.shape[:-1], value.shape[-1]))
        if name in {"grouped_mm", "_grouped_mm"}:
            return args[0].new_empty((args[0].shape[0], args[1].shape[-1]))
        return func(*args, **(kwargs or {}))
