"""Read from a tokenizer's configuration how it cuts text: normalise, split, merge.

    text ─ added tokens ─▶ the rest ─ normaliser ─▶ ─ pre-tokenizer ─▶ pieces ─ BPE ─▶ tokens

Supported is what `canonical.tokens` can follow exactly; anything else is refused by name:

    model           BPE with byte fallback and whole pieces that merges do not make
    pre-tokenizer   Split by a pattern (`splitting`), ByteLevel, Digits, Metaspace; or none
    normaliser      Unicode forms (texts must be in that form), one character for another, a space
                    before a text
    added tokens    matched literally, leftmost, then longest

The space that a tokenizer adds before a text is left out, so texts are cut alike everywhere.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from guideway.errors import brief
from guideway.vocabulary.backend import Backend, Config, steps
from guideway.vocabulary.canonical.merges import Merges
from guideway.vocabulary.canonical.splitting import (
    GPT2,
    Characters,
    Program,
    Splitter,
    not_canonical,
    read_pattern,
)
from guideway.vocabulary.decoding import BYTE_PIECE

FORMS: Final = frozenset({"NFC", "NFKC", "NFD", "NFKD"})
DIGIT: Final = r"\p{N}"


@dataclass(frozen=True, slots=True, eq=False)
class Tokenization:
    """The steps by which a tokenizer cuts texts.

    Attributes:
        merges: tokens that may be neighbours.
        pieces: ids that BPE can give.
        merged: those that merges make.
        alone: the others, which are always a whole piece.
        excluded: BPE's tokens for the texts of `alone`: never a whole piece.
        fallback: ids of single bytes.
        characters: sorts of characters.
        known: characters that are tokens, None without fallback.
        splitters: splitters, the coarsest first.
        added: texts of the added tokens, by id.
        tokenizer: encodes without adding a prefix.
    """

    merges: Merges
    pieces: frozenset[int]
    merged: frozenset[int]
    alone: frozenset[int]
    excluded: tuple[tuple[int, ...], ...]
    fallback: frozenset[int]
    characters: Characters
    known: frozenset[str] | None
    splitters: tuple[Splitter, ...]
    added: Mapping[int, str]
    tokenizer: Backend


def read_tokenization(backend: Backend) -> Tokenization:
    """The tokenization of `backend`; unsupported parts are refused by name."""
    model = _read_model(backend)
    vocab: Mapping[str, int] = model["vocab"]
    replaced, forms = _read_normalizer(backend)
    programs = _read_splits(backend, replaced)
    added = _read_added(backend, replaced)
    fallback = frozenset(
        number
        for piece, number in vocab.items()
        if model["byte_fallback"] and BYTE_PIECE.fullmatch(piece)
    )
    symbols = {
        number: parts
        for piece, number in vocab.items()
        if (parts := ((number,) if number in fallback else _symbols(piece, vocab)))
    }
    pairs = (m.split(" ") if isinstance(m, str) else m for m in model["merges"])
    rules = [(vocab[left], vocab[right], vocab[left + right]) for left, right in pairs]
    merges = Merges(1 + max(vocab.values(), default=0), rules, symbols)
    whole = frozenset(n for n in symbols if merges.whole[n] and n not in added)
    others = frozenset(symbols) - whole - frozenset(added)
    alone = others if model["ignore_merges"] else frozenset[int]()
    return Tokenization(
        merges=merges,
        pieces=whole | alone,
        merged=whole,
        alone=alone,
        excluded=tuple(merges.cut(symbols[number]) for number in sorted(alone)),
        fallback=fallback,
        characters=Characters([each.atoms for each in programs], replaced, forms),
        known=_single_tokens(vocab, replaced) if fallback else None,
        splitters=tuple(map(Splitter, programs)),
        added=added,
        tokenizer=_plain(backend),
    )


def _read_model(backend: Backend) -> dict[str, Any]:
    model = backend.tokenizer.model
    kind = type(model).__name__
    if kind != "BPE":
        raise not_canonical(f"its model is {kind}, not BPE")
    state: dict[str, Any] = json.loads(model.__getstate__())
    for setting in ("dropout", "continuing_subword_prefix", "end_of_word_suffix"):
        if state.get(setting):
            raise not_canonical(f"its model sets {setting} to {state[setting]!r}")
    return state


def _read_normalizer(backend: Backend) -> tuple[dict[str, str], Callable[[str], str] | None]:
    """Characters that become others, and Unicode's forms."""
    from tokenizers import normalizers

    replaced: dict[str, str] = {}
    forms: list[Any] = []
    for step in steps(backend.normalizer, "normalizers"):
        match step:
            case {"type": "Prepend"}:
                continue  # `_plain` leaves it out
            case {"type": "Replace", "pattern": {"String": str(old)}, "content": str(new)} if (
                len(old) == len(new) == 1
            ):
                replaced[old] = new
            case {"type": kind} if kind in FORMS:
                forms.append(getattr(normalizers, kind)())
            case _:
                raise not_canonical(
                    f"its normalizer has the step {brief(dict(step))} (supported: NFC, NFD, NFKC, "
                    "NFKD, Prepend, and Replace of one character by another)"
                )
    for step in steps(backend.pre_tokenizer, "pretokenizers"):
        if step["type"] == "Metaspace":
            replaced[" "] = step["replacement"]
    whole: Any = normalizers.Sequence(forms)
    return replaced, whole.normalize_str if forms else None


