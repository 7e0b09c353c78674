"""Algorithm 1's inner loop, to the letter: the reference for everything faster.

Posterior draws v_1, v_2, ... are made one at a time and read twice, by the stopping rule
(inflated by c) and by the min learner (inflated by 1 / eta).
"""

from __future__ import annotations

import math

import numpy as np

from psips.kernels.belief import Belief, in_theta
from psips.kernels.draws import (
    HALT,
    LITERALS,
    NUMBER,
    OUTSIDE,
    PATIENCE,
    Draw,
    draw_rest,
    draw_row,
    draw_theta,
)
from psips.kernels.front import Front, copy_rows, image
from psips.kernels.grids import floats2
from psips.kernels.jit import part
from psips.kernels.learner import form
from psips.kernels.model import Floats, Ints, Model
from psips.kernels.pareto import in_alternative


@part
def draw_point(model: Model, belief: Belief, front: Front, draw: Draw) -> None:
    """One whole posterior draw into ``draw.theta``."""
    draw.made[LITERALS] += 1.0
    draw.made[NUMBER] += 1.0
    if model.unstructured:
        number = int(draw.made[NUMBER])
        draw_rest(
            draw.stream,
            model.L,
            belief.theta,
            front.inverse,
            1.0,
            draw.theta,
            draw.drawn,
            number,
        )
    else:
        row = draw.work[0]
        draw_theta(draw.stream, model.L, belief.F, belief.theta, 1.0, row, draw.theta)


@part
def inflate(model: Model, belief: Belief, draw: Draw, scale: float, point: Floats) -> None:
    """Write theta_hat + scale v for the draw v, and its answers into ``draw.values``."""
    h, d = point.shape
    for i in range(h):
        for c in range(d):
            point[i, c] = belief.theta[i, c] + scale * (draw.theta[i, c] - belief.theta[i, c])
    if model.unstructured:
        copy_rows(point, draw.values)
    else:
        for a in range(model.n):
            image(model.Z, point, a, draw.values)


@part
def shared_draws(
    model: Model,
    belief: Belief,
    front: Front,
    draw: Draw,
    members: Ints,
    inflation: float,
    log_budget: float,
    eta: float,
    learns: bool,
    point: Floats,
) -> tuple[float, float]:
    """Draw for both readers; return the logs of m_{t,delta} and m_t, infinite if not found.

    The rule stops if m_{t,delta} is infinite. The learner's hit is left in ``point``; it is
    in Theta too, the stopping rule's need not be (see ``firsthit.first_hit``).
    """
    outside = 0
    stop_scale, learn_scale = math.sqrt(inflation), 1.0 / math.sqrt(eta)
    trial = floats2(model.h, model.d)
    stop_hit, learn_hit = np.inf, np.inf
    index = 0.0
    while stop_hit == np.inf or (learns and learn_hit == np.inf):
        index += 1.0
        draw_point(model, belief, front, draw)
        if stop_hit == np.inf:
            inflate(model, belief, draw, stop_scale, trial)
            if in_alternative(draw.values, front.inside, members):
                stop_hit = math.log(index)
            elif math.log(index) >= log_budget:
                break
        if learns and learn_hit == np.inf:
            inflate(model, belief, draw, learn_scale, trial)
            if in_alternative(draw.values, front.inside, members):
                outside += 1
                kind, ball, low, high = model.kind, model.ball, model.low, model.high
                if in_theta(kind, ball, low, high, trial) or outside >= OUTSIDE:
                    learn_hit = math.log(index)
                    copy_rows(trial, point)
        if index >= PATIENCE and stop_hit < np.inf:
            break
        if draw.made[HALT] != 0.0:  # no hit is no reason to stop then
            stop_hit = min(stop_hit, math.log(index))
            break
    return stop_hit, learn_hit


@part
def in_ball_hit(
    model: Model,
    belief: Belief,
    front: Front,
    draw: Draw,
    members: Ints,
    eta: float,
    radius: float,
    point: Floats,
) -> float:
    """Log of the number of draws from the posterior on Theta_t until one is in Alt(S_hat).

    Theta_t = { ||lambda_a|| < radius in Sigma^-1 for every arm } is a product over the arms
    (unstructured), so each arm is drawn until it is inside.
    """
    scale = 1.0 / math.sqrt(eta)
    outside = 0
    for index in range(1, PATIENCE):
        draw.made[LITERALS] += 1.0
        for a in range(model.K):
            sd = scale * math.sqrt(front.inverse[a])
            for _ in range(PATIENCE):
                draw_row(draw.stream, model.L, belief.theta, sd, a, point)
                if form(model.P, point[a]) < radius * radius or draw.made[HALT] != 0.0:
                    break
        if draw.made[HALT] != 0.0:
            break
        if in_alternative(point, front.inside, members):
            outside += 1
            kind, ball, low, high = model.kind, model.ball, model.low, model.high
            if in_theta(kind, ball, low, high, point) or outside >= OUTSIDE:
                return math.log(index)
    return np.inf
