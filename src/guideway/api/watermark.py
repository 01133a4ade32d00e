"""`gw.Watermark`: a secret key and how it marks texts; `detect` finds the mark without a model."""

import math
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias, cast, final, get_args

from guideway.api.detect import Detection, Query
from guideway.errors import SourceError
from guideway.logits.expr import number
from guideway.sampling.watermarks.scheme import GREEN, Kind, Scheme, secret_of
from guideway.syntax.sources import check_text

CONTEXTS: Final = {"left": 1, "min": 4, "self": 3, "unigram": 0, "synthid": 4, "gumbel": 4}
MOST_CONTEXT: Final = 64
MOST_DEPTH: Final = 53
Stage: TypeAlias = Literal["filtered", "logits"]
Among: TypeAlias = Literal["allowed", "vocabulary"]


@final
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
        given = cast("object", self.key)
        if (
            isinstance(given, bool)
            or not isinstance(given, str | bytes | int)
            or given in ("", b"")
        ):
            raise SourceError("the key must be a whole number, or a non-empty text or bytes")
        if isinstance(given, str):
            check_text(given, "the key of a watermark")
        _one_of("scheme", self.scheme, get_args(Kind))
        _one_of("stage", self.stage, get_args(Stage))
        _one_of("among", self.among, get_args(Among))
        for name, value in self._own().items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, value)
        if self.gamma is not None:
            number(self.gamma, "gamma", 1e-6, 1 - 1e-6)
        if self.delta is not None and self.delta != math.inf:
            number(self.delta, "delta", 0, 100)
        if self.context == -1:
            object.__setattr__(self, "context", CONTEXTS[self.scheme])
        least = 0 if self.scheme == "unigram" else 1
        _count("context", self.context, least, MOST_CONTEXT if least else 0)
        if self.depth is not None:
            _count("depth", self.depth, 1, MOST_DEPTH)
        if self.stage == "logits" and self.scheme not in GREEN:
            raise SourceError(f"stage='logits' is for green lists only, not for {self.scheme}")

    def _own(self) -> dict[str, float | None]:
        """Defaults of the settings of this scheme; those of other schemes are refused."""
        green, tournament = self.scheme in GREEN, self.scheme == "synthid"
        for name in ("gamma", "delta") if not green else ():
            if getattr(self, name) is not None:
                raise SourceError(f"{name} is for green lists only, not for {self.scheme}")
        if self.depth is not None and not tournament:
            raise SourceError(f"depth is for synthid only, not for {self.scheme}")
        return {"depth": 30} if tournament else ({"gamma": 0.25, "delta": 2.0} if green else {})

    @property
    def settings(self) -> Scheme:
        """The settings for the generation loop."""
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
        _one_of("repeated", repeated, ("once", "all"))
        query = Query(self.settings, constraint, repeated == "once", model, prompt)
        return query.answer(text_or_tokens, tokenizer)


def _one_of(name: str, given: object, known: tuple[str, ...]) -> None:
    if given not in known:
        raise SourceError(f"{name} is {given!r}: it must be one of {', '.join(map(repr, known))}")


def _count(name: str, given: object, low: int, high: int) -> None:
    if not isinstance(given, int) or isinstance(given, bool) or not low <= given <= high:
        raise SourceError(f"{name} is {given!r}: it must be a whole number from {low} to {high}")
