"""Align the logits of one model with the ids of another model's vocabulary.

Tokens correspond if they have the same bytes, special tokens if they have the same name. All end
ids are one event: its probability is at the first end id of the main vocabulary.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import torch
from jaxtyping import Float, Int
from torch import Tensor

from guideway.errors import ModelError, UnsupportedError
from guideway.vocabulary.vocabulary import Vocabulary

SHOWN = 5  # tokens in a message
MOST = 2  # times as many tokens: with more of them, a text has other tokens than it is read with


@dataclass(frozen=True, slots=True, eq=False)
class Alignment:
    """A map from one vocabulary's logits to another's.

    Attributes:
        ids: for each id of the main vocabulary the other one's id, −1 if there is none.
        ends: end ids of the other vocabulary.
        main_ends: end ids of the main vocabulary.
        straight: True if all known ids are equal.
    """

    ids: Int[Tensor, "vocabulary"]
    ends: tuple[int, ...]
    main_ends: tuple[int, ...]
    straight: bool

    def logits(self, given: Float[Tensor, "*batch other"]) -> Float[Tensor, "*batch vocabulary"]:
        """The logits in the main vocabulary's ids, −∞ for ids that the other one does not have."""
        ids = placed(self.ids, given.device)
        size = ids.shape[0]
        if self.straight and given.shape[-1] >= size:
            row = given[..., :size]
        else:
            row = given.index_select(-1, ids.clamp(min=0))
        row = row.masked_fill(ids < 0, -math.inf)
        if (
            self.ends
            and self.main_ends
            and (self.ends, self.main_ends) != (self.main_ends[:1],) * 2
        ):
            # A list of ids would be brought over each time, and the host would wait for it.
            end = torch.stack([given[..., each] for each in self.ends]).logsumexp(0)
            for each in self.main_ends:
                row[..., each] = -math.inf
            row[..., self.main_ends[0]] = end
        return row

    def tokens(self, given: Int[Tensor, "*batch"]) -> Int[Tensor, "*batch"]:
        """Translate tokens of the main vocabulary; a missing special token is a ModelError."""
        if self.straight:
            return given
        found = placed(self.ids, given.device)[given]
        if bool((found < 0).any()):
            token = int(given[found < 0][0])
            raise ModelError(f"token {token} of the main model does not exist in another model")
        return found


@lru_cache(64)
def placed(ids: Int[Tensor, "vocabulary"], device: torch.device) -> Int[Tensor, "vocabulary"]:
    """The ids where they are needed at each step, brought there once."""
    return ids.to(device)


@lru_cache(64)
def aligned(main: Vocabulary, other: Vocabulary) -> Alignment:
    """Align `other` with the ids of `main`; vocabularies of different tokenizers are refused.

    `other` must have all tokens of `main`, and at most twice as many.

    >>> main = Vocabulary([b"a", b"b", b"<eos>"], eos_ids={2})
    >>> other = Vocabulary([b"<eos>", b"b", b"a"], eos_ids={0}, width=8)
    >>> aligned(main, other).logits(torch.arange(8.0)).tolist()
    [2.0, 1.0, 0.0]
    """
    spelled = dict[bytes, int]()
    for token, spelling in enumerate(other.tokens):
        if spelling:
            spelled.setdefault(spelling, token)
    ids = torch.full((main.width,), -1, dtype=torch.int64)
    missing = list[bytes]()
    for token, spelling in enumerate(main.tokens):
        if spelling is None:
            continue
        same = token < len(other.tokens) and other.tokens[token] == spelling
        found = token if same else spelled.get(spelling)
        if found is None:
            missing.append(spelling)
        else:
            ids[token] = found
    if missing:
        raise _different(main, other, missing)
    if sum(map(bool, main.tokens)) * MOST < len(spelled):
        raise _different(other, main, sorted(spelled.keys() - set(main.tokens)))
    for name, token in main.special.items():
        ids[token] = other.special.get(name, -1)
    ends, main_ends = tuple(sorted(other.eos_ids)), tuple(sorted(main.eos_ids))
    ids[list(main_ends)] = -1
    if ends and main_ends:
        ids[main_ends[0]] = ends[0]
    known = ids >= 0
    straight = bool((ids[known] == torch.arange(main.width)[known]).all())
    return Alignment(ids, ends, main_ends, straight)


def _different(main: Vocabulary, other: Vocabulary, missing: list[bytes]) -> UnsupportedError:
    some = ", ".join(repr(spelling) for spelling in missing[:SHOWN])
    return UnsupportedError(
        f"models of different vocabularies cannot be combined: {other!r} lacks {len(missing)} of "
        f"the tokens of {main!r}, {some} among them. Take models that share a tokenizer",
        feature="arithmetic on different vocabularies",
    )
