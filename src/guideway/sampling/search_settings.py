"""Choose the search for given settings, and refuse settings that conflict.

The searches are "beams" (greatest score; num_beams), "stochastic" (without replacement;
stochastic_beams), "contrastive" (penalty_alpha), and by exactness "rejection" (exact samples),
"asap" (converging samples) and "smc" (weighted particles).
"""

from typing import Any, Final, Literal, TypeAlias

from guideway.errors import LimitError, UnsupportedError

Sampling: TypeAlias = Any  # of `sampling.settings`, which imports this module
Search: TypeAlias = Literal["beams", "stochastic", "contrastive", "rejection", "asap", "smc"] | None
"""None: every text is drawn by itself, token by token."""

# Settings of one search or of several.
OF_SEARCHES: Final[dict[str, tuple[str, ...]]] = {
    "early_stopping": ("beams",),
    "num_beam_groups": ("beams",),
    "diversity_penalty": ("beams",),
    "max_attempts": ("rejection",),
    "particles": ("smc",),
    "resample_below": ("smc",),
    "critic": ("smc",),
}
# Settings that select each search.
ASKED: Final = {
    "beams": "num_beams above 1",
    "rejection": 'exactness="rejection"',
    "smc": 'exactness="smc"',
}
NOT_CONTRASTIVE: Final = "is no part of contrastive search, which takes the best of the top_k"


def search_of(sampling: Sampling) -> Search:
    """Name of the search for these settings, or None."""
    if sampling.exactness != "local":
        return sampling.exactness
    if sampling.stochastic_beams:
        return "stochastic"
    if sampling.num_beams > 1:
        return "beams"
    return None if sampling.penalty_alpha is None else "contrastive"


def check_search(sampling: Sampling) -> None:
    """Refuse settings that conflict, or belong to another search."""
    search = search_of(sampling)
    _check_one(sampling, search)
    for name, searches in OF_SEARCHES.items():
        value = getattr(sampling, name)
        given = value > 1 if name == "num_beam_groups" else value is not None
        if given and search not in searches:
            named = " and ".join(f"{each} ({ASKED[each]})" for each in searches)
            raise _apart(name, f"is a setting of {named}")
    if sampling.length_penalty is not None and search != "beams" and sampling.best_of is None:
        raise _apart("length_penalty", "is a setting of beams and of best_of")
    if sampling.best_by is not None and sampling.best_of is None:
        raise _apart("best_by", "needs best_of, the number of texts to choose from")
    _check_groups(sampling)
    _check_random(sampling, search)
    _check_count(sampling, search)


def _check_one(sampling: Sampling, search: Search) -> None:
    """Two searches cannot be one."""
    asked = {
        "exactness": sampling.exactness != "local",
        "stochastic_beams": sampling.stochastic_beams,
        "num_beams": sampling.num_beams > 1 and not sampling.stochastic_beams,
        "penalty_alpha": sampling.penalty_alpha is not None,
    }
    given = [name for name, on in asked.items() if on]
    if len(given) > 1:
        raise _apart(given[0], f"and {given[1]} are different searches: give one of them")
    if sampling.best_of is not None and search in ("beams", "stochastic", "contrastive"):
        raise _apart("best_of", f"and {given[0]} are different searches: give one of them")


def _check_groups(sampling: Sampling) -> None:
    beams, groups = sampling.num_beams, sampling.num_beam_groups
    if beams % groups:
        raise _apart("num_beam_groups", f"is {groups}: it must divide num_beams, which is {beams}")
    if sampling.diversity_penalty is not None and groups == 1:
        raise _apart("diversity_penalty", "needs num_beam_groups above 1")


def _check_random(sampling: Sampling, search: Search) -> None:
    """Refuse sampling in searches without draws, and missing sampling in others."""
    if search in ("rejection", "asap", "smc", "stochastic") and not sampling.samples:
        name = "stochastic_beams" if search == "stochastic" else "exactness"
        raise _apart(name, "needs sampling: leave do_sample=False and temperature=0 out")
    if search == "contrastive" and sampling.samples:
        raise _apart("do_sample, a seed, a temperature or a filter", NOT_CONTRASTIVE)
    if search == "contrastive" and sampling.top_k == 0:
        raise _apart("top_k", "is 0: contrastive search needs one candidate at least")
    if sampling.num_beam_groups > 1 and sampling.samples:
        raise _apart("num_beam_groups", "are not drawn at random: leave sampling out")
    if sampling.exactness != "local" and sampling.xtc_probability:
        raise _apart("xtc_probability", "tosses a coin: exactness is about probabilities")
    if sampling.mirostat_mode and search is not None:
        raise _apart("mirostat_mode", "follows one text; a search follows several")


def _check_count(sampling: Sampling, search: Search) -> None:
    if sampling.best_of is not None:
        name, most = "best_of", sampling.best_of
    elif search in ("beams", "stochastic"):
        name, most = "num_beams", sampling.num_beams
    elif search == "contrastive" or not sampling.samples:
        name, most = "", 1
    else:
        return
    count = sampling.num_return_sequences
    if sampling.best_of is not None and sampling.best_of > 1 and not sampling.samples:
        raise _several("best_of", sampling.best_of)
    if count > most:
        if not name:
            raise _several("num_return_sequences", count)
        raise LimitError(
            f"num_return_sequences is {count}: it must be at most {name}, which is {most}",
            limit="num_return_sequences",
            given=count,
            needed=most,
        )


def _several(name: str, given: int) -> LimitError:
    return LimitError(
        f"{name} is {given}, and there is only one most probable text: give a temperature above "
        "0 or a seed, or do_sample=True",
        limit=name,
        given=given,
        needed=1,
    )


def _apart(name: str, why: str) -> UnsupportedError:
    return UnsupportedError(f"{name} {why}", feature=name)
