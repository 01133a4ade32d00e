"""Classifiers as a term of an expression: their protocol, and the settings of guidance.

A `Classifier` maps texts to log P(wanted class | text). A `ClassifierTerm` adds its weight, and the
rules for when it runs and on which tokens; `rescore` does the arithmetic. Results are checked:
wrong shapes, NaN and positive log-probabilities are errors; −∞ (impossible) is allowed.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import (
    Any,
    Final,
    Literal,
    Protocol,
    TypeAlias,
    TypeGuard,
    TypeVar,
    cast,
    get_args,
    runtime_checkable,
)

import torch
from jaxtyping import Float
from torch import Tensor

from guideway.errors import LimitError, ModelError, SourceError, UnsupportedError

Rest: TypeAlias = Literal["drop", "keep"]
NO_ARITHMETIC: Final = (
    "a classifier can be added to a model or taken from it, one after the other (model + a + b), "
    "and be multiplied or divided by a number"
)
ROUNDING: Final = 1e-4  # above 0 by so little is how float32 sums of probabilities round


@runtime_checkable
class Classifier(Protocol):
    """A map from texts to log-probabilities of one class.

    The log-probability of a text must not depend on the other texts of a call.
    """

    def log_probs(self, texts: Sequence[str]) -> Float[Tensor, "texts"]:
        """Return log P(wanted class | text) of each text: at most 0; −∞ if it is impossible.

        Args:
            texts: at least one text, all different. They may be unfinished, or empty.
        """
        ...


Weighted = TypeVar("Weighted", bound="WeightedTerm")


class WeightedTerm:
    """The arithmetic of a dataclass with a weight `alpha`, which is added to models."""

    __slots__ = ()
    alpha: float | int

    def _weighted(self: Weighted, alpha: float | int) -> Weighted:
        return replace(cast("Any", self), alpha=alpha)

    def __mul__(self: Weighted, factor: object) -> Weighted:
        """The term with so many times its weight; all else is the same."""
        return self._weighted(self.alpha * _finite("factor", factor))

    __rmul__ = __mul__

    def __truediv__(self: Weighted, divisor: object) -> Weighted:
        """The term with a part of its weight."""
        _check("divisor", divisor, divisor != 0, "a number other than 0")
        return self._weighted(self.alpha / _finite("divisor", divisor))

    def __neg__(self: Weighted) -> Weighted:
        """The term that steers the other way."""
        return self._weighted(-self.alpha)

    def __add__(self: Weighted, other: object) -> Weighted:
        """The term itself for 0, with which `sum` begins; models define other sums."""
        if joins(other):
            return self
        return NotImplemented

    __radd__ = __add__

    def __sub__(self: Weighted, other: object) -> Weighted:
        """The term itself without 0."""
        if joins(other):
            return self
        return NotImplemented

    def __rsub__(self: Weighted, other: object) -> Weighted:
        """The term that steers the other way, from 0."""
        if joins(other):
            return -self
        return NotImplemented

    def __rtruediv__(self: Weighted, other: object) -> Weighted:
        """Refused: a classifier is no divisor."""
        raise SourceError(NO_ARITHMETIC)

    __pow__ = __rpow__ = __rtruediv__


@dataclass(frozen=True, slots=True)
class ClassifierTerm(WeightedTerm):
    """A classifier in an expression: it adds `α · log P(class | text)` to each candidate.

    Its settings are those of `guideway.classifier`.

    Raises:
        LimitError: a number is out of its range.
        UnsupportedError: `rest` is unknown, or a window is combined with `prompt`.

    Example:
        >>> class Polite:
        ...     def log_probs(self, texts):
        ...         return torch.tensor([0.0 if "please" in text else -2.0 for text in texts])
        >>> ClassifierTerm(Polite(), alpha=2).top
        100
        >>> ClassifierTerm(Polite(), alpha=2, top=0)
        Traceback (most recent call last):
        guideway.errors.LimitError: top of a classifier is 0: it must be an integer from 1 up
    """

    classifier: Classifier
    alpha: float | int
    top: int = 100
    every: int = 1
    entropy: float | int | None = None
    window: int | None = None
    rest: str = "drop"
    prompt: bool = False
    name: str = "classifier"

    def __post_init__(self) -> None:
        """Check every setting once; afterwards they are trusted."""
        _check("alpha", self.alpha, _is_number(self.alpha), "a finite number")
        for setting in ("top", "every"):
            _check_count(setting, getattr(self, setting))
        if self.window is not None:
            _check_count("window", self.window)
        if self.entropy is not None:
            right = _is_number(self.entropy) and self.entropy >= 0
            _check("entropy", self.entropy, right, "a finite number of nats from 0 up, or None")
        if self.rest not in get_args(Rest):
            raise UnsupportedError(
                f"rest of a classifier is {self.rest!r}: it must be 'drop' or 'keep'",
                feature="rest",
            )
        if self.prompt and self.window is not None:
            raise UnsupportedError(
                f"a classifier with window={self.window} reads the last tokens of the text, and "
                "prompt=True puts the prompt before all of it: give one of the two",
                feature="window of a prompt",
            )

    def __str__(self) -> str:
        """The term in a printed expression."""
        return f"classifier({self.name}, alpha={self.alpha:g}, top={self.top})"


def joins(other: object) -> bool:
    """Return True if `other` is 0, False to let the other operand decide; refuse other numbers."""
    if isinstance(other, Real) or hasattr(other, "alpha"):
        if isinstance(other, int) and not other:
            return True
        raise SourceError(NO_ARITHMETIC)
    return False


def classify(term: ClassifierTerm, texts: Sequence[str]) -> Float[Tensor, "texts"]:
    """Log-probabilities of these texts by the term's classifier, float64, checked."""
    given = numbers(term.classifier.log_probs(texts), texts, term.name)
    wrong = given > ROUNDING
    if bool(wrong.any()):
        raise ModelError(
            f"the classifier {term.name} gave {float(given[wrong][0]):.6g} for "
            f"{shown(texts, wrong)}: a log-probability is at most 0 (does it return probabilities "
            "or scores?)"
        )
    return given.clamp(max=0)


