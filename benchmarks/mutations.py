"""Which small changes of the source do the tests notice?

    python benchmarks/mutations.py --number 48 --seed 1 --out mutations.md

Each mutant is the source with one place changed: an operator, a condition, a number, a
statement that is left out, two arguments that are swapped. Places are drawn by the seed, from
each folder of the package in turn. A mutant lives in a copy of the tree; the tests that import
what was changed, or name it, are run there, those nearest to it first, until one fails or the
time is over. A failure counts only if the same test passes without the change.

The core in C++ is not changed. Survivors are judged by hand: `mutations.json` keeps
those that change nothing that anyone could see, with the reason.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "psips"
JUDGED = Path(__file__).with_suffix(".json")
NEAREST = 2  # test files that are run first, before all others
OWN = {  # tests of a folder, where their names do not say so
    "adapters": ["test_design", "test_evaluate"],
    "cli": ["test_cli", "test_cli_files", "test_cli_study", "test_cli_study_admin"],
    "diagnostics": ["test_diagnostics", "test_lack_of_fit"],
    "evaluation": ["test_matrix", "test_evaluate"],
    "input": ["test_tabular", "test_refusals"],
    "lab": ["test_calibration", "test_calibration_questions", "test_reproduce"],
    "report": ["test_report"],
    "session": ["test_session"],
    "store": ["test_contract", "test_tampering"],
    "study": ["test_study", "test_holding", "test_cli_files"],
    "theory": ["test_geometry"],
    "web": ["test_pages", "test_api"],
}

COMPARISONS = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.In: "not in", ast.NotIn: "in", ast.Is: "is not", ast.IsNot: "is",
}  # fmt: skip
ARITHMETIC = {
    ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.FloorDiv: "*", ast.Mod: "*",
    ast.Pow: "*", ast.BitAnd: "|", ast.BitOr: "&", ast.LShift: ">>", ast.RShift: "<<",
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One change: the text between two places of a file becomes another."""

    file: str  # below src/psips
    start: int
    end: int
    old: str
    new: str
    kind: str
    within: str  # functions and classes around it

    @property
    def key(self) -> str:
        """A name that does not depend on line numbers."""
        text = (SOURCE / self.file).read_bytes()
        start = text.rfind(b"\n", 0, self.start) + 1
        line = text[start : text.find(b"\n", self.end)].decode()
        flat = " ".join(f"{line}: {self.old} -> {self.new}".split())
        return f"{self.file}:{self.within}: {flat}"


