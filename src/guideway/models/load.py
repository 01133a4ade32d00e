"""Load a model by name or object.

Names are the built-in model "smollm2-135m", a folder with a transformers checkpoint, a llama.cpp
file "….gguf", or a hub id "owner/model" (the local cache, then the hub). transformers runs all of
them, llama.cpp the files. `load_classifier` loads a sequence classifier.
"""

import contextlib
import logging as log
import re
from collections.abc import Generator
from pathlib import Path
from typing import Any, Final

import torch

from guideway.errors import ModelError, brief
from guideway.extras import EXTRAS, installed, require
from guideway.logits.mask import device_of
from guideway.models.builtin import NAME, builtin_folder, packaged_file
from guideway.models.few_rows import prepare_few_rows
from guideway.models.llama_cpp import LlamaCppModel
from guideway.models.packed import checked, pack
from guideway.models.transformers import TransformersModel
from guideway.sources.names import did_you_mean

HUB_ID: Final = re.compile(r"[A-Za-z0-9][\w.-]*(/[\w.-]+)?")
DTYPES: Final = {
    **dict.fromkeys(("float32", "fp32", "f32", "float"), torch.float32),
    **dict.fromkeys(("bfloat16", "bf16"), torch.bfloat16),
    **dict.fromkeys(("float16", "fp16", "f16", "half"), torch.float16),
    **dict.fromkeys(("float64", "fp64", "f64", "double"), torch.float64),
    "auto": "auto",
}
"""Names for the type of the weights; "auto" is the checkpoint's own, as in transformers."""
BACKENDS: Final = ("transformers", "llama.cpp")
BY_HAND: Final = (
    "To provide it by hand, put its config.json, tokenizer.json, tokenizer_config.json and "
    "*.safetensors into a folder and load that folder, or load a .gguf file. The built-in model "
    f"is {NAME!r}."
)


def load(
    source: Any,
    tokenizer: Any = None,
    *,
    device: str | torch.device | None = None,
    dtype: str | torch.dtype | None = None,
    quantize: str | None = None,
    backend: str | None = None,
) -> TransformersModel | LlamaCppModel:
    """The model that `source` names, with the arguments and errors of `guideway.load`."""
    if backend is not None and backend not in BACKENDS:
        raise ModelError(
            f'backend is {brief(backend)}: it must be "transformers", "llama.cpp" or None'
            f"{did_you_mean(str(backend), BACKENDS)}"
        )
    is_file = isinstance(source, str | Path) and str(source).endswith(".gguf")
    if backend is None and is_file and dtype is None and quantize is None and tokenizer is None:
        backend = "llama.cpp" if all(map(installed, EXTRAS["llama-cpp"])) else None
    if backend == "llama.cpp":
        return _by_llama_cpp(source, device, tokenizer=tokenizer, dtype=dtype, quantize=quantize)
    if not isinstance(source, str | Path):
        _check_unmoved(device, dtype, quantize)
        return _from_objects(source, tokenizer)
    place, kind = device_of(device), checked(quantize)
    precision = precision_of(dtype) or (torch.float32 if place.type == "cpu" else "auto")
    name, arguments = located(source)
    with quiet():
        module, read = _read(name, {**arguments, "dtype": precision}, arguments)
        module = module.to(place)
        if kind is not None:
            pack(module, kind)
        elif place.type == "cpu":
            prepare_few_rows(module)
    return TransformersModel(module, tokenizer or read)


def _by_llama_cpp(source: Any, device: str | torch.device | None, **others: Any) -> LlamaCppModel:
    """A .gguf file by llama.cpp, as it is."""
    for name, given in others.items():
        if given is not None:
            raise ModelError(
                f'{name} is not for backend="llama.cpp": a .gguf file has its tokenizer and its '
                'type of weights; choose another file, or the backend "transformers"'
            )
    if source == NAME:
        source = packaged_file()
    if not isinstance(source, str | Path) or not str(source).endswith(".gguf"):
        raise ModelError(
            f'backend="llama.cpp" runs .gguf files and the built-in model {NAME!r}, not '
            f"{brief(source)}"
        )
    return LlamaCppModel(source, device=device)


def precision_of(given: object) -> torch.dtype | str | None:
    """The type of the weights that `given` names."""
    if given is None or isinstance(given, torch.dtype):
        return given
    name = given.removeprefix("torch.").lower() if isinstance(given, str) else ""
    if name not in DTYPES:
        raise ModelError(
            f"dtype is {brief(given)}: it must be a torch.dtype, or one of {', '.join(DTYPES)}"
            f"{did_you_mean(name, DTYPES)}"
        )
    return DTYPES[name]


