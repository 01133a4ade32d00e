"""`Ensemble`: an expression with the models that its leaves read.

    expression ─▶ leaves ─▶ contexts (model × prompt × adapter) ─▶ backbones (one batch a model)

A batch of a backbone has all rows of its first context, then those of the next. Leaves that differ
only in their exit share a row, equal prompts are read once, and a step costs one forward pass for
each model. The main context gives the vocabulary and the joint: it is the first one whose tokens
all others have.
"""

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor

from guideway.errors import SourceError, UnsupportedError
from guideway.generation.ensemble.alignment import Alignment, aligned
from guideway.generation.ensemble.frames import Frames
from guideway.generation.ensemble.prefix_cache import SHARED, PrefixCache
from guideway.generation.ensemble.prompt import PromptReader
from guideway.generation.ensemble.threads import check_threads
from guideway.generation.ensemble.views import Reading
from guideway.logits.expr import (
    GediTerm,
    Guided,
    Leaf,
    Linear,
    Watermarked,
    Whole,
    check_size,
    inner,
    leaves,
    walk,
)
from guideway.models.protocol import (
    CroppingModel,
    LanguageModel,
    States,
    VariedModel,
)
from guideway.models.transformers import TransformersModel
from guideway.vocabulary.vocabulary import Vocabulary
from guideway.watermark.scheme import Scheme

Prompts: TypeAlias = tuple[tuple[int, ...], ...]
"""The tokens that each context of one row reads."""
Row: TypeAlias = tuple[tuple[int, ...], Any]
"""The tokens that one context of one row reads, and its adapter."""
Logits: TypeAlias = Mapping[Leaf, Tensor]
"""Logits of each leaf. Those of a leaf of a GeDi pair have the mass of the text so far."""
LEAST_GAIN: Final = -1e4
SAVED: Final = 256  # tokens that several prompts share, for which a further forward is worth it
NO_LOGITS: Final[Logits] = {}


