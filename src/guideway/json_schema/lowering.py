"""JSON Schemas as expressions over bytes, and the conflict where a schema has no instance.

`LazyLowering` lowers a lazy part when a text enters it (`satisfiability`), `Lowering` reads a whole
schema. `explain_conflict` names the keywords that no instance satisfies together.
"""

import json
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from functools import lru_cache, partial, reduce
from itertools import combinations
from typing import Any, Final, Literal, TypeAlias, assert_never, cast
from urllib.parse import quote
from weakref import finalize, ref

from guideway.errors import UnsatisfiableError, UnsupportedError
from guideway.json_schema.arrays import ItemsTemplate
from guideway.json_schema.cases import Case, cases, items_of, prefix_length
from guideway.json_schema.formulas import (
    FALSE,
    TRUE,
    AtLeast,
    AtMost,
    Flag,
    Formula,
    Holds,
    Item,
    Items,
    Leaf,
    Required,
    Some,
    Text,
    all_of,
    atoms,
    holds,
    leaf,
)
from guideway.json_schema.key_classes import Keysets, Members, formula_of, lowers
from guideway.json_schema.meaning import ConstantSplit, Meaning
from guideway.json_schema.members import Dependent
from guideway.json_schema.objects import json_object
from guideway.json_schema.parser import LooseParts, parse_json_schema
from guideway.json_schema.resources import Catalogue, has_dynamic
from guideway.json_schema.satisfiability.lazy_parts import find_lazy_parts
from guideway.json_schema.satisfiability.parts import LazySchema
from guideway.json_schema.satisfiability.parts import items_of as raw_items
from guideway.json_schema.scalars import number, string, text_content
from guideway.json_schema.source import JsonSchema
from guideway.json_schema.spelling import QUOTE, JsonStyle, Spelling, json_array, json_style, quoted
from guideway.json_schema.text import Json, find, read_json, show, write_json
from guideway.json_schema.tree import (
    JSON_TEXT,
    KINDS,
    LATEST,
    TYPES,
    Address,
    Document,
    Draft,
    Kind,
    Schema,
    Strings,
)
from guideway.language.expr import EMPTY, alt, concat, literal
from guideway.language.fuel import spend
from guideway.language.nodes import Expr, Rule
from guideway.sources.json_style import Whitespace, WhitespaceName

Raw: TypeAlias = "dict[str, Any]"

_PARTED: Final = frozenset(("object", "array"))
_WHOLE: Final = ("null", "boolean", "number", "string")
_OF_PARTS: Final[dict[str, frozenset[str]]] = {
    "object": frozenset(("properties", "required", "additionalProperties")),
    "array": frozenset(("items", "prefixItems", "additionalItems", "minItems", "maxItems")),
}
_OBJECTS: Final = _OF_PARTS["object"]
_ANY_PART: Final = _OF_PARTS["object"] | _OF_PARTS["array"]
_TYPE: Final = {"type"}
_MOST_LEAVES: Final = 512
_leaves: dict[Hashable, Expr] = {}  # of leaves, by style, draft and keywords