def _read_splits(backend: Backend, replaced: Mapping[str, str]) -> list[Program]:
    """The patterns by which texts are split, one after the other."""
    found: list[str] = []
    done = False
    for place, step in enumerate(steps(backend.pre_tokenizer, "pretokenizers")):
        pattern = None if done else _pattern(step, replaced, first=place == 0)
        if pattern is None:
            raise not_canonical(
                f"its pre-tokenizer has the step {brief(dict(step), 100)} here (supported: an "
                "isolating Split, Digits, Metaspace, and ByteLevel at the end)"
            )
        found += [pattern] if pattern else []
        done = step["type"] == "ByteLevel"  # what comes after that splits bytes
    return [read_pattern(pattern) for pattern in found]


def _pattern(step: Config, replaced: Mapping[str, str], *, first: bool) -> str | None:
    """Split pattern of a step, "" for none, None if unsupported."""
    match step:
        case {"type": "ByteLevel", "add_prefix_space": False}:
            return GPT2 if step.get("use_regex", True) else ""
        case {"type": "Digits", "individual_digits": alone}:
            return r"\p{N}|[^\p{N}]+" if alone else r"\p{N}+|[^\p{N}]+"
        case {"type": "Metaspace", "replacement": str(mark)} if first:
            return f"{mark}[^{mark}]*|[^{mark}]+" if step.get("split", True) else ""
        case {"type": "Split", "pattern": {"String": str(text)}} if set(text) & set(replaced):
            return ""  # it is nowhere when the text is split
        case {"type": "Split", "pattern": {"Regex": str(text)}, "behavior": "Isolated"} | {
            "type": "Split",
            "pattern": {"Regex": str(text)},
            "behavior": "Removed",
            "invert": True,
        }:
            return text
        case _:
            return None


def _read_added(backend: Backend, replaced: Mapping[str, str]) -> dict[int, str]:
    known = backend.tokenizer.get_added_tokens_decoder()
    for number, token in backend.added.items():
        if known[number].single_word or (token.strips and not token.special):
            raise not_canonical(
                f"its added token {token.content!r} depends on the text beside it (single_word, "
                "lstrip or rstrip)"
            )
    lost = set(replaced.values())  # no text has these, when added tokens are looked for
    return {
        number: token.content
        for number, token in backend.added.items()
        if not lost & set(token.content)
    }


def _symbols(piece: str, vocab: Mapping[str, int]) -> tuple[int, ...]:
    """Initial symbols of a piece: characters, or their bytes; () if it has neither."""
    found: list[int] = []
    for char in piece:
        names = [char] if char in vocab else [f"<0x{byte:02X}>" for byte in char.encode()]
        if not all(name in vocab for name in names):
            return ()
        found += [vocab[name] for name in names]
    return tuple(found)


def _single_tokens(vocab: Mapping[str, int], replaced: Mapping[str, str]) -> frozenset[str]:
    """Characters that are tokens, as in a text."""
    plain = {piece for piece in vocab if len(piece) == 1 and piece not in replaced.values()}
    return frozenset(plain | {old for old, new in replaced.items() if new in vocab})


def _plain(backend: Backend) -> Backend:
    """The same tokenizer, without steps that add a prefix to texts."""
    normal = steps(backend.normalizer, "normalizers")
    split = steps(backend.pre_tokenizer, "pretokenizers")
    kinds = {step["type"] for step in normal} | {
        step["type"] for step in split if step.get("prepend_scheme", "never") != "never"
    }
    if not kinds & {"Prepend", "Metaspace"}:
        return backend
    from tokenizers import Tokenizer

    whole = json.loads(backend.tokenizer.to_str())
    kept = [step for step in normal if step["type"] != "Prepend"]
    whole["normalizer"] = {"type": "Sequence", "normalizers": kept}
    bare = [
        {**step, "prepend_scheme": "never"} if step["type"] == "Metaspace" else dict(step)
        for step in split
    ]
    if split:
        whole["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": bare}
    return replace(backend, tokenizer=Tokenizer.from_str(json.dumps(whole)))
