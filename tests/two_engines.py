"""The compiled engine beside the plain one, which shares no code with it, and texts for both.

The plain engine walks the token trie with derivatives. Texts are drawn so that about half of the
states lie beside something that is counted, closed or escaped, where mistakes would be.
"""

import random
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache
from typing import Any

import numpy as np

import guideway as gw
from guideway.automaton.plain_masks import Rows
from guideway.automaton.states import States
from guideway.automaton.token_tries import has, unpack
from guideway.language.derivative import Derivatives
from guideway.language.expr import concat, literal
from guideway.language.nodes import Expr
from real_tokenizers import real_vocabulary

EDGES = (b'"', b"\\", b"}", b"]", b",", b":", b"{", b"u")


@cache
def vocabulary(size: int = 1500) -> gw.Vocabulary:
    """Every byte, token b for byte b, and a sample of the tokens of a real one."""
    real = [token for token in real_vocabulary("gpt2").tokens if token]
    edges = [t for t in real if len(t) > 1 and any(edge in t for edge in EDGES[:7])]
    chosen = random.Random(5)
    some = {*chosen.sample(real, size), *chosen.sample(edges, min(size // 4, len(edges)))}
    longer = sorted(token for token in some if len(token) > 1)
    tokens = [*(bytes((byte,)) for byte in range(256)), *longer, b"<end>"]
    return gw.Vocabulary(tokens, eos_ids={len(tokens) - 1})


class Both:
    """A constraint, and the plain engine beside it."""

    def __init__(self, source: Any, words: gw.Vocabulary, **options: Any) -> None:
        self.fast = gw.compile(source, words, **options)
        expr = concat(literal(words.lead), self.fast._expr)
        self.plain = Rows(Derivatives(expr, words.spellable), words, gw.Budget())
        self._rows: dict[Any, np.ndarray] = {}
        self.begin = (self.fast.start(), expr)
        self.words = words

    def after(self, at: Any, token: int) -> Any:
        state, rest = at
        return self.fast.advance(state, token), self.plain.after(rest, token)

    def read(self, text: bytes) -> Iterator[Any]:
        """What stands before each byte, and behind the last."""
        at = self.begin
        yield at
        for byte in text:
            at = self.after(at, byte)
            yield at

    def along(self, tokens: Iterable[int | None]) -> Any:
        """What stands behind some tokens, None where one may not come; masks are compared there."""
        at = self.begin
        for token in tokens:
            row = self.check(at)
            if token is None or not has(row, token):
                return None
            at = self.after(at, token)
        self.check(at)
        return at

    def row(self, rest: Expr) -> np.ndarray:
        """The mask of the plain engine."""
        key = self.plain, rest
        if key not in self._rows:
            self._rows[key] = self.plain.row(rest)
        return self._rows[key]

    def check(self, at: Any) -> np.ndarray:
        fast, plain = self.fast.mask(at[0]), self.row(at[1])
        differing = unpack(fast ^ plain)[:5].tolist()
        assert not differing, [self.words.tokens[token] for token in differing]
        return fast


def explored(both: Both, seed: str, texts: int, tokens: int) -> Iterator[Any]:
    """States of random texts; half of the steps take a token that ends, escapes or separates."""
    chosen = random.Random(seed)
    for _ in range(texts):
        at = both.begin
        for _ in range(tokens):
            yield at
            allowed = [
                t for t in unpack(both.fast.mask(at[0])).tolist() if t not in both.words.eos_ids
            ]
            if not allowed:
                break
            near = [t for t in allowed if any(e in both.words.tokens[t] for e in EDGES)]
            at = both.after(at, chosen.choice(near if near and chosen.random() < 0.5 else allowed))


def compared(
    expr: Expr,
    words: gw.Vocabulary,
    texts: int,
    tokens: int,
    seed: object = 0,
    *,
    fuel: Callable[[int], None] = lambda made: None,
    among: Callable[[int], bool] = lambda token: True,
    budget: gw.Budget | None = None,
) -> int:
    """Compare masks of an expression along texts by chance, of tokens `among`; how many were.

    `fuel` is for the plain engine, which may search for an end without finding one; `budget` for
    the other one.
    """
    spellable = words.spellable
    plain = Rows(Derivatives(expr, spellable, fuel), words, gw.Budget())
    masks = lru_cache(1024)(plain.row)
    fast = States(expr, Derivatives(expr, spellable), words, budget or gw.Budget())
    dice, count = random.Random(seed), 0
    for _ in range(texts):
        state: Any = fast.start(b"")
        rest: Any = expr
        for _ in range(tokens):
            row = unpack(masks(rest)).tolist()
            assert unpack(fast.mask(state)).tolist() == row
            assert state.accepts == rest.nullable
            count += 1
            allowed = [token for token in row if token not in words.eos_ids and among(token)]
            if not allowed:
                break
            token = dice.choice(allowed)
            state, rest = fast.after(state, token), plain.after(rest, token)
    return count
