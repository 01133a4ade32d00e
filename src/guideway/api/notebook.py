"""Generated tokens as HTML, for notebooks: the view of `tokens.js`, which the playground has too.

Everything that the model wrote is escaped, and nothing is loaded. Where scripts do not run, as in a
notebook that is not trusted, the text is shown without the view.
"""

import json
from collections.abc import Iterable, Sequence
from functools import cache
from html import escape
from importlib.resources import files

from guideway.generation.row.trace import TracedStep


def tokens_html(text: str, steps: Sequence[TracedStep], facts: Iterable[str]) -> str:
    """The view of the steps of a text, with a line of facts."""
    listed = [*facts]
    data = {"steps": [step.record for step in steps], "facts": listed}
    inert = json.dumps(data, allow_nan=False).replace("<", "\\u003c")  # no tag can begin
    told = escape(", ".join(listed))
    return (
        f'<guideway-tokens><pre style="white-space: pre-wrap">{escape(text)}</pre>'
        f'<small>{told}</small><script type="application/json">{inert}</script></guideway-tokens>'
        f"<script>{_code()}</script>"
    )


@cache
def _code() -> str:
    return files("guideway.api").joinpath("tokens.js").read_text(encoding="utf-8")
