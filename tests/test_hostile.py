"""Sources from strangers: each works or is refused as ours, soon and in bounded memory.

The classes are those that have broken other engines: nesting, counts, alternatives, automata of
2^n states, overlapping unions, nullable nests, anchors, NUL, surrogates, and what is no pattern.
"""

import gc
import json
import random
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import pytest

import guideway as gw
from guideway.automaton.token_tries import unpack
from guideway.constraint.compiled import CompiledConstraint
from guideway.sources.sources import Source
from random_walks import BYTES

SECONDS = 20  # of the processor; under coverage and on a slow machine .5 s came to 5
MEGABYTES = 256
STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")

WORKS = {
    "count of counts": r"(a{1,1000}){1,1000}",
    "counts that do not merge": r"((a{1,30}b?){1,30}c?){1,30}",
    "gaps between counts": r"((a{2}){1,1000}){1,1000}",
    "counts in a row": "a?" * 300 + "a" * 300,
    "plus of plus": r"(a+)+b",
    "2^25 states": r".*a.{24}",
    "a huge count": r"a{1000000000}",
    "options in a count": "(" + "x?" * 64 + "){50}",
    "overlapping unions": "(" + "|".join("a" * n for n in range(1, 300)) + ")*b",
    "alternatives": "|".join(f"w{n * 7919 % 10007}" for n in range(3000)),
    "nullable alternatives": r"((a*|b?)*|(c?d?)*)*e",
    "letters": r"\p{L}{1,500}",
    "case": r"(?i:stra\u00dfe\u0130k){1,1000}",
    "passwords": r"(?=.*[A-Z])(?=.*[a-z])(?=.*\d)(?!.*(?:pass|word)).{8,64}",
    "a tempered dot": r"(?:(?!end)[\s\S])*end",
    "boundaries everywhere": r"\b" * 200 + "a",
    "lines": r"(?m:^a?$\n?){3,}",
    "anchors by the thousand": "^$" * 30_000,
    "deep groups": "(" * 190 + "a" + ")" * 190,
    "intersections": r"(?!a)" * 60 + "[a-z]",
    "words that must not come": "".join(f"(?!.*{n * 7919})" for n in range(200)) + "[0-9 ]{1,300}",
}
REFUSED = {
    "words that must not have come": "[0-9 ]*" + "".join(f"(?<!{n * 7919})" for n in range(200)),
    "a count beyond counting": r"a{99999999999999999999}",
    "groups too deep": "(" * 100_000 + "a" + ")" * 100_000,
    "groups without an end": "(" * 30_000 + "a",
    "a literal of a megabyte": "a" * 1_000_000,
    "alternatives of a megabyte": "|".join(f"word{n}" for n in range(110_000)),
    "lookaround too deep": "(?=" * 150 + "a" + ")" * 150,
    "lookaround multiplied": "(?:a|b(?!" + "[ab]" * 9 + "c))" * 30,
    "lookaround in a loop": "(?:(?=[ab]*a[ab]{13}c)[ab]|c)*",
    "references multiplied": "([a-z])" * 9 + "".join(rf"\{n}" for n in range(1, 10)),
    "a reference without end": r"(a*)\1",
    "lines counted": r"(?m:(?:(?:^a$|\n){999}){999})",
    "classes with case": "".join(f"(?i:[a-{chr(0x3000 + n)}])" for n in range(3000)),
}


@pytest.fixture(scope="module", autouse=True)
def _warm() -> None:
    gw.warmup()
    gw.compile(gw.Regex("a"), BYTES)  # room for what all constraints of a vocabulary share
    gc.collect()
    gc.freeze()  # what other tests hold is not searched for garbage before each attempt


def nested(opening: str, closing: str, depth: int) -> str:
    return opening * depth + '{"type":"null"}' + closing * depth


def chained(count: int, link: Callable[[dict[str, Any]], dict[str, Any]]) -> str:
    """So many definitions, of which each refers to the next."""
    parts = {f"a{n}": link({"$ref": f"#/$defs/a{n + 1}"}) for n in range(count)}
    return json.dumps({"$ref": "#/$defs/a0", "$defs": {**parts, f"a{count}": {"minimum": 0}}})


