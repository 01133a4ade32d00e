"""Options for the form of JSON: the order of keys, whitespace, the spelling of values."""

from dataclasses import dataclass
from typing import Literal, TypeAlias, final

from guideway.errors import SourceError, brief

KeyOrder: TypeAlias = Literal["any", "declared"]
WhitespaceName: TypeAlias = Literal["any", "compact", "natural"]
Spelling: TypeAlias = Literal["any", "plain"]


@final
@dataclass(frozen=True, slots=True)
class Whitespace:
    """Bounded whitespace: enough for what people and `json.dumps` write, too little to run away.

    There may be, each of it or nothing at all:

    - up to `spaces` spaces after `:`;
    - after `{`, `[` and `,`, and before `}` and `]`, up to `spaces` spaces, or, if `newline`, a
      newline and up to `indent` spaces.

    None stands before `:` or `,`, and none around the whole text. The defaults are what
    `whitespace="natural"` means. They contain `json.dumps(value)`, and with `indent=2` up to 16
    levels of brackets, with `indent=4` up to 8.

    Attributes:
        spaces: the most spaces in a row on one line.
        newline: whether lines may be broken.
        indent: the most spaces after a newline.

    Raises:
        SourceError: a count is negative or no count.

    Example:
        >>> Whitespace(spaces=0, newline=False)  # what "compact" means
        Whitespace(spaces=0, newline=False, indent=32)
    """

    spaces: int = 1
    newline: bool = True
    indent: int = 32

    def __post_init__(self) -> None:
        """Check the counts."""
        for name in ("spaces", "indent"):
            given: object = getattr(self, name)
            if not isinstance(given, int) or isinstance(given, bool) or given < 0:
                raise SourceError(
                    f"Whitespace({name}=...) is a count of spaces, not {brief(given)}"
                )
        if not isinstance(self.newline, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise SourceError(
                f"Whitespace(newline=...) is True or False, not {brief(self.newline)}"
            )


Style: TypeAlias = "tuple[KeyOrder | None, WhitespaceName | Whitespace | None, Spelling | None]"
"""The three options; None where one is not set."""
