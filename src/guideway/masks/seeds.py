"""What networks begin with: the nodes of what JSON Schemas mostly hold, made once for a gallery.

White space, strings, numbers and values of any kind are the same in every schema; of the nodes that
a quarter of MaskBench's schemas translate while they write, 45 % were those. A new network copies
the nodes, which takes less than translating two, and asks for the rest (`known`).
"""

from dataclasses import dataclass, replace
from typing import final

from guideway.lowering.expr import EMPTY, EPSILON
from guideway.lowering.json_schema import lower_json_schema
from guideway.lowering.nodes import Expr
from guideway.masks.arena import Arena
from guideway.masks.gallery import Gallery
from guideway.masks.kernels import layout as at
from guideway.masks.kernels.bound_layout import BOUND_SEARCH
from guideway.masks.known import Known
from guideway.masks.lengths import SEARCHED
from guideway.masks.plans import Plan
from guideway.masks.shelf import Shelf
from guideway.syntax.json_schema_source import JsonSchema
from guideway.syntax.json_schema_values import TYPES


@final
@dataclass(frozen=True, slots=True, eq=False)
class Seed:
    """The nodes that a network begins with, and what they depend on.

    Attributes:
        plan: of the arena that holds them.
        known: what is known of them.
        shelf: what `plan` was made for.
    """

    plan: Plan
    known: Known
    shelf: Shelf

    @classmethod
    def bare(cls, gallery: Gallery) -> "Seed":
        """The nodes without which there is no network."""
        arena, shelf = Arena(gallery.plan), gallery.shelf()
        shelf.describe(arena.context)
        arena.context[BOUND_SEARCH] = SEARCHED
        brace = arena.pool(b"}")
        arena.make(at.DEAD)
        arena.make(at.NIL)
        arena.make(at.LITERAL, brace, 1, at.NIL)
        known = Known()
        known.nodes, known.told = {EMPTY: at.DEAD, EPSILON: at.NIL}, {at.DEAD, at.NIL}
        return cls(arena.plan(), known, shelf)

    def beside(self, shelf: Shelf) -> "Seed":
        """The same nodes, for networks that keep their rows elsewhere."""
        context = self.plan.context.copy()
        shelf.describe(context)
        return replace(self, plan=self.plan.told(context), shelf=shelf)


def plain_values() -> Expr:
    """An object with members of each type, and with arrays of them, as most schemas have them."""
    kinds: dict[str, object] = {kind: {"type": kind} for kind in TYPES}
    listed = {f"{kind}s": {"type": "array", "items": kinds[kind]} for kind in ("string", "object")}
    return lower_json_schema(JsonSchema({"type": "object", "properties": {**kinds, **listed}}))
