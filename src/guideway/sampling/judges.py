"""Call user functions on texts: critics of particles, judges of best-of-n."""

import math
from collections.abc import Callable
from typing import Any, Final

from guideway.errors import ModelError

SHOWN: Final = 60  # characters of a text in a message, its last ones


def number_from(function: Callable[[str], Any], text: str, name: str) -> float:
    """The number that a function gives for a text; may be infinite; errors name the function.

    >>> number_from(len, "four", "the judge")
    4.0
    """
    where = repr(text if len(text) <= SHOWN else f"…{text[-SHOWN:]}")
    try:
        given = function(text)
    except Exception as error:
        raise ModelError(f"{name} raised {type(error).__name__} for {where}: {error}") from error
    try:
        number = math.nan if isinstance(given, str | bytes) else float(given)
    except Exception:  # noqa: BLE001  whatever it gave may do anything when asked for a number
        number = math.nan
    if math.isnan(number):
        raise ModelError(f"{name} gave {given!r:.60} for {where}: it must be a number")
    return number
