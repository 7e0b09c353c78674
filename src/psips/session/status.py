"""A session's status: estimates, candidate set, distance to stopping."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from psips.aliases import Floats
from psips.diagnostics.few_items import doubt_text, few_items
from psips.diagnostics.lack_of_fit import Fit, fit_of
from psips.errors import counted
from psips.input.digits import chance, estimate
from psips.input.durations import duration_text
from psips.notebook import card, names, table
from psips.problem import Problem
from psips.session.engine import NOTHING, Engine
from psips.session.estimated import Spreads, estimated_noise, not_known
from psips.session.exact import Exact
from psips.session.mixed import MixedEngine
from psips.session.progress import Progress, hardest, hardest_text, progress_of
from psips.session.tolerance_report import Tolerated, tolerated_of
from psips.session.verdicts import verdicts_of

if TYPE_CHECKING:
    import pandas as pd

    from psips.session.outlook import Outlook


@dataclass(frozen=True, eq=False)
class Status:
    """What a session knows, in the user's orientation.

    Parameters
    ----------
    results : int
        Results told.
    stopped : bool
        Whether the stopping rule holds.
    candidate_set : tuple of str
        Pareto set of the estimates.
    arm_columns : dict
        By arm: ``pulls``, ``pending`` (asked and not yet told), and for each objective
        ``"... estimate"`` and ``"... se"``, its standard error. Without features an arm
        that was never measured has neither (NaN); with features none has before the arms
        measured span them.
    answer_columns : dict
        By answer: estimates, standard errors, ``candidate``; ``verdict`` and ``reason``: what
        the data prove, whatever rule is used to stop (with probability 1 - delta no verdict
        is ever wrong, see `psips.session.verdicts`); ``probability`` of being optimal given
        the data, and its Monte Carlo error ``probability se``; and ``also``, the other names
        of an answer that has several.
    evidence : dict
        What the stopping rule compares; ``fraction`` is 0 at the start and 1 at the stop, and
        no share of the way: `progress` describes that.
        The rule ``glr`` has ``evidence`` and ``threshold``. So has
        ``bayes`` (-log of the probability of another set, and log(1 / delta)). ``certified``,
        ``ape`` and ``elimination`` have the number ``settled``
        of ``answers``; ``predicted`` the ``evidence`` against the nearest other set, its
        ``threshold``, and the number ``settled`` of ``claims`` that it needs. ``posterior``
        draws until a draw disagrees with the candidate set, and
        stops if none of the first M does: ``log_hit`` is the logarithm of the index of the
        draw that disagreed (None if none did), ``log_budget`` that of M; their ratio, the
        ``fraction``, is one noisy draw.
    progress : Progress or None
        How many more results it takes, see `psips.session.progress`; None at the stop, before
        anything can be judged, and for rules that cannot tell.
    hardest : str
        The comparisons that take longest to prove, in words.
    promise : str
        What stands behind delta, in a few words; see `psips.rules.promises`.
    probability_of_change : float
        Posterior probability that the Pareto set is another than the candidate set (with a
        tolerance: that the candidate set is not right), by the
        problem's prior, or else a flat one (linear: that of the regularisation, if there is
        one); accurate when it is tiny.
    fit : Fit or None
        With features: whether the linear model fits, see `psips.diagnostics.lack_of_fit`.
    closed : bool
        Whether nothing more can be recorded; of studies.
    spent : float
        What the results cost: their number, if the problem has no costs.
    budget : float or None
        What may be spent.
    done : bool
        Whether to end the loop, see `Session.done`.
    time_limit, elapsed : float or None
        Seconds from the first ask or result on: that may be spent, and that were.
    goal : str
        What is to be proven, if not the whole set.
    claim : str
        At the stop, what was proven of the goal.
    outlook : Outlook or None
        Once the budget is spent: what is proven, what is open, what more would buy.
    spreads : Spreads or None
        The noise that was estimated, see `psips.session.estimated`; None if it is given.
    tolerated : Tolerated or None
        What may be otherwise within the tolerance, if there is one.
    nothing : str
        That no answer keeps the limits, if that is the candidate.
    not_known : str
        Of which arms the noise is not known well enough to judge; empty if of none.
    covariances : (n, d, d) array
        Of the means of the answers.
    items : str
        Once every arm was measured on every item of a list: what is known of them, and of what
        they stand for. Before, if the question is of these items alone, that it is.
    few_items : str
        Of which options a few items make up the mean, so that more sets are wrong than stated.
    exact : str
        Which metrics are taken for exact because their results repeat; empty if none are.
    """

    results: int
    stopped: bool
    candidate_set: tuple[str, ...]
    arm_names: tuple[str, ...]
    answer_names: tuple[str, ...]
    arm_columns: dict[str, Any]
    answer_columns: dict[str, Any]
    evidence: dict[str, float | None]
    probability_of_change: float
    progress: Progress | None = None
    hardest: str = ""
    promise: str = ""
    fit: Fit | None = None
    closed: bool = False
    spent: float = 0.0
    budget: float | None = None
    done: bool = False
    time_limit: float | None = None
    elapsed: float | None = None
    goal: str = ""
    claim: str = ""
    outlook: Outlook | None = None
    spreads: Spreads | None = None
    tolerated: Tolerated | None = None
    nothing: str = ""
    not_known: str = ""
    covariances: Floats | None = None
    items: str = ""
    few_items: str = ""
    exact: str = ""

    @cached_property
    def arms(self) -> pd.DataFrame:
        """The columns by arm as a DataFrame, made when it is read: pandas is slow to load."""
        return _frame(self.arm_columns, "arm", self.arm_names)

    @cached_property
    def answers(self) -> pd.DataFrame:
        """The columns by answer as a DataFrame."""
        return _frame(self.answer_columns, "answer", self.answer_names)

    @cached_property
    def noise(self) -> pd.DataFrame | None:
        """The noise that was estimated, see `Spreads.table`; None if it is given."""
        return None if self.spreads is None else self.spreads.table()

    @property
    def cost_known(self) -> bool:
        """Whether what was spent is another number than that of the results."""
        return self.spent != self.results

    def __str__(self) -> str:
        from psips.session.status_text import in_words

        return in_words(
            (self.arm_names, self.arm_columns),
            (self.answer_names, self.answer_columns),
            stopped=self.stopped,
            closed=self.closed,
            results=self.results,
            candidate_set=self.candidate_set,
            nothing=self.nothing,
            progress="" if self.progress is None else str(self.progress),
            chance=1.0 - self.probability_of_change,
            hardest=self.hardest,
            promise=self.promise,
            caveat="" if self.fit is None else self.fit.caveat,
            fit="" if self.fit is None else str(self.fit),
            budget=self.budget_text,
            goal=self.goal,
            claim=self.claim,
            tolerated="" if self.tolerated is None else str(self.tolerated),
            not_known=self.not_known,
            items="; ".join(one for one in (self.items, self.few_items) if one),
            exact=self.exact,
        )

    @property
    def budget_text(self) -> str:
        """What was spent, in words; empty if there is nothing to say."""
        if self.outlook is not None and not self.stopped:
            return str(self.outlook)
        of = "" if self.budget is None else f" of a budget of {self.budget:,.10g}"
        unit = " in cost" if self.cost_known else ""
        parts = [f"spent: {self.spent:,.10g}{of}{unit}"] if of or unit else []
        if self.time_limit is not None:
            spent = duration_text(self.elapsed or 0.0)
            parts.append(f"time: {spent} of {duration_text(self.time_limit)}")
        return "; ".join(parts)

    def _repr_html_(self) -> str:
        objectives = [
            name.removesuffix(" estimate")
            for name in map(str, self.answers.columns)
            if name.endswith(" estimate")
        ]
        rows = [
            (
                name,
                *(estimate(row[f"{o} estimate"], row[f"{o} se"]) for o in objectives),
                "candidate" if row["candidate"] else "",
                chance(row["probability"]),
                row["verdict"],
            )
            for name, row in self.answers.iterrows()
        ]
        head = ["answer", *objectives, "", "probability of being optimal", "proven"]
        return card(
            "Status",
            {
                "state": "stopped" if self.stopped else "closed" if self.closed else "open",
                "results": f"{self.results:,}",
                **({} if self.progress is None else {"to the stop": str(self.progress)}),
                "Pareto set" if self.stopped and not self.goal else "candidates": names(
                    self.candidate_set
                ),
                **({f"goal: {self.goal}": self.claim or "not reached"} if self.goal else {}),
                "at the stop": self.promise,
            },
            table(head, rows),
        )

    def __repr__(self) -> str:
        state = "stopped" if self.stopped else "closed" if self.closed else "open"
        results = counted(self.results, "result")
        return f"Status({state}, {results}, candidate set {self.candidate_set})"


def status_of(
    problem: Problem, engine: Engine, candidate_set: tuple[str, ...], promise: str
) -> Status:
    """Read the state of a run."""
    found = verdicts_of(problem, engine)
    proven = sum(one.verdict != "open" for one in found)
    optimal, spread = np.full(problem.n, np.nan), np.full(problem.n, np.nan)
    change = math.nan
    if candidate_set or (engine.limited and engine.ready):
        optimal, spread = engine.probabilities()
        change = math.exp(engine.change_probability()[0])
    answers = {
        **_estimates(problem, engine, engine.model.Z),
        "candidate": np.isin(np.array(problem.answers), candidate_set),
        "probability": optimal.copy(),
        "probability se": spread.copy(),
        "verdict": [one.verdict for one in found],
        "reason": [one.reason for one in found],
        "also": [", ".join(problem.aliases[answer][1:]) for answer in problem.answers],
    }
    evidence = engine.program.stopping.evidence(engine, lambda: proven)
    undecided = [] if engine.stopped else hardest(found)
    return Status(
        results=engine.results,
        stopped=engine.stopped,
        progress=None
        if engine.stopped
        else progress_of(engine.results, evidence, change, found),
        hardest=hardest_text(undecided),
        candidate_set=candidate_set,
        arm_names=tuple(problem.arms),
        answer_names=tuple(problem.answers),
        arm_columns=_arm_columns(problem, engine),
        answer_columns=answers,
        evidence=evidence,
        probability_of_change=change,
        promise=promise,
        fit=fit_of(problem, engine.belief),
        spreads=estimated_noise(problem, engine),
        tolerated=tolerated_of(problem, engine, answers["candidate"], optimal),
        nothing=NOTHING if engine.nothing_allowed else "",
        not_known=not_known(problem, engine),
        covariances=engine.covariances() * np.outer(problem.signs, problem.signs),
        few_items=_few_items(problem, engine),
    )


def _few_items(problem: Problem, engine: Engine) -> str:
    """Say of which options a few items make up the mean of a metric; empty if of none."""
    if not isinstance(engine, MixedEngine):
        return ""
    data = engine.data
    zero = engine.origin + engine.centre  # what numbers are kept from
    counts = np.where(data.counts > 0.0, data.counts, np.nan)  # (J, K)
    values = problem.outward(data.sums / counts[..., None] + zero)
    raw = problem.measured(problem.outward(data.values + zero))
    said = []
    for c, scale in enumerate(problem.scales):
        found = [] if scale.binary else few_items(values[..., c].T)
        options = [problem.arms[a] for a in found]
        instead = ""
        if not scale.log and bool((raw[:, c] > 0.0).all()):
            instead = "; transform = 'log' in the problem compares logarithms"
        said.append(doubt_text(problem.objectives[c], options, instead))
    return "; ".join(one for one in said if one)


def with_exact(status: Status, problem: Problem, exact: Exact) -> Status:
    """Return a status of what exact metrics leave of a problem with these next to it."""
    if exact.front:  # every metric is exact: the run itself knows nothing
        answers = insert_exact(status.answer_columns, problem, exact)
        answers["probability"] = np.isin(np.arange(problem.n), exact.front).astype(float)
        answers["probability se"] = np.zeros(problem.n)
        answers["reason"] = ["every metric is taken for exact"] * problem.n
        return replace(
            status,
            arm_columns=insert_exact(status.arm_columns, problem, exact),
            answer_columns=answers,
            spreads=None if status.spreads is None else status.spreads._replace(objectives=()),
            covariances=np.zeros((problem.n, problem.d, problem.d)),
            exact=exact.words_at(not exact.lacking) + exact.waits,
            stopped=not exact.lacking,
            probability_of_change=0.0,
            not_known="",
        )
    if not exact.columns:
        return replace(status, exact=exact.words_at(status.stopped))
    stopped = status.stopped and not exact.lacking
    rest = [c for c in range(problem.d) if c not in exact.columns]
    covariances = np.zeros((problem.n, problem.d, problem.d))
    if status.covariances is not None:
        covariances[np.ix_(range(problem.n), rest, rest)] = status.covariances
    return replace(
        status,
        arm_columns=insert_exact(status.arm_columns, problem, exact),
        answer_columns=insert_exact(status.answer_columns, problem, exact),
        covariances=covariances,
        exact=exact.words_at(stopped) + exact.waits,
        stopped=stopped,
    )


def insert_exact(given: dict[str, Any], problem: Problem, exact: Exact) -> dict[str, Any]:
    """Return columns by arm with the values of exact metrics, whose errors are 0."""
    values = problem.outward(exact.values)
    metrics = [f"{label} {what}" for label in problem.labels for what in ("estimate", "se")]
    columns: dict[str, Any] = {}
    for name in given:
        if name in metrics and not columns.keys() & set(metrics):
            columns |= dict.fromkeys(metrics)
        columns[name] = given[name]
    if not columns.keys() & set(metrics):  # every metric is exact
        first = {name: given[name] for name in given if name in ("pulls", "pending")}
        columns = {**first, **dict.fromkeys(metrics), **columns}
    for c in range(problem.d) if exact.front else exact.columns:
        columns[f"{problem.labels[c]} estimate"] = values[:, c]
        columns[f"{problem.labels[c]} se"] = np.where(np.isnan(values[:, c]), np.nan, 0.0)
    return columns


def arms_table(problem: Problem, engine: Engine) -> pd.DataFrame:
    """Return pulls, pending asks and estimates by arm."""
    return _frame(_arm_columns(problem, engine), "arm", problem.arms)


def _arm_columns(problem: Problem, engine: Engine) -> dict[str, Any]:
    return {
        "pulls": engine.belief.pulls.astype(np.int64),
        "pending": engine.learner.pending.astype(np.int64),
        **_estimates(problem, engine, engine.model.A),
    }


def _frame(columns: dict[str, Any], kind: str, names: Sequence[str]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(columns, index=pd.Index(names, name=kind))


def _estimates(problem: Problem, engine: Engine, features: Floats) -> dict[str, Any]:
    """Posterior mean and standard deviation of each row, by objective."""
    belief = engine.belief
    errors = np.full((len(features), problem.d), np.nan)
    if problem.unstructured:
        means = np.where(belief.pulls[:, None] > 0, engine.means, np.nan)
        if problem.partial:
            means[np.diagonal(belief.noise_estimate.count, axis1=1, axis2=2) == 0] = np.nan
        errors = np.sqrt(np.diagonal(engine.covariances(), axis1=1, axis2=2))
    elif not engine.ready:
        means = np.full((len(features), problem.d), np.nan)
    else:
        means = features @ belief.theta
        errors = engine.errors_of(features)
    means = problem.outward(means)
    columns: dict[str, Any] = {}
    for c, label in enumerate(problem.labels):
        columns[f"{label} estimate"] = means[:, c]
        columns[f"{label} se"] = errors[:, c]
    return columns


def quick_progress(problem: Problem, engine: Engine) -> Progress | None:
    """Return the estimate alone, which takes less than a status."""
    if engine.stopped or not engine.ready:
        return None
    stopping = engine.program.stopping
    evidence = stopping.evidence(engine, lambda: settled(problem, engine))
    change = 1.0
    if "log_budget" in evidence and engine.candidate:
        change = math.exp(engine.change_probability()[0])
    found = verdicts_of(problem, engine) if "answers" in evidence else []
    return progress_of(engine.results, evidence, change, found)


def settled(problem: Problem, engine: Engine) -> int:
    """Return how many answers are proven in or out."""
    return sum(one.verdict != "open" for one in verdicts_of(problem, engine, lacking=False))
