"""`train_heads`: from texts to a folder of blockwise heads, which draft (`speculate=folder`)."""

from collections.abc import Iterable
from pathlib import Path

from guideway.api.model import Model
from guideway.api.prompts import Prompt
from guideway.chat.messages import are_messages
from guideway.errors import LimitError, SourceError
from guideway.generation.ensemble.ensemble import Ensemble
from guideway.generation.ensemble.views import read
from guideway.generation.heads import Heads


def train_heads(
    model: Model, texts: Iterable[str | tuple[Prompt, str]], folder: str | Path, heads: int = 3
) -> Path:
    """Train blockwise heads of a model, and save them in a folder for `speculate=folder`.

    The weights of the model stay as they are. Give texts like those that the model will write, best
    its own answers to prompts of the same kind: a few thousand tokens take minutes on a CPU.

    Args:
        model: the model that the heads are for. Of an expression, it is the first model.
        texts: texts, or pairs of a prompt and the text that follows it; the heads learn the text.
        folder: where the heads are saved. It is made if it is missing.
        heads: the number of heads, 1 to 8. Head k guesses the k-th token after the next one.

    Returns:
        The folder.

    Raises:
        SourceError: the texts are no such list, or too short.
        LimitError: a text is longer than the context of the model.
        UnsupportedError: the model does not show its hidden states.
    """
    if not isinstance(model, Model):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise SourceError(f"model is {model!r:.80}: it must be a guideway.Model")
    if not isinstance(heads, int) or isinstance(heads, bool) or not 0 < heads < 9:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise SourceError(f"heads is {heads!r}: it must be a whole number from 1 to 8")
    ensemble, tokens = Ensemble(model.whole), list[tuple[tuple[int, ...], int]]()
    main, hidden = ensemble.contexts[0], ensemble.main.hidden()
    for number, given in enumerate(texts):
        prompt, text = given if isinstance(given, tuple) and len(given) == 2 else ("", given)
        if not (isinstance(text, str) and (isinstance(prompt, str) or are_messages(prompt))):  # pyright: ignore[reportUnnecessaryIsInstance]
            said = f"text {number} is {given!r:.80}: it must be a text, or a prompt and a text"
            raise SourceError(said)
        begun = read(prompt, main.views, main.reader)
        whole = (*begun.tokens, *main.reader.continuation(begun, text))
        if hidden.context is not None and len(whole) > hidden.context:
            said = f"text {number} has {len(whole)} tokens with its prompt, and the context of the "
            raise LimitError(f"{said}model is {hidden.context}", limit="context", given=len(whole))
        tokens.append((whole, len(begun.tokens)))
    if not any(len(whole) > begin + 1 for whole, begin in tokens):
        raise SourceError(
            "texts has no text of two tokens or more: heads learn from a list of them"
        )
    made = Path(folder).expanduser()
    Heads.train(hidden, tokens, main.adapter, heads).save(made)
    return made