@dataclass(frozen=True, slots=True)
class EnsembleCache:
    """State of an ensemble between steps.

    Attributes:
        caches: cache of each backbone.
        rows: rows of a context.
        last: logits for the next token, of leaves of GeDi pairs.
        known: after the prompts, how many tokens of each main context the prefix cache had.
    """

    caches: tuple[Any, ...]
    rows: int
    last: Mapping[Leaf, Float[Tensor, "batch vocabulary"]]
    known: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Backbone:
    """One model and its part of the ensemble.

    Attributes:
        contexts: its contexts in the order of its rows.
        adapters: adapter of each context.
        exits: blocks after which leaves read, in order.
        heads: each leaf with the index of its context and of its exit (0: none).
        alignment: to the ensemble's vocabulary; None if the vocabularies are equal.
    """

    model: LanguageModel[Any]
    contexts: tuple[int, ...]
    adapters: tuple[Any, ...]
    exits: tuple[int, ...]
    heads: tuple[tuple[Leaf, int, int], ...]
    alignment: Alignment | None

    @property
    def varied(self) -> bool:
        """Return True if adapters or exits are used."""
        return bool(self.exits) or any(adapter is not None for adapter in self.adapters)

    def prefill(
        self, prompts: Sequence[Prompts], prefixes: PrefixCache, states: States | None = None
    ) -> tuple[Any, Logits, tuple[int, ...]]:
        """Each row's prompts, equal ones once; how many tokens of the first context were known.

        `states` gets the hidden states of the first context.
        """
        wanted = [
            (prompt[context], adapter)
            for context, adapter in zip(self.contexts, self.adapters, strict=True)
            for prompt in prompts
        ]
        distinct = list(dict.fromkeys(wanted))
        shown, known = None if states is None else States(), [0] * len(distinct)
        if shown is None and isinstance(self.model, CroppingModel) and self.model.crops:
            cache, logits, known = self._prefill(self.model, distinct, prefixes)
        else:
            cache, logits = self._read(distinct, shown)
        places = {each: place for place, each in enumerate(distinct)}
        rows = [places[each] for each in wanted]
        if len(distinct) < len(wanted):
            cache, logits = self.model.select(cache, rows), logits[:, rows]
        if states is not None and shown is not None:
            states.extend(shown[row] for row in rows[: len(prompts)])
        counts = tuple(known[row] for row in rows[: len(prompts)])
        return cache, self.split(logits, len(prompts)), counts

    def _read(
        self, rows: Sequence[Row], states: States | None = None
    ) -> tuple[Any, Float[Tensor, "heads batch vocabulary"]]:
        """Read prompts from their beginning."""
        tokens = [prompt for prompt, _ in rows]
        if self.varied or states is not None:
            adapters = [adapter for _, adapter in rows]
            return self.hidden().prefill_varied(tokens, adapters, self.exits, states)
        cache, logits = self.model.prefill(tokens)
        return cache, logits[None]

    def _prefill(
        self, model: CroppingModel[Any], rows: Sequence[Row], prefixes: PrefixCache
    ) -> tuple[Any, Float[Tensor, "heads batch vocabulary"], list[int]]:
        """Read prompts from where those that were read before end; tokens that were known."""
        known = [prefixes.find(model, adapter, prompt) for prompt, adapter in rows]
        counts = [0 if each is None else each[1] for each in known]
        missed = [n for n, each in enumerate(known) if each is None]
        if length := _shared([rows[n] for n in missed]):
            prompt, adapter = rows[missed[0]]
            shared, _ = self._read([(prompt[:length], adapter)])
            known = [each or (model.select(shared, [0]), length) for each in known]
            missed = []
        found = [n for n, each in enumerate(known) if each is not None]
        parts = [self._read([rows[n] for n in missed])] if missed else []
        if found:
            begun = [each for each in known if each is not None]
            rest = [rows[n][0][length:] for n, (_, length) in zip(found, begun, strict=True)]
            cache = model.concat([cache for cache, _ in begun]) if len(begun) > 1 else begun[0][0]
            parts.append(model.append(cache, rest, self.exits))
        cache, logits = parts[0]
        if len(parts) > 1:
            order = sorted(range(len(rows)), key=[*missed, *found].__getitem__)
            cache = model.select(model.concat([cache, parts[1][0]]), order)
            logits = torch.cat([logits, parts[1][1]], 1)[:, order]
        for n, (prompt, adapter) in enumerate(rows):
            prefixes.keep(model, adapter, prompt, cache, n, len(rows))
        return cache, logits, counts

    def extend(
        self, cache: Any, tokens: Int[Tensor, "batch new"], states: States | None = None
    ) -> tuple[Any, Logits]:
        """The same tokens in every context. `states` gets those of the first context."""
        if self.alignment is not None:
            tokens = self.alignment.tokens(tokens)
        read = tokens.to(self.model.device).repeat(len(self.contexts), 1)
        if self.varied or states is not None:
            cache, logits = self.hidden().extend_varied(cache, read, self.exits, states)
            if states is not None:
                del states[len(tokens) :]
        else:
            cache, one = self.model.extend(cache, read)
            logits = one[None]
        return cache, self.split(logits, len(tokens))

    def decode(self, memory: Any, tokens: Int[Tensor, "batch"]) -> Logits:
        """`extend` by one token, in memory that never moves."""
        if self.alignment is not None:
            tokens = self.alignment.tokens(tokens[:, None])[:, 0]
        model = cast("TransformersModel", self.model)
        logits = model.decode(memory, tokens.repeat(len(self.contexts)))
        return self.split(logits[None], len(tokens))

    def places(self, rows: Sequence[int], count: int) -> list[int]:
        """These of `count` rows, in every context."""
        return [place * count + row for place in range(len(self.contexts)) for row in rows]

    def without(self, leaf: Leaf) -> "Backbone | None":
        """The same without what `leaf` alone reads; None if that is everything."""
        heads = [head for head in self.heads if head[0] != leaf]
        kept = sorted({place for _, place, _ in heads})
        if not kept:
            return None
        return replace(
            self,
            contexts=tuple(self.contexts[place] for place in kept),
            adapters=tuple(self.adapters[place] for place in kept),
            heads=tuple((each, kept.index(place), head) for each, place, head in heads),
        )

    def select(self, cache: Any, rows: Sequence[int], count: int) -> Any:
        """These of `count` rows, in every context."""
        return self.model.select(cache, self.places(rows, count))

    def keep(
        self,
        cache: Any,
        count: int,
        place: int,
        prompts: Prompts,
        text: Sequence[int],
        prefixes: PrefixCache,
    ) -> None:
        """Store the tokens that one of `count` rows has read in each context."""
        model = cast("CroppingModel[Any]", self.model)
        if self.alignment is not None:
            own = self.alignment.tokens(torch.tensor([[*text]], dtype=torch.int64))[0]
            text = cast("list[int]", own.tolist())  # pyright: ignore[reportUnknownMemberType]
        for number, (context, adapter) in enumerate(zip(self.contexts, self.adapters, strict=True)):
            read = (*prompts[context], *text)
            rows = len(self.contexts) * count
            prefixes.keep(model, adapter, read, cache, number * count + place, rows)

    def concat(self, caches: Sequence[Any], counts: Sequence[int]) -> Any:
        """The rows of several caches: all of the first context, then those of the next."""
        model, contexts = cast("CroppingModel[Any]", self.model), range(len(self.contexts))
        begins = [len(contexts) * sum(counts[:n]) for n in range(len(counts))]
        order = [
            begin + context * count + row
            for context in contexts
            for begin, count in zip(begins, counts, strict=True)
            for row in range(count)
        ]
        return model.select(model.concat(caches), order)

    def crop(self, cache: Any, counts: Sequence[int]) -> Any:
        """The cache without the last tokens of each row, in every context."""
        return cast("CroppingModel[Any]", self.model).crop(cache, [*counts] * len(self.contexts))

    def hidden(self) -> VariedModel[Any]:
        """The model, if it shows hidden states."""
        if isinstance(self.model, VariedModel):
            return self.model
        name = type(self.model).__name__
        raise UnsupportedError(
            f"{name} has no hidden states, which contrastive search and heads need; an expression "
            "uses those of its first model",
            feature="hidden states",
        )

    def split(self, logits: Float[Tensor, "heads all *rest"], rows: int) -> Logits:
        """Logits of each leaf from those of a forward; each context has `rows` rows of them."""
        parts: dict[Leaf, Tensor] = {}
        for leaf, place, head in self.heads:
            part = logits[head, place * rows : (place + 1) * rows]
            parts[leaf] = part if self.alignment is None else self.alignment.logits(part)
        return parts


