"""What the noise of runs is like: how rounds differ, and which runs are far from the rest."""

from __future__ import annotations

import math
import os

import numpy as np

from psips.aliases import Floats
from psips.commands.labels import Labels
from psips.commands.metrics import Metric
from psips.commands.quantities import written
from psips.commands.rounds import Measurements
from psips.errors import counted
from psips.session.mixed import MixedEngine

FAR = 7.0  # standard deviations, which Gaussian noise does not reach in a million runs
NORMAL = 1.4826  # of a Gaussian: its standard deviation over its median absolute deviation
WORTH_SAYING = 0.03  # standard deviation between rounds of logarithms
BUSY = 1.0  # processes that want to run, of each core
FEWEST_RUNS = 20  # runs, of which outliers can be told


def noise_notes(known: Measurements, metrics: list[Metric], labels: Labels) -> list[str]:
    """Say how the machine behaved, if it is worth a word."""
    notes = []
    between = _between(known, metrics)
    for name, share in between.items():
        notes.append(
            f"Rounds differed by {share:.0%} in {name} (other programs, temperature); options "
            f"are compared within rounds, where that cancels."
        )
    notes += _outliers(known, metrics, labels)
    busy = _busy()
    if busy:
        notes.append(busy)
    return notes


def _between(known: Measurements, metrics: list[Metric]) -> dict[str, float]:
    """Return by metric how much rounds differ, where that is worth a word."""
    found: dict[str, float] = {}
    engine = known.judged.engine
    if not isinstance(engine, MixedEngine):
        return found
    covariance = engine.between
    names = list(known.judged.noisy.objectives)
    for metric in metrics:
        if metric.name in names and metric.log:
            c = names.index(metric.name)
            sd = math.sqrt(max(float(covariance[c, c]), 0.0))
            if sd > WORTH_SAYING:
                found[metric.name] = math.expm1(sd)
    return found


def within_rounds(known: Measurements) -> Floats:
    """Return values (T, d) as they are compared, less what their round has in common.

    Medians of medians, which a few far values do not move.
    """
    problem = known.problem
    x = problem.compared(np.array([one.values for one in known.samples]))
    arms = np.array([problem.arm_index(one.option) for one in known.samples])
    rounds = np.array([one.round for one in known.samples])
    centre = np.array([np.median(x[arms == a], axis=0) for a in range(problem.K)])
    rest = x - centre[arms]
    for number in np.unique(rounds):
        here = rounds == number
        if here.sum() > 2:
            x[here] -= np.median(rest[here], axis=0)
    return np.asarray(x)


def _outliers(known: Measurements, metrics: list[Metric], labels: Labels) -> list[str]:
    """Say which runs are too far from the others of their option to be noise."""
    samples = known.samples
    if len(samples) < FEWEST_RUNS:
        return []
    away = distances(known)
    away[:, [metric.exact for metric in metrics]] = 0.0
    rows = np.flatnonzero(away.max(axis=1) > FAR)
    if not len(rows):
        return []
    first = int(away.max(axis=1).argmax())
    c = int(away[first].argmax())
    one, unit = samples[first], metrics[c].unit
    usual = np.median([other.values[c] for other in samples if other.option == one.option])
    verb = "lies" if len(rows) == 1 else "lie"
    value, often = written(one.values[c], unit), written(float(usual), unit)
    return [
        f"{counted(len(rows), 'run')} of {len(samples):,} {verb} far from the rest, as other "
        f"programs cause (round {one.round}: {labels[one.option]} {value} in "
        f"{metrics[c].name}, usually {often}); they count as noise, so more runs were needed."
    ]


def distances(known: Measurements) -> Floats:
    """Return how far runs (T, d) are from the median of their option, in standard deviations.

    These are taken from medians, too, so that many far values do not hide each other. With few
    runs of an option, those of all options serve. A run is as far as it is both among all runs
    and within its round: it is the others that are far where a round was slow without it.
    """
    problem = known.problem
    raw = problem.compared(np.array([one.values for one in known.samples]))
    return np.minimum(_distances(known, within_rounds(known)), _distances(known, raw))


def _distances(known: Measurements, x: Floats) -> Floats:
    problem = known.problem
    arms = np.array([problem.arm_index(one.option) for one in known.samples])
    rest = np.empty(x.shape)
    for a in range(problem.K):
        rest[arms == a] = x[arms == a] - np.median(x[arms == a], axis=0)
    usual = NORMAL * np.median(np.abs(rest), axis=0)
    found = np.empty(x.shape)
    for a in range(problem.K):
        own = np.maximum(NORMAL * np.median(np.abs(rest[arms == a]), axis=0), usual)
        found[arms == a] = np.abs(rest[arms == a]) / np.where(own > 0.0, own, np.inf)
    return found


def _busy() -> str:
    """Say that other programs wanted the processor."""
    try:
        load, cores = os.getloadavg()[0], os.cpu_count() or 1
    except (OSError, AttributeError):
        return ""
    if load < BUSY * cores + 1.0:
        return ""
    return f"The machine was busy (load {load:.1f} on {counted(cores, 'core')})."
