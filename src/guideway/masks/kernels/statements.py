"""Translation of kernels and the functions that they call into LLVM IR.

Types come from parameters. Each variable has one kind; a function is translated again until no
assignment needs a wider one. That takes about 1 ms.
"""

import ast
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final, cast, final

from guideway.masks.kernels.declarations import Inner
from guideway.masks.kernels.expressions import Expressions
from guideway.masks.kernels.operands import (
    LLVM,
    SIGNED,
    Instructions,
    Operand,
    common_kind,
    constant,
    llvm_type,
)

SHORT: Final = 30  # instructions; shorter functions are always inlined: masks take 5 % less


@final
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
        self.text = self._put_together()

    def _begin(self) -> None:
        whole = {
            name: Operand(kind, f"%{name}.p", None, f"%{name}.n")
            for name, kind in self._inner.parameters.items()
            if kind.endswith("[]")
        }
        self._again, self._ended, self._code = False, False, Instructions()
        code = self._inner.code
        module = {name: code.__globals__.get(name) for name in code.__code__.co_names}
        self._expressions = Expressions(self._code, module, self._kinds, whole)
        self._loops: list[list[Any]] = []  # targets of break and continue, whether one breaks

    def _end(self) -> None:
        if not self._ended:
            if self._inner.results:
                raise TypeError(f"{self._inner.symbol} does not always return")
            self._code.add("ret void")

    def _put_together(self) -> str:
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
        if isinstance(target, ast.Subscript):
            self._code.put(*self._expressions.place(target), value)
        else:
            self._set(cast("ast.Name", target).id, value)

    def _set(self, name: str, value: Operand) -> None:
        known = self._kinds.get(name)
        kind = value.kind if known is None else common_kind(Operand(known, name), value)
        if kind != known:
            self._kinds[name], self._again = kind, True
        self._code.add(f"store {llvm_type(kind)} {self._code.told_as(value, kind)}, ptr %{name}.v")

    def _change(self, statement: ast.AugAssign) -> None:
        target = statement.target
        if isinstance(target, ast.Subscript):
            array, place = self._expressions.place(target)
            value = self._expressions.value(statement.value)
            changed = self._code.reckoned(statement.op, self._code.item(array, place), value)
            self._code.put(array, place, changed)
        else:
            before = self._expressions.value(ast.Name(cast("ast.Name", target).id))
            value = self._expressions.value(statement.value)
            self._put(target, self._code.reckoned(statement.op, before, value))

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
        last = code.fitted(end, SIGNED)
        code.add(f"store i64 {code.fitted(start, SIGNED)}, ptr {slot}")
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
        texts = [code.fitted(value, kind) for value, kind in pairs]
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
