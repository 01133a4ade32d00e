"""`Lexicon`: a classifier made of a list of words with weights.

P(class | text) = 1 / (1 + exp(−(bias + scale · Σ weight))). The sum has a term for each occurrence
of each word. A word is a run of letters, digits, underscores and inner apostrophes ("don't"), in
any case. Only whole words match: "class" does not match "classic". The last word of an unfinished
text counts as it is. Scripts without spaces have long "words".
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final, cast, final

import torch
from jaxtyping import Float
from torch import Tensor

from guideway.errors import SourceError

WORD: Final = re.compile(r"\w+(?:['’]\w+)*")


@final
class Lexicon:
    """A classifier of texts by words with weights.

    P(class | text) = 1 / (1 + exp(−(bias + scale · Σ weight))), summed over the words of the text.

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
