"""Protocols of language models. `tests/laws` checks these laws on every implementation:

- A row of logits depends on that row's tokens alone (in float32, up to rounding).
- `extend` by several tokens gives at each what single steps give.
- `select` copies: it may repeat, omit and reorder rows, and its argument stays usable. A cache
  passed to `extend` must not be used again.
- Logits are float32, as wide as the vocabulary, on `device`.

A `CroppingModel` can also forget tokens and join rows, which speculation and the prefix cache need:

- After `crop`, a row is as if its last tokens had never been read. Its argument is used up.
- `concat` copies: rows of several caches, of different lengths, are one batch. A model whose cache
  cannot forget tokens has `joins = True` if it can do this.

A `VariedModel` has low-rank adapters and early exits (logits after block k):

- Head 0 is the model itself, as in `prefill` and `extend`; head n is exit `exits[n − 1]`.
- An exit after block k gives the logits of a copy without the later blocks.
- A row with an adapter gives the logits of a copy with the adapter merged, whatever the adapters of
  other rows; its exits too.
- The cache keeps each row's adapter, through `extend`, `extend_varied` and `select`.
- Later calls without adapters and exits are bit for bit as before.

It also shows last hidden states, the input of the head:

- There is one for each token of the prompt or of the new tokens, none for padding; it depends on
  the row's tokens so far and its adapter alone.
- Cache and logits are bit for bit those without hidden states.
- The product of such a state and the rows of the output embedding is greatest where the logits are.
"""

from collections.abc import Callable, Container, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias, TypeVar, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from guideway.models.adapter import Adapter
from guideway.vocabulary.vocabulary import Vocabulary

Cache = TypeVar("Cache")
States: TypeAlias = list[Tensor]
"""For each row the last hidden states after the tokens that it has just read, [tokens, hidden]."""


@runtime_checkable  # the tests check annotations
class LanguageModel(Protocol[Cache]):
    """Tokens and a cache in, logits out."""

    @property
    def vocabulary(self) -> Vocabulary:
        """The tokens as bytes; its width is that of the logits."""
        ...

    @property
    def device(self) -> torch.device:
        """Device of the logits."""
        ...

    @property
    def context(self) -> int | None:
        """The greatest number of tokens of prompt and text together, None if there is no limit."""
        ...

    def prefill(
        self, prompts: Sequence[Sequence[int]]
    ) -> tuple[Cache, Float[Tensor, "batch vocabulary"]]:
        """A cache with one row for each prompt (none of them empty), and the logits after it."""
        ...

    def extend(
        self, cache: Cache, tokens: Int[Tensor, "batch new"]
    ) -> tuple[Cache, Float[Tensor, "batch new vocabulary"]]:
        """The cache after more tokens in each row, and the logits after each of them."""
        ...

    def select(self, cache: Cache, rows: Sequence[int]) -> Cache:
        """A cache of these rows of `cache`."""
        ...


@runtime_checkable
class CroppingModel(LanguageModel[Cache], Protocol[Cache]):
    """A model whose cache can forget the last tokens of each row."""

    @property
    def crops(self) -> bool:
        """False if this cache cannot: layers with a sliding window, or recurrent ones."""
        ...

    def version(self) -> Hashable:
        """Changes when the weights change or move: a cache of other weights is of no use.

        No property, because it takes a millisecond, and `isinstance` reads properties.
        """
        ...

    def crop(self, cache: Cache, counts: Sequence[int]) -> Cache:
        """The cache without the last `counts[row]` tokens of each row; one token must stay."""
        ...

    def append(
        self, cache: Cache, tokens: Sequence[Sequence[int]], exits: Sequence[int]
    ) -> tuple[Cache, Float[Tensor, "heads batch vocabulary"]]:
        """`extend` by texts of different lengths, and the logits after the last token of each."""
        ...

    def concat(self, caches: Sequence[Cache]) -> Cache:
        """A cache with the rows of all of these, in their order."""
        ...

    def nbytes(self, cache: Cache) -> int:
        """The memory that a cache takes, in bytes."""
        ...


