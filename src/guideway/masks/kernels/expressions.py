"""Expressions of a kernel, as LLVM instructions.

Supported: names, constants (also globals), arithmetic, comparisons, conditions, items and lengths
of arrays, casts, `min`, `max`, `abs`, and calls of `inner` or `once` functions. All else is a
TypeError.
"""

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, final

from guideway.masks.kernels.declarations import Inner, Word
from guideway.masks.kernels.operands import (
    BOOL,
    SET,
    SIGNED,
    WORD,
    Instructions,
    Operand,
    common_kind,
    constant,
    llvm_type,
)

CASTS: Final = {"int": SIGNED, "int64": SIGNED, "uint64": SET, "uint32": WORD, "bool": BOOL}
CHOSEN: Final = {"min": "smin", "max": "smax"}


@final
class Expressions:
    """Expressions of a function: `kinds` of its variables so far, `whole` arrays with a length."""

    def __init__(
        self,
        code: Instructions,
        module: Mapping[str, Any],
        kinds: Mapping[str, str],
        whole: Mapping[str, Operand],
    ) -> None:
        self._code, self._module, self._kinds, self._whole = code, module, kinds, whole
        self.callees: dict[Inner, None] = {}
        self._forms: dict[type[ast.expr], Callable[[Any], Operand]] = {
            ast.Name: self._name,
            ast.Constant: lambda node: constant(node.value),
            ast.BinOp: self._operation,
            ast.UnaryOp: self._unary,
            ast.BoolOp: self._all_or_any,
            ast.Compare: self._comparison,
            ast.IfExp: lambda node: self._either(node)[0],
            ast.Subscript: self._item,
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
            return self._either(node)
        return self._called(node) if isinstance(node, ast.Call) else [self.value(node)]

    def branch(self, node: ast.expr, yes: str, no: str) -> None:
        """Jump to `yes` if an expression is true, else to `no`."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            self.branch(node.operand, no, yes)
        elif isinstance(node, ast.BoolOp):
            for part in node.values[:-1]:
                further = self._code.fresh("b")
                either = (further, no) if isinstance(node.op, ast.And) else (yes, further)
                self.branch(part, *either)
                self._code.label(further)
            self.branch(node.values[-1], yes, no)
        elif isinstance(node, ast.Compare):
            self._chain(node, yes, no)
        else:
            self._jump(self._code.told_as(self.value(node), BOOL), yes, no)

    def place(self, node: ast.Subscript) -> tuple[Operand, str]:
        """An array, and the address of its item."""
        array = self.value(node.value)
        return array, self._code.place(array, self.value(node.slice))

    def _jump(self, truth: str, yes: str, no: str) -> None:
        self._code.add(f"br i1 {truth}, label %{yes}, label %{no}")

    def _name(self, node: ast.Name) -> Operand:
        name = node.id
        if name in self._whole:
            return self._whole[name]
        if name in self._kinds:
            kind = self._kinds[name]
            return Operand(kind, self._code.value(f"load {llvm_type(kind)}, ptr %{name}.v"))
        value = self._module.get(name)
        if not isinstance(value, int):
            raise TypeError(f"{name} is no number")
        return constant(value)

    def _operation(self, node: ast.BinOp) -> Operand:
        return self._code.reckoned(node.op, self.value(node.left), self.value(node.right))

    def _unary(self, node: ast.UnaryOp) -> Operand:
        value = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            truth = self._code.told_as(value, BOOL)
            return Operand(BOOL, self._code.value(f"xor i1 {truth}, true"))
        if value.constant is not None and value.kind == SIGNED:
            return constant(~value.constant if isinstance(node.op, ast.Invert) else -value.constant)
        if isinstance(node.op, ast.Invert):
            kind = SET if value.kind in (SET, WORD) else SIGNED
            return Operand(kind, self._code.value(f"xor i64 {self._code.told_as(value, kind)}, -1"))
        if value.kind in (SET, WORD):
            raise TypeError(f"{value} has no sign")
        return Operand(SIGNED, self._code.value(f"sub i64 0, {self._code.told_as(value, SIGNED)}"))

    def _all_or_any(self, node: ast.BoolOp) -> Operand:
        code, slot, end = self._code, self._code.slot("i1"), self._code.fresh("b")
        for part in node.values:
            value, further = self.value(part), code.fresh("b")
            if value.kind != BOOL:
                raise TypeError(f"{value} is no truth value")
            code.add(f"store i1 {value.text}, ptr {slot}")
            both = (further, end) if isinstance(node.op, ast.And) else (end, further)
            self._jump(value.text, *both)
            code.label(further)
        code.add(f"br label %{end}")
        code.label(end)
        return Operand(BOOL, code.value(f"load i1, ptr {slot}"))

    def _comparison(self, node: ast.Compare) -> Operand:
        if len(node.ops) == 1:
            left = self.value(node.left)
            return Operand(BOOL, self._compared(node.ops[0], left, node.comparators[0]))
        code, slot = self._code, self._code.slot("i1")
        yes, no, end = code.fresh("b"), code.fresh("b"), code.fresh("b")
        self._chain(node, yes, no)
        for label, truth in ((yes, "true"), (no, "false")):
            code.label(label)
            code.add(f"store i1 {truth}, ptr {slot}")
            code.add(f"br label %{end}")
        code.label(end)
        return Operand(BOOL, code.value(f"load i1, ptr {slot}"))

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

    def _either(self, node: ast.IfExp) -> Sequence[Operand]:
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
                code.add(f"store {llvm_type(kind)} {code.told_as(value, kind)}, ptr {slot}")
            code.add(f"br label %{end}")
        code.label(end)
        return [
            Operand(kind, code.value(f"load {llvm_type(kind)}, ptr {slot}"))
            for kind, slot in zip(kinds, slots, strict=True)
        ]

    def _item(self, node: ast.Subscript) -> Operand:
        if isinstance(node.value, ast.Attribute):  # array.shape[0]
            length = self.value(node.value.value).length
            if node.value.attr != "shape" or not length:
                raise TypeError(f"{ast.unparse(node)!r} is not known to kernels")
            return Operand(SIGNED, length)
        array, place = self.place(node)
        return self._code.item(array, place)

    def _called(self, node: ast.Call) -> Sequence[Operand]:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ast.unparse(node.func)
        what = self._module.get(name)
        if isinstance(what, Inner):
            return self._result(what, [self.value(argument) for argument in node.args])
        arguments = [self.value(argument) for argument in node.args]
        if isinstance(what, Word):
            return [self._said(what, arguments)]
        if name in CASTS:
            return [self._cast(name, arguments[0])]
        if name in CHOSEN:
            return [self._chosen(CHOSEN[name], arguments)]
        if name == "abs":
            number = self._code.fitted(arguments[0], SIGNED)
            call = f"call i64 @llvm.abs.i64(i64 {number}, i1 false)"
            return [Operand(SIGNED, self._code.value(call))]
        raise TypeError(f"{name!r} is not known to kernels")

    def _result(self, inner: Inner, arguments: Sequence[Operand]) -> Sequence[Operand]:
        self.callees[inner] = None
        given = list[str]()
        for argument, kind in zip(arguments, inner.parameters.values(), strict=True):
            given.append(f"{llvm_type(kind)} {self._code.fitted(argument, kind)}")
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

    def _said(self, word: Word, arguments: Sequence[Operand]) -> Operand:
        """A view of an array, or an instruction without a Python equivalent."""
        code = self._code
        if word.item:
            address = code.item(arguments[0], code.place(*arguments))
            return Operand(f"{word.item}*", code.value(f"inttoptr i64 {address.text} to ptr"))
        if word.name == "lowest_bit":
            bits = code.told_as(arguments[0], SET)
            return Operand(SIGNED, code.value(f"call i64 @llvm.cttz.i64(i64 {bits}, i1 true)"))
        if word.name == "bit_count":
            bits = code.told_as(arguments[0], SET)
            return Operand(SIGNED, code.value(f"call i64 @llvm.ctpop.i64(i64 {bits})"))
        if word.name == "release":
            thread = code.value("call ptr @PyEval_SaveThread()")
            return Operand(SIGNED, code.value(f"ptrtoint ptr {thread} to i64"))
        if word.name == "take_again":
            thread = code.value(f"inttoptr i64 {code.fitted(arguments[0], SIGNED)} to ptr")
            code.add(f"call void @PyEval_RestoreThread(ptr {thread})")
        else:
            code.add("fence release")
        return Operand("nothing", "")

    def _cast(self, name: str, value: Operand) -> Operand:
        kind = CASTS[name]
        if name == "int" and value.kind == SET:
            raise TypeError(f"whether {value} has a sign is not known: say np.int64")
        known = None if kind == WORD else value.constant
        return Operand(kind, self._code.told_as(value, kind), known)

    def _chosen(self, name: str, values: Sequence[Operand]) -> Operand:
        found = self._code.fitted(values[0], SIGNED)
        for value in values[1:]:
            further = self._code.fitted(value, SIGNED)
            found = self._code.value(f"call i64 @llvm.{name}.i64(i64 {found}, i64 {further})")
        return Operand(SIGNED, found)