class LazyLowering:
    """The values of a schema, whose parts are lowered when a text enters them."""

    def __init__(self, schema: LazySchema, source: JsonSchema) -> None:
        """Begin with nothing lowered, and read the parts that are decided now."""
        self._schema, self._source, self._style = schema, source, json_style(source)
        # Rules are held weakly, and made again where nothing else holds them: a rule holds this
        # object until it is entered, and such a cycle would wait for Python's collector.
        self._values: dict[int, Expr] = {}
        self._named: dict[int, ref[Rule]] = {}
        self._types: dict[str, Expr] = {}
        self._rules = 0
        self._pointers: dict[int, str] = {}
        self._places = schema.pointers(schema.decided.keys() | schema.late.keys())
        self._formulas: tuple[LooseParts, Lowering] | None = None
        if schema.decided:
            self._lowering()

    def kept_for(self, whole: Expr) -> Expr:
        """An expression at whose end the caches are cleared, because they form reference cycles.

        Nothing that is made may hold it. Without this, half of the garbage that waits for Python's
        collector is theirs, and the collector runs twice as often.
        """
        finalize(whole, self.forget).atexit = False
        return whole

    def forget(self) -> None:
        """Clear the caches; expressions in use stay valid, others are made again."""
        for made in (self._values, self._named, self._types):
            made.clear()
        if self._formulas is not None:
            self._formulas[1].forget()
            self._formulas = None

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
        return self._cached(raw) or self._remember(raw, self._valued(raw))

    def _cached(self, raw: Raw) -> Expr | None:
        named = self._named.get(id(raw))
        return self._values.get(id(raw)) if named is None else named()

    def _remember(self, raw: Raw, made: Expr) -> Expr:
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
        return alt(*map(self._single, options)) if options[0] is not raw else self._part_values(raw)

    def _typed(self, name: str) -> Expr:
        """All values of a type; "" for all there are."""
        found = self._types.get(name)
        if found is None:
            found = self._types[name] = self._leaf_values({"type": name} if name else {})
        return found

    def _single(self, raw: Any) -> Expr:
        """The values of a part that is no union of other parts."""
        if raw.__class__ is bool:
            return self.value(raw)
        return self._cached(raw) or self._remember(raw, self._part_values(raw))

    def _part_values(self, raw: Raw) -> Expr:
        if id(raw) in self._schema.decided:
            return self._by_formula(raw)
        if id(raw) in self._schema.late:
            return self._rule("late", self._surely(raw), self._by_formula, raw)
        return EMPTY if self._schema.is_nothing(raw) else self._parted(raw)

    def _parted(self, raw: Raw) -> Expr:
        """The values of a part that is neither a reference nor a union."""
        types = raw.get("type", ())
        if types == "object" and not _OBJECTS.isdisjoint(raw):
            return self._rule("object", self._surely(raw), self._object, raw)
        names = (types,) if types.__class__ is str else types
        if types and _PARTED.isdisjoint(names):
            return self._plain_value(raw)
        kw = self._schema.keywords(raw)
        parts = [
            (kind, make)
            for kind, make in (("object", self._object), ("array", self._array))
            if (not types or kind in names) and not kw.isdisjoint(_OF_PARTS[kind])
        ]
        if not parts:
            return self._plain_value(raw)
        sure = len(names) == 1 and self._surely(raw)
        rules = [self._rule(kind, sure, make, raw) for kind, make in parts]
        taken = {kind for kind, _ in parts}
        others = [name for name in names or (*_WHOLE, "array", "object") if name not in taken]
        return alt(*rules, self._plain_value({**raw, "type": others})) if others else alt(*rules)

    def _by_formula(self, raw: Raw) -> Expr:
        """The values of a decided or late part."""
        parts, lowering = self._lowering()
        return lowering.whole(lowering.meaning.formula(self._enter(parts, raw)))

    def _lowering(self) -> "tuple[LooseParts, Lowering]":
        """The lowering of decided and late parts."""
        found = self._formulas  # others may drop it meanwhile
        if found is None:
            schema, strict = self._schema, self._source.formats == "strict"
            parts = LooseParts(schema.root, schema.draft, strict=strict)
            for raw in schema.decided.values():
                _ = parts[self._enter(parts, raw)]  # reads it

            def lazily(address: Address) -> Expr | None:
                raw = parts.raw(address)
                return self.value(raw) if schema.is_lazy(raw) else None

            document = Document(parts.root, parts, parts.restricts, parts.first)
            lowering = Lowering(self._source, document, lazily, surely=not schema.decided)
            found = self._formulas = parts, lowering
        return found

    def _enter(self, parts: LooseParts, raw: Raw) -> Address:
        while id(raw) not in self._pointers:
            self._pointers.update((next(self._places),))
        return parts.enter(self._pointers[id(raw)], raw)

    def _surely(self, raw: Raw) -> bool:
        """Return True if a part surely has an instance, and compiling need not check it."""
        return self._schema.is_sure(raw) and id(raw) not in self._schema.eager

    def _rule(self, kind: str, sure: bool, make: Callable[[Raw], Expr], raw: Raw) -> Rule:
        self._rules += 1
        waits = id(raw) not in self._schema.eager
        return Rule(f"{kind} {self._rules}", inhabited=sure, make=lambda: make(raw), waits=waits)

    def _plain_value(self, raw: Raw) -> Expr:
        """The values of a schema without parts: at once if it is simple, else when entered."""
        kw = self._schema.keywords(raw)
        kept = {name: raw[name] for name in kw if name not in _ANY_PART}
        if not kept or kept.keys() == _TYPE:
            return self._leaf_values(kept)
        return self._rule("value", self._surely(raw), self._leaf_values, kept)

    def _leaf_values(self, raw: Raw) -> Expr:
        """The values of a schema with only these keywords, cached."""
        words = tuple((name, repr(raw[name])) for name in sorted(raw))
        # A type means the same in each draft, but 1.0 is no integer in draft 4.
        alike = raw.keys() <= _TYPE and "integer" not in raw.get("type", ())
        key = (self._style, not alike and self._schema.draft, words)
        found = _leaves.get(key)
        if found is None:
            found = _lower_at_once(self._source, self._schema.draft, raw)
            if len(_leaves) >= _MOST_LEAVES:
                _leaves.clear()
            _leaves[key] = found
        return found

    def _object(self, raw: Raw) -> Expr:
        properties: Raw = raw.get("properties", {})
        additional = raw.get("additionalProperties", True)
        required = dict.fromkeys(raw.get("required", ()))
        named: Raw = {**properties, **{n: additional for n in required if n not in properties}}
        members = Members(
            tuple(named),
            tuple(self.value(part) for part in named.values()),
            tuple(name in required for name in named),
            ((None, self.value(additional)),),
            id(raw) not in self._schema.eager,
        )
        only = raw.get("type") == "object"
        return json_object(members, self._style, inhabited=only and self._surely(raw))

    def _array(self, raw: Raw) -> Expr:
        prefix, rest = raw_items(raw, self._schema.keywords(raw))

        def item(position: int) -> Expr:
            return self.value(prefix[position] if position < len(prefix) else rest)

        low, high = raw.get("minItems", 0), raw.get("maxItems")
        return json_array(item, len(prefix), low, high, self._style)


