"""The one place that decides how kernels are compiled.

Compiling is what a first run waits for. Numba optimises every function on its own and once
more in each function above it, and turns all of them into machine code, though Python calls
only a few. Here a part is held as it was written down, and optimised and turned into machine
code with the kernel that Python calls, once. Whole-array assignments, sorts and products of
NumPy arrays each bring a dozen helpers to compile: kernels are bare loops instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

import numba
import numpy as np
from llvmlite import binding, ir
from numba.core import config, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Flags
from numba.core.compiler_lock import global_compiler_lock
from numba.core.imputils import lower_builtin
from numba.core.registry import cpu_target
from numba.core.typing.templates import AbstractTemplate, infer_global, signature

F = TypeVar("F", bound=Callable[..., Any])

_njit: Any = numba.njit
_FLAGS: dict[str, Any] = {
    "nogil": True,
    "fastmath": False,
    "error_model": "numpy",
    "no_cfunc_wrapper": True,
}


class _Held(JITCodeLibrary):
    """What was compiled of a function, not optimised before somebody calls it."""

    _emitted = False

    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = self._codegen._data_layout

    def finalize(self) -> None:
        self._raise_if_finalized()
        self._finalized = True

    def _below(self, found: dict[Any, None]) -> dict[Any, None]:
        """Collect the libraries that are called from here, each after those it calls."""
        for library in self._linking_libraries:
            if library not in found:
                if isinstance(library, _Held) and not library._complete:
                    library._below(found)
                found[library] = None
        return found

    def _whole(self) -> None:
        """Take in everything that is called from here: who calls first, as LLVM asks."""
        if not self._complete:
            self._complete = True
            for library in reversed(self._below({})):
                self._reload_init.update(library._reload_init)
                held = isinstance(library, _Held) and not library._complete
                module = library._alone() if held else library._get_module_for_linking()
                self._final_module.link_in(module, preserve=True)

    _complete = False
    _own = None

    def _alone(self) -> Any:
        if self._own is None:
            self._own = self._final_module.clone()
            for function in self._own.functions:
                if not function.is_declaration and function.linkage == binding.Linkage.external:
                    function.linkage = "linkonce_odr"
        return self._own

    def _get_module_for_linking(self) -> Any:
        self._ensure_finalized()
        self._whole()
        return super()._get_module_for_linking()

    def _emit(self) -> None:
        if not self._emitted:
            self._ensure_finalized()
            self._whole()
            for function in self._final_module.functions:
                if function.linkage == binding.Linkage.linkonce_odr:
                    function.linkage = (
                        "private"  # no symbol that another could take for its own
                    )
            self._optimize_final_module()
            self._final_module.verify()
            self._finalize_final_module()

    def _finalize_final_module(self) -> None:
        self._emitted = self._complete = True
        super()._finalize_final_module()

    def _optimize_final_module(self) -> None:
        manager, builder = self._codegen._module_pass_manager(
            opt=2, loop_vectorize=False, slp_vectorize=False
        )
        manager.run(self._final_module, builder)

    def get_pointer_to_function(self, name: str) -> Any:
        if not self._emitted:
            try:
                self._final_module.get_function(name)
            except NameError:
                return 0
            self._emit()
        return super().get_pointer_to_function(name)

    def _get_compiled_object(self) -> Any:
        self._emit()
        return super()._get_compiled_object()

    @property
    def codegen(self) -> Any:
        return self._codegen if self._emitted else self

    def set_env(self, name: str, env: Any) -> None:
        """Leave the environment out of what Python does not call."""


class _Flags(Flags):
    """Flags that are compared a million times while compiling."""

    _known: ClassVar[dict[str, _Flags]] = {}

    def copy(self) -> _Flags:
        key = tuple(sorted(self.values().items(), key=str))
        return self._known.setdefault(str(key), self)

    _hash: int | None = None

    def __hash__(self) -> int:
        if self._hash is None:
            object.__setattr__(self, "_hash", super().__hash__())
        return self._hash or 0

    def __eq__(self, other: object) -> bool:
        return self is other or bool(super().__eq__(other))


def _lazily(dispatcher: Any) -> Any:
    compile_ = dispatcher.compile

    def compile(sig: Any) -> Any:
        sig = tuple(types.unliteral(kind) for kind in sig)  # once for all of a kind
        with global_compiler_lock:
            codegen = cpu_target.target_context.codegen()
            before = codegen._library_class
            codegen._library_class = _Held
            try:
                return compile_(sig)
            finally:
                codegen._library_class = before

    dispatcher.compile = compile
    dispatcher._compiler._customize_flags = _Flags
    return dispatcher


_PART = {**_FLAGS, "no_cpython_wrapper": True}


def kernel(function: F) -> F:
    """Compile a kernel: cached on disk, no Python objects, IEEE arithmetic, GIL released."""
    compiled: F = _lazily(_njit(**_FLAGS, cache=True)(function))
    return compiled


def part(function: F) -> F:
    """Compile a kernel that only other kernels call."""
    compiled: F = _lazily(_njit(**_PART)(function))
    return compiled


def bare(function: F) -> F:
    """Compile a part that counts no references, which costs more than a draw.

    It must neither allocate an array, nor call what does, nor return one.
    """
    compiled: F = _lazily(_njit(**_PART, _nrt=False)(function))
    return compiled


def step(function: F) -> F:
    """Compile a step ``(run) -> int``, which other kernels call through its `address`."""
    flags = {**_FLAGS, "no_cfunc_wrapper": False}
    compiled: F = _lazily(_njit(**flags, cache=True)(function))
    return compiled


def address(function: Any, run: Any) -> Any:
    """Return what `call` takes for a step, which is compiled if it was not yet."""
    if not hasattr(function, "overloads"):
        return function
    kind = (run._numba_type_,)
    function.compile(kind)
    found = function.overloads[kind]
    return found.library.get_pointer_to_function(found.fndesc.llvm_cfunc_wrapper_name)


def no_steps(n: int) -> Any:
    """Return room for the addresses of ``n`` steps."""
    return np.zeros(n, object if vars(config)["DISABLE_JIT"] else np.int64)


def call(place: Any, run: Any) -> int:
    """Take the step at ``place``."""
    return int(place(run))


@infer_global(call)
class _Call(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:  # noqa: ARG002
        return signature(types.int64, types.int64, args[1])


@lower_builtin(call, types.int64, types.Any)
def _call(context: Any, builder: Any, sig: Any, args: Any) -> Any:  # noqa: ARG001
    kind = ir.FunctionType(ir.IntType(64), [args[1].type])
    return builder.call(builder.inttoptr(args[0], kind.as_pointer()), [args[1]])
