"""The label of a classifier that is wanted, by its name."""

import difflib
from collections.abc import Sequence

from guideway.errors import ModelError


def find_label(label: object, names: Sequence[object], classifier: str) -> int:
    """Index of `label` among a classifier's labels.

    None is the only label, or the second of two, the positive one by convention.

    >>> find_label("spam", ["ham", "spam"], "f"), find_label(None, ["ham", "spam"], "f")
    (1, 1)
    >>> find_label("spma", ["ham", "spam"], "f")
    Traceback (most recent call last):
    guideway.errors.ModelError: f has no label 'spma': it has 'ham', 'spam'; did you mean ...
    """
    spelled = [str(name) for name in names]
    shown = ", ".join(repr(name) for name in names[:20]) + (", …" if len(names) > 20 else "")
    if label is None:
        if len(names) > 2:
            raise ModelError(f"label= must name one of the labels of {classifier}: {shown}")
        return len(names) - 1
    if label in names:
        return names.index(label)
    if str(label) in spelled:
        return spelled.index(str(label))
    near = difflib.get_close_matches(str(label), spelled, 1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise ModelError(f"{classifier} has no label {label!r}: it has {shown}{hint}")
