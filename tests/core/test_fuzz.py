"""Whatever the core is handed: an answer or an exception, within seconds, never a crash."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import snapshots
from core.entries import plain_model, set_belief
from psips import Session, _core
from psips._core import testing
from psips.state.account import no_account, open_account
from psips.state.belief import empty_belief
from psips.state.records import Record
from psips.state.search import empty_search
from psips.state.source import BERNOULLI, GAUSSIAN, LOGNORMAL, RESAMPLE, STUDENT, Source

Args = dict[str, Any]
Rng = np.random.Generator
LONGEST = 5.0  # CPU seconds of one call
QUANTILES = ("normal", "chi-square", "student", "beta")
LAWS = (*QUANTILES, "f")
SIZES = (1e-300, 1e-150, 1e-16, 1e-3, 1.0, 1e3, 1e16, 1e150, 1e300)
KEY = np.array([3, 4], np.uint64)
REFUSED = (TypeError, ValueError, IndexError)


def numbers(rng: Rng, *shape: int) -> np.ndarray:
    """Finite numbers: of one size or of many, equal ones, zeros, constant columns."""
    found = rng.normal(size=shape)
    way = rng.integers(7)
    if way < 2:
        found = found * rng.choice(SIZES, shape if way else ())
    elif way == 2:
        found = np.round(found)
    elif way == 3 and found.size:
        found[..., 0] = 1.0
    elif way == 4:
        found = np.where(rng.random(shape) < 0.5, 0.0, found)
    elif way == 5:
        found = np.zeros(shape)
    return np.ascontiguousarray(found, float).reshape(shape)


def factor(rng: Rng, d: int) -> np.ndarray:
    """A square root of a covariance: singular, nearly so, tiny, huge."""
    root = rng.normal(size=(d, d))
    way = rng.integers(5)
    if way == 0:
        root = np.diag(10.0 ** rng.uniform(-8, 8, d))
    elif way == 1 and d > 1:
        root[-1] = root[0] * (1.0 + 1e-9)
    elif way == 2:
        root *= 10.0 ** rng.uniform(-100, 100)
    return root


def matrix(rng: Rng, d: int) -> np.ndarray:
    root = factor(rng, d)
    return np.ascontiguousarray(root @ root.T)


def timed(name: str, call: Callable[..., Any], *args: Any) -> Any:
    """Call; what is raised says what is wrong, and it takes seconds at most."""
    begin = time.process_time()
    try:
        return call(*args)
    finally:
        assert time.process_time() - begin < LONGEST, name


# ---------------------------------------------------------------- states


KINDS = ("features, missing", "items", "limits", "exact", "tolerance", "control", "predicted")


@cache
def session(kind: str) -> Session:
    return Session.restore(json.loads(snapshots.whole(kind)))


def engine_of(kind: str) -> Any:
    """A run of this kind that no one else changes."""
    return Session.restore(session(kind).snapshot()).engine


def model_of(rng: Rng) -> Any:
    """Arms or features, one arm or answer, one objective or fifteen."""
    d, K = int(rng.choice([1, 2, 3, 5, 12, 15])), int(rng.choice([1, 2, 3, 8, 13]))
    if d > 3:
        K = min(K, 3)
    while True:
        Sigma = matrix(rng, d)
        more: Args = {"slack": -float(rng.choice([0.0, 0.0, 1.0, 1e-300, 1e300]))}
        if rng.random() < 0.3:
            A = np.vstack([np.eye(2), rng.normal(size=(K, 2))])
            more |= {
                "A": A,
                "Z": rng.normal(size=(K, 2)),
                "ball": float(rng.choice([np.inf, 1])),
            }
        try:
            return plain_model(Sigma, K=K, **more)
        except np.linalg.LinAlgError:  # not positive definite any more
            continue


def search_of(rng: Rng) -> Any:
    """A posterior with means and counts of all sizes."""
    model = model_of(rng)
    belief = empty_belief(model)
    theta = numbers(rng, model.h, model.d)
    if rng.random() < 0.3:
        theta[:] = theta[0]  # all answers are equal
    N = np.round(10.0 ** rng.uniform(0, rng.choice([1, 12]), model.K))
    set_belief(model, belief, theta, N)
    belief.pulls[:] = N
    return empty_search(model, belief, int(rng.choice([0, 1, 64, 4096])))


def calls_on(rng: Rng, search: Any, calibration: Any) -> list[tuple[str, tuple[Any, ...]]]:
    """Functions that look at a search, with arguments that fit it."""
    model, belief, front, n = search.model, search.belief, search.front, search.model.n
    inside = np.flatnonzero(front.inside) if front.inside.any() else np.arange(min(n, 2))
    known = rng.integers(0, 3, n)
    flags = rng.random(n) < 0.5
    flags[rng.integers(n)] = True  # a set without members is refused
    log_inverse = float(rng.choice([1e-3, 2.3, 40.0, 1e300]))
    pairs = rng.integers(0, n, (3, 2))
    plain = model.unstructured and not model.joint
    found = [
        ("survey", (search, KEY)) if n * model.d < 30 else ("lone_level", (-3.0,)),
        ("change_probability", (search, KEY, int(rng.choice([-1, 0, 1, 500])))),
        ("probabilities", (search, KEY, 300, np.zeros(int(rng.choice([0, n]))), 0.0)),
        ("weigh_ratio", (search, calibration, 1.0)),
        ("weigh_smaller", (search, calibration, 1.0)),
        ("predict", (search.posterior, flags, log_inverse)),
        ("respond", (search.posterior, inside, float(rng.choice([np.inf, 0.0, 1e300])))),
        ("respond_limited", (search.posterior, model.limits, flags, ~flags)),
        ("selected", (search.posterior.mu, model.facts, model.limits)),
        ("log_spent", (calibration, 3.0, float(rng.choice([0.0, 1e300])))),
    ]
    if not model.joint:
        found.append(
            ("learn", (model, belief, int(rng.integers(model.K)), numbers(rng, model.d)))
        )
    if not model.unstructured:
        found.append(("refit", (model, belief)))
    if plain:
        arms, weights = (
            np.tile(np.arange(min(model.K, 2)), (3, 1)),
            np.ones((3, min(model.K, 2))),
        )
        levels = np.full(3, log_inverse)
        found += [
            ("settle_answers", (model, belief, front, log_inverse, known)),
            ("open_verdicts", (model, belief, front, log_inverse, known)),
            ("evidence_within", (model, belief)),
            (
                "further_results",
                (model, belief, belief, flags, levels, pairs, arms, weights),
            ),
        ]
    return found


def go_through(name: str, calls: list[tuple[str, tuple[Any, ...]]]) -> int:
    answered = 0
    for function, args in calls:
        try:
            timed(f"{name}: {function}", getattr(_core, function), *args)
            answered += 1
        except (ValueError, MemoryError):
            pass
        except IndexError as error:
            pytest.fail(f"{name}: {function}: {error}")
    return answered


@cache
def calibration() -> Any:
    return session("known noise").engine.program.options.calibration


@pytest.mark.parametrize("number", range(150))
def test_scenes(number: int) -> None:
    rng = np.random.default_rng([1, number])
    search = search_of(rng)
    calls = calls_on(rng, search, calibration())
    with np.errstate(all="ignore"):
        assert go_through(f"search {number}", [calls[k] for k in rng.permutation(len(calls))])
        if search.model.unstructured:
            belief, model = search.belief, search.model
            inside = rng.random(model.n) < 0.5
            inside[0] = True
            account = open_account(model, inside, belief.N, belief.B, 3.0)
            verdicts, outcome = np.zeros(model.n, np.int64), np.zeros(9)
            go_through(
                f"account {number}",
                [
                    ("weigh_account", (model, belief, account)),
                    ("conclude_account", (search.posterior, search.front, account, outcome)),
                    ("verdicts_by", (account, verdicts)),
                ],
            )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("number", range(3))
def test_kinds_of_runs(kind: str, number: int) -> None:
    """Missing values, items, features, limits, exact metrics, tolerances; sums of all sizes."""
    rng = np.random.default_rng([2, number])
    engine = engine_of(kind)
    search = engine._search
    if number:
        search.belief.theta[:] = numbers(rng, *search.belief.theta.shape)
        search.belief.B[:] = numbers(rng, *search.belief.B.shape)
        search.posterior.mu[:] = numbers(rng, *search.posterior.mu.shape)
    calls = calls_on(rng, search, engine.program.options.calibration)
    assert go_through(f"{kind} {number}", calls)


@pytest.mark.parametrize("number", range(40))
def test_flat_arrays(number: int) -> None:
    """Functions of arrays alone."""
    rng = np.random.default_rng([3, number])
    K, d, J, h, T = (int(rng.integers(1, 5)) for _ in range(5))
    wide = K * d
    n = int(rng.choice([0, 1, 2, 40, 400]))
    precision = np.array([matrix(rng, d) for _ in range(K)])
    counts = rng.integers(0, 3, (J, K)).astype(float)
    points = numbers(rng, n, d)
    if n and rng.random() < 0.4:
        points[rng.random(points.shape) < 0.3] = np.nan
    V, F, G = np.eye(wide), np.eye(wide), np.eye(wide)
    arms, items = rng.integers(0, K, T), rng.integers(0, J, T)
    values = numbers(rng, T, d)
    root = factor(rng, d)
    count = float(rng.choice([0.0, 1e-300, 1.0, 1e300]))
    calls: list[tuple[str, tuple[Any, ...]]] = [
        ("pareto_mask", (points,)),
        ("spans", (numbers(rng, K, h), np.round(np.abs(rng.normal(size=K))))),
        ("add_items", (counts, numbers(rng, J, K, d), precision, root, V, np.zeros(wide))),
        (
            "preview_items",
            (
                counts,
                rng.integers(0, J + 2, K),
                precision,
                precision,
                root,
                np.zeros((K, d, wide)),
            ),
        ),
        (
            "add_item_result",
            (
                *(int(rng.integers(K)), numbers(rng, d), counts[0], numbers(rng, K, d)),
                *(precision, precision[0], root, V, F, G, np.zeros(wide)),
            ),
        ),
        (
            "expect_item_noise",
            (
                *(arms, items, values, counts, precision, root, numbers(rng, K, d)),
                *(np.zeros((K, d, d)), np.zeros((K, d, d)), np.zeros(K)),
            ),
        ),
        (
            "add_rows",
            (
                *(numbers(rng, K, h), arms, np.array([matrix(rng, d)] * T), values),
                *(np.zeros((h * d, h * d)), np.zeros((h, d))),
            ),
        ),
        (
            "solve_joint",
            (
                *(matrix(rng, h * d), numbers(rng, h, d), numbers(rng, n % 7, h)),
                *(np.zeros((h * d, h * d)), np.zeros((h, d))),
                *(np.zeros((h * d, n % 7 * d)), np.zeros((n % 7 * d, n % 7 * d))),
            ),
        ),
        ("factor_of_inverse", (matrix(rng, wide), F, G)),
        ("students_share", (count, float(rng.choice(SIZES)))),
        ("tails", (str(rng.choice(LAWS)), np.clip(np.abs(numbers(rng, 3, 3)), 1e-300, 1e9))),
        ("quantiles", (str(rng.choice(QUANTILES)), rng.uniform(1e-9, 1.0, (3, 3)))),
        ("solve_nnqp", (matrix(rng, d), numbers(rng, d), np.zeros(d))),
        ("least_freedom", (float(rng.choice(SIZES)),)),
        ("lone_level", (float(rng.choice([-1e300, -1.0, 0.0, 1e300])),)),
        ("looked_at", (float(rng.choice([-1e300, -1.0, 0.0, 1e300])),)),
        ("spending", (float(rng.choice(SIZES)), 0.0, count)),
        (
            "is_time",
            tuple(int(k) for k in rng.choice([0, 1, 199, 40_000, 2**62, 2**63 - 1], 2)),
        ),
    ]
    assert go_through(f"arrays {number}", calls) == len(calls)


def sources(rng: Rng, kind: int) -> Source:
    K, d = 3, 2
    return Source(
        kind,
        numbers(rng, K, d),
        np.array([factor(rng, d) for _ in range(K)]),
        np.zeros(d),
        np.ones(d),
        numbers(rng, 6, d),
        np.array([0, 2, 3, 6]),
    )


@pytest.mark.parametrize("kind", [GAUSSIAN, BERNOULLI, RESAMPLE, STUDENT, LOGNORMAL])
def test_sources(kind: int) -> None:
    rng = np.random.default_rng([4, kind])
    for _ in range(20):
        source = sources(rng, kind)
        for nth in (0, 7, 2**62, -(2**62)):
            _core.pull(source, KEY, int(rng.integers(3)), nth, np.zeros(2))


# ---------------------------------------------------------------- what does not fit


def signatures() -> dict[str, tuple[Any, ...]]:
    """Arguments that fit, of every function of the core; arrays are copies."""
    return {
        name: tuple(one.copy() if isinstance(one, np.ndarray) else one for one in args)
        for name, args in _signatures().items()
    }


@cache
def other_records() -> list[Record]:
    engine = engine_of("limits")
    return [engine._search, engine._run, engine._search.model.limits, engine.learner]


@cache
def _signatures() -> dict[str, tuple[Any, ...]]:
    rng = np.random.default_rng(5)
    K, d, J, T, n = 3, 2, 4, 5, 4
    eye = np.eye(d)
    precision = np.array([eye] * K)
    wide = K * d
    engine = engine_of("known noise")
    search, run = engine._search, engine._run
    model, belief, front = search.model, search.belief, search.front
    account = no_account(model)
    flags = np.array([True, False, True, False])
    members = np.array([0, 1])
    given: dict[str, tuple[Any, ...]] = dict(
        calls_on(rng, search, engine.program.options.calibration)
    )
    given |= {
        "survey": (search, KEY),
        "predict": (search.posterior, flags, 3.0),
        "respond": (search.posterior, members, np.inf),
        "weigh_account": (model, belief, account),
        "conclude_account": (search.posterior, front, account, np.zeros(9)),
        "verdicts_by": (account, np.zeros(n, np.int64)),
        "drive": (run, engine._rules, sources(rng, GAUSSIAN), KEY, _core.TELL, 0),
        "pull": (sources(rng, GAUSSIAN), KEY, 0, 0, np.zeros(2)),
        "pareto_mask": (np.zeros((3, 2)),),
        "spans": (np.eye(K), np.ones(K)),
        "refit": (engine_of("features").model, engine_of("features").belief),
        "layout": (),
        "build_info": (),
        "is_time": (3, 1),
        "lone_level": (-3.0,),
        "looked_at": (-3.0,),
        "spending": (0.1, 0.0, 3.0),
        "students_share": (3.0, 4.0),
        "tails": ("beta", np.full((2, 3), 0.5)),
        "quantiles": ("beta", np.full((2, 3), 0.5)),
        "solve_nnqp": (np.eye(d), np.ones(d), np.zeros(d)),
        "least_freedom": (0.1,),
        "add_items": (
            *(np.ones((J, K)), np.ones((J, K, d)), precision, eye),
            *(np.eye(wide), np.ones(wide)),
        ),
        "preview_items": (
            *(np.ones((J, K)), np.zeros(K, np.int64), precision, precision, eye),
            np.zeros((K, d, wide)),
        ),
        "add_item_result": (
            *(0, np.ones(d), np.ones(K), np.ones((K, d)), precision, eye, eye),
            *(np.eye(wide), np.eye(wide), np.eye(wide), np.ones(wide)),
        ),
        "expect_item_noise": (
            *(np.zeros(T, np.int64), np.zeros(T, np.int64), np.ones((T, d)), np.ones((J, K))),
            *(precision, eye, np.ones((K, d)), precision.copy(), precision.copy(), np.ones(K)),
        ),
        "add_rows": (
            *(np.eye(K), np.zeros(T, np.int64), np.array([eye] * T), np.ones((T, d))),
            *(np.eye(wide), np.ones((K, d))),
        ),
        "solve_joint": (
            *(np.eye(wide), np.ones((K, d)), np.ones((n, K)), np.eye(wide), np.ones((K, d))),
            *(np.ones((wide, n * d)), np.ones((n * d, n * d))),
        ),
        "factor_of_inverse": (np.eye(wide), np.eye(wide), np.eye(wide)),
    }
    return given


def functions() -> list[str]:
    return sorted(
        name
        for name, one in vars(_core).items()
        if callable(one) and not isinstance(one, type) and not name.startswith("_")
        if name != "read_behind_the_end"  # of builds with sanitizers, to see that they see it
    )


def wrong(value: Any, others: list[Record]) -> list[Any]:
    """What may come instead of an argument, and must be refused."""
    found: list[Any] = ["x", object(), [value]]
    if isinstance(value, np.ndarray):
        found += [None, value[..., None], value.reshape(-1) if value.ndim > 1 else value.sum()]
        found += [np.zeros((0,) * value.ndim, value.dtype), value.astype(str)]
        for axis in range(value.ndim if value.size else 0):
            found.append(np.ascontiguousarray(np.repeat(value, 3, axis)))
            found.append(np.ascontiguousarray(np.delete(value, 0, axis)))
    elif isinstance(value, Record):
        found += [None, type(value), *(one for one in others if type(one) is not type(value))]
    return found


# What takes arrays of any length, by function and place.
ANY = {
    ("pareto_mask", 0),
    ("probabilities", 3),
    ("respond", 1),
    ("selected", 0),
    ("factor_of_inverse", 0),
}


@pytest.mark.parametrize("name", functions())
def test_what_does_not_fit_is_refused(name: str) -> None:
    fitting = signatures()[name]
    for place, value in enumerate(fitting):
        for given in wrong(value, other_records()):
            args = list(signatures()[name])
            if name == "drive" and place in (2, 3) and given is None:
                continue
            args[place] = given
            try:
                timed(name, getattr(_core, name), *args)
            except REFUSED:
                continue
            fits = isinstance(given, np.ndarray) and (
                (name, place) in ANY or place_is_free(name, place, given, fitting)
            )
            assert fits, (name, place, given)


def place_is_free(name: str, place: int, given: np.ndarray, args: tuple[Any, ...]) -> bool:
    """Whether the length of the first axis alone may differ, as that of items or features."""
    free = {
        ("add_items", 0),
        ("preview_items", 0),
        ("expect_item_noise", 3),
        ("add_rows", 0),
        ("spans", 0),
        ("tails", 1),
        ("quantiles", 1),
    }
    return (name, place) in free and given.ndim == args[place].ndim


@pytest.mark.parametrize("name", functions())
def test_unusual_arrays(name: str) -> None:
    """Read-only, not contiguous, not aligned, of other numbers: refused, or read as is."""
    for place, value in enumerate(signatures()[name]):
        if not isinstance(value, np.ndarray):
            continue
        frozen = value.copy()
        frozen.flags.writeable = False
        wide = np.repeat(value, 2, axis=-1)[..., ::2]
        raw = np.zeros(value.nbytes + 1, np.uint8)
        askew = raw[1:].view(value.dtype).reshape(value.shape)
        askew[...] = value
        other = value.astype(np.float32) if value.dtype == float else value.astype(np.int32)
        for unusual in (frozen, wide, askew, other):
            args = list(signatures()[name])
            args[place] = unusual
            before = unusual.copy()
            try:
                timed(name, getattr(_core, name), *args)
            except REFUSED:
                continue
            if unusual is frozen:
                np.testing.assert_array_equal(frozen, before)


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("pull", 4),
        ("verdicts_by", 1),
        ("conclude_account", 3),
        ("add_items", 4),
        ("factor_of_inverse", 2),
        ("solve_joint", 5),
        ("expect_item_noise", 7),
    ],
)
def test_what_is_written_is_not_written_to_a_copy(name: str, place: int) -> None:
    args = list(signatures()[name])
    value = args[place]
    frozen = value.copy()
    frozen.flags.writeable = False
    other = value.astype(np.int32 if value.dtype == np.int64 else np.float32)
    for unusual in (frozen, np.repeat(value, 2, axis=-1)[..., ::2], other):
        args[place] = unusual
        with pytest.raises(TypeError):
            getattr(_core, name)(*args)


def test_places_out_of_range() -> None:
    given = signatures()
    run, rules, source, key = given["drive"][:4]
    for mode in (-1, 7, 2**40):
        with pytest.raises(ValueError, match="mode"):
            _core.drive(run, rules, source, key, mode, 10)
    for missing in ((None, key), (source, None)):
        with pytest.raises(ValueError, match="source"):
            _core.drive(run, rules, *missing, _core.RUN, 10)
    for step in (("x", "set", "never"), ("uniform", "x", "never"), ("uniform", "set", "x")):
        with pytest.raises(ValueError, match="no step named 'x'"):
            _core.Rules(*step)
    model, belief = given["learn"][:2]
    before = belief.B.copy(), belief.pulls.copy()
    for arm, d in ((-1, 2), (model.K, 2), (2**40, 2), (0, 1), (0, 3), (0, 0)):
        with pytest.raises(ValueError, match=r"arm|entry"):
            _core.learn(model, belief, arm, np.ones(d))
    np.testing.assert_array_equal(before[0], belief.B)
    np.testing.assert_array_equal(before[1], belief.pulls)
    for arm in (-1, 3):
        with pytest.raises(ValueError, match="arm"):
            _core.pull(source, KEY, arm, 0, np.zeros(2))
    with pytest.raises(ValueError, match="member"):
        _core.respond(given["respond"][0], np.array([-1]), np.inf)
    for results in ((-200, 1), (1, -200)):
        with pytest.raises(ValueError, match="results"):
            _core.is_time(*results)
    with pytest.raises(ValueError, match="ceiling"):
        _core.respond(given["respond"][0], np.array([0]), np.nan)


def test_a_record_whose_arrays_do_not_fit_is_refused() -> None:
    source = sources(np.random.default_rng(0), GAUSSIAN).as_dict()
    wrongs: list[tuple[str, Any]] = [
        ("means", np.zeros((3, 2), np.float32)),
        ("means", np.zeros(6)),
        ("starts", np.zeros(4)),
        ("starts", np.zeros((4, 1), np.int64)),
        ("L", [[0.0]]),
        ("L", None),
    ]
    for name, value in wrongs:
        with pytest.raises(REFUSED):
            _core.pull(Source(**{**source, name: value}), KEY, 0, 0, np.zeros(2))
    search = engine_of("known noise")._search
    with pytest.raises(REFUSED):
        _core.survey(type(search)(**{**search.as_dict(), "model": search.belief}), KEY)


def test_short_arrays_with_named_places() -> None:
    """A tally that is too short is not read beyond its end."""
    search = engine_of("known noise")._search
    belief = search.belief
    short = type(belief)(**{**belief.as_dict(), "tally": np.zeros(1, np.int64)})
    with pytest.raises(IndexError):
        _core.learn(search.model, short, 0, np.zeros(2))


# ---------------------------------------------------------------- parts for tests, loops


def test_a_stream_of_zeros_ends() -> None:
    for kind in ("normal", "uniform", "exponential", "normal_above"):
        for bound in (-1.0, 0.0, 1.0, 1e300, np.nan):
            testing.fill(kind, np.zeros(4, np.uint64), bound, np.zeros(3))


def test_cones_that_do_not_fit() -> None:
    def ones(*shape: int) -> np.ndarray:
        return np.ones(shape)

    fits = [
        *(ones(2, 2, 2), ones(2, 1, 2), ones(2, 2, 2), ones(2, 2, 2), ones(2, 1)),
        *(ones(2, 2, 2), ones(2, 1), ones(2, 2), ones(2, 2)),
    ]
    for place, one in enumerate(fits):
        args = [*fits]
        args[place] = np.repeat(one, 5000, axis=0)
        with pytest.raises(ValueError, match="cone"):
            testing.wrong_in_cone(*args, False, np.zeros(1024), np.zeros(1024))
    if fits:
        with pytest.raises(IndexError):
            testing.shares_of_pulls(
                ones(1), ones(9000), ones(9000), ones(9000), 0.1, ones(9000)
            )


def test_sizes_that_no_memory_holds() -> None:
    with pytest.raises(ValueError, match="no room"):
        _core.evidence_within(*_of_many_answers())


def _of_many_answers() -> tuple[Any, Any]:
    search = engine_of("known noise")._search
    model = type(search.model)(**{**search.model.as_dict(), "n": 2**40})
    return model, search.belief


def test_draws_to_the_letter_end() -> None:
    """`published` gives up when no number of draws without a hit would do."""
    run = engine_of("known noise")._run
    belief, options = run.search.belief, run.options
    belief.N[:] = belief.pulls[:] = 1e9
    sure = type(options.calibration)(**{**options.calibration.as_dict(), "log_inverse": np.inf})
    options = type(options)(**{**options.as_dict(), "calibration": sure})
    run = type(run)(**{**run.as_dict(), "options": options})
    rules = _core.Rules("published", "set", "published")
    timed("drive", _core.drive, run, rules, None, None, _core.TELL, 0)
    assert run.outcome[0] == 0.0
