"""Read a Lark source with Lark's own loader, within limits on what Lark expands.

No file is read: the source has the imported texts. `lark.errors` converts Lark's errors.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from itertools import chain, compress, product
from typing import Any, Final, TypeAlias

from guideway.context_free.lark.errors import Reading, placed_by_text, refusals, within
from guideway.context_free.lark.extensions import COMMENT, PART, REGEX, STRING, Part
from guideway.context_free.lark.grammar import Indentation, LarkGrammar, LarkTable, LarkTerminal
from guideway.context_free.lark.lalr import production, tabulate, without_dead
from guideway.context_free.lark.source import Lark, read_indenter
from guideway.context_free.lowering import Production, least_texts
from guideway.errors import LimitError, SourceError, UnsupportedError
from guideway.language.finite_automata import strongly_connected
from guideway.language.fuel import spend
from guideway.regex.parser import parse_regex
from guideway.regex.tree import Anchor, Boundary, Look, refers_by_number
from guideway.sources.names import did_you_mean
from guideway.sources.reading import where
from guideway.sources.regions import Substring

MOST_COPIED: Final = 1 << 15
"""Words copied into terminals that name others, in all; Lark takes 10 s for them."""

MOST_BLANK: Final = 8_000
"""Blank lines in a row; Lark takes 0.3 s for so many, and 74 s for 200,000."""

_PAID: Final = 14  # budget units per word, by Lark's time
_COPIED: Final = 40  # and per copied word
_WORD: Final = re.compile(
    rf"""{COMMENT}|(?P<word>{STRING}|{REGEX}|\w+)|(?P<unclosed>"|/(?!/))|\n[ \t]*(?=[\w%?!])"""
)
_CHANGED: Final = frozenset({"extend", "override"})  # keywords before a defined name


def check_size(text: str) -> None:
    """Refuse long runs of blank lines, and unclosed strings and regexes.

    Lark backtracks over each line end in a run of blank lines, and takes 1.6^n steps for n
    backslashes after an open quote.
    """
    blank = 0
    for number, line in enumerate(text.split("\n"), 1):
        blank = 0 if line.strip() else blank + 1
        if blank > MOST_BLANK:
            raise LimitError(
                f"more than {MOST_BLANK} blank lines in a row",
                limit="blank lines",
                given=MOST_BLANK,
                place=f"line {number}",
            )
    for found in _WORD.finditer(text):
        if found["word"]:
            spend(_PAID)
        elif found["unclosed"]:
            what = "string" if found[0] == '"' else "regex"
            raise SourceError(f"this {what} is never closed", **where(text, found.start()))


def check_terminals(reading: Reading) -> None:
    """Refuse terminals that grow too large when Lark expands them."""
    terminals = _terminals(each.text for each in reading.texts.values())
    sizes = _sizes(terminals)
    copied = sum(sizes[name] - 1 - len(words) for name, words in terminals.items())
    if copied > MOST_COPIED:
        name = max(sizes, key=sizes.__getitem__)
        raise reading.exceeded(
            f"terminals that name others come to more than {MOST_COPIED} strings and regexes, as "
            f"each is worked in wherever it is named: {name:.60} alone to {sizes[name]}",
            name,
            limit="parts of terminals",
            given=MOST_COPIED,
            needed=copied,
        )
    spend(_COPIED * copied)


def _terminals(texts: Iterable[str]) -> dict[str, list[str]]:
    """Words in the definitions of each terminal, over all texts."""
    found = dict[str, list[str]]()
    for text in texts:
        words = list[str]()
        begun = True
        for each in _WORD.finditer(text):
            if each.lastgroup is None and each[0].startswith("\n"):
                begun = True
            elif each.lastgroup == "word" and begun:
                begun = each[0] in _CHANGED
                words = found.setdefault(each[0], []) if each[0].isupper() else []
            elif each.lastgroup == "word":
                words.append(each[0])
    return found


