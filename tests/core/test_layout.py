"""Records lie in memory as the compiled core reads them."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from psips import Problem, Session, _core
from psips.lab.instances import instance
from psips.simulation.environments import environment_of
from psips.state.records import Record


def records_of(one: Record, found: dict[str, Record]) -> dict[str, Record]:
    found[type(one).__name__] = one
    for value in one.as_dict().values():
        if isinstance(value, Record):
            records_of(value, found)
    return found


def places(one: Record) -> tuple[int, dict[str, int]]:
    at, found = 0, {}
    for name, value in one.as_dict().items():
        found[name] = at
        at += 1 + (value.ndim if isinstance(value, np.ndarray) else 0)
    return at, found


@pytest.fixture(scope="module")
def records() -> dict[str, Record]:
    engine: Any = Session(Problem(arms=3, objectives=["a", "b"], covariance=[1.0, 1.0])).engine
    source = environment_of(instance("correlated")).source
    return {**records_of(engine._run, {}), "Source": source}


@pytest.mark.parametrize("name", sorted(_core.layout()))
def test_fields_lie_where_the_core_reads_them(name: str, records: dict[str, Record]) -> None:
    assert places(records[name]) == _core.layout()[name]


def test_every_record_is_described(records: dict[str, Record]) -> None:
    assert set(records) == set(_core.layout())
    for one in records.values():
        assert {field.name for field in fields(one)} == set(places(one)[1])  # type: ignore[arg-type]
