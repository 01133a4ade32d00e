"""Expressions and statements of kernels as LLVM, machine code, and functions that Python calls."""

import ast
import ctypes
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Final, cast

from guideway.automaton.jit.operands import (
    BOOL,
    LLVM,
    SET,
    SIGNED,
    Inner,
    Instructions,
    Intrinsic,
    Operand,
    common_kind,
    constant,
    llvm_type,
)
from guideway.automaton.jit.records import kind_of

CASTS: Final = {"int": SIGNED, "int64": SIGNED, "uint64": SET, "uint32": SET, "bool": BOOL}
CHOSEN: Final = {"min": "smin", "max": "smax"}


class Expressions:
    """Expressions of a function: `kinds` of its variables so far, `whole` arrays with a length."""

    def __init__(
        self,
        code: Instructions,
        module: Mapping[str, Any],
        kinds: Mapping[str, str],
        whole: Mapping[str, Operand],
        results: Sequence[str],
    ) -> None:
        self._code, self._module, self._kinds, self._whole = code, module, kinds, whole
        self._results = results
        self.callees: dict[Inner, None] = {}
        self._forms: dict[type[ast.expr], Callable[[Any], Operand]] = {
            ast.Name: self._name,
            ast.Attribute: self._attribute,
            ast.Constant: lambda node: constant(node.value),
            ast.BinOp: self._operation,
            ast.UnaryOp: self._unary,
            ast.BoolOp: self._truth,
            ast.Compare: self._comparison,
            ast.IfExp: lambda node: self._conditional(node)[0],
            ast.Subscript: lambda node: self._code.load(*self.place(node)),
            ast.Call: lambda node: self._called(node)[0],
        }

    def value(self, node: ast.expr) -> Operand:
        if type(node) not in self._forms:
            raise TypeError(f"{ast.unparse(node)!r} is not known to kernels")
        return self._forms[type(node)](node)

    def several(self, node: ast.expr) -> Sequence[Operand]:
        """Translate the parts of a tuple, or one expression."""
        if isinstance(node, ast.Tuple):
            return [self.value(part) for part in node.elts]
        if isinstance(node, ast.IfExp):
            return self._conditional(node)
        return self._called(node) if isinstance(node, ast.Call) else [self.value(node)]

    def branch(self, node: ast.expr, yes: str, no: str, *, exact: bool = False) -> None:
        """Jump to `yes` if an expression is true, else to `no`; `exact`: numbers are refused."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            self.branch(node.operand, no, yes)
        elif isinstance(node, ast.BoolOp):
            for part in node.values[:-1]:
                further = self._code.fresh("b")
                either = (further, no) if isinstance(node.op, ast.And) else (yes, further)
                self.branch(part, *either, exact=exact)
                self._code.label(further)
            self.branch(node.values[-1], yes, no, exact=exact)
        elif isinstance(node, ast.Compare):
            self._chain(node, yes, no)
        else:
            value = self.value(node)
            if exact and value.kind != BOOL:
                raise TypeError(f"{value} is no truth value")
            self._jump(self._code.as_kind(value, BOOL), yes, no)

    def place(self, node: ast.Subscript | ast.Attribute) -> tuple[str, str]:
        """Kind and address of an item of an array or a field of a record."""
        array = self.value(node.value)
        if isinstance(node, ast.Attribute):
            return self._code.field(array, node.attr)
        if array.kind[-1] == "&":  # a table
            array = self._code.load(*self._code.field(array, "rows"))
        return array.item, self._code.place(array, self.value(node.slice))

    def _jump(self, truth: str, yes: str, no: str) -> None:
        self._code.add(f"br i1 {truth}, label %{yes}, label %{no}")

    def _name(self, node: ast.Name) -> Operand:
        name = node.id
        if name in self._whole:
            return self._whole[name]
        if name in self._kinds:
            kind = self._kinds[name]
            return Operand(kind, self._code.value(f"load {llvm_type(kind)}, ptr %{name}.v"))
        return self._number(node, self._module.get(name))

    def _attribute(self, node: ast.Attribute) -> Operand:
        """A field of a record, or a constant of another module, as in `at.NODE`."""
        name = node.value.id if isinstance(node.value, ast.Name) else None
        if name is None or name in self._kinds:
            return self._code.load(*self.place(node))
        return self._number(node, getattr(self._module.get(name), node.attr, None))

    def _number(self, node: ast.expr, value: object) -> Operand:
        if not isinstance(value, int):
            raise TypeError(f"{ast.unparse(node)} is no number")
        return constant(value)

    def _operation(self, node: ast.BinOp) -> Operand:
        return self._code.applied(node.op, self.value(node.left), self.value(node.right))

    def _unary(self, node: ast.UnaryOp) -> Operand:
        value = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            truth = self._code.as_kind(value, BOOL)
            return Operand(BOOL, self._code.value(f"xor i1 {truth}, true"))
        if value.constant is not None and value.kind == SIGNED:
            return constant(~value.constant if isinstance(node.op, ast.Invert) else -value.constant)
        if isinstance(node.op, ast.Invert):
            kind = SET if value.kind == SET else SIGNED
            return Operand(kind, self._code.value(f"xor i64 {self._code.as_kind(value, kind)}, -1"))
        if value.kind == SET:
            raise TypeError(f"{value} has no sign")
        return Operand(SIGNED, self._code.value(f"sub i64 0, {self._code.as_kind(value, SIGNED)}"))

    def _truth(self, node: ast.BoolOp | ast.Compare) -> Operand:
        """The result of `branch` as a value."""
        code, slot = self._code, self._code.slot("i1")
        yes, no, end = code.fresh("b"), code.fresh("b"), code.fresh("b")
        self.branch(node, yes, no, exact=True)
        for label, truth in ((yes, "true"), (no, "false")):
            code.label(label)
            code.add(f"store i1 {truth}, ptr {slot}")
            code.add(f"br label %{end}")
        code.label(end)
        return Operand(BOOL, code.value(f"load i1, ptr {slot}"))

    def _comparison(self, node: ast.Compare) -> Operand:
        if len(node.ops) > 1:
            return self._truth(node)
        left = self.value(node.left)
        return Operand(BOOL, self._compared(node.ops[0], left, node.comparators[0]))

    def _chain(self, node: ast.Compare, yes: str, no: str) -> None:
        """Translate `a < b < c`: b is evaluated once, c only if needed."""
        left, last = self.value(node.left), len(node.ops) - 1
        for index, (operator, further) in enumerate(zip(node.ops, node.comparators, strict=True)):
            if index == last:
                self._jump(self._compared(operator, left, further), yes, no)
                return
            right, then = self.value(further), self._code.fresh("b")
            self._jump(self._code.compared(operator, left, right), then, no)
            self._code.label(then)
            left = right

    def _compared(self, operator: ast.cmpop, left: Operand, right: ast.expr) -> str:
        if not isinstance(operator, ast.In | ast.NotIn):
            return self._code.compared(operator, left, self.value(right))
        if not isinstance(right, ast.Tuple) or any(isinstance(e, ast.Call) for e in right.elts):
            raise TypeError("only tuples of names and constants are looked through")
        found = "false"
        for element in right.elts:
            same = self._code.compared(ast.Eq(), left, self.value(element))
            found = self._code.value(f"or i1 {found}, {same}")
        if isinstance(operator, ast.NotIn):
            return self._code.value(f"xor i1 {found}, true")
        return found

    def _conditional(self, node: ast.IfExp) -> Sequence[Operand]:
        code = self._code
        yes, no, end = code.fresh("b"), code.fresh("b"), code.fresh("b")
        self.branch(node.test, yes, no)
        before, arms = code.lines, list[tuple[Sequence[Operand], list[str]]]()
        for arm in (node.body, node.orelse):
            code.lines = []
            arms.append((self.several(arm), code.lines))
        code.lines = before
        kinds = [common_kind(*pair) for pair in zip(arms[0][0], arms[1][0], strict=True)]
        slots = [code.slot(llvm_type(kind)) for kind in kinds]
        for label, (values, lines) in zip((yes, no), arms, strict=True):
            code.label(label)
            code.lines += lines
            for value, kind, slot in zip(values, kinds, slots, strict=True):
                code.add(f"store {llvm_type(kind)} {code.as_kind(value, kind)}, ptr {slot}")
            code.add(f"br label %{end}")
        code.label(end)
        return [
            Operand(kind, code.value(f"load {llvm_type(kind)}, ptr {slot}"))
            for kind, slot in zip(kinds, slots, strict=True)
        ]

    def _called(self, node: ast.Call) -> Sequence[Operand]:
        if isinstance(node.func, ast.Attribute) and node.func.attr == "within":
            return [self._record_at(node.func.value, *node.args)]
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ast.unparse(node.func)
        what, arguments = self._module.get(name), [self.value(argument) for argument in node.args]
        if isinstance(what, Inner):
            return self._result(what, arguments)
        known = isinstance(what, Intrinsic)
        return [self._instruction(what, arguments) if known else self._built_in(name, arguments)]

    def _built_in(self, name: str, arguments: Sequence[Operand]) -> Operand:
        """A function of Python, or a cast of numpy."""
        if name in CASTS:
            return self._cast(name, arguments[0])
        if name in CHOSEN:
            return self._chosen(CHOSEN[name], arguments)
        if name == "len" and arguments[0].length:
            return Operand(SIGNED, arguments[0].length)
        raise TypeError(f"{name!r} is not known to kernels")

    def _record_at(self, declared: ast.expr, array: ast.expr, index: ast.expr) -> Operand:
        """The record that begins at an item of an array of numbers."""
        kind = kind_of(self._module.get(ast.unparse(declared)))
        return Operand(kind, self._code.place(self.value(array), self.value(index)))

    def _result(self, inner: Inner, arguments: Sequence[Operand]) -> Sequence[Operand]:
        self.callees[inner] = None
        given = list[str]()
        for argument, kind in zip(arguments, inner.parameters.values(), strict=True):
            given.append(f"{llvm_type(kind)} {self._code.fitting(argument, kind)}")
            if kind.endswith("[]"):
                given.append(f"i64 {argument.length}")
        call = f'call {inner.result_type} @"{inner.symbol}"({", ".join(given)})'
        if not inner.results:
            self._code.add(call)
            return [Operand("nothing", "")]
        found = self._code.value(call)
        if len(inner.results) == 1:
            return [Operand(inner.results[0], found)]
        return [
            Operand(kind, self._code.value(f"extractvalue {inner.result_type} {found}, {index}"))
            for index, kind in enumerate(inner.results)
        ]

    def _instruction(self, word: Intrinsic, arguments: Sequence[Operand]) -> Operand:
        """An instruction without a Python equivalent."""
        code = self._code
        if word.name == "checked":
            return self._checked(code.fitting(arguments[0], SIGNED))
        if word.name == "exists":
            return Operand(BOOL, code.value(f"icmp ne ptr {arguments[0].text}, null"))
        if word.name == "lowest_bit":
            bits = code.as_kind(arguments[0], SET)
            return Operand(SIGNED, code.value(f"call i64 @llvm.cttz.i64(i64 {bits}, i1 true)"))
        if word.name == "release":
            thread = code.value("call ptr @PyEval_SaveThread()")
            return Operand(SIGNED, code.value(f"ptrtoint ptr {thread} to i64"))
        if word.name == "take_again":
            thread = code.value(f"inttoptr i64 {code.fitting(arguments[0], SIGNED)} to ptr")
            code.add(f"call void @PyEval_RestoreThread(ptr {thread})")
        else:
            code.add("fence release")
        return Operand("nothing", "")

    def _checked(self, number: str) -> Operand:
        """Return from the kernel with a negative number, which is a code."""
        if self._results[:1] != (SIGNED,):
            raise TypeError("only kernels that return a number return codes")
        code, failed, further = self._code, self._code.fresh("b"), self._code.fresh("b")
        self._jump(code.value(f"icmp slt i64 {number}, 0"), failed, further)
        code.label(failed)
        kind, result = "i64", number
        if len(self._results) > 1:
            kind = f"{{{', '.join(LLVM[each] for each in self._results)}}}"
            result = code.value(f"insertvalue {kind} zeroinitializer, i64 {number}, 0")
        code.add(f"ret {kind} {result}")
        code.label(further)
        return Operand(SIGNED, number)

    def _cast(self, name: str, value: Operand) -> Operand:
        kind = CASTS[name]
        if name == "int" and value.kind == SET:
            raise TypeError(f"whether {value} has a sign is not known: say np.int64")
        cast = Operand(kind, self._code.as_kind(value, kind), value.constant)
        if name == "uint32":
            return self._code.applied(ast.BitAnd(), cast, constant(0xFFFFFFFF))
        return cast

    def _chosen(self, name: str, values: Sequence[Operand]) -> Operand:
        found = self._code.fitting(values[0], SIGNED)
        for value in values[1:]:
            further = self._code.fitting(value, SIGNED)
            found = self._code.value(f"call i64 @llvm.{name}.i64(i64 {found}, i64 {further})")
        return Operand(SIGNED, found)


SHORT: Final = 30  # instructions; shorter functions are always inlined: masks take 5 % less


class Translation:
    """LLVM IR of one function, as `text`, and its `callees`; TypeError for unsupported code."""

    def __init__(self, inner: Inner) -> None:
        self._inner = inner
        parameters = inner.parameters.items()
        self._kinds = {name: kind for name, kind in parameters if not kind.endswith("[]")}
        self._forms: dict[type[ast.stmt], Callable[[Any], None]] = {
            ast.Expr: self._expression,
            ast.Assign: self._assign,
            ast.AugAssign: self._change,
            ast.If: self._if,
            ast.While: self._while,
            ast.For: self._for,
            ast.Return: self._return,
            ast.Break: lambda _: self._leave(0),
            ast.Continue: lambda _: self._leave(1),
        }
        definition = _definition(inner)
        self._again, self._line = True, definition.lineno
        try:
            while self._again:
                self._begin()
                self._block(definition.body)
            self._end()
        except (KeyError, TypeError, ValueError) as error:
            place = f"{inner.code.__code__.co_filename}:{self._line}"
            raise TypeError(f"{place}: {error}") from error
        self.callees = tuple(self._expressions.callees)
        self.text = self._assembled()

    def _begin(self) -> None:
        whole = {
            name: Operand(kind, f"%{name}.p", None, f"%{name}.n")
            for name, kind in self._inner.parameters.items()
            if kind.endswith("[]")
        }
        self._again, self._ended, self._code = False, False, Instructions()
        code = self._inner.code
        module = {name: code.__globals__.get(name) for name in code.__code__.co_names}
        self._expressions = Expressions(self._code, module, self._kinds, whole, self._inner.results)
        self._loops: list[list[Any]] = []  # targets of break and continue, whether one breaks

    def _end(self) -> None:
        if not self._ended:
            if self._inner.results:
                raise TypeError(f"{self._inner.symbol} does not always return")
            self._code.add("ret void")

    def _assembled(self) -> str:
        given = list[str]()
        begun = [f"  %{name}.v = alloca {llvm_type(kind)}" for name, kind in self._kinds.items()]
        for name, kind in self._inner.parameters.items():
            given.append(f"{llvm_type(kind)} %{name}.p")
            if name in self._kinds:
                begun.append(f"  store {llvm_type(kind)} %{name}.p, ptr %{name}.v")
            else:
                given.append(f"i64 %{name}.n")
        short = len(self._code.lines) <= SHORT
        how = "alwaysinline" if self._inner.once or short else ""
        head = (
            f'{self._inner.result_type} @"{self._inner.symbol}"({", ".join(given)}) nounwind {how}'
        )
        lines = [*self._code.slots, *begun, *self._code.lines]
        return "\n".join((f"define internal {head} {{", *lines, "}", ""))

    def _block(self, body: list[ast.stmt]) -> None:
        for statement in body:
            if self._ended:  # code after a return is unreachable
                return
            self._line = statement.lineno
            if type(statement) not in self._forms:
                raise TypeError(f"{ast.unparse(statement)!r} is not known to kernels")
            self._forms[type(statement)](statement)

    def _jump(self, label: str) -> None:
        if not self._ended:
            self._code.add(f"br label %{label}")
            self._ended = True

    def _label(self, label: str) -> None:
        self._code.label(label)
        self._ended = False

    def _expression(self, statement: ast.Expr) -> None:
        if not isinstance(statement.value, ast.Constant):
            self._expressions.several(statement.value)

    def _assign(self, statement: ast.Assign) -> None:
        values = self._expressions.several(statement.value)
        for target in statement.targets:
            places = target.elts if isinstance(target, ast.Tuple) else [target]
            for place, value in zip(places, values, strict=True):
                self._put(place, value)

    def _put(self, target: ast.expr, value: Operand) -> None:
        if isinstance(target, ast.Subscript | ast.Attribute):
            self._code.put(*self._expressions.place(target), value)
        else:
            self._set(cast("ast.Name", target).id, value)

    def _set(self, name: str, value: Operand) -> None:
        known = self._kinds.get(name)
        kind = value.kind if known is None else common_kind(Operand(known, name), value)
        if kind != known:
            self._kinds[name], self._again = kind, True
        self._code.add(f"store {llvm_type(kind)} {self._code.as_kind(value, kind)}, ptr %{name}.v")

    def _change(self, statement: ast.AugAssign) -> None:
        target = statement.target
        if isinstance(target, ast.Subscript | ast.Attribute):
            kind, place = self._expressions.place(target)
            value = self._expressions.value(statement.value)
            changed = self._code.applied(statement.op, self._code.load(kind, place), value)
            self._code.put(kind, place, changed)
        else:
            before = self._expressions.value(ast.Name(target.id))
            value = self._expressions.value(statement.value)
            self._put(target, self._code.applied(statement.op, before, value))

    def _if(self, statement: ast.If) -> None:
        yes, no, end = (self._code.fresh("b") for _ in range(3))
        self._expressions.branch(statement.test, yes, no)
        self._label(yes)
        self._block(statement.body)
        goes_on = not self._ended
        self._jump(end)
        self._label(no)
        self._block(statement.orelse)
        if goes_on or not self._ended:
            self._jump(end)
            self._label(end)

    def _while(self, statement: ast.While) -> None:
        head, body, done = (self._code.fresh("b") for _ in range(3))
        self._jump(head)
        self._label(head)
        self._expressions.branch(statement.test, body, done)
        left = self._loop(statement.body, body, head, done)
        self._jump(head)
        self._label(done)
        if isinstance(statement.test, ast.Constant) and not left:
            self._code.add("unreachable")
            self._ended = True

    def _loop(self, statements: list[ast.stmt], body: str, again: str, done: str) -> bool:
        """Translate the body of a loop; return True if it has a break."""
        self._loops.append([done, again, False])
        self._label(body)
        self._block(statements)
        return bool(self._loops.pop()[2])

    def _for(self, statement: ast.For) -> None:
        """Translate `for name in range(...)`; the limits are evaluated once."""
        head, body, step, done = (self._code.fresh("b") for _ in range(4))
        call, target = statement.iter, statement.target
        if not isinstance(call, ast.Call) or ast.unparse(call.func) != "range":
            raise TypeError("only ranges are gone through")
        limits = [self._expressions.value(part) for part in call.args]
        if len(limits) == 1:
            limits.insert(0, constant(0))
        start, end, by = (*limits, constant(1))[:3]
        if by.constant is None or by.constant == 0:
            raise TypeError("how far a range steps is a constant")
        code, slot = self._code, self._code.slot("i64")
        last = code.fitting(end, SIGNED)
        code.add(f"store i64 {code.fitting(start, SIGNED)}, ptr {slot}")
        self._jump(head)
        self._label(head)
        at = code.value(f"load i64, ptr {slot}")
        more = code.value(f"icmp {'slt' if by.constant > 0 else 'sgt'} i64 {at}, {last}")
        code.add(f"br i1 {more}, label %{body}, label %{done}")
        self._label(body)
        self._put(target, Operand(SIGNED, at))
        within = code.fresh("b")
        self._jump(within)
        self._loop(statement.body, within, step, done)
        self._jump(step)
        self._label(step)
        now = code.value(f"load i64, ptr {slot}")
        code.add(f"store i64 {code.value(f'add nsw i64 {now}, {by.constant}')}, ptr {slot}")
        self._jump(head)
        self._label(done)

    def _leave(self, which: int) -> None:
        loop = self._loops[-1]
        loop[2] = loop[2] or which == 0
        self._jump(loop[which])

    def _return(self, statement: ast.Return) -> None:
        code, inner, result = self._code, self._inner, "undef"
        values: Sequence[Operand] = ()
        if statement.value is not None:
            values = self._expressions.several(statement.value)
        pairs = list(zip(values, inner.results, strict=True))
        texts = [code.fitting(value, kind) for value, kind in pairs]
        if len(pairs) > 1:
            for index, (text, kind) in enumerate(zip(texts, inner.results, strict=True)):
                part = f"{LLVM[kind]} {text}, {index}"
                result = code.value(f"insertvalue {inner.result_type} {result}, {part}")
            texts = [result]
        code.add(f"ret {inner.result_type} {''.join(texts)}")
        self._ended = True


@cache
def definitions_in(path: str) -> dict[tuple[str, int], ast.FunctionDef]:
    """The functions of a file, by name and by the first line of their decorators."""
    tree = ast.parse(Path(path).read_text(encoding="utf-8"))
    return {
        (node.name, min(part.lineno for part in (node, *node.decorator_list))): node
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
    }


def _definition(inner: Inner) -> ast.FunctionDef:
    code = inner.code.__code__
    return definitions_in(code.co_filename)[code.co_name, code.co_firstlineno]


_llvm: Any = import_module("llvmlite.binding")
_OF_PYTHON: Final = {  # functions of CPython's C API, with their types
    "PyLong_AsLongLong": "i64 {}(ptr)",
    "PyLong_FromLongLong": "ptr {}(i64)",
    "PyEval_SaveThread": "ptr {}()",
    "PyEval_RestoreThread": "void {}(ptr)",
}
DECLARATIONS: Final = (
    "declare i64 @llvm.cttz.i64(i64, i1)",
    "declare i64 @llvm.smax.i64(i64, i64)",
    "declare i64 @llvm.smin.i64(i64, i64)",
    *(f"declare {kind.format('@' + name)}" for name, kind in _OF_PYTHON.items()),
)
_PASSES: Final = (
    "always_inliner",
    "global_dead_code_eliminate",
    "sroa",
    "simplify_cfg",
    "instruction_combine",
    "new_gvn",
    "simplify_cfg",
)
_FASTCALL: Final = 0x80
_kept: Final[list[Any]] = []  # machine code and method definitions, kept alive


class _Definition(ctypes.Structure):
    """PyMethodDef of CPython's C API."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


