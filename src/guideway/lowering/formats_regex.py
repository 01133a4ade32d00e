r"""The format regex: a regular part of the patterns that ECMA-262 and `re` accept.

Groups nest up to 8 deep. Lookbehind, names, references, \cX, \u{…}, \p{…}, a lone ] or brace are
left out.
"""

from guideway.lowering.expr import EMPTY, alt, both, complement, concat, optional, repeat
from guideway.lowering.matching import Match
from guideway.lowering.nodes import Expr

_DEEPEST = 8
_ESCAPE = r"\\(?:[dDwWsSfnrtv^$\\.*+?()[\]{}|/-]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4})"
_ORDERED = "|".join(f"{low},[{low}-9]" for low in range(10))
_COUNT = (
    r"\{(?:[0-9]{1,3}(?:,)?|"
    rf"{_ORDERED}|[0-9],[1-9][0-9]{{1,2}}|[1-9][0-9],[1-9][0-9]{{2}})\}}"
)
_QUANTIFIER = rf"(?:[*+?]|{_COUNT})\??"


def regex(match: Match) -> Expr:
    """A subset of the valid patterns."""
    repeated = optional(match(_QUANTIFIER))
    simple = concat(alt(match(rf"[^\^$\\.*+?()[\]{{}}|]|\.|{_ESCAPE}"), _class(match)), repeated)
    assertion = match(r"[\^$]|\\[bB]")
    opening, ahead, closing = match(r"\((?:\?:)?"), match(r"\(\?[=!]"), match(r"\)")
    groups: Expr = EMPTY
    bar = match(r"\|")
    for _ in range(_DEEPEST):
        terms = repeat(alt(simple, assertion, groups, bar))
        groups = alt(
            concat(opening, terms, closing, repeated),
            concat(ahead, terms, closing),
        )
    return repeat(alt(simple, assertion, groups, bar))


def any_regex(match: Match) -> Expr:
    """A superset of the valid patterns."""
    wrong = (
        r"[*+?)][\s\S]*",
        r"[^\\]*\\",
        r"[^\\\[]*\[[^\]]*",
        r"[^\\\[)]*\([^\\\[)]*",
    )
    return both(match(r"[\s\S]*"), complement(match("|".join(wrong))))


def _class(match: Match) -> Expr:
    ranges = "|".join(
        f"{chr(low)}-[{chr(low)}-{last}]"
        for first, last in ("09", "az", "AZ")
        for low in range(ord(first), ord(last) + 1)
    )
    member = rf"[^\\\]\[^-]|{_ESCAPE}"
    return match(rf"\[\^?(?:-?(?:{member}|{ranges})(?:{member}|{ranges})*-?|-)\]")
