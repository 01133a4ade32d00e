"""Compare a table of bytes with the tokenizer.

With a wrong table all texts look plausible and none is what the model meant. So each table is
tested on a few hundred texts: words of many scripts, code, white space, control characters, and
random tokens side by side. In bytes::

    the tokens of the text = the text after the tokenizer's own normaliser = what decoding yields

Skipped are texts with characters that no tokens spell, with special tokens, and, if encoding adds a
space before each text, with added tokens. White space is ignored if the pre-tokenizer drops it;
only the second equation holds for vocabularies that lose information.
"""

import random
import re
from collections.abc import Iterator, Sequence
from typing import Final

from guideway.errors import ModelError
from guideway.vocabulary.backend import Backend, steps
from guideway.vocabulary.decoding import Decoding

_CODE: Final = r"""
the quick brown fox
It's 9:30, isn't it?
{"name": "Ada", "ids": [1, -2.5e3, null]}
<p class='a'>&amp;</p></s>
https://example.org/a?b=c#d
C:\temp\new
a=b;c//d /*e*/
#!$%&()*+-/<=>?@[]^_`{|}~
"""
_WORDS: Final = """
naïve café, co-op, x, HTTPServer2, 0123456789, 3.14159, ٣٫١٤, ²½Ⅷ, ..., ——
Straße ĳs Œuvre, Zażółć gęślą jaźń, Đặng Việt, İstanbul ısı, Ελληνικά, Привет, 안녕하세요
你好，世界, שלום עולם, مرحبا بالعالم, नमस्ते दुनिया, สวัสดีชาวโลก, こんにちは, ქართული, አማርኛ, ᏣᎳᎩ
𐍈𝔘𝕏, ﬁ ﬂ Å Ω, 😀👍🏽, 👩‍👩‍👧, 🇩🇪, ☃️, Ġ ĉ Ċ, <0x0A>, ##s
"""
FRAGMENTS: Final = (
    *_CODE.strip().splitlines(),
    *re.split(", |\n", _WORDS.strip()),
    *("def f(a_b, *args):\n\treturn a_b[0]", "1,000,000", "e\u0301 a\u0308\u0323", "a\u2581b"),
    *("\u200bzero\u200dwidth\ufeff", "\ufffd", "\U0010fffd"),
)
SPACES: Final = (
    *(" ", "  ", "\n", "\n\n\n", "\t", "\r\n", " \n ", "   \t", "\u00a0", "\u3000", "", ", "),
)
CONTROLS: Final = tuple(f"a{chr(code)}b" for code in (*range(0x20), *range(0x7F, 0xA0)))
PAIRS: Final = 60  # of fragments with white space between and around
JOINTS: Final = 120  # random tokens side by side

DROPPING: Final = frozenset({"BertPreTokenizer", "Whitespace", "WhitespaceSplit"})
MARK: Final = "▁"  # SentencePiece's visible space


def check(backend: Backend, decoding: Decoding, tokens: Sequence[bytes | None]) -> None:
    """Test the table `tokens` on some 300 texts, in about 30 ms; a difference is a ModelError."""
    trial = _Trial(backend, decoding, tokens)
    for text in probes(tokens):
        trial.compare(text)


def probes(tokens: Sequence[bytes | None]) -> Iterator[str]:
    """The texts that a table of `tokens` is tried on, always the same."""
    yield from FRAGMENTS
    yield from CONTROLS
    chance = random.Random(0)
    for _ in range(PAIRS):
        spaces, words = chance.choices(SPACES, k=3), chance.choices(FRAGMENTS, k=2)
        yield spaces[0] + words[0] + spaces[1] + words[1] + spaces[2]
    spelled = [token for token in tokens if token]
    for _ in range(JOINTS if spelled else 0):
        joined = b"".join(chance.choices(spelled, k=chance.randint(1, 5)))
        yield joined.decode(errors="ignore")


def singles_of(tokens: Sequence[bytes | None]) -> frozenset[bytes]:
    """The short tokens, with all of one character or byte."""
    return frozenset(token for token in tokens if token and len(token) <= 4)


