"""JSON Schema to expressions: the JSON texts of the instances.

Scalars become regular expressions. Arrays and objects become rules that are made when they are
entered: plain if they have few cases, else read part by part.
"""

from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import Final, assert_never, final

from guideway.errors import UnsupportedError
from guideway.lowering.expr import EMPTY, alt, concat, literal
from guideway.lowering.fuel import spend
from guideway.lowering.json_alike_texts import AlikeTexts, combines
from guideway.lowering.json_anything import Composed, every
from guideway.lowering.json_apart import Apart
from guideway.lowering.json_arrays import json_array
from guideway.lowering.json_atoms import (
    Flag,
    Holds,
    Item,
    Items,
    Longer,
    Shorter,
    Text,
)
from guideway.lowering.json_cases import Case, cases, items_of, prefix_length
from guideway.lowering.json_clauses import Clauses
from guideway.lowering.json_formulas import (
    FALSE,
    TRUE,
    Formula,
    Leaf,
    Some,
    all_of,
    atoms,
    holds,
    leaf,
)
from guideway.lowering.json_given import alternatives
from guideway.lowering.json_items import ItemsTemplate
from guideway.lowering.json_keysets import Keysets
from guideway.lowering.json_meaning import Meaning
from guideway.lowering.json_members import MembersTemplate
from guideway.lowering.json_objects import Members, json_object
from guideway.lowering.json_patterns import lowers
from guideway.lowering.json_scalars import number, string, text_content
from guideway.lowering.json_tame import TameLowering
from guideway.lowering.json_text import QUOTE, JsonStyle, Spelling, json_style
from guideway.lowering.nodes import Expr, Rule
from guideway.lowering.quoted import quoted
from guideway.syntax.json_schema import LooseParts, parse_json_schema
from guideway.syntax.json_schema_keywords import JSON_TEXT, Draft
from guideway.syntax.json_schema_source import JsonSchema
from guideway.syntax.json_schema_tame import read_tame
from guideway.syntax.json_schema_tame_tree import TameSchema
from guideway.syntax.json_schema_tree import KINDS, Address, Document, Kind, Strings
from guideway.syntax.json_text import Json

_LETTERS: Final = 10  # characters per unit of fuel: a string of 5 MB takes 12 s


def lower_json_schema(source: JsonSchema) -> Expr:
    """The JSON texts that a schema allows."""
    lowering = None if source.resource_texts else told_apart(source)
    if lowering is None:
        return Lowering(source, parse_json_schema(source, source.value)).text()
    return lowering.text()


def lower_strings(source: JsonSchema) -> Expr:
    """The strings that a schema allows, without quotes and escapes."""
    meaning = Lowering(source, parse_json_schema(source, source.value)).meaning
    said = meaning.schema(meaning.document.root, "string")
    return text_content(said, Spelling(plain=True, raw=True))


