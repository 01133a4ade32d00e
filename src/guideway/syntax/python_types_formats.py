"""What pydantic's types with validators of their own hold, by the format that they claim.

Of e-mail addresses those are on offer that the email-validator package takes and keeps as they are,
in their usual form: ASCII, no quotes, the domain in small letters and none that is reserved. Paths
of files and folders are any text, since only the machine tells whether they are there.
"""

from guideway.syntax.python_types_patterns import either
from guideway.syntax.python_types_place import Schema

_OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
IPV4 = rf"(?:{_OCTET}\.){{3}}{_OCTET}"
_GROUP = "[0-9a-fA-F]{1,4}"
IPV6 = "|".join(
    [f"(?:{_GROUP}:){{7}}{_GROUP}"]
    + [
        f"{f'(?:{_GROUP}:){{{left}}}' if left else ':'}(?::{_GROUP}){{1,{7 - left}}}"
        for left in range(7)
    ]
    + [f"(?:{_GROUP}:){{1,7}}:", "::"]
)

# The top-level domains of RFC 6761 that email-validator refuses.
_RESERVED = ("arpa", "invalid", "local", "localhost", "onion", "test")
_ATOM = "[A-Za-z0-9_+'&-]+"
_LABEL = "[a-z0-9]+(?:-[a-z0-9]+)*"


def other_words(words: tuple[str, ...]) -> str:
    """Words of two or more small letters that are not among `words`.

    >>> import re
    >>> [bool(re.fullmatch(other_words(("on",)), word)) for word in ("on", "one", "off", "o")]
    [False, True, True, False]
    """
    parts: list[str] = []
    prefixes = {word[:end] for word in words for end in range(len(word))}
    for prefix in sorted(prefixes):
        following = {
            word[len(prefix)] for word in words if word.startswith(prefix) and word != prefix
        }
        others = "".join(letter for letter in _LETTERS if letter not in following)
        parts.append(f"{prefix}[{others}]{'[a-z]*' if prefix else '[a-z]+'}")
        if len(prefix) > 1 and prefix not in words:
            parts.append(prefix)
    parts += [f"{word}[a-z]+" for word in words if word not in prefixes]
    return either(parts)


_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_EMAIL = rf"^{_ATOM}(?:\.{_ATOM})*@(?:{_LABEL}\.)+(?:{other_words(_RESERVED)})$"

_BASE64 = "^(?:{0}{{4}})*(?:{0}[AQgw]==|{0}{{2}}[AEIMQUYcgkosw048]=)?$"
BASE64_URL = _BASE64.format("[A-Za-z0-9_-]")

FORMATS: dict[str, Schema] = {
    "ipv4": {"type": "string", "format": "ipv4"},
    "ipv6": {"type": "string", "pattern": f"^(?:{IPV6})$", "$comment": "IPv6 address"},
    "ipv4interface": {
        "type": "string",
        "pattern": f"^{IPV4}/(?:3[0-2]|[12]?[0-9])$",
        "$comment": "IPv4 address with its prefix length",
    },
    "ipv6interface": {
        "type": "string",
        "pattern": f"^(?:{IPV6})/(?:12[0-8]|1[01][0-9]|[1-9]?[0-9])$",
        "$comment": "IPv6 address with its prefix length",
    },
    "email": {
        "type": "string",
        "maxLength": 254,  # RFC 5321, as the two lengths below
        "allOf": [
            {"pattern": _EMAIL},
            {"pattern": "^[^@]{1,64}@"},
            {"pattern": r"@(?:[^.]{1,63}\.)*[^.]{1,63}$"},
        ],
        "$comment": "email",
    },
    "path": {"type": "string", "$comment": "path"},
    "file-path": {"type": "string", "$comment": "path of a file"},
    "directory-path": {"type": "string", "$comment": "path of a folder"},
    "base64": {
        "type": "string",
        "pattern": _BASE64.format("[A-Za-z0-9+/]"),
        "$comment": "base64",
    },
    "base64url": {"type": "string", "pattern": BASE64_URL, "$comment": "base64url"},
}