def two_patterns(one: str, other: str) -> dict[str, Any]:
    """Values by the 21st character from the end of their key."""
    patterns = {
        f"^(a|b)*{x}(a|b){{20}}$": {"type": kind}
        for x, kind in zip("ab", (one, other), strict=True)
    }
    return {"patternProperties": patterns, "additionalProperties": False}


def walk(constraint: CompiledConstraint, steps: int) -> None:
    """Along the masks; no state is without a token."""
    state = constraint.start()
    for step in range(steps):
        tokens = unpack(constraint.mask(state)).tolist()
        assert tokens
        letters = [token for token in tokens if token != 256]
        if not letters:
            return
        state = constraint.advance(state, letters[step % len(letters)])


def spent(attempt: Callable[[], None]) -> bool:
    """Whether it took as little time and memory as it may, by what the system says of both."""
    gc.collect()
    started = time.thread_time()
    if not CLEAR.exists():  # no Linux
        attempt()
        return time.thread_time() - started < SECONDS
    CLEAR.write_text("5")  # the peak begins anew
    before = resident("VmRSS")
    attempt()
    return time.thread_time() - started < SECONDS and resident("VmHWM") - before < MEGABYTES << 10


def resident(field: str) -> int:
    """Kilobytes in memory, now or at the peak."""
    (line,) = (line for line in STATUS.read_text().splitlines() if line.startswith(field))
    return int(line.split()[1])


@pytest.mark.skipif(not CLEAR.exists(), reason="the system tells no peak")
def test_what_takes_too_much_memory_is_seen() -> None:
    assert spent(lambda: None)
    held = list[bytes]()
    # Far beyond the bound: a system that is short of memory takes pages of libraries back in the
    # meantime, and the peak grows by less than what is taken.
    assert not spent(lambda: held.append(b"a" * (4 * MEGABYTES << 20)))


TEXTS = "", "ab", "cb9", "straSSe", "STRASSE", "'x'", "'x\"", "end", "choice 7", "xyz"


@pytest.mark.parametrize("fuel", [1, 2, 3, 5, 8, 13, 21, 50, 100, 200, 400, 800, 1600, 3200])
def test_running_out_of_fuel_anywhere_leaves_everything_as_it_was(fuel: int) -> None:
    sources = [
        gw.Regex(r"(?!.*ab)(?:[a-c]{2,5}|\w*\d)(?<!c)"),
        gw.Regex(r"(?i:stra\u00dfe)|(['\"])x\1|\bend\b"),
        gw.Choice([f"choice {n}" for n in range(40)]),
        gw.Regex("[a-z]{3,9}") & ~gw.Regex(".*[aeiou].*"),
        gw.JsonSchema({"type": "object", "properties": {"a": {"type": "integer", "minimum": 3}}}),
    ]
    refused: list[gw.LimitError] = []
    for source in sources:
        try:
            gw.compile(source, BYTES, gw.Budget(fuel=fuel))
        except gw.LimitError as error:
            refused.append(error)
        after = gw.compile(source, BYTES, gw.Budget(fuel=4_000_000 + fuel))
        for text in TEXTS:
            assert after.matches(text) == reference(source).matches(text), (source, text)
        first = after.mask(after.start())
        assert (first == reference(source).mask(reference(source).start())).all()
    assert {(error.limit, error.given) for error in refused} <= {("fuel", fuel)}
    assert all(len(str(error)) <= 500 for error in refused)
    # Of the last one nothing may have to be made: its members come when they are entered, and what
    # stands around them may be there.
    assert fuel > 1 or len(refused) >= len(sources) - 1


@cache
def reference(source: Source) -> CompiledConstraint:
    return gw.compile(source, BYTES)


