"""Texts for benchmark `watermark`: read, generated, and kept.

A line of JSON a text, in a file whose name is made of everything that decides what is in it. A text
is appended when its batch is done, and never made again.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from pydoc_data.topics import topics
from typing import Any, Final

import guideway as gw
from guideway.cli.sources import read_file
from guideway.vocabulary.cache import cache_folder

PROMPT: Final = 50  # tokens
LISTS: Final = 2  # which way of making green lists under a constraint; texts of others are no use
SPREAD: Final = 500  # prompts over the texts, at least: fewer are the first of them
SHORTEST: Final = 200  # characters of a paragraph
ASKED: Final = "\n\nWho and what is in this text, as a list of records in JSON:\n"
RECORD: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "pattern": "^[A-Z][a-z]{2,12}( [A-Z][a-z]{2,12})?$"},
        "kind": {"enum": ["person", "place", "animal", "thing", "idea"]},
        "age": {"type": "integer", "minimum": 0, "maximum": 120},
        "known": {"type": "boolean"},
    },
    "required": ["name", "kind", "age", "known"],
    "additionalProperties": False,
}
RECORDS: Final = {"type": "array", "items": RECORD, "minItems": 8, "maxItems": 8}


@dataclass(frozen=True, slots=True)
class Marked:
    """A text that a model wrote, and the mean of −log p of its tokens, given what was allowed."""

    tokens: list[int]
    text: str
    loss: float


@dataclass(frozen=True, slots=True)
class Plan:
    model: str
    dtype: str  # of its weights
    count: int
    tokens: int  # of each text that count; the first one has no context
    temperature: float
    batch: int
    corpus: str  # what prompts are taken from
    records: bool  # whether JSON is written

    def texts(self, model: gw.Model, mark: gw.Watermark) -> list[Marked]:
        """The texts: those that are kept, and those that are missing, which are generated."""
        path = self._file(mark)
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        done = [Marked(**json.loads(line)) for line in lines]
        prompts = self.prompts(model)
        while len(done) < self.count:
            some = range(len(done), min(len(done) + self.batch, self.count))
            made = self._generated(model.watermarked(mark), [prompts[n] for n in some], some.start)
            with path.open("a", encoding="utf-8") as file:
                file.writelines(json.dumps(asdict(each)) + "\n" for each in made)
            done += made
        return done[: self.count]

    def _file(self, mark: gw.Watermark) -> Path:
        corpus = hashlib.blake2b(self.corpus.encode(), digest_size=16).hexdigest()
        spread = max(SPREAD, self.count)
        what = [self.model, self.dtype, self.tokens, self.temperature, self.records, corpus, spread]
        settings = mark.settings
        lists = [LISTS] if self.records and settings.within else []
        key = json.dumps([*what, repr(settings), settings.secret, *lists])
        name = hashlib.blake2b(key.encode(), digest_size=16).hexdigest()
        return cache_folder("watermarks") / f"{name}.jsonl"

    def prompts(self, model: gw.Model) -> list[str]:
        """Beginnings of pieces, as far apart as the texts allow."""
        ids = encoded(model, self.corpus)
        step = max(1, (len(ids) - PROMPT) // max(SPREAD, self.count))
        asked = ASKED if self.records else ""
        starts = [ids[n * step : n * step + PROMPT] for n in range(self.count)]
        return [model.tokenizer.decode(each) + asked for each in starts]

    def _generated(self, model: gw.Model, prompts: list[str], first: int) -> list[Marked]:
        # A seed each: rows of one seed would share their noise.
        settings: dict[str, Any] = {"temperature": self.temperature, "max_new_tokens": 512}
        if not self.records:  # the first token of a text is not marked
            settings |= dict.fromkeys(("min_new_tokens", "max_new_tokens"), self.tokens + 1)
        each = [gw.Sampling(seed=first + n, **settings) for n in range(len(prompts))]
        results = model.generate(prompts, RECORDS if self.records else None, sampling=each)
        losses = [(each.log_z - sum(each.logprobs)) / max(1, len(each.tokens)) for each in results]
        pairs = zip(results, losses, strict=True)
        return [Marked(list(each.tokens), each.text, loss) for each, loss in pairs]


def read_texts(paths: Sequence[Path]) -> str:
    """The paragraphs of the files, or of Python's documentation of its language if there are none.

    Paragraphs end at empty lines and tabs. Short ones are left out: headings, code, tables.
    """
    found = [read_file(path) for path in paths] or [topics[name] for name in sorted(topics)]
    whole = "\n\n".join(found)
    parts = [" ".join(part.split()) for part in re.split(r"\n\s*\n|\t", whole)]
    return "\n\n".join(part for part in parts if len(part) >= SHORTEST)


def encoded(model: gw.Model, text: str) -> list[int]:
    return model.tokenizer.encode(text, add_special_tokens=False, verbose=False)


def pieces(model: gw.Model, texts: Sequence[str], tokens: int) -> list[list[int]]:
    """Pieces of texts that nobody has marked, of one token more than count."""
    size = tokens + 1
    each = [encoded(model, text) for text in texts]
    return [ids[n : n + size] for ids in each for n in range(0, len(ids) - size + 1, size)]
