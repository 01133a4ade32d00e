"""How numba makes one kernel of all the functions that it calls.

By itself it optimises and translates each function together with all that this one calls, as
Python might call it too (14 of 34 s), and links all of that into each caller again (4 of 30 s).
Here an inner function goes only as far as LLVM's representation, and a kernel is linked with each
function that it needs once. `pipeline_class` is numba's own door for this.

What this module does not know: what the functions do, and where compiled kernels are kept.
"""

from typing import Any, cast

from numba.core import codegen, compiler

_Code: Any = cast("Any", codegen).JITCodeLibrary
_Compiler: Any = cast("Any", compiler).CompilerBase
_passes: Any = cast("Any", compiler).DefaultPassBuilder


class _Kernel(_Code):
    """The code of a kernel, to be linked with what it calls and with what that calls."""

    def add_linking_library(self, library: Any) -> None:
        if library not in self._linking_libraries:
            _Code.add_linking_library(self, library)
            for further in library._linking_libraries:
                self.add_linking_library(further)


class _Inner(_Kernel):
    """The code of an inner function: neither linked, nor optimised, nor translated."""

    def finalize(self) -> None:
        self._finalized = True

    @property
    def codegen(self) -> Any:
        return self

    def set_env(self, name: str, environment: object) -> None:
        """Nothing: what is not translated has no place for an environment."""


class KernelPipeline(_Compiler):
    """Numba's passes, the code being put together as above."""

    code: Any = _Kernel

    def define_pipelines(self) -> list[Any]:
        state = self.state
        state.library = self.code(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return [_passes.define_nopython_pipeline(state)]


class InnerPipeline(KernelPipeline):
    """The same for a function that only kernels call."""

    code: Any = _Inner
