"""`load`: make a `Model` from a name, a folder, a file or an object."""

import logging
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, Literal

from guideway.api.model import Model
from guideway.models.load import load as load_backend

if TYPE_CHECKING:
    import torch

logger: Final = logging.getLogger(__name__)


def load(
    source: str | Path | Any,
    tokenizer: Any = None,
    *,
    device: "str | torch.device | None" = None,
    dtype: "str | torch.dtype | None" = None,
    quantize: "Literal['int8', 'int4'] | None" = None,
    backend: "Literal['transformers', 'llama.cpp'] | None" = None,
    name: str | None = None,
) -> Model:
    """Load a model, ready to generate.

    Example:
        >>> model = load("smollm2-135m")  # doctest: +SKIP
        >>> model.generate("How old is Ann?", int).value  # doctest: +SKIP
        34

    Args:
        source: "smollm2-135m" (built in), a folder, a `.gguf` file, a hub id, or a transformers
            model.
        tokenizer: the tokenizer, if `source` is a transformers model.
        device: the device of the model ("cpu", "cuda", …). Default: a GPU if there is one.
        dtype: the type of the weights: a torch.dtype, or a name ("bf16", "fp16", "float32", …;
            "auto" for the checkpoint's own). Default: float32 on a CPU, "auto" on a GPU.
        quantize: "int8" or "int4" packs the weights of linear layers; the rest keeps `dtype`. Needs
            the extra "quantize". Texts differ from those of the full weights.
        backend: "transformers", or "llama.cpp" for a `.gguf` file or the built-in model: weights
            stay as the file packs them (extra "llama-cpp"). Default: "llama.cpp" for a `.gguf` file
            if it is installed and neither `dtype` nor `quantize` is given, else "transformers".
        name: the name of the model in printed expressions. Default: derived from `source`.

    Raises:
        ModelError: the model is missing, unreadable or incomplete. The message lists the places
            that were searched, and explains how to provide the model by hand. Also if the model
            cannot be quantized, or torchao or llama-cpp-python is not installed.
    """
    began = perf_counter()
    loaded = load_backend(
        source, tokenizer, device=device, dtype=dtype, quantize=quantize, backend=backend
    )
    seconds = perf_counter() - began
    logger.info("loaded %s on %s in %.1f s", _name(source), loaded.device, seconds)
    return Model(loaded, loaded.tokenizer, name=name or _name(source))


def _name(source: object) -> str:
    """Return the last part of the name or path that a model was loaded from."""
    if not isinstance(source, str | Path):
        return type(source).__name__
    return str(source).rstrip("/\\").replace("\\", "/").rsplit("/", 1)[-1].removesuffix(".gguf")
