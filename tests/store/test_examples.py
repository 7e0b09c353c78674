"""Every schema of events ever written, from stored exports: read, verified, the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from psips.store import open_store
from psips.study import Study, transfer
from psips.study.schema import SCHEMAS

EXPORTS = sorted((Path(__file__).parent / "examples").glob("schema-*[a-z].json"))
EXPORTS = [file for file in EXPORTS if "events" in json.loads(file.read_text())]


def test_there_is_one_of_every_schema() -> None:
    found = {
        event["payload"]["schema"]
        for file in EXPORTS
        for event in json.loads(file.read_text())["events"]
    }
    assert found == set(SCHEMAS)


@pytest.mark.usefixtures("tags")
@pytest.mark.parametrize("file", EXPORTS, ids=lambda file: file.stem)
def test_an_export_means_what_it_meant(file: Path, tmp_path: Path) -> None:
    kept = json.loads(file.read_text())
    with open_store(f"sqlite:///{tmp_path}/store.db", create=True) as store:
        name, head = transfer.import_export(store, file)[:2]
        assert (name, head) == (kept["study"], kept["events"][-1]["hash"])
        study = Study.open(name, store)
        assert study.verify().problems == ()
        assert study.stopped == kept["stopped"]
        assert study.closed == kept["closed"]
        assert list(study.candidate_set) == kept["candidate_set"]
        told = [(result.arm, result.withdrawn, result.held) for result in study.told]
        assert told == [
            (row["arm"], row["withdrawn"], row.get("held", False)) for row in kept["results"]
        ]