Composed: TypeAlias = Literal["array", "object"]


def anything(style: JsonStyle) -> Expr:
    """The values of all kinds."""
    spelling = style.spelling
    scalars = (
        literal("null"),
        alt(literal("true"), literal("false")),
        number(TRUE, plain=spelling.plain),
        concat(QUOTE, text_content(TRUE, spelling), QUOTE),
    )
    return alt(*scalars, every("array", style), every("object", style))


@lru_cache(maxsize=64)
def every(kind: Composed, style: JsonStyle) -> Rule:
    """All arrays, or all objects."""
    make = _arrays if kind == "array" else _objects
    return Rule(kind, inhabited=True, make=lambda: make(style))


def _arrays(style: JsonStyle) -> Expr:
    return json_array(lambda _: anything(style), 0, 0, None, style)


def _objects(style: JsonStyle) -> Expr:
    return json_object(Members((), (), (), ((None, anything(style)),)), style)


def usual_values() -> list[Expr]:
    """Any value, and the values of each type alone, as most schemas have them in some part."""
    source = JsonSchema(True)
    usual: list[Raw] = [{}, *({"type": name} for name in TYPES)]
    return [_lower_at_once(source, LATEST, raw) for raw in usual]


_LETTERS: Final = 10  # characters per unit of fuel: a string of 5 MB takes 12 s


def lower_json_schema(source: JsonSchema) -> Expr:
    """The JSON texts that a schema allows."""
    lowering = None if source.resource_texts else lower_lazily(source)
    if lowering is None:
        return Lowering(source, parse_json_schema(source, source.value)).text()
    return lowering.text()


def lower_strings(source: JsonSchema) -> Expr:
    """The strings that a schema allows, without quotes and escapes."""
    meaning = Lowering(source, parse_json_schema(source, source.value)).meaning
    formula = meaning.schema(meaning.document.root, "string")
    return text_content(formula, Spelling(plain=True, raw=True))


