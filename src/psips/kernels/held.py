"""Compiled functions as they lie on disk and find each other again.

A *part* is held as it was written down, in LLVM's bitcode, and taken into each kernel that
calls it: optimised and turned into machine code with it. What Python calls is machine code of
its own, for other kernels too, which call it by its address; so are parts that are large and
called by many. Either names what it calls by a `Home`, so that what one command has compiled
another need not compile again.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

from llvmlite import binding
from numba.core.codegen import JITCodeLibrary


class Home(NamedTuple):
    """Where a compiled function is found: its module and name, kinds of arguments, symbol."""

    module: str
    name: str
    sig: tuple[Any, ...]
    symbol: str

    def library(self) -> Held:
        """Return what was compiled of the function, from disk or anew."""
        dispatcher = getattr(import_module(self.module), self.name)
        dispatcher.compile(self.sig)
        found = dispatcher.overloads[self.sig]
        if found.fndesc.llvm_func_name != self.symbol:
            raise StaleError(self.name)
        library: Held = found.library
        return library


class StaleError(Exception):
    """What lies on disk calls a function that was compiled anew since."""


class Held(JITCodeLibrary):
    """What was compiled of a function, not optimised before somebody calls it."""

    taken_in = False  # whether those who call it take it in, or call it by its address
    home: Home | None = None  # None: a helper of numba's, which goes with who calls it
    _emitted = _complete = False
    _own: Any = None

    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = self._codegen._data_layout

    def finalize(self) -> None:
        """Leave it as it was written down."""
        self._raise_if_finalized()
        self._finalized = True

    def _below(self, found: dict[Any, None], helpers: bool = False) -> dict[Any, None]:
        """Collect the libraries that are called from here, each after those it calls.

        What stands apart is among them, not what it calls; with ``helpers`` only, the same
        goes for all that has a home.
        """
        for library in self._linking_libraries:
            if library not in found:
                held = isinstance(library, Held) and not library._complete
                if held and not (_stands_apart(library) or (helpers and library.home)):
                    library._below(found, helpers)
                found[library] = None
        return found

    def _take_in(self, module: Any, libraries: Any) -> None:
        """Link libraries into a module: who calls first, as LLVM asks."""
        for library in libraries:
            self._reload_init.update(library._reload_init)
            held = isinstance(library, Held) and not library._complete
            taken = library._alone() if held else library._get_module_for_linking()
            module.link_in(taken, preserve=True)

    def _whole(self) -> None:
        """Take in everything that is called from here and does not stand apart."""
        if not self._complete:
            self._complete = True
            below = list(reversed(self._below({})))
            self._apart = [one for one in below if _stands_apart(one)]
            self._take_in(self._final_module, [one for one in below if not _stands_apart(one)])

    _apart: list[Any] = []  # noqa: RUF012

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

    def emit(self) -> None:
        """Turn it into machine code, and before it what stands apart."""
        if not self._emitted:
            self._ensure_finalized()
            self._whole()
            for library in self._apart:
                library.emit()
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
        """Return the address of a function, 0 if there is none of that name."""
        if not self._emitted:
            try:
                self._final_module.get_function(name)
            except NameError:
                return 0
            self.emit()
        return super().get_pointer_to_function(name)

    def _get_compiled_object(self) -> Any:
        self.emit()
        return super()._get_compiled_object()

    @property
    def codegen(self) -> Any:
        """Who is told the environment: nobody before there is machine code."""
        return self._codegen if self._emitted else self

    def set_env(self, name: str, env: Any) -> None:
        """Leave the environment out of what Python does not call."""

    def serialize_using_object_code(self) -> Any:
        """Return machine code, and what of it stands apart."""
        data = super().serialize_using_object_code()
        return (*data, [library.home for library in self._apart])

    @classmethod
    def _unserialize(cls, codegen: Any, state: Any) -> Any:
        if len(state) != 4:
            raise StaleError("a part before")
        *data, homes = state
        for home in homes:
            home.library().emit()
        return super()._unserialize(codegen, data)


class HeldPart(Held):
    """What is taken in by those who call it; bitcode on disk."""

    taken_in = True

    def serialize_using_object_code(self) -> Any:
        """Return bitcode with numba's helpers in it, and what else it calls."""
        below = list(reversed(self._below({}, helpers=True)))
        module = self._final_module.clone()
        homes = [getattr(library, "home", None) for library in below]
        self._take_in(module, [one for one, home in zip(below, homes, strict=True) if not home])
        return self.name, module.as_bitcode(), [home for home in homes if home]

    @classmethod
    def _unserialize(cls, codegen: Any, state: Any) -> Any:
        if len(state) != 3:
            raise StaleError("no part before")
        name, bitcode, homes = state
        self = codegen.create_library(name)
        self._final_module = binding.parse_bitcode(bitcode)
        for home in homes:
            self.add_linking_library(home.library())
        self.finalize()
        return self


def _stands_apart(library: Any) -> bool:
    return isinstance(library, Held) and not library.taken_in and library.home is not None
