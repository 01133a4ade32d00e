"""Free text up to a stop, as one regular expression.

    until(R)                any text, then R, and no R that is complete before
                            text·R ∧ ¬(any·R·byte·any)
    until(R, include=False) any text without R in it
                            text ∧ ¬(any·R·any)

What this module does not know: what the stops of regions are followed by.
"""

from collections.abc import Iterable, Iterator

from guideway.errors import SourceError, UnsupportedError
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
from guideway.lowering.stop_words import up_to_words
from guideway.lowering.unicode import TEXT
from guideway.syntax.parts import parts_of
from guideway.syntax.regions import Until
from guideway.syntax.sources import Choice, Either, Literal, Source
from guideway.syntax.special import Special


def lower_until(until: Until, stop: Expr, others: list[Expr]) -> Expr:
    """The texts of `until`, whose stop and other parts are lowered already.

    Raises:
        SourceError: a stop is the empty text, too.
        UnsupportedError: a stop is not regular.
    """
    stops = alt(stop, *others)
    if stops.nullable:
        raise SourceError("a stop or trigger must not match the empty text")
    if not stops.regular:
        raise UnsupportedError(
            "a stop must be a text, a special token or another regular source; this source nests",
            feature="stop that nests",
        )
    words, others_listed = _words([until.stop]), _words(until.others)
    if words is not None and others_listed is not None:
        found = up_to_words(words, others_listed, include=until.include)
        if found is not None:
            return found
    names = alt(*map(literal, _names(until)))
    if not until.include:
        return both(TEXT, complement(_within(alt(stops, names))))
    text = both(TEXT, complement(_within(names)))
    early = concat(ANYTHING, stops, byte_set(ALL_BYTES), ANYTHING)
    return both(concat(text, stop), complement(early))


def _words(stops: Iterable[Source]) -> list[bytes] | None:
    """The texts of stops that list them."""
    found: list[str] = []
    todo = [*stops]
    for each in todo:  # grows while we go
        match each:
            case Literal(text):
                found.append(text)
            case Choice(options):
                found += options
            case Either(parts):
                todo += parts
            case _:
                return None
    return [text.encode() for text in found]


def _within(part: Expr) -> Expr:
    return concat(ANYTHING, part, ANYTHING)


def _names(until: Until) -> Iterator[str]:
    """The names of the special tokens among the stops; those of ids without a name are none."""
    todo: list[Source] = [until.stop, *until.others]
    for each in todo:  # grows while we go
        todo += parts_of(each)
        if isinstance(each, Special) and not str(each.token).startswith("<["):
            yield str(each.token)
