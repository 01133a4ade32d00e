"""JSON Schemas that kernels read and lay part by part, as most of those in use can be.

Where all parts surely have an instance and nothing but tables is needed, a schema is a rule whose
body is what `lowering.json_schema` makes of it, should anybody ask; masks do not. Of 1,889 schemas
of MaskBench, 1,789 are such. What kernels do not know is a leaf, lowered when it is entered; what
is met within leaves they lay as well, where it is of parts that they know. The whole may be a leaf.

What this module does not know: how they are read and laid (`kernels.schema_parts`,
`kernels.schema_rest`, `kernels.schema_nodes`).
"""

import re
import threading
from contextlib import suppress
from functools import cached_property, lru_cache
from typing import Any, Final, cast, final

import numpy as np
from numpy.typing import NDArray

from guideway.errors import GuidewayError
from guideway.lowering.fuel import spend
from guideway.lowering.json_schema import (
    judge_part,
    lower_json_schema,
    lower_part,
    told_apart,
)
from guideway.lowering.json_tame import TameLowering
from guideway.lowering.nodes import Expr, Rule
from guideway.masks.arena import Arena
from guideway.masks.forest import address
from guideway.masks.kernels import layout as at
from guideway.masks.kernels import schema_layout as of
from guideway.masks.seeds import Stencil
from guideway.syntax.json_schema_keywords import LATEST, READ, Draft, find_draft
from guideway.syntax.json_schema_source import JsonSchema
from guideway.syntax.json_schema_tame_values import BELOW, MAPS
from guideway.syntax.json_schema_values import TYPES
from guideway.syntax.json_text import Json

_MOST_LETTERS: Final = 1 << 20  # of a text: what is longer takes others no longer than to read it
_KEPT: Final = 1 << 15  # letters of texts for which the room to read them is kept
_FEW: Final = 3  # times as many parts as are to be judged are known, where these are few
_WORDS: Final = {
    "type": of.W_TYPE,
    "enum": of.W_ENUM,
    "const": of.W_CONST,
    "properties": of.W_PROPERTIES,
    "required": of.W_REQUIRED,
    "additionalProperties": of.W_OTHERS,
    "items": of.W_ITEMS,
    "minItems": of.W_LEAST,
    "maxItems": of.W_MOST,
    "minLength": of.W_SHORTEST,
    "maxLength": of.W_LONGEST,
    "format": of.W_FORMAT,
    "minimum": of.W_LOWEST,
    "maximum": of.W_HIGHEST,
    "exclusiveMinimum": of.W_ABOVE,
    "exclusiveMaximum": of.W_BELOW,
    "$ref": of.W_REFERENCE,
    "not": of.W_NOT,
    "anyOf": of.W_ANY_OF,
    "oneOf": of.W_ONE_OF,
    "allOf": of.W_ALL_OF,
}
_LAID: Final = frozenset((of.PARTED, of.WORDS, of.TEXT, of.GROUP))
_HOLDING: Final = frozenset((dict, list))
_BRACE: Final = ord("{")
_OPENING: Final = re.compile(r'"(?:\$(?:ref|dynamicRef|recursiveRef|schema|id)|id)"')