def _sizes(terminals: Mapping[str, list[str]]) -> dict[str, int]:
    """Expanded size of each terminal; Lark refuses recursion later."""
    found = dict[str, int]()

    def named(name: str) -> list[str]:
        return [word for word in terminals[name] if word in terminals]

    for names in strongly_connected(terminals, named):  # named terminals come first
        for name in names:
            size = 1 + sum(found.get(word, 1) for word in terminals[name])
            found[name] = min(size, 1 << 62)
    return found


MOST: Final = 1 << 17
"""Symbols in the expansions of one rule; Lark takes about a second for them."""

_EXPANSIONS_PAID: Final = 2  # budget units per symbol and per expansion, by Lark's time
_ENOUGH: Final = 1 << 40
_WRITTEN_OUT: Final = 50  # from so many repetitions on, Lark makes rules
_FEW: Final = 5  # of so many each

_Size: TypeAlias = tuple[int, int]  # expansions, symbols in all of them


def check_expansions(rules: Sequence[Any], uses: Mapping[str, int], reading: Reading) -> None:
    """Refuse rules with too many expansions; `uses` counts the instances of each template."""
    for name, params, tree, _ in rules:
        count, symbols = size_of(tree)
        if symbols > MOST:
            raise reading.exceeded(
                f"the rule {name!s:.60} comes to more than {MOST} symbols when all its options, "
                "choices and repetitions are written out, as Lark does: name parts of it as rules",
                str(name),
                limit="symbols of a rule",
                given=MOST,
                needed=symbols,
            )
        if params:
            spend(_EXPANSIONS_PAID * (count + symbols) * uses.get(str(name), 0))
        else:  # `check_size` charges for the words themselves
            spend(_EXPANSIONS_PAID * max(count + symbols - 2 * _words(tree), 0))


def _words(tree: Any) -> int:
    return sum(part.data == "value" for part in tree.iter_subtrees())


def size_of(tree: Any) -> tuple[int, int]:
    """Number of expansions of a rule, and of symbols in them and in rules made for repetitions."""
    known, more = dict[int, _Size](), 0
    for part in tree.iter_subtrees():  # innermost first
        sizes = [known.get(id(child), (1, 1)) for child in part.children]
        match part.data:
            case "expansions":
                found = sum(count for count, _ in sizes), sum(symbols for _, symbols in sizes)
            case "expansion":
                found = _sequence_size(sizes)
            case "maybe":
                found = sizes[0][0] + 1, 2 * sizes[0][1]
            case "expr":
                found, made = _repeated(sizes[0], [str(each) for each in part.children[1:]])
                more += made
            case _:
                found = sizes[0]
        known[id(part)] = min(found[0], _ENOUGH), min(found[1], _ENOUGH)
    count, symbols = known[id(tree)]
    return count, symbols + more


def _sequence_size(sizes: Sequence[_Size]) -> _Size:
    count, symbols = 1, 0
    for more, others in sizes:
        count, symbols = count * more, symbols * more + others * count
        count, symbols = min(count, _ENOUGH), min(symbols, _ENOUGH)
    return count, symbols


def _repeated(size: _Size, operator: Sequence[str]) -> tuple[_Size, int]:
    """Size of a repetition in its rule, and the symbols of the rules made for it."""
    count, symbols = size
    match operator:
        case ["?"]:
            return (count + 1, symbols), 0
        case ["~", *numbers]:
            low, high = int(numbers[0]), int(numbers[-1])
            if high < _WRITTEN_OUT:
                rows = [_sequence_size([size] * number) for number in range(low, high + 1)]
                return (sum(row[0] for row in rows), sum(row[1] for row in rows)), 0
            return (1, 2), high.bit_length() * _FEW * _sequence_size([size] * _FEW)[1]
        case _:
            return (2 if operator == ["*"] else 1, 1), 2 * symbols + count


MOST_RULES: Final = 4096
LONGEST: Final = 1 << 16  # characters of the name of an instance


