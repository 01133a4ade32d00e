"""Show the doctests of docstrings as Python sessions.

Google's style knows them in a section `Examples:`. Ours stand in `Example:`, or between paragraphs.
"""

import re

from griffe import Extension, Object

HEADING = re.compile(r"^( *)Example:$", re.MULTILINE)
SESSION = re.compile(r"(?:^>>> .*\n(?:(?! *$).*\n?)*)+", re.MULTILINE)


class Doctests(Extension):
    """Rewrites docstrings before they are parsed."""

    def on_instance(self, *, obj: Object, **_: object) -> None:
        """Name the section, and fence sessions that stand in none."""
        if obj.docstring is not None:
            text = HEADING.sub(r"\1Examples:", obj.docstring.value)
            obj.docstring.value = SESSION.sub(
                lambda found: f"```pycon\n{found[0].rstrip()}\n```\n", text
            )
