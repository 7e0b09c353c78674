"""Problems as they were recorded: from plain data to what a problem is made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from psips.errors import InputError, check_keys
from psips.input.checks import Table
from psips.problem.noise import NoiseGuess
from psips.problem.parameters import Ball, Box, Prior

KEYS = (
    *("name", "objectives", "directions", "covariance", "arms", "feature_names"),
    *("features", "answers", "ball", "box", "regularization"),
)
LATER = (  # may be missing
    *("intercept", "prior", "costs", "control", "epsilon", "limits"),
    *("noise_guess", "scales", "partial", "blocks"),
)


def read_record(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of the `Problem` that was recorded."""
    check_keys("key of a problem", data, [*KEYS, *LATER])
    missing = [key for key in KEYS if key not in data]
    if missing:
        raise InputError(f"the problem lacks the key {missing[0]!r}: was it cut short?")
    ball, box, features, answers = (data[k] for k in ("ball", "box", "features", "answers"))
    if features is not None:
        features = Table(data["arms"], tuple(data["feature_names"]), features)
    prior, guess = data.get("prior"), data.get("noise_guess")
    scales = data.get("scales") or [{}] * len(data["objectives"])
    said = zip(data["objectives"], data["directions"], scales, strict=True)
    return {
        "name": data["name"],
        "objectives": {name: {"direction": way, **scale} for name, way, scale in said},
        "covariance": data["covariance"],
        "arms": data["arms"],
        "features": features,
        "answers": None if answers is None else tuple(zip(*answers, strict=True)),
        "intercept": data.get("intercept", False),
        "parameter_set": Ball(ball) if ball is not None else Box(*box) if box else None,
        "prior": Prior(**prior) if prior else None,
        "regularization": data["regularization"],
        "costs": data.get("costs"),
        "control": data.get("control"),
        "epsilon": data.get("epsilon"),
        "limits": data.get("limits"),
        "noise_guess": NoiseGuess(**guess) if guess else None,
        "partial": data.get("partial", False),
        "items": data.get("blocks", False),
    }
