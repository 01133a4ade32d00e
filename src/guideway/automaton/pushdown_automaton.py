"""A constraint's pushdown automaton, translated on demand."""

from contextlib import nullcontext
from itertools import islice
from typing import Any, Final

import numpy as np

from guideway.automaton.arena import Arena
from guideway.automaton.kernels import layout as at
from guideway.automaton.lark_tables import LalrNodes
from guideway.automaton.lexer_dfa import (
    Lengths,
    bounded_fields,
    run_of,
)
from guideway.automaton.object_tables import (
    Marks,
    MemberNodes,
    describe_whole,
    describe_words,
    is_marked,
    last_value,
)
from guideway.automaton.regex_records import counted_apart, readable
from guideway.automaton.token_mask_cache import (
    DRAWN,
    TokenMaskCache,
    sealed,
)
from guideway.automaton.token_tries import Row
from guideway.context_free.lark.lowering import Place, Places, ReadLine
from guideway.json_schema.lowering import usual_values
from guideway.json_schema.members import Dependent
from guideway.json_schema.objects import ObjectTemplate, Rest
from guideway.json_schema.spelling import alternatives_in, is_choice_of_words, words_of
from guideway.language.derivative import Derivatives
from guideway.language.expr import ALL_BYTES, ANYTHING, EMPTY, EPSILON, concat, repeat
from guideway.language.nodes import (
    Ahead,
    Alt,
    And,
    Bytes,
    Call,
    Capture,
    Concat,
    Expr,
    Not,
    Repeat,
    Rule,
    Stop,
    Unsure,
)

_MOST_BEGUN: Final = 56  # nodes: most schemas enter 11 to 20 of them, at 9 µs each
_OFTEN: Final = 4  # missing states that restart a walk, before kernels make states themselves
_NOBODY: Final = nullcontext()  # lends nothing
_MANY: Final = 64  # requested nodes before batches of as many; 5,400 one by one took 1.6 s


class Known:
    """Expressions and nodes of one automaton.

    It begins as a copy of `known`; `own` is the index of the first expression after that. `seen`
    has the nodes already entered, `words` inner choices of a choice of words.
    """

    __slots__ = ("__weakref__", "exprs", "nodes", "own", "seen", "words")

    def __init__(self, known: "Known | None" = None) -> None:
        self.nodes: dict[Expr, int] = {**known.nodes} if known else {}
        self.exprs: list[Expr] = [*known.exprs] if known else []
        self.seen: set[int] = {*known.seen} if known else set()
        self.words: set[Alt] = {*known.words} if known else set()
        self.own = len(self.exprs)

    def named(self, expr: Expr) -> tuple[int, int]:
        """Add an expression; return its index and flags."""
        self.exprs.append(expr)
        number = len(self.exprs) - 1
        flags = at.LOOKS if expr.looks else 0
        if not expr.yields:
            flags |= (at.NULLABLE if expr.nullable else 0) | (0 if expr.regular else at.SHARED)
        return number, flags

    def is_of_words(self, choice: Alt) -> bool:
        """Return True if a choice is one of words, or part of one."""
        return choice in self.words or is_choice_of_words(choice)