class Places(ast.NodeVisitor):
    """Finds all places of a module that can be changed."""

    def __init__(self, file: str, text: str) -> None:
        self.file, self.text = file, text
        self.lines = [0]
        for line in text.encode().splitlines(keepends=True):
            self.lines.append(self.lines[-1] + len(line))
        self.bytes = text.encode()
        self.names: list[str] = []
        self.found: list[Mutant] = []
        self.visit(ast.parse(text))

    def add(self, node: ast.AST, new: str, kind: str) -> None:
        """Note that the text of a node may become another."""
        start = self.lines[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]
        end = self.lines[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]
        old = self.bytes[start:end].decode()
        within = ".".join(self.names)
        self.found.append(Mutant(self.file, start, end, old, new, kind, within))

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Go into a function, but not into its annotations and decorators."""
        self.names.append(node.name)
        for one in [*node.args.defaults, *filter(None, node.args.kw_defaults), *node.body]:
            self.visit(one)
        self.names.pop()

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        """Go into a function that waits."""
        self.visit_FunctionDef(node)  # type: ignore[arg-type]

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Go into a class."""
        self.names.append(node.name)
        for one in node.body:
            self.visit(one)
        self.names.pop()

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Leave annotations alone."""
        if node.value is not None:
            self.visit(node.value)

    def visit_Raise(self, node: ast.Raise) -> None:
        """Leave out what an error says; that it is raised is a place."""
        self.add(node, "pass", "left out")

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Leave texts alone."""

    def visit_If(self, node: ast.If) -> None:
        """Turn a condition round."""
        test = ast.unparse(node.test)
        if test != "TYPE_CHECKING":
            self.add(node.test, f"not ({test})", "condition")
            self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        """Exchange the first comparison of a chain."""
        if len(node.ops) == 1:
            left, right = ast.unparse(node.left), ast.unparse(node.comparators[0])
            self.add(node, f"({left} {COMPARISONS[type(node.ops[0])]} {right})", "comparison")
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        """Exchange an operator."""
        if type(node.op) in ARITHMETIC:
            left, right = ast.unparse(node.left), ast.unparse(node.right)
            self.add(node, f"(({left}) {ARITHMETIC[type(node.op)]} ({right}))", "arithmetic")
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        """Exchange "and" and "or"."""
        word = " or " if isinstance(node.op, ast.And) else " and "
        self.add(node, f"({word.join(f'({ast.unparse(v)})' for v in node.values)})", "and, or")
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        """Leave out a "not" or a sign."""
        if isinstance(node.op, ast.Not | ast.USub):
            self.add(node, f"({ast.unparse(node.operand)})", "sign")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        """Change a number or a truth value."""
        value = node.value
        if isinstance(value, bool):
            self.add(node, str(not value), "constant")
        elif isinstance(value, int):
            self.add(node, str(value + 1), "constant")
        elif isinstance(value, float):
            self.add(node, repr(2.0 * value if value else 1.0), "constant")

    def visit_Return(self, node: ast.Return) -> None:
        """Return nothing."""
        if node.value is not None and not isinstance(node.value, ast.Constant):
            self.add(node, "return None", "left out")
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        """Leave it out."""
        self.add(node, "pass", "left out")
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        """Leave out a call; texts are documentation."""
        if not isinstance(node.value, ast.Constant):
            self.add(node, "pass", "left out")
            self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        """Swap the first two arguments, unless it would end in an error at once."""
        first, called = node.args[:2], ast.unparse(node.func)
        if called == "isinstance" or called.startswith("np."):
            pass
        elif len(first) == 2 and not any(isinstance(one, ast.Starred) for one in first):
            words = [ast.unparse(one) for one in node.args]
            words[:2] = words[1::-1]
            words += [ast.unparse(one) for one in node.keywords]
            if words[0] != words[1]:
                self.add(node, f"{ast.unparse(node.func)}({', '.join(words)})", "swapped")
        self.generic_visit(node)

    def visit_keyword(self, node: ast.keyword) -> None:
        """Leave alone what only checks that two lists are equally long."""
        if node.arg != "strict":
            self.generic_visit(node)


