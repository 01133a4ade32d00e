"""A watermark's settings, and the numbers that its key gives to tokens.

Every kind of watermark looks at one thing: 64 random bits for each token of the vocabulary, which
are a function of the secret key, the context, and the token's id. The context is the tokens of the
text just before; those of the prompt take no part in it, so that a text is all a detector needs.

    left      bits(h(key, previous tokens), token)       the number of previous tokens is a setting
    min       the same with the least of h(key, t), t one of the previous tokens
    self      the least of bits(h(key, t), token), t one of the previous tokens or the token itself
    unigram   bits(h(key), token)

Under a constraint h(key) is h(key, place), the place being the set of tokens that are allowed: what
is green among some tokens says nothing of what is green among others after the same context. There
"self" is as "min": with a token's own hash, what is green in one place would tell of other places.

The hash is a counter's (`sampling.noise`), so lists are the same on every device, for every width
of the vocabulary, and are computed for whole batches at once. No permutation is drawn.

What this module does not know: what is done with the bits, constraints, models.
"""

import hashlib
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeAlias, final

import torch
from jaxtyping import Int
from torch import Tensor

from guideway.sampling.noise import bits, bits_of, keys

Kind: TypeAlias = Literal["left", "min", "self", "unigram", "synthid", "gumbel"]
GREEN: Final = ("left", "min", "self", "unigram")  # those that colour tokens


@final
@dataclass(frozen=True, slots=True)
class Scheme:
    """A watermark.

    Attributes:
        secret: 64 bits of the key.
        kind: how tokens get their bits, and what is done with them.
        context: how many previous tokens decide with the key; 0 for unigram.
        gamma: the share of tokens that are green.
        delta: what is added to their logits; infinite forbids the others.
        early: whether it is added before temperature and filters.
        within: whether green tokens are chosen among what a constraint allows.
        depth: layers of SynthID's tournament.
    """

    secret: int = field(repr=False)
    kind: Kind = "left"
    context: int = 1
    gamma: float = 0.25
    delta: float = 2.0
    early: bool = False
    within: bool = True
    depth: int = 30

    @property
    def ranked(self) -> "Scheme":
        """The watermark where green tokens are chosen among those that a constraint allows."""
        return replace(self, kind="min") if self.kind == "self" else self

    @property
    def colours(self) -> bool:
        """Whether tokens are green or not; else there is SynthID's tournament, or Gumbel noise."""
        return self.kind in GREEN

    def __str__(self) -> str:
        """As it is printed in an expression: all but the key."""
        if not self.colours:
            return self.kind
        early = ", stage='logits'" if self.early else ""
        return f"{self.kind}, gamma={self.gamma:g}, delta={self.delta:g}{early}"

    @property
    def once(self) -> bool:
        """Whether a context that came before is left unmarked.

        SynthID and Gumbel choose the same again there, so that texts would run in circles.
        """
        return not self.colours


def secret_of(key: str | bytes | int) -> int:
    """The 64 bits, as an int64, that a key of any kind and length comes down to.

    >>> secret_of("a") == secret_of(b"a"), secret_of(1) == secret_of("1")
    (True, False)
    """
    if isinstance(key, int):
        data, kind = str(key).encode(), b"int"
    else:
        data, kind = key if isinstance(key, bytes) else key.encode(), b"text"
    digest = hashlib.blake2b(data, digest_size=8, person=kind).digest()
    return int.from_bytes(digest, "little", signed=True)


def row_keys(
    scheme: Scheme,
    contexts: Int[Tensor, "batch context"],
    places: Int[Tensor, "batch"] | None = None,
) -> Int[Tensor, "batch"]:
    """The key of each context: of its tokens in their order, or of the least of them.

    Args:
        scheme: the watermark.
        contexts: the previous tokens, the last one last.
        places: what stands for the set of allowed tokens (`positions.place`); None in free text.
    """
    count = contexts.shape[1]
    made = _secrets(scheme, contexts, places)
    if scheme.kind == "min":
        each = [keys(made, contexts[:, place]) for place in range(count)]
        return keys(torch.stack(each).amin(0), torch.zeros_like(made))
    for place in range(count):
        made = keys(made, contexts[:, place])
    return made


def numbers(
    scheme: Scheme,
    contexts: Int[Tensor, "batch context"],
    ids: Int[Tensor, "batch choices"] | None,
    width: int,
    places: Int[Tensor, "batch"] | None = None,
) -> Int[Tensor, "batch choices"]:
    """The 64 bits of tokens of each row after its context.

    Example:
        >>> scheme, contexts = Scheme(7), torch.tensor([[3], [4]])
        >>> row = numbers(scheme, contexts, None, 9)
        >>> torch.equal(row[:, [5, 1]], numbers(scheme, contexts, torch.tensor([[5, 1]] * 2), 9))
        True

    Args:
        scheme: the watermark.
        contexts: the previous tokens, the last one last.
        ids: which tokens; None for the whole vocabulary.
        width: of the vocabulary.
        places: as in `row_keys`; not for "self", which is `ranked` there.
    """
    if scheme.kind != "self":
        key = row_keys(scheme, contexts, places)
        return bits(key, width) if ids is None else bits_of(key, ids)
    secret = _secrets(scheme, contexts, None)
    if ids is None:
        ids = torch.arange(width, device=contexts.device).expand(len(contexts), width)
    # h(key, token), then its bits for the token: what the token says of itself.
    least = _mixed(_of_itself(scheme.secret, ids), ids)
    for place in range(contexts.shape[1]):
        least = torch.minimum(least, bits_of(keys(secret, contexts[:, place]), ids))
    # The least of several numbers is a small one: mixed once more, it is any number.
    return _mixed(least, ids)


def _secrets(
    scheme: Scheme, contexts: Int[Tensor, "batch context"], places: Int[Tensor, "batch"] | None
) -> Int[Tensor, "batch"]:
    secret = torch.full_like(contexts.new_zeros(len(contexts)), scheme.secret)
    return secret if places is None else keys(secret, places)


def _of_itself(secret: int, ids: Int[Tensor, "batch choices"]) -> Int[Tensor, "batch choices"]:
    """h(key, token) of each token."""
    return keys(torch.full_like(ids.flatten(), secret), ids.flatten()).view(ids.shape)


def _mixed(
    key: Int[Tensor, "batch choices"], ids: Int[Tensor, "batch choices"]
) -> Int[Tensor, "batch choices"]:
    """The bits of each token where each has a key of its own."""
    return keys(key.flatten(), ids.flatten()).view(ids.shape)
