"""
Confirming the front of an Ax experiment
========================================

Twenty-five settings of a baking process were tried by Ax, each once, for taste (more is better) and
minutes (less is better). Some of those that look best were lucky. Here the trials near the front
are measured again until the front is known with 90% confidence.

It needs Ax, which brings PyTorch: ``pip install 'psips[ax]'``. It is not run with the other
examples for that reason; ``tests/adapters/test_ax.py`` runs it where Ax is installed.
"""

import numpy as np
from ax.api.client import Client
from ax.api.configs import RangeParameterConfig

from psips.adapters.ax import confirm

rng = np.random.default_rng(7)


def bake(setting):
    """Return the taste and the minutes of one loaf."""
    heat, time = setting["heat"], setting["time"]
    taste = 8 - ((heat - 225) / 30) ** 2 - ((time - 40) / 12) ** 2
    minutes = (
        time + (260 - heat) / 7
    )  # a cooler oven is no faster, and the crust takes longer
    return {"taste": taste + 0.3 * rng.normal(), "minutes": minutes + rng.normal()}


# %%
# Ax keeps the trials; a grid serves as well as its models do to show what comes after.
client = Client(random_seed=1)
client.configure_experiment(
    parameters=[
        RangeParameterConfig(
            name="heat", bounds=(180.0, 260.0), parameter_type="float"
        ),
        RangeParameterConfig(
            name="time", bounds=(20.0, 60.0), parameter_type="float"
        ),
    ]
)
client.configure_optimization(objective="taste, -minutes")
for heat in np.linspace(180.0, 260.0, 5):
    for time in np.linspace(20.0, 60.0, 5):
        setting = {"heat": float(heat), "time": float(time)}
        client.complete_trial(
            client.attach_trial(parameters=setting), raw_data=bake(setting)
        )

# %%
# Ten trials, front by front, are measured again.
found = confirm(client, bake, trials=10, seed=1, delta=0.1)
print(found.trials)
print("front:", found.front, "after", found.session.results, "loaves")
print("lucky the first time:", found.flukes)
