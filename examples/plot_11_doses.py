"""
Finding a dose, from the plan to the report
===========================================

A trial looks for doses of a drug: efficacy up, toxicity down, and no dose whose mean toxicity is above 0.3.
No one knows the noise, and the two endpoints are correlated. Differences of less than 0.15 in efficacy, or
0.05 in toxicity, do not matter. Patients come in batches of six, and a batch's results are in when the second one after it has been
enrolled. One endpoint in ten is never measured. And the computer crashes.

All of this is one study, from the plan to the report for the committee.
"""

import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt

from psips import Study, plots
from psips.problem.problem_file import read_problem_file
from psips.report import report
from psips.simulation.planning import plan as make_plan

folder = Path(tempfile.mkdtemp())
store = f"sqlite:///{folder / 'trial.db'}"

# %%
# The design
# ----------
# The covariance is left out, so it is estimated, for each dose by itself. A plan needs a guess of the means, and of
# the noise; the trial itself uses neither.
DESIGN = """
name = "doses"
delta = 0.1
arms = ["placebo", "10 mg", "20 mg", "40 mg", "80 mg"]
partial = true
limits = ["toxicity <= 0.3"]

[epsilon]
efficacy = 0.15
toxicity = 0.05

[[objectives]]
name = "efficacy"

[[objectives]]
name = "toxicity"
direction = "min"
"""
GUESS = """
[guess]
placebo = [0.0, 0.05]
"10 mg" = [0.4, 0.1]
"20 mg" = [0.8, 0.15]
"40 mg" = [1.2, 0.2]
"80 mg" = [1.3, 0.5]
"""
(folder / "design.toml").write_text(DESIGN)
(folder / "plan.toml").write_text(
    DESIGN.replace(
        'name = "efficacy"', 'name = "efficacy"\nvariance = 0.5'
    ).replace('name = "toxicity"', 'name = "toxicity"\nvariance = 0.04')
    + GUESS
)
planned = make_plan(read_problem_file(folder / "plan.toml"), runs=20)
for one in planned.forecasts:
    print(
        f"delta {one.delta:g}: median {one.quantiles[2]:,.0f}, 95% {one.quantiles[4]:,.0f} patients"
    )

# %%
# The clinic
# ----------
# A program of its own: it enrols a batch of six, and tells the results of the batch before the last. It is killed
# while it waits for results (``kill -9``: no clean-up of any kind), and started again. The results are in the database,
# and so are the tickets of the patients whose results are still out.
CLINIC = '''
import os, signal, sys
import numpy as np
from psips import Study

MEANS = {"placebo": (0.0, 0.06), "10 mg": (0.5, 0.1), "20 mg": (0.9, 0.14), "40 mg": (1.3, 0.2), "80 mg": (1.35, 0.5)}
NOISE = np.array([[0.5, 0.05], [0.05, 0.04]])
crash_at = int(sys.argv[1])


def measure(ticket):
    """What comes of a patient: the same, whenever the laboratory is asked."""
    rng = np.random.default_rng(int(ticket.id.rsplit("-", 1)[1]))
    values = rng.multivariate_normal(MEANS[ticket.arm], NOISE)
    if rng.random() < 0.2:  # one of the two endpoints is missing: one value in ten
        values[rng.integers(2)] = np.nan
    return values


study = Study.open("doses", sys.argv[2])
while not study.done:
    study.ask(6)
    waiting = study.open_tickets()
    if len(waiting) > 12:  # results of the batch before the last are in
        for ticket in waiting[:6]:
            study.tell(ticket, measure(ticket))
    if 0 < crash_at <= study.results:
        os.kill(os.getpid(), signal.SIGKILL)
'''
(folder / "clinic.py").write_text(CLINIC)


def run_clinic(crash_at):
    command = [sys.executable, "clinic.py", str(crash_at), store]
    return subprocess.run(command, cwd=folder, check=False).returncode


Study.create(folder / "design.toml", store, seed=1)
ended = run_clinic(crash_at=100)
study = Study.open("doses", store)
print("killed:", ended == -signal.SIGKILL)
print(
    f"{study.results} results are recorded, {len(study.open_tickets())} patients are out, problems in the log: {len(study.verify().problems)}"
)

# %%
# Started again, it goes on with the open tickets, as if nothing had happened.
run_clinic(crash_at=0)
print(study.status())

# %%
# The report
# ----------
# One file for the committee. It says what was claimed and on what grounds: the set, the tolerance, the limit, the noise
# as it was estimated, how many values are missing, and that the log is intact.
page = report(study)
(folder / "report.html").write_text(page)
print(f"report.html: {len(page) // 1024} kB")
missing = study.to_frame()[["efficacy", "toxicity"]].isna().to_numpy().mean()
print(f"missing values: {missing:.0%}")

# %%
# The doses with 95% ellipses.
plots.front(study)
plt.show()