@final
class PlainSchema:
    """What was read of a schema: its parts, names, and what their nodes need room for.

    Attributes:
        draft: what it is written in.
        lowering: of parts that refer to others, if there are such.
        leaves: the texts of the parts that kernels do not know; None if there are others.
    """

    def __init__(self, source: JsonSchema, text: str, draft: Draft, reading: "_Reading") -> None:
        """Copy what was read."""
        counts: list[int] = reading.context.tolist()
        self._source, self._text, self.draft = source, text, draft
        self.lowering: TameLowering | None = None
        self.leaves: list[str] | None = None
        self._judged = reading.judged
        self._begun, self._of_values = reading.field(of.V_BEGIN), reading.field(of.V_PART)
        self._parts = reading.part[: counts[of.PARTS] * of.PART_FIELDS].copy()
        self._names = reading.member[: counts[of.MEMBERS] * 6].copy()
        self._letters = reading.letter[: counts[of.LETTERS]].copy()
        self._room = {
            at.OBJECT: counts[of.OBJECTS] * 16,
            at.KEYS: counts[of.KEY_NODES] * 6,
            at.EDGE: counts[of.EDGES],
        }

    def lay(self, arena: Arena) -> tuple[int, NDArray[np.int32]]:
        """The node of a whole text, and the array that has to live as long as the arena."""
        context, parts = arena.context, self._parts.copy()
        context[at.SCHEMA_PART] = address(parts)
        context[at.SCHEMA_NAME] = arena.put(at.NAME, self._names) // 6
        context[at.SCHEMA_POOL] = arena.put(at.POOL, self._letters)
        context[at.SCHEMA_OBJECT] = arena.reserve(at.OBJECT, self._room[at.OBJECT]) // 16
        context[at.SCHEMA_KEYS] = arena.reserve(at.KEYS, self._room[at.KEYS]) // 6
        context[at.SCHEMA_EDGE] = arena.reserve(at.EDGE, self._room[at.EDGE])
        return arena.make(at.EXPR, at.LAID, of.ROOT), parts

    def leaf(self, part: int) -> Expr:
        """The values of a part that kernels do not know.

        A group of it alone (`allOf` of one) may denote the same rule: that would lead back here.
        """
        if self.lowering is None or not self.refers(part):
            return lower_part(self._source, self._said(part), self.draft)
        place = int(self._parts[part * of.PART_FIELDS + of.S_VALUE])
        found = self.lowering.value(self._objects[place])
        while isinstance(found, Rule) and self._is_group(self.part_of(found)):
            found = found.body
        return found

    def _is_group(self, part: int | None) -> bool:
        return part is not None and self._parts[part * of.PART_FIELDS + of.S_KIND] == of.GROUP

    def refers(self, part: int) -> bool:
        """Whether a leaf may mean something else where nothing is around it."""
        return part >= self._judged >= 0 or _refers(self._said(part))

    def _said(self, part: int) -> str:
        """The text of a leaf."""
        fields = self._parts[part * of.PART_FIELDS :]
        return self._text[int(fields[of.S_LOW]) : int(fields[of.S_HIGH])]

    def part_of(self, rule: Rule) -> int | None:
        """The part whose values a rule denotes, if it is one that kernels know."""
        raw = None if self.lowering is None else self.lowering.part_of(rule)
        if raw is None:
            return None
        part = int(self._of_values[self._places[id(raw)]]) - 1
        if part >= 0 and self._parts[part * of.PART_FIELDS + of.S_KIND] == of.REFERENCE:
            part = int(self._parts[part * of.PART_FIELDS + of.S_TARGET])
        known = part >= 0 and self._parts[part * of.PART_FIELDS + of.S_KIND] in _LAID
        return part if known else None

    @cached_property
    def _places(self) -> dict[int, int]:
        """Where each object stands among all values and keys, by its id."""
        return {id(value): place for place, value in self._objects.items()}

    @cached_property
    def _objects(self) -> dict[int, Json]:
        """Every object of the schema by its place among all values and keys of the text."""
        found, todo = list[Json](), list[Any]((self._source.value,))
        while todo:
            inside = todo.pop()
            if inside.__class__ is dict:
                found.append(inside)
                inside = inside.values()
            todo += [part for part in inside if part.__class__ in _HOLDING][::-1]
        letters = np.frombuffer(self._text.encode(), np.uint8)
        opened = np.flatnonzero(letters[self._begun] == _BRACE)
        return dict(zip(opened.tolist(), found, strict=True))


