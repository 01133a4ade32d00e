"""Detect a watermark in a text or its tokens.

    text ─▶ tokens ─▶ which of them count ─▶ scores ─▶ z, p, the clearest part

A text is encoded by its tokenizer, which may differ from the generated tokens, so kept tokens are
better; `Detection.encoded` tells which was used. With a constraint, its states are replayed without
a model: forced positions are skipped, and green tokens are chosen among allowed ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final, cast, final

import numpy as np

from guideway.api.model import Model
from guideway.api.prompts import read_source, split_prompts
from guideway.api.spikes import weights
from guideway.constraints.compile import compile as compile_source
from guideway.constraints.compiled import CompiledConstraint
from guideway.engine.cursor import end_row
from guideway.engine.prompt import Prompt, PromptReader
from guideway.errors import ModelError, SourceError, TokenRejected, UnsupportedError
from guideway.masks.forest import Row
from guideway.sampling.watermarks.evidence import Window, clearest, evidence, weighted
from guideway.sampling.watermarks.positions import forced
from guideway.sampling.watermarks.scheme import Scheme
from guideway.syntax.sources import check_text
from guideway.vocabulary.backend import Backend
from guideway.vocabulary.spellings import Vocabulary

SHOWN: Final = 40  # characters around a mistake
BYTES: Final = (bytes, bytearray, memoryview)  # of a text, or of an array: no tokens


@final
@dataclass(frozen=True, slots=True)
class Detection:
    """The evidence of a watermark in a text.

    Attributes:
        z: standard deviations by which the mark exceeds chance.
        p: exact probability of as much or more without the mark, or with another key.
        green_fraction: share of green tokens; for SynthID share of bits that are 1 (½ by chance);
            for Gumbel the mean of −ln(1 − r) (1 by chance).
        expected: that share by chance.
        counted: number of tokens that count.
        tokens: number of tokens of the text.
        repeated: tokens left out because their context came before.
        exempt: tokens left out because the constraint allowed no choice.
        encoded: whether a text was encoded; False if tokens were given.
        window: the part of the text where the mark is clearest; None below 16 tokens.
        weighted_z: z with tokens weighed by the model's entropy; None without a model.
        weighted_p: exact probability of as much or more by chance.
    """

    z: float
    p: float
    green_fraction: float
    expected: float
    counted: int
    tokens: int
    repeated: int
    exempt: int
    encoded: bool
    window: Window | None
    weighted_z: float | None = None
    weighted_p: float | None = None


@final
@dataclass(frozen=True, slots=True)
class Query:
    """Arguments of a detection.

    Attributes:
        constraint: compiled or any source; None for free text.
        once: count repeated contexts once.
        model: model whose entropies weigh the tokens.
        prompt: the prompt of that model.
    """

    scheme: Scheme
    constraint: object = None
    once: bool = True
    model: Model | None = None
    prompt: Any = ""

    def answer(self, given: object, tokenizer: object) -> Detection:
        """The detection in a text or in tokens."""
        reader = reader_of(self.model if tokenizer is None else tokenizer)
        constraint = self._compiled(reader)
        if constraint is not None:
            vocabulary = constraint.vocabulary
        elif reader is not None:
            vocabulary = reader.vocabulary
        else:
            vocabulary = None
        tokens = _tokens(given, reader)
        self._check_model(tokens, vocabulary)
        if vocabulary is not None:
            tokens = _without_ends(tokens, vocabulary)
        rows = None if constraint is None else replayed(constraint, tokens)
        return self._judged(tokens, vocabulary, rows, encoded=isinstance(given, str))

    def _compiled(self, reader: PromptReader | None) -> CompiledConstraint | None:
        if isinstance(self.constraint, CompiledConstraint):
            if reader is not None and not _alike(reader.vocabulary, self.constraint.vocabulary):
                raise SourceError("the constraint was compiled for another vocabulary")
            return self.constraint
        if self.constraint is None:
            return None
        if reader is None:
            raise SourceError("constraint= needs the tokens of the text: give tokenizer= as well")
        source = read_source(self.constraint)
        return None if source is None else compile_source(source, reader.vocabulary)

    def _check_model(self, tokens: list[int], vocabulary: Vocabulary | None) -> None:
        if self.model is None:
            return
        if not isinstance(self.model, Model):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ModelError(f"model must be a guideway.Model, not {type(self.model).__name__}")
        if not self.scheme.colours:
            raise UnsupportedError(
                f"model= weighs tokens by entropy, which only green lists support, not "
                f"{self.scheme.kind}; leave it out",
                feature=f"entropy weights with {self.scheme.kind}",
            )
        if vocabulary is not None and not _alike(vocabulary, self.model.vocabulary):
            raise ModelError("model= has another vocabulary than the text")
        width = self.model.vocabulary.width
        if unknown := [token for token in tokens if token >= width]:
            raise SourceError(f"token {unknown[0]} is not one of the model's {width} tokens")
        prompts, several = split_prompts(self.prompt)
        if several:
            raise SourceError(f"prompt must be a single prompt, not a list of {len(prompts)}")

    def _judged(
        self,
        tokens: list[int],
        vocabulary: Vocabulary | None,
        rows: list[Row] | None,
        *,
        encoded: bool,
    ) -> Detection:
        chosen = list(range(len(tokens)))
        skipped = [not _spells(vocabulary, token) for token in tokens]
        sets = list[Row]()
        exempt = 0
        if rows is not None and vocabulary is not None:
            free = [not forced(row, vocabulary) for row in rows]
            exempt = free.count(False)
            if self.scheme.within:  # what was forced is no context either
                chosen = [place for place in chosen if free[place]]
                sets = [rows[place] for place in chosen]
            skipped = [skip or not is_free for skip, is_free in zip(skipped, free, strict=True)]
        found = evidence(
            self.scheme,
            [tokens[place] for place in chosen],
            [skipped[place] for place in chosen],
            sets,
            once=self.once,
        )
        found = replace(found, places=np.array(chosen, np.int64)[found.places])
        ranked = None
        if self.model is not None:
            each = weights(self.model, self.prompt, tokens, rows, self.scheme)
            ranked = weighted(found, each[found.places])
        means = float(found.means.sum()) / max(1, len(found.places))
        return Detection(
            z=found.z,
            p=found.p,
            green_fraction=found.share,
            expected=means / self.scheme.depth if self.scheme.kind == "synthid" else means,
            counted=len(found.places),
            tokens=len(tokens),
            repeated=found.repeated,
            exempt=exempt,
            encoded=encoded,
            window=clearest(found),
            weighted_z=None if ranked is None else ranked[0],
            weighted_p=None if ranked is None else ranked[1],
        )


def reader_of(tokenizer: object) -> PromptReader | None:
    """A reader of texts for any kind of tokenizer; None for None."""
    if tokenizer is None:
        return None
    if isinstance(tokenizer, Model):
        return PromptReader(tokenizer.vocabulary, tokenizer.tokenizer)
    if isinstance(tokenizer, Vocabulary):
        return PromptReader(tokenizer)
    if isinstance(tokenizer, str | Path):
        path = Path(tokenizer)
        file = path / "tokenizer.json" if path.is_dir() else path
        vocabulary = Vocabulary.from_tokenizer_json(file)
        return PromptReader(vocabulary, _Encoder(Backend.load(file.read_bytes(), str(file))))
    return PromptReader(Vocabulary.from_transformers(tokenizer), tokenizer)


@final
@dataclass(frozen=True, slots=True)
class _Encoder:
    """A tokenizer.json where a transformers tokenizer is expected."""

    backend: Backend

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
        """The ids of a text; none where it cannot be encoded."""
        return self.backend.encode(text) or []


def replayed(constraint: CompiledConstraint, tokens: Sequence[int]) -> list[Row]:
    """The allowed tokens before each token, without ends; other texts are refused."""
    vocabulary = constraint.vocabulary
    refused: SourceError | None = None
    for lead in dict.fromkeys((b"", vocabulary.lead, b" ", b"\n")):  # a joint is not in the text
        try:
            return _rows(constraint, tokens, lead)
        except SourceError as error:
            refused = refused or error
    raise cast("SourceError", refused)


def _rows(constraint: CompiledConstraint, tokens: Sequence[int], lead: bytes) -> list[Row]:
    ends = end_row(constraint.vocabulary)
    state = constraint.start(lead)
    rows = list[Row]()
    for place, token in enumerate(tokens):
        rows.append(constraint.mask(state) & ~ends)
        try:
            state = constraint.advance(state, token)
        except TokenRejected:
            raise _outside(constraint, tokens, place) from None
    if not constraint.accepts(state):
        raise _outside(constraint, tokens, len(tokens))
    return rows


def _outside(constraint: CompiledConstraint, tokens: Sequence[int], place: int) -> SourceError:
    """Return the error for a text outside the language, with the place where it leaves it."""
    known = constraint.vocabulary.tokens
    spelled = [(known[token] if 0 <= token < len(known) else None) or b"" for token in tokens]
    before = b"".join(spelled[:place]).decode(errors="replace")
    what = "ends too early" if place == len(tokens) else "leaves it"
    near = "…" + before[-SHOWN:] if len(before) > SHOWN else before
    return SourceError(
        f"the text is not in the language of the constraint: it {what} after {near!r}; leave "
        "constraint= out to examine any text",
        place=f"token {place}",
    )


def _tokens(given: object, reader: PromptReader | None) -> list[int]:
    """Tokens of a text, or the given tokens."""
    if isinstance(given, str):
        if reader is None:
            raise SourceError("a text needs tokenizer=: a tokenizer, a model or a vocabulary")
        check_text(given, "the text")
        return list(reader.continuation(Prompt(()), given)) if given else []
    if hasattr(given, "tolist") and getattr(given, "ndim", 1) == 1:  # of numpy, or of torch
        given = cast("Any", given).tolist()
    listed = isinstance(given, Sequence) and not isinstance(given, BYTES)
    found = [_id(each) for each in cast("Sequence[object]", given)] if listed else [-1]
    if -1 in found:
        raise SourceError(
            f"text_or_tokens must be a text or a list of token ids, not {given!r}"[:300]
        )
    return found


def _id(given: object) -> int:
    """A token id, −1 for what is none."""
    if isinstance(given, bool) or not isinstance(given, int | np.integer):
        return -1
    token = int(cast("int", given))
    return token if 0 <= token < 1 << 31 else -1


def _alike(one: Vocabulary, other: Vocabulary) -> bool:
    """Return True if two vocabularies have equal tokens, padding aside."""
    if one is other:
        return True
    pairs = zip_longest(one.tokens, other.tokens)
    return all((first or None) == (second or None) for first, second in pairs)


def _without_ends(tokens: list[int], vocabulary: Vocabulary) -> list[int]:
    """The tokens before the end ids at their end."""
    count = len(tokens)
    while count and tokens[count - 1] in vocabulary.eos_ids:
        count -= 1
    return tokens[:count]


def _spells(vocabulary: Vocabulary | None, token: int) -> bool:
    """Return True if a token is text; others are never marked."""
    if vocabulary is None:
        return True
    known = vocabulary.tokens
    return token < len(known) and bool(known[token]) and token not in vocabulary.eos_ids