@runtime_checkable
class VariedModel(LanguageModel[Cache], Protocol[Cache]):
    """A model that gives early exits and hidden states, and reads each row with its own adapter."""

    @property
    def layers(self) -> int:
        """Number of blocks; an exit is after block k, 1 ≤ k < layers. 0: no exits known."""
        ...

    def prefill_varied(
        self,
        prompts: Sequence[Sequence[int]],
        adapters: Sequence[Adapter | None],
        exits: Sequence[int],
        states: States | None = None,
    ) -> tuple[Cache, Float[Tensor, "heads batch vocabulary"]]:
        """`prefill`, each row with its adapter; heads are the model and the exits.

        `states` gets the states after the tokens of each row, in float32.
        """
        ...

    def extend_varied(
        self,
        cache: Cache,
        tokens: Int[Tensor, "batch new"],
        exits: Sequence[int],
        states: States | None = None,
    ) -> tuple[Cache, Float[Tensor, "heads batch new vocabulary"]]:
        """`extend` with the adapters that the cache keeps; heads are the model and the exits."""
        ...

    def output_rows(
        self, tokens: Int[Tensor, "tokens"]
    ) -> tuple[Float[Tensor, "tokens hidden"], Float[Tensor, "tokens"]]:
        """Rows of the output embedding for these tokens, and their biases, in float32."""
        ...


Origin: TypeAlias = tuple[str, int]
"""Where a drafted token comes from: tokens of one origin are right about equally often."""


@dataclass(frozen=True, slots=True)
class Draft:
    """The tokens that may come next, and the origin of each."""

    tokens: tuple[int, ...] = ()
    origins: tuple[Origin, ...] = ()

    def cut(self, length: int) -> "Draft":
        """The first tokens."""
        return Draft(self.tokens[:length], self.origins[:length])


NO_DRAFT: Final = Draft()
Tokens: TypeAlias = Sequence[int]


@dataclass(frozen=True, slots=True)
class Due:
    """The texts that can go on after a forward.

    Attributes:
        logits: of each model, after the last token of a text and after each drafted one; then those
            of the next text.
        known: for each, the tokens of its prompt that were in shared pages, so that they were not
            read.
    """

    texts: tuple[int, ...]  # their numbers
    drafted: tuple[Draft, ...]  # for each, the draft that was read after its last token
    logits: Mapping[LanguageModel[Any], Float[Tensor, "tokens vocabulary"]]
    known: tuple[int, ...]
    read: int  # the number of tokens that the forward has read, those of other texts included


Choose: TypeAlias = Callable[[Due], Sequence[Tokens | None]]
"""Gives each text the drafted tokens that are right and one more; None ends it."""
Drafted: TypeAlias = Callable[[Sequence[int]], Sequence[Draft]]
"""Guesses of the next tokens of texts that came to `Choose` before."""


def undrafted(texts: Sequence[int]) -> list[Draft]:
    """No guesses."""
    return [NO_DRAFT] * len(texts)


@runtime_checkable  # the tests check annotations
class Pages(Protocol):
    """A paged cache: texts that some models read side by side. All read the same tokens.

    Whoever runs the models implements it; `generation.paged` schedules rows over it.

    Laws:

    - `step` calls `choose` at most once, with texts whose tokens so far are all read, each once.
      The logits are those of the models after that text alone (in float32, up to rounding).
    - Every text comes to `choose` after finitely many steps, and again after each of its tokens.
    - A text that ended or was removed does not come again, and its pages are free.
    - A drafted token that is not chosen is forgotten. Pages need not read what is drafted.
    """

    @property
    def capacity(self) -> int:
        """The greatest number of tokens of one text, its prompt included."""
        ...

    def add(self, text: int, prompt: Sequence[int]) -> None:
        """Add a text; no number is used twice."""
        ...

    def remove(self, text: int) -> None:
        """Forget a text."""
        ...

    def step(self, choose: Choose, draft: Drafted = undrafted, held: Container[int] = ()) -> None:
        """Run the models once, if there is a text; `held` ones that were chosen before wait."""
        ...
