"""The stopping rule ``predicted``: a set is predicted, then proven from later results.

The evidence for a set and the proof of it are in `psips.kernels.claims`. Here is which sets are
predicted, and when.

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

With the sampling rule ``directed`` the pulls aim at claims while S_hat is the set predicted: at
the least settled piece, at its claim with the largest likelihood ratio, and there at arms with
probabilities proportional to what they add to the variance of its lead. While S_hat is another
set the rule goes on as before the prediction: a false claim never settles, and pulls that wait
for it would never tell enough of the other arms to predict again.
"""

from __future__ import annotations

import math

import numpy as np

from psips.kernels.accounts import Account, conclude, lend_account, look, same_set, weigh
from psips.kernels.belief import Belief, learn, ready
from psips.kernels.cover import Cover, refresh
from psips.kernels.draws import Draw, draw_row
from psips.kernels.front import EAGER, MEMBERS, Front, elect_plainly
from psips.kernels.jit import bare, kernel, part, spliced
from psips.kernels.lending import (
    lend_belief,
    lend_cover,
    lend_draw,
    lend_front,
    lend_learner,
    lend_model,
)
from psips.kernels.model import Floats, Model
from psips.kernels.noise import Source, pull
from psips.kernels.pareto import Mask, in_alternative
from psips.kernels.rng import LEARN, PULL, STOP, Stream, seed, uniform
from psips.kernels.round import (
    ASKED,
    DIRECTED,
    STOPPED,
    Learner,
    Options,
    find_response,
    fixed_weights,
    next_arm,
    play,
    unseen,
)
from psips.kernels.run import ASK, RUN, TELL
from psips.kernels.tree import build

AGREE = 10  # posterior draws that must agree before a set is predicted
PREDICT = -2  # in the place of an arm: S_hat is to be predicted


@bare
def aiming(sampling: int, inside: Mask, account: Account) -> bool:
    """Whether the pulls aim at open claims."""
    return sampling == DIRECTED and account.size[0] > 0 and same_set(inside, account.inside)


@part
def agreed(model: Model, belief: Belief, front: Front, draw: Draw) -> bool:
    """Whether AGREE posterior draws have the Pareto set S_hat.

    They are whole draws, so that the answer does not depend on what was asked.
    """
    members = front.members[: front.size[MEMBERS]]
    draw.made[2] += 1.0  # what is in ``values`` is no draw of others
    for _ in range(AGREE):
        draw.made[1] += 1.0
        for a in range(model.K):
            sd = 1.0 / math.sqrt(belief.N[a])
            draw_row(draw.stream, model.L, belief.theta, sd, a, draw.values)
        if in_alternative(draw.values, front.inside, members):
            return False
    return True


@spliced
def judge_claims(
    model: Model,
    options: Options,
    belief: Belief,
    front: Front,
    cover: Cover,
    draw: Draw,
    account: Account,
    nothing: Floats,
    outcome: Floats,
    key: Stream,
) -> bool:
    """Candidate set and stopping rule for the data as they stand; whether to predict S_hat."""
    size = front.size
    predict = False
    outcome[STOPPED] = 0.0
    if ready(model.unstructured, belief.pulls, belief.tally):
        if size[EAGER] == 2 or aiming(options.sampling, front.inside, account):
            size[EAGER] = 1
        if size[EAGER] == 1:
            elect_plainly(model, belief, front, draw.piece)
        elif not refresh(model, belief, front, cover, draw.piece):
            build(model, belief, front, cover, front.reach[2])
        front.reach[2] = max(1.0, 1.0 / options.eta)
        if account.level[0] > 0.0:
            weigh(belief.pulls, belief.B, belief.theta, nothing, account)
        if not conclude(front, account, outcome):
            seed(draw.stream, key, belief.tally[0], STOP)
            predict = agreed(model, belief, front, draw)
    return predict


@bare
def aim(account: Account, pending: Floats, theta: Floats, out: Floats, stream: Stream) -> int:
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
        out[0, a] = account.s[which, a] / n
        total += out[0, a]
    u = uniform(stream) * total
    arm = account.arms[which, 0]
    for a in range(account.involved[which]):
        if u > 0.0:
            arm = account.arms[which, a]
        u -= out[0, a]
    return arm


@kernel
def drive_predicted(
    model: Model,
    options: Options,
    belief: Belief,
    front: Front,
    cover: Cover,
    draw: Draw,
    learner: Learner,
    account: Account,
    outcome: Floats,
    key: Stream,
    source: Source,
    noise_key: Stream,
    mode: int,
    results: int,
) -> int:
    """As `psips.kernels.run.drive`; PREDICT in the place of an arm when S_hat is predicted."""
    model, belief = lend_model(model), lend_belief(belief)
    front, cover = lend_front(front), lend_cover(cover)
    draw, learner = lend_draw(draw), lend_learner(learner)
    account = lend_account(account)
    x, w = np.empty(model.d), np.empty(model.K)
    stream, nothing = np.empty(4, np.uint64), np.zeros(model.K)
    arm = -1
    while True:
        if mode != TELL:
            if mode == RUN and (belief.tally[0] >= results or outcome[STOPPED] == 1.0):
                break
            arm = unseen(model, belief, learner)
            if arm >= 0:
                learner.pending[arm] += 1.0
            else:
                learner.tally[ASKED] += 1
                if aiming(options.sampling, front.inside, account):
                    seed(draw.stream, key, learner.tally[ASKED], PULL)
                    arm = aim(account, learner.pending, belief.theta, account.work, draw.stream)
                    learner.pending[arm] += 1.0
                else:
                    learned = not fixed_weights(model, options, belief, w)
                    if learned:
                        seed(draw.stream, key, learner.tally[ASKED], LEARN)
                        scale = find_response(
                            model, options, belief, front, cover, draw, outcome
                        )
                        play(model, options, belief, front, draw, learner, scale, w)
                    arm = next_arm(model, options, belief, learner, draw, key, learned, w)
            if mode == ASK:
                break
            pull(source, noise_key, arm, int(belief.pulls[arm]), stream, x)
            learner.pending[arm] -= 1.0
            learn(model, belief, arm, x)
        if judge_claims(
            model, options, belief, front, cover, draw, account, nothing, outcome, key
        ):
            arm = PREDICT
            break
        if mode == TELL:
            break
    return arm
