"""Schemas to the core part by part, the tame ones each when it is first entered.

Straight from the JSON: a part that was never entered has been looked at once, by
`syntax.json_schema_tame`, and is a rule without a body. Values without parts are lowered as all
schemas are, and remembered by what they say, as few of them are special to one schema.

What this module does not know: numbers, strings, patterns; what is not tame.
"""

from collections.abc import Callable
from typing import Any, Final, TypeAlias, final
from weakref import finalize, ref

from guideway.lowering.expr import EMPTY, alt, concat
from guideway.lowering.json_objects import Members, json_object
from guideway.lowering.json_scalars import remembered
from guideway.lowering.json_text import JsonStyle, json_array
from guideway.lowering.nodes import Expr, Rule
from guideway.syntax.json_schema_tame_tree import TameSchema

Raw: TypeAlias = "dict[str, Any]"
Values: TypeAlias = Callable[[Any], Expr]
Wild: TypeAlias = "Callable[[TameLowering, Any], Expr]"

_PARTED: Final = frozenset(("object", "array"))
_WHOLE: Final = ("null", "boolean", "number", "string")
_OF_PARTS: Final[dict[str, frozenset[str]]] = {
    "object": frozenset(("properties", "required", "additionalProperties")),
    "array": frozenset(("items", "prefixItems", "additionalItems", "minItems", "maxItems")),
}
_OBJECTS: Final = _OF_PARTS["object"]
_ANY_PART: Final = _OF_PARTS["object"] | _OF_PARTS["array"]
_TYPE: Final = {"type"}


