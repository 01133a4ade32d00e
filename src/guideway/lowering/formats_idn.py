"""The format idn-hostname: a regular part of IDNA 2008 (RFC 5890 to 5893).

A hostname, or up to three labels of 1 to 7 permitted code points, so that their Punycode fits into
63 octets. Labels follow the rules on context, composition and direction; longer labels and `xn--`
are left out.
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import final

from guideway.lowering.expr import EMPTY, EPSILON, alt, both, concat, repeat
from guideway.lowering.formats_network import PLAIN_LABEL, hostname
from guideway.lowering.idna import code_class
from guideway.lowering.idna_sorts import Sort, sorts
from guideway.lowering.matching import Match
from guideway.lowering.nodes import Expr

_MOST_CODES, _MOST_LABELS = 7, 3
_DOTS = r"[.\u3002\uff0e\uff61]"
_ANY_CODE = r"[A-Za-z0-9\u0080-\u3001\u3003-\uff0d\uff0f-\uff60\uff62-\u{10ffff}-]"
_BEHIND = {
    "middle dot": ("l",),
    "geresh": ("hebrew",),
    "joiner": ("virama",),
    "non-joiner": ("virama", "dual"),
}
_REMEMBERED = frozenset(("l", "hebrew", "virama", "dual", "hyphen"))


def idn_hostname(match: Match) -> Expr:
    match = lru_cache(match)  # 27 classes of characters in 3,000 places
    one_way = alt(match(PLAIN_LABEL), _label(match, _State(bidi=False)))
    ascii_label = both(match(PLAIN_LABEL), match(r"[A-Za-z][\s\S]*"))
    either_way = alt(ascii_label, _label(match, _State(bidi=True)))
    return alt(hostname(match), _name(match, one_way), _name(match, either_way))


def any_idn_hostname(match: Match) -> Expr:
    """A superset of internationalised host names, maybe with a final dot."""
    return match(rf"{_ANY_CODE}+(?:{_DOTS}{_ANY_CODE}+)*{_DOTS}?")


def _name(match: Match, label: Expr) -> Expr:
    return concat(label, repeat(concat(match(_DOTS), label), 0, _MOST_LABELS - 1))


@final
@dataclass(frozen=True, slots=True)
class _State:
    """Requirements of the characters so far on those that follow.

    wants: kinds that must follow; digits: kind of Arabic digits seen; kana: "seen" or "wanted";
    way: direction of the first character; closed: True if the Bidi rule lets the label end here.
    """

    bidi: bool
    before: str = ""
    marked: bool = False
    wants: frozenset[str] = frozenset()
    digits: str = ""
    kana: str = ""
    way: str = ""
    numbers: str = ""
    closed: bool = True

    @property
    def may_end(self) -> bool:
        done = self.before not in ("", "hyphen") and not self.wants
        return done and self.closed and self.kana != "wanted"

    def after(self, sort: Sort) -> "_State | None":
        if not (self._fits(sort) and self._in_context(sort.kind)):
            return None
        directed = self._directed(sort.way) if self.bidi else self
        if directed is None or (not self.bidi and sort.way in ("R", "AN")):
            return None
        kana = "seen" if sort.kind == "kana" else self.kana
        return replace(
            directed,
            before=sort.kind if sort.kind in _REMEMBERED else "other",
            marked=sort.combines,
            wants=self._wanted(sort.kind),
            digits=sort.kind if sort.kind in ("arabic", "extended") else self.digits,
            kana="wanted" if sort.kind == "katakana dot" and not kana else kana,
        )

    def _fits(self, sort: Sort) -> bool:
        if self.before == "" and (sort.mark or sort.kind == "hyphen"):
            return False
        if self.before == "hyphen" and sort.kind == "hyphen":
            return False
        return not (self.marked and sort.combines)

    def _in_context(self, kind: str) -> bool:
        """RFC 5892, appendix A: rules on the characters before."""
        if self.wants and kind not in self.wants:
            return False
        if kind in ("arabic", "extended"):
            return self.digits in ("", kind)
        return kind not in _BEHIND or self.before in _BEHIND[kind]

    def _wanted(self, kind: str) -> frozenset[str]:
        """RFC 5892, appendix A: rules on the characters after."""
        if kind == "middle dot":
            return frozenset(("l",))
        if kind == "keraia":
            return frozenset(("greek",))
        if kind == "non-joiner" and self.before == "dual":
            return frozenset(("dual", "right"))
        return frozenset()

    def _directed(self, way: str) -> "_State | None":
        """The state after a character by the Bidi rule (RFC 5893 §2), None if it is refused."""
        if not self.way:
            return replace(self, way=way) if way in ("L", "R") else None
        if way == "NSM":
            return self
        if self.way == "L":
            return replace(self, closed=way != "N") if way not in ("R", "AN") else None
        if way == "L" or (way in ("EN", "AN") and self.numbers not in ("", way)):
            return None
        numbers = way if way in ("EN", "AN") else self.numbers
        return replace(self, closed=way != "N", numbers=numbers)


def _label(match: Match, start: _State) -> Expr:
    levels: list[dict[_State, dict[_State, list[Sort]]]] = []
    states = {start}
    for _ in range(_MOST_CODES):
        levels.append({state: _arcs(state) for state in states})
        states = {after for arcs in levels[-1].values() for after in arcs}
    rest = {state: EPSILON if state.may_end else EMPTY for state in states}
    for level in reversed(levels):
        rest = {
            state: alt(
                EPSILON if state.may_end else EMPTY,
                *_grouped(match, [(found, rest[after]) for after, found in arcs.items()]),
            )
            for state, arcs in level.items()
        }
    return rest[start]


def _grouped(match: Match, options: list[tuple[list[Sort], Expr]]) -> list[Expr]:
    together: dict[Expr, list[Sort]] = {}
    for found, rest in options:
        together.setdefault(rest, []).extend(found)
    return [
        concat(alt(*(match(_class(sort)) for sort in found)), rest)
        for rest, found in together.items()
        if rest is not EMPTY
    ]


@lru_cache(maxsize=1024)
def _arcs(state: _State) -> dict[_State, list[Sort]]:
    found: dict[_State, list[Sort]] = {}
    for sort in sorts():
        after = state.after(sort)
        if after is not None:
            found.setdefault(after, []).append(sort)
    return found


@lru_cache(maxsize=64)
def _class(sort: Sort) -> str:
    return f"[{code_class(sorts()[sort])[0]}]"
