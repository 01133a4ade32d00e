"""Check that a user's type or function can be pickled."""

import pickle
import sys

from guideway.errors import UnsupportedError, brief


def check_pickled(value: object, what: str) -> None:
    """Refuse an object that neither pickle nor a loaded cloudpickle supports.

    pickle stores types and functions by reference, so they must be in a module. Ray and joblib use
    cloudpickle, which stores local ones too.
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