def check_templates(rules: Sequence[Any], reading: Reading) -> Counter[str]:
    """Count the instances of each template; refuse too many, or too long names."""
    templates = {str(name): (params, tree) for name, params, tree, _ in rules if params}
    todo = [(tree, dict[str, str]()) for _, params, tree, _ in rules if templates and not params]
    seen, uses = set[str](), Counter[str]()
    for tree, names in todo:  # grows
        said = dict[int, str]()
        for part in tree.iter_subtrees():
            children = [_name(child, said, names) for child in part.children]
            if part.data != "template_usage":
                said[id(part)] = children[0] if len(children) == 1 else str(part.data)
                continue
            template, *arguments = children
            rule = said[id(part)] = f"{template}{{{','.join(arguments)}}}"
            if rule in seen or template not in templates:
                continue
            seen.add(rule)
            uses[template] += 1
            if len(seen) > MOST_RULES or len(rule) > LONGEST:
                raise reading.exceeded(
                    f"the template {template!r} comes to more rules, or longer names of them, than "
                    f"there may be, {MOST_RULES} and {LONGEST} characters: {rule:.60}",
                    template,
                    limit="rules of templates",
                    given=MOST_RULES,
                )
            params, inside = templates[template]
            todo.append((inside, dict(zip(map(str, params), arguments, strict=False))))
    return uses


def check_arguments(rules: Sequence[Any], defined: Sequence[Any], reading: Reading) -> None:
    """Refuse templates used without arguments: Lark leaves their rules undefined."""
    known = {rule.origin for rule in rules}
    for symbol in (symbol for rule in rules for symbol in rule.expansion):
        if not symbol.is_term and symbol not in known:
            name = str(symbol.name)
            params = next((", ".join(each[1]) for each in defined if each[0] == name), "")
            found = re.search(rf"(?<!\w){re.escape(name)}(?!\w|\s*\{{)", reading.text)
            raise reading.placed(
                f"the template {name} stands without what goes in its braces: {name}{{{params}}}",
                None if found is None else found.start(),
            )


def _name(child: Any, said: Mapping[int, str], names: Mapping[str, str]) -> str:
    """Name of a part of a rule, with parameters replaced by arguments."""
    found = said.get(id(child))
    if found is not None:
        return found
    name = str(getattr(child, "name", child))
    return names.get(name, name)


MOST_EMPTY: Final = 8  # possibly empty symbols in a row before it is cut
CUT: Final = 4  # number of them before the cut
MOST_ROWS: Final = 4096  # additional rows
MADE: Final = "__"  # prefix of the rules that Lark made


def with_empty(
    rules: list[Any], empty: Collection[str], nothing: Collection[str], reading: Reading
) -> list[Any]:
    """Add the rows that omit symbols in `empty`, and remove symbols in `nothing` everywhere."""
    return _Rows(rules, empty, nothing, reading).all() if empty or nothing else rules


