"""Texts that show that something has one: of what is looked over, whatever is looked ahead for.

In a mask under `&` what is looked over is the same at hundreds of places, and what is still wanted
of it another thing at each: of .{20,40}, one character less behind each letter of a token. So a
text that was found once is tried at all of them. `graphql & .{1,80}` took 48 ms a mask, and 8 then.

Where something stands behind the Stop, texts go on with what is not looked at: those are not kept.

What this module does not know: how a text is found.
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
    """The texts that are known of what is looked over.

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
        """A text of `node`, if one is known of all that it looks over."""
        over = looked_over(node)
        if over is None or not over[2]:
            return None
        texts = self._texts.get(over[0], ())
        return next((text for text in texts if self.is_allowed(over[1], text)), None)

    def is_allowed(self, wanted: Expr, text: bytes) -> bool:
        """Whether a text is as it is looked ahead for."""
        if len(self._left) > _FORGET:
            self._left.clear()
        return self._left(wanted, text).nullable

    def keep(self, node: Expr, text: bytes) -> None:
        """Note a text of `node`, whatever it looks ahead for, if it looks over all of it."""
        over = looked_over(node)
        if over is not None and over[2]:
            texts = self._texts.setdefault(over[0], [])
            if text not in texts:
                texts.insert(0, text)
                del texts[_MOST:]


def looked_over(node: Expr) -> tuple[Expr, Expr, bool] | None:
    """What the highest Ahead of `node` looks over, what it looks for, and whether that is all.

    The lower ones are part of what is looked over. None if there is none, or no Stop in sight.
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
