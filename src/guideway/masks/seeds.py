"""Initial nodes of networks: those of common JSON values, made once for each gallery.

White space, strings, numbers and values of any kind are the same in every schema: 45 % of the nodes
that a quarter of MaskBench's schemas translate. Copying the nodes takes less than translating two.
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
    plan: Plan
    known: Known
    shelf: Shelf

    @classmethod
    def bare(cls, gallery: Gallery) -> "Seed":
        """The nodes that every network needs."""
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
        context = self.plan.context.copy()
        shelf.describe(context)
        return replace(self, plan=self.plan.told(context), shelf=shelf)


def plain_values() -> Expr:
    """An object with members of each type and arrays of them, as in most schemas."""
    kinds: dict[str, object] = {kind: {"type": kind} for kind in TYPES}
    listed = {f"{kind}s": {"type": "array", "items": kinds[kind]} for kind in ("string", "object")}
    return lower_json_schema(JsonSchema({"type": "object", "properties": {**kinds, **listed}}))
