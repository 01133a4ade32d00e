"""Known texts of expressions under lookahead.

In a mask under `&` hundreds of places share one expression and differ in their lookahead. So a
known text is tried at all of them: `graphql & .{1,80}` took 48 ms a mask without, and 8 with it.
Texts that go on after the Stop are not kept.
"""

from typing import Final, final

from guideway.lowering.aheads import looking, up_to_stop
from guideway.lowering.expr import concat
from guideway.lowering.nodes import Expr
from guideway.lowering.regular import Remainders

_MOST: Final = 8  # texts of one expression, the last found first
_FORGET: Final = 100_000  # what is left behind texts, before that is found anew


@final
class Witnesses:
    """Known texts, by the expression that the lookahead covers.

    >>> from guideway.lowering.expr import ahead, literal, repeat, stop
    >>> witnesses, over = Witnesses(), (repeat(literal("a")), stop())
    >>> witnesses.keep(concat(ahead(literal("aa")), *over), b"aa")
    >>> witnesses.tell(concat(ahead(repeat(literal("a"), 2, 3)), *over))
    b'aa'
    >>> witnesses.tell(concat(ahead(literal("aaa")), *over)) is None
    True
    """

    def __init__(self) -> None:
        self._texts: dict[Expr, list[bytes]] = {}
        self._left = Remainders()

    def forget(self) -> None:
        """Drop all."""
        self._texts.clear()
        self._left.clear()

    def tell(self, node: Expr) -> bytes | None:
        """A text of `node`, if one is known of all that its lookahead covers."""
        over = looked_over(node)
        if over is None or not over[2]:
            return None
        texts = self._texts.get(over[0], ())
        return next((text for text in texts if self.is_allowed(over[1], text)), None)

    def is_allowed(self, wanted: Expr, text: bytes) -> bool:
        """Return True if the lookahead allows a text."""
        if len(self._left) > _FORGET:
            self._left.clear()
        return self._left(wanted, text).nullable

    def keep(self, node: Expr, text: bytes) -> None:
        """Keep a text of `node` if the lookahead covers all of it."""
        over = looked_over(node)
        if over is not None and over[2]:
            texts = self._texts.setdefault(over[0], [])
            if text not in texts:
                texts.insert(0, text)
                del texts[_MOST:]


def looked_over(node: Expr) -> tuple[Expr, Expr, bool] | None:
    """The expression that the highest Ahead of `node` covers, its lookahead, and if that is all.

    Lower ones are part of the covered expression. None without an Ahead or a Stop.
    """
    leads, core = looking(node)
    if not leads:
        return None
    top = max(leads, key=lambda lead: lead.level)
    within = up_to_stop(core, top.level)
    if within is None:
        return None
    over = concat(*(lead for lead in leads if lead is not top), within)
    return over, top.item, within is core
