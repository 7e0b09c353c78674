"""The stopping rule ``predicted``: a set is predicted, then proven from later results.

The evidence for a set and the proof of it are in `psips.kernels.claims`. Here is which sets are
predicted, and when.

Of delta, the share CERTIFIED is for the certificates of `psips.kernels.settling`, which need no
prediction, and the rest for the accounts; delta below is that rest.

A set is predicted when AGREE posterior draws in a row have S_hat for their Pareto set. Its
account is opened then: what was told until that moment, and the pieces with their claims. The
j-th set to be predicted has the share p_j = SHARE (1 - SHARE)^(j - 1) of delta: its pieces must
reach L_j = log(1 / (delta p_j)). A set that was predicted before goes on with its account,
unless all claims of a piece look false: the claims cover more than Alt(S1), and one with the
wrong witness cannot be proven though S1 is right. Then the same set is predicted anew.

Stop when all pieces of the last account of S_hat are settled. Proof: the j-th account is opened
at a stopping time, and from then on the argument for one set holds given the past, so that
P(stop by it, and it is wrong) <= delta p_j. These sum to at most delta, over any number of
accounts, for every theta and however the arms are chosen.

With a tolerance several sets are right, and with many options S_hat keeps changing among them.
The account stays in force while its set is right at the estimates and no other is expected to
be proven sooner (`psips.session.predictions`), and the run stops with its set. The proof does
not mention S_hat. (With an account for each S_hat every change would raise the level, and a
run with 200 options would not end.)

Verdicts on single answers are given by either: by the accounts, see
`psips.kernels.accounts.Account`, the certificates taking these for known. P(any is wrong) is
at most delta in all. The rule also stops when no verdict is open.

With the sampling rule ``directed`` the pulls aim at claims while S_hat is the set predicted: at
the least settled piece, at its claim with the largest likelihood ratio, and there at arms with
probabilities proportional to what they add to the variance of its lead, over what a pull
costs. While S_hat is another set the rule goes on as before the prediction: a false claim never
settles, and pulls that wait for it would never tell enough of the other arms to predict again.
In linear problems a result bears on all claims, and the rule goes on as before too.

An account may be of no use though S1 is right and no claim looks false: a witness that looked
safe at t_1 all but ties with the answer it is to dominate. So one that takes longer than was
expected (LATE) has the share ASIDE of the pulls go as before the prediction, which tells of
other witnesses, and now and then (ANEW) the set is predicted anew if that is expected to cost
clearly less than was spent: see `psips.session.predictions`. All this is decided by what was
told, so that the proof does not change.
"""

from __future__ import annotations

import math

import numpy as np

from psips.aliases import Floats, Ints, Stream
from psips.kernels.accounts import (
    ANEW,
    CERTIFIED,
    LATE,
    OTHER,
    Account,
    add_verdicts,
    conclude,
    look,
    same_set,
    stands,
)
from psips.kernels.belief import RESULTS
from psips.kernels.certificates import escape, log_volume, looked_along
from psips.kernels.choosing import direct, opening
from psips.kernels.cover import dismiss
from psips.kernels.draws import begin_draw, changes_set, look_at_all
from psips.kernels.front import Front
from psips.kernels.functionals import weigh_claims
from psips.kernels.grids import ints
from psips.kernels.jit import bare, part, step
from psips.kernels.judging import no_draws
from psips.kernels.loop import PREDICT
from psips.kernels.outcome import STOPPED
from psips.kernels.rng import PULL, STOP, seed, uniform
from psips.kernels.scene import LITERALS, Scene
from psips.kernels.settling import AGAINST, ESCAPES, HINTED, OPEN, all_settled, level
from psips.kernels.state import ASKED, Run

AGREE = 30  # posterior draws that must agree before a set is predicted
ASIDE = 0.1  # of the pulls, while an account takes longer than was expected


@part
def aiming(scene: Scene, account: Account) -> bool:
    """Whether there are open claims to aim at."""
    return account.size[0] > 0 and stands(scene.posterior, scene.front, account)


@part
def agreed(scene: Scene) -> bool:
    """Whether AGREE posterior draws have the Pareto set S_hat.

    They are whole draws, so that the answer does not depend on what was asked.
    """
    for _ in range(AGREE):
        scene.draw.made[LITERALS] += 1.0
        begin_draw(scene, 1.0)
        look_at_all(scene, 1.0)
        if changes_set(scene, scene.draw.values):
            return False
    return True


