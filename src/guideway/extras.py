"""The optional dependencies: which extra installs which module, and the error that names the extra.

The core needs numpy, llvmlite, pydantic and lark only. Public names (`guideway.__getattr__`) and
the packages that need more (`models`, `generation`, `search`, `integrations`, `server`, `cli`)
report a missing module here, so that no other code catches import errors.
"""

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

from guideway.errors import ModelError

EXTRAS: Final[Mapping[str, tuple[str, ...]]] = {
    "torch": (
        "torch",
        "transformers",
        "tokenizers",
        "safetensors",
        "jinja2",
        "jaxtyping",
        "filelock",
        "rich",
    ),
    "gguf": ("gguf",),
    "llama-cpp": ("llama_cpp",),
    "quantize": ("torchao",),
    "server": ("fastapi", "uvicorn", "prometheus_client"),
    "cli": ("typer", "rich"),
}
"""The modules that each extra of pyproject.toml installs and guideway imports."""


def installed(module: str) -> bool:
    """Return whether `module` can be imported, without importing it.

    >>> installed("numpy"), installed("no_such_module")
    (True, False)
    """
    return find_spec(module) is not None


def require(extra: str, user: str) -> None:
    """Return if all modules of `extra` are installed.

    Args:
        extra: a name of `EXTRAS`.
        user: the name that needs it, for the message.

    Raises:
        ModelError: a module is missing; the message has the command that installs it.
    """
    for module in EXTRAS[extra]:
        if not installed(module):
            raise _missing(module, extra, user)


def library(module: str, user: str) -> Any:
    """Import a module of a library that no extra installs, such as an engine.

    Raises:
        ModelError: the library is not installed; the message has the command that installs it.
    """
    name = module.partition(".")[0]
    if not installed(name):
        raise ModelError(
            f"{user} needs the package {name}, which is not installed: pip install {name}"
        )
    return import_module(module)


def explained(error: ModuleNotFoundError, user: str) -> Exception:
    """The error to raise for `error`: one that names the extra, or `error` if no extra has it."""
    module = (error.name or "").partition(".")[0]
    extra = next((extra for extra, modules in EXTRAS.items() if module in modules), None)
    return error if extra is None else _missing(module, extra, user)


def _missing(module: str, extra: str, user: str) -> ModelError:
    return ModelError(
        f"{user} needs the package {module}, which is not installed: "
        f'pip install "guideway[{extra}]"'
    )
