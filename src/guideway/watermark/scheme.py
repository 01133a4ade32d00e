"""Settings of a watermark, the keyed numbers of tokens, and what they change.

All kinds use 64 random bits for each token, a function of the secret key, the context and the id.
The context is the previous tokens of the text, without the prompt, so a detector needs the text
only.

    left      bits(h(key, previous tokens), token)       the number of previous tokens is a setting
    min       the same with the least of h(key, t), t one of the previous tokens
    self      the least of bits(h(key, t), token), t one of the previous tokens or the token itself
    unigram   bits(h(key), token)

Under a constraint h(key) also depends on the set of allowed tokens, so colours in different sets
are independent, and "self" acts as "min". The hash is counter-based (`sampling.noise`): lists are
the same on every device and for every width.

Green tokens, a keyed part of the vocabulary or of the allowed tokens, get δ more: Kirchenbauer et
al. 2023, "A watermark for large language models" (arXiv 2301.10226). In free text a token is green
if its bits, as a number in [0, 1), are below γ, so a detector hashes one token for each position.
Under a constraint the allowed tokens with the least numbers are green, ⌊γ|A|⌋ or ⌈γ|A|⌉ by a keyed
coin, with both colours if there are two tokens. In an unmarked text an allowed token is green with
probability k/|A|. End ids have no colour and keep their probability.

In each layer of SynthID-text's tournament, tokens with keyed bit 1 win over those with 0: Dathathri
et al. 2024, "Scalable watermarking for identifying large language model outputs" (Nature 634), with
two leaves in each match: p ← p (1 + g − Σ g p). On average over keys nothing changes; repeated
contexts are unmarked, so that this holds for whole texts. The g of all layers are bits of one
number.

Not marked are positions with too few tokens before them (forced tokens do not count), forced
positions, where all allowed tokens begin with the same byte, and repeated contexts of SynthID and
Gumbel (`Scheme.once`).
"""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final, Literal, TypeAlias

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor

from guideway.automaton.token_tries import Row, unpack
from guideway.sampling.noise import bits, bits_of, coins, keys, shares
from guideway.vocabulary.vocabulary import Vocabulary

Kind: TypeAlias = Literal["left", "min", "self", "unigram", "synthid", "gumbel"]
GREEN: Final = ("left", "min", "self", "unigram")  # those that colour tokens


@dataclass(frozen=True, slots=True)
class Scheme:
    """A watermark."""

    secret: int = field(repr=False)  # 64 bits of the key
    kind: Kind = "left"  # the hash, and the use of the bits
    context: int = 1  # number of previous tokens in the hash; 0 for unigram
    gamma: float = 0.25  # share of green tokens
    delta: float = 2.0  # bias of their logits; infinite forbids others
    early: bool = False  # True to act before temperature and filters
    within: bool = True  # True to choose green tokens among allowed ones
    depth: int = 30  # layers of SynthID's tournament

    @property
    def ranked(self) -> "Scheme":
        """The watermark where green tokens are chosen among those that a constraint allows."""
        return replace(self, kind="min") if self.kind == "self" else self

    @property
    def colours(self) -> bool:
        """Return True for green lists, False for SynthID and Gumbel."""
        return self.kind in GREEN

    def __str__(self) -> str:
        """As it is printed in an expression: all but the key."""
        if not self.colours:
            return self.kind
        early = ", stage='logits'" if self.early else ""
        return f"{self.kind}, gamma={self.gamma:g}, delta={self.delta:g}{early}"

    @property
    def once(self) -> bool:
        """Return True if repeated contexts are unmarked: SynthID and Gumbel would loop."""
        return not self.colours


def secret_of(key: str | bytes | int) -> int:
    """64 bits of a key, as an int64."""
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
    """Key of each context (last token last); `places` hashes the allowed set, None in free text."""
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
    """The 64 bits of tokens of each row after its context; `ids` None is the whole vocabulary.

    >>> scheme, contexts = Scheme(7), torch.tensor([[3], [4]])
    >>> row = numbers(scheme, contexts, None, 9)
    >>> torch.equal(row[:, [5, 1]], numbers(scheme, contexts, torch.tensor([[5, 1]] * 2), 9))
    True
    """
    if scheme.kind != "self":
        key = row_keys(scheme, contexts, places)
        return bits(key, width) if ids is None else bits_of(key, ids)
    secret = _secrets(scheme, contexts, None)
    if ids is None:
        ids = torch.arange(width, device=contexts.device).expand(len(contexts), width)
    # h(key, token), then its bits for the token: t is the token itself.
    least = _mixed(_mixed(torch.full_like(ids, scheme.secret), ids), ids)
    for place in range(contexts.shape[1]):
        least = torch.minimum(least, bits_of(keys(secret, contexts[:, place]), ids))
    # The least of several numbers is a small one: mixed once more, it is any number.
    return _mixed(least, ids)


def _secrets(
    scheme: Scheme, contexts: Int[Tensor, "batch context"], places: Int[Tensor, "batch"] | None
) -> Int[Tensor, "batch"]:
    secret = torch.full_like(contexts.new_zeros(len(contexts)), scheme.secret)
    return secret if places is None else keys(secret, places)


def _mixed(
    key: Int[Tensor, "batch choices"], ids: Int[Tensor, "batch choices"]
) -> Int[Tensor, "batch choices"]:
    """The bits of each token where each has a key of its own."""
    return keys(key.flatten(), ids.flatten()).view(ids.shape)


ONE: Final = 1 << 53


def green_free(numbers: Int[Tensor, "*shape"], gamma: float) -> Bool[Tensor, "*shape"]:
    return shares(numbers) < round(gamma * ONE)