class PushdownAutomaton:
    """The nodes of one expression."""

    def __init__(self, expr: Expr, machine: Derivatives, mask_cache: TokenMaskCache) -> None:
        self._machine, self.mask_cache, self.dfa = machine, mask_cache, mask_cache.dfa
        machine.living.consult(self.dfa.alive)
        from guideway.automaton.kernels.entry import run

        self._run, (self._row, self._spare) = run, np.empty((2, mask_cache.words), np.uint32)
        begun, known = mask_cache.begun or (None, None)
        self.arena, self._mask_store = Arena(mask_cache.plan, begun), mask_cache.mask_store()
        self._mask_store.describe(self.arena.context)
        self._lengths, self._known = dict[int, Lengths](), Known(known)
        if known is None:
            self._begin()
        self.states, self._entered = dict[int, Any](), list[int]()  # for states.py, by `marks.key`
        self.marks, self._captures = Marks(self.arena), list[tuple[Capture, bool]]()
        self._members, self._listed = dict[Dependent, MemberNodes](), list[MemberNodes]()
        self._capture_numbers = dict[tuple[object, ...], int]()
        self._automata, self._tables = dict[int, LalrNodes](), dict[Places, LalrNodes]()
        if expr.looks:
            self.arena.context.looks = True
            self.arena.context.anything_state = self.dfa.state(ANYTHING)

    def _begin(self) -> None:
        """Make the fixed nodes and those of usual JSON values, for all automata of the cache."""
        self._known.nodes, self._known.seen = {EMPTY: at.DEAD, EPSILON: at.NIL}, {at.DEAD, at.NIL}
        self.arena.make(at.DEAD)
        self.arena.make(at.NIL)
        self.arena.make(at.LITERAL, self.arena.pool(b"}"), 1, at.NIL)  # CLOSE_BRACE
        if self.dfa.spellable == ALL_BYTES:  # else some become nodes that only this one reads
            machine = self._machine  # whose fuel pays for its own expression
            self._machine = Derivatives(EPSILON, ALL_BYTES)
            self._machine.living.consult(self.dfa.alive)
            for value in usual_values():
                self.node(value)
            self.prepare(_MOST_BEGUN)
            self._machine = machine
        if (begun := self.arena.begun()) is not None:
            self.mask_cache.begun = begun, Known(self._known)

    def enter(self, rest: Expr) -> int:
        return self.run(at.ENTER, self.node(rest))

    def prepare(self, nodes: int) -> None:
        """Translate the first nodes of its own, breadth first."""
        own = self._known.own
        for expr in islice(self._known.exprs, own, own + nodes):  # which grows
            self.entered(expr)

    def read(self, macro: int, token: int, text: int = 0) -> int:
        """Result of READ (`kernels.entry.run`); `text` is the text read within items (`marks`)."""
        if self.marks.any:
            self.arena.context.read_text = text
        code = self._run(self.arena.context, at.READ, macro, token, self._row, self._spare)
        return code if code >= 0 else self._run_served(code, at.READ, macro, token)

    def fill(self, macro: int) -> "tuple[Row, list[int], bool]":
        """Mask of a macro state, its unsure tokens, and whether the mask is on the mask store."""
        if macro in self.marks.masks:
            return *self.marks.masks[macro], False
        context, row, spare = self.arena.context, self._row, self._spare
        code = self._run(context, at.FILL, macro, 1, row, spare)
        code = code if code >= 0 else self._run_served(code, at.FILL, macro, 0)
        if code == 0 and context.any_unsure:
            return self.marks.kept(macro, row.copy(), self.arena.unsure(row))
        number = code or self._mask_store.put(row, context.row_code)
        if number == 0:
            return sealed(row), [], False
        return self._mask_store.rows[number], [], True

    def run(
        self, what: int, a: int, b: int = 0, row: "Row | None" = None, exits: "Row | None" = None
    ) -> int:
        """Call `kernels.entry.run`, serving its requests, until done; it writes to the rows."""
        rows = (self._spare, self._spare) if row is None or exits is None else (row, exits)
        code = self._run(self.arena.context, what, a, b, *rows)
        return code if code >= 0 else self._run_served(code, what, a, b, *rows)

    def _run_served(self, code: int, what: int, a: int, b: int, *rows: Row) -> int:
        (row, spare), context = rows or (self._row, self._spare), self.arena.context
        asked: dict[int, int] = {}
        while code < 0:
            times = asked[code] = asked.get(code, 0) + 1
            self._serve(code, context.want, _MANY if times > _MANY else 0)
            with self.mask_cache.lent(context) if asked.get(at.NEED_LEX, 0) > _OFTEN else _NOBODY:
                code = self._run(context, what, a, b, row, spare)
        return code

    def node(self, expr: Expr) -> int:
        """Node of an expression, translated when entered."""
        found = self._known.nodes.get(expr)
        if found is None:
            found = self.arena.make(at.EXPR, *self._known.named(expr))
            self._known.nodes[expr] = found
        return found

    def entered(self, expr: Expr) -> int:
        """Node of an expression, translated now, as the kernels enter it next."""
        node = self.node(expr)
        if node not in self._known.seen:
            self._tell(node)
        return node

    def _entering(self, expr: Expr) -> int:
        """Node of an expression that is entered together with the current one."""
        node = self.node(expr)
        self._entered.append(node)
        return node

    def _serve(self, code: int, wanted: int, ahead: int = 0) -> None:
        if code == at.FULL:
            self.arena.grow(wanted)
        elif code == at.NEED_LEX:
            self.dfa.expand(wanted)
        elif code in DRAWN:
            self.mask_cache.serve(code, wanted, self.arena)
        elif code == at.NEED_SCANNER:
            _, table, state, *_ = self.arena.record(wanted)
            self._automata[table].scan(state, ahead=ahead > 0)
        else:
            known = len(self._known.exprs)
            self._tell(wanted)
            self._look_ahead(known, ahead)

    def _tell(self, wanted: int) -> None:
        """Set the target of a node, and of those entered with it, which saves calls."""
        self._entered = [wanted]
        while self._entered:
            node = self._entered.pop()
            if node == wanted or node not in self._known.seen:
                self.arena.set_target(node, self._target(node))
                self._known.seen.add(node)

    def _look_ahead(self, known: int, ahead: int) -> None:
        """Translate the regular expressions among the newest nodes and their successors."""
        place = known
        while place < min(len(self._known.exprs), known + ahead):
            expr = self._known.exprs[place]
            if expr.regular or isinstance(expr, Ahead):
                self._tell(self.node(expr))
            place += 1

    def _target(self, node: int) -> int:
        """Target of an EXPR, RESUME or NAMED node; a BOUNDED node is its own or DEAD."""
        kind, a, low, high, between, within = self.arena.record(node)
        if kind == at.BOUNDED:
            lengths = self._lengths.setdefault(between, Lengths(self.dfa, between))
            return node if lengths.alive(a, within or between, low, high) else at.DEAD
        if kind == at.NAMED:
            expr = self._listed[a].named(low, high)
        else:
            expr = self._known.exprs[a] if kind == at.EXPR else self._resumed(a, low)
        return self._translate(expr) if self._alive(expr) else at.DEAD

    def _alive(self, expr: Expr) -> bool:
        """Return True if an expression has a text; for lookaheads, as far as it can tell alone."""
        if expr.looks:
            return self._machine.living.check(expr)
        return self.dfa.alive(expr) if expr.regular else self._machine.alive(expr)

    def _resumed(self, number: int, text: int) -> Expr:
        capture, marked = self._captures[number]
        read = None if text < 0 else self.arena.text(text)
        value = last_value(read) if marked and read is not None else read
        return capture.template.resume(capture.argument, value)

    def _translate(self, expr: Expr) -> int:  # noqa: PLR0911  one arm for each node of the core
        match expr:
            case Concat(head, tail):
                return self._sequence(expr, head, tail)
            case Bytes(members) if members & (members - 1) == 0:
                return self._literal(bytes((members.bit_length() - 1,)), EPSILON)
            case Alt() if not expr.regular or self._is_structure(expr):
                return self._choice(expr)
            case Repeat(item, low, high) if not expr.regular or self.dfa.holds_count(item):
                rest = repeat(item, max(low - 1, 0), None if high is None else high - 1)
                again = self.arena.make(at.SEQUENCE, self._entering(item), self.node(rest))
                return again if low else self.arena.choice([at.NIL, again])
            case Repeat() if self.dfa.is_counted(expr):
                return self._count(expr)
            case Bytes() | Alt() | Repeat() | And() | Not():
                return self.arena.make(at.LEXEME, self.dfa.state(expr))
            case Rule():
                return self._rule(expr)
            case Call():
                return self._call(expr)
            case Capture():
                return self._capture(expr)
            case _:
                return self._constant(expr)

    def _rule(self, rule: Rule) -> int:
        found = describe_words(rule, self)
        if found is not None:
            return found
        body = rule.body
        while isinstance(body, Rule) and words_of(body) is None:
            body = body.body
        return self._entering(body)

    def _constant(self, expr: Expr) -> int:
        if isinstance(expr, Ahead):
            if not self.dfa.alive(expr.item):
                return at.DEAD
            return self.arena.make(at.AHEAD, self.dfa.state(expr.item), expr.level)
        if isinstance(expr, Stop):
            return self.arena.make(at.STOP, expr.level)
        return self.arena.make(at.DOUBT) if isinstance(expr, Unsure) else self.node(expr)

    def _choice(self, choice: Alt) -> int:
        """CHOICE of the options; inner choices of words are noted."""
        if self._known.is_of_words(choice):
            self._known.words.update(a for o in choice.options for a in alternatives_in(o))
        return self.arena.choice([self._entering(option) for option in choice.options])

    def _is_structure(self, choice: Alt) -> bool:
        """Return True if a regular choice is one between longer texts, as in an enum."""
        return (
            self._known.is_of_words(choice)
            or any(isinstance(o, Concat) and isinstance(o.tail, Concat) for o in choice.options)
            or self.dfa.holds_count(choice)
        )

    def _sequence(self, expr: Concat, head: Expr, tail: Expr) -> int:
        if (run := run_of(expr))[0]:
            return self._literal(*run)
        if self._is_apart(head):
            rest = self._entering(tail) if isinstance(head, Ahead) else self.node(tail)
            return self.arena.make(at.SEQUENCE, self._entering(head), rest)
        if isinstance(head, And) and (found := self._conjunction(head, tail)) is not None:
            return found
        if isinstance(head, Repeat) and self.dfa.is_counted(head):
            return self.arena.make(at.SEQUENCE, self._count(head), self.node(tail))
        lexeme = self.arena.make(at.LEXEME, self.dfa.state(head))
        return self.arena.make(at.SEQUENCE, lexeme, self.node(tail))

    def _is_apart(self, head: Expr) -> bool:
        """Return True if the head of a sequence has nodes of its own."""
        if not head.regular or (isinstance(head, Alt) and self._known.is_of_words(head)):
            return True
        return isinstance(head, Alt | Repeat) and self.dfa.holds_count(head)

    def _conjunction(self, head: And, tail: Expr) -> int | None:
        """Node of a conjunction with a count, and of its tail; None if it becomes a lexeme."""
        found = counted_apart(head, self.dfa.is_counted, self.dfa.alive)
        if found is None:
            return None
        rest, count = found
        if rest is None:
            return self._translate(concat(count, tail))
        if (fields := bounded_fields(rest, count, tail, self.dfa)) is None:
            return None
        after = self.node(tail.tail if isinstance(tail, Concat) else EPSILON)
        return self.arena.make(at.SEQUENCE, self.arena.make(at.BOUNDED, *fields), after)

    def _count(self, repeated: Repeat) -> int:
        between = self.dfa.state(repeat(repeated.item))
        return self.arena.make(at.COUNTED, between, *readable(repeated.low, repeated.high), between)

    def _literal(self, text: bytes, rest: Expr) -> int:
        return self.arena.make(at.LITERAL, self.arena.pool(text), len(text), self.node(rest))

    def _call(self, expr: Call) -> int:
        template = expr.template
        if isinstance(template, Places) and isinstance(expr.argument, Place | ReadLine):
            return self._automaton_of(template).node(expr.argument)
        reading = template.reading if isinstance(template, ObjectTemplate) else None
        if isinstance(reading, Dependent) and isinstance(expr.argument, Rest):
            return self._members_of(reading).node(expr.argument)
        found = describe_whole(expr, self, self._machine)
        return self._entering(self._machine.unfold(expr)) if found is None else found

    def _automaton_of(self, places: Places) -> LalrNodes:
        found = self._tables.get(places)
        if found is None:
            found = self._tables[places] = LalrNodes(places, self, self.dfa)
            self._automata[found.table] = found
        return found

    def _members_of(self, reading: Dependent) -> MemberNodes:
        found = self._members.get(reading)
        if found is None:
            found = MemberNodes(reading, len(self._members), self, self._machine)
            self._members[reading] = found
            self._listed.append(found)
        return found

    def _capture(self, capture: Capture) -> int:
        marked = capture.read == b"" and is_marked(capture)
        key = (capture.template, capture.argument, marked)
        number = self._capture_numbers.setdefault(key, len(self._captures))
        if number == len(self._captures):
            self._captures.append((capture, marked))
            self.arena.context.captures = True
        if marked:
            return self.marks.make(self.node(capture.item), number)
        text = at.UNKNOWN_TEXT if capture.read is None else self.arena.read_text(capture.read)
        return self.arena.make(at.CAPTURE, self.dfa.state(capture.item), text, number)
