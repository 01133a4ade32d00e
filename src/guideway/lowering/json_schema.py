"""JSON Schema to the core: the JSON texts of the instances that a schema allows.

What is said of a value is a formula (`json_meaning`). For each type it is restricted to that type:
null and booleans are evaluated, numbers and strings are regular, and every array and object becomes
a rule whose body is made when it is first entered. So nothing recurses here: nesting and chains of
references have no depth, what is shared is lowered once, and recursive schemas are rules that
mention themselves.

Objects and arrays of few cases are plain ones (`json_objects`; items in a row). Others are read
member by member against their formula (`json_members`, `json_items`).

Whether a part has an instance at all is for the automata to find out; they prune what has none, so
a property without an instance is never offered. `json_conflicts` then tells why.

What this module does not know: how JSON is spelled (`json_text`, `numbers`), what schemas say
together (`json_meaning`).
"""

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, partial
from typing import Final, assert_never, final
from weakref import finalize

from guideway.errors import SourceError, UnsupportedError
from guideway.lowering.expr import EMPTY, alt, concat, literal
from guideway.lowering.fuel import spend
from guideway.lowering.json_anything import Composed, every
from guideway.lowering.json_apart import Apart
from guideway.lowering.json_arrays import json_array
from guideway.lowering.json_atoms import (
    Flag,
    Holds,
    Item,
    Items,
    Longer,
    Named,
    Shorter,
    Text,
)
from guideway.lowering.json_cases import Case, cases, items_of, prefix_length
from guideway.lowering.json_clauses import Clauses
from guideway.lowering.json_formulas import (
    FALSE,
    TRUE,
    Every,
    Formula,
    Leaf,
    Some,
    all_of,
    atoms,
    holds,
    leaf,
)
from guideway.lowering.json_given_lowered import Given
from guideway.lowering.json_items import ItemsTemplate
from guideway.lowering.json_keysets import Keysets
from guideway.lowering.json_meaning import Meaning
from guideway.lowering.json_members import MembersTemplate
from guideway.lowering.json_objects import Members, json_object
from guideway.lowering.json_scalars import number, string
from guideway.lowering.json_text import QUOTE, JsonStyle, json_style
from guideway.lowering.json_waiting import Waiting
from guideway.lowering.nodes import Expr, Rule
from guideway.lowering.quoted import quoted
from guideway.syntax.json_schema import parse_json_schema
from guideway.syntax.json_schema_keywords import JSON_TEXT
from guideway.syntax.json_schema_source import JsonSchema
from guideway.syntax.json_schema_tree import (
    Address,
    Arrays,
    Document,
    Kind,
    Objects,
    Schema,
    Strings,
)

_MANY: Final = 64
_COMPOSED: Final = ("array", "object")
_ARRAYS, _OBJECTS = Arrays(), Objects({})
_LETTERS: Final = 10  # of a schema that cost a part: those of one string of 5 MB took 12 s, unpaid
_OBJECT: Final = 4  # parts that reading a schema costs, 40 µs: 120,000 of them took 20 s, unpaid


