"""The state of a run, as the core reads and changes it; see `src/core/records.h`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from psips.aliases import Floats, Ints, Stream
from psips.state.account import Account
from psips.state.calibration import Calibration
from psips.state.model import Model
from psips.state.posterior import Posterior, posterior_of
from psips.state.records import Record, record
from psips.state.search import SearchState

# Places in Learner.tally.
ASKED, FRESH = range(2)
# Places in Run.latest.
ARM, NEW = range(2)
STOPPED, LOG_HIT, LOG_BUDGET, INFLATION, LOG_LEARNED = range(5)
EVIDENCE, THRESHOLD, HINT = range(5, 8)  # of the rules that do not draw; HINT has two
OUTCOMES = 9
# Standing of an arm in the elimination.
ACTIVE, ACCEPTED, DROPPED = range(3)


class Outcome(NamedTuple):
    """What the stopping rule says of the results told so far, as far as it says it."""

    stopped: float
    log_hit: float  # log of the index of the first draw in the alternative
    log_budget: float  # log of how many draws it must not be among
    inflation: float
    log_learned: float  # log of the index of the learner's first hit
    evidence: float
    threshold: float
    settled: float  # of the rule 'predicted': claims that hold,
    pieces: float  # .. and all of them


@record
class Options(Record):
    """The numbers of the rules in force."""

    learner: int
    tracking: int
    eta: float
    halves: bool  # eta by Algorithm 2, "Estimate and Halve", instead of that number
    alpha: float
    calibration: Calibration
    target: Floats  # (K,) weights of the oracle, (0,) otherwise
    goal: Ints  # (2,) what 'certified' is to prove: its kind, and how many or which answer


@record
class Learner(Record):
    """State of the sampling rule; updated in place."""

    gains: Floats  # (K,) cumulative gains of AdaHedge
    gap: Floats  # (1,) its cumulative mixability gap
    played: Floats  # (K,) sum of the weights played
    pending: Floats  # (K,) asked and not yet told
    estimate: Floats  # (2,) SPREAD and CENTRE of Algorithm 2, 0 if not yet set
    point: Floats  # (h, d) the learner's hit among the shared literal draws
    tally: Ints  # (2,) asks made; whether ``point`` is fresh


def empty_learner(model: Model) -> Learner:
    """Return the state of a sampling rule that has not been asked."""
    return Learner(
        np.zeros(model.K),
        np.zeros(1),
        np.zeros(model.K),
        np.zeros(model.K),
        np.zeros(2),
        np.zeros((model.h, model.d)),
        np.zeros(2, np.int64),
    )


@record
class Design(Record):
    """A design to respond to, for Track-and-Stop; written again each time."""

    posterior: Posterior  # with weights instead of pulls
    V: Floats  # (h, h) its precision, (0, 0) if unstructured


@record
class BaselineState(Record):
    """State of a baseline (see `src/core/baselines`); updated in place."""

    standing: Ints  # (K,) ACTIVE, ACCEPTED or DROPPED
    rounds: Ints  # (1,) rounds of the elimination that are over
    logs: Floats  # (K,) logarithms of Track-and-Stop's weights, the largest 0
    design: Design


def empty_baseline(model: Model) -> BaselineState:
    """Return the state of a baseline before its first result."""
    K, width = model.K, model.Z.shape[1]
    theta, F, V = (
        np.zeros((model.h, model.d)),
        np.zeros((width, width)),
        np.zeros((width, width)),
    )
    design = Design(posterior_of(model, np.zeros(K), theta, F), V)
    return BaselineState(np.zeros(K, np.int64), np.zeros(1, np.int64), np.zeros(K), design)


@record
class Run(Record):
    """All that the steps of a run read and change."""

    search: SearchState
    options: Options
    learner: Learner
    baseline: BaselineState
    account: Account
    outcome: Floats  # see the places above
    key: Stream  # of all draws
    room: Floats  # (2,) what may be spent, pending asks included, now and in all; or inf
    latest: Ints  # (2,) arm of the result just pulled; results that were not judged yet
    result: Floats  # (d,) the one just pulled
