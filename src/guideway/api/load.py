"""`load`: from a name, a folder, a file or an object to a `Model`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from guideway.api.model import Model
from guideway.engine.backends.load import load as load_backend

if TYPE_CHECKING:
    import torch


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
    backend = load_backend(source, tokenizer, device=device, dtype=dtype)
    return Model(backend, backend.tokenizer, name=name or _name(source))


def _name(source: object) -> str:
    """How a model is printed: the last part of what it was loaded from."""
    if not isinstance(source, str | Path):
        return type(source).__name__
    return str(source).rstrip("/\\").replace("\\", "/").rsplit("/", 1)[-1].removesuffix(".gguf")