def told_apart(source: JsonSchema, only: list[Json] | None = None) -> TameLowering | None:
    """Lowering of a schema part by part; None if its parts cannot be separated."""
    spend(len(source.text) // _LETTERS)
    told = partial(lowers, json_style(source).spelling)
    strict = source.formats == "strict"
    tame = read_tame(source.value, strict=strict, lowers=told, only=only, pay=spend)
    return None if tame is None else _apart(tame, source)


def _whole(source: JsonSchema, draft: Draft, raw: Json) -> Expr:
    parts = LooseParts(raw, draft, strict=False)
    return Lowering(source, Document(parts.root, parts)).value(leaf(Holds(parts.root)))


def _apart(schema: TameSchema, source: JsonSchema) -> TameLowering:
    """Lowering of a schema part by part, with its wild parts read."""
    strict = source.formats == "strict"
    generals: list[tuple[LooseParts, Lowering]] = []  # at most one, made on demand
    pointers: dict[int, str] = {}
    places = schema.pointers(schema.wild.keys() | schema.late.keys())

    def enter(parts: LooseParts, raw: Json) -> Address:
        while id(raw) not in pointers:
            pointers.update((next(places),))
        return parts.enter(pointers[id(raw)], raw)

    def general(made: TameLowering) -> tuple[LooseParts, Lowering]:
        found = next(iter(generals), None)  # others may drop it meanwhile
        if found is None:
            parts = LooseParts(schema.root, schema.draft, strict=strict)
            for raw in (*schema.wild.values(), *_combining(schema)):
                _ = parts[enter(parts, raw)]  # reads it

            def lower_tame(address: Address) -> Expr | None:
                raw = parts.raw(address)
                return made.value(raw) if schema.is_tame(raw) else None

            document = Document(parts.root, parts, parts.speaks)
            alike = AlikeTexts(schema, parts.raw)
            lowering = Lowering(source, document, lower_tame, alike.first, surely=not schema.wild)
            found = parts, lowering
            generals.append(found)
        return found

    def lower_wild(made: TameLowering, raw: Json) -> Expr:
        parts, lowering = general(made)
        return lowering.whole(lowering.meaning.said(enter(parts, raw)))

    lower = partial(_whole, source, schema.draft)
    made = TameLowering(schema, json_style(source), lower, lower_wild, partial(_forget, generals))
    if schema.wild:
        general(made)
    return made


def _forget(generals: "list[tuple[LooseParts, Lowering]]") -> None:
    for _, lowering in generals:
        lowering.forget()
    generals.clear()


def _combining(schema: TameSchema) -> list[Json]:
    """A late part with branches, if there is one."""
    return list(islice(filter(combines, schema.late.values()), 1))


@final
class Lowering:
    """The values of one document, lowered on demand.

    Args:
        tame: lowers some schemas in another way, None for others.
        alike: the representative of equal parts; None: compare them.
        surely: True if nothing can be refused, so that complements may be lazy.
    """

    def __init__(
        self,
        source: JsonSchema,
        document: Document | None = None,
        tame: Callable[[Address], Expr | None] = lambda address: None,
        alike: Callable[[Address], Address] | None = None,
        *,
        surely: bool = False,
    ) -> None:
        self._tame, self._surely = tame, surely
        self.document = parse_json_schema(source) if document is None else document
        self._style: JsonStyle = json_style(source)
        self.meaning = Meaning(self.document, self._style, alike)
        self._apart = Apart(self.meaning)
        self._clauses = Clauses(self.meaning.impossible)
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

    def value(self, said: Formula) -> Expr:
        """The values that a formula allows."""
        found = self._values.get(said)
        if found is None:
            atom = said.atom if isinstance(said, Leaf) else None
            if isinstance(atom, Holds):
                found = self._tame(atom.schema) if atom.sign else self._denied(atom.schema, said)
            if found is None:
                found = self.whole(said)
            self._values[said] = found
        return found

    def _denied(self, address: Address, said: Formula) -> Expr | None:
        """The complement of a schema as a lazy rule, if it surely has all values of a type."""
        if not self._surely or self.meaning.outlines.of(address).kinds >= KINDS:
            return None
        # Branches of `oneOf` deny each other's members: lazy, they save a third of the time to a
        # mask.
        return Rule("denied", inhabited=True, make=lambda: self.whole(said))

    def whole(self, said: Formula) -> Expr:
        """The values that a formula allows, without `tame` for the formula itself."""
        found = self._wholes.get(said)
        if found is None:
            kinds = sorted(self.meaning.outlines.kinds(said))
            parts = (self._kind(kind, self.meaning.of(said, kind)) for kind in kinds)
            found = self._wholes[said] = alt(*parts)
        return found

    def _kind(self, kind: Kind, said: Formula) -> Expr:
        if said is FALSE:
            return EMPTY
        key = (kind, said)
        found = self._kinds.get(key)
        if found is None:
            found = self._kinds[key] = self._lowered(kind, said)
        return found

    def _lowered(self, kind: Kind, said: Formula) -> Expr:
        match kind:
            case "null":
                return literal("null")
            case "boolean":
                return alt(*(_boolean(value) for value in (True, False) if _allows(said, value)))
            case "number":
                return number(said, plain=self._style.spelling.plain)
            case "string":
                return self._string(said)
            case "array":
                return self._cases(kind, said, self._array)
            case "object":
                return self._cases(kind, said, self._object)
            case _:
                assert_never(kind)

    def _string(self, said: Formula) -> Expr:
        held = {atom for atom in atoms(said) if isinstance(atom, Text) and atom.strings.holds}
        match said:
            case _ if not held:
                return string(said, self._style)
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

    def _cases(self, kind: Composed, said: Formula, lower: Callable[[Case], Expr]) -> Expr:
        if said is TRUE:
            return every(kind, self._style)
        if self.meaning.lists:
            parts = alternatives(said, self.meaning.spelled_out)
            if parts != [said]:
                return alt(*(self._kind(kind, part) for part in parts))
        if kind == "object" and not self._style.ordered:  # an order of names depends on all of them
            said = self._clauses.shortened(said)
        listed = cases(said)
        if listed is None and kind == "object":
            parts = self._apart.parts(said)
            if len(parts) > 1:
                return alt(*(self._kind(kind, part) for part in parts))
        if listed is None:
            return self._rule(kind, said, lambda: self._general(kind, said))
        return alt(*(self._rule(kind, case, lambda case=case: lower(case)) for case in listed))

    def _rule(self, kind: Kind, key: Case | Formula, make: Callable[[], Expr]) -> Rule:
        found = self._rules.get((kind, key))
        if found is None:
            found = self._rules[(kind, key)] = Rule(f"{kind} {len(self._rules)}", make=make)
        return found

    def _general(self, kind: Kind, said: Formula) -> Expr:
        judge = self.meaning.outlines
        if kind == "array":
            return ItemsTemplate(said, self.value, self._style, judge).start()
        return MembersTemplate(said, self.value, self._style, self.keysets, judge).start()

    def _array(self, case: Case) -> Expr:
        if not all(isinstance(atom, Item | Items | Longer | Shorter) for atom in case):
            return self._general("array", all_of(*map(leaf, case)))
        low = max((atom.count for atom in case if isinstance(atom, Longer)), default=0)
        high = min((atom.count for atom in case if isinstance(atom, Shorter)), default=None)

        said = items_of(case)

        def item(position: int) -> Expr:
            return self.value(said(position))

        return json_array(item, prefix_length(case), low, high, self._style)

    def _object(self, case: Case) -> Expr:
        if not self._style.ordered:
            case = self.keysets.spelled_out(case)
        plain = self.keysets.plain(case)
        if plain is None:
            return self._general("object", all_of(*map(leaf, case)))
        members = Members(
            plain.names,
            tuple(self.value(value) for value in plain.values),
            plain.required,
            self.value(plain.others),
            plain.allowed,
            self._style.ordered,
            unnamed=plain.unnamed,
        )
        return json_object(members, self._style)


def _boolean(value: bool) -> Expr:
    return literal("true" if value else "false")


def _allows(said: Formula, value: bool) -> bool:
    return holds(said, lambda atom: isinstance(atom, Flag) and value in atom.values)
