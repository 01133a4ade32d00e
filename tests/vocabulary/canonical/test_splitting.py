"""Where texts are split, held to the tokenizers library on random texts."""

import random

import pytest
from tokenizers import Regex, pre_tokenizers

import guideway as gw
from canonical_tokenizers import LLAMA3
from guideway.vocabulary.canonical.splitting import (
    GPT2,
    MOST_STEPS,
    Claim,
    Program,
    Splitter,
    read_pattern,
)

O200K = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+"
    r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
LAZY = r"(?:ab){2}c??|(a|b){1,}?s|\S{2,3}?|[\s\S]"
PATTERNS = {"gpt2": GPT2, "llama3": LLAMA3, "o200k": O200K, "lazy": LAZY}
CHARS = "aAbbcsStrevlLmd'' 1 2²  \n\r\t\u00a0.,!/é中ǅ\u0301ʰ\u017f"


def atoms_of(program: Program) -> dict[str, int]:
    """The atoms that each character is in, as the library has it."""
    splits = [pre_tokenizers.Split(Regex(atom), "removed") for atom in program.atoms]
    return {
        char: sum(1 << at for at, split in enumerate(splits) if not split.pre_tokenize_str(char))
        for char in CHARS
    }


def claimed(splitter: Splitter, atoms: list[int]) -> list[tuple[int, ...]]:
    """The boundaries of which all claims hold."""
    ways: set[tuple[Claim, tuple[int, ...]]] = {(splitter.start, ())}
    for at, bits in enumerate(atoms):
        cut = {(after, (*cuts, at)) for way, cuts in ways if (after := splitter.cut(way))}
        read = ((splitter.read(way, bits), cuts) for way, cuts in ways | cut)
        ways = {(way, cuts) for way, cuts in read if way is not None}
    return [cuts for way, cuts in ways if splitter.ends(way)]


@pytest.mark.parametrize("name", PATTERNS)
def test_the_claims_that_hold_are_the_boundaries_of_the_library(name: str) -> None:
    program = read_pattern(PATTERNS[name])
    splitter, atoms = Splitter(program), atoms_of(program)
    assert all(splitter.covers(bits) or name == "lazy" for bits in atoms.values())
    library = pre_tokenizers.Split(Regex(PATTERNS[name]), "isolated")
    chance = random.Random(0)
    for _ in range(1500):
        text = "".join(chance.choices(CHARS, k=chance.randint(1, 9)))
        wanted = tuple(start for _, (start, _) in library.pre_tokenize_str(text))[1:]
        assert claimed(splitter, [atoms[char] for char in text]) == [wanted], text


def test_a_character_that_no_pattern_has_is_not_covered() -> None:
    splitter = Splitter(read_pattern("ab?"))
    assert (splitter.covers(0b01), splitter.covers(0b10)) == (True, False)


@pytest.mark.parametrize("pattern", [
    *(r"a\b", "^a", "a$", "(?<=a)b", "(?=a)b", "a++", "(?>a)", "a|)", "(a", "(?!ab)c", "."),
    *("(?!a)*b", "a{0}", r"\1", "(?!a", "(" * 60 + "a" + ")" * 60, f"a{{{MOST_STEPS}}}b{{99}}"),
])  # fmt: skip
def test_other_patterns_are_refused_with_their_place(pattern: str) -> None:
    with pytest.raises(gw.UnsupportedError, match="its split pattern") as caught:
        read_pattern(pattern)
    assert caught.value.feature == "pattern of a pre-tokenizer"


def test_a_pattern_of_the_empty_text_is_refused() -> None:
    with pytest.raises(gw.UnsupportedError, match="matches the empty text"):
        Splitter(read_pattern("a*"))
