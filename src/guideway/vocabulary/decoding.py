"""Bytes of a tokenizer's pieces, read from its decoder.

Pieces are written in one of these forms::

    byte level     each byte is a character of its own          "Ġno"      b" no"
    metaspace      "▁" is a space, "<0xE2>" a byte              "▁no"      b" no"
    word piece     a word has a space before it, "##" none      "no" "##t" b" no" b"t"

Only the configuration of the decoder decides the form; without a decoder, that of the
pre-tokenizer. A decoder whose effect on a token depends on other tokens, except at the beginning,
is refused by name.
"""

import codecs
import re
from dataclasses import dataclass, replace
from typing import Final

from guideway.errors import UnsupportedError, brief
from guideway.vocabulary.backend import Backend, Config, steps

BYTE_PIECE: Final = re.compile("<0x([0-9A-Fa-f]{2})>")

# Replacements of the word-piece decoder in any but the first word, in this order.
CLEANING: Final = (
    (" .", "."),
    (" ?", "?"),
    (" !", "!"),
    (" ,", ","),
    (" ' ", "'"),
    (" n't", "n't"),
    (" 'm", "'m"),
    (" do not", " don't"),
    (" 's", "'s"),
    (" 've", "'ve"),
    (" 're", "'re"),
)

WORDS: Final = "decoding puts a space before every word, whatever stood there in the text"


def _byte_characters() -> str:
    """The character for each byte in byte-level vocabularies (GPT-2's choice).

    Visible characters of Latin-1 are themselves, the other 68 bytes U+0100 onwards.
    """
    visible = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return "".join(chr(byte if byte in visible else next(others)) for byte in range(256))


# As in the standard library's single-byte codecs.
BYTE_LEVEL: Final = codecs.charmap_build(_byte_characters())


@dataclass(frozen=True, slots=True)
class Decoding:
    """Spelling of a piece, independent of others.

    Attributes:
        byte_level: each character of a piece is a byte.
        byte_fallback: pieces such as "<0xE2>" are a byte.
        before: prefix of a piece, " " if pieces are words.
        continuation: mark of pieces without that prefix ("##").
        replacements: replacements in a piece, in order.
        lead: bytes removed at the beginning of a text.
        loss: why decoding loses information, or "".
    """

    byte_level: bool = False
    byte_fallback: bool = False
    before: str = ""
    continuation: str | None = None
    replacements: tuple[tuple[str, str], ...] = ()
    lead: bytes = b""
    loss: str = ""

    def spell(self, piece: str) -> bytes:
        """The bytes of a piece.

        >>> Decoding(byte_level=True).spell("Ġno"), Decoding(byte_fallback=True).spell("<0x41>")
        (b' no', b'A')
        """
        if self.byte_fallback and (match := BYTE_PIECE.fullmatch(piece)):
            return bytes.fromhex(match[1])
        if self.continuation is not None and piece.startswith(self.continuation):
            piece = piece[len(self.continuation) :]
        else:
            piece = self.before + piece
        for old, new in self.replacements:
            piece = piece.replace(old, new)
        if self.byte_level:
            try:
                return codecs.charmap_encode(piece, "strict", BYTE_LEVEL)[0]
            except UnicodeEncodeError:  # not of this alphabet: literal
                return piece.encode()
        return piece.encode()

    def spell_added(self, content: str) -> bytes:
        """The bytes of an added token that the model's own vocabulary lacks.

        Marks of spaces are replaced, but characters are literal, even those of the byte alphabet.
        """
        return replace(self, byte_level=False).spell(content)


def read_decoding(backend: Backend) -> Decoding:
    """The decoding of `backend`; decoders that do not work token by token are refused."""
    decoder = steps(backend.decoder, "decoders")
    if not decoder:
        # These steps of the pre-tokenizer have the name of the decoder that undoes them.
        before = steps(backend.pre_tokenizer, "pretokenizers")
        decoder = [step for step in before if step["type"] in {"ByteLevel", "Metaspace"}]
    decoding = Decoding(byte_fallback=backend.byte_fallback)
    if not decoder:
        return replace(decoding, before=" ", lead=b" ", loss=WORDS)
    joined = False  # from here on the steps see the whole text, not a token
    for step in decoder:
        decoding = _with_step(decoding, step, joined)
        joined = joined or step["type"] in {"Fuse", "ByteLevel"}
    return decoding


def _with_step(decoding: Decoding, step: Config, joined: bool) -> Decoding:
    match step["type"]:
        case "ByteLevel":
            after = replace(decoding, byte_level=True)
        case "ByteFallback":
            after = replace(decoding, byte_fallback=True)
        case "Fuse":
            after = decoding
        case "Metaspace" if not joined:
            lead = decoding.lead if step["prepend_scheme"] == "never" else b" "
            after = replace(_replacing(decoding, step["replacement"], " "), lead=lead)
        case "Replace" if _stays_in_a_token(step, decoding, joined):
            after = _replacing(decoding, step["pattern"]["String"], step["content"])
        case "Strip" if joined and not step["stop"]:
            after = replace(decoding, lead=step["content"].encode() * step["start"])
        case "WordPiece" if not joined and not decoding.replacements:
            after = replace(
                decoding,
                before=" ",
                continuation=step["prefix"],
                replacements=CLEANING if step["cleanup"] else (),
                lead=b" ",
                loss=WORDS,
            )
        case kind:
            raise UnsupportedError(
                f"the tokenizer's decoder has the step {brief(dict(step), 100)}, so a token has no "
                "bytes of its own: they depend on the tokens around it; use a tokenizer with a "
                "decoder such as ByteLevel, Metaspace or WordPiece",
                feature=kind,
                place="/decoder",
            )
    return after


def _replacing(decoding: Decoding, old: str, new: str) -> Decoding:
    return replace(decoding, replacements=(*decoding.replacements, (old, new)))


def _stays_in_a_token(step: Config, decoding: Decoding, joined: bool) -> bool:
    pattern = step["pattern"].get("String", "")
    return bool(pattern) and not decoding.byte_level and (not joined or len(pattern) == 1)