def lower_json_schema(source: JsonSchema) -> Expr:
    """The JSON texts that a schema allows.

    >>> schema = JsonSchema({"type": "null"}, whitespace="compact")
    >>> lower_json_schema(schema) is literal("null")
    True

    Raises:
        SourceError, UnsupportedError, LimitError: as `parse_json_schema` says.
    """
    spend(len(source.text) // _LETTERS + _OBJECT * source.text.count("{"))
    return Lowering(source, parse_json_schema(source, source.value)).text()


@final
class Lowering:
    """The values of one document, lowered when they are first asked for.

    Args:
        source: the schema, and the style of texts.
        document: what is lowered, if not what the text of the source says.
        alike: the part that stands for all that say the same; None: told by what they say.
    """

    def __init__(
        self,
        source: JsonSchema,
        document: Document | None = None,
        alike: Callable[[Address], Address] | None = None,
    ) -> None:
        self.document = parse_json_schema(source) if document is None else document
        self._style: JsonStyle = json_style(source)
        self.meaning = Meaning(self.document, self._style, alike)
        self._given = Given(self.meaning, self._style)
        self._apart = Apart(self.meaning)
        self._clauses = Clauses(self.meaning.impossible)
        self.keysets = Keysets(self._style.spelling)
        self._values: dict[Formula, Expr] = {}
        self._wholes: dict[Formula, Expr] = {}
        self._kinds: dict[tuple[Kind, Formula], Expr] = {}
        self._rules: dict[tuple[Kind, Case | Formula], Rule] = {}

    def forget(self) -> None:
        """Forget what was made, as it leads back here."""
        for made in (self._values, self._wholes, self._kinds, self._rules):
            made.clear()

    @cached_property
    def _waiting(self) -> Waiting:
        return Waiting(self.document, self.meaning.outlines, self._has_value)

    def _has_value(self, address: Address, kinds: Iterable[Kind]) -> bool:
        """Whether a schema plainly allows values of some types; not if one of them is refused."""
        try:
            made = [self._kind(kind, self.meaning.schema(address, kind)) for kind in kinds]
        except (SourceError, UnsupportedError):  # which is raised if a text may come so far
            return False
        return any(part.inhabited for part in made)

    def _decided(self) -> Iterator[Expr]:
        """What is decided although what leads there waits."""
        return map(self._said, self._waiting.decided)

    def text(self) -> Expr:
        """A whole JSON text of the root, with which all is forgotten that was made.

        Else half of all that waits for Python's collector is this.
        """
        value = self.value(self.meaning.said(self.document.root))
        whole = concat(self._style.edge, value, self._style.edge)
        if whole.regular:  # no rule is left that would make anything
            self.forget()
        elif whole is not value:
            finalize(whole, self.forget).atexit = False
        return whole

    def value(self, said: Formula) -> Expr:
        """The values that a formula allows, lowered when they are entered if they may wait."""
        found = self._values.get(said)
        if found is None:
            atom = said.atom if isinstance(said, Leaf) else None
            if isinstance(atom, Holds) and atom.sign and self._may_wait(atom.schema):
                make = partial(self._waited, atom.schema)
                found = Rule("value", inhabited=True, make=make, within=self._decided)
            else:
                found = self.whole(said)
            self._values[said] = found
        return found

    def _may_wait(self, address: Address) -> bool:
        schema = self.document.schemas[address]
        large = not schema.kinds.isdisjoint(_COMPOSED) or schema.numbers.values is not None
        return large and address in self._waiting.sure

    def whole(self, said: Formula) -> Expr:
        """The values that a formula allows, lowered here whoever lowers its schemas."""
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
        """Strings; those that hold JSON are alternatives, and nothing else is said of them."""
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
        """A rule for each case, or one for all."""
        if said is TRUE:
            return every(kind, self._style)
        if self.meaning.lists and (parts := self._given.parts(said)):
            return alt(*(self._kind(kind, part) for part in parts))
        if kind == "object" and not self._style.ordered:  # where the order of names is told by all
            said = self._clauses.shortened(said)
        listed = cases(said, listed=kind == "object" and _lists_many_names(said))
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

    # Schemas that wait, without formulas: 13 % of a first mask (p50 of MaskBench dev)

    def _waited(self, address: Address) -> Expr:
        schema = self.document.schemas[address]
        parts = [self._said(part) for part in schema.in_place]
        return alt(*(parts or (self._plain(schema, kind) for kind in sorted(schema.kinds))))

    def _plain(self, schema: Schema, kind: Kind) -> Expr:
        arrays, objects = schema.arrays, schema.objects
        if kind == "object" and objects != _OBJECTS and not objects.patterns:
            return self._plain_object(objects)
        if kind == "array" and arrays != _ARRAYS and not arrays.unique:
            prefix, rest = arrays.prefix, arrays.items

            def item(position: int) -> Expr:
                return self._said(prefix[position] if position < len(prefix) else rest)

            return json_array(item, len(prefix), arrays.low, arrays.high, self._style)
        return self._kind(kind, self.meaning.schema(schema.address, kind))

    def _plain_object(self, objects: Objects) -> Expr:
        named: dict[str, Address | None] = {**objects.properties}
        for name in objects.required:
            named.setdefault(name, objects.additional)
        required = frozenset(objects.required)
        members = Members(
            tuple(named),
            tuple(map(self._said, named.values())),
            tuple(name in required for name in named),
            self._said(objects.additional),
            None,
            self._style.ordered,
        )
        return json_object(members, self._style)

    def _said(self, address: Address | None) -> Expr:
        return self.value(self.meaning.said(address))

    # Arrays

    def _array(self, case: Case) -> Expr:
        """Plain ones, if items are all that is at stake."""
        if not all(isinstance(atom, Item | Items | Longer | Shorter) for atom in case):
            return self._general("array", all_of(*map(leaf, case)))
        low = max((atom.count for atom in case if isinstance(atom, Longer)), default=0)
        high = min((atom.count for atom in case if isinstance(atom, Shorter)), default=None)

        said = items_of(case)

        def item(position: int) -> Expr:
            return self.value(said(position))

        return json_array(item, prefix_length(case), low, high, self._style)

    # Objects

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


def _lists_many_names(said: Formula) -> bool:
    """Whether many options are said one by one, of many names, as an enum of objects may do.

    Read as a formula, each of 600 names of such objects took a look at all 600: 6 s, now .6. Where
    3,000 have the same two names, a formula takes .5 s, and they would take 2 s one by one.
    """
    if not isinstance(said, Some) or len(said.parts) <= _MANY:
        return False
    options = [part.parts if isinstance(part, Every) else (part,) for part in said.parts]
    if not all(isinstance(one, Leaf) for option in options for one in option):
        return False
    return len({atom.name for atom in atoms(said) if isinstance(atom, Named)}) > _MANY
