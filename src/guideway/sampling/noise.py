"""Counter-based noise: a function of (seed, sample, step, token).

Without generator state, the noise of a row does not depend on the batch, earlier draws or the
device. The hash is SplitMix64's finaliser (Steele, Lea and Flood 2014, "Fast splittable
pseudorandom number generators"; constants of Stafford's variant 13) over a Weyl sequence in the
token's id. torch has signed 64-bit integers only: products wrap as unsigned ones do, and right
shifts need a mask.

argmax(logit + Gumbel noise) has the distribution softmax(logit) (Gumbel 1954; Maddison, Tarlow and
Minka 2014, "A* sampling"), without normalisation. If the drawn token is also in a smaller set, the
same key draws it from that set; the loop relies on it.
"""

from collections.abc import Sequence
from functools import cache
from typing import Final

import torch
from jaxtyping import Float, Int
from torch import Tensor

MASK64: Final = (1 << 64) - 1
WEYL: Final = 0x9E3779B97F4A7C15  # 2^64 / the golden ratio, odd
FIRST: Final = 0xBF58476D1CE4E5B9
SECOND: Final = 0x94D049BB133111EB


def signed(bits: int) -> int:
    """The int64 with the same 64 bits."""
    bits &= MASK64
    return bits - (1 << 64) if bits >> 63 else bits


def mix(bits: int) -> int:
    """SplitMix64's finaliser on a Python integer: a bijection of 64 bits that looks random."""
    bits &= MASK64
    bits = (bits ^ bits >> 30) * FIRST & MASK64
    bits = (bits ^ bits >> 27) * SECOND & MASK64
    return bits ^ bits >> 31


def stream(seed: int, sample: int) -> int:
    """Key of one sample of a prompt, as an int64; of a key and a token, that of the longer text.

    Mixed twice, so that (seed, sample) and (seed + 1, sample - 1) are unrelated.
    """
    return signed(mix(mix(seed) + (sample + 1) * WEYL))


def uniform(stream: int, step: int) -> float:
    """A number in [0, 1) for a step of a stream: that of `coins`, with 53 bits instead of 24.

    >>> host = uniform(stream(3, 0), 5)
    >>> abs(host - float(coins(keys(torch.tensor([stream(3, 0)]), torch.tensor([5]))))) < 2**-23
    True
    """
    key = mix(stream + (step + 1) * WEYL)
    return (mix(key - WEYL) >> 11) * 2.0**-53


def keys(streams: Int[Tensor, "batch"], step: Int[Tensor, "batch"]) -> Int[Tensor, "batch"]:
    """The key of each row's draw at its `step`."""
    return _mix(streams + (step + 1) * signed(WEYL))


def gumbel(key: Int[Tensor, "batch"], width: int) -> Float[Tensor, "batch vocabulary"]:
    """Standard Gumbel noise for each token of each row, float32 and finite.

    −log(−log1p(−u)) with 53 random bits u in (0, 1): small u keep their relative precision, so the
    upper tail, which decides improbable tokens, is exact down to 2⁻⁵⁴ (−log(−log u) ends at 2⁻²⁵).
    """
    return _standard(bits(key, width))


def bits(key: Int[Tensor, "batch"], width: int) -> Int[Tensor, "batch vocabulary"]:
    """The 64 random bits of each token of each row; `gumbel` is made of them."""
    return _mix(key[:, None] + _weyl(width, key.device))


def bits_of(
    key: Int[Tensor, "batch"], ids: Int[Tensor, "batch choices"]
) -> Int[Tensor, "batch choices"]:
    """The bits that `bits` has for these tokens of each row."""
    return _mix(key[:, None] + (ids + 1) * signed(WEYL))


def shares(bits: Int[Tensor, "*shape"]) -> Int[Tensor, "*shape"]:
    """The first 53 of 64 random bits, as a count of 2⁻⁵³: an integer, the same on every device."""
    return _shift(bits, 11)


def gumbel_of(
    key: Int[Tensor, "batch"], ids: Int[Tensor, "batch choices"]
) -> Float[Tensor, "batch choices"]:
    """The noise of `gumbel` for these tokens of each row."""
    return _standard(bits_of(key, ids))


def _standard(bits: Int[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    uniform = shares(bits).float().add_(0.5).mul_(2.0**-53).clamp_(max=1 - 2.0**-24)
    return uniform.neg_().log1p_().neg_().log_().neg_()


def coins(key: Int[Tensor, "batch"]) -> Float[Tensor, "batch"]:
    """A number in [0, 1) for each key, independent of its Gumbel noise."""
    # Tokens count from 1 in `_weyl`, so place -1 is free.
    return _shift(_mix(key - signed(WEYL)), 40).float() * 2.0**-24


def _mix(bits: Int[Tensor, "*shape"]) -> Int[Tensor, "*shape"]:
    """`mix` on an int64 tensor, in place: allocation took most of the time on large batches."""
    bits.bitwise_xor_(_shift(bits, 30)).mul_(signed(FIRST))
    bits.bitwise_xor_(_shift(bits, 27)).mul_(signed(SECOND))
    return bits.bitwise_xor_(_shift(bits, 31))


def _shift(bits: Int[Tensor, "*shape"], by: int) -> Int[Tensor, "*shape"]:
    """A shift to the right that fills with zeros, in memory of its own."""
    return (bits >> by).bitwise_and_((1 << (64 - by)) - 1)


@cache  # never freed, because captured graphs read it
def _weyl(width: int, device: torch.device) -> Int[Tensor, "vocabulary"]:
    return torch.arange(1, width + 1, dtype=torch.int64, device=device) * signed(WEYL)


def streams(samples: Sequence[tuple[int, int]], device: torch.device) -> Int[Tensor, "batch"]:
    """`stream` of each (seed, sample), as a tensor."""
    return torch.tensor([stream(*sample) for sample in samples], dtype=torch.int64, device=device)


FAR: Final = 256  # from 0: beyond it, float32 has too few digits for a logit and its noise


def categorical(
    row: Float[Tensor, "batch vocabulary"], key: Int[Tensor, "batch"]
) -> Int[Tensor, "batch"]:
    """A random token of each row, with probability softmax(row), by its `keys` alone."""
    highest = row.amax(1, keepdim=True)
    near = row - highest.where(highest.abs() > FAR, 0.0)
    return near.add_(gumbel(key, row.shape[1])).argmax(1)
