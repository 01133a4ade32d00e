"""`classifier` and `fudge`, and the conversion of their sources to a `Classifier`:

- a `Classifier`, as it is;
- a function from texts to probabilities, or to log-probabilities with gives="log-probabilities";
- {word: weight}: a `Lexicon` with bias 0 and scale 1;
- a scikit-learn estimator that takes texts: by predict_log_proba, predict_proba, or
  decision_function if it has two classes;
- a transformers model with its tokenizer as a pair, or a text-classification pipeline.

Objects of libraries are recognized by their methods; no library is imported. This module does not
know tokens or logits.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, cast, final, get_args

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from guideway.errors import ModelError, UnsupportedError
from guideway.logits.classifier import ROUNDING, Classifier, ClassifierTerm, Rest, numbers, shown
from guideway.logits.classifier_sequence import SequenceClassifier
from guideway.logits.labels import find_label
from guideway.logits.lexicon import Lexicon

Gives: TypeAlias = Literal["probabilities", "log-probabilities"]
METHODS = ("predict_log_proba", "predict_proba", "decision_function")


def classifier(
    source: Any,
    *,
    alpha: float | int,
    top: int = 100,
    every: int = 1,
    entropy: float | int | None = None,
    window: int | None = None,
    rest: Rest = "drop",
    label: str | int | None = None,
    prompt: bool = False,
    gives: Gives = "probabilities",
) -> ClassifierTerm:
    """Return guidance by a classifier: a term that is added to a model.

    It adds `α · log P(class | text so far · token)` to each candidate token. CAIF's published
    weight is 5 towards a class and −5 away from it, with the 100 most probable tokens (Sitdikov et
    al. 2022, arXiv 2205.07276).

    To avoid a class, prefer a positive weight on its opposite. log P(opposite) is about 0 for
    texts without the class, while −log P(class) has no upper bound. With 5 against profanity, the
    perplexity of 100 texts was 6.8 by the opposite and 13.7 by −5 on the class; both removed all
    rude texts.

    Example:
        >>> str(classifier({"love": 1, "hate": -1}, alpha=5))
        'classifier(Lexicon, alpha=5, top=100)'

    Args:
        source: a `Classifier`, a function from texts to numbers, a scikit-learn estimator that
            takes texts, a transformers model with its tokenizer as a pair, a text-classification
            pipeline, or words with weights.
        alpha: the weight; below 0 it steers away from the class.
        top: number of candidates: the most probable of the allowed tokens.
        every: the classifier runs at the first token and at every `every`-th token after it.
        entropy: the classifier runs only if the entropy of the allowed tokens is at least this many
            nats.
        window: number of last tokens that the classifier reads; None for the whole text.
        rest: "drop" forbids the other tokens, "keep" adds `α · log P(class | text so far)` to them.
        label: the class, by its name in the classifier. None: the only class, or the second of two.
        prompt: whether the classifier reads the prompt too.
        gives: what a function returns: "probabilities" or "log-probabilities".

    Raises:
        LimitError: a number is out of its range.
        ModelError: the source is not a classifier, or has no such label.
        UnsupportedError: two settings exclude each other, or an option is unknown.
    """
    asked, name = read_classifier(source, label, gives)
    return ClassifierTerm(asked, alpha, top, every, entropy, window, rest, prompt, name)


def fudge(
    source: Any,
    *,
    alpha: float | int = 4,
    top: int = 200,
    every: int = 1,
    rest: Rest = "drop",
    label: str | int | None = None,
    prompt: bool = True,
    gives: Gives = "probabilities",
) -> ClassifierTerm:
    """Return guidance by a classifier of prefixes, which predicts the class of the whole text.

    This is `classifier` with the defaults of Yang and Klein 2021 (arXiv 2104.05218): weight 4 (for
    topics; 1 for formality), the 200 most probable tokens, prompt and text together. The paper
    samples from the ten best of these: `generate(…, top_k=10)`.

    Example:
        >>> str(fudge({"sea": 1}, alpha=1))
        'classifier(Lexicon, alpha=1, top=200)'

    Args:
        source: as for `classifier`.
        alpha: the weight (λ in the paper).
        top: as for `classifier`.
        every: as for `classifier`.
        rest: as for `classifier`.
        label: as for `classifier`.
        prompt: whether the classifier reads the prompt too.
        gives: as for `classifier`.

    Raises:
        LimitError: a number is out of its range.
        ModelError: the source is not a classifier, or has no such label.
    """
    return classifier(
        source,
        alpha=alpha,
        top=top,
        every=every,
        rest=rest,
        label=label,
        prompt=prompt,
        gives=gives,
    )


def read_classifier(source: Any, label: str | int | None, gives: Gives) -> tuple[Classifier, str]:
    """The source as a classifier, and its name."""
    name = str(getattr(source, "__name__", type(source).__name__))
    if isinstance(source, Classifier) and not isinstance(source, type) and label is None:
        return source, name
    model = _sequence_model(source)
    if model is not None:
        return SequenceClassifier(*model, label), type(model[0]).__name__
    if method := next((method for method in METHODS if hasattr(source, method)), None):
        return Estimator(source, method, label, name), name
    if label is not None:
        raise ModelError(f"label={label!r}: {name} gives one number for each text, without labels")
    if isinstance(source, Mapping):
        return Lexicon(cast("Mapping[str, float]", source)), Lexicon.__name__
    if callable(source) and not isinstance(source, torch.nn.Module | type):
        return Function(source, gives, name), name
    raise ModelError(
        f"{source!r:.80} is not a classifier: it must have log_probs(texts), be a function of "
        "texts, a scikit-learn estimator with probabilities, a transformers model with its "
        "tokenizer as a pair, a text-classification pipeline, or a dict of words and weights"
    )


@final
class Function:
    """A function from texts to probabilities or log-probabilities, as a classifier."""

    def __init__(self, function: Callable[[list[str]], Any], gives: str, name: str) -> None:
        """The classifier of `function`; `gives` is checked."""
        if gives not in get_args(Gives):
            allowed = " or ".join(map(repr, get_args(Gives)))
            raise UnsupportedError(f"gives={gives!r}: it must be {allowed}", feature="gives")
        self._function, self._gives, self._name = function, gives, name

    def log_probs(self, texts: Sequence[str]) -> Float[Tensor, "texts"]:
        """Call the function and return log-probabilities."""
        given = numbers(self._function(list(texts)), texts, self._name)
        return _logs(given, texts, self._name) if self._gives == "probabilities" else given


@final
class Estimator:
    """A scikit-learn estimator that takes texts (most often a pipeline), as a classifier."""

    def __init__(self, estimator: Any, method: str, label: str | int | None, name: str) -> None:
        """The classifier of one label of a fitted `estimator`, by one of `METHODS`."""
        classes = getattr(estimator, "classes_", None)
        if classes is None:
            raise ModelError(f"{name} has no classes_: fit it before it guides")
        labels: list[Any] = np.asarray(classes).tolist()
        if method == "decision_function" and len(labels) != 2:
            raise ModelError(
                f"{name} has {len(labels)} classes and gives distances, not probabilities: wrap it "
                "in scikit-learn's CalibratedClassifierCV"
            )
        self._label = find_label(label, labels, name)
        self._function, self._method, self._name = getattr(estimator, method), method, name

    def log_probs(self, texts: Sequence[str]) -> Float[Tensor, "texts"]:
        """The logarithms of P(label | text); distances from a border are log-odds."""
        with np.errstate(divide="ignore"):  # log 0 is meant
            given = np.asarray(self._function(list(texts)), dtype=np.float64)
        if self._method == "decision_function":
            odds = numbers(given, texts, self._name)
            return torch.nn.functional.logsigmoid(odds if self._label else -odds)
        column = numbers(given[:, self._label] if given.ndim == 2 else given, texts, self._name)
        return column if self._method == "predict_log_proba" else _logs(column, texts, self._name)


def _sequence_model(source: Any) -> tuple[Any, Any] | None:
    """The model and the tokenizer of a pair or of a pipeline, None if it is neither."""
    if isinstance(source, tuple):
        pair = cast("tuple[Any, ...]", source)
        return (pair[0], pair[1]) if len(pair) == 2 and callable(pair[1]) else None
    if hasattr(source, "model") and callable(getattr(source, "tokenizer", None)):
        return source.model, source.tokenizer
    return None


def _logs(given: Float[Tensor, "texts"], texts: Sequence[str], name: str) -> Float[Tensor, "texts"]:
    """The logarithms of probabilities."""
    wrong = (given < 0) | (given > 1 + ROUNDING)
    if bool(wrong.any()):
        raise ModelError(
            f"the classifier {name} gave {float(given[wrong][0]):.6g} for {shown(texts, wrong)}: a "
            'probability is between 0 and 1 (for logarithms write gives="log-probabilities")'
        )
    return given.log()
