"""Special tokens as sources.

A special token is produced by its id alone, never by tokens that spell its name, and only where a
source names it. `result.text` contains its name.
"""

from dataclasses import dataclass
from typing import Final, final

from guideway.errors import SourceError, brief
from guideway.syntax.sources import Source, check_flag, check_text

_MOST_IDS: Final = 1 << 32  # more than any vocabulary has


@final
@dataclass(frozen=True)
class Special(Source[str]):
    """One special token, by name or id.

    `required`: a vocabulary without it is refused; else the name is text there.
    """

    token: str | int
    required: bool = True

    def __post_init__(self) -> None:
        if isinstance(self.token, bool) or not isinstance(self.token, int | str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise SourceError(f"a special token must be a name or an id, not {brief(self.token)}")
        if isinstance(self.token, str):
            check_text(self.token, "the name of a special token")
        check_flag("required", self.required)
        if self.token == "" or (isinstance(self.token, int) and not 0 <= self.token < _MOST_IDS):
            raise SourceError(f"{brief(self.token)} cannot be a special token")


@final
@dataclass(frozen=True)
class Others(Source[str]):
    """Any number of tokens (text and special tokens), or at least one, without some special tokens.

    Other counts are impossible, because a language does not determine the tokens of a text.

    Attributes:
        without: names and ids of the excluded tokens.
        least: 0 or 1.
    """

    without: tuple[str | int, ...]
    least: int


def special(token: str | int, *, required: bool = True) -> Special:
    """Return the special token of a name or id as a source.

    A token that also spells text (Qwen's "<tool_call>") can be named too; it is a single id then.

    >>> special("<|tool|>") + "x"
    Sequence(parts=(Special(token='<|tool|>', required=True), Literal(text='x')))

    Args:
        token: the name as the tokenizer writes it, or the id.
        required: whether a vocabulary without that name is refused. If False, the name is text
            there.

    Raises:
        SourceError: the token is no name and no id, or `required` is no bool.
    """
    return Special(token, required)
