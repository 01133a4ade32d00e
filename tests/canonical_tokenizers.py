"""Tokenizers of a few letters, one for each way of cutting texts that is followed."""

from functools import cache
from typing import Any, Final

from tokenizers import Tokenizer

import guideway as gw
from guideway.vocabulary.backend import Backend
from guideway.vocabulary.canonical.tokens import CanonicalAutomaton
from small_tokenizers import BYTE_LEVEL, added, bpe, tokenizer

LLAMA3: Final = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
PLAIN: Final = {**BYTE_LEVEL, "use_regex": False}
UNDERLINE: Final = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
SPACED: Final = {
    "type": "Split",
    "pattern": {"String": " "},
    "behavior": "MergedWithPrevious",
    "invert": False,
}
METASPACE: Final = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first"}


def _split(pattern: str, **more: Any) -> dict[str, Any]:
    found = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated"}
    return {**found, "invert": False, **more}


def _sequence(*parts: Any) -> dict[str, Any]:
    return {"type": "Sequence", "pretokenizers": list(parts)}


def _bytes(merges: str, letters: str, **parts: Any) -> bytes:
    """A byte-level tokenizer; merges as "ab abb", each of which a shorter piece and a letter."""
    alphabet = [*letters]
    rules = [f"{pair[:-1]} {pair[-1]}" for pair in merges.split()]
    rules += parts.pop("more", [])
    pieces = dict.fromkeys([*alphabet, *(rule.replace(" ", "") for rule in rules)])
    pieces |= dict.fromkeys(parts.pop("alone", []))
    model = bpe({piece: at for at, piece in enumerate(pieces)}, rules, **parts.pop("model", {}))
    end = added("<end>", len(pieces))
    named = [added(text, len(pieces) + 1, special=False) for text in parts.pop("named", [])]
    settings = {"pre_tokenizer": BYTE_LEVEL, "decoder": BYTE_LEVEL, "added_tokens": [end, *named]}
    return tokenizer(model, **{**settings, **parts})


def _pieces(**parts: Any) -> bytes:
    """SentencePiece's kind: characters, bytes as fallback, spaces as "▁"."""
    names = ["<unk>", *(f"<0x{byte:02X}>" for byte in [10, 0xC3, 0xA9, 0xAA]), *"ab▁"]
    merges = ["a b", "▁ a", "▁ ▁", "ab ▁"]
    vocab = {name: at for at, name in enumerate([*names, "ab", "▁a", "▁▁", "ab▁"])}
    model = bpe(vocab, merges, unk_token="<unk>", byte_fallback=True, fuse_unk=True)
    marks = {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}
    kinds = [marks, {"type": "ByteFallback"}, {"type": "Fuse"}]
    settings = {
        "normalizer": UNDERLINE,
        "decoder": {"type": "Sequence", "decoders": kinds},
        "added_tokens": [added("<unk>", 0), added("<end>", len(vocab))],
    }
    return tokenizer(model, **{**settings, **parts})


TOKENIZERS: Final = {
    "gpt2": _bytes("ab bb abb Ġa ĠĠ 's Ã© 12", "abs'Ġ12Ã©ªæĹ¥", more=["Ã a"], named=["ba"]),
    "llama3": _bytes(
        "ab Ġa ĠĠ ĠĠĊ 's 12 123 Ã©",
        "abs'Ġ123ĊÃ©",
        pre_tokenizer=_sequence(_split(LLAMA3), PLAIN),
        model={"ignore_merges": True},
        alone=["bab", "Ġb"],
    ),
    "digits": _bytes(
        "ab Ġa 12 Ġ1",
        "abĠ12",
        pre_tokenizer=_sequence({"type": "Digits", "individual_digits": False}, BYTE_LEVEL),
    ),
    "digit": _bytes(
        "ab Ġa 12",
        "abĠ12",
        pre_tokenizer=_sequence({"type": "Digits", "individual_digits": True}, BYTE_LEVEL),
    ),
    "nfc": _bytes(
        "ab Ã© ÌĢ Ìģ âĦ âĦ«",  # the last is Angstrom's sign, which NFC makes a letter of
        "abeÌģĢÃ©âĦ«",
        more=["e Ìģ"],
        normalizer={"type": "NFC"},
    ),
    "gpt2 json": _bytes('ab "a "ab ",', 'ab"[],', more=['" ]']),
    "odd": _bytes("abb ab aa aaa", "ab", more=["b ab", "a abb"], pre_tokenizer=PLAIN),
    "pieces": _pieces(pre_tokenizer=SPACED),
    "words": _pieces(normalizer=None, pre_tokenizer={**METASPACE, "split": True}),
    "prepended": _pieces(
        normalizer={
            "type": "Sequence",
            "normalizers": [{"type": "Prepend", "prepend": "▁"}, UNDERLINE],
        }
    ),
}


@cache
def backend(name: str) -> Backend:
    return Backend.load(TOKENIZERS[name], name)


@cache
def vocabulary(name: str) -> gw.Vocabulary:
    return gw.Vocabulary.from_tokenizer_json(TOKENIZERS[name], eos="<end>")


@cache
def automaton(name: str) -> CanonicalAutomaton:
    return CanonicalAutomaton.of(backend(name), vocabulary(name).tokens)


def library(name: str) -> Tokenizer:
    return backend(name).tokenizer