def can_spell(text: str, singles: frozenset[bytes]) -> bool:
    """Return True if each character, or each of its bytes, is a token."""
    each = [character.encode() for character in set(text)]
    return all(data in singles or all(bytes([byte]) in singles for byte in data) for data in each)


class _Trial:
    """Compares the table `tokens` with the tokenizer.

    Attributes:
        bytes_normalised: the normaliser writes bytes as characters.
        prepends: a space is added before a text.
        drops_space: encoding loses white space.
    """

    def __init__(
        self, backend: Backend, decoding: Decoding, tokens: Sequence[bytes | None]
    ) -> None:
        self.backend, self.decoding, self.tokens = backend, decoding, tokens
        normalizers = {step["type"] for step in steps(backend.normalizer, "normalizers")}
        pre_tokenizer = steps(backend.pre_tokenizer, "pretokenizers")
        self.bytes_normalised = "ByteLevel" in normalizers
        self.prepends = "Prepend" in normalizers or any(
            step.get("add_prefix_space") or step.get("prepend_scheme", "never") != "never"
            for step in pre_tokenizer
        )
        self.drops_space = any(
            step["type"] in DROPPING or step.get("behavior") == "Removed" for step in pre_tokenizer
        )
        self.singles = singles_of(tokens)

    def compare(self, text: str) -> None:
        """Compare the table with the tokenizer on `text`."""
        ids = self.backend.encode(text)
        if ids is None or not all(map(self.is_text, ids)):
            return
        got = b"".join(self.tokens[i] or b"" for i in ids)
        plain = self.backend.added.keys().isdisjoint(ids)
        if not self.decoding.loss and (plain or not self.prepends):
            self.compare_encoding(text, got)
        # Added tokens are decoded differently, and without a decoder there is nothing to compare.
        if self.backend.decoder is not None and plain:
            self.compare_decoding(text, got, self.backend.decode(ids))

    def compare_encoding(self, text: str, got: bytes) -> None:
        """Compare the spelling `got` of a text's tokens with the text."""
        meant = self.meaning(text)
        if MARK.encode() in meant and MARK not in text:
            raise ModelError(
                f"the tokenizer turns the spaces of {text!r} into {MARK!r}, but its decoder does "
                "not turn them back, so no text with spaces could be generated; add a Metaspace "
                "decoder to it"
            )
        if not can_spell(meant.decode(errors="replace"), self.singles):
            return
        # The normaliser's space is in `meant`; the pre-tokenizer's, if need be, is not.
        allowed = (meant, b" " + meant) if self.prepends else (meant,)
        if self.comparable(got) not in map(self.comparable, allowed):
            raise ModelError(
                f"the tokenizer contradicts its configuration: its tokens for {text!r} spell "
                f"{got!r}, but must spell {meant!r}; correct its normalizer, pre-tokenizer or "
                "decoder"
            )

    def compare_decoding(self, text: str, got: bytes, decoded: str) -> None:
        """Compare the spelling `got` of a text's tokens with what the tokenizer decodes."""
        shown = got.removeprefix(self.decoding.lead).decode(errors="replace")
        # Decoders that take all spaces from the beginning, not one, are allowed to.
        if decoded.lstrip(" ") != shown.lstrip(" "):
            raise ModelError(
                f"the tokenizer contradicts its configuration: it decodes its tokens for {text!r} "
                f"to {decoded!r}, but its decoder's steps give {shown!r}; correct its decoder"
            )

    def is_text(self, token: int) -> bool:
        """Return True if a token spells all of the text that it matched."""
        added = self.backend.added.get(token)
        return self.tokens[token] is not None and not (added is not None and added.strips)

    def meaning(self, text: str) -> bytes:
        """The bytes that the tokens of `text` have to spell."""
        normal = self.backend.normalise(text)
        if self.bytes_normalised:
            return self.decoding.spell(normal)
        for old, new in self.decoding.replacements:
            normal = normal.replace(old, new)
        return normal.encode()

    def comparable(self, spelling: bytes) -> str | bytes:
        """`spelling`, without white space where that is lost."""
        return "".join(spelling.decode(errors="replace").split()) if self.drops_space else spelling
