"""What people read: numbers by their errors, commands that a shell takes, what was meant."""

from __future__ import annotations

import re
import shlex
import sys
import warnings

import numpy as np
import pytest

from psips import InputError, Problem, Session, Study
from psips.cli import main
from psips.diagnostics.findings import Scatter
from psips.errors import on_page
from psips.input.digits import chance, estimate, interval
from psips.report import report
from psips.study.outliers import FarValueWarning


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PSIPS_STORE", raising=False)

    def call(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["psips", *words])
        with pytest.raises(SystemExit) as end:
            main()
        said = capsys.readouterr()
        return int(end.value.code or 0), said.out, said.err

    return call


def test_numbers_have_the_digits_that_their_errors_are_worth() -> None:
    assert estimate(-0.0001, 0.013) == "0.000 ± 0.013"
    assert str(Scatter("yield", 0.0021, 0.0018, 0.0026)) == "yield 0.00210 (0.00180 to 0.00260)"
    assert interval(0.0, 0.0, 0.0) == "0 (0 to 0)"
    rng = np.random.default_rng(1)
    for _ in range(2000):
        mean, se = rng.normal(), 10.0 ** rng.uniform(-9, 9)
        mean *= se * 10.0 ** rng.uniform(-3, 3)
        shown = estimate(mean, se)
        assert not re.search(r"-0(\.0*)?( |$)", shown), shown
        left, right = map(float, shown.split(" ± "))
        assert abs(left - mean) <= 0.06 * se  # large and small ones too
        assert right == pytest.approx(se, rel=0.06)
    for p in 10.0 ** rng.uniform(-12, 0, 500):
        assert float(chance(p)) == pytest.approx(p, rel=0.06)
        assert (float(chance(1 - p)) == 1.0) == (p < 1e-9)


def test_a_report_of_tiny_numbers_has_no_bare_zeros(tmp_path) -> None:
    problem = Problem(objectives={"yield": "max", "cost": "min"}, arms=["A", "B"])
    study = Study.create(problem, f"sqlite:///{tmp_path}/s.db", name="s", seed=1)
    rng = np.random.default_rng(2)
    for k in range(60):
        study.tell("AB"[k % 2], 1e-4 * rng.normal([0.0, 1.0 + k % 2], 1.0))
    for text in (report(study), str(study.status())):
        assert not re.search(r"-0\.0+(?![0-9])", text)
        assert not re.search(r"(?<![0-9.])0\.0+ (±|\()", text.replace("0.00000 ±", ""))


def test_commands_are_quoted_for_a_shell(tmp_path) -> None:
    problem = Problem(objectives={"the yield": "max"}, covariance=[1.0], arms=["A", "B"])
    study = Study.create(problem, f"sqlite:///{tmp_path}/s.db", name="my trial; rm x", seed=1)
    for value in (5.0, 5.5, 4.5, 5.2):
        study.tell("A", [value])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", FarValueWarning)
        study.tell("A", [50.0])
    (said,) = [str(one.message) for one in caught]
    words = shlex.split(re.search("`(.*)`", said)[1])
    assert words[:4] == ["psips", "study", "correct", "my trial; rm x"]
    assert words[-2:] == ["--value", "the yield=5"]


def test_messages_of_a_page_name_no_options(tmp_path) -> None:
    problem = Problem(objectives={"yield": "max"}, covariance=[1.0], arms=["A", "B"])
    study = Study.create(problem, f"sqlite:///{tmp_path}/s.db", name="s", seed=1)
    (tmp_path / "holes.csv").write_text("arm,yield\nA,1\nB,\n")
    (tmp_path / "names.csv").write_text("booster,yield\nA,1\nB,2\n")
    (tmp_path / "good.csv").write_text("arm,yield\nA,1\nB,2\n")
    study.tell_file(tmp_path / "good.csv")
    for file in ("holes.csv", "names.csv", "good.csv"):
        with pytest.raises(InputError, match="--"):
            study.tell_file(tmp_path / file)
        with on_page(), pytest.raises(InputError) as error:
            study.tell_file(tmp_path / file)
        assert "--" not in str(error.value)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ((None,), "nothing to tell, got None: give the arm and what was measured"),
        ((None, [1.0]), "the arm is None: name the arm that was measured"),
        (("A", None), "there are no values with 'A'"),
        (("A",), "there are no values with 'A'"),
    ],
)
def test_tell_says_what_it_lacks(given, words: str, tmp_path) -> None:
    problem = Problem(objectives={"yield": "max"}, covariance=[1.0], arms=["A", "B"])
    study = Study.create(problem, f"sqlite:///{tmp_path}/s.db", name="s", seed=1)
    for told in (Session(problem), study):
        with pytest.raises(InputError, match=words):
            told.tell(*given)


def test_what_was_meant(run, tmp_path) -> None:
    code, _, err = run("ask", "trial")
    assert code == 2
    assert "No such command 'ask'. Did you mean `psips study ask`?" in err
    (tmp_path / "d.toml").write_text(
        'name = "trial"\narms = ["Alpha", "B"]\n[[objectives]]\nname = "yield"\n'
        '[[objectives]]\nname = "cost"\ndirection = "min"\n'
    )
    assert run("study", "create", "d.toml")[0] == 0
    code, out, _ = run("study", "ask", "trial", "--n", "2")
    assert (code, out.count("\n")) == (0, 2)
    for values in ([], ["--value", "yield=1"]):
        code, _, err = run("study", "tell", "trial", "--arm", "Alfa", *values)
        assert code == 2
        assert err.startswith("psips: unknown arm 'Alfa': did you mean 'Alpha'?")
    for force in ([], ["--force"]):
        assert run("report", "trial", *force)[0] == 0
    assert run("report", "trial")[0] == 2
