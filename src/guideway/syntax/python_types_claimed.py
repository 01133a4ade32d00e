"""Types that pydantic reads with functions of its own, from a string or bytes read before.

The schema is that of the format that the type claims, with the limits of that string.
"""

from math import inf
from pathlib import Path, PosixPath, WindowsPath
from typing import Any

from pydantic.types import Base64Encoder, Base64UrlEncoder

from guideway.syntax.python_types_formats import BASE64, BASE64_URL, ascii_digits, base64_texts
from guideway.syntax.python_types_hooks import LENGTHS, name_of
from guideway.syntax.python_types_patterns import whole
from guideway.syntax.python_types_place import Core, Place, Schema, side_of, union_parts
from guideway.syntax.python_types_scalars import read_str

_INSIDE = {
    "json-or-python": "json_schema",
    **dict.fromkeys(("function-after", "function-before", "function-wrap"), "schema"),
}


def as_text(claimed: Schema, core: Core, at: Place) -> Schema:
    """Schema of a claimed format, with the limits of the string that pydantic reads first."""
    text = _first_read(core, at)
    if text["type"] != "str":
        return _as_bytes(claimed, text, at)
    asked = read_str(text, at)
    limits = {name: asked[name] for name in ("minLength", "maxLength") if name in asked}
    patterns = [{"pattern": asked["pattern"]}] if "pattern" in asked else asked.get("allOf", [])
    if "maxLength" in limits:
        limits["maxLength"] = min(limits["maxLength"], claimed.get("maxLength", inf))
    if patterns:
        limits["allOf"] = [*claimed.get("allOf", ()), *patterns]
    return claimed | limits


_ENCODERS = {Base64Encoder: BASE64, Base64UrlEncoder: BASE64_URL}


def as_encoded(core: Core, at: Place) -> Schema:
    """Schema of base64 bytes or strings; any text for a user's encoder."""
    function: Any = core["function"]["function"]
    digits = _ENCODERS.get(function.__self__.encoder)
    if digits is None:
        return as_text({"type": "string"}, core, at)
    if at.again:
        why = "in a strict defaultdict is decoded twice by pydantic; use a dict"
        raise at.refuse("base64", why, "strict")
    if name_of(function) == "EncodedStr.decode_str":
        digits = ascii_digits(digits)
    low = max((asked.get("min_length", 0) for asked in core.get("more", ())), default=0)
    highs = [asked["max_length"] for asked in core.get("more", ()) if "max_length" in asked]
    pattern = whole(base64_texts(digits, low, min(highs, default=None)))
    return as_text({"type": "string", "pattern": pattern, "$comment": "base64"}, core, at)


def _first_read(core: Core, at: Place) -> Core:
    """The core schema of the string or bytes that the type's functions get."""
    while core["type"] in ("union", "lax-or-strict", *_INSIDE):
        if core["type"] == "union":  # of two ways to the same string
            core = next(union_parts(core))
        elif core["type"] == "lax-or-strict":
            core = side_of(core, at)
        else:
            cls = core.get("python_schema", {}).get("cls")
            if cls in (PosixPath, WindowsPath) and not isinstance(Path(), cls):
                raise at.refuse(cls.__name__, "does not exist on this system", cls.__name__)
            core = core[_INSIDE[core["type"]]]
    return core


def _as_bytes(claimed: Schema, core: Core, at: Place) -> Schema:
    at.check_strict(core, ("bytes",))
    for name in LENGTHS:
        if core.get(name) is not None:  # of the bytes that the text stands for
            raise at.refuse(name, "is not supported for a type that pydantic reads from bytes")
    encoding = at.config.get("val_json_bytes", "utf8")
    if core["type"] == "bytes" and encoding != "utf8":
        what = f"val_json_bytes={encoding!r}"
        raise at.refuse(what, "is not supported for this type; use 'utf8'", "val_json_bytes")
    return claimed