class _Rows:
    """The rows found so far."""

    def __init__(
        self,
        rules: Sequence[Any],
        empty: Collection[str],
        nothing: Collection[str],
        reading: Reading,
    ) -> None:
        self._rules, self._reading = rules, reading
        made = _generated(rules)
        hollow = _nullable(made, {*empty, *nothing})
        self._nothing = {*nothing, *_void(made, hollow, nothing)}
        self._empty = {*empty, *hollow} - self._nothing
        self._lark: Any = import_module("lark.grammar")
        self._found = dict[tuple[str, tuple[str, ...]], Any]()
        self._rests = dict[tuple[str, tuple[str, ...]], Any]()

    def all(self) -> list[Any]:
        for rule in self._rules:
            name = str(rule.origin.name)
            if name not in self._nothing:
                symbols = [each for each in rule.expansion if str(each.name) not in self._nothing]
                solid = name in self._empty
                self._add(rule, rule.origin, symbols, solid=solid)
        return list(self._found.values())

    def _add(self, rule: Any, origin: Any, symbols: list[Any], *, solid: bool) -> None:
        """Add a row and its variants without empty symbols; `solid` omits the empty row."""
        symbols = self._short(rule, symbols)
        options = [[True, False] if str(s.name) in self._empty else [True] for s in symbols]
        for kept in product(*options):
            row = list(compress(symbols, kept))
            same = len(row) == 1 and row[0] == origin and len(rule.expansion) > 1
            if same or (solid and not row):
                continue
            made = self._lark.Rule(origin, row, len(self._found), rule.alias, rule.options)
            self._found.setdefault(_key(origin, row), made)
        if len(self._found) > len(self._rules) + MOST_ROWS:
            raise self._reading.exceeded(
                f"with and without what may be empty there are more than {MOST_ROWS} rows in the "
                f"rules, in {rule.origin.name} and others",
                str(rule.origin.name),
                limit="rows of rules",
                given=MOST_ROWS,
            )

    def _short(self, rule: Any, symbols: list[Any]) -> list[Any]:
        """Move the rest of a row with many empty symbols to a rule of its own."""
        places = [at for at, symbol in enumerate(symbols) if str(symbol.name) in self._empty]
        if len(places) <= MOST_EMPTY:
            return symbols
        cut = places[CUT]
        key = _key(rule.origin, symbols[cut:])
        rest = self._rests.get(key)
        if rest is None:
            name = f"{MADE}{rule.origin.name}_rest_{len(self._rests)}"
            rest = self._rests[key] = self._lark.NonTerminal(name)
            if len(places) - CUT == len(symbols) - cut:
                self._empty.add(name)
            self._add(rule, rest, symbols[cut:], solid=True)
        return [*symbols[:cut], rest]


def _key(origin: Any, symbols: Sequence[Any]) -> tuple[str, tuple[str, ...]]:
    return str(origin.name), tuple(str(symbol.name) for symbol in symbols)


def _generated(rules: Sequence[Any]) -> dict[str, list[list[str]]]:
    """Rows of the rules that Lark made."""
    found = dict[str, list[list[str]]]()
    for rule in rules:
        name = str(rule.origin.name)
        if name.startswith(MADE):
            found.setdefault(name, []).append([str(symbol.name) for symbol in rule.expansion])
    return found


def _nullable(made: dict[str, list[list[str]]], empty: set[str]) -> set[str]:
    """Rules made by Lark that may be empty."""
    rows = [Production(name, tuple(row)) for name, rows in made.items() for row in rows if row]
    return {*least_texts(rows, dict.fromkeys(empty, 0))}


def _void(made: dict[str, list[list[str]]], hollow: set[str], nothing: Collection[str]) -> set[str]:
    """Rules made by Lark that are always empty."""
    found, size = set(hollow), -1
    while size != len(found):
        size = len(found)
        known = found.union(nothing)
        found = {name for name in found if all(known.issuperset(row) for row in made[name])}
    return found


_NUMBER: Final = re.compile(r"\\[1-9]")
COLLISION: Final = "Reduce/Reduce"  # beginning of Lark's message
MODULE: Final = "file_input"  # start rule of python.lark