class Ensemble:
    """An expression that can be run: tokens in, logits of every leaf out.

    Example:
        >>> from guideway.models.fake import FakeModel
        >>> vocabulary = Vocabulary([b"a", b"b", b"<eos>"], eos_ids={2})
        >>> ensemble = Ensemble.of(FakeModel.table(vocabulary, torch.eye(3)))
        >>> cache, logits = ensemble.prefill([((0, 1),)])
        >>> [row.tolist() for row in logits.values()]
        [[[0.0, 1.0, 0.0]]]

    Attributes:
        node: the expression; every leaf's source is a `Reading`.
        mark: the watermark, or None.
        leaves: its leaves in the order of the expression.
        contexts: contexts of the leaves, the main one first.
        backbones: the models with their contexts.
        vocabulary: that of the main context.
        summed: leaves of GeDi pairs, which need the log-probability of the text so far.
        frames: captured steps that no batch uses now (`generation.captured`); None if
            capturing failed.
    """

    def __init__(self, whole: Whole, prefixes: PrefixCache = SHARED) -> None:
        """Group the leaves by context and model; refuse expressions that cannot be run.

        `prefixes` has what the models have read before.
        """
        self._prefixes = prefixes
        self.mark = cast("Scheme", whole.mark) if isinstance(whole, Watermarked) else None
        self.node = node = inner(whole)
        check_size(node)
        self.leaves = tuple(leaves(node))
        if any(each == Linear(()) for each in walk(node)):
            raise SourceError(
                "the expression, or a part of it, is empty: its terms cancel each other"
            )
        written = list(dict.fromkeys(reading(leaf).context for leaf in self.leaves))
        main = _main(written)
        self.contexts = (main, *(each for each in written if each is not main))
        self.vocabulary: Vocabulary = main.model.vocabulary
        self.device: torch.device = main.model.device
        self.backbones = tuple(self._backbone(model) for model in self._models())
        terms = [term for each in walk(node) if isinstance(each, Guided) for term in each.terms]
        pairs = [term for term in terms if isinstance(term, GediTerm)]
        self.summed = tuple({leaf for pair in pairs for leaf in (pair.wanted, pair.unwanted)})
        self.reads_texts = bool(terms)
        self.frames: Frames | None = Frames(self.device)

    @classmethod
    def of(cls, model: LanguageModel[Any]) -> "Ensemble":
        """A model as an expression of one leaf."""
        return cls(Leaf(Reading(model, PromptReader(model.vocabulary)), "model"))

    def beside(self, leaf: Leaf) -> "Ensemble":
        """The ensemble without the parts that only `leaf` reads; its logits come from elsewhere."""
        if leaf in self.summed:
            raise UnsupportedError(
                f"{leaf.name} is a model of a GeDi pair, so it cannot be the running model of "
                "another loop",
                feature="GeDi by the model that generates",
            )
        made = copy.copy(self)
        fewer = (backbone.without(leaf) for backbone in self.backbones)
        made.backbones = tuple(backbone for backbone in fewer if backbone is not None)
        made.frames = Frames(self.device)
        return made

    def prefill(
        self, prompts: Sequence[Prompts], states: States | None = None
    ) -> tuple[EnsembleCache, Logits]:
        """Cache with a row for each prompt, and logits after it, [batch, vocabulary].

        `prompts` has the tokens of each context; `states` collects the main context's last hidden
        states.
        """
        main = None if states is None else self.main
        made = [
            each.prefill(prompts, self._prefixes, states if each is main else None)
            for each in self.backbones
        ]
        logits = self._joined([part for _, part, _ in made])
        zeros = torch.zeros(len(prompts), device=self.device)
        logits |= {leaf: _with_mass(logits[leaf], zeros) for leaf in self.summed}
        caches = tuple(cache for cache, _, _ in made)
        pairs = zip(self.backbones, made, strict=True)
        known = next((counts for each, (_, _, counts) in pairs if each.contexts[0] == 0), ())
        return EnsembleCache(caches, len(prompts), self._watched(logits), known), logits

    def extend(
        self,
        cache: EnsembleCache,
        tokens: Int[Tensor, "batch new"],
        states: States | None = None,
    ) -> tuple[EnsembleCache, Logits]:
        """Cache after more tokens, and logits after each, [batch, new, vocabulary]."""
        main = None if states is None else self.main
        if self.device.type == "cpu":
            check_threads()
        made = [
            each.extend(own, tokens, states if each is main else None)
            for each, own in zip(self.backbones, cache.caches, strict=True)
        ]
        logits = self._joined([part for _, part in made])
        for leaf, before in cache.last.items():
            gained = _gained(before, logits[leaf], tokens).cumsum(1)
            logits[leaf] = _with_mass(logits[leaf], before.logsumexp(1, keepdim=True) + gained)
        last = {leaf: row[:, -1] for leaf, row in self._watched(logits).items()}
        return EnsembleCache(tuple(c for c, _ in made), cache.rows, last), logits

    @property
    def is_static(self) -> bool:
        """Return True if all models can decode in fixed memory, on one device, the same ids."""
        return self.crops and not any(
            each.varied
            or not isinstance(each.model, TransformersModel)
            or each.model.device != self.device
            or (each.alignment is not None and not each.alignment.straight)
            for each in self.backbones
        )

    def decode(self, memories: Sequence[Any], tokens: Int[Tensor, "batch"]) -> Logits:
        """Logits after one more token in each row, [batch, vocabulary], in fixed memory."""
        pairs = zip(self.backbones, memories, strict=True)
        return self._joined([each.decode(own, tokens) for each, own in pairs])

    @property
    def main(self) -> Backbone:
        """The model of the main context, which is the first that it reads."""
        return next(each for each in self.backbones if each.contexts[0] == 0)

    def select(self, cache: EnsembleCache, rows: Sequence[int]) -> EnsembleCache:
        """A cache of these rows."""
        caches = tuple(
            each.select(own, rows, cache.rows)
            for each, own in zip(self.backbones, cache.caches, strict=True)
        )
        index = torch.tensor(rows, dtype=torch.int64, device=self.device)
        last = {leaf: each[index] for leaf, each in cache.last.items()}
        return replace(cache, caches=caches, rows=len(rows), last=last)

    @property
    def crops(self) -> bool:
        """Return True if the caches of all models can forget the last tokens."""
        models = (each.model for each in self.backbones)
        return all(isinstance(each, CroppingModel) and each.crops for each in models)

    def append(
        self, cache: EnsembleCache, tokens: Sequence[Sequence[int]]
    ) -> tuple[EnsembleCache, Logits]:
        """`extend` by texts of different lengths, of one context; the logits after each of them."""
        model = cast("CroppingModel[Any]", self.main.model)
        own, logits = model.append(cache.caches[0], tokens, self.main.exits)
        return replace(cache, caches=(own,)), self.main.split(logits, len(tokens))

    def concat(self, caches: Sequence[EnsembleCache]) -> EnsembleCache:
        """A cache with the rows of all of these; the models must crop."""
        counts = [cache.rows for cache in caches]
        owns = zip(*(cache.caches for cache in caches), strict=True)
        pairs = zip(self.backbones, owns, strict=True)
        return EnsembleCache(
            tuple(each.concat(own, counts) for each, own in pairs),
            sum(counts),
            {leaf: torch.cat([cache.last[leaf] for cache in caches]) for leaf in self.summed},
        )

    def crop(self, cache: EnsembleCache, counts: Sequence[int]) -> EnsembleCache:
        """The caches without the last `counts[row]` tokens; `last` stays."""
        caches = zip(self.backbones, cache.caches, strict=True)
        return replace(cache, caches=tuple(each.crop(own, counts) for each, own in caches))

    def keep(self, cache: EnsembleCache, place: int, prompts: Prompts, text: Sequence[int]) -> None:
        """Store the tokens of a row, its prompts and `text`, for later prompts."""
        if not self.crops:
            return
        for each, own in zip(self.backbones, cache.caches, strict=True):
            each.keep(own, cache.rows, place, prompts, text, self._prefixes)

    def _models(self) -> list[LanguageModel[Any]]:
        return list({id(each.model): each.model for each in self.contexts}.values())

    def _backbone(self, model: LanguageModel[Any]) -> Backbone:
        own = [place for place, each in enumerate(self.contexts) if each.model is model]
        read = [leaf for leaf in self.leaves if reading(leaf).model is model]
        exits = tuple(sorted({e for leaf in read if (e := reading(leaf).exit) is not None}))
        places = {self.contexts[place]: number for number, place in enumerate(own)}
        heads = tuple(
            (
                leaf,
                places[reading(leaf).context],
                0 if (e := reading(leaf).exit) is None else 1 + exits.index(e),
            )
            for leaf in read
        )
        plain = len(self.leaves) == 1 and model.vocabulary is self.vocabulary
        alignment = None if plain else aligned(self.vocabulary, model.vocabulary)
        adapters = tuple(self.contexts[place].adapter for place in own)
        return Backbone(model, tuple(own), adapters, exits, heads, alignment)

    def _joined(self, parts: Sequence[Logits]) -> dict[Leaf, Tensor]:
        return {
            leaf: row if row.device == self.device else row.to(self.device)
            for part in parts
            for leaf, row in part.items()
        }

    def _watched(self, logits: Logits) -> Logits:
        return {leaf: logits[leaf] for leaf in self.summed} if self.summed else NO_LOGITS


