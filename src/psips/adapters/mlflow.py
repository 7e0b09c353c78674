"""A study in MLflow: a run for the study, with report and figures, and one for each arm."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from psips import plots
from psips.report import report
from psips.session.status import Status
from psips.study import Study
from psips.study.exports import as_csv

LONGEST = 500  # characters of a parameter


def log_study(study: Study, *, experiment: str | None = None) -> str:
    """Write a study to MLflow as it stands now; return the id of its run.

    The parent run has the design as parameters, the state as metrics and tags, and as artifacts
    the report, the figures and the results. Each arm is a run below it, with its estimates.
    Where to is what MLflow says: `mlflow.set_tracking_uri`.

    Parameters
    ----------
    study : Study
        It is not changed.
    experiment : str, optional
        The experiment's name in MLflow; that which is set there if left out.
    """
    import mlflow

    if experiment is not None:
        mlflow.set_experiment(experiment)
    status, problem = study.status(), study.problem
    with mlflow.start_run(run_name=study.name) as parent:
        rules = study.rules.to_dict()
        mlflow.log_params({f"rule {name}": _short(value) for name, value in rules.items()})
        directions = dict(zip(problem.objectives, problem.directions, strict=True))
        mlflow.log_params(
            {"objectives": _short(json.dumps(directions)), "arms": _short(problem.arms)}
        )
        mlflow.set_tags(
            {
                "psips.candidate_set": json.dumps(list(status.candidate_set)),
                "psips.promise": status.promise,
            }
        )
        mlflow.log_metrics(_state(status))
        _log_files(mlflow, study)
        for arm in problem.arms:
            with mlflow.start_run(run_name=arm, nested=True):
                mlflow.set_tag("psips.candidate", str(arm in status.candidate_set))
                mlflow.log_param("arm", _short(arm))
                mlflow.log_metrics(_numbers(status.arms.loc[arm].to_dict()))
    return str(parent.info.run_id)


def _state(status: Status) -> dict[str, float]:
    known = {
        "results": status.results,
        "spent": status.spent,
        "stopped": float(status.stopped),
        "probability of change": status.probability_of_change,
        "more results": math.nan if status.progress is None else status.progress.more,
    }
    return _numbers(known)


def _numbers(known: Mapping[Any, Any]) -> dict[str, float]:
    """Return what is a finite number, under names that MLflow takes."""
    return {
        "".join(c if c.isalnum() or c in "_-./ " else "_" for c in str(name)): float(value)
        for name, value in known.items()
        if math.isfinite(value)
    }


def _log_files(mlflow: Any, study: Study) -> None:
    """Write report, figures and results as artifacts."""
    with TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "report.html").write_text(report(study), encoding="utf-8")
        (place / "results.csv").write_text(as_csv(study), encoding="utf-8")
        if study.state.session.candidate_set:
            for name, draw in (("front", plots.front), ("evidence", plots.evidence)):
                ax = plots.detached((6.0, 4.0))
                draw(study, ax=ax)
                figure: Any = ax.figure
                figure.savefig(place / f"{name}.png")
        mlflow.log_artifacts(folder)


def _short(value: object) -> str:
    return str(value)[:LONGEST]