def read_lark(source: Lark) -> LarkGrammar:
    r"""Load a Lark grammar.

    Example:
        >>> grammar = read_lark(Lark('start: WORD ("," WORD)*\nWORD: /[a-z]+/i'))
        >>> grammar.rules["start"]
        (('WORD', '__start_star_0'), ('WORD',))
        >>> grammar.terminals["WORD"].pattern
        '(?i:[a-z]+)'
    """
    reading = Reading(source.extended)
    with refusals(reading):
        texts = [each.text for each in reading.texts.values()]
        for text in texts:
            check_size(text)
        check_terminals(reading)
        loaded = _loaded(reading)
        start = _start(loaded, source.start)
        indentation = _indentation(loaded, source)
        keep = {indentation.newline} if indentation is not None else set[str]()
        uses = check_templates(loaded.rule_defs, reading)
        check_expansions(loaded.rule_defs, uses, reading)
        # With all rules as starts, Lark skips its quadratic removal of unused rules.
        names = [str(name) for name, params, *_ in loaded.rule_defs if not params]
        terminals, rules, ignored = loaded.compile([start, *names], "*")
        rules = _used_rules(rules, start)
        check_arguments(rules, loaded.rule_defs, reading)
        keep |= {*ignored, *(symbol.name for rule in rules for symbol in rule.expansion)}
        terminals = [terminal for terminal in terminals if terminal.name in keep]
        parts, terminals = _split_parts(terminals, source, reading)
        read = {str(terminal.name): _terminal(terminal, reading) for terminal in terminals}
        nested = _nested(parts)
        _check_ignored(ignored, parts)
        empty = [name for name, terminal in read.items() if _takes_nothing(terminal)]
        nothing = [name for name in empty if read[name].max_width == 0]
        _check_items(indentation, read)
        rules = with_empty(rules, [*_empty(parts, nested), *empty], nothing, reading)
        strings = {name for name, each in read.items() if each.text is not None}
        strings -= {*map(str, ignored), *(indentation.names if indentation is not None else ())}
        table, collision = _read_by(
            rules, start, source, strings, read.values(), indented=indentation is not None
        )
    lined = indentation.names if indentation is not None else frozenset[str]()
    if table is None:
        _check_captures(source, parts, read.values())
    else:
        table = without_dead(table, {*table.terminals[1:]}.difference(read, parts, lined))
    expansions = dict[str, list[tuple[str, ...]]]()
    for each in map(production, rules):
        expansions.setdefault(each.rule, []).append(each.symbols)
    return LarkGrammar(
        terminals={name: each for name, each in read.items() if name not in nothing},
        rules={name: tuple(listed) for name, listed in expansions.items()},
        start=start,
        ignored=tuple(name for name in dict.fromkeys(map(str, ignored)) if name not in nothing),
        table=table,
        indentation=indentation,
        parts=parts,
        nested=nested,
        collision=collision,
    )


def earley(source: Lark) -> Callable[[str], Any]:
    """Lark's own Earley parser with its dynamic lexer, for grammars without guideway's notation.

    It returns rules as (name, children), including those that Lark's trees inline, and terminals as
    Lark's tokens, or None for a text outside the language.
    """
    module: Any = import_module("lark")
    loaded = _loaded(Reading(source.extended))
    options = {"parser": "earley", "lexer": "dynamic", "maybe_placeholders": False}
    parser: Any = module.Lark(loaded, start=_start(loaded, source.start), **options)

    def made(name: str) -> Callable[[list[Any]], Any]:
        return lambda children: (name, list(children))

    parser.parser.parser.callbacks = {rule: made(str(rule.origin.name)) for rule in parser.rules}

    def parse(text: str) -> Any:
        with suppress(module.exceptions.LarkError):
            return parser.parse(text)

    return parse


def _loaded(reading: Reading) -> Any:
    """Lark's own `Grammar`."""

    def find(folder: str | None, path: str) -> tuple[str, str]:
        for at in (path, f"{folder}/{path}" if folder else path):
            if at in reading.texts:
                reading.at = at
                return at, reading.texts[at].text
        raise SourceError(f"there is no grammar {path!r} to import")

    loader: Any = import_module("lark.load_grammar")
    # Not a path, or Lark would search `%import .name` next to the running script.
    return loader.load_grammar(reading.text, "grammar", [find], False)[0]


def _start(loaded: Any, start: str) -> str:
    names = [str(rule[0]) for rule in loaded.rule_defs if not rule[1]]
    if start in names:
        return start
    if start == "start" and MODULE in names:
        return MODULE
    near = did_you_mean(start, names) or (f"; there are {', '.join(names)}"[:200] if names else "")
    raise SourceError(f"there is no rule {start!r} to start with{near}")