WATCHED = """
import sys
import guideway as gw

vocabulary = gw.Vocabulary([bytes([b]) for b in range(256)] + [b"<end>"], eos_ids={256})
gw.warmup()
sources = lambda n: [
    gw.Regex(rf"(?!x{n})\\\\p{{Lu}}[a-z]{{2,9}}\\\\b.(?i:k)\\\\N{{EM DASH}}"),
    gw.Choice(["a", f"b{n}"]),
    gw.JsonSchema({"type": "object", "required": ["a"], "properties": {"a": {"minimum": n},
        "d": {"format": "date"}, "p": {"type": "string", "pattern": f"^[a-z]{{{n}}}$"}}}),
]
def use(n):
    for source in sources(n):
        constraint = gw.compile(source, vocabulary)
        state = constraint.start()
        for _ in range(4):
            row = constraint.mask(state)
            token = next(t for t in range(257) if int(row[t // 32]) >> t % 32 & 1)
            if token == 256:
                break
            state = constraint.advance(state, token)
use(1)
FORBIDDEN = ("open", "socket", "subprocess", "os.", "pickle", "exec", "import", "ctypes", "shutil")
def watch(event, args):
    if event.startswith(FORBIDDEN) and event != "ctypes.cdata/buffer" and watching:
        seen.append((event, str(args)[:200]))
seen, watching = [], True
sys.addaudithook(watch)
use(2)
watching = False
assert not seen, seen
assert "pickle" not in {m for m in sys.modules if m.startswith("guideway")}
"""


