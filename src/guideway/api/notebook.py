"""Generated tokens as HTML, for notebooks: each is shaded by what the constraint removed.

Everything that the model wrote is escaped. The colours are translucent, so they are readable on
light and dark pages.
"""

import math
from collections.abc import Iterable, Sequence
from html import escape


def tokens_html(
    pieces: Sequence[str],
    logprobs: Sequence[float],
    log_allowed: Sequence[float],
    facts: Iterable[str],
) -> str:
    """Tokens with their probabilities as tooltips, and a line of facts.

    Darker means more probability removed by the constraint, or in free text less probable tokens.
    """
    held = any(log_allowed)
    shown = list[str]()
    for piece, logprob, allowed in zip(pieces, logprobs, log_allowed, strict=False):
        probability, removed = math.exp(min(logprob, 0.0)), -math.expm1(min(allowed, 0.0))
        shade = removed if held else 1 - probability
        shown.append(
            f'<span style="background: rgba(220, 60, 30, {0.6 * shade:.2f})" '
            f'title="probability {probability:.3g}, removed {removed:.1%}">{escape(piece)}</span>'
        )
    shade = "probability removed by the constraint" if held else "improbable tokens"
    told = escape(", ".join([*facts, f"shade: {shade}"]))
    return (
        f'<div><pre style="white-space: pre-wrap">{"".join(shown)}</pre><small>{told}</small></div>'
    )
