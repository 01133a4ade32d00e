"""Numbers with at most 17 significant digits, in plain spelling, as `repr` writes floats."""

from decimal import Decimal
from functools import cache
from sys import float_info
from typing import Final

from guideway.lowering.nodes import Expr
from guideway.lowering.regex import lower_regex
from guideway.syntax.json_schema_tree import Bound
from guideway.syntax.python_types_patterns import numerals, unsigned_to
from guideway.syntax.regex import parse_regex

_DIGITS: Final = 17
_LARGEST: Final = Decimal(repr(float_info.max))
_TOP: Final = float_info.max_10_exp


def is_beyond(bound: Bound | None) -> bool:
    """Return True if a bound is None or excludes no double."""
    return bound is None or abs(bound.value) >= _LARGEST


@cache
def doubles() -> Expr:
    """Numbers with up to 17 significant digits, at most the largest double."""
    mantissa = f"[1-9](?:[.][0-9]{{1,{_DIGITS - 1}}})?"
    exponents = f"-[0-9]{{1,3}}|[+]?(?:0{{0,2}}[0-9]|0?[1-9][0-9]|{numerals(100, _TOP - 1)})"
    top = unsigned_to(_LARGEST.scaleb(-_TOP), exclusive=False)
    parts = [
        f"0(?:[.]0{{1,{_DIGITS}}})?",
        f"0[.]0{{0,{_DIGITS}}}[1-9][0-9]{{0,{_DIGITS - 1}}}",
        *(
            f"[1-9][0-9]{{{count - 1}}}(?:[.][0-9]{{1,{max(1, _DIGITS - count)}}})?"
            for count in range(1, _DIGITS + 1)
        ),
        f"{mantissa}[eE](?:{exponents})",
        f"(?={mantissa}[eE])(?:{top})[eE][+]?{_TOP}",
    ]
    return lower_regex(parse_regex(f"-?(?:{'|'.join(parts)})"))