def test_compiling_and_masking_open_nothing() -> None:
    command = [sys.executable, "-c", textwrap.dedent(WATCHED)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


OBJECTS = [{"id": n, "name": f"n{n}", "tags": [n % 7]} for n in range(300)]
SCHEMAS: dict[str, Any] = {
    "letters of all alphabets in an address":
        {"type": "string", "format": "idn-email", "pattern": "é.{5}b", "maxLength": 50},
    "200 bounds of one member": {"type": "object", "dependentSchemas": {
        f"k{n}": {"properties": {"x": {"minimum": n}}} for n in range(200)}},
    "deep items": nested('{"type":"array","items":', "}", 3000),
    "deep alternatives": nested('{"anyOf":[', "]}", 2000),
    "deep conjunctions": nested('{"allOf":[{"required":["a"]},', "]}", 2000),
    "deep opposites": nested('{"not":', "}", 3000),
    "deep conditions": nested('{"if":true,"then":', "}", 1000),
    "deep required members": nested('{"required":["a"],"properties":{"a":', "}}", 2000),
    "deep constants": '{"const":' + "[" * 2000 + "]" * 2000 + "}",
    "repeated keys": '{"type":"string","type":"null"}',
    "key patterns of 2^21 states that ask for the same": two_patterns("null", "null"),
    "key patterns that no key has two of":
        {"type": "object", "patternProperties": {f"^k{n}:": {"minimum": n} for n in range(300)}},
    "20,000 constants": {"anyOf": [{"const": f"k{n}"} for n in range(20_000)]},
    "what must not come, of 2^20 states": '{"type": "string", "not": {"pattern": "a.{20}b"}}',
    "conditions that settle which names there are":
        {"type": "object", "unevaluatedProperties": False,
         "allOf": [{"if": {"properties": {f"k{n}": {"const": 1}}, "required": [f"k{n}"]},
                    "then": {"properties": {f"a{n}": {}}, "required": [f"a{n}"]},
                    "else": {"properties": {f"b{n}": {}}, "required": [f"b{n}"]}}
                   for n in range(8)]},
    "an enum of long strings": {"enum": [f"{n * 7919 % 1009} " * 60 for n in range(300)]},
    "an enum of many strings": {"enum": [f"{n * 7919 % 30011}" for n in range(30_000)]},
    "a length beyond all texts": '{"type": "string", "minLength": 1e400}',
    "a length that no text has": '{"items": {"type": "string", "maxLength": 1e400}}',
    "an enum of objects": {"enum": [{f"k{n}": [n] * 3} for n in range(1000)]},
    "an enum of objects with the same names":
        {"enum": [{"id": n, "name": f"n{n}", "tags": [n % 7, n % 3]} for n in range(3000)]},
    "an enum of objects beside other keywords":
        {"enum": OBJECTS, "properties": {"id": {"minimum": 3}}, "required": ["id"]},
    "an enum of arrays": {"enum": [[(n * 7 + i) % 11 for i in range(300)] for n in range(26)]},
    "no pair of many": {"not": {"enum": [[n, n] for n in range(60)]}},
    "none of many objects, and a member":
        {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"],
         "not": {"enum": OBJECTS}},
    "most of what an enum lists, none twice":
        {"type": "array", "items": {"enum": [*range(200)]}, "minItems": 150, "uniqueItems": True},
    "many that are held, none twice": {
        "type": "array", "contains": {"type": "integer"}, "minContains": 1000, "uniqueItems": True},
    "an enum of decimals": {"enum": [number * 7 + 0.5 for number in range(20_000)]},
    "a few of many names": {"type": "object",
                            "properties": {f"p{n}": {"type": "integer"} for n in range(2000)},
                            "additionalProperties": False, "minProperties": 10},
    "half of many names": {"propertyNames": {"enum": [f"p{n}" for n in range(400)]},
                           "minProperties": 200},
    "one of many objects":
        {"anyOf": [{"properties": {f"f{n}_{m}": {"type": "integer"} for m in range(4)},
                    "required": [f"f{n}_0", f"f{n}_1"], "additionalProperties": False}
                   for n in range(150)], "type": "object"},
    "a condition on each of many kinds":
        {"type": "object", "properties": {"kind": {"enum": [f"t{n}" for n in range(150)]}},
         "required": ["kind"],
         "allOf": [{"if": {"properties": {"kind": {"const": f"t{n}"}}},
                    "then": {"properties": {f"a{n}": {"type": "integer"}}, "required": [f"a{n}"]}}
                   for n in range(150)]},
    "twenty items that have to come": {"type": "array",
                                       "allOf": [{"contains": {"const": n}} for n in range(20)]},
    "names that need names": {"type": "object",
                              "dependentRequired": {f"k{n}": [f"k{n + 1}"] for n in range(300)}},
    "one of one of one": nested('{"oneOf":[', "]}", 20_000),
    "tests that are tests": chained(2_000,
                                    lambda following: {"if": following, "then": {"minimum": 3}}),
}  # fmt: skip


def test_how_far_the_end_of_many_strings_is_takes_no_longer() -> None:
    constraint = gw.compile(gw.JsonSchema(SCHEMAS["an enum of many strings"]), BYTES)
    state = constraint.advance(constraint.start(), ord('"'))
    assert spent(lambda: constraint.distance(state))
    assert constraint.distance(constraint.advance(state, ord("7"))) == 1


def test_how_far_the_end_is_behind_choices_that_overlap_is_found_soon() -> None:
    choices = [{"anyOf": [{"required": [f"a{n}"]}, {"required": [f"a{n + 1}"]}]} for n in range(50)]
    constraint = gw.compile(gw.JsonSchema({"type": "object", "allOf": choices}), BYTES)
    assert spent(lambda: constraint.distance(constraint.start()))
    assert len(constraint.example()) == constraint.distance(constraint.start())


REFUSED_SCHEMAS: dict[str, Any] = {
    "key patterns of 2^21 states": two_patterns("null", "string"),
    "more names than are counted": {"type": "object", "propertyNames": {"pattern": "^[a-z]{3}$"},
                                    "minProperties": 9000},
    "objects of 200 kinds that overlap":
        {"oneOf": [{"type": "object",
                    "properties": {"id": {"type": "integer", "minimum": n},
                                   "name": {"type": "string"}}, "required": ["id"]}
                   for n in range(200)]},
    "one of fifty patterns of keys": {"type": "object",
                                      "oneOf": [{"patternProperties": {f"^k{n}": {"minimum": n}},
                                                 "minProperties": 1} for n in range(50)]},
    "one of 200 patterns": {"type": "string", "oneOf": [{"pattern": f"x{n}"} for n in range(200)]},
    "denied and denied and denied": nested('{"not":', "}", 60_000),
    "what is left of what is left": nested('{"unevaluatedItems":', "}", 60_000),
    "one of two of two": nested('{"oneOf":[{"type":"null"},', "]}", 60_000),
    "constants in constants": '{"const":' + "[" * 60_000 + "]" * 60_000 + "}",
    "bounds beside bounds":
        chained(8_000, lambda following: {**following, "minimum": int(following["$ref"][9:])}),
    "a text without an end": "[" * 50_000,
    "a pattern of half a million letters": {"pattern": "a" * 500_000},
    "a string of five million letters": {"const": "x" * 5_000_000},
    "half of a character": '{"const": "\\ud800"}',
    "no number": '{"minimum": NaN}',
}  # fmt: skip


def chain(count: int) -> str:
    steps = "\n".join(f"r{n}: r{n + 1}" for n in range(count))
    return f'start: r0\n{steps}\nr{count}: "x"'


def words(count: int) -> str:
    return " | ".join(f'"w{n * 7919 % 10007}"' for n in range(count))


def all_behind(count: int) -> str:
    """Rules that begin with any of those behind them: 2^count ways to read an x."""
    names = [f"r{n}" for n in range(count)]
    rules = (f'{name}: {" ".join(names[n + 1 :])} | "x" | ""' for n, name in enumerate(names))
    return "\n".join(["start: r0", *rules])


def behind_and_within(count: int, letter: str = '"x"') -> str:
    """The same, the last of which leads back to the first; or each with a letter of its own."""
    lines = [
        line.replace('"x"', letter.format(n))
        for n, line in enumerate(all_behind(count).split("\n"), -1)
    ]
    lines[-1] = lines[-1].replace(":  |", ': "(" r0 ")" |')
    return "\n".join(lines)


def optional_rules(count: int, end: str = "") -> str:
    rules = "\n".join(f'r{n}: "w{n}" |' for n in range(count))
    return f"start: {' '.join(f'r{n}' for n in range(count))} {end}\n{rules}"


def drawn(count: int) -> list[str]:
    """Words of 4 to 12 letters, some of which begin others."""
    dice = random.Random(1)
    return ["".join(dice.choices(ascii_lowercase, k=dice.randint(4, 12))) for _ in range(count)]


def optional_behind(count: int, end: str = "") -> str:
    rules = "\n".join(f'r{n}: "w{n}"? r{n + 1}' for n in range(count))
    return f"start: r0\n{rules}\nr{count}: {end}"


def in_gbnf(grammar: str) -> gw.Gbnf:
    return gw.Gbnf(grammar.replace("start", "root").replace(":", " ::="))


GRAMMARS = {
    "a chain of rules": chain(1000),
    "rules that nothing needs": 'start: "a"\n' + chain(1000).replace("start", "end"),
    "alternatives": f"start: {words(1000)}",
    "ten thousand alternatives": "start: " + " | ".join(f'"{word}"' for word in drawn(10_000)),
    "alternatives that begin one another": "start: " + " | ".join(f'"w{n}"' for n in range(5_000)),
    "alternatives of any case": "start: " + " | ".join(f'"w{n}"i' for n in range(1000)),
    "alternatives that a regex matches": f"start: ({words(1000)}) NAME\nNAME: /[a-z0-9]+/",
    "terminals with names": "start: (A|B" + "".join(f"|T{n}" for n in range(1000)) + ")*\n"
    'A: "a"\nB: "b"i\n' + "\n".join(f'T{n}: "w{n}w"' for n in range(1000)),
    "alternatives of any case that names match": "start: (NAME | "
    + " | ".join(f'"w{n * 7919 % 10007}"i' for n in range(1200))
    + ")+\nNAME: /[a-z]\\w*/i\n%ignore /\\s+/",
    "rules of alternatives": "start: "
    + " ".join(f"r{n}" for n in range(100))
    + "\n"
    + "\n".join(f'r{n}: "{n}a" | "{n}b" | "{n}c" r0?' for n in range(100)),
    "stacks that grow for ever": 'start: "b" | y0 "a"\n'
    + "\n".join(f'y{n}: "a" y{(n + 1) % 60} |' for n in range(60)),
    "repetitions of choices": 'start: (("a" | "b")~1..1000000000)+ "c"',
    "optional rules in a row": optional_rules(200),
    "optional rules before an end": optional_rules(100, '"e"'),
    "optional rules, each before the next": optional_behind(100),
    "the same before an end": optional_behind(100, '"e"'),
    "terminals that begin alike": "start: " + " | ".join(f"/[a-z]+{n}x?/" for n in range(350)),
}


MANY_WAYS = {
    "that come to few parts": gw.Lark(all_behind(30)),
    "that come to few parts, in GBNF": in_gbnf(all_behind(30)),
    "that nest": gw.Lark(behind_and_within(30)),
    "that nest, in GBNF": in_gbnf(behind_and_within(30)),
    "of different letters": in_gbnf(behind_and_within(24, '"l{0}"').replace('"(" r0 ")" | ', "")),
    "of different letters that nest": gw.Lark(behind_and_within(24, '"l{0}"')),
    "that look ahead": gw.Lark(behind_and_within(20, "/x+/")),
}


REFUSED_GRAMMARS = {
    "parentheses too deep": "start: " + "(" * 60_000 + '"a"' + ")" * 60_000,
    "parentheses without an end": "start: " + "(" * 30_000 + '"a"',
    "more rules than are paid for": chain(20_000),
    "more alternatives": f"start: {words(30_000)}",
    "a text of 2^30 letters": "start: r0\n"
        + "\n".join(f"r{n}: r{n + 1} r{n + 1}" for n in range(30)) + '\nr30: "x"',
    "a ladder of operators": "start: r0\n"
        + "\n".join(f'r{n}: r{n + 1} | r{n} "o{n}" r{n + 1}' for n in range(1000)) + '\nr1000: "x"',
    "optional parts": "start: " + " ".join(f'"{n}"?' for n in range(26)),
    "rules that may be nothing in two circles": "start: r0\n"
        + "\n".join(f'r{n}: r{(n + 1) % 200} r{(n + 2) % 200} | "x" |' for n in range(200)),
    "choices in a row": "start: " + " ".join(f'("{n}" | "{n}a")' for n in range(26)),
    "repetitions to be written out": "start: " + "(" * 300 + '"a" | "b"' + ")~49" * 300,
    "a terminal doubled 30 times": 'start: A30\nA0: "a"\n'
        + "\n".join(f"A{n + 1}: A{n} A{n}" for n in range(30)),
    "a template of options": "start: " + " | ".join(f"t{{A{n}}}" for n in range(60)) + "\nt{x}: "
        + " ".join(["x?"] * 12) + "\n" + "\n".join(f'A{n}: "a{n}"' for n in range(60)),
}  # fmt: skip


def contextual(text: str) -> gw.Lark:
    return gw.Lark(text, lexer="contextual")


def cases(*tables: tuple[Callable[[Any], Source], dict[str, Any]]) -> list[Any]:
    return [
        pytest.param(make, given, id=name)
        for make, table in tables
        for name, given in table.items()
    ]


@pytest.mark.parametrize(("make", "given"), cases(
    (gw.Regex, WORKS), (gw.JsonSchema, SCHEMAS), (contextual, GRAMMARS), (gw.source, MANY_WAYS)
))  # fmt: skip
def test_what_is_hostile_and_means_something_works(
    make: Callable[[Any], Source], given: Any
) -> None:
    if make is gw.JsonSchema:
        # In what order states are searched depends on which there are, and so does the work.
        gw.clear_cache()
    source, steps = make(given), 8 if make in (gw.JsonSchema, contextual) else 24
    assert spent(lambda: walk(gw.compile(source, BYTES, gw.Budget.untrusted()), steps))


@pytest.mark.parametrize(("make", "given"), cases(
    (gw.Regex, REFUSED), (gw.JsonSchema, REFUSED_SCHEMAS), (gw.Lark, REFUSED_GRAMMARS)
))  # fmt: skip
def test_what_is_too_much_or_means_nothing_is_refused(
    make: Callable[[Any], Source], given: Any
) -> None:
    error = gw.LimitError if make is gw.Lark else gw.GuidewayError
    if given == REFUSED_GRAMMARS["parentheses without an end"]:
        error = gw.SourceError

    def attempt() -> None:
        with pytest.raises(error) as refused:
            gw.compile(make(given), BYTES, gw.Budget.untrusted())
        assert len(str(refused.value)) <= 500

    assert spent(attempt)
