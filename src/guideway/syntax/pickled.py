"""Whether a user's type or function can be pickled: asked before a source is sent elsewhere."""

import pickle
import sys

from guideway.errors import UnsupportedError, brief


def check_pickled(value: object, what: str) -> None:
    """Refuse what pickle cannot hold, by name; what cloudpickle holds is taken where it is loaded.

    pickle holds types and functions by reference: those of a module, and not those made in a
    function. Ray and joblib use cloudpickle, which holds these too.

    Raises:
        UnsupportedError: neither holds it.
    """
    library = sys.modules.get("cloudpickle")
    problem: Exception | None = None
    for dumps in (pickle.dumps, *([] if library is None else [library.dumps])):
        try:
            dumps(value)
        except Exception as error:  # noqa: BLE001  pickling calls the user's code
            problem = problem or error
        else:
            return
    raise UnsupportedError(
        f"{what} {brief(value)} cannot be pickled ({problem}): define it at the top level of a "
        "module that the other process can import",
        feature="pickle",
    ) from problem
