"""Which tokens stay as they are side by side, held to the merges of the tokenizers library."""

import random

from tokenizers import models

from guideway.vocabulary.canonical.merges import Merges


def test_neighbours_and_whole_tokens_are_those_of_the_library() -> None:
    chance = random.Random(0)
    for _ in range(60):
        pieces, rules = ["a", "b"], list[tuple[str, str]]()
        while len(pieces) < 14:
            pair = chance.choice(pieces), chance.choice(pieces)
            if len("".join(pair)) > 6 or pair in rules:
                continue
            rules.insert(chance.randint(0, len(rules)), pair)  # so that many are out of order
            if "".join(pair) not in pieces:
                pieces.append("".join(pair))
        ids = {piece: at for at, piece in enumerate(pieces)}
        library = models.BPE(ids, rules)
        symbols = {at: tuple(ids[char] for char in piece) for piece, at in ids.items()}
        numbered = [(ids[left], ids[right], ids[left + right]) for left, right in rules]
        merges = Merges(len(ids), numbered, symbols)

        def cut(text: str, library: models.BPE = library) -> list[int]:
            return [token.id for token in library.tokenize(text)]

        whole = [token for piece, token in ids.items() if cut(piece) == [token]]
        assert merges.whole.nonzero()[0].tolist() == whole
        for before in whole:
            clashes = merges.clashes(before).tolist()
            for after in whole:
                text = pieces[before] + pieces[after]
                stays = cut(text) == [before, after]
                assert merges.joins(before, after) == stays, (rules, text)
                assert (after not in clashes) == stays
                both = (*symbols[before], *symbols[after])
                assert list(merges.cut(both)) == cut(text)
