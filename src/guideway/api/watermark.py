"""`gw.Watermark`: a secret key and how it marks texts; `detect` finds the mark without a model.

Spike entropies of a model are weights of a detector's tokens (Kirchenbauer et al. 2023): S = Σ p /
(1 + z p) with z = (1 − γ)(α − 1) / (1 + (α − 1) γ), α = exp δ. A mark is strong where many tokens
were likely. S is least, 1 / (1 + z), if one token has all probability, so a token's weight is S − 1
/ (1 + z). p is the model's distribution over allowed tokens after the same prompt.

Detection in a text or its tokens:

    text ─▶ tokens ─▶ which of them count ─▶ scores ─▶ z, p, the clearest part

A text is encoded by its tokenizer, which may differ from the generated tokens, so kept tokens are
better; `Detection.encoded` tells which was used. With a constraint, its states are replayed without
a model: forced positions are skipped, and green tokens are chosen among allowed ones.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Any, Final, Literal, TypeAlias, cast, get_args

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy.typing import NDArray
from torch import Tensor

from guideway.api.jobs import prompts_of, read_prompts
from guideway.api.model import Model, reader_of
from guideway.api.prompts import read_source, split_prompts
from guideway.automaton.token_tries import Row
from guideway.constraint.compile import compile as compile_source
from guideway.constraint.compiled import CompiledConstraint
from guideway.errors import ModelError, SourceError, TokenRejected, UnsupportedError
from guideway.generation.ensemble.ensemble import Ensemble
from guideway.generation.ensemble.prompt import Prompt, PromptReader
from guideway.generation.row.cursor import end_row, text_row
from guideway.logits.evaluate import Step, evaluate
from guideway.logits.expr import number
from guideway.logits.mask import unpack, upload
from guideway.logits.rescore import TextContext
from guideway.sources.sources import check_count, check_option, check_text
from guideway.vocabulary.vocabulary import Vocabulary
from guideway.watermark.evidence import Window, clearest, evidence, weighted
from guideway.watermark.scheme import GREEN, Kind, Scheme, forced, secret_of

PIECE: Final = 128  # tokens in one forward


def spike_entropy(row: Float[Tensor, "batch vocabulary"], modulus: float) -> Float[Tensor, "batch"]:
    """Σ p / (1 + z p) of each row of logits.

    >>> spike_entropy(torch.zeros(1, 4), 4.0).item()
    0.5
    """
    p = row.softmax(1)
    return (p / (1 + modulus * p)).sum(1)


def modulus(gamma: float, delta: float) -> float:
    """The z of spike entropy for a watermark.

    >>> round(modulus(0.5, 2.0), 4), modulus(0.25, math.inf)
    (0.7616, 3.0)
    """
    if math.isinf(delta):
        return (1 - gamma) / gamma
    gain = math.expm1(delta)
    return (1 - gamma) * gain / (1 + gain * gamma)


def weights(
    model: Model, prompt: Any, tokens: Sequence[int], rows: Sequence[Row] | None, scheme: Scheme
) -> NDArray[np.float64]:
    """The weight of each token of a text: 0 for one that had to come."""
    factor = modulus(scheme.gamma, scheme.delta)
    found = np.array(spikes(model, prompt, tokens, rows, factor), np.float64)
    # In float32 a token of probability 1 is off by 1e-7.
    return np.where(found - 1 / (1 + factor) > 1e-6, found - 1 / (1 + factor), 0.0)


def spikes(
    model: Model, prompt: Any, tokens: Sequence[int], rows: Sequence[Row] | None, factor: float
) -> list[float]:
    """Spike entropy of the model before each token, with z = `factor`.

    `rows` are the allowed tokens of each position, None for any text; a watermark of the model is
    ignored.
    """
    ensemble = Ensemble(model.whole)
    width = ensemble.vocabulary.width
    found = list[float]()
    for start, logits in _pieces(ensemble, prompt, tokens):
        some = range(start, start + len(logits))
        each = [text_row(ensemble.vocabulary) if rows is None else rows[n] for n in some]
        allowed = unpack(upload(each, width, ensemble.device), width)
        values = logits.masked_fill(~allowed, -math.inf)
        found += spike_entropy(values, factor).tolist()  # pyright: ignore[reportUnknownMemberType]
    return found


@torch.inference_mode()
def _pieces(
    ensemble: Ensemble, prompt: Any, tokens: Sequence[int]
) -> Iterator[tuple[int, Float[Tensor, "tokens vocabulary"]]]:
    """The rows of an expression before each token, some at a time."""
    reads = read_prompts(ensemble, prompt)
    cache, logits = ensemble.prefill([prompts_of(reads)])
    everything: Bool[Tensor, "1 vocabulary"] = torch.ones(
        1, ensemble.vocabulary.width, dtype=torch.bool, device=ensemble.device
    )
    asked = prompt if isinstance(prompt, str) else ""

    def rows(logits: Any, first: int, count: int) -> Tensor:
        texts = list[TextContext]()
        if ensemble.reads_texts:
            texts = [
                TextContext.of(tokens[:n], ensemble.vocabulary, asked, reads[0].joint)
                for n in range(first, first + count)
            ]
        step = Step(logits, everything.expand(count, -1), ensemble.vocabulary, texts)
        return evaluate(ensemble.node, step).closed(None)

    if tokens:
        yield 0, rows(logits, 0, 1)
    for start in range(0, len(tokens) - 1, PIECE):
        piece = torch.tensor([tokens[start : min(start + PIECE, len(tokens) - 1)]])
        piece = piece.to(ensemble.device)
        cache, found = ensemble.extend(cache, piece)
        flat = {leaf: each[0] for leaf, each in found.items()}
        yield start + 1, rows(flat, start + 1, piece.shape[1])


SHOWN: Final = 40  # characters around a mistake
BYTES: Final = (bytes, bytearray, memoryview)  # of a text, or of an array: no tokens


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


def _compiled(constraint: object, reader: PromptReader | None) -> CompiledConstraint | None:
    if isinstance(constraint, CompiledConstraint):
        if reader is not None and not _same_tokens(reader.vocabulary, constraint.vocabulary):
            raise SourceError("the constraint was compiled for another vocabulary")
        return constraint
    if constraint is None:
        return None
    if reader is None:
        raise SourceError("constraint= needs the tokens of the text: give tokenizer= as well")
    source = read_source(constraint)
    return None if source is None else compile_source(source, reader.vocabulary)


def _check_model(
    model: object, prompt: object, scheme: Scheme, tokens: list[int], vocabulary: Vocabulary | None
) -> None:
    if not isinstance(model, Model):
        raise ModelError(f"model must be a guideway.Model, not {type(model).__name__}")
    if not scheme.colours:
        raise UnsupportedError(
            f"model= weighs tokens by entropy, which only green lists support, not {scheme.kind}; "
            "leave it out",
            feature=f"entropy weights with {scheme.kind}",
        )
    if vocabulary is not None and not _same_tokens(vocabulary, model.vocabulary):
        raise ModelError("model= has another vocabulary than the text")
    width = model.vocabulary.width
    if unknown := [token for token in tokens if token >= width]:
        raise SourceError(f"token {unknown[0]} is not one of the model's {width} tokens")
    prompts, several = split_prompts(prompt)
    if several:
        raise SourceError(f"prompt must be a single prompt, not a list of {len(prompts)}")


def _detected(
    scheme: Scheme,
    tokens: list[int],
    vocabulary: Vocabulary | None,
    rows: list[Row] | None,
    each: NDArray[np.float64] | None,
    *,
    once: bool,
    encoded: bool,
) -> Detection:
    """The evidence in tokens, with the allowed tokens of each position and its weight if known."""
    chosen = list(range(len(tokens)))
    skipped = [not _spells(vocabulary, token) for token in tokens]
    sets = list[Row]()
    exempt = 0
    if rows is not None and vocabulary is not None:
        free = [not forced(row, vocabulary) for row in rows]
        exempt = free.count(False)
        if scheme.within:  # what was forced is no context either
            chosen = [place for place in chosen if free[place]]
            sets = [rows[place] for place in chosen]
        skipped = [skip or not is_free for skip, is_free in zip(skipped, free, strict=True)]
    found = evidence(
        scheme,
        [tokens[place] for place in chosen],
        [skipped[place] for place in chosen],
        sets,
        once=once,
    )
    found = replace(found, places=np.array(chosen, np.int64)[found.places])
    ranked = (None, None) if each is None else weighted(found, each[found.places])
    means = float(found.means.sum()) / max(1, len(found.places))
    return Detection(
        z=found.z,
        p=found.p,
        green_fraction=found.share,
        expected=means / scheme.depth if scheme.kind == "synthid" else means,
        counted=len(found.places),
        tokens=len(tokens),
        repeated=found.repeated,
        exempt=exempt,
        encoded=encoded,
        window=clearest(found),
        weighted_z=ranked[0],
        weighted_p=ranked[1],
    )


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
    before = b"".join(map(constraint.vocabulary.spelling, tokens[:place])).decode(errors="replace")
    what = "ends too early" if place == len(tokens) else "leaves it"
    near = "…" + before[-SHOWN:] if len(before) > SHOWN else before
    return SourceError(
        f"the text is not in the language of the constraint: it {what} after {near!r}; leave "
        "constraint= out to examine any text",
        place=f"token {place}",
    )


def _tokens(given: object, reader: PromptReader | None) -> list[int]:
    if isinstance(given, str):
        if reader is None:
            raise SourceError("a text needs tokenizer=: a tokenizer, a model or a vocabulary")
        check_text(given, "the text")
        return list(reader.continuation(Prompt(()), given)) if given else []
    listed: Any = given
    if hasattr(given, "tolist") and not isinstance(given, BYTES):  # of numpy, or of torch
        listed = cast("Any", given).tolist()
    kind = cast("type[object]", type(listed))
    right = issubclass(kind, Sequence) and not issubclass(kind, BYTES)
    if not right or not all(map(_is_id, listed)):
        raise SourceError(
            f"text_or_tokens must be a text or a list of token ids, not {given!r}"[:300]
        )
    return [int(token) for token in listed]


def _is_id(given: object) -> bool:
    whole = isinstance(given, int | np.integer) and not isinstance(given, bool)
    return whole and 0 <= cast("int", given) < 1 << 31


def _same_tokens(one: Vocabulary, other: Vocabulary) -> bool:
    """Return True if two vocabularies have equal tokens, padding aside."""
    if one is other:
        return True
    pairs = zip_longest(one.tokens, other.tokens)
    return all((first or None) == (second or None) for first, second in pairs)


def _without_ends(tokens: list[int], vocabulary: Vocabulary) -> list[int]:
    count = len(tokens)
    while count and tokens[count - 1] in vocabulary.eos_ids:
        count -= 1
    return tokens[:count]


def _spells(vocabulary: Vocabulary | None, token: int) -> bool:
    """Return True if a token is text; others are never marked."""
    if vocabulary is None:
        return True
    return bool(vocabulary.spelling(token)) and token not in vocabulary.eos_ids


CONTEXTS: Final = {"left": 1, "min": 4, "self": 3, "unigram": 0, "synthid": 4, "gumbel": 4}
MOST_CONTEXT: Final = 64
MOST_DEPTH: Final = 53
Stage: TypeAlias = Literal["filtered", "logits"]
Among: TypeAlias = Literal["allowed", "vocabulary"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Watermark:
    """A watermark: a secret key and the way it marks texts.

    Example:
        >>> mark = Watermark(key="secret", gamma=0.5, delta=2.0)
        >>> mark
        Watermark(scheme='left', gamma=0.5, delta=2.0, context=1, stage='filtered', ...)
        >>> mark.detect([1, 2, 3, 4]).counted
        3

    Attributes:
        key: the secret: a text, bytes, or a number. It is never printed.
        scheme: "left": the previous tokens decide which tokens are green; "min": the least hash
            of them; "self": their hashes and the token's own; "unigram": the same tokens are always
            green; "synthid": SynthID-text's tournament; "gumbel": the key makes the noise of the
            draw (Aaronson).
        gamma: share of green tokens, by default 0.25. Green lists only.
        delta: number added to the logits of green tokens, by default 2; `math.inf` forbids other
            tokens. Green lists only.
        context: number of previous tokens that take part: by default 1, and 4 for min, synthid and
            gumbel, 3 for self, 0 for unigram. So many tokens at the start are not marked.
        stage: "filtered" marks after temperature and filters; "logits" before them, as in the
            original code of green lists: at temperature t, δ is then worth δ / t. Green lists only.
        among: "allowed" chooses green tokens among the allowed ones and skips forced positions;
            "vocabulary" colours all tokens, whatever the constraint.
        depth: layers of SynthID's tournament, by default 30; None for other schemes.

    Raises:
        SourceError: a value is unknown or out of range, or has no meaning for the scheme.
    """

    key: str | bytes | int = field(repr=False)
    scheme: Kind = "left"
    gamma: float | None = None
    delta: float | None = None
    context: int = -1
    stage: Stage = "filtered"
    among: Among = "allowed"
    depth: int | None = None

    def __post_init__(self) -> None:
        """Check every value once."""
        _check_key(self.key)
        check_option("scheme", self.scheme, get_args(Kind))
        check_option("stage", self.stage, get_args(Stage))
        check_option("among", self.among, get_args(Among))
        green = {"gamma": 0.25, "delta": 2.0} if self.scheme in GREEN else {}
        own: dict[str, float] = {"depth": 30} if self.scheme == "synthid" else green
        for name, of in (("gamma", "green lists"), ("delta", "green lists"), ("depth", "synthid")):
            if getattr(self, name) is None:
                object.__setattr__(self, name, own.get(name))
            elif name not in own:
                raise SourceError(f"{name} is for {of} only, not for {self.scheme}")
        if self.gamma is not None:
            number(self.gamma, "gamma", 1e-6, 1 - 1e-6)
        if self.delta is not None and self.delta != math.inf:
            number(self.delta, "delta", 0, 100)
        if self.context == -1:
            object.__setattr__(self, "context", CONTEXTS[self.scheme])
        least = 0 if self.scheme == "unigram" else 1
        check_count("context", self.context, least, MOST_CONTEXT if least else 0)
        if self.depth is not None:
            check_count("depth", self.depth, 1, MOST_DEPTH)
        if self.stage == "logits" and self.scheme not in GREEN:
            raise SourceError(f"stage='logits' is for green lists only, not for {self.scheme}")

    @property
    def settings(self) -> Scheme:
        own = {"gamma": self.gamma, "delta": self.delta, "depth": self.depth}
        known = {name: value for name, value in own.items() if value is not None}
        return Scheme(
            *(secret_of(self.key), self.scheme, self.context),
            early=self.stage == "logits",
            within=self.among == "allowed",
            **cast("dict[str, Any]", known),
        )

    def detect(
        self,
        text_or_tokens: Any,
        tokenizer: Any = None,
        constraint: Any = None,
        *,
        model: Any = None,
        prompt: Any = "",
        repeated: Literal["once", "all"] = "once",
    ) -> Detection:
        """Look for the mark in a text or in its tokens.

        Args:
            text_or_tokens: a text, which is encoded, or the generated token ids as a list, array or
                tensor. With a constraint, give the text if the tokens go beyond it: after a stop
                string or a healed prompt.
            tokenizer: the tokenizer of the generating model: a transformers tokenizer, a guideway
                model, a `Vocabulary`, or a tokenizer.json. Tokens of free text need none.
            constraint: the source or compiled constraint of the text.
            model: a guideway model whose entropy weighs the tokens, for `weighted_z`. It is the
                tokenizer if none is given.
            prompt: the prompt of that model.
            repeated: "once" counts each repeated context once; "all" counts it every time, as the
                first detectors did, which overstates z.

        Raises:
            SourceError: the input is no text and no tokens, or not in the constraint's language;
                the message names the place.
            ModelError: the tokenizer or model is missing, or they do not fit together.
            UnsupportedError: entropies are asked for with SynthID or Gumbel.
        """
        check_option("repeated", repeated, ("once", "all"))
        scheme, given = self.settings, model if tokenizer is None else tokenizer
        reader = None if given is None else reader_of(given)
        compiled = _compiled(constraint, reader)
        known = reader if compiled is None else compiled
        vocabulary = None if known is None else known.vocabulary
        tokens = _tokens(text_or_tokens, reader)
        if model is not None:
            _check_model(model, prompt, scheme, tokens, vocabulary)
        if vocabulary is not None:
            tokens = _without_ends(tokens, vocabulary)
        rows = None if compiled is None else replayed(compiled, tokens)
        each = None if model is None else weights(model, prompt, tokens, rows, scheme)
        how = {"once": repeated == "once", "encoded": isinstance(text_or_tokens, str)}
        return _detected(scheme, tokens, vocabulary, rows, each, **how)


def _check_key(given: object) -> None:
    right = isinstance(given, str | bytes | int) and not isinstance(given, bool)
    if not right or given in ("", b""):
        raise SourceError("the key must be a whole number, or a non-empty text or bytes")
    if isinstance(given, str):
        check_text(given, "the key of a watermark")
