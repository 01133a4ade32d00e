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

import copy
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias, cast, get_args

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from guideway.errors import ModelError, SourceError, UnsupportedError
from guideway.logits.classifier import ROUNDING, Classifier, ClassifierTerm, Rest, numbers, shown
from guideway.sources.names import did_you_mean


def find_label(label: object, names: Sequence[object], classifier: str) -> int:
    """Index of `label` among a classifier's labels.

    None is the only label, or the second of two, the positive one by convention.

    >>> find_label("spam", ["ham", "spam"], "f"), find_label(None, ["ham", "spam"], "f")
    (1, 1)
    >>> find_label("spma", ["ham", "spam"], "f")
    Traceback (most recent call last):
    guideway.errors.ModelError: f has no label 'spma': it has 'ham', 'spam'; did you mean ...
    """
    spelled = [str(name) for name in names]
    shown = ", ".join(repr(name) for name in names[:20]) + (", …" if len(names) > 20 else "")
    if label is None:
        if len(names) > 2:
            raise ModelError(f"label= must name one of the labels of {classifier}: {shown}")
        return len(names) - 1
    if label in names:
        return names.index(label)
    if str(label) in spelled:
        return spelled.index(str(label))
    hint = did_you_mean(str(label), spelled)
    raise ModelError(f"{classifier} has no label {label!r}: it has {shown}{hint}")


BATCH: Final = 64  # texts of a forward
UNLIMITED: Final = 1 << 30  # tokenizers without a limit name a number of thirty digits
MARGIN: Final = 2  # positions that RoBERTa's family counts and does not have


class SequenceClassifier:
    """log P(label | text) by a transformers model for sequence classification.

    Texts are padded, and cut on the left if they are too long: candidates change the end. One logit
    is a logistic; several are a softmax over the labels, or a logistic each for
    "multi_label_classification".
    """

    def __init__(self, model: Any, tokenizer: Any, label: str | int | None = None) -> None:
        """The classifier of one label (see `find_label`); the model must be in eval mode."""
        config = getattr(model, "config", None)
        names: Mapping[int, str] = getattr(config, "id2label", None) or {}
        if not names:
            raise ModelError(
                f"{type(model).__name__} is not a sequence classifier: its configuration has no "
                "id2label"
            )
        if getattr(model, "training", False):
            raise ModelError(
                f"{type(model).__name__} is in training mode, where dropout makes its answers "
                "random: call its eval()"
            )
        self._model = model
        self._single = len(names) == 1
        self._many = getattr(config, "problem_type", None) == "multi_label_classification"
        self._label = find_label(label, [names[n] for n in sorted(names)], type(model).__name__)
        self._tokenizer = copy.deepcopy(tokenizer)  # the user's own stays as it is
        self._tokenizer.truncation_side = "left"
        if self._tokenizer.pad_token is None or getattr(config, "pad_token_id", None) is None:
            raise ModelError(
                f"{type(model).__name__} has no padding token: set its tokenizer's pad_token and "
                "its config.pad_token_id"
            )
        self._most = _longest(self._tokenizer, config)
        # A model needs one token at least, and not every tokenizer begins a text with one.
        self._blank = "" if self._tokenizer("").input_ids else self._tokenizer.pad_token

    def log_probs(self, texts: Sequence[str]) -> Float[Tensor, "texts"]:
        """The logarithms of P(label | text), in float32, on the device of the model."""
        with torch.inference_mode():
            parts = [self._part(texts[n : n + BATCH]) for n in range(0, len(texts), BATCH)]
            return torch.cat(parts)

    def _part(self, texts: Sequence[str]) -> Float[Tensor, "texts"]:
        inputs = self._tokenizer(
            [text or self._blank for text in texts],
            padding=True,
            truncation=self._most is not None,
            max_length=self._most,
            return_tensors="pt",
        )
        logits = self._model(**inputs.to(self._model.device)).logits.float()
        if self._single or self._many:
            return torch.nn.functional.logsigmoid(logits[:, self._label])
        return logits.log_softmax(1)[:, self._label]


