r"""The format regex: patterns that ECMA-262 takes, and Python's `re` too.

Parentheses make the rule context-free, names and numbers of groups and the order of {m,n} and [a-z]
more than that. What is on offer is a regular part of it, in which every pattern is valid:

    groups         (…) (?:…) and the lookaheads, up to 8 inside one another
    counts         * + ? {m} {m,} {m,n}, each lazy too; numbers of up to 3 digits, m has fewer
                   digits than n or is the same, or both have one digit
    classes        shorthands, escapes, characters; ranges inside 0-9, a-z and A-Z, forward
    escapes        \d \w \s \b and their opposites, \f \n \r \t \v, \xHH, \uHHHH, \ and a sign

Left out: lookbehind, names, references back, \cX, \u{…}, \p{…}, and a lone ] or brace.

What this module does not know: spelling, schemas.
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
    """Patterns that are surely valid."""
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
    """All but patterns that are plainly none, for whoever reads them.

    Those begin with what repeats or closes something, end within an escape, the only one, or have a
    class or a group that nothing closes.
    """
    wrong = (
        r"[*+?)][\s\S]*",
        r"[^\\]*\\",
        r"[^\\\[]*\[[^\]]*",
        r"[^\\\[)]*\([^\\\[)]*",
    )
    return both(match(r"[\s\S]*"), complement(match("|".join(wrong))))


def _class(match: Match) -> Expr:
    """Brackets with members; a hyphen stands first, last, or in a range of letters or digits."""
    ranges = "|".join(
        f"{chr(low)}-[{chr(low)}-{last}]"
        for first, last in ("09", "az", "AZ")
        for low in range(ord(first), ord(last) + 1)
    )
    member = rf"[^\\\]\[^-]|{_ESCAPE}"
    return match(rf"\[\^?(?:-?(?:{member}|{ranges})(?:{member}|{ranges})*-?|-)\]")
