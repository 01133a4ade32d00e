"""Settings by use: temperature and top-p for six of them."""

import difflib
from typing import Final

from guideway.errors import UnsupportedError

PRESETS: Final[dict[str, tuple[float, float]]] = {
    "code generation": (0.2, 0.1),
    "creative writing": (0.7, 0.8),
    "chatbot": (0.5, 0.5),
    "code comments": (0.3, 0.2),
    "data analysis scripting": (0.2, 0.1),
    "exploratory code": (0.6, 0.7),
}


def preset(name: object) -> tuple[float, float]:
    """(temperature, top_p) of a use; `_` and `-` count as spaces.

    >>> preset("creative_writing")
    (0.7, 0.8)
    """
    plain = str(name).lower().replace("_", " ").replace("-", " ")
    if plain in PRESETS:
        return PRESETS[plain]
    near = difflib.get_close_matches(plain, PRESETS, 1)
    hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(PRESETS)}"
    raise UnsupportedError(f"there is no preset {name!r}; {hint}", feature=str(name))
