"""Copies of studies: a backup of a whole store, and logs that come back with their heads."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from typing import Any

from psips.errors import InputError
from psips.input.escaping import as_json
from psips.input.strict_json import read_json
from psips.session.restoring import UNREADABLE
from psips.store import ConflictError, DamagedError, Event, Store, broken_links, open_store
from psips.store.events import canonical
from psips.study.plain import status_data
from psips.study.study import Study
from psips.study.verification import event_at

LARGEST_FILE = 2_000_000_000  # bytes of an export
LONGEST_NAME = 200  # characters of a study's, that a database holds


def backup(store: Store, file: Path) -> dict[str, str]:
    """Copy all studies, as they are at one moment, to a new SQLite store; return the heads.

    Parameters
    ----------
    store : Store
        It may be in use.
    file : path that does not exist, or an empty file
    """
    cached = {name: store.load_snapshot(name) for name in store.studies()}
    logs = _logs(store.read_all())
    for name, events in logs.items():
        _check(name, events)
        kept = cached.get(name)
        if kept is not None and kept.outlives(event_at(events, kept.seq)):
            raise DamagedError(
                f"the log of {name[:100]!r} has lost event {kept.seq}, of which there is a "
                "cached state: nothing was copied; see `psips study verify`"
            )
    with open_store(f"sqlite:///{file}", create=True) as made:
        for name, events in logs.items():
            with made.writing(name) as writer:
                writer.copy(events)
        with made.engine.connect() as connection:  # one file, without others next to it
            connection.exec_driver_sql("ROLLBACK")
            connection.exec_driver_sql("PRAGMA journal_mode=DELETE")
    return {name: events[-1].hash for name, events in logs.items()}


def restore(store: Store, file: Path, only: str | None = None) -> dict[str, str]:
    """Copy the studies of a backup, or one of them, into a store that lacks them.

    Parameters
    ----------
    store : Store
    file : path of a store
    only : str, optional
        The one study to restore.
    """
    with open_store(f"sqlite:///{file}") as kept:
        logs = _logs(kept.read_all())
    if only is not None:
        if only not in logs:
            raise InputError(f"there is no study {only!r} in {file}")
        logs = {only: logs[only]}
    taken = [name for name in logs if name in store.studies()]
    if taken:
        raise InputError(
            f"there is a study {taken[0]!r} in this store already: nothing was restored"
        )
    for name, events in logs.items():
        _check_replay(name, events)
    return {name: _copy(store, name, events) for name, events in logs.items()}


def import_export(store: Store, file: Path) -> tuple[str, str]:
    """Take in the log of a JSON export; return the study's name and its head.

    The hashes are worked out again from what the file says, so the head is that of the
    exported study, or the file is refused.

    Parameters
    ----------
    store : Store
    file : path of what ``psips study export --format json`` wrote
    """
    try:
        if file.stat().st_size > LARGEST_FILE:
            raise InputError("it is too large for an export")
        data = read_json(file.read_bytes())
        name = data["study"]
        if not name.isprintable() or not 1 <= len(name) <= LONGEST_NAME:
            raise ValueError(name)
        events = [_event(name, entry) for entry in data["events"]]
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror}") from None
    except InputError as error:
        raise InputError(
            f"{file.name[:100]} is not what `psips study export --format json` writes: {error}"
        ) from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise InputError(
            f"{file.name} is not what `psips study export --format json` writes"
        ) from None
    _check_replay(name, events)
    return name, _copy(store, name, events)


def _event(study: Any, entry: dict[str, Any]) -> Event:
    text = canonical(entry["payload"])
    fields = (entry["at"], entry["kind"], text, entry["previous"], entry["hash"])
    return Event(study, entry["seq"], *fields)


def _logs(events: Sequence[Event]) -> dict[str, list[Event]]:
    return {name: list(log) for name, log in groupby(events, key=lambda event: event.study)}


def _check(name: str, events: Sequence[Event]) -> None:
    problems = broken_links(events)
    if problems or not events:
        found = problems[0] if problems else "it is empty"
        raise DamagedError(
            f"the log of {str(name)[:100]!r} is not as it was written: {found}; nothing was "
            "copied"
        )


def _check_replay(name: str, events: Sequence[Event]) -> None:
    """Refuse a log that could not be opened, whatever its hashes say: open it elsewhere."""
    _check(name, events)
    try:
        with open_store("sqlite://", create=True) as trial:
            with trial.writing(name) as writer:
                writer.copy(events)
            study = Study.open(name, trial)
            state = study.state
            with suppress(ValueError, OverflowError):  # then it is not cached
                state.snapshot()
            as_json(status_data(state, study.status(), study.open_tickets()))
            study.diagnosis()
    except (*UNREADABLE, ArithmeticError) as error:
        raise DamagedError(
            f"the log of {name[:100]!r} cannot be replayed: {str(error)[:200]}; nothing was "
            "copied"
        ) from None


def _copy(store: Store, name: str, events: Sequence[Event]) -> str:
    try:
        with store.writing(name) as writer:
            writer.copy(events)
    except ConflictError:
        raise InputError(
            f"there is a study {name!r} in this store already: nothing was copied"
        ) from None
    return events[-1].hash
