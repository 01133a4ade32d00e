"""Options for the form of JSON: order of keys, whitespace, spelling of values."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from guideway.errors import SourceError, brief

KeyOrder: TypeAlias = Literal["any", "declared"]
WhitespaceName: TypeAlias = Literal["any", "compact", "natural"]
Spelling: TypeAlias = Literal["any", "plain"]


@dataclass(frozen=True, slots=True)
class Whitespace:
    """Bounded whitespace: what people and `json.dumps` write, with an end to every run.

    Each of these runs may also be empty:

    - after `:`, up to `spaces` spaces;
    - after `{`, `[` and `,`, and before `}` and `]`: up to `spaces` spaces, or, if `newline`, a
      newline and up to `indent` spaces.

    No whitespace is allowed before `:` or `,`, nor around the whole text. The defaults are
    `whitespace="natural"`. They contain `json.dumps(value)`, and `json.dumps(value, indent=n)` for
    values nested up to 64 / n levels: 32 levels with `indent=2`, 8 with `indent=8`.

    Attributes:
        spaces: the most spaces in a row on one line.
        newline: whether lines may be broken.
        indent: the most spaces after a newline.

    Raises:
        SourceError: a count is negative or no count.

    Example:
        >>> Whitespace(spaces=0, newline=False)  # what "compact" means
        Whitespace(spaces=0, newline=False, indent=64)
    """

    spaces: int = 1
    newline: bool = True
    indent: int = 64

    def __post_init__(self) -> None:
        for name in ("spaces", "indent"):
            given: object = getattr(self, name)
            if not isinstance(given, int) or isinstance(given, bool) or given < 0:
                raise SourceError(
                    f"Whitespace({name}=...) must be a number of spaces, not {brief(given)}"
                )
        if not isinstance(self.newline, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise SourceError(
                f"Whitespace(newline=...) must be True or False, not {brief(self.newline)}"
            )


Style: TypeAlias = "tuple[KeyOrder | None, WhitespaceName | Whitespace | None, Spelling | None]"
"""The three options; None where one is not set."""