def _longest(tokenizer: Any, config: Any) -> int | None:
    """Number of tokens that the model can read, None if unknown."""
    positions = getattr(config, "max_position_embeddings", None)
    limits = [getattr(tokenizer, "model_max_length", None), positions and positions - MARGIN]
    known = [limit for limit in limits if limit and 0 < limit < UNLIMITED]
    return min(known, default=None)


WORD: Final = re.compile(r"\w+(?:['’]\w+)*")


class Lexicon:
    """A classifier of texts by words with weights.

    P(class | text) = 1 / (1 + exp(−(bias + scale · Σ weight))). The sum has a term for each
    occurrence of each word. A word is a run of letters, digits, underscores and inner apostrophes
    ("don't"), in any case. Only whole words match: "class" does not match "classic". The last word
    of an unfinished text counts as it is. Scripts without spaces have long "words".

    Example:
        >>> angry = Lexicon({"hate": 2, "stupid": 1.5}, bias=-1)
        >>> angry.log_probs(["I HATE it", "I hated it"]).exp()
        tensor([0.7311, 0.2689], dtype=torch.float64)
    """

    def __init__(
        self,
        weights: Mapping[str, float | int],
        *,
        bias: float | int = 0.0,
        scale: float | int = 1.0,
    ) -> None:
        """Set the weights.

        Args:
            weights: the weight of each word.
            bias: log-odds of the class in a text without any of the words.
            scale: factor of the sum of the weights.

        Raises:
            SourceError: an entry is not a single word, two entries are the same word, or a weight
                is not a finite number.
        """
        self._bias, self._scale = _number("bias", bias), _number("scale", scale)
        self._weights: dict[str, float] = {}
        for word, weight in cast("Mapping[object, object]", weights).items():
            key = _key(word)
            if key in self._weights:
                raise SourceError(f"the lexicon has {word!r} twice (case is ignored)")
            self._weights[key] = _number(repr(word), weight)

    def log_probs(self, texts: Sequence[str]) -> Float[Tensor, "texts"]:
        """Return log P(class | text) of each text."""
        known = self._weights
        sums = [sum(known.get(_folded(word), 0.0) for word in WORD.findall(text)) for text in texts]
        odds = torch.tensor(sums, dtype=torch.float64) * self._scale + self._bias
        return torch.nn.functional.logsigmoid(odds)


def _folded(word: str) -> str:
    return word.replace("’", "'").casefold()


def _key(word: object) -> str:
    if not isinstance(word, str) or not WORD.fullmatch(word):
        raise SourceError(
            f"{word!r} in a lexicon is not a single word of letters, digits and inner apostrophes"
        )
    return _folded(word)


def _number(name: str, value: object) -> float:
    # NaN fails the comparison, and a huge int is compared exactly.
    if not isinstance(value, int | float) or not abs(value) <= 1e100:  # sums of it stay finite
        raise SourceError(f"{name} in a lexicon is {value!r}: it must be a number, 1e100 at most")
    return float(value)


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
    asked, name = read_classifier(source, label, gives)
    return ClassifierTerm(asked, alpha, top, every, rest=rest, prompt=prompt, name=name)


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


class Function:
    """A function from texts to probabilities or log-probabilities, as a classifier."""

    def __init__(self, function: Callable[[list[str]], Any], gives: str, name: str) -> None:
        """The classifier of `function`; `gives` is checked."""
        if gives not in get_args(Gives):
            allowed = " or ".join(map(repr, get_args(Gives)))
            raise UnsupportedError(f"gives={gives!r}: it must be {allowed}", feature="gives")
        self._function, self._gives, self._name = function, gives, name

    def log_probs(self, texts: Sequence[str]) -> Float[Tensor, "texts"]:
        given = numbers(self._function(list(texts)), texts, self._name)
        return _logs(given, texts, self._name) if self._gives == "probabilities" else given


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