@final
class _Reading:
    """The room to read a text of so many letters: what each array may need at most."""

    def __init__(self, letters: int) -> None:
        values = letters // 2 + 2
        self.letters, self.judged = letters, 0
        self._source = np.empty(0, np.uint8)
        self.value = np.empty(values * 4, np.int32)
        self.part = np.empty((letters // 3 + 2) * of.PART_FIELDS, np.int32)
        self.member = np.empty((letters // 3 + 2) * 6, np.int32)
        self.letter = np.empty(letters + 1, np.uint8)
        self._ask = np.empty(letters // 3 + 2, np.int32)
        self._way = np.empty(values, np.int32)
        self._small = np.empty(64 + of.MOST_DEPTH, np.int32)
        self.context = np.zeros(of.READING_SIZE, np.int64)
        for slot, array in (
            (of.VALUE, self.value),
            (of.PART, self.part),
            (of.MEMBER, self.member),
            (of.LETTER, self.letter),
            (of.ASK, self._ask),
            (of.WAY, self._way),
            (of.HELD, self._small),
            (of.DEPTH, self._small[64:]),
        ):
            self.context[slot] = address(array)

    def read(self, text: str, draft: Draft, *, strict: bool) -> bool:
        """Whether kernels can lay the schema that a text is, but for what is `asked`."""
        from guideway.masks.kernels.entry import read_schema

        self._source, (table, letters) = np.frombuffer(text.encode(), np.uint8), _words(draft)
        context, source = self.context, self._source
        context[: of.SOURCE] = context[of.SEARCHED] = 0
        context[of.WAY_ROOM] = len(self._way)
        context[of.DRAFT], context[of.STRICT] = draft, strict
        context[of.SOURCE] = address(source)
        context[of.WORD], context[of.WORD_TEXT] = address(table), address(letters)
        self.judged = -1
        return read_schema(context, len(source)) == of.PLAIN

    def read_on(self, *, anew: bool) -> None:
        """Read what is within parts that others lower; `anew`: which may be all there are."""
        from guideway.masks.kernels.entry import read_schema

        self.judged = read_schema(self.context, -1 if anew else 0)

    def field(self, which: int) -> NDArray[np.int32]:
        """A field of each value, where it has been read on; of a part, plus one."""
        if self.judged < 0:
            return self.value[:0]
        return self.value[which : int(self.context[of.VALUES]) * 4 : 4].copy()

    def asked(self) -> list[tuple[int, int]]:
        """Where the parts are that others have to judge."""
        parts = self._ask[: int(self.context[of.ASKED])].tolist()
        fields = (self.part[part * of.PART_FIELDS :] for part in parts)
        return [(int(field[of.S_LOW]), int(field[of.S_HIGH])) for field in fields]

    def to_judge(self, root: Json) -> "list[Json] | None":
        """The parts that others have to judge, with those below these; None: most parts."""
        if self.context[of.JUDGED] * _FEW > self.context[of.KNOWN]:
            return None
        found, value = list[Json](), root
        inside: dict[int, list[Json]] = {}  # of objects: half of the time went to count along them
        for place in self._way[: int(self.context[of.STEPS])].tolist():
            if place < 0:
                found.append(value)
                value = root
            elif isinstance(value, dict):
                listed = inside.get(id(value)) or inside.setdefault(id(value), [*value.values()])
                value = listed[place]
            else:
                value = cast("list[Json]", value)[place]
        return found


_kept = _Reading(_KEPT)
_lock = threading.Lock()


def lower_plain(source: JsonSchema) -> Expr | None:
    """The texts of a schema as a rule of which `plain_of` knows; None if others have to lower it.

    Where that shows after its parts have been told apart, it is what they are lowered to.

    >>> plain_of(lower_plain(JsonSchema({"type": "object", "required": ["a"]}))) is None
    False
    >>> lower_plain(JsonSchema({}, whitespace="compact")) is None
    True

    Raises:
        SourceError, UnsupportedError, LimitError: as `lower_json_schema` says.
    """
    read = _read(source)
    if read is None:
        return None
    plain, asked, few = read
    if asked is None or any(map(_refers, asked)):
        lowering = None if few is None else told_apart(source, few)
        if lowering is None or not lowering.surely:  # what is wrong is told of all together
            if lowering is not None:
                lowering.forget()
            lowering = told_apart(source)
        if lowering is None or not lowering.surely:
            return None if lowering is None else lowering.text()
        plain.lowering = lowering
    elif not all(_is_tame(part, plain.draft, strict=source.formats == "strict") for part in asked):
        return None
    else:
        plain.leaves = asked
    rule = Rule("schema", inhabited=True, make=lambda: lower_json_schema(source), read=plain)
    return rule if plain.lowering is None else plain.lowering.kept_for(rule)


def plain_of(expr: Expr) -> PlainSchema | None:
    """What was read of the schema that an expression denotes, if it is such a rule."""
    read = expr.read if isinstance(expr, Rule) else None
    return read if isinstance(read, PlainSchema) else None


@final
class Layer:
    """Lays the first schema that a network enters and kernels have read.

    Args:
        arena: of the network.
        stencil: what they are laid with, if at all; the arena has its address.
    """

    def __init__(self, arena: Arena, stencil: Stencil | None) -> None:
        self._arena, self._stencil, self._lays = arena, stencil, stencil is not None
        self._laid: list[tuple[PlainSchema, NDArray[np.int32]]] = []
        self._prepared: Expr | None = None

    def lay(self, expr: Expr) -> int | None:
        """The node of such a schema, if that is what an expression is."""
        schema = plain_of(expr) if self._lays else None
        if schema is None:
            return None
        node, parts = schema.lay(self._arena)
        self._lays = False
        self._laid.append((schema, parts))
        return node

    def prepare(self, part: int) -> None:
        """Make now what `leaf` will be asked for; what refers to others takes a step anyway."""
        schema = self._laid[0][0]
        if not schema.refers(part):
            with suppress(GuidewayError):  # it is raised when the part is entered, if ever
                self._prepared = schema.leaf(part)  # held until the next one

    def part_of(self, expr: Expr) -> int | None:
        """The part of it that a rule denotes, if kernels know one."""
        return self._laid[0][0].part_of(expr) if self._laid and isinstance(expr, Rule) else None

    def leaf(self, part: int) -> Expr:
        """The values of a part of it that kernels do not know."""
        return self._laid[0][0].leaf(part)


def _read(source: JsonSchema) -> "tuple[PlainSchema, list[str] | None, list[Json] | None] | None":
    """What kernels read of a schema, and the parts of it that others have to judge.

    Those are None where they have to judge all of it. With what is in them they come again, where
    they are few of many and have to be looked at together.
    """
    usual = (source.key_order, source.whitespace, source.spelling) == ("any", "natural", "any")
    if not usual or source.resource_texts or len(source.text) > _MOST_LETTERS:
        return None
    text = source.compact
    if text is None or len(text) > _MOST_LETTERS:  # as each letter may take six
        return None
    draft, strict = _draft(source.value), source.formats == "strict"
    if draft is None:
        return None
    with _lock:
        reading = _kept if len(text) <= _KEPT else _Reading(len(text))
        plain = reading.read(text, draft, strict=strict)
        spend(int(reading.context[of.PARTS]))
        if not plain and (source.value is False or not reading.context[of.VALUES]):
            return None
        asked = [text[begin:end] for begin, end in reading.asked()] if plain else None
        few: list[Json] | None = None
        if asked is None or any(map(_refers, asked)):
            few = reading.to_judge(source.value) if plain else None
            reading.read_on(anew=not plain)
        return PlainSchema(source, text, draft, reading), asked, few


def _draft(value: Any) -> Draft | None:
    if not isinstance(value, dict):
        return LATEST
    try:
        return find_draft(cast("dict[str, Any]", value).get("$schema"), "", LATEST)
    except GuidewayError:
        return None


def _refers(text: str) -> bool:
    """Whether a part may mean something else where nothing is around it."""
    return _OPENING.search(text) is not None


@lru_cache(maxsize=1024)
def _is_tame(text: str, draft: Draft, *, strict: bool) -> bool:
    """Whether a part can be lowered when it is entered, without anything around it."""
    return not _refers(text) and judge_part(text, draft, strict=strict)


@lru_cache(maxsize=8)
def _words(draft: Draft) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """The words of a draft: a hash table, and their letters."""
    known = dict.fromkeys(READ, of.W_FURTHER) | dict.fromkeys(BELOW, of.W_SCHEMAS)
    known |= dict.fromkeys(MAPS, of.W_NAMED) | _WORDS
    numbers = {name: known[name] for name, (first, last) in READ.items() if first <= draft <= last}
    own, other = ("id", "$id") if draft == 4 else ("$id", "id")
    numbers |= {own: of.W_RESOURCE, "$schema": of.W_DRAFT, other: of.W_IDENTIFIER}
    numbers |= {name: of.W_TYPES + bit for bit, name in enumerate(TYPES)}
    table, letters = np.zeros(of.WORD_ROOM * 3, np.int32), bytearray()
    for name, number in numbers.items():
        code = len(name)
        for byte in name.encode():
            code = (code * 31 + byte) & 0xFFFF
        place = code % of.WORD_ROOM
        while table[place * 3 + 1]:
            place = (place + 1) % of.WORD_ROOM
        table[place * 3 : place * 3 + 3] = len(letters), len(name), number
        letters += name.encode()
    return table, np.frombuffer(bytes(letters), np.uint8)
