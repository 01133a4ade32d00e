"""A language model made of a table or of a function: for tests, ours and those of users.

Exact, fast, deterministic, and with any vocabulary. Its cache is the tuple of each row's tokens.
It knows no weights.
"""

import hashlib
from collections.abc import Callable, Sequence
from typing import TypeAlias, cast, final

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from fairlead.errors import ModelError
from fairlead.vocabulary.spellings import Vocabulary

Prefix: TypeAlias = tuple[int, ...]


@final
class FakeModel:
    """A model whose logits are a function of the tokens so far.

    Example:
        >>> vocabulary = Vocabulary([b"a", b"b", b"<eos>"], eos_ids={2})
        >>> model = FakeModel.table(vocabulary, [[0, 1, 0], [0, 0, 1], [0, 0, 0]])
        >>> cache, logits = model.prefill([[0]])
        >>> logits.tolist()
        [[0.0, 1.0, 0.0]]
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        function: Callable[[Prefix], Sequence[float | int] | Tensor],
        *,
        context: int | None = None,
    ) -> None:
        """A model with logits `function(tokens so far, the prompt's included)`."""
        self.vocabulary = vocabulary
        self.device = torch.device("cpu")
        self.context = context
        self._function = function

    @classmethod
    def table(
        cls,
        vocabulary: Vocabulary,
        rows: Sequence[Sequence[float | int]] | Tensor,
    ) -> "FakeModel":
        """A model whose logits depend on the last token alone: row `i` follows token `i`."""
        table = torch.as_tensor(rows, dtype=torch.float32)
        if table.shape != (vocabulary.width, vocabulary.width):
            raise ModelError(
                f"the table has shape {tuple(table.shape)}: it needs a row and a column for each "
                f"of the {vocabulary.width} tokens"
            )
        return cls(vocabulary, lambda prefix: table[prefix[-1]])

    @classmethod
    def random(cls, vocabulary: Vocabulary, seed: int = 0, *, scale: float = 1.0) -> "FakeModel":
        """A model whose logits are normal noise decided by the seed and all tokens so far.

        Args:
            vocabulary: its vocabulary.
            seed: decides the noise.
            scale: standard deviation of the logits; at 1, end ids are as likely as any other.
        """

        def logits(prefix: Prefix) -> Float[Tensor, "vocabulary"]:
            digest = hashlib.blake2b(repr((seed, prefix)).encode(), digest_size=16).digest()
            noise = np.random.default_rng(int.from_bytes(digest, "little"))
            row = noise.standard_normal(vocabulary.width, np.float32) * np.float32(scale)
            return torch.as_tensor(row)

        return cls(vocabulary, logits)

    def prefill(
        self, prompts: Sequence[Sequence[int]]
    ) -> tuple[tuple[Prefix, ...], Float[Tensor, "batch vocabulary"]]:
        """The prompts themselves, and the function's value on each."""
        cache = tuple(tuple(prompt) for prompt in prompts)
        if not all(cache):
            raise ModelError("a prompt is empty: a model needs one token at least")
        return cache, torch.stack([self._row(prefix) for prefix in cache])

    def extend(
        self, cache: tuple[Prefix, ...], tokens: Int[Tensor, "batch new"]
    ) -> tuple[tuple[Prefix, ...], Float[Tensor, "batch new vocabulary"]]:
        """The longer prefixes, and the function's value on each."""
        rows: list[Tensor] = []
        longer: list[Prefix] = []
        news = cast("list[list[int]]", tokens.tolist())  # pyright: ignore[reportUnknownMemberType]
        for prefix, new in zip(cache, news, strict=True):
            ends = range(len(prefix) + 1, len(prefix) + len(new) + 1)
            longer.append((*prefix, *new))
            rows.append(torch.stack([self._row(longer[-1][:end]) for end in ends]))
        return tuple(longer), torch.stack(rows)

    def select(self, cache: tuple[Prefix, ...], rows: Sequence[int]) -> tuple[Prefix, ...]:
        """The prefixes of these rows."""
        return tuple(cache[row] for row in rows)

    def _row(self, prefix: Prefix) -> Float[Tensor, "vocabulary"]:
        row = torch.as_tensor(self._function(prefix), dtype=torch.float32)
        if row.shape != (self.vocabulary.width,):
            raise ModelError(
                f"the function gave {tuple(row.shape)} logits for {prefix}: it needs "
                f"{self.vocabulary.width}"
            )
        return row