def draw(number: int, seed: int, folders: list[str]) -> list[Mutant]:
    """Draw mutants from each folder in turn: first a module by its places, then a place."""
    rng = random.Random(seed)
    by_folder: dict[str, list[Mutant]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        file = path.relative_to(SOURCE).as_posix()
        folder = file.split("/")[0] if "/" in file else "."
        if not folders or folder in folders:
            by_folder.setdefault(folder, []).extend(Places(file, path.read_text()).found)
    names = sorted(name for name, found in by_folder.items() if found)
    chosen: list[Mutant] = []
    while len(chosen) < number:
        rng.shuffle(names)
        for name in names[: number - len(chosen)]:
            one = rng.choice(by_folder[name])
            by_folder[name].remove(one)
            chosen.append(one)
    return chosen


def tests_for(mutant: Mutant) -> list[str]:
    """Return the test files that may notice, those nearest to the change first."""
    module = "psips." + mutant.file.removesuffix(".py").replace("/", ".").removesuffix(
        ".__init__"
    )
    stem = module.split(".")[-1]
    above = _importers(module)
    name = mutant.within.split(".")[-1].lstrip("_")
    phrases = _phrases(mutant.old)
    scores = []
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        text = path.read_text()
        score = 6 * _imports(text, module) + 4 * (path.stem.removeprefix("test_") == stem)
        score += 3 * bool(len(name) > 3 and re.search(rf"\b_?{name}\b", text))
        score += 2 * (stem in path.stem) + (path.parent.name == module.split(".")[1])
        score += min(2, sum(_imports(text, one) for one in above))
        score += 2 * (f"psips.{module.split('.')[1]} import" in text)
        score += 8 * any(phrase in text for phrase in phrases)
        score += 4 * (path.stem in OWN.get(module.split(".")[1], []))
        if score:
            scores.append((-score, path.stat().st_size, str(path.relative_to(ROOT))))
    return [str(Path("src/psips") / mutant.file), *(one for *_, one in sorted(scores))]


def _phrases(code: str) -> list[str]:
    """Return three words after each other of the texts in a piece of code."""
    found = []
    for text in re.findall(r'"([^"]*)"', code):
        words = re.sub(r"\{.*?\}", "\0", text).split()
        for three in zip(words, words[1:], words[2:], strict=False):
            if not any("\0" in word for word in three):
                found.append(" ".join(three))
    return found


def _imports(text: str, module: str) -> bool:
    folder, _, stem = module.rpartition(".")
    one = rf"from {re.escape(folder)} import [^\n]*\b{stem}\b"
    return bool(re.search(rf"(from|import) {re.escape(module)}\b|{one}", text))


def _importers(module: str) -> list[str]:
    found = []
    for path in SOURCE.rglob("*.py"):
        if _imports(path.read_text(), module):
            found.append("psips." + ".".join(path.relative_to(SOURCE).with_suffix("").parts))
    return found


SECONDS = 100.0  # that a test may take


@dataclass
class Trial:
    """A copy of the tree, in which tests are run, and tests that fail without any change."""

    folder: Path
    limit: float
    hopeless: set[str]

    def outcome(self, mutant: Mutant) -> tuple[str, str]:
        """Apply a mutant and run its tests; return the outcome, and which test."""
        place = self.folder / "src" / "psips" / mutant.file
        before, times = place.read_bytes(), place.stat()
        changed = before[: mutant.start] + mutant.new.encode() + before[mutant.end :]
        files, end, first = tests_for(mutant), time.monotonic() + self.limit, NEAREST
        while files:
            place.write_bytes(changed)
            failed = self.first_failure(files[:first], end)
            place.write_bytes(before)
            os.utime(place, ns=(times.st_atime_ns, times.st_mtime_ns))
            if failed == "time":
                return "survived", f"time was over with {len(files)} files left"
            if failed == "":
                files, first = files[first:], 2 * first
            elif self._passes(failed):
                return "caught", failed
            else:
                self.hopeless.add(failed)
        return "survived", "no test is left that could notice"

    def _passes(self, test: str) -> bool:
        """Whether a test passes without any change."""
        return self.first_failure([test], time.monotonic() + 3.0 * SECONDS) == ""

    def first_failure(self, tests: list[str], end: float) -> str:
        """Return the first test that fails; "" if none does, "time" if the time is over."""
        failed, begun = self.folder / "failed.txt", self.folder / "begun.txt"
        for path in (failed, begun):
            path.unlink(missing_ok=True)
        skip = [f"--deselect={one}" for one in sorted(self.hopeless)]
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
        command += [
            "-p",
            "noting",
            "-o",
            f"timeout={SECONDS:g}",
            "-o",
            "timeout_method=thread",
        ]
        paths = f"{self.folder / 'src'}{os.pathsep}{self.folder}"
        settings = {"PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}
        running = subprocess.Popen(
            [*command, *tests, *skip],
            cwd=self.folder,
            env={**os.environ, **settings},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            text=True,
        )
        try:
            said, _ = running.communicate(timeout=max(1.0, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)
            running.wait()
            return "time"
        if running.returncode in (0, 5):  # all passed, or there was nothing to run
            return ""
        for path in (failed, begun):  # one that does not end, or ends everything, has begun
            if path.exists():
                return path.read_text().split("\n")[0]
        return f"pytest: {said[-300:]}"


NOTING = """
from pathlib import Path

HERE = Path(__file__).parent

def note(report):
    if report.failed:
        with Path(HERE, "failed.txt").open("a") as file:
            file.write(report.nodeid + "\\n")

def pytest_runtest_logstart(nodeid):
    Path(HERE, "begun.txt").write_text(nodeid)

pytest_runtest_logreport = pytest_collectreport = note
"""


def copy_tree(folder: Path) -> None:
    """Copy source and tests, the compiled core among them."""
    for path in ROOT.iterdir():
        if path.name in ("src", "tests"):
            shutil.copytree(path, folder / path.name, symlinks=True)
        elif path.name != ".git":
            (folder / path.name).symlink_to(path)
    (folder / "noting.py").write_text(NOTING)


def diff_of(mutant: Mutant) -> str:
    """Return the change as a diff."""
    text = (SOURCE / mutant.file).read_bytes()
    new = text[: mutant.start] + mutant.new.encode() + text[mutant.end :]
    pair = [one.decode().splitlines(keepends=True) for one in (text, new)]
    return "".join(difflib.unified_diff(*pair, mutant.file, mutant.file, n=2))


def judged() -> dict[str, str]:
    """Return why mutants, by their keys, change nothing that anyone could see."""
    return dict(json.loads(JUDGED.read_text())) if JUDGED.exists() else {}


def report(rows: Sequence[tuple[Mutant, str, str]], seed: int) -> Iterator[str]:
    """Write a table, and the survivors' diffs."""
    reasons = judged()
    outcomes = []
    for mutant, outcome, _ in rows:
        same = outcome == "survived" and mutant.key in reasons
        outcomes.append("equivalent" if same else outcome)
    caught, alive = outcomes.count("caught"), outcomes.count("survived")
    equal = outcomes.count("equivalent")
    share = 100.0 * caught / max(caught + alive, 1)
    yield f"seed {seed}: {len(rows)} mutants"
    yield f"{caught} caught, {equal} equivalent, {alive} survived"
    yield f"caught of those that change behaviour: {share:.0f}%\n"
    yield "| folder | drawn | caught | equivalent | survived |\n|---|---|---|---|---|"
    folders = [m.file.split("/")[0] if "/" in m.file else "." for m, *_ in rows]
    for folder in sorted(set(folders)):
        mine = [one for one, where in zip(outcomes, folders, strict=True) if where == folder]
        counts = [mine.count(word) for word in ("caught", "equivalent", "survived")]
        yield f"| {folder} | {len(mine)} | {' | '.join(map(str, counts))} |"
    for (mutant, _, by), outcome in zip(rows, outcomes, strict=True):
        if outcome != "caught":
            yield f"\n{outcome} ({by}): `{mutant.key}`"
            yield reasons.get(mutant.key, "") + f"\n```diff\n{diff_of(mutant)}```"


def main() -> None:
    """Draw, try and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--number", type=int, default=48)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=float, default=120.0, help="seconds for each mutant")
    parser.add_argument("--folder", action="append", default=[], help="only from these")
    parser.add_argument("--only", type=int, action="append", help="only these, by number")
    parser.add_argument("--list", action="store_true", help="list them, and try none")
    parser.add_argument("--state", type=Path, help="outcomes so far; survivors are tried again")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    mutants = draw(given.number, given.seed, given.folder)
    known: dict[str, list[str]] = {}
    if given.state and given.state.exists():
        known = json.loads(given.state.read_text())
    with tempfile.TemporaryDirectory(prefix="psips-mutants-") as place:
        trial = Trial(Path(place), given.limit, set())
        if not given.list:
            copy_tree(trial.folder)
        for number, mutant in enumerate(mutants, 1):
            if given.only and number not in given.only:
                continue
            print(f"{number}. {mutant.kind}: {mutant.key}", flush=True)
            outcome = known.get(mutant.key, [""])[0]
            if given.list or outcome == "caught" or (outcome and mutant.key in judged()):
                continue
            begin = time.monotonic()
            known[mutant.key] = list(trial.outcome(mutant))
            outcome, by = known[mutant.key]
            print(f"   {outcome} ({time.monotonic() - begin:.0f} s): {by}", flush=True)
            if given.state:
                given.state.write_text(json.dumps(known, indent=1))
    rows = [(one, *known[one.key]) for one in mutants if one.key in known]
    text = "\n".join(report(rows, given.seed))
    print(text)
    if given.out:
        given.out.write_text(text + "\n")


if __name__ == "__main__":
    main()
