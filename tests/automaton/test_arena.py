"""What is written to an arena can be read again, however often it grew meanwhile."""

import guideway as gw
from guideway.automaton.arena import Arena, Plan
from guideway.automaton.lexer_dfa import LexerDfa
from guideway.automaton.token_mask_cache import TokenMaskCache

VOCABULARY = gw.Vocabulary([*(bytes((b,)) for b in range(256)), b"<end>"], eos_ids={256})


def test_texts_are_numbered_once_and_read_back_after_growing() -> None:
    arena = Arena(Plan.empty(TokenMaskCache(VOCABULARY, LexerDfa(VOCABULARY.spellable))))
    texts = [b"", b"a", b"ab", bytes(range(256)) * 3, b"abc" * 500]
    numbers = [arena.read_text(text) for text in texts]
    assert [arena.text(number) for number in numbers] == texts
    assert [arena.read_text(text) for text in texts] == numbers
    assert len(set(numbers)) == len(texts)
