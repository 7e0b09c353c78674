"""Problem files: the documented example, everything that can be written, everything wrong."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from psips.errors import InputError
from psips.lab.loading import load
from psips.problem.parameters import Ball, Box, Prior
from psips.problem.problem_file import read_problem_file

DOCUMENT = Path(__file__).parents[1] / "docs" / "problem-file.md"
PLAIN = """
arms = ["A", "B"]
objectives = [{name = "x", variance = 1.0}, {name = "y", direction = "min", variance = 2.0}]
"""
LINEAR = """
arms = "arms.csv"
objectives = ["x"]
covariance = [[1.0]]
"""
ARMS = "arm,u,v\na,1,0\nb,0,1\n"


def read(folder: Path, toml: str, **tables: str):
    for name, text in tables.items():
        (folder / f"{name}.csv").write_text(text, encoding="utf-8")
    path = folder / "p.toml"
    path.write_text(toml, encoding="utf-8")
    return read_problem_file(path)


@pytest.fixture
def documented(tmp_path: Path) -> Path:
    blocks = re.findall(
        r"`([\w-]+\.\w+)`:\n\n```\w+\n(.*?)```", DOCUMENT.read_text(), re.DOTALL
    )
    assert len(blocks) == 11
    for name, text in blocks:
        (tmp_path / name).write_text(text)
    return tmp_path


def test_documented_prior(documented: Path) -> None:
    file = read_problem_file(documented / "belief.toml")
    assert file.rules == {"stopping": "bayes"}
    assert file.problem.prior == Prior([[5, 2], [4, 1], [4.3, 2.5]], [2, 2, 2])


def test_documented_noise(documented: Path) -> None:
    problem = read_problem_file(documented / "assay.toml").problem
    assert (problem.noise, problem.partial) == ("per-arm", True)
    assert problem.labels == ("cured", "pain", "days (mean of log)")


def test_documented_example(documented: Path) -> None:
    file = read_problem_file(documented / "trial.toml")
    assert file.problem.name == "line settings"
    assert file.problem.directions == ("max", "min")
    assert file.problem.covariance.tolist() == [[1.0, 0.0], [0.0, 0.25]]
    assert (file.delta, file.seed) == (0.05, 7)
    assert file.rules == {"sampling": "posterior", "tracking": "mixture"}
    assert file.instance.pareto_set == ("A", "B", "D")


def test_documented_linear_example(documented: Path) -> None:
    instance = load(documented / "designs.toml")
    problem = instance.problem
    assert problem.name == "designs"
    assert problem.arms == ("light", "long", "both")
    assert problem.answers == ("first", "second", "third")
    assert problem.feature_names == ("weight", "length", "intercept")
    assert instance.theta.tolist() == [[1.0, -0.5], [0.2, 0.8], [2.0, 3.0]]
    assert problem.parameter_set == Ball(4.0)
    assert np.allclose(instance.means, [[2.6, 3.15], [2.92, 2.63], [2.28, 3.22]])


def test_documented_guess(documented: Path) -> None:
    guess = read_problem_file(documented / "plan.toml").guess
    assert guess is not None
    assert guess.of_arms
    assert guess.low.tolist() == [[5.0, 2.0], [3.5, 1.0], [4.0, 2.2]]
    assert guess.high.tolist() == [[5.0, 2.0], [4.5, 1.0], [4.6, 2.8]]


def test_documented_results(documented: Path) -> None:
    instance = load(str(documented / "archive.toml"))
    assert instance.results is not None
    assert instance.results.arms.tolist() == [0, 1, 0, 1]
    assert instance.results.values.tolist() == [[3.1], [5.2], [2.5], [4.4]]
    assert np.allclose(instance.theta, [[2.8], [4.8]])


def test_every_documented_key_is_known_and_the_reverse() -> None:
    from psips.problem.problem_file import KEYS

    table = DOCUMENT.read_text().split("## Every key")[1].split("## Tables")[0]
    assert tuple(sorted(re.findall(r"^\| `\[?(\w+)\]?`", table, re.M))) == tuple(sorted(KEYS))


def test_rows_and_columns_of_the_truth_are_matched_by_name(tmp_path: Path) -> None:
    file = read(tmp_path, PLAIN + 'truth = "t.csv"', t="arm,y,x\nB,1,2\nA,3,4\n")
    assert file.theta is not None
    assert file.theta.tolist() == [[4.0, 3.0], [2.0, 1.0]]


def test_truth_as_a_table(tmp_path: Path) -> None:
    file = read(tmp_path, PLAIN + "[truth]\nB = {y = 1, x = 2.5}\nA = [3, 4]\n")
    assert file.theta is not None
    assert file.theta.tolist() == [[3.0, 4.0], [2.5, 1.0]]


def test_columns_of_answers_are_matched_by_name(tmp_path: Path) -> None:
    toml = LINEAR + 'intercept = false\nanswers = "z.csv"'
    file = read(tmp_path, toml, arms=ARMS, z="z,v,u\np,1,2\nq,3,4\n")
    assert file.problem.answer_features is not None
    assert file.problem.answer_features.tolist() == [[2.0, 1.0], [4.0, 3.0]]


def test_a_table_of_names_alone_is_unstructured(tmp_path: Path) -> None:
    file = read(tmp_path, LINEAR, arms="arm\na\nb\nc\n")
    assert file.problem.unstructured
    assert file.problem.arms == ("a", "b", "c")


def test_blank_lines_spaces_and_a_byte_order_mark_are_harmless(tmp_path: Path) -> None:
    file = read(tmp_path, LINEAR, arms="\ufeffarm, u ,v\n\na , 1,0\nb,0, 1\n\n")
    assert file.problem.arms == ("a", "b")
    assert file.problem.feature_names == ("u", "v")
    file = read(tmp_path, PLAIN + "results = 'r.csv'", r="\ufeffarm,x,y\nA,1,2\nB,3,4\n")
    assert file.results is not None
    assert file.results.arms.tolist() == [0, 1]


def test_box_number_of_arms_and_defaults(tmp_path: Path) -> None:
    toml = 'arms = 3\nobjectives = ["x"]\ncovariance = [2]\n'
    file = read(tmp_path, toml + "[parameter_set]\nlow = 0\nhigh = [1]\n")
    assert file.problem.arms == ("arm 1", "arm 2", "arm 3")
    assert file.problem.parameter_set == Box(0.0, (1.0,))
    assert (file.problem.name, file.noise) == ("p", "gaussian")
    assert (file.delta, file.seed, file.rules, file.theta) == (None, None, {}, None)


def test_without_a_truth_there_is_no_instance(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"p.toml has no truth.*add the key 'truth'"):
        _ = read(tmp_path, PLAIN).instance
    with pytest.raises(InputError, match=r"p.toml has no truth.*add the key 'theta'"):
        _ = read(tmp_path, LINEAR, arms=ARMS).instance


WRONG: list[tuple[str, dict[str, str], str]] = [
    (PLAIN + "sed = 1", {}, "p.toml: unknown key 'sed': did you mean 'seed'"),
    (
        PLAIN + "[rules]\nsamplng = 'x'",
        {},
        r"unknown key of \[rules\] 'samplng': did you mean 'sam",
    ),
    (PLAIN + "[parameter_set]\nbal = 1", {}, "'bal': did you mean 'ball'"),
    (PLAIN + "[parameter_set]\nlow = 1", {}, "either 'ball', or both 'low' and 'high'"),
    (
        "arms = 2\n[[objectives]]\nnme = 'x'",
        {},
        "key of objective 1 'nme': did you mean 'name'",
    ),
    ("arms = 2\n[[objectives]]\nvariance = 1", {}, "objective 1 has no name"),
    ("[[objectives]]\nname = 'x'\narms = 2", {}, "'arms' is written below .*top of the file"),
    (
        "arms = 2\nobjectives = ['x', {name = 'y', variance = 1}]",
        {},
        "objective 'x' has no variance",
    ),
    ("arms = 2\nobjectives = [3]", {}, "objective 1 must be a name or a table, got 3"),
    ("arms = 2", {}, "there are no objectives"),
    ("arms = 2\nobjectives = ['x', 'x']\ncovariance = [1, 1]", {}, "duplicate objective 'x'"),
    (PLAIN + "covariance = [1, 1]", {}, "either 'covariance' or a variance"),
    (PLAIN.replace('"min"', '"mn"'), {}, "of objective 'y': 'mn': did you mean 'min'"),
    ("objectives = ['x']\ncovariance = [1]", {}, "there are no arms"),
    ("arms = true\nobjectives = ['x']\ncovariance = [1]", {}, "'arms' must be a list of names"),
    ("arms = 2\n[objectives]\nx = 'max'", {}, r"in double brackets.*got one table .objectives"),
    ("arms = [", {}, "p.toml is not valid TOML"),
    (PLAIN + "delta = 2", {}, "delta must lie strictly between 0 and 1, got 2"),
    (PLAIN + "delta = 'a'", {}, "'delta' must be a number, got 'a'"),
    (PLAIN + "seed = -1", {}, "seed must be at least 0"),
    (PLAIN + "seed = true", {}, "'seed' must be a whole number, got True"),
    (PLAIN + "seed = 1.5", {}, "'seed' must be a whole number, got 1.5"),
    (PLAIN + "noise = 'gausian'", {}, "unknown noise 'gausian': did you mean 'gaussian'"),
    (PLAIN + "regularization = 'x'", {}, "regularization must be a number"),
    (PLAIN + "theta = 'x.csv'", {}, "without features have their truth in 'truth'"),
    (LINEAR + "truth = 'x.csv'", {"arms": ARMS}, "with features have their truth in 'theta'"),
    (PLAIN + "truth = 'x.csv'", {}, r"cannot read the table .*x.csv: No such file"),
    (PLAIN + "truth = 3", {}, "'truth' must be a CSV file or a table, got 3"),
    (PLAIN + "[truth]\nA = [1, 2]", {}, "missing row of 'truth': 'B'"),
    (PLAIN + "[truth]\nA = [1, 2]\nC = [1, 2]", {}, "unknown row of 'truth' 'C'"),
    (
        PLAIN + "[truth]\nA = [1]\nB = [1, 2]",
        {},
        r"'truth' of 'A' must be 2 numbers, got \[1\]",
    ),
    (PLAIN + "[truth]\nA = [1, nan]\nB = [1, 2]", {}, "'truth' of 'A' must be finite .*nan"),
    (PLAIN + "[truth]\nA = [1, 'u']\nB = [1, 2]", {}, "'truth' of 'A' must be finite .*'u'"),
    (PLAIN + "truth = 't.csv'", {"t": "arm,x,z\nA,1,2\nB,1,2"}, "objective in 'truth' 'z'"),
    (LINEAR, {}, r"cannot read the table .*arms.csv: No such file"),
    (LINEAR, {"arms": "arm,u,v\na,1,0\nb,0\n"}, "arms.csv line 3 has 2 cells.* header has 3"),
    (
        LINEAR,
        {"arms": "arm,u\na,1\n\nb,x\n"},
        "arms.csv line 4, column 'u', must be a number, got 'x'",
    ),
    (LINEAR, {"arms": "arm,u\na,1\nb,inf\n"}, "line 3, column 'u', must be finite, got 'inf'"),
    (LINEAR, {"arms": "arm,u\na,1\nb,\n"}, "line 3, column 'u', must be a number, got ''"),
    (LINEAR, {"arms": "arm,u\na,1\nb,2\na,1\n"}, "line 4: duplicate name 'a', first on line 2"),
    (LINEAR, {"arms": "arm,u,u\na,1,1\nb,2,2\n"}, "duplicate column in arms.csv 'u'"),
    (LINEAR, {"arms": "arm,u\n,1\nb,2\n"}, "arms.csv line 2 has an empty name"),
    (LINEAR, {"arms": "arm,u\n"}, "arms.csv must have a header line and at least one more"),
    (LINEAR, {"arms": ""}, "arms.csv is empty: it needs a header line"),
    (
        LINEAR + "answers = 'z.csv'",
        {"arms": ARMS, "z": "z,u\np,1\nq,2\n"},
        "answers have 1 features, but arms have 2",
    ),
    (
        LINEAR + "answers = 'z.csv'",
        {"arms": ARMS, "z": "z,u,w\np,1,1\nq,2,1\n"},
        "unknown feature of the answers 'w'",
    ),
    (PLAIN + "results = 'r.csv'", {"r": "arm,x\nA,1\n"}, "r.csv has no column 'y'"),
    (
        PLAIN + "results = 'r.csv'",
        {"r": "arm,x,y\nA,1,1\nC,1,1"},
        "r.csv line 3: unknown arm 'C'",
    ),
    (
        PLAIN + "results = 'r.csv'",
        {"r": "arm,x,y\nA,1,q\n"},
        "r.csv line 2, column 'y', must be a number",
    ),
    (PLAIN + "results = 'r.csv'", {"r": "arm,x,y\nA,1,1\n"}, "no row for arm 'B'"),
    (
        PLAIN + "results = 'r.csv'\n[truth]\nA = [1, 2]\nB = [1, 2]",
        {"r": "arm,x,y\nA,1,1\nB,1,1\n"},
        "both 'truth' and 'results' are given",
    ),
]


@pytest.mark.parametrize(("toml", "tables", "message"), WRONG, ids=[w[2][:40] for w in WRONG])
def test_wrong(tmp_path: Path, toml: str, tables: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read(tmp_path, toml, **tables)
    assert str(caught.value).startswith("p.toml")
    assert "\n" not in str(caught.value)


def test_not_text(tmp_path: Path) -> None:
    (tmp_path / "arms.csv").write_bytes(b"arm,u\n\xff\xfe,1\n")
    with pytest.raises(InputError, match=r"arms.csv is not in UTF-8: byte 7 cannot be read"):
        read(tmp_path, LINEAR)


def test_missing_file() -> None:
    with pytest.raises(InputError, match=r"cannot read the problem file nowhere.toml: No such"):
        load("nowhere.toml")
