"""How numba makes one kernel of itself and of the inner functions that it calls.

A kernel is numba's: it unpacks what Python gives, and is kept by numba's cache. The functions that
it calls are translated by `statements`; to numba each is a symbol of known types, and when the
kernel is put together, the text of all that it needs is linked in once, as its own. Then LLVM
optimises the whole once: numba does it for each function and twice for the whole, to prune
references, of which there are none (6 of 31 s). `pipeline_class` is numba's own door for this.

What this module does not know: what the functions do, and where compiled kernels are kept.
"""

import inspect
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, Final, cast

from numba import extending
from numba.core import codegen, compiler
from numba.core import types as numba_types
from numba.core.typing import templates

from guideway.masks.kernels.declarations import Inner
from guideway.masks.kernels.statements import INTRINSICS, Translation, definitions_in

_Library: Any = cast("Any", codegen).JITCodeLibrary
_Compiler: Any = cast("Any", compiler).CompilerBase
_passes: Any = cast("Any", compiler).DefaultPassBuilder
_types, _templates = (cast("Any", part) for part in (numba_types, templates))
_binding, _ir = (cast("Any", import_module(f"llvmlite.{part}")) for part in ("binding", "ir"))
_named: Final[dict[str, Inner]] = {}  # by symbol: those that kernels call themselves


class _Kernel(_Library):
    """The code of a kernel, which owns what it calls."""

    def add_llvm_module(self, ll_module: Any) -> None:
        self._final_module.link_in(ll_module)

    def finalize(self) -> None:
        module = self._final_module
        needed = _all_called(
            [_named[part.name] for part in module.functions if part.name in _named]
        )
        texts = (INTRINSICS, *(_translation(inner).text for inner in needed))
        module.link_in(_binding.parse_assembly("\n".join(texts)))
        for inner in needed:
            module.get_function(inner.symbol).linkage = _binding.Linkage.internal
        _Library.finalize(self)

    def _optimize_final_module(self) -> None:
        passes, builder = self._codegen._module_pass_manager()
        passes.run(self._final_module, builder)


class KernelPipeline(_Compiler):
    """Numba's passes, the code being put together as above."""

    def define_pipelines(self) -> list[Any]:
        state = self.state
        state.library = _Kernel(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return [_passes.define_nopython_pipeline(state)]


@cast("Any", extending).typeof_impl.register(Inner)
def _typed(inner: Inner, _: object) -> Any:
    """What numba sees of an inner function: a symbol of known types."""
    _named[inner.symbol] = inner
    return _types.Function(_template(inner))


@cache
def _template(inner: Inner) -> Any:
    return _templates.make_intrinsic_template(inner, _door(inner), inner.symbol)


def forget_sources() -> None:
    """Drop what was read of kernels when all are compiled; who has to, reads it again."""
    definitions_in.cache_clear()
    _translation.cache_clear()


def _all_called(called: list[Inner]) -> dict[Inner, None]:
    """All that some functions need, themselves too."""
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


def _numba_type(kind: str) -> Any:
    name = kind.rstrip("*[]")
    item = getattr(_types, "boolean" if name == "bool" else name)
    if kind.endswith("[]"):
        return item[::1]
    return _types.CPointer(item) if kind.endswith("*") else item


def _door(inner: Inner) -> Callable[..., Any]:
    """How numba types and lowers a call from a kernel."""
    if len(inner.results) > 1:
        raise TypeError(f"{inner.symbol} has several results: only other inner functions call it")
    kinds = list(inner.parameters.values())
    results = [_numba_type(kind) for kind in inner.results] or [_types.void]
    signature = results[0](*(_numba_type(kind) for kind in kinds))

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        given = list[Any]()
        for kind, type_, argument in zip(kinds, signature.args, arguments, strict=True):
            if kind.endswith("[]"):
                array = context.make_array(type_)(context, builder, argument)
                given += [array.data, array.nitems]
            else:
                given.append(argument)
        result = context.get_value_type(signature.return_type) if inner.results else _ir.VoidType()
        kind = _ir.FunctionType(result, [value.type for value in given])
        name = inner.symbol
        function = builder.module.globals.get(name) or _ir.Function(builder.module, kind, name)
        called = builder.call(function, given)
        return called if inner.results else context.get_dummy_value()

    def door(typing_context: Any, *arguments: Any) -> Any:
        return signature, build

    names = ("typing_context", *inner.parameters)
    parameters = [
        inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names
    ]
    cast("Any", door).__signature__ = inspect.Signature(parameters)
    return door
