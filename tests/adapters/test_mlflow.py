"""Studies in MLflow (tested with mlflow-skinny 3.17.2)."""

from __future__ import annotations

import json

import numpy as np
import pytest

mlflow = pytest.importorskip("mlflow")

from psips import Problem, Study  # noqa: E402
from psips.adapters.mlflow import log_study  # noqa: E402


@pytest.fixture
def tracking(tmp_path):
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/mlflow.db")
    client = mlflow.MlflowClient()
    client.create_experiment("lab", artifact_location=f"file://{tmp_path}/artifacts")
    yield client
    mlflow.set_tracking_uri(before)


@pytest.mark.parametrize("blocks", [False, True])
def test_a_study_is_a_run_with_a_run_for_each_arm(tracking, tmp_path, blocks: bool) -> None:
    problem = Problem(
        objectives={"yield": "max", "cost (EUR)": "min"}, arms=["A", "B", "C"], items=blocks
    )
    study = Study.create(problem, f"sqlite:///{tmp_path}/s.db", name="s", seed=1)
    rng = np.random.default_rng(1)
    for _ in range(40):
        ticket = study.ask()
        study.tell(ticket, ["ABC".index(ticket.arm) + rng.normal(), 1.0 + rng.normal()])
    number = log_study(study, experiment="lab")
    parent = tracking.get_run(number)
    assert parent.data.metrics["results"] == 40
    assert parent.data.params["rule sampling"] == "directed"
    candidates = json.loads(parent.data.tags["psips.candidate_set"])
    assert candidates == list(study.state.session.candidate_set)
    names = {artifact.path for artifact in tracking.list_artifacts(number)}
    assert names == {"report.html", "results.csv", "front.png", "evidence.png"}
    runs = tracking.search_runs([parent.info.experiment_id])
    children = [r for r in runs if r.data.tags.get("mlflow.parentRunId") == number]
    assert {r.data.params["arm"] for r in children} == {"A", "B", "C"}
    status = study.status()
    for run in children:
        arm = run.data.params["arm"]
        assert run.data.metrics["pulls"] == status.arms.loc[arm, "pulls"]
        assert run.data.metrics["yield estimate"] == pytest.approx(
            status.arms.loc[arm, "yield estimate"]
        )
        assert run.data.tags["psips.candidate"] == str(arm in candidates)
    assert len(study.told) == 40
