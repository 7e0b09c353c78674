"""Logs that Inspect writes now (tested with inspect_ai 0.3.285): three models, two metrics."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest
from typer.testing import CliRunner

from psips.cli import app

inspect_ai = pytest.importorskip("inspect_ai")

from inspect_ai import Task  # noqa: E402
from inspect_ai import eval as run_tasks  # noqa: E402
from inspect_ai.dataset import MemoryDataset, Sample  # noqa: E402
from inspect_ai.model import ModelOutput, ModelUsage, get_model  # noqa: E402
from inspect_ai.scorer import match  # noqa: E402
from inspect_ai.solver import generate  # noqa: E402

from psips.evaluation.logs import read_evaluations  # noqa: E402
from psips.evaluation.matrix import replay  # noqa: E402

SKILL = {"weak": (0.2, 30), "good": (0.9, 40), "cheap": (0.6, 10)}
ITEMS, EPOCHS = 60, 2


def model(name: str):
    rng = random.Random(name)
    right, length = SKILL[name]

    def answer(messages, tools, choice, config) -> ModelOutput:
        if rng.random() < 0.02:
            raise RuntimeError("no answer")
        output = ModelOutput.from_content(name, "4" if rng.random() < right else "none")
        tokens = length + rng.randint(0, 9)
        output.usage = ModelUsage(input_tokens=7, output_tokens=tokens, total_tokens=7 + tokens)
        return output

    return get_model(f"mockllm/{name}", custom_outputs=answer)


@pytest.mark.parametrize("form", ["eval", "json"])
def test_logs_say_what_the_evaluation_said(form: str, tmp_path) -> None:
    samples = [Sample(id=f"q{j}", input="2+2?", target="4") for j in range(ITEMS)]
    logs = []
    for name in SKILL:
        task = Task(
            name="sums",
            dataset=MemoryDataset(samples),
            solver=generate(),
            scorer=match(),
            epochs=EPOCHS,
            fail_on_error=False,
        )
        options = {"display": "none", "log_dir": str(tmp_path), "log_format": form}
        logs += run_tasks(task, model=model(name), **options)
    assert [log.status for log in logs] == ["success"] * 3
    found = read_evaluations([str(tmp_path)])
    assert sorted(found.arms) == sorted(f"mockllm/{name}" for name in SKILL)
    assert found.metrics == ["match", "tokens"]
    assert found.ways == {"match": "max", "tokens": "min"}
    assert len(found.items) == ITEMS
    for log in logs:
        row = found.values[found.arms.index(log.eval.model), :, 0]
        stated = log.results.scores[0].metrics["accuracy"].value
        assert np.nanmean(row) == pytest.approx(stated)
    failed = sum(bool(one.error) for log in logs for one in log.samples)
    told = [note for note in found.notes if "ended in an error" in note]
    assert failed > 0
    assert [int(note.split()[0]) for note in told] == [failed]
    replayed = replay(found)
    assert replayed.stopped
    assert set(replayed.pareto_set) == {"mockllm/good", "mockllm/cheap"}
    done = CliRunner().invoke(app, ["matrix", str(tmp_path), "--json"])
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    assert said["pareto_set"] == list(replayed.pareto_set)
    assert said["directions"] == found.ways
