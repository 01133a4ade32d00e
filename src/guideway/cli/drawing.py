"""Trees as indented lines, for `guideway explain`.

    draw(value)  →  Concat
                    ├── "id-"
                    └── Repeat low=2 high=4
                        └── [0-9]

Values are dataclasses, tuples and mappings; fields with their default value are left out. A Concat
is a list, and a set of bytes has a short form. A call is drawn once, as its unfolding; unfolding
may never end, so the lines are an iterator.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from typing import Any, Final, TypeAlias

from guideway.language.derivative import Derivatives
from guideway.language.expr import ALL_BYTES
from guideway.language.nodes import Bytes, Call, Capture, Concat, Expr, Rule

Child: TypeAlias = tuple[str, object]
"""The name of a part (or "") and the part."""

# Fields that the core derives from other fields; flags and places of a regex's parts.
DERIVED = ("nullable", "regular", "captures", "inhabited", "waits", "bodies", "make", "first")
HIDDEN: Final = frozenset((*DERIVED, "mode", "place"))
WIDEST: Final = 110


def draw(value: object) -> Iterator[str]:
    r"""The lines of `value`, its parts indented below it.

    >>> from guideway.language.expr import concat, literal, repeat, byte_set
    >>> print("\n".join(draw(concat(literal("id-"), repeat(byte_set(b"0123"), 2)))))
    Concat
    ├── "id-"
    └── Repeat low=2 high=None
        └── [0-3]
    """
    seen: set[Expr] = set()  # rules and calls already drawn
    stack: list[tuple[str, str, Child]] = [("", "", ("", value))]
    while stack:
        first, rest, (name, part) = stack.pop()
        label, children = _label(part, seen)
        line = first + (f"{name}: " if name else "") + label
        yield line if len(line) <= WIDEST + len(first) else line[: WIDEST + len(first)] + "…"
        marks = [("├── ", "│   ")] * (len(children) - 1) + [("└── ", "    ")]
        below = [(rest + a, rest + b, c) for (a, b), c in zip(marks, children, strict=False)]
        stack.extend(reversed(below))


def _label(part: object, seen: set[Expr]) -> tuple[str, list[Child]]:
    """The label of a part, and the parts below it."""
    match part:
        case Bytes(members):
            return show_bytes(members), []
        case Concat():
            parts = _joined(part, seen)
            return (
                _label(parts[0], seen) if len(parts) == 1 else ("Concat", [("", p) for p in parts])
            )
        case _Word(text):
            return f'"{text}"', []
        case Rule() | Call() | Capture():
            return _label_reference(part, seen)
        case _:
            return _label_fields(part)


def _label_reference(part: Rule | Call | Capture, seen: set[Expr]) -> tuple[str, list[Child]]:
    """The label and the parts of a node that refers to another, which is drawn once."""
    name = part.name if isinstance(part, Rule) else type(part.template).__name__
    label = f"{type(part).__name__} {name}"
    if part in seen:
        return f"{label} (see above)", []
    seen.add(part)
    match part:
        case Rule():
            return label, [("", part.body)]
        case Call():
            return label, [("", Derivatives(part).unfold(part))]
        case Capture(item):
            return label, [("", item)]


def _label_fields(part: Any) -> tuple[str, list[Child]]:
    """The label and the parts of any value: fields without parts are in the label."""
    if not _is_node(part):
        return ("", list(_contents("", part))) if _is_box(part) else (repr(part), [])
    scalars: list[str] = []
    children: list[Child] = []
    shown = [f for f in fields(part) if f.repr and f.name not in HIDDEN]
    for field in shown:
        value = getattr(part, field.name)
        if field.default is not MISSING and field.default == value:
            continue
        if _is_node(value):
            children.append((field.name, value))
        elif _is_box(value):
            children.extend(_contents(field.name, value))
        else:
            scalars.append(f"{field.name}={_show_scalar(value)}")
    if len({name for name, _ in children}) == 1:  # no need to say which
        children = [("", child) for _, child in children]
    return " ".join([type(part).__name__, *scalars]), children


def _show_scalar(value: object) -> str:
    if isinstance(value, frozenset):  # in an order that does not change from run to run
        return "{" + ", ".join(sorted(map(repr, value))) + "}"  # pyright: ignore[reportUnknownArgumentType]
    return repr(value)


def _is_node(value: object) -> bool:
    return is_dataclass(value) and not isinstance(value, type)


def _is_box(value: object) -> bool:
    """Return True if `value` has parts with lines of their own."""
    if isinstance(value, Mapping):
        return True
    return isinstance(value, tuple | list) and any(map(is_dataclass, value))  # pyright: ignore[reportUnknownArgumentType]


def _contents(name: str, box: Any) -> Iterator[Child]:
    if isinstance(box, Mapping):
        yield from ((f"{name} {key!r}".strip(), value) for key, value in box.items())  # pyright: ignore[reportUnknownVariableType]
    else:
        yield from ((name, value) for value in box)


@dataclass(frozen=True, slots=True)
class _Word:
    """A run of single bytes, as text."""

    text: str


def _joined(concat: Concat, seen: set[Expr]) -> Sequence[object]:
    """Parts of a concatenation; consecutive single bytes are one text.

    A call at the end that unfolds to another concatenation continues the list.
    """
    parts: list[object] = []
    word = bytearray()
    rest: Expr | None = concat
    while rest is not None:
        head, rest = (rest.head, rest.tail) if isinstance(rest, Concat) else (rest, None)
        if isinstance(head, Call) and rest is None and head not in seen:
            unfolded = Derivatives(head).unfold(head)
            if isinstance(unfolded, Concat):
                seen.add(head)
                rest = unfolded
                continue
        if isinstance(head, Bytes) and head.members.bit_count() == 1:
            word.append(head.members.bit_length() - 1)
            continue
        parts += [*_word(word), head]
        word.clear()
    return [*parts, *_word(word)]


def _word(data: bytearray) -> list[_Word]:
    if not data:
        return []
    try:
        return [_Word(repr(data.decode())[1:-1])]
    except UnicodeDecodeError:  # a part of a character
        return [_Word("".join(map(_show, data)))]


def show_bytes(members: int) -> str:
    r"""A set of bytes, as ranges."""
    if members == ALL_BYTES:
        return "any byte"
    ranges: list[tuple[int, int]] = []
    for byte in range(256):
        if members >> byte & 1:
            if ranges and ranges[-1][1] == byte - 1:
                ranges[-1] = (ranges[-1][0], byte)
            else:
                ranges.append((byte, byte))
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return f'"{_show(ranges[0][0])}"'
    dashed = (
        _show(low) + ("-" if high > low + 1 else "") + (_show(high) if high > low else "")
        for low, high in ranges
    )
    return "[" + "".join(dashed) + "]"


def _show(byte: int) -> str:
    if chr(byte) in "-[]^\\":
        return "\\" + chr(byte)
    return chr(byte) if 0x20 <= byte < 0x7F else f"\\x{byte:02x}"
