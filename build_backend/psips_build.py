"""Build psips: scikit-build-core, with a compiler from the registry where there is none.

On a machine without a compiler of C++20, the package `ziglang`, which brings one, joins the
requirements of the build. An editable installation has its compiled core in `src/psips`; so has
whoever runs this file (`python build_backend/psips_build.py`), which compiles what has changed.
"""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from scikit_build_core import build as scikit

Settings = dict[str, str | list[str]]

ROOT = Path(__file__).resolve().parents[1]
COMMIT = ROOT / "src" / "psips" / "_commit.txt"  # what psips.version reads
ZIG = "ziglang>=0.17"
ZIG_MACHINES = ("aarch64", "arm64", "armv7l", "i686", "ppc64le", "riscv64", "s390x", "x86_64")
COMPILERS = ("c++", "g++", "clang++")
PROGRAM = """
#include <bit>
#include <concepts>
#include <span>
#include <vector>
template <std::floating_point T> T first(std::span<const T> values) { return values[0]; }
double f(const std::vector<double>& x) { return first(std::span(x)) + std::popcount(x.size()); }
"""


def refuse(reason: str) -> NoReturn:
    """End the build with one sentence."""
    raise SystemExit(f"psips cannot be built: {reason}.")


def check_headers() -> None:
    """Refuse a Python that has no headers, as Debian's without its package python3-dev."""
    folder = Path(sysconfig.get_path("include"))
    if not (folder / "Python.h").exists():
        refuse(
            f"the headers of Python {sysconfig.get_python_version()} are missing (no Python.h "
            f"in {folder}); install them (Debian, Ubuntu: python3-dev; Fedora: python3-devel)"
        )


