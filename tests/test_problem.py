"""Problem: what it accepts, what it says about what it does not, what the kernels get."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from dataclasses import FrozenInstanceError
from itertools import count
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psips.errors import InputError
from psips.input.checks import merge_rows
from psips.problem import Problem
from psips.problem.parameters import Ball, Box
from psips.state.model import BALL, BOX, EVERYTHING

FRAME = pd.DataFrame({"u": [1.0, 0.0, 1.0], "v": [0.0, 1.0, 1.0]}, index=["a", "b", "c"])


def plain(**changes: Any) -> Problem:
    settings: dict[str, Any] = {
        "objectives": {"gain": "max", "cost": "min"},
        "covariance": [[2.0, 0.5], [0.5, 1.0]],
        "arms": ["A", "B", "C"],
    }
    return Problem(**(settings | changes))


def linear(**changes: Any) -> Problem:
    settings: dict[str, Any] = {"objectives": ["x"], "covariance": [1.0], "features": FRAME}
    return Problem(**(settings | changes))


def test_unstructured() -> None:
    problem = plain()
    assert (problem.K, problem.n, problem.h, problem.d) == (3, 3, 3, 2)
    assert problem.unstructured
    assert problem.arms == problem.answers == ("A", "B", "C")
    assert problem.directions == ("max", "min")
    assert problem.signs.tolist() == [1.0, -1.0]
    assert problem.features is None
    assert problem.answer_features is None


def test_model_of_an_unstructured_problem() -> None:
    model = plain().model
    assert model.unstructured
    assert (model.K, model.n, model.h, model.d) == (3, 3, 3, 2)
    assert model.A.shape == model.Z.shape == (0, 0)
    assert model.Sigma.tolist() == [[2.0, -0.5], [-0.5, 1.0]]  # the cost is negated
    assert not model.diagonal
    assert np.allclose(model.L @ model.L.T, model.Sigma)
    assert np.allclose(model.P @ model.Sigma, np.eye(2))
    assert (model.xi, model.kind) == (0.0, EVERYTHING)
    assert model.explore.tolist() == [1 / 3] * 3


def test_model_of_a_linear_problem() -> None:
    problem = linear(regularization=0.5, intercept=False)
    model = problem.model
    assert model.A.tolist() == model.Z.tolist() == FRAME.to_numpy().tolist()
    assert model.xi == 0.5
    assert model.diagonal
    V = model.A.T @ (model.explore[:, None] * model.A)
    leverage = np.einsum("ij,jk,ik->i", model.A, np.linalg.inv(V), model.A)
    assert leverage.max() <= 2 * 1.001
    assert problem.model is model


@pytest.mark.parametrize("problem", [plain(), linear(), linear(parameter_set=Box(0, 1))])
def test_arrays_of_the_model_have_one_layout(problem: Problem) -> None:
    # Else numba compiles every kernel again for read-only or strided arrays.
    for name, field in problem.model.as_dict().items():
        if isinstance(field, np.ndarray):
            assert field.dtype == (np.int64 if name == "first" else np.float64)
            assert field.flags.c_contiguous
            assert field.flags.writeable


def test_frozen() -> None:
    problem = linear()
    with pytest.raises(FrozenInstanceError):
        problem.name = "other"  # type: ignore[misc]
    for array in (problem.covariance, problem.signs, problem.features, problem.answer_features):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0.0  # type: ignore[index]


def test_the_given_array_stays_writable_and_apart() -> None:
    given = np.eye(2)
    problem = linear(features=given)
    given[0, 0] = 7.0
    assert problem.features is not None
    assert problem.features[0, 0] == 1.0


@pytest.mark.parametrize(
    "covariance",
    [
        [2.0, 3.0],
        (2, 3),
        np.array([2.0, 3.0]),
        {"cost": 3.0, "gain": 2.0},
        pd.Series({"cost": 3.0, "gain": 2.0}),
        [[2.0, 0.0], [0.0, 3.0]],
        pd.DataFrame({"cost": {"gain": 0.0, "cost": 3.0}, "gain": {"cost": 0.0, "gain": 2.0}}),
    ],
)
def test_forms_of_the_covariance(covariance: object) -> None:
    assert plain(covariance=covariance).covariance.tolist() == [[2.0, 0.0], [0.0, 3.0]]


def test_variances_of_very_different_size_are_fine() -> None:
    assert plain(covariance=[1e-12, 1e12]).model.diagonal


def test_names_of_arms() -> None:
    assert plain(arms=2).arms == ("arm 1", "arm 2")
    assert plain(arms=[1, 2.5]).arms == ("1", "2.5")
    assert linear().arms == ("a", "b", "c")
    assert linear(features=np.eye(2)).arms == ("arm 1", "arm 2")
    assert linear(features=np.eye(2), arms=["p", "q"]).arms == ("p", "q")


def test_arms_pick_rows_of_a_frame() -> None:
    problem = linear(arms=["c", "a"])
    assert problem.arms == ("c", "a")
    assert problem.features is not None
    assert problem.features.tolist() == [[1.0, 1.0], [1.0, 0.0]]


def test_columns_of_answers_follow_those_of_the_arms() -> None:
    answers = pd.DataFrame({"v": [1.0, 2.0], "u": [3.0, 4.0]}, index=["p", "q"])
    problem = linear(answers=answers)
    assert problem.transductive
    assert problem.answers == ("p", "q")
    assert problem.feature_names == ("u", "v", "intercept")
    assert problem.answer_features is not None
    assert problem.answer_features.tolist() == [[3.0, 1.0, 1.0], [4.0, 2.0, 1.0]]


def test_one_arm_is_enough_for_two_answers_on_its_line() -> None:
    problem = linear(features=[[2.0]], answers=(["p", "q"], [[1.0], [3.0]]), intercept=False)
    assert (problem.K, problem.n) == (1, 2)


def test_equal_answers_are_one_with_several_names() -> None:
    rows = [[0.3, 1.0], [1.0, 1.0], [0.1 + 0.2, 1.0], [1.0, 1.0], [0.0, 2.0]]
    problem = linear(features=rows, arms=list("abcde"), intercept=False)
    assert problem.K == 5
    assert problem.answers == ("a", "b", "e")
    assert problem.aliases == {"a": ("a", "c"), "b": ("b", "d"), "e": ("e",)}
    assert [problem.answer_index(name) for name in "abcde"] == [0, 1, 0, 1, 2]
    assert [problem.arm_index(name) for name in "abcde"] == [0, 1, 2, 3, 4]
    assert problem.answer_features is not None
    assert problem.answer_features.tolist() == [rows[0], rows[1], rows[4]]
    assert problem.model.Z.tolist() == problem.model.A[[0, 1, 4]].tolist()


@given(st.lists(st.lists(st.integers(0, 2), min_size=2, max_size=2), min_size=1, max_size=12))
def test_merge_rows_against_a_naive_twin(rows: list[list[int]]) -> None:
    kept, group = merge_rows(np.array(rows, dtype=float))
    seen = [row for i, row in enumerate(rows) if row not in rows[:i]]
    assert [rows[i] for i in kept] == seen
    assert group.tolist() == [seen.index(row) for row in rows]


def test_arms_that_do_not_span_everything_but_span_the_answers() -> None:
    A = np.array([[1.0, 1.0, 0.0], [1.0, -1.0, 0.0], [0.5, 0.5, 0.0]])
    model = linear(features=A, intercept=False).model
    assert model.A.shape == (3, 2)  # of rank two
    assert model.explore.sum() == pytest.approx(1.0)
    assert model.explore[2] == pytest.approx(0.0, abs=1e-3)


def test_orientation() -> None:
    problem = plain()
    values = np.array([[1.0, 2.0], [3.0, -4.0]])
    assert problem.inward(values).tolist() == [[1.0, -2.0], [3.0, 4.0]]
    assert np.array_equal(problem.outward(problem.inward(values)), values)


def test_ball() -> None:
    assert plain(parameter_set=Ball(3)).model.kind == BALL
    assert plain(parameter_set=Ball(3)).model.ball.tolist() == [3.0, 3.0]
    assert plain(parameter_set=Ball([1, 2])).model.ball.tolist() == [1.0, 2.0]


def test_box_is_turned_round_for_an_objective_to_minimise() -> None:
    model = plain(parameter_set=Box([0, 1], [2, 5])).model
    assert model.kind == BOX
    assert model.low.tolist() == [[0.0, -5.0]] * 3
    assert model.high.tolist() == [[2.0, -1.0]] * 3


def test_box_with_one_row_per_arm() -> None:
    low = [[0, 1], [2, 3], [4, 5]]
    model = plain(parameter_set=Box(low, 10)).model
    assert model.low.tolist() == [[0.0, -10.0], [2.0, -10.0], [4.0, -10.0]]
    assert model.high.tolist() == [[10.0, -1.0], [10.0, -3.0], [10.0, -5.0]]


TROUBLE: list[tuple[Any, dict[str, Any], str]] = [
    (plain, {"covariance": [[1, 0.5], [0.2, 1]]}, r"not symmetric: 0.5 for \('gain', 'cost'\)"),
    (plain, {"covariance": [[1, 2], [2, 1]]}, "not positive definite.*eigenvalue -1"),
    (plain, {"covariance": [[1, 1], [1, 1]]}, "not positive definite"),
    (plain, {"covariance": np.eye(3)}, r"2 variances or a 2 x 2 matrix.*got shape \(3, 3\)"),
    (plain, {"covariance": [1, 1, 1]}, r"got shape \(3,\)"),
    (plain, {"covariance": 1.0}, r"got shape \(1,\)"),
    (plain, {"covariance": [0, 0]}, "every metric is exact, without noise"),
    (plain, {"covariance": [[1, 0.5], [0.5, 0]]}, "'gain' and 'cost' is 0.5, but one of them"),
    (plain, {"covariance": [1, -1]}, "variance of objective 'cost' must be positive"),
    (plain, {"covariance": [np.nan, 1]}, "variance of objective 'gain' must be .*got nan"),
    (plain, {"covariance": [np.inf, 1]}, "variance of objective 'gain' must be .*got inf"),
    (plain, {"covariance": [[1, np.nan], [0, 1]]}, "'gain' and 'cost' must be finite, got nan"),
    (plain, {"covariance": ["a", "b"]}, "the covariance must be numbers"),
    (plain, {"covariance": [[1, 2], [3]]}, "the covariance must be numbers in a rectangular"),
    (plain, {"covariance": {"gain": 1, "cots": 2}}, "covariance 'cots': did you mean 'cost'"),
    (plain, {"covariance": {"gain": 1}}, "no entry for objective 'cost'"),
    (plain, {"objectives": []}, "there are no objectives"),
    (plain, {"objectives": "gain"}, "objectives must be a list of names, got 'gain'"),
    (plain, {"objectives": ["x", "x"]}, r"duplicate objective 'x' \(positions 1 and 2\)"),
    (plain, {"objectives": ["x", ""]}, "objective number 2 has an empty name"),
    (plain, {"objectives": {"x": "mx", "y": "min"}}, "objective 'x': 'mx': did you mean 'max'"),
    (plain, {"arms": ["A", "A", "B"]}, r"duplicate arm 'A' \(positions 1 and 2\)"),
    (plain, {"arms": [1, "1"]}, "duplicate arm '1'"),
    (plain, {"arms": ["A", " "]}, "arm number 2 has an empty name"),
    (plain, {"arms": ["A", None]}, "arm number 2 must be a name, got None"),
    (plain, {"arms": ["A", float("nan")]}, "arm number 2 has an empty name: give it one"),
    (plain, {"arms": [True, False]}, "arm number 1 must be a name, got True"),
    (plain, {"arms": [["A", "B"], "C"]}, r"arm number 1 must be a name, got \['A', 'B'\]"),
    (plain, {"arms": [{"name": "A"}, "C"]}, "arm number 1 must be a name, got {'name': 'A'}"),
    (plain, {"arms": {"A", "B"}}, "which has no order"),
    (plain, {"arms": {"A": 1, "B": 2}}, "arms must be a list of names or how many there are"),
    (plain, {"arms": True}, "arms must be a list of names or how many there are, got True"),
    (plain, {"arms": 10**12}, "there are 1000000000000 arms: the limit is 100,000"),
    (plain, {"arms": count()}, "there are more than 100,000 arms, which is the limit"),
    (plain, {"objectives": [("a", "down"), "b"]}, "unknown direction of objective 'a': 'down'"),
    (plain, {"objectives": [("a", "min", 1), "b"]}, "must be a name or a pair"),
    (plain, {"objectives": ["a", None]}, "objective number 2 must be a name, got None"),
    (plain, {"objectives": {"a": "max", ("b", "c"): "min"}}, "objective number 2 must be a"),
    (plain, {"objectives": ["a", "arm"]}, "an objective cannot be called 'arm'"),
    (plain, {"objectives": ["ticket", "b"]}, "an objective cannot be called 'ticket'"),
    (plain, {"objectives": ["item", "b"]}, "an objective cannot be called 'item'"),
    (plain, {"objectives": ["a", "result"]}, "an objective cannot be called 'result'"),
    (plain, {"covariance": [True, 1.0]}, "the covariance must be numbers, got True"),
    (plain, {"covariance": ["1", 1.0]}, "the covariance must be numbers, got '1'"),
    (
        plain,
        {"covariance": [10**400, 1.0]},
        "the variance of objective 'gain' must be positive",
    ),
    (linear, {"regularization": True}, "regularization must be a number, got True"),
    (linear, {"regularization": "1"}, "regularization must be a number, got '1'"),
    (linear, {"regularization": 10**400}, "must be positive and finite, got a whole number of"),
    (linear, {"features": FRAME.rename(columns={"u": "v "})}, "feature number 1 has spaces"),
    (linear, {"answers": ([True, "b"], [[1, 0], [0, 1]])}, "answer number 1 must be a name"),
    (plain, {"arms": ["A"]}, "at least two arms, got 1"),
    (plain, {"arms": 0}, "at least two arms, got 0"),
    (plain, {"arms": None}, "there are no arms"),
    (plain, {"arms": "AB"}, "arms must be a list of names, got 'AB'"),
    (plain, {"arms": 2.5}, "arms must be a list of names, got 2.5"),
    (plain, {"regularization": 0}, "regularization must be positive"),
    (plain, {"regularization": np.nan}, "regularization must be positive and finite, got nan"),
    (plain, {"regularization": "a"}, "regularization must be a number, got 'a'"),
    (plain, {"answers": FRAME}, "answers were given without features"),
    (plain, {"parameter_set": 3.0}, "parameter_set must be a Ball or a Box, got 3.0"),
    (plain, {"parameter_set": Ball(0)}, "radius of the ball must be positive"),
    (plain, {"parameter_set": Ball([1, 2, 3])}, r"radius .*shape \(2,\), got shape \(3,\)"),
    (plain, {"parameter_set": Box([0, 2], 1)}, "box is empty for objective 'cost': low 2.0 is"),
    (
        plain,
        {"parameter_set": Box([[0, 0]], 1)},
        r"low end .*\(2,\) or \(3, 2\), got .*\(1, 2\)",
    ),
    (linear, {"features": [1, 2, 3]}, r"must be a table .*got shape \(3,\)"),
    (linear, {"features": np.zeros((3, 0))}, r"must be a table .*got shape \(3, 0\)"),
    (linear, {"features": np.eye(2), "arms": ["a"]}, "1 arms but 2 rows of features"),
    (linear, {"features": FRAME, "arms": ["a", "d"]}, "unknown arm 'd'"),
    (linear, {"features": FRAME.replace(0.0, np.nan)}, "'v' of arm 'a' is nan"),
    (linear, {"features": FRAME.replace(0.0, np.inf)}, "'v' of arm 'a' is inf"),
    (linear, {"features": FRAME.assign(v="q")}, "got 'q' for 'a', column 'v'"),
    (linear, {"features": FRAME.set_axis(["a", "b", "a"])}, "duplicate arm 'a'"),
    (
        linear,
        {"features": FRAME.set_axis(["a", "b", np.nan])},
        "arm number 3 has an empty name",
    ),
    (linear, {"features": FRAME.iloc[:1]}, "at least two arms, got 1"),
    (linear, {"features": np.ones((3, 2))}, "all answers have equal features"),
    (linear, {"answers": FRAME.iloc[:1]}, "at least two answers, got 1"),
    (linear, {"answers": np.eye(2)}, "answers must be a DataFrame or a pair"),
    (linear, {"answers": FRAME[["u"]]}, "answers have 1 features, but arms have 2"),
    (
        linear,
        {"answers": FRAME.rename(columns={"v": "w"})},
        "unknown feature of the answers 'w'",
    ),
    (linear, {"answers": (["p"], np.eye(2))}, "1 answers but 2 rows of features"),
    (linear, {"answers": (["p", "p"], np.eye(2))}, "duplicate answer 'p'"),
    (linear, {"answers": (["p", "q"], [[1, 2], [3, np.nan]])}, "'2' of answer 'q' is nan"),
    (
        linear,
        {"features": [[1, 0, 0], [2, 0, 0]], "answers": (list("pqr"), np.eye(3))},
        r"do not span the answers: 2 of the dimensions .*rank 1\)",
    ),
]


@pytest.mark.parametrize(("build", "changes", "message"), TROUBLE, ids=[t[2] for t in TROUBLE])
def test_trouble(build: Any, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        build(**changes)
    assert "\n" not in str(caught.value)


def test_trouble_in_a_parameter_set() -> None:
    with pytest.raises(InputError, match="the low end of the box must be finite"):
        Box(-np.inf, 1)
    with pytest.raises(InputError, match="the radius of the ball must be numbers"):
        Ball("big")  # type: ignore[arg-type]


def test_unknown_names() -> None:
    with pytest.raises(InputError, match="unknown arm 'D'; known: 'A', 'B', 'C'"):
        plain().arm_index("D")
    with pytest.raises(InputError, match="unknown answer 'd'; known: 'a', 'b', 'c'"):
        linear().answer_index("d")


EXAMPLES = [
    plain(name="p", parameter_set=Box([0, 1], [[2, 3], [4, 5], [6, 7]])),
    plain(covariance=[0.1, 1 / 3], parameter_set=Ball(1 / 3)),
    linear(regularization=0.1),
    linear(features=np.array([[1 / 3, 0.1], [0.7, 1e-300], [1 / 3, 0.1]])),
    linear(answers=(list("pqr"), [[1 / 3, 0], [2, 1], [1 / 3, 0]]), parameter_set=Ball([2])),
]


@pytest.mark.parametrize("problem", EXAMPLES)
def test_round_trip(problem: Problem) -> None:
    text = json.dumps(problem.to_dict(), allow_nan=False)
    copy = Problem.from_dict(json.loads(text))
    assert copy == problem
    assert json.dumps(copy.to_dict()) == text
    assert copy.aliases == problem.aliases
    for part in ("noise", "limits", ""):
        mine, theirs = copy.model, problem.model
        if part:
            mine, theirs = getattr(mine, part), getattr(theirs, part)
        for name, field in mine.as_dict().items():
            if name not in ("noise", "limits"):
                assert np.array_equal(field, getattr(theirs, name)), name
    assert pickle.loads(pickle.dumps(problem)) == problem


def test_different_problems_differ() -> None:
    for i, one in enumerate(EXAMPLES):
        for j, other in enumerate(EXAMPLES):
            assert (one == other) == (i == j)
    assert plain() != plain(objectives=["gain", "cost"])
    assert plain() != "plain"


def test_from_dict_checks_its_keys() -> None:
    data = plain().to_dict()
    with pytest.raises(InputError, match="'colour'; known"):
        Problem.from_dict(data | {"colour": 1})
    del data["arms"]
    with pytest.raises(InputError, match="lacks the key 'arms'"):
        Problem.from_dict(data)


def test_import_is_light() -> None:
    code = (
        "import sys, psips.problem, psips.problem.instances, psips.problem.problem_file as f; "
    )
    code += "print([m for m in ('pandas', 'scipy', 'matplotlib') if m in sys.modules])"
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert out.stdout.strip() == "[]"


def test_pairs_of_a_name_and_a_direction() -> None:
    problem = plain(objectives=[("latency", "min"), "yield"])
    assert problem.objectives == ("latency", "yield")
    assert problem.directions == ("min", "max")
    assert problem == plain(objectives={"latency": "min", "yield": "max"})


UNREADABLE = {
    " A": "arm number 1 has spaces around its name ' A'",
    "A\u00a0": "arm number 1 has spaces around its name",
    "A\u200bB": "arm number 1 has an invisible character (U+200B) in its name 'A\\u200bB'",
    "A\ufeffB": "an invisible character (U+FEFF)",
    "A\u202eB": "an invisible character (U+202E)",
    "A\u2066B": "an invisible character (U+2066)",
    "A\tB": "a control character (U+0009) in its name 'A\\tB'",
    "A\nB": "a control character (U+000A)",
    "A\0B": "a control character (U+0000)",
    "A\x1b[2J": "a control character (U+001B)",
    "A\udcffB": "a byte that is no UTF-8 (U+DCFF)",
    "A\u2028B": "a line separator (U+2028)",
    "cafe\u0301": "accents are characters of their own, 'cafe\\u0301': write it as 'caf\\xe9'",
    "A" * 201: "has a name of 201 characters",
}


@pytest.mark.parametrize("name", UNREADABLE, ids=ascii)
def test_names_that_look_the_same(name: str) -> None:
    with pytest.raises(InputError) as caught:
        plain(arms=[name, "other"])
    assert UNREADABLE[name] in str(caught.value)
    assert str(caught.value).isprintable()
    for kind in ({"objectives": ["x", name]}, {"objectives": {name: "min", "x": "max"}}):
        with pytest.raises(InputError):
            plain(**kind)
    for table in (
        {"features": FRAME.set_axis(pd.Index([name, "v"], dtype=object), axis=1)},
        {"arms": ["a", name]},
    ):
        with pytest.raises(InputError):
            linear(**table)


def test_names_that_differ_in_their_spaces() -> None:
    with pytest.raises(InputError, match="arms 1 and 3 look alike, 'B C' and 'B  C'"):
        plain(arms=["B C", "D", "B  C"])
    assert plain(arms=["caf\u00e9", "x\u00b2", "x2", "Größe"]).K == 4


def test_names_in_a_record_stay_readable() -> None:
    data = plain().to_dict() | {"arms": [" A", "B\t", "cafe\u0301"]}
    data["objectives"] = ["arm", "cost"]
    assert Problem.from_dict(data).arms == (" A", "B\t", "cafe\u0301")


def test_a_message_repeats_200_characters_at_most() -> None:
    long = "x" * 100_000
    for changes in ({"arms": ["A", [long]]}, {"covariance": [long, 1]}, {"arms": [long, "B"]}):
        with pytest.raises(InputError) as caught:
            plain(**changes)
        assert len(str(caught.value)) < 300
