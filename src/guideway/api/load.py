"""`load`: from a name, a folder, a file or an object to a `Model`."""

import logging
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from guideway.api.model import Model
from guideway.engine.backends.load import load as load_backend

if TYPE_CHECKING:
    import torch

logger: Final = logging.getLogger(__name__)


def load(
    source: str | Path | Any,
    tokenizer: Any = None,
    *,
    device: "str | torch.device | None" = None,
    dtype: "str | torch.dtype | None" = None,
    name: str | None = None,
) -> Model:
    """The model that `source` names, ready to generate.

    Args:
        source: "smollm2-135m" (built in), a folder, a `.gguf` file, a hub id, or a transformers
            model.
        tokenizer: the tokenizer of a transformers model that is given as an object.
        device: where it runs ("cpu", "cuda", …): a GPU if there is one, if not given.
        dtype: the type of its weights, or its name ("bf16", "fp16", "float32", …; "auto": the
            checkpoint's own). If not given, float32 on a CPU and "auto" on a GPU.
        name: how it is printed in expressions; from `source` if not given.

    Raises:
        ModelError: it is not there, not readable, or not complete, saying what was tried and how to
            provide it by hand.
    """
    began = perf_counter()
    backend = load_backend(source, tokenizer, device=device, dtype=dtype)
    seconds = perf_counter() - began
    logger.info("loaded %s on %s in %.1f s", _name(source), backend.device, seconds)
    return Model(backend, backend.tokenizer, name=name or _name(source))


def _name(source: object) -> str:
    """How a model is printed: the last part of what it was loaded from."""
    if not isinstance(source, str | Path):
        return type(source).__name__
    return str(source).rstrip("/\\").replace("\\", "/").rsplit("/", 1)[-1].removesuffix(".gguf")
