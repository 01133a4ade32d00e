"""The settings as keyword arguments, for type checkers: the names and types of `Sampling`.

Nothing here runs: `Sampling.of` reads the arguments. A test compares the names and types.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypedDict

from guideway.sampling.settings import Bias


class SamplingArguments(TypedDict, total=False):
    """Every setting of `Sampling` but the number of sequences, and transformers' other names."""

    do_sample: bool | None
    temperature: float | int | None
    top_k: int | None
    top_p: float | int | None
    min_p: float | int | None
    typical_p: float | int | None
    epsilon_cutoff: float | int | None
    eta_cutoff: float | int | None
    top_h: float | int | None
    top_n_sigma: float | int | None
    xtc_probability: float | int | None
    xtc_threshold: float | int
    mirostat_mode: int | None
    mirostat_tau: float | int
    mirostat_eta: float | int
    repetition_penalty: float | int | None
    presence_penalty: float | int | None
    frequency_penalty: float | int | None
    flat_penalty: float | int | None
    no_repeat_ngram_size: int | None
    bad_words_ids: Sequence[str | Sequence[int]] | None
    bad_words: Sequence[str | Sequence[int]] | None
    logit_bias: Bias | Sequence[Any] | Callable[[str], Bias] | None
    sequence_bias: Bias | Sequence[Any] | Callable[[str], Bias] | None
    dry_multiplier: float | int | None
    dry_base: float | int
    dry_allowed_length: int
    dry_sequence_breakers: str | Sequence[str]
    order: str | Sequence[str]
    seed: int | None
    stop: str | tuple[str, ...] | list[str]
    stop_strings: str | tuple[str, ...] | list[str]
    min_new_tokens: int
    max_new_tokens: int
    max_tokens: int
    num_beams: int
    length_penalty: float | int | None
    early_stopping: bool | str | None
    num_beam_groups: int
    diversity_penalty: float | int | None
    stochastic_beams: bool
    penalty_alpha: float | int | None
    best_of: int | None
    best_by: Any
    exactness: str
    max_attempts: int | None
    particles: int | None
    resample_below: float | int | None
    critic: Callable[[str], float | int] | None