class Kernels:
    """Declared functions with at most one result, which Python calls once they are loaded.

    `holding` ones keep the GIL. They take a few microseconds, and another thread would keep the GIL
    for much longer. `letting` ones release it.
    """

    def __init__(
        self, holding: Iterable[Callable[..., Any]] = (), letting: Iterable[Callable[..., Any]] = ()
    ) -> None:
        declared = [(part, True) for part in holding] + [(part, False) for part in letting]
        kernels = cast("list[tuple[Inner, bool]]", declared)
        self._kernels = {inner.code.__name__: (inner, holds) for inner, holds in kernels}

    def machine_code(self) -> bytes:
        """The object file of all kernels and of the functions that they call."""
        needed = _all_called(inner for inner, _ in self._kernels.values())
        texts = [*DECLARATIONS, *(_translation(inner).text for inner in needed)]
        texts += (_entry_point(name, *kernel) for name, kernel in self._kernels.items())
        _translation.cache_clear()
        definitions_in.cache_clear()
        machine, module = _machine(), _llvm.parse_assembly("\n".join(texts))
        builder = _llvm.create_pass_builder(machine, _llvm.PipelineTuningOptions())
        passes = _llvm.create_new_module_pass_manager()
        for name in _PASSES:
            getattr(passes, f"add_{name}_pass")()
        passes.run(module, builder)
        return cast("bytes", machine.emit_object(module))

    def loaded(self, code: bytes) -> dict[str, Callable[..., Any]]:
        """The functions of an object file, by name."""
        for name in _OF_PYTHON:
            address = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
            _llvm.add_symbol(name, address)
        engine = _llvm.create_mcjit_compiler(_llvm.parse_assembly(""), _machine())
        engine.add_object_file(_llvm.ObjectFileRef.from_data(code))
        engine.finalize_object()
        _kept.append(engine)
        return {name: _function(engine, name) for name in self._kernels}


