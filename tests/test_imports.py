"""What is imported when: heavy packages come in only where they are used."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import psips

HEAVY = (
    "numpy",
    "psips._core",
    "pandas",
    "scipy",
    "matplotlib",
    "sqlalchemy",
    "joblib",
    "psips.session.engine",
)


def loaded_by(code: str, *ends: int) -> set[str]:
    report = "import sys; print(' '.join(sys.modules), file=sys.stderr)"
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            f"import atexit\natexit.register(lambda: exec({report!r}))\n{code}",
        ],
        capture_output=True,
        text=True,
    )
    assert done.returncode in (0, *ends), done.stderr
    return set(done.stderr.split())


@pytest.mark.parametrize(
    "code",
    [
        "import psips",
        "import sys; sys.argv[1:] = ['--help']; from psips.cli import main; main()",
        "import sys; sys.argv[1:] = ['simulate', '--help']; from psips.cli import main; main()",
        "import sys; sys.argv[1:] = ['--version']; from psips.cli import main; main()",
    ],
)
def test_starting_is_light(code: str) -> None:
    assert loaded_by(code) & set(HEAVY) == set()


def test_a_problem_needs_no_tables() -> None:
    code = (
        "import psips; psips.Problem(objectives=['a'], covariance=[1], arms=3); psips.Rules()"
    )
    assert loaded_by(code) & {"pandas", "scipy", "matplotlib", "sqlalchemy"} == set()


def test_a_session_needs_no_tables() -> None:
    code = (
        "import psips\n"
        "problem = psips.Problem(objectives=['a'], covariance=[1], arms=3)\n"
        "session = psips.Session(problem, rng=1)\n"
        "session.tell(session.ask(), 1.0)"
    )
    assert loaded_by(code) & {"scipy", "pandas", "matplotlib", "sqlalchemy", "joblib"} == set()


def test_every_exported_name() -> None:
    for name in psips.__all__:
        assert getattr(psips, name) is not None
    assert set(psips.__all__) <= set(dir(psips))
    assert sorted(psips.__all__) == list(psips.__all__)


def test_no_other_name() -> None:
    with pytest.raises(AttributeError, match="module 'psips' has no attribute 'Sesion'"):
        psips.Sesion  # noqa: B018


def test_telling_a_study_needs_no_tables(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'lab.db'}"
    code = (
        "import psips\n"
        "problem = psips.Problem(objectives=['a', 'b'], arms=3)\n"
        f"study = psips.Study.create(problem, {store!r}, name='trial', seed=1)\n"
        "for k in range(8):\n"
        "    ticket = study.ask()\n"
        "    study.tell(ticket=ticket.id, values=[float(k % 3), float(k % 5)])"
    )
    assert loaded_by(code) & {"scipy", "pandas", "matplotlib"} == set()


def test_measuring_commands_needs_no_tables() -> None:
    code = (
        "import sys\n"
        "words = 'true:sleep 0.01:--time-limit:3s:--json'.split(':')\n"
        "sys.argv[1:] = ['run', *words]\n"
        "from psips.cli import main\n"
        "main()"
    )
    assert loaded_by(code) & {"scipy", "pandas", "matplotlib", "sqlalchemy", "joblib"} == set()


@pytest.fixture(scope="module", params=["", ", variance = 1.0", ", exact"])
def stored(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a study with noise that is unknown, given, or partly absent."""
    folder = tmp_path_factory.mktemp("studies")
    noise = "" if request.param == ", exact" else request.param
    (folder / "trial.toml").write_text(
        'name = "trial"\narms = ["A", "B", "C"]\nseed = 1\nobjectives = [\n'
        f'    {{name = "gain", direction = "max"{noise}}},\n'
        f'    {{name = "cost", direction = "min"{noise}}},\n]\n'
    )
    rows = [
        f"{'ABC'[k % 3]},{2.0 * (k % 3) + 0.7 * (k % 4)},"
        f"{k % 3 if request.param == ', exact' else 1.1 * (k % 5)}"
        for k in range(60)
    ]
    for name, part in (("past.csv", rows[:30]), ("results.csv", rows[30:])):
        (folder / name).write_text("\n".join(["arm,gain,cost", *part, ""]))
    run(folder, "study create trial.toml")
    run(folder, "study tell trial --csv past.csv")
    return folder


def run(folder: Path, words: str) -> set[str]:
    """Run a command in a folder; return which modules it imports."""
    code = (
        f"import os, sys; os.chdir({str(folder)!r}); sys.argv[1:] = {words.split()!r}\n"
        "from psips.cli import main; main()"
    )
    return loaded_by(code, 3)  # where the study has stopped


def test_no_command_of_a_study_needs_heavy_packages(stored: Path) -> None:
    for words in (
        "study ask trial -n 3",
        "study tell trial --csv results.csv",
        "study tell trial --arm A --value gain=1 --value cost=0",
        "study status trial",
        "study status trial --json",
        "study log trial",
        "study export trial",
        "study verify trial",
    ):
        assert run(stored, words) & {"scipy", "pandas", "matplotlib", "joblib"} == set(), words


def test_a_report_needs_no_scipy(stored: Path) -> None:
    loaded = run(stored, "report trial --force")
    assert "matplotlib" in loaded
    assert loaded & {"scipy", "matplotlib.pyplot", "joblib"} == set()
