"""Patterns and texts for the tests of regular expressions, and the plain engine as a reader.

The oracle is `re`, which shares no code with what is tested.
"""

import re
import warnings
from collections.abc import Callable
from functools import partial

from hypothesis import strategies as st

from guideway.language.derivative import Derivatives
from guideway.language.nodes import Expr
from plain_texts import matches

LEAVES = [
    *("a", "b", "ab", "é", "\u212a", "ſ", "😀", r"\n", ".", r"\w", r"\s", r"\D", "{", "a{,}", "",
      "()"),
    *("[ab]", "[^a]", "[^]a]", "[]b-]", r"[\d_é-\U0001F600]"),
    *("(?s:.)", "(?i:k)", "(?i:[a-s])", r"(?a:\w)"),
]  # fmt: skip
ANCHORS = ["^", "$", r"\A", r"\Z", "(?m:^)", "(?m:$)"]
SIGNS = ["*", "+", "?", "*?", "{2}", "{1,2}", "{2,}", "{,3}", "{0}", "{3,}?"]
CHARACTERS = "ab\nk\u212aſé1_ 😀{"


def trees(leaves: list[str], deepest: int = 6) -> st.SearchStrategy[str]:
    """Patterns made of the leaves."""
    return st.recursive(
        st.sampled_from(leaves),
        lambda inner: st.one_of(
            st.builds("{}{}".format, inner, inner),
            st.builds("(?:{}|{})".format, inner, inner),
            st.builds("({}){}".format, inner, st.sampled_from(SIGNS)),
        ),
        max_leaves=deepest,
    )


PATTERNS = trees(LEAVES)
ANCHORED = trees(["a", "b", r"\n", ".", "", "(?s:.)", "ab", *ANCHORS, *ANCHORS])
TEXTS = st.lists(st.text(CHARACTERS, max_size=5), min_size=25, max_size=25)


def oracle(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Python's pattern; that it warns of possible set operations is no concern here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return re.compile(pattern, flags)


def reader(expr: Expr) -> Callable[[str | bytes], bool]:
    """Whether a text is in the language of `expr`."""
    return partial(matches, Derivatives(expr))
