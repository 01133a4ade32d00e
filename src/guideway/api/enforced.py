"""One part of a source and its enforcement: a line of `guideway explain`."""

from dataclasses import dataclass
from typing import Literal as OneOf
from typing import TypeAlias, final

Standing: TypeAlias = OneOf["exact", "merged", "inert", "annotation", "names", "unused"]
"""What becomes of a part:

    exact       enforced as it stands
    merged      intersected with the keywords around it, and enforced with them
    inert       an assertion that has no effect at its place
    annotation  does not restrict values
    names       says what other parts are called, or where they stand
    unused      in a schema that nothing refers to
"""


@final
@dataclass(frozen=True, slots=True)
class Enforced:
    """A part of a source.

    Attributes:
        place: a JSON pointer, after a URI in a resource; "character 4" in a regular expression;
            numbers of the parts of a combination.
        part: name of the keyword or construct.
        standing: kind of enforcement.
        how: the enforcement in words.
    """

    place: str
    part: str
    standing: Standing
    how: str
