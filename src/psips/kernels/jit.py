"""The one place that decides how kernels are compiled.

Compiling is what a first run waits for. Numba optimises every function on its own and once
more in each function above it, and turns all of them into machine code, though Python calls
only a few. Here a part is held as it was written down (`psips.kernels.held`), and optimised and
turned into machine code with the kernel that Python calls, once. Whole-array assignments, sorts
and products of NumPy arrays each bring a dozen helpers to compile: kernels are bare loops
instead.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numba
import numpy as np
from llvmlite import ir
from numba.core import config, types
from numba.core.caching import NullCache
from numba.core.compiler import CompilerBase, Flags
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import PassManager
from numba.core.imputils import lower_builtin
from numba.core.registry import cpu_target
from numba.core.typed_passes import (
    AnnotateTypes,
    IRLegalization,
    NativeLowering,
    NoPythonBackend,
    NopythonTypeInference,
    PreLowerStripPhis,
)
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.core.untyped_passes import (
    FixupArgs,
    IRProcessing,
    ReconstructSSA,
    TranslateByteCode,
)

from psips.kernels.held import Held, HeldPart, Home, StaleError

F = TypeVar("F", bound=Callable[..., Any])

_PASSES = (
    TranslateByteCode,
    FixupArgs,
    IRProcessing,
    ReconstructSSA,
    NopythonTypeInference,
    PreLowerStripPhis,
    IRLegalization,
    AnnotateTypes,
    NativeLowering,
    NoPythonBackend,
)


class _Passes(CompilerBase):
    """Numba's way from bytecode to LLVM, without what bare loops have no use for."""

    def define_pipelines(self) -> list[PassManager]:
        manager = PassManager("kernels")
        for one in _PASSES:
            manager.add_pass(one, one._name)
        manager.finalize()
        return [manager]


_njit: Any = numba.njit
_FLAGS: dict[str, Any] = {
    "nogil": True,
    "fastmath": False,
    "error_model": "numpy",
    "no_cfunc_wrapper": True,
    "pipeline_class": _Passes,
}


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


_SCALARS = (types.Integer, types.Float, types.Boolean)


@contextmanager
def _our_way(held: type[Held]) -> Iterator[None]:
    """Have numba make libraries that are held, and look up once what operators do.

    Nothing is collected meanwhile: a compiler makes millions of objects that stay.
    """
    codegen, typing = cpu_target.target_context.codegen(), cpu_target.typing_context
    before, codegen._library_class = codegen._library_class, held
    outermost = "resolve_function_type" not in vars(typing)
    collecting = gc.isenabled()
    if outermost:
        typing.resolve_function_type = _remembering(typing.resolve_function_type)
        gc.disable()
    try:
        yield
    finally:
        codegen._library_class = before
        if outermost:
            del typing.resolve_function_type
            if collecting:
                gc.enable()


_RESOLVED: dict[Any, Any] = {}


def _remembering(resolve: Any) -> Any:
    """Return what looks up once, not every time, what an operator does with numbers."""

    def remember(function: Any, args: Any, kws: Any) -> Any:
        plain = isinstance(function, types.Function) and not kws
        if not plain or not all(isinstance(kind, _SCALARS) for kind in args):
            return resolve(function, args, kws)
        key = function, tuple(args)
        if key not in _RESOLVED:
            _RESOLVED[key] = resolve(function, args, kws)
        return _RESOLVED[key]

    return remember


def stamp(folder: Path) -> tuple[Any, ...]:
    """Return what changes with any kernel in a folder, for one takes in others."""
    files = sorted(folder.glob("*.py"))
    return tuple((file.name, file.stat().st_mtime, file.stat().st_size) for file in files)


# What is compiled with checks of every index is not taken for what is compiled without them.
STAMP = (*stamp(Path(__file__).parent), bool(vars(config)["BOUNDSCHECK"]))


def _keep_on_disk(dispatcher: Any) -> None:
    """Have what is compiled kept, until any kernel changes."""
    dispatcher.enable_caching()
    cache = dispatcher._cache
    cache._cache_file._source_stamp = (cache._cache_file._source_stamp, STAMP)
    load = cache.load_overload

    def load_overload(sig: Any, context: Any) -> Any:
        try:
            return load(sig, context)
        except StaleError:
            return None

    cache.load_overload = load_overload


def _lazily(dispatcher: Any, held: type[Held]) -> Any:
    if not hasattr(dispatcher, "overloads"):
        return dispatcher  # compiling is switched off
    compile_ = dispatcher.compile
    function = dispatcher.py_func
    module, name = function.__module__, function.__qualname__

    def compile(sig: Any) -> Any:
        sig = tuple(types.unliteral(kind) for kind in sig)  # once for all of a kind
        if sig in dispatcher.overloads:
            return dispatcher.overloads[sig].entry_point
        with global_compiler_lock:
            if isinstance(dispatcher._cache, NullCache):
                _keep_on_disk(dispatcher)
            with _our_way(dispatcher.held):
                found = compile_(sig)
            made: Any = dispatcher.overloads[sig]
            if getattr(sys.modules.get(module), name, None) is dispatcher:
                made.library.home = Home(module, name, sig, made.fndesc.llvm_func_name)
            return found

    dispatcher.compile = compile
    dispatcher.held = held
    dispatcher._compiler._customize_flags = _Flags
    return dispatcher


_PART = {**_FLAGS, "no_cpython_wrapper": True}


def kernel(function: F) -> F:
    """Compile a kernel: cached on disk, no Python objects, IEEE arithmetic, GIL released."""
    compiled: F = _lazily(_njit(**_FLAGS)(function), Held)
    return compiled


def part(function: F) -> F:
    """Compile a kernel that only other kernels call, and take in."""
    compiled: F = _lazily(_njit(**_PART)(function), HeldPart)
    return compiled


def bare(function: F) -> F:
    """Compile a part that counts no references, which costs more than a draw.

    It must neither allocate an array, nor call what does, nor return one.
    """
    compiled: F = _lazily(_njit(**_PART, _nrt=False)(function), HeldPart)
    return compiled


def standing(function: F) -> F:
    """Have kernels call a part by its address: it is too large for each to take it in."""
    function.held = Held  # type: ignore[attr-defined]
    return function


def step(function: F) -> F:
    """Compile a step ``(run) -> int``, which other kernels call through its `address`."""
    flags = {**_FLAGS, "no_cfunc_wrapper": False}
    compiled: F = _lazily(_njit(**flags)(function), Held)
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
