"""How the commands of studies reach a store, and what they say of a log."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from psips.cli.screen import late_line, progress_line
from psips.input.escaping import one_line

if TYPE_CHECKING:
    from psips.store import Event
    from psips.study import Study

DEFAULT = "sqlite:///psips.db"


def checked_store(url: str) -> str:
    """Refuse a store that would be gone when the command ends."""
    from psips.errors import InputError
    from psips.store.urls import is_memory, read_url

    if is_memory(read_url(url)):
        raise InputError(
            f"{url} is a store in memory, gone when the command ends: name a file, as in "
            f"{DEFAULT}"
        )
    return url


def loading() -> Any:
    """Say on a terminal that the packages of a command are loaded."""
    return progress_line("loading")


@contextmanager
def open_study(name: str, store: str, who: str | None = None) -> Iterator[Study]:
    """Open a study for the time of a command."""
    with loading():
        from psips.store import open_store
        from psips.study import Study
    with open_store(checked_store(store)) as opened:
        with late_line("reading the study"):
            study = Study.open(name, opened, user=who)
        yield study


def raw_events(name: str, store: str) -> list[Event]:
    """Read a log without judging it."""
    from psips.errors import unknown
    from psips.store import WHOLE_LOG, open_store
    from psips.study.inputs import read_known_name

    with open_store(checked_store(store), damaged=True) as opened:
        events = opened.read(read_known_name(name), WHOLE_LOG)
        if not events:
            raise unknown("study", name, opened.studies())
    return events


def event_line(event: Event) -> str:
    """One line on an event, without what everyone knows; of a damaged one what there is."""
    hidden = ("schema", "problem", "versions", "key", "by", "request")
    data = event.to_dict()["payload"]
    if isinstance(data, dict):
        who = data.get("by")
        data = {key: value for key, value in data.items() if key not in hidden}
        if isinstance(who, dict):
            data["by"] = f"{who.get('user')}@{who.get('host')}"
    text = json.dumps(data, ensure_ascii=False)
    return one_line(f"{event.seq!s:>6}  {event.at}  {event.kind!s:<9}  {text}")
