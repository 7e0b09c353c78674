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


def loaded_by(code: str) -> set[str]:
    report = "import sys; print(' '.join(sys.modules), file=sys.stderr)"
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            f"import atexit\natexit.register(lambda: exec({report!r}))\n{code}",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
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
