"""Classifiers of `guideway serve`, described by files: words with weights, or a model.

    {"words": {"love": 1, "hate": -1}, "alpha": 5}
    {"model": "folder", "label": "toxic", "alpha": -5, "top": 50}

A file is data: nothing in it is run.
"""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import typer

if TYPE_CHECKING:
    from guideway.logits.classifier import ClassifierTerm

SOURCES: Final = ("words", "model")
OPTIONS: Final = ("alpha", "top", "every", "entropy", "window", "rest", "label", "prompt")


def read_classifier(file: str) -> "ClassifierTerm":
    """The classifier that a file describes, with its weight.

    Raises:
        BadParameter: the file is not of the form above.
        ModelError, LimitError: a value of it is wrong.
    """
    import guideway
    from guideway.models.load import load_classifier

    try:
        read: object = json.loads(Path(file).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise _wrong(file, str(error)) from None
    given = dict(cast("dict[str, Any]", read)) if isinstance(read, dict) else {}
    sources = [name for name in SOURCES if name in given]
    if len(sources) != 1 or "alpha" not in given:
        raise _wrong(file, "it needs words or a model, and alpha, its weight")
    if unknown := [name for name in given if name not in (*SOURCES, *OPTIONS)]:
        raise _wrong(file, f"{unknown[0]} is unknown; known are {', '.join((*SOURCES, *OPTIONS))}")
    source: Any = given.pop(sources[0])
    if sources[0] == "model":
        source = load_classifier(str(source))
    return guideway.classifier(source, **given)


def _wrong(file: str, why: str) -> typer.BadParameter:
    return typer.BadParameter(f"--classifier {file}: {why}")
