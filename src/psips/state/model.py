"""What never changes during a run.

The core maximises every objective; whatever is minimised has been negated at the edge.
"""

from __future__ import annotations

from psips.aliases import Floats, Ints
from psips.state.records import Record, record

# Kinds of parameter set Theta.
EVERYTHING = 0
BALL = 1
BOX = 2
# What is known of the noise: one covariance for all arms, one for each, neither of the two.
SHARED, EACH, POOLED, OWN = range(4)


@record
class NoiseModel(Record):
    """What is known of the noise beforehand, see `src/core/belief/noise_estimate.h`."""

    mode: int
    partial: bool  # values may be missing
    given: Floats  # (K, d, d) covariance of one result of each arm, where it is needed
    guess: Floats  # (d, d) what it is believed to be
    worth: float  # results that the belief is worth, 0 for none
    binary: Floats  # (d,) 1 where values are 0 or 1
    low: Floats  # (d,) least and largest value there can be; infinite if nothing is known
    high: Floats  # (d,)
    least: int  # results of each arm before anything is judged


@record
class LimitModel(Record):
    """Limits on the means m of every answer, and which metrics are compared.

    Limit l holds of answer z if sign (m[z, metric] - factor m[control, metric]) >= bound.
    """

    metric: Ints  # (L,)
    sign: Floats  # (L,) 1 or -1
    factor: Floats  # (L,) 0 where the control has no part in it
    bound: Floats  # (L,)
    control: int  # 0 if no limit needs it
    aims: Floats  # (d,) 1 where a metric is an objective, 0 where it is only limited
    kept: Floats  # (n,) 0 where an exact metric breaks a limit, else 1; (0,) if none is limited


@record
class Model(Record):
    """A problem as arrays.

    Unstructured problems have ``h = K``, ``n = K`` and empty ``A`` and ``Z``: both stand
    for the identity and are never formed.
    """

    unstructured: bool
    diagonal: bool  # Sigma is diagonal
    K: int  # arms
    n: int  # answers
    h: int  # rows of theta
    d: int  # objectives
    A: Floats  # (K, h) features of the arms, or (0, 0)
    Z: Floats  # (n, h) features of the answers, or (0, 0)
    Sigma: Floats  # (d, d) covariance of one measurement
    L: Floats  # (d, d) lower Cholesky factor of Sigma
    P: Floats  # (d, d) inverse of Sigma
    xi: float  # regularisation; 0 if unstructured, or for least squares
    kind: int  # of Theta: EVERYTHING, BALL or BOX
    ball: Floats  # (d,) radii: ||theta e_c||_2 <= ball[c]
    low: Floats  # (h, d) box, or (0, 0)
    high: Floats  # (h, d) box, or (0, 0)
    explore: Floats  # (K,) w_exp: uniform, or the G-optimal design
    costs: Floats  # (K,) of one pull of each arm
    thrift: Floats  # (K,) w_exp for rules that mind costs: these shares of what is spent
    frame: Floats  # (K, r) arms in coordinates with orthogonal columns, of mean square 1
    first: Ints  # (r,) arms that span the others, to be pulled first; (0,) if not asked for
    noise: NoiseModel
    unit: Floats  # (d,) standard deviation of one measurement, to compare objectives in
    slack: Floats  # (d,) offset of every half-space, minus the tolerance
    relative: Floats  # (d,) where it is this part of a control's mean, that part; else 0
    control: int  # the control's place among the answers; -1 if nothing is relative
    level: Floats  # (d,) zeros: no offset
    facts: Floats  # (n, e) exact metrics that are objectives, NaN while unknown
    give: Floats  # (e,) their tolerances
    even: Floats  # (e,) zeros: no tolerance
    limits: LimitModel
    joint: bool = False  # means of answers and objectives are correlated in no simple way
