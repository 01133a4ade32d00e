"""The search that a request asks for."""

from fairlead.engine.search.asap import Asap
from fairlead.engine.search.base import Search
from fairlead.engine.search.beams import Beams
from fairlead.engine.search.contrastive import Contrastive
from fairlead.engine.search.rejection import Rejection
from fairlead.engine.search.smc import Smc
from fairlead.engine.search.stochastic import StochasticBeams
from fairlead.engine.sequence import Sequence
from fairlead.errors import UnsupportedError


def search_for(root: Sequence) -> Search:
    """The search of this row, which has no tokens yet."""
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
        case other:
            raise UnsupportedError(f"{other!r} is not supported yet", feature=str(other))
