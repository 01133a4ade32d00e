r"""The format idn-hostname: IDNA 2008 (RFC 5890 to 5893), as far as a regular language goes.

Either a hostname, or up to three labels, each a label of a hostname or 1 to 7 code points that
RFC 5892 permits, so that their Punycode surely has at most 63 octets. Of these labels none begins
with a mark or has hyphens in a row, first, or last, and all of this holds:

    separators   . and the three other dots of RFC 3490 §3.1
    contexts     middle dot between l's, keraia before Greek, geresh and gershayim after Hebrew,
                 katakana middle dot beside kana or ideographs, one kind of Arabic digits, joiners
                 after a virama and, the non-joiner, between letters of the Arabic block that join
    composition  nothing that NFC could compose or put in another order
    direction    the Bidi rule (RFC 5893 §2) in every label, if any has a right-to-left character

Left out, for no automaton counts Punycode: longer labels, more of them, and `xn--` labels.

What this module does not know: spelling, schemas.
"""

import unicodedata
from collections.abc import Callable
from functools import lru_cache
from itertools import chain

from fairlead.lowering.expr import alt, both, complement, concat, repeat
from fairlead.lowering.formats_network import PLAIN_LABEL, hostname
from fairlead.lowering.idna import PLAIN, code_class, letters, permitted_code_points, select
from fairlead.lowering.matching import Match
from fairlead.lowering.nodes import Expr
from fairlead.lowering.unicode import points, union

_MOST_CODES, _MOST_LABELS = 7, 3
_DOTS = r"[.\u3002\uff0e\uff61]"
_ANY = r"[\s\S]*"
_ASCII = "a-z0-9"
_HAN = tuple(block for block in PLAIN if block[0] != 0xAC00)  # without the Hangul syllables
_CONTEXT_CODES = (
    *(0xB7, 0x375, 0x5F3, 0x5F4, 0x30FB, 0x200C, 0x200D),
    *(*range(0x660, 0x66A), *range(0x6F0, 0x6FA)),
)
_CONTEXT = r"\u00b7\u0375\u05f3\u05f4\u30fb\u0660-\u0669\u06f0-\u06f9\u200c\u200d"
# Of the Arabic block (ArabicShaping.txt): letters that join on both sides, and before only.
_DUAL = (
    r"\u0620\u0626\u0628\u062a-\u062e\u0633-\u063f\u0641-\u0647\u0649\u064a\u066e\u066f"
    r"\u0678-\u0687\u069a-\u06bf\u06c1\u06c2\u06cc\u06ce\u06d0\u06d1\u06fa-\u06fc\u06ff"
)
_RIGHT = (
    r"\u0622-\u0625\u0627\u0629\u062f-\u0632\u0648\u0671-\u0673\u0675-\u0677\u0688-\u0699"
    r"\u06c0\u06c3-\u06cb\u06cd\u06cf\u06d2\u06d3\u06d5"
)


def idn_hostname(match: Match) -> Expr:
    """A name, in ASCII or with labels in Unicode."""
    return alt(hostname(match), _name(match, _one_way(match)), _name(match, _bidi(match)))


def _name(match: Match, label: Expr) -> Expr:
    return concat(label, repeat(concat(match(_DOTS), label), 0, _MOST_LABELS - 1))


def _one_way(match: Match) -> Expr:
    """A label without right-to-left characters."""
    right_to_left = _by_direction("R", "AL", "AN")
    return alt(match(PLAIN_LABEL), both(_label(match), match(f"[^{right_to_left}]*")))


def _bidi(match: Match) -> Expr:
    """A label that follows the Bidi rule."""
    neutral, marks = _by_direction("ES", "CS", "ET", "ON", "BN", "NSM"), _by_direction("NSM")
    left, numbers, arabic = _by_direction("L"), _by_direction("EN"), _by_direction("AN")
    right = _by_direction("R", "AL")
    ascii_label = both(match(PLAIN_LABEL), match(f"[A-Za-z]{_ANY}"))
    forward = _directed(left, f"{left}{numbers}{neutral}", f"{left}{numbers}", marks)
    backward = [
        _directed(right, f"{right}{digits}{neutral}", f"{right}{digits}", marks)
        for digits in (numbers, arabic)
    ]
    return alt(ascii_label, both(_label(match), match("|".join([forward, *backward]))))


def _directed(first: str, inner: str, last: str, marks: str) -> str:
    return f"[{first}](?:[{inner}]*[{last}])?[{marks}]*"


def _label(match: Match) -> Expr:
    """Letters, digits, marks and what has its context, joined by hyphens, in composed form."""
    first, inner = code_class(*permitted_code_points())
    shape = match(f"[{_ASCII}{first}{_CONTEXT}](?:-?[{_ASCII}{inner}{_CONTEXT}])*")
    short = match(f"[{_ASCII}{inner}{_CONTEXT}-]{{1,{_MOST_CODES}}}")
    return both(both(shape, short), complement(match("|".join(_faults()))))


@lru_cache(maxsize=1)
def _faults() -> tuple[str, ...]:
    """What must not stand anywhere in a label."""
    greek, hebrew = _named("GREEK"), _named("HEBREW")
    kana = _named("HIRAGANA", "KATAKANA") + code_class(_HAN)[0]
    viramas = _where(lambda char: unicodedata.combining(char) == 9)
    combining = _where(lambda char: unicodedata.combining(char) != 0)
    return (
        rf"(?:{_ANY}[^l])?\u00b7{_ANY}",
        rf"{_ANY}\u00b7(?:[^l]{_ANY})?",
        rf"{_ANY}\u0375(?:[^{greek}]{_ANY})?",
        rf"(?:{_ANY}[^{hebrew}])?[\u05f3\u05f4]{_ANY}",
        rf"[^{kana}]*\u30fb[^{kana}]*",
        rf"{_ANY}[\u0660-\u0669]{_ANY}[\u06f0-\u06f9]{_ANY}",
        rf"{_ANY}[\u06f0-\u06f9]{_ANY}[\u0660-\u0669]{_ANY}",
        rf"(?:{_ANY}[^{viramas}])?\u200d{_ANY}",
        rf"(?:{_ANY}[^{viramas}{_DUAL}])?\u200c{_ANY}",
        rf"{_ANY}[{_DUAL}]\u200c(?:[^{_DUAL}{_RIGHT}]{_ANY})?",
        f"{_ANY}[{combining}][{combining}]{_ANY}",
        f"{_ANY}[{_seconds()}]{_ANY}",
    )


def _where(holds: Callable[[str], bool]) -> str:
    """A class of those permitted characters that have a property, ideographs aside."""
    return code_class(select(letters(), holds))[0]


def _named(*scripts: str) -> str:
    """The letters whose name begins with a script's, which is a part of the script."""
    return _where(lambda char: unicodedata.name(char, "").startswith(scripts))


def _by_direction(*kinds: str) -> str:
    """ASCII and permitted characters, and those with a context, by their Bidi class."""
    codes = chain(b"abcdefghijklmnopqrstuvwxyz0123456789-", _CONTEXT_CODES, letters())
    found = select(codes, lambda char: unicodedata.bidirectional(char) in kinds)
    return code_class(union(found, PLAIN) if "L" in kinds else found)[0]


def _seconds() -> str:
    """Characters that NFC may put together with the one before."""
    found: list[int] = []
    for code in chain(range(0xC0, 0x3100), range(0x11000, 0x11A00)):
        parts = unicodedata.decomposition(chr(code)).split()
        if len(parts) == 2 and not parts[0].startswith("<"):
            found.append(int(parts[1], 16))
    return code_class(points(found))[0]