def _indentation(loaded: Any, source: Lark) -> Indentation | None:
    """Indentation of the source, or the default for the grammar's terminals."""
    if source.indentation is not None or source.lexer == "dynamic":
        return source.indentation
    declared = {str(name) for name, (tree, _) in loaded.term_defs if tree is None}
    named = {str(name) for name, _ in loaded.term_defs} - declared
    # Imported late, because it imports Lark.
    indenters: Any = import_module("guideway.context_free.lark.indenter")
    items = read_indenter(indenters.ItemIndenter)
    told = items if items.items <= named else read_indenter(indenters.PythonIndenter)
    return told if told.newline in named and {told.indent, told.dedent} <= declared else None


def _check_items(indentation: Indentation | None, read: Mapping[str, LarkTerminal]) -> None:
    """Refuse item terminals of variable width, which gives the indentation."""
    for name in sorted(indentation.items & read.keys()) if indentation is not None else ():
        if read[name].min_width != read[name].max_width:
            raise UnsupportedError(
                f"{name} sets the indentation of a block by its width, so all its texts must have "
                "the same length, at least one character",
                feature="postlex",
            )


def _used_rules(rules: list[Any], start: str) -> list[Any]:
    """Remove unused rules and then rules used only by them, as Lark does."""
    inside = dict[Any, list[Any]]()
    for rule in rules:
        others = (symbol for symbol in rule.expansion if symbol != rule.origin)
        inside.setdefault(rule.origin, []).extend(each for each in others if not each.is_term)
    count = Counter(chain.from_iterable(inside.values()))
    todo = [name for name in inside if not count[name] and name.name != start]
    for name in todo:  # grows
        for other in inside.pop(name):
            count[other] -= 1
            if not count[other] and other.name != start:
                todo.append(other)
    return [rule for rule in rules if rule.origin in inside]


def _terminal(terminal: Any, reading: Reading) -> LarkTerminal:
    pattern = terminal.pattern
    written = str(terminal.user_repr())
    try:
        if pattern.type != "str":
            re.compile(pattern.to_regexp())
    except re.error as error:
        instead = r"; any letter is [^\W\d_]" if error.msg == r"bad escape \p" else ""
        said = f"the terminal {written} is no regex as Lark reads them: {error}{instead}"
        range_of_two = placed_by_text(said, reading)
        raise range_of_two or reading.wrong(said, str(terminal.name), written) from None
    solid = pattern.min_width == 0
    if solid and _looks(str(pattern.to_regexp())):
        said = (
            f"the terminal {written} may match nothing, and looks around it: those that look "
            "around have one character at least, and may be left out with a `?` behind them"
        )
        raise reading.wrong(said, str(terminal.name), written)
    return LarkTerminal(
        name=str(terminal.name),
        pattern=str(pattern.to_regexp()),
        text=str(pattern.value) if pattern.type == "str" else None,
        flags=frozenset(pattern.flags),
        priority=int(terminal.priority),
        min_width=max(int(pattern.min_width), 1),
        max_width=int(pattern.max_width),
        length=len(pattern.value),
        written=written,
        solid=solid,
    )


def _looks(pattern: str) -> bool:
    """Return True for lookarounds, anchors and boundaries; invalid patterns are refused later."""
    with suppress(SourceError, UnsupportedError):
        return parse_regex(pattern).has(Look, Anchor, Boundary)
    return False


def _counts(terminal: LarkTerminal) -> bool:
    """Return True for numbered group references; invalid patterns are refused later."""
    if terminal.text is None and _NUMBER.search(terminal.pattern):
        with suppress(SourceError, UnsupportedError):
            return refers_by_number(parse_regex(terminal.pattern))
    return False


def _takes_nothing(terminal: LarkTerminal) -> bool:
    return terminal.solid and re.fullmatch(terminal.pattern, "") is not None