@bare
def aim(
    account: Account,
    costs: Floats,
    pending: Floats,
    theta: Floats,
    out: Floats,
    stream: Stream,
) -> int:
    """Return an arm of the least settled piece, for its clearest claim."""
    waiting = False
    for a in range(pending.shape[0]):
        waiting = waiting or pending[a] > 0.0
    least, which = np.inf, -1
    for i in range(account.size[0]):
        k = account.left[i]
        value, o = account.value[k], account.best[k]
        if waiting:
            _, value, o = look(account, k, pending, theta, out)
        if value < least:
            least, which = value, o
    total = 0.0
    for a in range(account.involved[which]):
        arm = account.arms[which, a]
        n = account.n[arm] + pending[arm]
        if n <= 0.0:
            return arm
        out[0, a] = account.s[which, a] / n / costs[arm]
        total += out[0, a]
    u = uniform(stream) * total
    arm = account.arms[which, 0]
    for a in range(account.involved[which]):
        if u > 0.0:
            arm = account.arms[which, a]
        u -= out[0, a]
    return arm


@step
def choose_predicted(run: Run) -> int:
    """Pull for open claims of the predicted set; without one, as the directed rule does."""
    arm = opening(run)
    if arm >= 0:
        return arm
    scene, learner, account = run.scene, run.learner, run.account
    if not scene.model.unstructured or not aiming(scene, account):
        return direct(run)
    stream, costs = scene.draw.stream, scene.model.costs
    seed(stream, run.key, learner.tally[ASKED], PULL)
    late = float(scene.belief.tally[RESULTS]) >= account.due[LATE]
    if late and uniform(stream) < ASIDE:
        return direct(run)
    dismiss(scene.cover)
    arm = aim(account, costs, learner.pending, scene.belief.theta, account.work, stream)
    learner.pending[arm] += 1.0
    learner.played[arm] += 1.0  # as if weights had said so: others are not behind for it
    return arm


@part
def open_beside(scene: Scene, log_inverse: float, verdict: Ints, hint: Floats) -> bool:
    """With a tolerance, whether the answer of ``hint`` has not escaped its rival yet.

    Members must escape all answers then, not those alone that may be members themselves, and
    `all_settled` remembers rivals of the latter kind only.
    """
    model, z, x = scene.model, int(hint[HINTED]), int(hint[AGAINST])
    if not scene.posterior.tolerant or x < 0 or z == x or verdict[z] != OPEN:
        return False
    if not scene.front.inside[z] or scene.front.inside[x]:
        return False
    Y = looked_along(model)
    enough = level(model, Y.shape[0], ESCAPES, 0, model.n, log_inverse)
    volume = log_volume(model, scene.belief)
    return escape(model, scene.belief, Y, z, x, volume, enough) < enough


@part
def certain(run: Run) -> bool:
    """Whether certificates settle all that the account of S_hat leaves open."""
    scene, account = run.scene, run.account
    verdict = ints(scene.model.n)
    if same_set(scene.front.inside, account.inside):
        add_verdicts(account, verdict)
    log_inverse = run.options.calibration.log_inverse - math.log(CERTIFIED)
    if open_beside(scene, log_inverse, verdict, account.hint):
        return False
    return all_settled(
        scene.model, scene.belief, scene.front, log_inverse, verdict, account.hint
    )


@bare
def due(front: Front, account: Account) -> float:
    """Results at which S_hat is looked at, though the account can prove its set."""
    if same_set(front.inside, account.inside):
        return account.due[ANEW]
    return min(account.due[ANEW], account.due[OTHER])


@step
def judge_predicted(run: Run) -> int:
    """Stop when no verdict is open; say so if a set is to be predicted."""
    scene, belief, account = run.scene, run.scene.belief, run.account
    told = float(belief.tally[RESULTS])
    no_draws(run)
    if account.level[0] > 0.0:
        weigh_claims(scene.model, belief, account)
    hopeful = conclude(scene.posterior, scene.front, account, run.outcome)
    if run.outcome[STOPPED] == 1.0 or certain(run):
        run.outcome[STOPPED] = 1.0
    elif told > 0.0 and (not hopeful or told >= due(scene.front, account)):
        seed(scene.draw.stream, run.key, belief.tally[RESULTS], STOP)
        if agreed(scene):
            return PREDICT
    return 0