def lower_lazily(source: JsonSchema) -> LazyLowering | None:
    """Lowering of a schema part by part; None if its parts cannot be separated."""
    spend(len(source.text) // _LETTERS)
    told = partial(lowers, json_style(source).spelling)
    strict = source.formats == "strict"
    lazy = find_lazy_parts(source.value, strict=strict, lowers=told, pay=spend)
    return None if lazy is None else LazyLowering(lazy, source)


def _lower_at_once(source: JsonSchema, draft: Draft, raw: Json) -> Expr:
    parts = LooseParts(raw, draft, strict=False)
    return Lowering(source, Document(parts.root, parts)).value(leaf(Holds(parts.root)))


class Lowering:
    """The values of one document, lowered on demand.

    Args:
        lazy: lowers some schemas in another way, None for others.
        surely: True if nothing can be refused, so that complements may be lazy.
    """

    def __init__(
        self,
        source: JsonSchema,
        document: Document | None = None,
        lazy: Callable[[Address], Expr | None] = lambda address: None,
        *,
        surely: bool = False,
    ) -> None:
        self._lazy, self._surely = lazy, surely
        self.document = parse_json_schema(source) if document is None else document
        self._style: JsonStyle = json_style(source)
        self.meaning = Meaning(self.document, self._style)
        self._split = ConstantSplit(self.meaning)
        self.keysets = Keysets(self._style.spelling)
        self._values: dict[Formula, Expr] = {}
        self._wholes: dict[Formula, Expr] = {}
        self._kinds: dict[tuple[Kind, Formula], Expr] = {}
        self._rules: dict[tuple[Kind, Case | Formula], Rule] = {}

    def forget(self) -> None:
        """Drop the caches, which form reference cycles."""
        for made in (self._values, self._wholes, self._kinds, self._rules):
            made.clear()

    def text(self) -> Expr:
        """A whole JSON text of the root."""
        value = self.value(leaf(Holds(self.document.root)))
        return concat(self._style.edge, value, self._style.edge)

    def value(self, formula: Formula) -> Expr:
        """The values that a formula allows."""
        found = self._values.get(formula)
        if found is None:
            atom = formula.atom if isinstance(formula, Leaf) else None
            if isinstance(atom, Holds):
                found = self._lazy(atom.schema) if atom.sign else self._denied(atom.schema, formula)
            if found is None:
                found = self.whole(formula)
            self._values[formula] = found
        return found

    def _denied(self, address: Address, formula: Formula) -> Expr | None:
        """The complement of a schema as a lazy rule, if it surely has all values of a type."""
        if not self._surely or self.meaning.outlines.of(address).kinds >= KINDS:
            return None
        # Branches of `oneOf` deny each other's members: lazy, they save a third of the time to a
        # mask.
        return Rule("denied", inhabited=True, make=lambda: self.whole(formula))

    def whole(self, formula: Formula) -> Expr:
        """The values that a formula allows, without `lazy` for the formula itself."""
        found = self._wholes.get(formula)
        if found is None:
            kinds = sorted(self.meaning.outlines.kinds(formula))
            parts = (self._kind(kind, self.meaning.of(formula, kind)) for kind in kinds)
            found = self._wholes[formula] = alt(*parts)
        return found

    def _kind(self, kind: Kind, formula: Formula) -> Expr:
        if formula is FALSE:
            return EMPTY
        key = (kind, formula)
        found = self._kinds.get(key)
        if found is None:
            found = self._kinds[key] = self._lowered(kind, formula)
        return found

    def _lowered(self, kind: Kind, formula: Formula) -> Expr:
        match kind:
            case "null":
                return literal("null")
            case "boolean":
                return alt(*(_boolean(value) for value in (True, False) if _allows(formula, value)))
            case "number":
                return number(formula, plain=self._style.spelling.plain)
            case "string":
                return self._string(formula)
            case "array":
                return self._cases(kind, formula, self._array)
            case "object":
                return self._cases(kind, formula, self._object)
            case _:
                assert_never(kind)

    def _string(self, formula: Formula) -> Expr:
        held = {atom for atom in atoms(formula) if isinstance(atom, Text) and atom.strings.holds}
        match formula:
            case _ if not held:
                return string(formula, self._style)
            case Leaf(Text(Strings(holds=str(address)) as strings, True)) if strings == Strings(
                holds=address
            ):
                edge, value = self._style.edge, self.value(leaf(Holds(address)))
                text = quoted(concat(edge, value, edge), self._style.spelling)
                return concat(QUOTE, text, QUOTE)
            case Some(parts):
                return alt(*map(self._string, parts))
            case _:
                raise UnsupportedError(
                    "a string that contains JSON cannot have other keywords", feature=JSON_TEXT
                )

    def _cases(self, kind: Composed, formula: Formula, lower: Callable[[Case], Expr]) -> Expr:
        if formula is TRUE:
            return every(kind, self._style)
        options = self.meaning.alternatives(formula)
        if options != [formula]:
            return alt(*(self._kind(kind, option) for option in options))
        listed = cases(formula)
        if listed is None and kind == "object":
            parts = self._split.parts(formula)
            if len(parts) > 1:
                return alt(*(self._kind(kind, part) for part in parts))
        if listed is None:
            return self._rule(kind, formula, lambda: self._general(kind, formula))
        return alt(*(self._rule(kind, case, lambda case=case: lower(case)) for case in listed))

    def _rule(self, kind: Kind, key: Case | Formula, make: Callable[[], Expr]) -> Rule:
        found = self._rules.get((kind, key))
        if found is None:
            found = self._rules[(kind, key)] = Rule(f"{kind} {len(self._rules)}", make=make)
        return found

    def _general(self, kind: Kind, formula: Formula) -> Expr:
        judge = self.meaning.outlines
        if kind == "array":
            return ItemsTemplate(formula, self.value, self._style, judge).start()
        return Dependent(formula, self.value, self._style, self.keysets, judge).start()

    def _array(self, case: Case) -> Expr:
        if not all(isinstance(atom, Item | Items | AtLeast | AtMost) for atom in case):
            return self._general("array", all_of(*map(leaf, case)))
        low = max((atom.count for atom in case if isinstance(atom, AtLeast)), default=0)
        high = min((atom.count for atom in case if isinstance(atom, AtMost)), default=None)

        formula = items_of(case)

        def item(position: int) -> Expr:
            return self.value(formula(position))

        return json_array(item, prefix_length(case), low, high, self._style)

    def _object(self, case: Case) -> Expr:
        members = self.keysets.members(case, self.value, ordered=self._style.ordered)
        if members is None:
            return self._general("object", all_of(*map(leaf, case)))
        return json_object(members, self._style)


def _boolean(value: bool) -> Expr:
    return literal("true" if value else "false")


def _allows(formula: Formula, value: bool) -> bool:
    return holds(formula, lambda atom: isinstance(atom, Flag) and value in atom.values)


ROOT = "both#"


def mismatch(held: Sequence[JsonSchema], denied: Sequence[JsonSchema]) -> str:
    """The option that differs, so that these cannot be one document; "" if they can.

    >>> mismatch([JsonSchema(True), JsonSchema(True, spelling="plain")], [])
    'the same spelling'
    """
    every = (*held, *denied)
    if any(each.key_order != "any" for each in every):
        return "key_order='any'"
    if len({each.spelling for each in every}) > 1:
        return "the same spelling"
    own = _common(held)
    narrower = any(_narrower(own, _bounds(each.whitespace)) != own for each in denied)
    return "whitespace that the first one has, too," if narrower else ""


def lower_together(held: Sequence[JsonSchema], denied: Sequence[JsonSchema]) -> Expr:
    """The JSON texts of values that all of `held` and none of `denied` allow.

    Raises:
        SourceError, UnsupportedError, LimitError: as `parse_json_schema` says.
    """
    read = [parse_json_schema(each, name=f"{n}:") for n, each in enumerate((*held, *denied))]
    roots = [document.root for document in read]
    whole = Schema(
        ROOT,
        ("allOf", "not") if denied else ("allOf",),
        all_of=tuple(roots[: len(held)]),
        none_of=tuple(roots[len(held) :]),
    )
    schemas = {ROOT: whole}
    for document in read:
        schemas |= document.schemas
    bounds = _common(held)
    style = JsonSchema(
        True,
        whitespace="any" if bounds is None else bounds,
        spelling=held[0].spelling,
    )
    return Lowering(style, Document(ROOT, schemas)).text()


def _common(held: Sequence[JsonSchema]) -> Whitespace | None:
    return reduce(_narrower, (_bounds(each.whitespace) for each in held))


def _bounds(given: WhitespaceName | Whitespace) -> Whitespace | None:
    if given == "any":
        return None
    bounds = given if isinstance(given, Whitespace) else Whitespace()
    if given == "compact":
        bounds = Whitespace(0, newline=False)
    return bounds if bounds.newline else Whitespace(bounds.spaces, newline=False, indent=0)


def _narrower(one: Whitespace | None, other: Whitespace | None) -> Whitespace | None:
    if one is None or other is None:
        return other if one is None else one
    newline = one.newline and other.newline
    indent = min(one.indent, other.indent) if newline else 0
    return Whitespace(min(one.spaces, other.spaces), newline=newline, indent=indent)


_LONGEST = 24  # characters of a value that a message shows

_LONE = frozenset(
    (
        *("enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
        *("minLength", "maxLength", "pattern", "format", "minItems", "maxItems"),
        *("multipleOf", "minProperties", "maxProperties", "required"),
    )
)


def explain_conflict(source: JsonSchema, is_empty: Callable[[Expr], bool]) -> UnsatisfiableError:
    """The error that says why no instance satisfies `source`.

    Args:
        source: a schema without any instance.
        is_empty: whether an expression denotes no text.
    """
    document = replace(parse_json_schema(source), first=str)  # messages name each schema
    lowering = Lowering(source, document)
    formula: Formula = leaf(Holds(lowering.document.root))
    entered: dict[Formula, str] = {}
    why = ""
    while formula not in entered:
        entered[formula] = why
        parts = _required_parts(lowering, formula)
        empty = next((part for part in parts if is_empty(lowering.value(part))), None)
        if empty is None:
            return _local_conflict(source, _involved(lowering.document, formula), why, is_empty)
        formula, why = empty, parts[empty]
    return UnsatisfiableError(
        f"no finite instance: {why} leads back to its own place",
        place=_pointer(_addresses(formula)[0]),
        conflict=tuple(filter(None, entered.values())),
    )


def _required_parts(lowering: Lowering, formula: Formula) -> dict[Formula, str]:
    """Parts that every instance of some case contains, and the keyword that requires each."""
    parts: dict[Formula, str] = {}

    def add(part: Formula, why: str, about: Callable[[Schema], Address | None]) -> None:
        named = _named_never(lowering.document, formula, about) if part is FALSE else part
        parts.setdefault(named, why)

    for case in cases(lowering.meaning.of(formula, "object")) or ():
        required = {atom.name for atom in case if isinstance(atom, Required)}
        for key in lowering.keysets.names(case):
            if key.name in required:
                about = partial(_about_member, str(key.name))
                add(formula_of(case, key), f"required {show(key.name)}", about)
    for case in cases(lowering.meaning.of(formula, "array")) or ():
        low = max((atom.count for atom in case if isinstance(atom, AtLeast)), default=0)
        item = items_of(case)
        for position in range(min(low, prefix_length(case) + 1)):
            about = partial(_about_item, position)
            add(item(position), f"minItems, item {position}", about)
    return {part: why for part, why in parts.items() if _addresses(part)}


def _named_never(
    document: Document, formula: Formula, about: Callable[[Schema], Address | None]
) -> Formula:
    found = (about(schema) for schema in _involved(document, formula))
    never = (part for part in found if part is not None and not document.schemas[part].kinds)
    return next((leaf(Holds(part)) for part in never), FALSE)


def _about_member(name: str, schema: Schema) -> Address | None:
    return schema.objects.properties.get(name, schema.objects.additional)


def _about_item(position: int, schema: Schema) -> Address | None:
    prefix = schema.arrays.prefix
    return prefix[position] if position < len(prefix) else schema.arrays.items


def _addresses(formula: Formula) -> list[Address]:
    return [atom.schema for atom in atoms(formula) if isinstance(atom, Holds)]


def _involved(document: Document, formula: Formula) -> list[Schema]:
    addresses = dict.fromkeys(_addresses(formula))
    order = list(addresses)
    for address in order:  # grows while we go
        linked = [part for part in document.schemas[address].in_place if part not in addresses]
        addresses |= dict.fromkeys(linked)
        order += dict.fromkeys(linked)
    schemas = [document.schemas[address] for address in order]
    return [schema for schema in schemas if schema.keywords]


def _local_conflict(
    source: JsonSchema, involved: list[Schema], why: str, is_empty: Callable[[Expr], bool]
) -> UnsatisfiableError:
    first, *others = involved
    place = _pointer(first.address)
    names = tuple(dict.fromkeys(name for schema in involved for name in _keywords(schema)))
    if not others:
        names = _smallest(source, first, is_empty) or first.keywords
    raw = {} if others else _written(source.text, first.address)
    shown = [f"{name} {_short(raw[name])}".rstrip() if name in raw else name for name in names]
    names = (*names, why) if why else names
    shown += [why] if why else []
    return UnsatisfiableError(
        f"no instance satisfies {' and '.join(shown)}", place=place, conflict=names
    )


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST else ""


def _keywords(schema: Schema) -> list[str]:
    pointer = _pointer(schema.address)
    if schema.address.startswith("="):
        return [pointer]
    passing = ("$ref", "allOf", "anyOf", "oneOf")
    return [f"{pointer}/{name}" for name in schema.keywords if name not in passing]


def _smallest(
    source: JsonSchema, schema: Schema, is_empty: Callable[[Expr], bool]
) -> tuple[str, ...]:
    """Up to three keywords that, with `type`, have no instance; () if it takes more."""
    raw = _written(source.text, schema.address)
    names = [name for name in schema.keywords if name in raw and _is_lone(name, raw[name])]
    for count in (1, 2, 3):
        for chosen in combinations(names, count):
            kept = {name: raw[name] for name in ("$schema", "type", *chosen) if name in raw}
            if is_empty(lower_json_schema(JsonSchema(_places(raw) | kept))):
                typed = count == 1 and "type" in raw
                return ("type", *chosen) if typed else chosen
    return ()


def _places(raw: dict[str, Any]) -> dict[str, Any]:
    """Names and places that have schemas of their own, which here allow everything."""
    found = dict[str, Any]()
    for name in ("properties", "patternProperties", "prefixItems", "items"):
        held: Any = raw.get(name)
        if isinstance(held, list):
            found[name] = [{} for _ in cast("list[Any]", held)]
        elif isinstance(held, dict) and name != "items":
            found[name] = {each: {} for each in cast("dict[str, Any]", held)}
    return found


def _is_lone(name: str, value: object) -> bool:
    return name in _LONE or isinstance(value, bool)


def _written(text: str, address: Address) -> dict[str, Any]:
    document, _, pointer = address.partition("#")
    try:
        root: Any = json.loads(text)
        found: Any = find(root, "" if document else pointer)
    except (RecursionError, LookupError):  # too deep for json, or for a pointer to be followed
        return {}
    if document or not isinstance(found, dict):
        return {}
    return {name: root[name] for name in ("$schema",) if name in root} | cast(
        "dict[str, Any]", found
    )


def _pointer(address: Address) -> str:
    return address.partition("#")[2]


def part_of(source: JsonSchema, address: Address) -> JsonSchema:
    """The schema at an address of the tree of `source`, in the same style.

    >>> part_of(JsonSchema({"properties": {"a": {"type": "null"}}}), "#/properties/a").text
    '{"$ref":"whole:schema#/properties/a"}'

    Raises:
        UnsupportedError: the meaning of the part depends on dynamic references, or no pointer leads
            to it.
    """
    refused = UnsupportedError(
        "this part of the schema depends on the parts that lead to it, so it has no meaning alone",
        feature="part of a schema",
        place=address.removeprefix("#"),
    )
    resources = dict(source.resource_texts)
    named = (uri for uri in resources if address.startswith(f"{uri}#/"))  # may contain a #
    document = max(named, key=len, default="")
    pointer = address.removeprefix(document).partition("#")[2]
    try:
        find(read_json(resources[document]) if document else source.value, pointer)
    except LookupError:
        raise refused from None
    below_root = not document and pointer.startswith("/properties/") and pointer.count("/") == 2
    if not below_root and has_dynamic((source.text, *resources.values())):
        raise refused
    # A reference into the whole, by a URI that nothing in the schema has.
    catalogue = Catalogue(source.value, source.resource_texts, dynamic=False)
    own = "whole:schema"
    while catalogue.find(own) is not None:
        own = f"whole:{own}"
    whole = cast("dict[str, Any]", source.value)
    schema = {"$schema": whole["$schema"]} if "$schema" in whole else {}
    schema["$ref"] = f"{document.removesuffix('#') or own}#{quote(pointer, safe='/~')}"
    style = source.key_order, source.whitespace, source.spelling, source.formats
    made = JsonSchema(write_json(schema), *style, {own: source.text, **resources})
    tree = parse_json_schema(made)
    if tree.schemas[tree.root].all_of != (f"{document or own}#{pointer}",):
        raise refused
    return made