def _check_unmoved(device: object, dtype: object, quantize: object) -> None:
    """Refuse a device, a dtype or quantization for a model that is given as an object."""
    if quantize is not None:
        raise ModelError(
            "quantize is only for models that guideway loads, by a name or from a folder; this "
            "model is an object"
        )
    for name, given in (("device", device), ("dtype", dtype)):
        if given is not None:
            raise ModelError(
                f"{name} is only for models that guideway loads; move this model yourself: "
                f"guideway.load(model.to({given!r}), tokenizer)"
            )


def _from_objects(module: Any, tokenizer: Any) -> TransformersModel:
    if not callable(getattr(module, "can_generate", None)):
        raise ModelError(
            f"a model is a name, a folder, a .gguf file, a hub id or a transformers model, not "
            f"{type(module).__name__}"
        )
    if tokenizer is None:
        raise ModelError(
            "a transformers model needs its tokenizer: guideway.load(model, tokenizer)"
        )
    return TransformersModel(module, tokenizer)


def located(source: str | Path) -> tuple[str, dict[str, Any]]:
    """Name and arguments for `from_pretrained`."""
    if source == NAME:
        return str(builtin_folder()), {"local_files_only": True}
    path = Path(source).expanduser()
    if path.suffix == ".gguf":
        if not path.is_file():
            raise ModelError(f"there is no file {str(source)!r}")
        require("gguf", "reading a .gguf file")
        return str(path.parent), {"gguf_file": path.name, "local_files_only": True}
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise ModelError(f"the folder {str(source)!r} has no config.json. {BY_HAND}")
        return str(path), {"local_files_only": True}
    if isinstance(source, Path) or not HUB_ID.fullmatch(source):
        raise ModelError(f"{str(source)!r} is neither a folder nor a hub id. {BY_HAND}")
    return source, {"local_files_only": _reach_hub(source)}


def _reach_hub(name: str) -> bool:
    """Return True if the hub's files are in the local cache; False if the hub has them."""
    from huggingface_hub import HfApi, try_to_load_from_cache

    if isinstance(try_to_load_from_cache(name, "config.json"), str):
        return True
    try:
        # One quick request: `from_pretrained` would retry for half a minute without a network.
        HfApi().model_info(name, timeout=10)
    except Exception as error:  # noqa: BLE001  whatever the HTTP library in use raises
        reason = str(error).strip().split("\n")[0] or type(error).__name__
        hint = did_you_mean(name, [NAME]) or "."
        raise ModelError(
            f"there is no model {name!r}{hint} Tried: built-in models, a folder of that name, the "
            f"hub's local cache, the hub ({type(error).__name__}: {reason}). {BY_HAND}"
        ) from None
    return False


def _read(name: str, model: dict[str, Any], tokenizer: dict[str, Any]) -> tuple[Any, Any]:
    """The transformers model and its tokenizer."""
    # By their own modules: a type checker that reads all of transformers takes most of a minute.
    from transformers.models.auto import modeling_auto, tokenization_auto

    models: Any = modeling_auto.AutoModelForCausalLM
    tokenizers: Any = tokenization_auto.AutoTokenizer
    try:
        read = tokenizers.from_pretrained(name, **tokenizer)
        module, report = models.from_pretrained(name, output_loading_info=True, **model)
    except Exception as error:  # noqa: BLE001  OSError, ValueError, KeyError, safetensors' own …
        raise ModelError(f"{name} could not be loaded: {type(error).__name__}: {error}") from None
    missing: list[str] = sorted(report["missing_keys"])
    if missing:  # transformers would go on with random numbers in their place
        some = ", ".join(missing[:5])
        raise ModelError(f"{name} lacks {len(missing)} weights, {some} among them")
    return module, read


def load_classifier(name: str) -> tuple[Any, Any]:
    """The model and the tokenizer of a folder or of a hub id; weights are .safetensors only.

    Raises:
        ModelError: there is no such classifier, or it cannot be read.
    """
    from transformers.models.auto.modeling_auto import AutoModelForSequenceClassification
    from transformers.models.auto.tokenization_auto import AutoTokenizer

    tokenizers: Any = AutoTokenizer
    models: Any = AutoModelForSequenceClassification
    try:
        tokenizer = tokenizers.from_pretrained(name, trust_remote_code=False)
        model = models.from_pretrained(name, use_safetensors=True, trust_remote_code=False)
    except (OSError, ValueError) as error:
        raise ModelError(f"the classifier {name} cannot be loaded: {error}") from error
    return model.eval(), tokenizer


@contextlib.contextmanager
def quiet() -> Generator[None, None, None]:
    """Without progress bars and remarks of transformers, set back afterwards, and of torchao."""
    from transformers.utils import logging

    for name in ("torchao", "torch.utils._pytree"):  # transformers imports torchao, if it is there
        log.getLogger(name).setLevel(log.ERROR)
    bars, level = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
