"""`fl.Watermark`: a secret key and how it marks texts; `detect` finds the mark again.

A model marks what it generates (`model.watermarked(watermark)`); whoever has the key and the
tokenizer can tell. No model is needed for that.
"""

import math
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias, cast, final, get_args

from fairlead.api.detect import Detection, Query
from fairlead.errors import SourceError
from fairlead.logits.expr import number
from fairlead.sampling.watermarks.scheme import GREEN, Kind, Scheme, secret_of

CONTEXTS: Final = {"left": 1, "min": 4, "self": 3, "unigram": 0, "synthid": 4, "gumbel": 4}
MOST_CONTEXT: Final = 64
MOST_DEPTH: Final = 53
Stage: TypeAlias = Literal["filtered", "logits"]
Among: TypeAlias = Literal["allowed", "vocabulary"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Watermark:
    """How texts are marked, and with which key.

    Example:
        >>> mark = Watermark(key="secret", gamma=0.5, delta=2.0)
        >>> mark
        Watermark(scheme='left', gamma=0.5, delta=2.0, context=1, stage='filtered', ...)
        >>> mark.detect([1, 2, 3, 4]).counted
        3

    Attributes:
        key: the secret: a text, bytes, or a number. It is never printed.
        scheme: "left": tokens are green or not by the tokens just before; "min": by the least hash
            of these; "self": by theirs and the token's own; "unigram": always the same ones are
            green; "synthid": SynthID-text's tournament; "gumbel": the noise of the draw is keyed
            (Aaronson).
        gamma: the share of green tokens.
        delta: what is added to the logits of green tokens; `math.inf` forbids the others ("hard").
        context: how many previous tokens take part; by default 1, and 4 for min, synthid and
            gumbel, 3 for self, 0 for unigram. The first so many tokens of a text are not marked.
        stage: "filtered" marks after temperature and filters; "logits" before, as in the original
            code of green lists: at temperature t, δ is then worth δ / t.
        among: "allowed" chooses green tokens among those that a constraint allows, and leaves
            forced positions alone; "vocabulary" colours all tokens whatever the constraint.
        depth: layers of SynthID's tournament.

    Raises:
        SourceError: a value is not one of these.
    """

    key: str | bytes | int = field(repr=False)
    scheme: Kind = "left"
    gamma: float = 0.25
    delta: float = 2.0
    context: int = -1
    stage: Stage = "filtered"
    among: Among = "allowed"
    depth: int = 30

    def __post_init__(self) -> None:
        """Check every value once."""
        given = cast("object", self.key)
        if (
            isinstance(given, bool)
            or not isinstance(given, str | bytes | int)
            or given in ("", b"")
        ):
            raise SourceError(
                "the key of a watermark is a text, bytes or a whole number, not empty"
            )
        _one_of("scheme", self.scheme, get_args(Kind))
        _one_of("stage", self.stage, get_args(Stage))
        _one_of("among", self.among, get_args(Among))
        number(self.gamma, "gamma", 1e-6, 1 - 1e-6)
        if self.delta != math.inf:
            number(self.delta, "delta", 0, 100)
        if self.context == -1:
            object.__setattr__(self, "context", CONTEXTS[self.scheme])
        least = 0 if self.scheme == "unigram" else 1
        _count("context", self.context, least, MOST_CONTEXT if least else 0)
        _count("depth", self.depth, 1, MOST_DEPTH)
        if self.stage == "logits" and self.scheme not in GREEN:
            raise SourceError(f"stage='logits' is for green lists: {self.scheme} is in the draw")

    @property
    def settings(self) -> Scheme:
        """The watermark as the loop has it."""
        return Scheme(
            secret_of(self.key),
            self.scheme,
            self.context,
            float(self.gamma),
            float(self.delta),
            early=self.stage == "logits",
            within=self.among == "allowed",
            depth=self.depth,
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
        """Look for the mark in a text, or in its tokens.

        Args:
            text_or_tokens: a text, which is encoded, or token ids as they were generated.
            tokenizer: of the model that would have generated it: a transformers tokenizer, a
                fairlead model, a `Vocabulary`, or a tokenizer.json; tokens in free text need none.
            constraint: what held the text, as `generate` had it or compiled.
            model: a fairlead model whose entropies weigh the tokens: `weighted_z`.
            prompt: what that model was asked.
            repeated: "once" counts what repeats itself once; "all" always, as the first detectors
                did, which makes z greater than it is.

        Raises:
            SourceError: it is neither; or not in the constraint's language, naming the place.
            ModelError: the tokenizer is none.
            UnsupportedError: entropies are asked for with SynthID or Gumbel.
        """
        _one_of("repeated", repeated, ("once", "all"))
        query = Query(self.settings, constraint, repeated == "once", model, prompt)
        return query.answer(text_or_tokens, tokenizer)


def _one_of(name: str, given: object, known: tuple[str, ...]) -> None:
    if given not in known:
        raise SourceError(f"{name} is {given!r}: it must be one of {', '.join(map(repr, known))}")


def _count(name: str, given: object, low: int, high: int) -> None:
    if not isinstance(given, int) or isinstance(given, bool) or not low <= given <= high:
        raise SourceError(f"{name} is {given!r}: it must be a count from {low} to {high}")
