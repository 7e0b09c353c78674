"""Algorithm 1's inner loop, to the letter: the reference for everything faster.

Posterior draws v_1, v_2, ... are made one at a time and read twice, by the stopping rule
(inflated by c) and by the min learner (inflated by 1 / eta).
"""

from __future__ import annotations

import math

import numpy as np

from psips.aliases import Floats
from psips.kernels.belief import in_theta
from psips.kernels.draws import OUTSIDE, PATIENCE, changes_set
from psips.kernels.grids import floats2
from psips.kernels.jit import part
from psips.kernels.posterior import draw_answer, draw_theta, image
from psips.kernels.scene import HALT, LITERALS, Scene


@part
def draw_point(scene: Scene) -> None:
    """One whole posterior draw into ``draw.theta``."""
    p, draw = scene.posterior, scene.draw
    draw.made[LITERALS] += 1.0
    if p.separate:
        for a in range(scene.model.n):
            draw_answer(p, draw.stream, 1.0, a, draw.theta)
    else:
        draw_theta(p, draw.stream, 1.0, draw.row, draw.theta)


@part
def write_answers(scene: Scene, point: Floats) -> None:
    """Write the answers at ``point`` (h, d) into ``draw.values``."""
    p, values = scene.posterior, scene.draw.values
    for a in range(scene.model.n):
        if p.separate:
            for c in range(scene.model.d):
                values[a, c] = point[a, c]
        else:
            image(p.Z, point, a, values)


@part
def inflate(scene: Scene, scale: float, point: Floats) -> None:
    """Write theta_hat + scale v for the draw v, and its answers into ``draw.values``."""
    mean, drawn = scene.posterior.theta, scene.draw.theta
    for i in range(point.shape[0]):
        for c in range(point.shape[1]):
            point[i, c] = mean[i, c] + scale * (drawn[i, c] - mean[i, c])
    write_answers(scene, point)


@part
def shared_draws(
    scene: Scene, stop_scale: float, log_budget: float, learn_scale: float, point: Floats
) -> tuple[float, float]:
    """Draw for both readers; return the logs of m_{t,delta} and m_t, infinite if not found.

    The rule stops if m_{t,delta} is infinite. A scale of 0 stands for a reader who does not
    read. The learner's hit is left in ``point``; it is in Theta too, the stopping rule's need
    not be (see `psips.kernels.firsthit.later_hit`).
    """
    model, draw = scene.model, scene.draw
    outside = 0
    trial = floats2(model.h, model.d)
    stops, learns = stop_scale > 0.0, learn_scale > 0.0
    stop_hit, learn_hit = np.inf, np.inf
    index = 0.0
    while stops or learns:
        index += 1.0
        draw_point(scene)
        if stops:
            inflate(scene, stop_scale, trial)
            if changes_set(scene, draw.values):
                stop_hit = math.log(index)
                stops = False
            elif math.log(index) >= log_budget:
                break
        if learns:
            inflate(scene, learn_scale, trial)
            if changes_set(scene, draw.values):
                outside += 1
                if in_theta(model, trial) or outside >= OUTSIDE:
                    learn_hit = math.log(index)
                    learns = False
                    for i in range(model.h):
                        for c in range(model.d):
                            point[i, c] = trial[i, c]
        if index >= PATIENCE and not stops:
            break
        if draw.made[HALT] != 0.0:  # no hit is no reason to stop then
            stop_hit = min(stop_hit, math.log(index))
            break
    return stop_hit, learn_hit


@part
def in_ball_hit(scene: Scene, scale: float, radius: float, point: Floats) -> float:
    """Log of the number of draws from the posterior on Theta_t until one is in Alt(S_hat).

    Theta_t = { ||lambda_a|| < radius in Sigma^-1 for every arm } is a product over the arms
    (unstructured), so each arm is drawn until it is inside.
    """
    model, draw, P = scene.model, scene.draw, scene.model.P
    outside = 0
    for index in range(1, PATIENCE):
        draw.made[LITERALS] += 1.0
        for a in range(model.K):
            for _ in range(PATIENCE):
                draw_answer(scene.posterior, draw.stream, scale, a, point)
                square = 0.0
                for c in range(model.d):
                    for e in range(model.d):
                        square += point[a, c] * P[c, e] * point[a, e]
                if square < radius * radius or draw.made[HALT] != 0.0:
                    break
        if draw.made[HALT] != 0.0:
            break
        if changes_set(scene, point):
            outside += 1
            if in_theta(model, point) or outside >= OUTSIDE:
                return math.log(index)
    return np.inf
