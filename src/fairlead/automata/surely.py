"""Whether an expression surely has a text, told without a search, and without what is optional.

Finding the shortest text of a schema takes making all of it. Mostly that is not needed to know that
there is one: an object has a text if its required members have. What this cannot tell is left to
`least`, which always can.
"""

from collections.abc import Callable
from typing import TypeAlias, final

from fairlead.lowering.nodes import Alt, Call, Concat, Expr, Foresighted, Repeat, Rule

Look: TypeAlias = Callable[[Expr], bool]


@final
class Surely:
    """What is known to have a text; it is never forgotten, being true for good."""

    def __init__(self) -> None:
        self._known: set[Expr] = set()

    def check(self, expr: Expr) -> bool:
        """Whether `expr` surely has a text; False where that is not known.

        >>> from fairlead.lowering.expr import alt, literal
        >>> rule = Rule("list")
        >>> rule.define(alt(literal("."), rule))
        >>> Surely().check(rule)
        True
        """
        opened, settled = set[Expr](), set[Expr]()
        stack = [expr]
        while stack:
            node = stack[-1]
            missing = list[Expr]()

            def look(part: Expr, missing: list[Expr] = missing) -> bool:
                if part.inhabited or part in self._known:
                    return True
                if part not in opened and part not in settled:
                    missing.append(part)
                return False

            if self._tells(node, look):
                self._known.add(node)
            elif missing and node not in settled:
                opened.add(node)
                stack.extend(missing[:1])
                continue
            settled.add(stack.pop())
        return expr.inhabited or expr in self._known

    def _tells(self, node: Expr, look: Look) -> bool:
        match node:
            case Concat(head, tail):
                return look(head) and look(tail)
            case Alt(options):
                return any(look(option) for option in options)
            case Repeat(item, low):
                return low == 0 or look(item)
            case Rule():
                return look(node.body)
            case Call(template, argument):
                return isinstance(template, Foresighted) and template.surely(argument, look)
            case _:
                return node.nullable
