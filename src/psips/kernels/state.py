"""The state of a run, in the form that kernels read and change."""

from __future__ import annotations

import numpy as np

from psips.aliases import Floats, Ints, Stream
from psips.kernels.accounts import Account
from psips.kernels.codes import DIRECTED as DIRECTED
from psips.kernels.codes import NOBODY as NOBODY
from psips.kernels.codes import POSTERIOR as POSTERIOR
from psips.kernels.codes import TRACK as TRACK
from psips.kernels.model import Model
from psips.kernels.records import Record, record
from psips.kernels.rival import Rival
from psips.kernels.scene import Scene
from psips.kernels.thresholds import Calibration

# Places in Learner.tally.
ASKED, FRESH = range(2)
# Place in Learner.gap.
MIXABILITY = 0
# Places in Run.room.
ROOM, BUDGET = range(2)
# Places in Run.steps.
REBUILD, LEARN = range(2)
STEPS = 2
# Places in Run.latest.
ARM, NEW = range(2)


@record
class Options(Record):
    """The numbers of the rules in force."""

    learner: int
    tracking: int
    eta: float
    halves: bool  # eta by Algorithm 2, "Estimate and Halve", in the place of that number
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
class Run(Record):
    """All that the steps of a run read and change."""

    scene: Scene
    options: Options
    learner: Learner
    rival: Rival
    account: Account
    outcome: Floats  # see `psips.kernels.outcome`
    key: Stream  # of all draws
    room: Floats  # (2,) what may be spent, pending asks included, now and in all; or inf
    steps: Ints  # (2,) addresses of steps that other steps take, 0 where there is none
    latest: Ints  # (2,) arm of the result just pulled; results that were not judged yet
    result: Floats  # (d,) the one just pulled
