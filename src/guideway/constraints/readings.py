"""Readings of a text: the name of a special token can mean the token or its characters."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

from guideway.automata.derivative import Derivatives
from guideway.constraints.special_tokens import find
from guideway.errors import SourceError, UnsatisfiableError, brief
from guideway.lowering.expr import EMPTY, alt
from guideway.lowering.nodes import Expr
from guideway.lowering.special import FIRST_MARK, mark
from guideway.syntax.special import Special
from guideway.vocabulary.spellings import Vocabulary

NO_TEXT: Final = b"\xfe"  # in no text, and in no mark
_BYTES: Final = (bytes, bytearray)  # made once: a new union on each call costs garbage collections


@final
@dataclass(frozen=True, slots=True)
class Readings:
    """Text with marks of special tokens, and names that may be special tokens."""

    data: bytes
    names: tuple[bytes, ...] = ()

    def matches(self, machine: Derivatives, start: Expr) -> bool:
        """Return True if one reading is in `start`; checking liveness on the way is slow."""
        ways: dict[int, Expr] = {0: start}
        for at, byte in enumerate(self.data):
            rest = ways.pop(at, EMPTY)
            if rest is EMPTY:
                continue
            for name in self.names:
                if self.data.startswith(name, at):
                    _join(ways, at + len(name), _after(machine, rest, mark(name.decode())))
            _join(ways, at + 1, machine.after(rest, byte))
        return machine.accepts(ways.get(len(self.data), EMPTY))


def checked_lead(lead: object, vocabulary: Vocabulary) -> bytes:
    r"""Check the bytes that tokens spell before the text; for None, `vocabulary.lead`."""
    if lead is None:
        lead = vocabulary.lead
    if not isinstance(lead, _BYTES):
        raise SourceError(f"lead must be bytes, not {brief(lead)}")
    return _spelled(bytes(lead), vocabulary) if lead else b""


def _spelled(given: bytes, vocabulary: Vocabulary) -> bytes:
    """Check that tokens contain the bytes; apart, because its generator costs a closure."""
    missing = next((byte for byte in given if not vocabulary.spellable >> byte & 1), None)
    if missing is not None:
        raise UnsatisfiableError(
            f"lead is {brief(given)}, and no token of the vocabulary contains the byte "
            f"0x{missing:02x}",
            conflict=("lead", "vocabulary"),
        )
    return given


def read_text(
    text: str | bytes | Sequence[str | Special], vocabulary: Vocabulary, names: frozenset[str]
) -> Readings:
    if isinstance(text, str | bytes):
        return Readings(_encoded(text), tuple(name.encode() for name in sorted(names)))
    if not isinstance(text, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise SourceError(f"a text must be str or bytes, not {type(text).__name__}")
    data = b""
    for part in text:
        if isinstance(part, Special):
            data += mark(find(part, vocabulary))
        elif isinstance(part, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            data += _encoded(part)
        else:
            raise SourceError(
                f"a text is str, bytes, or a list of str and guideway.special(...), not a list "
                f"with {brief(part)}"
            )
    return Readings(data)


def _encoded(text: str | bytes) -> bytes:
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    return NO_TEXT if data and max(data) >= FIRST_MARK else data


def _after(machine: Derivatives, rest: Expr, data: bytes) -> Expr:
    for byte in data:
        rest = machine.after(rest, byte)
    return rest


def _join(ways: dict[int, Expr], at: int, rest: Expr) -> None:
    ways[at] = alt(ways[at], rest) if at in ways else rest
