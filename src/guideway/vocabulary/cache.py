"""Disk cache of token tables and tries, keyed by tokenizer content and our own code.

Reading llama3's tokenizer takes a second, 0.6 s of it in the tokenizers library. Files are written
beside their place and renamed, and read only if the checksum is right. A missing, read-only or full
folder only costs time. Old files are removed. Compiling and masking open no files.

A file holds named arrays and JSON facts, after "guideway", a format number and the BLAKE2b of the
rest, which is numpy's npz without pickle. Damaged or foreign files give None.
"""

import contextlib
import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from guideway.extras import installed
from guideway.vocabulary.trie import Trie

MAGIC: Final = b"guideway" + (2).to_bytes(4, "little")
BEFORE: Final = len(MAGIC) + 16
FACTS: Final = ".facts"


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """Content of a file: JSON facts, and one-dimensional arrays by name."""

    facts: Mapping[str, Any]
    arrays: Mapping[str, NDArray[Any]]


def packed(record: Record) -> bytes:
    """The bytes of `record`.

    >>> record = unpacked(packed(Record({"a": 1}, {"b": np.arange(3)})))
    >>> record.facts, record.arrays["b"].tolist()
    ({'a': 1}, [0, 1, 2])
    """
    body = BytesIO()
    facts = np.frombuffer(json.dumps(record.facts).encode(), np.uint8)
    named: dict[str, Any] = {**record.arrays, FACTS: facts}
    np.savez(body, **named)
    return MAGIC + _digest(body.getvalue()) + body.getvalue()


def unpacked(content: bytes) -> Record | None:
    """The record in `content`, None if it is damaged or of another format."""
    body = content[BEFORE:]
    if content[:BEFORE] != MAGIC + _digest(body):
        return None
    arrays: dict[str, NDArray[Any]] = {**np.load(BytesIO(body))}
    for array in arrays.values():
        array.flags.writeable = False
    return Record(json.loads(arrays.pop(FACTS).tobytes()), arrays)


def _digest(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=16).digest()


MOST_FILES: Final = 32  # 1 to 10 MB each
WORTH_TOKENS: Final = 8192  # fewer are sorted faster (3 ms) than a file is found, read and checked
WORTH_BYTES: Final = 1 << 19  # of a tokenizer.json


def cache_folder(kind: str) -> Path:
    """The folder `kind` in GUIDEWAY_CACHE or the user's cache folder; OSError if there is none."""
    named = os.environ.get("GUIDEWAY_CACHE")
    return (Path(named) if named else _caches_of_user() / "guideway") / kind


def _caches_of_user() -> Path:
    """The system's folder for caches."""
    try:
        home = Path.home()
    except RuntimeError:
        raise FileNotFoundError("there is no home folder; set GUIDEWAY_CACHE to a folder") from None
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    if sys.platform == "darwin":
        return home / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")


def cached(kind: str, content: Sequence[bytes], make: Callable[[], Record]) -> Record:
    """`make()` for `content`, cached."""
    try:
        path = cache_folder("vocabularies") / f"{_key(content)}.{kind}"
    except OSError:  # no folder, or no source code to make the key of
        return make()
    with contextlib.suppress(OSError):
        record = unpacked(path.read_bytes())
        if record is not None:
            return record
    record = make()
    with contextlib.suppress(OSError):
        _write(path, packed(record))
    return record


def cached_trie(tokens: Sequence[bytes | None]) -> Trie:
    """The trie of `tokens`, cached."""
    if len(tokens) < WORTH_TOKENS:
        return Trie.build(tokens)

    def make() -> Record:
        trie = Trie.build(tokens)
        return Record({}, {name: getattr(trie, name) for name in Trie.__slots__})

    spelled = [token or b"" for token in tokens]
    lengths = np.fromiter(map(len, spelled), np.int32, len(spelled))
    return Trie(**cached("trie", (b"".join(spelled), lengths.tobytes()), make).arrays)


def _key(content: Sequence[bytes]) -> str:
    """The cache key of `content` and of the code that reads it."""
    digest = hashlib.blake2b(_code(), digest_size=16)
    for part in content:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()


@cache
def _code() -> bytes:
    """A digest of the modules that read tokenizers, and of the version of the library they use."""
    library = version("tokenizers") if installed("tokenizers") else ""
    digest = hashlib.blake2b(library.encode())
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.digest()


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    _prune(path.parent)


def _prune(folder: Path) -> None:
    """Remove old files and leftovers of interrupted writes."""
    ages = sorted(((entry.stat().st_mtime, entry) for entry in folder.iterdir()), reverse=True)
    for _, entry in ages[MOST_FILES:]:
        entry.unlink(missing_ok=True)
