"""Named arrays and JSON facts as bytes, in our own format without pickle.

    8 bytes     "guideway"
    4 bytes     the number of this format, little-endian
    16 bytes    BLAKE2b of everything after it
    4 bytes     length of the header
    header      JSON: the facts; name, type and offset of each array; padded with spaces
    arrays      one after the other, each at a multiple of 64 bytes

Truncated, damaged or foreign files give None. Reading copies nothing; arrays are read-only views.
"""

import hashlib
import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

MAGIC: Final = b"guideway"
FORMAT: Final = 1
FIXED: Final = struct.Struct("<8sI16s")
LENGTH: Final = struct.Struct("<I")
BEFORE: Final = FIXED.size + LENGTH.size  # 32 bytes before the header
ALIGNED: Final = 64


@final
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
    places: list[tuple[str, str, int, int]] = []
    parts: list[bytes] = []
    at = 0
    for name, array in record.arrays.items():
        places.append((name, array.dtype.str, len(array), at))
        part = _padded(array.tobytes())
        parts.append(part)
        at += len(part)
    header = json.dumps({"facts": record.facts, "arrays": places}).encode()
    header += b" " * (-(BEFORE + len(header)) % ALIGNED)
    body = LENGTH.pack(len(header)) + header + b"".join(parts)
    return FIXED.pack(MAGIC, FORMAT, _digest(body)) + body


def unpacked(content: bytes) -> Record | None:
    """The record in `content`, None if it is damaged or of another format."""
    if len(content) < BEFORE:
        return None
    magic, number, digest = FIXED.unpack_from(content)
    view = memoryview(content)
    if (magic, number) != (MAGIC, FORMAT) or digest != _digest(view[FIXED.size :]):
        return None
    start = BEFORE + LENGTH.unpack_from(content, FIXED.size)[0]
    header = json.loads(bytes(view[BEFORE:start]))
    arrays: dict[str, NDArray[Any]] = {}
    for name, kind, count, at in header["arrays"]:
        dtype = np.dtype(kind)
        array = np.frombuffer(content, dtype, count, start + at)
        arrays[name] = array.astype(dtype.newbyteorder("="), copy=False)
    return Record(header["facts"], arrays)


def _padded(part: bytes) -> bytes:
    return part + bytes(-len(part) % ALIGNED)


def _digest(body: bytes | memoryview) -> bytes:
    return hashlib.blake2b(body, digest_size=16).digest()