@final
class TameLowering:
    """The values of one tame schema."""

    def __init__(
        self,
        schema: TameSchema,
        style: JsonStyle,
        lower: Values,
        lower_wild: Wild,
        forget_wild: Callable[[], None],
    ) -> None:
        """Begin with nothing lowered.

        Args:
            schema: what is lowered.
            style: how its JSON is written.
            lower: gives the values of a schema without parts.
            lower_wild: gives the values of a wild or late part of this lowering.
            forget_wild: forgets what that has made.
        """
        self._schema, self._style = schema, style
        self._lower, self._lower_wild, self._forget_wild = lower, lower_wild, forget_wild
        # Rules that nobody holds are made anew, the same. They hold what makes them until they are
        # entered: were they held here, what is dropped would wait for Python's collector.
        self._values: dict[int, Expr] = {}
        self._named: dict[int, ref[Rule]] = {}
        self._types: dict[str, Expr] = {}
        self._rules = 0

    def kept_for(self, whole: Expr) -> Expr:
        """An expression with which all is forgotten that was made: what is made leads back here.

        Nothing that is made may hold it. Without that half of all that waits for Python's collector
        is this, and it looks at all objects twice as often.
        """
        finalize(whole, self.forget).atexit = False
        return whole

    def forget(self) -> None:
        """Forget what was made; who has some of it goes on with that, others make the same anew."""
        for made in (self._values, self._named, self._types):
            made.clear()
        self._forget_wild()

    def text(self) -> Expr:
        """A whole JSON text of the root."""
        value = self.value(self._schema.root)
        whole = concat(self._style.edge, value, self._style.edge)
        if whole.regular:  # no rule is left that would make anything
            self.forget()
        return whole if whole.regular or whole is value else self.kept_for(whole)

    def value(self, raw: Any) -> Expr:
        """The values that a part allows."""
        if raw is False:
            return EMPTY
        if raw is True:
            return self._typed("")
        return self._known(raw) or self._keep(raw, self._valued(raw))

    def _known(self, raw: Raw) -> Expr | None:
        named = self._named.get(id(raw))
        return self._values.get(id(raw)) if named is None else named()

    def _keep(self, raw: Raw, made: Expr) -> Expr:
        if isinstance(made, Rule):
            self._named[id(raw)] = ref(made)
        else:
            self._values[id(raw)] = made
        return made

    def _valued(self, raw: Raw) -> Expr:
        typed = self._schema.typed.get(id(raw))
        if typed is not None:
            return self._typed(typed)
        options = self._schema.options(raw)
        return alt(*map(self._single, options)) if options[0] is not raw else self._own(raw)

    def _typed(self, name: str) -> Expr:
        """All values of a type; "" for all there are."""
        found = self._types.get(name)
        if found is None:
            found = self._types[name] = self._made({"type": name} if name else {})
        return found

    def _single(self, raw: Any) -> Expr:
        """The values of a part that stands for itself."""
        if raw.__class__ is bool:
            return self.value(raw)
        return self._known(raw) or self._keep(raw, self._own(raw))

    def _own(self, raw: Raw) -> Expr:
        if id(raw) in self._schema.wild:
            return self._lower_wild(self, raw)
        if id(raw) in self._schema.late:
            return self._rule("late", self._surely(raw), self._late, raw)
        return EMPTY if self._schema.is_nothing(raw) else self._parted(raw)

    def _parted(self, raw: Raw) -> Expr:
        """The values of a part that names no other one for all it says."""
        types = raw.get("type", ())
        if types == "object" and not _OBJECTS.isdisjoint(raw):
            return self._rule("object", self._surely(raw), self._object, raw)
        names = (types,) if types.__class__ is str else types
        if types and _PARTED.isdisjoint(names):
            return self._whole(raw)
        said = self._schema.said(raw)
        parts = [
            (kind, make)
            for kind, make in (("object", self._object), ("array", self._array))
            if (not types or kind in names) and not said.isdisjoint(_OF_PARTS[kind])
        ]
        if not parts:
            return self._whole(raw)
        sure = len(names) == 1 and self._surely(raw)
        rules = [self._rule(kind, sure, make, raw) for kind, make in parts]
        taken = {kind for kind, _ in parts}
        others = [name for name in names or (*_WHOLE, "array", "object") if name not in taken]
        return alt(*rules, self._whole({**raw, "type": others})) if others else alt(*rules)

    def _late(self, raw: Raw) -> Expr:
        return self._lower_wild(self, raw)

    def _surely(self, raw: Raw) -> bool:
        """Whether a part has an instance, and nothing in it has to be looked at when compiling."""
        return self._schema.is_sure(raw) and id(raw) not in self._schema.eager

    def _rule(self, kind: str, sure: bool, make: Callable[[Raw], Expr], raw: Raw) -> Rule:
        self._rules += 1
        return Rule(f"{kind} {self._rules}", inhabited=sure, make=lambda: make(raw))

    def _whole(self, raw: Raw) -> Expr:
        """The values of a schema without parts: at once if it is simple, else when entered."""
        said = self._schema.said(raw)
        kept = {name: raw[name] for name in said if name not in _ANY_PART}
        if not kept or kept.keys() == _TYPE:
            return self._made(kept)
        return self._rule("value", self._surely(raw), self._made, kept)

    def _made(self, raw: Raw) -> Expr:
        return remembered(raw, self._schema.draft, self._style, self._lower)

    def _object(self, raw: Raw) -> Expr:
        properties: Raw = raw.get("properties", {})
        additional = raw.get("additionalProperties", True)
        required = dict.fromkeys(raw.get("required", ()))
        named: Raw = {**properties, **{n: additional for n in required if n not in properties}}
        members = Members(
            tuple(named),
            tuple(self.value(part) for part in named.values()),
            tuple(name in required for name in named),
            self.value(additional),
            None,
            self._style.ordered,
            id(raw) not in self._schema.eager,
        )
        only = raw.get("type") == "object"
        return json_object(members, self._style, inhabited=only and self._surely(raw))

    def _array(self, raw: Raw) -> Expr:
        items, prefix, rest = raw.get("items", True), list[Any](), True
        if items.__class__ is list:
            prefix = items
            rest = raw.get("additionalItems", True)
        else:
            rest = items
            if "prefixItems" in self._schema.said(raw):
                prefix = raw["prefixItems"]

        def item(position: int) -> Expr:
            return self.value(prefix[position] if position < len(prefix) else rest)

        low, high = raw.get("minItems", 0), raw.get("maxItems")
        return json_array(item, len(prefix), low, high, self._style)
