"""How psips is built: with which compiler, what is said without one, what the wheel holds."""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

import psips
from psips import _core, version

ROOT = Path(__file__).resolve().parents[1]
BACKEND = ROOT / "build_backend"
PACKAGE = Path(psips.__file__).parent
SOURCES = ROOT / "src" / "psips"
COMMIT = "_commit.txt"

pytest.importorskip("scikit_build_core")


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The build backend, as a build has it: run from the root, no compiler named."""
    monkeypatch.syspath_prepend(str(BACKEND))
    monkeypatch.chdir(ROOT)
    monkeypatch.delenv("CXX", raising=False)
    return importlib.import_module("psips_build")


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder which is all of PATH, with nothing in it."""
    folder = tmp_path / "tools"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def tool(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def is_a_sentence(text: str) -> bool:
    """One line, with one full stop, at its end."""
    ends = text.replace("Python.h", "").replace("3.", "")
    return "\n" not in text and ends.count(". ") == 0 and text.endswith(".")


def without_ziglang(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        "importlib.util.find_spec",
        lambda name, *rest: None if name == "ziglang" else find(name, *rest),
    )


def test_ziglang_is_required_where_there_is_no_compiler(
    backend: ModuleType, tools: Path
) -> None:
    assert backend.compiler() is None
    assert backend.ZIG in backend.get_requires_for_build_wheel()
    assert backend.ZIG in backend.get_requires_for_build_editable()
    tool(tools, "c++", "exit 0")
    assert backend.compiler() == str(tools / "c++")
    assert backend.ZIG not in backend.get_requires_for_build_wheel()


def test_a_compiler_that_is_too_old_is_passed_over(backend: ModuleType, tools: Path) -> None:
    tool(tools, "c++", "exit 1")
    assert backend.compiler() is None
    tool(tools, "clang++", "exit 0")
    assert backend.compiler() == str(tools / "clang++")


@pytest.mark.skipif(shutil.which("c++") is None, reason="needs a compiler")
def test_a_real_compiler_is_tried(backend: ModuleType, tmp_path: Path) -> None:
    found = shutil.which("c++")
    assert backend.compiles(str(found))
    assert not backend.compiles(f"{found} -Werror=no-such-warning")
    assert not backend.compiles(str(tmp_path / "no such compiler"))


@pytest.mark.usefixtures("tools")
def test_one_sentence_where_nothing_can_build(
    backend: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_ziglang(monkeypatch)
    with pytest.raises(SystemExit) as refusal:
        backend.build_wheel(str(tmp_path))
    said = str(refusal.value)
    assert said.startswith("psips cannot be built: it needs a compiler of C++20")
    assert "g++" in said
    assert "ziglang" in said
    assert is_a_sentence(said)


@pytest.mark.usefixtures("tools")
def test_one_sentence_where_there_is_no_ziglang_either(
    backend: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sysconfig, "get_platform", lambda: "linux-loongarch64")
    with pytest.raises(SystemExit, match=r"install g\+\+ or clang") as refusal:
        backend.get_requires_for_build_wheel()
    assert is_a_sentence(str(refusal.value))


def test_one_sentence_where_python_has_no_headers(
    backend: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sysconfig, "get_path", lambda _: str(tmp_path))
    with pytest.raises(SystemExit, match=r"no Python\.h in .*python3-dev") as refusal:
        backend.get_requires_for_build_wheel()
    assert is_a_sentence(str(refusal.value))


def test_one_sentence_where_the_named_compiler_does_not_work(
    backend: ModuleType, tools: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool(tools, "c++", "exit 0")
    monkeypatch.setenv("CXX", "icc --old")
    with pytest.raises(SystemExit, match="CXX is 'icc --old', which does not") as refusal:
        backend.get_requires_for_build_wheel()
    assert is_a_sentence(str(refusal.value))


def test_what_a_build_says_is_the_sentence_alone(tools: Path, tmp_path: Path) -> None:
    """No traceback: the process ends with the sentence, as pip prints it."""
    (tmp_path / "ziglang").mkdir()  # not a package
    code = (
        "import importlib.util as u; f = u.find_spec\n"
        "u.find_spec = lambda n, *r: None if n == 'ziglang' else f(n, *r)\n"
        "import psips_build; psips_build.build_wheel('nowhere')"
    )
    words = {name: value for name, value in os.environ.items() if name != "CXX"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**words, "PATH": str(tools), "PYTHONPATH": str(BACKEND)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert is_a_sentence(done.stderr.strip())


@pytest.mark.usefixtures("tools")
def test_zig_compiles_for_any_processor(
    backend: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The scripts that CMake is given, and an environment that is afterwards what it was."""
    monkeypatch.setattr("importlib.util.find_spec", lambda *_: object())
    before = dict(os.environ)
    with backend.toolchain(tmp_path / "zig") as settings:
        script = Path(os.environ["CXX"]).read_text()
        assert set(settings) == {"cmake.define.CMAKE_AR", "cmake.define.CMAKE_RANLIB"}
        assert all(os.access(path, os.X_OK) for path in settings.values())
    assert f"{sys.executable} -m ziglang c++" in script
    assert "-mcpu=baseline" in script
    assert "native" not in script
    assert dict(os.environ) == before


def is_module(name: str) -> bool:
    return name.startswith("psips/_core.") and not name.endswith(".pyi")


def kept(path: Path) -> bool:
    return (
        "__pycache__" not in path.parts
        and not is_module(f"psips/{path.name}")
        and path.name != COMMIT
    )


@pytest.mark.skipif(not (ROOT / "src" / "core").exists(), reason="needs the sources")
@pytest.mark.skipif(
    importlib.util.find_spec("nanobind") is None
    or (shutil.which("cmake") is None and importlib.util.find_spec("cmake") is None),
    reason="needs nanobind and CMake",
)
def test_what_the_wheel_holds(tmp_path: Path) -> None:
    """The package with one compiled module, for this Python or for 3.12 and later."""
    code = (
        "import sys, psips_build\n"
        "psips_build.build_wheel(sys.argv[1], {'build-dir': 'build/{wheel_tag}'})"
    )
    subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(BACKEND)},
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    stable = sys.version_info >= (3, 12)
    assert ("-cp312-abi3-" if stable else "-cp311-cp311-") in wheel.name
    names = set(zipfile.ZipFile(wheel).namelist())
    modules = [name for name in names if is_module(name)]
    assert len(modules) == 1
    assert ".abi3." in modules[0] if stable else "-311-" in modules[0]
    recorded = {f"psips/{COMMIT}"} if (ROOT / ".git").exists() else set()
    package = {name for name in names if name.startswith("psips/")} - set(modules)
    assert recorded <= package
    package -= recorded
    files = (path for path in SOURCES.rglob("*") if path.is_file() and kept(path))
    assert package == {f"psips/{path.relative_to(SOURCES).as_posix()}" for path in files}
    about = {name.partition("/")[2] for name in names - package - set(modules) - recorded}
    assert about == {"METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE"}


@pytest.fixture
def checkout(backend: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A git checkout with one commit, which the backend takes for that of psips."""
    if shutil.which("git") is None:
        pytest.skip("needs git")
    (tmp_path / "src" / "psips").mkdir(parents=True)
    (tmp_path / "file").write_text("1\n")
    who = ["-c", "user.name=nobody", "-c", "user.email=nobody@example.org"]
    for words in (["init", "-q"], ["add", "file"], [*who, "commit", "-qm", "first"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    monkeypatch.setattr(backend, "ROOT", tmp_path)
    monkeypatch.setattr(backend, "COMMIT", tmp_path / "src" / "psips" / COMMIT)
    return tmp_path


def test_the_commit_is_that_of_the_checkout(
    backend: ModuleType, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=checkout, capture_output=True, text=True, check=True
    ).stdout
    monkeypatch.setenv("GIT_DIR", str(checkout / "elsewhere"))  # as in a hook of git
    assert backend.commit() == f"commit {head[:12]}"
    (checkout / "new").write_text("not part of the commit, and not of what is built from it")
    assert backend.commit() == f"commit {head[:12]}"
    (checkout / "file").write_text("2\n")
    assert backend.commit() == f"commit {head[:12]}, with changes"


def test_without_git_no_commit_is_named(
    backend: ModuleType, checkout: Path, tools: Path, tmp_path: Path
) -> None:
    """Nor where git fails, as it does for a folder that another user owns."""
    assert backend.commit() == ""
    tool(tools, "git", "echo 'fatal: detected dubious ownership' >&2; exit 128")
    assert backend.commit() == ""
    assert backend.with_commit("wheel", Path("psips", COMMIT), str(tmp_path)) == {}


def test_a_source_archive_keeps_its_commit(
    backend: ModuleType, checkout: Path, tmp_path: Path
) -> None:
    """Also if it was unpacked within the checkout of something else."""
    named = backend.commit()
    (checkout / ".git").rename(checkout / "was.git")
    assert backend.commit() == ""
    backend.COMMIT.write_text(named)
    assert backend.commit() == named
    ((key, target),) = backend.with_commit("sdist", Path("a"), str(tmp_path)).items()
    assert (Path(key.removeprefix("sdist.force-include.")).read_text(), target) == (named, "a")


@pytest.mark.parametrize(
    ("text", "shown"), [("commit 1f\n", " (commit 1f)"), ("", ""), (None, "")]
)
def test_the_version_names_the_commit(
    text: str | None, shown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if text is not None:
        (tmp_path / COMMIT).write_text(text)
    monkeypatch.setattr(version, "__file__", str(tmp_path / "version.py"))
    assert version.build_version() == psips.__version__ + shown


def declared(stub: str) -> dict[str, list[str] | None]:
    """Names that a stub declares; of functions their parameters."""
    names: dict[str, list[str] | None] = {}
    for node in ast.parse(stub).body:
        if isinstance(node, ast.FunctionDef):
            given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            names[node.name] = [argument.arg for argument in given]
        elif isinstance(node, ast.ClassDef):
            names[node.name] = None
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names[node.target.id] = None
    return names


def parameters(signature: str) -> list[str]:
    """Names of parameters in a signature as nanobind writes it, whose types are no Python."""
    inside = signature[signature.index("(") + 1 : signature.rindex(")")]
    while (plain := re.sub(r"\[[^][]*\]", "", inside)) != inside:
        inside = plain
    names = [part.partition(":")[0].strip() for part in inside.split(",")]
    return [name for name in names if name not in {"", "/", "*"}]


def compiled(module: ModuleType) -> dict[str, list[str] | None]:
    """Public names of the module, of functions with their parameters; no submodules."""
    names: dict[str, list[str] | None] = {}
    for name in dir(module):
        value = getattr(module, name)
        if name.startswith("_") or isinstance(value, ModuleType):
            continue
        signatures = getattr(value, "__nb_signature__", None)
        names[name] = parameters(signatures[0][0].partition(" ->")[0]) if signatures else None
    return names


def test_the_stub_is_that_of_the_module() -> None:
    stub = declared((PACKAGE / "_core.pyi").read_text(encoding="utf-8"))
    assert stub == compiled(_core), "src/psips/_core.pyi does not declare what the core has"


def test_signatures_are_read() -> None:
    assert parameters("def f()") == []
    text = "def f(x: ndarray[dtype=float64, shape=(*, *)], n: tuple[list[int], int], /, k: int)"
    assert parameters(text) == ["x", "n", "k"]
    assert declared("A: int\ndef f(x: int, *, n: int) -> None: ...") == {
        "A": None,
        "f": ["x", "n"],
    }