def numbers(given: Any, texts: Sequence[str], name: str) -> Float[Tensor, "texts"]:
    """Result of a classifier as one float64 number for each text, checked."""
    try:
        values = torch.as_tensor(given, dtype=torch.float64)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ModelError(f"the classifier {name} gave no numbers: {error}") from None
    if values.shape != (len(texts),):
        raise ModelError(
            f"the classifier {name} gave numbers of shape {tuple(values.shape)} for {len(texts)} "
            f"texts: it must be ({len(texts)},), one for each text"
        )
    wrong = values.isnan()
    if bool(wrong.any()):
        raise ModelError(f"the classifier {name} gave NaN for {shown(texts, wrong)}")
    return values


def shown(texts: Sequence[str], wrong: Tensor) -> str:
    """The first of the texts that `wrong` marks, shortened for a message."""
    text = texts[int(wrong.nonzero()[0])]
    return repr(text if len(text) <= 60 else f"…{text[-60:]}")


def _is_number(value: object) -> TypeGuard[float | int]:
    """Return True for a finite number of Python or numpy, or a fraction."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    try:
        return math.isfinite(cast("float", value))
    except OverflowError:  # a huge integer
        return False


def _finite(name: str, value: object) -> float:
    _check(name, value, _is_number(value), "a finite number")
    return float(cast("float", value))


def _check_count(name: str, value: object) -> None:
    right = isinstance(value, int) and not isinstance(value, bool) and value >= 1
    _check(name, value, right, "an integer from 1 up")


def _check(name: str, value: object, right: bool, allowed: str) -> None:
    if not right:
        given = value if isinstance(value, int) else None
        message = f"{name} of a classifier is {value!r}: it must be {allowed}"
        raise LimitError(message, limit=name, given=given)