def _machine() -> Any:
    """Target machine of this processor; opt=1 is "less", LLVM's second of four levels."""
    _llvm.initialize_native_target()
    _llvm.initialize_native_asmprinter()
    features = _llvm.get_host_cpu_features().flatten()
    target = _llvm.Target.from_default_triple()
    return target.create_target_machine(_llvm.get_host_cpu_name(), features, opt=1, jit=True)


def _all_called(called: Iterable[Inner]) -> dict[Inner, None]:
    """These functions and all that they call."""
    found = dict.fromkeys(called)
    waiting = list(found)
    while waiting:
        for callee in _translation(waiting.pop()).callees:
            if callee not in found:
                found[callee] = None
                waiting.append(callee)
    return found


@cache
def _translation(inner: Inner) -> Translation:
    return Translation(inner)


def _entry_point(name: str, inner: Inner, holds: bool) -> str:
    """The C function through which CPython calls a kernel; returns 0 without a result."""
    lines, given = list[str](), list[str]()
    head = object.__basicsize__  # then: char *data; int nd; npy_intp *dimensions
    for index, kind in enumerate(inner.parameters.values()):
        lines.append(f"%a{index} = getelementptr ptr, ptr %arguments, i64 {index}")
        lines.append(f"%o{index} = load ptr, ptr %a{index}")
        if kind[-1] not in "*]&":
            lines.append(f"%v{index} = call i64 @PyLong_AsLongLong(ptr %o{index})")
            given.append(f"i64 %v{index}")
            continue
        lines.append(f"%d{index} = getelementptr i8, ptr %o{index}, i64 {head}")
        lines.append(f"%v{index} = load ptr, ptr %d{index}")
        given.append(f"ptr %v{index}")
        if kind.endswith("[]"):
            lines.append(f"%s{index} = getelementptr i8, ptr %o{index}, i64 {head + 16}")
            lines.append(f"%l{index} = load ptr, ptr %s{index}")
            lines.append(f"%n{index} = load i64, ptr %l{index}")
            given.append(f"i64 %n{index}")
    call = f'call {inner.result_type} @"{inner.symbol}"({", ".join(given)})'
    lines.append(f"%found = {call}" if inner.results else call)
    if not holds:
        lines.insert(-1, "%thread = call ptr @PyEval_SaveThread()")
        lines.append("call void @PyEval_RestoreThread(ptr %thread)")
    result = "%found" if inner.results else "0"
    lines.append(f"%result = call ptr @PyLong_FromLongLong(i64 {result})")
    body = "\n  ".join((*lines, "ret ptr %result"))
    return f"define ptr @{name}(ptr %self, ptr %arguments, i64 %count) {{\n  {body}\n}}\n"


def _function(engine: Any, name: str) -> Callable[..., Any]:
    definition = _Definition(name.encode(), engine.get_function_address(name), _FASTCALL, None)
    _kept.append(definition)
    made = ctypes.pythonapi.PyCFunction_NewEx
    made.restype, made.argtypes = ctypes.py_object, [ctypes.c_void_p] * 3
    return cast("Callable[..., Any]", made(ctypes.addressof(definition), None, None))