def _shared(rows: Sequence[Row]) -> int:
    """The number of first tokens that all prompts share; 0 if reading them once saves little."""
    if len({id(adapter) for _, adapter in rows}) != 1:
        return 0
    prompts = [prompt for prompt, _ in rows]
    first, last = min(prompts), max(prompts)  # all others lie between them
    unequal = (n for n, (a, b) in enumerate(zip(first, last, strict=False)) if a != b)
    length = min(next(unequal, len(first)), min(map(len, prompts)) - 1)
    return length if length * (len(rows) - 1) >= SAVED else 0


def _main(contexts: Sequence[Reading]) -> Reading:
    """The first context whose tokens all others have."""
    vocabularies = list(dict.fromkeys(each.model.vocabulary for each in contexts))
    if len(vocabularies) == 1:
        return contexts[0]
    refused: list[UnsupportedError] = []
    for vocabulary in vocabularies:
        try:
            for other in vocabularies:
                aligned(vocabulary, other)
        except UnsupportedError as error:
            refused.append(error)
            continue
        return next(each for each in contexts if each.model.vocabulary == vocabulary)
    raise refused[0]


def reading(leaf: Leaf) -> Reading:
    return cast("Reading", leaf.source)


def _with_mass(
    logits: Float[Tensor, "*batch vocabulary"], log_mass: Float[Tensor, "*batch"]
) -> Float[Tensor, "*batch vocabulary"]:
    """Logits with this mass; those of a row without any are left as they are."""
    own = logits.logsumexp(-1)
    return logits + (log_mass - own).where(own > -math.inf, 0.0)[..., None]


def _gained(
    last: Float[Tensor, "batch vocabulary"],
    logits: Float[Tensor, "batch new vocabulary"],
    tokens: Int[Tensor, "batch new"],
) -> Float[Tensor, "batch new"]:
    """The log-probability of new tokens, each given those before it."""
    before = torch.cat([last[:, None], logits[:, :-1]], 1)
    chosen = before.gather(2, tokens.to(before.device)[:, :, None])[:, :, 0]
    # A token that a model of the pair excludes says much, and not everything.
    return (chosen - before.logsumexp(2)).clamp(min=LEAST_GAIN)
