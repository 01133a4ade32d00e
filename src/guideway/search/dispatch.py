"""From the settings of a request to its search, and the results where only the empty text fits."""

from dataclasses import replace

import torch

from guideway.errors import GuidewayError
from guideway.generation.row.request import Completion
from guideway.generation.row.sequence import Sequence
from guideway.sampling.noise import gumbel, stream
from guideway.search.asap import Asap
from guideway.search.base import Search
from guideway.search.beams import Beams
from guideway.search.contrastive import Contrastive
from guideway.search.rejection import Rejection
from guideway.search.smc import Smc
from guideway.search.stochastic import StochasticBeams


def search_for(root: Sequence) -> Search:
    """Create the search for a row without tokens."""
    sampling = root.request.sampling
    match sampling.search:
        case "beams":
            return Beams(root)
        case "stochastic":
            return StochasticBeams(root)
        case "contrastive":
            return Contrastive(root)
        case "rejection":
            return Rejection(root)
        case "asap":
            return Asap(root)
        case "smc":
            return Smc(root)
        case None:
            raise GuidewayError("texts that are drawn by themselves are no search")


def certain(root: Sequence, memory: int) -> list[Completion]:
    """Results if the text can only be empty and has ended without an end id."""
    done, sampling = root.completion(memory), root.request.sampling
    match sampling.search:
        case "beams":
            return [replace(done, score=0.0)]
        case "stochastic":
            key = torch.tensor([stream(sampling.seed or 0, root.request.sample)])
            return [replace(done, score=float(gumbel(key, 1)), weight=1.0)]
        case "rejection":
            return [replace(done, attempts=1)] * sampling.num_return_sequences
        case "asap":
            return [done] * sampling.num_return_sequences
        case "smc":
            return Smc(root).completions(memory)
        case _:
            return [done]
