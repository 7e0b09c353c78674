"""
Confirming an Optuna front
==========================

Optuna proposes settings; here it tunes a small model for accuracy and for speed. Every evaluation is noisy
(another split of the data, another seed), and each trial is evaluated once. So the front that it reports is
partly luck: a trial is on it because it is good, or because its noise was favourable.

psips takes trials of that front and measures them again, until it is known which of them are Pareto-optimal.
(Optuna comes with ``pip install 'psips[optuna]'``.)
"""

from time import perf_counter

import numpy as np
import optuna

from psips import Problem, Session, plots

optuna.logging.set_verbosity(optuna.logging.WARNING)
rng = np.random.default_rng(3)


# %%
# A noisy evaluation
# ------------------
# Ridge regression on random Fourier features, fitted to a random half of a data set and scored on the
# rest: a real fit each time. More features are more accurate up to a point, and make predictions slower.
# Both numbers are measured, and both are noisy.
x = rng.uniform(-3, 3, (600, 2))
y = np.sin(2 * x[:, 0]) + 0.5 * x[:, 1] ** 2 + rng.normal(0, 0.6, 600)
new = rng.uniform(-3, 3, (3000, 2))


def evaluate(features, width, penalty):
    order = rng.permutation(len(x))
    train, test = order[:300], order[300:]
    frequencies = rng.normal(0, width, (2, features))
    shift = rng.uniform(0, 2 * np.pi, features)
    z = np.cos(x @ frequencies + shift)
    gram = z[train].T @ z[train] + penalty * np.eye(features)
    coefficients = np.linalg.solve(gram, z[train].T @ y[train])
    error = np.mean((z[test] @ coefficients - y[test]) ** 2)
    begun = perf_counter()
    np.cos(new @ frequencies + shift) @ coefficients
    return float(error), 1000 * (perf_counter() - begun)


# %%
# Optuna looks for a front
# ------------------------
# Two objectives, both to be minimised: the error, and the time of 3,000 predictions.
def objective(trial):
    return evaluate(
        trial.suggest_int("features", 4, 120, log=True),
        trial.suggest_float("width", 0.2, 3.0, log=True),
        trial.suggest_float("penalty", 1e-3, 10.0, log=True),
    )


evaluate(4, 1.0, 1.0)  # the first call of anything is slow
study = optuna.create_study(
    directions=["minimize", "minimize"], sampler=optuna.samplers.TPESampler(seed=1)
)
study.optimize(objective, n_trials=150)
front = sorted(study.best_trials, key=lambda trial: trial.values[1])
print(len(front), "trials are on the front that Optuna reports")

# %%
# psips confirms it
# -----------------
# The arms are trials of that front; five of them, spread over it, keep this page short. Errors and
# times are positive and skewed, so their logarithms are compared; their noise is estimated.
places = np.unique(np.linspace(0, len(front) - 1, 5).round().astype(int))
trials = {f"trial {front[k].number}": front[k] for k in places}
skewed = {"direction": "min", "transform": "log"}
problem = Problem(
    arms=list(trials), objectives={"error": skewed, "milliseconds": skewed}
)

session = Session(problem, delta=0.1, budget=2500, rng=1)
while not session.done:
    ticket = session.ask()
    session.tell(ticket, evaluate(**trials[ticket].params))

print(
    "stopped" if session.stopped else "budget used up",
    "after",
    session.results,
    "evaluations",
)
print("candidates:", ", ".join(session.candidate_set))
if session.stopped:
    lucky = sorted(set(trials) - set(session.candidate_set))
    print("on the front by luck:", ", ".join(lucky) or "none")

# %%
# What the one evaluation by Optuna said (crosses), and what the mean is (95% ellipses). The axes have
# logarithms, as these are what is compared. A cross far from its ellipse was luck, good or bad.
ax = plots.front(session)
for trial in trials.values():
    ax.plot(*np.log(trial.values), "x", color="#D55E00", zorder=5)