def _split_parts(
    terminals: list[Any], source: Lark, reading: Reading
) -> tuple[dict[str, Part], list[Any]]:
    """Split off the terminals that are parts in guideway's notation."""
    parts, others = dict[str, Part](), list[Any]()
    for terminal in terminals:
        whole = PART.fullmatch(str(terminal.pattern.value))
        inside = PART.search(str(terminal.pattern.value)) if source.parts else None
        if inside is None:
            others.append(terminal)
        elif whole is None or terminal.pattern.type != "str":
            part = source.parts[int(inside[1])]
            raise reading.of_part(
                part, f"{part.written} stands in the terminal {terminal.name} beside something "
                "else: a rule may be made of both, a terminal is a regex or one of these alone",
            )  # fmt: skip
        else:
            parts[str(terminal.name)] = source.parts[int(whole[1])]
    return parts, others


def _nested(parts: Mapping[str, Part]) -> dict[str, LarkGrammar]:
    found = dict[str, LarkGrammar]()
    for name, part in parts.items():
        if isinstance(part.source, Lark):
            with within(part):
                found[name] = read_lark(part.source)
    return found


def _check_ignored(ignored: list[Any], parts: Mapping[str, Part]) -> None:
    for name in map(str, ignored):
        if name in parts:
            raise UnsupportedError(
                f"{parts[name].written} cannot be ignored: %ignore takes regexes and strings only",
                feature="%ignore",
                place=parts[name].place,
            )


def _check_captures(
    source: Lark, parts: Mapping[str, Part], terminals: Iterable[LarkTerminal]
) -> None:
    """Refuse captures with the dynamic lexer if Lark's Earley parser cannot read the grammar."""
    if _captures(source):
        solid = [terminal.written for terminal in terminals if terminal.solid]
        for written in [*(part.written for part in parts.values()), *solid]:
            raise UnsupportedError(
                f"the dynamic lexer captures no rules in a grammar with {written}, which Lark does "
                "not have; the contextual lexer does, if LALR takes the grammar, and a terminal "
                "that matches nothing may be left out with a `?` behind it",
                feature="[capture]",
            )


def _captures(source: Lark) -> bool:
    """Return True if the grammar or a nested one has captures."""
    nested = (part.source for part in source.parts)
    return bool(source.captures) or any(isinstance(n, Lark) and _captures(n) for n in nested)


def _empty(parts: Mapping[str, Part], nested: Mapping[str, LarkGrammar]) -> list[str]:
    """Parts that may be empty."""
    return [
        name
        for name, part in parts.items()
        if isinstance(part.source, Substring) or (name in nested and _may_be_empty(nested[name]))
    ]


def _may_be_empty(grammar: LarkGrammar) -> bool:
    made = [Production(name, each) for name, rows in grammar.rules.items() for each in rows]
    symbols = {symbol for each in made for symbol in each.symbols}
    least = least_texts(made, dict.fromkeys(symbols - grammar.rules.keys(), 1))
    return least.get(grammar.start) == 0


def _read_by(
    rules: list[Any],
    start: str,
    source: Lark,
    strings: set[str],
    terminals: Iterable[LarkTerminal],
    *,
    indented: bool,
) -> tuple[LarkTable | None, str]:
    """The LALR table, or None and the reason if the lexer is not fixed."""
    if source.lexer == "dynamic":
        return None, ""
    counting = [each.written for each in terminals if _counts(each)] if source.lexer is None else []
    if counting and not indented:
        said = "which its lexer counts together with those of other terminals"
        return None, f"{counting[0]} refers to a group by its number, {said}"
    refusal: Any = import_module("lark.exceptions").GrammarError
    try:
        return tabulate(rules, start, strings), ""
    except refusal as error:
        said = " ".join(str(error).partition("\n\n")[0].split())
        if indented or not said.startswith(COLLISION):
            raise
        if source.lexer is None:
            return None, said
        raise refusal(f"{said}; lexer='dynamic', or none at all, takes it") from None
