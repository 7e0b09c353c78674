"""Baselines in plain NumPy, one round at a time: slow twins of the kernels."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from psips.problem.gaps import gaps

Floats = npt.NDArray[np.float64]
Pull = Callable[[int], Floats]


def radii(N: Floats, delta: float) -> Floats:
    return np.sqrt(2 * (np.log(1 / delta) + np.log(np.log(np.maximum(N, np.e)))) / N)


def leads(mu: Floats) -> Floats:
    """M(i, j) = max_c (mu_i - mu_j)(c)."""
    return (mu[:, None, :] - mu[None, :, :]).max(axis=2)


def pareto(mu: Floats) -> list[int]:
    def dominated(i: int) -> bool:
        return any(np.all(x >= mu[i]) and np.any(x > mu[i]) for x in mu)

    return [i for i in range(len(mu)) if not dominated(i)]


def ape_indices(mu: Floats, b: Floats, sign: float = 1.0) -> Floats:
    """Index of each arm; ``sign`` -1 is a broken version, with the wrong sign of b_j."""
    K, M, S = len(mu), leads(mu), pareto(mu)
    index = np.empty(K)
    for i in range(K):
        others = [j for j in range(K) if j != i]
        if i in S:
            index[i] = min(M[i, j] - b[i] - sign * b[j] for j in others)
        else:
            index[i] = max(-M[i, j] - b[i] - sign * b[j] for j in others)
    return index


def ape(
    pull: Pull, K: int, sd: Floats, delta: float, cap: int, sign: float = 1.0
) -> tuple[list[int], list[int]]:
    """Return the arms pulled and the answer."""
    arms = list(range(K))
    sums = np.array([pull(a) for a in arms])
    N = np.ones(K)
    while len(arms) < cap:
        mu, b = sums / N[:, None] / sd, radii(N, delta)
        index = ape_indices(mu, b, sign)
        if index.min() >= 0:
            break
        first = int(np.argmin(index))
        near = leads(mu)[first] - b
        near[first] = np.inf
        second = int(np.argmin(near))
        arm = second if N[second] < N[first] else first
        sums[arm] += pull(arm)
        N[arm] += 1
        arms.append(arm)
    return arms, pareto(sums / N[:, None])


def elimination(
    pull: Pull, K: int, sd: Floats, delta: float, keep: bool = True
) -> tuple[list[int], list[int]]:
    """Return the arms pulled and those accepted; ``keep`` False forgets P2: broken."""
    arms: list[int] = []
    sums, N = np.zeros((K, len(sd))), np.zeros(K)
    active, accepted = list(range(K)), []
    while active:
        for a in active:
            sums[a] += pull(a)
            N[a] += 1
            arms.append(a)
        seen = np.maximum(N, 1)
        M, b = leads(sums / seen[:, None] / sd), radii(seen, delta / K)
        r = np.hypot(b[:, None], b[None, :])  # of the difference of two arms
        A1 = [i for i in active if not any(-M[i, j] > r[i, j] for j in active)]
        P1 = [i for i in A1 if all(M[i, j] >= r[i, j] for j in A1 if j != i)]
        rest = [i for i in A1 if i not in P1]
        P2 = [j for j in P1 if not (keep and any(M[i, j] <= r[i, j] for i in rest))]
        accepted += P2
        active = [i for i in A1 if i not in P2]
    return arms, sorted(accepted)


def ege(
    pull: Pull, K: int, sd: Floats, T: int, halving: bool, dropped_first: bool = True
) -> tuple[list[int], list[int]]:
    """Return the arms pulled and those accepted; ``dropped_first`` False is broken."""
    arms: list[int] = []
    sums, N = np.zeros((K, len(sd))), np.zeros(K)
    active, accepted, r = list(range(K)), [], 1
    rounds = int(np.ceil(np.log2(K)))
    logbar = 0.5 + sum(1 / i for i in range(2, K + 1))
    while len(active) > 1:
        goal = np.ceil((T - K) / (logbar * (K + 1 - r)))
        if halving:
            goal = N[active[0]] + T // (len(active) * rounds)
        while N[active].min() < goal:
            a = active[int(np.argmin(N[active]))]
            sums[a] += pull(a)
            N[a] += 1
            arms.append(a)
        mu = sums[active] / N[active][:, None] / sd
        inside, gap = set(pareto(mu)), gaps(mu)
        sign = 1 if dropped_first else -1
        order = sorted(range(len(active)), key=lambda i: (-gap[i], sign * (i in inside), i))
        gone = order[: len(active) // 2 if halving else 1]
        accepted += [active[i] for i in gone if i in inside]
        active = [a for i, a in enumerate(active) if i not in gone]
        r += 1
    return arms, sorted(accepted + active)


def challenger_law(
    mean: Floats, spread: Floats, leader: int, rng: np.random.Generator, draws: int
) -> Floats:
    """Shares of the arms that are best in posterior draws in which ``leader`` is not."""
    best = (mean + spread * rng.standard_normal((draws, len(mean)))).argmax(axis=1)
    counts = np.bincount(best[best != leader], minlength=len(mean)).astype(float)
    return counts / counts.sum()


def ascent_step(logs: Floats, gains: Floats, t: int) -> Floats:
    if gains.max() == 0:  # theta_hat is on the boundary
        return logs
    logs = logs + gains / gains.max() * np.sqrt(np.log(len(logs)) / (1 + t))
    return logs - logs.max()
