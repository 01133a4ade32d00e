"""Small tokenizer.json files, one of each kind, made by hand."""

import json
from collections.abc import Mapping
from typing import Any, Final

BYTE_LEVEL: Final = {
    "type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True,
}  # fmt: skip
# What the byte-level alphabet makes of some bytes, written out: 0x20 is "Ġ", 0x0A "Ċ", 0x00 "Ā".
LETTERS: Final = "abcdehlorw!{}"
LLAMA_NORMALIZER: Final = {
    "type": "Sequence",
    "normalizers": [{"type": "Prepend", "prepend": "▁"},
                    {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}],
}  # fmt: skip
REPLACE_MARK: Final = {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}
STRIP: Final = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
LLAMA_DECODER: Final = {
    "type": "Sequence",
    "decoders": [REPLACE_MARK, {"type": "ByteFallback"}, {"type": "Fuse"}, STRIP],
}


def added(content: str, number: int, *, special: bool = True, **flags: bool) -> dict[str, Any]:
    settings = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    return {"id": number, "content": content, "special": special, **settings, **flags}


def tokenizer(model: Mapping[str, Any], **parts: Any) -> bytes:
    """A tokenizer.json with this model and whatever else is given."""
    names = ("truncation", "padding", "normalizer", "pre_tokenizer", "post_processor", "decoder")
    empty = dict.fromkeys(names)
    return json.dumps(
        {"version": "1.0", "added_tokens": [], **empty, **parts, "model": model}
    ).encode()


def bpe(
    vocab: Mapping[str, int], merges: list[str] | None = None, **settings: Any
) -> dict[str, Any]:
    return {"type": "BPE", "vocab": dict(vocab), "merges": merges or [], **settings}


def byte_level(**parts: Any) -> bytes:
    """A byte-level vocabulary of a few letters, the space, the line break, NUL and "é" in parts."""
    pieces = [*LETTERS, "Ġ", "Ċ", "Ā", "Ã", "©", "he", "Ġw"]
    vocab = {piece: i for i, piece in enumerate(pieces)}
    settings: dict[str, Any] = {"pre_tokenizer": BYTE_LEVEL, "decoder": BYTE_LEVEL, **parts}
    return tokenizer(bpe(vocab, ["h e", "Ġ w"]), **settings)


def sentencepiece(**parts: Any) -> bytes:
    """Llama-2's kind: bytes as fallback, spaces as "▁", one of them before every text."""
    pieces = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    pieces += [*LETTERS, "▁", "▁w", "he", "é", "ĉ"]
    vocab = {piece: i for i, piece in enumerate(pieces)}
    model = bpe(vocab, ["▁ w", "h e"], unk_token="<unk>", byte_fallback=True)
    settings: dict[str, Any] = {
        "normalizer": LLAMA_NORMALIZER,
        "decoder": LLAMA_DECODER,
        "added_tokens": [added(name, i) for i, name in enumerate(["<unk>", "<s>", "</s>"])],
        **parts,
    }
    return tokenizer(model, **settings)


def unigram(scheme: str = "always", **parts: Any) -> bytes:
    """T5's kind: no bytes, spaces as "▁" by the pre-tokenizer; "he" stands in the list twice."""
    pieces = ["<unk>", "</s>", *LETTERS, "▁", "▁w", "he", "he", "é"]
    metaspace = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": True}
    model = {
        "type": "Unigram",
        "unk_id": 0,
        "vocab": [[piece, -9.0 if len(piece) == 1 else -1.0] for piece in pieces],
        "byte_fallback": False,
    }
    settings: dict[str, Any] = {
        "pre_tokenizer": metaspace,
        "decoder": metaspace,
        "added_tokens": [added("<unk>", 0), added("</s>", 1)],
        **parts,
    }
    return tokenizer(model, **settings)


def word_piece(*, cleanup: bool = True, **parts: Any) -> bytes:
    """BERT's kind: words and their continuations."""
    pieces = ["[UNK]", "[SEP]", "hello", "wor", "##ld", "##s", ".", "!", "'", "s", "not", "do"]
    model = {
        "type": "WordPiece",
        "vocab": {piece: i for i, piece in enumerate(pieces)},
        "unk_token": "[UNK]",
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 100,
    }
    settings: dict[str, Any] = {
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": cleanup},
        "added_tokens": [added("[UNK]", 0), added("[SEP]", 1)],
        **parts,
    }
    return tokenizer(model, **settings)