def green_count(
    key: Int[Tensor, "batch"], allowed: Int[Tensor, "batch"], gamma: float
) -> Int[Tensor, "batch"]:
    """Number of green tokens among `allowed` ones."""
    wanted = allowed.double() * gamma
    low = wanted.floor()
    count = (low + (coins(key).double() < wanted - low)).long()
    return torch.minimum(count.clamp(min=1), allowed - 1)


def green_within(
    numbers: Int[Tensor, "batch choices"],
    allowed: Bool[Tensor, "batch choices"],
    count: Int[Tensor, "batch"],
) -> Bool[Tensor, "batch choices"]:
    """The `count` allowed tokens with the least numbers.

    >>> numbers = torch.tensor([[5, 3, 9, 1]]) << 11
    >>> allowed = torch.tensor([[True, True, True, False]])
    >>> green_within(numbers, allowed, torch.tensor([2])).tolist()
    [[True, True, False, False]]
    """
    ordered = shares(numbers).masked_fill(~allowed, ONE).sort(1).values
    last = ordered.gather(1, (count - 1).clamp(min=0)[:, None])
    return allowed & (shares(numbers) <= last) & (count > 0)[:, None]


def biased(
    row: Float[Tensor, "batch choices"],
    green: Bool[Tensor, "batch choices"],
    ends: Bool[Tensor, "batch choices"],
    delta: float,
) -> Float[Tensor, "batch choices"]:
    """Rows with δ added to green tokens, and unchanged probability of ends.

    A row without green tokens stays unchanged if δ is infinite.
    """
    tokens = row.masked_fill(ends, -math.inf)
    if math.isinf(delta):
        marked = tokens.masked_fill(~green, -math.inf)
        marked = torch.where((marked > -math.inf).any(1, keepdim=True), marked, tokens)
    else:
        marked = tokens + green * delta
    gained = (_mass(marked) - _mass(tokens)).nan_to_num(0.0)  # NaN where there are only ends
    return torch.where(ends, row + gained[:, None], marked)


def _mass(row: Float[Tensor, "batch choices"]) -> Float[Tensor, "batch"]:
    """`logsumexp`, for a tenth where −∞ is among numbers: exp is slow on it, softmax is not."""
    return row.amax(1) - row.softmax(1).amax(1).log()


def layers(numbers: Int[Tensor, "*shape"], depth: int) -> list[Int[Tensor, "*shape"]]:
    return [(numbers >> layer) & 1 for layer in range(depth)]


def tournament(
    row: Float[Tensor, "batch choices"],
    numbers: Int[Tensor, "batch choices"],
    ends: Bool[Tensor, "batch choices"],
    depth: int,
) -> Float[Tensor, "batch choices"]:
    """Rows after `depth` layers; −∞ and the probability of ends are unchanged.

    >>> row, ends = torch.zeros(1, 2), torch.tensor([[False, False]])
    >>> tournament(row, torch.tensor([[1, 0]]), ends, 1).exp().div(2).round(decimals=4).tolist()
    [[0.75, 0.25]]
    """
    tokens = row.masked_fill(ends, -math.inf)
    share = tokens.softmax(1).nan_to_num(0.0)  # NaN where there are only ends
    top = tokens.amax(1, keepdim=True)
    weight = (top - share.amax(1, keepdim=True).log()).where(top > -math.inf, top)
    for layer in layers(numbers, depth):
        share = share * (1 + layer - (layer * share).sum(1, keepdim=True)).clamp(min=0)
    return torch.where(ends, row, share.log() + weight)


def windows(tokens: Sequence[int], context: int) -> NDArray[np.int64]:
    """Context of each position from `context` on, and of the position after the last."""
    ids = np.asarray(tokens, np.int64)
    if len(ids) < context:
        return np.zeros((0, context), np.int64)
    if not context:
        return np.zeros((len(ids) + 1, 0), np.int64)
    return np.lib.stride_tricks.sliding_window_view(ids, context)


def repeats(tokens: Sequence[int], context: int) -> bool:
    """Return True if the last tokens, as a context, occurred before.

    >>> repeats([1, 2, 1, 2], 2), repeats([1, 2, 1], 2), repeats([1], 2)
    (True, False, False)
    """
    seen = windows(tokens, context)
    return len(seen) > 1 and bool((seen[:-1] == seen[-1]).all(1).any())


def forced(row: Row, vocabulary: Vocabulary) -> bool:
    """Return True if all allowed tokens begin with the same byte, or there are none.

    >>> vocabulary = Vocabulary([b"a", b"ab", b"b"])
    >>> from guideway.automaton.token_tries import pack
    >>> forced(pack([0, 1], 3), vocabulary), forced(pack([0, 2], 3), vocabulary)
    (True, False)
    """
    first = _first_bytes(vocabulary)[unpack(row)]
    return not len(first) or bool((first == first[0]).all())


def place(row: Row) -> int:
    """Hash of a set of tokens as an int64, whatever the width of its row."""
    used = np.flatnonzero(row)
    words = row[: used[-1] + 1] if len(used) else row[:0]
    digest = hashlib.blake2b(words.astype("<u4").tobytes(), digest_size=8, person=b"place").digest()
    return int.from_bytes(digest, "little", signed=True)


@lru_cache(8)
def _first_bytes(vocabulary: Vocabulary) -> NDArray[np.int16]:
    """The first byte of each token, −1 for those that spell nothing."""
    first = np.full(vocabulary.width, -1, np.int16)
    spelled = [token[0] if token else -1 for token in vocabulary.tokens]
    first[: len(spelled)] = spelled
    return first
