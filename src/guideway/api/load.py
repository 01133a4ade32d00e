"""`load`: from a name, a folder, a file or an object to a `Model`."""

from pathlib import Path
from typing import Any

from guideway.api.model import Model
from guideway.engine.backends.load import load as load_backend


def load(
    source: str | Path | Any,
    tokenizer: Any = None,
    *,
    device: Any = None,
    dtype: Any = None,
    name: str | None = None,
) -> Model:
    """The model that `source` names, ready to generate.

    Args:
        source: "smollm2-135m" (built in), a folder, a `.gguf` file, a hub id, or a transformers
            model.
        tokenizer: the tokenizer of a transformers model that is given as an object.
        device: where it runs ("cpu", "cuda", …): a GPU if there is one, if not given.
        dtype: type of its weights: float32 on a CPU, the checkpoint's own on a GPU, if not given.
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