def compiles(command: str) -> bool:
    """Whether this command makes a shared library of a program in C++20."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "program.cpp")
        source.write_text(PROGRAM)
        options = ["-std=c++20", "-shared", "-fPIC", str(source), "-o", f"{source}.so"]
        words = [*shlex.split(command), *options]
        try:
            done = subprocess.run(words, capture_output=True, check=False)
        except OSError:
            return False
        return done.returncode == 0


def compiler() -> str | None:
    """Return the command of a compiler of C++20, or None; on Windows CMake looks for one."""
    named = os.environ.get("CXX")
    if os.name == "nt":
        return named or "cl"
    if named:
        if not compiles(named):
            refuse(f"the environment variable CXX is {named!r}, which does not compile C++20")
        return named
    found = (path for path in map(shutil.which, COMPILERS) if path)
    return next(filter(compiles, map(shlex.quote, found)), None)


def zig_script(folder: Path, tool: str, options: Sequence[str] = ()) -> str:
    """Write a script that runs a tool of zig, since CMake takes one path; return it."""
    path = folder / f"zig-{tool}"
    words = shlex.join([sys.executable, "-m", "ziglang", tool, *options])
    path.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
    path.chmod(0o755)
    return str(path)


def zig_target() -> list[str]:
    """Return what zig compiles for: any processor of this kind, with the headers zig brings.

    Optimized and stripped even in what CMake tries out: zig compiles its C++ library for each
    combination of these, which takes longer than all else.
    """
    options = ["-mcpu=baseline", "-O2", "-s"]
    machine = sysconfig.get_config_var("MULTIARCH") or ""
    if "-linux-" not in machine:
        return options
    # Looked at last: the folder with what Debian's Python.h includes.
    return ["-target", machine, *options, "-idirafter", "/usr/include"]


@contextmanager
def toolchain(folder: Path) -> Iterator[Settings]:
    """Have CMake use the compiler that was found, or zig, by scripts in a folder."""
    check_headers()
    command = compiler()
    environment = {"CXX": command} if command and os.name != "nt" else {}
    settings: Settings = {}
    if not command:
        if importlib.util.find_spec("ziglang") is None:
            refuse(
                f"it needs a compiler of C++20, and neither {', '.join(COMPILERS)} nor the "
                "Python package ziglang, which brings one, is there; install one of them"
            )
        folder.mkdir(parents=True, exist_ok=True)
        environment = {
            "CXX": shlex.quote(zig_script(folder, "c++", zig_target())),
            "ZIG_GLOBAL_CACHE_DIR": str(folder / "cache"),
            "ZIG_LOCAL_CACHE_DIR": str(folder / "cache"),
        }
        for tool in ("ar", "ranlib"):
            settings[f"cmake.define.CMAKE_{tool.upper()}"] = zig_script(folder, tool)
    before = {name: os.environ.get(name) for name in environment}
    os.environ.update(environment)
    try:
        yield settings
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def commit() -> str:
    """Return which commit is built, by git or as a source archive has it; else nothing."""
    if not (ROOT / ".git").exists():  # the checkout of another project may be around ours
        return COMMIT.read_text(encoding="utf-8") if COMMIT.exists() else ""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}

    def git(*words: str) -> str:
        return subprocess.run(
            ["git", "-C", str(ROOT), *words],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()

    try:
        head = git("rev-parse", "--short=12", "HEAD")
        changed = git("status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.CalledProcessError):
        return ""
    return f"commit {head}, with changes" if changed else f"commit {head}"


def with_commit(table: str, target: Path, folder: str) -> Settings:
    """Return the settings that add a file with the commit, if it is known."""
    text = commit()
    if not text:
        return {}
    file = Path(folder, COMMIT.name)
    file.write_text(text, encoding="utf-8")
    return {f"{table}.force-include.{file}": target.as_posix()}


def get_requires_for_build_wheel(config_settings: Settings | None = None) -> list[str]:
    """Return what scikit-build-core asks for (CMake, Ninja), and zig without a compiler."""
    check_headers()
    requires = list(scikit.get_requires_for_build_wheel(config_settings))
    if compiler():
        return requires
    if not sysconfig.get_platform().endswith(ZIG_MACHINES):
        refuse(
            f"it needs a compiler of C++20, and there is none ({', '.join(COMPILERS)}); "
            "install g++ or clang"
        )
    return [*requires, ZIG]


def build_wheel(
    wheel_directory: str,
    config_settings: Settings | None = None,
    metadata_directory: str | None = None,
) -> str:
    """Build a wheel; return its name."""
    with tempfile.TemporaryDirectory() as folder, toolchain(Path(folder)) as settings:
        named = with_commit("wheel", Path("psips", COMMIT.name), folder)
        given = {**settings, **named, **(config_settings or {})}
        return scikit.build_wheel(wheel_directory, given, metadata_directory)


def build_sdist(sdist_directory: str, config_settings: Settings | None = None) -> str:
    """Build a source archive, which knows its commit; return its name."""
    with tempfile.TemporaryDirectory() as folder:
        named = with_commit("sdist", COMMIT.relative_to(ROOT), folder)
        return scikit.build_sdist(sdist_directory, {**named, **(config_settings or {})})


def build_in_place(config_settings: Settings | None = None) -> Path:
    """Compile the core into `src/psips`, by way of `build`; return the path of the module."""
    here: Settings = {"build-dir": "build/{wheel_tag}", "wheel.packages": []}
    # What was asked for once is not kept: CMake remembers it in its folder.
    here |= {f"cmake.define.{name}": "OFF" for name in ("PSIPS_UNCHECKED", "PSIPS_SANITIZE")}
    with (
        tempfile.TemporaryDirectory() as folder,
        toolchain(ROOT / "build" / "zig") as settings,
    ):
        given = {**here, **settings, **(config_settings or {})}
        name = scikit.build_wheel(folder, given)
        with zipfile.ZipFile(Path(folder, name)) as wheel:
            module = next(m for m in wheel.namelist() if m.startswith("psips/_core."))
            wheel.extract(module, folder)
        # Replaced, not written over: a process that has loaded the old module keeps it.
        path = ROOT / "src" / module
        waiting = path.with_name(path.name + ".new")
        shutil.copyfile(Path(folder, module), waiting)
        waiting.replace(path)
    text = commit()
    if text:
        COMMIT.write_text(f"{text.removesuffix(', editable')}, editable", encoding="utf-8")
    else:
        COMMIT.unlink(missing_ok=True)
    return path


def build_editable(
    wheel_directory: str,
    config_settings: Settings | None = None,
    metadata_directory: str | None = None,
) -> str:
    """Build the core in place, and a wheel that only says where `src` is; return its name.

    It says so in a file of paths, which type checkers read too and PYTHONPATH goes before.
    """
    build_in_place(config_settings)
    with tempfile.TemporaryDirectory() as folder:
        paths = Path(folder, "psips.pth")
        paths.write_text(f"{ROOT / 'src'}\n")
        given: Settings = {
            "wheel.cmake": "false",
            "wheel.platlib": "true",
            "wheel.packages": [],
            f"wheel.force-include.{paths}": paths.name,
        }
        return scikit.build_wheel(wheel_directory, given, metadata_directory)


get_requires_for_build_editable = get_requires_for_build_wheel
get_requires_for_build_sdist = scikit.get_requires_for_build_sdist
prepare_metadata_for_build_editable = scikit.prepare_metadata_for_build_editable
prepare_metadata_for_build_wheel = scikit.prepare_metadata_for_build_wheel


if __name__ == "__main__":
    os.chdir(ROOT)
    print(build_in_place().relative_to(ROOT))
