"""Special tokens of a source, looked up in a vocabulary and replaced by their marks."""

from dataclasses import dataclass, field
from typing import final

from guideway.errors import UnsupportedError, brief
from guideway.syntax.json_schema_source import JsonSchema
from guideway.syntax.names import did_you_mean
from guideway.syntax.parts import with_parts
from guideway.syntax.regions import Composed
from guideway.syntax.sources import Either, Literal, PythonType, Regex, Source, repeat
from guideway.syntax.special import Others, Special
from guideway.vocabulary.marked import marked, names_of
from guideway.vocabulary.spellings import Vocabulary


@final
@dataclass(frozen=True, slots=True)
class Resolved:
    """A source for one vocabulary; `names` of its special tokens have marks in `vocabulary`."""

    source: Source
    names: frozenset[str]
    vocabulary: Vocabulary


def resolve(source: Source, vocabulary: Vocabulary) -> Resolved:
    """`source` with its special tokens looked up; unknown tokens and end ids are refused."""
    if isinstance(source, JsonSchema | PythonType):  # most sources; they name no special tokens
        return Resolved(source, frozenset(), vocabulary)
    lookup = _Lookup(vocabulary)
    found = lookup.resolved(source)
    if not lookup.names:
        return Resolved(found, frozenset(), vocabulary)
    named = marked(vocabulary, frozenset(lookup.others.items()))
    return Resolved(found, frozenset(lookup.names), named)


def find(token: Special, vocabulary: Vocabulary) -> str:
    """The name in the mark of a special token."""
    return _Lookup(vocabulary).found(token)


@final
@dataclass(frozen=True, slots=True)
class _Lookup:
    """Names found so far, and names for ids that are text tokens or have no name."""

    vocabulary: Vocabulary
    names: set[str] = field(default_factory=set[str])
    others: dict[int, str] = field(default_factory=dict[int, str])

    def resolved(self, source: Source) -> Source:
        if isinstance(source, Composed):
            return self.resolved(source.spelled_out)
        if isinstance(source, Others):
            return self._all_but(source)
        if not isinstance(source, Special):
            return with_parts(source, self.resolved)
        if not source.required and self._id(source.token) is None:
            return Literal(str(source.token))
        return Special(self.found(source))

    def _all_but(self, others: Others) -> Source:
        """Text and all named special tokens, without some."""
        left = dict(names_of(self.vocabulary))
        for each in others.without:
            token = self._id(each)
            if token is None:
                raise self._unknown(each)
            if left.pop(token, None) is None and self._is_text(token):
                raise UnsupportedError(
                    f"token {token} is a text token, and other tokens can spell the same text: "
                    "only special tokens can be excluded",
                    feature="all tokens but a text",
                )
        tokens = (self.resolved(Special(name)) for name in left.values())
        return repeat(Either((Regex(r"[\s\S]"), *tokens)), others.least)

    def _is_text(self, token: int) -> bool:
        tokens = self.vocabulary.tokens
        ends = token in self.vocabulary.eos_ids
        return not ends and token < len(tokens) and bool(tokens[token])

    def found(self, special: Special) -> str:
        token = self._id(special.token)
        if token is None:
            raise self._unknown(special.token)
        name = self._name(token)
        self.names.add(name)
        return name

    def _id(self, token: str | int) -> int | None:
        """The id of a token by name or id, None if there is none."""
        if isinstance(token, int):
            return token if token < self.vocabulary.width else None
        found = self.vocabulary.special.get(token)
        if found is None:
            spelled = self.vocabulary.trie.ids(token.encode())
            return int(spelled[0]) if spelled.size else None
        return found

    def _name(self, token: int) -> str:
        """The name in the mark of an id."""
        if token in self.vocabulary.eos_ids:
            raise UnsupportedError(
                f"token {token} is an end token: guideway adds it where the text may end; leave "
                "it out of the source",
                feature="end of text as a special token",
            )
        name = names_of(self.vocabulary).get(token)
        if name is None:
            tokens = self.vocabulary.tokens
            spelled = tokens[token] if token < len(tokens) else None
            text = (spelled or b"").decode(errors="ignore")
            apart = text not in self.vocabulary.special and self._id(text) == token
            name = self.others[token] = text if apart else f"<[{token}]>"
        return name

    def _unknown(self, token: str | int) -> UnsupportedError:
        names = list(self.vocabulary.special)
        listed = ", ".join(names[:8]) + (" and more" if len(names) > 8 else "")
        return UnsupportedError(
            f"the vocabulary has no token {brief(token)}; its special tokens are {listed or 'none'}"
            f"{did_you_mean(token, names)}",
            feature=f"special token {brief(token)}",
        )
