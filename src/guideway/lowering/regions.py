"""Free text up to a stop, as one regular expression.

until(R) is text·R ∧ ¬(any·R·byte·any); without the stop, text ∧ ¬(any·R·any).
"""

from guideway.errors import LimitError, SourceError, UnsupportedError
from guideway.lowering.expr import (
    ALL_BYTES,
    ANYTHING,
    alt,
    both,
    byte_set,
    complement,
    concat,
    literal,
)
from guideway.lowering.nodes import Expr
from guideway.lowering.unicode import TEXT
from guideway.syntax.regions import Until
from guideway.syntax.sources import Literal, Source
from guideway.syntax.special import Special
from guideway.syntax.written import parts_of

MOST_STOP = 1000


def lower_until(until: Until, stop: Expr, others: list[Expr]) -> Expr:
    """Texts of `until`, whose stop and other parts are lowered already."""
    longest = max(
        (len(part.text) for part in _stops(until) if isinstance(part, Literal)), default=0
    )
    if longest > MOST_STOP:
        raise LimitError(
            f"a stop has at most {MOST_STOP} characters, got {longest}",
            limit="characters of a stop",
            given=MOST_STOP,
            needed=longest,
        )
    stops = alt(stop, *others)
    if stops.nullable:
        raise SourceError("a stop or trigger must not match the empty text")
    if not stops.regular:
        raise UnsupportedError(
            "a stop must be a text, a special token or another regular source; this source nests",
            feature="stop that nests",
        )
    names = alt(*map(literal, _names(until)))
    if not until.include:
        return both(TEXT, complement(_within(alt(stops, names))))
    text = both(TEXT, complement(_within(names)))
    early = concat(ANYTHING, stops, byte_set(ALL_BYTES), ANYTHING)
    return both(concat(text, stop), complement(early))


def _within(part: Expr) -> Expr:
    return concat(ANYTHING, part, ANYTHING)


def _stops(until: Until) -> list[Source]:
    found: list[Source] = [until.stop, *until.others]
    for each in found:  # grows while we go
        found += parts_of(each)
    return found


def _names(until: Until) -> list[str]:
    names = [str(each.token) for each in _stops(until) if isinstance(each, Special)]
    return [name for name in names if not name.startswith("<[")]
